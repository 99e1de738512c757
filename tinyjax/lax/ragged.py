"""ragged_dot: matrix products of rows in groups, each group with a matrix of its own."""

import dataclasses
from collections.abc import Sequence

from tinyjax.array import lift
from tinyjax.primitives.arithmetic import const, ge, lt, sub
from tinyjax.primitives.bits import bitwise_and
from tinyjax.primitives.creation import broadcasted_iota
from tinyjax.primitives.cumulative import cumsum
from tinyjax.primitives.dot import canonicalize_precision, dot_general, kept
from tinyjax.primitives.linear import broadcast_in_dim
from tinyjax.primitives.selection import select


@dataclasses.dataclass(frozen=True, init=False)
class RaggedDotDimensionNumbers:
    """Which axes of a ragged dot product are summed, shared, ragged, and of groups.

    dot_dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)).
    lhs_ragged_dimensions: the axis of lhs that is cut into groups.
    rhs_group_dimensions: the axis of rhs that holds one matrix per group, if it has one.
    """

    dot_dimension_numbers: tuple
    lhs_ragged_dimensions: Sequence[int]
    rhs_group_dimensions: Sequence[int]

    def __init__(self, dot_dimension_numbers, lhs_ragged_dimensions, rhs_group_dimensions):
        numbers = tuple(tuple(map(tuple, pair)) for pair in dot_dimension_numbers)
        object.__setattr__(self, "dot_dimension_numbers", numbers)
        object.__setattr__(self, "lhs_ragged_dimensions", tuple(lhs_ragged_dimensions))
        object.__setattr__(self, "rhs_group_dimensions", tuple(rhs_group_dimensions))


BASIC = RaggedDotDimensionNumbers((([1], [1]), ([], [])), [0], [0])


def ragged_dot(lhs, rhs, group_sizes, precision=None, preferred_element_type=None,
               group_offset=None, out_sharding=None):  # fmt: skip
    """The product of a matrix whose rows are in groups with a matrix per group.

    Args:
      lhs: array [m, k].
      rhs: array [g, k, n].
      group_sizes: array [g] of integers, how many rows each group has; rows beyond the last group
        give zeros.
      precision, preferred_element_type: as of dot.
      group_offset: only None.
      out_sharding: accepted as JAX's.

    Returns an array [m, n].

    >>> from tinyjax import lax, numpy as jnp
    >>> x, w = jnp.ones((3, 2)), jnp.array([[[1.0], [1.0]], [[10.0], [10.0]]])
    >>> lax.ragged_dot(x, w, jnp.array([1, 2]))
    Array([[ 2.],
           [20.],
           [20.]], dtype=float32)
    """
    return ragged_dot_general(
        lhs, rhs, group_sizes, BASIC, precision, preferred_element_type, group_offset
    )


def ragged_dot_general(lhs, rhs, group_sizes, ragged_dot_dimension_numbers, precision=None,
                       preferred_element_type=None, group_offset=None,
                       out_sharding=None):  # fmt: skip
    """A dot product one axis of which, in lhs, is cut into groups.

    Args:
      lhs, rhs, precision, preferred_element_type: as of dot_general.
      group_sizes: integers; the size of each group, [g], or one list per place of the axes of lhs
        that come before the ragged one.
      ragged_dot_dimension_numbers: RaggedDotDimensionNumbers. If the ragged axis is one that stays,
        rhs has a group axis: each group meets its own slice. If it is summed over, the result has a
        new first axis: one product per group. If it is a batch axis, groups change nothing.
      group_offset: only None.
      out_sharding: accepted as JAX's.

    Raises TypeError when axes or sizes do not fit.
    """
    lhs, rhs, sizes = lift(lhs), lift(rhs), lift(group_sizes)
    numbers = ragged_dot_dimension_numbers
    if group_offset is not None:
        raise NotImplementedError("Unimplemented group_offset support.")
    (l_sum, r_sum), (l_batch, r_batch) = numbers.dot_dimension_numbers
    ragged, mode, before = check(lhs, rhs, sizes, numbers)
    settings = {
        "precision": canonicalize_precision(precision),
        "preferred_element_type": preferred_element_type,
    }
    if mode == "batch":
        return dot_general(lhs, rhs, numbers.dot_dimension_numbers, **settings)
    left = by_group(lhs, sizes, ragged, before)
    if mode == "kept":
        pairs = [*after(l_sum), 0], [*r_sum, *numbers.rhs_group_dimensions]
        return dot_general(left, rhs, (pairs, (after(l_batch), r_batch)), **settings)
    place = r_sum[l_sum.index(ragged)]
    right = by_group(rhs, sizes, place, prefix(rhs, "summed", place, r_sum, r_batch))
    batch = [0, *after(l_batch)], [0, *after(r_batch)]
    return dot_general(left, right, ((after(l_sum), after(r_sum)), batch), **settings)


def after(axes):
    """Axes behind a new first one."""
    return [d + 1 for d in axes]


def prefix(x, mode, ragged, contracting, batch):
    """The axes that come before the ragged one, in the order in which group_sizes has them."""
    stay = kept(x.ndim, contracting, batch)
    axes = {"kept": stay, "summed": list(contracting), "batch": list(batch)}[mode]
    first = [] if mode == "batch" else list(batch)
    return first + axes[: axes.index(ragged)]


def by_group(x, sizes, ragged, before):
    """x once per group, along a new first axis, with zeros where other groups are."""
    ends = cumsum(sizes, sizes.ndim - 1)
    shape = (sizes.shape[-1], *x.shape)
    axes = [*after(before), 0] if sizes.ndim > 1 else [0]
    starts, ends = (broadcast_in_dim(v, shape, axes) for v in (sub(ends, sizes), ends))
    place = broadcasted_iota(sizes.dtype, shape, ragged + 1)
    mine = bitwise_and(ge(place, starts), lt(place, ends))
    x = broadcast_in_dim(x, shape, range(1, x.ndim + 1))
    return select(mine, x, broadcast_in_dim(const(x, 0), shape, ()))


def check(lhs, rhs, sizes, numbers):
    """-> the ragged axis, what it is ('kept', 'summed', 'batch'), the axes before it."""
    (l_sum, r_sum), (l_batch, r_batch) = numbers.dot_dimension_numbers
    groups = numbers.rhs_group_dimensions
    if sizes.dtype.kind not in "iu":
        raise TypeError("ragged_dot_general requires that group_sizes.dtype is an integer dtype.")
    if len(numbers.lhs_ragged_dimensions) != 1:
        raise TypeError("ragged_dot_general expects exactly one lhs ragged dimension.")
    (ragged,) = numbers.lhs_ragged_dimensions
    if not 0 <= ragged < lhs.ndim:
        raise TypeError(
            "ragged_dot_general requires lhs ragged dimension numbers to be nonnegative and less "
            f"than the number of axes of the lhs value, got {ragged} for lhs of rank {lhs.ndim}."
        )
    mode = "summed" if ragged in l_sum else "batch" if ragged in l_batch else "kept"
    before = prefix(lhs, mode, ragged, l_sum, l_batch)
    if sizes.ndim == 0:
        raise TypeError("expected rank of group_sizes to be >=1.")
    wanted = (*(lhs.shape[d] for d in before), sizes.shape[-1])
    if sizes.ndim != 1 and sizes.shape != wanted:
        raise TypeError(f"expected group_sizes to have shape {wanted}, got {sizes.shape}.")
    if mode != "kept" and len(groups):
        raise TypeError(
            "ragged_dot_general requires zero group dimensions in the rhs when lhs ragged "
            "dimension is contracting or batch."
        )
    if mode == "kept":
        if len(groups) != 1:
            raise TypeError(
                "ragged_dot_general requires exactly one rhs group dimension when lhs ragged "
                "dimension is noncontracting."
            )
        if not 0 <= groups[0] < rhs.ndim or groups[0] in (*r_sum, *r_batch):
            raise TypeError(
                "ragged_dot_general requires rhs group dimension numbers to be axes of rhs, "
                "distinct from contracting and batch dimensions."
            )
        if rhs.shape[groups[0]] != sizes.shape[-1]:
            raise TypeError(
                f"expected rhs group dimension size to be {sizes.shape[-1]}, got "
                f"{rhs.shape[groups[0]]}."
            )
    return ragged, mode, before
