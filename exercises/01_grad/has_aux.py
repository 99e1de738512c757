# %% [markdown]
# # The gradient, and what was left out
#
# A few points far off can spoil a fit. So leave them out, and say how many they were.
#
# Write `trimmed(model, w, x, y, limit)`. `model(w, x)` returns the predictions. A point counts when
# its error, prediction minus `y`, is at most `limit` in absolute value. The loss is the sum of the
# squares of the errors that count. Return three things: `(gradient, loss, left_out)`, where
# `gradient` is the derivative of the loss with respect to `w`, and `left_out` is the number of
# points that do not count.
#
# For `model = lambda w, x: w * x`, `w = 1.0`, `x = [1, 2, 3]`, `y = [0, 1, 9]` and `limit = 5.0`
# the errors are 1, 1 and -6. The last point is left out, and the result is `(6.0, 2.0, 1)`.
#
# The model is expensive: call it once.
#
# Run this file, or `tinyjax check has_aux`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def trimmed(model, w, x, y, limit):
    """The gradient of the trimmed loss, the loss, and how many points were left out."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "has_aux"]))
