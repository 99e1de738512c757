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
    if start < 0:
        text = f"({text} - {ctx.size(-start) if start < -4 else -start})"
    elif start:
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
        if x.aval.shape[d] > 1:
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


# An array in pieces along one axis: a loop that stays within one piece reads it directly; another
# loop must ask at every step in which piece it is.


def concatenate(ctx, eqn, idx, which):
    axis, starts = eqn.params["dimension"], [0]
    for x in eqn.invars:
        starts.append(starts[-1] + x.aval.shape[axis])
    pieces = [(a, b, x) for a, b, x in zip(starts, starts[1:], eqn.invars) if b > a]
    at = ctx.piece(idx[axis], [a for a, _, _ in pieces])

    def element(start, end, x, inside):
        there = list(idx)
        if end - start == 1:
            there[axis] = ZERO
        elif inside:
            there[axis] = affine(idx[axis], -start, 1, ctx)
        else:
            there[axis] = clamped(idx[axis], start, end - start, ctx)
        return read(ctx, x, there)

    if at is not None:
        return element(*pieces[at], True)
    value = element(*pieces[-1], False)
    for start, end, x in reversed(pieces[:-1]):
        test = f"{idx[axis].text} < {ctx.size(end)}"
        value = ctx.choose(eqn.outvars[0], idx, test, element(start, end, x, False), value)
    return value


def clamped(ix, start, size, ctx):
    """The index within a piece, moved to its nearest end where the loop is outside of it."""
    last = f"{ctx.size(size)} - 1"
    text = f"minimum(maximum({ix.text} - {ctx.size(start)}, 0), {last})"
    return Ix(ctx.named(ix, text), None, ix.uses)


def pad(ctx, eqn, idx, which):
    x, value = eqn.invars
    there, tests = list(idx), []
    for d, (n, (low, high, _)) in enumerate(zip(x.aval.shape, eqn.params["padding_config"])):
        if not low and not high:
            continue
        starts = [0] * (low > 0) + [low] + [low + n] * (high > 0)
        at = ctx.piece(idx[d], starts)
        if at is None:
            text = idx[d].text
            tests.append(f"({text} >= {ctx.size(low)}) & ({text} < {ctx.size(low + n)})")
            there[d] = clamped(idx[d], low, n, ctx)
        elif starts[at] == low and at == (low > 0):
            there[d] = ZERO if n == 1 else affine(idx[d], -low, 1, ctx)
        else:
            return read(ctx, value, [])
    inside = read(ctx, x, there)
    if not tests:
        return inside
    return ctx.choose(eqn.outvars[0], idx, " & ".join(tests), inside, read(ctx, value, []))


def iota(ctx, eqn, idx, which):
    return ctx.iota(eqn, idx[eqn.params["dimension"]])


# ---- windows at computed places ------------------------------------------------------------------


class Windows:
    """Dimension numbers of a gather or scatter, under common names.

    window: axes of the result (or updates) that run over a window. dropped: axes of the operand
    that windows lack. index_map: the operand's axis for each number of an index. shared: pairs of
    axes (of the operand, of the indices) that both run along.
    """

    def __init__(self, numbers, sizes, mode):
        self.window, self.dropped, self.index_map, operand_axes, indices_axes = numbers
        self.shared = dict(zip(operand_axes, indices_axes))
        self.sizes, self.clip = sizes, mode.name != "FILL_OR_DROP"

    def place(self, ctx, x, indices, idx):
        """Where in the operand x the element idx of the result is; tests that it is inside."""
        batch = [ix for d, ix in enumerate(idx) if d not in self.window]
        inside_window = iter([idx[d] for d in self.window])
        at, tests = [], []
        for d, n in enumerate(x.aval.shape):
            if d in self.shared:
                at.append(batch[self.shared[d]])
                continue
            ix = ZERO if d in self.dropped else next(inside_window)
            if d in self.index_map:
                number = Ix(str(self.index_map.index(d))) if len(self.index_map) > 1 else ZERO
                text = read(ctx, indices, [*batch, number])
                uses = tuple(dict.fromkeys(u for b in batch for u in b.uses))
                start, test = ctx.start(text, Ix("", None, uses), n - self.sizes[d])
                tests.append(test)
                text = start if ix is ZERO else f"({start} + {ix.text})"
                ix = Ix(text, None, (*uses, *ix.uses))
            at.append(ix)
        return at, " & ".join(tests)


def gather(ctx, eqn, idx, which):
    x, indices = eqn.invars
    p = eqn.params
    windows = Windows(p["dimension_numbers"], p["slice_sizes"], p["mode"])
    at, test = windows.place(ctx, x, indices, idx)
    value = read(ctx, x, at)
    if windows.clip or not test:
        return value
    return ctx.choose(eqn.outvars[0], idx, test, value, ctx.fill(eqn))


# ---- random keys --------------------------------------------------------------------------------

WORDS = Ix("0"), Ix("1")  # a key is a pair of words


def random_bits(ctx, eqn, idx, which):
    key = eqn.invars[0]
    rank = len(key.aval.shape) - 1
    words = [read(ctx, key, [*idx[:rank], w]) for w in WORDS]
    x, y = ctx.hash_counter(eqn, idx, words, eqn.params["shape"], idx[rank:])
    width = eqn.params["bit_width"]
    if width == 64:
        return ctx.result(eqn, idx, f"shift_left(u64({x}), u64(32)) | u64({y})")
    return ctx.result(eqn, idx, f"{x} ^ {y}" if width == 32 else f"u{width}({x} ^ {y})")


def random_split(ctx, eqn, idx, which):
    key = eqn.invars[0]
    rank = len(key.aval.shape) - 1
    words = [read(ctx, key, [*idx[:rank], w]) for w in WORDS]
    x, y = ctx.hash_counter(eqn, idx, words, eqn.params["shape"], idx[rank:-1])
    return either_word(ctx, eqn, idx, x, y)


def random_fold_in(ctx, eqn, idx, which):
    key, number = eqn.invars
    at = [*stretched(key.aval.shape[:-1], idx[:-1])]
    words = [read(ctx, key, [*at, w]) for w in WORDS]
    low = read(ctx, number, stretched(number.aval.shape, idx[:-1]))
    x, y = ctx.hash(eqn, idx, words, "u32(0)", f"u32({low})")
    return either_word(ctx, eqn, idx, x, y)


def random_seed(ctx, eqn, idx, which):
    seed = eqn.invars[0]
    x = read(ctx, seed, idx[:-1])
    wide = seed.aval.dtype.itemsize == 8
    high = f"u32(shift_right_logical(u64({x}), u64(32)))" if wide else "u32(0)"
    return either_word(ctx, eqn, idx, high, f"u32({x})")


def either_word(ctx, eqn, idx, x, y):
    """The word of a key that the last index asks for."""
    return ctx.result(eqn, idx, f"where({ctx.number_of(idx[-1])} == 0, {x}, {y})")


MOVES = {
    "random_bits": random_bits,
    "random_split": random_split,
    "random_fold_in": random_fold_in,
    "random_seed": random_seed,
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
    "gather": gather,
    "concatenate": concatenate,
    "pad": pad,
}
HASHES = {"random_bits", "random_split", "random_fold_in", "random_seed"}
IN_PIECES = {"concatenate", "pad"}


def moves(eqn):
    """Whether an equation only moves elements, so that its consumers can read its operand."""
    name = eqn.primitive.name
    if name == "reshape":
        return only_ones(eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape)
    if name == "dynamic_slice":
        return all(v.aval.dtype.kind in "iu" for v in eqn.invars[1:])
    if name == "gather":
        x, indices = (v.aval for v in eqn.invars)
        return x.size > 0 and indices.dtype.kind in "iu"
    if name == "concatenate":
        return eqn.outvars[0].aval.size > 0
    if name == "pad":
        plain = all(a >= 0 and b >= 0 and c == 0 for a, b, c in eqn.params["padding_config"])
        return plain and 0 not in eqn.invars[0].aval.shape
    return name in MOVES and name not in HASHES


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
