"""Convolutions and correlations of jax.scipy.signal."""

from tinyjax import lax
from tinyjax.mapping import vmap
from tinyjax.numpy import fft, flip, iscomplexobj
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.primitives.linear import canonicalize_axes

MODES = ["full", "same", "valid"]


def check_mode(mode):
    """Raise ValueError for an unknown mode."""
    if mode not in MODES:
        raise ValueError(f"mode must be one of {MODES}, got {mode!r}")


def ordered(x, y):
    """-> whether y must come first, since it is the larger one; raises if neither is."""
    if all(a >= b for a, b in zip(x.shape, y.shape)):
        return False
    if all(a <= b for a, b in zip(x.shape, y.shape)):
        return True
    raise ValueError(
        "One input must be smaller than the other in every dimension, got shapes "
        f"{x.shape} and {y.shape}."
    )


def convolve_directly(name, in1, in2, mode, precision):
    """The sums of products, by lax.conv_general_dilated."""
    check_mode(mode)
    x, y = ensure_arraylike(name, in1), ensure_arraylike(name, in2)
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 must have the same number of dimensions")
    if not x.size or not y.size:
        raise ValueError(
            f"zero-size arrays not supported in convolutions, got shapes {x.shape} and {y.shape}."
        )
    x, y = promote_dtypes_inexact(x, y)
    wanted = y.shape
    if ordered(x, y):
        x, y = y, x
    window = y.shape
    if mode == "valid":
        padding = [(0, 0)] * x.ndim
    elif mode == "full":
        padding = [(n - 1, n - 1) for n in window]
    else:  # the middle of the full convolution, of the first operand's size
        padding = [(n - 1 - (m - 1) // 2, n - m + (m - 1) // 2) for n, m in zip(window, wanted)]
    strides = (1,) * x.ndim
    out = lax.conv_general_dilated(
        x[None, None], flip(y)[None, None], strides, padding, precision=precision
    )
    return out[0, 0]


def convolve(in1, in2, mode="full", method="auto", precision=None):
    """The convolution of two arrays, along all axes.

    Args:
      in1, in2: arrays with as many axes; one must not be larger than the other along any axis.
      mode: 'full'; 'same': the middle, of the shape of in1; 'valid': where they overlap completely.
      method: 'direct' and 'auto' sum products, 'fft' multiplies spectra.
      precision: as of lax.dot.

    Raises ValueError for operands that do not fit.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import signal
    >>> signal.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    if method == "fft":
        return fftconvolve(in1, in2, mode=mode)
    if method not in ("direct", "auto"):
        raise ValueError(f"Got method={method!r}; expected 'auto', 'fft', or 'direct'.")
    return convolve_directly("convolve", in1, in2, mode, precision)


def correlate(in1, in2, mode="full", method="auto", precision=None):
    """The correlation of two arrays: the convolution with in2 reversed and conjugated.

    Arguments and errors as of convolve.
    """
    in2 = flip(ensure_arraylike("correlate", in2).conj())
    return convolve(in1, in2, mode, precision=precision, method=method)


def check_matrices(name, in1, in2, boundary, fillvalue):
    """-> two matrices; raises for the settings that JAX does not take."""
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0")
    x, y = ensure_arraylike(name, in1), ensure_arraylike(name, in2)
    if x.ndim != 2 or y.ndim != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")
    return x, y


def convolve2d(in1, in2, mode="full", boundary="fill", fillvalue=0, precision=None):
    """The convolution of two matrices; arguments as of convolve. The boundary is filled with 0."""
    x, y = check_matrices("convolve2d", in1, in2, boundary, fillvalue)
    return convolve_directly("convolve2d", x, y, mode, precision)


def correlate2d(in1, in2, mode="full", boundary="fill", fillvalue=0, precision=None):
    """The correlation of two matrices; arguments as of convolve2d."""
    x, y = check_matrices("correlate2d", in1, in2, boundary, fillvalue)
    first_is_smaller = all(a <= b for a, b in zip(x.shape, y.shape))
    swap = first_is_smaller and mode != "same" and not (mode == "valid" and x.shape == y.shape)
    if not swap:
        return flip(convolve_directly("correlate2d", flip(x), y.conj(), mode, precision))
    out = convolve_directly("correlate2d", flip(y), x.conj(), mode, precision)
    return out if mode == "valid" else out.conj()


def fftconvolve(in1, in2, mode="full", axes=None):
    """The convolution of two arrays, by the product of their Fourier transforms.

    Args:
      in1, in2: arrays with as many axes.
      mode: as of convolve.
      axes: the axes to convolve along, all by default; along others, sizes must be equal.

    Raises ValueError for operands that do not fit.
    """
    x, y = ensure_arraylike("fftconvolve", in1), ensure_arraylike("fftconvolve", in2)
    x, y = promote_dtypes_inexact(x, y)
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    check_mode(mode)

    def along_all(x, y):
        return convolve_spectra(x, y, mode)

    if axes is None:
        return along_all(x, y)
    axes = canonicalize_axes([axes] if isinstance(axes, int) else axes, x.ndim)
    others = [d for d in range(x.ndim) if d not in axes]
    if any(x.shape[d] != y.shape[d] for d in others):
        raise ValueError(
            f"mapped axes must have same shape; got in1.shape={x.shape} in2.shape={y.shape} "
            f"axes={axes}"
        )
    function = along_all
    for d in others:
        function = vmap(function, in_axes=d, out_axes=d)
    return function(x, y)


def convolve_spectra(x, y, mode):
    """fftconvolve along all axes."""
    full = tuple(a + b - 1 for a, b in zip(x.shape, y.shape))
    if mode == "valid" and ordered(x, y):
        x, y = y, x
    if all(a == 1 or b == 1 for a, b in zip(x.shape, y.shape)):
        out = x * y
    else:
        forth, back = (fft.fftn, fft.ifftn) if iscomplexobj(x) else (fft.rfftn, fft.irfftn)
        out = back(forth(x, full) * forth(y, full), full)
    sizes = {
        "full": full,
        "same": x.shape,
        "valid": tuple(a - b + 1 for a, b in zip(x.shape, y.shape)),
    }[mode]
    starts = tuple((a - b) // 2 for a, b in zip(full, sizes))
    return lax.dynamic_slice(out, starts, sizes)
