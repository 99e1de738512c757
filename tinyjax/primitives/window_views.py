"""Sliding windows in NumPy: padded and dilated arrays, and views of all their windows."""

import numpy as np

from tinyjax.primitives.conv_shapes import dilated


def pad_and_dilate(x, padding, dilation, fill=0):
    """`fill` around (padding) and between (dilation) the elements; negative padding cuts off."""
    sizes = dilated(x.shape, dilation)
    if sizes == x.shape and not any(map(any, padding)):
        return x
    shape = [n + max(a, 0) + max(b, 0) for n, (a, b) in zip(sizes, padding)]
    out = np.full(shape, fill, x.dtype)
    places = [slice(max(a, 0), max(a, 0) + n, d) for n, d, (a, _) in zip(sizes, dilation, padding)]
    out[tuple(places)] = x
    kept = [slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(shape, padding)]
    return out[tuple(kept)]


def sliding_windows(x, window, strides, dilation):
    """A view with the places of the windows as first axes and those inside a window as last."""
    sizes = dilated(window, dilation)
    if any(a < b for a, b in zip(x.shape, sizes)):
        places = [max(0, (a - b) // s + 1) for a, b, s in zip(x.shape, sizes, strides)]
        return np.zeros((*places, *window), x.dtype)
    view = np.lib.stride_tricks.sliding_window_view(x, sizes)
    return view[tuple(slice(None, None, s) for s in (*strides, *dilation))]
