"""Where a value is read: how index expressions pass through operations that only move elements.

An operation such as broadcast_in_dim, slice or transpose is never computed: its consumers read its
operand at another index. `read` follows a variable to the places where its elements really are.
"""

# ---- index expressions --------------------------------------------------------------------------


class Ix:
    """An index along one axis. dim: the axis of the nest that it runs along, if it is plain."""

    __slots__ = ("dim", "text", "uses")

    def __init__(self, text, dim=None, uses=()):
        self.text, self.dim, self.uses = text, dim, uses

    def __repr__(self):
        return f"Ix({self.text}, {self.dim})"


ZERO = Ix("0")


def plain(dim, text=None):
    """The loop index of an axis. Without a text it is merged into the axis that follows."""
    return Ix(text, dim, (dim,))


def tokens(shape):
    """Stand-ins for the loop indices of a nest, for looking at accesses before loops exist."""
    return [ZERO if n == 1 else plain(d, f"d{d}") for d, n in enumerate(shape)]


def same(a, b):
    """Whether two lists of indices are equal."""
    return [(x.dim, x.text) for x in a] == [(x.dim, x.text) for x in b]


def stretched(shape, idx):
    """The index of an operand that axes of size 1 stretch and scalars fill."""
    return [ZERO if n == 1 else ix for n, ix in zip(shape, idx)] if shape else []


def affine(ix, start, stride, ctx):
    """start + stride * i."""
    if (start == 0 and stride == 1) or ix is ZERO and start == 0:
        return ix
    text = ix.text if stride == 1 else f"{ix.text}*{stride}"
    if start:
        offset = start if start <= 4 else ctx.size(start)
        text = f"{offset}" if ix is ZERO else f"({text} + {offset})"
    return Ix(text, None, ix.uses)


# ---- operations that move elements --------------------------------------------------------------


def broadcast_in_dim(ctx, eqn, idx, which):
    x = eqn.invars[0]
    dims = eqn.params["broadcast_dimensions"]
    at = [ZERO if n == 1 else idx[d] for n, d in zip(x.aval.shape, dims)]
    return read(ctx, x, at)


def only_ones(old, new):
    """Whether two shapes differ in axes of size 1 only."""
    return [n for n in old if n != 1] == [n for n in new if n != 1]


def reshape(ctx, eqn, idx, which):
    x = eqn.invars[0]
    moving = iter([ix for n, ix in zip(eqn.outvars[0].aval.shape, idx) if n != 1])
    return read(ctx, x, [ZERO if n == 1 else next(moving) for n in x.aval.shape])


def transpose(ctx, eqn, idx, which):
    at = [None] * len(idx)
    for ix, source in zip(idx, eqn.params["permutation"]):
        at[source] = ix
    return read(ctx, eqn.invars[0], at)


def slice_(ctx, eqn, idx, which):
    starts, strides = eqn.params["start_indices"], eqn.params["strides"]
    strides = strides or (1,) * len(starts)
    at = [affine(ix, a, s, ctx) for ix, a, s in zip(idx, starts, strides)]
    return read(ctx, eqn.invars[0], at)


def split(ctx, eqn, idx, which):
    axis, start = eqn.params["axis"], sum(eqn.params["sizes"][:which])
    at = [affine(ix, start, 1, ctx) if d == axis else ix for d, ix in enumerate(idx)]
    return read(ctx, eqn.invars[0], at)


def rev(ctx, eqn, idx, which):
    x = eqn.invars[0]
    at = list(idx)
    for d in eqn.params["dimensions"]:
        if at[d] is not ZERO:
            at[d] = Ix(f"({ctx.size(x.aval.shape[d])} - 1 - {idx[d].text})", None, idx[d].uses)
    return read(ctx, x, at)


def dynamic_slice(ctx, eqn, idx, which):
    x, *starts = eqn.invars
    at = []
    for ix, start, size, wanted in zip(idx, starts, x.aval.shape, eqn.outvars[0].aval.shape):
        if size == wanted:
            at.append(ix)
            continue
        offset = ctx.clamped(start, size - wanted)
        at.append(Ix(offset if ix is ZERO else f"({offset} + {ix.text})", None, ix.uses))
    return read(ctx, x, at)


def iota(ctx, eqn, idx, which):
    return ctx.iota(eqn, idx[eqn.params["dimension"]])


MOVES = {
    "broadcast_in_dim": broadcast_in_dim,
    "reshape": reshape,
    "squeeze": reshape,
    "expand_dims": reshape,
    "transpose": transpose,
    "slice": slice_,
    "split": split,
    "rev": rev,
    "dynamic_slice": dynamic_slice,
    "iota": iota,
}


def moves(eqn):
    """Whether an equation only moves elements, so that its consumers can read its operand."""
    name = eqn.primitive.name
    if name == "reshape":
        return only_ones(eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape)
    if name == "dynamic_slice":
        return all(v.aval.dtype.kind in "iu" for v in eqn.invars[1:])
    return name in MOVES


# ---- reading ------------------------------------------------------------------------------------


def read(ctx, atom, idx):
    """The element of a variable at an index.

    ctx says what is a leaf (`leaf(var, idx)` answers with None if it is not one) and how to compute
    (`apply`); for looking ahead it records, for printing it writes lines.
    """
    value = ctx.leaf(atom, idx)
    if value is not None:
        return value
    eqn, which = ctx.definition(atom)
    move = MOVES.get(eqn.primitive.name)
    if move is not None:
        return move(ctx, eqn, idx, which)
    operands = [read(ctx, v, stretched(v.aval.shape, idx)) for v in eqn.invars]
    return ctx.apply(eqn, operands, idx)
