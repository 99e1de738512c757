# The card of the exercise tree_sgd. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 15

# %% [markdown] statement
# # Gradient descent with momentum, for any tree
#
# With momentum, a step does not follow the gradient alone. It follows a velocity, which remembers
# the gradients before. For one number the rule is
#
#     velocity = momentum * velocity + gradient
#     param = param - lr * velocity            (with the new velocity)
#
# Write `momentum_step(params, velocity, gradient, lr, momentum)` for three pytrees of the same
# structure, whatever that is. Return the new `params` and the new `velocity`. For example
#
#     momentum_step({"w": 1.0}, {"w": 2.0}, {"w": 3.0}, 0.1, 0.5)   # {"w": 0.6}, {"w": 4.0}
#
# Run this file, or `tinyjax check tree_sgd`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def momentum_step(params, velocity, gradient, lr, momentum):
    """One step for all leaves: the new params and the new velocity."""
    raise NotImplementedError


# %% [markdown] hint
# Which function calls another one on all leaves of several trees that belong together?

# %% [markdown] hint
# `jax.tree.map(f, a, b)` calls `f` with a leaf of `a` and the leaf of `b` in the same place, and
# packs the results as `a` is packed. You need it twice: once for the velocity, once for the
# params.

# %% [markdown] hint
#     def momentum_step(params, velocity, gradient, lr, momentum):
#         velocity = jax.tree.map(lambda v, g: ..., velocity, gradient)
#         params = jax.tree.map(lambda p, v: ..., ..., ...)
#         return ..., ...

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check


def numbers(rng, *shape):
    """A random array."""
    return rng.normal(size=shape).round(2).astype(np.float32)


def draw(rng):
    """The leaves of three trees, and a learning rate and a momentum that are no round numbers."""
    leaves = lambda: [numbers(rng, 2, 3), numbers(rng, 3), numbers(rng, 3, 1), numbers(rng)]
    return {
        "params": leaves(),
        "velocity": leaves(),
        "gradient": leaves(),
        "lr": round(rng.uniform(0.05, 0.4), 3),
        "momentum": round(rng.uniform(0.2, 0.8), 3),
    }


def draw_start(rng):
    """As draw; the velocity is zero, as at the beginning."""
    drawn = draw(rng)
    return {**drawn, "velocity": [np.zeros_like(leaf) for leaf in drawn["params"]]}


@check("a network: a list of dicts")
def network(student, params, velocity, gradient, lr, momentum):
    def tree(leaves):
        W, b, V, c = map(jnp.asarray, leaves)
        return [{"W": W, "b": b}, {"W": V, "b": c}]

    trees = [tree(leaves) for leaves in (params, velocity, gradient)]
    return [*student.momentum_step(*trees, lr, momentum), trees[0]]


@check("the first step, with tuples and None in the tree", draw=draw_start)
def first_step(student, params, velocity, gradient, lr, momentum):
    def tree(leaves):
        a, b, c, d = map(jnp.asarray, leaves)
        return {"layers": ((a, None), (b, c)), "scale": d}

    trees = [tree(leaves) for leaves in (params, velocity, gradient)]
    new_params, new_velocity = student.momentum_step(*trees, lr, momentum)
    return [new_params, new_velocity, str(jax.tree.structure(new_params))]


# %% reference
def momentum_step(params, velocity, gradient, lr, momentum):
    """One step for all leaves: the new params and the new velocity."""
    velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, gradient)
    params = jax.tree.map(lambda p, v: p - lr * v, params, velocity)
    return params, velocity


# %% right: flat lists
def momentum_step(params, velocity, gradient, lr, momentum):
    leaves, structure = jax.tree.flatten(params)
    new_params, new_velocity = [], []
    for p, v, g in zip(leaves, jax.tree.leaves(velocity), jax.tree.leaves(gradient)):
        new_velocity.append(momentum * v + g)
        new_params.append(p - lr * new_velocity[-1])
    return [jax.tree.unflatten(structure, new) for new in (new_params, new_velocity)]


# %% right: as vectors
from tinyjax.flatten_util import ravel_pytree


def momentum_step(params, velocity, gradient, lr, momentum):
    p, unravel = ravel_pytree(params)
    v = momentum * ravel_pytree(velocity)[0] + ravel_pytree(gradient)[0]
    return unravel(p - lr * v), unravel(v)


# %% right: three trees at once
def momentum_step(params, velocity, gradient, lr, momentum):
    def new_param(p, v, g):
        return p - lr * momentum * v - lr * g

    return (
        jax.tree.map(new_param, params, velocity, gradient),
        jax.tree.map(lambda v, g: momentum * v + g, velocity, gradient),
    )


# %% right: a recursion over all containers, in a class
class Momentum:
    def __call__(self, params, velocity, gradient, lr, μ):
        if params is None:
            return None, None
        if isinstance(params, (list, tuple)):
            pairs = [self(*entries, lr, μ) for entries in zip(params, velocity, gradient)]
            return type(params)(p for p, _ in pairs), type(params)(v for _, v in pairs)
        if isinstance(params, dict):
            pairs = {k: self(params[k], velocity[k], gradient[k], lr, μ) for k in params}
            return {k: p for k, (p, _) in pairs.items()}, {k: v for k, (_, v) in pairs.items()}
        velocity = μ * velocity + gradient
        return params - lr * velocity, velocity


momentum_step = Momentum()


# %% wrong: dicts and lists only
# You took the containers apart yourself, and met one that you did not think of: jax.tree.map
# knows them all.
def mapped(f, *trees):
    if isinstance(trees[0], dict):
        return {k: mapped(f, *[tree[k] for tree in trees]) for k in trees[0]}
    if isinstance(trees[0], list):
        return [mapped(f, *entries) for entries in zip(*trees)]
    return f(*trees)


def momentum_step(params, velocity, gradient, lr, momentum):
    velocity = mapped(lambda v, g: momentum * v + g, velocity, gradient)
    return mapped(lambda p, v: p - lr * v, params, velocity), velocity


# %% wrong: the keys of one dict
# You took the containers apart yourself, and met one that you did not think of: jax.tree.map
# knows them all.
def momentum_step(params, velocity, gradient, lr, momentum):
    velocity = {k: momentum * velocity[k] + gradient[k] for k in params}
    return {k: params[k] - lr * velocity[k] for k in params}, velocity


# %% wrong: in place
# You wrote into the dicts that you were given, and so changed the old params: build new trees.
def momentum_step(params, velocity, gradient, lr, momentum):
    for p, v, g in zip(params, velocity, gradient):
        for name in p:
            v[name] = momentum * v[name] + g[name]
            p[name] = p[name] - lr * v[name]
    return params, velocity


# %% wrong: the learning rate in the velocity
# Your velocity has the learning rate in it: by the rule of the statement lr counts when params
# move.
def momentum_step(params, velocity, gradient, lr, momentum):
    velocity = jax.tree.map(lambda v, g: momentum * v - lr * g, velocity, gradient)
    return jax.tree.map(lambda p, v: p + v, params, velocity), velocity


# %% wrong: None as a leaf
# You told tree.map to take None for a leaf, so your function got it: without is_leaf, None is
# left out.
def momentum_step(params, velocity, gradient, lr, momentum):
    nothing = lambda x: x is None
    new_velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, gradient, is_leaf=nothing)
    return jax.tree.map(lambda p, v: p - lr * v, params, new_velocity), new_velocity


# %% wrong: no memory
# Your velocity forgets: it is momentum times the old velocity, plus the gradient.
def momentum_step(params, velocity, gradient, lr, momentum):
    return jax.tree.map(lambda p, g: p - lr * g, params, gradient), gradient


# %% wrong: params follow the gradient
# Your params follow the gradient: it is the velocity that they follow.
def momentum_step(params, velocity, gradient, lr, momentum):
    new_velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, gradient)
    return jax.tree.map(lambda p, g: p - lr * g, params, gradient), new_velocity


# %% wrong: the old velocity
# Your params follow the old velocity: compute the new one first.
def momentum_step(params, velocity, gradient, lr, momentum):
    params = jax.tree.map(lambda p, v: p - lr * v, params, velocity)
    velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, gradient)
    return params, velocity


# %% wrong: momentum times the gradient
# You scaled the gradient by the momentum: it is the old velocity that shrinks.
def momentum_step(params, velocity, gradient, lr, momentum):
    velocity = jax.tree.map(lambda v, g: v + momentum * g, velocity, gradient)
    return jax.tree.map(lambda p, v: p - lr * v, params, velocity), velocity


# %% wrong: a mean of both
# You weighed the gradient by 1 - momentum: in this rule it counts in full.
def momentum_step(params, velocity, gradient, lr, momentum):
    velocity = jax.tree.map(lambda v, g: momentum * v + (1 - momentum) * g, velocity, gradient)
    return jax.tree.map(lambda p, v: p - lr * v, params, velocity), velocity


# %% wrong: uphill
# You went uphill: lr times the velocity is subtracted.
def momentum_step(params, velocity, gradient, lr, momentum):
    velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, gradient)
    return jax.tree.map(lambda p, v: p + lr * v, params, velocity), velocity


# %% wrong: arithmetic with trees
# You computed with whole trees, but dicts and lists know no arithmetic: use jax.tree.map.
def momentum_step(params, velocity, gradient, lr, momentum):
    velocity = momentum * velocity + gradient
    return params - lr * velocity, velocity


# %% wrong: lists of leaves
# You returned lists of leaves: put them together again with jax.tree.unflatten.
def momentum_step(params, velocity, gradient, lr, momentum):
    leaves = map(jax.tree.leaves, (params, velocity, gradient))
    new = [(p - lr * (momentum * v + g), momentum * v + g) for p, v, g in zip(*leaves)]
    return [p for p, _ in new], [v for _, v in new]


# %% wrong: the other way round
# You returned the velocity first: the params come first.
def momentum_step(params, velocity, gradient, lr, momentum):
    velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, gradient)
    return velocity, jax.tree.map(lambda p, v: p - lr * v, params, velocity)


# %% wrong: the params alone
# You returned the params alone: the next step needs the new velocity, too.
def momentum_step(params, velocity, gradient, lr, momentum):
    velocity = jax.tree.map(lambda v, g: momentum * v + g, velocity, gradient)
    return jax.tree.map(lambda p, v: p - lr * v, params, velocity)
