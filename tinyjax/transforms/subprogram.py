"""Functions of this package that stand as one equation, `jit[name=...]`, in a jaxpr."""

import functools

from tinyjax.core import EVAL, StageTrace, current_trace
from tinyjax.transforms.jit import jit


def subprogram(fun=None, *, static_argnames=()):
    """Decorate a function: inside a program it is a jit equation, otherwise it just runs.

    jit pays off when a program is compiled anyway. Called on arrays, the few equations of such a
    function are computed sooner than a kernel could be compiled for them.
    """
    if fun is None:
        return functools.partial(subprogram, static_argnames=static_argnames)
    jitted = jit(fun, static_argnames=static_argnames)

    @functools.wraps(fun)
    def wrapper(*args, **kwargs):
        return jitted(*args, **kwargs) if in_program() else fun(*args, **kwargs)

    return wrapper


def in_program():
    """Whether a program is being recorded, at any depth."""
    trace = current_trace()
    while trace is not EVAL:
        if isinstance(trace, StageTrace):
            return True
        trace = trace.parent
    return False
