"""Small functions of jax.lax against the oracle: patches, ragged products, shapes, tokens."""

import functools
import inspect

import jax
import jax.numpy
import numpy as np
import pytest
from worlds import compare, same, same_error

import tinyjax

RNG = np.random.default_rng(8)


def x(*shape):
    """Random numbers."""
    return RNG.normal(size=shape).astype(np.float32)


def printed(run, *args):
    """The jaxprs of both worlds are the same."""
    assert str(tinyjax.make_jaxpr(run(tinyjax))(*args)) == str(jax.make_jaxpr(run(jax))(*args))


# ---- patches ------------------------------------------------------------------------------------

PATCHES = [
    (x(2, 3, 5), (2,), (1,), "VALID", {}),
    (x(1, 2, 4, 5), (2, 3), (2, 1), "SAME", {}),
    (x(1, 2, 4, 5), (2, 2), (1, 1), ((1, 0), (0, 2)), {"rhs_dilation": (2, 1)}),
    (x(2, 4, 5, 3), (2, 3), (1, 2), "SAME", {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}),
    (x(2, 4, 5, 3), (2, 3), (1, 1), "VALID", {"dimension_numbers": ("NHWC", "OIHW", "NCHW")}),
]


@pytest.mark.parametrize("case", PATCHES)
def test_patches(case):
    images, *args, settings = case

    def run(world):
        return lambda x: world.lax.conv_general_dilated_patches(x, *args, **settings)

    compare(run(tinyjax)(images), run(jax)(images))
    if "dimension_numbers" not in settings:
        printed(run, images)


@pytest.mark.parametrize("case", PATCHES)
def test_local_windows(case):
    images, filter_shape, strides, padding, settings = case
    numbers = settings.get("dimension_numbers")
    patches = jax.lax.conv_general_dilated_patches(images, *case[1:4], **settings)
    spec = jax.lax.conv_dimension_numbers(images.shape, (1, 1, *filter_shape), numbers)
    shape = [0] * images.ndim
    shape[spec.rhs_spec[0]], shape[spec.rhs_spec[1]] = 4, patches.shape[spec.out_spec[1]]
    for w, p in zip(spec.rhs_spec[2:], spec.out_spec[2:]):
        shape[w] = patches.shape[p]
    windows = x(*shape)

    def run(world):
        f = world.lax.conv_general_dilated_local
        return f(images, windows, strides, padding, filter_shape, **settings)

    same(run)


def test_shapes_of_convolutions():
    numbers = ("NHWC", "HWIO", "NHWC")
    for padding in ("SAME", "VALID", "SAME_LOWER", ((1, 2), (0, 3))):
        assert conv_shape(padding, tinyjax) == conv_shape(padding, jax)
        run = lambda w, p=padding: w.lax.conv_general_shape_tuple(
            (2, 7, 8, 3), (3, 2, 3, 5), (2, 1), p, numbers
        )
        assert run(tinyjax) == run(jax)
    for padding in ("SAME", "VALID", ((1, 2), (0, 3))):
        run = lambda w, p=padding: w.lax.conv_transpose_shape_tuple(
            (2, 7, 8, 3), (3, 2, 3, 5), (2, 1), p, numbers
        )
        assert run(tinyjax) == run(jax)
    same(lambda w: w.lax.conv_general_permutations(numbers))
    same_error(lambda w: w.lax.conv_general_permutations(("NHWW", "HWIO", "NHWC")), "exactly once")
    same_error(lambda w: w.lax.conv_general_permutations(("NHHC", "HWIO", "NHWC")), "duplicate")
    same_error(lambda w: w.lax.conv_general_permutations(("NHXC", "HWIO", "NHWC")), "spatial")
    same_error(lambda w: w.lax.conv_shape_tuple((1, 1, 2), (1, 1, 1), (1,), ()), "pads")
    same_error(lambda w: w.lax.conv_shape_tuple((1, 1, 2), (1, 1, 1), (1,), ((-2, -2),)), "padding")


def conv_shape(padding, world):
    """conv_shape_tuple with groups."""
    return tuple(
        map(int, world.lax.conv_shape_tuple((4, 3, 7, 8), (6, 3, 3, 2), (2, 1), padding, 2))
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID", ((1, 1), (0, 2))])
@pytest.mark.parametrize("consistent", [False, True])
def test_padding_of_conv_transpose(padding, consistent):
    a, w = x(1, 3, 4, 2), x(3, 2, 2, 3)
    run = lambda world: world.lax.conv_transpose(
        a, w, (2, 2), padding, use_consistent_padding=consistent
    )
    same(run)


# ---- ragged products ----------------------------------------------------------------------------

SIZES = [np.array(s, np.int32) for s in ([2, 0, 3], [0, 0, 0], [5, 0, 0], [1, 1, 1])]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_ragged_dot(sizes):
    a, b = x(5, 4), x(3, 4, 2)

    def run(world):
        f = lambda a, b: world.lax.ragged_dot(a, b, sizes)
        grads = world.grad(lambda a, b: (f(a, b) ** 2).sum(), (0, 1))(a, b)
        return f(a, b), world.jit(f)(a, b), grads, world.jvp(f, (a, b), (a, b))[1]

    same(run)


def test_ragged_dot_in_all_modes():
    sizes = np.array([2, 1, 1], np.int32)
    many = np.array([[2, 1, 1], [0, 3, 0]], np.int32)
    cases = [
        (x(2, 4, 3), x(3, 2, 3, 5), many, (([2], [2]), ([0], [1])), [1], [0]),
        (x(4, 3), x(4, 5), sizes, (([0], [0]), ([], [])), [0], []),
        (x(2, 4, 3), x(2, 4, 5), many, (([1], [1]), ([0], [0])), [1], []),
        (x(4, 2, 3), x(4, 3, 5), sizes, (([2], [1]), ([0], [0])), [0], []),
    ]
    for a, b, sizes, *numbers in cases:
        run = lambda w, a=a, b=b, s=sizes, n=numbers: w.lax.ragged_dot_general(
            a, b, s, w.lax.RaggedDotDimensionNumbers(*n)
        )
        same(run)


def test_errors_of_ragged_dot():
    a, b = x(5, 4), x(3, 4, 2)
    same_error(lambda w: w.lax.ragged_dot(a, b, np.float32([1, 2, 3])), "integer")
    same_error(lambda w: w.lax.ragged_dot(a, b, np.int32(3)), "rank")
    same_error(lambda w: w.lax.ragged_dot(a, b, np.int32([1, 2])), "group dimension size")
    same_error(lambda w: w.lax.ragged_dot(a, b, np.int32([[1, 2, 3]])), "shape")


def test_scaled_dot():
    a, b = x(3, 8), x(8, 2)
    cases = [
        ((a, b), {}),
        ((a, b), {"lhs_scale": x(3, 2)}),
        ((a, b), {"lhs_scale": x(3, 4), "rhs_scale": x(1, 2), "preferred_element_type": "float32"}),
        ((x(2, 3, 4), x(2, 4, 5)), {"rhs_scale": x(2, 2, 5)}),
        ((a, x(2, 8)), {"dimension_numbers": (((1,), (1,)), ((), ())), "rhs_scale": x(2, 2)}),
    ]
    for args, settings in cases:
        out = [np.asarray(w.lax.scaled_dot(*args, **settings)) for w in (tinyjax, jax)]
        assert out[0].dtype == out[1].dtype
        np.testing.assert_allclose(*[o.astype(np.float32) for o in out], rtol=2e-2, atol=1e-1)
    run = lambda *args, **settings: lambda w: w.lax.scaled_dot(*args, **settings)
    same_error(run(a, b, lhs_scale=x(3, 3)), "divisible")
    same_error(run(a, b, lhs_scale=x(3, 8)), "at least 2")
    same_error(run(a, b, lhs_scale=x(2, 4)), "scale dim")
    same_error(run(a, x(7, 2)), "contracting dim")
    same_error(run(x(3), x(3)), "rank")


# ---- the rest -----------------------------------------------------------------------------------


def test_approximate_extremes():
    for n in (100, 5000, 20000):
        a = RNG.permutation(n).astype(np.float32)
        for recall in (0.9, 0.99):
            run = lambda w, a=a, r=recall: (
                w.lax.approx_max_k(w.numpy.asarray(a), 5, recall_target=r, aggregate_to_topk=False)[
                    0
                ].shape
            )
            same(run)
    same_error(lambda w: w.lax.approx_max_k(w.numpy.arange(3.0), 0), "positive")
    same_error(lambda w: w.lax.approx_max_k(w.numpy.arange(3.0), 4), "smaller")
    same_error(lambda w: w.lax.approx_max_k(w.numpy.arange(3), 1), "floating")
    same_error(lambda w: w.lax.approx_max_k(w.numpy.float32(3), 1), "dimension")


def test_bits_of_double_words():
    with jax.enable_x64(True), tinyjax.enable_x64(True):
        key = np.array([3, 2**64 - 1], np.uint64)
        for algorithm in (1, 2):
            run = lambda w, a=algorithm: w.lax.rng_bit_generator(
                w.numpy.asarray(key), (3,), np.uint64, algorithm=w.lax.RandomAlgorithm(a)
            )
            same(run)
    same_error(lambda w: w.lax.rng_bit_generator(np.zeros(4, np.uint32), (3,), np.int32), "dtype")
    assert str(tinyjax.lax.RandomAlgorithm.RNG_PHILOX) == "RNG_PHILOX"


@pytest.mark.parametrize("shape", [(), (1,), (5,), (4,), (3, 5), (5, 3), (3, 4), (2, 3, 4), (0, 3)])
def test_bits_of_all_shapes(shape):
    key = np.array([7, 9, 2**32 - 2, 0], np.uint32)
    for algorithm in (1, 2):
        run = lambda w, a=algorithm: w.lax.rng_bit_generator(
            key, shape, algorithm=w.lax.RandomAlgorithm(a)
        )
        same(run)


def test_uniform_numbers():
    for run in (tinyjax.lax.rng_uniform, tinyjax.jit(tinyjax.lax.rng_uniform, static_argnums=2)):
        a = np.asarray(run(1.0, 3.0, (1000,)))
        assert a.min() >= 1 and a.max() < 3 and abs(a.mean() - 2) < 0.2
        assert not np.array_equal(a, run(1.0, 3.0, (1000,)))
    ints = np.asarray(tinyjax.lax.rng_uniform(2, 5, (100,)))
    assert set(ints) == {2, 3, 4}
    same_error(lambda w: w.lax.rng_uniform(0, 1.0, (3,)), "dtypes")
    same_error(lambda w: w.lax.rng_uniform(np.zeros(2), np.zeros(2), (3,)), "scalars")


def test_sinks_and_tokens():
    run = lambda w: lambda a: w.lax.dce_sink({"b": a * 2})
    printed(run, x(3))
    assert tinyjax.jit(run(tinyjax))(x(3)) is None
    lax = tinyjax.lax
    assert isinstance(lax.after_all(lax.create_token(), lax.create_token(3)), lax.odds.Token)
    same_error(lambda w: w.lax.after_all(1.0), "tokens")


def test_shapes_and_stages():
    same(lambda w: w.lax.shape_as_value((2, 3)))
    same(lambda w: w.lax.shape_as_value(()))
    same(lambda w: w.lax.stage(1))
    same(lambda w: w.lax.broadcast_like(np.arange(3), np.ones((2, 3))))
    same_error(lambda w: w.lax.broadcast_like(np.arange(3), np.ones((2, 2))), "")
    printed(lambda w: lambda a: w.lax.broadcast_like(a, np.ones((2, 3))), x(3))


def test_options():
    for wish in ("HIGHEST", "DEFAULT"):
        same(lambda w, n=wish: w.lax.exp(0.5, accuracy=w.lax.AccuracyMode[n]))
    same(lambda w: w.lax.sin(0.5, accuracy=w.lax.Tolerance(rtol=1e-3)))
    same_error(lambda w: w.lax.Tolerance(-1.0), "non-negative")
    same_error(lambda w: w.lax.Tolerance(), "at least one")
    same(lambda w: w.lax.mul(np.int8(100), np.int8(3), out_dtype=np.int32))


def test_functions_by_platform():
    same(lambda w: w.lax.platform_dependent(2.0, cpu=lambda x: x + 1, default=lambda x: x))
    same(lambda w: w.lax.platform_dependent(2.0, tpu=lambda x: x + 1, default=lambda x: x))
    same_error(lambda w: w.lax.platform_dependent(2.0, cpu=3), "callable")
    same_error(lambda w: w.lax.platform_dependent(2.0, gpu=lambda x: x), "cuda")


def test_composite():
    def named(world):
        @functools.partial(world.lax.composite, name="my.add", version=2)
        def f(x, y, /, *, scale=1.0, mode=None):
            return world.numpy.sin(x) * scale + y, y

        return f

    a = x(3)
    same(lambda w: named(w)(a, a, scale=2.0))
    same(lambda w: w.jit(named(w))(a, a))
    printed(lambda w: lambda a: named(w)(a, a, scale=3.0, mode="b"), a)
    printed(lambda w: lambda a: w.lax.composite(lambda b: b + w.numpy.asarray(x(3)), "c")(a), a)
    same_error(lambda w: w.jvp(named(w), (a, a), (a, a)), "jvp rule")
    same_error(lambda w: w.vmap(named(w))(a, a), "batching")
    same_error(lambda w: w.jit(lambda s: named(w)(a, a, scale=s))(1.0), "attribute")
    same_error(lambda w: w.jit(lambda s: w.lax.composite(lambda b: b + s, "c")(a))(1.0), "constant")


# another sentinel for a default; any arguments in the oracle
ELSEWHERE = {"cond", "switch", "random_gamma_grad"}


def test_signatures():
    for name in dir(jax.lax):
        ours, oracle = getattr(tinyjax.lax, name, None), getattr(jax.lax, name)
        if name.startswith("_") or not inspect.isfunction(ours) or name in ELSEWHERE:
            continue
        want = [
            (p.name, p.kind, repr(p.default)) for p in inspect.signature(oracle).parameters.values()
        ]
        got = [
            (p.name, p.kind, repr(p.default)) for p in inspect.signature(ours).parameters.values()
        ]
        assert got == want, name
