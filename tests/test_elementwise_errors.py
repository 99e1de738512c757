"""What elementwise operations refuse, and that they say so as the oracle does."""

import jax
import numpy as np
import pytest
from worlds import OURS

F = np.ones(3, np.float32)
M = np.ones((3, 3), np.float32)
I = np.ones(3, np.int32)
B = np.ones(3, bool)
C = np.ones(3, np.complex64)
H = np.ones(3, np.float16)

# what is done, the error's type, a part of its message
REFUSED = {
    "bool add": (lambda lax: lax.add(B, B), TypeError, "add does not accept dtype bool"),
    "bool neg": (lambda lax: lax.neg(B), TypeError, "neg does not accept dtype bool"),
    "two dtypes": (lambda lax: lax.mul(F, I), TypeError, "requires arguments to have the same"),
    "two halves": (lambda lax: lax.max(F, H), TypeError, "requires arguments to have the same"),
    "shapes": (lambda lax: lax.add(F, F[:2]), TypeError, "add got incompatible shapes"),
    "ranks": (lambda lax: lax.add(F, M), TypeError, "arrays must have"),
    "complex lt": (lambda lax: lax.lt(C, C), TypeError, "lt does not accept dtype complex64"),
    "complex rem": (lambda lax: lax.rem(C, C), TypeError, "rem does not accept dtype complex64"),
    "unsigned abs": (lambda lax: lax.abs(B), TypeError, "abs does not accept dtype bool"),
    "int floor": (lambda lax: lax.floor(I), TypeError, "floor does not accept dtype int32"),
    "int round": (lambda lax: lax.round(I), TypeError, "round does not accept dtype int32"),
    "int exp": (lambda lax: lax.exp(I), TypeError, "exp does not accept dtype int32"),
    "complex erf": (lambda lax: lax.erf(C), TypeError, "erf does not accept dtype complex64"),
    "int atan2": (lambda lax: lax.atan2(I, I), TypeError, "atan2 does not accept dtype int32"),
    "float and": (
        lambda lax: lax.bitwise_and(F, F),
        TypeError,
        "and does not accept dtype float32",
    ),
    "bool shift": (lambda lax: lax.shift_left(B, B), TypeError, "shift_left does not accept dtype"),
    "float clz": (lambda lax: lax.clz(F), TypeError, "clz does not accept dtype float32"),
    "float mulhi": (lambda lax: lax.mulhi(F, F), TypeError, "mulhi does not accept dtype float32"),
    "real of real": (lambda lax: lax.real(F), TypeError, "real does not accept dtype float32"),
    "half complex": (lambda lax: lax.complex(H, H), TypeError, "complex does not accept dtype"),
    "half conj": (lambda lax: lax.conj(H), TypeError, "conj does not accept dtype float16"),
    "int pow": (lambda lax: lax.pow(I, I), TypeError, "pow does not accept dtype int32"),
    "pow dtypes": (lambda lax: lax.pow(F, H), TypeError, "the first argument to pow must have"),
    "integer_pow": (lambda lax: lax.integer_pow(I, -1), TypeError, "Integers cannot be raised to"),
    "clamp shape": (lambda lax: lax.clamp(F[:2], F, F), TypeError, "clamp requires min.shape =="),
    "clamp dtype": (lambda lax: lax.clamp(I, F, I), TypeError, "arguments to have the same dtypes"),
    "no cases": (lambda lax: lax.select_n(B), ValueError, "must have at least one case"),
    "case shapes": (lambda lax: lax.select_n(B, F, M), TypeError, "must have the same shapes"),
    "which shape": (lambda lax: lax.select_n(B[:2], F, F), TypeError, "`which` must be scalar or"),
    "float which": (lambda lax: lax.select_n(F, F, F), TypeError, "must be boolean or int"),
    "three by bool": (lambda lax: lax.select_n(B, F, F, F), TypeError, "cannot have > 2 cases"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_both_worlds_refuse_it_with_the_same_words(name):
    run, kind, words = REFUSED[name]
    for world in (jax, OURS):
        with pytest.raises(kind) as error:
            run(world.lax)
        assert words in str(error.value), world.__name__


@pytest.mark.parametrize("name", ["nextafter", "zeta"])
@pytest.mark.parametrize("world", [jax, OURS], ids=lambda w: w.__name__)
def test_what_has_no_derivative_says_so(world, name):
    def f(x):
        return getattr(world.lax, name)(x, x + 1)

    with pytest.raises(NotImplementedError, match=f"Differentiation rule for '{name}' not impl"):
        world.jvp(f, (F,), (F,))
    with pytest.raises(NotImplementedError, match=f"Differentiation rule for '{name}' not impl"):
        world.vjp(f, F)
    stopped = world.jvp(lambda x: f(world.lax.stop_gradient(x)) * x, (F,), (F,))
    np.testing.assert_array_equal(stopped[1], f(F))
