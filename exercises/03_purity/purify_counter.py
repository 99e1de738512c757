# %% [markdown]
# # A counter without a global
#
# `slower`, below, is not pure: it keeps the number of its calls in a global variable. Compiled,
# it raises the counter once, while it is traced, and then it returns `x / 1` for ever.
#
# Write `pure_slower(calls, x)`. It gets the number of calls before this one, and returns two
# things: the new number of calls, and `x` divided by it. Six calls are behind us, so this is the
# seventh: `pure_slower(6, 14.0)` is `(7, 2.0)`. It must do the same under `jax.jit`.
#
# Run this file, or `tinyjax check purify_counter`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp

calls = 0


def slower(x):
    """The first call returns x, the second x / 2, the third x / 3, and so on. Not pure."""
    global calls
    calls += 1
    return x / calls


def pure_slower(calls, x):
    """The new number of calls, and x divided by it."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "purify_counter"]))
