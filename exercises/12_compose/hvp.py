# %% [markdown]
# # The Hessian along many directions
#
# The Hessian of `f` at `x` says how the gradient changes when `x` moves. For a million parameters
# nobody can store it. But its product with a direction `v` is only as long as `v`, and `jvp` of
# `grad(f)` computes it without the matrix (chapter 08).
#
# Write `hvps(f, x, directions)` for several directions. `f` takes an array of shape `(n,)` and
# returns a number, `x` is such an array, and `directions` has the shape `(m, n)`. The result has
# this shape, too: row `i` is the Hessian of `f` at `x`, times row `i` of `directions`. No array in
# your program may be as large as the Hessian: the checks trace your function to see that.
#
# For `f(x) = x[0]**2 * x[1]` at `x = [3., 1.]`, the directions `[[1., 0.], [1., 2.]]` give
# `[[2., 6.], [14., 6.]]`.
#
# Run this file, or `tinyjax check hvp`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def hvps(f, x, directions):
    """The Hessian of f at x, times each of the directions."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "hvp"]))
