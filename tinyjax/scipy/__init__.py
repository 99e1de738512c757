"""The names of jax.scipy. The less used modules are loaded when somebody asks for them."""

import importlib

from tinyjax.scipy import linalg, special, stats

LATE = (
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
)

__all__ = ["linalg", "special", "stats", *LATE]


def __getattr__(name):
    """Load a module at its first use."""
    if name in LATE:
        return importlib.import_module(f"tinyjax.scipy.{name}")
    raise AttributeError(f"module 'tinyjax.scipy' has no attribute {name!r}")
