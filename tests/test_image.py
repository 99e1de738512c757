"""jax.image against the oracle: every method, larger and smaller, printed, with derivatives."""

import jax
import jax.image
import jax.numpy
import numpy as np
import pytest
from worlds import same, same_error

import tinyjax

RNG = np.random.default_rng(2)
NONE = np.zeros(0, np.float32)
X = RNG.normal(size=(4, 6)).astype(np.float32)
METHODS = [
    *("nearest", "linear", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area"),
    *("bilinear", "triangle", "bicubic", "bicubic-pytorch"),
]


def printed(run, *args):
    """The jaxprs of both worlds are the same."""
    assert str(tinyjax.make_jaxpr(run(tinyjax))(*args)) == str(jax.make_jaxpr(run(jax))(*args))


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", METHODS[:7])
def test_resize(method, antialias):
    for shape in ((8, 3), (4, 9)):

        def run(world, shape=shape):
            return lambda x: world.image.resize(x, shape, method, antialias)

        same(lambda w: run(w)(X))
        printed(run, X)


@pytest.mark.parametrize("method", METHODS[1:7])
def test_scale_and_translate(method):
    def run(world):
        def f(x, scale, shift):
            return world.image.scale_and_translate(x, (5, 6), (0, -1), scale, shift, method)

        return f

    args = X, np.float32([1.5, 0.5]), np.float32([-0.5, 1.0])
    same(lambda w: run(w)(*args))
    printed(run, *args)
    same(lambda w: w.image.scale_and_translate(X, (4, 6), (), NONE, NONE, method))


def test_derivatives_and_batches():
    def run(world):
        f = lambda x: (world.image.resize(x, (3, 8), "cubic") ** 2).sum()
        g = lambda x, s: world.image.scale_and_translate(x, (4, 6), (0, 1), s, s, "linear")
        batch = np.stack([X, X + 1, X * 2])
        scale = np.float32([1.5, 0.7])
        slope = world.jvp(lambda s: g(X, s), (scale,), (scale,))[1]
        return world.grad(f)(X), world.jit(world.vmap(f))(batch), slope

    same(run)


def test_dtypes():
    for dtype in ("int32", "uint8", "float16", "bfloat16"):
        for method in ("nearest", "linear"):
            same(lambda w, d=dtype, m=method: w.image.resize(w.numpy.arange(6).astype(d), (4,), m))


def test_methods_and_errors():
    for name in METHODS:
        ours, oracle = (w.image.ResizeMethod.from_string(name) for w in (tinyjax, jax))
        assert (ours.name, ours.value) == (oracle.name, oracle.value)
        same(lambda w, m=ours.name: w.image.resize(X, (2, 3), w.image.ResizeMethod[m]))
    same_error(lambda w: w.image.resize(X, (2, 3), "no"), "method")
    same_error(lambda w: w.image.resize(X, (2,), "linear"), "shape")
    run = lambda *args: lambda w: w.image.scale_and_translate(w.numpy.asarray(X), *args)
    same_error(run((2,), (0,), np.ones(1), np.ones(1), "linear"), "shape")
    same_error(run((4, 6), (0,), np.ones(1), np.ones(1), "nearest"), "nearest")
