# %% [markdown]
# # The trace that records
#
# In chapter 07 you wrote `record`, which writes an equation down and returns a stand-in for its
# result. The trace behind `make_jaxpr` and `jit`, `StageTrace` in `tinyjax/core.py`, does it for
# arrays. Write its two central parts; yours take their place. Then all that is traced goes through
# your code: `make_jaxpr`, `jit`, loops, and also `grad`, which records a program about small
# changes.
#
# **`atom(trace, x)`** returns what stands for the operand `x` in an equation.
#
# - `x` may be a plain Python number. `lift(x)` makes an array of it, and leaves all else as it is.
# - If `trace.mine(x)`, then `x` is a tracer of this trace, and `x.atom` is its variable.
# - If `x.literal`, it is a number that stands in the equation itself: `Literal(x)`.
# - All else comes from outside: an array, or a tracer of another trace. It gets a variable,
#   `Var(x.aval)`, and `trace.captured[id(x)] = variable, x` remembers both. If it is used again, it
#   must get the same variable again.
#
# **`record(trace, prim, args, params)`** appends an equation, `JaxprEqn(prim, atoms, params,
# outvars)`, to the list `trace.eqns`. Here `outvars` is a list of new variables for the results.
# `prim.type(*avals, **params)` says what type the result has, from the types of the atoms: each
# atom has an `.aval`. It returns a tracer for the result, `StageTracer(trace, variable)`. If
# `prim.multiple_results`, then `prim.type` returns a list, and so does `record`.
#
# With your code in place, `jax.make_jaxpr(lambda x: 2.0 * x)(1.0)` prints
# `{ lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }`.
#
# Run this file, or `tinyjax check tracer`, to see whether it is right.

# %%
from tinyjax.array import lift
from tinyjax.core import JaxprEqn, Literal, StageTracer, Var


def atom(trace, x):
    """The variable or Literal that stands for a value."""
    raise NotImplementedError


def record(trace, prim, args, params):
    """Appends an equation; returns a tracer for its result, or a list of tracers."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "tracer"]))
