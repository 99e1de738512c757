# %% [markdown]
# # The third derivative
#
# `jax.grad(f)` is a function again, so you can differentiate it again.
#
# Write `third_derivative`: it takes a function `f` of one number and returns the function
# that computes its third derivative. For `f(x) = x**3 + 2*x` that is 6 everywhere.
#
# Differentiate: a difference quotient does not count, however good. So one of the checks looks at
# where `f` is asked for values.
#
# Run this file, or `tinyjax check third_derivative`, to see whether it is right.

# %%
import tinyjax as jax


def third_derivative(f):
    """The function that computes f'''."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "third_derivative"]))
