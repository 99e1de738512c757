"""Functions of functions: along axes, over a grid, piece by piece."""

import builtins

import numpy as np

from tinyjax import lax
from tinyjax.mapping import vmap
from tinyjax.numpy.checks import check_arraylike, ensure_arraylike
from tinyjax.numpy.creation import arange, array, asarray
from tinyjax.numpy.reductions import cumsum
from tinyjax.numpy.searching import argmax
from tinyjax.numpy.vectorizing import vectorize
from tinyjax.primitives.linear import canonicalize_axis, canonicalize_shape
from tinyjax.tracebacks import boundary
from tinyjax.transforms.subprogram import subprogram


@boundary
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    """A function of vectors applied along an axis.

    Args:
      func1d: function of a vector, called as func1d(row, *args, **kwargs).
      axis: along which the vectors lie; the axes of what func1d returns stand in its place.
      arr: array.
    """
    check_arraylike("apply_along_axis", arr)
    n = np.ndim(arr)
    axis = canonicalize_axis(axis, n)

    def func(row):
        return func1d(row, *args, **kwargs)

    for i in builtins.range(1, n - axis):
        func = vmap(func, in_axes=i, out_axes=-1)
    for _ in builtins.range(axis):
        func = vmap(func, in_axes=0, out_axes=0)
    return func(asarray(arr))


@boundary
def apply_over_axes(func, a, axes):
    """A reduction func(a, axis) applied to one axis after the other, which stay with size 1."""
    a = ensure_arraylike("apply_over_axes", a)
    for axis in axes:
        out = func(a, axis)
        if out.ndim == a.ndim - 1:
            out = lax.expand_dims(out, (axis,))
        if out.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        a = out
    return a


@boundary
def fromfunction(function, shape, *, dtype=float, **kwargs):
    """function(i, j, ...) at every index of a grid.

    Args:
      function: of as many numbers as shape has axes; it is mapped over the grid.
      shape: of the grid.
      dtype: of the indices.
    """
    shape = canonicalize_shape(shape)
    for i in builtins.range(len(shape)):
        in_axes = [0 if i == j else None for j in builtins.range(len(shape))]
        function = vmap(function, in_axes=tuple(in_axes[::-1]))
    return function(*(arange(n, dtype=dtype) for n in shape), **kwargs)


@boundary
def piecewise(x, condlist, funclist, *args, **kw):
    """The function that belongs to the condition that holds, elementwise.

    Args:
      x: array.
      condlist: booleans, an array per condition; the last that holds counts.
      funclist: a function or number per condition, and one more for where none holds (0).
      *args, **kw: passed to the functions.
    """
    x = ensure_arraylike("piecewise", x)
    conditions, functions = len(condlist), list(funclist)
    if len(functions) == conditions + 1:
        functions = functions[-1:] + functions[:-1]
    elif len(functions) == conditions:
        functions = [0, *functions]
    else:
        raise ValueError(
            f"with {conditions} condition(s), either {conditions} or {conditions + 1} functions "
            f"are expected; got {len(functions)}"
        )
    constants = {i: f for i, f in enumerate(functions) if not callable(f)}
    called = frozenset((i, f) for i, f in enumerate(functions) if callable(f))
    return _piecewise(x, asarray(condlist, dtype=bool), constants, called, *args, **kw)


@subprogram(static_argnames=("funcs",))
def _piecewise(x, condlist, consts, funcs, *args, **kw):
    """piecewise with its functions known: a switch for every element."""
    called = dict(funcs)
    none = lax.full_like(condlist[:1], 0)
    which = argmax(cumsum(lax.concatenate([none, condlist], 0), 0), 0)
    dtype = x.dtype

    def branch(i):
        if i in called:
            return lambda x: called[i](x, *args, **kw).astype(dtype)
        return lambda x: array(consts[i], dtype=dtype)

    branches = [branch(i) for i in builtins.range(len(condlist) + 1)]
    return vectorize(lax.switch, excluded=(1,))(which, branches, x)
