# %% [markdown]
# # Leave the arguments as they are
#
# `deposit`, below, changes its argument in two places: it writes into an array, and it appends to
# a list. JAX's arrays refuse the first, and `jit` drops the second without a word.
#
# Write `pure_deposit(accounts, who, amount)`. It returns a new dict of the same form and leaves
# `accounts`, with all that is in it, as it was.
#
#     accounts = {"balance": jnp.array([1.0, 2.0, 3.0]), "log": [5.0]}
#     pure_deposit(accounts, 2, 10.0)   # {"balance": [1, 2, 13], "log": [5, 10]}
#
# It must work under `jax.jit`, too.
#
# Run this file, or `tinyjax check no_mutation`, to see whether it is right.

# %%
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp


def deposit(accounts, who, amount):
    """Adds an amount to one balance and to the end of the log. In place: not pure."""
    accounts["balance"][who] += amount
    accounts["log"].append(amount)


def pure_deposit(accounts, who, amount):
    """A new dict in which the amount is added to one balance and to the end of the log."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "no_mutation"]))
