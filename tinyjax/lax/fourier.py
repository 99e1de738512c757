"""fft: the discrete Fourier transform, its inverse, and both for real signals.

Its card stands here and not among the primitives, because its rules are programs: JAX shows them
as `jit` equations.
"""

import enum
import math

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.primitives.arithmetic import div, mul
from tinyjax.primitives.complex_parts import conj
from tinyjax.primitives.creation import full_like
from tinyjax.primitives.linear import LinearOp, convert_element_type, expand_dims, to_front
from tinyjax.primitives.slicing import dynamic_update_slice
from tinyjax.transforms.subprogram import subprogram

# ---- the card -----------------------------------------------------------------------------------


class FftType(enum.IntEnum):
    """Which transform: of complex numbers or of real ones, forwards or back."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def real_of(dtype):
    """The dtype of the parts."""
    return np.zeros((), dtype).real.dtype


class Fft(LinearOp):
    """fft[fft_lengths fft_type] x: over the last len(fft_lengths) axes."""

    def impl(self, x, *, fft_type, fft_lengths):
        out = self.type(ShapedArray(x.shape, x.dtype), fft_type=fft_type, fft_lengths=fft_lengths)
        if not math.prod(x.shape) or not math.prod(out.shape):
            return np.zeros(out.shape, out.dtype)
        transform = getattr(np.fft, f"{fft_type.name.lower()}n")
        axes = range(x.ndim - len(fft_lengths), x.ndim)
        return transform(x, fft_lengths, axes).astype(out.dtype)

    def type(self, x, *, fft_type, fft_lengths):
        n = len(fft_lengths)
        if n > len(x.shape):
            raise ValueError(
                f"FFT input shape {x.shape} must have at least as many input dimensions as "
                f"fft_lengths {fft_lengths}."
            )
        outer, inner, dtype = x.shape[: len(x.shape) - n], x.shape[len(x.shape) - n :], x.dtype
        name = "FFT" if fft_type == FftType.IFFT else fft_type.name
        real = fft_type == FftType.RFFT
        if real and dtype not in (np.float32, np.float64):
            raise ValueError(f"RFFT input must be float32 or float64, got {dtype}")
        if not real and dtype.kind != "c":
            raise ValueError(f"{name} input must be complex64 or complex128, got {dtype}")
        if fft_type == FftType.IRFFT:
            if inner[:-1] != fft_lengths[:-1]:
                raise ValueError(
                    f"IRFFT input shape {x.shape} minor dimensions must be equal to all except "
                    f"the last fft_length, got {fft_lengths=}"
                )
            return x.update(shape=outer + fft_lengths, dtype=real_of(dtype))
        if inner != fft_lengths:
            raise ValueError(
                f"{name} input shape {x.shape} minor dimensions must be equal to fft_lengths "
                f"{fft_lengths}"
            )
        if not real:
            return x
        shape = (*outer, *fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
        return x.update(shape=shape, dtype=dtypes.to_complex_dtype(dtype))

    def shown_params(self, params):
        return [("fft_lengths", params["fft_lengths"]), ("fft_type", int(params["fft_type"]))]

    def transpose(self, ct, x, *, fft_type, fft_lengths):
        if fft_type == FftType.RFFT:
            return [_rfft_transpose(ct, fft_lengths)]
        if fft_type == FftType.IRFFT:
            return [_irfft_transpose(ct, fft_lengths)]
        return [fft(ct, fft_type, fft_lengths)]

    def batch(self, axis, vals, dims, /, *, fft_type, fft_lengths):
        return fft(to_front(vals[0], dims[0]), fft_type, fft_lengths), 0


fft_p = Fft("fft")


# ---- transposition ------------------------------------------------------------------------------


def multiplicity(like, dtype, count, even):
    """How often each number that rfft keeps stands in the whole spectrum: 1, 2, 2 ... (1)."""
    mask = full_like(like, 2.0, dtype, (count,))
    mask = dynamic_update_slice(mask, full_like(like, 1.0, dtype, (1,)), (0,))
    if even:
        mask = dynamic_update_slice(mask, full_like(like, 1.0, dtype, (1,)), (count - 1,))
    return mask


@subprogram(static_argnames=("fft_lengths",))
def _rfft_transpose(t, fft_lengths):
    """The cotangent of a real signal: what rfft left out is made up for by counting twice."""
    mask = multiplicity(t, t.dtype, t.shape[-1], fft_lengths[-1] % 2 == 0)
    mask = expand_dims(mask, range(t.ndim - 1))
    out = fft(div(conj(t), mask), FftType.IRFFT, fft_lengths)
    return times(math.prod(fft_lengths), out)


def _irfft_transpose(t, fft_lengths):
    """The cotangent of a half spectrum: the whole one's, each number as often as it was used."""
    x = fft(t, FftType.RFFT, fft_lengths)
    mask = multiplicity(t, x.dtype, x.shape[-1], fft_lengths[-1] % 2 == 0)
    mask = times(1 / math.prod(fft_lengths), expand_dims(mask, range(x.ndim - 1)))
    return conj(mul(mask, x))


def times(number, x):
    """A number times an array."""
    return mul(full_like(x, number, shape=()), x)


# ---- functions ----------------------------------------------------------------------------------


def to_fft_type(fft_type):
    """FftType from its name."""
    if isinstance(fft_type, FftType):
        return fft_type
    if not isinstance(fft_type, str):
        raise TypeError(f"Unknown FFT type value '{fft_type}'")
    if fft_type not in (*FftType.__members__, *map(str.lower, FftType.__members__)):
        raise ValueError(f"Unknown FFT type '{fft_type}'")
    return FftType[fft_type.upper()]


@subprogram(static_argnames=("fft_type", "fft_lengths"))
def fft(x, fft_type, fft_lengths):
    """The discrete Fourier transform over the last len(fft_lengths) axes.

    Args:
      x: array; numbers become complex, for RFFT floating.
      fft_type: FftType or its name: 'fft', 'ifft' (inverse), 'rfft' (of a real signal; it keeps
        the first n // 2 + 1 numbers of the last axis, the others are their conjugates), 'irfft'
        (its inverse).
      fft_lengths: the lengths of the signal along the last axes, hence the sizes of x there, but
        n // 2 + 1 for the last length n of 'irfft'.

    Raises ValueError for an unknown name, for sizes that do not fit, for 'rfft' of complex numbers.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import lax
    >>> lax.fft(jnp.array([1.0, 0.0, 0.0, 0.0]), "fft", (4,))
    Array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    fft_type, x = to_fft_type(fft_type), lift(x)
    if fft_type == FftType.RFFT:
        if x.dtype.kind == "c":
            raise ValueError("only real valued inputs supported for rfft")
        x = convert_element_type(x, dtypes.to_inexact_dtype(x.dtype))
    else:
        x = convert_element_type(x, dtypes.to_complex_dtype(x.dtype))
    if not len(fft_lengths):
        return x
    fft_lengths = tuple(fft_lengths)
    fft_p.type(x.aval, fft_type=fft_type, fft_lengths=fft_lengths)
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=fft_lengths)
