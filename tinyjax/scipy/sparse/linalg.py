"""Linear equations whose matrix is only known by its products: cg, bicgstab, gmres.

Right-hand sides may be pytrees; inside, each is one long vector. Derivatives come from
custom_linear_solve, and so from the equation, not from the iteration.
"""

import functools

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.avals import Value
from tinyjax.numpy import linalg
from tinyjax.tree_util import tree_flatten, tree_map, tree_structure, tree_unflatten

__all__ = ["bicgstab", "cg", "gmres"]

dot = functools.partial(jnp.dot, precision=lax.Precision.HIGHEST)
vdot = functools.partial(jnp.vdot, precision=lax.Precision.HIGHEST)

# ---- vectors ------------------------------------------------------------------------------------


class Vectors:
    """The space of pytrees like b, as vectors."""

    def __init__(self, b):
        self.leaves, self.tree = tree_flatten(b)

    def ravel(self, tree):
        """A pytree as one vector."""
        return jnp.concatenate([jnp.ravel(x) for x in tree_flatten(tree)[0]])

    def unravel(self, v):
        """The pytree that a vector stands for."""
        out, start = [], 0
        for x in self.leaves:
            part = v[start : start + x.size].reshape(x.shape)
            if x.dtype.kind != "c" and part.dtype.kind == "c":
                part = part.real
            out.append(part.astype(x.dtype))
            start += x.size
        return tree_unflatten(self.tree, out)

    def on_vectors(self, f):
        """A function of pytrees as one of vectors."""
        return lambda v: self.ravel(f(self.unravel(v)))


def square_norm(v):
    """The sum of the squares of absolute values."""
    return jnp.real(vdot(v, v))


def identity(x):
    """No preconditioner."""
    return x


def as_function(operator):
    """A matrix or function as a function."""
    if callable(operator):
        return operator
    if isinstance(operator, (np.ndarray, Value)) or hasattr(operator, "__matmul__"):
        shape = operator.shape
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"linear operator must be a square matrix, but has shape: {shape}")
        if isinstance(operator, (np.ndarray, Value)):
            return functools.partial(dot, operator)
        return lambda x: operator @ x
    raise TypeError(f"linear operator must be either a function or ndarray: {operator}")


def prepared(A, b, x0, maxiter, M):
    """-> A and M as functions, b and x0 as arrays, the number of steps allowed."""
    b = tree_map(jnp.asarray, b)
    x0 = tree_map(jnp.zeros_like, b) if x0 is None else tree_map(jnp.asarray, x0)
    trees = tree_structure(x0), tree_structure(b)
    if trees[0] != trees[1]:
        raise ValueError(f"x0 and b must have matching tree structure: {trees[0]} vs {trees[1]}")
    leaves, start = tree_flatten(b)[0], tree_flatten(x0)[0]
    shapes = [x.shape for x in start], [x.shape for x in leaves]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"arrays in x0 and b must have matching shapes: {shapes[0]} vs {shapes[1]}"
        )
    size = sum(x.size for x in leaves)
    maxiter = 10 * size if maxiter is None else maxiter
    M = identity if M is None else as_function(M)
    return as_function(A), M, b, x0, maxiter


# ---- conjugate gradients ------------------------------------------------------------------------


def cg(A, b, x0=None, *, tol=1e-05, atol=0.0, maxiter=None, M=None):
    """-> x with A x = b by conjugate gradients, None. A must be Hermitian and positive definite.

    Args:
      A: matrix, or function x -> A x of arrays or pytrees.
      b: the right-hand side.
      x0: where to begin; zero by default.
      tol, atol: stop when norm(b - A x) <= max(tol * norm(b), atol).
      maxiter: the most steps; 10 times the number of unknowns by default.
      M: an approximate inverse of A, as a matrix or function.

    Hestenes and Stiefel, "Methods of conjugate gradients for solving linear systems" (1952).

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.sparse.linalg import cg
    >>> x, _ = cg(jnp.array([[4.0, 1.0], [1.0, 3.0]]), jnp.array([5.0, 4.0]))
    >>> print(jnp.round(x, 4))
    [1. 1.]
    """
    return iterate(cg_steps, A, b, x0, tol, atol, maxiter, M, hermitian=True)


def iterate(steps, A, b, x0, tol, atol, maxiter, M, hermitian):
    """The frame of cg and bicgstab."""
    A, M, b, x0, maxiter = prepared(A, b, x0, maxiter, M)

    def solve(A, b):
        space = Vectors(b)
        x = steps(
            space.on_vectors(A),
            space.ravel(b),
            space.ravel(x0),
            tol,
            atol,
            maxiter,
            space.on_vectors(M),
        )
        return space.unravel(x)

    real = all(x.dtype.kind != "c" for x in tree_flatten(b)[0])
    symmetric = hermitian and real
    x = lax.custom_linear_solve(A, b, solve=solve, transpose_solve=solve, symmetric=symmetric)
    return x, None


def limit(b, tol, atol):
    """The square of the residual's norm at which to stop."""
    return jnp.maximum(jnp.square(tol) * square_norm(b), jnp.square(atol))


def cg_steps(A, b, x0, tol, atol, maxiter, M):
    """cg on vectors."""
    enough = limit(b, tol, atol)

    def unfinished(state):
        _, r, *_, k = state
        return (square_norm(r) > enough) & (k < maxiter)

    def step(state):
        x, r, gamma, p, k = state
        Ap = A(p)
        alpha = gamma / jnp.real(vdot(p, Ap)).astype(gamma.dtype)
        x, r = x + alpha * p, r - alpha * Ap
        z = M(r)
        new = jnp.real(vdot(r, z)).astype(gamma.dtype)
        return x, r, new, z + new / gamma * p, k + 1

    r = b - A(x0)
    z = M(r)
    gamma = jnp.real(vdot(r, z)).astype(z.dtype)
    return lax.while_loop(unfinished, step, (x0, r, gamma, z, 0))[0]


def bicgstab(A, b, x0=None, *, tol=1e-05, atol=0.0, maxiter=None, M=None):
    """-> x with A x = b by stabilized biconjugate gradients, None; for any A.

    The arguments are those of cg. Van der Vorst, "Bi-CGSTAB" (1992).
    """
    return iterate(bicgstab_steps, A, b, x0, tol, atol, maxiter, M, hermitian=False)


def bicgstab_steps(A, b, x0, tol, atol, maxiter, M):
    """bicgstab on vectors. k becomes negative where the method breaks down."""
    enough = limit(b, tol, atol)

    def unfinished(state):
        _, r, *_, k = state
        return (square_norm(r) > enough) & (k < maxiter) & (k >= 0)

    def step(state):
        x, r, shadow, alpha, omega, rho, p, q, k = state
        rho_next = vdot(shadow, r)
        beta = rho_next / rho * alpha / omega
        p = r + beta * (p - omega * q)
        p_hat = M(p)
        q = A(p_hat)
        alpha = rho_next / vdot(shadow, q)
        s = r - alpha * q
        early = square_norm(s) < enough
        s_hat = M(s)
        t = A(s_hat)
        omega = vdot(t, s) / vdot(t, t)
        x = x + alpha * p_hat + jnp.where(early, 0, omega * s_hat)
        r = jnp.where(early, s, s - omega * t)
        k = jnp.where((omega == 0) | (alpha == 0), -11, k + 1)
        return x, r, shadow, alpha, omega, rho_next, p, q, jnp.where(rho_next == 0, -10, k)

    r, one = b - A(x0), jnp.ones((), b.dtype)
    return lax.while_loop(unfinished, step, (x0, r, r, one, one, one, r, r, 0))[0]


# ---- generalized minimal residuals --------------------------------------------------------------


def gmres(A, b, x0=None, *, tol=1e-05, atol=0.0, restart=20, maxiter=None, M=None,
          solve_method="batched"):  # fmt: skip
    """-> x with A x = b by generalized minimal residuals, info (0, or -1 where x is nan).

    Args:
      A, b, x0, tol, atol, M: as cg's; A may be any operator.
      restart: the number of products after which the method starts anew from its result.
      maxiter: the most restarts.
      solve_method: "batched", or "incremental", which looks at the residual after each product and
        may stop early.

    Saad and Schultz, "GMRES" (1986).
    """
    A, M, b, x0, maxiter = prepared(A, b, x0, maxiter, M)
    if solve_method not in ("incremental", "batched"):
        raise ValueError(
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'"
        )
    early = solve_method == "incremental"

    def solve(A, b):
        space = Vectors(b)
        v = space.ravel(b)
        size = min(restart, v.size)
        steps = functools.partial(
            gmres_steps, tol=tol, atol=atol, restart=size, maxiter=maxiter, early=early
        )
        x = steps(space.on_vectors(A), v, space.ravel(x0), M=space.on_vectors(M))
        return space.unravel(x)

    x = lax.custom_linear_solve(A, b, solve=solve, transpose_solve=solve)
    failed = jnp.isnan(linalg.norm(Vectors(x).ravel(x)))
    return x, jnp.where(failed, -1, 0)


def gmres_steps(A, b, x0, tol, atol, restart, maxiter, M, early):
    """gmres on vectors."""
    norm_b = linalg.norm(b)
    atol = jnp.maximum(tol * norm_b, atol)
    inner = linalg.norm(M(b)) * jnp.minimum(1.0, atol / norm_b)  # for the preconditioned residual

    def unfinished(state):
        _, r, k = state
        return (k < maxiter) & (linalg.norm(r) > atol)

    def cycle(state):
        x, r, k = state
        x = x + correction(lambda v: M(A(v)), r, restart, inner if early else None)
        return x, M(b - A(x)), k + 1

    return lax.while_loop(unfinished, cycle, (x0, M(b - A(x0)), 0))[0]


def correction(A, r, restart, enough):
    """The vector t of the Krylov space that makes norm(r - A t) smallest.

    enough: stop when the norm is as small as this; None: look only whether the space is complete.
    """
    first, size = normalized(r)
    V = jnp.zeros((r.size, restart + 1), r.dtype).at[:, 0].set(first)  # a basis, column by column
    H = jnp.zeros((restart, restart + 1), r.dtype)  # A @ V[:, :-1] = V @ H.T, as far as it is known
    target = jnp.zeros(restart + 1, r.dtype).at[0].set(size.astype(r.dtype))

    def unfinished(state):
        *_, k, done = state
        return (k < restart) & ~done

    def arnoldi(state):
        V, H, k, _ = state
        v = A(V[:, k])
        before = linalg.norm(v)
        h = jnp.zeros(restart + 1, r.dtype)
        for _ in range(2):  # once more, for what rounding left
            part = dot(V.conj().T, v)
            v, h = v - dot(V, part), h + part
        unit, after = normalized(v, jnp.finfo(r.dtype).eps * before)
        V = V.at[:, k + 1].set(unit)
        H = H.at[k].set(h.at[k + 1].set(after.astype(r.dtype)))
        done = after == 0
        if enough is not None:
            rest = target - dot(H.T, linalg.lstsq(H.T, target)[0])
            done = done | (linalg.norm(rest) <= enough)
        return V, H, k + 1, done

    V, H, *_ = lax.while_loop(unfinished, arnoldi, (V, H, 0, jnp.zeros((), bool)))
    return dot(V[:, :-1], linalg.lstsq(H.T, target)[0])


def normalized(v, threshold=None):
    """-> v / norm(v), norm(v); zeros if the norm is below the threshold."""
    size = linalg.norm(v)
    threshold = jnp.finfo(v.dtype).eps if threshold is None else threshold
    there = size > threshold
    safe = jnp.where(there, size, 1).astype(v.dtype)
    return jnp.where(there, v / safe, 0), jnp.where(there, size, 0)
