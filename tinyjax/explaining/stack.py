"""What a transformed function is made of, from the outside in; how it is written down."""

import functools
import inspect

from tinyjax.autodiff import grad, jvp, linearize, value_and_grad, vjp
from tinyjax.custom_batching import custom_vmap
from tinyjax.jacobians import jacfwd, jacrev
from tinyjax.mapping import vmap
from tinyjax.transforms.checkpoint import checkpoint
from tinyjax.transforms.custom import custom_jvp, custom_vjp
from tinyjax.transforms.flat import fun_name, layer_of
from tinyjax.transforms.jit import jit
from tinyjax.transforms.pmapping import pmap

TRANSFORMS = {
    "grad": grad,
    "value_and_grad": value_and_grad,
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "vmap": vmap,
    "pmap": pmap,
    "jit": jit,
    "checkpoint": checkpoint,
    "custom_jvp": custom_jvp,
    "custom_vjp": custom_vjp,
    "custom_vmap": custom_vmap,
}
# These take a function and its arguments at once.
AT_ONCE = {jvp: "jvp", linearize: "linearize", vjp: "vjp"}


def unbound(f, args=(), kwargs=None):
    """-> the function inside of functools.partial or a bound method, and all of its arguments."""
    kwargs = dict(kwargs or {})
    while True:
        if isinstance(f, functools.partial):
            args, kwargs, f = (*f.args, *args), {**f.keywords, **kwargs}, f.func
        elif inspect.ismethod(f):
            args, f = (f.__self__, *args), f.__func__
        else:
            return f, tuple(args), kwargs


def transformation_stack(f):
    """What a transformed function is made of.

    Args:
      f: any function.

    Returns (layers, function): a pair (name, options) for each transformation, the outermost
    first, with the options that are not the default; and the function inside of all of them.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> layers, f = transformation_stack(jax.jit(jax.vmap(jax.grad(jnp.sin), in_axes=1)))
    >>> layers
    [('jit', {}), ('vmap', {'in_axes': 1}), ('grad', {})]
    >>> f is jnp.sin
    True
    """
    found = []
    while True:
        f = unbound(f)[0]
        layer = layer_of(f)
        if layer is None:
            return found, f
        found.append((layer.transform, chosen_options(layer)))
        f = layer.function


def chosen_options(layer):
    """The options of a layer that are not the default."""
    defaults = inspect.signature(TRANSFORMS[layer.transform]).parameters
    return {k: v for k, v in layer.options.items() if not is_default(v, defaults.get(k))}


def is_default(value, parameter):
    """Whether an option says what is true without it."""
    nothing = value is None or (isinstance(value, tuple) and value == ())
    default = None if parameter is None else parameter.default
    return nothing and default in (None, ()) or (type(value) is type(default) and value == default)


def described(f):
    """A transformed function as it is written: "vmap(grad(loss), in_axes=(None, 0))"."""
    f = unbound(f)[0]
    layer = layer_of(f)
    if layer is None:
        return fun_name(f).replace("<lambda>", "lambda")
    inner = described(layer.function)
    options = [f"{k}={option_text(v)}" for k, v in chosen_options(layer).items()]
    return f"{layer.transform}({', '.join([inner, *options])})"


def option_text(value):
    """An option, short: functions by their names."""
    return fun_name(value) if callable(value) else repr(value)
