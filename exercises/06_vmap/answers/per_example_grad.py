# The card of the exercise per_example_grad. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # No example may pull too hard
#
# The gradient of a mean hides who pulls. Take the gradient of each example, shorten those that
# are too long, then take the mean: now no single example can spoil the step.
#
# `loss(params, x, y)` is the loss of **one** example. `params` is a dict of arrays. `xs` and
# `ys` hold N examples along axis 0. Write two functions.
#
# - `per_example_grad(loss, params, xs, ys)` returns a dict as `params` is. Each leaf has an axis
#   of N gradients in front, one for each example. Call `loss` once, not once for each example.
# - `clipped_mean(gradients, limit)` takes such a dict. The **length** of an example's gradient
#   is the square root of the sum of the squares of all its numbers, over all leaves. If it is
#   longer than `limit`, multiply this gradient by `limit / length`; otherwise leave it alone.
#   Return the mean over the examples: a dict as `params` is.
#
# For `gradients = {"b": [0., 4.], "w": [1., 3.]}`, two examples, the lengths are 1 and 5. With
# `limit = 2.5` the second is halved, and the mean is `{"b": 1., "w": 1.25}`.
#
# Run this file, or `tinyjax check per_example_grad`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def per_example_grad(loss, params, xs, ys):
    """The gradient of `loss` with respect to params for each example: a dict of leaves (N, ...)."""
    raise NotImplementedError


def clipped_mean(gradients, limit):
    """The mean of the gradients, each shortened to length `limit` if it is longer."""
    raise NotImplementedError


# %% [markdown] hint
# `jax.grad(loss)` gives the gradient of one example. Which of its arguments differ from example
# to example, and which is the same for all?

# %% [markdown] hint
# `vmap` works on any function of one example: on `jax.grad(loss)`, and also on a function that
# takes the gradient of one example, a dict, and shortens it. Its length needs all leaves at once:
# `jax.tree.leaves` lists them. `jnp.minimum(1, limit / length)` is the factor for both cases.

# %% [markdown] hint
#     def per_example_grad(loss, params, xs, ys):
#         return jax.vmap(..., in_axes=(..., ..., ...))(params, xs, ys)
#
#     def clipped_mean(gradients, limit):
#         def clip(g):  # of one example
#             length = jnp.sqrt(sum(... for leaf in jax.tree.leaves(g)))
#             return jax.tree.map(lambda leaf: ..., g)
#
#         clipped = jax.vmap(clip)(gradients)
#         return jax.tree.map(lambda leaf: ..., clipped)

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 30.0  # a solution may be compiled


def draw(rng):
    """Parameters, and examples of another number than there are inputs."""
    n, d = rng.choice([2, 3, 4, 5], size=2, replace=False)
    return {
        "params": {
            "b": rng.normal(size=()).round(1).astype(np.float32),
            "w": rng.normal(size=d).round(1).astype(np.float32),
        },
        "xs": rng.normal(size=(n, d)).round(1).astype(np.float32),
        "ys": rng.normal(1.0, 2.0, size=n).round(1).astype(np.float32),
    }


def loss_that_counts(calls):
    """The loss of one example, which lists its calls."""

    def loss(params, x, y):
        calls.append(y)
        out = jnp.sin(jnp.dot(params["w"], x) + params["b"])
        return (out - y) ** 2 + y * params["b"] ** 3

    return loss


@check("loss = (sin(w . x + b) - y)**2 + y * b**3, its gradient for each example")
def each_example(student, params, xs, ys):
    return student.per_example_grad(loss_that_counts([]), params, xs, ys)


@check("calls of loss: with these examples, and with three times as many")
def calls(student, params, xs, ys):
    few, many = [], []
    student.per_example_grad(loss_that_counts(few), params, xs, ys)
    xs, ys = jnp.concatenate([xs, xs, xs]), jnp.concatenate([ys, ys, ys])
    student.per_example_grad(loss_that_counts(many), params, xs, ys)
    return {"loss is called": bool(few), "more calls for more examples": len(many) - len(few)}


def draw_gradients(rng):
    """Gradients of five examples, the first two short, the others long, and a limit between."""
    grow = np.array([0.1, 0.2, 2.0, 3.0, 4.0])
    direction = rng.uniform(0.5, 1.0, size=(5, 6)) * rng.choice([-1, 1], size=(5, 6))
    numbers = (grow[:, None] * direction).round(2).astype(np.float32)
    return {
        "gradients": {
            "b": numbers[:, 0],
            "inner": {"w": numbers[:, 1:5].reshape(5, 2, 2)},
            "scale": numbers[:, 5],
        },
        "limit": round(rng.uniform(1.2, 2.0), 1),
    }


@check("the mean of clipped gradients", draw=draw_gradients)
def clipped(student, gradients, limit):
    return student.clipped_mean(gradients, limit)


# %% reference
def per_example_grad(loss, params, xs, ys):
    """The gradient of `loss` with respect to params for each example: a dict of leaves (N, ...)."""
    return jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(gradients, limit):
    """The mean of the gradients, each shortened to length `limit` if it is longer."""

    def clip(g):  # the gradient of one example
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        factor = jnp.minimum(1.0, limit / length)  # one factor for all leaves: same direction
        return jax.tree.map(lambda leaf: factor * leaf, g)

    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(clip)(gradients))


# %% right: the jacobian of all losses
def per_example_grad(loss, params, xs, ys):
    def losses(params):
        return jax.vmap(lambda x, y: loss(params, x, y))(xs, ys)

    return jax.jacrev(losses)(params)


def clipped_mean(gradients, limit):
    n = jax.tree.leaves(gradients)[0].shape[0]
    rows = jnp.concatenate([g.reshape(n, -1) for g in jax.tree.leaves(gradients)], axis=1)
    lengths = jnp.linalg.norm(rows, axis=1)
    factors = jnp.where(lengths > limit, limit / lengths, 1.0)
    return jax.tree.map(lambda g: jnp.tensordot(factors, g, axes=1) / n, gradients)


# %% right: forward mode, and a loop over gradients
def per_example_grad(loss, params, xs, ys):
    return jax.vmap(jax.jacfwd(loss), (None, 0, 0))(params, xs, ys)


def clipped_mean(gradients, limit):
    leaves, structure = jax.tree.flatten(gradients)
    n = len(leaves[0])
    total = [jnp.zeros(leaf.shape[1:]) for leaf in leaves]
    for i in range(n):
        length = float(sum(jnp.sum(leaf[i] ** 2) for leaf in leaves)) ** 0.5
        factor = limit / max(length, limit)
        total = [t + factor * leaf[i] / n for t, leaf in zip(total, leaves)]
    return jax.tree.unflatten(structure, total)


# %% right: params are closed over, a class with __call__
class PerExample:
    def __call__(self, loss, θ, xs, ys):
        def one(x, y):
            _, gradient = jax.value_and_grad(loss)(θ, x, y)
            return gradient

        return jax.vmap(one)(xs, ys)


per_example_grad = PerExample()


def clipped_mean(gradients, limit):
    squares = jax.tree.map(lambda g: jnp.sum(g.reshape(len(g), -1) ** 2, axis=1), gradients)
    length = jnp.sqrt(jax.tree.reduce(jnp.add, squares))
    factor = jnp.clip(limit / length, max=1.0)
    return jax.tree.map(lambda g: jnp.mean((g.T * factor).T, axis=0), gradients)


# %% wrong: a loop
# You looped over the examples, one call of loss for each: vmap calls it once for all of them.
def per_example_grad(loss, params, xs, ys):
    gradients = [jax.grad(loss)(params, x, y) for x, y in zip(xs, ys)]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *gradients)


def clipped_mean(gradients, limit):
    def clip(g):
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, g)

    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(clip)(gradients))


# %% wrong: the gradient of the mean
# You took the gradient of the mean loss: there must be one gradient for each example.
def per_example_grad(loss, params, xs, ys):
    def mean_loss(params):
        return jnp.mean(jax.vmap(loss, in_axes=(None, 0, 0))(params, xs, ys))

    return jax.grad(mean_loss)(params)


def clipped_mean(gradients, limit):
    def clip(g):
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, g)

    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(clip)(gradients))


# %% wrong: grad of vmap
# You took grad of the mapped loss, which returns N numbers: grad goes inside, vmap around it.
def per_example_grad(loss, params, xs, ys):
    return jax.grad(jax.vmap(loss, in_axes=(None, 0, 0)))(params, xs, ys)


def clipped_mean(gradients, limit):
    def clip(g):
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, g)

    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(clip)(gradients))


# %% wrong: params are mapped
# You mapped params as well: all examples share them, so their entry in in_axes is None.
def per_example_grad(loss, params, xs, ys):
    return jax.vmap(jax.grad(loss))(params, xs, ys)


def clipped_mean(gradients, limit):
    def clip(g):
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, g)

    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(clip)(gradients))


# %% wrong: with respect to x
# You differentiated with respect to x: the gradient is with respect to params, argument 0.
def per_example_grad(loss, params, xs, ys):
    return jax.vmap(jax.grad(loss, argnums=1), in_axes=(None, 0, 0))(params, xs, ys)


def clipped_mean(gradients, limit):
    def clip(g):
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, g)

    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(clip)(gradients))


# %% wrong: finite differences
# You took differences of losses, which lose digits in float32: jax.grad has them all.
def per_example_grad(loss, params, xs, ys):
    h = 1e-3
    losses = jax.vmap(loss, in_axes=(None, 0, 0))
    base = losses(params, xs, ys)
    columns = []
    for i in range(params["w"].size):
        moved = {**params, "w": params["w"].at[i].add(h)}
        columns.append((losses(moved, xs, ys) - base) / h)
    moved = {**params, "b": params["b"] + h}
    return {"b": (losses(moved, xs, ys) - base) / h, "w": jnp.stack(columns, axis=1)}


def clipped_mean(gradients, limit):
    def clip(g):
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, g)

    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(clip)(gradients))


# %% wrong: each leaf for itself
# You shortened each leaf by its own length: the length of a gradient goes over all its leaves.
def clipped_mean(gradients, limit):
    def clip(leaf):
        return leaf * jnp.minimum(1.0, limit / jnp.sqrt(jnp.sum(leaf**2)))

    clipped = jax.vmap(lambda g: jax.tree.map(clip, g))(gradients)
    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), clipped)


# %% wrong: the mean is clipped
# You took the mean first and shortened that: shorten the gradient of each example, then average.
def clipped_mean(gradients, limit):
    mean = jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), gradients)
    length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(mean)))
    return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, mean)


# %% wrong: short ones are stretched
# You brought every gradient to the length limit: those that are shorter stay as they are.
def clipped_mean(gradients, limit):
    def clip(g):
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: limit / length * leaf, g)

    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(clip)(gradients))


# %% wrong: each number is clipped
# You cut off each number at limit: that turns the gradient. Multiply all of it by one factor.
def clipped_mean(gradients, limit):
    return jax.tree.map(lambda leaf: jnp.mean(jnp.clip(leaf, -limit, limit), 0), gradients)


# %% wrong: the square of the length
# You compared the sum of squares with limit: the length is its square root.
def clipped_mean(gradients, limit):
    def clip(g):
        length = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g))
        return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, g)

    return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), jax.vmap(clip)(gradients))


# %% wrong: one length for all examples
# You took one length over all examples: each example has a length and a factor of its own.
def clipped_mean(gradients, limit):
    length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradients)))
    factor = jnp.minimum(1.0, limit / length)
    return jax.tree.map(lambda leaf: jnp.mean(factor * leaf, axis=0), gradients)


# %% wrong: a sum
# You added the shortened gradients: divide by the number of examples, their mean is asked for.
def clipped_mean(gradients, limit):
    def clip(g):
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, g)

    return jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), jax.vmap(clip)(gradients))


# %% wrong: the mean over everything
# You averaged over all axes: only the axis of the examples, axis 0, goes away.
def clipped_mean(gradients, limit):
    def clip(g):
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(g)))
        return jax.tree.map(lambda leaf: jnp.minimum(1.0, limit / length) * leaf, g)

    return jax.tree.map(jnp.mean, jax.vmap(clip)(gradients))
