# %% [markdown]
# # An argument that is a size
#
# `changes`, below, says how much prices changed within `lag` days, times a weight:
#
#     changes(prices, 2, 10.0)    # [30. 60.]
#
# Under a plain `jax.jit` it fails: where a slice ends decides a shape, and `lag` is a tracer.
#
# Write `compiled`. It takes such a function `f(prices, lag, weight)` and returns a jitted one:
#
# - `lag` is known to Python, and each new value of it makes a new program;
# - `weight` is an ordinary number: a new weight must not trace `f` again;
# - `lag` may be given by position or by name.
#
# For example:
#
#     fast = compiled(changes)
#     fast(prices, 2, 10.0)               # [30. 60.]
#     fast(prices, lag=1, weight=1.0)     # [1. 2. 4.]
#
# Run this file, or `tinyjax check static_arg`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp

prices = jnp.array([1.0, 2.0, 4.0, 8.0])


def changes(prices, lag, weight):
    """How much prices changed within `lag` days, times a weight."""
    return weight * (prices[lag:] - prices[:-lag])


def compiled(f):
    """`f(prices, lag, weight)`, jitted: `lag` is static, the others are arrays."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "static_arg"]))
