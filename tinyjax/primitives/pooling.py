"""Sums, maxima and minima over sliding windows, and where the extremes of windows came from.

All five cards share the parameters of a window: window_dimensions (its size), window_strides (its
steps), padding (before and after each axis), base_dilation (distances between the operand's
elements), window_dilation (distances within a window).
"""

import numpy as np

from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.arithmetic import const, ge_p, le_p
from tinyjax.primitives.conv_shapes import dilated
from tinyjax.primitives.linear import LinearOp, batched_front
from tinyjax.primitives.reducing import highest, lowest
from tinyjax.primitives.rules import kind
from tinyjax.primitives.shaping import pad, slice
from tinyjax.primitives.sums import add_reduce
from tinyjax.primitives.window_views import pad_and_dilate, sliding_windows

NAMES = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")

# ---- shapes -------------------------------------------------------------------------------------


def reduce_window_shape_tuple(operand_shape, window_dimensions, window_strides, padding,
                              base_dilation=None, window_dilation=None):  # fmt: skip
    """The shape of a reduce_window's result, from the operand's and the window's.

    Args:
      operand_shape: shape of the operand.
      window_dimensions, window_strides: a size and a step per axis.
      padding: a pair (before, after) per axis.
      base_dilation, window_dilation: distances of elements, 1 by default.

    >>> from tinyjax import lax
    >>> lax.reduce_window_shape_tuple((5, 6), (2, 2), (1, 2), ((0, 0), (1, 1)))
    (4, 4)
    """
    for dilation in (base_dilation, window_dilation):
        if dilation is not None and not all(d > 0 for d in dilation):
            raise TypeError(f"All dilations must be positive, got {dilation}.")
    ones = (1,) * len(operand_shape)
    sizes = dilated(operand_shape, base_dilation or ones)
    window = dilated(window_dimensions, window_dilation or ones)
    sizes = [n + a + b for n, (a, b) in zip(sizes, padding)]
    return tuple(max(0, (n - k) // s + 1) for n, k, s in zip(sizes, window, window_strides))


def window_shape(shape, window):
    """The shape of a result; raises TypeError unless the window's settings fit."""
    dimensions = window["window_dimensions"]
    for name in ("window_dimensions", "window_strides", "base_dilation", "window_dilation"):
        sizes, least = window[name], 1 if name in NAMES[:2] else 0
        if not all(isinstance(n, (int, np.integer)) for n in sizes):
            raise TypeError(
                f"reduce_window {name} must have every element be an integer type, got "
                f"{tuple(map(type, sizes))}."
            )
        if not all(n >= least for n in sizes):
            what = "strictly positive" if least else "nonnegative"
            raise TypeError(f"reduce_window {name} must have every element be {what}, got {sizes}.")
        if name != "window_dimensions" and len(sizes) != len(dimensions):
            raise TypeError(
                f"reduce_window got inconsistent {name} and window_dimensions: got {name} {sizes} "
                f"and window_dimensions {dimensions}."
            )
    if len(shape) != len(dimensions):
        raise TypeError(
            "reduce_window got the wrong number of window_dimensions for operand: got operand "
            f"shape {shape} with window_dimensions {dimensions}."
        )
    return reduce_window_shape_tuple(shape, *[window[name] for name in NAMES])


def with_axis(window, at):
    """The window of a whole batch: one element along the batch axis."""
    new = {"padding": (0, 0)}
    return {k: (*v[:at], new.get(k, 1), *v[at:]) for k, v in window.items()}


def windows(x, fill, *, window_dimensions, window_strides, padding, base_dilation=None,
            window_dilation=None):  # fmt: skip
    """A view of NumPy array x: places of windows first, places within a window last."""
    ones = (1,) * x.ndim
    x = pad_and_dilate(x, padding, base_dilation or ones, fill)
    return sliding_windows(x, window_dimensions, window_strides, window_dilation or ones)


def within_windows(x, fill, window):
    """For every place in a window, in order, the elements that all windows have there."""
    view = windows(x, fill, **window)
    for place in np.ndindex(view.shape[x.ndim :]):
        yield view[(..., *place)]


# ---- sums ---------------------------------------------------------------------------------------


def last_axes(x):
    """The axes of a view that lie within a window."""
    return tuple(range(x.ndim // 2, x.ndim))


class ReduceWindowSum(LinearOp):
    """reduce_window_sum[...] x: the sum of each window."""

    def impl(self, x, **window):
        view = windows(x, 0, **window)
        return add_reduce(view, last_axes(view))

    def type(self, x, **window):
        if kind(x.dtype) not in "iufc":
            raise TypeError(
                f"operand to reduce_window_sum must have a number dtype, got {x.dtype.name}"
            )
        return x.update(shape=window_shape(x.shape, window))

    def transpose(self, ct, x, *, window_dimensions, window_strides, padding, base_dilation,
                  window_dilation):  # fmt: skip
        shape, ones = x.aval.shape, (1,) * len(x.aval.shape)
        inside, window = dilated(shape, base_dilation), dilated(window_dimensions, window_dilation)
        outside = dilated(ct.shape, window_strides)
        before = [k - a - 1 for k, (a, _) in zip(window, padding)]
        after = [n + k - 1 - o - b for n, k, o, b in zip(inside, window, outside, before)]
        config = [(a, b, s - 1) for a, b, s in zip(before, after, window_strides)]
        out = self.bind(
            pad(ct, const(ct, 0), config),
            window_dimensions=window_dimensions,
            window_strides=base_dilation,
            padding=((0, 0),) * len(shape),
            base_dilation=ones,
            window_dilation=window_dilation,
        )
        return [out]

    def batch(self, axis, vals, dims, /, **window):
        return self.bind(*vals, **with_axis(window, dims[0])), dims[0]


# ---- maxima and minima --------------------------------------------------------------------------


class ReduceWindowExtreme(Primitive):
    """reduce_window_max[...] or reduce_window_min[...] x: the extreme of each window."""

    def __init__(self, name, ufunc, identity, select_prim):
        self.name, self.ufunc, self.identity, self.select = name, ufunc, identity, select_prim

    def impl(self, x, **window):
        view = windows(x, self.identity(x.dtype), **window)
        return self.ufunc.reduce(view, last_axes(view))

    def type(self, x, **window):
        return x.update(shape=window_shape(x.shape, window))

    def linearize(self, nz, x, **window):
        out = self.bind(x, **window)
        return out, lambda t: select_and_gather_add_p.bind(t, x, select_prim=self.select, **window)

    def batch(self, axis, vals, dims, /, **window):
        return self.bind(*vals, **with_axis(window, dims[0])), dims[0]


class OfSelected(Primitive):
    """Linear in its first operand; the second says which elements of windows are selected.

    An element stays selected as long as select_prim (ge or le) holds between it and the next ones.
    """

    def linearize(self, nz, t, x, **params):
        out = self.bind(t, x, **params)

        def push(dt, dx):
            return self.bind(dt, x, **params) if nonzero(dt) else Zero(out.aval)

        return out, push

    def batch(self, axis, vals, dims, /, *, select_prim, **window):
        t, x = [batched_front(axis, v, d) for v, d in zip(vals, dims)]
        return self.bind(t, x, select_prim=select_prim, **with_axis(window, 0)), 0


KEEPS = {ge_p: np.greater_equal, le_p: np.less_equal}
FILL = {ge_p: lowest, le_p: highest}


class SelectAndGatherAdd(OfSelected):
    """select_and_gather_add[select_prim ...] t x: t where the windows of x are extreme."""

    def impl(self, t, x, *, select_prim, **window):
        best, picked = None, None
        fill = FILL[select_prim](x.dtype)
        for key, value in zip(within_windows(x, fill, window), within_windows(t, 0, window)):
            if best is None:
                best, picked = np.full(key.shape, fill, key.dtype), np.zeros_like(value)
            stays = KEEPS[select_prim](best, key)
            best, picked = np.where(stays, best, key), np.where(stays, picked, value)
        return picked

    def type(self, t, x, *, select_prim, **window):
        if t.shape != x.shape:
            raise TypeError(
                "select_and_gather_add tangents and operand shapes must match, got "
                f"{t.shape} and {x.shape}."
            )
        shape = window_shape(x.shape, window)
        return ShapedArray(shape, t.dtype, t.weak_type and x.weak_type)

    def transpose(self, ct, t, x, *, select_prim, base_dilation, window_dilation, **window):
        if any(d != 1 for d in window_dilation):
            raise NotImplementedError(
                "VJP not implemented for select_and_gather (MaxPool) with window dilation, got "
                f"window_dilation={window_dilation}."
            )
        holes = any(d != 1 for d in base_dilation)
        if holes:
            fill = const(x, FILL[select_prim](x.dtype))
            x = pad(x, fill, [(0, 0, d - 1) for d in base_dilation])
        out = select_and_scatter_add_p.bind(ct, x, select_prim=select_prim, **window)
        if holes:
            out = slice(out, (0,) * out.ndim, out.shape, base_dilation)
        return [out, None]


class SelectAndScatterAdd(OfSelected):
    """select_and_scatter_add[select_prim ...] source x: every element of source is added to the
    place where its window of x is extreme."""

    def impl(self, source, x, *, select_prim, padding, **window):
        x = pad_and_dilate(x, padding, (1,) * x.ndim, FILL[select_prim](x.dtype))
        window = {**window, "padding": ((0, 0),) * x.ndim}
        places = np.arange(x.size).reshape(x.shape)
        best, picked = None, None
        for key, place in zip(within_windows(x, 0, window), within_windows(places, 0, window)):
            if best is None:
                best, picked = key, place
            stays = KEEPS[select_prim](best, key)
            best, picked = np.where(stays, best, key), np.where(stays, picked, place)
        wide = np.float32 if source.dtype.itemsize == 2 else source.dtype
        out = np.zeros(x.size, wide)
        np.add.at(out, picked.ravel(), source.ravel().astype(wide))
        back = [(-a, -b) for a, b in padding]
        out = pad_and_dilate(out.reshape(x.shape), back, (1,) * x.ndim)
        return out.astype(source.dtype)

    def type(self, source, x, **params):
        return ShapedArray(x.shape, source.dtype, source.weak_type and x.weak_type)

    def transpose(self, ct, source, x, *, select_prim, **window):
        assert isinstance(source, Undef)
        ones = (1,) * len(window["padding"])
        dilations = {"base_dilation": ones, "window_dilation": ones}
        params = {**window, **dilations, "select_prim": select_prim}
        return [select_and_gather_add_p.bind(ct, x, **params), None]


reduce_window_sum_p = ReduceWindowSum("reduce_window_sum")
reduce_window_max_p = ReduceWindowExtreme("reduce_window_max", np.maximum, lowest, ge_p)
reduce_window_min_p = ReduceWindowExtreme("reduce_window_min", np.minimum, highest, le_p)
select_and_gather_add_p = SelectAndGatherAdd("select_and_gather_add")
select_and_scatter_add_p = SelectAndScatterAdd("select_and_scatter_add")
