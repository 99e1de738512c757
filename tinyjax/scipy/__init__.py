"""The names of jax.scipy."""

from tinyjax.scipy import linalg, special, stats

__all__ = ["linalg", "special", "stats"]
