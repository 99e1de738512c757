"""No kernel reads or writes outside of its arrays: they run as Python, on arrays that check.

Compiled kernels check nothing, so what this finds would be memory of others.
"""

import numpy as np
import pytest
from compiler_programs import Loop, Program, inputs

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compiler import backend, executable, stages


class Checked:
    """A flat array that knows no negative indices, and no others that are too large."""

    def __init__(self, array):
        self.array, self.size, self.shape = array, array.size, array.shape

    def check(self, index):
        """The index, if it is there."""
        if isinstance(index, slice):
            assert 0 <= index.start <= index.stop <= self.size
            return index
        assert 0 <= index < self.size, f"index {index} of {self.size} elements"
        return index

    def __getitem__(self, index):
        found = self.array[self.check(index)]
        return Checked(found) if isinstance(index, slice) else found

    def __setitem__(self, index, value):
        self.array[self.check(index)] = value


def checked(name, source, signature):
    """A kernel as the Python function that it looks like."""
    run = backend.run_source_in_python(name, source)

    def call(*args):
        flat = [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in args]
        run(*[Checked(a) if isinstance(a, np.ndarray) else a for a in flat])

    return call


def all_checked(requests):
    return [checked(*request) for request in requests]


# ---- random programs that move elements ----------------------------------------------------------


def cut(np, rng, xs):
    """A slice; often one of the beginning."""
    x = pick(rng, xs)
    axis = rng.integers(x.ndim)
    n = x.shape[axis]
    first = 0 if rng.random() < 0.6 else rng.integers(n)
    last = rng.integers(first, n) + 1
    step = rng.choice([1, 1, 1, 2])
    return x[(slice(None),) * axis + (slice(first, last, step),)]


def join(np, rng, xs):
    """Two or three arrays, joined; those that fit."""
    x = pick(rng, xs)
    axis = int(rng.integers(x.ndim))
    shape = lambda y: y.shape[:axis] + y.shape[axis + 1 :]
    fit = [y for y in xs if y.ndim == x.ndim and shape(y) == shape(x)]
    return np.concatenate([x, *[pick(rng, fit) for _ in range(rng.integers(1, 3))]], axis)


def surround(np, rng, xs):
    """More elements around."""
    x = pick(rng, xs)
    width = [tuple(int(n) for n in rng.integers(0, 3, 2)) for _ in range(x.ndim)]
    return np.pad(x, width, mode=rng.choice(["constant", "edge", "wrap"]))


def calculate(np, rng, xs):
    """Arithmetic between what fits."""
    x = pick(rng, xs)
    fit = [y for y in xs if y.shape == x.shape]
    return x * 2 + pick(rng, fit) if rng.random() < 0.7 else np.maximum(x, pick(rng, fit))


def halo(np, rng, xs):
    """A stencil: neighbours left and right."""
    x = pick(rng, xs)
    p = np.concatenate([x[:1], x, x[-1:]])
    return p[:-2] - 2 * p[1:-1] + p[2:]


STEPS = [
    *(cut, cut, join, join, surround, calculate, calculate, halo),
    lambda np, rng, xs: pick(rng, xs)[::-1],
    lambda np, rng, xs: np.roll(pick(rng, xs), int(rng.integers(-4, 5)), 0),
    lambda np, rng, xs: pick(rng, xs).T,
    lambda np, rng, xs: pick(rng, xs).reshape(-1),
    lambda np, rng, xs: np.cumsum(pick(rng, xs), 0),
]


def pick(rng, xs):
    """One of the values."""
    return xs[rng.integers(len(xs))]


def program(seed):
    """A random program for NumPy or jnp."""

    def f(np, x, m):
        rng, xs = np_random(seed), [x, m]
        for _ in range(rng.integers(3, 9)):
            y = STEPS[rng.integers(len(STEPS))](np, rng, xs)
            if 0 < y.size < 150:
                xs.append(y)
        return [y * 1.5 for y in xs[2:]][-3:]

    return f


np_random = np.random.default_rng


@pytest.fixture(params=["one call", "in parts"])
def division(request, monkeypatch):
    """Kernels run at once, or stage by stage in parts, as if all arrays were large."""
    if request.param == "in parts":
        monkeypatch.setattr(stages, "WORTH_THREADS", 0)
        monkeypatch.setattr(stages, "planned", lambda: 2)


@pytest.mark.parametrize("seed", range(150))
def test_no_index_is_outside(seed, division, monkeypatch):
    f = program(seed)
    x = np.arange(1.0, 8.0, dtype=np.float32)
    m = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    monkeypatch.setattr(backend, "compile_kernels", all_checked)
    jaxpr = tinyjax.make_jaxpr(lambda x, m: f(jnp, x, m))(x, m)
    got = executable.Executable(jaxpr, "bounds")([jnp.asarray(x), jnp.asarray(m)])
    for y, want in zip(got, f(np, x, m), strict=True):
        np.testing.assert_allclose(y, want, rtol=1e-6)


@pytest.mark.parametrize("kind", [Program, Loop], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seed", range(40))
def test_no_index_of_other_programs_is_outside(seed, kind, division, monkeypatch):
    """The compiler's random programs: reductions, transposes, broadcasts, loops."""
    xs, f = inputs(seed), kind(seed, 12)
    jaxpr = tinyjax.make_jaxpr(lambda *xs: tinyjax.tree.leaves(f(lax, *xs)))(*xs)
    monkeypatch.setattr(backend, "compile_kernels", all_checked)
    outs = executable.Executable(jaxpr, "bounds")(list(map(jnp.asarray, xs)))
    assert [(y.shape, y.dtype) for y in outs] == [
        (v.aval.shape, v.aval.dtype) for v in jaxpr.outvars
    ]


def test_the_beginning_of_joined_arrays():
    """It once wrote behind the end of its result."""
    f = tinyjax.jit(lambda u: jnp.concatenate([u, u])[:5] * 2)
    np.testing.assert_array_equal(f(jnp.arange(1e6)), np.arange(0.0, 10.0, 2))
