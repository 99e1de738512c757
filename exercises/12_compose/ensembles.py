# %% [markdown]
# # A list of models becomes an ensemble
#
# Somebody has trained some networks, one after the other, and hands them over as a list. Each is a
# dict of parameters, with the same names and shapes. `network(params, x)` asks one of them about
# one number `x`. Ask all of them about many numbers. Write three functions for that.
#
# - `stack(members)` makes one dict of the list. Each of its arrays has a new first axis, on which
#   the members lie in their order.
# - `answers(stacked, xs)` asks all members about all numbers. The result has the shape
#   `(members, numbers)`. The program must not get longer with the number of members.
# - `on_devices(stacked, xs)` does the same on 4 devices with `jax.pmap`, each for a quarter of the
#   members: the first quarter on the first device, and so on. The result has the shape
#   `(4, members / 4, numbers)`. The number of members can be divided by 4.
#
# If `members` is `[{"w": [1., 2.], ...}, {"w": [3., 4.], ...}]`, then `stack(members)["w"]` is the
# array `[[1., 2.], [3., 4.]]`.
#
# Run this file, or `tinyjax check ensembles`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def network(params, x):
    """One number in, one out."""
    return jnp.tanh(params["w"] * x + params["b"]) @ params["v"]


def stack(members):
    """One dict of parameters with a new first axis, of a list of such dicts."""
    raise NotImplementedError


def answers(stacked, xs):
    """What each member says to each number: shape (members, numbers)."""
    raise NotImplementedError


def on_devices(stacked, xs):
    """The same on 4 devices: shape (4, members / 4, numbers)."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "ensembles"]))
