"""Spectra of signals: detrend, and the short-time Fourier transform with what is made of it.

Source of the inverse: Griffin, Lim: "Signal estimation from modified short-time Fourier transform"
(1984).
"""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax import numpy as jnp
from tinyjax.mapping import vmap
from tinyjax.numpy.checks import concrete_or_error, ensure_arraylike
from tinyjax.numpy.promotion import promote_dtypes_complex, promote_dtypes_inexact
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.source import warn

# ---- trends -------------------------------------------------------------------------------------


def detrend(data, axis=-1, type="linear", bp=0, overwrite_data=None):
    """Data without its trend.

    Args:
      data: array.
      axis: the axis along which it runs.
      type: 'linear': a line is fitted and subtracted; 'constant': the mean is.
      bp: places where one line ends and the next begins.
      overwrite_data: only None.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import signal
    >>> signal.detrend(jnp.array([1.0, 2.0, 3.0]), type="constant")
    Array([-1.,  0.,  1.], dtype=float32)
    """
    if overwrite_data is not None:
        raise NotImplementedError("overwrite_data argument not implemented.")
    if type not in ("constant", "linear"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    (x,) = promote_dtypes_inexact(jnp.asarray(data))
    if type == "constant":
        return x - x.mean(axis, keepdims=True)
    n = x.shape[axis]
    ends = np.sort(np.unique(np.r_[0, bp, n]))
    if ends[0] < 0 or ends[-1] > n:
        raise ValueError(
            "Breakpoints must be non-negative and less than length of data along given axis."
        )
    x = jnp.moveaxis(x, axis, 0)
    shape, x = x.shape, x.reshape(n, -1)
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist()):
        count = stop - start
        ramp = jnp.arange(1, count + 1, dtype=x.dtype) / np.asarray(count, x.dtype)
        lines = jnp.vstack([jnp.ones(count, dtype=x.dtype), ramp]).T
        slopes = jnp.linalg.lstsq(lines, x[start:stop])[0]
        trend = jnp.matmul(lines, slopes, precision=lax.Precision.HIGHEST)
        x = x.at[start:stop].add(-trend)
    return jnp.moveaxis(x.reshape(shape), 0, axis)


# ---- windows and segments -----------------------------------------------------------------------


def named_window(window, n):
    """A window by its name. Those other than 'hann' are SciPy's."""
    if window == "hann":
        if n == 1:
            return jnp.array([1.0])
        return jnp.sin(jnp.linspace(0, np.pi, n, endpoint=False)) ** 2
    from scipy.signal import get_window

    return get_window(window, n)


def window_and_length(window, nperseg, length, dtype):
    """-> the window as an array, and the length of segments."""
    if isinstance(window, (str, tuple)):
        n = length if nperseg is None else nperseg
        if n > length:
            warn(
                f"nperseg={n} is greater than input_length={length}, using nperseg={length}",
            )
            n = length
        return jnp.array(named_window(window, n), dtype=dtype), n
    win = jnp.asarray(window, dtype=dtype)
    if win.ndim != 1:
        raise ValueError("window must be 1-D")
    if length < win.size:
        raise ValueError("window is longer than input signal")
    if nperseg is not None and nperseg != win.size:
        raise ValueError("value specified for nperseg is different from length of window")
    return win, win.size


def concrete_int(value, default, name):
    """An argument that must be known, or its default."""
    return default if value is None else concrete_or_error(int, value, f"{name} of windowed-FFT")


def extended(x, n, boundary):
    """x with n more numbers at both ends of its last axis."""
    if boundary != "odd":
        how = {"even": "reflect", "constant": "edge", "zeros": "constant"}[boundary]
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(n, n)], how)
    if n > x.shape[-1] - 1:
        raise ValueError(
            f"The extension length n ({n}) is too big. It must not exceed x.shape[axis]-1, which "
            f"is {x.shape[-1] - 1}."
        )
    left = 2 * x[..., :1] - jnp.flip(x[..., 1 : n + 1], -1)
    right = 2 * x[..., -1:] - jnp.flip(x[..., -(n + 1) : -1], -1)
    return jnp.concatenate((left, x, right), -1) if n else x


def segments_spectra(x, win, trend, overlap, nfft, onesided):
    """The transforms of all segments, each without its trend and under the window."""
    n = win.size
    if x.dtype.kind == "i":
        x = x.astype(win.dtype)
    if n == 1 and overlap == 0:
        parts = x[..., None]
    else:
        starts = jnp.arange(x.shape[-1] - n + 1, step=n - overlap)
        cut = lambda start: lax.dynamic_slice_in_dim(x, start, n, -1)
        parts = vmap(cut, out_axes=-2)(starts)
    parts = trend(parts)
    if jnp.iscomplexobj(win):
        (parts,) = promote_dtypes_complex(parts)
    parts = win * parts
    if onesided:
        return jnp.fft.rfft(parts.real, n=nfft)
    return jnp.fft.fft(parts, n=nfft)


def to_trend(kind, axis):
    """The function that takes the trend off segments."""
    if isinstance(kind, str):
        return lambda x: detrend(x, type=kind, axis=-1)
    if not callable(kind):
        return lambda x: x
    if axis == -1:
        return kind
    return lambda x: jnp.moveaxis(kind(jnp.moveaxis(x, axis, -1)), -1, axis)


def padded_to(x, n):
    """x with zeros at the end of its last axis."""
    if x.shape[-1] == n:
        return x
    more = jnp.zeros_like(x, shape=(*x.shape[:-1], n - x.shape[-1]))
    return jnp.concatenate((x, more), -1)


BOUNDARIES = ("even", "odd", "constant", "zeros", None)


def spectra(x, y, fs, window, nperseg, noverlap, nfft, trend, return_onesided, scaling, axis,
            mode="psd", boundary=None, padded=False):  # fmt: skip
    """-> frequencies, times, the spectra of segments (mode 'stft') or their products ('psd')."""
    if boundary not in BOUNDARIES:
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: {list(BOUNDARIES)}"
        )
    x = ensure_arraylike("spectral_helper", x)
    axis = canonicalize_axis(concrete_or_error(int, axis, "axis of windowed-FFT"), x.ndim)
    other = x if y is None else ensure_arraylike("spectral_helper", y)
    x, other = promote_dtypes_inexact(x, other)
    if x.ndim != other.ndim:
        raise ValueError(f"two-arguments must have the same rank ({x.ndim} vs {other.ndim}).")
    outer = [a.shape[:axis] + a.shape[axis + 1 :] for a in (x, other)]
    try:
        outer = np.broadcast_shapes(*outer)
    except ValueError as error:
        raise ValueError("x and y cannot be broadcast together.") from error
    out_dtype = dtypes.to_complex_dtype(x.dtype)
    real_dtype = np.zeros((), out_dtype).real.dtype
    nperseg = concrete_int(nperseg, None, "nperseg")
    if nperseg is not None and nperseg < 1:
        raise ValueError("nperseg must be a positive integer")
    win, nperseg = window_and_length(window, nperseg, x.shape[axis], x.dtype)
    noverlap = concrete_int(noverlap, nperseg // 2, "noverlap")
    nfft = concrete_int(nfft, nperseg, "nfft")
    if not x.size or not other.size:
        n = min(x.shape[axis], other.shape[axis])
        shape = x.shape if y is None else (*outer[:axis], n, *outer[axis:])
        return (*[jnp.zeros(shape, real_dtype)] * 2, jnp.zeros(shape, out_dtype))
    if nfft < nperseg:
        raise ValueError("nfft must be greater than or equal to nperseg.")
    if noverlap >= nperseg:
        raise ValueError("noverlap must be less than nperseg.")

    signals = [jnp.moveaxis(a, axis, -1) for a in ([x] if y is None else [x, other])]
    signals = [padded_to(a, max(b.shape[-1] for b in signals)) for a in signals]
    if boundary is not None:
        signals = [extended(a, nperseg // 2, boundary) for a in signals]
    step = nperseg - noverlap
    if padded:
        n = signals[0].shape[-1]
        n += (-(n - nperseg) % step) % nperseg
        signals = [padded_to(a, n) for a in signals]

    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling}")
    scale = 1.0 / (fs * (win * win).sum()) if scaling == "density" else 1.0 / win.sum() ** 2
    (scale,) = promote_dtypes_complex(jnp.sqrt(scale) if mode == "stft" else scale)
    if return_onesided and any(map(jnp.iscomplexobj, signals)):
        return_onesided = False
        warn("Input data is complex, switching to return_onesided=False")
    frequencies = jnp.fft.rfftfreq if return_onesided else jnp.fft.fftfreq
    freqs = frequencies(nfft, 1 / fs, dtype=real_dtype)

    trend = to_trend(trend, axis)
    parts = [segments_spectra(a, win, trend, noverlap, nfft, return_onesided) for a in signals]
    out = parts[0] if mode == "stft" else jnp.conjugate(parts[0]) * parts[-1]
    out = out * scale
    if return_onesided and mode == "psd":  # the other half of the spectrum
        out = out.at[..., 1 : None if nfft % 2 else -1].mul(2)
    stop = signals[0].shape[-1] - nperseg / 2 + 1
    times = jnp.arange(nperseg / 2, stop, step, dtype=real_dtype) / fs
    if boundary is not None:
        times = times - nperseg / 2 / fs
    out = out.astype(out_dtype)
    if y is None and mode == "psd":
        out = out.real
    return freqs, times, jnp.moveaxis(out, -1, axis)


# ---- the transform and spectral densities -------------------------------------------------------


def stft(x, fs=1.0, window="hann", nperseg=256, noverlap=None, nfft=None, detrend=False,
         return_onesided=True, boundary="zeros", padded=True, axis=-1):  # fmt: skip
    """The short-time Fourier transform: the spectra of overlapping segments.

    Args:
      x: array, a signal along an axis.
      fs: how many samples there are per unit of time.
      window: the name of a window ('hann', or one of SciPy's), or an array.
      nperseg: the length of segments.
      noverlap: how far they overlap, by default by half.
      nfft: the length of transforms, by default nperseg.
      detrend: 'constant', 'linear', a function, or False: what is taken off each segment.
      return_onesided: for real signals, half of the spectrum.
      boundary: how the signal goes on at its ends: 'zeros', 'even', 'odd', 'constant', None.
      padded: whether zeros fill the last segment.
      axis: along which the signal runs.

    Returns frequencies, times, and the transforms: frequencies at `axis`, times last.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import signal
    >>> f, t, z = signal.stft(jnp.ones(8), nperseg=4)
    >>> f.shape, t.shape, z.shape
    ((3,), (5,), (3, 5))
    """
    return spectra(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
                   "spectrum", axis, "stft", boundary, padded)  # fmt: skip


def csd(x, y, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant",
        return_onesided=True, scaling="density", axis=-1, average="mean"):  # fmt: skip
    """The cross spectral density of two signals, by Welch's method: an average over segments.

    Args:
      x, y: arrays; y may be None, for that of x with itself.
      scaling: 'density' or 'spectrum'.
      average: 'mean' or 'median' of the segments.
      Others as of stft.

    Returns frequencies and densities.
    """
    freqs, _, out = spectra(x, y, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
                            scaling, axis)  # fmt: skip
    if y is not None:
        out = out + 0j
    if out.ndim < 2 or not out.size:
        return freqs, out
    if out.shape[-1] == 1:
        return freqs, jnp.reshape(out, out.shape[:-1])
    if average == "mean":
        return freqs, out.mean(axis=-1)
    if average != "median":
        raise ValueError(f'average must be "median" or "mean", got {average}')
    bias = median_bias(out.shape[-1]).astype(out.dtype)
    if jnp.iscomplexobj(out):
        middle = jnp.median(out.real, axis=-1) + 1j * jnp.median(out.imag, axis=-1)
    else:
        middle = jnp.median(out, axis=-1)
    return freqs, middle / bias


def median_bias(n):
    """By how much the median of n spectra exceeds their mean."""
    even = jnp.arange(2.0, n, 2)
    return 1 + jnp.sum(1.0 / (even + 1) - 1.0 / even)


def welch(x, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, detrend="constant",
          return_onesided=True, scaling="density", axis=-1, average="mean"):  # fmt: skip
    """The spectral density of a signal, by Welch's method; arguments as of csd."""
    freqs, out = csd(x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided,
                     scaling, axis, average)  # fmt: skip
    return freqs, out.real


# ---- the inverse --------------------------------------------------------------------------------


def overlap_and_add(x, step):
    """[..., frames, n] -> the sum of all frames, each `step` later than the one before."""
    *batch, frames, n = x.shape
    places = jnp.arange(frames)[:, None] * step + jnp.arange(n)
    out = jnp.zeros((*batch, step * (frames - 1) + n), x.dtype)
    return out.at[..., places].add(x)


def istft(Zxx, fs=1.0, window="hann", nperseg=None, noverlap=None, nfft=None, input_onesided=True,
          boundary=True, time_axis=-1, freq_axis=-2):  # fmt: skip
    """The inverse of stft: the signal whose segments come nearest to the given spectra.

    Args:
      Zxx: array, spectra of segments.
      fs, window, nperseg, noverlap, nfft: as of stft.
      input_onesided: whether Zxx holds half of the spectrum.
      boundary: whether stft extended the signal.
      time_axis, freq_axis: the axes of Zxx.

    Returns times and the signal.
    """
    z = ensure_arraylike("istft", Zxx)
    if z.ndim < 2:
        raise ValueError("Input stft must be at least 2d!")
    freq_axis = canonicalize_axis(freq_axis, z.ndim)
    time_axis = canonicalize_axis(time_axis, z.ndim)
    if freq_axis == time_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    z = jnp.asarray(z, dtype=dtypes.to_complex_dtype(z.dtype))
    whole = 2 * (z.shape[freq_axis] - 1) if input_onesided else z.shape[freq_axis]
    n = concrete_or_error(int, nperseg or whole, "nperseg: segment length of STFT")
    if n < 1:
        raise ValueError("nperseg must be a positive integer")
    default = whole + (input_onesided and n == whole + 1)
    length = default if nfft is None else concrete_or_error(int, nfft, "nfft of STFT")
    if length < n:
        raise ValueError(f"FFT length ({length}) must be longer than nperseg ({n}).")
    overlap = concrete_or_error(int, noverlap or n // 2, "noverlap of STFT")
    if overlap >= n:
        raise ValueError("noverlap must be less than nperseg.")
    outer = tuple(d for d in range(z.ndim) if d not in (time_axis, freq_axis))
    z = jnp.transpose(z, (*outer, freq_axis, time_axis))
    parts = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(z, axis=-2, n=nfft)[..., :n, :]
    if isinstance(window, (str, tuple)):
        win = jnp.array(named_window(window, n), dtype=parts.dtype)
    else:
        win = jnp.asarray(window)
        if win.ndim != 1:
            raise ValueError("window must be 1-D")
        if win.shape[0] != n:
            raise ValueError(f"window must have length of {n}")
    parts = (parts * win.sum()).swapaxes(-2, -1) * win
    x = overlap_and_add(parts, n - overlap)
    norm = overlap_and_add(jnp.broadcast_to(win * win, (parts.shape[-2], n)), n - overlap)
    if boundary:
        x, norm = (v[..., n // 2 : -(n // 2)] for v in (x, norm))
    x = x / jnp.where(norm > 1e-10, norm, 1.0)
    if x.ndim > 1 and time_axis != z.ndim - 1:
        x = jnp.moveaxis(x, -1, time_axis - (freq_axis < time_axis))
    times = jnp.arange(x.shape[0], dtype=np.zeros((), x.dtype).real.dtype) / fs
    return times, x
