"""Functions that are series or recurrences: hypergeometric, Bessel's, spherical harmonics."""

import math
from operator import index

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.checks import concrete_or_error
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.primitives import scipy_functions as cards
from tinyjax.primitives import special
from tinyjax.scipy.integrals import real_arguments

# ---- hypergeometric functions -------------------------------------------------------------------


def hyp1f1(a, b, x):
    """Kummer's function: the sum of (a)_k x**k / ((b)_k k!), elementwise.

    (a)_k is a (a+1) ... (a+k-1). The derivatives by a and b are those of the series.
    """
    return cards.call(cards.hyp1f1_p, *real_arguments("hyp1f1", a, b, x))


def hyp2f1(a, b, c, x):
    """Gauss' function: the sum of (a)_k (b)_k x**k / ((c)_k k!), elementwise, for x <= 1."""
    return cards.call(cards.hyp2f1_p, *real_arguments("hyp2f1", a, b, c, x))


# ---- Bessel's functions -------------------------------------------------------------------------


def bessel_jn(z, *, v, n_iter=50):
    """Bessel's functions of the first kind, of all orders up to v.

    Args:
      z: real array.
      v: the highest order, an integer.
      n_iter: the order at which the recurrence starts; larger z need more.

    Returns an array [v + 1, *z.shape].

    Raises ValueError for complex z.

    Miller's method: the recurrence J(k-1) = 2k/z J(k) - J(k+1) runs downwards from an arbitrary
    start, and the result is normalized by J(0) + 2 J(2) + 2 J(4) + ... = 1.

    >>> from tinyjax.scipy.special import bessel_jn
    >>> print(bessel_jn(1.0, v=2, n_iter=10).round(4))  # more steps would overflow here
    [0.7652 0.4401 0.1149]
    """
    (z,) = promote_dtypes_inexact(jnp.asarray(z))
    if z.dtype.kind == "c":
        raise ValueError("complex input not supported.")
    v = concrete_or_error(index, v, "Argument v of bessel_jn.")
    n_iter = concrete_or_error(int, n_iter, "Argument n_iter of bessel_jn.")

    def down(carry, k):
        later, this, total = carry
        value = 2.0 * (k + 1.0) * this / z - later
        total = jnp.where(k % 2 == 0, total + 2.0 * value, total)
        return (this, value, total), value

    start = jnp.zeros_like(z), jnp.full_like(z, 1e-16), jnp.zeros_like(z)
    orders = lax.iota(z.dtype, n_iter + 1)
    (_, _, total), found = lax.scan(down, start, orders, reverse=True)
    return found[: v + 1] / (total - found[0])


# ---- spherical harmonics ------------------------------------------------------------------------


def sph_harm_y(n, m, theta, phi, diff_n=None, n_max=None):
    """Spherical harmonics, with the phase (-1)**m.

    Args:
      n: degrees, an integer array [k]; m: orders, [k], of which the absolute values are up to n.
      theta: polar angles, [k]; phi: azimuths, [k].
      diff_n: not supported.
      n_max: the largest of n; needed where n is traced.

    Returns complex numbers [k].
    """
    if diff_n is not None:
        raise NotImplementedError(
            "The 'diff_n' argument to jax.scipy.special.sph_harm_y is not supported."
        )
    theta = jnp.array([theta]) if jnp.isscalar(theta) else theta
    n_max = concrete_or_error(
        int,
        np.max(n) if n_max is None else n_max,
        "The `n_max` argument of `jnp.scipy.special.sph_harm_y` must be statically specified to "
        "use it within JAX transformations.",
    )
    order = jnp.abs(m)
    height = legendre(n, order, jnp.cos(theta), n_max)
    turn = order * phi
    out = lax.complex(height * jnp.cos(turn), height * jnp.sin(turn))
    return jnp.where(m < 0, (-1.0) ** order * jnp.conj(out), out)


def legendre(n, m, x, n_max):
    """Associated Legendre functions of degree n and order m at x, normalized on the sphere.

    The recurrence goes over the degrees and keeps, for each element, the one that is asked for.
    """
    (m_float, x) = promote_dtypes_inexact(m, x)
    logs = lax.lgamma(2 * m_float + 1) - 2 * lax.lgamma(m_float + 1)
    logs = logs + jnp.log((2 * m_float + 1) / (4 * np.pi)) - m_float * math.log(4)
    sine = jnp.sqrt(jnp.maximum(1 - x * x, 0))
    first = jnp.where(m % 2 == 0, 1.0, -1.0) * jnp.exp(logs / 2) * sine**m
    first = first.astype(x.dtype)

    def up(carry, degree):
        before, this, out = carry
        above = jnp.maximum(degree**2 - m_float**2, 1)
        a = jnp.sqrt((4 * degree**2 - 1) / above)
        last = degree - 1
        b = jnp.sqrt(jnp.maximum(last**2 - m_float**2, 0) / (4 * last**2 - 1))
        value = a * (x * this - b * before)
        begun = degree > m_float
        before, this = jnp.where(begun, this, before), jnp.where(begun, value, this)
        return (before, this, jnp.where(degree == n, this, out)), None

    (_, _, out), _ = lax.scan(
        up, (jnp.zeros_like(first), first, first), jnp.arange(1, n_max + 1, dtype=x.dtype)
    )
    return out


# ---- numbers ------------------------------------------------------------------------------------


def bernoulli(n):
    """Bernoulli's numbers B(0) ... B(n), with B(1) = -1/2, as floats [n + 1].

    Raises ValueError for negative n.

    >>> from tinyjax.scipy.special import bernoulli
    >>> print(bernoulli(4).round(4))
    [ 1.     -0.5     0.1667  0.     -0.0333]
    """
    n = concrete_or_error(index, n, "Argument n of bernoulli")
    if n < 0:
        raise ValueError("n must be a non-negative integer.")
    out = np.zeros(n + 1)
    out[:2] = [1, -0.5][: n + 1]
    even = np.arange(2, n + 1, 2.0)  # by Riemann's zeta function there
    logs = special.lgamma(even + 1) - even * math.log(2 * math.pi)
    with np.errstate(over="ignore"):
        sizes = 2 * np.exp(logs) * special.zeta(even, np.ones_like(even))
    out[2::2] = np.where(even % 4 == 2, sizes, -sizes)
    with np.errstate(over="ignore"):
        return jnp.asarray(out.astype(jnp.zeros(0).dtype))
