"""The choice between two arrays that most of this package is written with."""

from tinyjax import lax
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import broadcast_together, const, promote_dtypes
from tinyjax.transforms.subprogram import subprogram


@subprogram
def _where(condition, x, y):
    """x where the condition holds, y elsewhere; see where."""
    condition, x, y = ensure_arraylike("where", condition, x, y)
    if condition.dtype != bool:
        condition = lax.ne(condition, const(condition, 0))
    x, y = promote_dtypes(x, y)
    if condition.ndim == 0:  # lax.select takes a scalar condition as it is
        x, y = broadcast_together(x, y)
    else:
        condition, x, y = broadcast_together(condition, x, y)
    return lax.select(condition, x, y) if x.size else x
