"""Every error a student can meet, worded to teach: what happened, where, what to write instead."""

import os
import sys

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def user_frame(depth=1):
    """The line of the caller's own code that led here, as 'file:line (function)', or None."""
    frame = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        if not is_own_code(code):
            return f"{code.co_filename}:{frame.f_lineno} ({code.co_name})"
        frame = frame.f_back
    return None


def is_own_code(code):
    """Whether code belongs to this package or to Python's machinery."""
    return code.co_filename.startswith((_PACKAGE, "<frozen"))


# ---- the classes: JAX's names and bases ---------------------------------------------------------


class JAXTypeError(TypeError):
    """A TypeError that tinyjax raises itself."""


class JAXIndexError(IndexError):
    """An IndexError that tinyjax raises itself."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was needed as a concrete one."""


class TracerBoolConversionError(ConcretizationTypeError):
    """`if`, `while`, `and`, `or`, `not` or `bool()` met a traced value."""


class TracerArrayConversionError(JAXTypeError):
    """NumPy met a traced value."""


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used where Python needs an integer."""


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index."""


class UnexpectedTracerError(JAXTypeError):
    """A tracer was used after its transformation had ended."""


class KeyReuseError(JAXTypeError):
    """A random key was used twice."""


class InconclusiveDimensionOperation(Exception):
    """An operation on symbolic dimensions without an answer (there are none here)."""


class JaxprTypeError(TypeError):
    """A jaxpr is not well formed."""


class JaxRuntimeError(RuntimeError):
    """A program failed while it ran, for example in a callback."""


# ---- the messages -------------------------------------------------------------------------------


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
    where = user_frame(2)
    return f"\nThe error occurred at {where}" if where else ""


def check_backend(backend):
    """There is only one backend: RuntimeError for another."""
    if backend not in (None, "", "cpu"):
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")
