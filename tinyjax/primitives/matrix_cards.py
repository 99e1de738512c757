"""What the cards of linear algebra share: operands are matrices or vectors, behind batch axes."""

import functools

import numpy as np

from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Primitive
from tinyjax.primitives.linear import batched_front
from tinyjax.primitives.rules import WithoutDerivative
from tinyjax.primitives.shaping import check_same_dtypes

INDEX = np.dtype(np.int32)
SUBTYPES = {"f": "floating", "c": "complexfloating", "i": "int32"}


def real_dtype(dtype):
    """The dtype of the absolute value."""
    return np.zeros((), dtype).real.dtype


def complex_dtype(dtype):
    """The complex dtype of the same precision."""
    return np.result_type(dtype, np.complex64)


class MatrixPrimitive(Primitive):
    """Works on the last one or two axes of its operands; leading axes are batches.

    ranks: how many axes of each operand are no batch axes.   accepts: kinds of dtypes.
    shapes(*shapes, **params), dtypes(dtype, **params): of the result or results, without batch.
    one(*arrays, **params): the value for one element of the batch.
    """

    ranks: tuple = (2,)
    accepts = "fc"

    def shapes(self, shape, **params):
        """As the operand's."""
        return shape

    def dtypes(self, dtype, **params):
        """As the operand's, for all results."""
        return dtype

    def type(self, *avals, **params):
        batch = self.check(avals)
        shapes = self.shapes(*[a.shape[len(batch) :] for a in avals], **params)
        dtypes = self.dtypes(avals[0].dtype, **params)
        weak = all(a.weak_type for a in avals)
        if not self.multi:
            return ShapedArray((*batch, *shapes), dtypes, weak)
        if not isinstance(dtypes, list):
            dtypes = [dtypes] * len(shapes)
        return [ShapedArray((*batch, *s), d, weak) for s, d in zip(shapes, dtypes, strict=True)]

    def check(self, avals):
        """Raise unless ranks and dtypes are right -> the shape of the batch."""
        batches = []
        for i, (rank, aval) in enumerate(zip(self.ranks, avals, strict=True)):
            if len(aval.shape) < rank:
                raise TypeError(
                    f"Input {i} to {self.name} must have rank at least {rank}, but got "
                    f"shape={aval.shape}"
                )
            batches.append(aval.shape[: len(aval.shape) - rank])
        counts = list(map(len, batches))
        if len(set(counts)) > 1:
            raise TypeError(
                f"All inputs to {self.name} must have the same number of batch dimensions, but got "
                f"{counts} batch dimensions for the inputs."
            )
        for i, aval in enumerate(avals):
            self.check_dtype(i, aval.dtype)
        check_same_dtypes(self.name, avals)
        return batches[0]

    def check_dtype(self, i, dtype):
        """Raise unless an operand's dtype is one of those that LAPACK knows."""
        if dtype.kind not in self.accepts:
            names = ", ".join(SUBTYPES[kind] for kind in self.accepts)
            raise TypeError(
                f"{self.name} does not accept dtype {dtype.name} at position {i}. Accepted dtypes "
                f"at position {i} are subtypes of {names}."
            )
        if dtype.itemsize < 4:
            raise NotImplementedError(f"Unsupported dtype {dtype.name} for {self.name}")

    def __call__(self, *xs, **params):
        """Bind, after the checks: eager evaluation does not run the type rule."""
        xs = list(map(lift, xs))
        self.type(*[x.aval for x in xs], **params)
        return self.bind(*xs, **params)

    def impl(self, *arrays, **params):
        results = self.type(*[ShapedArray(a.shape, a.dtype) for a in arrays], **params)
        results = results if self.multi else [results]
        if arrays[0].ndim == self.ranks[0]:
            values = self.one(*arrays, **params)
            outs = list(map(as_result, values if self.multi else [values], results))
            return outs if self.multi else outs[0]
        outs = [np.empty(r.shape, r.dtype) for r in results]
        for place in np.ndindex(arrays[0].shape[: arrays[0].ndim - self.ranks[0]]):
            values = self.one(*[a[place] for a in arrays], **params)
            for out, value in zip(outs, values if self.multi else [values], strict=True):
                out[place] = value
        return outs if self.multi else outs[0]

    linearize = WithoutDerivative.linearize  # unless a card has a rule

    def batch(self, axis, vals, dims, /, **params):
        outs = self.bind(*[batched_front(axis, v, d) for v, d in zip(vals, dims)], **params)
        return outs, [0] * len(outs) if self.multi else 0


def as_result(value, aval):
    """A value, or the one number that it consists of, as an array of a type."""
    value = np.ascontiguousarray(value, aval.dtype)
    return value if value.shape == aval.shape else np.full(aval.shape, value, aval.dtype)


class Factorization(MatrixPrimitive):
    """Several matrices of one."""

    multi = True


@functools.cache
def lapack(name, dtype):
    """A routine of LAPACK for a dtype, or None if there is no SciPy."""
    try:
        from scipy.linalg.lapack import get_lapack_funcs
    except ImportError:
        return None
    return get_lapack_funcs(name, dtype=dtype)


def many_small(x, dtype):
    """Whether NumPy should work on the whole batch, step by step: for small matrices that beats
    calling LAPACK for each; and what is empty, or has no SciPy, has no choice."""
    count = np.prod(x.shape[:-2], dtype=int)
    return x.size == 0 or (x.shape[-2] <= 16 and count >= 8) or lapack("getrf", dtype) is None


def needed(name, dtype):
    """A routine of LAPACK for a dtype; ImportError says what is missing."""
    routine = lapack(name, np.dtype(dtype))
    if routine is None:
        raise ImportError(f"LAPACK's {name} is called through SciPy: pip install scipy")
    return routine


def symmetric(name, dtype):
    """The routine for symmetric or Hermitian matrices: sytrd or hetrd for "trd"."""
    return needed(("he" if np.dtype(dtype).kind == "c" else "sy") + name, dtype)


def unitary(name, dtype):
    """The routine for orthogonal or unitary matrices: orgqr or ungqr for "gqr"."""
    return needed(("un" if np.dtype(dtype).kind == "c" else "or") + name, dtype)
