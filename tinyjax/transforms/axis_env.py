"""The named axes in scope: those of vmaps and pmaps around."""

import contextlib

from tinyjax.core import active, current_trace
from tinyjax.transforms.batching import BatchTrace


@contextlib.contextmanager
def named_axes(*axes):
    """In a `with` block, these axes are in scope, as under vmap."""
    with contextlib.ExitStack() as stack:
        for axis in axes:
            stack.enter_context(active(BatchTrace(current_trace(), axis)))
        yield


def axis_env():
    """The named axes in scope, innermost first (part of the key of jit's cache)."""
    trace, found = current_trace(), []
    while trace:
        if isinstance(trace, BatchTrace) and trace.axis.name is not None:
            found.append(trace.axis)
        trace = trace.parent
    return tuple(found)


def axis_size_of(name):
    """The size of a named axis; NameError if it is not in scope."""
    env = axis_env()
    for axis in env:
        if axis.name == name:
            return axis.size
    scope = ", ".join(repr(a.name) for a in env) or "none"
    raise NameError(
        f"Found an unbound axis name: {name}. Axis names in scope: {scope}. Give one with "
        "vmap(f, axis_name=...) or pmap(f, axis_name=...)."
    )
