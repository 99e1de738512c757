"""Logic and bits: and, or, xor, not, shifts, counts of bits."""

import numpy as np

from tinyjax.primitives.arithmetic import BITS, nary, unary
from tinyjax.primitives.rules import Elementwise

# ---- logic and bits ------------------------------------------------------------------------------


def shift(ufunc, fill):
    """A NumPy shift that, like XLA's, shifts everything out when the count is too large."""

    def impl(x, n):
        bits = x.dtype.itemsize * 8
        if np.ndim(n) == 0 and 0 <= n < bits:
            return np.asarray(ufunc(x, n.astype(x.dtype)))
        over = (n >= bits) | (n < 0)
        return np.where(over, fill(x), ufunc(x, np.where(over, 0, n).astype(x.dtype))).astype(
            x.dtype
        )

    return impl


def unsigned(x):
    """The same bits as unsigned integers."""
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "i" else x


def logical_shift(x, n):
    """Shift right, filling with zeros."""
    return np.right_shift(unsigned(np.asarray(x)), unsigned(np.asarray(n))).view(x.dtype)


def arithmetic_shift(x, n):
    """Shift right, filling with the first bit, even of an unsigned number."""
    signed = np.asarray(x).view(f"i{x.dtype.itemsize}")
    return np.right_shift(signed, np.asarray(n).astype(signed.dtype)).view(x.dtype)


def leading_zeros(x):
    """The number of zero bits before the first one."""
    bits = x.dtype.itemsize * 8
    x, count = unsigned(np.asarray(x)), np.full(np.shape(x), bits, x.dtype)
    for k in range(bits):
        hit = (x >> np.asarray(bits - 1 - k, x.dtype)) == 1
        count = np.where(hit, k, count)
    return count


def bitcount(x):
    """The number of one bits."""
    return np.bitwise_count(unsigned(np.asarray(x))).astype(x.dtype)


not_p = Elementwise("not", np.invert, None, accepts=BITS)
and_p = Elementwise("and", np.bitwise_and, None, None, accepts=BITS)
or_p = Elementwise("or", np.bitwise_or, None, None, accepts=BITS)
xor_p = Elementwise("xor", np.bitwise_xor, None, None, accepts=BITS)
shift_left_p = Elementwise(
    "shift_left", shift(np.left_shift, np.zeros_like), None, None, accepts="iu"
)
shift_right_logical_p = Elementwise(
    "shift_right_logical", shift(logical_shift, np.zeros_like), None, None, accepts="iu"
)
shift_right_arithmetic_p = Elementwise(
    "shift_right_arithmetic",
    shift(arithmetic_shift, lambda x: arithmetic_shift(x, x.dtype.itemsize * 8 - 1)),
    None,
    None,
    accepts="iu",
)
population_count_p = Elementwise("population_count", bitcount, None, accepts="iu")
clz_p = Elementwise("clz", leading_zeros, None, accepts="iu")

bitwise_not, population_count, clz = unary(not_p), unary(population_count_p), unary(clz_p)
bitwise_and, bitwise_or, bitwise_xor = nary(and_p), nary(or_p), nary(xor_p)
shift_left, shift_right_logical = nary(shift_left_p), nary(shift_right_logical_p)
shift_right_arithmetic = nary(shift_right_arithmetic_p)
