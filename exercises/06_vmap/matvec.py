# %% [markdown]
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

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def matvec(product, m, v):
    """`product(row, v)` for each row of m: an array of R numbers."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "matvec"]))
