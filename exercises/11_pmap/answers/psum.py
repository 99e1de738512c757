# The card of the exercise psum. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 30

# %% [markdown] statement
# # Two rules of psum
#
# On devices, `lax.psum(x, "i")` is an exchange. Under `vmap` there are no devices, and under `grad`
# something has to flow back. The primitive `psum` has a rule for each. They live in
# `tinyjax/transforms/named_reductions.py`. Write both; yours take their place in the package, and
# `vmap`, `grad`, `pmap` and `lax.pmean` then run on them.
#
# **`batch_along(axis, x, d, ...)`** is called when `vmap` maps along the axis that `psum` sums
# over. `axis.name` and `axis.size` tell which axis that is. `x` is the whole array, with the
# elements along its axis `d`. If `d` is `None`, `x` has no such axis: all `axis.size` elements are
# equal to `x`. Return a pair: the result, and the axis along which its elements lie. That is `None`
# if the result is the same for all elements. So for `x = [[1, 2], [3, 4], [5, 6]]` and `d = 0`,
# one right answer is `([9, 12], None)`.
#
# **`transpose(ct, x, ...)`** is called when a gradient flows back through `psum`. It runs for each
# element (or on each device). `ct` is the cotangent of the result there; `x` only tells the shape
# and dtype of the operand. Return a list with one entry: the cotangent of the operand. All
# results depend on each operand, so each operand hears from all of them.
#
# `axes` is what `lax.psum` was called with, here a tuple with one name. `axis_index_groups` is
# `None` here. (With several names, or groups, the package's own rules stay.)
#
# Run this file, or `tinyjax check psum`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


# %% stub
def batch_along(axis, x, d, *, axes, axis_index_groups):
    """psum over the axis that vmap maps: the result, and its axis of elements or None."""
    raise NotImplementedError


def transpose(ct, x, *, axes, axis_index_groups):
    """The cotangent of psum's operand, in a list."""
    raise NotImplementedError


# %% [markdown] hint
# Device 2 has the operand x2. Which results change when x2 changes, and by how much?

# %% [markdown] hint
# Under `vmap`, the sum over elements is a sum along one axis of an array, and afterwards nobody
# differs. Going back: result 0 is x0 + x1 + x2, and so are results 1 and 2. So x2 is in
# all of them, and its cotangent is the sum of all cotangents. You know a function for that sum.

# %% [markdown] hint
#     def batch_along(axis, x, d, *, axes, axis_index_groups):
#         if d is None:
#             return ..., None  # equal elements, axis.size of them
#         return jnp.sum(x, axis=...), ...
#
#     def transpose(ct, x, *, axes, axis_index_groups):
#         return [lax.???(ct, axes)]

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import check, run_examples
from tinyjax.transforms.named_reductions import psum_p

devices = 4
seconds = 60.0


def install(student):
    """The student's rules take the place of the package's, where one name is summed over."""
    batch_along, transpose = psum_p.batch_along, psum_p.transpose

    def simple(axes, groups):
        return len(axes) == 1 and isinstance(axes[0], str) and groups is None

    def batch_rule(axis, x, d, *, axes, axis_index_groups):
        rule = student.batch_along if simple(axes, axis_index_groups) else batch_along
        return rule(axis, x, d, axes=axes, axis_index_groups=axis_index_groups)

    def transpose_rule(ct, x, *, axes, axis_index_groups):
        rule = student.transpose if simple(axes, axis_index_groups) else transpose
        return rule(ct, x, axes=axes, axis_index_groups=axis_index_groups)

    psum_p.batch_along, psum_p.transpose = batch_rule, transpose_rule


def draw(rng):
    """A matrix that is not square."""
    return {"x": rng.uniform(0.5, 2.0, size=(3, 4)).round(1).astype(np.float32)}


def draw_two(rng):
    """Arrays for two vmaps, one inside the other."""
    return {
        "x": rng.normal(size=(3, 2)).round(1).astype(np.float32),
        "y": rng.normal(size=(4, 2)).round(1).astype(np.float32),
    }


def draw_weighted(rng):
    """Rows for three devices, and weights that tell their results apart."""
    return {
        "x": rng.uniform(0.2, 1.2, size=(3, 2)).round(1).astype(np.float32),
        "weights": rng.normal(size=(3, 2)).round(1).astype(np.float32),
    }


def nothing(rng):
    """No input."""
    return {}


def share(x):
    """The element's part of the total."""
    return x / lax.psum(x, "i")


@check("shares under vmap, along the rows and along the columns")
def shares(student, x):
    return [
        jax.vmap(share, axis_name="i")(x),
        jax.vmap(share, axis_name="i", in_axes=1, out_axes=1)(x),
    ]


@check("elements that are all equal", draw=draw_two)
def equal_elements(student, x, y):
    def f(x, y):
        return x + lax.psum(y, "i")

    inner = jax.vmap(f, axis_name="i", in_axes=(0, None))  # y is the same for all x
    return jax.vmap(inner, in_axes=(None, 0))(x, y)


@check("gradients, with pmap and with vmap", draw=draw_weighted)
def gradients(student, x, weights):
    def f(x):
        return jnp.sin(x) * lax.psum(x**2, "i")

    def loss(transform):
        return lambda x: jnp.sum(weights * transform(f, axis_name="i")(x))

    return [jax.grad(loss(jax.pmap))(x), jax.grad(loss(jax.vmap))(x)]


@check("the package's own examples", draw=nothing, draws=1)
def examples(student):
    return run_examples(lax.psum, lax.pmean)


# %% reference
def batch_along(axis, x, d, *, axes, axis_index_groups):
    """psum over the axis that vmap maps: the result, and its axis of elements or None."""
    if d is None:
        return axis.size * x, None  # x + x + ... + x
    return jnp.sum(x, axis=d), None  # the same for everyone


def transpose(ct, x, *, axes, axis_index_groups):
    """The cotangent of psum's operand, in a list."""
    return [lax.psum(ct, axes)]  # every result holds this operand once


# %% right: everyone gets a copy
def batch_along(axis, x, d, *, axes, axis_index_groups):
    if d is None:
        x, d = jnp.broadcast_to(x, (axis.size, *x.shape)), 0
    total = jnp.sum(x, axis=d, keepdims=True)
    return jnp.repeat(total, axis.size, axis=d), d


def transpose(ct, x, *, axes, axis_index_groups):
    return (lax.all_gather(ct, axes).sum(0),)


# %% right: a loop over the elements
def batch_along(axis, x, d, *, axes, axis_index_groups):
    total = 0
    for k in range(axis.size):
        total = total + (x if d is None else lax.index_in_dim(x, k, d, keepdims=False))
    return total, None


def transpose(ct, x, *, axes, axis_index_groups):
    (name,) = axes
    return [lax.psum(1, name) * lax.pmean(ct, name)]


# %% right: classes with __call__
class BatchAlong:
    def __call__(self, axis, x, d, **_):
        n = axis.size
        return (x * n, None) if d is None else (jnp.moveaxis(x, d, -1) @ jnp.ones(n), None)


class Transpose:
    def __call__(self, ċ, x, *, axes, **_):
        return [jax.tree.map(lambda c: lax.psum(c, axes[0]), ċ)]


batch_along, transpose = BatchAlong(), Transpose()


# %% wrong: the first axis
# You always summed over axis 0: the elements lie along axis d.
def batch_along(axis, x, d, *, axes, axis_index_groups):
    if d is None:
        return axis.size * x, None
    return jnp.sum(x, axis=0), None


# %% wrong: equal elements counted once
# You returned x itself where d is None: the sum of axis.size equal elements is axis.size times x.
def batch_along(axis, x, d, *, axes, axis_index_groups):
    if d is None:
        return x, None
    return jnp.sum(x, axis=d), None


# %% wrong: None as an axis
# You passed d to jnp.sum even if it is None, which sums all entries of one element.
def batch_along(axis, x, d, *, axes, axis_index_groups):
    return jnp.sum(x, axis=d), None


# %% wrong: the result said to be batched
# You said that the elements of the result lie along axis d: after the sum this axis is gone.
def batch_along(axis, x, d, *, axes, axis_index_groups):
    if d is None:
        return axis.size * x, None
    return jnp.sum(x, axis=d), d


# %% wrong: the mean
# You returned the mean over the elements: psum is their sum.
def batch_along(axis, x, d, *, axes, axis_index_groups):
    if d is None:
        return axis.size * x, None
    return jnp.mean(x, axis=d), None


# %% wrong: running sums
# You returned running sums: everyone gets the whole sum.
def batch_along(axis, x, d, *, axes, axis_index_groups):
    if d is None:
        return axis.size * x, None
    return jnp.cumsum(x, axis=d), d


# %% wrong: no pair
# Your batch_along returns the result alone: return a pair, with the axis of its elements or None.
def batch_along(axis, x, d, *, axes, axis_index_groups):
    return axis.size * x if d is None else jnp.sum(x, axis=d)


# %% wrong: for vectors only
# Your sum works for elements of one axis only: an element may be a number, or have many axes.
def batch_along(axis, x, d, *, axes, axis_index_groups):
    if d is None:
        return axis.size * x, None
    return jnp.einsum("ij->j", jnp.moveaxis(x, d, 0)), None


# %% wrong: the cotangent as it is
# You sent back the own cotangent alone: the operand is in all results, so sum all cotangents.
def transpose(ct, x, *, axes, axis_index_groups):
    return [ct]


# %% wrong: times the number of elements
# You multiplied the own cotangent by their number: the cotangents differ, so they must be summed.
def transpose(ct, x, *, axes, axis_index_groups):
    return [lax.psum(1, axes) * ct]


# %% wrong: the mean of the cotangents
# You averaged the cotangents: each result holds the operand once, so they are summed.
def transpose(ct, x, *, axes, axis_index_groups):
    return [lax.pmean(ct, axes)]


# %% wrong: no list
# Your transpose returns the cotangent itself: a rule returns a list, with an entry per operand.
def transpose(ct, x, *, axes, axis_index_groups):
    return lax.psum(ct, axes)
