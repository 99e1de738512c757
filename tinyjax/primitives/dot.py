"""Dot products: dot_general, which every kind of matrix product becomes."""

import enum
import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tinyjax import dtypes, shape_messages
from tinyjax.array import lift
from tinyjax.avals import ShapedArray
from tinyjax.config import current_flags
from tinyjax.core import Primitive, Undef, Zero, nonzero
from tinyjax.primitives.linear import add_tangents, convert, transpose

# ---- precision ----------------------------------------------------------------------------------


class Precision(enum.Enum):
    """How accurately an accelerator multiplies. It makes no difference on a CPU.

    Names: 'default', 'high', 'highest' and their aliases in PRECISIONS.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self):
        return f"Precision.{self.name}"

    def __str__(self):
        return self.name


PRECISIONS = {
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


class DotAlgorithmPreset(enum.Enum):
    """Which types to multiply and to sum in: operands_products_sums. A CPU knows these alone."""

    DEFAULT = 0
    F16_F16_F16 = 1
    F32_F32_F32 = 2
    F64_F64_F64 = 3
    BF16_BF16_F32 = 4
    BF16_BF16_F32_X3 = 5
    BF16_BF16_F32_X6 = 6

    def __repr__(self):
        return self.name

    __str__ = __repr__


def canonicalize_precision(precision):
    """A precision, its name, a pair of either, a preset, or None -> a pair, a preset, or None."""
    if precision is None:
        precision = current_flags().default_matmul_precision
        if precision is None:
            return None
    if isinstance(precision, str) and "_F" in precision:
        if precision not in DotAlgorithmPreset.__members__:
            raise ValueError(
                f"The precision '{precision}' is not supported by dot_general on CPU. Choose one "
                f"of {list(DotAlgorithmPreset.__members__)}."
            )
        return DotAlgorithmPreset[precision]
    if isinstance(precision, DotAlgorithmPreset):
        return precision
    pair = precision if isinstance(precision, (list, tuple)) else (precision, precision)
    found = tuple(PRECISIONS.get(p) if isinstance(p, str) else p for p in pair)
    if len(found) == 2 and all(isinstance(p, Precision) for p in found):
        return found
    raise ValueError(
        "Precision argument must be None, a lax.Precision, a string in "
        f"{list(PRECISIONS)}, or a tuple of two of these; but got {precision}."
    )


# ---- types --------------------------------------------------------------------------------------


def rank_dtype(dtype):
    """The key by which XLA picks the wider of two dtypes."""
    part = dtypes.to_floating_dtype(dtype) if dtype.kind == "c" else dtype
    if dtypes.issubdtype(part, np.floating):
        info = dtypes.finfo(part)
        size = (info.maxexp, info.nmant, info.bits)
    else:
        size = (-1, -1, bits_of(part))
    return (dtype.kind == "c", *size, part.kind != "u")


def bits_of(dtype):
    """The number of bits that a number holds: 1 for booleans."""
    return 1 if dtype.kind == "b" else dtype.itemsize * 8 // (2 if dtype.kind == "c" else 1)


def result_dtype(x, y, preferred):
    """The dtype of a dot product; raises TypeError when there is none."""
    if x == y or rank_dtype(x) > rank_dtype(y):
        out = x
    elif rank_dtype(y) > rank_dtype(x):
        out = y
    else:
        raise TypeError(f"lax.dot_general argument type error: {x}, {y}")
    if preferred is None or preferred == out:
        return out
    if not dtypes.issubdtype(out, np.floating) and bits_of(preferred) < bits_of(out):
        raise TypeError(
            "`preferred_element_type` must not be narrower than the original type, got "
            f"preferred_element_type of {preferred} for result type of {out}."
        )
    return preferred


def kept(ndim, *removed):
    """The axes that are in none of the tuples."""
    return [i for i in range(ndim) if not any(i in axes for axes in removed)]


def sizes(shape, axes):
    """The sizes of some axes."""
    return tuple(shape[i] for i in axes)


def check_axes(side, rank, batch, contract):
    """Raise TypeError unless an operand's axes are in range, distinct and disjoint."""
    for axes in (batch, contract):
        if any(not 0 <= d < rank for d in axes):
            raise TypeError(
                f"dot_general requires {side} dimension numbers to be nonnegative and less than "
                f"the number of axes of the {side} value, got {side}_batch of {batch} and "
                f"{side}_contracting of {contract} for {side} of rank {rank}"
            )
    for kind, axes in (("batch", batch), ("contracting", contract)):
        if len(set(axes)) != len(axes):
            raise TypeError(
                f"dot_general requires {side} {kind} dimensions to be distinct, got "
                f"{side}_{kind} {axes}."
            )
    if set(batch) & set(contract):
        raise TypeError(
            f"dot_general requires {side} batch dimensions to be disjoint from contracting "
            f"dimensions, got {side}_batch {batch} and {side}_contracting {contract}."
        )


def computing_dtype(x, y, out):
    """The dtype in which products are summed: narrow floats need a wider one, as in XLA."""
    if dtypes.issubdtype(out, np.floating) and out.itemsize < 4:
        wide = [d for d in (x, y) if dtypes.issubdtype(d, np.floating) and d.itemsize > 4]
        return wide[0] if wide else np.dtype(np.float32)
    return out


class Plan(NamedTuple):
    """A dot product as a matrix product: how the operands are laid out, and what comes out."""

    x_axes: tuple  # batch, rows, inner
    x_shape: tuple  # (*batch, m, k)
    y_axes: tuple  # batch, inner, columns
    y_shape: tuple  # (*batch, k, n)
    shape: tuple  # batch, rows, columns
    dtype: Any
    work: Any
    long: bool  # a dot product of vectors, too long for single precision throughout


@lru_cache(maxsize=4096)
def plan(x_shape, x_dtype, y_shape, y_dtype, dimension_numbers, preferred):
    """The Plan of a dot product; raises TypeError when the operands do not fit."""
    (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    check_axes("lhs", len(x_shape), x_batch, x_contract)
    check_axes("rhs", len(y_shape), y_batch, y_contract)
    if len(x_batch) != len(y_batch):
        raise TypeError(
            "dot_general requires equal numbers of lhs_batch and rhs_batch dimensions, got "
            f"lhs_batch {x_batch} and rhs_batch {y_batch}."
        )
    batch, inner = sizes(x_shape, x_batch), sizes(x_shape, x_contract)
    if batch != sizes(y_shape, y_batch):
        raise TypeError(
            "dot_general requires lhs batch dimensions and rhs batch dimensions to have the same "
            f"shape, got {batch} and {sizes(y_shape, y_batch)}."
        )
    if inner != sizes(y_shape, y_contract):
        first = (
            "dot_general requires contracting dimensions to have the same shape, got "
            f"{inner} and {sizes(y_shape, y_contract)}."
        )
        shapes, types, axes = (x_shape, y_shape), (x_dtype, y_dtype), (x_contract, y_contract)
        raise TypeError(shape_messages.contracting(first, shapes, types, axes))
    x_kept = kept(len(x_shape), x_contract, x_batch)
    y_kept = kept(len(y_shape), y_contract, y_batch)
    rows, columns = sizes(x_shape, x_kept), sizes(y_shape, y_kept)
    m, n, k = math.prod(rows), math.prod(columns), math.prod(inner)
    dtype = result_dtype(x_dtype, y_dtype, preferred)
    work = computing_dtype(x_dtype, y_dtype, dtype)
    return Plan(
        (*x_batch, *x_kept, *x_contract),
        (*batch, m, k),
        (*y_batch, *y_contract, *y_kept),
        (*batch, k, n),
        batch + rows + columns,
        dtype,
        work,
        not batch and is_long(m, n, k, work),
    )


BLOCK = 1 << 12  # products that are summed in single precision


def is_long(m, n, k, dtype):
    """Whether a product of matrices is one of vectors that `long_dot` takes."""
    return m == n == 1 and k >= 4 * BLOCK and dtype == np.float32


def long_dot(x, y):
    """The dot product of long float32 vectors: the sums of blocks are added in double precision."""
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)  # BLAS takes no others
    cut = x.size // BLOCK * BLOCK
    blocks = np.matmul(x[:cut].reshape(-1, 1, BLOCK), y[:cut].reshape(-1, BLOCK, 1))
    return np.float32(blocks.sum(dtype=np.float64) + np.dot(x[cut:], y[cut:]))


# ---- the card -----------------------------------------------------------------------------------


class DotGeneral(Primitive):
    """dot_general[dimension_numbers] x y: sums of products over contracting axes.

    dimension_numbers: ((contracting axes of x, of y), (batch axes of x, of y)). The result has the
    batch axes, then the other axes of x, then those of y.
    """

    bilinear = True

    def impl(self, x, y, *, dimension_numbers, preferred_element_type, **_):
        how = plan(x.shape, x.dtype, y.shape, y.dtype, dimension_numbers, preferred_element_type)
        a = x.transpose(how.x_axes).reshape(how.x_shape).astype(how.work, copy=False)
        b = y.transpose(how.y_axes).reshape(how.y_shape).astype(how.work, copy=False)
        out = long_dot(a.reshape(-1), b.reshape(-1)) if how.long else np.matmul(a, b)
        return out.reshape(how.shape).astype(how.dtype, copy=False)

    def type(self, x, y, *, dimension_numbers, preferred_element_type, **_):
        how = plan(x.shape, x.dtype, y.shape, y.dtype, dimension_numbers, preferred_element_type)
        return ShapedArray(how.shape, how.dtype, x.weak_type and y.weak_type)

    def shown_params(self, params):
        contract, batch = params["dimension_numbers"]
        numbers = tuple(map(list, contract)), tuple(map(list, batch))
        rest = [(k, v) for k, v in sorted(params.items()) if v is not None]
        return [(k, numbers if k == "dimension_numbers" else v) for k, v in rest]

    def linearize(self, nz, x, y, **params):
        out = self.bind(x, y, **params)

        def push(x_t, y_t):
            a = self.bind(x_t, y, **params) if nonzero(x_t) else Zero(out.aval)
            b = self.bind(x, y_t, **params) if nonzero(y_t) else Zero(out.aval)
            return add_tangents(a, b)

        return out, push

    def transpose(self, ct, x, y, *, dimension_numbers, **params):
        contract, batch = dimension_numbers
        if isinstance(x, Undef):
            return [cotangent(ct, x.aval, y, contract, batch, False, params), None]
        return [None, cotangent(ct, y.aval, x, contract[::-1], batch[::-1], True, params)]

    def batch(self, axis, vals, dims, /, *, dimension_numbers, **params):
        (x, y), (x_dim, y_dim) = vals, dims
        (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
        if x_dim is not None:
            x_kept = kept(x.ndim - 1, x_contract, x_batch)
            x_contract, x_batch = bump(x_contract, x_dim), bump(x_batch, x_dim)
            out_dim = len(x_batch) + sum(bump([i], x_dim)[0] < x_dim for i in x_kept)
        if y_dim is not None:
            y_kept = kept(y.ndim - 1, y_contract, y_batch)
            y_contract, y_batch = bump(y_contract, y_dim), bump(y_batch, y_dim)
            before = sum(i < y_dim for i in y_kept)
            out_dim = x.ndim - len(x_contract) + before
        if x_dim is not None and y_dim is not None:
            x_batch, y_batch, out_dim = (x_dim, *x_batch), (y_dim, *y_batch), 0
        numbers = ((x_contract, y_contract), (x_batch, y_batch))
        return self.bind(x, y, dimension_numbers=numbers, **params), out_dim


def bump(axes, dim):
    """Axes of one element as axes of a batch whose batch axis is dim."""
    return tuple(i + (i >= dim) for i in axes)


def cotangent(ct, aval, other, contract, batch, swapped, params):
    """The cotangent of one operand of a dot product. swapped: it is the second one.

    contract, batch: the dimension numbers, first those of this operand, then the other's.
    """
    (own_contract, other_contract), (own_batch, other_batch) = contract, batch
    own_kept = kept(len(aval.shape), own_contract, own_batch)
    other_kept = kept(other.ndim, other_contract, other_batch)
    start = len(own_batch) + (0 if swapped else len(own_kept))
    ct_axes = tuple(range(start, start + len(other_kept)))
    numbers = ((ct_axes, tuple(other_kept)), (tuple(range(len(own_batch))), other_batch))
    out = dot_general_p.bind(ct, other, dimension_numbers=numbers, **params)
    # its last axes are our contracting ones, in the order in which they stand in the other operand
    by_other = [own_contract[i] for i in np.argsort(other_contract)]
    order = [*own_batch, *own_kept, *by_other]
    out = transpose(out, [int(i) for i in np.argsort(order)])
    return out if out.dtype == aval.dtype else convert(out, aval.dtype, aval.weak_type)


dot_general_p = DotGeneral("dot_general")


# ---- functions ----------------------------------------------------------------------------------


def axes_tuple(axes):
    """An axis or several as a tuple of ints."""
    return (int(axes),) if isinstance(axes, (int, np.integer)) else tuple(int(d) for d in axes)


def dot(lhs, rhs, *, dimension_numbers=None, precision=None, preferred_element_type=None,
        out_sharding=None):  # fmt: skip
    """Sums of products of two arrays.

    Args:
      lhs, rhs: arrays (matrices or vectors, unless dimension_numbers is given).
      dimension_numbers: ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), axes over
        which products are summed, and axes that both share; by default a matrix product.
      precision: a Precision, its name, a pair of these, or a DotAlgorithmPreset.
      preferred_element_type: the dtype of the result, in which products are summed.
      out_sharding: accepted as JAX's.

    Returns an array with the batch axes, then the other axes of lhs, then those of rhs. Raises
    TypeError when axes or sizes do not fit.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.dot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 10]))
    Array([21, 43], dtype=int32)
    """
    lhs, rhs = lift(lhs), lift(rhs)
    if dimension_numbers is None:
        simple = 1 <= lhs.ndim <= 2 and 1 <= rhs.ndim <= 2 and lhs.shape[-1] == rhs.shape[0]
        if not simple:
            raise ValueError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple "
                "un-batched matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={lhs.shape} rhs_shape={rhs.shape}"
            )
        dimension_numbers = (((lhs.ndim - 1,), (0,)), ((), ()))
    contract, batch = dimension_numbers
    if preferred_element_type is not None:
        preferred_element_type = dtypes.check_user_dtype_supported(preferred_element_type, "dot")
    params = {
        "dimension_numbers": (tuple(map(axes_tuple, contract)), tuple(map(axes_tuple, batch))),
        "precision": canonicalize_precision(precision),
        "preferred_element_type": preferred_element_type,
    }
    dot_general_p.type(lhs.aval, rhs.aval, **params)
    return dot_general_p.bind(lhs, rhs, **params)


def dot_general(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None, *,
                out_sharding=None):  # fmt: skip
    """lax.dot with dimension_numbers, which say over which axes to sum.

    >>> from tinyjax import lax, numpy as jnp
    >>> a = jnp.arange(6).reshape(2, 3)
    >>> lax.dot_general(a, a, (((1,), (1,)), ((0,), (0,))))  # row by row
    Array([ 5, 50], dtype=int32)
    """
    return dot(
        lhs,
        rhs,
        dimension_numbers=dimension_numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def batch_matmul(lhs, rhs, precision=None):
    """Matrix products of the last two axes; all axes before them are batch axes.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.batch_matmul(jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
    (5, 2, 4)
    """
    lhs, rhs = lift(lhs), lift(rhs)
    if min(lhs.ndim, rhs.ndim) < 2:
        raise ValueError(
            f"Arguments to batch_matmul must be at least 2D, got {lhs.ndim}, {rhs.ndim}"
        )
    if lhs.ndim != rhs.ndim:
        raise ValueError(
            f"Arguments to batch_matmul must have same ndim, got {lhs.ndim}, {rhs.ndim}"
        )
    batch = tuple(range(lhs.ndim - 2))
    numbers = (((lhs.ndim - 1,), (rhs.ndim - 2,)), (batch, batch))
    return dot_general(lhs, rhs, numbers, precision=precision)
