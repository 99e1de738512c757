"""Making arrays: from Python and NumPy objects, from a shape, from a range."""

import operator
import types

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array, is_arraylike, lift
from tinyjax.avals import Value
from tinyjax.core import EVAL, Tracer, current_trace
from tinyjax.numpy.checks import check_arraylike, concrete_or_error, ensure_arraylike
from tinyjax.numpy.promotion import to_shape
from tinyjax.primitives.linear import canonicalize_shape, convert
from tinyjax.putting import device_put, takes_device
from tinyjax.transforms.replay import recorded

# ---- from objects -------------------------------------------------------------------------------


def array(object, dtype=None, *, copy=True, order="K", ndmin=0, device=None):
    """An array from a number, a (nested) list, an array, or whatever NumPy makes arrays of.

    Args:
      object: what to convert. NumPy arrays are copied: later changes to them are not seen.
      dtype: of the result; by default the promoted dtype of all elements, at 32 bits.
      copy: has no effect, since arrays are immutable, but that jaxprs show a copy.
      order: only "K".
      ndmin: prepend axes of size 1 until there are this many.
      device: where to put it: a device or a sharding.

    Returns an array. Python numbers give weakly typed ones, which adapt to what they meet.

    Raises:
      TypeError: object holds something that is no number.
      ValueError: object holds None, or rows of different lengths.

    >>> import tinyjax.numpy as jnp
    >>> jnp.array([[1, 2], [3, 4.5]])
    Array([[1. , 2. ],
           [3. , 4.5]], dtype=float32)
    >>> jnp.array(2)
    Array(2, dtype=int32, weak_type=True)
    """
    if device is not None:
        return device_put(array(object, dtype, copy=copy, order=order, ndmin=ndmin), device)
    if order not in (None, "K"):
        raise NotImplementedError("Only implemented for order='K'")
    if dtype is None and ndmin == 0:
        if type(object) in (int, float, complex) or isinstance(object, (np.ndarray, np.generic)):
            return lift(object)
        if isinstance(object, Value):
            return lax.copy_p.bind(object) if copy and needs_copy(object) else object
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, "array")
    if hasattr(object, "__jax_array__"):
        object = object.__jax_array__()
    weak_type = dtype is None and is_weak(object)
    if isinstance(object, (list, tuple)):
        out = from_sequence(object, dtype)
    elif isinstance(object, Value):
        out = lax.copy_p.bind(object) if copy and needs_copy(object) else object
    elif is_arraylike(object):
        out = from_number(object, dtype)
    else:
        out = from_buffer(object, dtype)
    out = convert(out, out.dtype if dtype is None else dtype, weak_type)
    return lax.expand_dims(out, range(ndmin - out.ndim)) if out.ndim < ndmin else out


def asarray(a, dtype=None, order=None, *, copy=None, device=None):
    """An array from an object, as array makes it; an array is returned as it is."""
    if dtype is None and device is None and isinstance(a, Value):
        return a
    return array(a, dtype, copy=bool(copy), order=order, device=device)


def needs_copy(x):
    """Whether a copy is to be seen: in the program that is being recorded."""
    return isinstance(x, Tracer)


def is_weak(x):
    """Whether x is a Python number or made of some."""
    return type(x) in (int, float, complex) or bool(getattr(x, "weak_type", False))


def from_number(x, dtype):
    """A number or NumPy array, converted by NumPy, which knows more values than our dtypes."""
    if dtype is None:
        return lift(x)
    if type(x) in (bool, int, float, complex):
        dtypes.coerce_to_array(x, dtype)  # raises OverflowError for an integer that does not fit
    if np.ndim(x) or getattr(x, "dtype", None) in (dtype, None):
        return lift(np.asarray(x, dtype))
    return convert(lift(x), dtype)


def from_sequence(sequence, dtype):
    """A (nested) list or tuple: NumPy's work, unless there are arrays of ours in it."""
    leaves = list(flat_leaves(sequence))
    if any(x is None for x in leaves):
        raise ValueError("None is not a valid value for jnp.array")
    if dtype is None:
        dtype = common_dtype(leaves)
    if not any(isinstance(x, Value) or hasattr(x, "__jax_array__") for x in leaves):
        return lift(regular(sequence, dtype))
    parts = [lax.expand_dims(array(x, dtype, copy=False), (0,)) for x in sequence]
    shapes = {p.shape[1:] for p in parts}
    if len(shapes) > 1:
        raise TypeError(
            f"jnp.array: the elements of a list must have one shape, got {sorted(shapes)}"
        )
    while len(parts) > 16:  # as a tree: shorter programs than one wide concatenation
        parts = [lax.concatenate(parts[i : i + 16], 0) for i in range(0, len(parts), 16)]
    return lax.concatenate(parts, 0)


def flat_leaves(x):
    """The elements of nested lists and tuples."""
    if isinstance(x, (list, tuple)):
        for item in x:
            yield from flat_leaves(item)
    else:
        yield x


def regular(sequence, dtype):
    """NumPy's array of nested lists, whose rows must have one length."""
    try:
        return np.asarray(sequence, dtype)
    except ValueError as error:
        hint = ""
        if "inhomogeneous" in str(error):
            hint = " Rows must have one length: pad the short ones, or keep a list of arrays."
        raise ValueError(f"{error}{hint}") from None


def common_dtype(leaves):
    """The dtype of an array of these elements."""
    if not leaves:
        return dtypes.default_float_dtype()
    kinds = {type(x): x for x in leaves if type(x) in (bool, int, float, complex)}
    others = [x for x in leaves if type(x) not in kinds]
    for x in others:
        if isinstance(x, (str, bytes)) or not (is_arraylike(x) or hasattr(x, "__array__")):
            raise TypeError(f"Value {x!r} of type {type(x)} is not a valid element of an array.")
    return dtypes.lattice_result_type(*kinds.values(), *map(plain, others))[0]


def plain(x):
    """An element as something that has a dtype."""
    return x if is_arraylike(x) else np.asarray(x)


def from_buffer(object, dtype):
    """Anything else that NumPy turns into an array of numbers."""
    out = np.asarray(object)
    if object is None:
        raise ValueError("None is not a valid value for jnp.array")
    if out.dtype.kind in "OSU":
        raise TypeError(
            f"Value {object!r} with dtype {out.dtype} is not a valid JAX array type. Only arrays "
            "of numeric types are supported by JAX."
        )
    return lift(out if dtype is None else out.astype(dtype))


def copy(a, order=None):
    """The same array (arrays are immutable: a copy is only to be seen in jaxprs)."""
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)


def frombuffer(buffer, dtype=float, count=-1, offset=0):
    """An array of the bytes of a buffer; arguments as of np.frombuffer."""
    return asarray(np.frombuffer(buffer, dtype=dtype, count=count, offset=offset))


def fromstring(string, dtype=float, count=-1, *, sep):
    """An array of the numbers in a text; arguments as of np.fromstring."""
    return asarray(np.fromstring(string, dtype=dtype, count=count, sep=sep))


def from_dlpack(x, /, *, device=None, copy=None):
    """An array from another library's array, through the DLPack protocol."""
    return asarray(np.array(np.from_dlpack(x)))


def fromfile(*args, **kwargs):
    """Not implemented: reading files is impure. Use jnp.asarray(np.fromfile(...))."""
    raise NotImplementedError(
        "jnp.fromfile() is not implemented because it may be non-pure and thus unsafe for use "
        "with jit and other transformations. Use jnp.asarray(np.fromfile(...)) instead."
    )


def fromiter(*args, **kwargs):
    """Not implemented: iterating is impure. Use jnp.asarray(np.fromiter(...))."""
    raise NotImplementedError(
        "jnp.fromiter() is not implemented because it may be non-pure and thus unsafe for use "
        "with jit and other transformations. Use jnp.asarray(np.fromiter(...)) instead."
    )


def load(file, *args, **kwargs):
    """np.load, with arrays of ours as result."""
    out = np.load(file, *args, **kwargs)
    if not isinstance(out, np.ndarray):
        return out
    if out.dtype == "V2":  # how NumPy stores bfloat16
        out = out.view(dtypes.bfloat16)
    return asarray(out)


# ---- from a shape -------------------------------------------------------------------------------


def shape_of(shape):
    """A shape argument as a tuple: a number is one axis."""
    if isinstance(shape, types.GeneratorType):
        raise TypeError("expected sequence object with len >= 0 or a single integer")
    if isinstance(shape, (Array, np.ndarray)) and shape.ndim == 0:
        shape = int(shape)
    return canonicalize_shape(shape)


def check_shape_tuple(name, shape, dtype):
    """`zeros(2, 3)` is what people write when they mean `zeros((2, 3))`."""
    if isinstance(dtype, int) and isinstance(shape, int) and not isinstance(dtype, type):
        raise TypeError(
            f"Cannot interpret '{dtype}' as a data type.\n\nDid you accidentally write "
            f"`jnp.{name}({shape}, {dtype})` when you meant `jnp.{name}(({shape}, {dtype}))`, "
            "i.e. with a single tuple argument for the shape?"
        )


def filled(name, value, shape, dtype):
    """zeros and ones."""
    check_shape_tuple(name, shape, dtype)
    dtype = dtypes.check_user_dtype_supported(float if dtype is None else dtype, name)
    shape = shape_of(shape)
    if current_trace() is EVAL and isinstance(dtype, np.dtype):
        return Array(np.full(shape, value, dtype))
    return lax.full(shape, value, dtype)


@takes_device
def zeros(shape, dtype=None, *, device=None):
    """An array of zeros.

    Args:
      shape: sizes of the axes, or one number.
      dtype: float32 by default.
      device: where to put it: a device or a sharding.

    >>> import tinyjax.numpy as jnp
    >>> jnp.zeros((2, 3))
    Array([[0., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """
    return filled("zeros", 0, shape, dtype)


@takes_device
def ones(shape, dtype=None, *, device=None):
    """An array of ones; arguments as of zeros."""
    return filled("ones", 1, shape, dtype)


@takes_device
def empty(shape, dtype=None, *, device=None):
    """The same as zeros: there is no uninitialised memory to be seen here."""
    return filled("empty", 0, shape, dtype)


@takes_device
@recorded
def full(shape, fill_value, dtype=None, *, device=None):
    """An array of one value (or of an array that is broadcast to the shape).

    Args:
      shape: sizes of the axes, or one number.
      fill_value: number or array.
      dtype: that of fill_value by default.
    """
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, "full")
    check_arraylike("full", fill_value)
    if np.ndim(fill_value) == 0:
        return lax.full(shape_of(shape), fill_value, dtype)
    return to_shape(asarray(fill_value, dtype=dtype), shape_of(shape))


def like(name, a, value, dtype, shape):
    """An array of one value, with the shape and dtype of another by default."""
    if not (hasattr(a, "dtype") and hasattr(a, "shape")):
        a = ensure_arraylike(name, a)
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, name)
    if shape is not None:
        shape = shape_of(shape)
    if np.ndim(value) == 0:
        return lax.full_like(a, value, dtype, shape)
    dtype = dtypes.result_type(a) if dtype is None else dtype
    return to_shape(asarray(value, dtype=dtype), np.shape(a) if shape is None else shape)


@takes_device
@recorded
def zeros_like(a, dtype=None, shape=None, *, device=None):
    """Zeros in the shape and dtype of an array (or of anything with a shape and dtype)."""
    return like("zeros_like", a, 0, dtype, shape)


@takes_device
@recorded
def ones_like(a, dtype=None, shape=None, *, device=None):
    """Ones in the shape and dtype of an array."""
    return like("ones_like", a, 1, dtype, shape)


@takes_device
def empty_like(prototype, dtype=None, shape=None, *, device=None):
    """The same as zeros_like."""
    return like("empty_like", prototype, 0, dtype, shape)


@takes_device
@recorded
def full_like(a, fill_value, dtype=None, shape=None, *, device=None):
    """One value (or broadcast array) in the shape and dtype of an array."""
    check_arraylike("full_like", fill_value)
    return like("full_like", a, fill_value, dtype, shape)


# ---- from a range -------------------------------------------------------------------------------


@takes_device
@recorded
def arange(start, stop=None, step=None, dtype=None, *, device=None):
    """Evenly spaced values in [start, stop).

    Args:
      start, stop, step: numbers known while tracing; arange(n) counts from 0 to n - 1.
      dtype: by default that of mixing the arguments.

    >>> import tinyjax.numpy as jnp
    >>> jnp.arange(3)
    Array([0, 1, 2], dtype=int32)
    """
    if dtype is not None:
        dtype = dtypes.check_user_dtype_supported(dtype, "arange")
    start_name = "stop" if stop is None and step is None else "start"
    named = {start_name: start, "stop": stop, "step": step}
    if start_name == "stop":
        named = {"stop": start, "step": step}
    known = {k: known_scalar(k, v) for k, v in named.items() if v is not None}
    if dtype is None:
        dtype = dtypes.result_type(*known.values())
    if stop is None:
        begin, end = 0, known[start_name]
    else:
        begin, end = known["start"], known["stop"]
    if step is None:
        size = builtin_max(0, int(np.ceil(end - begin)))
        ramp = lax.broadcasted_iota(dtype, (size,), 0)
        if isinstance(begin, int) and begin == 0 or begin == 0:
            return ramp
        return lax.add(lax.convert_element_type(begin, dtype), ramp)
    size = builtin_max(0, int(np.ceil((end - begin) / known["step"])))
    small_float = dtypes.issubdtype(dtype, np.floating) and dtypes.finfo(dtype).bits < 32
    working = np.dtype("float32") if small_float else dtype
    ramp = lax.broadcasted_iota(working, (size,), 0)
    ramp = lax.mul(lax.convert_element_type(known["step"], working), ramp)
    return lax.convert_element_type(lax.add(lax.convert_element_type(begin, working), ramp), dtype)


builtin_max = max


def known_scalar(name, value):
    """An argument of arange as a Python or NumPy number."""
    check_arraylike("arange", value)
    value = concrete_or_error(None, value, f"It arose in the jnp.arange argument '{name}'")
    if np.ndim(value):
        raise ValueError(f"jax.numpy.arange: arguments must be scalars; got {name}={value}")
    if dtypes.dtype(value).kind == "c":
        raise ValueError("jnp.arange does not take complex start, stop or step.")
    return value.npy[()] if isinstance(value, Array) else value


@takes_device
@recorded
def eye(N, M=None, k=0, dtype=None, *, device=None):
    """The identity matrix, or any with ones on one diagonal.

    Args:
      N, M: numbers of rows and columns (M = N by default).
      k: which diagonal; positive ones lie above the main one.
      dtype: float32 by default.

    >>> import tinyjax.numpy as jnp
    >>> jnp.eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    dtype = dtypes.check_user_dtype_supported(float if dtype is None else dtype, "eye")
    if isinstance(k, int):
        k = min(max(k, -(2**31)), 2**31 - 1)
    offset = ensure_arraylike("eye", k)
    if offset.shape or offset.dtype.kind not in "iu":
        raise ValueError(f"k must be a scalar integer; got {k}")
    n = operator.index(N)
    m = n if M is None else operator.index(M)
    if n < 0 or m < 0:
        raise ValueError(f"negative dimensions are not allowed, got {N} and {M}")
    i = lax.broadcasted_iota(offset.dtype, (n, m), 0)
    j = lax.broadcasted_iota(offset.dtype, (n, m), 1)
    return (i + offset == j).astype(dtype)


@recorded
def identity(n, dtype=None):
    """The n x n identity matrix."""
    return eye(n, dtype=dtype)


@recorded
def tri(N, M=None, k=0, dtype=None):
    """Ones on and below a diagonal; arguments as of eye."""
    dtype = dtypes.check_user_dtype_supported(np.float32 if dtype is None else dtype, "tri")
    shape = (N, N if M is None else M)
    rows = lax.add(lax.broadcasted_iota(np.int32, shape, 0), convert(k, np.dtype(np.int32)))
    below = lax.ge(rows, lax.broadcasted_iota(np.int32, shape, 1))
    return convert(below, dtype)


@recorded
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """Coordinate arrays of a grid.

    Args:
      *xi: one-dimensional arrays, the coordinates along each axis.
      copy: only True.
      sparse: leave the axes along which nothing changes at size 1.
      indexing: "xy" swaps the first two axes of the result, "ij" does not.

    Returns a list of arrays, one per argument.
    """
    check_arraylike("meshgrid", *xi)
    args = [lift(x) for x in xi]
    if not copy:
        raise ValueError("jax.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(a.ndim != 1 for a in args):
        raise ValueError(
            f"Arguments to jax.numpy.meshgrid must be 1D, got shapes {[a.shape for a in args]}"
        )
    swap = indexing == "xy" and len(args) >= 2
    if swap:
        args[0], args[1] = args[1], args[0]
    shape = [1 if sparse else a.shape[0] for a in args]
    out = []
    for i, a in enumerate(args):
        own = [*shape[:i], a.shape[0], *shape[i + 1 :]]
        out.append(lax.broadcast_in_dim(a, own, (i,)))
    if swap:
        out[0], out[1] = out[1], out[0]
    return out
