# The card of the exercise matvec. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # Every row meets the vector
#
# A matrix times a vector is one product of two vectors for each row of the matrix.
#
# `product` is a function of two vectors that returns one number, as `jnp.dot` is. Write
# `matvec`: it takes `product`, a matrix `m` with R rows and C columns, and a vector `v` of C
# numbers. It returns R numbers, `product(row, v)` for each row.
#
# Use `jax.vmap`, no loop: `product` is to be called once, however many rows there are.
#
# For `jnp.dot`, `m = [[1., 2., 3.], [4., 5., 6.]]` and `v = [1., 0., 1.]` the result is
# `[4., 10.]`. It must work for every `product`.
#
# Run this file, or `tinyjax check matvec`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def matvec(product, m, v):
    """`product(row, v)` for each row of m: an array of R numbers."""
    raise NotImplementedError


# %% [markdown] hint
# `product` has two arguments. Which of them is another one for each call, and which is the
# same for all?

# %% [markdown] hint
# `in_axes` has one entry for each argument of `product`: the axis that is mapped, or `None`
# for an argument that all calls share. The rows of a matrix lie along its axis 0.

# %% [markdown] hint
#     def matvec(product, m, v):
#         many = jax.vmap(product, in_axes=(..., ...))
#         return many(..., ...)

# %% checks
import numpy as np

import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 30.0  # a solution may be compiled


def draw(rng):
    """A matrix that is not square, a vector, and the weights of a product."""
    rows, columns = rng.choice([2, 3, 4, 5], size=2, replace=False)
    return {
        "weights": rng.uniform(0.5, 2.0, size=columns).round(1).astype(np.float32),
        "m": rng.normal(size=(rows, columns)).round(1).astype(np.float32),
        "v": rng.normal(1.0, 1.0, size=columns).round(1).astype(np.float32),
    }


def weighted(weights, calls):
    """A product of two vectors that is not symmetric, and counts its calls."""

    def product(a, b):
        calls.append(a)
        return jnp.dot(weights * a, b) + a[0]

    return product


@check("product(a, b) = jnp.dot(weights * a, b) + a[0], row by row")
def row_by_row(student, weights, m, v):
    result = student.matvec(weighted(weights, []), m, v)
    return "a function" if callable(result) else result


@check("calls of product: with these rows, and with three times as many")
def calls(student, weights, m, v):
    few, many = [], []
    student.matvec(weighted(weights, few), m, v)
    student.matvec(weighted(weights, many), jnp.concatenate([m, m, m]), v)
    return {"product is called": bool(few), "more calls for more rows": len(many) - len(few)}


# %% reference
def matvec(product, m, v):
    """`product(row, v)` for each row of m: an array of R numbers."""
    return jax.vmap(product, in_axes=(0, None))(m, v)


# %% right: v is closed over
def matvec(product, m, v):
    return jax.vmap(lambda row: product(row, v))(m)


# %% right: the columns of the transpose
def matvec(product, m, v):
    return jax.vmap(product, in_axes=(-1, None))(m.T, v)


# %% right: with a signature
def matvec(product, m, v):
    return jnp.vectorize(product, signature="(n),(n)->()")(m, v)


# %% right: v once for each row
def matvec(product, m, v):
    repeated = jnp.broadcast_to(v, m.shape)
    return jax.vmap(product)(m, repeated)


# %% right: a class with __call__
class Matvec:
    def __call__(self, product, matrix, ν):
        return jax.vmap(product, (0, None), 0)(matrix, ν)


matvec = Matvec()


# %% wrong: a loop
# You looped over the rows, one call for each: vmap calls product once, for all rows at once.
def matvec(product, m, v):
    return jnp.stack([product(row, v) for row in m])


# %% wrong: the built-in product
# You multiplied with @: call the product that you are given, it may be any function.
def matvec(product, m, v):
    return m @ v


# %% wrong: both are mapped
# You mapped v as well, so that each row met one number of it: give v the axis None.
def matvec(product, m, v):
    return jax.vmap(product)(m, v)


# %% wrong: columns
# You mapped axis 1, the columns: the rows of m lie along axis 0.
def matvec(product, m, v):
    return jax.vmap(product, in_axes=(1, None))(m, v)


# %% wrong: the axes are swapped
# You mapped v and shared m: it is m that has a row for each call, and v that all of them share.
def matvec(product, m, v):
    return jax.vmap(product, in_axes=(None, 0))(m, v)


# %% wrong: nothing is mapped
# You gave product the whole matrix: it takes two vectors, and vmap hands it row by row.
def matvec(product, m, v):
    return product(m, v)


# %% wrong: the arguments are swapped
# You called product(v, row): the row comes first, v second.
def matvec(product, m, v):
    return jax.vmap(product, in_axes=(None, 0))(v, m)


# %% wrong: summed up
# You added the results of all rows: return one number for each row.
def matvec(product, m, v):
    return jnp.sum(jax.vmap(product, in_axes=(0, None))(m, v))


# %% wrong: the function is not called
# You returned the mapped function: call it with m and v.
def matvec(product, m, v):
    return jax.vmap(product, in_axes=(0, None))
