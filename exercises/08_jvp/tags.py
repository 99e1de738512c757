# %% [markdown]
# # Whose tangent is it?
#
# All of forward mode is one trace: `JVPTrace` in `tinyjax/transforms/ad.py`. Write it. `jax.jvp`
# and `jax.jacfwd` then run on your trace, with the rules from the real cards.
#
# A `DualTracer` is a primal with its tangent. It also knows its `trace`, and this is its tag: each
# derivative has a trace of its own. `trace.mine(x)` says whether `x` is a tracer of this very
# trace.
#
# **`DualTrace.split(x)`** returns the primal and the tangent of `x`, as this derivative sees it.
# What is not its own does not change: the primal is then all of `x`, and the tangent
# `Zero(x.aval)`, which says "known to be zero". (`x` may be a plain number; `lift(x)` makes an
# array of it.)
#
# **`DualTrace.process(prim, args, params)`** is called for each operation while the trace is in
# charge. If no operand has a tangent, the operation is none of its business:
# `self.parent.process(prim, primals, params)` does it. Otherwise
# `prim.jvp(primals, tangents, **params)` asks the card for the value and the tangent, with the
# parent in charge: `with active(self.parent):`. Return a `DualTracer`. If `prim.multiple_results`,
# value and tangent are lists, and a list of tracers must be returned.
#
# **`jvp_flat(f, primals, tangents)`** takes lists. It makes a trace whose parent is the trace in
# charge, `current_trace()`, puts it in charge, `with active(trace):`, calls `f` with dual numbers,
# and returns the list of the values and the list of their tangents. `f` returns a list, too.
#
# A derivative inside of a derivative is what you must get right:
# the derivative of `x * (d/dy of x + y)` is 1, not 2.
#
# Run this file, or `tinyjax check tags`, to see whether it is right.

# %%
from tinyjax.array import lift
from tinyjax.core import Trace, Tracer, Zero, active, current_trace, nonzero


class DualTracer(Tracer):
    """A primal with its tangent, for the derivative of one trace."""

    def __init__(self, trace, primal, tangent):
        self.trace, self.primal, self.tangent = trace, primal, tangent
        self.aval = primal.aval  # the type: shape and dtype

    def concrete(self):
        """The array behind it, for `if` and such."""
        return self.primal.concrete() if isinstance(self.primal, Tracer) else self.primal


class DualTrace(Trace):
    """Carries tangents along."""

    def __init__(self, parent):
        self.parent = parent

    def split(self, x):
        """The primal and the tangent of x, as this derivative sees it."""
        raise NotImplementedError

    def process(self, prim, args, params):
        """The dual number of the result of an operation, or a list of them."""
        raise NotImplementedError


def jvp_flat(f, primals, tangents):
    """The list of the values of f, and the list of their tangents."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "tags"]))
