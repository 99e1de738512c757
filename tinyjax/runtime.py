"""The rest of what a session needs: names for parts of programs, eager islands, leaks, facts."""

import contextlib
import functools
import gc
import os
import platform
import sys
import types

import numpy as np

from tinyjax.array import Array
from tinyjax.compiler.backend import kernel_counts
from tinyjax.compiler.dispatch import finish
from tinyjax.config import current_flags
from tinyjax.core import EVAL, Trace, Tracer, active, current_trace
from tinyjax.devices import device_count, local_device_count, process_count
from tinyjax.messages import check_backend
from tinyjax.printer import install
from tinyjax.source import is_own_code
from tinyjax.transforms import jit as jit_module
from tinyjax.transforms.flat import fun_name
from tinyjax.transforms.loops import forget_traces
from tinyjax.version import __version__

# ---- names ---------------------------------------------------------------------------------------


def named_call(fun, *, name=None):
    """A function under another name: it is the same function, since nothing here shows names.

    >>> named_call(lambda x: x + 1, name="increment")(1)
    2
    """
    name = fun_name(fun) if name is None else name

    @functools.wraps(fun)
    def named(*args, **kwargs):
        with named_scope(name):
            return fun(*args, **kwargs)

    return named


class named_scope(contextlib.ContextDecorator):
    """A context manager and decorator that gives the operations inside a name.

    Raises TypeError if the name is not a string, ValueError if it is empty.

    >>> with named_scope("layer"):
    ...     y = 1 + 1
    """

    def __init__(self, name):
        if not isinstance(name, str):
            raise TypeError("named_scope name argument must be a string.")
        if not name:
            raise ValueError("named_scope name must not be empty.")
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


# ---- eager islands -------------------------------------------------------------------------------


class FoldingTrace(Trace):
    """Computes what does not depend on tracers, and hands on the rest."""

    def __init__(self, parent):
        self.parent = parent

    def process(self, prim, args, params):
        """At once, if no operand is a tracer."""
        trace = self.parent if any(isinstance(x, Tracer) for x in args) else EVAL
        with active(self.parent):
            return trace.process(prim, args, params)


@contextlib.contextmanager
def ensure_compile_time_eval():
    """In a `with` block, operations on known arrays are computed at once, also under jit.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> @jax.jit
    ... def f(x):
    ...     with jax.ensure_compile_time_eval():
    ...         n = int(jnp.ones(3).sum())  # a number, although f is being traced
    ...     return x * n
    >>> print(f(2.0))
    6.0
    """
    with active(FoldingTrace(current_trace())):
        yield


# ---- leaks ---------------------------------------------------------------------------------------


def end_of_trace(trace, failed=False):
    """The end of a trace's life; with the flag check_tracer_leaks, nobody may hold its tracers.

    After an error its traceback does, and the error is what matters.
    """
    trace.alive = False
    if failed or not current_flags().check_tracer_leaks:
        return
    gc.collect()
    tracers = [x for x in objects_of(Tracer) if x.trace is trace]
    mine = {id(tracers): tracers}  # lists that are made here, to look at others
    # Lists, not generators, which would refer to what they go through.
    held = [[is_held(r, mine) for r in referrers(x, mine)] for x in tracers]
    leaked = [x for x, holders in zip(tracers, held) if any(holders)]
    if leaked:
        names = ", ".join([f"{x!r}: {x.origin()}" for x in leaked])
        raise Exception(  # JAX raises no better class
            f"Leaked trace {type(trace).__name__}. Leaked tracer(s): [{names}]. Something outside "
            "of the transformed function holds on to them: a global, an attribute, a list made "
            "outside, or a closure."
        )


def referrers(x, mine):
    """What refers to an object, without the lists that are made here."""
    found = gc.get_referrers(x)
    others = [r for r in found if id(r) not in mine]
    mine |= {id(found): found, id(others): others}
    return others


def is_held(referrer, mine, depth=5):
    """Whether what refers to a tracer, directly or through containers, is not of this package."""
    if isinstance(referrer, (list, tuple, types.CellType)) and depth:
        found = [is_held(r, mine, depth - 1) for r in referrers(referrer, mine)]
        return any(found)
    return not is_own(referrer)


def is_own(x):
    """Whether an object belongs to this package: its code, or a part of a trace."""
    if isinstance(x, types.FrameType):
        return is_own_code(x.f_code)
    if isinstance(x, types.FunctionType):
        return is_own_code(x.__code__)
    return type(x).__module__.startswith("tinyjax.")


install(Trace, end=end_of_trace)

# ---- waiting, forgetting, looking ----------------------------------------------------------------


def effects_barrier():
    """Wait until all programs that have been called have run, with their callbacks."""
    finish()


def objects_of(kind):
    """All objects of a class in this process; isinstance would follow proxies of dead ones."""
    return [x for x in gc.get_objects() if issubclass(type(x), kind)]


def clear_caches():
    """Forget all traces and compiled programs of this process.

    >>> import tinyjax as jax
    >>> f = jax.jit(lambda x: x + 1)
    >>> y = f(1.0)
    >>> clear_caches()
    >>> f._cache_size()
    0
    """
    for options in list(jit_module._caches.values()):
        for cache in options.values():
            cache.clear()
    for x in objects_of(jit_module.JitFunction):
        x.clear_cache()
    forget_traces()


def live_arrays(platform=None):
    """All Arrays that exist, as a list.

    >>> import tinyjax as jax
    >>> x = jax.numpy.zeros(3)
    >>> any(a is x for a in live_arrays())
    True
    """
    check_backend(platform)
    return objects_of(Array)


def print_environment_info(return_string=False):
    """Print the versions of what computes, and where; with return_string, return the text."""
    lines = [
        f"tinyjax: {__version__}",
        f"numpy:   {np.__version__}",
        f"python:  {sys.version}",
        f"device info: cpu-{device_count()}, {local_device_count()} local devices",
        f"process_count: {process_count()}",
        f"platform: {platform.uname()}",
    ]
    lines += [f"{k}={v}" for k, v in os.environ.items() if k.startswith(("JAX_", "TINYJAX_"))]
    text = "\n".join(lines)
    return text if return_string else print(text)


__all__ = [
    "clear_caches",
    "effects_barrier",
    "ensure_compile_time_eval",
    "kernel_counts",
    "live_arrays",
    "named_call",
    "named_scope",
    "print_environment_info",
]
