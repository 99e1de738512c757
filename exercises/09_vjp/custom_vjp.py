# %% [markdown]
# # The derivative of a search
#
# Where is a planet on its ellipse? The answer is the number `E` for which
#
#     E - e * sin(E) = M
#
# `M` says how much time has passed, `e` (from 0 to 1) how long the ellipse is. No formula gives
# `E`. The function `search` below finds it, with a `while_loop`, which `grad` refuses.
#
# But the derivatives of `E` are known:
#
#     dE/dM = 1 / (1 - e * cos(E))        dE/de = sin(E) / (1 - e * cos(E))
#
# Write `kepler(M, e)`. It returns what `search(M, e)` returns, and `jax.grad` can differentiate
# it with respect to both arguments. Its backward half gets what it needs as residuals: the search
# must not run a second time for a derivative.
#
#     kepler(1.0, 0.5)                            # 1.4987
#     jax.grad(kepler, argnums=(0, 1))(1.0, 0.5)    # (1.0374, 1.0347)
#
# Run this file, or `tinyjax check custom_vjp`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def search(M, e):
    """The E with E - e * sin(E) = M, by Newton's steps."""

    def go_on(E):
        return jnp.abs(E - e * jnp.sin(E) - M) > 1e-5

    def step(E):
        return E - (E - e * jnp.sin(E) - M) / (1.0 - e * jnp.cos(E))

    return lax.while_loop(go_on, step, M)


def kepler(M, e):
    """search(M, e), with derivatives with respect to both."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "custom_vjp"]))
