"""Trigonometric functions as branch-free polynomials (see ``vector_math``)."""

from __future__ import annotations

from tinyjax.compiler.vector_ir import Num, poly
from tinyjax.compiler.vector_math import round_to_int

TWO_OVER_PI = 0.6366197723675814

# sin(r) = r + r**3 * S(r**2), cos(r) = 1 - r**2 / 2 + r**4 * C(r**2) on |r| <= pi / 4
SIN_F32 = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
COS_F32 = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
SIN_F64 = (
    1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
    -1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1,
)  # fmt: skip
COS_F64 = (
    -1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7,
    2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2,
)  # fmt: skip


def _quadrant(x: Num) -> tuple[Num, Num]:
    """``x = q * pi / 2 + r`` with |r| <= pi / 4: returns r and q."""
    if x.code == "f32":
        wide = x.to("f64")
        n, q = round_to_int(wide * TWO_OVER_PI)
        r = n.muladd(-6.123233995736766e-17, n.muladd(-1.5707963267948966, wide))
        return r.to("f32"), q.to("i32")
    n, q = round_to_int(x * TWO_OVER_PI)
    r = n.muladd(-7.54978941586159635335e-8, n.muladd(-1.57079625129699707031, x))
    return n.muladd(-5.39030285815811905290e-15, r), q


def _sin_of_quadrant(r: Num, q: Num) -> Num:
    """sin(q * pi / 2 + r)."""
    f32 = r.code == "f32"
    z = r * r
    s = (poly(z, SIN_F32 if f32 else SIN_F64) * z).muladd(r, r)
    c = (poly(z, COS_F32 if f32 else COS_F64) * z).muladd(z, z.muladd(-0.5, 1.0))
    odd = (q & 1) != 0
    value = r.new(r.builder.select(odd.value, c.value, s.value))
    sign = (q & 2) << (30 if f32 else 62)
    return (value.bits() ^ sign).as_float()


def sin(x: Num) -> Num:
    """Sine."""
    r, q = _quadrant(x)
    return _sin_of_quadrant(r, q)


def cos(x: Num) -> Num:
    """Cosine."""
    r, q = _quadrant(x)
    return _sin_of_quadrant(r, q + 1)
