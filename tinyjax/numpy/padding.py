"""pad: more elements at both ends of each axis."""

import builtins

import numpy as np

from tinyjax import lax
from tinyjax.numpy.checks import concrete_or_error, ensure_arraylike
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.functional import apply_along_axis
from tinyjax.numpy.joining import repeat
from tinyjax.numpy.quantiles import median
from tinyjax.numpy.ranges import linspace
from tinyjax.numpy.reductions import amax, amin, mean
from tinyjax.numpy.rounding import round
from tinyjax.numpy.shaping import broadcast_to, flip
from tinyjax.primitives.linear import convert
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram

SETTINGS = {
    "constant": ("constant_values",),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "edge": (),
    "wrap": (),
    "empty": (),
}
STATISTICS = {"maximum": amax, "minimum": amin, "mean": mean, "median": median}


@recorded
def pad(array, pad_width, mode="constant", **kwargs):
    """More elements at both ends of each axis.

    Args:
      array: array.
      pad_width: how many: a number, a pair (before, after), or a pair per axis.
      mode: "constant" (zeros, or constant_values), "edge" (the last element), "reflect" and
        "symmetric" (mirrored, without and with the edge), "wrap" (from the other end),
        "linear_ramp" (to end_values), "maximum", "minimum", "mean", "median" (of stat_length
        elements), "empty"; or a function as of np.pad.

    Raises TypeError for widths that are no integers, ValueError for negative ones.

    >>> import tinyjax.numpy as jnp
    >>> jnp.pad(jnp.array([1, 2]), (1, 2))
    Array([0, 1, 2, 0, 0], dtype=int32)
    """
    x = ensure_arraylike("pad", array)
    widths = pairs(pad_width, x.ndim, "pad_width")
    if any(not isinstance(n, int) for pair in widths for n in pair):
        raise TypeError("`pad_width` must be of integral type.")
    if callable(mode):
        return pad_with_function(x, widths, mode, kwargs)
    if mode not in SETTINGS:
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    unknown = set(kwargs) - set(SETTINGS[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unknown}")
    constants = asarray(kwargs.get("constant_values", 0))
    stat_length = kwargs.get("stat_length")
    stat_length = None if stat_length is None else pairs(stat_length, x.ndim, "stat_length")
    ends = pairs(kwargs.get("end_values", 0), x.ndim, "end_values")
    kind = kwargs.get("reflect_type", "even")
    return _pad(x, constants, pad_width=widths, mode=mode, stat_length=stat_length,
                end_values=ends, reflect_type=kind)  # fmt: skip


def pairs(values, ndim, name):
    """A setting as a pair (before, after) per axis."""
    values = concrete_or_error(None, values, f"{name} argument of jnp.pad")
    try:
        values = np.asarray(values)
    except ValueError:
        raise TypeError(f"`{name}` entries must be the same shape: {values}") from None
    if values.dtype == object:
        raise TypeError(f"`{name}` must be of integral type.")
    if values.shape not in ((ndim, 2), (1, 2), (2,), (1,), ()):
        raise ValueError(
            f"jnp.pad: {name} with nd={ndim} has unsupported shape {values.shape}. Valid shapes "
            f"are ({ndim}, 2), (1, 2), (2,), (1,), or ()."
        )
    return tuple((a.item(), b.item()) for a, b in np.broadcast_to(values, (ndim, 2)))


@subprogram(static_argnames=("pad_width", "mode", "stat_length", "end_values", "reflect_type"))
def _pad(array, constant_values, *, pad_width, mode, stat_length, end_values, reflect_type):
    """pad with its settings known."""
    if array.ndim == 0:
        return array
    if builtins.any(n < 0 for pair in pad_width for n in pair):
        raise ValueError("index can't contain negative values")
    if mode == "constant":
        return pad_constant(array, pad_width, constant_values)
    if mode in STATISTICS:
        return pad_statistics(array, pad_width, stat_length, STATISTICS[mode])
    if mode in ("reflect", "symmetric"):
        return pad_mirrored(array, pad_width, mode, reflect_type)
    for axis, (before, after) in enumerate(pad_width):
        size = array.shape[axis]
        if size == 0 and (before or after) and mode != "empty":
            raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
        if mode == "edge":
            parts = edges(array, axis, before, after)
        elif mode == "wrap":
            parts = wrapped(array, axis, before, after)
        elif mode == "linear_ramp":
            parts = ramps(array, axis, before, after, end_values[axis])
        else:
            parts = [blank(array, axis, before), array, blank(array, axis, after)]
        array = lax.concatenate(parts, axis)
    return array


def pad_constant(array, widths, values):
    """Padding with numbers: one, or one for each end of each axis."""
    values = convert(values, array.dtype, array.weak_type)
    if values.ndim == 0 or values.size == 1:
        values = values.reshape(()) if values.ndim else values
        config = [(np.int64(a), np.int64(b), 0) for a, b in widths]  # NumPy's own, as in JAX
        return lax.pad(array, values, config)
    values = broadcast_to(values, (array.ndim, 2))
    for axis, ends in enumerate(widths):
        for end, n in enumerate(ends):
            if n:
                config = [(0, 0, 0)] * array.ndim
                config[axis] = (n, 0, 0) if end == 0 else (0, n, 0)
                array = lax.pad(array, values[axis, end], config)
    return array


def piece(x, start, stop, axis):
    """A slice along one axis."""
    return lax.slice_in_dim(x, start, stop, axis=axis)


def blank(x, axis, n):
    """Zeros to put beside x."""
    shape = list(x.shape)
    shape[axis] = n
    return lax.full_like(x, 0, shape=tuple(shape))


def edges(x, axis, before, after):
    """The first and the last element, repeated."""
    size = x.shape[axis]
    first = repeat(piece(x, 0, 1, axis), before, axis=axis)
    return [first, x, repeat(piece(x, size - 1, size, axis), after, axis=axis)]


def wrapped(x, axis, before, after):
    """As if x went on periodically."""
    size = x.shape[axis]
    times_before, rest_before = divmod(before, size)
    times_after, rest_after = divmod(after, size)
    parts = [piece(x, size - rest_before, size, axis)] if rest_before else []
    parts += [x] * (times_before + times_after + 1)
    return parts + ([piece(x, 0, rest_after, axis)] if rest_after else [])


def ramps(x, axis, before, after, ends):
    """Straight lines from the end values to the edges of x."""
    first, last = piece(x, 0, 1, axis), piece(x, -1, None, axis)

    def ramp(edge, end, n):
        line = linspace(end, lax.squeeze(edge, (axis,)), n, endpoint=False, dtype=x.dtype,
                        axis=axis)  # fmt: skip
        return convert(line, x.dtype, x.weak_type)

    up = ramp(first, ends[0], before)
    down = flip(ramp(last, ends[1], after), axis)
    return [up, x, down]


def pad_mirrored(array, widths, mode, kind):
    """reflect and symmetric."""
    for axis, (before, after) in enumerate(widths):
        size = array.shape[axis]
        if size == 0 and (before or after):
            raise ValueError(f"Cannot apply '{mode}' padding to empty axis")
        if size and (before or after):
            offset = 1 if mode == "reflect" and size > 1 else 0
            array = mirror(array, axis, before, size, offset, kind, True)
            array = mirror(array, axis, after, size, offset, kind, False)
    return array


def mirror(x, axis, n, size, offset, kind, in_front):
    """Add n mirrored elements at one end, a period at a time."""
    edge = piece(x, 0, 1, axis) if in_front else piece(x, -1, None, axis)
    while n > 0:
        step = min(n, size - offset)
        n -= step
        if in_front:
            part = piece(x, offset, offset + step, axis)
        else:
            part = piece(x, -(step + offset), -1 if offset else None, axis)
        part = flip(part, axis=axis)
        if kind == "odd":
            part = 2 * edge - part
            if size > 1:
                edge = piece(part, 0, 1, axis) if in_front else piece(part, -1, None, axis)
        x = lax.concatenate([part, x] if in_front else [x, part], axis)
    return x


def pad_statistics(array, widths, lengths, function):
    """A statistic of the elements at each end, repeated."""
    for axis, (before, after) in enumerate(widths):
        if lengths is None:
            front = back = function(array, axis=axis, keepdims=True)
        else:
            n_front, n_back = (min(n, array.shape[axis]) for n in lengths[axis])
            if not n_front or not n_back:
                raise ValueError("stat_length of 0 yields no value for padding")
            front = function(piece(array, 0, n_front, axis), axis=axis, keepdims=True)
            back = function(piece(array, -n_back, None, axis), axis=axis, keepdims=True)
        if array.dtype.kind in "iu":
            front, back = round(front), round(back)
        front = convert(front, array.dtype, array.weak_type)
        back = convert(back, array.dtype, array.weak_type)
        parts = [repeat(front, before, axis=axis), array, repeat(back, after, axis=axis)]
        array = lax.concatenate(parts, axis)
    return array


def pad_with_function(array, widths, function, kwargs):
    """A function fills in the zeros: it takes a row, its widths, the axis and settings."""
    padded = pad_constant(array, widths, asarray(0))
    for axis in range(padded.ndim):
        padded = apply_along_axis(function, axis, padded, widths[axis], axis, kwargs)
    return padded
