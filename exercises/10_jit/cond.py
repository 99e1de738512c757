# %% [markdown]
# # Only if it is needed
#
# You have a guess `x`, a cheap function `error` that says how bad a guess is, and a costly
# function `improve` that returns a better one.
#
# Write `refine(x, error, improve, limit)`. If `error(x)` is greater than `limit`, it improves `x`,
# once; if not, it leaves `x` as it is. It returns a pair: the `x` that comes out, a float, and the
# number of improvements, the integer 1 or 0.
#
#     def error(x): return jnp.abs(x * x - 9.0)
#     def improve(x): return (x + 9.0 / x) / 2
#
#     refine(jnp.float32(1.0), error, improve, 0.5)    # (5.0, 1)
#     refine(jnp.float32(3.0), error, improve, 0.5)    # (3.0, 0)
#
# It must work under `jit`, and where no improvement is needed, `improve` must not run.
#
# Run this file, or `tinyjax check cond`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def refine(x, error, improve, limit):
    """x, improved if its error is greater than limit; and how many improvements that took."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "cond"]))
