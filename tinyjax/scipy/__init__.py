"""The names of jax.scipy."""

from tinyjax.scipy import special, stats

__all__ = ["special", "stats"]
