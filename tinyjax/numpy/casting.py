"""astype."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import const
from tinyjax.primitives.linear import convert
from tinyjax.putting import device_put
from tinyjax.source import warn
from tinyjax.transforms.replay import recorded


@recorded
def astype(x, dtype, /, *, copy=False, device=None):
    """The same numbers at another dtype.

    Args:
      x: array.
      dtype: float32 if None.
      copy: whether a jaxpr shows a copy.
      device: where to put it: a device or a sharding.

    >>> import tinyjax.numpy as jnp
    >>> jnp.astype(jnp.array([1.7, -1.7]), int)
    Array([ 1, -1], dtype=int32)
    """
    if device is not None:
        return device_put(astype(x, dtype, copy=copy), device)
    x = ensure_arraylike("astype", x)
    if dtype is None:
        dtype = dtypes.default_float_dtype()
    else:
        dtype = dtypes.check_user_dtype_supported(dtype, "astype")
    if x.dtype.kind == "c" and dtype == np.bool_:
        x = lax.ne(x, const(x, 0))
    elif x.dtype.kind == "c" and dtype.kind in "iuf":
        warn(
            "Casting from complex to real dtypes will soon raise a ValueError. Please first use "
            "jnp.real or jnp.imag to take the real/imaginary component of your input.",
            DeprecationWarning,
        )
    out = convert(x, dtype)
    return lax.copy_p.bind(out) if copy else out
