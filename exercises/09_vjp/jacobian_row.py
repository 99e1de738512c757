# %% [markdown]
# # One row of the Jacobian
#
# Let `f` take an array of n numbers to an array of m numbers. Its Jacobian has a row for each
# output.
#
# Write `jacobian_row(f, x, k)`. It returns row `k` of the Jacobian of `f` at `x`: an array of n
# numbers, which says how output `k` depends on each input. As an index does, a negative `k`
# counts from the end. And `jax.vmap` must be able to map your function over many `k`, to get many
# rows at once.
#
#     def f(x): return jnp.array([x[0] * x[1], 10.0 * x[0], x[1] ** 2])
#
#     jacobian_row(f, jnp.array([2.0, 3.0]), 0)     # [3. 2.]
#     jacobian_row(f, jnp.array([2.0, 3.0]), -1)    # [0. 6.]
#
# Run this file, or `tinyjax check jacobian_row`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def jacobian_row(f, x, k):
    """How output k of f depends on the inputs, at x."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "jacobian_row"]))
