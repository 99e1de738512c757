"""x[...]: the slice, dynamic_slice or gather that takes an index.

If all entries are known integers and slices, one `slice` does it; if integers are traced, one
`dynamic_slice`; index arrays need a `gather`.
"""

import operator
from collections.abc import Sequence

import numpy as np

from tinyjax import lax
from tinyjax.numpy.checks import concrete_or_error
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.gather_plans import expand_masks, gather_plan
from tinyjax.numpy.index_parsing import (
    ARRAY,
    INT,
    MASK,
    NEW,
    SLICE,
    Slice,
    expand_ellipsis,
    fits,
    index_dtype,
    known_end,
    parse_index,
)
from tinyjax.transforms.replay import recorded

# ---- known integers and slices ------------------------------------------------------------------


class SlicePlan:
    """What to do to x: cut [start, start + size) along each axis, then rev, squeeze, new axes."""

    def __init__(self):
        self.starts, self.sizes, self.strides = [], [], []
        self.rev, self.squeezed, self.new = [], [], []
        self.trivial = True

    def cut(self, start, size, stride=1):
        """Add an axis."""
        self.starts.append(start)
        self.sizes.append(size)
        self.strides.append(stride)

    def new_axis(self):
        """Add an axis of size 1 to the result."""
        self.new.append(len(self.starts) - len(self.squeezed) + len(self.new))

    def finish(self, x):
        """What remains to be done after the cut."""
        x = lax.rev(x, self.rev) if self.rev else x
        x = lax.squeeze(x, self.squeezed) if self.squeezed else x
        return lax.expand_dims(x, self.new) if self.new else x


def static_slice(x, items, in_bounds, wrap):
    """x[items] by `slice`, or None if it takes more than known integers and slices."""
    shape, plan = x.shape, SlicePlan()
    for item in items:
        if item.kind in (ARRAY, MASK) or isinstance(item.value, Slice):
            return None
        if not fits(item, shape, in_bounds, wrap):
            return None
    for item in expand_ellipsis(items, shape):
        if item.kind == NEW:
            plan.new_axis()
            continue
        axis, size = item.axes[0], shape[item.axes[0]]
        if item.kind == INT:
            i = int(item.value)
            i = i + size if wrap and i < 0 else i
            plan.cut(min(max(i, 0), size - 1), 1)
            plan.squeezed.append(axis)
            continue
        start, stop, step = item.value.indices(size)
        n = len(range(start, stop, step))
        if step < 0:  # the same elements forwards, to be reversed
            low = start + (n - 1) * step if n else min(size, stop + 1)
            plan.cut(low, max(low, start + 1) - low, -step)
            plan.rev.append(axis)
        else:
            plan.cut(start, max(start, stop) - start, step)
    limits = [a + n for a, n in zip(plan.starts, plan.sizes)]
    strides = None if all(s == 1 for s in plan.strides) else plan.strides
    if strides or any(plan.starts) or tuple(limits) != shape:
        x = lax.slice(x, plan.starts, limits, strides)
    return plan.finish(x)


# ---- traced integers ----------------------------------------------------------------------------


def dynamic_slice(x, items, wrap):
    """x[items] by `dynamic_slice`, or None if it takes more than integers and plain slices."""
    shape, plan = x.shape, SlicePlan()
    for item in items:
        if item.kind == MASK or (item.kind == ARRAY and not is_scalar_index(item.value)):
            return None
        if item.kind == SLICE and not unit_slice(item.value):
            return None
        if item.kind in (INT, ARRAY) and shape[item.axes[0]] == 0:
            return None
    for item in expand_ellipsis(items, shape):
        if item.kind == NEW:
            plan.new_axis()
            continue
        axis = item.axes[0]
        if isinstance(item.value, Slice):
            plan.trivial = False
            start = item.value.start
            plan.cut(start if isinstance(start, int) else asarray(start), item.value.size)
        elif item.kind == SLICE:
            start, stop, step = item.value.indices(shape[axis])
            plan.trivial = plan.trivial and item.value == slice(None)
            if step < 0:
                plan.cut(stop + 1, max(0, start - stop))
                plan.rev.append(axis)
            else:
                plan.cut(start, max(0, stop - start))
        else:
            plan.trivial = False
            plan.cut(asarray(item.value), 1)
            plan.squeezed.append(axis)
    if not plan.trivial:
        starts = plan.starts
        if len(starts) > 1:
            starts = [lax.convert_element_type(i, index_dtype(shape)) for i in starts]
        x = lax.dynamic_slice(x, starts, plan.sizes, allow_negative_indices=wrap)
    return plan.finish(x)


def is_scalar_index(value):
    """Whether an index array is one integer."""
    return not isinstance(value, Sequence) and np.shape(value) == ()


def unit_slice(s):
    """Whether a slice has known ends (or a known size) and takes every element."""
    if isinstance(s, Slice):
        return s.stride == 1
    if not all(map(known_end, (s.start, s.stop, s.step))):
        return False
    return s.step is None or operator.index(s.step) in (-1, 1)


# ---- x[...] -------------------------------------------------------------------------------------


@recorded
def take_index(x, index, *, indices_are_sorted=False, unique_indices=False, mode=None,
               fill_value=None, wrap=True):  # fmt: skip
    """x[index], and x.at[index].get(...).

    wrap: negative indices count from the end. Other arguments as of lax.gather.
    """
    items = parse_index(index, x.shape)
    parsed = None if mode is None else lax.GatherScatterMode.from_any(mode)
    in_bounds = parsed in (None, lax.GatherScatterMode.PROMISE_IN_BOUNDS)
    if in_bounds or parsed == lax.GatherScatterMode.CLIP:
        out = static_slice(x, items, in_bounds, wrap)
        if out is None:
            out = dynamic_slice(x, items, wrap)
        if out is not None:
            return out
    plan = gather_plan(expand_masks(items, x.shape), x.shape, wrap)
    if fill_value is not None:
        concrete_or_error(None, fill_value, "fill_value argument to indexed get()")
        if np.ndim(fill_value):
            raise ValueError("fill_value argument to indexed get() must be a scalar")
        fill_value = np.asarray(fill_value).item() if np.shape(fill_value) == () else fill_value
    if plan.scalar_masks:
        x = lax.expand_dims(x, plan.scalar_masks)
    if 0 in plan.shape:
        return lax.full_like(x, 0, shape=plan.shape)
    if plan.indices.size:
        x = lax.gather(
            x,
            plan.indices,
            lax.GatherDimensionNumbers(
                offset_dims=plan.offset_dims,
                collapsed_slice_dims=plan.collapsed,
                start_index_map=plan.start_map,
            ),
            plan.slice_sizes,
            indices_are_sorted=indices_are_sorted or plan.regular,
            unique_indices=unique_indices or plan.regular,
            mode=mode,
            fill_value=fill_value,
        )
    x = lax.rev(x, plan.rev) if plan.rev else x
    return lax.expand_dims(x, plan.new) if plan.new else x
