"""Array: an immutable n-dimensional array, data in NumPy; and lift, which makes one of a number."""

import numpy as np

from tinyjax import dtypes
from tinyjax.avals import ShapedArray, Value


class Array(Value):
    """An immutable array. Make one with `jnp.array`, not with this class.

    npy: the data (a NumPy array or scalar that nobody else writes to).
    weak_type: it came from Python numbers. literal: it prints inside jaxprs, as a number
    does; if it is a Python number, literal is (number,), since jaxprs show the digits as written;
    None if it is a copy of a NumPy array, to which its owner may write.
    job: of an array that is not ready, its type and what computes it (compiler/dispatch.py).
    """

    __slots__ = ("job", "literal", "npy", "weak_type")

    def __init__(self, npy, weak_type=False, literal=False):
        self.npy, self.weak_type, self.literal = npy, weak_type, literal
        if npy.dtype.char == "V" and npy.dtype == dtypes.key_storage:
            self.__class__ = KeyArray

    shape = property(lambda self: self.npy.shape)
    dtype = property(lambda self: self.npy.dtype)
    ndim = property(lambda self: self.npy.ndim)
    size = property(lambda self: self.npy.size)
    nbytes = property(lambda self: self.npy.nbytes)
    itemsize = property(lambda self: self.npy.dtype.itemsize)
    aval = property(lambda self: ShapedArray(self.npy.shape, self.npy.dtype, self.weak_type))

    # ---- printing, as JAX's digits -------------------------------------------------------

    def __repr__(self):
        weak = ", weak_type=True" if self.weak_type else ""
        tail = f"dtype={dtypes.dtype_name(self.npy.dtype)}{weak})"
        if self.npy.size == 0:
            return f"Array([], shape={self.npy.shape}, {tail}"
        text = np.array2string(np.asarray(self.npy), prefix="Array(", suffix=",", separator=", ")
        last_line = len(text) - text.rfind("\n") + 1
        fits = last_line + len(tail) + 1 <= np.get_printoptions()["linewidth"]
        return f"Array({text},{' ' if fits else ' ' * len('Array(')}{tail}"

    def __str__(self):
        return str(np.asarray(self.npy))

    def __format__(self, spec):
        if self.npy.ndim == 0:
            return format(self.npy[()], spec)
        return format(self.npy, spec)

    # ---- an Array stands in for a NumPy array --------------------------------------------

    def __array__(self, dtype=None, copy=None):
        if dtype is not None and np.dtype(dtype) != self.npy.dtype or copy:
            return np.array(self.npy, dtype=dtype)
        view = np.asarray(self.npy)[...]
        view.flags.writeable = False
        return view

    def __bool__(self):
        return bool(self.npy)

    def __int__(self):
        return int(self._only("int"))

    def __float__(self):
        return float(self._only("float"))

    def __complex__(self):
        return complex(self._only("complex"))

    def __index__(self):
        if self.npy.ndim == 0 and self.npy.dtype.kind in "iu":
            return int(self.npy)
        raise TypeError(f"only integer scalar arrays can be converted to an index, got {self.aval}")

    def _only(self, kind):
        if self.npy.ndim:
            raise TypeError(
                f"Only scalar arrays can be converted to Python scalars; {kind}() got an array "
                f"with shape {self.npy.shape}. Take one element first, for example x[0]."
            )
        return self.npy

    def item(self, *args):
        """The only element (or the one at an index), as a Python number."""
        return self.npy.item(*args)

    def tolist(self):
        """The elements as nested Python lists."""
        return self.npy.tolist()

    def tobytes(self, order="C"):
        """The raw data."""
        return self.npy.tobytes(order)

    def __hash__(self):
        raise TypeError(
            "unhashable type: 'Array' (its value may not serve as a dict key or static argument)"
        )

    def __reduce__(self):
        return _unpickle, (np.asarray(self.npy), self.weak_type)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    # ---- devices and completion ----------------------------------------------------------

    def block_until_ready(self):
        """Wait for the value; returns it."""
        return self

    def is_ready(self):
        """Whether the value has been computed."""
        return True

    def __dlpack__(self, **kwargs):
        return np.array(self.npy).__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return np.asarray(self.npy).__dlpack_device__()


class KeyArray(Array):
    """An array of random keys. Each element of npy holds the two words of a key.

    Every Array whose data are keys is of this class, so that keys can be reshaped, sliced, stacked
    and batched like numbers, but not computed with.
    """

    __slots__ = ()

    dtype = property(lambda self: dtypes.key_fry)
    aval = property(lambda self: ShapedArray(self.npy.shape, dtypes.key_fry))

    def __repr__(self):
        words = self.npy["key"]
        return f"Array({self.npy.shape}, dtype={dtypes.key_fry.name}) overlaying:\n{words}"

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "JAX array with PRNGKey dtype cannot be converted to a NumPy array. Use "
            "jax.random.key_data(arr) if you wish to extract the underlying integer array."
        )


def _unpickle(npy, weak_type):
    return Array(npy, weak_type)


# ---- numbers become Arrays ----------------------------------------------------------------------


def lift(x):
    """A Value as it is; a number or NumPy array as an Array, at canonical (32-bit) dtype.

    Scalars become literals: jaxprs show their number. NumPy arrays are copied, since their owner
    may still write to them. Raises TypeError for anything else.
    """
    if isinstance(x, Value):
        return x
    if type(x) in dtypes.python_scalar_types:
        return Array(dtypes.coerce_to_array(x), weak_type=type(x) is not bool, literal=(x,))
    if isinstance(x, (np.ndarray, np.generic)):
        return lift_numpy(x)
    if hasattr(x, "__jax_array__"):
        return lift(x.__jax_array__())
    if dtypes.number_class(x):  # an enum.IntEnum, say
        return lift(dtypes.number_class(x)(x))
    raise TypeError(
        f"Value {x!r} of type {type(x)} is not a valid JAX type: give an array or a number. "
        "(A list or tuple must be made an array first, with jnp.array.)"
    )


def lift_numpy(x):
    """A NumPy array or number as an Array. literal is None if somebody may still write to x.

    Raises TypeError for a dtype that arrays cannot have, ValueError for a masked array.
    """
    if x.dtype not in dtypes.VALID:
        raise TypeError(f"A {x.dtype} array is not a valid JAX type: use x.astype(...) first.")
    if type(x) is not np.ndarray and isinstance(x, np.ma.MaskedArray):
        raise ValueError("NumPy masked arrays are not supported: call x.filled(value) first.")
    return Array(np.array(x, dtypes.canonicalize_dtype(x.dtype)), literal=x.ndim == 0 or None)


def is_arraylike(x):
    """Whether lift takes x."""
    return isinstance(x, (Value, np.ndarray, np.generic, int, float, complex)) or hasattr(
        x, "__jax_array__"
    )
