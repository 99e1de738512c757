"""Matrix products between kernels: NumPy's, on one BLAS thread each, cut up for our own threads.

Two BLAS threads that wait for each other on a busy machine are slower than one, by far.
"""

import ctypes
import functools
import glob
import math
import os
import threading

import numpy as np

from tinyjax.compiler.buffers import maker
from tinyjax.compiler.threads import COUNT, pieces, run_all
from tinyjax.primitives.dot import is_long, long_dot

SMALL = 1 << 13  # multiplications up to which BLAS does not think of threads
LARGE = 1 << 22  # multiplications from which on pieces are worth the hand-over

# ---- BLAS threads -------------------------------------------------------------------------------


@functools.cache
def blas():
    """(get, set) the number of threads of the BLAS inside NumPy, or None if that cannot be done."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    for path in glob.glob(os.path.join(folder, "*openblas*")):
        try:
            library = ctypes.CDLL(path)
        except OSError:
            continue
        for suffix in ("64_", "_64_", ""):
            for prefix in ("scipy_openblas", "openblas"):
                get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                set_ = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if get and set_:
                    return get, set_
    return None


def one_blas_thread():
    """Whether BLAS uses one thread anyway, by its environment variables."""
    return blas() is not None and os.environ.get("OPENBLAS_NUM_THREADS") == "1"


class OneThread:
    """`with one_thread:` BLAS uses one thread. Blocks may overlap in time."""

    def __init__(self):
        self.lock, self.depth, self.before = threading.Lock(), 0, 1

    def __enter__(self):
        control = blas()
        if control is None:
            return
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.before = control[0]()
                if self.before > 1:
                    control[1](1)

    def __exit__(self, *exc):
        control = blas()
        if control is None:
            return
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and self.before > 1:
                control[1](self.before)


one_thread = OneThread()

# ---- products -----------------------------------------------------------------------------------


def product(eqn):
    """A function of two NumPy arrays for a dot_general equation; None where its card must do it.

    The result is written to a third array instead, if one is given.
    """
    a, b = (v.aval for v in eqn.invars)
    out = eqn.outvars[0].aval
    if a.dtype != b.dtype or a.dtype != out.dtype or out.dtype.name not in ("float32", "float64"):
        return None
    (lc, rc), (lb, rb) = eqn.params["dimension_numbers"]
    if lb or out.size == 0 or a.size == 0:
        return None
    lf = [d for d in range(a.ndim) if d not in lc]
    rf = [d for d in range(b.ndim) if d not in rc]
    m, n = (math.prod(v.shape[d] for d in free) for v, free in ((a, lf), (b, rf)))
    k = math.prod(a.shape[d] for d in lc)
    left, right = matrix(a, lf, lc, (m, k)), matrix(b, rc, rf, (k, n))
    new, shape = maker((m, n), out.dtype), out.shape
    cut = COUNT > 1 and m * n * k >= LARGE and max(m, n) >= 2 * COUNT

    long = is_long(m, n, k, out.dtype)
    plain = m * n * k < SMALL or (COUNT == 1 and one_blas_thread())

    def compute(x, y, result):
        if long:
            result[...] = long_dot(x.reshape(-1), y.reshape(-1))
        elif plain:
            np.dot(x, y, result)
        else:
            with one_thread:
                if cut:
                    run_all(parts(x, y, result))
                else:
                    np.dot(x, y, result)

    def multiply(x, y, out=None):
        result = new() if out is None else out.reshape(m, n)
        compute(left(x), right(y), result)
        return result.reshape(shape) if out is None else None

    return multiply


def matrix(aval, rows, columns, shape):
    """A function that views an array as a matrix with these axes as rows and columns."""
    order = [*rows, *columns]
    plain = order == list(range(aval.ndim))
    if plain and aval.shape == shape:
        return lambda x: x
    if plain:
        return lambda x: x.reshape(shape)
    if order == [1, 0]:
        return lambda x: x.T
    return lambda x: x.transpose(order).reshape(shape)


def parts(x, y, result):
    """The pieces of a product: some rows each, or some columns if there are more of those."""
    m, n = result.shape
    if m >= n:
        return [functools.partial(np.dot, x[a:b], y, result[a:b]) for a, b in pieces(m, 8, 1)]
    return [functools.partial(columns, x, y, result, a, b) for a, b in pieces(n, 16, 1)]


def columns(x, y, result, first, last):
    """Some columns of a product."""
    np.matmul(x, y[:, first:last], result[:, first:last])
