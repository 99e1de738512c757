"""Complex numbers: their parts, their conjugates, and how they are put together."""

import numpy as np

from tinyjax import dtypes
from tinyjax.array import lift
from tinyjax.core import Undef, Zero, nonzero
from tinyjax.primitives.arithmetic import neg, unary
from tinyjax.primitives.linear import instantiate, unbroadcast, zeros
from tinyjax.primitives.rules import Elementwise

# ---- complex parts -------------------------------------------------------------------------------


def conj_transpose(ct, x):
    """The transpose of conjugation; from a real operand the cotangent's real part flows back."""
    return [conj(ct) if x.aval.dtype.kind == "c" else real(ct)]


def join_parts(x, y):
    """x + iy without arithmetic, so that infinities stay in their part."""
    out = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), dtypes.to_complex_dtype(x.dtype))
    out.real, out.imag = x, y
    return out


real_p = Elementwise(
    "real",
    lambda x: np.real(x).copy(),
    lambda a, x: real,
    accepts="c",
    dtype=dtypes.to_floating_dtype,
    linear=lambda ct, x: [complex_(ct, zeros(ct.aval.strip_weak_type()))],
)
imag_p = Elementwise(
    "imag",
    lambda x: np.imag(x).copy(),
    lambda a, x: imag,
    accepts="c",
    dtype=dtypes.to_floating_dtype,
    linear=lambda ct, x: [complex_(zeros(ct.aval.strip_weak_type()), neg(ct))],
)


class Complex(Elementwise):
    """complex x y: x + iy."""

    def linearize(self, nz, x, y):
        ans = self.bind(x, y)

        def push(s, t):
            if not nonzero(s) and not nonzero(t):
                return Zero(ans.aval)
            return self.bind(instantiate(s), instantiate(t))

        return ans, push

    def transpose(self, ct, x, y):
        return [
            unbroadcast(x.aval, real(ct)) if isinstance(x, Undef) else None,
            unbroadcast(y.aval, imag(neg(ct))) if isinstance(y, Undef) else None,
        ]


complex_p = Complex("complex", join_parts, accepts="f", dtype=dtypes.to_complex_dtype)


def check_wide(prim, found):
    """There are no complex numbers with parts in half precision."""
    prim.check_dtypes(found)
    if found[0].itemsize < 4:
        where = " at position 0" if len(found) > 1 else ""
        kinds = "float32, complexfloating, float64" if prim is conj_p else "float32, float64"
        raise TypeError(
            f"{prim.name} does not accept dtype {dtypes.dtype_name(found[0])}{where}. "
            f"Accepted dtypes{where} are subtypes of {kinds}."
        )


class Conj(Elementwise):
    """conj[input_dtype] x."""

    def impl(self, x, *, input_dtype):
        return np.conj(x).astype(dtypes.to_complex_dtype(x.dtype))

    def linearize(self, nz, x, *, input_dtype):
        return self.bind(x, input_dtype=input_dtype), lambda t: self.bind(
            t, input_dtype=input_dtype
        )

    def transpose(self, ct, x, *, input_dtype):
        return conj_transpose(ct, x)


conj_p = Conj("conj", None, accepts="fc", dtype=dtypes.to_complex_dtype)
real, imag = unary(real_p), unary(imag_p)


def complex_(x, y):
    """x + iy, from float32 or float64 parts of one dtype."""
    x, y = lift(x), lift(y)
    check_wide(complex_p, [x.dtype, y.dtype])
    if x.shape != y.shape:
        complex_p.type(x.aval, y.aval)
    return complex_p.bind(x, y)


def conj(x):
    """The complex conjugate; real numbers become complex."""
    x = lift(x)
    check_wide(conj_p, [x.dtype])
    return conj_p.bind(x, input_dtype=x.dtype)
