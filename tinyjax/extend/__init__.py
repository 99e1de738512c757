"""Names for people who extend the system: jax.extend."""

from tinyjax.extend import core

__all__ = ["core"]
