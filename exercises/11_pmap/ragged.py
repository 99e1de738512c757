# %% [markdown]
# # A batch that does not divide
#
# Ten points for four devices: that does not come out even. So we **pad**: we add rows until it
# does, and give each row a weight, 1.0 for a real one and 0.0 for padding. Write two functions.
#
# - `pad_batch(rows, n)`: `rows` has the shape `(N, ...)`. Return the parts, shape `(n, m, ...)`,
#   and the weights, shape `(n, m)`, where `m` is the smallest number of rows that is enough. The
#   real rows come first and in order, the padding follows. What the padding holds is up to you.
#   If `N` is a multiple of `n`, nothing is padded.
# - `mean_gradient(theta, x, y, weights)`: it runs on each device under `pmap`, on an axis with the
#   name `"devices"`. Return the gradient of the mean of `errors` over the **real** points of
#   **all** devices. Everyone gets the same. The padded rows of `x` and `y` hold some numbers,
#   which must not count. At least one point is real.
#
# For example, `pad_batch(jnp.array([7, 8, 9]), 2)` has the weights `[[1.0, 1.0], [1.0, 0.0]]`, and
# its parts may be `[[7, 8], [9, 0]]`.
#
# Run this file, or `tinyjax check ragged`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def errors(theta, x, y):
    """The squared error of each point: theta (2,), x (m, 2), y (m,) -> (m,)."""
    return (jnp.tanh(x @ theta) - y) ** 2


def pad_batch(rows, n):
    """The parts of n devices, shape (n, m, ...), and their weights, shape (n, m)."""
    raise NotImplementedError


def mean_gradient(theta, x, y, weights):
    """On one device: the gradient of the mean error over the real points of all devices."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "ragged"]))
