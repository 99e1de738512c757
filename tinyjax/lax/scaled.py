"""scaled_dot: products of narrow numbers that come with scales for blocks of them."""

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.primitives.arithmetic import mul
from tinyjax.primitives.dot import dot_general
from tinyjax.primitives.linear import broadcast_in_dim, convert_element_type, full, reshape


def check_scale(side, x, scale, contracting):
    """Raise TypeError unless the scale has the sizes of x, or divides them where x is summed."""
    for d, (n, m) in enumerate(zip(x.shape, scale.shape)):
        if d not in contracting:
            if n != m:
                raise TypeError(f"{side} dim {d} of size {n} does not match scale dim size {m}.")
            continue
        if n % m:
            raise TypeError(
                f"{side} contracting dim {d} of size {n} must be divisible by its scale's dim "
                f"size {m}."
            )
        if n // m < 2:
            raise TypeError(
                f"The ratio of {side} contracting dim {d} to its scale's dim size ({n // m}) must "
                "be at least 2."
            )


def check_operands(lhs, rhs, scales, dimension_numbers):
    """Raise TypeError unless ranks, numbers of axes and sizes agree."""
    (l_sum, r_sum), (l_batch, r_batch) = dimension_numbers
    if len({x.ndim for x in (lhs, rhs, *scales)}) > 1:
        ranks = [x.ndim for x in (lhs, rhs, *scales)]
        raise TypeError(f"All input tensors must have the same rank. Got {ranks}.")
    for what, ours, theirs in (("batch", l_batch, r_batch), ("contracting", l_sum, r_sum)):
        if len(ours) != len(theirs):
            raise TypeError(
                f"LHS and RHS must have the same number of {what} dimensions, got {len(ours)} and "
                f"{len(theirs)}."
            )
    for i, j in zip(l_batch, r_batch):
        found = {lhs.shape[i], rhs.shape[j], scales[0].shape[i], scales[1].shape[j]}
        if len(found) > 1:
            raise TypeError(
                "All input tensors must have the same batch dimension size for batch dims "
                f"({i}, {j})."
            )
    for i, j in zip(l_sum, r_sum):
        if lhs.shape[i] != rhs.shape[j]:
            raise TypeError(
                f"LHS contracting dim {i} of size {lhs.shape[i]} does not match RHS contracting "
                f"dim {j} of size {rhs.shape[j]}."
            )


def scaled(x, scale):
    """x times its scale, in bfloat16; each number of the scale is for a block of x."""
    half = dtypes.bfloat16
    blocks, kept = [], []
    for n, m in zip(x.shape, scale.shape):
        kept.append(len(blocks))
        blocks += [m] if n == m else [m, n // m]
    if len(blocks) > x.ndim:
        scale = reshape(broadcast_in_dim(scale, blocks, kept), x.shape)
    return mul(convert_element_type(x, half), convert_element_type(scale, half))


def scaled_dot(lhs, rhs, *, lhs_scale=None, rhs_scale=None, dimension_numbers=None,
               preferred_element_type=None):  # fmt: skip
    """The dot product of lhs * lhs_scale and rhs * rhs_scale, computed from bfloat16 numbers.

    Args:
      lhs, rhs: arrays of one rank, 2 or more.
      lhs_scale, rhs_scale: scales of the same rank and sizes, but along summed axes at most half as
        large: each number is for a block. None stands for ones.
      dimension_numbers: as of dot_general; by default matrix products over batch axes.
      preferred_element_type: the dtype of the result, by default bfloat16.

    Raises TypeError when shapes do not fit.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax import lax
    >>> x, s = jnp.ones((1, 4)), jnp.array([[2.0, 0.5]])
    >>> lax.scaled_dot(x, jnp.ones((4, 1)), lhs_scale=s)
    Array([[5]], dtype=bfloat16)
    """
    lhs, rhs = lift(lhs), lift(rhs)
    if dimension_numbers is None:
        if lhs.ndim < 2:
            raise TypeError("scaled_dot does not support 0-rank and 1-rank operands.")
        batch = tuple(range(lhs.ndim - 2))
        dimension_numbers = (((lhs.ndim - 1,), (lhs.ndim - 2,)), (batch, batch))
    sums = dimension_numbers[0]
    scales = []
    for x, scale, axes in zip((lhs, rhs), (lhs_scale, rhs_scale), sums):
        if scale is None:
            shape = [1 if d in axes else n for d, n in enumerate(x.shape)]
            scale = full(shape, 1.0, dtypes.bfloat16)
        scales.append(lift(scale))
    check_operands(lhs, rhs, scales, dimension_numbers)
    for side, x, scale, axes in zip(("LHS", "RHS"), (lhs, rhs), scales, sums):
        check_scale(side, x, scale, axes)
    out = preferred_element_type if preferred_element_type is not None else dtypes.bfloat16
    out = dtypes.check_user_dtype_supported(out, "scaled_dot")
    return dot_general(
        scaled(lhs, scales[0]),
        scaled(rhs, scales[1]),
        dimension_numbers,
        preferred_element_type=out,
    )
