"""Random numbers are those of jax 0.10.2: bit for bit, or within 3 units in the last place."""

import jax
import numpy as np
import pytest

import tinyjax
from tinyjax import numpy as jnp
from tinyjax import random

SEEDS = (0, 1, 42, -1, 2**31 - 1)
SHAPES = ((), (3,), (2, 5), (0,), (1001,))
LARGE = (200_000,)  # compiled
FLOATS = ("float32", "float16", "bfloat16")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
MAKERS = ("key", "PRNGKey")


def numbers(world, x):
    """An array, or the words of an array of keys, as a NumPy array."""
    return np.asarray(world.random.key_data(x) if "key<" in str(x.dtype) else x)


def both(f, seed=42, maker="key"):
    """f(world, key) in both worlds, as lists of (NumPy array, dtype's name)."""
    results = []
    for world in (tinyjax, jax):
        out = f(world, getattr(world.random, maker)(seed))
        leaves = world.tree_util.tree_leaves(out)
        results.append([(numbers(world, x), str(x.dtype)) for x in leaves])
    return results


def assert_equal(f, **options):
    """The same bits in both worlds, for both kinds of keys, also compiled."""
    for maker in MAKERS:
        ours, theirs = both(f, maker=maker, **options)
        assert len(ours) == len(theirs)
        for (a, kind), (b, kind_b) in zip(ours, theirs):
            assert kind == kind_b
            np.testing.assert_array_equal(a, b, strict=True)


def assert_close(f, ulps):
    """Values that differ by some units in the last place of the largest of them, at most."""
    (a, kind), (b, kind_b) = (found[0] for found in both(f))
    assert kind == kind_b and a.shape == b.shape
    a, b = a.astype(np.float64), b.astype(np.float64)
    unit = float(tinyjax.dtypes.finfo(kind).eps)
    assert np.all(np.abs(a - b) <= ulps * unit * np.maximum(np.abs(b), 0.25))


# ---- keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [*SEEDS, 2**31, 2**32 + 5, -(2**40), True, np.uint32(2**32 - 1)])
def test_keys_of_seeds(seed):
    assert_equal(lambda w, _: [w.random.key(seed), w.random.PRNGKey(seed)])


def test_seeds_of_64_bits():
    with tinyjax.enable_x64(True), jax.enable_x64(True):
        for seed in (0, -1, 2**40 + 3, -(2**63)):
            assert_equal(lambda w, _, s=seed: [w.random.key(s), w.random.PRNGKey(s)])


@pytest.mark.parametrize("num", [0, 1, 2, 7, (2, 3), ()])
def test_split(num):
    for seed in SEEDS:
        assert_equal(lambda w, key: w.random.split(key, num), seed=seed)


@pytest.mark.parametrize("data", [0, 7, 2**31 - 1, np.int32(-3), np.uint32(2**32 - 1)])
def test_fold_in(data):
    for seed in SEEDS:
        assert_equal(lambda w, key: w.random.fold_in(key, data), seed=seed)


def test_keys_are_arrays():
    keys = random.split(random.key(0), 6)
    assert str(keys.dtype) == "key<fry>" and keys.shape == (6,) and len(keys) == 6
    assert keys.reshape(2, 3).shape == (2, 3)
    assert jnp.stack([keys, keys]).shape == (2, 6)
    assert jnp.concatenate([keys, keys[:1]]).shape == (7,)
    assert bool(keys[1] == jnp.flip(keys)[4])
    assert not bool(keys[1] == keys[2])
    picked = jnp.where(jnp.arange(6) < 3, keys, keys[0])
    assert bool((picked == jnp.take(keys, jnp.array([0, 1, 2, 0, 0, 0]))).all())


def test_a_key_prints_as_jaxs():
    for world in (tinyjax, jax):
        assert repr(world.random.key(3)) == "Array((), dtype=key<fry>) overlaying:\n[0 3]"
    assert str(random.split(random.key(3))) == str(jax.random.split(jax.random.key(3)))


def test_key_data_and_back():
    keys = random.split(random.key(5), (2, 3))
    data = random.key_data(keys)
    assert data.shape == (2, 3, 2) and data.dtype == np.uint32
    assert bool((random.wrap_key_data(data) == keys).all())
    assert random.key_impl(keys) == jax.random.key_impl(jax.random.key(0))
    assert bool(random.clone(keys[0, 0]) == keys[0, 0])


def test_keys_go_through_transformations():
    def chain(w, key):
        def step(key, _):
            key, sub = w.random.split(key)
            return key, w.random.uniform(sub, (2,))

        return w.lax.scan(step, key, None, length=4)

    assert_equal(chain)
    assert_equal(lambda w, key: w.lax.fori_loop(0, 3, lambda i, k: w.random.fold_in(k, i), key))
    assert_equal(lambda w, key: w.vmap(w.random.bits)(w.random.split(key, 4)))
    assert_equal(lambda w, key: w.vmap(lambda i: w.random.fold_in(key, i))(np.arange(4)))
    assert_equal(lambda w, key: w.vmap(w.random.key)(np.arange(4)))
    assert_equal(lambda w, key: w.jit(w.random.split)(key))
    assert_equal(lambda w, key: w.jit(lambda k: w.random.bits(w.random.split(k, 3)[1]))(key))


# ---- uniform ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [*SHAPES, LARGE], ids=str)
@pytest.mark.parametrize("seed", SEEDS[1::2])
def test_bits(shape, seed):
    for dtype in ("uint8", "uint16", "uint32"):
        assert_equal(lambda w, key, d=dtype: w.random.bits(key, shape, d), seed=seed)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_64_bits(shape):
    with tinyjax.enable_x64(True), jax.enable_x64(True):
        assert_equal(lambda w, key: w.random.bits(key, shape, "uint64"))
        assert_equal(lambda w, key: w.random.uniform(key, shape, "float64"))
        assert_equal(lambda w, key: w.random.randint(key, shape, -5, 10**12, "int64"))
        # XLA rounds 1 - u**2 in the tails, so there it is 13 digits that agree
        assert_close(lambda w, key: w.random.normal(key, shape, "float64"), 5000)


@pytest.mark.parametrize("shape", [*SHAPES, LARGE], ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(shape, dtype):
    assert_equal(lambda w, key: w.random.uniform(key, shape, dtype))
    assert_equal(lambda w, key: w.random.uniform(key, shape, dtype, -1.5, 3.0))


def test_uniform_with_bounds_per_column():
    low, high = np.zeros(4, np.float32), np.array([1, 2, 3, 40], np.float32)
    assert_equal(lambda w, key: w.random.uniform(key, (50, 4), minval=low, maxval=high))


@pytest.mark.parametrize("low, high", [(1000.0, 1001.0), (-1.0, 1e-3), (3.0, 3.000001), (0.0, 1.0)])
@pytest.mark.parametrize("compiled", [False, True])
def test_uniform_never_returns_maxval(low, high, compiled):
    def draw(key, low, high):
        return random.uniform(key, (100_000,), minval=low, maxval=high)

    x = np.asarray((tinyjax.jit(draw) if compiled else draw)(random.key(0), low, high))
    assert x.min() >= np.float32(low)
    assert x.max() < np.float32(high)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("shape", [(), (1001,)], ids=str)
def test_randint(dtype, shape):
    info = np.iinfo(dtype)
    top = min(info.max, 2**31 - 1)  # larger ones do not fit into an int32 argument
    for low, high in ((0, 100), (0, 1), (5, 5), (9, 2), (info.min, top)):
        assert_equal(lambda w, key, a=low, b=high: w.random.randint(key, shape, a, b, dtype))


def test_randint_of_a_whole_range():
    for dtype, low, high in (("uint8", 0, 256), ("int8", -128, 128), ("int16", -(2**15), 2**15)):
        assert_equal(lambda w, k, d=dtype, a=low, b=high: w.random.randint(k, (5000,), a, b, d))


def test_randint_with_bounds_per_column():
    tops = np.array([1, 2, 31, 1000])
    assert_equal(lambda w, key: w.random.randint(key, (500, 4), 0, tops))


# ---- distributions ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [*SHAPES, LARGE], ids=str)
@pytest.mark.parametrize("seed", SEEDS[::2])
def test_normal_within_3_units_in_the_last_place(shape, seed):
    ours, theirs = both(lambda w, key: w.random.normal(key, shape), seed=seed)
    (a, _), (b, _) = ours[0], theirs[0]
    assert a.dtype == b.dtype and a.shape == b.shape
    assert np.all(np.abs(a - b) <= 3 * np.spacing(np.abs(b)))


@pytest.mark.parametrize("dtype", ("float16", "bfloat16", "complex64"))
def test_normal_of_other_dtypes(dtype):
    ours, theirs = both(lambda w, key: w.random.normal(key, (1000,), dtype))
    (a, kind), (b, kind_b) = ours[0], theirs[0]
    assert kind == kind_b == dtype
    wide = np.complex64 if dtype == "complex64" else np.float32
    tol = {"float16": 2e-3, "bfloat16": 2e-2, "complex64": 1e-6}[dtype]
    np.testing.assert_allclose(a.astype(wide), b.astype(wide), rtol=tol)


@pytest.mark.parametrize("name", ("exponential", "gumbel", "laplace", "logistic", "cauchy"))
@pytest.mark.parametrize("dtype", ("float32", "float16"))
def test_other_distributions(name, dtype):
    assert_close(lambda w, key: getattr(w.random, name)(key, (1000,), dtype), 8)
    assert_close(lambda w, key: getattr(w.random, name)(key), 8)


def test_distributions_with_parameters():
    assert_close(lambda w, key: w.random.truncated_normal(key, -1.0, 2.0, (1000,)), 16)
    bounds = np.array([-1, 0], np.float32)
    assert_close(lambda w, key: w.random.truncated_normal(key, bounds, 2.0), 16)
    assert_close(lambda w, key: w.random.gumbel(key, (1000,), mode="high"), 16)
    assert_equal(lambda w, key: w.random.rademacher(key, (100,)))
    assert_equal(lambda w, key: w.random.rademacher(key, (100,), "float32"))


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0, np.float16(0.5), np.array([0.1, 0.9], np.float32)])
def test_bernoulli(p):
    assert_equal(lambda w, key: w.random.bernoulli(key, p))
    assert_equal(lambda w, key: w.random.bernoulli(key, p, (500, 2)))
    assert_equal(lambda w, key: w.random.bernoulli(key, p, (500, 2), mode="high"))


A = np.array([0.1, 0.9, 1.0, 2.5, 30.0], np.float32)
COV = np.array([[2, 1], [1, 3]], np.float32)
FEW = np.array([0.1, 3.0, 10.0, 40.0, 1e4], np.float32)
OTHERS = {
    "gamma": lambda r, k: r.gamma(k, A),
    "gamma scalar": lambda r, k: r.gamma(k, 2.5, (4, 3)),
    "gamma many": lambda r, k: r.gamma(k, 0.7, (20_000,)),
    "gamma edges": lambda r, k: r.gamma(k, np.array([0, -1, np.inf, np.nan], np.float32)),
    "loggamma": lambda r, k: r.loggamma(k, A, (2, 5)),
    "beta": lambda r, k: r.beta(k, A, 2.0, (3, 5)),
    "dirichlet": lambda r, k: r.dirichlet(k, A, (3,)),
    "chisquare": lambda r, k: r.chisquare(k, 3, (5,)),
    "f": lambda r, k: r.f(k, 2.0, 3.0, (7,)),
    "t": lambda r, k: r.t(k, A),
    "pareto": lambda r, k: r.pareto(k, A),
    "rayleigh": lambda r, k: r.rayleigh(k, A),
    "lognormal": lambda r, k: r.lognormal(k, A, (2, 5)),
    "triangular": lambda r, k: r.triangular(k, 0.0, A / 2, A),
    "weibull_min": lambda r, k: r.weibull_min(k, 2.0, 3.0, (5,)),
    "maxwell": lambda r, k: r.maxwell(k, (3,)),
    "double_sided_maxwell": lambda r, k: r.double_sided_maxwell(k, 1.0, 2.0, (5,)),
    "generalized_normal": lambda r, k: r.generalized_normal(k, 3.0, (5,)),
    "ball": lambda r, k: r.ball(k, 2, 1.5, (4,)),
    "multivariate_normal": lambda r, k: r.multivariate_normal(k, A[:2], COV, (4,)),
    "eigh": lambda r, k: r.multivariate_normal(k, A[:2], COV, (4,), method="eigh"),
    "svd": lambda r, k: r.multivariate_normal(k, A[:2], COV, (4,), method="svd"),
    "poisson": lambda r, k: r.poisson(k, FEW),
    "poisson scalar": lambda r, k: r.poisson(k, 5.0, (100,), "int8"),
    "geometric": lambda r, k: r.geometric(k, 0.2, (50,)),
    "binomial": lambda r, k: r.binomial(k, np.array([10, 1000], np.float32), 0.3, (50, 2)),
    "multinomial": lambda r, k: r.multinomial(k, 100, np.array([0.2, 0.3, 0.5], np.float32)),
    "gumbel": lambda r, k: r.gumbel(k, (50,), mode="highest"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_distribution(name):
    """Values, dtypes and weak types; and the printed form of all but two."""
    ours, theirs = (OTHERS[name](w.random, w.random.key(7)) for w in (tinyjax, jax))
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert ours.weak_type == theirs.weak_type
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    if name not in ("multinomial", "gumbel"):
        with np.printoptions(legacy="1.25"):
            texts = [
                str(w.make_jaxpr(lambda k, w=w: OTHERS[name](w.random, k))(w.random.key(0)))
                for w in (tinyjax, jax)
            ]
        assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["gamma", "loggamma", "t", "chisquare", "pareto", "rayleigh"])
def test_gradients_by_parameters(name):
    ours, theirs = (
        w.grad(lambda a, w=w: getattr(w.random, name)(w.random.key(0), a).sum())(w.numpy.asarray(A))
        for w in (tinyjax, jax)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_orthogonal():
    for n, m in ((3, 3), (4, 2), (2, 4)):
        ours, theirs = (w.random.orthogonal(w.random.key(1), n, (2,), m=m) for w in (tinyjax, jax))
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_old_style_keys_may_be_refused():
    """Also by a sampler whose way through the code is known already."""
    for _ in range(3):
        random.normal(random.PRNGKey(0))
    make = tinyjax.jit(lambda: random.PRNGKey(0))
    assert make().shape == (2,)
    with tinyjax.legacy_prng_key("error"), pytest.raises(ValueError, match="Legacy uint32"):
        random.normal(random.PRNGKey(0))
    with tinyjax.legacy_prng_key("warn"), pytest.warns(UserWarning, match="Legacy uint32"):
        random.normal(random.PRNGKey(0))
    with tinyjax.enable_custom_prng(True):
        assert random.PRNGKey(0).shape == make().shape == ()


# ---- choices ------------------------------------------------------------------------------------


def test_permutation():
    rows = np.arange(12).reshape(4, 3)
    assert_equal(lambda w, key: w.random.permutation(key, 10))
    assert_equal(lambda w, key: w.random.permutation(key, 3000))  # sorted twice
    assert_equal(lambda w, key: w.random.permutation(key, np.arange(5.0, dtype=np.float32)))
    assert_equal(lambda w, key: w.random.permutation(key, rows))
    assert_equal(lambda w, key: w.random.permutation(key, rows, axis=1))
    assert_equal(lambda w, key: w.random.permutation(key, rows, axis=1, independent=True))


@pytest.mark.parametrize("replace", [True, False])
def test_choice(replace):
    rows, p = np.arange(20).reshape(5, 4) * 10, np.array([0.1, 0.2, 0.3, 0.2, 0.2], np.float32)

    def draw(*args, **options):
        assert_equal(lambda w, key: w.random.choice(key, *args, replace=replace, **options))

    draw(10, (3,))
    draw(10)
    draw(10, (0,))
    draw(rows, (2,))
    draw(rows, (2, 2))
    draw(rows, (2,), axis=1)
    draw(5, (3,), p=p)
    draw(rows, (3,), p=p)
    draw(rows, (3,), p=p[:4] / p[:4].sum(), axis=1)


def test_categorical():
    logits = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    assert_equal(lambda w, key: w.random.categorical(key, logits))
    assert_equal(lambda w, key: w.random.categorical(key, logits, axis=0))
    assert_equal(lambda w, key: w.random.categorical(key, logits[0]))
    assert_equal(lambda w, key: w.random.categorical(key, logits, shape=(5, 4)))
    assert_equal(lambda w, key: w.random.categorical(key, logits, shape=(2, 4), replace=False))


# ---- printed forms ------------------------------------------------------------------------------

PRINTED = {
    "split": lambda w, key: w.random.split(key, 3),
    "split and draw": lambda w, key: [w.random.bits(k) for k in w.random.split(key)],
    "fold_in": lambda w, key: w.random.fold_in(key, 7),
    "bits": lambda w, key: w.random.bits(key, (3,), "uint8"),
    "uniform": lambda w, key: w.random.uniform(key, (3,)),
    "uniform scalar": lambda w, key: w.random.uniform(key),
    "uniform bounds": lambda w, key: w.random.uniform(key, (3,), minval=-1.0, maxval=2.0),
    "normal": lambda w, key: w.random.normal(key, (3,)),
    "normal bfloat16": lambda w, key: w.random.normal(key, (3,), "bfloat16"),
    "randint": lambda w, key: w.random.randint(key, (3,), 0, 10),
    "randint uint8": lambda w, key: w.random.randint(key, (3,), 0, 256, "uint8"),
    "bernoulli": lambda w, key: w.random.bernoulli(key, 0.3, (3,)),
    "permutation": lambda w, key: w.random.permutation(key, 5),
    "choice": lambda w, key: w.random.choice(key, 5, (3,)),
    "exponential": lambda w, key: w.random.exponential(key, (3,)),
    "gumbel": lambda w, key: w.random.gumbel(key, (3,)),
    "laplace": lambda w, key: w.random.laplace(key, (3,)),
    "truncated_normal": lambda w, key: w.random.truncated_normal(key, -1.0, 1.0, (3,)),
    "categorical": lambda w, key: w.random.categorical(key, np.zeros((2, 3), np.float32)),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", PRINTED)
def test_printed_form(name, maker):
    def text(world, batched):
        def f(key):
            return PRINTED[name](world, key)

        key = getattr(world.random, maker)(0)
        args = world.random.split(key, 3) if batched else key
        with np.printoptions(legacy="1.25"):
            return str(world.make_jaxpr(world.vmap(f) if batched else f)(args))

    assert text(tinyjax, False) == text(jax, False)
    assert text(tinyjax, True) == text(jax, True)


# ---- errors -------------------------------------------------------------------------------------

KEY = random.key(0)
WRONG = {
    "float seed": (TypeError, "seed must be an integer", lambda: random.key(1.5)),
    "float seed, old style": (TypeError, "seed must be an integer", lambda: random.PRNGKey(1.5)),
    "array seed": (TypeError, "scalar seed.*vmap", lambda: random.key(np.arange(3))),
    "key as seed": (TypeError, "was given a PRNG key", lambda: random.key(KEY)),
    "other generator": (ValueError, "unrecognized PRNG impl", lambda: random.key(0, impl="xyz")),
    "XLA's generator": (ValueError, "made by XLA", lambda: random.key(0, impl="rbg")),
    "generator's type": (TypeError, "unrecognized type", lambda: random.key(0, impl=3)),
    "seed as key": (TypeError, "Did you pass a seed", lambda: random.normal(0, (3,))),
    "text as key": (TypeError, "unexpected PRNG key type", lambda: random.normal("a", (3,))),
    "floats as key": (TypeError, "dtype = uint32", lambda: random.uniform(np.float32([1, 2]))),
    "three words": (TypeError, "shape to end with", lambda: random.uniform(np.uint32([1, 2, 3]))),
    "many keys": (ValueError, "single key.*vmap", lambda: random.uniform(random.split(KEY))),
    "vector folded in": (TypeError, "scalar.*vmap", lambda: random.fold_in(KEY, np.arange(2))),
    "integer uniform": (ValueError, "must be a float", lambda: random.uniform(KEY, (), "int32")),
    "integer normal": (ValueError, "float or complex", lambda: random.normal(KEY, (), "int32")),
    "float randint": (TypeError, "integer dtypes", lambda: random.randint(KEY, (), 0, 1, float)),
    "signed bits": (ValueError, "unsigned int", lambda: random.bits(KEY, (), "int32")),
    "negative shape": (TypeError, "non-negative", lambda: random.normal(KEY, (-1,))),
    "float shape": (TypeError, "integer type", lambda: random.normal(KEY, 3.5)),
    "bounds' shape": (ValueError, "uniform parameter shapes",
                      lambda: random.uniform(KEY, (3,), minval=np.zeros(4, np.float32))),
    "integer probability": (TypeError, "floating dtype", lambda: random.bernoulli(KEY, 1)),
    "bernoulli mode": (ValueError, "'high' or 'low'", lambda: random.bernoulli(KEY, mode="x")),
    "gumbel mode": (ValueError, "valid mode", lambda: random.gumbel(KEY, mode="x")),
    "permuted float": (TypeError, "must be an integer", lambda: random.permutation(KEY, 1.5)),
    "too many drawn": (ValueError, "larger sample", lambda: random.choice(KEY, 3, (4,), False)),
    "choice's shape": (TypeError, "must be a sequence", lambda: random.choice(KEY, 3, 4)),
    "probabilities": (ValueError, "same size as", lambda: random.choice(KEY, 3, p=jnp.ones(2))),
    "nothing to draw": (ValueError, "greater than 0", lambda: random.choice(KEY, 0, (2,))),
    "categories": (ValueError, "without replacement",
                   lambda: random.categorical(KEY, jnp.ones(2), shape=(3,), replace=False)),
    "arithmetic": (TypeError, "key<fry>", lambda: KEY + 1),
    "NumPy": (TypeError, "key_data", lambda: np.asarray(KEY)),
    "signed words": (TypeError, "dtype = uint32", lambda: random.wrap_key_data(np.int32([1, 2]))),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    kind, words, call = WRONG[name]
    with pytest.raises(kind, match=f"(?s){words}"):
        call()
