"""Norms of vectors and matrices; ranks."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.linalg.decompositions import svd
from tinyjax.numpy.promotion import const, promote_dtypes_inexact
from tinyjax.numpy.reductions import amax, amin, any, sum
from tinyjax.numpy.shaping import moveaxis
from tinyjax.numpy.ufuncs import abs, conj, power, real, sqrt
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.transforms.subprogram import subprogram


@subprogram(static_argnames=("ord", "axis", "keepdims"))
def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of vectors (one axis) or matrices (two axes).

    Args:
      x: array.
      ord: of a vector: a number p, for sum(abs(x)**p)**(1/p), where inf is the largest and 0
        counts what is not zero; 2 by default. Of a matrix: "fro" (the default), "nuc", 1, -1, 2,
        -2, inf, -inf.
      axis: along which axis or axes; None: all, as one vector if ord is None too.
      keepdims: keep reduced axes, with size 1.

    The gradient of a norm at zero is nan.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.norm(jnp.array([3.0, 4.0]))
    Array(5., dtype=float32)
    """
    (x,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.norm", x))
    if axis is None and ord is None:
        return frobenius(x, None, keepdims)
    if axis is None:
        axis = tuple(range(x.ndim))
    elif not isinstance(axis, tuple):
        axis = (axis,)
    axis = tuple(canonicalize_axis(d, x.ndim) for d in axis)
    if len(axis) == 1:
        return vector_norm(x, ord=2 if ord is None else ord, axis=axis, keepdims=keepdims)
    if len(axis) == 2:
        return norm_of_matrices(x, ord, axis, keepdims)
    raise ValueError(
        f"Improper number of axes for norm: axis={axis}. Pass one axis to compute a vector-norm, "
        "or two axes to compute a matrix-norm."
    )


def frobenius(x, axis, keepdims):
    """The root of the sum of squares."""
    return sqrt(sum(real(x * conj(x)), axis=axis, keepdims=keepdims))


def norm_of_matrices(x, ord, axis, keepdims):
    """norm over two axes."""
    if ord is None or ord in ("f", "fro"):
        return frobenius(x, axis, keepdims)
    rows, columns = axis
    if ord in ("nuc", 2, -2):
        s = svd(moveaxis(x, axis, (-2, -1)), compute_uv=False)
        reduce = {"nuc": sum, 2: largest, -2: amin}[ord]
        out = reduce(s, axis=-1)
        return lax.expand_dims(out, axis) if keepdims else out
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    added, compared = (rows, columns) if ord in (1, -1) else (columns, rows)
    if not keepdims and compared > added:
        compared -= 1
    totals = sum(abs(x), axis=added, keepdims=keepdims)
    reduce = largest if ord > 0 else amin
    return reduce(totals, axis=compared, keepdims=keepdims)


def largest(x, axis, keepdims=False):
    """The largest element; 0 if there is none."""
    return amax(x, axis=axis, keepdims=keepdims, initial=0)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of vectors, as the array API has it; see norm.

    >>> import tinyjax.numpy as jnp
    >>> print(jnp.linalg.vector_norm(jnp.array([3.0, 4.0])))
    5.0
    """
    x = ensure_arraylike("jnp.linalg.vector_norm", x)
    settings = {"axis": axis, "keepdims": keepdims}
    if ord is None or ord == 2:
        return frobenius(x, axis, keepdims)
    if isinstance(ord, str):
        hint = " Use 'jax.numpy.inf' instead." if ord in ("inf", "-inf") else ""
        raise ValueError(f"Invalid order '{ord}' for vector norm.{hint}")
    if ord == np.inf:
        return amax(abs(x), initial=0, **settings)
    if ord == -np.inf:
        return amin(abs(x), **settings)
    if ord == 0:
        return sum(x != 0, dtype=dtypes.finfo(x.dtype).dtype, **settings)
    if ord == 1:
        return sum(abs(x), **settings)
    magnitude = abs(x)
    p = const(magnitude, ord)
    return power(sum(magnitude**p, **settings), const(magnitude, 1.0 / ord))


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of matrices along the last two axes; see norm.

    >>> import tinyjax.numpy as jnp
    >>> print(jnp.linalg.matrix_norm(jnp.array([[3.0, 0.0], [0.0, 4.0]])))
    5.0
    """
    x = ensure_arraylike("jnp.linalg.matrix_norm", x)
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


@subprogram(static_argnames=("hermitian",))
def matrix_rank(M, rtol=None, *, hermitian=False, tol=None):
    """The rank of matrices: how many singular values are above rtol.

    >>> import tinyjax.numpy as jnp
    >>> print(jnp.linalg.matrix_rank(jnp.ones((2, 2))))
    1
    """
    if tol is not None and rtol is not None:
        raise ValueError("matrix_rank: only one of tol or rtol may be specified.")
    rtol = tol if rtol is None else rtol
    (M,) = promote_dtypes_inexact(ensure_arraylike("jnp.linalg.matrix_rank", M))
    if M.ndim < 2:
        return any(M != 0).astype(np.int32)
    s = svd(M, full_matrices=False, compute_uv=False, hermitian=hermitian)
    if rtol is None:
        rtol = s.max(-1) * float(max(M.shape[-2:])) * dtypes.finfo(s.dtype).eps
    rtol = ensure_arraylike("jnp.linalg.matrix_rank", rtol)
    return sum(s > lax.expand_dims(rtol, (rtol.ndim,)), axis=-1)
