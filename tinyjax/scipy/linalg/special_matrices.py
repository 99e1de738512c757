"""Matrices with a name: of a pattern of given numbers, or of a size."""

import math
import operator

import numpy as np

from tinyjax import dtypes, lax
from tinyjax import numpy as jnp
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import promote_args_inexact, promote_dtypes
from tinyjax.scipy.special import comb
from tinyjax.transforms.subprogram import subprogram

# ---- patterns of given numbers ------------------------------------------------------------------


@subprogram
def block_diag(*arrs):
    """A matrix with the given ones along its diagonal, and zeros elsewhere.

    Args:
      arrs: matrices; vectors are rows.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.block_diag(jnp.eye(1), jnp.ones((1, 2)))
    Array([[1., 0., 0.],
           [0., 1., 1.]], dtype=float32)
    """
    arrs = promote_dtypes(*map(jnp.asarray, arrs)) if arrs else [jnp.zeros((1, 0))]
    for i, a in enumerate(arrs):
        if a.ndim > 2:
            raise ValueError(
                "Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got "
                f"{a} at argument {i}."
            )
    blocks = [jnp.atleast_2d(a) for a in arrs]
    total, before, rows = sum(a.shape[1] for a in blocks), 0, []
    for a in blocks:
        after = total - before - a.shape[1]
        zero = jnp.zeros((), dtype=a.dtype)
        rows.append(lax.pad(a, zero, ((0, 0, 0), (before, after, 0))))
        before += a.shape[1]
    return jnp.concatenate(rows, axis=0)


def toeplitz(c, r=None):
    """A matrix whose diagonals are constant.

    Args:
      c: its first column; r: its first row, conj(c) by default. r[0] is not looked at. Leading axes
        are batches.

    >>> from tinyjax.scipy import linalg
    >>> import tinyjax.numpy as jnp
    >>> linalg.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 5]))
    Array([[1, 5],
           [2, 1],
           [3, 2]], dtype=int32)
    """
    c = ensure_arraylike("toeplitz", c)
    r = jnp.conjugate(c) if r is None else ensure_arraylike("toeplitz", r)
    return _toeplitz(jnp.atleast_1d(c), jnp.atleast_1d(r))


def _toeplitz(c, r):
    """toeplitz."""
    return jnp.vectorize(toeplitz_matrix, signature="(m),(n)->(m,n)")(c, r)


def toeplitz_matrix(c, r):
    """toeplitz of two vectors."""
    c, r = promote_dtypes(c, r)
    m, n = c.shape[0], r.shape[0]
    if m == 0 or n == 0:
        return jnp.empty((m, n), dtype=c.dtype)
    return jnp.concatenate((c[::-1], r[1:]))[np.arange(m)[::-1, None] + np.arange(n)]


def hankel(c, r=None):
    """A matrix whose antidiagonals are constant.

    Args:
      c: its first column; r: its last row, zeros by default. r[0] is not looked at. Leading axes
        are batches.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.hankel(jnp.array([1, 2, 3]))
    Array([[1, 2, 3],
           [2, 3, 0],
           [3, 0, 0]], dtype=int32)
    """
    c = ensure_arraylike("hankel", c)
    r = jnp.zeros_like(c) if r is None else ensure_arraylike("hankel", r)
    for name, x in (("c", c), ("r", r)):
        if x.ndim == 0:
            raise ValueError(f"hankel: {name} must be at least 1-dimensional, got a scalar.")
    return jnp.vectorize(hankel_matrix, signature="(m),(n)->(m,n)")(c, r)


def hankel_matrix(c, r):
    """hankel of two vectors."""
    c, r = promote_dtypes(c, r)
    m, n = c.shape[0], r.shape[0]
    if m == 0 or n == 0:
        return jnp.empty((m, n), dtype=c.dtype)
    return jnp.concatenate((c, r[1:]))[np.arange(m)[:, None] + np.arange(n)]


def circulant(c):
    """A matrix whose columns are c, turned by one place more each.

    Args:
      c: [..., n].

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.circulant(jnp.array([1, 2, 3]))
    Array([[1, 3, 2],
           [2, 1, 3],
           [3, 2, 1]], dtype=int32)
    """
    c = jnp.atleast_1d(ensure_arraylike("circulant", c))
    n = np.arange(c.shape[-1])
    return c[..., (n[:, None] - n) % max(len(n), 1)]


def leslie(f, s):
    """The matrix of a population of age groups: f above, s below the diagonal.

    Args:
      f: fecundities [..., n], the first row; s: survival rates [..., n - 1].

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.leslie(jnp.array([1.0, 2.0]), jnp.array([0.5]))
    Array([[1. , 2. ],
           [0.5, 0. ]], dtype=float32)
    """
    f, s = map(jnp.atleast_1d, ensure_arraylike("leslie", f, s))
    if f.shape[-1] < 2:
        raise ValueError(
            f"The length of f along the last axis must be at least 2; got shape {f.shape}."
        )
    if s.shape[-1] != f.shape[-1] - 1:
        raise ValueError(
            "Incorrect lengths for f and s. The length of s along the last axis must be one less "
            f"than the length of f; got f shape {f.shape} and s shape {s.shape}."
        )

    def matrix(f, s):
        f, s = promote_dtypes(f, s)
        return jnp.diag(s, k=-1).at[0].set(f)

    return jnp.vectorize(matrix, signature="(n),(m)->(n,n)")(f, s)


def companion(a):
    """The matrix whose eigenvalues are the roots of a polynomial.

    Args:
      a: coefficients [..., n], the highest first.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.companion(jnp.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (a,) = promote_args_inexact("companion", a)
    a = jnp.atleast_1d(a)
    if a.shape[-1] < 2:
        raise ValueError(
            f"The length of `a` along the last axis must be at least 2; got shape {a.shape}."
        )

    def matrix(a):
        first = -a[1:] / a[0]
        m = first.shape[0]
        return jnp.eye(m, m, k=-1, dtype=first.dtype).at[0].set(first)

    return jnp.vectorize(matrix, signature="(n)->(m,m)")(a)


def fiedler(a):
    """The matrix of abs(a[i] - a[j]).

    Args:
      a: [..., n].

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.fiedler(jnp.array([1, 4, 9]))
    Array([[0, 3, 8],
           [3, 0, 5],
           [8, 5, 0]], dtype=int32)
    """
    a = jnp.atleast_1d(ensure_arraylike("fiedler", a))
    return jnp.abs(a[..., None] - a[..., None, :])


def fiedler_companion(a):
    """A matrix of five diagonals whose eigenvalues are the roots of a polynomial.

    Args:
      a: coefficients [..., n], the highest first.

    Fiedler, "A note on companion matrices" (2003).

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.fiedler_companion(jnp.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    (a,) = promote_args_inexact("fiedler_companion", a)
    a = jnp.atleast_1d(a)
    if a.shape[-1] == 0:
        raise ValueError(
            "fiedler_companion requires the last axis of 'a' to have nonzero length, but got an "
            f"array of shape {a.shape}."
        )
    return jnp.vectorize(fiedler_companion_matrix, signature="(n)->(m,m)")(a)


def fiedler_companion_matrix(a):
    """fiedler_companion of one polynomial."""
    n = a.shape[0] - 1
    if n == 0:
        return jnp.empty((0, 0), dtype=a.dtype)
    a = -a / a[0]
    if n == 1:
        return a[1:].reshape(1, 1)
    i, j = np.arange(n)[:, None], np.arange(n)
    even, odd = i % 2 == 0, i % 2 == 1
    upper, lower = a[np.minimum(i + 2, n)], a[np.minimum(i + 1, n)]
    ones = (i == 1) & (j == 0) | (j == i + 2) & even | (j == i - 2) & odd & (i >= 3)
    out = jnp.where(ones, jnp.ones((), dtype=a.dtype), jnp.zeros((), dtype=a.dtype))
    out = jnp.where((j == i + 1) & even, upper, out)
    out = jnp.where((j == i - 1) & even & (i >= 2), lower, out)
    return out.at[0, 0].set(a[1])


@subprogram(static_argnames=("n", "mode"))
def convolution_matrix(a, n, mode="full"):
    """A with A @ v = convolve(a, v, mode), for vectors v of length n.

    Args:
      a: [..., m]; n: a positive integer; mode: "full", "valid" or "same".

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import linalg
    >>> linalg.convolution_matrix(jnp.array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int32)
    """
    n = operator.index(n)
    if n <= 0:
        raise ValueError(f"n must be a positive integer; got {n}.")
    a = ensure_arraylike("convolution_matrix", a)
    if a.ndim == 0:
        raise ValueError("convolution_matrix: a must be at least 1-dimensional, got a scalar.")
    m = a.shape[-1]
    if m < 1:
        raise ValueError(f"len(a) must be at least 1; got shape {a.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"mode must be one of 'full', 'valid', 'same'; got {mode!r}.")
    trim = {"full": 0, "valid": 2 * (min(n, m) - 1), "same": min(n, m) - 1}[mode]
    first, last = trim // 2, m + n - 1 - (trim - trim // 2)
    rows, columns = np.arange(first, last)[:, None], np.arange(n)
    inside = (rows >= columns) & (rows - columns < m)
    return jnp.where(inside, a[..., np.clip(rows - columns, 0, m - 1)], 0)


# ---- matrices of a size -------------------------------------------------------------------------


def numbers(n):
    """0, 1 ... n - 1 as floats, down and across."""
    a = jnp.arange(n, dtype=dtypes.default_float_dtype())
    return a[:, None], a[None, :]


@subprogram(static_argnames=("n",))
def hilbert(n):
    """The matrix of 1 / (i + j + 1), of size n.

    >>> from tinyjax.scipy import linalg
    >>> linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    i, j = numbers(n)
    return 1 / (i + j + 1)


@subprogram(static_argnames=("n",))
def invhilbert(n):
    """The inverse of hilbert(n).

    >>> from tinyjax.scipy import linalg
    >>> import numpy as np
    >>> print(np.round(linalg.invhilbert(2)))
    [[ 4. -6.]
     [-6. 12.]]
    """
    i, j = numbers(n)
    s = i + j
    factors = comb(n + i, n - j - 1) * comb(n + j, n - i - 1) * comb(s, i) ** 2
    return (-1.0) ** s * (s + 1.0) * factors


def binomial(n, k):
    """n! / (k! (n - k)!)."""
    a, b, c = lax.lgamma(n + 1.0), lax.lgamma(n - k + 1.0), lax.lgamma(k + 1.0)
    return lax.exp(a - b - c)


KINDS = ["symmetric", "lower", "upper"]


@subprogram(static_argnames=("n", "kind"))
def pascal(n, kind=None):
    """The matrix of binomial coefficients.

    Args:
      n: its size.
      kind: "symmetric" (the default), "lower" or "upper".

    >>> from tinyjax.scipy import linalg
    >>> import numpy as np
    >>> print(np.round(linalg.pascal(3)))
    [[1. 1. 1.]
     [1. 2. 3.]
     [1. 3. 6.]]
    """
    kind = check_kind(kind)
    a = jnp.arange(n, dtype=np.float32)
    low = binomial(a[:, None], a[None, :])
    return {"lower": low, "upper": low.T}[kind] if kind != "symmetric" else jnp.dot(low, low.T)


def check_kind(kind):
    """A kind of Pascal's matrix."""
    kind = "symmetric" if kind is None else kind
    if kind not in KINDS:
        raise ValueError(f"Expected kind to be one of: {KINDS}; got {kind}")
    return kind


@subprogram(static_argnames=("n", "kind"))
def invpascal(n, kind=None):
    """The inverse of pascal(n, kind).

    >>> from tinyjax.scipy import linalg
    >>> import numpy as np
    >>> print(np.round(linalg.invpascal(2)))
    [[ 2. -1.]
     [-1.  1.]]
    """
    kind = check_kind(kind)
    i, j = numbers(n)
    low = (-1.0) ** (i - j) * binomial(i, j)
    return {"lower": low, "upper": low.T}[kind] if kind != "symmetric" else jnp.dot(low.T, low)


@subprogram(static_argnames=("n", "full"))
def helmert(n, full=False):
    """Rows that compare each number with the mean of those before, orthonormal; [n - 1, n].

    Args:
      full: with the row of the mean in front.

    >>> from tinyjax.scipy import linalg
    >>> linalg.helmert(3).shape
    (2, 3)
    """
    if n < 1:
        raise ValueError(f"n must be a positive integer; got {n}.")
    i, j = jnp.arange(n - 1)[:, None], jnp.arange(n)[None, :]
    k = (i + 1).astype(dtypes.default_float_dtype())
    length = jnp.sqrt(k * (k + 1))
    out = jnp.where(j <= i, 1.0 / length, jnp.where(j == i + 1, -k / length, 0))
    if full:
        first = jnp.full((1, n), 1.0 / jnp.sqrt(n), dtype=out.dtype)
        out = jnp.concatenate([first, out], axis=0)
    return out


@subprogram(static_argnames=("n", "dtype"))
def hadamard(n, dtype=int):
    """The matrix of 1 and -1 with orthogonal rows; n must be a power of 2.

    >>> from tinyjax.scipy import linalg
    >>> linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    if n < 1 or not math.log2(n).is_integer():
        raise ValueError(f"n must be a positive power of 2; got {n}.")
    out = jnp.ones((1, 1), dtype=dtype)
    for _ in range(int(math.log2(n))):
        out = jnp.block([[out, out], [out, -out]])
    return out


@subprogram(static_argnames=("n", "scale", "dtype"))
def dft(n, scale=None, *, dtype=None):
    """The matrix of the discrete Fourier transform.

    Args:
      n: its size.
      scale: None, "sqrtn" (divide by sqrt(n)) or "n" (divide by n).
      dtype: a complex dtype.

    >>> from tinyjax.scipy import linalg
    >>> import numpy as np
    >>> print(np.round(linalg.dft(2).real))
    [[ 1.  1.]
     [ 1. -1.]]
    """
    if scale is not None and scale not in ("sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; got {scale!r}.")
    if dtype is None:
        dtype = np.result_type(dtypes.default_float_dtype(), np.complex64)
    else:
        dtype = dtypes.check_user_dtype_supported(dtype, "dft")
        if dtype.kind != "c":
            raise ValueError(f"dtype must be a complex floating-point type; got {dtype}.")
    a = jnp.arange(n, dtype=dtype)
    out = jnp.exp(-2j * np.pi * a[:, None] * a[None, :] / n)
    return out if scale is None else out / (jnp.sqrt(n) if scale == "sqrtn" else n)
