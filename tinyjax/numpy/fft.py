"""jax.numpy.fft: discrete Fourier transforms over chosen axes, cropped or padded, and scaled."""

import operator

from tinyjax import dtypes, lax
from tinyjax.lax import FftType
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.creation import arange, array, asarray
from tinyjax.numpy.padding import pad
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.numpy.reductions import prod
from tinyjax.numpy.shaping import moveaxis, roll
from tinyjax.numpy.ufuncs import conj, sqrt
from tinyjax.putting import takes_device

__all__ = [
    *("fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift"),
    *("ihfft", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"),
]

# ---- one path for all ---------------------------------------------------------------------------


def norm_factor(lengths, inverse, norm):
    """What the unscaled transform (for inverse ones, the one over n) is multiplied by."""
    if norm == "backward":
        return array(1)
    (lengths,) = promote_dtypes_inexact(lengths)
    if norm not in ("ortho", "forward"):
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    n = sqrt(prod(lengths)) if norm == "ortho" else prod(lengths)
    return n if inverse else 1 / n


def signal_lengths(s):
    """The argument s as positive ints."""
    s = tuple(map(operator.index, s))
    if any(n <= 0 for n in s):
        raise ValueError("Shape should be positive.")
    return s


def transform(name, fft_type, a, s, axes, norm):
    """Every transform: the axes are moved to the end, there s crops or pads, and the norm scales.

    XLA's transform, and hence the primitive, works on the last axes.
    """
    full_name = f"jax.numpy.fft.{name}"
    x = ensure_arraylike(full_name, a)
    s = None if s is None else signal_lengths(s)
    if s is not None and axes is not None and len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    given = axes
    if axes is None:
        axes = range(x.ndim - (x.ndim if s is None else len(s)), x.ndim)
    if len(axes) != len(set(axes)):
        raise ValueError(f"{full_name} does not support repeated axes. Got axes {axes}.")
    if given is not None:
        axes = tuple(range(x.ndim - len(axes), x.ndim))
        x = moveaxis(x, given, axes)
    if s is not None:
        x = fitted(x, axes, s, fft_type)
    else:
        s = [x.shape[d] for d in axes]
        if fft_type == FftType.IRFFT and s:
            s[-1] = max(0, 2 * (s[-1] - 1))
    out = transform_last(x, fft_type, tuple(s))
    if norm is not None:
        out = out * norm_factor(array(s, dtype=out.dtype), name.startswith("i"), norm)
    return out if given is None else moveaxis(out, axes, given)


def fitted(x, axes, s, fft_type):
    """x cropped, then padded with zeros, to the lengths of the signal."""
    sizes = list(x.shape)
    for d, n in zip(axes, s):
        sizes[d] = n
    if fft_type == FftType.IRFFT:
        sizes[-1] = sizes[-1] // 2 + 1
    x = x[tuple(slice(n) for n in sizes)]
    return pad(x, [(0, n - m) for n, m in zip(sizes, x.shape)])


def transform_last(x, fft_type, s):
    """lax.fft over the last len(s) axes; more than three are done in turns, as XLA must."""
    if len(s) <= 3:
        return lax.fft(x, fft_type, s)
    n = 2 if len(s) == 4 else 3
    here = tuple(range(x.ndim - len(s), x.ndim - n))
    there = tuple(range(x.ndim - len(s) + n, x.ndim))
    forward = fft_type in (FftType.FFT, FftType.RFFT)
    if forward:
        x = lax.fft(x, fft_type, s[-n:])
    x = moveaxis(x, here, there)
    x = transform_last(x, FftType.FFT if forward else FftType.IFFT, s[:-n])
    x = moveaxis(x, there, here)
    return x if forward else lax.fft(x, fft_type, s[-n:])


# ---- the transforms -----------------------------------------------------------------------------

ARGS = {
    "1": """
    Args:
      a: array.
      n: the length of the signal: the axis is cropped or padded with zeros. Default: its size
        ({default}).
      axis: the axis, by default the last.
      norm: 'backward' (default): the inverse transform divides by n; 'forward': the other one
        does; 'ortho': each divides by the square root of n.
""",
    "n": """
    Args:
      a: array.
      s: the lengths of the signal along the axes, which are cropped or padded with zeros. Default:
        their sizes ({default}).
      axes: the axes; {axes}.
      norm: 'backward' (default): the inverse transform divides by the number of points; 'forward':
        the other one does; 'ortho': each divides by the square root.
""",
}
ERRORS = (
    "\n    Raises ValueError for lengths that are not positive, repeated axes, an unknown norm."
)


def check_one_axis(name, axis):
    """Raise if axis is a sequence."""
    if isinstance(axis, (list, tuple)):
        name = f"jax.numpy.fft.{name}"
        raise ValueError(
            f"{name} does not support multiple axes. Please use {name}n. Got axis = {axis!r}."
        )


def over_one(name, fft_type, a, n, axis, norm):
    """A transform over one axis."""
    check_one_axis(name, axis)
    axes = None if axis is None else [axis]
    return transform(name, fft_type, a, None if n is None else [n], axes, norm)


def documented(function, name, what, which):
    """Give a transform its name and docstring."""
    real_inverse = name.startswith("irfft") or name == "hfft"
    text = {
        "default": "2 (m - 1) for m numbers" if real_inverse else "nothing changes",
        "axes": "by default the last two"
        if which == "2"
        else "by default len(s) last ones, or all",
    }
    args = ARGS["1" if which == "1" else "n"].format(**text)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}\n{args}{ERRORS}\n    "
    return function


def one(name, fft_type, what):
    """A transform over one axis, under its name."""

    def function(a, n=None, axis=-1, norm=None):
        return over_one(name, fft_type, a, n, axis, norm)

    return documented(function, name, what, "1")


def two(name, fft_type, what):
    """A transform over two axes, under its name."""

    def function(a, s=None, axes=(-2, -1), norm=None):
        if len(axes) != 2:
            raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes!r}.")
        return transform(name, fft_type, a, s, axes, norm)

    return documented(function, name, what, "2")


def many(name, fft_type, what):
    """A transform over any number of axes, under its name."""

    def function(a, s=None, axes=None, norm=None):
        return transform(name, fft_type, a, s, axes, norm)

    return documented(function, name, what, "n")


FORWARD = "The discrete Fourier transform"
REAL = "The discrete Fourier transform of real numbers (half of the spectrum)"
fft = one("fft", FftType.FFT, f"{FORWARD} along an axis.")
ifft = one("ifft", FftType.IFFT, "The inverse of fft.")
rfft = one("rfft", FftType.RFFT, f"{REAL} along an axis.")
irfft = one("irfft", FftType.IRFFT, "The inverse of rfft: real numbers.")
fft2 = two("fft2", FftType.FFT, f"{FORWARD} over two axes.")
ifft2 = two("ifft2", FftType.IFFT, "The inverse of fft2.")
rfft2 = two("rfft2", FftType.RFFT, f"{REAL} over two axes; the last one is halved.")
irfft2 = two("irfft2", FftType.IRFFT, "The inverse of rfft2: real numbers.")
fftn = many("fftn", FftType.FFT, f"{FORWARD} over several axes.")
ifftn = many("ifftn", FftType.IFFT, "The inverse of fftn.")
rfftn = many("rfftn", FftType.RFFT, f"{REAL} over several axes; the last one is halved.")
irfftn = many("irfftn", FftType.IRFFT, "The inverse of rfftn: real numbers.")


def hfft(a, n=None, axis=-1, norm=None):
    """The transform of a signal whose other half is the conjugate of this one: real numbers.

    Arguments as of irfft; n is the length of the result.

    >>> import tinyjax.numpy as jnp
    >>> jnp.fft.hfft(jnp.array([1.0, 2.0, 3.0, 4.0])).shape
    (6,)
    """
    a = conj(a)
    check_one_axis("hfft", axis)
    length = (a.shape[axis] - 1) * 2 if n is None else n
    return over_one("hfft", FftType.IRFFT, a, n, axis, norm) * length


def ihfft(a, n=None, axis=-1, norm=None):
    """The inverse of hfft; arguments as of rfft."""
    check_one_axis("ihfft", axis)
    a = asarray(a)
    length = a.shape[axis] if n is None else n
    return conj(over_one("ihfft", FftType.RFFT, a, n, axis, norm)) * (1 / length)


# ---- frequencies and shifts ---------------------------------------------------------------------


def check_frequencies(name, n, d):
    """Raise unless n and d are single numbers."""
    if isinstance(n, (list, tuple)):
        raise ValueError(
            f"The n argument of jax.numpy.fft.{name} only takes an int. Got n = {list(n)}."
        )
    if isinstance(d, (list, tuple)):
        raise ValueError(
            f"The d argument of jax.numpy.fft.{name} only takes a single value. Got d = {list(d)}."
        )


@takes_device
def fftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies at which fft tells the spectrum, in its order: 0, 1, ..., -2, -1, over n d.

    Args:
      n: the number of points.
      d: the distance of two points.
      dtype: of the result, by default the default float.
      device: where to put it: a device or a sharding.

    >>> import tinyjax.numpy as jnp
    >>> jnp.fft.fftfreq(4)
    Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    check_frequencies("fftfreq", n, d)
    out_dtype = dtype or dtypes.default_float_dtype()
    dtype = dtypes.finfo(dtypes.to_inexact_dtype(out_dtype)).dtype
    i = arange(n, dtype=dtype)
    k = (i + n // 2) % n - n // 2
    return (k.astype(dtype) / array(d * n, dtype=dtype)).astype(out_dtype)


@takes_device
def rfftfreq(n, d=1.0, *, dtype=None, device=None):
    """The frequencies at which rfft tells the spectrum: 0, 1, ..., n // 2, over n d.

    Arguments as of fftfreq.
    """
    check_frequencies("rfftfreq", n, d)
    dtype = dtype or dtypes.default_float_dtype()
    return arange(0, n // 2 + 1, dtype=dtype) / array(d * n, dtype=dtype)


def shifted(name, x, axes, sign):
    """Roll by half of each axis."""
    x = ensure_arraylike(name, x)
    if axes is None:
        axes = tuple(range(x.ndim))
    if isinstance(axes, int):
        return roll(x, sign * (x.shape[axes] // 2), axes)
    return roll(x, [sign * (x.shape[d] // 2) for d in axes], axes)


def fftshift(x, axes=None):
    """The spectrum with frequency 0 in the middle.

    Args:
      x: array.
      axes: an axis or several; all by default.

    >>> import tinyjax.numpy as jnp
    >>> jnp.fft.fftshift(jnp.fft.fftfreq(4))
    Array([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return shifted("fftshift", x, axes, 1)


def ifftshift(x, axes=None):
    """The inverse of fftshift."""
    return shifted("ifftshift", x, axes, -1)
