"""Families of primitives: each derives most of a card's rules from what the card says."""

from functools import reduce

import numpy as np

from tinyjax import dtypes, shape_messages
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.large import LARGE, large_for
from tinyjax.primitives.linear import (
    add_tangents,
    broadcast_in_dim,
    expand_dims,
    moveaxis,
    new_front,
    reshaped,
    unbroadcast,
)
from tinyjax.primitives.narrow import kind

# ---- elementwise ------------------------------------------------------------------------------


def broadcast_shape(name, *shapes, avals=()):
    """The common shape of operands: scalars fit all, axes of size 1 stretch, ranks must agree.

    avals: the operands' types, for the message.
    """
    given, shapes = shapes, [s for s in shapes if s]
    if not shapes:
        return ()
    ranks = {len(s) for s in shapes}
    if len(ranks) != 1:
        raise TypeError(f"{name}: arrays must have the same number of dimensions, got {ranks}")
    out = []
    for sizes in zip(*shapes):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            text = ", ".join(map(str, shapes))
            text = f"{name} got incompatible shapes for broadcasting: {text}."
            raise TypeError(shape_messages.broadcasting(text, given, avals))
        out.append(wide.pop() if wide else 1)
    return tuple(out)


class Elementwise(Primitive):
    """An operation on corresponding elements.

    impl: the NumPy function. partials: for each operand a function (ans, *operands) -> linear map
    of its tangent, or None where the derivative is zero. dtype: a function from the operands' dtype
    to the result's (default: the same). accepts: the kinds of dtype it takes, as NumPy's letters.
    """

    def __init__(self, name, impl, *partials, dtype=None, accepts=None, linear=None):
        self.name = name
        if impl:
            self.impl = impl
        self.large = large_for(impl)
        self.partials, self.result_dtype, self.accepts = partials, dtype, accepts
        known = (*dtypes.VALID, dtypes.key_fry)
        self.takes = frozenset(d for d in known if accepts is None or kind(d) in accepts)
        if linear:
            self.transpose = linear

    def type(self, *avals, **params):
        shape = broadcast_shape(self.name, *[a.shape for a in avals], avals=avals)
        self.check_dtypes([a.dtype for a in avals])
        dtype = avals[-1].dtype
        if self.result_dtype:
            dtype = self.result_dtype(dtype)
        return ShapedArray(shape, dtype, all(a.weak_type for a in avals))

    def check_dtypes(self, found):
        """Operands must share a dtype, of an accepted kind."""
        if any(d != found[0] for d in found):
            names = ", ".join(dtypes.dtype_name(d) for d in found)
            raise TypeError(
                f"lax.{self.name} requires arguments to have the same dtypes, got {names}. (Tip: "
                f"jnp.{self.name} is a similar function that does automatic type promotion on "
                "inputs)."
            )
        if self.accepts and kind(found[0]) not in self.accepts:
            where = " at position 0" if len(found) > 1 else ""
            raise TypeError(
                f"{self.name} does not accept dtype {dtypes.dtype_name(found[0])}{where}. "
                f"Accepted dtypes{where} are subtypes of {kind_names(self.accepts)}."
            )

    def linearize(self, nz, *xs, **params):
        ans = self.bind(*xs, **params)
        maps = [p(ans, *xs, **params) if n and p else None for n, p in zip(nz, self.partials)]

        def push(*tangents):
            pairs = [(m, t) for m, t in zip(maps, tangents) if m and nonzero(t)]
            terms = [spread_tangent(m(t), ans.aval) for m, t in pairs]
            return reduce(add_tangents, terms) if terms else Zero(ans.aval)

        return ans, push

    def jvp(self, primals, tangents, **params):
        """As linearize, but each slope is computed next to its product: JAX's order."""
        if not self.partials:  # a subclass has its own linearize
            out, push = self.linearize([nonzero(t) for t in tangents], *primals, **params)
            return out, push(*tangents)
        ans = self.bind(*primals, **params)
        terms = []
        for p, t in zip(self.partials, tangents):
            slope = p(ans, *primals, **params) if p and nonzero(t) else None
            if slope:
                terms.append(spread_tangent(slope(t), ans.aval))
        return ans, reduce(add_tangents, terms) if terms else Zero(ans.aval)

    def batch(self, axis, vals, dims, /, **params):
        shape, dim = next((v.shape, d) for v, d in zip(vals, dims) if d is not None)
        if all(v.shape == shape and d == dim for v, d in zip(vals, dims) if v.ndim):
            return self.bind(*vals, **params), dim
        vals = [unit_front(v, d) if v.ndim else v for v, d in zip(vals, dims)]
        rank = max(v.ndim for v in vals)
        # a batch of scalars meets arrays: its new axes come last
        vals = [
            expand_dims(v, range(v.ndim, rank)) if d is not None and v.ndim < rank else v
            for v, d in zip(vals, dims)
        ]
        return self.bind(*vals, **params), 0


class WithoutDerivative(Elementwise):
    """An elementwise operation of floats whose derivative nobody has written down."""

    def linearize(self, nz, *xs, **params):
        raise NotImplementedError(
            f"Differentiation rule for '{self}' not implemented: wrap its operands in "
            "lax.stop_gradient if its result is to count as a constant"
        )


def kind_names(kinds):
    """'biuf' -> 'bool, integer, floating', for messages."""
    names = {"b": "bool", "i": "signedinteger", "u": "unsignedinteger", "f": "floating"}
    names["c"] = "complexfloating"
    text = ", ".join(names[k] for k in kinds if k in names)
    return text.replace("signedinteger, unsignedinteger", "integer")


def unit_front(x, dim):
    """The batch axis in front; an axis of size 1, which stretches, if there is none."""
    return new_front(x, 1) if dim is None else moveaxis(x, dim, 0)


def spread_tangent(t, aval):
    """A tangent at the result's shape: its operand may have been stretched."""
    if not nonzero(t) or t.shape == aval.shape:
        return t
    kept = [i for i, n in enumerate(t.shape) if n == aval.shape[i]]
    return broadcast_in_dim(reshaped(t, [t.shape[i] for i in kept]), aval.shape, kept)


def identity(t):
    """The linear map that changes nothing."""
    return t


# ---- linear and bilinear ----------------------------------------------------------------------


def transpose_terms(maps):
    """The transpose of an elementwise sum of linear terms: for each operand a map, or None."""

    def rule(ct, *operands, **params):
        return [
            unbroadcast(x.aval, m(ct, *operands, **params)) if isinstance(x, Undef) else None
            for m, x in zip(maps, operands)
        ]

    return rule


# ---- reductions -------------------------------------------------------------------------------


class Reduction(Primitive):
    """Operand -> result without the reduced axes."""

    large = LARGE

    def __init__(self, name, impl, dtype=None):
        self.name, self.reduce, self.result_dtype = name, impl, dtype

    def impl(self, x, *, axes):
        return self.reduce(x, axes)

    def type(self, x, *, axes, **params):
        shape = [n for i, n in enumerate(x.shape) if i not in axes]
        return ShapedArray(shape, self.result_dtype or x.dtype, x.weak_type)

    def batch(self, axis, vals, dims, /, *, axes, **params):
        d = dims[0]
        axes = tuple(np.int64(a + (a >= d)) for a in axes)  # jaxprs show JAX's np.int64
        return self.bind(vals[0], axes=axes, **params), d - sum(a < d for a in axes)
