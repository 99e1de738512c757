"""The backend: how kernels are called, what replaces a compiler that fails."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from kernels import elementwise, kernel, run

from tinyjax.compiler import backend, launcher
from tinyjax.compiler.backend import KernelError, compile_kernel, run_source_in_python
from tinyjax.compiler.njit_fallback import compile_with_njit

# ---- calls --------------------------------------------------------------------------------------


def test_arrays_of_other_ranks_are_seen_flat_or_with_merged_axes():
    flat = elementwise("x[i] + f32(1.0)", "f32", "f32")
    for shape in [(), (3,), (2, 3), (2, 3, 4), (0, 5)]:
        x = np.ones(shape, np.float32)
        np.testing.assert_array_equal(run(flat, x, np.zeros_like(x)), x + 1)
    shapes = kernel("out[0], out[1] = x.shape", "i8[2]", "i64[1]", header="x, out")
    for shape, want in [((), (1, 1)), ((7,), (1, 7)), ((2, 3), (2, 3)), ((2, 3, 5), (6, 5))]:
        got = run(shapes, np.zeros(shape, np.int8), np.zeros(2, np.int64))
        np.testing.assert_array_equal(got, want)


def test_wrong_arguments_raise_and_say_what_is_wanted():
    call = compile_kernel("k", *elementwise("x[i]", "f32", "f32"))
    x = np.zeros(4, np.float32)
    wanted = r"kernel k takes \(f32\[1\], f32\[1\]\): arrays must be NumPy arrays, aligned and C-co"
    for bad in [(x,), (x, x, x), (x, [1.0]), (x, None), (x, x[::2]), (np.zeros((2, 2)).T, x)]:
        with pytest.raises(TypeError, match=wanted):
            call(*bad)
    source, codes = kernel("out[0] = f64(n) + s", "intp", "f64", "f64[1]", header="n, s, out")
    call, out = compile_kernel("k", source, codes), np.zeros(1)
    call(np.int64(-1), np.float32(-1.0), out)
    assert out[0] == -2
    for bad in [("a", 1.0), (1.5, 1.0), (1, "a"), (2**70, 0.0)]:
        with pytest.raises((TypeError, OverflowError)):
            call(*bad, out)


def test_one_kernel_for_all_sizes_and_for_repeated_requests():
    made = elementwise("x[i] + x[i]", "f32", "f32")
    assert compile_kernel("k", *made) is compile_kernel("k", *made)
    for n in (1, 10, 1000):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(run(made, x, np.empty_like(x)), 2 * x)


def test_the_interpreter_runs_on_while_a_kernel_works():
    source, codes = kernel(
        """
        s = x[0]
        for i in range(n):
            s = s * f64(0.999999) + f64(0.5)
        out[0] = s
        """,
        *("f64[1]", "intp", "f64[1]"),
        header="x, n, out",
    )
    call = compile_kernel("k", source, codes)
    worker = threading.Thread(target=call, args=(np.ones(1), 200_000_000, np.ones(1)))
    worker.start()
    turns = 0
    while worker.is_alive() and turns < 5:
        time.sleep(0.001)
        turns += 1
    assert turns == 5
    worker.join()


def test_threads_may_compile_at_once():
    results = {}

    def work(k):
        made = elementwise(f"sin(x[i]) * f32({k}.0)", "f32", "f32")
        results[k] = run(made, np.ones(3, np.float32), np.empty(3, np.float32))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(6):
        np.testing.assert_allclose(results[k], np.sin(1) * k, rtol=1e-6)


def test_kernels_of_one_program_are_compiled_together():
    sources = [elementwise(f"sin(x[i]) + f32({k}.5)", "f32", "f32") for k in range(4)]
    requests = [("k", *made) for made in [*sources, sources[0]]]
    before = backend.kernel_counts()
    kernels = backend.compile_kernels(requests)
    assert kernels[0] is kernels[4] is compile_kernel(*requests[0])
    assert sum(backend.kernel_counts()) == sum(before) + 4
    x, out = np.ones(3, np.float32), np.empty(3, np.float32)
    for k, call in enumerate(kernels[:4]):
        call(x, out)
        np.testing.assert_allclose(out, np.sin(x) + k + 0.5, rtol=1e-6)


def test_one_of_several_kernels_that_does_not_compile_is_named():
    good = ("k", *elementwise("x[i] * f32(5.25)", "f32", "f32"))
    bad = ("wrong", "def wrong(x, out):\n    out[0] = unknown(x[0])\n", good[2])
    also_bad = ("late", "def late(x, out):\n    out[0] = x[0] + 1.0e400 * bad\n", good[2])
    for one in (bad, also_bad):
        with pytest.raises(KernelError, match=f"kernel '{one[0]}' does not compile"):
            backend.compile_kernels([good, one])
    assert backend.compile_kernels([good])[0] is compile_kernel(*good)


def test_a_signature_that_does_not_fit_its_function():
    for source, said in {
        "def k(x):\n    pass\n": "Mismatch number of argument types",
        "def other(x, y):\n    pass\n": "kernel source defines no function 'k'",
    }.items():
        with pytest.raises(KernelError, match=f"kernel 'k' does not compile .*: {said}"):
            compile_kernel("k", source, ("f32[1]", "f32[1]"))


# ---- fall-backs ---------------------------------------------------------------------------------

NORMALISE = kernel(
    """
    n, m = x.shape
    for i in range(n):
        row = x[i]
        s = f32(0.0)
        for j in range(m):
            s = acc(s, exp(row[j]))
        for j in range(m):
            out[i, j] = where(row[j] > f32(0.0), sin(row[j]) / s, f32(i32(i) % i32(3)))
    """,
    *("f32[2]", "f32[2]"),
    header="x, out",
)


def test_plain_njit_gives_the_same():
    x = np.random.default_rng(0).standard_normal((2, 3, 20)).astype(np.float32)
    want, got, python = (np.empty_like(x) for _ in range(3))
    compile_kernel("k", *NORMALISE)(x, want)
    compile_with_njit("k", *NORMALISE)(x, got)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    run_source_in_python("k", NORMALISE[0])(x.reshape(6, 20), python.reshape(6, 20))
    np.testing.assert_allclose(python, want, rtol=1e-5)


def in_a_new_process(code, **environment):
    """What a fresh interpreter prints; it finds `make()`, a kernel to call with `x` and `out`."""
    head = """
        import sys, warnings, numpy as np
        from tinyjax.compiler.backend import compile_kernel
        source = "def double(x, out):\\n    for i in range(3):\\n        out[i] = sin(x[i])\\n"
        x, out = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
        make = lambda: compile_kernel("double", source, ("f32[1]", "f32[1]"))
    """
    text = textwrap.dedent(head) + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-c", text],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def fresh(expression):
    """Build a kernel as a new process would, and check that it works."""
    source, codes = elementwise(expression, "f32", "f32")
    x, out = np.full(20, 0.5, np.float32), np.empty(20, np.float32)
    backend._build("k", source, codes)(x, out)
    python = np.empty_like(out)
    run_source_in_python("k", source)(x, python)
    np.testing.assert_allclose(out, python, rtol=1e-6)


def test_a_numpy_laid_out_otherwise_is_noticed(monkeypatch):
    assert launcher.reads_arrays_right()
    monkeypatch.setattr(launcher, "NDIM", launcher.NDIM + 4)
    assert not launcher.reads_arrays_right()
    backend._target_fits.cache_clear()
    backend._launcher.cache_clear()
    with pytest.warns(RuntimeWarning, match="NumPy's array structure .*; numba.njit compiles"):
        fresh("x[i] + f32(0.375)")
    backend._target_fits.cache_clear()
