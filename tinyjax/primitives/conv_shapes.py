"""Shapes of convolutions: where the axes are, how large the result is."""

from typing import NamedTuple

# ---- where the axes are -------------------------------------------------------------------------


class ConvDimensionNumbers(NamedTuple):
    """For lhs and the result (batch, feature, *spatial), for rhs (out, in, *spatial) axes."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


#: The letters that stand for the first two axes of lhs, rhs and the result.
LETTERS = ("NC", "OI", "NC")


def conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers):
    """ConvDimensionNumbers from three texts such as ("NHWC", "HWIO", "NHWC"), or None.

    None stands for ("NC...", "OI...", "NC...").
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    ndim = len(lhs_shape)
    if ndim != len(rhs_shape):
        raise TypeError(
            f"convolution requires lhs and rhs ndim to be equal, got {ndim} and {len(rhs_shape)}."
        )
    if dimension_numbers is None:
        return ConvDimensionNumbers(*[tuple(range(ndim))] * 3)
    if not isinstance(dimension_numbers, (list, tuple)) or len(dimension_numbers) != 3:
        raise TypeError(
            f"convolution dimension_numbers must be three texts or None, got {dimension_numbers}."
        )
    for i, text in enumerate(dimension_numbers):
        if not isinstance(text, str) or len(text) != ndim:
            raise TypeError(
                f"convolution dimension_numbers[{i}] must have len equal to the ndim of lhs and "
                f"rhs, got {text!r} for lhs and rhs shapes {lhs_shape} and {rhs_shape}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers):
    """The axes that three texts name: batch, features, then the spatial ones in the order of rhs.

    Raises TypeError unless each text names its two letters and the same others once.

    >>> from tinyjax import lax
    >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
    ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    spatial = [c for c in dimension_numbers[1] if c not in LETTERS[1]]
    for i, (text, letters) in enumerate(zip(dimension_numbers, LETTERS)):
        if any(text.count(c) != 1 for c in letters):
            raise TypeError(
                f"convolution dimension_numbers[{i}] must contain the characters {letters[0]!r} "
                f"and {letters[1]!r} exactly once, got {text}."
            )
        if len(set(text)) != len(text):
            raise TypeError(
                f"convolution dimension_numbers[{i}] cannot have duplicate characters, got {text}."
            )
        if set(text) - set(letters) != set(spatial):
            raise TypeError(
                "convolution dimension_numbers elements must each have the same set of spatial "
                f"characters, got {dimension_numbers}."
            )
    return tuple(
        tuple(text.index(c) for c in [*letters, *spatial])
        for text, letters in zip(dimension_numbers, LETTERS)
    )


# ---- sizes --------------------------------------------------------------------------------------


def dilated(sizes, dilation):
    """Sizes with dilation - 1 holes between elements."""
    return [d * (n - 1) + 1 if n else 0 for n, d in zip(sizes, dilation)]


def spatial(shape, spec):
    """The sizes of the spatial axes."""
    return [shape[d] for d in spec[2:]]


def padtype_to_pads(in_shape, window_shape, window_strides, padding):
    """'SAME', 'SAME_LOWER' or 'VALID' as pairs (before, after), for spatial sizes."""
    if padding.upper() == "VALID":
        return [(0, 0)] * len(in_shape)
    if not len(in_shape) == len(window_shape) == len(window_strides):
        raise ValueError(
            f"padding {padding!r} needs a size and a stride of the window per axis, got shape "
            f"{tuple(in_shape)}, window {tuple(window_shape)}, strides {tuple(window_strides)}."
        )
    if padding.upper() not in ("SAME", "SAME_LOWER"):
        raise RuntimeError(
            f"Unrecognized padding type: expected 'VALID', 'SAME', or 'SAME_LOWER', got {padding}."
        )
    pads = []
    for n, k, s in zip(in_shape, window_shape, window_strides):
        total = int(max((-(-n // s) - 1) * s + k - n, 0))
        half = total // 2 if padding.upper() == "SAME" else total - total // 2
        pads.append((half, total - half))
    return pads


def transposed_padding(k, s, padding):
    """The padding that undoes 'SAME' or 'VALID' for a window of size k and stride s."""
    if padding == "SAME":
        total = k + s - 2
        before = k - 1 if s > k - 1 else -(-total // 2)
    elif padding == "VALID":
        total = k + s - 2 + max(k - s, 0)
        before = k - 1
    elif isinstance(padding, tuple):
        before, after = (k - p - 1 for p in padding)
        total = before + after
    else:
        raise ValueError(f"Invalid padding mode: {padding}")
    return before, total - before


def conv_shape_tuple(lhs_shape, rhs_shape, strides, pads, batch_group_count=1):
    """The shape of a convolution's result, for axes in the default order.

    Args:
      lhs_shape, rhs_shape: shapes of images and windows.
      strides: steps of the window.
      pads: 'SAME', 'SAME_LOWER', 'VALID', or a pair (before, after) per spatial axis.
      batch_group_count: by how much the batch shrinks.

    >>> from tinyjax import lax
    >>> lax.conv_shape_tuple((1, 3, 8, 8), (5, 3, 3, 3), (2, 2), "SAME")
    (1, 5, 4, 4)
    """
    inside, window = lhs_shape[2:], rhs_shape[2:]
    if isinstance(pads, str):
        pads = padtype_to_pads(inside, window, strides, pads)
    if len(pads) != len(inside):
        raise TypeError(
            "Wrong number of explicit pads for convolution: expected "
            f"{len(inside)}, got {len(pads)}."
        )
    sizes = [int(n + a + b) for n, (a, b) in zip(inside, pads)]
    if min(sizes, default=0) < 0:
        raise ValueError(
            "Negative padding is larger than the size of the corresponding dimension: got "
            f"padding={pads} for lhs_shape[2:]={inside}"
        )
    places = [max(0, (n - int(k)) // s + 1) for n, k, s in zip(sizes, window, strides)]
    return (int(lhs_shape[0]) // batch_group_count, int(rhs_shape[0]), *places)


def in_default_order(lhs_shape, rhs_shape, dimension_numbers):
    """-> both shapes with their axes in the default order, and the axes of the result."""
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    return [lhs_shape[d] for d in lhs], [rhs_shape[d] for d in rhs], out


def placed(sizes, axes):
    """The shape that has these sizes at these axes."""
    return tuple(sizes[axes.index(d)] for d in range(len(sizes)))


def conv_general_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of a convolution's result; arguments as of conv_general_dilated."""
    lhs, rhs, out = in_default_order(lhs_shape, rhs_shape, dimension_numbers)
    return placed(conv_shape_tuple(lhs, rhs, window_strides, padding), out)


def conv_transpose_shape_tuple(lhs_shape, rhs_shape, window_strides, padding, dimension_numbers):
    """The shape of a conv_transpose's result; arguments as of conv_transpose."""
    lhs, rhs, out = in_default_order(lhs_shape, rhs_shape, dimension_numbers)
    window = rhs[2:]
    if isinstance(padding, str):
        padding = [transposed_padding(k, s, padding) for k, s in zip(window, window_strides)]
    places = [
        (n - 1) * s - k + 2 + sum(pads)
        for n, k, s, pads in zip(lhs[2:], window, window_strides, padding)
    ]
    return placed((lhs[0], rhs[0], *places), out)


def output_shape(lhs_shape, rhs_shape, *, window_strides, padding, lhs_dilation, rhs_dilation,
                 dimension_numbers, feature_group_count, batch_group_count, **_):  # fmt: skip
    """The shape of the result; raises where shapes and settings do not fit."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    check_shapes(lhs_shape, rhs_shape, dimension_numbers, feature_group_count, batch_group_count)
    for what, setting in (("window_strides", window_strides), ("padding", padding)):
        if len(setting) != len(lhs_spec) - 2:
            raise ValueError(
                f"conv_general_dilated window and {what} must have the same number of "
                f"dimensions, but got {len(lhs_spec) - 2} and {len(setting)}"
            )
    sizes = dilated(spatial(lhs_shape, lhs_spec), lhs_dilation)
    window = dilated(spatial(rhs_shape, rhs_spec), rhs_dilation)
    sizes = [n + a + b for n, (a, b) in zip(sizes, padding)]
    if min(sizes, default=0) < 0:
        raise ValueError(
            "Negative padding is larger than the size of the corresponding dimension: got "
            f"padding={padding} for lhs shape {lhs_shape}"
        )
    places = [max(0, (n - k) // s + 1) for n, k, s in zip(sizes, window, window_strides)]
    order = (lhs_shape[lhs_spec[0]] // batch_group_count, rhs_shape[rhs_spec[0]], *places)
    return tuple(order[out_spec.index(d)] for d in range(len(order)))


def check_shapes(lhs_shape, rhs_shape, numbers, feature_groups, batch_groups):
    """Raise ValueError unless features and groups fit."""
    if len(lhs_shape) != len(rhs_shape):
        raise ValueError(
            "conv_general_dilated lhs and rhs must have the same number of dimensions, but got "
            f"{lhs_shape} and {rhs_shape}."
        )
    batch, features = (lhs_shape[d] for d in numbers.lhs_spec[:2])
    outs, ins = (rhs_shape[d] for d in numbers.rhs_spec[:2])
    if feature_groups < 1 or batch_groups < 1 or (feature_groups > 1 and batch_groups > 1):
        raise ValueError(
            "At most one of batch_group_count and feature_group_count may be > 1, and both must "
            f"be positive, got {batch_groups} and {feature_groups}"
        )
    if features % feature_groups or features // feature_groups != ins:
        raise ValueError(
            "conv_general_dilated lhs feature dimension size divided by feature_group_count must "
            f"equal the rhs input feature dimension size, but {features} // {feature_groups} != "
            f"{ins}."
        )
    if outs % feature_groups or outs % batch_groups or batch % batch_groups:
        raise ValueError(
            "conv_general_dilated group counts must divide the output features of rhs and the "
            f"batch of lhs: {feature_groups} and {batch_groups}, {outs} and {batch}."
        )
