# %% [markdown]
# # An interpreter that tidies up
#
# `eval_jaxpr` in `tinyjax/core.py` runs the equations of a jaxpr. `jax.linearize` pushes tangents
# with it, and derivatives and batches of compiled functions and of loops go through it. Write it,
# and yours takes its place.
#
# `eval_jaxpr(jaxpr, consts, *args)` runs the program `jaxpr` and returns the **list** of its
# results.
#
# - `args` are the values of `jaxpr.invars`, and `consts` those of `jaxpr.constvars`. (Look at no
#   other consts: a program may be run with others than those it was recorded with.)
# - `jaxpr.eqns` are the equations. An equation has `invars`, `params`, `outvars` and a `primitive`.
#   If `primitive.multiple_results` is true, `primitive.bind(...)` returns a list.
# - What an equation reads is a variable or a `Literal`, whose number is `.array`. The same is true
#   of `jaxpr.outvars`, the results of the program.
#
# And there is one thing that `run` of chapter 07 does not do: **let go** of a value as soon as
# nobody will read it any more. A program of 25 equations in a row needs one or two arrays at a
# time, not 25, and arrays can be large. So forget a variable after the last equation that reads
# it, unless it is a result of the program.
#
# Run this file, or `tinyjax check eval_jaxpr`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.extend.core import Literal


def eval_jaxpr(jaxpr, consts, *args):
    """Runs a jaxpr on values, through whatever trace is current: the list of its results."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "eval_jaxpr"]))
