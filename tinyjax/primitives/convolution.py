"""Convolution: conv_general_dilated.

lhs holds images: a batch axis, a feature axis, and spatial axes; rhs holds windows: output
features, input features, spatial axes. dimension_numbers says where in each array these axes are.
"""

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.conv_shapes import (
    ConvDimensionNumbers,
    conv_dimension_numbers,
    dilated,
    output_shape,
    padtype_to_pads,
    spatial,
    transposed_padding,
)
from tinyjax.primitives.dot import canonicalize_precision
from tinyjax.primitives.linear import add_tangents, reshape, transpose
from tinyjax.primitives.shaping import rev
from tinyjax.primitives.window_views import pad_and_dilate, sliding_windows

# ---- the card -----------------------------------------------------------------------------------


class Conv(Primitive):
    """conv_general_dilated[...] lhs rhs: windows slide over padded, dilated images."""

    bilinear = True
    printed = {"out_sharding": None}

    def impl(self, lhs, rhs, **params):
        out = params["preferred_element_type"] or lhs.dtype
        if lhs.dtype.itemsize == 2 and lhs.dtype.kind in "fV":  # sums of halves are inexact
            lhs, rhs = lhs.astype(np.float32), rhs.astype(np.float32)
        if lhs.dtype.kind in "iu":  # products may be wider
            lhs, rhs = lhs.astype(out), rhs.astype(out)
        return convolve(lhs, rhs, **params).astype(out)

    def type(self, lhs, rhs, **params):
        shape = output_shape(lhs.shape, rhs.shape, **params)
        weak = lhs.weak_type and rhs.weak_type and params["preferred_element_type"] is None
        return ShapedArray(shape, params["preferred_element_type"] or lhs.dtype, weak)

    def linearize(self, nz, lhs, rhs, **params):
        out = self.bind(lhs, rhs, **params)

        def push(dl, dr):
            left = self.bind(dl, rhs, **params) if nonzero(dl) else Zero(out.aval)
            right = self.bind(lhs, dr, **params) if nonzero(dr) else Zero(out.aval)
            return add_tangents(left, right)

        return out, push

    def transpose(self, ct, lhs, rhs, **params):
        if isinstance(lhs, Undef):
            return [transpose_lhs(ct, lhs.aval.shape, rhs, **params), None]
        return [None, transpose_rhs(ct, rhs.aval.shape, lhs, **params)]

    def batch(self, axis, vals, dims, /, **params):
        return batch(axis, *vals, *dims, **params)


def convolve(lhs, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers,
             feature_group_count, batch_group_count, **_):  # fmt: skip
    """conv_general_dilated in NumPy: all windows side by side, then one product per group."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    images, windows = lhs.transpose(lhs_spec), rhs.transpose(rhs_spec)
    images = pad_and_dilate(images, ((0, 0), (0, 0), *padding), (1, 1, *lhs_dilation))
    window = (1, 1, *windows.shape[2:])
    view = sliding_windows(images, window, (1, 1, *window_strides), (1, 1, *rhs_dilation))
    view = np.squeeze(view, (images.ndim, images.ndim + 1))
    groups = feature_group_count * batch_group_count
    parts = np.split(view, groups, 1 if feature_group_count > 1 else 0)
    contracted = [1, *range(2 + len(padding), view.ndim)]  # input features and places in a window
    outs = [
        np.moveaxis(np.tensordot(v, w, (contracted, range(1, w.ndim))), -1, 1)
        for v, w in zip(parts, np.split(windows, groups, 0))
    ]
    return np.concatenate(outs, 1).transpose(np.argsort(out_spec))


# ---- transposition ------------------------------------------------------------------------------


def swapped(spec):
    """The first two axes exchanged."""
    return (spec[1], spec[0], *spec[2:])


def transpose_lhs(ct, lhs_shape, rhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
                  dimension_numbers, feature_group_count, batch_group_count,
                  **params):  # fmt: skip
    """The cotangent of lhs: a convolution of ct with the reversed windows."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    inside = dilated(spatial(lhs_shape, lhs_spec), lhs_dilation)
    window = dilated(spatial(rhs.shape, rhs_spec), rhs_dilation)
    outside = dilated(spatial(ct.shape, out_spec), window_strides)
    before = [k - a - 1 for k, (a, _) in zip(window, padding)]
    after = [n + k - 1 - o - b for n, k, o, b in zip(inside, window, outside, before)]
    groups = max(feature_group_count, batch_group_count)
    if groups > 1:
        rhs = axis_out_of(rhs_spec[0], groups, rhs)
        rhs = axis_into(rhs_spec[0], rhs_spec[1], rhs)
    out = conv_general_dilated_p.bind(
        ct,
        rev(rhs, rhs_spec[2:]),
        window_strides=lhs_dilation,
        padding=tuple(zip(before, after)),
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, swapped(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        **params,
    )
    if batch_group_count > 1:
        out = axis_out_of(lhs_spec[1], batch_group_count, out)
        out = axis_into(lhs_spec[1], lhs_spec[0], out)
    return out


def transpose_rhs(ct, rhs_shape, lhs, *, window_strides, padding, lhs_dilation, rhs_dilation,
                  dimension_numbers, feature_group_count, batch_group_count,
                  **params):  # fmt: skip
    """The cotangent of rhs: a convolution of lhs with ct, batch and features exchanged."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    inside = dilated(spatial(lhs.shape, lhs_spec), lhs_dilation)
    window = dilated(spatial(rhs_shape, rhs_spec), rhs_dilation)
    outside = dilated(spatial(ct.shape, out_spec), window_strides)
    after = [o + k - n - a - 1 for o, k, n, (a, _) in zip(outside, window, inside, padding)]
    if batch_group_count > 1:
        feature_group_count, batch_group_count = batch_group_count, 1
    elif feature_group_count > 1:
        feature_group_count, batch_group_count = 1, feature_group_count
    return conv_general_dilated_p.bind(
        lhs,
        ct,
        window_strides=rhs_dilation,
        padding=tuple((a, b) for (a, _), b in zip(padding, after)),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(*map(swapped, (lhs_spec, out_spec, rhs_spec))),
        feature_group_count=feature_group_count,
        batch_group_count=batch_group_count,
        **params,
    )


# ---- batches ------------------------------------------------------------------------------------


def axis_into(source, destination, x):
    """Merge one axis into another (numbered without it), as its slower part."""
    order = [i for i in range(x.ndim) if i != source]
    shape = [x.shape[i] for i in order]
    shape[destination] *= x.shape[source]
    order.insert(destination, source)
    return reshape(transpose(x, order), shape)


def axis_out_of(source, size, x):
    """Split an axis: its slower part, of this size, becomes an axis of its own in front of it."""
    n = x.shape[source] // size
    return reshape(x, (*x.shape[:source], size, n, *x.shape[source + 1 :]))


def batch(axis, lhs, rhs, lhs_dim, rhs_dim, *, dimension_numbers, feature_group_count,
          batch_group_count, **params):  # fmt: skip
    """A batch of convolutions as one: more images, more windows, or both in more groups."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    groups = {
        "feature_group_count": feature_group_count,
        "batch_group_count": batch_group_count,
    }

    def conv(lhs, rhs, **groups):
        return conv_general_dilated_p.bind(
            lhs, rhs, dimension_numbers=dimension_numbers, **groups, **params
        )

    if lhs_dim is not None and rhs_dim is not None:
        which = "batch_group_count" if batch_group_count > 1 else "feature_group_count"
        lhs = axis_into(lhs_dim, lhs_spec[0 if batch_group_count > 1 else 1], lhs)
        rhs = axis_into(rhs_dim, rhs_spec[0], rhs)
        out = conv(lhs, rhs, **groups | {which: groups[which] * axis.size})
        return axis_out_of(out_spec[1], axis.size, out), out_spec[1]
    count = max(feature_group_count, batch_group_count)
    if rhs_dim is None:
        if batch_group_count == 1:
            out = conv(axis_into(lhs_dim, lhs_spec[0], lhs), rhs, **groups)
            return axis_out_of(out_spec[0], axis.size, out), out_spec[0]
        lhs = into_groups(lhs, lhs_dim, lhs_spec[0], count)
        out = conv(lhs, rhs, **groups)
        return axis_out_of(out_spec[0], axis.size, out), out_spec[0]
    if count == 1:
        out = conv(lhs, axis_into(rhs_dim, rhs_spec[0], rhs), **groups)
        return axis_out_of(out_spec[1], axis.size, out), out_spec[1]
    out = conv(lhs, into_groups(rhs, rhs_dim, rhs_spec[0], count), **groups)
    out = axis_out_of(out_spec[1], count, out)
    out = axis_out_of(out_spec[1] + 1, axis.size, out)
    return axis_into(out_spec[1], out_spec[1] + 1, out), out_spec[1]


def into_groups(x, dim, at, count):
    """Merge a batch axis into an axis that holds groups, inside each group."""
    x = axis_out_of(at + (dim <= at), count, x)
    x = axis_into(dim + (at < dim), at + 1, x)
    return axis_into(at, at, x)


conv_general_dilated_p = Conv("conv_general_dilated")

# ---- functions ----------------------------------------------------------------------------------


def conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation=None, rhs_dilation=None,
                         dimension_numbers=None, feature_group_count=1, batch_group_count=1,
                         precision=None, preferred_element_type=None,
                         out_sharding=None):  # fmt: skip
    """Convolution with strides, padding, dilation and groups. (Windows are not reversed.)

    Args:
      lhs: images, by default (batch, features, *spatial).
      rhs: windows, by default (output features, input features, *spatial).
      window_strides: steps of the window along the spatial axes.
      padding: 'SAME', 'SAME_LOWER', 'VALID', or a pair (before, after) per spatial axis.
      lhs_dilation, rhs_dilation: distances of the elements of images and windows, 1 by default.
      dimension_numbers: three texts that name the axes of lhs, rhs and the result, such as
        ("NHWC", "HWIO", "NHWC").
      feature_group_count: features are convolved in so many groups.
      batch_group_count: images are convolved in so many groups, each with its own windows.
      precision: accepted as JAX's.
      preferred_element_type: dtype of the result.

    Raises TypeError for dtypes that differ, ValueError for shapes that do not fit.

    >>> from tinyjax import lax, numpy as jnp
    >>> x, w = jnp.arange(5.0).reshape(1, 1, 5), jnp.array([[[1.0, 1.0]]])
    >>> lax.conv_general_dilated(x, w, (1,), "VALID")
    Array([[[1., 3., 5., 7.]]], dtype=float32)
    """
    lhs, rhs = lift(lhs), lift(rhs)
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    if lhs.dtype != rhs.dtype:
        raise TypeError(
            "lax.conv_general_dilated requires arguments to have the same dtypes, got "
            f"{lhs.dtype.name}, {rhs.dtype.name}."
        )
    if lhs.dtype.kind == "b":
        raise TypeError("conv_general_dilated does not accept dtype bool.")
    ones = (1,) * (lhs.ndim - 2)
    if lhs_dilation is None:
        lhs_dilation = ones
    elif isinstance(padding, str) and tuple(lhs_dilation) != ones:
        raise ValueError(
            "String padding is not implemented for transposed convolution using this op. Please "
            "either exactly specify the required padding or use conv_transpose."
        )
    rhs_dilation = ones if rhs_dilation is None else rhs_dilation
    if isinstance(padding, str):
        window = dilated(spatial(rhs.shape, numbers.rhs_spec), rhs_dilation)
        sizes = spatial(lhs.shape, numbers.lhs_spec)
        padding = padtype_to_pads(sizes, window, window_strides, padding)
    params = {
        "window_strides": tuple(window_strides),
        "padding": padding_pairs(padding),
        "lhs_dilation": tuple(lhs_dilation),
        "rhs_dilation": tuple(rhs_dilation),
        "dimension_numbers": numbers,
        "feature_group_count": feature_group_count,
        "batch_group_count": batch_group_count,
        "precision": canonicalize_precision(precision),
        "preferred_element_type": preferred(preferred_element_type),
    }
    output_shape(lhs.shape, rhs.shape, **params)  # raises where shapes do not fit
    return conv_general_dilated_p.bind(lhs, rhs, **params)


def preferred(dtype):
    """preferred_element_type as a dtype or None."""
    return None if dtype is None else dtypes.check_user_dtype_supported(dtype)


def padding_pairs(padding):
    """Explicit padding as a tuple of pairs."""
    try:
        return tuple((int(a), int(b)) for a, b in padding)
    except (TypeError, ValueError):
        raise ValueError(
            "padding argument to conv_general_dilated should be a string or a sequence of (low, "
            f"high) pairs, got {padding}"
        ) from None


def conv(lhs, rhs, window_strides, padding, precision=None, preferred_element_type=None):
    """conv_general_dilated without dilation, axes in the default order."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, precision=precision,
                                preferred_element_type=preferred_element_type)  # fmt: skip


def conv_with_general_padding(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                              precision=None, preferred_element_type=None):  # fmt: skip
    """conv_general_dilated with axes in the default order."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation,
                                precision=precision,
                                preferred_element_type=preferred_element_type)  # fmt: skip


#: What conv_transpose takes for dimension_numbers, by the number of axes.
CHANNELS_LAST = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(lhs, rhs, strides, padding, rhs_dilation=None, dimension_numbers=None,
                   transpose_kernel=False, precision=None, preferred_element_type=None,
                   use_consistent_padding=False):  # fmt: skip
    """The transpose of a convolution, as a layer that enlarges images.

    Args:
      lhs, rhs, dimension_numbers: as of conv_general_dilated; channels come last by default.
      strides: by how much the spatial axes grow.
      padding: 'SAME', 'VALID' (those of the convolution that this is the transpose of), or pairs.
      use_consistent_padding: pairs, too, are those of the convolution that this is transpose of.
      rhs_dilation: distances of the elements of windows.
      transpose_kernel: reverse the windows and exchange their features, as in the gradient.
    """
    lhs, rhs = lift(lhs), lift(rhs)
    if dimension_numbers is None:
        if lhs.ndim not in CHANNELS_LAST:
            raise ValueError("No 4+ dimensional dimension_number defaults.")
        dimension_numbers = CHANNELS_LAST[lhs.ndim]
    numbers = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    ones = (1,) * (lhs.ndim - 2)
    rhs_dilation = ones if rhs_dilation is None else rhs_dilation
    if use_consistent_padding or padding in ("SAME", "VALID"):
        window = dilated(spatial(rhs.shape, numbers.rhs_spec), rhs_dilation)
        each = [padding] * len(strides) if isinstance(padding, str) else padding
        padding = [transposed_padding(k, s, p) for k, s, p in zip(window, strides, each)]
    if transpose_kernel:
        rhs = rev(rhs, numbers.rhs_spec[2:])
        order = list(range(rhs.ndim))
        i, o = numbers.rhs_spec[:2]
        order[i], order[o] = order[o], order[i]
        rhs = transpose(rhs, order)
    return conv_general_dilated(lhs, rhs, ones, padding, strides, rhs_dilation, numbers,
                                precision=precision,
                                preferred_element_type=preferred_element_type)  # fmt: skip
