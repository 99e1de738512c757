"""Reductions over the last axes: passes over each row, in which everything about it is computed.

A value that one pass computes and a later one needs is computed again if that is cheap; a dear one
is kept in an array of one row.
"""

import math

from tinyjax.compiler import reduce
from tinyjax.compiler.index import read
from tinyjax.compiler.words import COSTLY, code_of, inside
from tinyjax.core import Literal


def emit_rows(em, nest):
    """Passes over each row: every reduction may depend on those of earlier passes."""
    kept = nest.kept
    phases = range(max(nest.phase.values()) + 1)
    find_stashed(em, nest)

    def everything(idx):
        for eqn in nest.eqns:
            if reduce.is_reduction(eqn):
                read(em, eqn.invars[0], idx)
                em.seen.add((eqn.outvars[0], tuple(ix.text for ix in idx[:kept])))
                em.probing.append((nest.shape[:kept], idx[:kept]))
                if em.stored(eqn.outvars[0]):
                    em.store(em.storage(eqn.outvars[0]), idx[:kept], "x")
            elif em.stored(eqn.outvars[0]):
                v = eqn.outvars[0]
                home = em.home_of(v, idx)
                read(em, v, home)
                em.store(em.storage(v), home, "x")
            else:
                read(em, eqn.outvars[0], em.home_of(eqn.outvars[0], idx))

    groups, idx = em.analyse(nest.shape, everything)
    outer = [g for g in groups if g[0] < kept]
    inner = [g for g in groups if g[0] >= kept]
    if not outer:
        em.kernel.stages[-1].divisible = False  # threads cannot share a loop within a row
    em.open_loops(nest.shape, outer)
    for em.phase in phases:
        row_pass(em, nest, inner, idx)
    for eqn in nest.eqns:  # one element per row
        v = eqn.outvars[0]
        if em.stored(v) and not em.is_full(v):
            home = em.home_of(v, idx)
            em.store(em.storage(v), home, read(em, v, home))
    em.close_loops(outer)


def row_pass(em, nest, inner, idx):
    """One pass over a row: sums, and what is stored on the way."""
    now = [eqn for eqn in nest.eqns if em.members[eqn.outvars[0]] == em.phase]
    sums = [eqn for eqn in now if reduce.is_reduction(eqn)]

    def on_the_way(at):
        em.stores(now, at, em.phase)
        for v, place in em.stashed.items():
            if em.members[v] == em.phase:
                em.store(place, em.tail(at), read(em, v, at))

    stash_now = any(em.members[v] == em.phase for v in em.stashed)
    writes = any(em.is_full(v) for v in em.element_eqns(now, em.phase))
    if not sums and not writes and not stash_now:
        return
    busy = writes or stash_now
    results = reduce.emit_sums(em, nest.shape, inner, idx, sums, on_the_way, busy)
    for eqn, name in zip(sums, results):
        key = eqn.outvars[0], tuple(ix.text for ix in idx[: nest.kept])
        em.kernel.scope.memo[key] = name


def find_stashed(em, nest):
    """Values of one pass that a later one needs and that are dear: kept for the row."""
    last_read = {}
    if math.prod(nest.shape[nest.kept :]) <= reduce.TINY:
        return  # all passes are in one and the same scope
    for eqn in nest.eqns:
        phase = nest.phase[eqn.outvars[0]]
        for v in sources(em, eqn):
            if v in nest.phase and em.is_full(v):
                last_read[v] = max(last_read.get(v, 0), phase)
    for v, phase in last_read.items():
        if phase > nest.phase[v] and cost(em, v, nest) > 4:
            shape = nest.shape[nest.kept :]
            code = inside(code_of(v.aval.dtype))
            name = f"{em.kernel.namer(v)}_row"
            em.stashed[v] = em.kernel.scratch(name, code, shape)


def sources(em, eqn):
    """The variables of the nest that an equation reads, through whatever moves elements."""
    todo, found = [v for v in eqn.invars if not isinstance(v, Literal)], []
    while todo:
        v = todo.pop()
        if v in em.block.lazy and v not in em.makers:
            moving = em.block.lazy[v][0]
            todo += [u for u in moving.invars if not isinstance(u, Literal)]
        else:
            found.append(v)
    return found


def cost(em, var, nest):
    """How much work it is to compute an element again."""
    if var not in nest.phase or var in em.stashed or not em.is_full(var):
        return 0
    eqn = em.makers[var][0]
    own = 10 if eqn.primitive.name in COSTLY else 1
    return own + sum(cost(em, v, nest) for v in sources(em, eqn))
