"""When the private target does not fit Numba: plain njit compiles kernels, or Python runs them."""

import subprocess
import sys
import warnings

import jax
import ml_dtypes
import numpy as np
import pytest
from compiler_programs import Loop, Program, inputs
from kernels import DTYPES, elementwise, values

import tinyjax
from tinyjax.compiler import backend, target
from tinyjax.compiler.backend import KernelError, compile_kernel
from tinyjax.compiler.intrinsics import INTRINSICS, OPERATORS
from tinyjax.compiler.njit_fallback import compile_with_njit

SAYS = {
    "njit": "does not fit the installed Numba .RuntimeError: LLVM has changed.; numba",
    "python": "does not fit .* LLVM has changed.*; Numba cannot be imported, so kernels run as",
}


@pytest.fixture(params=["njit", "python"])
def rung(request, monkeypatch):
    """The target is broken, and nothing that it made before is found; so is Numba, or not."""

    def broken(*args):
        raise RuntimeError("LLVM has changed")

    monkeypatch.setenv("TINYJAX_CACHE_DIR", "")
    monkeypatch.setattr(target, "lower_to_ir", broken)
    monkeypatch.setattr(backend, "_kernels", {})
    if request.param == "python":
        monkeypatch.setattr(backend, "_njit", lambda: None)
    backend._target_fits.cache_clear()
    yield request.param
    backend._target_fits.cache_clear()


@pytest.fixture
def quiet(rung):
    """The same, when the warning has been given; any other is an error."""
    with pytest.warns(RuntimeWarning, match=SAYS[rung]):
        backend._target_fits()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield rung


def agree(got, want, rtol=2e-4):
    """Assert that results of the two worlds agree in shape, dtype and value."""
    got, want = tinyjax.tree.leaves(got), jax.tree.leaves(want)
    for x, y in zip(got, want, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        if x.dtype == ml_dtypes.bfloat16:
            x, y = x.astype(np.float32), y.astype(np.float32)
        finite = np.abs(y[np.isfinite(y)]).astype(float)
        scale = max(1.0, float(finite.max(initial=0)))
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale)


def both(f, *xs, rtol=2e-4):
    """f(world, *xs) compiled by tinyjax, and what jax says."""
    agree(*(w.jit(lambda *a, w=w: f(w, *a))(*xs) for w in (tinyjax, jax)), rtol)


# ---- programs -----------------------------------------------------------------------------------


def test_one_warning_and_right_results(rung):
    x = np.linspace(-1, 1, 6, dtype=np.float32)
    with pytest.warns(RuntimeWarning, match=SAYS[rung]) as seen:
        for k in range(3):
            f = tinyjax.jit(lambda x, k=k: tinyjax.numpy.sin(x) * k)
            np.testing.assert_allclose(f(x), np.sin(x) * k, rtol=1e-6)
    assert len(seen) == 1


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed, quiet):
    xs, program = inputs(seed), Program(seed, 12)
    got = tinyjax.jit(lambda *a: program(tinyjax.lax, *a))(*xs)
    agree(got, program(jax.lax, *map(jax.numpy.asarray, xs)))


@pytest.mark.parametrize("seed", range(6))
def test_random_loops(seed, quiet):
    xs, loop = inputs(seed), Loop(seed, 6)
    got = tinyjax.jit(lambda *a: loop(tinyjax.lax, *a))(*xs)
    agree(got, jax.jit(lambda *a: loop(jax.lax, *a))(*xs), rtol=2e-3)


MATRIX = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
PROGRAMS = {
    "rows": lambda w, x: w.nn.softmax(x, axis=1),
    "columns": lambda w, x: (x.sum(0), x.max(0), x.var(0), x.argmax(0)),
    "all": lambda w, x: (x.mean(), x.argmin(), w.numpy.cumsum(x), (x > 0).any()),
    "moved": lambda w, x: (
        w.numpy.roll(x, 2, 1),
        x[::-1, 1:6:2],
        w.numpy.concatenate([x, x.T @ x]),
    ),
    "indexed": lambda w, x: (x[w.numpy.array([3, 1, -1])], x.at[w.numpy.array([1, 1])].add(2.0)),
    "product": lambda w, x: w.numpy.tanh(x @ x.T),
    "huge angles": lambda w, x: (w.numpy.sin(x * 1e12), w.numpy.cos(x * 1e9), w.numpy.tan(x)),
    "random": lambda w, x: (w.random.normal(w.random.key(3), (9,)), w.random.bits(w.random.key(1))),
    "integers": lambda w, x: [
        (x * 40).astype(d) // 3 for d in ("int8", "uint8", "int32", "uint32")
    ],
    "halves": lambda w, x: w.numpy.exp(x.astype("float16")) * 3 - x.T[:, 0].astype("float16").sum(),
    "bfloat16": lambda w, x: (x.astype("bfloat16") * 3 + 1) / (x[0].astype("bfloat16") - 1.25),
    "complex": lambda w, x: w.numpy.abs(w.numpy.exp(w.lax.complex(x, x)) * (2 + 1j)),
    "derivative": lambda w, x: w.grad(lambda x: w.numpy.logaddexp(x, x.T[0, 0]).sum())(x),
    "mapped": lambda w, x: w.vmap(lambda r: w.lax.cond(r[0] > 0, w.numpy.sin, w.numpy.exp, r))(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, quiet):
    both(PROGRAMS[name], MATRIX, rtol=1e-2 if name in ("halves", "bfloat16") else 2e-4)


# ---- kernels ------------------------------------------------------------------------------------


def test_arguments_are_taken_as_the_compiled_kernel_takes_them(quiet):
    double = compile_kernel("k", *elementwise("x[i] + x[i]", "f32", "f32"))
    x, out = np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)
    x.flags.writeable = False
    double(x, out)
    np.testing.assert_array_equal(out, 2 * x)
    scalar = np.zeros((), np.float32)
    double(np.array(3, np.float32), scalar)
    assert scalar == 6
    for bad in (x.T, [1.0], None):
        with pytest.raises(TypeError):
            double(bad, out)


def test_a_kernel_that_means_nothing_is_refused_by_njit(quiet):
    if quiet == "njit":
        with pytest.raises(
            KernelError, match="(?s)LLVM has changed; nor with numba.njit: .*unknown"
        ):
            compile_kernel("k", "def k(x):\n    unknown(x[0])\n", ("f32[1]",))


def expressions(code):
    """Every word and operator that takes one, two or three values of a dtype."""
    found = {}
    for name, word in {**INTRINSICS, **OPERATORS}.items():
        codes = ["bool" if name == "where" and k == 0 else code for k in range(word.arity)]
        operands = [f"{v}[i]" for v in "xyz"[: word.arity]]
        if name == "where":
            operands[0] = "x[i] == y[i]"
        if name == "integer_pow":
            codes[1], operands[1] = "literal", "3"
        result = word.result(*codes)
        if result is None:
            continue
        text = f"{name}({', '.join(operands)})"
        if name in OPERATORS:
            sign = SIGNS.get(name)
            if sign is None:
                continue
            text = sign.format(*operands)
        found[text] = result
    return found


SIGNS = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "truediv": "{} / {}",
    "floordiv": "{} // {}", "mod": "{} % {}", "lshift": "{} << {}", "rshift": "{} >> {}",
    "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "invert": "~{}", "neg": "-{}",
    "pos": "+{}", "lt": "{} < {}", "le": "{} <= {}", "gt": "{} > {}", "ge": "{} >= {}",
    "eq": "{} == {}", "ne": "{} != {}", "not_": "not {}",
}  # fmt: skip


@pytest.mark.parametrize("code", [*DTYPES])
def test_every_word_means_the_same_through_njit(code):
    found = expressions(code)
    assert len(found) > 20
    names = [f"out{k}" for k in range(len(found))]
    lines = [f"        {n}[i] = {text}\n" for n, text in zip(names, found, strict=True)]
    head = f"def k(x, y, z, {', '.join(names)}):\n    for i in range(x.size):\n"
    codes = (*[f"{code}[1]"] * 3, *(f"{result}[1]" for result in found.values()))
    x, y, z = (values(code, seed=seed) for seed in range(3))
    results = []
    for make in (compile_kernel, compile_with_njit):
        outs = [np.zeros(x.size, DTYPES[result]) for result in found.values()]
        make("k", head + "".join(lines), codes)(x, y, z, *outs)
        results.append(outs)
    for text, want, got in zip(found, *results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=text)


# ---- no Numba -----------------------------------------------------------------------------------


def test_numba_is_not_there():
    code = """
import sys, warnings
sys.modules['numba'] = None
import numpy as np, tinyjax as jax, tinyjax.numpy as jnp
x = np.linspace(0, 1, 5, dtype=np.float32)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    a = jax.jit(lambda x: jnp.exp(jnp.sin(x)))(x)
    b = jax.jit(lambda x: jnp.cumsum(x))(x)
print(len(seen), np.allclose(a, np.exp(np.sin(x))), np.allclose(b, x.cumsum()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"TINYJAX_CACHE_DIR": ""}
    )
    assert done.stdout.split() == ["1", "True", "True"], done.stderr
