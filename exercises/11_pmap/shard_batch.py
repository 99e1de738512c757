# %% [markdown]
# # A batch for several devices
#
# `pmap` gives one element of the first axis to each device. A batch has more rows than there are
# devices, so its first axis must become two axes before: devices, and rows on a device.
#
# Write two functions.
#
# - `shard_batch(x, n)`: the rows of `x` for `n` devices. `x` is an array with the shape
#   `(N, ...)`, and `N` is a multiple of `n`. The result is an array with the shape
#   `(n, N // n, ...)`. Device 0 gets the first `N // n` rows, device 1 the next ones, and so on.
# - `gather_batch(parts)`: the way back. From the shape `(n, m, ...)` to `(n * m, ...)`, with the
#   rows in their old order.
#
# For example, `shard_batch(jnp.arange(6), 2)` is `[[0, 1, 2], [3, 4, 5]]`, and `gather_batch` of
# that is `[0, 1, 2, 3, 4, 5]`.
#
# Run this file, or `tinyjax check shard_batch`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def shard_batch(x, n):
    """The rows of x, shape (N, ...), for n devices: shape (n, N // n, ...)."""
    raise NotImplementedError


def gather_batch(parts):
    """All rows again, in their old order: from the shape (n, m, ...) to (n * m, ...)."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "shard_batch"]))
