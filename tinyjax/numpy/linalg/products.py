"""Products under the names of the array API's linear algebra extension."""

from tinyjax.numpy import linear, matrices
from tinyjax.numpy.checks import check_sequence, ensure_arraylike
from tinyjax.numpy.contractions import einsum


def cross(x1, x2, /, *, axis=-1):
    """The cross product of vectors of length 3.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    x1, x2 = ensure_arraylike("jnp.linalg.cross", x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
            f"x1.shape[axis]={x1.shape[axis]} and x2.shape[axis]={x2.shape[axis]}"
        )
    return linear.cross(x1, x2, axis=axis)


def outer(x1, x2, /):
    """All products of two vectors' elements.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    x1, x2 = ensure_arraylike("jnp.linalg.outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are x1.ndim={x1.ndim} "
            f"x2.ndim={x2.ndim}"
        )
    return x1[:, None] * x2[None, :]


def diagonal(x, /, *, offset=0):
    """The diagonal along the last two axes.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.diagonal(jnp.arange(4).reshape(2, 2))
    Array([0, 3], dtype=int32)
    """
    return matrices.diagonal(ensure_arraylike("diagonal", x), offset=offset, axis1=-2, axis2=-1)


def trace(x, /, *, offset=0, dtype=None):
    """The sum of the diagonal along the last two axes.

    >>> import tinyjax.numpy as jnp
    >>> print(jnp.linalg.trace(jnp.arange(4).reshape(2, 2)))
    3
    """
    x = ensure_arraylike("jnp.linalg.trace", x)
    return matrices.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def matmul(x1, x2, /, *, precision=None, preferred_element_type=None):
    """See jnp.matmul.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.matmul(jnp.ones((2, 3)), jnp.arange(3.0))
    Array([3., 3.], dtype=float32)
    """
    return linear.matmul(x1, x2, precision=precision, preferred_element_type=preferred_element_type)


def tensordot(x1, x2, /, *, axes=2, precision=None, preferred_element_type=None,
              out_sharding=None):  # fmt: skip
    """See jnp.tensordot. out_sharding: accepted as JAX's; without effect.

    >>> import tinyjax.numpy as jnp
    >>> print(jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((2, 3))))
    6.0
    """
    return linear.tensordot(
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type
    )


def multi_dot(arrays, *, precision=None):
    """The product of several matrices, in the order that takes the fewest operations.

    >>> import tinyjax.numpy as jnp
    >>> jnp.linalg.multi_dot([jnp.ones((1, 3)), jnp.ones((3, 3)), jnp.arange(3.0)])
    Array([9.], dtype=float32)
    """
    arrays = check_sequence("jnp.linalg.multi_dot", arrays)
    if len(arrays) < 2:
        raise ValueError(f"multi_dot requires at least two arrays; got len(arrays)={len(arrays)}")
    ends_fit = arrays[0].ndim in (1, 2) and arrays[-1].ndim in (1, 2)
    if not ends_fit or any(a.ndim != 2 for a in arrays[1:-1]):
        raise ValueError(
            "multi_dot: input arrays must all be two-dimensional, except for the first and last "
            f"array which may be 1 or 2 dimensional. Got array shapes {[a.shape for a in arrays]}"
        )
    if any(a.shape[-1] != b.shape[0] for a, b in zip(arrays, arrays[1:])):
        raise ValueError(
            "multi_dot: last dimension of each array must match first dimension of following "
            f"array. Got array shapes {[a.shape for a in arrays]}"
        )
    axes = [(i, i + 1) for i in range(len(arrays))]
    if arrays[0].ndim == 1:
        axes[0] = (1,)
    if arrays[-1].ndim == 1:
        axes[-1] = axes[-1][:1]
    ends = ([0] if arrays[0].ndim == 2 else []) + ([len(arrays)] if arrays[-1].ndim == 2 else [])
    operands = [x for pair in zip(arrays, axes) for x in pair]
    return einsum(*operands, ends, optimize="auto", precision=precision)
