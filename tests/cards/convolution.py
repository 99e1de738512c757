"""Cases of convolution: strides, padding, dilation, groups, one to three spatial axes.

Under vmap the oracle prints a reshape that permutes where ours is a transpose and a reshape; plain
programs and derivatives are compared in test_convolution.py.
"""

import numpy as np

from cards import Case

RNG = np.random.default_rng(7)


def x(*shape):
    """Random numbers."""
    return RNG.normal(size=shape).astype(np.float32)


def case(name, lhs, rhs, strides, padding, **settings):
    """One convolution."""
    return Case(
        f"conv {name}",
        "conv_general_dilated",
        lambda lax, a, b: lax.conv_general_dilated(a, b, strides, padding, **settings),
        (lhs, rhs),
        (0, 1),
        tol=2e-4,
        printed=False,
    )


IMAGES, WINDOWS = x(2, 2, 5, 4), x(3, 2, 3, 2)
CASES = [
    case("valid", IMAGES, WINDOWS, (1, 1), "VALID"),
    case("same", IMAGES, WINDOWS, (2, 1), "SAME"),
    case("same lower", IMAGES, WINDOWS, (2, 1), "SAME_LOWER"),
    case("padded", IMAGES, WINDOWS, (1, 2), ((2, 1), (0, 3))),
    case("cropped", IMAGES, WINDOWS, (1, 1), ((-1, 0), (1, -1))),
    case("dilated windows", IMAGES, WINDOWS, (1, 1), ((2, 2), (1, 1)), rhs_dilation=(2, 1)),
    case("dilated images", IMAGES, WINDOWS, (1, 1), ((1, 1), (0, 0)), lhs_dilation=(2, 3)),
    case("channels last", x(2, 5, 4, 2), x(3, 2, 2, 3), (1, 1), "SAME",
         dimension_numbers=("NHWC", "HWIO", "NHWC")),
    case("feature groups", x(2, 4, 5), x(6, 2, 3), (1,), "SAME", feature_group_count=2),
    case("batch groups", x(4, 2, 5), x(6, 2, 3), (2,), "SAME", batch_group_count=2),
    case("one axis", x(1, 1, 6), x(1, 1, 3), (1,), ((2, 2),)),
    case("three axes", x(1, 2, 3, 3, 3), x(2, 2, 2, 2, 2), (1, 1, 1), "VALID"),
    case("no axes", x(3, 2), x(4, 2), (), ()),
    Case("conv_transpose", "conv_general_dilated",
         lambda lax, a, b: lax.conv_transpose(a, b, (2, 2), "SAME"),
         (x(1, 3, 3, 2), x(3, 3, 2, 4)), (0, 1), tol=2e-4, printed=False),
    Case("conv ints", "conv_general_dilated", lambda lax, a, b: lax.conv(a, b, (1,), "SAME"),
         (np.arange(6, dtype=np.int32).reshape(1, 1, 6), np.array([[[1, 2]]], np.int32)),
         printed=False),
    Case("conv halves", "conv_general_dilated", lambda lax, a, b: lax.conv(a, b, (1,), "SAME"),
         (x(1, 1, 6).astype(np.float16), x(1, 1, 3).astype(np.float16)), tol=2e-3, printed=False),
]  # fmt: skip
