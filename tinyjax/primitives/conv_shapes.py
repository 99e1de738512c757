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
    return ConvDimensionNumbers(*letters_to_axes(dimension_numbers))


def letters_to_axes(texts):
    """The axes that three texts name; the spatial ones in the order of rhs."""
    spatial = [c for c in texts[1] if c not in LETTERS[1]]
    for text, letters in zip(texts, LETTERS):
        if sorted(text) != sorted([*letters, *spatial]) or len(set(text)) != len(text):
            raise ValueError(
                "convolution dimension_numbers must name each axis once: "
                f"{letters} and the same spatial letters as the others, got {texts}"
            )
        yield tuple(text.index(c) for c in [*letters, *spatial])


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
