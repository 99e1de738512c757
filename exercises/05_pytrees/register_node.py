# %% [markdown]
# # Teach JAX a class
#
# `Spring`, below, is a class that is no dataclass. Its `stiffness` and its `length` are numbers
# to differentiate by. Its `power` is a setting, an integer that never changes.
#
# Write `register(cls)`. It makes a container of `Spring`, or of another class with the same three
# attributes, by a call of `jax.tree_util.register_pytree_node`. The children are the stiffness
# and the length, in this order. The power belongs to the structure. After `register(Spring)`
#
#     jax.tree.leaves(Spring(3.0, 1.0, power=4))   # [3.0, 1.0]
#
# and `jax.grad` of a function of a spring is a `Spring` again. Derivatives may be negative, and
# the constructor refuses a negative stiffness.
#
# Run this file, or `tinyjax check register_node`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


class Spring:
    """A spring, whose force grows with a power of how far it is pulled."""

    def __init__(self, stiffness, length, power=2):
        if stiffness <= 0:
            raise ValueError("a spring needs a stiffness above zero")
        self.stiffness, self.length, self.power = stiffness, length, power

    def energy(self, x):
        return self.stiffness * (x - self.length) ** self.power / self.power


def register(cls):
    """Makes a container of a class like Spring."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "register_node"]))
