# %% [markdown]
# # Repair a composition
#
# `u(w, t)` is a small model of a swinging weight: its position at the time `t`, a number. `w` is an
# array of parameters. The model shall obey the equation of motion, `u'' + u = 0`, at many times
# `ts`, where `u''` is the second derivative by `t`. A post proposes
#
#     jax.jit(jax.grad(jax.grad(jax.vmap(u, in_axes=(None, 0)))))
#
# and all it gets is `Gradient only defined for scalar-output functions`. Read it from the inside:
# what does each function take and return? Then write two compositions that run.
#
# - `accelerations(u, w, ts)`: `u''` at each of the times, an array of the shape of `ts`.
# - `misfit_slope(u, w, ts)`: the gradient, with respect to `w`, of the mean over all times of
#   `(u'' + u)**2`. It has the shape of `w`.
#
# Both are called inside of `jit`, and the program must not get longer with the number of times.
#
# For `u(w, t) = w[0] * t**3`, `w = [2.]` and `ts = [1., 2.]` they give `[12., 24.]` and `[898.]`.
#
# Run this file, or `tinyjax check jit_grad_vmap`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def accelerations(u, w, ts):
    """The second derivative of u by the time, at each of the times."""
    raise NotImplementedError


def misfit_slope(u, w, ts):
    """The gradient, with respect to w, of the mean of (u'' + u)**2 over the times."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "jit_grad_vmap"]))
