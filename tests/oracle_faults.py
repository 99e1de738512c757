"""Where jax 0.10.2 itself is wrong: the program, the right answer, the mathematics that decides.

tests/test_oracle_faults.py asks both worlds: tinyjax must give the right answer, jax must not (when
it does one day, its entry goes). Tests that compare printed forms know from MENDED which functions
have other equations here than there; `python -m tests.fuzz` leaves out what `explains` explains.
"""

import re
from typing import Any, NamedTuple

import numpy as np


class Fault(NamedTuple):
    """One program on which jax is wrong."""

    run: Any  # a function of the world
    right: Any  # the answer
    why: str
    source: str = ""  # a program of the fuzzer that matches this ...
    verdict: str = ""  # ... and fails like this meets the fault


def ones_and_zeros(jax, sign):
    """The gradient of logsumexp where the argument's weight is 0."""
    f = lambda x: jax.nn.logsumexp(jax.numpy.stack([-jax.numpy.inf, -jax.numpy.inf + x]))
    return jax.grad(f)(sign)


def slice_of_slice(jax):
    def read(x, i, j):
        inner = jax.lax.dynamic_slice(x, (i,), (4,))
        return jax.lax.dynamic_slice(inner, (j,), (1,))[0]

    return jax.jit(read)(jax.numpy.arange(10.0), 9, 0)


def weak_carries(jax):
    step = lambda c, x: ([c[0] + x, c[1] + c[0], c[2] + c[1]], None)
    return jax.lax.scan(step, [0.0, 0.0, 0.0], jax.numpy.ones(5, "float16"))[0]


def drawn_below_one(jax):
    key = jax.random.PRNGKey(0)
    draws = jax.random.uniform(key, (100_000,), minval=1000.0, maxval=1001.0)
    return int((np.asarray(draws) >= np.float32(1001.0)).sum())


POWERS = np.arange(-126, 127).astype(np.float32)

FAULTS = {
    "remainder_of_zero": Fault(
        lambda jax: np.signbit(
            jax.numpy.remainder(np.float32([-1, -4, 4]), np.float32([1, 2, -2]))
        ),
        np.array([False, False, True]),
        "x % y has the sign of y (Python, NumPy), also if it is zero: -1.0 % 1.0 is 0.0, not -0.0.",
    ),
    "log2_of_powers": Fault(
        lambda jax: jax.numpy.log2(np.float32(2.0) ** POWERS) == POWERS,
        np.full(POWERS.shape, True),
        "The logarithm of 2**k is k; the quotient of two rounded logarithms may be off.",
    ),
    "uint32_beside_int8": Fault(
        lambda jax: jax.numpy.uint32(2**32 - 1) > jax.numpy.int8(1),
        np.array(True),
        "4294967295 > 1. Their common type without 64 bits, int32, turns the larger one to -1.",
    ),
    "logsumexp_of_nothing": Fault(
        lambda jax: ones_and_zeros(jax, 1.0),
        np.float32(0),
        "log(0 + 0) stays -inf whatever x is: it does not change, its slope is 0, not nan.",
        source=r"logsumexp|log_softmax|logaddexp",
        verdict=r"but jax: .*nan",
    ),
    "ties_in_float16": Fault(
        lambda jax: jax.grad(lambda x: x.max())(jax.numpy.ones(70000, "float16"))[:1],
        np.float16([1 / 70000]),
        "70,000 equal maxima share a slope of 1; their number is no float16, but 1/70000 is.",
    ),
    "slice_of_a_slice": Fault(
        slice_of_slice,
        np.float32(6),
        "x[9:13] of ten elements is moved to x[6:10], whose first element is x[6].",
    ),
    "smallest_number": Fault(
        lambda jax: jax.numpy.argmax(np.float32([-1.0, -0.0, 1.4e-45])),
        np.int32(2),
        "1.4e-45 is a float32 (a subnormal one), and larger than zero.",
    ),
    "maximum_of_a_nan": Fault(
        lambda jax: jax.numpy.isnan(jax.numpy.max(np.float32([1.0] * 4095 + [np.nan]))),
        np.array(True),
        "A maximum is NaN if any element is, as it is for fewer than 4096 elements.",
    ),
    "three_weak_carries": Fault(
        weak_carries,
        [np.float16(5), np.float16(10), np.float16(10)],
        "Python numbers adapt to float16; three passes over the carry find it, jax makes two.",
    ),
    "uniform_is_half_open": Fault(
        drawn_below_one,
        0,
        "Draws are below maxval, as documented; rounding may not lift them to it.",
    ),
    "gammaln_of_one": Fault(
        lambda jax: jax.scipy.special.gammaln(np.float32([1.0, 2.0])),
        np.float32([0, 0]),
        "gamma(1) = gamma(2) = 1, whose logarithm is 0.",
        source=r"gammaln",
        verdict=r"values \[?True|values .*False",
    ),
    "zero_to_a_complex_power": Fault(
        lambda jax: jax.numpy.power(np.complex64(0), np.complex64(0.5 - 0.25j)),
        np.complex64(0),
        "|0**z| = 0**re(z) = 0 where re(z) > 0.",
        source=r"\*\*|power|pow\(",
        verdict=r"but jax: .*nan",
    ),
}

# What programs of jax hold that call a function which has more equations here, because of a fault
# above: remainder, log2.
MENDED = (r"name=remainder\b", r"= log 2\.0:")


def mended(printed):
    """Whether a jaxpr of jax calls a function that is mended here."""
    return any(re.search(sign, printed) for sign in MENDED)


def explains(source, verdict):
    """The name of a fault that explains how a program of the fuzzer failed; None if none does."""
    for name, fault in FAULTS.items():
        if fault.source and re.search(fault.source, source) and re.search(fault.verdict, verdict):
            return name
    return None
