"""Differences, integrals, interpolation, convolution along one axis."""

import operator

import numpy as np

from tinyjax import lax
from tinyjax.numpy.checks import concrete_or_error, ensure_arraylike, index_tuple
from tinyjax.numpy.comparisons import not_equal
from tinyjax.numpy.creation import asarray
from tinyjax.numpy.joining import concatenate
from tinyjax.numpy.promotion import promote_dtypes, promote_dtypes_inexact
from tinyjax.numpy.reductions import cumsum
from tinyjax.numpy.searching import clip, searchsorted, where
from tinyjax.numpy.shaping import broadcast_to, flip, moveaxis, ravel
from tinyjax.numpy.ufuncs import abs, conj, subtract
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.transforms.subprogram import PackageJit, subprogram

# ---- differences --------------------------------------------------------------------------------


@subprogram(static_argnames=("n", "axis"))
def diff(a, n=1, axis=-1, prepend=None, append=None):
    """Differences of neighbours along an axis.

    Args:
      a: array; n: how often to take differences; axis: along which.
      prepend, append: values to put before and after a first.

    >>> import tinyjax.numpy as jnp
    >>> jnp.diff(jnp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    a = ensure_arraylike("diff", a)
    n = concrete_or_error(operator.index, n, "'n' argument of jnp.diff")
    axis = concrete_or_error(operator.index, axis, "'axis' argument of jnp.diff")
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if a.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {a}")
    axis = canonicalize_axis(axis, a.ndim)
    parts = [end_value(a, x, axis) for x in (prepend,) if x is not None]
    parts += [a] + [end_value(a, x, axis) for x in (append,) if x is not None]
    if len(parts) > 1:
        a = concatenate(parts, axis)
    later = (slice(None),) * axis + (slice(1, None),) + (slice(None),) * (a.ndim - axis - 1)
    earlier = (slice(None),) * axis + (slice(None, -1),) + (slice(None),) * (a.ndim - axis - 1)
    op = not_equal if a.dtype == bool else subtract
    for _ in range(n):
        a = op(a[later], a[earlier])
    return a


def end_value(a, x, axis):
    """What diff puts before or after a; a number becomes a slice."""
    x = ensure_arraylike("diff", x)
    if x.ndim:
        return x
    return broadcast_to(x, tuple(1 if d == axis else n for d, n in enumerate(a.shape)))


@subprogram
def ediff1d(ary, to_end=None, to_begin=None):
    """Differences of neighbours in the flat array, with more values at the ends."""
    a = ensure_arraylike("ediff1d", ary).ravel()
    out = lax.sub(a[1:], a[:-1])
    if to_begin is not None:
        out = concatenate((ravel(ensure_arraylike("ediff1d", to_begin).astype(a.dtype)), out))
    if to_end is not None:
        out = concatenate((out, ravel(ensure_arraylike("ediff1d", to_end).astype(a.dtype))))
    return out


@subprogram(static_argnames=("axis", "edge_order"))
def gradient(f, *varargs, axis=None, edge_order=None):
    """The slope along axes: central differences, one-sided ones at the ends.

    Args:
      f: array of function values.
      *varargs: the spacing: one number, or a number or an array of coordinates per axis.
      axis: along which axes; all by default.
      edge_order: not supported.

    Returns an array, or a list of arrays if there are several axes.
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    a, *spacing = promote_dtypes_inexact(f, *varargs)
    if axis is None:
        axes = tuple(range(a.ndim))
    else:
        axes = tuple(canonicalize_axis(i, a.ndim) for i in index_tuple(axis))
    if not axes:
        return []
    if min(a.shape[d] for d in axes) < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 elements are "
            "required."
        )
    if not spacing:
        spacing = [1.0]
    if len(spacing) == 1:
        spacing = spacing * len(axes)
    elif len(spacing) != len(axes):
        raise TypeError(f"Invalid number of spacing arguments {len(spacing)} for axis={axis}")
    slopes = [slope(a, h, d) for d, h in zip(axes, spacing)]
    return slopes[0] if len(slopes) == 1 else slopes


def slope(a, h, axis):
    """gradient along one axis, h apart (or at the coordinates h)."""

    def piece(x, start, stop):
        return lax.slice_in_dim(x, start, stop, axis=axis)

    first = piece(a, 1, 2) - piece(a, 0, 1)
    last = piece(a, -1, None) - piece(a, -2, -1)
    if np.ndim(h) == 0:
        inner = (piece(a, 2, None) - piece(a, None, -2)) * 0.5 / h
        last = last / h
        first = first / h
    elif np.ndim(h) == 1:
        if len(h) != a.shape[axis]:
            raise ValueError(
                "Spacing arrays must have the same length as the dimension along which the "
                "gradient is calculated."
            )
        x = h.reshape([len(h) if d == axis else 1 for d in range(a.ndim)])
        first = first / (piece(x, 1, 2) - piece(x, 0, 1))
        last = last / (piece(x, -1, None) - piece(x, -2, -1))
        left = piece(x, 1, -1) - piece(x, 0, -2)
        right = piece(x, 2, None) - piece(x, 1, -1)
        before = -right / (left * (left + right))
        here = (right - left) / (left * right)
        after = left / (right * (left + right))
        inner = before * piece(a, 0, -2) + here * piece(a, 1, -1) + after * piece(a, 2, None)
    else:
        raise ValueError("Spacing arrays must be 1D arrays or scalars.")
    return concatenate((first, inner, last), axis=axis)


@subprogram(static_argnames=("axis",))
def trapezoid(y, x=None, dx=1.0, axis=-1):
    """The integral along an axis by the trapezoidal rule.

    Args:
      y: function values; x: where they were taken, or dx: how far apart.
    """
    if x is None:
        (y,) = promote_dtypes_inexact(ensure_arraylike("trapezoid", y))
        width = asarray(dx)
        if width.ndim:
            width = lax.expand_dims(width, range(y.ndim - width.ndim))
            width = moveaxis(width, axis, -1)
    else:
        y, x = promote_dtypes_inexact(*ensure_arraylike("trapezoid", y, x))
        width = diff(x) if x.ndim == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    y = moveaxis(y, axis, -1)
    if width.ndim == 0 or width.shape[-1] == 1:
        width = width if width.ndim == 0 else width[..., 0]
        return width * (y.sum(-1) - 0.5 * (y[..., 0] + y[..., -1]))
    return 0.5 * (width * (y[..., 1:] + y[..., :-1])).sum(-1)


@subprogram(static_argnames=("axis",))
def unwrap(p, discont=None, axis=-1, period=2 * np.pi):
    """Angles without jumps: multiples of the period are added where neighbours differ by more
    than discont (half a period by default)."""
    p = ensure_arraylike("unwrap", p)
    p, period = promote_dtypes(p, period)
    if p.dtype.kind == "c":
        raise ValueError("jnp.unwrap does not support complex inputs.")
    if p.shape[axis] == 0:
        return p
    discont = period / 2 if discont is None else discont
    half = period // 2 if p.dtype.kind in "iu" else period / 2
    jumps = diff(p, axis=axis)
    small = (jumps + half) % period - half
    small = where((small == -half) & (jumps > 0), half, small)
    correction = where(abs(jumps) < discont, 0, small - jumps)
    first = lax.slice_in_dim(p, 0, 1, axis=axis)
    rest = lax.slice_in_dim(p, 1, None, axis=axis) + cumsum(correction, axis=axis)
    return concatenate((first, rest), axis=axis)


# ---- interpolation ------------------------------------------------------------------------------


def interp(x, xp, fp, left=None, right=None, period=None):
    """Straight lines between points.

    Args:
      x: where to evaluate.
      xp, fp: the points, xp increasing.
      left, right: values outside; fp[0] and fp[-1] by default, or "extrapolate".
      period: of xp, which then need not increase.
    """
    named = {"left": left, "right": right, "period": period}
    static = tuple(k for k, v in named.items() if v is None or isinstance(v, str))
    return PackageJit(_interp, static)(x, xp, fp, left, right, period)


def _interp(x, xp, fp, left=None, right=None, period=None):
    """interp with its settings known."""
    x, xp, fp = ensure_arraylike("interp", x, xp, fp)
    if xp.shape != fp.shape or xp.ndim != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    x, xp = promote_dtypes_inexact(x, xp)
    (fp,) = promote_dtypes_inexact(fp)
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(
                f"the only valid string value of `{name}` is 'extrapolate', but got: {value!r}"
            )
    if x.dtype.kind == "c":
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        if np.ndim(period) != 0:
            raise ValueError(f"period must be a scalar; got {period}")
        period = abs(period)
        x, xp = x % period, xp % period
        xp, fp = lax.sort_key_val(xp, fp)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    i = clip(searchsorted(xp, x, side="right"), 1, len(xp) - 1)
    df = fp[i] - fp[i - 1]
    dx = xp[i] - xp[i - 1]
    delta = x - xp[i - 1]
    flat = lax.abs(dx) <= np.spacing(np.finfo(xp.dtype).eps)  # two points at one place
    f = where(flat, fp[i - 1], fp[i - 1] + (delta / where(flat, 1, dx)) * df)
    if left != "extrapolate" if isinstance(left, str) else True:
        first = fp[0] if left is None else left
        f = where(x < xp[0], first, f) if period is None else f
    if right != "extrapolate" if isinstance(right, str) else True:
        last = fp[-1] if right is None else right
        f = where(x > xp[-1], last, f) if period is None else f
    return f


# ---- convolution --------------------------------------------------------------------------------


@subprogram(static_argnames=("mode", "precision", "preferred_element_type"))
def convolve(a, v, mode="full", *, precision=None, preferred_element_type=None):
    """The convolution of two vectors.

    Args:
      a, v: one-dimensional arrays.
      mode: "full", "same" (as long as the longer one) or "valid" (where they overlap fully).
      precision, preferred_element_type: as of dot.
    """
    a, v = ensure_arraylike("convolve", a, v)
    return _conv(a, v, mode=mode, op="convolve", precision=precision,
                 preferred_element_type=preferred_element_type)  # fmt: skip


@subprogram(static_argnames=("mode", "precision", "preferred_element_type"))
def correlate(a, v, mode="valid", *, precision=None, preferred_element_type=None):
    """The cross-correlation of two vectors; arguments as of convolve."""
    a, v = ensure_arraylike("correlate", a, v)
    return _conv(a, v, mode=mode, op="correlate", precision=precision,
                 preferred_element_type=preferred_element_type)  # fmt: skip


@subprogram(static_argnames=("mode", "op", "precision", "preferred_element_type"))
def _conv(x, y, *, mode, op, precision, preferred_element_type=None):
    """convolve and correlate: one window that slides over the longer vector."""
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{op}() only support 1-dimensional inputs.")
    promote = promote_dtypes_inexact if preferred_element_type is None else promote_dtypes
    x, y = promote(x, y)
    if len(x) == 0 or len(y) == 0:
        raise ValueError(f"{op}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    order = slice(None)
    if op == "correlate":
        y = conj(y)
        if len(x) < len(y):
            x, y, order = y, x, slice(None, None, -1)
    else:
        if len(x) < len(y):
            x, y = y, x
        y = flip(y)
    n = y.shape[0]
    padding = {"valid": (0, 0), "same": (n // 2, n - n // 2 - 1), "full": (n - 1, n - 1)}
    if mode not in padding:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    out = lax.conv_general_dilated(
        x[None, None, :],
        y[None, None, :],
        (1,),
        [padding[mode]],
        precision=precision,
        preferred_element_type=preferred_element_type,
    )
    return out[0, 0, order]
