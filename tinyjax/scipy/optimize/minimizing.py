"""minimize: the method of Broyden, Fletcher, Goldfarb and Shanno.

Source: Nocedal, Wright: "Numerical Optimization" (2006), algorithm 6.1.
"""

from typing import Any, NamedTuple

import numpy as np

from tinyjax import lax
from tinyjax import numpy as jnp
from tinyjax.autodiff import value_and_grad
from tinyjax.scipy.optimize.line_search import dot, line_search


class OptimizeResults(NamedTuple):
    """What minimize found.

    x: the place. success: whether the gradient is small there. status: 0 success, 1 too many steps,
    2 and more: the line search failed. fun, jac: the function and its gradient at x. hess_inv: an
    estimate of the inverse of its second derivative. nfev, njev: how often the function and its
    gradient were computed. nit: the number of steps.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class State(NamedTuple):
    """The state of the search."""

    converged: Any
    failed: Any
    k: Any
    evaluations: Any
    x: Any
    f: Any
    g: Any
    inverse: Any  # the estimate of the inverse of the second derivative
    last_f: Any
    status: Any


def minimize(fun, x0, args=(), *, method, tol=None, options=None):
    """A local minimum of a function of a vector.

    Args:
      fun: function of a vector (and args), with a scalar result.
      x0: the vector to start from.
      args: a tuple of more arguments.
      method: 'BFGS'.
      tol: accepted as JAX's; use the option gtol.
      options: a dict with maxiter, norm (of the gradient, by default its greatest component), gtol
        (it must be less than that, 1e-5), line_search_maxiter (10).

    Returns OptimizeResults. Raises ValueError for another method, TypeError for args that are no
    tuple.

    >>> import tinyjax.numpy as jnp
    >>> from tinyjax.scipy.optimize import minimize
    >>> result = minimize(lambda x: ((x - 3) ** 2).sum(), jnp.zeros(2), method="BFGS")
    >>> jnp.round(result.x, 3), result.success
    (Array([3., 3.], dtype=float32), Array(True, dtype=bool))
    """
    if not isinstance(args, tuple):
        raise TypeError(f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args}")
    if method.lower() != "bfgs":
        raise ValueError(f"Method {method} not recognized: use 'BFGS'.")
    state = bfgs(lambda x: fun(x, *args), x0, **(options or {}))
    return OptimizeResults(
        x=state.x,
        success=state.converged & jnp.logical_not(state.failed),
        status=state.status,
        fun=state.f,
        jac=state.g,
        hess_inv=state.inverse,
        nfev=state.evaluations,
        njev=state.evaluations,
        nit=state.k,
    )


def bfgs(fun, x0, maxiter=None, norm=np.inf, gtol=1e-5, line_search_maxiter=10):
    """Steps along directions that an estimate of the second derivative makes good."""
    maxiter = np.size(x0) * 200 if maxiter is None else maxiter
    unit = jnp.eye(x0.shape[0], dtype=x0.dtype)
    f, g = value_and_grad(fun)(x0)

    def small(g):
        return jnp.linalg.norm(g, ord=norm) < gtol

    def step(state):
        p = -dot(state.inverse, state.g)
        found = line_search(fun, state.x, p, state.f, state.last_f, state.g,
                            maxiter=line_search_maxiter)  # fmt: skip
        s, y = found.a_k * p, found.g_k - state.g
        rho = jnp.reciprocal(dot(y, s))
        turn = unit - rho * s[:, None] * y[None, :]
        inverse = jnp.einsum("ij,jk,lk", turn, state.inverse, turn, precision=lax.Precision.HIGHEST)
        inverse = inverse + rho * s[:, None] * s[None, :]
        return State(
            converged=small(found.g_k),
            failed=found.failed,
            k=state.k + 1,
            evaluations=state.evaluations + found.nfev,
            x=state.x + s,
            f=found.f_k,
            g=found.g_k,
            inverse=jnp.where(jnp.isfinite(rho), inverse, state.inverse),
            last_f=state.f,
            status=found.status,
        )

    first = State(small(g), False, 0, 1, x0, f, g, unit, f + jnp.linalg.norm(g) / 2, 0)
    going = lambda s: jnp.logical_not(s.converged) & jnp.logical_not(s.failed) & (s.k < maxiter)
    state = lax.while_loop(going, step, first)
    failed = jnp.where(state.failed, 2 + state.status, -1)
    status = jnp.where(state.converged, 0, jnp.where(state.k == maxiter, 1, failed))
    return state._replace(status=status)
