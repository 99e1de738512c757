"""jax.image: images resized, or scaled and moved, by sums of nearby pixels.

Every axis is resampled on its own: a matrix of weights says how much of each old pixel is in each
new one. Sources of the kernels: Keys: "Cubic convolution interpolation" (1981); Duchon: "Lanczos
filtering in one and two dimensions" (1979).
"""

import enum
import math
from typing import Any, NamedTuple

import numpy as np

from tinyjax import dtypes, lax
from tinyjax import numpy as jnp
from tinyjax.array import lift
from tinyjax.numpy.checks import concrete_or_error
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.primitives.linear import canonicalize_axis, canonicalize_shape
from tinyjax.transforms.subprogram import subprogram

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]

# ---- kernels: the weight of a pixel at a distance -----------------------------------------------


def triangle(x):
    """1 at 0, 0 from distance 1 on."""
    return jnp.maximum(0, 1 - jnp.abs(x))


def lanczos(radius):
    """A sinc under a wider sinc."""

    def kernel(x):
        y = radius * jnp.sin(np.pi * x) * jnp.sin(np.pi * x / radius)
        out = jnp.where(x > 1e-3, jnp.divide(y, jnp.where(x != 0, np.pi**2 * x**2, 1)), 1)
        return jnp.where(x > radius, 0.0, out)

    return kernel


def keys_cubic(x):
    """Keys' cubic with a = -1/2."""
    out = (1.5 * x - 2.5) * x * x + 1.0
    out = jnp.where(x >= 1.0, ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0, out)
    return jnp.where(x >= 2.0, 0.0, out)


def sharp_cubic(x, a=-0.75):
    """Keys' cubic with a = -3/4, as other libraries have it."""
    out = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    out = jnp.where(x >= 1.0, ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a, out)
    return jnp.where(x >= 2.0, 0.0, out)


class ResizeMethod(enum.Enum):
    """How pixels between pixels are made; see resize."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s):
        """The method of a name. Raises ValueError if there is none."""
        if s not in NAMES:
            raise ValueError(f'Unknown resize method "{s}": choose one of {list(NAMES)}')
        return NAMES[s]


NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(["linear", "bilinear", "trilinear", "triangle"], ResizeMethod.LINEAR),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    **dict.fromkeys(["cubic", "bicubic", "tricubic"], ResizeMethod.CUBIC),
    **dict.fromkeys(["cubic-pytorch", "bicubic-pytorch"], ResizeMethod.CUBIC_PYTORCH),
    "area": ResizeMethod.AREA,
}
KERNELS = {
    ResizeMethod.LINEAR: triangle,
    ResizeMethod.LANCZOS3: lanczos(3.0),
    ResizeMethod.LANCZOS5: lanczos(5.0),
    ResizeMethod.CUBIC: keys_cubic,
    ResizeMethod.CUBIC_PYTORCH: sharp_cubic,
    ResizeMethod.AREA: None,  # how much two pixels overlap
}


# ---- resampling ---------------------------------------------------------------------------------


class Resampling(NamedTuple):
    """A method with its settings."""

    method: ResizeMethod
    antialias: bool
    precision: Any

    def weights(self, n, m, scale, translation):
        """The weights [n, m] of n old pixels in m new ones."""
        dtype = dtypes.result_type(scale, translation)
        inverse = 1.0 / scale
        width = jnp.maximum(inverse, 1.0) if self.antialias else 1.0
        centres = (jnp.arange(m, dtype=dtype) + 0.5) * inverse - translation * inverse - 0.5
        more = self.beyond(scale) if self.method == ResizeMethod.CUBIC_PYTORCH else 0
        places = jnp.arange(-more, n + more, dtype=dtype)
        if self.method == ResizeMethod.AREA:
            out = overlaps(n, m, inverse, translation, dtype)
        else:
            out = jnp.abs(centres[None, :] - places[:, None]) / width
            out = KERNELS[self.method](out)
        if more:
            return normalized(folded(out, places, n, dtype))
        out = normalized(out)
        inside = jnp.logical_and(centres >= -0.5, centres <= n - 0.5)
        return jnp.where(inside[None, :], out, 0)

    def beyond(self, scale):
        """How many pixels beyond the edges count, where those at the edges go on for ever."""
        if not self.antialias:
            return 2
        known = concrete_or_error(
            float, scale, "Antialiasing with edge padding requires a static scale."
        )
        return math.ceil(2 * max(1.0 / known, 1.0))

    def resample(self, x, shape, axes, scale, translation):
        """x with some axes resampled to the sizes of a shape."""
        if not len(axes):
            return x
        operands, names = [x, list(range(x.ndim))], list(range(x.ndim))
        for i, d in enumerate(axes):
            d = canonicalize_axis(d, x.ndim)
            w = self.weights(x.shape[d], shape[d], scale[i], translation[i]).astype(x.dtype)
            names[d] = x.ndim + i
            operands += [w, [d, names[d]]]
        return jnp.einsum(*operands, names, precision=self.precision)


def overlaps(n, m, inverse, translation, dtype):
    """How much each of n old pixels overlaps with each of m new ones."""
    new = jnp.arange(m, dtype=dtype) * inverse - translation * inverse
    end = new + inverse
    old = jnp.arange(n, dtype=dtype)
    old_end = old + 1.0
    shared = jnp.minimum(end[None, :], old_end[:, None])
    return jnp.maximum(0.0, shared - jnp.maximum(new[None, :], old[:, None]))


def folded(weights, places, n, dtype):
    """The weights of pixels beyond the edges, added to those of the pixels at the edges."""
    old = jnp.clip(places.astype(np.int32), 0, n - 1)
    m = weights.shape[1]
    new = jnp.arange(m)
    out = jnp.zeros((n, m), dtype=dtype)
    new = lax.broadcast_in_dim(new, weights.shape, (1,))
    return out.at[old[:, None], new].add(weights)


def normalized(weights):
    """Weights whose sum over the old pixels is 1, or 0 where there are none."""
    total = jnp.sum(weights, axis=0, keepdims=True)
    enough = jnp.abs(total) > 1000.0 * float(np.finfo(np.float32).eps)
    return jnp.where(enough, jnp.divide(weights, jnp.where(total != 0, total, 1)), 0)


def resampling(method, antialias, precision):
    """A Resampling. Antialiased, both cubic methods are the same."""
    if isinstance(method, str):
        method = ResizeMethod.from_string(method)
    if method == ResizeMethod.CUBIC_PYTORCH and antialias:
        method = ResizeMethod.CUBIC
    return Resampling(method, antialias, precision)


def check_rank(image, shape):
    """Raise ValueError unless there is one size per axis."""
    if len(shape) != image.ndim:
        raise ValueError(
            "shape must have length equal to the number of dimensions of x; "
            f" {shape} vs {image.shape}"
        )


# ---- functions ----------------------------------------------------------------------------------


def scale_and_translate(image, shape, spatial_dims, scale, translation, method, antialias=True,
                        precision=lax.Precision.HIGHEST):  # fmt: skip
    """An image scaled and moved: its pixel p lies at p * scale + translation.

    Args:
      image: array.
      shape: shape of the result.
      spatial_dims: the axes to resample.
      scale, translation: a number for each of them.
      method: a ResizeMethod or its name, but not 'nearest'.
      antialias: whether images become smoother before they become smaller.
      precision: as of lax.dot.

    Pixels that come from outside of the image are 0. Raises ValueError for a shape of another rank
    and for the method 'nearest'.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import image
    >>> x = jnp.array([1.0, 2.0, 3.0])
    >>> image.scale_and_translate(x, (3,), (0,), jnp.ones(1), jnp.ones(1), "linear")
    Array([0., 1., 2.], dtype=float32)
    """
    image, shape = lift(image), canonicalize_shape(shape)
    check_rank(image, shape)
    how = resampling(method, antialias, precision)
    if how.method == ResizeMethod.NEAREST:
        raise ValueError(
            "Nearest neighbor resampling is not currently supported for scale_and_translate."
        )
    (image,) = promote_dtypes_inexact(image)
    scale, translation = promote_dtypes_inexact(scale, translation)
    return how.resample(image, shape, spatial_dims, scale, translation)


def nearest_pixels(x, shape):
    """x with every new pixel a copy of the old one that it lies in."""
    for d, (n, m) in enumerate(zip(x.shape, shape)):
        if n == m:
            continue
        places = (jnp.arange(m, dtype=np.float32) + 0.5) * n / m
        places = jnp.floor(places.astype(np.float32)).astype(np.int32)
        x = x[(slice(None),) * d + (places,)]
    return x


@subprogram(static_argnames=("shape", "method", "antialias", "precision"))
def _resize(image, shape, method, antialias, precision):
    """resize, to a tuple of sizes."""
    check_rank(image, shape)
    how = resampling(method, antialias, precision)
    if how.method == ResizeMethod.NEAREST:
        return nearest_pixels(image, shape)
    (image,) = promote_dtypes_inexact(image)
    axes = tuple(d for d, (n, m) in enumerate(zip(image.shape, shape)) if n != m)
    scale = [shape[d] / image.shape[d] if shape[d] else 1.0 for d in axes]
    return how.resample(image, shape, axes, scale, [0.0] * len(axes))


def resize(image, shape, method, antialias=True, precision=lax.Precision.HIGHEST):
    """An image at another size.

    Args:
      image: array.
      shape: shape of the result, of the same rank.
      method: a ResizeMethod or its name: 'nearest'; 'linear' ('bilinear', 'trilinear',
        'triangle'); 'cubic' ('bicubic', 'tricubic'); 'cubic-pytorch'; 'lanczos3'; 'lanczos5';
        'area'.
      antialias: whether images become smoother before they become smaller.
      precision: as of lax.dot.

    Returns an array of floats, with 'nearest' of the dtype of the image. Raises ValueError for a
    shape of another rank or an unknown method.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import image
    >>> image.resize(jnp.array([1.0, 3.0]), (4,), "linear")
    Array([1. , 1.5, 2.5, 3. ], dtype=float32)
    """
    return _resize(lift(image), canonicalize_shape(shape), method, antialias, precision)
