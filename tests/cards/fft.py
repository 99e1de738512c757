"""Cases of fft: each type, one to three axes, even and odd lengths."""

import numpy as np

from cards import Case

RNG = np.random.default_rng(5)


def real(*shape):
    """Random real numbers."""
    return RNG.normal(size=shape).astype(np.float32)


def compl(*shape):
    """Random complex numbers."""
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(np.complex64)


def case(name, kind, x, lengths):
    """One transform."""
    return Case(f"{kind} {name}", "fft", lambda lax, a: lax.fft(a, kind, lengths), (x,), (0,))


CASES = [
    case("", "fft", compl(2, 4), (4,)),
    case("two axes", "ifft", compl(2, 3), (2, 3)),
    case("even", "rfft", real(2, 4), (4,)),
    case("odd", "rfft", real(3, 5), (3, 5)),
    case("even", "irfft", compl(2, 3), (4,)),
    case("odd", "irfft", compl(2, 3), (2, 5)),
    case("three axes", "irfft", compl(1, 2, 2, 3), (2, 2, 4)),
    case("of real numbers", "fft", real(3), (3,)),
    case("one", "rfft", real(2, 1), (1,)),
]
