"""The names of jax.scipy.spatial."""

from tinyjax.scipy.spatial import transform

__all__ = ["transform"]
