"""Cumulative sums, products, maxima, minima and logsumexps along an axis."""

import numpy as np

from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive
from tinyjax.primitives.arithmetic import add, const, eq, mul, mul_p, ne, neg, sub
from tinyjax.primitives.bits import bitwise_or
from tinyjax.primitives.large import LARGE
from tinyjax.primitives.linear import LinearOp, zeros
from tinyjax.primitives.maths import exp, log1p
from tinyjax.primitives.order import abs_, max_, max_p, min_p
from tinyjax.primitives.rules import kind
from tinyjax.primitives.selection import select
from tinyjax.primitives.shaping import concatenate, pad, rev
from tinyjax.primitives.slicing import slice_in_dim
from tinyjax.primitives.sums import accumulate

# ---- cards --------------------------------------------------------------------------------------


class Cumulative(Primitive):
    """cum...[axis reverse] x."""

    large = LARGE

    def __init__(self, name, ufunc):
        self.name, self.ufunc = name, ufunc

    def impl(self, x, *, axis, reverse):
        return accumulate(self.ufunc, x, axis, reverse)

    def type(self, x, *, axis, reverse):
        return ShapedArray(x.shape, x.dtype, x.weak_type)

    def batch(self, axis_data, vals, dims, /, *, axis, reverse):
        return self.bind(vals[0], axis=axis + (axis >= dims[0]), reverse=reverse), dims[0]


class Cumsum(LinearOp, Cumulative):
    """cumsum[axis reverse] x: linear."""

    def transpose(self, ct, x, *, axis, reverse):
        return [self.bind(ct, axis=axis, reverse=not reverse)]


class Nonlinear(Cumulative):
    """A cumulative operation that is differentiated as a tree of single ones.

    combine: the joint jvp rule of the single operation.
    """

    def __init__(self, name, ufunc, combine):
        super().__init__(name, ufunc)
        self.combine = combine

    def combine_pairs(self, left, right):
        """The single operation on elements with their tangents."""
        (a, s), (b, t) = left, right
        return self.combine((a, b), (s, t))

    def jvp(self, primals, tangents, *, axis, reverse):
        pair = [*primals, *tangents]
        if reverse:
            pair = [rev(p, (axis,)) for p in pair]
        pair = prefix_scan(self.combine_pairs, pair, axis)
        if reverse:
            pair = [rev(p, (axis,)) for p in pair]
        return pair


# ---- the parallel prefix scan -------------------------------------------------------------------
#
# Neighbours are combined, the half as long list is scanned, and that gives every second result;
# combined with the elements between, it gives the others.


def prefix_scan(combine, arrays, axis):
    """The scan along an axis, in logarithmically many operations.

    An element is a list with an entry of each array; combine takes two of them.
    """
    n = arrays[0].shape[axis]
    if n < 2:
        return arrays
    even = [slice_in_dim(p, 0, -1, 2, axis) for p in arrays]
    odd = [slice_in_dim(p, 1, None, 2, axis) for p in arrays]
    odd = prefix_scan(combine, list(combine(even, odd)), axis)
    before = [slice_in_dim(p, 0, -1, 1, axis) for p in odd] if n % 2 == 0 else odd
    between = [slice_in_dim(p, 2, None, 2, axis) for p in arrays]
    even = combine(before, between)
    first = [slice_in_dim(p, 0, 1, 1, axis) for p in arrays]
    even = [concatenate(parts, axis) for parts in zip(first, even)]
    return interleave(even, odd, axis)


def interleave(even, odd, axis):
    """even[0], odd[0], even[1], odd[1] ... along an axis, for each array."""
    n = even[0].shape[axis] + odd[0].shape[axis]
    even = [spaced(p, 0, n, axis) for p in even]
    odd = [spaced(p, 1, n, axis) for p in odd]
    return [bitwise_or(a, b) if a.dtype == bool else add(a, b) for a, b in zip(even, odd)]


def spaced(x, start, size, axis):
    """The entries of x at start, start + 2 ... of an axis of the given size; zeros between."""
    config = [(0, 0, 0)] * x.ndim
    config[axis] = (start, size - start - (2 * x.shape[axis] - 1), 1)
    return pad(x, const(x, 0), config)


def logaddexp(x, y):
    """log(exp(x) + exp(y)) without overflow; infinities add as they are."""
    top, difference = max_(x, y), sub(x, y)
    safe = add(top, log1p(exp(neg(abs_(difference)))))
    return select(ne(difference, difference), add(x, y), safe)


def logaddexp_jvp(primals, tangents):
    """logaddexp and its tangent: the shares exp(x - ans) and exp(y - ans)."""
    (x, y), (s, t) = primals, tangents
    ans = logaddexp(x, y)
    first = mul(s, exp(sub(without_inf(x), without_inf(ans))))
    return ans, add(first, mul(t, exp(sub(without_inf(y), without_inf(ans)))))


def without_inf(x):
    """x with zeros for its infinities: inf - inf is to be 0."""
    return select(eq(x, const(x, np.inf)), zeros(x.aval), x)


cumsum_p = Cumsum("cumsum", np.add)
cumprod_p = Nonlinear("cumprod", np.multiply, mul_p.jvp)
cummax_p = Nonlinear("cummax", np.maximum, max_p.jvp)
cummin_p = Nonlinear("cummin", np.minimum, min_p.jvp)
cumlogsumexp_p = Nonlinear("cumlogsumexp", np.logaddexp, logaddexp_jvp)

# ---- functions ----------------------------------------------------------------------------------


def cumulative(prim, what, accepts="iufc"):
    """The public function of a card."""

    def function(operand, axis=0, reverse=False):
        x = lift(operand)
        if kind(x.dtype) not in accepts:
            raise TypeError(
                f"{prim.name} does not accept dtype {x.dtype.name}. Accepted dtypes are subtypes "
                f"of {'number' if accepts == 'iufc' else 'floating'}."
            )
        if axis < 0:
            raise ValueError("XLA operations do not allow negative axes")
        if axis >= x.ndim:
            raise ValueError(f"axis {axis} is out of bounds for array of shape {x.shape}")
        return prim.bind(x, axis=int(axis), reverse=bool(reverse))

    function.__name__ = function.__qualname__ = prim.name
    function.__doc__ = (
        f"{what} of the entries up to each one along an axis, or with reverse from each one on.\n\n"
        "    The shape and dtype stay. Raises ValueError for an axis outside [0, ndim),\n    "
        "TypeError for a dtype it does not take."
    )
    return function


cumsum = cumulative(cumsum_p, "The sum")
cumprod = cumulative(cumprod_p, "The product")
cummax = cumulative(cummax_p, "The maximum")
cummin = cumulative(cummin_p, "The minimum")
cumlogsumexp = cumulative(cumlogsumexp_p, "The logarithm of the sum of exponentials", "f")
