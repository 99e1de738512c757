"""Linear equations by LU, with derivatives that use the same factors."""

import functools
import math

import numpy as np

from tinyjax import lax
from tinyjax.core import EVAL, StageTrace, current_trace
from tinyjax.mapping import vmap
from tinyjax.primitives.identities import stop_gradient
from tinyjax.primitives.linear import broadcast_in_dim_p
from tinyjax.transforms.subprogram import subprogram


def lu_solve(lu, permutation, b, trans=0):
    """x with a @ x = b, where lax.linalg.lu(a) is (lu, _, permutation).

    Args:
      lu: [..., n, n]; permutation: [..., n].
      b: [..., n] or [..., n, k].
      trans: 0: a; 1: its transpose; 2: its adjoint.
    """
    return _lu_solve(lu, permutation, b, trans)


@subprogram(static_argnames=("trans",))
def _lu_solve(lu, permutation, b, trans):
    """lu_solve."""
    if lu.ndim < 2 or lu.shape[-1] != lu.shape[-2]:
        raise ValueError(
            f"last two dimensions of LU decomposition must be equal, got shape {lu.shape}"
        )
    if b.ndim < 1:
        raise ValueError(f"b matrix must have rank >= 1, got shape {b.shape}")
    vector = lu.ndim == b.ndim + 1
    if b.shape[-1 if vector else -2] != lu.shape[-1]:
        which, axis = ("the same number", "last") if vector else ("different numbers", "second to")
        raise ValueError(
            f"When LU decomposition matrix and b have {which} of dimensions, last axis of LU "
            f"decomposition matrix (shape {lu.shape}) and {axis} axis of b array (shape {b.shape}) "
            "must match"
        )
    b = lax.expand_dims(b, (b.ndim,)) if vector else b
    batch = lax.broadcast_shapes(lu.shape[:-2], permutation.shape[:-1], b.shape[:-2])
    args = [with_batch(x, batch, n) for x, n in ((lu, 2), (permutation, 1), (b, 2))]
    solve = functools.partial(solve_one, trans=trans)
    for _ in batch:
        solve = vmap(solve)
    x = solve(*args)
    return x[..., 0] if vector else x


def with_batch(x, batch, rank):
    """x broadcast to the shape of a batch."""
    if x.shape[: x.ndim - rank] == batch:
        return x
    shape = (*batch, *x.shape[x.ndim - rank :])
    return lax.broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))


def solve_one(lu, permutation, b, trans):
    """lu_solve for one matrix."""
    x = lax.reshape(b, (lu.shape[0], math.prod(b.shape[1:])))
    solve = functools.partial(lax.linalg.triangular_solve, lu, left_side=True)
    if trans == 0:
        x = solve(x[permutation, :], lower=True, unit_diagonal=True)
        x = solve(x, lower=False)
    elif trans in (1, 2):
        turned = {"transpose_a": True, "conjugate_a": trans == 2}
        x = solve(x, lower=False, **turned)
        x = solve(x, lower=True, unit_diagonal=True, **turned)
        _, order = lax.sort_key_val(permutation, lax.iota(np.int32, permutation.shape[0]))
        x = x[order, :]
    else:
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    return lax.reshape(x, b.shape)


def check_shapes(a, b):
    """Raise unless b is a right-hand side for a."""
    if not (
        a.ndim >= 2
        and b.ndim in (a.ndim, a.ndim - 1)
        and a.shape[-1] == a.shape[-2] == b.shape[a.ndim - 2]
    ):
        raise ValueError(
            "The arguments to solve must have shapes a=[..., m, m] and b=[..., m, k] or "
            f"b=[..., m]; got a={a.shape} and b={b.shape}"
        )


def solve_matrix(a, b):
    """x with a @ x = b, for matrices [..., n, n] and b [..., n, k] or [..., n]."""
    check_shapes(a, b)
    shape = [m if n == 1 else n for m, n in zip((*a.shape[:-1], 1), b.shape)]
    b = lax.broadcast_in_dim(b, shape, range(b.ndim))
    lu, _, permutation = lax.linalg.lu(stop_gradient(a))
    if current_trace() is EVAL:  # nothing is recorded or differentiated: no rule is needed
        return lu_solve(lu, permutation, b)
    solve = functools.partial(
        lax.custom_linear_solve,
        lambda x: matvec(a, x),
        solve=lambda _, x: lu_solve(lu, permutation, x, trans=0),
        transpose_solve=lambda _, x: lu_solve(lu, permutation, x, trans=1),
    )
    if a.ndim == b.ndim + 1:
        return solve(b)
    return vmap(solve, b.ndim - 1, max(a.ndim, b.ndim) - 1)(b)


def matvec(a, x):
    """Matrices times vectors, batch by batch."""
    batch = lax.broadcast_shapes(a.shape[:-2], x.shape[:-1])
    a, x = with_batch(a, batch, 2), with_batch(x, batch, 1)
    if not isinstance(current_trace(), StageTrace):
        # The transposed program shows what becomes of this, a sum over no axes, as JAX's does.
        dims = tuple(range(x.ndim))
        x = broadcast_in_dim_p.bind(x, shape=x.shape, broadcast_dimensions=dims)
    axes = tuple(range(len(batch)))
    numbers = (((a.ndim - 1,), (x.ndim - 1,)), (axes, axes))
    return lax.dot_general(a, x, numbers, precision=lax.Precision.HIGHEST)
