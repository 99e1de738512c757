"""The names of jax.scipy.signal."""

from tinyjax.scipy.convolving import (
    convolve,
    convolve2d,
    correlate,
    correlate2d,
    fftconvolve,
)
from tinyjax.scipy.spectra import csd, detrend, istft, stft, welch

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "csd",
    "detrend",
    "fftconvolve",
    "istft",
    "stft",
    "welch",
]
