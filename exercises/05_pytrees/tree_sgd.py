# %% [markdown]
# # Gradient descent with momentum, for any tree
#
# With momentum, a step does not follow the gradient alone. It follows a velocity, which remembers
# the gradients before. For one number the rule is
#
#     velocity = momentum * velocity + gradient
#     param = param - lr * velocity            (with the new velocity)
#
# Write `momentum_step(params, velocity, gradient, lr, momentum)` for three pytrees of the same
# structure, whatever that is. Return the new `params` and the new `velocity`. For example
#
#     momentum_step({"w": 1.0}, {"w": 2.0}, {"w": 3.0}, 0.1, 0.5)   # {"w": 0.6}, {"w": 4.0}
#
# Run this file, or `tinyjax check tree_sgd`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def momentum_step(params, velocity, gradient, lr, momentum):
    """One step for all leaves: the new params and the new velocity."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "tree_sgd"]))
