"""Results that are written piece by piece: concatenate, pad, dynamic_update_slice."""

from tinyjax.compiler.index import ZERO, Ix, affine, read


def emit_copy(em, eqn):
    """concatenate, pad, dynamic_update_slice."""
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
