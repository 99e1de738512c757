"""The names of jax.scipy.cluster."""

from tinyjax.scipy.cluster import vq

__all__ = ["vq"]
