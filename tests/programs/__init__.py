"""Programs for jax and tinyjax: the same source in both worlds must give the same results."""

from programs import (  # noqa: F401  (each adds its programs)
    conds,
    custom_jvps,
    custom_vjps,
    jits,
    named_axes,
    remats,
    scans,
    scopes,
    surface,
    while_loops,
)
from programs.registry import MAT, PROGRAMS, XS, Program, Raises

__all__ = ["MAT", "PROGRAMS", "XS", "Program", "Raises"]
