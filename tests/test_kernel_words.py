"""The kernel language: loops and indexing, and every word against the oracle and in Python."""

import jax
import llvmlite.binding as llvm
import numpy as np
import pytest
from jax import lax
from kernels import DTYPES, INTEGERS, elementwise, kernel, run, values

from tinyjax.compiler import native, signature, target, vector_library
from tinyjax.compiler.backend import KernelError, compile_kernel, run_source_in_python
from tinyjax.compiler.intrinsics import INTRINSICS
from tinyjax.compiler.intrinsics_py import WORDS

# ---- the language -------------------------------------------------------------------------------


def test_loops_rows_slices_and_scalars():
    source, codes = kernel(
        """
        n, m = x.shape
        for i in range(n):
            row = x[i]
            target = out[i]
            total = f32(0.0)
            for j in range(m):
                total = acc(total, row[j])
            for low in range(0, m, block):
                part = row[low:low + block]
                place = target[low:low + block]
                for j in range(part.size):
                    place[j] = part[j] / total + shift
        """,
        *("f32[2]", "intp", "f32", "f32[2]"),
        header="x, block, shift, out",
    )
    x = np.random.default_rng(0).random((5, 37), np.float32)
    out = np.empty_like(x)
    compile_kernel("k", source, codes)(x, 8, 0.5, out)
    np.testing.assert_allclose(out, x / x.sum(1, keepdims=True) + 0.5, rtol=1e-6)


def test_branches_while_and_reverse_ranges():
    source, codes = kernel(
        """
        for i in range(x.size - 1, -1, -1):
            n = x[i]
            steps = i32(0)
            while n != 1:
                if n & 1:
                    n = i32(3 * n + 1)
                else:
                    n = n >> 1
                steps += 1
            out[i] = steps
        """,
        *("i32[1]", "i32[1]"),
        header="x, out",
    )
    x = np.arange(1, 30, dtype=np.int32)
    out = np.empty_like(x)
    compile_kernel("k", source, codes)(x, out)
    want = np.empty_like(x)
    run_source_in_python("k", source)(x, want)
    np.testing.assert_array_equal(out, want)
    assert out[26] == 111  # the famous 27


def test_three_axes_literal_indices_and_shape():
    source, codes = kernel(
        """
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                for k in range(x.shape[2]):
                    out[j, 0] += x[i, j, k]
                out[j, 1] = x[i][j, 0]
        """,
        *("f64[3]", "f64[2]"),
        header="x, out",
    )
    x = np.random.default_rng(0).random((3, 4, 5))
    out = np.zeros((4, 2))
    compile_kernel("k", source, codes)(x, out)
    np.testing.assert_allclose(out[:, 0], x.sum((0, 2)))
    np.testing.assert_array_equal(out[:, 1], x[-1, :, 0])


def test_gather_and_scatter_with_every_index_dtype():
    for code in INTEGERS:
        made = kernel(
            "for i in range(j.size):\n    out[j[i]] += x[j[i]]",
            *("f32[1]", f"{code}[1]", "f32[1]"),
            header="x, j, out",
        )
        x, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
        run(made, x, np.array([4, 1, 4], DTYPES[code]), out)
        np.testing.assert_array_equal(out, [0, 1, 0, 0, 8])


def test_masks_are_one_byte_booleans():
    x = np.array([1, 0, 1, 1], bool)
    y = np.array([1, 1, 0, 1], bool)
    for expression, want in [
        ("x[i] & y[i]", x & y), ("x[i] | y[i]", x | y), ("x[i] ^ y[i]", x ^ y), ("~x[i]", ~x),
        ("not x[i]", ~x), ("where(x[i], y[i], x[i])", np.where(x, y, x)), ("x[i] == y[i]", x == y),
    ]:  # fmt: skip
        got = run(elementwise(expression, "bool", "bool", "bool"), x, y, np.zeros(4, bool))
        np.testing.assert_array_equal(got, want, expression)


@pytest.mark.parametrize("n", [0, 1, 7, 64, 1000])
def test_reductions(n):
    made = kernel(
        """
        total, largest, least, product = f32(0.0), f32(-inf), f32(inf), f64(1.0)
        count = i32(0)
        for i in range(x.size):
            total = acc(total, x[i])
            largest = accmax(largest, x[i])
            least = accmin(least, x[i])
            product = accmul(product, f64(x[i]))
            count += i32(x[i] > f32(0.5))
        out[0], out[1], out[2], out[3] = f64(total), f64(largest), f64(least), product
        out[4] = f64(count)
        """,
        *("f32[1]", "f64[1]"),
        header="x, out",
    )
    x = np.random.default_rng(n).random(n, np.float32)
    want = [x.sum(), x.max(initial=-np.inf), x.min(initial=np.inf), x.prod(dtype=float)]
    got = run(made, x, np.empty(5))
    np.testing.assert_allclose(got, [*want, (x > 0.5).sum()], rtol=1e-5)
    if n:
        x[n // 2] = np.nan
        assert np.isnan(run(made, x, np.empty(5))[1:3]).all()


# ---- words against the oracle -------------------------------------------------------------------

INTEGER_WORDS = {
    "div(x[i], y[i])": lax.div,
    "rem(x[i], y[i])": lax.rem,
    "x[i] + y[i]": lax.add,
    "x[i] - y[i]": lax.sub,
    "x[i] * y[i]": lax.mul,
    "maximum(x[i], y[i])": lax.max,
    "minimum(x[i], y[i])": lax.min,
    "x[i] & y[i]": lax.bitwise_and,
    "x[i] | y[i]": lax.bitwise_or,
    "x[i] ^ y[i]": lax.bitwise_xor,
    "shift_left(x[i], y[i])": lax.shift_left,
    "shift_right_logical(x[i], y[i])": lax.shift_right_logical,
    "shift_right_arithmetic(x[i], y[i])": lax.shift_right_arithmetic,
    "~x[i]": lambda x, y: lax.bitwise_not(x),
    "sign(x[i])": lambda x, y: lax.sign(x),
    "popcount(x[i])": lambda x, y: lax.population_count(x),
    "clz(x[i])": lambda x, y: lax.clz(x),
    "integer_pow(x[i], 5)": lambda x, y: lax.integer_pow(x, 5),
    "where(x[i] < y[i], x[i], y[i])": lambda x, y: lax.select(x < y, x, y),
}


def every_word(words, code, *arrays):
    """Results of many expressions in one kernel: compiled, in Python, and by the oracle."""
    lines = [f"    out[{k}, i] = {expression}" for k, expression in enumerate(words)]
    source, codes = kernel(
        "\n".join(["for i in range(x.size):", *lines]), f"{code}[1]", f"{code}[1]", f"{code}[2]"
    )
    got, python = (np.empty((len(words), arrays[0].size), arrays[0].dtype) for _ in range(2))
    compile_kernel("k", source, codes)(*arrays, got)
    run_source_in_python("k", source)(*arrays, python)
    with jax.enable_x64(True):
        want = jax.jit(lambda *a: [oracle(*a) for oracle in words.values()])(*arrays)
    return zip(words, got, python, map(np.asarray, want))


@pytest.mark.parametrize("code", INTEGERS)
def test_integer_words(code):
    x, y = (a.ravel() for a in np.meshgrid(values(code), values(code, seed=1)))
    for expression, got, python, want in every_word(INTEGER_WORDS, code, x, y):
        np.testing.assert_array_equal(got, want, expression)
        np.testing.assert_array_equal(python, want, f"{expression} in Python")


FLOAT_WORDS = {
    "x[i] + y[i]": lax.add,
    "x[i] * y[i]": lax.mul,
    "x[i] / y[i]": lax.div,
    "-x[i]": lambda x, y: lax.neg(x),
    "maximum(x[i], y[i])": lax.max,
    "minimum(x[i], y[i])": lax.min,
    "rem(x[i], y[i])": lax.rem,
    "nextafter(x[i], y[i])": lax.nextafter,
    "sign(x[i])": lambda x, y: lax.sign(x),
    "abs(x[i])": lambda x, y: lax.abs(x),
    "floor(x[i])": lambda x, y: lax.floor(x),
    "ceil(x[i])": lambda x, y: lax.ceil(x),
    "round_half_away(x[i])": lambda x, y: lax.round(x),
    "round_half_even(x[i])": lambda x, y: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "sqrt(x[i])": lambda x, y: lax.sqrt(x),
    "square(x[i])": lambda x, y: lax.square(x),
    "integer_pow(x[i], 3)": lambda x, y: lax.integer_pow(x, 3),
    "where(is_finite(x[i]), x[i], y[i])": lambda x, y: lax.select(lax.is_finite(x), x, y),
    "copysign(x[i], y[i])": lambda x, y: jax.numpy.copysign(x, y),
}


@pytest.mark.parametrize("code", ["f32", "f64"])
def test_float_words(code):
    x, y = (a.ravel() for a in np.meshgrid(values(code), values(code, seed=1)))
    x[100:110] = [0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 2.5, -2.5, 1e10, -3.7]
    for expression, got, python, want in every_word(FLOAT_WORDS, code, x, y):
        np.testing.assert_array_equal(got, want, expression)
        np.testing.assert_array_equal(python, want, f"{expression} in Python")
        number = ~np.isnan(want)
        np.testing.assert_array_equal(
            np.signbit(got[number]), np.signbit(want[number]), f"sign of {expression}"
        )


@pytest.mark.parametrize("source_code", [code for code in DTYPES if code[0] != "c"])
def test_casts_to_all_dtypes(source_code):
    x = values(source_code)
    targets = [code for code in DTYPES if code[0] != "c"]
    words = ["bool_" if code == "bool" else code for code in targets]
    outs = [f"o{k}" for k in range(len(targets))]
    lines = [f"    {out}[i] = {word}(x[i])" for out, word in zip(outs, words)]
    source, codes = kernel(
        "\n".join(["for i in range(x.size):", *lines]),
        *(f"{code}[1]" for code in (source_code, *targets)),
        header=", ".join(["x", *outs]),
    )
    got, python = ([np.empty(x.shape, DTYPES[code]) for code in targets] for _ in range(2))
    compile_kernel("k", source, codes)(x, *got)
    run_source_in_python("k", source)(x, *python)
    with jax.enable_x64(True):
        for code, compiled, interpreted in zip(targets, got, python):
            want = np.asarray(lax.convert_element_type(x, DTYPES[code]))
            np.testing.assert_array_equal(compiled, want, f"to {code}")
            np.testing.assert_array_equal(interpreted, want, f"to {code} in Python")


def test_bitcasts_and_rotations():
    x = values("f32")
    got = run(elementwise("bitcast_u32(x[i])", "f32", "u32"), x, np.empty(x.shape, np.uint32))
    np.testing.assert_array_equal(got, x.view(np.uint32))
    back = run(elementwise("bitcast_f32(x[i])", "u32", "f32"), got, np.empty_like(x))
    np.testing.assert_array_equal(back, x)
    made = elementwise("rotl(x[i], u32(13))", "u32", "u32")
    want = (got << np.uint32(13)) | (got >> np.uint32(19))
    np.testing.assert_array_equal(run(made, got, np.empty_like(got)), want)


@pytest.mark.parametrize("code, bits", [("f16", 16), ("bf16", 16)])
def test_halves_are_rounded_when_stored(code, bits):
    import ml_dtypes

    kind = np.float16 if code == "f16" else ml_dtypes.bfloat16
    x = np.concatenate([values("f32"), values("f32") * 1e-7, [65519, 65520, 1e9]], dtype=np.float32)
    with np.errstate(all="ignore"):
        want = x.astype(kind)
    stored = run(elementwise("x[i]", "f32", code), x, np.empty(x.shape, kind))
    np.testing.assert_array_equal(stored.astype(np.float32), want.astype(np.float32))
    loaded = run(elementwise("x[i]", code, "f32"), stored, np.empty_like(x))
    np.testing.assert_array_equal(loaded, want.astype(np.float32))
    made = elementwise(f"{code}(x[i])", "f32", "f32")
    np.testing.assert_array_equal(run(made, x, np.empty_like(x)), want.astype(np.float32))
    python = np.empty_like(x)
    run_source_in_python("k", made[0])(x, python)
    np.testing.assert_array_equal(python, want.astype(np.float32))


COMPLEX_WORDS = {
    "x[i] + y[i]": lax.add,
    "x[i] - y[i]": lax.sub,
    "x[i] * y[i]": lax.mul,
    "x[i] / y[i]": lax.div,
    "-x[i]": lambda x, y: lax.neg(x),
    "conj(x[i])": lambda x, y: lax.conj(x),
    "exp(x[i])": lambda x, y: lax.exp(x),
    "log(x[i])": lambda x, y: lax.log(x),
    "sqrt(x[i])": lambda x, y: lax.sqrt(x),
    "sin(x[i])": lambda x, y: lax.sin(x),
    "cos(x[i])": lambda x, y: lax.cos(x),
    "complex_of(imag(x[i]), abs(y[i]))": lambda x, y: lax.complex(lax.imag(x), lax.abs(y)),
    "where(x[i] == y[i], x[i], y[i])": lambda x, y: lax.select(x == y, x, y),
}


@pytest.mark.parametrize("code", ["c64", "c128"])
def test_complex_words(code):
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((2, 50)) + 1j * rng.standard_normal((2, 50))).astype(DTYPES[code])
    tolerance = 2e-6 if code == "c64" else 4e-15
    for expression, got, python, want in every_word(COMPLEX_WORDS, code, x, y):
        np.testing.assert_allclose(got, want, tolerance, err_msg=expression)
        np.testing.assert_allclose(python, want, tolerance, err_msg=f"{expression} in Python")


ONE = ["exp", "exp2", "expm1", "log", "log2", "log1p", "sinh", "cosh", "tanh", "asinh", "atanh"]
ONE += ["logistic", "sin", "cos", "tan", "asin", "acos", "atan", "erf", "erfc", "erf_inv"]
PYTHON_WORDS = {**dict.fromkeys([*ONE, "rsqrt", "cbrt"], "x[i]"), "acosh": "x[i] + exp(x[i])"}
PYTHON_WORDS = {**PYTHON_WORDS, **dict.fromkeys(["pow", "atan2"], "x[i], x[i]")}


def test_python_knows_the_same_words():
    assert set(WORDS) - {"inf", "nan", "pi"} == set(INTRINSICS)


@pytest.mark.parametrize("code", ["f32", "f64"])
def test_mathematics_in_python_agrees(code):
    x = np.random.default_rng(0).uniform(0.05, 0.95, 30).astype(DTYPES[code])
    words = [name for name in PYTHON_WORDS if name in INTRINSICS]
    lines = [f"    out[{k}, i] = {w}({PYTHON_WORDS[w]})" for k, w in enumerate(words)]
    source, codes = kernel(
        "\n".join(["for i in range(x.size):", *lines]),
        *(f"{code}[1]", f"{code}[2]"),
        header="x, out",
    )
    got, python = (np.empty((len(words), x.size), x.dtype) for _ in range(2))
    compile_kernel("k", source, codes)(x, got)
    run_source_in_python("k", source)(x, python)
    for name, compiled, interpreted in zip(words, got, python):
        tolerance = 1e-6 if code == "f32" else 4e-15
        np.testing.assert_allclose(compiled, interpreted, tolerance, err_msg=name)


def test_sources_that_mean_nothing_are_refused():
    for expression in ("x[i] + i", "exp(i)", "unknown(x[i])", "popcount(x[i])"):
        with pytest.raises(KernelError, match=r"kernel 'k' does not compile for \('f32\[1\]'"):
            compile_kernel("k", *elementwise(expression, "f32", "f32"))
    for body in ("out[0] = x[0, 0]", "out[0, 0] = x[0]", "out[0] = x[-1:][0, 0]", "out.fill(0)"):
        with pytest.raises(KernelError, match="does not compile"):
            compile_kernel("k", *kernel(body, "f32[2]", "f32[2]", header="x, out"))
    with pytest.raises(ValueError, match="'f33' is no argument type; write dtype"):
        compile_kernel("k", "def k(x):\n    pass\n", ("f33",))
    with pytest.raises(ValueError, match=r"arrays of size 1: 'f16\[1\]'"):
        signature.parse(("f16",))


# ---- rounding -----------------------------------------------------------------------------------


def test_products_and_sums_fuse_as_the_oracles_do():
    x, y, z = np.random.default_rng(0).standard_normal((3, 1000), np.float32)
    for expression, oracle in {
        "x[i] * y[i] + z[i]": lambda x, y, z: x * y + z,
        "x[i] * x[i] - y[i] * y[i]": lambda x, y, z: x * x - y * y,
        "z[i] - x[i] * y[i]": lambda x, y, z: z - x * y,
    }.items():
        got = run(elementwise(expression, "f32", "f32", "f32", "f32"), x, y, z, np.empty_like(x))
        np.testing.assert_array_equal(got, jax.jit(oracle)(x, y, z), expression)


# ---- what LLVM is told --------------------------------------------------------------------------


def lowered(expression):
    """The LLVM IR that LLVM gets for an elementwise kernel on float32 numbers."""
    source, codes = elementwise(expression, "f32", "f32")
    ir, _ = target.lower_to_ir("k", source, signature.parse(codes))
    return vector_library.with_vector_versions(ir)


def many_sines(x):
    return "sin(" * vector_library.MANY + x + ")" * vector_library.MANY


def test_loops_that_call_the_library_run_one_vector_at_a_time():
    assert "llvm.loop" not in lowered("exp(x[i])")
    once = lowered("sin(x[i]) + sin(x[i])")
    assert "interleave.count" in once and "predicate.enable" not in once
    assert ("predicate.enable" in lowered(many_sines("x[i]"))) == (native.register_bits() == 512)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 50])
def test_the_rest_of_a_loop_of_many_calls(n):
    x = np.linspace(0, 2, n, dtype=np.float32)
    guarded = np.full(n + 20, 5, np.float32)
    run(elementwise(many_sines("x[i]"), "f32", "f32"), x, guarded[:n])
    want = x.astype(np.float64)
    for _ in range(vector_library.MANY):
        want = np.sin(want)
    np.testing.assert_allclose(guarded[:n], want, rtol=1e-5)
    assert (guarded[n:] == 5).all()  # nothing is written beyond the end


def test_llvm_knows_the_options_that_it_is_given():
    assert llvm.llvm_version_info[0] in native.KNOWN
