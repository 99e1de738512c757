# %% [markdown]
# # A network, trained in one program
#
# The parameters of a network are a pytree: a list of layers, and each layer is a dict with `"w"`
# of shape (n_in, n_out) and `"b"` of shape (n_out,). There may be any number of layers.
#
# - `network(params, x)`: each layer computes `x @ w + b`. After each but the last comes
#   `jnp.tanh`. `x` is one input of shape (n_in,) or many, (N, n_in).
# - The loss is the mean of `(network(params, x) - y) ** 2` over all its numbers, plus `decay`
#   times the sum of the squares of all **weights** `w`. The biases `b` do not count there.
# - `train(params, x, y, lr, decay, steps)` takes `steps` steps of gradient descent, each with all
#   the data. It returns the new parameters, in the same packing, and an array of `steps` losses:
#   the loss just before each step.
#
# The steps run as **one program**, with `lax.scan`: the jaxpr of `train` must not be longer for
# more steps.
#
# A tiny example: one layer, `[{"w": [[1.]], "b": [0.]}]`, with `x = [[1.]]`, `y = [[0.]]`,
# `lr = 0.1`, `decay = 0.` and one step: the losses are `[1.]`, and the new parameters
# `[{"w": [[0.8]], "b": [-0.2]}]`.
#
# Run this file, or `tinyjax check train_mlp`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def network(params, x):
    """The output of the network for one input or many."""
    raise NotImplementedError


def train(params, x, y, lr, decay, steps):
    """Steps of gradient descent -> new parameters, the loss before each step."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "train_mlp"]))
