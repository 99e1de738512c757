"""The mapped axes of a call: what vmap and pmap check before they begin."""

from tinyjax import shape_messages
from tinyjax.transforms.flat import arg_names
from tinyjax.tree_util import tree_leaves


def check_axes_type(what, axes, name):
    """Leaves of in_axes and out_axes are ints."""
    for leaf in tree_leaves(axes):
        if not isinstance(leaf, int) or isinstance(leaf, bool):
            raise TypeError(
                f"{what} {name} must be an int, None, or a (nested) container with those types as "
                f"leaves, but got {axes!r}."
            )


def normal_dims(what, fun, args, kwargs, vals, dims):
    """Possibly negative axes as ones in [0, ndim); ValueError if an array has no such axis."""
    for i, (val, dim) in enumerate(zip(vals, dims)):
        if dim is not None and not -val.ndim <= dim < val.ndim:
            rank = dim + 1 if dim >= 0 else -dim
            name = names_of(fun, args, kwargs, vals)[i]
            raise ValueError(
                f"{what} was requested to map its argument along axis {dim}, which implies that "
                f"its rank should be at least {rank}, but is only {val.ndim} (its shape is "
                f"{val.shape}). It is {name}: give it such an axis, or None in in_axes if all "
                "should see the whole."
            )
    return [d if d is None else d % v.ndim for v, d in zip(vals, dims)]


def mapped_size(what, fun, args, kwargs, vals, dims, axis_size):
    """The common size of the mapped axes; ValueError with a table where they differ."""
    sizes = [v.shape[d] for v, d in zip(vals, dims) if d is not None]
    if not sizes:
        if axis_size is None:
            raise ValueError(
                f"{what} must have at least one non-None value in in_axes, or axis_size: nothing "
                "says how large the batch is."
            )
        return axis_size
    if axis_size is not None and any(n != axis_size for n in sizes):
        raise ValueError(
            f"{what} got axis_size={axis_size}, but the mapped axes have sizes {sorted(set(sizes))}"
        )
    if len(set(sizes)) == 1:
        return sizes[0]
    raise ValueError(
        f"{what} got inconsistent sizes for array axes to be mapped:\n"
        + size_table(fun, args, kwargs, vals, dims)
        + "\nGive axes of one size, or None in in_axes for what is not mapped."
    )


def names_of(fun, args, kwargs, vals):
    """What to call each leaf of the arguments."""
    names = arg_names(fun, args, kwargs)
    if len(names) == len(vals):
        return names
    return [f"argument leaf {i}" for i in range(len(vals))]


def size_table(fun, args, kwargs, vals, dims):
    """A line for every mapped argument: its name, mapped axis and shape."""
    rows = [
        (name, v.aval.str_short(), d, v.shape[d])
        for name, v, d in zip(names_of(fun, args, kwargs, vals), vals, dims)
        if d is not None
    ]
    return "\n".join(shape_messages.sizes(rows))
