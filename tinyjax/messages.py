"""What errors say: what happened, where, and what to write instead."""

from tinyjax.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from tinyjax.source import here


def concrete_bool(tracer):
    """The error of `if tracer:`."""
    return TracerBoolConversionError(
        f"Attempted boolean conversion of traced array with shape {tracer.aval.str_short()}.\n"
        f"{tracer.origin()}\n"
        "While a function is traced its values are not known, so Python's `if`, `while`, `and`, "
        "`or` and `not` cannot look at them. Write jnp.where(cond, a, b) or lax.cond(cond, f, g, "
        "x) for a choice, lax.while_loop for a loop, & | ~ for logic; or make the argument static "
        "with jit(f, static_argnames=...)." + _at()
    )


def concrete_scalar(tracer, kind):
    """The error of `float(tracer)` and its kin."""
    return ConcretizationTypeError(
        f"Abstract tracer value encountered where concrete value is expected: "
        f"traced array with shape {tracer.aval.str_short()}\n"
        f"The problem arose with the `{kind}` function. {tracer.origin()}\n"
        f"Use jnp functions instead of `{kind}()` (x.astype({kind}) converts an array), or make "
        "the argument static with jit(f, static_argnames=...)." + _at()
    )


def concrete_index(tracer):
    """The error of `range(tracer)`, `[1, 2, 3][tracer]`, `jnp.zeros(tracer)`."""
    return TracerIntegerConversionError(
        f"The __index__() method was called on traced array with shape "
        f"{tracer.aval.str_short()}.\n{tracer.origin()}\n"
        "Python needs an integer here that is known while tracing. Turn a list that is indexed "
        "into jnp.array(list); for a shape or a loop count, make the argument static with "
        "jit(f, static_argnames=...) or use lax.fori_loop." + _at()
    )


def concrete_array(tracer):
    """The error of `np.sin(tracer)`."""
    return TracerArrayConversionError(
        f"The numpy.ndarray conversion method __array__() was called on traced array with shape "
        f"{tracer.aval.str_short()}.\n{tracer.origin()}\n"
        "NumPy functions compute at once and cannot be traced: use the function of the same name "
        "in tinyjax.numpy." + _at()
    )


def leaked(tracer):
    """The error of a tracer that outlived its transformation."""
    return UnexpectedTracerError(
        f"Encountered an unexpected tracer. A function transformed by tinyjax had a side effect, "
        f"allowing for a reference to an intermediate value with type "
        f"{tracer.aval.str_short()} to escape the scope of the transformation.\n"
        f"{tracer.origin()}\n{_how_it_escaped(tracer)}" + _at()
    )


def _how_it_escaped(tracer):
    if tracer.trace.alive:
        return (
            "Its transformation is still going on, so it was not saved for later. Either a "
            "custom_jvp or custom_vjp function (or its rule) has this closed-over value, whose "
            "derivative its rule cannot give: pass the value as an argument. Or another thread "
            "uses it."
        )
    return (
        "Transformed functions should not save intermediate values in globals, attributes or "
        "lists made outside: return them instead (has_aux=True in grad)."
    )


def _at():
    where = here()
    return f"\nThe error occurred at {where}" if where else ""


def check_backend(backend):
    """There is only one backend: RuntimeError for another."""
    if backend not in (None, "", "cpu"):
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")
