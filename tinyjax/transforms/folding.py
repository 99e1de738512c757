"""reduce and reduce_window with any function: primitives that hold the program of two elements."""

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Tracer, Zero, nonzero, run
from tinyjax.primitives.arithmetic import add, mul
from tinyjax.primitives.bits import bitwise_and, bitwise_or, bitwise_xor
from tinyjax.primitives.conv_shapes import dilated, padtype_to_pads
from tinyjax.primitives.linear import (
    batched_front,
    broadcast_in_dim,
    convert,
    instantiate,
    reshape,
    squeeze,
    transpose,
)
from tinyjax.primitives.order import max_, min_
from tinyjax.primitives.pooling import (
    reduce_window_max_p,
    reduce_window_min_p,
    reduce_window_sum_p,
    window_shape,
    with_axis,
    within_windows,
)
from tinyjax.primitives.reducing import (
    check_axes,
    highest,
    lowest,
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
    rows,
)
from tinyjax.primitives.shaping import pad
from tinyjax.tracebacks import boundary
from tinyjax.transforms.ad import jvp_flat
from tinyjax.transforms.batching import Axis
from tinyjax.transforms.call import Higher
from tinyjax.transforms.flat import FlatFun
from tinyjax.transforms.programs import batch_jaxpr, jvp_jaxpr
from tinyjax.transforms.stage import stage
from tinyjax.tree_util import tree_flatten, tree_unflatten
from tinyjax.util import split_list

# ---- programs of two elements -------------------------------------------------------------------


def reducer_program(name, computation, inits, tree):
    """computation(accumulated, element) as a jaxpr of scalars, and its output's structure."""
    start = tree_unflatten(tree, inits)
    flat = FlatFun(computation, tree_flatten((start, start))[1], name)
    jaxpr, captured = stage(flat, [i.aval for i in inits] * 2, name)
    if captured or any(isinstance(c, Tracer) for c in jaxpr.consts):
        raise NotImplementedError(
            f"The computation of {name} cannot close over tracers: pass what it needs as another "
            "operand, or use scan."
        )
    return jaxpr, flat.out_tree


def on_arrays(jaxpr, shape):
    """The program, which is of scalars, on arrays of a shape."""
    for n in reversed(shape):
        axis, whole = Axis(n), (True,) * len(jaxpr.outvars)
        jaxpr, _ = batch_jaxpr(jaxpr, axis, (0,) * len(jaxpr.invars), whole)
    return jaxpr


def combine(jaxpr, left, right):
    """The program on corresponding elements of arrays."""
    return run(on_arrays(jaxpr, left[0].shape), *left, *right)


def flat_operands(name, operand, init_value):
    """-> operands, initial values, their structure; these fit each other."""
    xs, tree = tree_flatten(operand)
    inits, init_tree = tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    if not xs:
        raise ValueError(f"{name} must have at least one operand.")
    return list(map(lift, xs)), list(map(lift, inits)), tree


def is_number(x, value):
    """Whether x is known to be this number."""
    return isinstance(x, Array) and not x.ndim and bool(x.npy == np.asarray(value).astype(x.dtype))


class Fold(Higher):
    """A program of two elements, on operands followed by as many initial values."""

    collective = False

    def check(self, xs, inits):
        """Raise TypeError unless dtypes agree and the initial values are scalars."""
        if [x.dtype for x in xs] != [i.dtype for i in inits]:
            raise TypeError(
                f"{self} got inconsistent dtypes for operands and init_values: got operand dtypes "
                f"{[x.dtype.name for x in xs]} and init_value dtypes "
                f"{[i.dtype.name for i in inits]}."
            )
        if any(i.shape for i in inits):
            error = ValueError if self.name == "reduce" else TypeError
            raise error(
                f"{self} expected init_values to be scalars but init_values have shapes "
                f"{[i.shape for i in inits]}."
            )
        if any(x.shape != xs[0].shape for x in xs):
            raise TypeError(f"{self} operands must have one shape, got {[x.shape for x in xs]}.")

    def halves(self, args):
        """-> operands, initial values."""
        return split_list(args, len(args) // 2)

    def batched_operands(self, axis, vals, dims):
        """The operands with their batch axes in front; initial values must not have any."""
        xs, inits = self.halves(vals)
        where, init_where = self.halves(dims)
        if any(d is not None for d in init_where):
            raise NotImplementedError(f"{self} batching is not implemented for initial values")
        return [batched_front(axis, x, d) for x, d in zip(xs, where)] + inits


# ---- reduce -------------------------------------------------------------------------------------

# the function, the reduction, and the value from which it starts
MONOIDS = (
    (add, reduce_sum, lambda dtype: 0),
    (mul, reduce_prod, lambda dtype: 1),
    (max_, reduce_max, lowest),
    (min_, reduce_min, highest),
    (bitwise_and, reduce_and, lambda dtype: True if dtype.kind == "b" else -1),
    (bitwise_or, reduce_or, lambda dtype: 0),
    (bitwise_xor, reduce_xor, lambda dtype: 0),
)


def known_reduction(computation, dtype):
    """-> the reduction that such a function means, and its start; None if there is none."""
    for function, whole, identity in MONOIDS:
        takes = dtype.kind != "b" or whole not in (reduce_sum, reduce_prod)
        if computation is function and takes:
            return whole, identity(dtype)
    return None


class Reduce(Fold):
    """reduce[computation dimensions jaxpr] *operands, *initial values."""

    def shown_params(self, params):
        return sorted({**params, "computation": repr(params["computation"])}.items())

    def impl(self, *args, computation, jaxpr, dimensions):
        xs, inits = self.halves(args)
        weak = [x.weak_type and i.weak_type for x, i in zip(xs, inits)]
        known = known_reduction(computation, xs[0].dtype)
        if known:
            outs = [known[0](xs[0], dimensions)]
        else:
            outs = fold(jaxpr, [in_front(x, dimensions) for x in xs], inits)
        if known or xs[0].size:  # else there are only initial values
            start = [broadcast_in_dim(i, o.shape, ()) if o.ndim else i for i, o in zip(inits, outs)]
            outs = combine(jaxpr, start, outs)
        return [Array(o.npy, w) for o, w in zip(outs, weak)]

    def type(self, *avals, computation, jaxpr, dimensions):
        xs, inits = self.halves(avals)
        self.check(xs, inits)
        shape = [n for i, n in enumerate(xs[0].shape) if i not in dimensions]
        weak = [x.weak_type and i.weak_type for x, i in zip(xs, inits)]
        return [ShapedArray(shape, x.dtype, w) for x, w in zip(xs, weak)]

    def jvp(self, primals, tangents, *, computation, jaxpr, dimensions):
        xs, inits = self.halves(primals)
        ts, init_ts = self.halves(tangents)
        if any(map(nonzero, init_ts)):
            raise NotImplementedError(
                "Gradient of general lax.reduce with non-zero tangents for initial values to "
                "reduction not implemented"
            )
        xs = [in_front(x, dimensions) for x in xs]
        ts = [in_front(instantiate(t), dimensions) for t in ts]
        return jvp_flat(lambda *a: fold(jaxpr, a, inits), xs, ts)

    def batch(self, axis, vals, dims, /, *, dimensions, **params):
        args = self.batched_operands(axis, vals, dims)
        dimensions = tuple(d + 1 for d in dimensions)
        outs = self.bind(*args, dimensions=dimensions, **params)
        return outs, [0] * len(outs)


def in_front(x, axes):
    """x with the axes flattened into one, the first."""
    kept = [i for i in range(x.ndim) if i not in axes]
    x = transpose(x, (*axes, *kept))
    return reshape(x, (int(np.prod(x.shape[: len(axes)])), *x.shape[len(axes) :]))


def fold(jaxpr, xs, inits):
    """Combine halves, filled up with initial values, until one row is left."""
    while (n := xs[0].shape[0]) > 1:
        half = (n + 1) // 2
        left, right = [rows(x, 0, half) for x in xs], [rows(x, half, n) for x in xs]
        if n % 2:
            config = [(0, 1, 0)] + [(0, 0, 0)] * (xs[0].ndim - 1)
            right = [pad(x, convert(i, x.dtype), config) for x, i in zip(right, inits)]
        xs = combine(jaxpr, left, right)
    if not n:
        shape = xs[0].shape[1:]
        return [broadcast_in_dim(i, shape, ()) if shape else i for i in inits]
    return [squeeze(x, (0,)) for x in xs]


reduce_p = Reduce("reduce")


@boundary
def reduce(operands, init_values, computation, dimensions, out_sharding=None):
    """Combine the entries along dimensions with a function.

    Args:
      operands: an array, or a pytree of arrays of one shape.
      init_values: the scalar to start from, or a pytree of them; it must leave what it is combined
        with as it is.
      computation: associative function of (accumulated, entry), both scalars, or pytrees of them.
      dimensions: the axes to reduce.
      out_sharding: accepted as JAX's.

    Raises TypeError when an operand and its init value differ in dtype, ValueError when they differ
    in structure.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.reduce(jnp.array([1.0, 5.0, 2.0]), -jnp.inf, lax.max, (0,))
    Array(5., dtype=float32)
    """
    xs, inits, tree = flat_operands("reduce", operands, init_values)
    dims = check_axes(xs[0], dimensions)
    known = known_reduction(computation, inits[0].dtype) if len(xs) == 1 else None
    if known and is_number(inits[0], known[1]):
        out = known[0](xs[0], dims)
        return tree_unflatten(tree, [convert(out, out.dtype, out.weak_type and inits[0].weak_type)])
    reduce_p.check(xs, inits)
    jaxpr, out_tree = reducer_program("reduce", computation, inits, tree)
    if len(jaxpr.outvars) != len(xs):
        raise ValueError(
            f"The computation of reduce must return as many arrays as there are operands, {len(xs)}"
            f", but returned {len(jaxpr.outvars)}."
        )
    outs = reduce_p.bind(*xs, *inits, computation=computation, jaxpr=jaxpr, dimensions=dims)
    return tree_unflatten(out_tree, outs)


# ---- reduce_window ------------------------------------------------------------------------------


class ReduceWindow(Fold):
    """reduce_window[jaxpr window...] *operands, *initial values."""

    printed = {"consts": ()}

    def impl(self, *args, jaxpr, **window):
        xs, inits = self.halves(args)
        shape = window_shape(xs[0].shape, window)
        total = [broadcast_in_dim(Array(i.npy), shape, ()) if shape else i for i in inits]
        columns = [within_windows(x.npy, i.npy, window) for x, i in zip(xs, inits)]
        inside = within_windows(np.ones(xs[0].shape, bool), False, window)
        for mask, *elements in zip(inside, *columns):
            new = combine(jaxpr, total, list(map(Array, elements)))
            total = [Array(np.where(mask, n.npy, t.npy)) for n, t in zip(new, total)]
        return [Array(t.npy) for t in total]

    def type(self, *avals, jaxpr, **window):
        xs, inits = self.halves(avals)
        self.check(xs, inits)
        shape = window_shape(xs[0].shape, window)
        return [ShapedArray(shape, x.dtype) for x in xs]

    def jvp(self, primals, tangents, *, jaxpr, **window):
        xs, inits = self.halves(primals)
        ts, init_ts = self.halves(tangents)
        if any(map(nonzero, init_ts)):
            raise TypeError("reduce_window jvp does not support non-zero init_value_tangent.")
        n, everything = len(xs), (True,) * len(primals)
        joint, _ = jvp_jaxpr(jaxpr, everything, (True,) * n)

        def both(left, right):
            (pl, tl), (pr, tr) = split_list(left, n), split_list(right, n)
            return run(joint, *pl, *pr, *tl, *tr)

        operands = [*xs, *map(instantiate, ts)]
        inits = [*inits, *[instantiate(Zero(i.aval)) for i in inits]]
        return split_list(reduce_window(operands, inits, both, **window), n)

    def linear_part(self, own, *xs, **params):
        """The joint rule is a reduce_window of pairs: values and tangents do not come apart."""
        raise ValueError(
            "reduce_window has a derivative in reverse mode only for lax.add from 0, lax.max and "
            "lax.min from the least and the greatest number: use jvp or jacfwd."
        )

    def batch(self, axis, vals, dims, /, *, jaxpr, **window):
        args = self.batched_operands(axis, vals, dims)
        outs = self.bind(*args, jaxpr=jaxpr, **with_axis(window, 0))
        return outs, [0] * len(outs)


reduce_window_p = ReduceWindow("reduce_window")
POOLS = (
    (add, reduce_window_sum_p, lambda dtype: 0),
    (max_, reduce_window_max_p, lowest),
    (min_, reduce_window_min_p, highest),
)


def window_settings(shape, window_dimensions, window_strides, padding, base_dilation,
                    window_dilation):  # fmt: skip
    """The parameters of a window, filled up and checked."""
    ones = (1,) * len(window_dimensions)
    if isinstance(padding, str):
        sizes = dilated(window_dimensions, window_dilation or ones)
        padding = padtype_to_pads(shape, sizes, window_strides or [], padding)
    window = {
        "window_dimensions": tuple(window_dimensions),
        "window_strides": tuple(ones if window_strides is None else window_strides),
        "padding": tuple((a, b) for a, b in padding),
        "base_dilation": tuple(ones if base_dilation is None else base_dilation),
        "window_dilation": tuple(ones if window_dilation is None else window_dilation),
    }
    window_shape(shape, window)
    return window


@boundary
def reduce_window(operand, init_value, computation, window_dimensions, window_strides=None,
                  padding="VALID", base_dilation=None, window_dilation=None):  # fmt: skip
    """Combine the elements of each window with a function.

    Args:
      operand: an array, or a pytree of arrays of one shape.
      init_value: the scalar to start from, and with which to pad; or a pytree of them.
      computation: associative function of (accumulated, element), both scalars, or pytrees of them.
        lax.add from 0, lax.max and lax.min from the least and greatest number are recognised, and
        have derivatives in both modes.
      window_dimensions: the size of the window, an int per axis.
      window_strides: its steps, 1 by default.
      padding: 'VALID', 'SAME', 'SAME_LOWER', or a pair (before, after) per axis.
      base_dilation, window_dilation: distances of the elements of the operand and of the window.

    Returns an array, or a pytree of arrays, with one element per window.

    Raises TypeError for settings that do not fit the operand and for dtypes that differ, ValueError
    for structures that do.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.reduce_window(jnp.arange(6.0), -jnp.inf, lax.max, (2,), (2,))
    Array([1., 3., 5.], dtype=float32)
    """
    xs, inits, tree = flat_operands("reduce_window", operand, init_value)
    window = window_settings(
        xs[0].shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    for function, prim, identity in POOLS if len(xs) == 1 else ():
        if computation is function and is_number(inits[0], identity(inits[0].dtype)):
            prim.type(xs[0].aval, **window)
            return tree_unflatten(tree, [prim.bind(xs[0], **window)])
    reduce_window_p.check(xs, inits)
    jaxpr, out_tree = reducer_program("reduce_window", computation, inits, tree)
    if out_tree != tree:
        raise ValueError(
            "reduce_window output must have the same tree structure as the operands "
            f"{tree} vs. {out_tree}"
        )
    return tree_unflatten(out_tree, reduce_window_p.bind(*xs, *inits, jaxpr=jaxpr, **window))
