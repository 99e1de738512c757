"""Reading and writing windows at computed places: gather and the scatters.

What NumPy-style indexing becomes: `x[i]` is a gather, `x.at[i].set(v)` a scatter, `x.at[i].add(v)`
a scatter-add. Gather and scatter-add are each other's transposes. windows.py has the arithmetic.
"""

from functools import cache, lru_cache

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.avals import ShapedArray
from tinyjax.core import EVAL, Primitive, StageTrace, Undef, Zero, active, nonzero, run
from tinyjax.primitives.arithmetic import add, const, div, eq, mul, neg, sub
from tinyjax.primitives.creation import full_like, iota
from tinyjax.primitives.linear import (
    add_tangents,
    batched_front,
    canonicalize_shape,
    full,
    instantiate,
    moveaxis,
    reshape,
    zeros,
)
from tinyjax.primitives.order import max_, min_
from tinyjax.primitives.selection import select
from tinyjax.primitives.shaping import check_same_dtypes
from tinyjax.primitives.windows import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    canonical,
    check_updates,
    default_fill,
    gather_shape,
    read_windows,
    shifted,
    window_sizes,
    write_windows,
)

CLIP, FILL = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP

# ---- gather -------------------------------------------------------------------------------------


class Gather(Primitive):
    """gather[...] x indices: one window of x for each index."""

    def impl(self, x, indices, *, dimension_numbers, slice_sizes, mode, fill_value, **_):
        fill = fill_value if mode is FILL else None
        return read_windows(x, indices, dimension_numbers, slice_sizes, fill)

    def type(self, x, indices, *, dimension_numbers, slice_sizes, **_):
        shape = gather_shape(x, indices, dimension_numbers, slice_sizes)
        return ShapedArray(shape, x.dtype, x.weak_type)

    def weak_result(self, args, params):
        return args[0].weak_type

    def linearize(self, nz, x, indices, **params):
        out = self.bind(x, indices, **params)
        fill = 0 if params["mode"] is FILL else None

        def push(t, _):
            if not nonzero(t):
                return Zero(out.aval)
            return self.bind(t, indices, **params | {"fill_value": fill})

        return out, push

    def transpose(self, ct, x, indices, *, dimension_numbers, **params):
        numbers = ScatterDimensionNumbers(*dimension_numbers)
        names = ("unique_indices", "indices_are_sorted", "mode")
        flags = {k: params[k] for k in names}
        zero = full(x.aval.shape, 0, ct.dtype)
        return [scatter_add(zero, indices, ct, numbers, **flags), None]

    def batch(self, axis, vals, dims, /, *, dimension_numbers, slice_sizes, **params):
        (x, indices), (x_dim, indices_dim) = vals, dims
        x = x if x_dim is None else moveaxis(x, x_dim, 0)
        indices = indices if indices_dim is None else moveaxis(indices, indices_dim, 0)
        if indices_dim is None:
            numbers = shifted(dimension_numbers, window=(0,), operand=1)
            slice_sizes = (axis.size, *slice_sizes)
        elif x_dim is None:
            numbers = shifted(dimension_numbers, indices=1)
            params |= {"unique_indices": False, "indices_are_sorted": False}
        else:
            numbers = shifted(dimension_numbers, (), (0,), (0,), operand=1, indices=1)
            slice_sizes = (min(axis.size, 1), *slice_sizes)
        out = self.bind(x, indices, dimension_numbers=numbers, slice_sizes=slice_sizes, **params)
        return out, 0


gather_p = Gather("gather")


def gather(
    operand,
    start_indices,
    dimension_numbers,
    slice_sizes,
    *,
    unique_indices=False,
    indices_are_sorted=False,
    mode=None,
    fill_value=None,
):
    """Cut windows of one size out of an array, at places that are computed.

    NumPy-style indexing, `x[i, j]`, is easier to write and becomes this.

    Args:
      operand: array.
      start_indices: integer array; its last axis holds the place where a window starts.
      dimension_numbers: a GatherDimensionNumbers.
      slice_sizes: the window's size along each axis of the operand.
      unique_indices, indices_are_sorted: promises about the indices.
      mode: a GatherScatterMode or its name: what is read where a window is not inside. By default
        the caller promises that all are.
      fill_value: what mode 'fill' reads; by default NaN, for integers the most negative (or, if
        unsigned, the largest) one, for booleans True.

    Raises TypeError when shapes and dimension numbers do not fit.

    >>> from tinyjax import lax, numpy as jnp
    >>> numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    >>> lax.gather(jnp.array([5, 6, 7]), jnp.array([[2], [0]]), numbers, (1,))
    Array([7, 5], dtype=int32)
    """
    operand, indices = lift(operand), lift(start_indices)
    mode = GatherScatterMode.PROMISE_IN_BOUNDS if mode is None else GatherScatterMode.from_any(mode)
    if mode is not FILL:
        fill_value = None
    elif fill_value is None:
        fill_value = default_fill(operand.dtype)
    params = {
        "dimension_numbers": canonical(dimension_numbers),
        "slice_sizes": canonicalize_shape(slice_sizes, "slice_sizes"),
        "unique_indices": bool(unique_indices),
        "indices_are_sorted": bool(indices_are_sorted),
        "mode": mode,
        "fill_value": fill_value,
    }
    gather_p.type(operand.aval, indices.aval, **params)
    return gather_p.bind(operand, indices, **params)


# ---- scatters: what they share ------------------------------------------------------------------


class Scatter(Primitive):
    """scatter*[...] x indices updates: x with windows combined with updates.

    combine(elements, places, values) does so with NumPy, in place, on flat arrays. update_jaxpr
    says the same of one element; it is printed, as JAX does.
    """

    def __init__(self, name, combine=None):
        self.name, self.combine = name, combine

    def impl(self, x, indices, updates, *, dimension_numbers, mode, **_):
        return write_windows(
            self.combine, x, indices, updates, dimension_numbers, clip=mode is CLIP
        )

    def type(self, x, indices, updates, *, dimension_numbers, **_):
        check_updates(x, indices, updates, dimension_numbers)
        check_same_dtypes("scatter", (x, updates))
        return ShapedArray(x.shape, x.dtype, x.weak_type)

    def weak_result(self, args, params):
        return args[0].weak_type

    def batch(self, axis, vals, dims, /, *, dimension_numbers, **params):
        x, indices, updates = vals
        x = batched_front(axis, x, dims[0])
        updates = batched_front(axis, updates, dims[2])
        if dims[1] is None:
            numbers = shifted(dimension_numbers, window=(0,), operand=1)
        else:
            indices = moveaxis(indices, dims[1], 0)
            numbers = shifted(dimension_numbers, (), (0,), (0,), operand=1, indices=1)
        return self.bind(x, indices, updates, dimension_numbers=numbers, **params), 0


def inverse_gather(x, indices, updates, numbers, **options):
    """Read from x the windows to which updates would be written."""
    sizes = window_sizes(x.shape, updates.shape, numbers)
    return gather(x, indices, GatherDimensionNumbers(*numbers), sizes, **options)


def flags_of(params):
    """The parameters that a scatter hands on to others."""
    return {k: params[k] for k in ("indices_are_sorted", "unique_indices", "mode")}


@cache
def element_jaxpr(function, dtype):
    """The program of a function of two scalars."""
    trace = StageTrace("the update of a scatter")
    with active(trace, final=True):
        out = function(*[trace.new_input(ShapedArray((), dtype)) for _ in range(2)])
    return trace.finish([out])[0]


def bind_scatter(prim, function, args, numbers, indices_are_sorted, unique_indices, mode):
    """Check the arguments of a scatter and hand it to the current trace."""
    args = list(map(lift, args))
    params = {
        "dimension_numbers": canonical(numbers),
        "indices_are_sorted": bool(indices_are_sorted),
        "unique_indices": bool(unique_indices),
        "mode": GatherScatterMode.from_any(mode),
        "update_jaxpr": function and element_jaxpr(function, args[0].dtype),
        "update_consts": (),
    }
    prim.type(*[a.aval for a in args], **params)
    return prim.bind(*args, **params)


def scatter_function(prim, function, name, what):
    """The public function of a scatter."""

    def scatter_into(
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        *,
        indices_are_sorted=False,
        unique_indices=False,
        mode=None,
    ):
        flags = (indices_are_sorted, unique_indices, mode)
        args = (operand, scatter_indices, updates)
        return bind_scatter(prim, function, args, dimension_numbers, *flags)

    scatter_into.__name__ = scatter_into.__qualname__ = name
    scatter_into.__doc__ = f"""{what}

    Args:
      operand: array.
      scatter_indices: integer array; its last axis holds the place where a window starts.
      updates: array of the windows, of the operand's dtype.
      dimension_numbers: a ScatterDimensionNumbers.
      indices_are_sorted, unique_indices: promises about the indices.
      mode: a GatherScatterMode or its name: 'clip' moves windows inside, 'drop' (also None) ignores
        those that are not inside.

    Raises TypeError when shapes, dtypes and dimension numbers do not fit.
    """
    return scatter_into


# ---- scatter-add, -sub, -mul --------------------------------------------------------------------


class ScatterAdd(Scatter):
    """scatter-add and scatter-sub: linear in the operand and in the updates, together."""

    def linearize(self, nz, x, indices, updates, **params):
        out = self.bind(x, indices, updates, **params)

        def push(x_t, _, updates_t):
            if not nonzero(x_t) and not nonzero(updates_t):
                return Zero(out.aval)
            return self.bind(instantiate(x_t), indices, instantiate(updates_t), **params)

        return out, push

    def transpose(self, ct, x, indices, updates, *, dimension_numbers, mode, **params):
        x_ct = ct if isinstance(x, Undef) else None
        if not isinstance(updates, Undef):
            return [x_ct, None, None]
        out = inverse_gather(ct, indices, updates, dimension_numbers, mode=mode, fill_value=0)
        return [x_ct, None, neg(out) if self is scatter_sub_p else out]


class ScatterMul(Scatter):
    """scatter-mul: linear in the operand, and in the updates if none of them meet."""

    bilinear = True

    def linearize(self, nz, x, indices, updates, **params):
        out = self.bind(x, indices, updates, **params)

        def push(x_t, _, updates_t):
            terms = []
            if nonzero(x_t):
                terms.append(self.bind(x_t, indices, updates, **params))
            if nonzero(updates_t):
                require_unique(params)
                numbers, zero = params["dimension_numbers"], zeros(x.aval)
                spread = scatter_add(zero, indices, updates_t, numbers, **flags_of(params))
                terms.append(mul(x, spread))
            return add_tangents(*terms) if len(terms) == 2 else [*terms, Zero(out.aval)][0]

        return out, push

    def transpose(self, ct, x, indices, updates, *, dimension_numbers, **params):
        numbers, flags = dimension_numbers, flags_of(params)
        if isinstance(x, Undef):
            return [scatter_mul(ct, indices, updates, numbers, **flags), None, None]
        require_unique(params)
        product, mode = mul(ct, x), params["mode"]
        out = inverse_gather(product, indices, updates, numbers, mode=mode, fill_value=0)
        return [None, None, out]


def require_unique(params):
    """Raise where a derivative is only known if no two windows overlap."""
    if not params["unique_indices"]:
        raise NotImplementedError(
            "scatter_mul gradients are only implemented if `unique_indices=True`"
        )


scatter_add_p = ScatterAdd("scatter-add", np.add.at)
scatter_sub_p = ScatterAdd("scatter-sub", np.subtract.at)
scatter_mul_p = ScatterMul("scatter-mul", np.multiply.at)

scatter_add = scatter_function(
    scatter_add_p, add, "scatter_add", "Add updates to windows of an array; repeated ones add up."
)
scatter_sub = scatter_function(
    scatter_sub_p, sub, "scatter_sub", "Subtract updates from windows of an array."
)
scatter_mul = scatter_function(
    scatter_mul_p, mul, "scatter_mul", "Multiply windows of an array by updates."
)


# ---- scatter-min, -max --------------------------------------------------------------------------


class ScatterExtremal(Scatter):
    """scatter-min and scatter-max. Where several values win, they share the derivative."""

    def jvp(self, primals, tangents, *, dimension_numbers, **params):
        (x, indices, updates), (x_t, _, updates_t), numbers = primals, tangents, dimension_numbers
        out = self.bind(x, indices, updates, dimension_numbers=numbers, **params)
        if not nonzero(x_t) and not nonzero(updates_t):
            return out, Zero(out.aval)
        x_t, updates_t = instantiate(x_t), instantiate(updates_t)

        def read(operand):
            return inverse_gather(operand, indices, updates, numbers)

        def count(values):
            return read(scatter_add(zero, indices, values(), numbers))

        before, after = read(x), read(out)
        won, kept = eq(updates, after), eq(before, after)
        one = const(x, 1)
        zero = full_like(x, 0)
        winners = count(lambda: select(won, full_like(updates, 1), full_like(updates, 0)))
        zero = full_like(x, 0)
        writers = count(lambda: full_like(updates, 1))
        share = select(kept, div(one, add(winners, one)), div(one, winners))
        updates_share = select(won, share, full_like(updates, 0))
        kept_share = select(kept, div(one, add(winners, one)), full_like(winners, 0))
        x_share = div(add(const(x, -1), kept_share), writers)
        change = add(mul(read(x_t), x_share), mul(updates_t, updates_share))
        return out, scatter_add(x_t, indices, change, numbers, **flags_of(params))


scatter_min_p = ScatterExtremal("scatter-min", np.minimum.at)
scatter_max_p = ScatterExtremal("scatter-max", np.maximum.at)

scatter_min = scatter_function(
    scatter_min_p, min_, "scatter_min", "The smaller of updates and windows of an array."
)
scatter_max = scatter_function(
    scatter_max_p, max_, "scatter_max", "The larger of updates and windows of an array."
)


# ---- scatter (set) ------------------------------------------------------------------------------


class ScatterSet(Scatter):
    """scatter: updates replace windows. With an update_jaxpr it applies that to each element."""

    def impl(self, x, indices, updates, *, dimension_numbers, mode, update_jaxpr, **_):
        combine = None if update_jaxpr is None else apply_each(update_jaxpr)
        return write_windows(combine, x, indices, updates, dimension_numbers, clip=mode is CLIP)

    def jvp(self, primals, tangents, *, dimension_numbers, **params):
        (x, indices, updates), (x_t, _, updates_t), numbers = primals, tangents, dimension_numbers
        if params["update_jaxpr"] is not None:
            raise NotImplementedError("scatter_apply JVP not implemented")
        flags = flags_of(params)
        if not nonzero(x_t) and not nonzero(updates_t):
            out = scatter(x, indices, updates, numbers, **flags)
            return out, Zero(out.aval)
        x_t, updates_t = instantiate(x_t), instantiate(updates_t)
        if params["unique_indices"]:
            out = scatter(x, indices, updates, numbers, **flags)
            return out, scatter(x_t, indices, updates_t, numbers, **flags)
        # Which of several updates wins is not specified, so find out: scatter numbers that name
        # the updates, keep what won, and write that with scatter-add, whose transpose is known.
        ids_shape = [1 if d in numbers[0] else n for d, n in enumerate(updates.shape)]
        count = int(np.prod(ids_shape, dtype=np.int64))
        id_dtype = np.dtype(np.uint32 if count < 2**32 else np.uint64)
        ids = add(reshape(iota(id_dtype, count), ids_shape), full_like(updates, 1, id_dtype))
        written = scatter(full(x.shape, 0, id_dtype), indices, ids, numbers, **flags)
        winners = inverse_gather(written, indices, updates, numbers)

        def kept(operand):
            untouched = eq(written, full_like(written, 0))
            return select(untouched, operand, full_like(operand, 0))

        def won(values):
            return select(eq(ids, winners), values, full_like(values, 0))

        x, updates, x_t, updates_t = kept(x), won(updates), kept(x_t), won(updates_t)
        out = scatter_add(x, indices, updates, numbers, **flags)
        return out, scatter_add(x_t, indices, updates_t, numbers, **flags)

    def transpose(self, ct, x, indices, updates, *, dimension_numbers, **params):
        if not params["unique_indices"]:
            raise NotImplementedError(
                "scatter transpose is only implemented where unique_indices=True"
            )
        numbers, flags = dimension_numbers, flags_of(params)
        x_ct = updates_ct = None
        if isinstance(x, Undef):
            zero = full(updates.shape, 0, ct.dtype)
            x_ct = scatter(ct, indices, zero, numbers, **flags)
        if isinstance(updates, Undef):
            mode = params["mode"]
            updates_ct = inverse_gather(ct, indices, updates, numbers, mode=mode, fill_value=0)
        return [x_ct, None, updates_ct]


def apply_each(jaxpr):
    """A combine that applies a program of scalars to one element after the other."""

    def combine(elements, places, values):
        with active(EVAL):
            for place, value in zip(places, values):
                out = run(jaxpr, Array(elements[place]), Array(value))[0]
                elements[place] = out.npy

    return combine


scatter_p = ScatterSet("scatter")

scatter = scatter_function(
    scatter_p,
    None,
    "scatter",
    "Replace windows of an array by updates; where several meet, which one wins is unspecified.",
)


def scatter_apply(
    operand,
    scatter_indices,
    func,
    dimension_numbers,
    *,
    update_shape=(),
    indices_are_sorted=False,
    unique_indices=False,
    mode=None,
):
    """Apply a function of a scalar to elements of an array (several times if an index repeats).

    Args: as scatter's, with `func` and the shape `update_shape` in the place of updates. It cannot
    be differentiated.
    """
    operand = lift(operand)
    unused = full(update_shape, 0, operand.dtype)
    flags = (indices_are_sorted, unique_indices, mode)
    args = (operand, scatter_indices, unused)
    return bind_scatter(scatter_p, ignoring(func), args, dimension_numbers, *flags)


@lru_cache(maxsize=256)
def ignoring(func):
    """A function of two arguments that hands the first one on."""
    return lambda x, _: func(x)
