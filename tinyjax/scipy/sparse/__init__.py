"""The names of jax.scipy.sparse."""

from tinyjax.scipy.sparse import linalg

__all__ = ["linalg"]
