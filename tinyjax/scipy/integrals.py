"""Integrals that have a name: exponential, sine, Fresnel's, Dawson's, Spence's, Owen's."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact, promote_dtypes_complex
from tinyjax.primitives import scipy_functions as cards


def real_arguments(name, *args):
    """Arguments promoted to floats. Raises ValueError for complex ones."""
    args = promote_args_inexact(name, *args)
    if args[0].dtype.kind == "c":
        raise ValueError(f"{name} does not support complex-valued inputs.")
    return args


# ---- exponential integrals ----------------------------------------------------------------------


def expi(x):
    """The exponential integral Ei: the principal value of exp(t) / t over (-inf, x], elementwise.

    >>> from tinyjax.scipy.special import expi
    >>> print(expi(1.0))
    1.8951178
    """
    return cards.call(cards.expi_p, *real_arguments("expi", x))


def exp1(x):
    """The integral E1 of exp(-t) / t over [x, inf), elementwise."""
    return expn(1, *real_arguments("exp1", x))


def expn(n, x):
    """The integral En of exp(-x t) / t**n over [1, inf), elementwise.

    Args:
      n: whole numbers, not negative.
      x: real numbers, not negative; nan for others.
    """
    return cards.call(cards.expn_p, *real_arguments("expn", n, x))


def sici(x):
    """-> sine integral, cosine integral: of sin(t) / t and cos(t) / t from 0 or -inf, elementwise.

    Raises ValueError for complex x.
    """
    (x,) = promote_args_inexact("sici", x)
    if x.dtype.kind == "c":
        raise ValueError(f"Argument `x` to sici must be real-valued. Got dtype {x.dtype}.")
    distance = jnp.where(jnp.isneginf(x), jnp.nan, jnp.abs(x))
    return cards.call(cards.sine_integral_p, x), cards.call(cards.cosine_integral_p, distance)


# ---- of Gaussians -------------------------------------------------------------------------------


def fresnel(x):
    """-> Fresnel's integrals S and C: of sin and cos of pi t²/2 over [0, x], elementwise."""
    (x,) = real_arguments("fresnel", x)
    return cards.call(cards.fresnel_s_p, x), cards.call(cards.fresnel_c_p, x)


def dawsn(x):
    """Dawson's integral: exp(-x²) times that of exp(t²) over [0, x], elementwise."""
    return cards.call(cards.dawsn_p, *real_arguments("dawsn", x))


def erfcx(x):
    """exp(x²) * erfc(x), elementwise: it falls slowly where erfc(x) underflows."""
    (x,) = promote_args_inexact("erfcx", x)
    if x.dtype.kind == "c":
        return wofz(lax.complex(lax.neg(lax.imag(x)), lax.real(x)))
    return cards.call(cards.erfcx_p, x)


def wofz(z):
    """Faddeeva's function exp(-z²) erfc(-i z), elementwise; z and the result are complex."""
    (z,) = promote_dtypes_complex(z)
    return cards.call(cards.wofz_p, z)


def owens_t(h, a):
    """Owen's T: the probability that X > h and 0 < Y < a X for normal X, Y, elementwise."""
    return cards.call(cards.owens_t_p, *real_arguments("owens_t", h, a))


def spence(x):
    """Spence's function, the integral of log(t) / (1 - t) over [1, x], elementwise.

    Raises TypeError for other dtypes than float32 and float64.
    """
    x = jnp.asarray(x)
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(f"x.dtype={x.dtype} is not supported, see docstring for supported types.")
    return cards.call(cards.spence_p, x)
