"""ufunc objects: functions of numbers with reduce, accumulate, at, reduceat, outer."""

import operator

import numpy as np

from tinyjax import lax
from tinyjax.mapping import vmap
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.checks import check_arraylike, check_out, ensure_arraylike
from tinyjax.numpy.gather import take
from tinyjax.numpy.joining import append
from tinyjax.numpy.selection import _where
from tinyjax.numpy.shaping import broadcast_to, moveaxis
from tinyjax.numpy.vectorizing import vectorize
from tinyjax.primitives.linear import canonicalize_axis
from tinyjax.tracebacks import shorten
from tinyjax.transforms.subprogram import subprogram


class ufunc:
    """A function of nin numbers that returns nout, mapped over arrays.

    Args:
      func: the function, of numbers.
      nin, nout: how many arguments and results.
      identity: what reduce starts with.
      call, reduce, accumulate, at: faster ways, where there are some.
    """

    def __init__(self, func, nin, nout, *, name=None, identity=None, call=None, reduce=None,
                 accumulate=None, at=None):  # fmt: skip
        self.func, self.nin, self.nout = func, operator.index(nin), operator.index(nout)
        self.nargs = self.nin
        self.identity, self.call = identity, call or vectorize(func)
        self.__name__, self.__doc__ = name or func.__name__, func.__doc__
        self.fast_reduce, self.fast_accumulate, self.fast_at = reduce, accumulate, at

    def __repr__(self):
        return f"<jnp.ufunc '{self.__name__}'>"

    def __call__(self, *args, out=None, where=None):
        try:
            if out is not None or where is not None:
                raise NotImplementedError(f"out and where arguments of {self}")
            return self.call(*args)
        except Exception as error:
            shorten(error)
            raise

    def check(self, method):
        """reduce and its kin make sense for binary functions only."""
        if self.nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs")
        if self.nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value")

    def result_dtype(self, *args):
        """The dtype of the function's result."""
        ones = [lax.full_like(a, 1, shape=()) for a in args]
        return self(*ones).dtype

    # ---- reduce ---------------------------------------------------------------------------------

    @subprogram(static_argnames=("self", "axis", "dtype", "out", "keepdims"))
    def reduce(self, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=None):
        """The function applied to all elements along an axis, one after the other.

        Args:
          a: array; axis: None is all axes.
          dtype: of the result; keepdims: keep the axis, with size 1.
          initial: what to start with; where: only elements where it is true.
        """
        self.check("reduce")
        check_out(f"{self.__name__}.reduce", out)
        a = ensure_arraylike(f"{self.__name__}.reduce", a)
        if where is not None:
            if self.identity is None and initial is None:
                raise ValueError(
                    f"reduction operation {self.__name__!r} does not have an identity, so to use "
                    "a where mask one has to specify 'initial'."
                )
            where = ensure_arraylike(f"{self.__name__}.reduce", where)
            if where.dtype != bool:
                raise ValueError(f"where argument must have dtype=bool; got dtype={where.dtype}")
        if self.fast_reduce:
            settings = {"axis": axis, "keepdims": keepdims, "initial": initial, "where": where}
            if dtype is not None:
                settings["dtype"] = dtype
            return self.fast_reduce(a, **settings)
        return self.loop_reduce(a, axis, dtype, keepdims, initial, where)

    def loop_reduce(self, a, axis, dtype, keepdims, initial, where):
        """reduce by a loop."""
        if isinstance(axis, tuple):
            raise NotImplementedError("tuple of axes")
        initial = self.identity if initial is None else initial
        dtype = self.result_dtype(a, a) if dtype is None else dtype
        where = None if where is None else broadcast_to(where, a.shape)
        kept = tuple(1 if axis is None or d == axis % a.ndim else n for d, n in enumerate(a.shape))
        if axis is None:
            a, axis = a.ravel(), 0
            where = None if where is None else where.ravel()
        a = moveaxis(a, axis, 0)
        where = None if where is None else moveaxis(where, axis, 0)
        if a.shape[0] == 0:
            if initial is None:
                raise ValueError(
                    f"zero-size array to reduction operation {self.__name__} which has no identity"
                )
            return lax.full(kept if keepdims else a.shape[1:], initial, dtype)

        def body(i, value):
            new = self(value, a[i].astype(dtype))
            return new if where is None else _where(where[i], new, value)

        start = 1 if initial is None else 0
        value = a[0] if initial is None else initial
        value = broadcast_to(lax.convert_element_type(value, dtype), a.shape[1:])
        out = lax.fori_loop(start, a.shape[0], body, value)
        return out.reshape(kept) if keepdims else out

    @subprogram(static_argnames=("self", "axis", "dtype", "out"))
    def accumulate(self, a, axis=0, dtype=None, out=None):
        """The results of reduce after 1, 2, 3 ... elements along an axis."""
        self.check("accumulate")
        check_out(f"{self.__name__}.accumulate", out)
        a = ensure_arraylike(f"{self.__name__}.accumulate", a)
        if self.fast_accumulate:
            return self.fast_accumulate(a, axis=axis, dtype=dtype)
        if not isinstance(axis, int):
            raise ValueError("accumulate does not allow multiple axes")
        dtype = self.result_dtype(a, a) if dtype is None else dtype
        axis = canonicalize_axis(axis, a.ndim)
        if a.size == 0:
            return lax.full(a.shape, 0, dtype)
        a = moveaxis(a, axis, 0).astype(dtype)

        def step(carry, x):
            i, value = carry
            value = _where(i == 0, x, self(value, x).astype(dtype))
            return (i + 1, value), value

        _, values = lax.scan(step, (0, a[0]), a)
        return moveaxis(values, 0, axis)

    @subprogram(static_argnames=("self", "axis", "dtype", "out"))
    def reduceat(self, a, indices, axis=0, dtype=None, out=None):
        """reduce of the parts of an axis between one index and the next."""
        self.check("reduceat")
        check_out(f"{self.__name__}.reduceat", out)
        a, indices = ensure_arraylike(f"{self.__name__}.reduceat", a, indices)
        if a.ndim == 0 or indices.ndim != 1:
            raise ValueError(
                "reduceat: a must have 1 or more dimension and indices must be one-dimensional, "
                f"got a.shape={a.shape} and indices.shape={indices.shape}"
            )
        if not isinstance(axis, int):
            raise ValueError("reduceat requires a single integer axis.")
        axis = canonicalize_axis(axis, a.ndim)
        found = take(a, indices, axis=axis)
        ends = append(indices, a.shape[axis])
        spread = [d for d in range(found.ndim) if d != axis]
        begin, end = lax.expand_dims(ends[:-1], spread), lax.expand_dims(ends[1:], spread)

        def body(i, value):
            element = take(a, lax.expand_dims(i, (0,)), axis=axis)
            return _where((i > begin) & (i < end), self(value, element), value)

        return lax.fori_loop(0, a.shape[axis], body, found)

    # ---- others ---------------------------------------------------------------------------------

    @subprogram(static_argnames=("self", "inplace"))
    def at(self, a, indices, b=None, /, *, inplace=True):
        """a with the function applied at indices, also repeatedly; needs inplace=False."""
        if inplace:
            raise NotImplementedError(
                "Because JAX arrays are immutable, jnp.ufunc.at() cannot operate inplace like "
                "np.ufunc.at(). Instead, you can pass inplace=False and capture the result."
            )
        args = () if b is None else (ensure_arraylike(f"{self.__name__}.at", b),)
        a = ensure_arraylike(f"{self.__name__}.at", a)
        if self.fast_at:
            return self.fast_at(a, indices, *args)
        dtype = self.result_dtype(a, *args)
        a, args = a.astype(dtype), [x.astype(dtype) for x in args]
        index = indices if isinstance(indices, tuple) else (indices,)
        shape = lax.broadcast_shapes(*[np.shape(i) for i in index])
        flat = [broadcast_to(i, shape).ravel() for i in index]
        args = [broadcast_to(x, (*shape, *x.shape[len(shape) :])) for x in args]
        args = [x.reshape(-1, *x.shape[len(shape) :]) for x in args]

        def body(i, a):
            place = tuple(f[i] for f in flat)
            value = self(a[place], *[x[i] for x in args])
            return IndexUpdate(a)[place].set(value)

        return lax.fori_loop(0, flat[0].shape[0], body, a)

    @subprogram(static_argnames=("self",))
    def outer(self, A, B, /):
        """The function applied to all pairs of elements of two arrays."""
        self.check("outer")
        check_arraylike(f"{self.__name__}.outer", A, B)
        a, b = ensure_arraylike(f"{self.__name__}.outer", A, B)
        out = vmap(vmap(self, (None, 0)), (0, None))(a.ravel(), b.ravel())
        return out.reshape(*a.shape, *b.shape)


def frompyfunc(func, /, nin, nout, *, identity=None):
    """A ufunc of a function of numbers."""
    return ufunc(func, nin, nout, identity=identity)
