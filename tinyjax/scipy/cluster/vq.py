"""jax.scipy.cluster.vq: vector quantization."""

from tinyjax import numpy as jnp
from tinyjax.mapping import vmap
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import promote_dtypes_inexact

__all__ = ["vq"]


def vq(obs, code_book, check_finite=True):
    """For each observation the nearest code -> the codes' numbers, the distances.

    Args:
      obs: observations [n, k], or [n].
      code_book: codes [m, k], or [m].
      check_finite: accepted as SciPy's.

    Raises ValueError for other ranks.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.cluster.vq import vq
    >>> vq(jnp.array([[1.1], [3.0]]), jnp.array([[1.0], [2.5]]))[0]
    Array([0, 1], dtype=int32)
    """
    obs, codes = ensure_arraylike("vq", obs), ensure_arraylike("vq", code_book)
    obs, codes = promote_dtypes_inexact(obs, codes)
    if obs.ndim != codes.ndim:
        raise ValueError("Observation and code_book should have the same rank")
    if obs.ndim == 1:
        obs, codes = obs[..., None], codes[..., None]
    if obs.ndim != 2:
        raise ValueError("ndim different than 1 or 2 are not supported")
    distances = vmap(lambda x: jnp.linalg.norm(x[None] - codes, axis=-1))(obs)
    code = jnp.argmin(distances, axis=-1)
    return code, vmap(lambda row, i: row[i])(distances, code)
