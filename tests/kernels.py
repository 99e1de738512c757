"""Small kernels for the tests of the compiler's backend."""

import textwrap

import numpy as np

from tinyjax.compiler.backend import compile_kernel

DTYPES = {
    "bool": np.bool_, "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "c64": np.complex64, "c128": np.complex128,
}  # fmt: skip
INTEGERS = [code for code in DTYPES if code[0] in "iu"]


def kernel(body, *codes, header="x, y, out"):
    """A kernel named `k` from the lines of its body."""
    source = f"def k({header}):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return source + "\n", codes


def elementwise(expression, *codes):
    """Source and signature of a kernel that computes one expression for every element."""
    names = ["x", "y", "z"][: len(codes) - 1]
    body = f"for i in range(out.size):\n    out[i] = {expression}"
    return kernel(body, *(f"{c}[1]" for c in codes), header=", ".join([*names, "out"]))


def run(made, *arrays):
    """Compile and call a kernel; returns its last argument."""
    source, codes = made
    compile_kernel("k", source, codes)(*arrays)
    return arrays[-1]


def values(code, n=24, seed=0):
    """Numbers of a dtype with its extremes in front."""
    rng = np.random.default_rng(seed)
    kind = DTYPES[code]
    if code == "bool":
        return rng.integers(0, 2, n).astype(bool)
    if code[0] in "iu":
        limits = np.iinfo(kind)
        x = rng.integers(limits.min, limits.max, n, dtype=kind, endpoint=True)
        edges = [0, 1, 2, limits.max, limits.min, -1 if code[0] == "i" else 3]
        x[:6] = edges
        x[6:14] = x[6:14] % 9
        return x
    x = rng.standard_normal(n) * 3
    x[:6] = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]
    if code[0] == "c":
        x = x + 1j * rng.standard_normal(n)
    return x.astype(kind)
