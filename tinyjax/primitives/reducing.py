"""Reductions: product, max, min, logic, and the places of extremes."""

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive, Zero
from tinyjax.primitives.arithmetic import const, div, eq, mul, mul_p
from tinyjax.primitives.linear import (
    convert,
    reduce_sum_p,
    reshape,
    squeeze,
    transpose,
)
from tinyjax.primitives.rules import Reduction, kind
from tinyjax.primitives.shaping import pad, slice
from tinyjax.primitives.sums import is_half, multiply_reduce

# ---- identities ---------------------------------------------------------------------------------


def lowest(dtype):
    """What max starts from: the least value there is."""
    if dtype.kind == "b":
        return False
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def highest(dtype):
    """What min starts from: the greatest value there is."""
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


def starting_from(ufunc, identity):
    """A ufunc's reduction that returns the identity where there is nothing to reduce."""

    def reduce(x, axes):
        if x.size:
            return ufunc.reduce(x, axes)
        return ufunc.reduce(x, axes, initial=np.asarray(identity(x.dtype), x.dtype)[()])

    return reduce


# ---- product, max, min --------------------------------------------------------------------------


class ReduceProd(Reduction):
    """reduce_prod[axes] x."""

    def jvp(self, primals, tangents, *, axes):
        """Halve until one is left. Unlike prod * sum(t / x) this holds where an x is zero."""
        pair = in_front(primals[0], axes), in_front(tangents[0], axes)
        n = pair[0].shape[0]
        if n == 0:
            out = self.bind(primals[0], axes=axes)
            return out, Zero(out.aval)
        while n > 1:
            half = (n + 1) // 2
            left = [rows(p, 0, half) for p in pair]
            right = [rows(p, half, n) for p in pair]
            if n % 2:
                config = [(0, 1, 0)] + [(0, 0, 0)] * (pair[0].ndim - 1)
                right = [pad(p, const(p, c), config) for p, c in zip(right, (1, 0))]
            primals, tangents = zip(left, right)
            pair, n = mul_p.jvp(primals, tangents), half
        return squeeze(pair[0], (0,)), squeeze(pair[1], (0,))


def rows(x, start, stop):
    """x[start:stop]."""
    zeros = [0] * (x.ndim - 1)
    return slice(x, (start, *zeros), (stop, *x.shape[1:]), (1,) * x.ndim)


def in_front(x, axes):
    """x with the axes flattened into one, the first."""
    kept = [i for i in range(x.ndim) if i not in axes]
    x = transpose(x, (*axes, *kept))
    return reshape(x, (int(np.prod(x.shape[: len(axes)])), *x.shape[len(axes) :]))


class ReduceExtreme(Reduction):
    """reduce_max[axes] or reduce_min[axes] x: its slope is shared by all places that attain it."""

    def linearize(self, nz, x, *, axes):
        ans = self.bind(x, axes=axes)
        unit = [1 if i in axes else n for i, n in enumerate(x.shape)]
        # 70000 ties are more than float16 can count
        count_dtype = np.dtype(np.float32) if is_half(x.dtype) else x.dtype
        places = convert(eq(x, reshape(ans, unit)), count_dtype)
        counts = reduce_sum_p.bind(places, axes=axes)

        def push(t):
            share = reduce_sum_p.bind(mul(convert(t, count_dtype), places), axes=axes)
            return convert(div(share, counts), x.dtype)

        return ans, push


reduce_prod_p = ReduceProd("reduce_prod", multiply_reduce)
reduce_max_p = ReduceExtreme("reduce_max", starting_from(np.maximum, lowest))
reduce_min_p = ReduceExtreme("reduce_min", starting_from(np.minimum, highest))
reduce_and_p = Reduction("reduce_and", np.bitwise_and.reduce)
reduce_or_p = Reduction("reduce_or", np.bitwise_or.reduce)
reduce_xor_p = Reduction("reduce_xor", np.bitwise_xor.reduce)


# ---- the places of extremes ---------------------------------------------------------------------


class ArgExtreme(Primitive):
    """argmax[axes index_dtype] or argmin x: the first place; NaN counts as extreme."""

    def __init__(self, name, find):
        self.name, self.find = name, find

    def impl(self, x, *, axes, index_dtype):
        x = x.astype(np.float32) if x.dtype.kind == "V" else x
        return np.asarray(self.find(x, axes[0])).astype(index_dtype)

    def type(self, x, *, axes, index_dtype):
        shape = [n for i, n in enumerate(x.shape) if i not in axes]
        return ShapedArray(shape, index_dtype)

    def linearize(self, nz, x, **params):
        ans = self.bind(x, **params)
        return ans, lambda t: Zero(ans.aval)

    def batch(self, axis, vals, dims, /, *, axes, index_dtype):
        d = dims[0]
        inner = np.int64(axes[0] + (axes[0] >= d))
        out = self.bind(vals[0], axes=(inner,), index_dtype=index_dtype)
        return out, d - (inner < d)


argmax_p = ArgExtreme("argmax", np.argmax)
argmin_p = ArgExtreme("argmin", np.argmin)


# ---- functions ----------------------------------------------------------------------------------


def check_axes(x, axes):
    """Axes of a reduction: distinct, in [0, ndim)."""
    axes = tuple(axes)
    if len(set(axes)) != len(axes):
        raise ValueError(f"duplicate value in 'axes' of reduction: {axes}")
    if not all(0 <= a < x.ndim for a in axes):
        raise ValueError(
            f"reduction axes {axes} contains out-of-bounds indices for {x.aval.str_short()}."
        )
    return axes


def reduction(prim, what, accepts="iufc"):
    """The public function of a reduction."""

    def function(operand, axes):
        x = lift(operand)
        axes = check_axes(x, axes)
        if kind(x.dtype) not in accepts:
            raise TypeError(refusal(prim.name, x.dtype, accepts))
        return prim.bind(x, axes=axes)

    function.__name__ = function.__qualname__ = prim.name
    function.__doc__ = (
        f"{what} over axes (distinct, in [0, ndim)); the dtype stays.\n\n    Raises ValueError for "
        "axes that are not there or occur twice, TypeError for a dtype it does not take."
    )
    return function


def refusal(name, dtype, accepts):
    """Why a reduction does not take a dtype."""
    if accepts == "biu":
        return f"logical reduction requires operand dtype bool or int, got {dtype.name}."
    return (
        f"{name} does not accept dtype {dtypes.dtype_name(dtype)}. Accepted dtypes are subtypes "
        "of number."
    )


total = reduction(reduce_sum_p, "The sum")


def reduce_sum(operand, axes, *, out_sharding=None):
    """The sum over axes (distinct, in [0, ndim)); the dtype stays.

    Raises ValueError for axes that are not there or occur twice, TypeError for a dtype it does not
    take.
    """
    return total(operand, axes)


reduce_prod = reduction(reduce_prod_p, "The product")
reduce_max = reduction(reduce_max_p, "The maximum", "biufc")
reduce_min = reduction(reduce_min_p, "The minimum", "biufc")
reduce_and = reduction(reduce_and_p, "Bitwise and", "biu")
reduce_or = reduction(reduce_or_p, "Bitwise or", "biu")
reduce_xor = reduction(reduce_xor_p, "Bitwise exclusive or", "biu")


def arg_extreme(prim, operand, axis, index_dtype):
    """Check the arguments of argmax and argmin, and bind."""
    x, index_dtype = lift(operand), dtypes.check_user_dtype_supported(index_dtype, prim.name)
    if not 0 <= axis < x.ndim:
        raise ValueError(f"Invalid axis {axis} for operand shape {x.shape}")
    if x.shape[axis] == 0:
        raise ValueError(
            "argmin and argmax require non-empty reduced dimension. "
            f"operand.shape={x.shape} axis={axis}"
        )
    if index_dtype.kind not in "iu":
        raise TypeError(f"index_dtype must be an integer type, but got {index_dtype}")
    if x.dtype.kind == "c":
        raise TypeError(
            f"{prim.name} does not accept dtype {x.dtype}: complex numbers have no order"
        )
    return prim.bind(x, axes=(axis,), index_dtype=index_dtype)


def argmax(operand, axis, index_dtype):
    """Index of the first greatest entry along an axis; a NaN counts as greatest.

    Raises ValueError for an axis that is not there or has no entries, TypeError for a complex
    operand or an index_dtype that is not of integers.

    >>> import numpy as np
    >>> argmax(np.array([3.0, 7.0, 7.0]), 0, np.int32)
    Array(1, dtype=int32)
    """
    return arg_extreme(argmax_p, operand, axis, index_dtype)


def argmin(operand, axis, index_dtype):
    """Index of the first least entry along an axis; a NaN counts as least. Raises as argmax."""
    return arg_extreme(argmin_p, operand, axis, index_dtype)
