"""The table of cards: for every primitive, programs that use it, for both tinyjax and JAX."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One use of a primitive.

    fun(lax, *arrays) is written against jax.lax's names, so it runs on tinyjax.lax and on jax.lax.
    diff: the positions of arguments to differentiate by. order2: check second derivatives, too.
    tol: relative tolerance for values, where the default does not do. ns: the namespace that fun
    takes ("lax", "random", "special" for scipy.special, or "world" for the whole package).
    """

    name: str
    prim_name: str
    fun: Callable[..., Any]
    args: tuple
    diff: tuple = ()
    order2: bool = True
    tol: float | None = None
    batch: bool = True
    printed: bool = True
    ns: str = "lax"

    def __str__(self):
        return self.name
