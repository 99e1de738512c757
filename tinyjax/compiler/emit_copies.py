"""Results that are written piece by piece: joined, padded, updated, scattered, accumulated."""

from tinyjax.compiler import reduce
from tinyjax.compiler.fusion import CUMULATIVE, SCATTERS
from tinyjax.compiler.index import ZERO, Ix, Windows, affine, plain, read
from tinyjax.compiler.kernel import LOOP_NAMES
from tinyjax.compiler.words import code_of, inside
from tinyjax.primitives.windows import window_sizes


def emit_copy(em, eqn):
    """The loops of one such equation."""
    em.nest, em.makers, em.members = None, {}, {}
    out = em.storage(eqn.outvars[0])
    name = eqn.primitive.name
    em.kernel.line(f"# {em.kernel.namer(eqn.outvars[0])} = {name}")
    if name == "concatenate":
        start, axis = 0, eqn.params["dimension"]
        for x in eqn.invars:
            shift = [(start if d == axis else 0, 1) for d in range(len(x.aval.shape))]
            copy_into(em, out, x, x.aval.shape, shift)
            start += x.aval.shape[axis]
    elif name == "pad":
        emit_pad(em, out, eqn)
    elif name in SCATTERS:
        emit_scatter(em, out, eqn)
    elif name in CUMULATIVE:
        emit_cumulative(em, out, eqn)
    else:
        x, update, *starts = eqn.invars
        if em.kernel.places.get(x) is not out:
            copy_into(em, out, x, x.aval.shape, [(0, 1)] * len(x.aval.shape))
        offsets = [
            None if n == m else em.clamped(s, n - m)
            for s, n, m in zip(starts, x.aval.shape, update.aval.shape)
        ]
        write_at(em, out, update, offsets)


def copy_into(em, out, x, shape, shifts, cut=()):
    """Loops that write x, or what is left when it is cut, at start + stride * index."""
    if 0 in shape:
        return

    def body(idx):
        source = [affine(ix, a, 1, em) for ix, a in zip(idx, cut)] if cut else idx
        value = read(em, x, source)
        em.store(out, [affine(ix, a, s, em) for ix, (a, s) in zip(idx, shifts)], value)

    em.over(shape, body)


def emit_pad(em, out, eqn):
    """The padding value everywhere, then the operand over it."""
    x, value = eqn.invars
    shape = eqn.outvars[0].aval.shape
    if 0 in shape:
        return
    em.over(shape, lambda idx: em.store(out, idx, read(em, value, [])))
    shifts, cut, kept = [], [], []
    for n, wanted, (low, _, interior) in zip(x.aval.shape, shape, eqn.params["padding_config"]):
        step = interior + 1
        first = max(0, -(low // step))
        last = max(first, min(n, -((low - wanted) // step)))
        shifts.append((low + first * step, step))
        cut.append(first)
        kept.append(last - first)
    copy_into(em, out, x, tuple(kept), shifts, cut)


def write_at(em, out, update, offsets):
    """Write an array into another one, at offsets known at run time."""
    if 0 in update.aval.shape:
        return

    def body(idx):
        at = [
            ix if o is None else Ix(o if ix is ZERO else f"({o} + {ix.text})", None, ix.uses)
            for ix, o in zip(idx, offsets)
        ]
        em.store(out, at, read(em, update, idx))

    em.over(update.aval.shape, body)


def emit_scatter(em, out, eqn):
    """The operand, then one update after the other."""
    x, indices, updates = eqn.invars
    if em.kernel.places.get(x) is not out:
        copy_into(em, out, x, x.aval.shape, [(0, 1)] * len(x.aval.shape))
    shape, p = updates.aval.shape, eqn.params
    if 0 in shape or 0 in x.aval.shape:
        return
    sizes = window_sizes(x.aval.shape, shape, p["dimension_numbers"])
    mode = p["mode"]
    windows = Windows(p["dimension_numbers"], sizes, mode)
    clip = mode.name == "CLIP"

    def body(idx):
        at, test = windows.place(em, x, indices, idx)
        value = read(em, updates, idx)
        old = "x" if em.probing is not None else f"{out.name}[{em.kernel.flat(out, at)}]"
        guarded = test and not clip and em.probing is None
        if guarded:
            em.kernel.open(f"if {test}:")
        em.store(out, at, SCATTERS[eqn.primitive.name].format(old, value))
        if guarded:
            em.kernel.close()

    em.over(shape, body)


def emit_cumulative(em, out, eqn):
    """Results so far, in double precision for sums, along one axis."""
    x, axis = eqn.invars[0], eqn.params["axis"]
    shape, kernel = x.aval.shape, em.kernel
    if 0 in shape:
        return
    single = eqn.replace(primitive=reduce.NAMED[CUMULATIVE[eqn.primitive.name]])
    axes = [d for d, n in enumerate(shape) if n != 1]
    em.letter = {d: LOOP_NAMES[k] for k, d in enumerate(axes)}
    idx = [plain(d, em.letter[d]) if d in axes else ZERO for d in range(len(shape))]
    around, along = [[d] for d in axes if d < axis], [[d] for d in axes if d == axis]
    within = [[d] for d in axes if d > axis]
    if eqn.params["reverse"] and along:
        idx[axis] = Ix(f"({em.size(shape[axis])} - 1 - {idx[axis].text})", None, (axis,))
    code = code_of(out_dtype(eqn))
    wide = "f64" if reduce.in_double(single) else inside(code)
    first = reduce.start(single).replace(f"{inside(code)}(", f"{wide}(")
    name = kernel.namer(eqn.outvars[0]) + "_acc"
    if within:
        row = kernel.scratch(name, wide, shape[axis + 1 :])
        total = f"{row.name}[{kernel.flat(row, idx[axis + 1 :])}]"
    else:
        total = kernel.fresh(name)
    em.open_loops(shape, around)
    em.open_loops(shape, within)
    kernel.line(f"{total} = {first}")
    em.close_loops(within)
    em.open_loops(shape, along + within)
    value = read(em, x, idx)
    step = reduce.PLAIN_STEP[single.primitive.name].format(total, f"{wide}({value})")
    kernel.line(f"{total} = {step}")
    em.store(out, idx, f"{code}({total})" if wide != code else total)
    em.close_loops(along + within)
    em.close_loops(around)


def out_dtype(eqn):
    """The dtype of an equation's result."""
    return eqn.outvars[0].aval.dtype
