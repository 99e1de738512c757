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


@dataclass(frozen=True)
class Workload:
    """One thing to measure. fresh: from the start of a process to its first result."""

    name: str
    group: str
    doc: str
    make: Callable
    params: dict[str, Any] = field(default_factory=dict)
    fresh: bool = False

    @property
    def devices(self):
        """How many devices the world is to have."""
        return self.params.get("devices", 1)


WORKLOADS: dict[str, Workload] = {}


class UnknownName(ValueError):
    """A name that matches no workload."""


def workload(fresh=False, **choices):
    """Make workloads of a function, one for each combination of the choices."""

    def register(make):
        if not make.__doc__:
            raise TypeError(f"workload {make.__name__} has no docstring: say in a line what it is")
        for values in itertools.product(*choices.values()):
            name = "-".join([make.__name__, *map(str, values)])
            if name in WORKLOADS:
                raise TypeError(f"there are two workloads called {name}")
            params = dict(zip(choices, values))
            WORKLOADS[name] = Workload(
                name, make.__name__, make.__doc__.splitlines()[0], make, params, fresh
            )
        return make

    return register


def choose(patterns, known):
    """The workloads of these names, groups or patterns (`pmap*`); of no pattern: all.

    Raises UnknownName, with the known names, for a pattern that matches nothing.
    """
    chosen = {}
    for pattern in patterns or ["*"]:
        found = [
            w
            for w in known.values()
            if pattern == w.group or pattern == w.name or fnmatch.fnmatch(w.name, pattern)
        ]
        if not found:
            raise UnknownName(unknown(pattern, known))
        chosen.update({w.name: w for w in found})
    return list(chosen.values())


def unknown(pattern, known):
    """The words of the error."""
    groups = sorted({w.group for w in known.values()})
    close = difflib.get_close_matches(pattern, [*known, *groups], 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    names = "".join(f"\n  {name}" for name in known)
    return f"There is no workload {pattern!r}.{hint} The workloads are:{names}"
