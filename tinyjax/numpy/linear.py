"""Products of vectors, matrices and tensors: each is one dot_general and what gets shapes right."""

import functools

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.promotion import promote_dtypes
from tinyjax.numpy.shaping import moveaxis
from tinyjax.numpy.ufuncs import conj
from tinyjax.numpy.vectorizing import vectorize
from tinyjax.primitives.linear import canonicalize_axis, convert
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import subprogram


def product_dtype(name, preferred, *args):
    """-> dtype and weak type of a product, where preferred is not None the dtype asked for."""
    if preferred is None:
        return dtypes.result_type(*args, return_weak_type_flag=True)
    return dtypes.check_user_dtype_supported(preferred, name), False


def contract(a, b, contracting, batch, precision, dtype, weak_type):
    """dot_general, with the result's dtype and weak type."""
    out = lax.dot_general(
        a, b, (contracting, batch), precision=precision, preferred_element_type=dtype
    )
    return convert(out, dtype, weak_type)


@recorded
def dot(a, b, *, precision=None, preferred_element_type=None):
    """The sum over the last axis of a and the last but one of b (a vector's only one).

    Args:
      a, b: arrays or numbers.
      precision: accepted as JAX's.
      preferred_element_type: dtype of the result.

    Raises TypeError if these axes differ in size.

    >>> import tinyjax.numpy as jnp
    >>> jnp.dot(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
    Array(11., dtype=float32)
    """
    a, b = ensure_arraylike("dot", a, b)
    dtype, weak_type = product_dtype("dot", preferred_element_type, a, b)
    if a.ndim == 0 or b.ndim == 0:
        axes = ((), ())
    else:
        axes = ((a.ndim - 1,), (0 if b.ndim == 1 else b.ndim - 2,))
    return contract(a, b, axes, ((), ()), precision, dtype, weak_type)


@recorded
def matmul(a, b, *, precision=None, preferred_element_type=None):
    """The matrix product a @ b; leading axes are batches, which broadcast.

    Args:
      a, b: arrays with one axis or more; a vector counts as a row (a) or a column (b).
      precision, preferred_element_type: as of dot.

    Raises ValueError for numbers and for batches that do not fit.

    >>> import tinyjax.numpy as jnp
    >>> jnp.matmul(jnp.ones((2, 3)), jnp.ones((3, 4))).shape
    (2, 4)
    """
    a, b = ensure_arraylike("matmul", a, b)
    for i, x in enumerate((a, b)):
        if x.ndim < 1:
            raise ValueError(
                f"matmul input operand {i} must have ndim at least 1, but it has ndim {x.ndim}"
            )
    dtype, weak_type = product_dtype("matmul", preferred_element_type, a, b)
    a_is_mat, b_is_mat = a.ndim > 1, b.ndim > 1
    n = max(a.ndim, b.ndim, 2) - 2
    a_sizes = (None,) * (n - len(a.shape[:-2])) + a.shape[:-2]
    b_sizes = (None,) * (n - len(b.shape[:-2])) + b.shape[:-2]
    batch, a_only, b_only = [], [], []  # axes of the result, by who has them
    a_batch, b_batch, a_squeeze, b_squeeze, unit = [], [], [], [], []
    for i, (p, q) in enumerate(zip(a_sizes, b_sizes)):
        a_at, b_at = len(batch) + len(a_only), len(batch) + len(b_only)
        if p is None:
            b_only.append(i)
        elif q is None:
            a_only.append(i)
        elif p == 1 or q == 1:
            if p == 1:
                a_squeeze.append(a_at + len(a_squeeze))
            if q == 1:
                b_squeeze.append(b_at + len(b_squeeze))
            kept = unit if p == q else b_only if p == 1 else a_only
            kept.append(i)
        elif p == q:
            a_batch.append(a_at)
            b_batch.append(b_at)
            batch.append(i)
        else:
            raise ValueError(f"Incompatible shapes for matmul arguments: {a.shape} and {b.shape}")
    if a_is_mat:
        a_only.append(n)
    if b_is_mat:
        b_only.append(n + a_is_mat)
    a, b = lax.squeeze(a, a_squeeze), lax.squeeze(b, b_squeeze)
    axes = ((a.ndim - 1,), (b.ndim - 1 - b_is_mat,))
    out = lax.dot_general(
        a, b, (axes, (a_batch, b_batch)), precision=precision, preferred_element_type=dtype
    )
    out = lax.transpose(out, np.argsort([*batch, *a_only, *b_only]).astype(int))
    if unit:
        out = lax.expand_dims(out, unit)
    return convert(out, dtype, weak_type)


@recorded
def vdot(a, b, *, precision=None, preferred_element_type=None):
    """The inner product of two arrays as flat vectors; complex a is conjugated."""
    a, b = ensure_arraylike("vdot", a, b)
    a = conj(a)
    return dot(
        a.ravel(), b.ravel(), precision=precision, preferred_element_type=preferred_element_type
    )


@recorded
def vecdot(x1, x2, /, *, axis=-1, precision=None, preferred_element_type=None):
    """Inner products along an axis; other axes broadcast, complex x1 is conjugated."""
    x1, x2 = ensure_arraylike("jnp.vecdot", x1, x2)
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(f"axes must match; got shapes {x1.shape} and {x2.shape} with axis={axis}")
    product = functools.partial(
        vdot, precision=precision, preferred_element_type=preferred_element_type
    )
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    return vectorize(product, signature="(n),(n)->()")(x1, x2)


@subprogram
def matvec(x1, x2, /):
    """Matrices times vectors; leading axes broadcast."""
    x1, x2 = ensure_arraylike("matvec", x1, x2)
    return vectorize(matmul, signature="(n,m),(m)->(n)")(x1, x2)


@subprogram
def vecmat(x1, x2, /):
    """Vectors (conjugated) times matrices; leading axes broadcast."""
    x1, x2 = ensure_arraylike("matvec", x1, x2)
    return vectorize(matmul, signature="(n),(n,m)->(m)")(conj(x1), x2)


@recorded
def tensordot(a, b, axes=2, *, precision=None, preferred_element_type=None):
    """The sum over several axes of a and b.

    Args:
      a, b: arrays.
      axes: how many of the last axes of a and first of b to sum over; or a pair: the axes of a,
        the axes of b.
      precision, preferred_element_type: as of dot.

    Raises TypeError if the axes do not fit.
    """
    a, b = ensure_arraylike("tensordot", a, b)
    dtype, weak_type = product_dtype("tensordot", preferred_element_type, a, b)
    if type(axes) is int:
        if axes > min(a.ndim, b.ndim):
            raise TypeError(
                f"Number of tensordot axes (axes {axes}) exceeds input ranks ({a.shape} and "
                f"{b.shape})"
            )
        contracting = (tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes)))
    elif isinstance(axes, (tuple, list)) and len(axes) == 2:
        contracting = axis_pairs(*axes, a.ndim, b.ndim)
    else:
        raise TypeError(
            "tensordot axes argument must be an int, a pair of ints, or a pair of lists/tuples "
            f"of ints, got {axes}"
        )
    return contract(a, b, contracting, ((), ()), precision, dtype, weak_type)


def axis_pairs(axes_a, axes_b, a_ndim, b_ndim):
    """The axes argument of tensordot as two tuples."""
    if isinstance(axes_a, int) and isinstance(axes_b, int):
        axes_a, axes_b = (axes_a,), (axes_b,)
    if not (isinstance(axes_a, (tuple, list)) and isinstance(axes_b, (tuple, list))):
        raise TypeError(
            "tensordot requires both axes lists to be either ints, tuples or lists, got "
            f"{axes_a} and {axes_b}"
        )
    if len(axes_a) != len(axes_b):
        raise TypeError(
            f"tensordot requires axes lists to have equal length, got {axes_a} and {axes_b}."
        )
    return (
        tuple(canonicalize_axis(i, a_ndim) for i in axes_a),
        tuple(canonicalize_axis(i, b_ndim) for i in axes_b),
    )


@recorded
def inner(a, b, *, precision=None, preferred_element_type=None):
    """The sum over the last axes of both; of numbers, their product."""
    a, b = ensure_arraylike("inner", a, b)
    if a.ndim == 0 or b.ndim == 0:
        if preferred_element_type is not None:
            a, b = a.astype(preferred_element_type), b.astype(preferred_element_type)
        return a * b
    return tensordot(
        a, b, (-1, -1), precision=precision, preferred_element_type=preferred_element_type
    )


@recorded
def outer(a, b, out=None):
    """All products of an element of a and one of b: a matrix.

    >>> import tinyjax.numpy as jnp
    >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.outer is not supported.")
    a, b = promote_dtypes(*ensure_arraylike("outer", a, b))
    return a.ravel()[:, None] * b.ravel()[None, :]


@subprogram
def kron(a, b):
    """The Kronecker product: every element of a times all of b."""
    a, b = promote_dtypes(*ensure_arraylike("kron", a, b))
    n = max(a.ndim, b.ndim)
    a, b = lax.broadcast_to_rank(a, n), lax.broadcast_to_rank(b, n)
    shape = tuple(p * q for p, q in zip(a.shape, b.shape))
    a = lax.expand_dims(a, range(1, 2 * n, 2))
    b = lax.expand_dims(b, range(0, 2 * n, 2))
    return lax.reshape(lax.mul(a, b), shape)


@subprogram(static_argnames=("axisa", "axisb", "axisc", "axis"))
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The cross product of vectors of length 3 (or 2, whose third component is 0)."""
    a, b = ensure_arraylike("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = moveaxis(a, axisa, -1), moveaxis(b, axisb, -1)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    if a.shape[-1] == 2 and b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    a0, a1, a2 = components(a)
    b0, b1, b2 = components(b)
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return moveaxis(join(parts), 0, axisc)


def components(x):
    """The components of vectors along the last axis; a missing third one is 0."""
    first, second = x[..., 0], x[..., 1]
    third = x[..., 2] if x.shape[-1] == 3 else lax.full_like(first, 0)
    return first, second, third


def join(parts):
    """Arrays of one shape along a new first axis."""
    parts = [lax.expand_dims(p, (0,)) for p in promote_dtypes(*parts)]
    return lax.concatenate(parts, 0)
