"""x.at[...]: updated copies of arrays, which are immutable."""

import functools

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.config import current_flags
from tinyjax.index_warnings import check_reading, check_writing
from tinyjax.numpy.creation import asarray, ones_like
from tinyjax.numpy.gather_plans import expand_masks, gather_plan
from tinyjax.numpy.index_parsing import parse_index
from tinyjax.numpy.indexing import take_index
from tinyjax.numpy.masked_updates import masked_update, traced_mask
from tinyjax.numpy.promotion import promote_dtypes, to_shape
from tinyjax.numpy.ufuncs import power, true_divide
from tinyjax.primitives.linear import convert
from tinyjax.source import warn
from tinyjax.transforms.replay import recorded


class IndexUpdate:
    """`x.at`: index it, then say what to do there.

    >>> import tinyjax.numpy as jnp
    >>> x = jnp.zeros(3)
    >>> x.at[0].set(10.0)
    Array([10.,  0.,  0.], dtype=float32)
    >>> x
    Array([0., 0., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array

    def __getitem__(self, index):
        return IndexUpdateRef(self.array, index)

    def __repr__(self):
        return f"_IndexUpdateHelper({self.array!r})"


class IndexUpdateRef:
    """`x.at[index]`. Each method returns a new array; x stays as it is.

    All methods take these keyword arguments:
      mode: what happens to indices out of bounds: "drop" (or "fill", the default) ignores them,
        "clip" moves them to the nearest end, "promise_in_bounds" says that there are none.
      indices_are_sorted, unique_indices: promises; the result is undefined if they do not hold.
      wrap_negative_indices: whether negative indices count from the end.
    """

    __slots__ = ("array", "index")

    def __init__(self, array, index):
        self.array, self.index = array, index

    def __repr__(self):
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(self, *, indices_are_sorted=False, unique_indices=False, mode=None, fill_value=None,
            wrap_negative_indices=True):  # fmt: skip
        """x[index]; mode "fill" puts fill_value (nan by default) for indices out of bounds."""
        if mode is None and current_flags().warn_index_bounds:
            check_reading(self.array, self.index)
        return take_index(
            self.array,
            self.index,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            fill_value=fill_value,
            wrap=wrap_negative_indices,
        )

    def set(self, values, **kwargs):
        """x with x[index] = values."""
        return self._update("set", values, kwargs)

    def add(self, values, **kwargs):
        """x with x[index] += values; an index that occurs twice adds twice."""
        return self._update("add", values, kwargs)

    def subtract(self, values, **kwargs):
        """x with x[index] -= values."""
        return self._update("subtract", values, kwargs)

    def multiply(self, values, **kwargs):
        """x with x[index] *= values."""
        return self._update("multiply", values, kwargs)

    mul = multiply

    def divide(self, values, **kwargs):
        """x with x[index] /= values."""
        return true_divide(self.array, self._factors("divide", values, kwargs))

    def power(self, values, **kwargs):
        """x with x[index] **= values."""
        return power(self.array, self._factors("power", values, kwargs))

    def min(self, values, **kwargs):
        """x with x[index] = minimum(x[index], values)."""
        return self._update("min", values, kwargs)

    def max(self, values, **kwargs):
        """x with x[index] = maximum(x[index], values)."""
        return self._update("max", values, kwargs)

    def apply(self, func, **kwargs):
        """x with x[index] = func(x[index]); func takes and returns one number."""

        def scatter(x, indices, y, dims, **options):
            return lax.scatter_apply(x, indices, func, dims, update_shape=y.shape, **options)

        self._check_bounds("apply", kwargs)
        zero = lax.full_like(self.array, 0, shape=())
        return scatter_update(self.array, self.index, zero, scatter, **kwargs)

    def _update(self, name, values, kwargs):
        """One of the scatters."""
        self._check_bounds(name, kwargs)
        return UPDATES[name](self.array, self.index, values, **kwargs)

    def _check_bounds(self, name, kwargs):
        """Warn about a constant index out of bounds, unless `mode` says what is wanted there."""
        if "mode" not in kwargs and current_flags().warn_index_bounds:
            check_writing(self.array, self.index, name)

    def _factors(self, name, values, kwargs):
        """Ones, and values at the index."""
        self._check_bounds(name, kwargs)
        ones = ones_like(self.array)
        return UPDATES["multiply"](ones, self.index, values, **kwargs)


def scatter_update(x, index, y, op, *, indices_are_sorted=False, unique_indices=False, mode=None,
                   wrap_negative_indices=True):  # fmt: skip
    """x with y scattered into x[index] by one of lax's scatter functions."""
    options = {"indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices}
    options |= {"mode": mode, "wrap_negative_indices": wrap_negative_indices}
    x, y = asarray(x), update_values(x, y)
    items = parse_index(index, x.shape)
    place = traced_mask(items, x, y)
    if place is not None:
        return masked_update(
            x, items, place, y, functools.partial(scatter_update, op=op, **options)
        )
    plan = gather_plan(expand_masks(items, x.shape, y), x.shape, wrap_negative_indices)
    if not dtypes.safe_to_cast(y, x):
        warn(
            "scatter inputs have incompatible types: cannot safely cast value from "
            f"dtype={y.dtype} to dtype={x.dtype} with "
            f"jax_numpy_dtype_promotion={current_flags().numpy_dtype_promotion}. In future JAX "
            "releases this will result in an error.",
            FutureWarning,
        )
    if 0 in plan.shape:
        return x
    dtype, weak_type = x.dtype, x.weak_type
    x, y = promote_dtypes(x, y)
    y = lax.squeeze(to_shape(y, plan.shape), plan.new)
    if plan.rev:
        y = lax.rev(y, plan.rev)
    if plan.scalar_masks:
        x = lax.expand_dims(x, plan.scalar_masks)
    out = op(
        x,
        plan.indices,
        y,
        lax.ScatterDimensionNumbers(
            update_window_dims=plan.offset_dims,
            inserted_window_dims=plan.collapsed,
            scatter_dims_to_operand_dims=plan.start_map,
        ),
        indices_are_sorted=indices_are_sorted or plan.regular,
        unique_indices=unique_indices or plan.regular,
        mode=mode,
    )
    if plan.scalar_masks:
        out = lax.squeeze(out, plan.scalar_masks)
    return convert(out, dtype, weak_type)


UPDATES = {
    name: recorded(functools.partial(scatter_update, op=op))
    for name, op in {
        "set": lax.scatter,
        "add": lax.scatter_add,
        "subtract": lax.scatter_sub,
        "multiply": lax.scatter_mul,
        "min": lax.scatter_min,
        "max": lax.scatter_max,
    }.items()
}


def update_values(x, y):
    """The values as a Value: a Python int that fits takes the dtype of integers x."""
    if isinstance(y, int) and x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        if info.min <= y <= info.max:
            return asarray(y, dtype=x.dtype)
    return asarray(y)
