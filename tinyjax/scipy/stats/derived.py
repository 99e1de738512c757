"""Functions of a distribution that are the exponential or the logarithm of another."""

import functools

from tinyjax import lax

DOCS = {
    "pdf": "The density at x.",
    "pmf": "The probability of the value.",
    "cdf": "The probability of a value up to x.",
    "sf": "1 - cdf: the probability of a larger value.",
    "logcdf": "log(cdf).",
    "logsf": "log(1 - cdf).",
}


def exp_of(function, name):
    """The function of this name, that is the exponential of a function with the same arguments."""
    return applied(lax.exp, function, name)


def log_of(function, name):
    """The function of this name, that is the logarithm of a function with the same arguments."""
    return applied(lax.log, function, name)


def applied(op, function, name):
    """op of the values of a function."""

    @functools.wraps(function)
    def composed(*args, **kwargs):
        return op(function(*args, **kwargs))

    composed.__name__ = composed.__qualname__ = name
    composed.__doc__ = DOCS[name]
    return composed
