"""jax.scipy.fft: discrete cosine transforms of type 2, by Fourier transforms.

Source: Makhoul: "A fast cosine transform in one and two dimensions" (1980).
"""

import operator

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import promote_dtypes_complex, promote_dtypes_inexact
from tinyjax.primitives.linear import canonicalize_axes, canonicalize_axis

__all__ = ["dct", "dctn", "idct", "idctn"]

# ---- parts --------------------------------------------------------------------------------------


def along(line, x, axis):
    """A vector as an array of the rank of x, along an axis."""
    return lax.expand_dims(line, [d for d in range(x.ndim) if d != axis])


def quarter_turns(n, k):
    """exp(-i pi k / 2n)."""
    n, k = promote_dtypes_complex(n, k)
    return jnp.exp(-0.5j * np.pi * k / n)


def frequencies(x, axis, dtype):
    """0, 1, ... along an axis."""
    return along(jnp.arange(x.shape[axis], dtype=dtype), x, axis)


def evens_then_odds(x, axis):
    """The elements at even places, then those at odd ones backwards."""
    evens = lax.slice_in_dim(x, None, None, 2, axis)
    odds = lax.slice_in_dim(x, 1, None, 2, axis)
    return lax.concatenate([evens, lax.rev(odds, (axis,))], axis)


def interleaved(x, axis):
    """The inverse of evens_then_odds."""
    x = jnp.moveaxis(x, axis, 0)
    n = -(-x.shape[0] // 2)
    out = jnp.zeros(x.shape, dtype=x.dtype)
    out = out.at[::2].set(x[:n]).at[1::2].set(lax.rev(x[n:], (0,)))
    return jnp.moveaxis(out, 0, axis)


def orthonormal(x, axis):
    """x with the factors that make the transform orthogonal."""
    n = x.shape[axis]
    factors = [lax.full((1,), 4, x.dtype), lax.full((n - 1,), 2, x.dtype)]
    return x / lax.sqrt(along(lax.concatenate(factors, 0), x, axis) * n)


def checked(name, x, type, norm):
    """The operand as an array; raises for what JAX does not take."""
    x = ensure_arraylike(name, x)
    if type != 2:
        raise NotImplementedError("Only DCT type 2 is implemented.")
    if norm is not None and norm not in ("backward", "ortho"):
        raise ValueError(f"jax.scipy.fft.{name}: norm={norm!r} is not implemented")
    return x


def by_parts(transform, x, **settings):
    """A transform of the real and of the imaginary part."""
    return lax.complex(transform(x.real, **settings), transform(x.imag, **settings))


def resized(x, sizes):
    """x padded with zeros, or cropped, to sizes by axis."""
    config = [(0, sizes.get(d, n) - n, 0) for d, n in enumerate(x.shape)]
    return lax.pad(x, jnp.array(0, x.dtype), config)


def axes_and_sizes(x, s, axes):
    """The arguments s and axes -> axes, sizes or None."""
    if s is not None:
        s = list(s) if hasattr(s, "__iter__") else [operator.index(s)]
        if len(s) > x.ndim:
            raise ValueError(f"s must have at most x.ndim ({x.ndim}) elements, got {len(s)}")
    if axes is not None:
        axes = [axes] if isinstance(axes, int) else axes
        return canonicalize_axes(axes, x.ndim), s
    return tuple(range(x.ndim - (x.ndim if s is None else len(s)), x.ndim)), s


# ---- the transforms -----------------------------------------------------------------------------


def dct(x, type=2, n=None, axis=-1, norm=None):
    """The discrete cosine transform along an axis.

    Args:
      x: array.
      type: only 2.
      n: the length of the signal, by default the size of the axis.
      axis: the axis.
      norm: None or 'backward': as SciPy's; 'ortho': an orthogonal map.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy import fft
    >>> fft.dct(jnp.array([1.0, 0.0]))
    Array([2.       , 1.4142135], dtype=float32)
    """
    x = checked("dct", x, type, norm)
    if x.dtype.kind == "c":
        return by_parts(dct, x, type=type, n=n, norm=norm, axis=axis)
    axis = canonicalize_axis(axis, x.ndim)
    x = x if n is None else resized(x, {axis: n})
    spectrum = jnp.fft.fft(evens_then_odds(x, axis), axis=axis)
    k = frequencies(x, axis, spectrum.real.dtype)
    out = 2 * (spectrum * quarter_turns(x.shape[axis], k)).real
    return orthonormal(out, axis) if norm == "ortho" else out


def dct2(x, axes, norm):
    """dctn over two axes: one transform over both."""
    first, second = axes
    v = evens_then_odds(evens_then_odds(x, first), second)
    spectrum = jnp.fft.fftn(v, axes=axes)
    n1, n2 = x.shape[first], x.shape[second]
    k1, k2 = (frequencies(x, d, spectrum.dtype) for d in axes)
    mirrored = jnp.roll(jnp.flip(spectrum, axis=second), shift=1, axis=second)
    rows = quarter_turns(n2, k2) * spectrum + quarter_turns(n2, -k2) * mirrored
    out = 2 * (quarter_turns(n1, k1) * rows).real
    return orthonormal(orthonormal(out, first), second) if norm == "ortho" else out


def dctn(x, type=2, s=None, axes=None, norm=None):
    """The discrete cosine transform over several axes.

    Args:
      x: array.
      type: only 2.
      s: the lengths of the signal along the axes, by default their sizes.
      axes: the axes, by default the len(s) last ones or all.
      norm: as of dct.
    """
    x = checked("dctn", x, type, norm)
    if x.dtype.kind == "c":
        return by_parts(dctn, x, type=type, s=s, norm=norm, axes=axes)
    axes, s = axes_and_sizes(x, s, axes)
    if len(axes) == 1:
        return dct(x, n=s[0] if s is not None else None, axis=axes[0], norm=norm)
    x = x if s is None else resized(x, dict(zip(axes, s)))
    if len(axes) == 2:
        return dct2(x, axes, norm)
    for i in range(0, len(axes), 2):
        x = dctn(x, axes=axes[i : i + 2], norm=norm)
    return x


def idct(x, type=2, n=None, axis=-1, norm=None):
    """The inverse of dct; arguments as there."""
    x = checked("idct", x, type, norm)
    if x.dtype.kind == "c":
        return by_parts(idct, x, type=type, n=n, norm=norm, axis=axis)
    axis = canonicalize_axis(axis, x.ndim)
    x = x if n is None else resized(x, {axis: n})
    n = x.shape[axis]
    (x,) = promote_dtypes_inexact(x)
    if norm != "ortho":
        x = orthonormal(x, axis)
    x = orthonormal(x, axis)
    turns = quarter_turns(n, frequencies(x, axis, x.dtype))
    spectrum = x.astype(turns.dtype) / turns * 2 * n
    return interleaved(jnp.fft.ifft(spectrum, axis=axis).real, axis)


def idctn(x, type=2, s=None, axes=None, norm=None):
    """The inverse of dctn; arguments as there."""
    x = checked("idctn", x, type, norm)
    if x.dtype.kind == "c":
        return by_parts(idctn, x, type=type, s=s, norm=norm, axes=axes)
    axes, s = axes_and_sizes(x, s, axes)
    if len(axes) == 1:
        return idct(x, n=s[0] if s is not None else None, axis=axes[0], norm=norm)
    x = x if s is None else resized(x, dict(zip(axes, s)))
    for axis in axes:
        x = idct(x, axis=axis, norm=norm)
    return x
