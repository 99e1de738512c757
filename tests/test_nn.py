"""tinyjax.nn against jax.nn: printed forms, values, gradients."""

import jax
import jax.nn
import numpy as np
import pytest
from jnp_check import M, same

import tinyjax
import tinyjax.nn

ACTIVATIONS = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "identity",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
]
X = (M - 0.8) * 4


def both(f):
    """f of the oracle's nn and of ours."""
    return lambda x: f(jax.nn, x), lambda x: f(tinyjax.nn, x)


@pytest.mark.parametrize("function", ACTIVATIONS)
def test_activations(function):
    """Printed forms, values and gradients."""
    x = np.abs(X) if function == "log1mexp" else X
    oracle, ours = both(lambda nn, x: getattr(nn, function)(x))
    printed = str(jax.make_jaxpr(oracle)(x))
    assert str(tinyjax.make_jaxpr(ours)(x)) == printed
    same(ours(tinyjax.numpy.asarray(x)), oracle(jax.numpy.asarray(x)))
    weights = np.cos(x)
    if function == "glu":
        weights = weights[:, :2]
    want = jax.grad(lambda x: (oracle(x) * weights).sum())(x)
    got = tinyjax.grad(lambda x: (ours(x) * weights).sum())(x)
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=1e-5)


SETTINGS = {
    "gelu_exact": lambda nn, x: nn.gelu(x, approximate=False),
    "softmax_axis": lambda nn, x: nn.softmax(x, axis=0),
    "softmax_axes": lambda nn, x: nn.softmax(x, axis=(0, 1)),
    "softmax_where": lambda nn, x: nn.softmax(x, where=X > 0),
    "log_softmax_where": lambda nn, x: nn.log_softmax(x, where=X > 0),
    "logsumexp_axis": lambda nn, x: nn.logsumexp(x, axis=1, keepdims=True),
    "logsumexp_b": lambda nn, x: nn.logsumexp(x, axis=0, b=np.arange(4.0, dtype=np.float32)),
    "logsumexp_sign": lambda nn, x: nn.logsumexp(x, b=-1.0, return_sign=True),
    "logsumexp_where": lambda nn, x: nn.logsumexp(x, axis=1, where=X > 0),
    "standardize_stable": lambda nn, x: nn.standardize(x, axis=0, algorithm="stable"),
    "elu_alpha": lambda nn, x: nn.elu(x, 0.5),
    "one_hot": lambda nn, x: nn.one_hot(x[:, 0].astype(int), 3),
    "one_hot_axis": lambda nn, x: nn.one_hot(x.astype(int), 3, dtype=bool, axis=0),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings(setting):
    """Keyword arguments."""
    oracle, ours = both(SETTINGS[setting])
    assert str(tinyjax.make_jaxpr(ours)(X)) == str(jax.make_jaxpr(oracle)(X))
    got, want = ours(tinyjax.numpy.asarray(X)), oracle(jax.numpy.asarray(X))
    for a, b in zip(tinyjax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        same(a, b)


def test_logsumexp_of_nothing_is_minus_infinity():
    """And its gradient is no nan."""
    x = tinyjax.numpy.full(3, -np.inf)
    assert tinyjax.nn.logsumexp(x) == -np.inf


ATTENTION = {
    "plain": {},
    "causal": {"is_causal": True},
    "window": {"local_window_size": (1, 0)},
    "scale": {"scale": 0.5},
    "lengths": {"query_seq_lengths": np.array([2, 3]), "key_value_seq_lengths": np.array([4, 2])},
    "mask": {"mask": np.arange(12).reshape(1, 1, 3, 4) % 3 > 0},
    "bias": {"bias": np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4) / 9},
    "residual": {"return_residual": True},
}


@pytest.mark.parametrize("setting", ATTENTION)
@pytest.mark.parametrize("heads", [2, 4])
def test_attention(setting, heads):
    """Values of scaled dot-product attention, also where heads share keys."""
    rng = np.random.default_rng(0)
    q, k, v = (
        rng.normal(size=shape).astype(np.float32)
        for shape in ((2, 3, heads, 5), (2, 4, 2, 5), (2, 4, 2, 5))
    )
    settings = dict(ATTENTION[setting])
    got = tinyjax.nn.dot_product_attention(q, k, v, **settings)
    want = jax.nn.dot_product_attention(q, k, v, **settings)
    for a, b in zip(tinyjax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)


INITIALIZERS = {
    "zeros": lambda i: i.zeros,
    "ones": lambda i: i.ones,
    "constant": lambda i: i.constant(3),
    "uniform": lambda i: i.uniform(0.5),
    "normal": lambda i: i.normal(),
    "truncated_normal": lambda i: i.truncated_normal(0.3),
    "glorot_uniform": lambda i: i.glorot_uniform(),
    "glorot_normal": lambda i: i.glorot_normal(),
    "lecun_uniform": lambda i: i.lecun_uniform(in_axis=0, out_axis=1),
    "lecun_normal": lambda i: i.lecun_normal(),
    "he_uniform": lambda i: i.he_uniform(),
    "he_normal": lambda i: i.he_normal(batch_axis=0),
    "variance_scaling": lambda i: i.variance_scaling(2.0, "fan_geo_avg", "normal"),
    "complex": lambda i: i.variance_scaling(1.0, "fan_in", "uniform", dtype=np.complex64),
    "delta_orthogonal": lambda i: i.delta_orthogonal(),
}


@pytest.mark.parametrize("name", INITIALIZERS)
def test_initializers(name):
    """The same key gives the oracle's weights."""
    shape = (3, 4, 5)
    make = INITIALIZERS[name]
    got = make(tinyjax.nn.initializers)(tinyjax.random.key(3), shape)
    want = make(jax.nn.initializers)(jax.random.key(3), shape)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


def test_orthogonal():
    """Columns are orthonormal; rows, if there are fewer."""
    key = tinyjax.random.key(0)
    tall = np.asarray(tinyjax.nn.initializers.orthogonal()(key, (6, 4)))
    np.testing.assert_allclose(tall.T @ tall, np.eye(4), atol=1e-5)
    wide = np.asarray(tinyjax.nn.initializers.orthogonal(scale=2.0)(key, (3, 5)))
    np.testing.assert_allclose(wide @ wide.T, 4 * np.eye(3), atol=1e-5)
    with pytest.raises(ValueError, match="at least a 2D shape"):
        tinyjax.nn.initializers.orthogonal()(key, (6,))


def test_errors():
    """Bad arguments are refused, and named."""
    jnp = tinyjax.numpy
    with pytest.raises(ValueError, match="divisible by 2"):
        tinyjax.nn.glu(jnp.ones(3))
    with pytest.raises(ValueError, match="algorithm 'quick'"):
        tinyjax.nn.standardize(jnp.ones(3), algorithm="quick")
    with pytest.raises(ValueError, match="query heads must be a multiple"):
        tinyjax.nn.dot_product_attention(
            jnp.ones((3, 3, 5)), jnp.ones((4, 2, 5)), jnp.ones((4, 2, 5))
        )
    with pytest.raises(tinyjax.errors.ConcretizationTypeError, match="num_classes"):
        tinyjax.jit(tinyjax.nn.one_hot)(jnp.arange(3), 3)
