"""The names of scipy.stats: distributions, mode, sem."""

from tinyjax.scipy.stats import (
    bernoulli,
    beta,
    cauchy,
    chi2,
    expon,
    gamma,
    laplace,
    logistic,
    multivariate_normal,
    norm,
    pareto,
    poisson,
    t,
    uniform,
)
from tinyjax.scipy.stats.summaries import mode, sem

__all__ = [
    "bernoulli",
    "beta",
    "cauchy",
    "chi2",
    "expon",
    "gamma",
    "laplace",
    "logistic",
    "mode",
    "multivariate_normal",
    "norm",
    "pareto",
    "poisson",
    "sem",
    "t",
    "uniform",
]
