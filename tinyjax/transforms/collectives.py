"""Collectives: operations among all elements of a named axis of vmap or pmap.

All take pytrees, and a tuple of names where they take a name: the elements are then counted along
the last one first. NameError: a name is not in scope.
"""

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.core import Tracer
from tinyjax.dtypes import KeyType, dtype_name
from tinyjax.primitives.arithmetic import add, const, mul
from tinyjax.primitives.linear import canonicalize_axis, convert, expand_dims, reduce_sum, squeeze
from tinyjax.transforms.exchanges import (
    all_gather_p,
    all_to_all_p,
    check_scattered,
    ppermute_p,
    reduce_scatter_p,
)
from tinyjax.transforms.named_axes import (
    check_names,
    group_size,
    index_groups,
    is_position,
    names_of,
    size_of,
)
from tinyjax.transforms.named_reductions import axis_index_p, parted, pmax_p, pmin_p, psum_p
from tinyjax.tree_util import tree_map

# ---- reductions ----------------------------------------------------------------------------------


def psum(x, axis_name, *, axis_index_groups=None):
    """The sum over a named axis; every element of the axis gets it.

    Args:
      x: pytree of arrays. What does not depend on inputs is multiplied by the size of the axis: a
        Python number stays one, so that psum(1, "i") is a size that shapes may use. Booleans are
        counted.
      axis_name: the axis_name given to vmap or pmap, or a tuple of names; also axes of the array.
      axis_index_groups: sum within groups of indices, which hold each index once.

    Raises NameError when the name is not in scope.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.vmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    axes = names_of(axis_name)
    if not axes:
        return x
    groups = reduction_groups(axes, axis_index_groups)

    def one(leaf):
        if not isinstance(leaf, (int, float, complex)) or isinstance(leaf, bool):
            leaf = check_numbers("psum", lift(leaf))
            leaf = convert(leaf, np.dtype(np.int32)) if leaf.dtype == bool else leaf
        if isinstance(leaf, Tracer) or isinstance(leaf, Array) and uneven(groups):
            return psum_p.bind(leaf, axes=positive(axes, leaf), axis_index_groups=groups)
        return repeated(leaf, axes, groups)

    return tree_map(one, x)


def uneven(groups):
    """Whether groups differ in size."""
    return groups is not None and len({len(group) for group in groups}) > 1


def repeated(x, axes, groups):
    """The sum of a constant, which is the same along all named axes."""
    places, names = parted(axes)
    if uneven(groups):
        raise ValueError(
            f"axis_index_groups must all be the same size to sum a number, got {groups}"
        )
    n, places = group_size(names, groups), [canonicalize_axis(a, np.ndim(x)) for a in places]
    if not isinstance(x, Array):
        return x * n
    x = reduce_sum(x, places) if places else x
    return mul(const(x, n), x)


def reduction_groups(axes, groups):
    """The groups of a reduction; not over axes of the array."""
    places, names = parted(axes)
    if places and groups is not None:
        raise ValueError(
            "axis_index_groups are only supported for reductions over named axes, not over axis "
            f"{places[0]} of an array"
        )
    check_names(names)
    return index_groups(groups, names, equal=False)


def positive(axes, x):
    """Axes, those of the array counted from the front."""
    return tuple(canonicalize_axis(a, x.ndim) if is_position(a) else a for a in axes)


def check_numbers(name, x):
    """x, whose elements must be numbers."""
    if isinstance(x.dtype, KeyType):
        raise TypeError(f"{name} does not accept dtype {dtype_name(x.dtype)}: these are no numbers")
    return x


def pmean(x, axis_name, *, axis_index_groups=None):
    """The mean over a named axis; every element of the axis gets it.

    Args: as for psum; the groups must be equally large.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.vmap(lambda x: x - jax.lax.pmean(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([-1.,  1.], dtype=float32)
    """
    groups = index_groups(axis_index_groups, names_of(axis_name))
    n = psum(1, axis_name, axis_index_groups=groups)
    return tree_map(lambda v: v / n, psum(x, axis_name, axis_index_groups=groups))


def extreme(prim):
    """pmax or pmin of a pytree."""

    def reduce(x, axis_name, axis_index_groups):
        axes = names_of(axis_name)
        groups = reduction_groups(axes, axis_index_groups)

        def one(leaf):
            leaf = check_numbers(prim.name, lift(leaf))
            return prim.bind(leaf, axes=positive(axes, leaf), axis_index_groups=groups)

        return tree_map(one, x)

    return reduce


def pmax(x, axis_name, *, axis_index_groups=None):
    """The maximum over a named axis; every element of the axis gets it. It has no derivative.

    Args: as for psum.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.vmap(lambda x: jax.lax.pmax(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([3., 3.], dtype=float32)
    """
    return extreme(pmax_p)(x, axis_name, axis_index_groups)


def pmin(x, axis_name, *, axis_index_groups=None):
    """The minimum over a named axis; every element of the axis gets it. It has no derivative.

    Args: as for psum.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.vmap(lambda x: jax.lax.pmin(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([1., 1.], dtype=float32)
    """
    return extreme(pmin_p)(x, axis_name, axis_index_groups)


# ---- gathering and scattering --------------------------------------------------------------------


def all_gather(x, axis_name, *, axis_index_groups=None, axis=0, tiled=False, to="varying"):
    """The arrays of all elements of a named axis; every element gets them.

    Args:
      x: pytree of arrays.
      axis_name: the axis_name given to vmap or pmap, or a tuple of names.
      axis_index_groups: gather within groups of indices, equally large, which hold each index once.
      axis: where they go in the result.
      tiled: False: they are stacked along a new axis. True: they are joined along one that exists.
      to: "varying", "invarying" or "reduced": accepted as JAX's, of which only the type differs.

    Its transpose is psum_scatter.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.vmap(lambda x: jax.lax.all_gather(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
    Array([[1., 3.],
           [1., 3.]], dtype=float32)
    """
    if to not in ("varying", "invarying", "reduced"):
        raise ValueError(
            f"Got unexpected `to` value for `lax.all_gather`: {to!r}. Allowed `to` values are "
            "'varying', 'invarying' and 'reduced'"
        )
    names = names_of(axis_name)
    if not names:
        return x
    groups = index_groups(axis_index_groups, names)

    def one(leaf):
        leaf = lift(leaf)
        return all_gather_p.bind(
            leaf,
            all_gather_dimension=canonicalize_axis(axis, leaf.ndim + (not tiled)),
            axis_index_groups=groups,
            axis_name=names,
            axis_size=group_size(names, groups),
            tiled=tiled,
        )

    return tree_map(one, x)


def psum_scatter(x, axis_name, *, scatter_dimension=0, axis_index_groups=None, tiled=False):
    """The sum over a named axis, of which every element of the axis gets one part.

    Args:
      x: pytree of arrays of numbers.
      axis_name: the axis_name given to vmap or pmap, or a tuple of names.
      scatter_dimension: the axis along which the sum is given out.
      axis_index_groups: sum within groups of indices, equally large, which hold each index once.
      tiled: False: scatter_dimension has as many elements as the named axis (or a group); everyone
        gets one, without this axis. True: it has a multiple of that; everyone gets a part of it.

    Its transpose is all_gather. Raises ValueError when scatter_dimension has another size.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    >>> jax.vmap(lambda row: jax.lax.psum_scatter(row, "i"), axis_name="i")(x)
    Array([4., 6.], dtype=float32)
    """
    names = names_of(axis_name)
    if not names:
        return x
    groups = index_groups(axis_index_groups, names)
    size = group_size(names, groups)

    def one(leaf):
        leaf = check_numbers("psum_scatter", lift(leaf))
        if leaf.dtype == bool:
            raise TypeError("psum_scatter does not accept dtype bool: convert it to integers")
        at = canonicalize_axis(scatter_dimension, leaf.ndim, "scatter_dimension")
        check_scattered(leaf.shape[at], size, tiled)
        return reduce_scatter_p.bind(
            leaf,
            axis_index_groups=groups,
            axis_name=names,
            axis_size=size,
            scatter_dimension=at,
            tiled=tiled,
        )

    return tree_map(one, x)


# ---- exchanges -----------------------------------------------------------------------------------


def all_to_all(x, axis_name, split_axis, concat_axis, *, axis_index_groups=None, tiled=False):
    """Cut every element's array into parts, send one to each, and join what arrives.

    Args:
      x: pytree of arrays.
      axis_name: the axis_name given to vmap or pmap, or a tuple of names.
      split_axis: the axis to cut along; the k-th part goes to the k-th element.
      concat_axis: the axis of the result along which the parts that arrive are joined.
      axis_index_groups: exchange within groups of indices, equally large, which hold each once.
      tiled: False: split_axis has as many elements as the named axis (or a group) and disappears;
        concat_axis is a new one. True: the axes stay, their sizes change.

    Its transpose is all_to_all the other way round. Raises ValueError when split_axis has another
    size.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> jax.vmap(lambda row: jax.lax.all_to_all(row, "i", 0, 0), axis_name="i")(x)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    names = names_of(axis_name)
    groups = index_groups(axis_index_groups, names)
    size = group_size(names, groups)

    def one(leaf):
        leaf = lift(leaf)
        cut = canonicalize_axis(split_axis, leaf.ndim, "split_axis")
        joined = canonicalize_axis(concat_axis, leaf.ndim, "concat_axis")
        check_cut(leaf.shape[cut], size, axis_name, tiled)
        if not tiled and cut != joined:  # a new axis, counted without the one that disappears
            joined += cut < joined
            leaf = expand_dims(leaf, (joined,))
            cut += joined <= cut
        out = all_to_all_p.bind(
            leaf,
            axis_index_groups=groups,
            axis_name=names if isinstance(axis_name, list) else axis_name,
            concat_axis=joined,
            split_axis=cut,
            tiled=tiled,
        )
        return squeeze(out, (cut,)) if not tiled and cut != joined else out

    return tree_map(one, x)


def check_cut(found, size, axis_name, tiled):
    """Whether an axis can be cut into parts, one for each element of the named axis."""
    if tiled and found % size:
        raise ValueError(
            f"The size of all_to_all split_axis ({found}) has to be divisible by the size of the "
            f"named axis {axis_name} ({size})"
        )
    if not tiled and found != size:
        raise ValueError(
            f"all_to_all requires the size of the mapped axis {axis_name} to equal "
            f"x.shape[split_axis], but they are {size} and {found} respectively (tiled=True sends "
            "several elements to each)."
        )


def pswapaxes(x, axis_name, axis, *, axis_index_groups=None):
    """Exchange a named axis with an axis of the array, of the same size.

    Args: as for all_to_all, whose split_axis and concat_axis are both `axis`.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> x = jnp.array([[1, 2], [3, 4]])
    >>> jax.vmap(lambda row: jax.lax.pswapaxes(row, "i", 0), axis_name="i")(x)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


def ppermute(x, axis_name, perm):
    """Send every element's array to another one.

    Args:
      x: pytree of arrays.
      axis_name: the axis_name given to vmap or pmap, or a tuple of names.
      perm: pairs (source, destination) of indices along the axis; no source and no destination
        occurs twice. Who is nobody's destination gets zeros.

    Its transpose sends along the reversed pairs. Raises ValueError for other perms.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> shift = lambda x: jax.lax.ppermute(x, "i", [(0, 1), (1, 2)])
    >>> jax.vmap(shift, axis_name="i")(jnp.array([1, 2, 3]))
    Array([0, 1, 2], dtype=int32)
    """
    names = names_of(axis_name)
    check_names(names)
    try:
        perm = tuple((int(src), int(dst)) for src, dst in perm)
    except TypeError:
        raise TypeError(
            f"ppermute perm must be pairs (source, destination) of indices, got {perm!r}"
        ) from None
    check_permutation(perm, size_of(names))
    return tree_map(lambda leaf: ppermute_p.bind(lift(leaf), axis_name=names, perm=perm), x)


def check_permutation(perm, size):
    """Whether no source and no destination occurs twice, and all exist."""
    for ends in zip(*perm):
        if len(set(ends)) != len(ends):
            raise ValueError(f"ppermute sources and destinations must be unique, got {perm}.")
        if not all(0 <= k < size for k in ends):
            raise ValueError(
                f"ppermute sources and destinations must be in [0, {size}), the indices along the "
                f"axis, got {perm}."
            )


def pshuffle(x, axis_name, perm):
    """Reorder the elements of a named axis: the k-th gets the array of number perm[k].

    Args:
      x: pytree of arrays.
      axis_name: the axis_name given to vmap or pmap.
      perm: all indices along the axis, in the new order.

    Raises ValueError if perm is no permutation.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> turn = lambda x: jax.lax.pshuffle(x, "i", [2, 1, 0])
    >>> jax.vmap(turn, axis_name="i")(jnp.array([1, 2, 3]))
    Array([3, 2, 1], dtype=int32)
    """
    if sorted(perm) != list(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


# ---- the index and the size ----------------------------------------------------------------------


def axis_index(axis_name):
    """The position along a named axis, as int32; along several, counted along the last one first.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.vmap(lambda x: x * jax.lax.axis_index("i"), axis_name="i")(jnp.array([5, 6, 7]))
    Array([ 0,  6, 14], dtype=int32)
    """
    if not isinstance(axis_name, (tuple, list)):
        return axis_index_p.bind(axis_name=axis_name)
    index, inner = Array(np.asarray(0, np.int32), literal=True), 1
    for name in reversed(axis_name):
        along = axis_index(name)
        index = add(index, mul(along, const(index, inner)))
        inner *= axis_size(name)
    return index


def axis_size(axis_name):
    """The number of elements along a named axis, a Python int; the product, for several.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.vmap(lambda x: x / jax.lax.axis_size("i"), axis_name="i")(jnp.array([2.0, 4.0]))
    Array([1., 2.], dtype=float32)
    """
    return size_of(names_of(axis_name))
