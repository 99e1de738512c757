"""What functions ask of their arguments first: that they are arrays, that settings are known."""

import operator

import numpy as np

from tinyjax import messages
from tinyjax.array import Array, is_arraylike, lift
from tinyjax.core import Tracer

# ---- arrays -------------------------------------------------------------------------------------


def check_arraylike(fun_name, *args):
    """Raise TypeError unless all arguments are arrays or numbers (lists and tuples are not)."""
    for position, arg in enumerate(args):
        if not is_arraylike(arg):
            hint = " Make it an array first: jnp.array(...)." if type(arg) in (list, tuple) else ""
            raise TypeError(
                f"{fun_name} requires ndarray or scalar arguments, got {type(arg)} at position "
                f"{position}.{hint}"
            )


def ensure_arraylike(fun_name, *args):
    """Arguments as Values: one argument gives one Value, more give a list."""
    check_arraylike(fun_name, *args)
    if len(args) == 1:
        return lift(args[0])
    return [lift(a) for a in args]


def check_sequence(fun_name, arrays):
    """The elements of a sequence of arrays, as a list of Values."""
    arrays = list(arrays)
    check_arraylike(fun_name, *arrays)
    return [lift(a) for a in arrays]


def check_where(fun_name, where):
    """A boolean mask as a Value (or None)."""
    if where is None:
        return None
    where = ensure_arraylike(fun_name, where)
    if where.dtype != bool:
        raise ValueError(
            f"jnp.{fun_name}: where must be None or a boolean array; got where.dtype={where.dtype}."
        )
    return where


def check_out(fun_name, out):
    """NumPy's `out=` writes into an array, which no array here allows."""
    if out is not None:
        raise NotImplementedError(f"The 'out' argument to jnp.{fun_name} is not supported.")


# ---- settings: values that must be known while tracing ------------------------------------------


def is_concrete(x):
    """Whether the value of x is known now (tracers of jit and vmap hide theirs)."""
    return not isinstance(x, Tracer) or x.concrete() is not None


def concrete_or_error(force, value, context):
    """force(value), or value where force is None. Raises ConcretizationTypeError for a tracer."""
    if isinstance(value, Tracer):
        known = value.concrete()
        if known is None:
            raise messages.concrete_setting(value, context)
        value = known
    return value if force is None else force(value)


def static_axes(axis):
    """An axis argument as None, an int or a tuple of ints (names of mapped axes stay)."""
    if axis is None:
        return None
    axis = concrete_or_error(None, axis, "The axis argument must be known statically.")
    if isinstance(axis, str):
        return axis
    try:
        return operator.index(axis)
    except TypeError:
        return tuple(i if isinstance(i, str) else operator.index(i) for i in axis)


def index_tuple(x):
    """An int or a sequence of ints as a tuple of ints."""
    try:
        return (operator.index(x),)
    except TypeError:
        return tuple(operator.index(i) for i in x)


def is_array(x):
    """Whether x is an array of ours or of NumPy's (and not a number or a sequence)."""
    return isinstance(x, (Array, Tracer, np.ndarray))
