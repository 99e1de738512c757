"""Functions of this package that stand as one equation, `jit[name=...]`, in a jaxpr."""

import functools
import sys

from tinyjax.core import EVAL, StageTrace, current_trace
from tinyjax.source import shared
from tinyjax.tracebacks import shorten
from tinyjax.transforms.jit import JitFunction, trace_to_jaxpr
from tinyjax.transforms.replay import RecordingTrace, recorded


@shared
def trace_for_all(*args):
    """trace_to_jaxpr, for a program that serves all callers."""
    return trace_to_jaxpr(*args)


class PackageJit(JitFunction):
    """jit for functions of this package: the lines of their equations are those of the calls."""

    trace_program = staticmethod(trace_for_all)

    def __init__(self, fun, static_argnames):
        super().__init__(fun, None, static_argnames, False)


def subprogram(fun=None, *, static_argnames=()):
    """Decorate a function: inside a program it is a jit equation, otherwise it just runs.

    Kernels pay off in a program that is compiled anyway, and for large arrays. Called on small
    ones, such a function is recorded (see replay.py).
    """
    if fun is None:
        return functools.partial(subprogram, static_argnames=static_argnames)
    jitted, eager = PackageJit(fun, static_argnames), recorded(fun)

    @functools.wraps(fun)
    def wrapper(*args, **kwargs):
        try:
            return (jitted if in_program() else eager)(*args, **kwargs)
        except FloatingPointError as error:
            if in_program() or is_inside(wrapper.__code__):
                shorten(error)
                raise
        except Exception as error:
            shorten(error)
            raise
        return jitted(*args, **kwargs)  # debug_nans: only the result counts, as in JAX

    return wrapper


def is_inside(code):
    """Whether the caller of this function, which has this code, runs inside of another such one."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


def in_program():
    """Whether a program is being traced, at any depth. (An eager call that is recorded is none.)"""
    trace = current_trace()
    while trace is not EVAL:
        if isinstance(trace, StageTrace) and not isinstance(trace, RecordingTrace):
            return True
        trace = trace.parent
    return False
