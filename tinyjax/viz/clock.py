"""A pmapped program with clocks in it: when each device began, met the others, and ended.

`clock` is a primitive of its own: an operation that reads the machine's clock when its operands are
there. Put between the equations of a program it costs a microsecond each; programs without it cost
nothing.
"""

import time

import numpy as np

from tinyjax.api import block_until_ready, make_jaxpr
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Literal, Primitive, run
from tinyjax.transforms.collectives import axis_index
from tinyjax.transforms.pmap import pmap_p
from tinyjax.transforms.stage import stage_closed
from tinyjax.tree_util import tree_leaves
from tinyjax.viz.tape import inlined

RUNS = 3  # the last one is drawn: the first compiles


class Clock(Primitive):
    """clock *operands: nanoseconds as two words, once the operands are there."""

    effectful = True

    def impl(self, *operands):
        now = time.monotonic_ns()  # one clock for all processes of a machine
        return np.array([now >> 32, now & 0xFFFFFFFF], np.uint32)

    def type(self, *operands):
        return ShapedArray((2,), np.dtype(np.uint32))


clock_p = Clock("clock")


class Measured:
    """A call of a pmapped function. start, ready: of the call, in the user's process.

    times: for each device, nanoseconds at the beginning, before and after each exchange, at the
    end. exchanges: the names of these. devices: their numbers.
    """

    def __init__(self, name, start, ready, times, exchanges, devices):
        self.name, self.start, self.ready = name, start, ready
        self.times, self.exchanges, self.devices = times, exchanges, devices


def measure(f, args):
    """Run a pmapped function with clocks in it -> Measured."""
    jaxpr = inlined(make_jaxpr(f)(*args))
    places = [k for k, eqn in enumerate(jaxpr.eqns) if eqn.primitive is pmap_p]
    if not places:
        raise TypeError("device_timeline: f must be a pmapped function, such as jax.pmap(f)")
    if len(places) > 1:
        raise TypeError(f"device_timeline: f must call one pmap, but it calls {len(places)}")
    eqn = jaxpr.eqns[places[0]]
    operands = operands_of(jaxpr, eqn, places[0], list(map(lift, tree_leaves(args))))
    program, exchanges = timed(inlined(eqn.params["jaxpr"]), eqn.params)
    clocks = 2 + 2 * len(exchanges)
    params = eqn.params | {
        "jaxpr": program,
        "out_axes": (0,) * clocks + tuple(eqn.params["out_axes"]),
    }
    for _ in range(RUNS):
        start = time.monotonic_ns()
        outs = block_until_ready(pmap_p.bind(*operands, **params))
        ready = time.monotonic_ns()
    words = np.stack([np.asarray(x) for x in outs[:clocks]], axis=1).astype(np.int64)
    times = words[..., 0] << 32 | words[..., 1]
    name = eqn.params["name"].replace("<lambda>", "f")
    devices = eqn.params["devices"] or range(len(times))
    return Measured(name, start, ready, times, exchanges, list(devices))


def operands_of(jaxpr, eqn, place, args):
    """The arrays that an equation gets."""
    wanted = [v for v in eqn.invars if not isinstance(v, Literal)]
    values = iter(run(jaxpr.replace(eqns=jaxpr.eqns[:place], outvars=wanted), *args))
    return [v.array if isinstance(v, Literal) else next(values) for v in eqn.invars]


def is_exchange(eqn):
    """Whether devices meet there."""
    return (
        eqn.primitive.collective and not eqn.primitive.high and eqn.primitive.name != "axis_index"
    )


def timed(jaxpr, params):
    """-> the program of one device with clocks in it, and the names of its exchanges."""
    exchanges: list[str] = []

    def program(*args):
        here = axis_index(params["axis_name"])  # so that each device has a time of its own
        times = [clock_p.bind(here, *args[:1])]
        env = dict(zip(jaxpr.constvars, jaxpr.consts)) | dict(zip(jaxpr.invars, args))

        def read(atom):
            return atom.array if isinstance(atom, Literal) else env[atom]

        for eqn in jaxpr.eqns:
            ins, meets = list(map(read, eqn.invars)), is_exchange(eqn)
            if meets:
                exchanges.append(eqn.primitive.name)
                times.append(clock_p.bind(here, *ins))
            outs = eqn.primitive.bind(*ins, **eqn.params)
            outs = outs if eqn.primitive.multi else [outs]
            if meets:
                times.append(clock_p.bind(here, *outs))
            env.update(zip(eqn.outvars, outs))
        outs = list(map(read, jaxpr.outvars))
        return [*times, clock_p.bind(here, *outs), *outs]

    with pmap_p.scope(params):
        staged = stage_closed(program, [v.aval for v in jaxpr.invars], clean=False)
    return staged, exchanges
