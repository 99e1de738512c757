"""Selection: select_n takes one of several cases at each place, clamp keeps within bounds."""

import numpy as np

from tinyjax import dtypes, shape_messages
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.arithmetic import const, eq, full_of, gt, lt
from tinyjax.primitives.bits import bitwise_and
from tinyjax.primitives.large import LARGE
from tinyjax.primitives.linear import (
    batched_front,
    broadcast,
    broadcast_in_dim,
    moveaxis,
    zeros,
)
from tinyjax.primitives.rules import Elementwise

# ---- select --------------------------------------------------------------------------------------


class SelectN(Primitive):
    """select_n which *cases: at each place the case that `which` (bool or integer) names."""

    large = LARGE

    def impl(self, which, *cases):
        if len(cases) == 1:
            return cases[0]
        if which.dtype.kind == "b":
            return np.where(which, cases[1], cases[0])
        return np.choose(np.broadcast_to(which, cases[0].shape), cases, mode="clip")

    def weak_result(self, args, params):
        return all(c.weak_type for c in args[1:])

    def type(self, which, *cases):
        for c in cases:
            if c.shape != cases[0].shape:
                shapes = ", ".join(str(c.shape) for c in cases)
                names = ["on_false", "on_true"] if len(cases) == 2 else None
                first = f"select cases must have the same shapes, got [{shapes}]."
                raise TypeError(shape_messages.joining(first, cases, names=names))
            if c.dtype != cases[0].dtype:
                names = ", ".join(dtypes.dtype_name(c.dtype) for c in cases)
                raise TypeError(
                    f"lax.select requires arguments to have the same dtypes, got {names}. (Tip: "
                    "jnp.where is a similar function that does automatic type promotion on "
                    "inputs)."
                )
        if which.shape not in ((), cases[0].shape):
            raise TypeError(
                "select `which` must be scalar or have the same shape as cases, got `which` "
                f"shape {which.shape} but case shape {cases[0].shape}."
            )
        if which.dtype.kind not in "biu":
            raise TypeError(f"select `which` must be boolean or integer type, got {which.dtype}.")
        if which.dtype == bool and len(cases) > 2:
            raise TypeError(f"select with boolean `which` cannot have > 2 cases; got {len(cases)}.")
        return ShapedArray(cases[0].shape, cases[0].dtype, all(c.weak_type for c in cases))

    def linearize(self, nz, which, *cases):
        def push(_, *tangents):
            first = next((t for t in tangents if nonzero(t)), None)
            if first is None:
                return Zero(cases[0].aval)
            nil = full_of(first, 0)
            return self.bind(which, *[t if nonzero(t) else nil for t in tangents])

        return self.bind(which, *cases), push

    def transpose(self, ct, which, *cases):
        nil, cts = zeros(ct.aval), [None]
        for i, case in enumerate(cases):
            if not isinstance(case, Undef):
                cts.append(None)
            elif which.dtype == bool:
                cts.append(self.bind(which, *[ct if k == i else nil for k in range(len(cases))]))
            else:
                cts.append(select(eq(which, const(which, i)), ct, nil))
        return cts

    def batch(self, axis, vals, dims, /):
        which, *cases = vals
        at, others = dims[1], dims[2:]
        if all(d == dims[0] for d in dims):
            if which.shape != cases[0].shape:  # one scalar per element of the batch
                which = broadcast_in_dim(which, cases[0].shape, dims[:1])
            return self.bind(which, *cases), at
        if which.ndim == 0 and None not in dims[1:]:
            same_shape = all(c.shape == cases[0].shape for c in cases)
            if same_shape or all(d == at for d in others):
                moved = [moveaxis(c, d, at) for c, d in zip(cases[1:], others)]
                return self.bind(which, cases[0], *moved), at
        which = batched_front(axis, which, dims[0]) if which.ndim else which
        if any(c.ndim for c in cases):
            cases = [batched_front(axis, c, d) for c, d in zip(cases, dims[1:])]
        if 0 < which.ndim < cases[0].ndim:
            which = broadcast_in_dim(which, cases[0].shape, (0,))
        if which.ndim > cases[0].ndim:
            cases = [broadcast(c, which.shape) for c in cases]
        return self.bind(which, *cases), 0


select_n_p = SelectN("select_n")


def select_n(which, *cases):
    """At each place the case whose number `which` gives.

    Args:
      which: bool (two cases) or integer array, a scalar or of the cases' shape.
      cases: arrays of one shape and dtype.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.select_n(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([10, 20]))
    Array([10,  2], dtype=int32)
    """
    if not cases:
        raise ValueError("select_n() must have at least one case")
    which, cases = lift(which), [lift(c) for c in cases]
    select_n_p.type(which.aval, *[c.aval for c in cases])
    return select_n_p.bind(which, *cases)


def select(pred, on_true, on_false):
    """on_true where pred holds, on_false elsewhere (arrays of one shape and dtype)."""
    return select_n(pred, on_false, on_true)


class Clamp(Elementwise):
    """clamp low x high: min(max(low, x), high); the bounds are scalars or have x's shape."""

    def impl(self, low, x, high):
        return np.minimum(np.maximum(low, x), high)

    def type(self, low, x, high):
        for name, bound in (("min", low), ("max", high)):
            if bound.shape not in ((), x.shape):
                raise TypeError(
                    f"clamp requires {name}.shape == operand.shape or {name}.shape == (), got "
                    f"{name}.shape={bound.shape}, operand.shape={x.shape}."
                )
        found = [low.dtype, x.dtype, high.dtype]
        if any(d != x.dtype for d in found):
            names = ", ".join(map(dtypes.dtype_name, found))
            raise TypeError(f"lax.clamp requires arguments to have the same dtypes, got {names}.")
        weak = low.weak_type and x.weak_type and high.weak_type
        return ShapedArray(x.shape, x.dtype, weak)

    def batch(self, axis, vals, dims, /):
        low, x, high = vals
        scalars = low.ndim == high.ndim == 0
        if dims[1] is not None and (scalars or dims[0] == dims[1] == dims[2]):
            if low.shape == high.shape and (scalars or low.shape == x.shape):
                return self.bind(low, x, high), dims[1]
            if low.ndim == high.ndim == 1:
                low, high = (broadcast_in_dim(b, x.shape, (dims[1],)) for b in (low, high))
                return self.bind(low, x, high), dims[1]
        low = batched_front(axis, low, dims[0]) if low.ndim else low
        high = batched_front(axis, high, dims[2]) if high.ndim else high
        x = batched_front(axis, x, dims[1]) if x.ndim else x
        if x.ndim == 0:  # only bounds are batched
            return self.bind(low, broadcast(x, (axis.size,)), high), 0
        low, high = (b if b.ndim else broadcast(b, x.shape) for b in (low, high))
        low, high = (spread_bound(b, x.shape) for b in (low, high))
        return self.bind(low, x, high), 0


def spread_bound(bound, shape):
    """A bound, which may be one number per element of the batch in front, at x's shape."""
    return broadcast_in_dim(bound, shape, (0,)) if bound.ndim < len(shape) else bound


def where_only(mask):
    """The linear map that keeps a tangent where the mask holds; a scalar's tangent spreads."""

    def keep(t):
        t = t if t.shape == mask.shape else broadcast_in_dim(t, mask.shape, ())
        return select(mask, t, full_of(t, 0))

    return keep


clamp_p = Clamp(
    "clamp",
    None,
    lambda ans, low, x, high: where_only(bitwise_and(gt(low, x), lt(low, high))),
    lambda ans, low, x, high: where_only(bitwise_and(gt(x, low), lt(x, high))),
    lambda ans, low, x, high: where_only(lt(high, x)),
)


def clamp(min, x, max):
    """x, but at least min and at most max.

    Args:
      min, max: scalars, or arrays of x's shape; all three of one dtype.

    >>> clamp(0.0, 1.5, 1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    low, x, high = lift(min), lift(x), lift(max)
    clamp_p.type(low.aval, x.aval, high.aval)
    return clamp_p.bind(low, x, high)


def without_zeros(x):
    """x with its zeros replaced by ones."""
    return select(eq(x, const(x, 0)), full_of(x, 1), x)
