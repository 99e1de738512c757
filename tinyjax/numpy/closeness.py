"""Whether arrays are equal, nearly or exactly."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import check_arraylike
from tinyjax.numpy.comparisons import equal, isfinite, isnan, logical_and, logical_or
from tinyjax.numpy.creation import array, asarray
from tinyjax.numpy.promotion import promote_args, promote_args_inexact
from tinyjax.numpy.reductions import all
from tinyjax.transforms.subprogram import subprogram


@subprogram(static_argnames=("equal_nan",))
def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether abs(a - b) <= atol + rtol * abs(b), elementwise.

    Args:
      a, b: arrays or numbers.
      rtol, atol: relative and absolute tolerance.
      equal_nan: whether nan is close to nan.
    """
    a, b = promote_args("isclose", a, b)
    if isinstance(a.dtype, dtypes.ExtendedDType):
        return lax.eq(a, b)
    a, b = promote_args_inexact("isclose", a, b)
    dtype = np.array(0, a.dtype).real.dtype
    rtol = lax.convert_element_type(rtol, dtype)
    atol = lax.convert_element_type(atol, dtype)
    both_nan = logical_and(isnan(a), isnan(b))
    finite = isfinite(b)
    distance = lax.abs(lax.sub(a, b))
    in_range = lax.le(distance, lax.add(atol, lax.mul(rtol, lax.abs(b))))
    out = logical_or(lax.eq(a, b), logical_and(finite, in_range))
    return logical_or(out, both_nan) if equal_nan else out


@subprogram(static_argnames=("equal_nan",))
def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether all elements of a and b are close; see isclose.

    >>> import tinyjax.numpy as jnp
    >>> jnp.allclose(jnp.array([1.0, 2.0]), jnp.array([1.0, 2.0000001]))
    Array(True, dtype=bool)
    """
    check_arraylike("allclose", a, b)
    return all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1, a2, equal_nan=False):
    """Whether two arrays have the same shape and elements."""
    a1, a2 = asarray(a1), asarray(a2)
    if a1.shape != a2.shape:
        return array(False, dtype=bool)
    same = equal(a1, a2)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(a1), isnan(a2)))
    return all(same)


def array_equiv(a1, a2):
    """Whether two arrays have the same elements after broadcasting."""
    a1, a2 = asarray(a1), asarray(a2)
    try:
        same = equal(a1, a2)
    except (TypeError, ValueError):  # the shapes do not fit
        return array(False)
    return all(same)
