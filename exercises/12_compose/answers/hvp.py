# The card of the exercise hvp. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 15

# %% [markdown] statement
# # The Hessian along many directions
#
# The Hessian of `f` at `x` says how the gradient changes when `x` moves. For a million parameters
# nobody can store it. But its product with a direction `v` is only as long as `v`, and `jvp` of
# `grad(f)` computes it without the matrix (chapter 08).
#
# Write `hvps(f, x, directions)` for several directions. `f` takes an array of shape `(n,)` and
# returns a number, `x` is such an array, and `directions` has the shape `(m, n)`. The result has
# this shape, too: row `i` is the Hessian of `f` at `x`, times row `i` of `directions`. No array in
# your program may be as large as the Hessian: the checks trace your function to see that.
#
# For `f(x) = x[0]**2 * x[1]` at `x = [3., 1.]`, the directions `[[1., 0.], [1., 2.]]` give
# `[[2., 6.], [14., 6.]]`.
#
# Run this file, or `tinyjax check hvp`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def hvps(f, x, directions):
    """The Hessian of f at x, times each of the directions."""
    raise NotImplementedError


# %% [markdown] hint
# How would you write it for one direction, and what does that function take and return?

# %% [markdown] hint
# `jax.jvp(g, (x,), (v,))` returns two things: `g(x)`, and how `g(x)` changes when `x` moves along
# `v`. With `jax.grad(f)` in the place of `g`, the second one is the Hessian times `v`. For many
# directions, `jax.vmap` maps over `v`, while `x` stays.

# %% [markdown] hint
#     def hvps(f, x, directions):
#         def one(v):
#             return jax.jvp(..., (x,), (...,))[...]
#
#         return jax.vmap(...)(directions)

# %% checks
import math

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 30.0  # some will use jit, which compiles


def draw(rng):
    """The numbers of a function with a full Hessian and a steep slope, a point, directions."""
    n, m = int(rng.integers(4, 6)), int(rng.integers(2, 4))
    return {
        "f": "sum(a * sin(x)) + x[0] * dot(b, x)**2 + 100 * dot(a, x)",
        "a": rng.uniform(0.5, 1.5, size=n).round(2).astype(np.float32),
        "b": rng.normal(size=n).round(2).astype(np.float32),
        "x": rng.normal(size=n).round(2).astype(np.float32),
        "directions": rng.normal(size=(m, n)).round(2).astype(np.float32),
    }


def draw_long(rng):
    """The same for a long x."""
    return {
        "f": "sum(a * sin(x))**2",
        "a": rng.uniform(0.5, 1.5, size=40).round(2).astype(np.float32),
        "x": rng.normal(size=40).round(2).astype(np.float32),
        "directions": rng.normal(size=(2, 40)).round(2).astype(np.float32),
    }


@check("the products")
def products(student, f, a, b, x, directions):
    def formula(x):
        return jnp.sum(a * jnp.sin(x)) + x[0] * jnp.dot(b, x) ** 2 + 100.0 * jnp.dot(a, x)

    return student.hvps(formula, x, directions)


def shapes(jaxpr):
    """The shapes of all arrays in a program and in those inside of it."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    for eqn in jaxpr.eqns:
        yield from (v.aval.shape for v in eqn.outvars)
        for inner in eqn.params.values():
            if hasattr(inner, "jaxpr") or hasattr(inner, "eqns"):
                yield from shapes(inner)


@check("no array is as large as the Hessian", draw=draw_long)
def memory(student, f, a, x, directions):
    def formula(x):
        return jnp.sum(a * jnp.sin(x)) ** 2

    def run(x, directions):
        return jnp.asarray(student.hvps(formula, x, directions))

    program = jax.make_jaxpr(run)(x, directions)
    found = list(shapes(program))
    return {
        "shapes of the results": [str(v.aval.shape) for v in program.jaxpr.outvars],
        "arrays (counted up to 5)": min(len(found), 5),  # what computes nothing has none
        "large arrays": sorted({str(shape) for shape in found if math.prod(shape) >= 40 * 40}),
    }


# %% reference
def hvps(f, x, directions):
    """The Hessian of f at x, times each of the directions."""

    def one(v):  # forward over reverse: one direction, one output
        return jax.jvp(jax.grad(f), (x,), (v,))[1]

    return jax.vmap(one)(directions)


# %% right: linearize once
def hvps(f, x, directions):
    _, push = jax.linearize(jax.grad(f), x)
    return jax.vmap(push)(directions)


# %% right: a loop, with reverse over reverse
def hvps(f, x, directions):
    rows = [jax.grad(lambda y, v=v: jnp.vdot(jax.grad(f)(y), v))(x) for v in directions]
    return jnp.stack(rows)


# %% right: reverse over forward
def hvps(f, x, directions):
    def slope_along(y, v):
        return jax.jvp(f, (y,), (v,))[1]

    return jax.vmap(jax.grad(slope_along), in_axes=(None, 0))(x, directions)


# %% right: the Hessian is its own transpose
def hvps(f, x, directions):
    _, pull = jax.vjp(jax.grad(f), x)
    return [pull(v)[0] for v in directions]


# %% right: a class that walks along the direction
class Along:
    def __init__(self, f, x):
        self.pente, self.x = jax.grad(f), x

    def __call__(self, v):
        return jax.jacfwd(lambda t: self.pente(self.x + t * v))(0.0)


def hvps(f, x, directions):
    return jax.vmap(Along(f, x))(directions)


# %% wrong: the whole Hessian
# You built the whole Hessian, n times n numbers: push each direction through grad(f) with jvp.
def hvps(f, x, directions):
    return directions @ jax.hessian(f)(x)


# %% wrong: the Hessian row by row
# You built the whole Hessian, n times n numbers: push each direction through grad(f) with jvp.
def hvps(f, x, directions):
    units = jnp.eye(len(x))
    rows = jax.vmap(lambda e: jax.jvp(jax.grad(f), (x,), (e,))[1])(units)
    return jnp.stack([rows @ v for v in directions])


# %% wrong: the product from the wrong side
# You multiplied the Hessian by the directions as columns, and they are rows; nor may it be built.
def hvps(f, x, directions):
    return jax.hessian(f)(x) @ directions


# %% wrong: the gradient
# You returned the gradient: jvp gives a pair, and its second part is the change of the gradient.
def hvps(f, x, directions):
    return jax.vmap(lambda v: jax.jvp(jax.grad(f), (x,), (v,))[0])(directions)


# %% wrong: both parts of the pair
# You returned both parts of what jvp gives: the second one is the product with the Hessian.
def hvps(f, x, directions):
    return jax.vmap(lambda v: jax.jvp(jax.grad(f), (x,), (v,)))(directions)


# %% wrong: the slope of f
# You took the slope of f along each direction: it is the gradient of f whose change is asked for.
def hvps(f, x, directions):
    return jax.vmap(lambda v: jax.jvp(f, (x,), (v,))[1])(directions)


# %% wrong: the bend of f
# You multiplied by the direction a second time, which gives one number: a product with H is a row.
def hvps(f, x, directions):
    return jax.vmap(lambda v: jnp.vdot(v, jax.jvp(jax.grad(f), (x,), (v,))[1]))(directions)


# %% wrong: the gradient times the direction
# You multiplied the gradient by the direction: differentiate the gradient along the direction.
def hvps(f, x, directions):
    return directions * jax.grad(f)(x)


# %% wrong: a sum over the gradient
# You summed the gradient before the second grad, which mixes its entries: use jvp of the gradient.
def hvps(f, x, directions):
    return directions * jax.grad(lambda y: jnp.sum(jax.grad(f)(y)))(x)


# %% wrong: grad of grad
# You took grad of grad: the inner one returns n numbers, and grad needs one; use jvp around it.
def hvps(f, x, directions):
    return jax.vmap(lambda v: jax.grad(jax.grad(f))(x) * v)(directions)


# %% wrong: point and direction exchanged
# You exchanged the point and the direction: jvp takes the point first, then the tangent.
def hvps(f, x, directions):
    return jax.vmap(lambda v: jax.jvp(jax.grad(f), (v,), (x,))[1])(directions)


# %% wrong: the point is mapped, too
# You mapped over x as well: it is the same for all directions, so its in_axes is None.
def hvps(f, x, directions):
    def one(x, v):
        return jax.jvp(jax.grad(f), (x,), (v,))[1]

    return jax.vmap(one)(x, directions)


# %% wrong: no vmap
# You pushed all directions at once: a tangent has the shape of x, so map over the directions.
def hvps(f, x, directions):
    return jax.jvp(jax.grad(f), (x,), (directions,))[1]


# %% wrong: the sum of the directions
# You added the directions up before the product: each has a row of its own in the result.
def hvps(f, x, directions):
    return jax.jvp(jax.grad(f), (x,), (directions.sum(axis=0),))[1]


# %% wrong: columns
# You stacked the products as columns: product i is row i, so leave out_axes at 0.
def hvps(f, x, directions):
    return jax.vmap(lambda v: jax.jvp(jax.grad(f), (x,), (v,))[1], out_axes=1)(directions)


# %% wrong: unit directions
# You divided each direction by its length: the product is with the direction as it is.
def hvps(f, x, directions):
    units = directions / jnp.linalg.norm(directions, axis=1, keepdims=True)
    return jax.vmap(lambda v: jax.jvp(jax.grad(f), (x,), (v,))[1])(units)


# %% wrong: finite differences
# You took differences of gradients, and most digits round away: jvp of the gradient is exact.
def hvps(f, x, directions):
    h = 1e-3
    return jax.vmap(lambda v: (jax.grad(f)(x + h * v) - jax.grad(f)(x)) / h)(directions)


# %% wrong: the tuple of vjp
# You returned the tuple that a pullback gives, one entry for each input: take its first entry.
def hvps(f, x, directions):
    return jax.vmap(jax.vjp(jax.grad(f), x)[1])(directions)
