# The card of the exercise safe_where. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # A length without nan
#
# The length of a row of numbers is the square root of the sum of their squares. Where all of them
# are 0, the length is 0, but its gradient comes out as `nan`: there the root has no slope. One such
# row in the data, and all the parameters behind it are `nan` after the next step.
#
# Write `lengths(rows)`. `rows` has the shape `(n, d)`; return the `n` lengths. For
# `[[3, 4], [0, 0]]` they are `[5, 0]`: exactly 0 for a row of zeros. The gradient must be right for
# every other row, and 0 for a row of zeros. For `jnp.sum(lengths(rows))` at these rows it is
# `[[0.6, 0.8], [0, 0]]`.
#
# Run this file, or `tinyjax check safe_where`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def lengths(rows):
    """The length of each row; for a row of zeros it is 0, and so is its gradient."""
    raise NotImplementedError


# %% [markdown] hint
# `jnp.where` computes both sides before it chooses. Which number does the square root see for a row
# of zeros, and which would do no harm?

# %% [markdown] hint
# The double where: one `where` inside puts a harmless number under the root, one `where` outside
# puts the value you want in place of the result. Both ask the same question, and they ask it for
# each row: is the sum of its squares 0?

# %% [markdown] hint
#     def lengths(rows):
#         squares = jnp.sum(rows**2, axis=1)
#         empty = squares == 0
#         inside = jnp.where(empty, ..., ...)
#         return jnp.where(empty, ..., ...)

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check


def draw(rng):
    """Rows of numbers that are not 0, and a weight for each row."""
    n, d = [(3, 2), (2, 3), (4, 3)][rng.integers(3)]
    rows = rng.choice([-1, 1], (n, d)) * rng.uniform(0.5, 3.0, (n, d))
    weights = rng.choice([-1, 1], n) * rng.uniform(1.0, 2.0, n)
    return {
        "rows": rows.round(2).astype(np.float32),
        "weights": weights.round(2).astype(np.float32),
    }


def draw_empty(rng):
    """One of the rows holds zeros alone."""
    drawn = draw(rng)
    drawn["rows"][rng.integers(len(drawn["rows"]))] = 0.0
    return drawn


def draw_holes(rng):
    """All rows but the first have one zero among other numbers."""
    drawn = draw(rng)
    n, d = drawn["rows"].shape
    drawn["rows"][np.arange(1, n), rng.integers(0, d, n - 1)] = 0.0
    return drawn


def both(student, rows, weights):
    """The lengths, and the gradient of their weighted sum."""
    gradient = jax.grad(lambda rows: jnp.sum(weights * student.lengths(rows)))(rows)
    return {"lengths": student.lengths(rows), "gradient": gradient}


@check("a row of zeros", draw=draw_empty)
def a_row_of_zeros(student, rows, weights):
    empty = jnp.all(rows == 0, axis=1)
    found = both(student, rows, weights)
    return {
        "its length, times a million": 1e6 * found["lengths"][empty],
        "its gradient": found["gradient"][empty],
    }


@check("rows with a zero among other numbers", draw=draw_holes)
def with_holes(student, rows, weights):
    return both(student, rows, weights)


# %% reference
def lengths(rows):
    """The length of each row; for a row of zeros it is 0, and so is its gradient."""
    squares = jnp.sum(rows**2, axis=1)
    empty = squares == 0
    inside = jnp.where(empty, 1.0, squares)  # what the root sees is never 0
    return jnp.where(empty, 0.0, jnp.sqrt(inside))


# %% right: the rows themselves are replaced
def lengths(rows):
    some = jnp.any(rows != 0, axis=1)
    harmless = jnp.where(some[:, None], rows, 1.0)
    return jnp.where(some, jnp.linalg.norm(harmless, axis=1), 0.0)


# %% right: a power, and a product with 0 or 1
def lengths(rows):
    squares = (rows * rows).sum(axis=-1)
    some = (squares > 0).astype(rows.dtype)
    return some * (squares + (1 - some)) ** 0.5


# %% right: a rule of its own
@jax.custom_jvp
def lengths(rows):
    return jnp.linalg.norm(rows, axis=1)


@lengths.defjvp
def lengths_jvp(primals, tangents):
    ((rows,), (moved,)) = primals, tangents
    norms = lengths(rows)
    directions = rows / jnp.where(norms == 0, 1.0, norms)[:, None]
    return norms, (directions * moved).sum(axis=1)


# %% right: row by row
class Lengths:
    def __call__(self, rows):
        return jnp.stack([self.norm(row) for row in rows])

    def norm(self, row):
        σ = row @ row
        return jnp.where(σ > 0, jnp.sqrt(jnp.where(σ > 0, σ, 4.0)), σ)


lengths = Lengths()


# %% wrong: one where
# You let the root see the 0: on the way back inf * 0 is nan, whatever you do with the value.
def lengths(rows):
    squares = jnp.sum(rows**2, axis=1)
    return jnp.where(squares == 0, 0.0, jnp.sqrt(squares))


# %% wrong: a small number under the root
# You added a small number under the root: then a row of zeros has a length that is not 0.
def lengths(rows):
    return jnp.sqrt(jnp.sum(rows**2, axis=1) + 1e-12)


# %% wrong: the inner where alone
# You left out the where outside: now the harmless number decides the length of a row of zeros.
def lengths(rows):
    squares = jnp.sum(rows**2, axis=1)
    return jnp.sqrt(jnp.where(squares == 0, 1.0, squares))


# %% wrong: zeros one by one
# You replaced every 0 in the rows: only a row that holds nothing but zeros needs it.
def lengths(rows):
    harmless = jnp.where(rows == 0, 1.0, rows)
    some = jnp.any(rows != 0, axis=1)
    return jnp.where(some, jnp.sqrt(jnp.sum(harmless**2, axis=1)), 0.0)


# %% wrong: any zero
# You took a row with one 0 for a row of zeros: ask whether all of its numbers are 0.
def lengths(rows):
    squares = jnp.sum(rows**2, axis=1)
    empty = jnp.any(rows == 0, axis=1)
    return jnp.where(empty, 0.0, jnp.sqrt(jnp.where(empty, 1.0, squares)))


# %% wrong: the gradient is stopped
# You stopped the gradient: the nan is gone, and so are the gradients of all the other rows.
def lengths(rows):
    squares = jnp.sum(rows**2, axis=1)
    return jax.lax.stop_gradient(jnp.sqrt(squares))


# %% wrong: nan is replaced in the value
# You let the root see the 0: on the way back inf * 0 is nan, whatever you do with the value.
def lengths(rows):
    squares = jnp.sum(rows**2, axis=1)
    return jnp.nan_to_num(squares / jnp.sqrt(squares))


# %% wrong: the columns
# You summed the columns: the length of a row is a sum along axis 1.
def lengths(rows):
    squares = jnp.sum(rows**2, axis=0)
    empty = squares == 0
    return jnp.where(empty, 0.0, jnp.sqrt(jnp.where(empty, 1.0, squares)))


# %% wrong: no root
# You left out the root: the length is the root of the sum of the squares.
def lengths(rows):
    return jnp.sum(rows**2, axis=1)


# %% wrong: absolute values
# You summed absolute values: the length is the root of the sum of the squares.
def lengths(rows):
    return jnp.sum(jnp.abs(rows), axis=1)


# %% wrong: the whole matrix
# You took all the rows together: each row has a length of its own.
def lengths(rows):
    squares = jnp.sum(rows**2)
    empty = squares == 0
    return jnp.where(empty, 0.0, jnp.sqrt(jnp.where(empty, 1.0, squares)))


# %% wrong: an if
# You asked with if: a whole array has no single answer, so choose with jnp.where.
def lengths(rows):
    squares = jnp.sum(rows**2, axis=1)
    if squares == 0:
        return jnp.zeros_like(squares)
    return jnp.sqrt(squares)
