"""approx_max_k and approx_min_k: on a CPU the exact greatest or least entries.

Source: Chern, Hechtman, Davis, Guo, Majnemer, Kumar: "TPU-KNN: k nearest neighbor search at peak
FLOP/s" (2022), for the size of results that are not aggregated.
"""

import math

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive, Zero
from tinyjax.primitives.linear import canonicalize_axis, reshape
from tinyjax.primitives.sorting import take_along, total_order


def output_size(size, rank, k, recall_target, override):
    """How many candidates an accelerator would return without aggregation."""
    tile = 1024 if rank == 1 else 128
    if size <= tile:
        return size
    logical = override if override > 0 else size
    enough = 1 if recall_target >= 1 else math.ceil((1 - k) / math.log(recall_target))
    m = min(max(enough, tile), size) if recall_target < 1 else size
    reduction = int(math.log2(logical // m)) if logical >= m else 0
    if not reduction:
        return size
    tiles = -(-size // tile)
    reduction = min(reduction, math.ceil(math.log2(tiles)))
    return -(-tiles // (1 << reduction)) * tile


class ApproxTopK(Primitive):
    """approx_top_k[...] x: entries near one end of the order, sorted, and their places."""

    multi = True

    def impl(self, x, *, is_max_k, reduction_dimension, **params):
        axis = reduction_dimension % x.ndim
        order = total_order(x)
        order = np.argsort(~order if is_max_k else order, axis, kind="stable")
        order = np.take(order, range(self.count(x.shape, axis, **params)), axis)
        return [np.take_along_axis(x, order, axis), order.astype(np.int32)]

    def count(self, shape, axis, *, k, recall_target, reduction_input_size_override,
              aggregate_to_topk):  # fmt: skip
        """The number of results."""
        if aggregate_to_topk:
            return k
        override = reduction_input_size_override
        return output_size(shape[axis], len(shape), k, recall_target, override)

    def type(self, x, *, is_max_k, reduction_dimension, **params):
        k = params["k"]
        if k <= 0:
            raise ValueError(f"k must be positive, got {k}")
        if not x.shape:
            raise TypeError(f"approx_top_k operand must have >= 1 dimension, got {x.shape}")
        axis = canonicalize_axis(reduction_dimension, len(x.shape), "reduction_dimension")
        if x.shape[axis] < k:
            raise ValueError(
                f"k must be smaller than the size of reduction_dim {x.shape[axis]}, got {k}"
            )
        if not dtypes.issubdtype(x.dtype, np.floating):
            raise ValueError("operand must be a floating type")
        n = self.count(x.shape, axis, **params)
        shape = (*x.shape[:axis], n, *x.shape[axis + 1 :])
        return [x.update(shape=shape), ShapedArray(shape, np.dtype(np.int32), x.weak_type)]

    def jvp(self, primals, tangents, **params):
        values, order = self.bind(*primals, **params)
        places, axis = reshape(order, (*order.shape, 1)), params["reduction_dimension"]
        tangent = take_along(tangents[0], places, axis % order.ndim)
        return [values, order], [tangent, Zero(order.aval)]

    def batch(self, axis, vals, dims, /, *, reduction_dimension, **params):
        (x,), (dim,) = vals, dims
        d = reduction_dimension % (x.ndim - 1)
        return self.bind(x, reduction_dimension=d + (d >= dim), **params), [dim, dim]


approx_top_k_p = ApproxTopK("approx_top_k")


def bind(operand, is_max_k, k, reduction_dimension, recall_target, override, aggregate_to_topk):
    """Check the arguments and bind."""
    x = lift(operand)
    params = {
        "k": k,
        "reduction_dimension": reduction_dimension,
        "recall_target": recall_target,
        "is_max_k": is_max_k,
        "reduction_input_size_override": override,
        "aggregate_to_topk": aggregate_to_topk,
    }
    approx_top_k_p.type(x.aval, **params)
    return approx_top_k_p.bind(x, **params)


def approx_max_k(operand, k, reduction_dimension=-1, recall_target=0.95,
                 reduction_input_size_override=-1, aggregate_to_topk=True):  # fmt: skip
    """The k greatest entries along an axis, and their places (int32). On a CPU it finds all.

    Args:
      operand: array of floats.
      k: how many.
      reduction_dimension: the axis.
      recall_target: which part of them an accelerator should find.
      reduction_input_size_override: the size of a larger array that operand is a part of.
      aggregate_to_topk: False returns more candidates, as many as an accelerator would.

    Raises ValueError for operands that are not floats and for k that do not fit the axis.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.approx_max_k(jnp.array([1.0, 5.0, 3.0]), 2)
    [Array([5., 3.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    return bind(operand, True, k, reduction_dimension, recall_target,
                reduction_input_size_override, aggregate_to_topk)  # fmt: skip


def approx_min_k(operand, k, reduction_dimension=-1, recall_target=0.95,
                 reduction_input_size_override=-1, aggregate_to_topk=True):  # fmt: skip
    """The k least entries along an axis, and their places; arguments as of approx_max_k."""
    return bind(operand, False, k, reduction_dimension, recall_target,
                reduction_input_size_override, aggregate_to_topk)  # fmt: skip
