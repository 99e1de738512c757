# The card of the exercise jacfwd. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # Value and Jacobian in one run
#
# `jax.value_and_grad` returns a value together with its gradient. There is no such function for
# Jacobians. Write it.
#
# `value_and_jacfwd(f)` is a function of one array `x`, of any shape, which returns a pair: the
# value `f(x)`, an array of any shape, and the Jacobian there. The Jacobian has the shape of the
# value, followed by the shape of `x`: if `x` has shape `(2, 3)` and `f(x)` has shape `(4,)`, then
# it has shape `(4, 2, 3)`, and its element `[i, j, k]` says how `f(x)[i]` changes with `x[j, k]`.
#
# Use forward mode, so that also functions with a `lax.while_loop` can be differentiated. And do it
# in one run: `f` shall be called only once.
#
# For `f = lambda x: jnp.array([x[0] * x[1], x[0]])` and `x = [2.0, 3.0]` the result is
# `[6.0, 2.0]` and `[[3.0, 2.0], [1.0, 0.0]]`.
#
# Run this file, or `tinyjax check jacfwd`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def value_and_jacfwd(f):
    """A function of x that returns f(x) and the Jacobian, of shape f(x).shape + x.shape."""
    raise NotImplementedError


# %% [markdown] hint
# One push gives you one column of the Jacobian. Which tangents do you need for all columns, and
# which shape must each of these tangents have?

# %% [markdown] hint
# `jax.linearize(f, x)` runs `f` once, and returns the value and a function that pushes tangents. A
# tangent has the shape of `x`: all of it 0, but for a single 1. There are `x.size` of these, and
# the rows of `jnp.eye(x.size)` hold them, flattened. `jax.vmap` pushes all of them, and `out_axes`
# says where the new axis goes.

# %% [markdown] hint
#     def value_and_jacfwd(f):
#         def both(x):
#             value, push = jax.linearize(f, x)
#             directions = jnp.eye(x.size).reshape(...)
#             columns = jax.vmap(push, out_axes=...)(directions)
#             return value, columns.reshape(...)
#
#         return both

# %% checks
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import check

seconds = 60.0


def draw(rng):
    """A point of two axes, and the coefficients of a function of it."""
    shape = [int(n) for n in rng.permutation([2, 3])]
    outputs = [[4], [2, 2], [3, 1]][int(rng.integers(3))]
    size = int(np.prod(shape))
    return {
        "x": rng.normal(size=shape).round(2).astype(np.float32),
        "w": (rng.normal(size=(*outputs, size)) / 2).round(2).astype(np.float32),
    }


def draw_start(rng):
    """A vector whose first powers are small."""
    start = rng.uniform(1.2, 1.9, size=int(rng.integers(2, 5)))
    return {"x": start.round(2).astype(np.float32), "limit": float(rng.integers(6, 12))}


def counted(f):
    """f, and the list of its calls."""
    calls = []

    def g(x):
        calls.append("called")
        return f(x)

    return g, calls


@check("an array of two axes")
def two_axes(student, x, w):
    f, calls = counted(lambda x: jnp.sin(w @ x.ravel()))
    value, jacobian = student.value_and_jacfwd(f)(x)
    return {"value": value, "jacobian": jacobian, "calls of f": len(calls)}


@check("a loop that ends when a condition says so", draw=draw_start)
def condition_loop(student, x, limit):
    def power(x):
        start = x * x[::-1]
        return lax.while_loop(lambda y: jnp.sum(y) < limit, lambda y: y * x, start)

    f, calls = counted(power)
    value, jacobian = student.value_and_jacfwd(f)(x)
    return {"value": value, "jacobian": jacobian, "calls of f": len(calls)}


# %% reference
def value_and_jacfwd(f):
    """A function of x that returns f(x) and the Jacobian, of shape f(x).shape + x.shape."""

    def both(x):
        value, push = jax.linearize(f, x)  # the only call of f
        directions = jnp.eye(x.size).reshape(x.size, *x.shape)  # each has a single 1
        columns = jax.vmap(push, out_axes=-1)(directions)
        return value, columns.reshape(*value.shape, *x.shape)

    return both


# %% right: jvp under vmap
def value_and_jacfwd(f):
    def both(x):
        def push(t):
            return jax.jvp(f, (x,), (t.reshape(x.shape),))

        value, columns = jax.vmap(push, out_axes=(None, -1))(jnp.eye(x.size))
        return value, columns.reshape(value.shape + x.shape)

    return both


# %% right: one push after the other
def value_and_jacfwd(f):
    def both(x):
        value, push = jax.linearize(f, x)
        columns = []
        for k in range(x.size):
            columns.append(push(jnp.zeros(x.size).at[k].set(1.0).reshape(x.shape)))
        return [value, jnp.stack(columns, axis=-1).reshape(*value.shape, *x.shape)]

    return both


# %% right: a class, and the axes are moved afterwards
class value_and_jacfwd:
    def __init__(self, f):
        self.f = f

    def __call__(self, x):
        ƒx, push = jax.linearize(self.f, x)
        rows = jax.vmap(lambda e: push(jnp.reshape(e, x.shape)))(jnp.identity(x.size))
        return ƒx, jnp.moveaxis(rows, 0, ƒx.ndim).reshape(*ƒx.shape, *x.shape)


# %% right: a function of a flat vector
def value_and_jacfwd(f):
    def both(x):
        def flat(v):
            return f(v.reshape(x.shape))

        def push(t):
            return jax.jvp(flat, (x.ravel(),), (t,))

        values, rows = jax.vmap(push)(jnp.eye(x.size))
        return values[0], jnp.stack(list(rows), -1).reshape(*values.shape[1:], *x.shape)

    return both


# %% wrong: a second run for the value
# You called f more than once: `jax.jvp` and `jax.linearize` return the value, too.
def value_and_jacfwd(f):
    def both(x):
        return f(x), jax.jacfwd(f)(x)

    return both


# %% wrong: a run for each direction
# You ran f anew for each direction: let `jax.vmap` push all tangents in one run, or linearize
# first.
def value_and_jacfwd(f):
    def both(x):
        value, columns = None, []
        for e in jnp.eye(x.size):
            value, column = jax.jvp(f, (x,), (e.reshape(x.shape),))
            columns.append(column)
        return value, jnp.stack(columns, -1).reshape(*value.shape, *x.shape)

    return both


# %% wrong: in reverse mode
# You used reverse mode, which cannot go back through a loop whose number of steps is unknown: push
# tangents forward.
def value_and_jacfwd(f):
    def both(x):
        value, pull = jax.vjp(f, x)
        cotangents = jnp.eye(value.size).reshape(value.size, *value.shape)
        rows = jax.vmap(lambda ct: pull(ct)[0])(cotangents)
        return value, rows.reshape(*value.shape, *x.shape)

    return both


# %% wrong: tangents that are flat
# Your tangents are flat: a tangent must have the shape of x, so reshape the rows of `jnp.eye`.
def value_and_jacfwd(f):
    def both(x):
        value, push = jax.linearize(f, x)
        columns = jax.vmap(push, out_axes=-1)(jnp.eye(x.size))
        return value, columns.reshape(*value.shape, *x.shape)

    return both


# %% wrong: the directions in front
# The axes of x came first: each push gives a column, so the axis of the directions goes last
# (`out_axes`).
def value_and_jacfwd(f):
    def both(x):
        value, push = jax.linearize(f, x)
        columns = jax.vmap(push)(jnp.eye(x.size).reshape(x.size, *x.shape))
        return value, columns.reshape(*x.shape, *value.shape)

    return both


# %% wrong: reshaped in place of moved
# You gave the array of columns another shape, which does not move an axis: numbers ended up in
# wrong places. Use `out_axes` or a transposition.
def value_and_jacfwd(f):
    def both(x):
        value, push = jax.linearize(f, x)
        columns = jax.vmap(push)(jnp.eye(x.size).reshape(x.size, *x.shape))
        return value, columns.reshape(*value.shape, *x.shape)

    return both


# %% wrong: all directions at once
# You pushed a single tangent of ones: that gives the sum of the columns. Push one direction for
# each element of x.
def value_and_jacfwd(f):
    return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))


# %% wrong: x as the directions
# You pushed x itself: the columns of the Jacobian belong to directions with a single 1.
def value_and_jacfwd(f):
    def both(x):
        value, push = jax.linearize(f, x)
        directions = jnp.eye(x.size).reshape(x.size, *x.shape) * x
        return value, jax.vmap(push, out_axes=-1)(directions).reshape(*value.shape, *x.shape)

    return both


# %% wrong: one axis for all of x
# Your Jacobian has one axis for all elements of x: reshape it, so that it ends with the axes of x.
def value_and_jacfwd(f):
    def both(x):
        value, push = jax.linearize(f, x)
        return value, jax.vmap(push, out_axes=-1)(jnp.eye(x.size).reshape(x.size, *x.shape))

    return both


# %% wrong: the Jacobian first
# You returned the Jacobian first: the pair is the value, and then the Jacobian.
def value_and_jacfwd(f):
    def both(x):
        value, push = jax.linearize(f, x)
        columns = jax.vmap(push, out_axes=-1)(jnp.eye(x.size).reshape(x.size, *x.shape))
        return columns.reshape(*value.shape, *x.shape), value

    return both


# %% wrong: a value for each direction
# Your value has an axis too many: `vmap` repeats it for each direction, unless `out_axes` says
# None.
def value_and_jacfwd(f):
    def both(x):
        def push(t):
            return jax.jvp(f, (x,), (t,))

        directions = jnp.eye(x.size).reshape(x.size, *x.shape)
        values, columns = jax.vmap(push, out_axes=(0, -1))(directions)
        return values, columns.reshape(*values.shape[1:], *x.shape)

    return both


# %% wrong: small steps
# You took small steps, which round digits away and run f many times: push tangents.
def value_and_jacfwd(f):
    def both(x):
        h, value = 1e-2, f(x)
        columns = [
            (f(x + h * e.reshape(x.shape)) - f(x - h * e.reshape(x.shape))) / (2 * h)
            for e in jnp.eye(x.size)
        ]
        return value, jnp.stack(columns, -1).reshape(*value.shape, *x.shape)

    return both


# %% wrong: nothing is returned
# Your function returns None: it must return a function of x.
def value_and_jacfwd(f):
    def both(x):
        value, push = jax.linearize(f, x)
        columns = jax.vmap(push, out_axes=-1)(jnp.eye(x.size).reshape(x.size, *x.shape))
        return value, columns.reshape(*value.shape, *x.shape)
