"""round."""

import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import check_out, concrete_or_error, ensure_arraylike
from tinyjax.numpy.promotion import const
from tinyjax.transforms.subprogram import subprogram


@subprogram(static_argnames=("decimals",))
def round(a, decimals=0, out=None):
    """Numbers rounded to so many decimals; halves go to the even neighbour.

    >>> import tinyjax.numpy as jnp
    >>> jnp.round(jnp.array([0.5, 1.5, 2.25]), 1)
    Array([0.5, 1.5, 2.2], dtype=float32)
    """
    a = ensure_arraylike("round", a)
    decimals = concrete_or_error(operator.index, decimals, "'decimals' argument of jnp.round")
    check_out("round", out)
    if a.dtype.kind in "iu":
        if decimals < 0:
            raise NotImplementedError("integer np.round not implemented for decimals < 0")
        return a
    if decimals > np.log10(dtypes.finfo(a.dtype).max):
        return a
    if a.dtype.kind == "c":
        return lax.complex(round_float(lax.real(a), decimals), round_float(lax.imag(a), decimals))
    return round_float(a, decimals)


@subprogram(static_argnames=("decimals",))
def around(a, decimals=0, out=None):
    """See round."""
    return round(a, decimals, out)


def round_float(x, decimals):
    """round of floats: scaled, rounded, scaled back."""
    if decimals == 0:
        return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    dtype = x.dtype
    x = lax.convert_element_type(x, np.float32) if dtype == np.float16 else x
    factor = const(x, 10**decimals)
    scaled = lax.round(lax.mul(x, factor), lax.RoundingMethod.TO_NEAREST_EVEN)
    out = lax.div(scaled, factor)
    return lax.convert_element_type(out, dtype) if dtype == np.float16 else out
