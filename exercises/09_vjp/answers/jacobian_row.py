# The card of the exercise jacobian_row. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 1
# minutes: 15

# %% [markdown] statement
# # One row of the Jacobian
#
# Let `f` take an array of n numbers to an array of m numbers. Its Jacobian has a row for each
# output.
#
# Write `jacobian_row(f, x, k)`. It returns row `k` of the Jacobian of `f` at `x`: an array of n
# numbers, which says how output `k` depends on each input. As an index does, a negative `k`
# counts from the end. And `jax.vmap` must be able to map your function over many `k`, to get many
# rows at once.
#
#     def f(x): return jnp.array([x[0] * x[1], 10.0 * x[0], x[1] ** 2])
#
#     jacobian_row(f, jnp.array([2.0, 3.0]), 0)     # [3. 2.]
#     jacobian_row(f, jnp.array([2.0, 3.0]), -1)    # [0. 6.]
#
# Run this file, or `tinyjax check jacobian_row`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def jacobian_row(f, x, k):
    """How output k of f depends on the inputs, at x."""
    raise NotImplementedError


# %% [markdown] hint
# `pull(w)` is the vector `w` times the Jacobian. Which `w` picks out row `k`?

# %% [markdown] hint
# Zeros, with a single 1.0 at place `k`. It has the shape of the output, so make it from the value
# that `jax.vjp` returns. Arrays cannot be changed in place, but `.at[k].set(1.0)` gives a changed
# copy.

# %% [markdown] hint
#     def jacobian_row(f, x, k):
#         value, pull = jax.vjp(f, x)
#         w = jnp.zeros_like(value).at[...].set(...)
#         (row,) = pull(...)
#         return row

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check


def draw(rng):
    """A function of two or three numbers with four or five outputs, a point, and a row."""
    n, m = int(rng.integers(2, 4)), int(rng.integers(4, 6))
    return {
        "A": rng.normal(size=(m, n)).round(1).astype(np.float32),
        "x": rng.normal(size=n).round(1).astype(np.float32),
        "k": int(rng.integers(1, m - 1)),
    }


def function(A):
    """f(x) = sin(A @ x) times the square of x[0], plus A @ x."""
    return lambda x: jnp.sin(A @ x) * x[0] ** 2 + A @ x


@check("a row, counted from the start and from the end")
def two_rows(student, A, x, k):
    f = function(A)
    return [student.jacobian_row(f, x, k), student.jacobian_row(f, x, k - len(A))]


@check("all rows, by jax.vmap")
def mapped(student, A, x, k):
    f = function(A)
    return jax.vmap(lambda k: student.jacobian_row(f, x, k))(jnp.arange(len(A)))


# %% reference
def jacobian_row(f, x, k):
    """How output k of f depends on the inputs, at x."""
    value, pull = jax.vjp(f, x)
    w = jnp.zeros_like(value).at[k].set(1.0)
    (row,) = pull(w)  # pull returns a tuple, with an entry for each argument of f
    return row


# %% right: the gradient of one output
def jacobian_row(f, x, k):
    return jax.grad(lambda y: f(y)[k])(x)


# %% right: a row of the whole
def jacobian_row(f, x, k):
    return jax.jacfwd(f)(x)[k]


# %% right: a row of the identity, by linear_transpose
def jacobian_row(f, x, k):
    value, push = jax.linearize(f, x)
    zurück = jax.linear_transpose(push, x)
    return zurück(jnp.eye(len(value))[k])[0]


# %% right: in forward mode, input by input
class Row:
    def __call__(self, f, x, k):
        return jnp.array([jax.jvp(f, (x,), (ε,))[1][k] for ε in jnp.eye(x.size)])


jacobian_row = Row()


# %% wrong: all ones
# You pulled ones, which gives the sum of all rows: pull a vector that is 1 at place k and 0
# elsewhere.
def jacobian_row(f, x, k):
    value, pull = jax.vjp(f, x)
    return pull(jnp.ones_like(value))[0]


# %% wrong: the tuple
# You returned what pull returns, a tuple with an entry for each argument of f: take the only entry.
def jacobian_row(f, x, k):
    value, pull = jax.vjp(f, x)
    return pull(jnp.zeros_like(value).at[k].set(1.0))


# %% wrong: a column
# You pushed, which gives a column, how all outputs depend on one input: a row takes a pull.
def jacobian_row(f, x, k):
    return jax.jvp(f, (x,), (jnp.zeros_like(x).at[k].set(1.0),))[1]


# %% wrong: the cotangent has the input's shape
# Your cotangent does not fit: it belongs to the result, so make it an array of the shape of f(x).
def jacobian_row(f, x, k):
    _, pull = jax.vjp(f, x)
    return pull(jnp.zeros_like(x).at[k].set(1.0))[0]


# %% wrong: a number for the cotangent
# Your cotangent does not fit: it belongs to the result, so make it an array of the shape of f(x).
def jacobian_row(f, x, k):
    _, pull = jax.vjp(f, x)
    return pull(1.0)[0]


# %% wrong: the value as the cotangent
# You pulled f(x) itself: the value is no cotangent. Pull a vector that is 1 at place k and 0
# elsewhere.
def jacobian_row(f, x, k):
    value, pull = jax.vjp(f, x)
    return pull(value)[0]


# %% wrong: k as the cotangent
# You pulled a vector with k in it: the 1.0 must stand at place k.
def jacobian_row(f, x, k):
    value, pull = jax.vjp(f, x)
    return pull(jnp.zeros_like(value).at[0].set(k))[0]


# %% wrong: no negative rows
# You compare places with k, so nothing is found for a negative k: it counts from the end.
def jacobian_row(f, x, k):
    value, pull = jax.vjp(f, x)
    return pull((jnp.arange(value.size) == k).astype(value.dtype))[0]


# %% wrong: a list
# You wrote into a list or a NumPy array at place k, but under vmap k is a tracer: use .at[k].set.
def jacobian_row(f, x, k):
    value, pull = jax.vjp(f, x)
    w = [0.0] * value.size
    w[k] = 1.0
    return pull(jnp.array(w))[0]


# %% wrong: in place
# You wrote into an array, but arrays are immutable: .at[k].set(1.0) gives a changed copy.
def jacobian_row(f, x, k):
    value, pull = jax.vjp(f, x)
    w = jnp.zeros_like(value)
    w[k] = 1.0
    return pull(w)[0]


# %% wrong: a changed copy is dropped
# You dropped the changed copy: w itself stays zero, so keep what .at[k].set(1.0) returns.
def jacobian_row(f, x, k):
    value, pull = jax.vjp(f, x)
    w = jnp.zeros_like(value)
    w.at[k].set(1.0)
    return pull(w)[0]
