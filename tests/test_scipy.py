"""scipy.special and scipy.stats against the oracle: values and gradients."""

import jax
import jax.scipy
import numpy as np
import pytest
import scipy.special
from worlds import same_error

import tinyjax
import tinyjax.scipy

X = np.array([0.05, 0.3, 0.75, 1.2, 2.5, 6.0], np.float32)
UNIT = np.array([1e-6, 0.02, 0.3, 0.5, 0.9, 0.9999], np.float32)
ANY = np.array([-12.0, -4.5, -0.3, 0.0, 0.8, 6.0], np.float32)
SPECIAL = {
    **dict.fromkeys(["erf", "erfc", "expit", "i0", "i0e", "i1", "i1e", "ndtr", "log_ndtr"], (ANY,)),
    **dict.fromkeys(["erfinv", "logit", "ndtri"], (UNIT,)),
    **dict.fromkeys(["gamma", "gammaln", "loggamma", "digamma", "entr", "factorial"], (X,)),
    **dict.fromkeys(["logsumexp", "softmax", "log_softmax"], (ANY,)),
    "gammasgn": (ANY,),
    "zeta": (X + 1.5, X),
    "betaln": (X, X[::-1]),
    "beta": (X, X[::-1]),
    "xlogy": (np.array([0, 0.3, 1, 2, 3, 4], np.float32), X),
    "xlog1py": (np.array([0, 0.3, 1, 2, 3, 4], np.float32), X),
    "rel_entr": (X, X[::-1]),
    "kl_div": (X, X[::-1]),
    "boxcox": (X, np.array([0, 0.5, 1, 2, -1, 0], np.float32)),
    "boxcox1p": (X, np.array([0, 0.5, 1, 2, -1, 0], np.float32)),
    "comb": (np.array([5, 7, 2, 3, 6, 8], np.float32), np.array([2, 3, 3, 0, 6, 4], np.float32)),
}
OTHERS = {
    "polygamma": lambda s, x: s.polygamma(2, x),
    "multigammaln": lambda s, x: s.multigammaln(x + 3, 3),
}


def same(f, *args, rtol=3e-5, gradient=True):
    """Values, and gradients by the first argument."""
    want = f(jax.scipy, *map(jax.numpy.asarray, args))
    got = f(tinyjax.scipy, *map(tinyjax.numpy.asarray, args))
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-5)
    if gradient:
        want = jax.grad(lambda *a: f(jax.scipy, *a).sum())(*args)
        got = tinyjax.grad(lambda *a: f(tinyjax.scipy, *a).sum())(*args)
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("name", SPECIAL)
def test_special(name):
    """Every function."""
    flat = name in ("gammasgn", "zeta")
    same(lambda s, *a: getattr(s.special, name)(*a), *SPECIAL[name], gradient=not flat)


@pytest.mark.parametrize("name", OTHERS)
def test_special_with_settings(name):
    """Functions with an integer argument."""
    same(lambda s, x: OTHERS[name](s.special, x), X)


DENSITIES = {
    "norm": (ANY, 0.5, 2.0),
    "uniform": (X, 0.2, 3.0),
    "expon": (X, 0.2, 2.0),
    "laplace": (ANY, 0.5, 2.0),
    "logistic": (ANY, 0.5, 2.0),
    "cauchy": (ANY, 0.5, 2.0),
    "gamma": (X, 1.7, 0.0, 2.0),
    "beta": (UNIT, 1.3, 2.5),
    "t": (ANY, 3.0, 0.5, 2.0),
    "pareto": (X, 1.5, 0.0, 0.5),
    "chi2": (X, 3.0),
}


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize("what", ["logpdf", "pdf", "cdf", "logcdf", "sf"])
def test_densities(name, what):
    """Densities, and what is made of them."""
    if not hasattr(getattr(tinyjax.scipy.stats, name), what):
        assert name != "norm"
        return
    x, *parameters = DENSITIES[name]
    same(lambda s, x: getattr(getattr(s.stats, name), what)(x, *parameters), x)


def test_counts():
    """Probabilities of whole numbers."""
    k = np.array([0, 1, 2, 5], np.int32)
    for f in (
        lambda s, k: s.stats.poisson.logpmf(k, 2.5),
        lambda s, k: s.stats.poisson.pmf(k, 2.5),
        lambda s, k: s.stats.bernoulli.logpmf(k, 0.3),
        lambda s, k: s.stats.bernoulli.pmf(k, 0.3),
    ):
        same(f, k, gradient=False)


def test_multivariate_normal():
    """Vectors."""
    rng = np.random.default_rng(0)
    x, mean = rng.normal(size=(2, 3)).astype(np.float32), np.ones(3, np.float32)
    root = rng.normal(size=(3, 3)).astype(np.float32)
    cov = root @ root.T + np.eye(3, dtype=np.float32)
    same(lambda s, x: s.stats.multivariate_normal.logpdf(x, mean, cov), x)
    same(lambda s, c: s.stats.multivariate_normal.logpdf(x, mean, c), cov, rtol=1e-4)
    same(lambda s, x: s.stats.multivariate_normal.pdf(x, 0.0, 2.0), X)


def test_summaries():
    """mode and sem."""
    x = np.array([[1, 2, 2], [1, 3, 2], [0, 3, 5]], np.float32)
    for axis in (0, 1, None):
        got, want = (w.scipy.stats.mode(x, axis=axis) for w in (tinyjax, jax))
        np.testing.assert_array_equal(got.mode, want.mode)
        np.testing.assert_array_equal(got.count, want.count)
        same(lambda s, x, axis=axis: s.stats.sem(x, axis=axis), x, gradient=False)


def test_errors():
    """Bad arguments are refused, and named."""
    special = tinyjax.scipy.special
    with pytest.raises(ValueError, match="integer type"):
        special.polygamma(1.5, X)
    with pytest.raises(TypeError, match="float32 or float64"):
        special.ndtr(np.array([1, 2]))
    with pytest.raises(NotImplementedError, match="Hurwitz"):
        special.zeta(2.0)
    with pytest.raises(ValueError, match="between 0 and 30"):
        special.log_ndtr(X, 31)


@pytest.mark.parametrize("operand", [0, 1])
def test_betainc_has_no_slope_in_its_parameters(operand):
    run = lambda jax: jax.grad(jax.lax.betainc, operand)(2.0, 3.0, 0.5)
    same_error(run, "with respect to a and b not supported")


def test_complex_loggamma_in_reverse():
    """The oracle has no such derivative; it is the digamma function."""
    z = np.array([0.3 + 0.5j, 2.0 - 0.4j, 5.0 + 3.0j], np.complex64)
    total = lambda x: tinyjax.scipy.special.loggamma(x).sum()
    slopes = tinyjax.grad(total, holomorphic=True)(z)
    np.testing.assert_allclose(slopes, scipy.special.digamma(z), rtol=1e-5)
