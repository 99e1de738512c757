"""qdwh: the polar decomposition by products and factorizations only."""

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.primitives.arithmetic import add, gt, lt, mul, neg, sub
from tinyjax.primitives.bits import bitwise_and, bitwise_not
from tinyjax.primitives.creation import broadcasted_iota, full_like
from tinyjax.primitives.factorizations import qr
from tinyjax.primitives.linear import broadcast_in_dim, convert, reduce_sum
from tinyjax.primitives.maths import rsqrt, sqrt
from tinyjax.primitives.matrices import (
    adjoint,
    block,
    number,
    product,
    symmetrized,
    unit,
)
from tinyjax.primitives.matrix_cards import real_dtype
from tinyjax.primitives.order import abs_
from tinyjax.primitives.reducing import reduce_max
from tinyjax.primitives.selection import select
from tinyjax.primitives.shaping import concatenate
from tinyjax.primitives.triangular import cholesky, triangular_solve
from tinyjax.transforms.while_loop import while_loop

CHOLESKY_BELOW = 100  # weights for which the matrix that Cholesky sees is well conditioned


def weights(low):
    """-> Halley's weights a, b, c for singular values from low to 1, and the new low."""
    square = low * low
    d = (4 * (1 / square - 1) / square) ** (1 / 3)
    root = (1 + d) ** 0.5
    a = root + (2 - d + 2 * (2 - square) / (square * root)) ** 0.5
    b = (a - 1) ** 2 / 4
    c = a + b - 1
    return a, b, c, low * (a + b * square) / (1 + c * square)


def halley(u, a, b, c):
    """u (a + b u^H u) / (1 + c u^H u), by Cholesky, or by QR where that would lose digits."""
    n, e = u.shape[-1], b / c
    if c > CHOLESKY_BELOW:
        scaled = mul(u, number(u, c**0.5))
        one = unit(block(full_like(u, 0), slice(0, n), slice(0, n)))
        q, _ = qr(concatenate((scaled, one), 0), full_matrices=False)
        m = u.shape[0]
        q1, q2 = (block(q, slice(*rows), slice(0, n)) for rows in ((0, m), (m, m + n)))
        moved = mul(product(q1, adjoint(q2)), number(u, (a - e) / c**0.5))
    else:
        gram = product(adjoint(u), u)
        root = cholesky(add(mul(gram, number(u, c)), unit(gram)), symmetrize_input=False)
        z = triangular_solve(root, adjoint(u), left_side=True, lower=True)
        z = triangular_solve(
            root, z, left_side=True, lower=True, transpose_a=True, conjugate_a=True
        )
        moved = mul(adjoint(z), number(u, a - e))
    return add(mul(u, number(u, e)), moved)


def far(u, before, limit):
    """Whether a step moved u by more than limit."""
    step = abs_(sub(u, before))
    return gt(sqrt(reduce_sum(mul(step, step), (0, 1))), number(step, limit))


def qdwh(x, *, is_hermitian=False, max_iterations=None, eps=None, dynamic_shape=None):
    """-> u, h, number of steps, whether they sufficed: x = u @ h, u^H @ u = 1, h semidefinite.

    Args:
      x: matrix [m, n] of full rank, m >= n.
      is_hermitian: accepted as JAX's; without effect.
      max_iterations: the most steps, 10 by default.
      eps: relative error of u; by default that of the dtype.
      dynamic_shape: (m, n), if x is a smaller matrix that was padded.

    Nakatsukasa, Bai and Gygi, "Optimizing Halley's iteration for computing the matrix polar
    decomposition" (2010).

    >>> import numpy as np
    >>> from tinyjax import lax
    >>> u, h, steps, converged = lax.linalg.qdwh(np.diag(np.float32([2, 3])))
    >>> print(np.round(h), converged)
    [[2. 0.]
     [0. 3.]] True
    """
    x = lift(x)
    most = 10 if max_iterations is None else int(max_iterations)
    if x.ndim != 2 or x.shape[0] < x.shape[1]:
        raise ValueError("The input matrix of shape M x N must have M >= N.")
    if dynamic_shape is not None:
        inside = [
            lt(broadcasted_iota(np.int32, x.shape, i), full_of(n, x.shape))
            for i, n in enumerate(dynamic_shape)
        ]
        x = select(bitwise_and(*inside), x, full_like(x, 0))
    eps = float(np.finfo(real_dtype(x.dtype)).eps) if eps is None else eps
    bound = bound_of_norm(x)
    u, low, steps, going = mul(x, bound), eps, 0, flag(True)
    while low + 5 * eps < 1 and steps < most:
        a, b, c, low = weights(low)
        before, u, steps = u, halley(u, a, b, c), steps + 1
        going = far(u, before, (5 * eps) ** (1 / 3)) if c <= CHOLESKY_BELOW else flag(True)

    def unfinished(state):
        k, _, going = state
        return bitwise_and(going, lt(k, flag(most)))

    def step(state):
        k, before, _ = state
        u = halley(before, 3, 1, 3)
        return add(k, flag(1)), u, far(u, before, (5 * eps) ** (1 / 3))

    steps, u, going = while_loop(unfinished, step, (flag(steps), u, going))
    cubic = product(u, product(adjoint(u), u))  # one step of Newton and Schulz
    u = add(mul(u, number(u, 1.5)), neg(mul(cubic, number(u, 0.5))))
    return u, symmetrized(product(adjoint(u), x)), steps, bitwise_not(going)


def flag(value):
    """A Python bool or int as a scalar."""
    if isinstance(value, bool):
        return Array(np.asarray(value))
    return Array(np.asarray(value, np.int32), weak_type=True)


def full_of(n, shape):
    """A size, which may be traced, in every place."""
    return broadcast_in_dim(convert(lift(n), np.dtype(np.int32)), shape, ())


def bound_of_norm(x):
    """1 / sqrt(norm_1 * norm_inf), not more than 1 / norm_2, in the shape of x; 1 for zeros."""
    size = abs_(x)
    one, other = (reduce_max(reduce_sum(size, (i,)), (0,)) for i in (0, 1))
    zero = full_like(one, 0)
    out = select(gt(one, zero), mul(rsqrt(one), rsqrt(other)), full_like(one, 1))
    return broadcast_in_dim(convert(out, x.dtype), x.shape, ())
