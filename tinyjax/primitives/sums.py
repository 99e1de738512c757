"""Sums and products of NumPy arrays at the accuracy one expects of XLA.

NumPy adds pairwise only along the contiguous axis; along others it adds one by one, in the dtype
of the operand. Many ones of float16 then sum to 2048; two million float32 numbers lose 1.5 %.
"""

import numpy as np

BLOCK = 32  # of similar numbers: the rounding errors may all have one sign


def is_half(dtype):
    """Whether the dtype is float16 or bfloat16, or narrower still."""
    return dtype.itemsize <= 2 and dtype.kind in "fV"


def add_reduce(x, axes):
    """The sum over axes, at the dtype of x."""
    if is_half(x.dtype):
        return add_reduce(x.astype(np.float32), axes).astype(x.dtype)
    if x.ndim > 1 and x.dtype.kind in "fc":
        for axis in axes:
            if x.shape[axis] > BLOCK and not (axes == (x.ndim - 1,) and x.flags.c_contiguous):
                x = in_blocks(x, axis)
    return np.add.reduce(x, axes, dtype=x.dtype)


def in_blocks(x, axis):
    """x with every BLOCK entries along an axis added up."""
    n, rest = divmod(x.shape[axis], BLOCK)
    x = np.moveaxis(x, axis, 0)
    blocks = x[: n * BLOCK].reshape(n, BLOCK, *x.shape[1:])
    sums = np.add.reduce(blocks, 1)
    if rest:
        sums = np.concatenate([sums, np.add.reduce(x[n * BLOCK :], 0)[None]])
    sums = in_blocks(sums, 0) if n > BLOCK else sums
    return np.moveaxis(sums, 0, axis)


def multiply_reduce(x, axes):
    """The product over axes, at the dtype of x."""
    if is_half(x.dtype):
        return multiply_reduce(x.astype(np.float32), axes).astype(x.dtype)
    return np.multiply.reduce(x, axes, dtype=x.dtype)


def accumulate(ufunc, x, axis, reverse):
    """ufunc.accumulate at twice the precision, so that rounding errors do not accumulate too."""
    wide = x.dtype
    if is_half(x.dtype):
        wide = np.dtype(np.float32)
    elif ufunc is np.add and x.dtype in (np.float32, np.complex64):
        wide = np.result_type(x.dtype, np.float64)
    line = np.flip(x, axis) if reverse else x
    out = ufunc.accumulate(line.astype(wide), axis, dtype=wide).astype(x.dtype)
    return np.flip(out, axis) if reverse else out
