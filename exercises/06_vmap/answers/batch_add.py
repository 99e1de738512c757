# The card of the exercise batch_add. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 35

# %% [markdown] statement
# # Build it: the batching rule of add
#
# When `vmap` meets `x + y`, it asks the batching rule of `add`: if an operand holds a whole
# batch, how do you add all at once, and where is the batch axis in the result? tinyjax keeps that
# rule in `tinyjax/primitives/rules.py`, as the method `batch` of the class `Elementwise`. Chapter
# 06 prints it. Write your own. It takes the place of the real one for `add`, `sub`, `mul`, `div`,
# `max` and `min`, and the package's `vmap` calls it.
#
# `batch_add(self, axis, vals, dims)` gets
#
# - `self`: the primitive, for example `lax.add_p`. `self.bind(x, y)` computes it.
# - `axis`: the mapped axis; `axis.size` is its length.
# - `vals`: the two operands, and `dims`: for each the place of its batch axis, or `None` if the
#   operand is the same for all.
#
# It returns the result and the place of its batch axis.
#
# `bind` is strict: its operands must have the same number of axes, where an axis of length 1
# stretches, or be a single number (`ndim` is 0). That holds for one element of the batch as well:
# both operands have the same number of axes, or one of them is a number.
#
# An example: `vals` of shapes (5, 3) and (3,), `dims = [0, None]`. Five vectors meet a shared
# one, so the second must become (1, 3). The result has the shape (5, 3), its batch axis is 0.
#
# Run this file, or `tinyjax check batch_add`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


# %% stub
def batch_add(self, axis, vals, dims, /, **params):
    """The primitive `self`, of two operands, on a whole batch -> result, its batch axis."""
    raise NotImplementedError


# %% [markdown] hint
# Say that x is a batch of vectors, y is a vector for all. Which shape must y get so that
# `self.bind(x, y)` adds it to each vector?

# %% [markdown] hint
# Bring every batch axis to the front with `jnp.moveaxis`. An operand without one gets an axis of
# length 1 there, which stretches. Now all batch axes are at place 0, and so is the result's.
# One case is left: a batch of numbers, shape (5,), meets a batch of vectors, shape (5, 3). Without
# help its only axis would meet the last axis of the other one. It must become (5, 1).

# %% [markdown] hint
#     def batch_add(self, axis, vals, dims, /, **params):
#         rank = ...  # of one element: the larger of the two
#         fronts = []
#         for x, d in zip(vals, dims):
#             x = ... if d is None else jnp.moveaxis(x, ..., ...)
#             while x.ndim < 1 + rank:
#                 x = jnp.expand_dims(x, ...)
#             fronts.append(x)
#         return self.bind(*fronts, **params), ...

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.extend.core import jaxpr_as_fun
from tinyjax.learn import check, run_examples
from tinyjax.primitives.rules import Elementwise

BINARY = ("add", "sub", "mul", "div", "max", "min")


def install(student):
    """The student's rule takes the place of the one on six cards."""
    others = Elementwise.batch

    def batch(self, axis, vals, dims, /, **params):
        rule = student.batch_add if self.name in BINARY else others
        return rule(self, axis, vals, dims, **params)

    Elementwise.batch = batch


def draw(rng):
    """A matrix, and numbers that make a batch of matrices of it; no two sizes alike."""
    n, r, c = (int(size) for size in rng.choice([2, 3, 4, 5], size=3, replace=False))
    return {
        "one": rng.normal(size=(r, c)).round(1).astype(np.float32),
        "steps": rng.normal(size=n).round(1).astype(np.float32),
    }


def batch_of(one, steps):
    """A batch of matrices, mapped along axis 0."""
    s = steps[:, None, None]
    return s * one + s**2


def flat(result):
    """A result in one line."""
    return [f"shape {result.shape}", jnp.ravel(result)]


def mapped_add(in_axes, *operands, **axes):
    """The result of vmap(lax.add), run from its jaxpr, whose types are strict."""
    program = jax.make_jaxpr(jax.vmap(lax.add, in_axes=in_axes, **axes))(*operands)
    return flat(jaxpr_as_fun(program)(*operands)[0])


@check("lax.add of a mapped and a shared operand")
def shared(student, one, steps):
    batch = batch_of(one, steps)
    return {
        "x is mapped along 0": mapped_add((0, None), batch, one),
        "y is mapped along 2": mapped_add((None, 2), one, jnp.moveaxis(batch, 0, 2)),
    }


@check("lax.add of operands that are mapped along different axes")
def different_axes(student, one, steps):
    batch = batch_of(one, steps)
    middle, last = jnp.moveaxis(batch, 0, 1), jnp.moveaxis(batch, 0, 2)
    return {
        "x along 1, y along 2": mapped_add((1, 2), middle, last),
        "both along 1": mapped_add((1, 1), middle, 2 * middle, out_axes=2),
    }


@check("lax.add of a number and a matrix")
def numbers(student, one, steps):
    batch = batch_of(one, steps)
    return {
        "numbers and matrices": mapped_add((0, 0), steps, batch),
        "matrices and numbers": mapped_add((0, 0), batch, steps),
        "one number for all": mapped_add((None, 2), jnp.float32(1.5), jnp.moveaxis(batch, 0, 2)),
    }


@check("lax.add in two vmaps: the result, and how many adds the jaxpr has")
def nested(student, one, steps):
    batch = batch_of(one, steps)
    twice = jax.vmap(jax.vmap(lax.add))
    jaxpr = jax.make_jaxpr(twice)(batch, 2 * batch)
    adds = [eqn for eqn in jaxpr.eqns if str(eqn.primitive) == "add"]
    return {"result": flat(twice(batch, 2 * batch)), "adds": len(adds)}


def nothing(rng):
    """No inputs."""
    return {}


@check("the package's own examples", draw=nothing, draws=1)
def examples(student):
    return run_examples(jax.vmap, jax.jacfwd, jax.hessian, lax.pmean, lax.axis_index)


# %% reference
def batch_add(self, axis, vals, dims, /, **params):
    """The primitive `self`, of two operands, on a whole batch -> result, its batch axis."""
    rank = max(x.ndim - (d is not None) for x, d in zip(vals, dims))  # of one element
    fronts = []
    for x, d in zip(vals, dims):
        x = jnp.expand_dims(x, 0) if d is None else jnp.moveaxis(x, d, 0)
        while x.ndim < 1 + rank:  # numbers meet arrays: their new axes come last
            x = jnp.expand_dims(x, -1)
        fronts.append(x)
    return self.bind(*fronts, **params), 0


# %% right: everything is stretched
def batch_add(self, axis, vals, dims, /, **params):
    def element_shape(x, d):
        return x.shape if d is None else x.shape[:d] + x.shape[d + 1 :]

    full = jnp.broadcast_shapes(*map(element_shape, vals, dims))

    def stretch(x, d):
        if d is None:
            return jnp.broadcast_to(x, (axis.size, *full))
        x = jnp.moveaxis(x, d, 0)
        x = x.reshape(axis.size, *(1,) * (len(full) + 1 - x.ndim), *x.shape[1:])
        return jnp.broadcast_to(x, (axis.size, *full))

    return self.bind(*map(stretch, vals, dims), **params), 0


# %% right: the batch axis comes last
def batch_add(self, axis, vals, dims, /, **params):
    def back(x, d):
        return x[..., None] if d is None else jnp.moveaxis(x, d, -1)

    x, y = map(back, vals, dims)
    while x.ndim < y.ndim:
        x = x[None]
    while y.ndim < x.ndim:
        y = y[None]
    return self.bind(x, y, **params), x.ndim - 1


# %% right: case by case
def batch_add(self, axis, vals, dims, /, **params):
    (x, y), (i, j) = vals, dims
    if j is None:
        if y.ndim == 0:
            return self.bind(x, y, **params), i
        if x.ndim == 1:
            x, i = x.reshape((-1,) + (1,) * y.ndim), 0
        return self.bind(x, lax.expand_dims(y, (i,)), **params), i
    if i is None:
        if x.ndim == 0:
            return self.bind(x, y, **params), j
        if y.ndim == 1:
            y, j = y.reshape((-1,) + (1,) * x.ndim), 0
        return self.bind(lax.expand_dims(x, (j,)), y, **params), j
    x, y = jnp.moveaxis(x, i, 0), jnp.moveaxis(y, j, 0)
    if x.ndim == 1:
        x = jnp.expand_dims(x, tuple(range(1, y.ndim)))
    if y.ndim == 1:
        y = jnp.expand_dims(y, tuple(range(1, x.ndim)))
    return self.bind(x, y, **params), 0


# %% wrong: a shared operand stays as it is
# You left a shared operand without a batch axis: it needs one of length 1, or ranks differ.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    for i, (x, d) in enumerate(zip(fronts, dims)):
        if d is not None:
            fronts[i] = x.reshape(x.shape + (1,) * (rank - x.ndim))
    return self.bind(*fronts, **params), 0


# %% wrong: a shared operand gets its axis at the end
# You gave a shared operand its new axis at the end: it belongs where the batch axis is, in front.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[..., None] if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in fronts]
    return self.bind(*fronts, **params), 0


# %% wrong: batch axes stay where they are
# You took it that batch axes come first: dims says where they are, so move them to the front.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[None] if d is None else x for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in fronts]
    return self.bind(*fronts, **params), 0


# %% wrong: the old place is reported
# You moved the batch axis to the front and returned its old place: the result has it at 0.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[None] if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in fronts]
    return self.bind(*fronts, **params), next(d for d in dims if d is not None)


# %% wrong: both at the first one's place
# You took the place of the first batch axis for both: each operand has a place of its own.
def batch_add(self, axis, vals, dims, /, **params):
    at = next(d for d in dims if d is not None)
    fronts = [x[None] if d is None else jnp.moveaxis(x, at, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in fronts]
    return self.bind(*fronts, **params), 0


# %% wrong: swapped instead of moved
# You swapped the batch axis with axis 0: that also moves the other one, moveaxis keeps the order.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[None] if d is None else jnp.swapaxes(x, d, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in fronts]
    return self.bind(*fronts, **params), 0


# %% wrong: numbers are left alone
# Your batch of numbers has one axis and meets arrays with more: give it axes of length 1 behind.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[None] if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    return self.bind(*fronts, **params), 0


# %% wrong: numbers get their axes in front
# You gave a batch of numbers its new axes in front: they come behind, the batch axis stays first.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[None] if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape((1,) * (rank - x.ndim) + x.shape) for x in fronts]
    return self.bind(*fronts, **params), 0


# %% wrong: a loop
# You looped over the batch, one bind for each element: a batching rule binds once, for all of it.
def batch_add(self, axis, vals, dims, /, **params):
    results = []
    for i in range(axis.size):
        element = [x if d is None else jnp.take(x, i, axis=d) for x, d in zip(vals, dims)]
        results.append(self.bind(*element, **params))
    return jnp.stack(results), 0


# %% wrong: with impl
# You called impl, which takes NumPy arrays only: inside jit or another vmap there are tracers.
import numpy as np


def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[None] if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in fronts]
    return jnp.asarray(self.impl(*map(np.asarray, fronts), **params)), 0


# %% wrong: always a sum
# You added, whatever the primitive is: self may be mul or sub, so use self.bind.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[None] if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in fronts]
    return lax.add(*fronts), 0


# %% wrong: the operands are swapped
# You bound y before x: add does not mind, but sub and div do.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[None] if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in fronts]
    return self.bind(*reversed(fronts), **params), 0


# %% wrong: only the result
# You returned the result alone: vmap also needs to know where its batch axis is.
def batch_add(self, axis, vals, dims, /, **params):
    fronts = [x[None] if d is None else jnp.moveaxis(x, d, 0) for x, d in zip(vals, dims)]
    rank = max(x.ndim for x in fronts)
    fronts = [x.reshape(x.shape + (1,) * (rank - x.ndim)) for x in fronts]
    return self.bind(*fronts, **params)


# %% wrong: the rule of the package
# You called the rule that yours takes the place of, so it calls itself: write down what it does.
def batch_add(self, axis, vals, dims, /, **params):
    return type(self).batch(self, axis, vals, dims, **params)
