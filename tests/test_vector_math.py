"""The mathematics of kernels, word by word: what tests/test_accuracy.py does not reach.

That file measures errors and special values of the functions of `lax`."""

import accuracy
import mpmath
import numpy as np
import pytest
from accuracy import F32, F64

from tinyjax.compiler.backend import compile_kernel

FORMATS = {"f32": F32, "f64": F64}


def compiled(name, code):
    """A kernel that applies one word to an array of one dtype."""
    source = f"def apply(x, out):\n    for i in range(out.size):\n        out[i] = {name}(x[i])\n"
    kernel = compile_kernel("apply", source, (f"{code}[1]",) * 2)

    def function(x):
        x = np.ascontiguousarray(x, FORMATS[code].dtype)
        out = np.empty_like(x)
        kernel(x, out)
        return out

    return function


def largest_error(name, code, exact, x):
    """The largest error at some numbers, in ulp."""
    form = FORMATS[code]
    function = accuracy.Function(name, exact)
    x = x.astype(form.dtype)
    with np.errstate(all="ignore"):
        values = accuracy.exact_values(function, (x,), form)
        return accuracy.worst(function, form, (x,), compiled(name, code)(x), values)


@pytest.mark.parametrize("code", ["f32", "f64"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles(name, code):
    """Every exponent up to the largest, and numbers next to multiples of pi / 2."""
    form = FORMATS[code]
    powers = np.ldexp(np.array([1.0, 1.37, -1.9]), np.arange(15, form.top, 3)[:, None]).ravel()
    multiples = np.random.default_rng(0).integers(1, 10**7, 200) * (np.pi / 2)
    # the float64 that is nearest to a multiple of pi / 2, relative to its size, and its likes
    near = [6381956970095103.0 * 2.0**797, 5e22, 1e22, float(accuracy.largest(form))]
    with np.errstate(over="ignore"):
        x = accuracy.finite(np.concatenate([powers, multiples, near]).astype(form.dtype))
    worst = largest_error(name, code, getattr(mpmath, name), x)
    assert worst.error <= accuracy.FUNCTIONS[name].limit(form), worst


@pytest.mark.parametrize("code", ["f32", "f64"])
def test_binary_logarithm(code):
    """log2 is a word, but not a function of `lax`."""
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.uniform(0.5, 2, 200), np.abs(accuracy.any_numbers(FORMATS[code], 200, rng))]
    )
    assert largest_error("log2", code, lambda v: mpmath.log(v, 2), x).error <= 2
    got = compiled("log2", code)([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])
    np.testing.assert_array_equal(got, [np.nan, np.inf, np.nan, -np.inf, -np.inf, 0.0])


@pytest.mark.parametrize("code", ["f32", "f64"])
def test_powers_of_two_are_exact(code):
    form = FORMATS[code]
    k = np.arange(form.lowest, form.top)
    with np.errstate(all="ignore"):
        powers = np.ldexp(form.dtype.type(1), k).astype(form.dtype)
    np.testing.assert_array_equal(compiled("log2", code)(powers), k.astype(form.dtype))
    np.testing.assert_array_equal(compiled("exp2", code)(k), powers)


@pytest.mark.parametrize("code", ["f32", "f64"])
@pytest.mark.parametrize("lanes", [1, 3, 4, 7, 8, 15, 16, 33])
def test_vector_and_scalar_versions_agree(code, lanes):
    """Short rows run the scalar version, long ones the vector versions: the same bits."""
    x = np.random.default_rng(lanes).uniform(-0.9, 0.9, 64)
    for name in ("exp", "sin", "cos", "asin", "erfc", "cbrt"):
        whole = compiled(name, code)(x)
        parts = np.concatenate(
            [compiled(name, code)(x[i : i + lanes]) for i in range(0, 64, lanes)]
        )
        np.testing.assert_array_max_ulp(whole, parts, 1)


def test_erf_inv_gives_the_oracles_normals():
    """In float32 XLA's digits, whatever their error, for random normals rest on them."""
    import jax

    p = np.random.default_rng(0).uniform(-1, 1, 20000)
    p = np.concatenate([p, 1 - np.arange(1, 5000) * 2.0**-24]).astype(np.float32)
    want = np.asarray(jax.jit(jax.lax.erf_inv)(p))
    np.testing.assert_array_max_ulp(compiled("erf_inv", "f32")(p), want, 3)
