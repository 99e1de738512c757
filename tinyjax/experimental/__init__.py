"""Names that JAX keeps under jax.experimental."""

from tinyjax.callbacks import io_callback
from tinyjax.config import enable_x64


def disable_x64():
    """Context manager for this thread: 32-bit dtypes."""
    return enable_x64(False)


__all__ = ["disable_x64", "enable_x64", "io_callback"]
