"""Elementary functions of single precision to the last digit.

NumPy's float32 loops are off by up to four units in the last place. Small arrays are what people
print, and time is no matter there: they are computed in double precision and rounded once. tanh is
XLA's rational function, the same that compiled kernels use, so it prints as in JAX.
"""

import numpy as np

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
SMALL = 4096  # elements; larger arrays take NumPy's fast loops


# The rational approximation of Eigen's and XLA's float32 tanh: x P(x²) / Q(x²), between the bounds.
TANH_BOUND, TANH_LINEAR = 7.99881172180175781, 0.0004  # beyond: the value there; within: x
TANH_P = (
    -2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08,
    1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03,
)  # fmt: skip
TANH_Q = (1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03)

TANH_RATIO = [np.array(c, SINGLE).astype(DOUBLE) for c in (TANH_P, TANH_Q)]


def rounded(function):
    """A NumPy function of floats that is exact to the last digit for small float32 arrays."""

    def impl(x, *more):
        if x.dtype != SINGLE or x.size > SMALL or more and more[0].size > SMALL:
            return function(x, *more)
        if more:
            return function(x.astype(DOUBLE), more[0].astype(DOUBLE)).astype(SINGLE)
        return function(x.astype(DOUBLE)).astype(SINGLE)

    return impl


def horner(coefficients, x):
    """A polynomial in float32, each step fused: one rounding for x * y + c.

    The coefficients are numbers of float32, given at double precision.
    """
    wide, y = x.astype(DOUBLE), coefficients[0]
    for c in coefficients[1:]:
        y = (y * wide + c).astype(SINGLE)
    return y


def tanh(x):
    """The hyperbolic tangent, for small float32 arrays to the bit as XLA's."""
    if x.dtype != np.float32 or x.size > SMALL:
        return np.tanh(x)
    bound = np.float32(TANH_BOUND)
    inside = np.maximum(np.minimum(x, bound), -bound)
    square = inside * inside
    p, q = TANH_RATIO
    ratio = inside * horner(p, square) / horner(q, square)
    return np.where(np.abs(x) < np.float32(TANH_LINEAR), x, ratio)
