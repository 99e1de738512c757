"""The functions that are ufunc objects in JAX: add, multiply, maximum, logical_and ..."""

import numpy as np

from tinyjax import lax
from tinyjax.numpy import comparisons, reductions, ufuncs
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import check_where
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.numpy.ufunc_api import ufunc


def log_of_sum(op, log, exp):
    """The reduction of logaddexp: log(sum(exp(a))) with the maximum taken out, so no overflow."""

    def reduce(a, axis=None, dtype=None, keepdims=False, initial=None, where=None):
        (a,) = promote_args_inexact("logaddexp.reduce", a if dtype is None else a.astype(dtype))
        where = check_where("logaddexp.reduce", where)
        top = reductions.max(a, axis, keepdims=keepdims, where=where, initial=-np.inf)
        top = lax.stop_gradient(lax.select(lax.is_finite(top), top, lax.full_like(top, 0)))
        axes, _ = reductions._sum.axes(a, axis)
        kept = top if keepdims else lax.expand_dims(top, axes)
        total = reductions.sum(exp(ufuncs.subtract(a, kept)), axis, keepdims=keepdims, where=where)
        out = ufuncs.add(log(total), top)
        return out if initial is None else op(out, initial)

    return reduce


def at(method):
    """ufunc.at by the update that arrays have: x.at[i].add(b) and its kin."""

    def update(a, indices, b):
        boolean = a.dtype == bool and method != "subtract"
        if boolean:  # True + True is True
            a, b = a.astype("int32"), lax.convert_element_type(b, bool).astype("int32")
        out = getattr(IndexUpdate(a)[indices], method)(b)
        return out.astype(bool) if boolean else out

    return update


def binary(function, identity=None, **fast):
    """The ufunc object of a function of two arrays."""
    return ufunc(function, 2, 1, name=function.__name__, identity=identity, call=function, **fast)


add = binary(ufuncs.add, 0, reduce=reductions.sum, accumulate=reductions.cumsum, at=at("add"))
subtract = binary(ufuncs.subtract, at=at("subtract"))
multiply = binary(
    ufuncs.multiply, 1, reduce=reductions.prod, accumulate=reductions.cumprod, at=at("mul")
)
negative = ufunc(ufuncs.negative, 1, 1, name="negative", call=ufuncs.negative)
maximum = binary(ufuncs.maximum, reduce=reductions._max)
minimum = binary(ufuncs.minimum, reduce=reductions._min)
logaddexp = binary(
    ufuncs.logaddexp, -np.inf, reduce=log_of_sum(ufuncs.logaddexp, ufuncs.log, ufuncs.exp)
)
logaddexp2 = binary(
    ufuncs.logaddexp2, -np.inf, reduce=log_of_sum(ufuncs.logaddexp2, ufuncs.log2, ufuncs.exp2)
)
logical_and = binary(comparisons.logical_and, True, reduce=reductions._all)
logical_or = binary(comparisons.logical_or, False, reduce=reductions._any)
logical_xor = binary(comparisons.logical_xor, False, reduce=reductions._logical_xor)
bitwise_and = binary(comparisons.bitwise_and, -1, reduce=reductions._bitwise_and)
bitwise_or = binary(comparisons.bitwise_or, 0, reduce=reductions._bitwise_or)
bitwise_xor = binary(comparisons.bitwise_xor, 0, reduce=reductions._bitwise_xor)
