"""vmap and map: a function of single examples becomes a function of batches."""

from tinyjax.dtypes import python_scalar_types
from tinyjax.primitives.shaping import concatenate
from tinyjax.primitives.slicing import slice_in_dim
from tinyjax.tracebacks import boundary
from tinyjax.transforms.batching import Axis, move_to, vmap_flat
from tinyjax.transforms.flat import FlatFun, flatten_axes, fun_name, lift_args, wraps
from tinyjax.transforms.mapped_axes import check_axes_type, mapped_size, normal_dims
from tinyjax.transforms.scan import scan
from tinyjax.tree_util import (
    tree_flatten,
    tree_map,
    tree_unflatten,
    treedef_children,
)


def vmap(
    fun,
    in_axes=0,
    out_axes=0,
    axis_name=None,
    axis_size=None,
    spmd_axis_name=None,
    sum_match=False,
):
    """Vectorize a function: map it over an axis of its arguments.

    Args:
      fun: function of single examples.
      in_axes: which axis of each argument to map over: an int (also negative), None (not mapped),
        or a tuple or list with an entry per positional argument; entries may be pytrees that fit
        the argument's structure. Keyword arguments are mapped over their first axis.
      out_axes: where the mapped axis goes in the outputs; None for outputs that do not vary.
      axis_name: a name for the axis, for collectives such as lax.psum inside fun.
      axis_size: the size of the axis, needed only when no argument is mapped.

    Returns a function of batches.
    Raises ValueError when the sizes of mapped axes differ, or an axis does not exist.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> add = jax.vmap(lambda x, y: x + y, in_axes=(0, None))
    >>> add(jnp.arange(3), 10)
    Array([10, 11, 12], dtype=int32)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}: vmap takes a function.")
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    if not isinstance(in_axes, (tuple, int, type(None))):
        raise TypeError(
            "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes}."
        )
    check_axes_type("vmap", in_axes, "in_axes")
    check_axes_type("vmap", out_axes, "out_axes")

    def vmap_f(*args, **kwargs):
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                "vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                f"positional arguments passed to the function, but got len(in_axes)="
                f"{len(in_axes)}, len(args)={len(args)}"
            )
        leaves, in_tree = tree_flatten((args, kwargs))
        name = fun_name(fun)
        args_tree, kwargs_tree = treedef_children(in_tree)
        dims = flatten_axes("vmap in_axes", args_tree, in_axes, tupled_args=True)
        dims += [0] * kwargs_tree.num_leaves
        # What is not mapped reaches the function as it is: a number stays a number.
        vals = [x if d is None else lift_args([x], name)[0] for x, d in zip(leaves, dims)]
        dims = normal_dims("vmap", fun, args, kwargs, vals, dims)
        size = mapped_size("vmap", fun, args, kwargs, vals, dims, axis_size)
        axis = Axis(size, axis_name)
        flat = FlatFun(lambda args, kwargs: fun(*args, **kwargs), in_tree, name)
        outs, out_dims = vmap_flat(flat, axis, vals, dims)
        want = flatten_axes("vmap out_axes", flat.out_tree, out_axes)
        outs = [
            x if w is None and type(x) in python_scalar_types else move_to(axis, v, d, w)
            for x, v, d, w in zip(flat.leaves, outs, out_dims, want)
        ]
        return tree_unflatten(flat.out_tree, outs)

    options = {"in_axes": in_axes, "out_axes": out_axes, "axis_name": axis_name}
    return wraps(fun, vmap_f, "vmap", **options, axis_size=axis_size)


@boundary
def map(f, xs, *, batch_size=None):  # the name in jax.lax
    """Apply f to each row of xs in turn, and stack the results.

    Args:
      f: function of one row (a pytree of slices).
      xs: pytree of arrays of one leading size.
      batch_size: so many rows at a time, by vmap; one at a time by default. The last batch may be
        smaller.

    Returns the results of f, stacked along a new first axis.
    Raises ValueError if the leading sizes differ.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.map(lambda x: x * x, jnp.arange(4))
    Array([0, 1, 4, 9], dtype=int32)
    >>> lax.map(lambda x: x * x, jnp.arange(5), batch_size=2)
    Array([ 0,  1,  4,  9, 16], dtype=int32)
    """
    if batch_size is None:
        return scan(lambda _, x: ((), f(x)), (), xs)[1]
    leaves, tree = tree_flatten(xs)
    rows = lift_args(leaves, "map", "xs")
    size = rows[0].shape[0] if rows else 0
    whole = size - size % batch_size
    parts = []
    if whole:
        batches = [slice_in_dim(x, 0, whole).reshape(-1, batch_size, *x.shape[1:]) for x in rows]
        _, ys = scan(lambda _, x: ((), vmap(f)(x)), (), tree_unflatten(tree, batches))
        parts.append(tree_map(lambda y: y.reshape(-1, *y.shape[2:]), ys))
    if whole < size or not whole:
        rest = [slice_in_dim(x, whole, size) for x in rows]
        parts.append(vmap(f)(tree_unflatten(tree, rest)))
    return tree_map(lambda *ys: concatenate(ys, 0) if len(ys) > 1 else ys[0], *parts)
