# The card of the exercise batch_dot. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 40

# %% [markdown] statement
# # Build it: the batching rule of dot_general
#
# Every product of arrays is one primitive, `dot_general x y`. Its `dimension_numbers` are
# `((contract_x, contract_y), (batch_x, batch_y))`, tuples of axes. It sums products over the
# contracting axes. Batch axes go side by side: element by element, no sum. The result has **the
# batch axes first, then the other axes of x, then the other axes of y**, each in their order.
#
# Its batching rule is in `tinyjax/primitives/dot.py`: the method `batch` of `DotGeneral`. Write
# your own. It takes the place of the real one, and the package's `vmap` calls it.
#
# `batch_dot(self, axis, vals, dims, *, dimension_numbers, **params)` gets
#
# - `self`: the primitive. `self.bind(x, y, dimension_numbers=..., **params)` computes it.
# - `axis`: the mapped axis; `axis.size` is its length.
# - `vals`: x and y, and `dims`: for each the place of its mapped axis, or `None` if it has none.
# - `dimension_numbers`: they are about **one element**, whose arrays lack the mapped axis.
#
# It returns the result and the place of the mapped axis in it. Bind once, and loop over nothing.
#
# An example: x of shape (2, 3) for all, y of shape (3, 5) with `dims = [None, 1]`: five vectors.
# For one element the numbers are `(((1,), (0,)), ((), ()))`. The same numbers will do for the
# batch. The result has the shape (2, 5), so you return it and 1.
#
# Run this file, or `tinyjax check batch_dot`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


# %% stub
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    """dot_general on a whole batch -> result, the place of its mapped axis."""
    raise NotImplementedError


# %% [markdown] hint
# There are three cases: x is mapped, y is mapped, or both are. In which of them must the two
# mapped axes go side by side, so that element i of x meets element i of y and no other?

# %% [markdown] hint
# Bring the mapped axis to the front: all axes of one element then move one place to the right, so
# add 1 to their numbers. If both operands are mapped, their mapped axis is one more batch axis:
# put it first. If only one is, the mapped axis is one of its *other* axes, the first of them. Now
# count where the result has it: batch axes, other axes of x, other axes of y.

# %% [markdown] hint
#     def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
#         (x, y), (i, j) = vals, dims
#         (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
#         if i is not None:
#             x = jnp.moveaxis(x, i, 0)
#             x_contract, x_batch = [a + 1 for a in x_contract], ...
#         if j is not None:
#             ...
#         if i is not None and j is not None:
#             x_batch, y_batch, place = [0, *x_batch], ..., ...
#         elif i is not None:
#             place = ...
#         else:
#             place = ...
#         # the numbers as tuples of tuples, bind, return result and place

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import check, run_examples


def install(student):
    """The student's rule takes the place of the one on the card of dot_general."""

    def batch(self, axis, vals, dims, /, **params):
        return student.batch_dot(self, axis, vals, dims, **params)

    type(lax.dot_general_p).batch = batch


def draw(rng):
    """Arrays whose sizes all differ: k is summed over, n is mapped."""
    n, k, r, c = (int(size) for size in rng.permutation([2, 3, 4, 5]))
    shapes = {"x": (r, k), "y": (k, c), "steps": (n,)}
    return {
        name: rng.normal(size=shape).round(1).astype(np.float32) for name, shape in shapes.items()
    }


def batches(x, y, steps):
    """A batch of matrices like x, and one of matrices like y, mapped along axis 0."""
    s = steps[:, None, None]
    return s * x + s**2, y * (1 + s) - s


def flat(result):
    """A result in one line."""
    return [f"shape {result.shape}", jnp.ravel(result)]


@check("one operand is mapped")
def one_mapped(student, x, y, steps):
    xs, ys = batches(x, y, steps)
    last = jnp.moveaxis(ys, 0, 2)
    results = {
        "x, along 0": jax.vmap(jnp.dot, (0, None))(xs, y),
        "x, along 2": jax.vmap(jnp.dot, (2, None))(jnp.moveaxis(xs, 0, 2), y),
        "y, along 1": jax.vmap(jnp.dot, (None, 1))(x, jnp.moveaxis(ys, 0, 1)),
        "a column of y": jax.vmap(jnp.dot, (None, 1))(x, y),
        "y comes first, along 2": jax.vmap(
            lambda y: lax.dot_general(y, x, (((0,), (1,)), ((), ()))), 2
        )(last),
    }
    return {name: flat(result) for name, result in results.items()}


@check("both operands are mapped")
def both_mapped(student, x, y, steps):
    xs, ys = batches(x, y, steps)
    across = jax.vmap(jnp.dot, (1, 2))(jnp.moveaxis(xs, 0, 1), jnp.moveaxis(ys, 0, 2))
    # k is a batch axis of the product itself, and c is mapped: nothing is summed over
    numbers = (((), ()), ((0,), (1,)))
    inner = jax.vmap(lambda a, b: lax.dot_general(a, b, numbers), (2, 2))(
        jnp.stack([y, 2 * y, 3 * y]).transpose(1, 0, 2),
        jnp.stack([y - 1, y + 1]),
    )
    return {"along 1 and 2": flat(across), "with a batch axis of its own": flat(inner)}


@check("in two vmaps: the result, and how many dot_generals the jaxpr has")
def nested(student, x, y, steps):
    xs, _ = batches(x, y, steps)
    twice = jax.vmap(jax.vmap(jnp.dot, (0, None)), (0, None))
    many = jnp.stack([xs, xs + 1])
    jaxpr = jax.make_jaxpr(twice)(many, y)
    dots = [eqn for eqn in jaxpr.eqns if str(eqn.primitive) == "dot_general"]
    return {"result": flat(twice(many, y)), "dot_generals": len(dots)}


def nothing(rng):
    """No inputs."""
    return {}


@check("the package's own examples, and a product of whole numbers", draw=nothing, draws=1)
def examples(student):
    product = jax.vmap(lax.dot, (None, 0))(jnp.array([3, 4]), jnp.array([[1, 2], [5, 6]]))
    whole = {"result": product, "dtype": str(product.dtype)}
    return {"whole numbers": whole, "examples": run_examples(jnp.vectorize)}


# %% reference
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    """dot_general on a whole batch -> result, the place of its mapped axis."""
    (x, y), (i, j) = vals, dims
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers

    def next_places(axes):
        return tuple(a + 1 for a in axes)

    if i is not None:  # mapped axis to the front, all others one place to the right
        x = jnp.moveaxis(x, i, 0)
        x_contract, x_batch = next_places(x_contract), next_places(x_batch)
    if j is not None:
        y = jnp.moveaxis(y, j, 0)
        y_contract, y_batch = next_places(y_contract), next_places(y_batch)

    if i is not None and j is not None:  # element by element: one more batch axis
        x_batch, y_batch, place = (0, *x_batch), (0, *y_batch), 0
    elif i is not None:  # the first of x's other axes, which follow the batch axes
        place = len(x_batch)
    else:  # the first of y's other axes, which follow all that is left of x
        place = x.ndim - len(x_contract)
    numbers = ((x_contract, y_contract), (x_batch, y_batch))
    return self.bind(x, y, dimension_numbers=numbers, **params), place


# %% right: a shared operand is repeated
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    def full(x, d):
        if d is None:
            return jnp.broadcast_to(x, (axis.size, *x.shape))
        return jnp.moveaxis(x, d, 0)

    contract, batch = dimension_numbers
    contract = tuple(tuple(a + 1 for a in axes) for axes in contract)
    batch = tuple((0, *(a + 1 for a in axes)) for axes in batch)
    x, y = map(full, vals, dims)
    return self.bind(x, y, dimension_numbers=(contract, batch), **params), 0


# %% right: the mapped axis comes last
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    # at the end it disturbs no number; lists in place of tuples
    (x, y), (i, j) = vals, dims
    contract, (x_batch, y_batch) = dimension_numbers
    if i is not None:
        x = jnp.moveaxis(x, i, -1)
    if j is not None:
        y = jnp.moveaxis(y, j, -1)
    if i is not None and j is not None:
        place = len(x_batch)
        x_batch, y_batch = (*x_batch, x.ndim - 1), (*y_batch, y.ndim - 1)
    elif i is not None:
        place = x.ndim - 1 - len(contract[0])
    else:
        place = x.ndim + y.ndim - len(x_batch) - 2 * len(contract[0]) - 1
    numbers = (contract, (x_batch, y_batch))
    return self.bind(x, y, dimension_numbers=numbers, **params), place


# %% right: nothing is moved
class BatchDot:
    def __call__(self, prim, axis, vals, dims, /, *, dimension_numbers, **params):
        def bump(axes, d):
            return axes if d is None else tuple(a + int(a >= d) for a in axes)

        (κx, κy), (βx, βy) = dimension_numbers
        (x, y), (i, j) = vals, dims
        κx, βx, κy, βy = bump(κx, i), bump(βx, i), bump(κy, j), bump(βy, j)
        if None not in dims:
            βx, βy, place = (i, *βx), (j, *βy), 0
        elif j is None:
            place = len(βx) + sum(a not in κx + βx for a in range(i))
        else:
            place = x.ndim - len(κx) + sum(a not in κy + βy for a in range(j))
        return prim.bind(x, y, dimension_numbers=((κx, κy), (βx, βy)), **params), place


batch_dot = BatchDot()


# %% wrong: the numbers stay as they are
# You kept the numbers of one element: in front of them is an axis more now, so add 1 to each.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    (x, y), (i, j) = vals, dims
    contract, (x_batch, y_batch) = dimension_numbers
    if i is not None:
        x = jnp.moveaxis(x, i, 0)
    if j is not None:
        y = jnp.moveaxis(y, j, 0)
    if i is not None and j is not None:
        x_batch, y_batch, place = (0, *x_batch), (0, *y_batch), 0
    elif i is not None:
        place = len(x_batch)
    else:
        place = x.ndim - len(contract[0])
    numbers = (contract, (x_batch, y_batch))
    return self.bind(x, y, dimension_numbers=numbers, **params), place


# %% wrong: the place is always 0
# You returned 0 in all cases: if only y is mapped, the other axes of x stand before that axis.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    contract, batch = map(list, dimension_numbers)
    vals = list(vals)
    for k, d in enumerate(dims):
        if d is not None:
            vals[k] = jnp.moveaxis(vals[k], d, 0)
            contract[k] = tuple(a + 1 for a in contract[k])
            batch[k] = tuple(a + 1 for a in batch[k])
    if None not in dims:
        batch = [(0, *axes) for axes in batch]
    numbers = (tuple(contract), tuple(batch))
    return self.bind(*vals, dimension_numbers=numbers, **params), 0


# %% wrong: all axes of x are counted
# You counted all axes of x before y's: those that are summed over are not in the result.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    contract, batch = map(list, dimension_numbers)
    vals = list(vals)
    for k, d in enumerate(dims):
        if d is not None:
            vals[k] = jnp.moveaxis(vals[k], d, 0)
            contract[k] = tuple(a + 1 for a in contract[k])
            batch[k] = tuple(a + 1 for a in batch[k])
    place = len(batch[0]) if dims[0] is not None else vals[0].ndim
    if None not in dims:
        batch, place = [(0, *axes) for axes in batch], 0
    numbers = (tuple(contract), tuple(batch))
    return self.bind(*vals, dimension_numbers=numbers, **params), place


# %% wrong: all pairs
# You made every element of x meet every element of y: their mapped axes must be batch axes.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    contract, batch = map(list, dimension_numbers)
    vals = list(vals)
    for k, d in enumerate(dims):
        if d is not None:
            vals[k] = jnp.moveaxis(vals[k], d, 0)
            contract[k] = tuple(a + 1 for a in contract[k])
            batch[k] = tuple(a + 1 for a in batch[k])
    place = len(batch[0]) if dims[0] is not None else vals[0].ndim - len(contract[0])
    numbers = (tuple(contract), tuple(batch))
    return self.bind(*vals, dimension_numbers=numbers, **params), place


# %% wrong: summed over the batch
# You contracted the mapped axes, which adds the products of all elements: make them batch axes.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    contract, batch = map(list, dimension_numbers)
    vals = list(vals)
    for k, d in enumerate(dims):
        if d is not None:
            vals[k] = jnp.moveaxis(vals[k], d, 0)
            contract[k] = tuple(a + 1 for a in contract[k])
            batch[k] = tuple(a + 1 for a in batch[k])
    place = len(batch[0]) if dims[0] is not None else vals[0].ndim - len(contract[0])
    if None not in dims:
        contract, place = [(0, *axes) for axes in contract], None
    numbers = (tuple(contract), tuple(batch))
    return self.bind(*vals, dimension_numbers=numbers, **params), place


# %% wrong: the batch axes are not moved
# You added 1 to the contracting axes only: the batch axes of the product move as well.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    contract, batch = map(list, dimension_numbers)
    vals = list(vals)
    for k, d in enumerate(dims):
        if d is not None:
            vals[k] = jnp.moveaxis(vals[k], d, 0)
            contract[k] = tuple(a + 1 for a in contract[k])
    place = len(batch[0]) if dims[0] is not None else vals[0].ndim - len(contract[0])
    if None not in dims:
        batch, place = [(0, *axes) for axes in batch], 0
    numbers = (tuple(contract), tuple(batch))
    return self.bind(*vals, dimension_numbers=numbers, **params), place


# %% wrong: the new batch axis comes last
# You put the mapped axis behind the other batch axes and returned 0: the result has it there too.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    contract, batch = map(list, dimension_numbers)
    vals = list(vals)
    for k, d in enumerate(dims):
        if d is not None:
            vals[k] = jnp.moveaxis(vals[k], d, 0)
            contract[k] = tuple(a + 1 for a in contract[k])
            batch[k] = tuple(a + 1 for a in batch[k])
    place = len(batch[0]) if dims[0] is not None else vals[0].ndim - len(contract[0])
    if None not in dims:
        batch, place = [(*axes, 0) for axes in batch], 0
    numbers = (tuple(contract), tuple(batch))
    return self.bind(*vals, dimension_numbers=numbers, **params), place


# %% wrong: a loop
# You looped over the batch, one product for each element: a batching rule binds once, for all.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    results = []
    for n in range(axis.size):
        element = [x if d is None else jnp.take(x, n, axis=d) for x, d in zip(vals, dims)]
        results.append(self.bind(*element, dimension_numbers=dimension_numbers, **params))
    return jnp.stack(results), 0


# %% wrong: a type of its own
# You chose the parameters yourself: hand on **params, or products of whole numbers become floats.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    contract, batch = map(list, dimension_numbers)
    vals = list(vals)
    for k, d in enumerate(dims):
        if d is not None:
            vals[k] = jnp.moveaxis(vals[k], d, 0)
            contract[k] = tuple(a + 1 for a in contract[k])
            batch[k] = tuple(a + 1 for a in batch[k])
    place = len(batch[0]) if dims[0] is not None else vals[0].ndim - len(contract[0])
    if None not in dims:
        batch, place = [(0, *axes) for axes in batch], 0
    numbers = (tuple(contract), tuple(batch))
    kind = jnp.dtype("float32")
    product = self.bind(
        *vals, dimension_numbers=numbers, precision=None, preferred_element_type=kind
    )
    return product, place


# %% wrong: the operands are swapped
# You bound y before x: the result then has the axes of y before those of x.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    contract, batch = map(list, dimension_numbers)
    vals = list(vals)
    for k, d in enumerate(dims):
        if d is not None:
            vals[k] = jnp.moveaxis(vals[k], d, 0)
            contract[k] = tuple(a + 1 for a in contract[k])
            batch[k] = tuple(a + 1 for a in batch[k])
    place = len(batch[1]) if dims[1] is not None else vals[1].ndim - len(contract[1])
    if None not in dims:
        batch, place = [(0, *axes) for axes in batch], 0
    numbers = (tuple(contract[::-1]), tuple(batch[::-1]))
    return self.bind(*vals[::-1], dimension_numbers=numbers, **params), place


# %% wrong: only the result
# You returned the result alone: vmap also needs to know where its mapped axis is.
def batch_dot(self, axis, vals, dims, /, *, dimension_numbers, **params):
    contract, batch = map(list, dimension_numbers)
    vals = list(vals)
    for k, d in enumerate(dims):
        if d is not None:
            vals[k] = jnp.moveaxis(vals[k], d, 0)
            contract[k] = tuple(a + 1 for a in contract[k])
            batch[k] = tuple(a + 1 for a in batch[k])
    if None not in dims:
        batch = [(0, *axes) for axes in batch]
    numbers = (tuple(contract), tuple(batch))
    return self.bind(*vals, dimension_numbers=numbers, **params)


# %% wrong: the rule of the package
# You called the rule that yours takes the place of, so it calls itself: write down what it does.
def batch_dot(self, axis, vals, dims, /, **params):
    return type(self).batch(self, axis, vals, dims, **params)
