"""The decorator that makes a workload of a function, and how workloads are found by name.

    @workload(size=(1_000, 1_000_000))
    def selu(jax, jnp, size):
        '''one line that says what it is'''
        f, x = jax.jit(...), jnp.ones(size)
        return lambda: f(x)

The function is handed a world, `jax` and its `jnp`: the real ones or tinyjax's. It makes the
operands, and returns what is timed: a function without arguments, whose result is waited for.
The choices that the decorator lists are handed in, too, in all combinations; `devices` is one of
them that has a meaning: the world has that many.
"""

import difflib
import fnmatch
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TIMED = {  # what "run" is the time of
    "call": "a call, its result awaited",
    "numpy": "a call; its attribute `numpy`, NumPy's for the same thing, is timed beside it",
    "returns": "a call until it returns; the wait for its result comes after the clock",
    "shapes": "a call whose operands have shapes that no call before had",
    "memory": "a call of a program compiled beforehand: its memory is what matters",
    "start": "a process, from its start to its first result",
}
SHAPES = 8  # how many such calls are made, the first one included


@dataclass(frozen=True)
class Workload:
    """One thing to measure. module: of the file that it stands in; timed: one of TIMED."""

    name: str
    group: str
    module: str
    doc: str
    make: Callable
    params: dict[str, Any] = field(default_factory=dict)
    timed: str = "call"

    @property
    def devices(self):
        """How many devices the world is to have."""
        return self.params.get("devices", 1)


WORKLOADS: dict[str, Workload] = {}


class UnknownName(ValueError):
    """A name that matches no workload."""


def workload(timed="call", **choices):
    """Make workloads of a function, one for each combination of the choices.

    timed: one of TIMED.
    """
    if timed not in TIMED:
        raise TypeError(f"timed={timed!r} is none of {', '.join(TIMED)}")

    def register(make):
        if not make.__doc__:
            raise TypeError(f"workload {make.__name__} has no docstring: say in a line what it is")
        for values in itertools.product(*choices.values()):
            name = "-".join([make.__name__, *map(str, values)])
            if name in WORKLOADS:
                raise TypeError(f"there are two workloads called {name}")
            params = dict(zip(choices, values))
            module = make.__module__.rpartition(".")[2]
            doc = make.__doc__.splitlines()[0]
            WORKLOADS[name] = Workload(name, make.__name__, module, doc, make, params, timed)
        return make

    return register


def choose(patterns, known):
    """The workloads of these names, groups, modules or patterns (`pmap*`); of no pattern: all.

    Raises UnknownName, with the known names, for a pattern that matches nothing.
    """
    chosen = {}
    for pattern in patterns or ["*"]:
        found = [
            w
            for w in known.values()
            if pattern in (w.group, w.module) or fnmatch.fnmatch(w.name, pattern)
        ]
        if pattern in known:  # also if a module is called like it
            found = [known[pattern]]
        if not found:
            raise UnknownName(unknown(pattern, known))
        chosen.update({w.name: w for w in found})
    return list(chosen.values())


def unknown(pattern, known):
    """The words of the error."""
    groups = sorted({word for w in known.values() for word in (w.group, w.module)})
    close = difflib.get_close_matches(pattern, [*known, *groups], 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    names = "".join(f"\n  {name}" for name in known)
    return f"There is no workload {pattern!r}.{hint} The workloads are:{names}"
