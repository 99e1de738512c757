"""log(exp(x) + exp(y)) without overflow, for arrays of one inexact dtype."""

import numpy as np

from tinyjax import lax
from tinyjax.numpy.promotion import const, constant_like
from tinyjax.transforms.custom import custom_jvp


@custom_jvp
def logaddexp(x1, x2):
    """The larger one, plus the logarithm of 1 + exp(minus the distance)."""
    largest = lax.max(x1, x2)
    if x1.dtype.kind == "c":
        delta = lax.sub(lax.add(x1, x2), lax.mul(largest, const(largest, 2)))
        out = lax.add(largest, lax.log1p(lax.exp(delta)))
        return lax.complex(lax.real(out), wrap_between(lax.imag(out), np.pi))
    delta = lax.sub(x1, x2)
    undefined, total = lax.ne(delta, delta), lax.add(x1, x2)  # nans, infinities of one sign
    correction = lax.log1p(lax.exp(lax.neg(lax.abs(delta))))
    return lax.select(undefined, total, lax.add(largest, correction))


@logaddexp.defjvp
def _logaddexp_jvp(primals, tangents):
    """A mean of the tangents, weighted by how much each argument contributes."""
    out = logaddexp(*primals)
    return out, weighted_sum(lax.exp, primals, tangents, out)


@custom_jvp
def logaddexp2(x1, x2):
    """logaddexp to base 2."""
    largest = lax.max(x1, x2)
    scale = const(largest, 1 / np.log(2))
    if x1.dtype.kind == "c":
        delta = lax.sub(lax.add(x1, x2), lax.mul(largest, const(largest, 2)))
        out = lax.add(largest, lax.mul(scale, lax.log1p(lax.exp2(delta))))
        return lax.complex(lax.real(out), wrap_between(lax.imag(out), np.pi / np.log(2)))
    delta = lax.sub(x1, x2)
    undefined, total = lax.ne(delta, delta), lax.add(x1, x2)
    correction = lax.mul(scale, lax.log1p(lax.exp2(lax.neg(lax.abs(delta)))))
    return lax.select(undefined, total, lax.add(largest, correction))


@logaddexp2.defjvp
def _logaddexp2_jvp(primals, tangents):
    """As of logaddexp."""
    out = logaddexp2(*primals)
    return out, weighted_sum(lax.exp2, primals, tangents, out)


def weighted_sum(exp, primals, tangents, out):
    """The sum of t * exp(x - out)."""
    terms = [
        lax.mul(t, exp(lax.sub(without_inf(x), without_inf(out))))
        for x, t in zip(primals, tangents)
    ]
    return lax.add(*terms)


def without_inf(x):
    """x with inf replaced by 0."""
    real = lax.real(x) if x.dtype.kind == "c" else x
    return lax.select(lax.eq(real, constant_like(real, np.inf)), lax.full_like(x, 0), x)


def wrap_between(x, limit):
    """x moved by multiples of 2 * limit into [-limit, limit)."""
    period, half = const(x, 2 * limit), const(x, limit)
    rest = lax.rem(lax.add(x, half), period)
    rest = lax.select(lax.lt(rest, const(rest, 0)), lax.add(rest, period), rest)
    return lax.sub(rest, half)
