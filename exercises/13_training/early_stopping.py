# %% [markdown]
# # Stop early
#
# A network that trains too long knows its examples by heart. So watch the loss on the
# **validation set**, which it does not learn from, and keep the parameters for which that loss was
# lowest.
#
# Write `fit(epoch, loss, params, train, validation, patience, limit)`.
#
# - `epoch(params, train)` returns the parameters after one more epoch of training.
# - `loss(params, data)` is a number. `train` and `validation` are two sets of data.
# - Look at the parameters of the start first: they count as epoch 0. Then train epoch by epoch,
#   and look at the loss on `validation` after each.
# - Stop when `patience` epochs in a row have not been better than the **best so far**, or after
#   `limit` epochs. Better means lower.
# - Return the best parameters and the number of their epoch, 0 for the start.
#
# `epoch` and `loss` may be any Python functions, so write a plain Python loop.
#
# If the validation losses of epochs 0, 1, 2, ... are 9, 5, 6, 4, 7, 8, 3 and `patience` is 2, then
# epoch 3 is best so far, epochs 4 and 5 are not better, and you stop: return the parameters of
# epoch 3, and 3. You never see the 3.0 of epoch 6, and that is the price of stopping.
#
# Run this file, or `tinyjax check early_stopping`, to see whether it is right.

# %%
import tinyjax.numpy as jnp


def fit(epoch, loss, params, train, validation, patience, limit):
    """Trains until the validation loss gets no better -> best parameters, their epoch."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "early_stopping"]))
