"""Von Mises' distribution of angles, with concentration kappa."""

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.promotion import promote_args_inexact
from tinyjax.primitives.arithmetic import const
from tinyjax.scipy.stats.derived import exp_of


def logpdf(x, kappa):
    """The logarithm of the density at x."""
    x, kappa = promote_args_inexact("vonmises.logpdf", x, kappa)
    positive = kappa > const(kappa, 0)
    value = kappa * (jnp.cos(x) - 1) - jnp.log(2 * np.pi * lax.bessel_i0e(kappa))
    return jnp.where(positive, value, np.nan)


pdf = exp_of(logpdf, "pdf")
