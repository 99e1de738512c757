"""Operations that hand their operand on, or its bits.

copy, stop_gradient, optimization_barrier, reduce_precision, bitcast_convert_type; collapse.
"""

import operator

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive, Undef, Zero
from tinyjax.primitives.linear import LinearOp, instantiate, moveaxis, reshape
from tinyjax.tree_util import tree_flatten, tree_map, tree_unflatten
from tinyjax.util import spread, take

# ---- the same value -----------------------------------------------------------------------------


class Copy(LinearOp):
    """copy x: a new array with the same elements."""

    def impl(self, x):
        return np.array(x)

    def type(self, x):
        return x

    def transpose(self, ct, x):
        return [self.bind(ct)]

    def batch(self, axis, vals, dims, /):
        return self.bind(vals[0]), dims[0]


class StopGradient(Primitive):
    """stop_gradient x: x, but a constant for derivatives."""

    def impl(self, x):
        return x

    def type(self, x):
        return x

    def linearize(self, nz, x):
        out = self.bind(x)
        return out, lambda t: Zero(out.aval)

    def batch(self, axis, vals, dims, /):
        return self.bind(vals[0]), dims[0]


class OptimizationBarrier(Primitive):
    """optimization_barrier *xs: the same values; no compiler pass looks across it."""

    multi = True

    def impl(self, *xs):
        return list(xs)

    def type(self, *xs):
        return list(xs)

    def linearize(self, nz, *xs):
        real = [dtypes.issubdtype(x.dtype, np.inexact) for x in xs]

        def push(*tangents):
            out = self.bind(*map(instantiate, take(tangents, real)))
            return spread(out, real, lambda i: tangents[i])

        return self.bind(*xs), push

    def jvp(self, xs, tangents):
        """JAX makes missing tangents first; the order shows when the program is printed."""
        real = [dtypes.issubdtype(x.dtype, np.inexact) for x in xs]
        made = [instantiate(t) if r else t for t, r in zip(tangents, real)]
        out, push = self.linearize(real, *xs)
        return out, push(*made)

    def transpose(self, cts, *xs):
        out = self.bind(*map(instantiate, cts))
        return [ct if isinstance(x, Undef) else None for ct, x in zip(out, xs)]

    def batch(self, axis, vals, dims, /):
        return self.bind(*vals), dims


copy_p = Copy("copy")
stop_gradient_p = StopGradient("stop_gradient")
optimization_barrier_p = OptimizationBarrier("optimization_barrier")


def stop_gradient(x):
    """The same value, which derivatives take for a constant.

    Args:
      x: array or pytree of arrays.

    >>> from tinyjax import grad, lax
    >>> grad(lambda x: x * lax.stop_gradient(x))(3.0)  # not 6
    Array(3., dtype=float32, weak_type=True)
    """
    return tree_map(lambda leaf: stop_gradient_p.bind(lift(leaf)), x)


def optimization_barrier(operand, /):
    """The same values; the compiler does not optimize across this point.

    Args:
      operand: array or pytree of arrays.

    >>> from tinyjax import lax
    >>> lax.optimization_barrier(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    leaves, treedef = tree_flatten(operand)
    return tree_unflatten(treedef, optimization_barrier_p.bind(*map(lift, leaves)))


# ---- bits ---------------------------------------------------------------------------------------


class ReducePrecision(LinearOp):
    """reduce_precision[exponent_bits mantissa_bits] x: rounded to a narrower float format."""

    def impl(self, x, *, exponent_bits, mantissa_bits):
        return round_to_format(np.asarray(x), exponent_bits, mantissa_bits)

    def type(self, x, *, exponent_bits, mantissa_bits):
        if not dtypes.issubdtype(x.dtype, np.floating):
            raise TypeError(
                f"reduce_precision does not accept dtype {dtypes.dtype_name(x.dtype)}. Accepted "
                "dtypes are subtypes of floating."
            )
        if exponent_bits < 1:
            raise ValueError(
                f"reduce_precision: exponent_bits must be positive; got {exponent_bits}"
            )
        if mantissa_bits < 0:
            raise ValueError(
                f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}"
            )
        return x

    def transpose(self, ct, x, **params):
        return [self.bind(ct, **params)]

    def batch(self, axis, vals, dims, /, **params):
        return self.bind(vals[0], **params), dims[0]


def round_to_format(x, exponent_bits, mantissa_bits):
    """Round floats to fewer exponent and mantissa bits, to the even neighbour at ties.

    What is too large becomes infinite; what is too small to be a normal number becomes zero.
    """
    info, unsigned = dtypes.finfo(x.dtype), np.dtype(f"u{x.dtype.itemsize}")
    own_mantissa, own_exponent = info.nmant, info.bits - 1 - info.nmant
    bits = x.view(unsigned).astype(np.uint64)
    sign_mask = np.uint64(1 << (info.bits - 1))
    exponent_mask = np.uint64(((1 << own_exponent) - 1) << own_mantissa)
    if mantissa_bits < own_mantissa:
        shift = own_mantissa - mantissa_bits
        last = (bits >> np.uint64(shift)) & np.uint64(1)
        bits = bits + last + np.uint64((1 << (shift - 1)) - 1)
        bits &= np.uint64(2**64 - (1 << shift))
    if exponent_bits < own_exponent:
        bias, new_bias = (1 << (own_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        exponent, sign = bits & exponent_mask, bits & sign_mask
        too_large = exponent > np.uint64((bias + new_bias) << own_mantissa)
        too_small = exponent <= np.uint64((bias - new_bias) << own_mantissa)
        bits = np.where(too_large, sign | exponent_mask, bits)
        bits = np.where(too_small, sign, bits)
    out = np.asarray(bits).astype(unsigned).view(x.dtype)
    return np.where(np.isnan(x), x, out)


class BitcastConvertType(Primitive):
    """bitcast_convert_type[new_dtype] x: the same bits at another dtype."""

    def impl(self, x, *, new_dtype):
        x = np.ascontiguousarray(x).reshape(np.shape(x))
        if new_dtype.itemsize == x.dtype.itemsize:
            return x.view(new_dtype)
        if new_dtype.itemsize < x.dtype.itemsize:
            return x[..., None].view(new_dtype)
        return x.view(new_dtype)[..., 0]

    def type(self, x, *, new_dtype):
        plain = all(d.kind not in "bc" for d in (x.dtype, new_dtype))
        if not plain and x.dtype != new_dtype:
            raise TypeError(
                "lax.bitcast_convert_type does not support bool or complex values unless the "
                f"operand and destination types match. Got operand dtype={x.dtype}, "
                f"new_dtype={new_dtype}. Consider using the arr.view() method instead."
            )
        old, new = x.dtype.itemsize, new_dtype.itemsize
        if new == old:
            return ShapedArray(x.shape, new_dtype)
        if new < old:
            return ShapedArray((*x.shape, old // new), new_dtype)
        last = x.shape[-1] if x.shape else 1
        if last * old != new:
            raise ValueError(
                f"Attempting to convert array of shape {x.shape} from {x.dtype} of size {old * 8} "
                f"bits to {new_dtype} of size {new * 8}, bits but {last} * {old * 8} != {new * 8}"
            )
        return ShapedArray(x.shape[:-1], new_dtype)

    def linearize(self, nz, x, *, new_dtype):
        out = self.bind(x, new_dtype=new_dtype)
        return out, lambda t: Zero(out.aval)

    def batch(self, axis, vals, dims, /, *, new_dtype):
        x, d = vals[0], dims[0]
        if new_dtype.itemsize > x.dtype.itemsize and d == x.ndim - 1:
            x, d = moveaxis(x, d, 0), 0  # the last axis must be that of the parts
        return self.bind(x, new_dtype=new_dtype), d


reduce_precision_p = ReducePrecision("reduce_precision")
bitcast_convert_type_p = BitcastConvertType("bitcast_convert_type")


def reduce_precision(operand, exponent_bits, mantissa_bits):
    """Round floats as a format with fewer bits would, without changing the dtype.

    Args:
      operand: array of floats.
      exponent_bits: at least 1.
      mantissa_bits: at least 0.

    >>> from tinyjax import lax
    >>> lax.reduce_precision(3.14159, exponent_bits=5, mantissa_bits=2)
    Array(3., dtype=float32, weak_type=True)
    """
    operand = lift(operand)
    params = {
        "exponent_bits": operator.index(exponent_bits),
        "mantissa_bits": operator.index(mantissa_bits),
    }
    reduce_precision_p.type(operand.aval, **params)
    return reduce_precision_p.bind(operand, **params)


def bitcast_convert_type(operand, new_dtype):
    """Take an array's bits for numbers of another dtype.

    Args:
      operand: array of numbers, not complex.
      new_dtype: if it is narrower, the result has a last axis more, over the parts of a number; if
        it is wider, the last axis holds the parts, and disappears.

    Raises TypeError or ValueError when the bits do not fit.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.bitcast_convert_type(jnp.float32(1), "int32") == 0x3F800000
    Array(True, dtype=bool)
    """
    operand = lift(operand)
    new_dtype = dtypes.check_user_dtype_supported(new_dtype, "bitcast_convert_type")
    bitcast_convert_type_p.type(operand.aval, new_dtype=new_dtype)
    return bitcast_convert_type_p.bind(operand, new_dtype=new_dtype)


# ---- a helper for shapes ------------------------------------------------------------------------


def collapse(operand, start_dimension, stop_dimension=None):
    """Merge the axes from start_dimension up to (not including) stop_dimension into one.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.collapse(jnp.ones((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    operand = lift(operand)
    low, high, _ = slice(start_dimension, stop_dimension).indices(operand.ndim)
    if high < low:
        raise ValueError(
            f"Invalid dimension range passed to collapse: {operand.shape}"
            f"[{start_dimension}:{stop_dimension}]"
        )
    merged = int(np.prod(operand.shape[low:high], dtype=np.int64))
    return reshape(operand, (*operand.shape[:low], merged, *operand.shape[high:]))
