"""ravel_pytree: a pytree of arrays as one vector, and back."""

from functools import partial

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Value, lift
from tinyjax.tree_util import tree_flatten, tree_unflatten


def ravel_pytree(pytree):
    """Concatenate all leaves of a pytree to one vector.

    Args:
      pytree: pytree of arrays and numbers.

    Returns (vector, unravel): a 1-D array of the leaves' common dtype (float32, empty, if
    there are no leaves), and a function that makes a pytree of the same structure, shapes and
    dtypes of such a vector. If all leaves have one dtype, unravel takes vectors of any dtype. It
    raises TypeError for a vector of another dtype, ValueError for one of another length.

    >>> import tinyjax.numpy as jnp
    >>> flat, unravel = ravel_pytree({"w": jnp.ones((2, 2)), "b": 0.5})
    >>> print(flat)
    [0.5 1.  1.  1.  1. ]
    >>> unravel(2 * flat)["b"]
    Array(1., dtype=float32)
    """
    leaves, tree = tree_flatten(pytree)
    if not leaves:
        return lax.full([0], 0, np.dtype(np.float32)), _Unravel(tree, (), (), None)
    arrays = list(map(lift, leaves))
    own = tuple(x.dtype for x in arrays)
    common = dtypes.result_type(*own)  # the dtypes alone: a number counts as a float32 here
    shapes = tuple(x.shape for x in arrays)
    same = all(d == common for d in own)
    if same:
        rows = [lax.reshape(x, (x.size,)) for x in arrays]
    else:
        rows = [lax.convert_element_type(x, common).ravel() for x in arrays]
    return lax.concatenate(rows, dimension=0), _Unravel(tree, shapes, own, None if same else common)


class _Unravel(partial):
    """A function from vectors to pytrees; equal for equal structures: jit keeps its trace."""

    def __new__(cls, *parts):
        return super().__new__(cls, _unravel, *parts)

    def __eq__(self, other):
        return isinstance(other, _Unravel) and self.args == other.args

    def __hash__(self):
        return hash(self.args)


def _unravel(tree, shapes, dtypes_, common, flat):
    """The pytree of a vector; common: the vector's dtype, if it matters."""
    flat = flat if isinstance(flat, Value) else lift(np.asarray(flat))
    if not shapes:
        return tree_unflatten(tree, [])
    if common is not None and flat.dtype != common:
        raise TypeError(
            f"unravel function given array of dtype {flat.dtype}, but expected dtype {common}"
        )
    sizes = [int(np.prod(s, dtype=np.int64)) for s in shapes]
    chunks = [c.reshape(s) for c, s in zip(lax.split(flat, sizes), shapes)]
    if common is not None:
        chunks = [_converted(c, d) for c, d in zip(chunks, dtypes_)]
    return tree_unflatten(tree, chunks)


def _converted(x, dtype):
    """x at a dtype; only the real part, for a real one."""
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = lax.real(x)
    return lax.convert_element_type(x, dtype)
