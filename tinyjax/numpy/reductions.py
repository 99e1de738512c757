"""Reductions: sum, prod, max, min, all, any, mean; cumulative sums and products."""

import math

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import check_out, check_where, ensure_arraylike, static_axes
from tinyjax.numpy.promotion import const, promote_dtypes_numeric, to_shape
from tinyjax.numpy.selection import _where
from tinyjax.primitives.linear import canonicalize_axis, convert
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

# ---- the machinery ------------------------------------------------------------------------------


class Reduction:
    """How one function reduces: the operation, its start value, what happens to dtypes.

    name: of the function, for messages.    reduce: lax function of (x, axes).
    op: the operation on two values.        init: the result of reducing nothing.
    identity: whether init may be returned; else an empty reduction is an error.
    prepare: applied to the argument first. upcast: float16 and bfloat16 are summed in float32.
    collective: the function that reduces over named axes (of vmap and pmap), if there is one.
    """

    def __init__(self, name, reduce, op, init, identity=True, prepare=None, collective=None):
        self.name, self.reduce, self.op, self.init = name, reduce, op, init
        self.identity, self.prepare, self.collective = identity, prepare, collective

    def __call__(self, a, axis=None, dtype=None, out=None, keepdims=False, initial=None,
                 where=None, promote_integers=False, upcast=False):  # fmt: skip
        check_out(self.name, out)
        a = ensure_arraylike(self.name, a)
        where = check_where(self.name, where)
        if initial is None and not self.identity and where is not None:
            raise ValueError(
                f"reduction operation {self.name} does not have an identity, so to use a where "
                "mask one has to specify 'initial'"
            )
        a = self.prepare(a) if self.prepare else a
        axes, dims = self.axes(a, axis)
        if initial is None and not self.identity and any_empty(a, axes):
            raise ValueError(
                f"zero-size array to reduction operation {self.name} which has no identity"
            )
        result_dtype = self.result_dtype(a, dtype, promote_integers)
        computed = upcast_f16(result_dtype) if upcast else result_dtype
        a = convert(a, computed)
        if where is not None:
            a = _where(where, a, start_value(a, self.init))
        named = len(dims) > len(axes)
        result = self.collective(a, dims) if named else self.reduce_axes(a, axes)
        if initial is not None:
            initial = lax.convert_element_type(initial, a.dtype)
            if initial.shape:
                raise ValueError(
                    f"initial value must be a scalar. Got array of shape {initial.shape}"
                )
            result = self.op(initial, result)
        if keepdims:
            result = lax.expand_dims(result, axes)
        return convert(result, result_dtype)

    def result_dtype(self, a, dtype, promote_integers):
        """The dtype of the result."""
        if dtype is not None:
            return dtypes.check_user_dtype_supported(dtype, self.name)
        return promote_integer_dtype(a.dtype) if promote_integers else a.dtype

    def reduce_axes(self, a, axes):
        """Reduce over positional axes; booleans are added by `or` and multiplied by `and`."""
        if a.dtype == bool:
            return BOOLEAN.get(self.reduce, self.reduce)(a, axes)
        return self.reduce(a, axes)

    def axes(self, a, axis):
        """-> positional axes (nonnegative), the same with the names of mapped axes between them."""
        if axis is None:
            return tuple(range(a.ndim)), tuple(range(a.ndim))
        listed = axis if isinstance(axis, (tuple, list, np.ndarray)) else (axis,)
        dims = tuple(x if isinstance(x, str) else canonicalize_axis(x, a.ndim) for x in listed)
        axes = tuple(x for x in dims if not isinstance(x, str))
        if len(set(axes)) != len(axes):
            raise ValueError(f"duplicate value in 'axis': {axis}")
        if len(dims) > len(axes) and self.collective is None:
            raise NotImplementedError(f"Named reductions not implemented for jnp.{self.name}()")
        return axes, dims


def reduce_sum(a, axes):
    """The sum over axes, an equation even where there is none to sum over."""
    return lax.reduce_sum_p.bind(a, axes=tuple(axes))


#: What adds and multiplies booleans.
BOOLEAN = {
    reduce_sum: lax.reduce_or,
    lax.reduce_prod: lax.reduce_and,
}


def any_empty(a, axes):
    """Whether one of the axes has size 0."""
    return not math.prod(a.shape[d] for d in axes)


def upcast_f16(dtype):
    """float32 for the two half-precision formats."""
    return np.dtype("float32") if dtype in (np.float16, dtypes.bfloat16) else np.dtype(dtype)


def promote_integer_dtype(dtype):
    """Small integers and booleans are summed as default integers."""
    if dtypes.issubdtype(dtype, np.unsignedinteger):
        wide = dtypes.default_uint_dtype()
    elif dtype.kind in "bi":
        wide = dtypes.default_int_dtype()
    else:
        return dtype
    return wide if wide.itemsize > dtype.itemsize or dtype.kind == "b" else dtype


def start_value(a, init):
    """The start value at the dtype of a: infinities become the extreme integers."""
    if a.dtype == bool:
        return np.array(init > 0)
    if a.dtype.kind in "iu" and np.isinf(init):
        info = dtypes.iinfo(a.dtype)
        return np.array(info.min if init < 0 else info.max, a.dtype)
    return np.array(init, dtype=a.dtype)


def to_numeric(a):
    """Booleans as integers."""
    return promote_dtypes_numeric(a)[0]


def to_bool(a):
    """Whether the (real part of the) elements are nonzero."""
    return lax.convert_element_type(lax.real(a) if a.dtype.kind == "c" else a, np.bool_)


_sum = Reduction("sum", reduce_sum, lax.add, 0, prepare=to_numeric, collective=lax.psum)
_prod = Reduction("prod", lax.reduce_prod, lax.mul, 1, prepare=to_numeric)
_max = Reduction("max", lax.reduce_max, lax.max, -np.inf, identity=False, collective=lax.pmax)
_min = Reduction("min", lax.reduce_min, lax.min, np.inf, identity=False, collective=lax.pmin)
_all = Reduction("all", lax.reduce_and, lax.bitwise_and, True, prepare=to_bool)
_any = Reduction("any", lax.reduce_or, lax.bitwise_or, False, prepare=to_bool)

# ---- the functions ------------------------------------------------------------------------------


@recorded
def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None,
        promote_integers=True):  # fmt: skip
    """The sum of the elements along axes.

    Args:
      a: array or number.
      axis: the axis or axes to sum over; all by default.
      dtype: of the result; small integers and booleans give int32 by default.
      out: not supported.
      keepdims: keep summed axes, with size 1.
      initial: a number to add.
      where: boolean array; only elements where it is true count.
      promote_integers: whether small integers are summed as default integers.

    Returns an array. Raises ValueError for an axis that a does not have.

    >>> import tinyjax.numpy as jnp
    >>> jnp.sum(jnp.array([[1.0, 2.0], [3.0, 4.0]]), axis=0)
    Array([4., 6.], dtype=float32)
    """
    return _sum(a, static_axes(axis), dtype, out, keepdims, initial, where, promote_integers,
                upcast=dtype is None)  # fmt: skip


@recorded
def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=None,
         promote_integers=True):  # fmt: skip
    """The product of the elements along axes; arguments as of sum."""
    return _prod(a, static_axes(axis), dtype, out, keepdims, initial, where, promote_integers,
                 upcast=dtype is None)  # fmt: skip


@recorded
def max(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The largest element along axes; nan if there is one.

    Args:
      a, axis, out, keepdims: as of sum.
      initial: the result is at least this.
      where: only elements where it is true count; needs initial.

    Raises ValueError if there is no element and no initial.
    """
    return _max(a, static_axes(axis), None, out, keepdims, initial, where)


@recorded
def min(a, axis=None, out=None, keepdims=False, initial=None, where=None):
    """The smallest element along axes; see max."""
    return _min(a, static_axes(axis), None, out, keepdims, initial, where)


amax, amin = max, min


@recorded
def all(a, axis=None, out=None, keepdims=False, *, where=None):
    """Whether all elements along axes are nonzero."""
    return _all(a, static_axes(axis), None, out, keepdims, None, where)


@recorded
def any(a, axis=None, out=None, keepdims=False, *, where=None):
    """Whether an element along axes is nonzero."""
    return _any(a, static_axes(axis), None, out, keepdims, None, where)


@subprogram(static_argnames=("axis", "keepdims"))
def count_nonzero(a, axis=None, keepdims=False):
    """How many elements along axes are nonzero."""
    a = ensure_arraylike("count_nonzero", a)
    return sum(lax.ne(a, const(a, 0)), axis, dtypes.default_int_dtype(), keepdims=keepdims)


@recorded
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=None):
    """The arithmetic mean of the elements along axes, in floating point.

    Args:
      a, axis, out, keepdims, where: as of sum.
      dtype: of the result.

    >>> import tinyjax.numpy as jnp
    >>> jnp.mean(jnp.arange(4))
    Array(1.5, dtype=float32)
    """
    axis = static_axes(axis)
    a = ensure_arraylike("mean", a)
    where = check_where("mean", where)
    check_out("mean", out)
    if dtype is None:
        result_dtype = dtypes.to_inexact_dtype(a.dtype)
        computed = upcast_f16(result_dtype)
    else:
        computed = result_dtype = dtypes.check_user_dtype_supported(dtype, "mean")
    count = count_elements(a, axis, keepdims, where, computed)
    total = sum(a, axis, dtype=computed, keepdims=keepdims, where=where)
    return convert(lax.div(total, count), result_dtype)


def count_elements(a, axis, keepdims, where, dtype):
    """How many elements one result of a reduction is made of."""
    if where is not None:
        return sum(to_shape(where, a.shape), axis, dtype=dtype, keepdims=keepdims)
    if axis is None:
        size = a.size
    else:
        axes = (axis,) if isinstance(axis, (int, str)) else axis
        size = math.prod(lax.axis_size(d) if isinstance(d, str) else a.shape[d] for d in axes)
    return lax.convert_element_type(size, dtype)


# ---- cumulative ---------------------------------------------------------------------------------


def cumulative(name, op, a, axis, dtype, out=None, promote_integers=False, nan=None):
    """Reduce ever longer parts of an axis. nan: what nans are replaced by."""
    a = ensure_arraylike(name, a)
    check_out(name, out)
    if axis is None:
        a, axis = lax.reshape(a, (a.size,)), 0
    axis = canonicalize_axis(axis, a.ndim)
    if nan is not None:
        a = _where(lax.ne(a, a), const(a, nan), a)
    if dtype is None:
        widen = promote_integers or a.dtype == bool
        computed = result_dtype = promote_integer_dtype(a.dtype) if widen else a.dtype
    elif np.dtype(dtype) == bool:
        result_dtype = np.dtype(bool)
        a = a if a.dtype == bool else a != 0
        computed = promote_integer_dtype(result_dtype)
    else:
        computed = result_dtype = dtypes.check_user_dtype_supported(dtype, name)
    result = op(lax.convert_element_type(a, computed), axis)
    return lax.convert_element_type(result, result_dtype)


@subprogram(static_argnames=("axis", "dtype"))
def cumsum(a, axis=None, dtype=None, out=None):
    """Sums of the first 1, 2, 3 ... elements along an axis (of the flat array by default).

    >>> import tinyjax.numpy as jnp
    >>> jnp.cumsum(jnp.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return cumulative("cumsum", lax.cumsum, a, axis, dtype, out)


@subprogram(static_argnames=("axis", "dtype"))
def cumprod(a, axis=None, dtype=None, out=None):
    """Products of the first 1, 2, 3 ... elements along an axis (of the flat array by default)."""
    return cumulative("cumprod", lax.cumprod, a, axis, dtype, out)


@subprogram(static_argnames=("axis", "dtype"))
def nancumsum(a, axis=None, dtype=None, out=None):
    """cumsum, where nans count as 0."""
    return cumulative("nancumsum", lax.cumsum, a, axis, dtype, out, nan=0)


@subprogram(static_argnames=("axis", "dtype"))
def nancumprod(a, axis=None, dtype=None, out=None):
    """cumprod, where nans count as 1."""
    return cumulative("nancumprod", lax.cumprod, a, axis, dtype, out, nan=1)


@subprogram(static_argnames=("axis", "dtype"))
def _cumsum_with_promotion(a, axis=None, dtype=None, out=None):
    """cumsum of small integers as default integers."""
    return cumulative("cumulative_sum", lax.cumsum, a, axis, dtype, out, promote_integers=True)


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Sums of the first 1, 2, 3 ... elements along an axis, as the array API has it.

    Args:
      x: array; axis may be left out only if it has one axis.
      dtype: of the result; small integers give default integers.
      include_initial: begin with the sum of no elements, 0.
    """
    x, axis = cumulative_axis("sum", x, axis)
    dtype = None if dtype is None else dtypes.check_user_dtype_supported(dtype)
    out = _cumsum_with_promotion(x, axis=axis, dtype=dtype)
    return with_initial(out, axis, 0) if include_initial else out


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Products of the first 1, 2, 3 ... elements along an axis; see cumulative_sum."""
    x, axis = cumulative_axis("product", x, axis)
    dtype = None if dtype is None else dtypes.check_user_dtype_supported(dtype)
    out = cumulative("cumulative_prod", lax.cumprod, x, axis, dtype)
    return with_initial(out, axis, 1) if include_initial else out


def cumulative_axis(what, x, axis):
    """-> the array and the axis, which only flat arrays may leave out."""
    x = ensure_arraylike(f"cumulative {what}", x)
    if x.ndim == 0:
        raise ValueError(
            f"The input must be non-scalar to take a cumulative {what}, however a scalar value or "
            "scalar array was given."
        )
    if axis is None and x.ndim > 1:
        raise ValueError(
            f"The input array has rank {x.ndim}, however axis was not set to an explicit value. "
            "The axis argument is only optional for one-dimensional arrays."
        )
    return x, canonicalize_axis(0 if axis is None else axis, x.ndim)


def with_initial(out, axis, value):
    """Put one more element in front along an axis."""
    shape = list(out.shape)
    shape[axis] = 1
    return lax.concatenate([lax.full(shape, value, dtype=out.dtype), out], axis)


# ---- what jnp.add.reduce and its kin need -------------------------------------------------------


def require_integer(a):
    """Raise ValueError unless a holds integers or booleans."""
    if a.dtype.kind not in "biu":
        raise ValueError(f"integer argument required; got dtype={a.dtype}")
    return a


_bitwise_or = Reduction(
    "reduce_bitwise_or", lax.reduce_or, lax.bitwise_or, 0, prepare=require_integer
)
_bitwise_and = Reduction(
    "reduce_bitwise_and", lax.reduce_and, lax.bitwise_and, -1, prepare=require_integer
)
_bitwise_xor = Reduction(
    "reduce_bitwise_xor", lax.reduce_xor, lax.bitwise_xor, 0, prepare=require_integer
)
_logical_xor = Reduction(
    "reduce_logical_xor", lax.reduce_xor, lax.bitwise_xor, False, prepare=to_bool
)
