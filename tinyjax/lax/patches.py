"""Windows of images as features, and convolutions whose windows differ from place to place."""

import math

import numpy as np

from tinyjax.array import lift
from tinyjax.primitives.arithmetic import add, eq
from tinyjax.primitives.conv_shapes import conv_dimension_numbers
from tinyjax.primitives.convolution import conv_general_dilated
from tinyjax.primitives.creation import broadcasted_iota
from tinyjax.primitives.dot import Precision, canonicalize_precision, dot_general
from tinyjax.primitives.linear import broadcast_in_dim, convert, reshape, transpose


def unit_matrix(dtype, n):
    """The unit matrix."""
    index = np.dtype(np.int32)
    rows = add(broadcasted_iota(index, (n, n), 0), np.int32(0))
    return convert(eq(rows, broadcasted_iota(index, (n, n), 1)), dtype)


def moved(x, sources, destinations):
    """x with two of its axes elsewhere."""
    order = [d for d in range(x.ndim) if d not in [s % x.ndim for s in sources]]
    for destination, source in sorted(zip(destinations, [s % x.ndim for s in sources])):
        order.insert(destination, source)
    return transpose(x, order)


def conv_general_dilated_patches(lhs, filter_shape, window_strides, padding, lhs_dilation=None,
                                 rhs_dilation=None, dimension_numbers=None, precision=None,
                                 preferred_element_type=None):  # fmt: skip
    """The patches of images that a convolution's windows see, as features.

    Args:
      lhs: images, by default (batch, features, *spatial).
      filter_shape: the spatial sizes of the window.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision,
      preferred_element_type: as of conv_general_dilated.

    Returns an array of the shape of the convolution's result. Its features are those of lhs, each
    with all places of the window: feature-major, math.prod(filter_shape) places per feature.

    >>> from tinyjax import lax, numpy as jnp
    >>> x = jnp.arange(4.0).reshape(1, 1, 4)
    >>> lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")
    Array([[[0., 1., 2.],
            [1., 2., 3.]]], dtype=float32)
    """
    lhs, filter_shape = lift(lhs), tuple(filter_shape)
    numbers = conv_dimension_numbers(lhs.shape, (1, 1, *filter_shape), dimension_numbers)
    places, features = math.prod(filter_shape), lhs.shape[numbers.lhs_spec[1]]
    # each place of the window becomes an output feature of its own
    rhs = broadcast_in_dim(unit_matrix(lhs.dtype, places), (features, places, places), (1, 2))
    rhs = reshape(rhs, (features * places, 1, *filter_shape))
    rhs = moved(rhs, (0, 1), numbers.rhs_spec[:2])
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        precision=None if precision is None else (precision, Precision.DEFAULT),
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(lhs, rhs, window_strides, padding, filter_shape, lhs_dilation=None,
                               rhs_dilation=None, dimension_numbers=None,
                               precision=None):  # fmt: skip
    """A convolution with windows of its own at every place ("unshared").

    Args:
      lhs: images, by default (batch, features, *spatial).
      rhs: the windows of all places, by default (output features, features * window, *places).
      filter_shape: the spatial sizes of a window.
      window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, precision: as of
        conv_general_dilated.

    >>> from tinyjax import lax, numpy as jnp
    >>> x, w = jnp.arange(3.0).reshape(1, 1, 3), jnp.ones((1, 2, 2))
    >>> lax.conv_general_dilated_local(x, w, (1,), "VALID", (2,))
    Array([[[1., 3.]]], dtype=float32)
    """
    lhs = lift(lhs)
    pair = canonicalize_precision(precision)
    if pair is not None and not isinstance(pair, tuple):
        raise ValueError(f"Unsupported precision for conv_general_dilated_local: {precision}")
    patches = conv_general_dilated_patches(
        lhs,
        filter_shape,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        dimension_numbers,
        None if pair is None else pair[0],
    )
    numbers = conv_dimension_numbers(lhs.shape, (1, 1, *filter_shape), dimension_numbers)
    _, rhs_spec, out_spec = numbers
    places = sorted(zip(out_spec[2:], rhs_spec[2:]))
    batch = [p for p, _ in places], [w for _, w in places]
    contracting = [out_spec[1]], [rhs_spec[1]]
    out = dot_general(patches, rhs, (contracting, batch), precision=precision)
    return moved(out, (-2, -1), out_spec[:2])
