"""The compiler: what it computes, in how many kernels, as which text, in which memory."""

import math
import os
import re
import subprocess
import sys
import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compiler_programs import Loop, Program, inputs

import tinyjax
from tinyjax import lax
from tinyjax.compiler import backend, buffers, executable, stages, threads
from tinyjax.compiler.interpret import interpret
from tinyjax.compiler.passes import prepare
from tinyjax.compiler.signature import parse
from tinyjax.core import Literal
from tinyjax.tree_util import tree_leaves

F = np.float32


@pytest.fixture(autouse=True)
def no_fallback():
    """A program that cannot be compiled warns: here that is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def normal(*shape, seed=0):
    """Random float32 numbers."""
    return np.random.default_rng(seed).normal(size=shape).astype(F)


def agree(got, want, rtol=2e-4):
    """Assert that lists of arrays agree in shape, dtype and value."""
    got, want = tree_leaves(got), jax.tree_util.tree_leaves(want)
    assert len(got) == len(want)
    for x, y in zip(got, want, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        finite = np.where(np.isfinite(y), y, 0) if y.dtype.kind == "f" else np.zeros(1)
        scale = max(1.0, float(np.max(np.abs(finite), initial=0)))
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * scale)


def both(f, *xs):
    """f(lax, *xs), compiled by tinyjax and by jax, must agree; returns tinyjax's result."""
    got = tinyjax.jit(lambda *a: f(lax, *a))(*xs)
    agree(got, jax.jit(lambda *a: f(jax.lax, *a))(*xs))
    return got


def compiled(f, *xs):
    """The driver of f(lax, *xs): its kernels, its text."""
    return tinyjax.jit(lambda *a: f(lax, *a)).lower(*xs).compile().runtime_executable().plan()


def call_outs(driver):
    """The primitives that the driver leaves to NumPy."""
    return re.findall(r"= (\w+)\(.*#.* = \w+$", driver.source(), re.M)


def over(op, x, axis):
    """x with a row or column statistic spread over it."""
    kept = [d for d in range(x.ndim) if d != axis]
    return op.broadcast_in_dim(op.reduce_max(x, (axis,)), x.shape, kept)


# ---- programs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(18))
def test_random_program_agrees_with_jax(seed):
    """Elementwise operations, broadcasts, reductions, moves: what jax computes."""
    xs = inputs(seed)
    program = Program(seed, 8 + seed % 20)
    got = tinyjax.jit(lambda *a: program(lax, *a))(*xs)
    agree(got, program(jax.lax, *map(jnp.asarray, xs)))


def chain(op, x):
    """A chain of elementwise operations."""
    for _ in range(4):
        y = op.mul(x, op.full_like(x, 0.5))
        x = op.select(op.gt(y, op.full_like(y, 0)), op.tanh(y), op.add(y, x))
    return x


def softmax(op, x):
    """Two row statistics and what depends on them."""
    e = op.exp(op.sub(x, over(op, x, 1)))
    return op.div(e, op.broadcast_in_dim(op.reduce_sum(e, (1,)), x.shape, (0,)))


def columns(op, x):
    """Column statistics."""
    mean = op.div(op.reduce_sum(x, (0,)), op.full_like(x[0], x.shape[0]))
    centred = op.sub(x, op.broadcast_in_dim(mean, x.shape, (1,)))
    return centred, op.reduce_sum(op.mul(centred, centred), (0,))


def whole(op, x):
    """Sums over everything, and their use."""
    total = op.reduce_sum(op.mul(x, x), (0, 1))
    return op.div(x, op.broadcast_in_dim(op.sqrt(total), x.shape, ())), op.reduce_max(x, (0, 1))


@pytest.mark.parametrize("f", [chain, softmax, columns, whole], ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(6, 5), (1, 5), (6, 1), (1, 1), (300, 41)], ids=str)
def test_programs_fuse_into_one_kernel(f, shape):
    x = normal(*shape)
    both(f, x)
    driver = compiled(f, x)
    assert len(driver.kernels) == 1
    assert not call_outs(driver)


def test_a_chain_needs_memory_for_its_result_only():
    source = compiled(chain, normal(50, 7)).source()
    assert len(re.findall(r"new_\w+\(\)", source)) == 1
    assert "scratch" not in source


def test_a_program_of_numbers_is_one_kernel_call():
    """A training step on scalars."""

    def step(op, w, b, x, y):
        error = op.sub(op.add(op.mul(w, x), b), y)
        return op.sub(w, op.mul(op.mul(error, x), F(0.1))), op.sub(b, op.mul(error, F(0.1)))

    xs = [F(v) for v in (0.5, 0.1, 2.0, 3.0)]
    both(step, *xs)
    assert len(compiled(step, *xs).kernels) == 1


@pytest.mark.parametrize("name", ["nan", "inf", "zeros"])
def test_special_values(name):
    odd = {
        "nan": [np.nan, 1, -np.nan, np.inf, 0],
        "inf": [np.inf, -np.inf, 1, -1, 0],
        "zeros": [0.0, -0.0, 1.0, -0.0, 0.0],
    }[name]
    x = np.array(odd, F)

    def f(op, x, y):
        outs = [op.max(x, y), op.min(x, y), op.neg(x), op.sub(x, x), op.mul(x, y), op.abs(x)]
        outs += [op.sign(x), op.floor(x), op.reduce_max(x, (0,)), op.reduce_sum(x, (0,))]
        outs += [op.eq(x, y), op.lt(x, y), op.argmax(x, 0, np.int32), op.argmin(x, 0, np.int32)]
        return (*outs, op.convert_element_type(x, np.int32))

    got = both(f, x, x[::-1].copy())
    want = f(jax.lax, x, x[::-1].copy())
    for k in (2, 5, 6, 7):  # the sign of zero
        np.testing.assert_array_equal(np.signbit(np.asarray(got[k])), np.signbit(want[k]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint32], ids=str)
def test_integers_wrap_and_never_trap(dtype):
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 1, 7, info.max], dtype)
    y = np.array([1, 1, 0, info.max, info.min, info.max], dtype)

    def f(op, x, y):
        names = ["add", "sub", "mul", "div", "rem", "max", "bitwise_and", "bitwise_xor"]
        names += ["shift_left", "shift_right_logical", "shift_right_arithmetic"]
        outs = [getattr(op, n)(x, y) for n in names]
        outs += [op.neg(x), op.bitwise_not(x), op.population_count(x), op.clz(x), op.sign(x)]
        sums = [op.reduce_sum(x, (0,)), op.reduce_prod(x, (0,)), op.reduce_max(x, (0,))]
        return [*outs, *sums, op.convert_element_type(x, F), op.convert_element_type(x, np.int8)]

    for got, want in zip(both(f, x, y), f(jax.lax, x, y), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_rounds_after_every_operation(name):
    dtype = jnp.dtype(name)
    x, y = (normal(40, seed=s).astype(dtype) for s in (1, 2))

    def f(op, x, y):
        z = op.add(op.mul(x, y), x)
        wide = op.convert_element_type(op.mul(z, y), F)
        return op.sub(z, y), op.div(z, y), wide, op.max(x, y), op.lt(x, y)

    got = tinyjax.jit(lambda x, y: f(lax, x, y))(x, y)
    for a, b in zip(got, f(jax.lax, jnp.asarray(x), jnp.asarray(y)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(np.asarray(a, F), np.asarray(b, F))


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
def test_sums_of_ten_million_numbers_are_exact_to_1e_6(axes):
    x = np.random.default_rng(1).random((100, 100_000), F)
    for shape in ((100, 100_000), (100_000, 100)):
        y = x.reshape(shape)
        got = tinyjax.jit(lambda v: lax.reduce_sum(v, axes))(y)
        want = np.sum(y, axes, dtype=np.float64)
        assert np.max(np.abs(np.asarray(got) - want) / want) <= 1e-6


@pytest.mark.parametrize("case", ["random", "equal", "nan", "low", "rows", "ints", "low ints"])
def test_argmax_of_long_arrays_finds_the_first(case):
    x = normal(3000)
    x = {
        "random": x,
        "equal": np.zeros(3000, F),
        "nan": np.where(np.arange(3000) % 1500 == 1400, np.nan, x),
        "low": np.full(3000, -np.inf, F),
        "rows": np.round(normal(5, 700)),
        "ints": np.round(x * 3).astype(np.int32),
        "low ints": np.full(2000, np.iinfo(np.int32).min, np.int32),
    }[case]

    def f(op, x):
        last = x.ndim - 1
        return [
            op.argmax(x, last, np.int32),
            op.argmin(x, last, np.int32),
            op.reduce_max(x, (last,)),
        ]

    for got, want in zip(both(f, x), f(jax.lax, x), strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


# ---- passes -------------------------------------------------------------------------------------


def test_nested_jit_is_inlined():
    inner = tinyjax.jit(lambda x: lax.mul(x, lax.sin(x)))

    def f(op, x):
        return op.add(inner(x), inner(op.neg(x)))

    driver = compiled(f, normal(5))
    names = [e.primitive.name for e in driver.program.eqns]
    assert names.count("jit") == 0
    assert names.count("sin") == 2
    assert len(driver.kernels) == 1


def test_equal_equations_are_shared_and_dead_ones_dropped():
    def f(op, x):
        a, b = op.exp(op.mul(x, F(2))), op.exp(op.mul(x, F(2)))
        op.sin(x)
        return op.add(a, b)

    both(f, normal(5)[0])
    names = [e.primitive.name for e in compiled(f, normal(5)[0]).program.eqns]
    assert sorted(names) == ["add", "exp", "mul"]


def test_a_checkpoint_recomputes():
    """What it runs again for the backward pass must not be shared with the forward pass."""
    f = tinyjax.checkpoint(lambda x: lax.sin(lax.sin(x)))
    jaxpr = tinyjax.make_jaxpr(tinyjax.grad(f))(1.0)
    names = [e.primitive.name for e in prepare(jaxpr).eqns]
    plain = tinyjax.make_jaxpr(tinyjax.grad(lambda x: lax.sin(lax.sin(x))))(1.0)
    assert names.count("sin") >= [e.primitive.name for e in prepare(plain).eqns].count("sin")
    agree(tinyjax.jit(tinyjax.grad(f))(0.7), jax.grad(lambda x: jnp.sin(jnp.sin(x)))(0.7))


def test_captured_arrays_are_operands():
    table = normal(5)
    agree(tinyjax.jit(lambda x: lax.add(x, table))(table), 2 * table)
    driver = compiled(lambda op, x: op.add(x, table), table)
    assert "def" in driver.text()
    assert not re.search(r"\d\.\d{4}", driver.kernels[0].finish())


# ---- loops --------------------------------------------------------------------------------------


def rnn(op, w, h, xs):
    def step(h, x):
        h = op.tanh(op.add(op.dot_general(w, h, (((1,), (0,)), ((), ()))), x))
        return h, op.reduce_sum(h, (0,))

    return op.scan(step, h, xs)


def reversed_sums(op, xs):
    return op.scan(lambda s, x: (op.add(s, x), op.mul(s, x)), xs[0], xs, reverse=True)


def swapped(op, a, b):
    return op.fori_loop(0, 5, lambda i, ab: (ab[1], op.add(ab[0], ab[1])), (a, b))


def newton(op, x):
    def body(s):
        return op.mul(F(0.5), op.add(s[0], op.div(x, s[0]))), op.add(s[1], np.int32(1))

    def far(s):
        return op.gt(op.abs(op.sub(op.mul(s[0], s[0]), x)), F(1e-4))

    return op.while_loop(far, body, (x, np.int32(0)))


def heat(op, u):
    def step(i, u):
        left, mid, right = (op.slice(u, (k,), (u.shape[0] - 2 + k,)) for k in range(3))
        flow = op.sub(op.add(left, right), op.add(mid, mid))
        return op.dynamic_update_slice(u, op.add(mid, op.mul(flow, op.full_like(mid, 0.1))), (1,))

    return op.fori_loop(0, 20, step, u)


def chosen(op, i, x):
    branches = [lambda x: (op.neg(x), x[0]), lambda x: (x, F(2)), lambda x: (op.exp(x), x[1])]
    return op.switch(i, branches, x)


def nested_loops(op, x):
    def outer(s, row):
        s = op.fori_loop(0, 3, lambda i, t: op.add(t, op.mul(row, row)), s)
        return s, op.reduce_max(s, (0,))

    return op.scan(outer, x, op.broadcast_in_dim(x, (4, *x.shape), (1,)))


def row_writes(op, x):
    def step(i, x):
        row = op.mul(op.dynamic_slice(x, (i, 0), (1, x.shape[1])), F(2) * np.ones((1, 5), F))
        return op.dynamic_update_slice(x, row, (op.add(i, np.int32(1)), np.int32(0)))

    return op.fori_loop(0, 7, step, x)


def trading_places(op, a, b):
    def step(ab, x):
        return (ab[1], ab[0]), op.add(ab[0], x)

    return op.scan(step, (a, b), op.broadcast_in_dim(a, (3, *a.shape), (1,)))


LOOPS = {
    "rnn": (rnn, normal(6, 6), normal(6), normal(9, 6)),
    "reversed": (reversed_sums, normal(8)),
    "reversed rows": (reversed_sums, normal(8, 3)),
    "swapped numbers": (swapped, F(0.3), F(1.2)),
    "swapped arrays": (swapped, normal(5), normal(5, seed=1)),
    "trading places": (trading_places, normal(3), normal(3, seed=1)),
    "newton": (newton, F(2)),
    "heat": (heat, normal(30)),
    **{f"branch {i}": (chosen, np.int32(i), normal(4)) for i in (-1, 0, 1, 2, 5)},
    "nested": (nested_loops, normal(4)),
    "row writes": (row_writes, normal(6, 5)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_one_kernel(name):
    f, *xs = LOOPS[name]
    both(f, *xs)
    driver = compiled(f, *xs)
    assert len(driver.kernels) == 1
    assert not call_outs(driver)


@pytest.mark.parametrize("seed", range(10))
def test_random_loop_agrees_with_jax(seed):
    """Carries that are written in place, read elsewhere, exchanged, or left alone."""
    xs = inputs(seed)
    loop = Loop(seed, 6 + 2 * seed)
    got = tinyjax.jit(lambda *a: loop(lax, *a))(*xs)
    agree(got, jax.jit(lambda *a: loop(jax.lax, *a))(*xs), rtol=2e-3)


def test_a_loop_with_a_body_that_kernels_cannot_express():
    def f(op, xs):
        def step(s, x):
            return op.add(s, op.real(op.mul(op.complex(x, x), op.complex(x, s)))), op.sin(s)

        return op.scan(step, F(1), xs)

    both(f, normal(5))


def test_gradient_of_a_loop():
    xs = [normal(4, 4), normal(4), normal(5, 4)]

    def loss(op, w, h, xs):
        return op.reduce_sum(rnn(op, w, h, xs)[1], (0,))

    got = tinyjax.jit(tinyjax.grad(lambda w, h, xs: loss(lax, w, h, xs)))(*xs)
    agree(got, jax.grad(lambda w, h, xs: loss(jax.lax, w, h, xs))(*xs))


def test_while_loops_that_end_at_different_steps():
    def collatz(op, n):
        def body(s):
            n, k = s
            odd = op.eq(op.rem(n, np.int32(2)), np.int32(1))
            up, down = op.add(op.mul(n, np.int32(3)), np.int32(1)), op.div(n, np.int32(2))
            return op.select(odd, up, down), op.add(k, np.int32(1))

        return op.while_loop(lambda s: op.gt(s[0], np.int32(1)), body, (n, np.int32(0)))[1]

    n = np.arange(1, 40, dtype=np.int32)
    got = tinyjax.jit(tinyjax.vmap(lambda n: collatz(lax, n)))(n)
    agree(got, jax.vmap(lambda n: collatz(jax.lax, n))(n))


# ---- complex numbers and products ---------------------------------------------------------------


def test_complex_numbers():
    x, y = (normal(9, seed=s) + 1j * normal(9, seed=s + 2) for s in (0, 1))
    x, y = x.astype(np.complex64), y.astype(np.complex64)

    def f(op, x, y):
        outs = [op.add(x, y), op.mul(x, y), op.div(x, y), op.neg(x), op.exp(x), op.sin(x)]
        outs += [op.abs(x), op.real(x), op.imag(x), op.conj(x), op.eq(x, x), op.reduce_sum(x, (0,))]
        return [
            *outs,
            op.select(op.gt(op.real(x), op.imag(x)), x, y),
            op.complex(op.abs(x), op.real(y)),
        ]

    both(f, x, y)
    assert not call_outs(compiled(f, x, y))


def test_complex_loop_is_one_kernel():
    def f(op, c):
        def step(i, s):
            z, n = s
            z = op.add(op.mul(z, z), c)
            return z, op.add(n, op.convert_element_type(op.lt(op.abs(z), F(2)), np.int32))

        return op.fori_loop(0, 20, step, (np.complex64(0), np.int32(0)))[1]

    for c in (0.1 + 0.2j, 1 + 1j):
        both(f, np.complex64(c))
    assert len(compiled(f, np.complex64(1j)).kernels) == 1


def test_a_transposed_product_is_a_product():
    def f(op, a, b):
        product = op.dot_general(a, b, (((1,), (0,)), ((), ())))
        return op.mul(op.transpose(product, (1, 0)), F(2) * np.ones((70, 90), F))

    a, b = normal(90, 80), normal(80, 70)
    both(f, a, b)
    names = [e.primitive.name for e in compiled(f, a, b).program.eqns]
    assert "transpose" not in names


# ---- computed places ----------------------------------------------------------------------------

PLACES = np.array([0, 3, -1, 7, 2, -9, 20, 3], np.int32)
WINDOWS = {
    "elements": lambda np, x, v, i: v[i],
    "rows": lambda np, x, v, i: x[i % 6] * 2,
    "columns": lambda np, x, v, i: x[:, i % 5],
    "pairs": lambda np, x, v, i: x[i % 6, i % 5],
    "clipped": lambda np, x, v, i: np.take(v, i, mode="clip"),
    "filled": lambda np, x, v, i: v.at[i].get(mode="fill", fill_value=3.0),
    "set": lambda np, x, v, i: v.at[i].set(7.0),
    "set clipped": lambda np, x, v, i: v.at[i].set(1.0, mode="clip"),
    "add twice": lambda np, x, v, i: v.at[i].add(v[:8]),
    "rows multiplied": lambda np, x, v, i: x.at[np.array([1, 4, 1])].multiply(2.0),
    "columns max": lambda np, x, v, i: x.at[:, np.array([1, 1])].max(0.5),
    "counts": lambda np, x, v, i: np.zeros(4, np.int32).at[np.abs(i) % 4].add(1),
    "sums so far": lambda np, x, v, i: (np.cumsum(v), np.cumsum(x, 0), np.cumsum(x, 1)),
    "products so far": lambda np, x, v, i: (np.cumprod(x, 0), np.cumsum(i)),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_gather_scatter_and_cumulative_are_kernels(name):
    f, xs = WINDOWS[name], (normal(6, 5), normal(9), PLACES)
    compiled_f = tinyjax.jit(lambda *a: f(tinyjax.numpy, *a))
    agree(compiled_f(*xs), jax.jit(lambda *a: f(jnp, *a))(*xs))
    assert not call_outs(compiled_f.lower(*xs).compile().runtime_executable().plan())


def test_updates_in_a_loop_happen_in_place():
    """Writing one element per step must not copy the array at every step."""

    def f(op, x):
        one = lambda i: op.broadcast_in_dim(op.convert_element_type(i, F), (1,), ())
        return op.fori_loop(0, 9, lambda i, x: op.dynamic_update_slice(x, one(i), (i,)), x)

    both(f, normal(12))
    body = compiled(f, normal(12)).kernels[0].finish().split("= scan")[1]
    assert body.count("for ") <= 2  # the steps, and one loop of one element


def test_cumulative_sums_stay_exact():
    x = np.random.default_rng(2).random(1_000_000, F)
    got = np.asarray(tinyjax.jit(lambda x: lax.cumsum(x))(x))
    want = np.cumsum(x, dtype=np.float64)
    assert np.max(np.abs(got - want) / want) <= 1e-6


# ---- random keys --------------------------------------------------------------------------------


def draws(world, lib, key):
    """Numbers of several kinds, bits of every width."""
    keys = world.random.split(key, (2, 3))
    bits = [world.random.bits(key, (3,), t) for t in (np.uint8, np.uint16, np.uint32)]
    other = world.random.fold_in(keys[1, 2], 7)
    return world.random.normal(key, (4, 5)), world.random.key_data(keys), bits, other


def walk(world, lib, key):
    """Keys that a loop carries."""

    def step(key, x):
        key, now = world.random.split(key)
        return key, x + world.random.normal(now, (3,))

    return world.lax.scan(step, key, lib.arange(5.0))


def chosen_key(world, lib, key):
    """Keys that a branch returns, keys that a loop scans over."""
    key = world.lax.cond(
        world.random.uniform(key) > 0.5,
        lambda k: world.random.split(k)[0],
        lambda k: world.random.fold_in(k, 7),
        key,
    )
    keys = world.random.split(key, 4)[::-1]
    return world.lax.scan(lambda s, k: (s + world.random.uniform(k), k), 0.0, keys)


def sampled(world, lib, key):
    """Keys for every element of a batch; keys in a loop that NumPy must help with."""
    keys = world.random.split(key, 3)
    rows = world.vmap(lambda k: world.random.uniform(k, (2,)))(keys)
    loop = world.lax.scan(lambda s, k: (s, world.random.permutation(k, 5)), 0, keys)
    return rows, loop, keys[lib.array([2, 0])]


def words(world, tree):
    """Leaves, keys as their words."""
    leaves = world.tree_util.tree_leaves(tree)
    return [world.random.key_data(x) if "key" in str(x.dtype) else x for x in leaves]


@pytest.mark.parametrize("f", [draws, walk, chosen_key, sampled], ids=lambda f: f.__name__)
def test_random_keys(f):
    got = tinyjax.jit(lambda k: f(tinyjax, tinyjax.numpy, k))(tinyjax.random.key(42))
    want = jax.jit(lambda k: f(jax, jnp, k))(jax.random.key(42))
    agree(words(tinyjax, got), words(jax, want), rtol=1e-6)


def test_random_loops_are_one_kernel():
    traced = tinyjax.jit(lambda k: walk(tinyjax, tinyjax.numpy, k)).lower(tinyjax.random.key(1))
    driver = traced.compile().runtime_executable().plan()
    assert len(driver.kernels) == 1
    assert not call_outs(driver)


# ---- the text -----------------------------------------------------------------------------------


def in_python(requests):
    """Kernels as the Python functions that they look like, on flat arrays."""
    return [
        backend.run_source_in_python(name, text, parse(codes)) for name, text, codes in requests
    ]


@pytest.mark.parametrize("seed", range(0, 60, 6))
def test_kernel_text_runs_as_plain_python(seed, monkeypatch):
    """The driver gives the same results when its kernels are plain Python functions."""
    xs = inputs(seed)
    program = Program(seed, 15)
    lowered = tinyjax.jit(lambda *a: program(lax, *a)).lower(*xs)
    want = lowered.compile()(*xs)

    monkeypatch.setattr(backend, "compile_kernels", in_python)
    run = executable.Executable(lowered.program.jaxpr, "plain")
    got = run([*map(tinyjax.numpy.asarray, xs)])
    agree(got, list(want))


def test_loops_run_as_plain_python(monkeypatch):
    monkeypatch.setattr(backend, "compile_kernels", in_python)
    for name in ("rnn", "newton", "heat", "branch 1", "trading places"):
        f, *xs = LOOPS[name]
        both(f, *xs)


def test_text_names_equations_and_shapes():
    x = normal(3, 4)
    text = tinyjax.jit(lambda x: lax.sin(x) * 2.0).lower(x).kernels()
    assert "b_i = sin(a_i)  # b:f32[3,4] = sin a" in text
    assert "c_i = b_i * f32(2.0)  # c:f32[3,4] = mul b 2.0" in text
    assert "a:f32[3,4]" in text


def test_a_new_shape_compiles_nothing():
    """No size is part of a kernel, not even one that the program itself uses as a number."""
    f = tinyjax.jit(lambda x: softmax(lax, x) + tinyjax.numpy.mean(x))
    f(normal(6, 5))
    before = backend.kernel_counts()
    for shape in ((7, 5), (60, 11), (3, 1000)):
        x = normal(*shape)
        agree(f(x), softmax(jax.lax, x) + jnp.mean(x))
    assert backend.kernel_counts() == before


def test_kernels_stay_small():
    def long(op, x):
        for _ in range(150):
            x = op.add(op.sin(x), x)
        return x

    x = normal(9)
    driver = compiled(long, x)
    assert len(driver.kernels) >= 4
    assert max(len(k.finish().splitlines()) for k in driver.kernels) < 150
    both(long, x)


def test_dump_writes_every_stage(tmp_path):
    tinyjax.config.update("tinyjax_dump", str(tmp_path))
    try:
        tinyjax.jit(lambda x: lax.cos(x) + 3.25)(normal(4))
    finally:
        tinyjax.config.update("tinyjax_dump", None)
    names = sorted(os.listdir(tmp_path))
    assert [n.rsplit(".", 1)[1] for n in names] == ["jaxpr", "py"]
    assert "cos a" in (tmp_path / names[0]).read_text()
    assert "cos(a_i)" in (tmp_path / names[1]).read_text()


# ---- memory -------------------------------------------------------------------------------------

BIG = 1 << 16


def test_results_are_never_overwritten_while_somebody_holds_them():
    f = tinyjax.jit(lambda x: lax.add(x, F(1)))
    x = np.zeros(BIG, F)
    held = f(x)
    view = np.asarray(f(x))[3:7]
    memory = memoryview(f(x).npy)
    for k in range(5):
        f(np.full(BIG, k, F))
    assert np.asarray(held)[0] == 1
    assert view.tolist() == [1, 1, 1, 1]
    assert np.frombuffer(memory, F)[5] == 1


def test_memory_is_used_again_when_nobody_holds_it():
    f = tinyjax.jit(lambda x: lax.add(x, F(1)))
    x = np.zeros(BIG, F)
    addresses = {f(x).npy.ctypes.data for _ in range(10)}
    assert len(addresses) <= 2


def test_recycler_in_many_threads():
    """No array is handed to two holders at a time."""
    make = buffers.maker((buffers.LARGE // 4,), F)
    wrong = []

    def work(k):
        for _ in range(200):
            a = make()
            a[:] = k
            b = a.copy()
            if not (b == k).all() or not (a == k).all():
                wrong.append(k)
            del a

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


def test_an_array_that_is_deleted_makes_room_for_the_next():
    """A long chain of large arrays needs memory for a few of them only."""

    def f(op, x):
        for _ in range(12):  # sort is NumPy's: it keeps the chain from becoming one kernel
            x = op.mul(op.sort(op.add(x, F(1) * np.ones(x.shape, F))), F(0.5) * np.ones(x.shape, F))
        return x

    x = normal(3 * BIG + 16)
    both(f, x)
    blocks = buffers.POOL.queues[x.nbytes]
    assert len(blocks) <= 4


def test_kept_memory_is_bounded():
    pool = buffers.Pool()
    size = buffers.MOST // 4
    for k in range(8):
        pool.array((size + k,), np.dtype(np.uint8), size + k)
    assert sum(len(q) * n for n, q in pool.queues.items()) <= buffers.MOST


def test_programs_run_in_many_threads():
    f = tinyjax.jit(lambda x: softmax(lax, x))
    xs = [normal(400, 60, seed=k) for k in range(4)]
    want = [np.asarray(f(x)) for x in xs]
    failures = []

    def work(k):
        for _ in range(20):
            if not np.array_equal(np.asarray(f(xs[k])), want[k]):
                failures.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not failures


def test_inputs_are_not_changed_and_may_be_outputs():
    x = tinyjax.numpy.asarray(normal(20))
    before = np.array(x)
    a, b, c = tinyjax.jit(lambda x: (x, lax.neg(x), x))(x)
    agree([a, b, c], [before, -before, before])
    f = tinyjax.jit(lambda x: lax.fori_loop(0, 3, lambda i, y: lax.mul(y, y), x))
    f(x)
    agree(x, before)


def test_operands_need_not_be_contiguous():
    x = normal(6, 5)
    f = tinyjax.jit(lambda x: lax.mul(x, x))
    transposed = lax.transpose(tinyjax.numpy.asarray(x), (1, 0))
    agree(f(transposed), (x * x).T)


def test_helper_threads_pass_errors_on():
    with pytest.raises(ZeroDivisionError):
        threads.run_all([lambda: None, lambda: 1 // 0])
    done = []
    threads.run_all([lambda: done.append(1), lambda: done.append(2)])
    assert sorted(done) == [1, 2]


@pytest.mark.parametrize(
    "numbers", [((1,), (0,)), ((0,), (0,)), ((0,), (1,)), ((1,), (1,))], ids=str
)
def test_large_products(numbers):
    (left,), (right,) = numbers
    a, b = normal(*[(300, 170), (170, 300)][left == 0]), normal(*[(170, 120), (120, 170)][right])
    f = lambda op, a, b: op.dot_general(a, b, (numbers, ((), ())))
    both(f, a, b)


@pytest.mark.parametrize("shape", [(1, 700_000), (700_000, 1), (700, 1000)], ids=str)
def test_large_kernels_in_parts(shape):
    """Threads share the rows of a nest, never the elements of one row."""

    def f(op, x):
        top = over(op, x, 1)
        e = op.exp(op.sub(x, top))
        return (
            op.reduce_max(x, (1,)),
            op.argmax(x, 1, np.int32),
            e,
            op.reduce_sum(e, (1,)),
            op.sin(x),
        )

    both(f, normal(*shape))


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_one_kernel_serves_one_call_and_calls_in_parts(seed, monkeypatch):
    """Stage by stage, shared by threads: the same text, the same results."""
    xs = inputs(seed)
    program = Program(seed, 15)
    lowered = tinyjax.jit(lambda *a: program(lax, *a)).lower(*xs)
    want = lowered.compile()(*xs)
    count = len(backend._kernels)
    monkeypatch.setattr(stages, "WORTH_THREADS", 0)
    monkeypatch.setattr(stages, "planned", lambda: 2)
    parts = executable.Executable(lowered.program.jaxpr, "parts")
    agree(parts([*map(tinyjax.numpy.asarray, xs)]), list(want))
    assert len(backend._kernels) == count
    driver = parts.plan()
    steps = [stage.steps or 1 for kernel in driver.kernels for stage in kernel.stages]
    assert ("in_parts" in driver.source()) == (max(steps, default=1) > 1)


@pytest.mark.parametrize(
    "shape", [(3_000_000,), (3000, 1000), (300_000, 10), (20, 150_000)], ids=str
)
def test_threads_share_reductions_and_results_stay_the_same(shape, monkeypatch):
    """A block is a block, however many threads there are: results agree bit by bit."""

    def f(op, x):
        axes, last = tuple(range(x.ndim)), x.ndim - 1
        y = op.mul(x, x)
        whole = [op.reduce_sum(y, axes), op.reduce_max(x, axes), op.reduce_min(y, axes)]
        return [
            *whole,
            op.reduce_sum(y, (0,)),
            op.reduce_max(x, (0,)),
            op.argmax(x, last, np.int32),
        ]

    x = np.random.default_rng(3).random(shape, F)
    lowered = tinyjax.jit(lambda x: f(lax, x)).lower(x)
    results = []
    for count in (1, 2):
        monkeypatch.setattr(stages, "planned", lambda count=count: count)
        run = executable.Executable(lowered.program.jaxpr, "reductions")
        results.append(run([tinyjax.numpy.asarray(x)]))
        assert ("in_parts" in run.plan().source()) == (count == 2)
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(two))
    wide = x.astype(np.float64) ** 2
    np.testing.assert_allclose(np.asarray(results[0][0]), math.fsum(wide.ravel()), rtol=2e-7)
    np.testing.assert_allclose(np.asarray(results[0][3]), wide.sum(0), rtol=1e-6)
    for got, want in zip(results[0], f(jax.lax, x), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-4)


@pytest.mark.parametrize("shape", [(30, 700, 50), (3, 200, 5000), (2, 1, 9000), (5, 6, 7)], ids=str)
@pytest.mark.parametrize("count", [1, 2])
def test_reductions_over_a_middle_axis(shape, count, monkeypatch):
    monkeypatch.setattr(stages, "WORTH_THREADS", 0)
    monkeypatch.setattr(stages, "planned", lambda: count)

    def f(op, x):
        y = op.exp(x)
        sums = [op.reduce_sum(y, (1,)), op.reduce_max(x, (1,)), op.reduce_prod(x, (0, 1))]
        return [*sums, y, op.reduce_sum(op.convert_element_type(y, np.int32), (1,))]

    both(f, np.random.default_rng(4).uniform(0.9, 1.1, shape).astype(F))


# ---- when things go wrong -----------------------------------------------------------------------


def test_a_kernel_that_does_not_compile_is_not_the_end(monkeypatch):
    def broken(requests):
        raise backend.KernelError("no")

    monkeypatch.setattr(backend, "compile_kernels", broken)
    f = tinyjax.jit(lambda x: lax.sin(lax.add(x, x)))
    with pytest.warns(RuntimeWarning, match="could not be compiled and runs equation by equation"):
        agree(f(F(0.3)), np.sin(F(0.6)))
    agree(f(F(0.4)), np.sin(F(0.8)))  # and without a second warning


def run_python(code, **env):
    """Run a program in a fresh process -> what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


COUNT_IMPORTS = """
import sys, numpy as np, tinyjax
from tinyjax import lax
result = tinyjax.jit({f})(np.arange(4, dtype=np.float32))
print(np.asarray(result)[1], "numba" in sys.modules)
"""


def test_warm_cache_and_damaged_cache(tmp_path):
    code = COUNT_IMPORTS.format(f="lambda x: lax.mul(x, lax.add(x, x))")
    env = {"TINYJAX_CACHE_DIR": str(tmp_path)}
    assert run_python(code, **env) == ["2.0", "True"]
    assert run_python(code, **env) == ["2.0", "False"]  # the object file is loaded, no numba
    damaged = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert damaged
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-20] + b"x" * 20)
    assert run_python(code, **env) == ["2.0", "True"]


def test_programs_of_call_outs_never_import_numba(tmp_path):
    code = COUNT_IMPORTS.format(f="lambda x: lax.sort(x)")
    assert run_python(code, TINYJAX_CACHE_DIR=str(tmp_path)) == ["1.0", "False"]


def test_interpret_is_the_same_language():
    """The fallback agrees with the kernels."""
    xs = inputs(3)
    program = Program(3, 20)
    lowered = tinyjax.jit(lambda *a: program(lax, *a)).lower(*xs)
    agree(list(lowered.compile()(*xs)), interpret(lowered.program.jaxpr, xs))
    assert not any(isinstance(v, Literal) for v in lowered.program.jaxpr.invars)
