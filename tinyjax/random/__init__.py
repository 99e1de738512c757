"""The names of jax.random: keys, and random numbers made from them. Nothing is made here."""

from tinyjax.lazy import lazy_imports as _lazy_imports

with _lazy_imports(globals()):
    from tinyjax.primitives.random_gamma import random_gamma_p
    from tinyjax.random.choosing import categorical, choice, permutation
    from tinyjax.random.continuous import (
        double_sided_maxwell,
        generalized_normal,
        lognormal,
        maxwell,
        pareto,
        rayleigh,
        triangular,
        wald,
        weibull_min,
    )
    from tinyjax.random.counts import binomial, geometric, multinomial, poisson
    from tinyjax.random.distributions import (
        bernoulli,
        cauchy,
        exponential,
        gumbel,
        laplace,
        logistic,
        normal,
        rademacher,
        truncated_normal,
    )
    from tinyjax.random.gammas import beta, chisquare, dirichlet, f, gamma, loggamma, t
    from tinyjax.random.keys import (
        PRNGKey,
        clone,
        fold_in,
        key,
        key_data,
        key_dtype,
        key_impl,
        split,
        wrap_key_data,
    )
    from tinyjax.random.uniform import bits, randint
    from tinyjax.random.vectors import ball, multivariate_normal, orthogonal

from tinyjax.random.uniform import uniform  # called like its file, so not lazy

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "random_gamma_p",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]
