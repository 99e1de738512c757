"""vmap: one trace, whose axis may have a name.

    batch(axis, vals, dims, /, **params) -> out, dim(s)     axis.size, axis.name

A trace hands on what has no batched operand, except primitives marked collective (psum, and those
that hold programs) when its axis has a name.
"""

from typing import Any, NamedTuple

from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Trace, Tracer, active, current_trace
from tinyjax.primitives.linear import moveaxis, new_front
from tinyjax.util import unzip2


class Axis(NamedTuple):
    """The axis that a vmap or pmap maps over."""

    size: int
    name: Any = None
    devices: bool = False  # its elements are on devices: pmap's


class BatchTracer(Tracer):
    """A whole batch that looks like one element: val without its axis dim."""

    __slots__ = ("dim", "val")

    def __init__(self, trace, val, dim):
        shape = val.shape
        self.trace, self.val, self.dim = trace, val, dim
        self.aval = ShapedArray(shape[:dim] + shape[dim + 1 :], val.dtype, val.weak_type)

    def __repr__(self):
        return f"VmapTracer(aval={self.aval.str_short()}, batched={self.val.aval.str_short()})"

    def origin(self):
        return "It is one element of a batch inside vmap, whose elements have different values."


BatchTracer.__name__ = BatchTracer.__qualname__ = "VmapTracer"  # for users, as in JAX


class BatchTrace(Trace):
    """Applies batching rules. Traces that share a tag share their tracers: a custom rule that runs
    later re-enters the vmap whose values it closed over."""

    def __init__(self, parent, axis, tag=None):
        self.parent, self.axis, self.tag = parent, axis, tag or self

    def mine(self, x):
        return isinstance(x, BatchTracer) and x.trace.tag is self.tag

    def split(self, x):
        """-> value, batch dimension or None."""
        x = lift(x)
        return (x.val, x.dim) if self.mine(x) else (x, None)

    def pair(self, x, dim):
        """A batched tracer, unless there is no batch dimension."""
        return x if dim is None else BatchTracer(self, x, dim)

    def process(self, prim, args, params):
        vals, dims = unzip2(map(self.split, args))
        named = prim.collective and self.axis.name is not None
        if all(d is None for d in dims) and not named and not prim.callables:
            return self.parent.process(prim, vals, params)
        with active(self.parent):
            if prim.callables:
                params = dict(params, trace=self)
            out, dim = prim.batch(self.axis, vals, dims, **params)
        return list(map(self.pair, out, dim)) if prim.multi else self.pair(out, dim)


def vmap_flat(f, axis, vals, dims, tag=None):
    """-> values and batch dimensions of f's results."""
    trace = BatchTrace(current_trace(), axis, tag)
    with active(trace, final=True):
        outs = f(*map(trace.pair, vals, dims))
    return unzip2(map(trace.split, outs))


def move_to(axis, val, dim, want):
    """val with its batch axis at `want` (made by broadcasting if it has none)."""
    if want is None:
        if dim is not None:
            raise ValueError(
                "vmap has mapped output but out_axes is None: the output depends on the mapped "
                "arguments, so give it an axis (for example out_axes=0)."
            )
        return val
    ndim = val.ndim + (dim is None)
    if not -ndim <= want < ndim:
        raise ValueError(
            f"axis {want} is out of bounds for array of dimension {ndim}: out_axes counts the axes "
            "of the result, the mapped one included."
        )
    full = new_front(val, axis.size) if dim is None else val
    return moveaxis(full, dim or 0, want % ndim)


def fronts(vals, dims):
    """Move every batch axis to the front."""
    moved = [v if d is None else moveaxis(v, d, 0) for v, d in zip(vals, dims)]
    return moved, tuple(None if d is None else 0 for d in dims)
