"""vectorize: a function of vectors and matrices on arrays with any leading axes."""

import functools
import re

from tinyjax import lax
from tinyjax.mapping import vmap
from tinyjax.numpy.creation import asarray
from tinyjax.tracebacks import boundary

_AXES = r"\((?:\w+(?:,\w+)*)?\)"
_SIGNATURE = re.compile(f"^{_AXES}(?:,{_AXES})*->{_AXES}(?:,{_AXES})*$")


def vectorize(pyfunc, *, excluded=frozenset(), signature=None):
    """A function that maps pyfunc over leading axes, which broadcast as NumPy's.

    Args:
      pyfunc: function of arrays.
      excluded: positions or names of arguments to pass on as they are.
      signature: the axes that pyfunc itself works on, such as "(n,m),(m)->(n)"; none by default.

    Returns a function. Raises ValueError if an argument has too few axes, or their sizes differ.

    >>> import tinyjax.numpy as jnp
    >>> inner = jnp.vectorize(jnp.dot, signature="(n),(n)->()")
    >>> inner(jnp.ones((2, 3)), jnp.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    if any(not isinstance(e, (str, int)) for e in excluded):
        raise TypeError(
            "jax.numpy.vectorize can only exclude integer or string arguments, but "
            f"excluded={excluded!r}"
        )
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"excluded={excluded!r} contains negative numbers")

    @boundary
    @functools.wraps(pyfunc)
    def wrapped(*args, **kwargs):
        where = f"on vectorized function with excluded={excluded!r} and signature={signature!r}"
        fun, args = bind_excluded(pyfunc, args, kwargs, excluded)
        in_dims, out_dims = [()] * len(args), None
        if signature is not None:
            in_dims, out_dims = parse_signature(signature)
        absent = {i for i, arg in enumerate(args) if arg is None}
        if any(in_dims[i] for i in absent):
            raise ValueError(f"Cannot pass None at locations {absent} with signature={signature!r}")
        fun, args = bind_excluded(fun, args, {}, absent)
        in_dims = [d for i, d in enumerate(in_dims) if i not in absent]
        args = [asarray(a) for a in args]
        shape, sizes = loop_shape(args, in_dims, where)
        if out_dims is not None:
            fun = checked(fun, sizes, out_dims, where)
        return map_over(fun, args, in_dims, shape)

    return wrapped


def parse_signature(signature):
    """-> for each argument and for each result the names of its axes."""
    if not _SIGNATURE.match(signature):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    sides = signature.split("->")
    return [[tuple(re.findall(r"\w+", a)) for a in re.findall(_AXES, side)] for side in sides]


def bind_excluded(fun, args, kwargs, excluded):
    """-> the function of the other arguments, and these."""
    fixed = {i: args[i] for i in excluded if isinstance(i, int) and i < len(args)}
    named = {k: v for k, v in kwargs.items() if k in excluded}
    loose = {k: v for k, v in kwargs.items() if k not in excluded}
    if not fixed and not kwargs:
        return fun, list(args)
    total, names = len(args), list(loose)

    def bound(*rest):
        rest, by_name = rest[: len(rest) - len(names)], rest[len(rest) - len(names) :]
        it = iter(rest)
        full = [fixed[i] if i in fixed else next(it) for i in range(total)]
        return fun(*full, **named, **dict(zip(names, by_name)))

    return bound, [a for i, a in enumerate(args) if i not in fixed] + list(loose.values())


def loop_shape(args, in_dims, where):
    """-> the broadcast shape of the leading axes, and the sizes of the named ones."""
    if len(args) != len(in_dims):
        raise TypeError(
            f"wrong number of positional arguments: expected {len(in_dims)}, got {len(args)} "
            f"{where}"
        )
    shapes, sizes = [], {}
    for arg, dims in zip(args, in_dims):
        if arg.ndim < len(dims):
            raise ValueError(
                f"input with shape {arg.shape} does not have enough dimensions for all core "
                f"dimensions {dims} {where}"
            )
        update_sizes(sizes, arg.shape[arg.ndim - len(dims) :], dims, where)
        shapes.append(arg.shape[: arg.ndim - len(dims)])
    return lax.broadcast_shapes(*shapes), sizes


def update_sizes(sizes, shape, dims, where):
    """Note the sizes of named axes; they must agree."""
    for name, size in zip(dims, shape):
        if sizes.setdefault(name, size) != size:
            raise ValueError(
                f"inconsistent size for core dimension {name!r}: {size} vs {sizes[name]} {where}"
            )


def checked(fun, sizes, out_dims, where):
    """fun, whose results must have the axes that the signature says."""

    def wrapper(*args):
        out = fun(*args)
        outs = out if isinstance(out, tuple) else (out,)
        if len(outs) != len(out_dims):
            raise TypeError(
                f"wrong number of output arguments: expected {len(out_dims)}, got {len(outs)} "
                f"{where}"
            )
        known = dict(sizes)
        for value, dims in zip(outs, out_dims):
            if len(value.shape) != len(dims):
                raise ValueError(
                    f"output shape {value.shape} does not match core dimensions {dims} {where}"
                )
            update_sizes(known, value.shape, dims, where)
        return out

    return wrapper


def map_over(fun, args, in_dims, shape):
    """One vmap per leading axis, from the last to the first.

    Axes of size 1 are squeezed rather than mapped, so that what does not vary is not copied.
    """
    squeezed, sizes = [], []
    for arg, dims in zip(args, in_dims):
        lead = arg.shape[: arg.ndim - len(dims)]
        sizes.append((1,) * (len(shape) - len(lead)) + lead)
        squeezed.append(lax.squeeze(arg, [i for i, n in enumerate(lead) if n == 1]))
    unmapped = []
    for axis in reversed(range(len(shape))):
        in_axes = tuple(None if own[axis] == 1 else 0 for own in sizes)
        if all(a is None for a in in_axes):
            unmapped.append(axis)
        else:
            fun = vmap(fun, in_axes)
    out = fun(*squeezed)
    if not unmapped:
        return out
    if isinstance(out, tuple):
        return tuple(lax.expand_dims(r, unmapped) for r in out)
    return lax.expand_dims(out, unmapped)
