# The card of the exercise set_first. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # Set the first element of each row
#
# Nothing changes an array; `x.at[...]` makes a new one.
#
# Write `set_first(x, values)`. `x` is a matrix of shape `(rows, columns)`, and `values` has the
# shape `(rows,)`. Return a matrix like `x` in which the first element of each row is the value for
# that row. For `x = [[1, 2, 3], [4, 5, 6]]` and `values = [10, 20]` that is
# `[[10, 2, 3], [20, 5, 6]]`.
#
# Transformations must be able to look into your function: the last check calls `jax.grad` on it.
#
# Run this file, or `tinyjax check set_first`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def set_first(x, values):
    """A matrix like `x` whose first column is `values`."""
    raise NotImplementedError


# %% [markdown] hint
# Which index picks the first element of every row at once: what stands before the comma, and what
# after it?

# %% [markdown] hint
# `x[:, 0]` reads the first element of every row. The same index works after `at`, and `set` takes
# one number for all of these places or an array with a number for each.

# %% [markdown] hint
#     def set_first(x, values):
#         return x.at[..., ...].set(...)

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check


def draw(rng):
    """A matrix with more columns than rows or the other way round, and a value for each row."""
    rows, columns = [(2, 4), (4, 3), (3, 5)][rng.integers(3)]
    return {
        "x": rng.normal(size=(rows, columns)).round(2).astype(np.float32),
        "values": rng.uniform(3, 9, size=rows).round(2).astype(np.float32),
    }


def draw_weights(rng):
    """The same, and a weight for each element of the result."""
    drawn = draw(rng)
    weights = rng.uniform(1, 3, size=drawn["x"].shape).round(2)
    return drawn | {"weights": weights.astype(np.float32)}


@check("the first element of each row")
def first_of_each_row(student, x, values):
    return student.set_first(x, values)


@check("jax.grad looks into the function", draw=draw_weights)
def inside_grad(student, x, values, weights):
    def weighted(x):
        return jnp.sum(weights * student.set_first(x, values))

    return jax.grad(weighted)(x)


# %% reference
def set_first(x, values):
    """A matrix like `x` whose first column is `values`."""
    return x.at[:, 0].set(values)


# %% right: put together from two pieces
def set_first(x, values):
    return jnp.concatenate([values[:, None], x[:, 1:]], axis=1)


# %% right: where the column number is 0
def set_first(x, values):
    column = jnp.arange(x.shape[1])
    return jnp.where(column == 0, values[:, None], x)


# %% right: a loop over the rows
def set_first(x, values):
    for row in range(x.shape[0]):
        x = x.at[row, 0].set(values[row])
    return x


# %% right: row by row with vmap
def set_first(x, values):
    return jax.vmap(lambda row, value: row.at[0].set(value))(x, values)


# %% right: adding the difference
def set_first(x, values):
    return x.at[..., 0].add(values - x[..., 0])


# %% right: a list of rows
class SetFirst:
    def __call__(self, matrix, αs):
        rows = [jnp.hstack([α, row[1:]]) for row, α in zip(matrix, αs)]
        return jnp.stack(rows)


set_first = SetFirst()


# %% wrong: in place
# You wrote into x: nothing changes an array, so return the new one that x.at[...].set(...) makes.
def set_first(x, values):
    x[:, 0] = values
    return x


# %% wrong: the new array is dropped
# You returned the old x: at[...].set(...) leaves x as it is, and its result is the new array.
def set_first(x, values):
    x.at[:, 0].set(values)
    return x


# %% wrong: nothing is returned
# You returned nothing: does your function end in a return?
def set_first(x, values):
    x = x.at[:, 0].set(values)


# %% wrong: the first row
# You set the first row: the index 0 alone counts rows, and [:, 0] is the first of each row.
def set_first(x, values):
    return x.at[0].set(values)


# %% wrong: one element
# You set one element only: each row has a first element, and a value of its own for it.
def set_first(x, values):
    return x.at[0, 0].set(values[0])


# %% wrong: the same value everywhere
# You gave every row the value of the first: values has one number for each row.
def set_first(x, values):
    return x.at[:, 0].set(values[0])


# %% wrong: a number from the chapter
# You set a number of your own, 10: the numbers to set come in as values.
def set_first(x, values):
    return x.at[:, 0].set(10)


# %% wrong: added
# You added the values to what was there: set replaces it.
def set_first(x, values):
    return x.at[:, 0].add(values)


# %% wrong: the second column
# You set the second element of each row: Python counts from 0.
def set_first(x, values):
    return x.at[:, 1].set(values)


# %% wrong: the last column
# You set the last element of each row: the index -1 counts from the end, and the first is 0.
def set_first(x, values):
    return x.at[:, -1].set(values)


# %% wrong: in NumPy
# You made a NumPy array in between: jax.grad cannot look into NumPy, so stay with x.at[...].
import numpy as np


def set_first(x, values):
    changed = np.array(x)
    changed[:, 0] = values
    return jnp.array(changed)


# %% wrong: the first column alone
# You returned the first column alone: the other elements of x belong to the result, too.
def set_first(x, values):
    return x[:, 0].at[:].set(values)


# %% wrong: called like a function
# You left out what to do at these places: after at[...] comes .set(...).
def set_first(x, values):
    return x.at[:, 0](values)
