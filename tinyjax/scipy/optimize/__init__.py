"""The names of jax.scipy.optimize."""

from tinyjax.scipy.optimize.minimizing import OptimizeResults, minimize

__all__ = ["OptimizeResults", "minimize"]
