"""scipy.stats against the oracle: every function of every distribution, and the other functions."""

import inspect

import jax
import jax.scipy.stats
import numpy as np
import pytest

import tinyjax
import tinyjax.scipy.stats

REAL = np.array([-4, -0.3, 0, 0.2, 0.5, 0.9, 1, 1.5, 6, np.inf, np.nan], np.float32)
UNIT = np.array([-0.1, 0, 0.01, 0.3, 0.8, 0.99, 1.2], np.float32)
COUNT = np.array([-1, 0, 1, 2, 3, 7, 9, 0.5], np.float32)
PARAMETERS = {
    "bernoulli": (0.3,), "beta": (1.3, 2.5), "betabinom": (8.0, 1.5, 2.5), "binom": (8.0, 0.3),
    "cauchy": (), "chi2": (3.0,), "expon": (), "gamma": (1.7,), "gennorm": (1.5,), "geom": (0.3,),
    "gumbel_l": (), "gumbel_r": (), "laplace": (), "logistic": (), "nbinom": (4.0, 0.4),
    "norm": (), "pareto": (1.5,), "poisson": (2.5,), "t": (3.0,), "truncnorm": (-0.7, 1.3),
    "uniform": (), "vonmises": (2.0,), "wrapcauchy": (0.4,),
}  # fmt: skip


def names_of(family):
    """The names of a distribution's functions."""
    found = dir(getattr(jax.scipy.stats, family))
    return [name for name in found if name[0] != "_" and name != "entropy"]


FUNCTIONS = [(family, name) for family in PARAMETERS for name in names_of(family)]
every_function = pytest.mark.parametrize("family, name", FUNCTIONS)

# ---- how results are compared -------------------------------------------------------------------


def both(f, *args):
    """f(world, *args) in both worlds: eager here, compiled there since that is sooner."""
    ours = f(tinyjax, *map(tinyjax.numpy.asarray, args))
    return ours, jax.jit(lambda *xs: f(jax, *xs))(*args)


def same(f, *args, rtol=2e-4):
    """Equal values, shapes, dtypes and weak types."""
    for a, b in zip(*[w.tree_util.tree_leaves(x) for w, x in zip((tinyjax, jax), both(f, *args))]):
        assert (a.dtype, a.shape, a.weak_type) == (b.dtype, b.shape, b.weak_type)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-6)


def same_slopes(f, *args, rtol=2e-3):
    """Equal gradients, by each argument."""

    def slopes(w, *xs):
        return w.grad(lambda *xs: f(w, *xs).sum(), tuple(range(len(args))))(*xs)

    for a, b in zip(*both(slopes, *args)):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-4)


def function(family, name):
    """A distribution's function, of either world."""
    return lambda w, *args, **options: getattr(getattr(w.scipy.stats, family), name)(
        *args, **options
    )


def arguments(family, name):
    """Arguments that are inside of, on and beyond the domain."""
    counts = name in ("logpmf", "pmf") or family in ("bernoulli", "poisson")
    x = UNIT if name in ("ppf", "isf") else COUNT if counts else REAL
    return x, *map(np.float32, PARAMETERS[family])


# ---- distributions ------------------------------------------------------------------------------


@pytest.mark.parametrize("family", PARAMETERS)
def test_values_and_types(family):
    """All functions of a distribution, of arrays, numbers, integers, with loc and scale."""
    numbers = PARAMETERS[family]

    def several(w):
        out = {}
        for name in names_of(family):
            f, (x, *parameters) = function(family, name), arguments(family, name)
            known = inspect.signature(getattr(getattr(jax.scipy.stats, family), name)).parameters
            options = {n: v for n, v in {"loc": 1, "scale": 2.0}.items() if n in known}
            out[name] = [f(w, x, *parameters), f(w, x, *parameters, **options)]
            out[name].append(f(w, 0.5, *numbers))
            if (family, name) not in (("norm", "ppf"), ("norm", "isf")):  # they want floats
                out[name].append(f(w, np.arange(3), *numbers))
        return out

    same(several)


@pytest.mark.parametrize("family", PARAMETERS)
def test_gradients(family):
    """By x and all parameters."""

    def total(w, name, x, parameters):
        return function(family, name)(w, x, *parameters).sum()

    def slopes(w):
        out = {}
        for name in names_of(family):
            if family.startswith("gumbel") and name == "ppf":
                continue  # the oracle raises: it multiplies a float0
            x, *parameters = map(w.numpy.asarray, arguments(family, name))
            incomplete_beta = family == "beta" and name.endswith(("cdf", "sf"))
            by = 0 if incomplete_beta else (0, 1)  # it has no slopes by its parameters
            out[name] = w.grad(lambda *a, name=name: total(w, name, *a), by)(x, parameters)
        return out

    ours, theirs = both(slopes)
    ours, theirs = tinyjax.tree_util.tree_leaves(ours), jax.tree_util.tree_leaves(theirs)
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4)


@every_function
def test_signatures_are_the_oracles(family, name):
    ours, theirs = (
        inspect.signature(getattr(getattr(w.scipy.stats, family), name)).parameters.values()
        for w in (tinyjax, jax)
    )
    assert [(p.name, p.default) for p in ours] == [(p.name, p.default) for p in theirs]


#: The rest is printed with other equations of the same value.
PRINTED_ELSEHOW = ("truncnorm", "beta.logpdf", "beta.pdf", "betabinom", "norm.ppf", "norm.isf")


@every_function
def test_printed_forms(family, name):
    if f"{family}.{name}".startswith(PRINTED_ELSEHOW):
        return
    args = np.ones(3, np.float32), *map(np.float32, PARAMETERS[family])

    def text(w):
        with np.printoptions(legacy="1.25"):
            return str(w.make_jaxpr(lambda *a: function(family, name)(w, *a))(*args))

    assert text(tinyjax) == text(jax)


def test_poisson_entropy():
    mu = np.array([0, 0.5, 3, 12, 60, 150], np.float32)
    same(lambda w, mu: w.scipy.stats.poisson.entropy(mu), mu)
    same_slopes(lambda w, mu: w.scipy.stats.poisson.entropy(mu), mu[1:])


def test_distributions_of_vectors():
    x, alpha = np.array([0.3, 0.2, 0.5], np.float32), np.array([1.0, 2.0, 1.5], np.float32)
    for name in ("logpdf", "pdf"):
        f = function("dirichlet", name)
        same(f, x, alpha)
        same(f, np.array([[0.3, 0.1], [0.2, 0.1]], np.float32), alpha)
        same_slopes(f, x, alpha)
    counts = np.array([2, 3, 1])
    for n in (6, 7):
        same(lambda w, p, n=n: w.scipy.stats.multinomial.logpmf(counts, n, p), x)
    same_slopes(lambda w, p: w.scipy.stats.multinomial.pmf(counts, 6, p), x)


# ---- samples ------------------------------------------------------------------------------------

SAMPLES = [
    np.array([3, 1, 2, 3, 3, 1]),
    np.array([3.0, 1, np.nan], np.float32),
    np.array([[3, 1, 3], [2, 2, 1]]),
    np.zeros(0, np.float32),
]


@pytest.mark.parametrize("method", ["average", "min", "max", "dense", "ordinal"])
def test_rankdata(method):
    for a in SAMPLES:
        same(lambda w, a: w.scipy.stats.rankdata(a, method), a)
        same(lambda w, a: w.scipy.stats.rankdata(a, method, axis=-1), a)


@pytest.mark.parametrize("axis", [0, -1, None])
def test_mode_and_sem(axis):
    for a in [*SAMPLES, np.zeros((0, 3), np.float32)]:
        for keepdims in (False, True):
            options = {"axis": axis, "keepdims": keepdims}
            same(lambda w, a, o=options: tuple(w.scipy.stats.mode(a, **o)), a)
            for policy in ("propagate", "omit"):
                sem = {**options, "nan_policy": policy}
                same(lambda w, a, o=sem: w.scipy.stats.sem(a, **o), a)


KERNELS = [
    {}, {"bw_method": "silverman"}, {"bw_method": 0.5}, {"bw_method": lambda kde: kde.n**-0.2},
    {"weights": np.arange(1, 10).astype(np.float32)},
]  # fmt: skip


@pytest.mark.parametrize("options", KERNELS)
def test_gaussian_kde(options):
    rng = np.random.default_rng(0)
    data, points = rng.normal(size=(2, 9)).astype(np.float32), np.zeros((2, 3), np.float32)
    unit = np.eye(2, dtype=np.float32)

    def use(method, *args):
        return lambda w, d: getattr(w.scipy.stats.gaussian_kde(d, **options), method)(*args)

    for name in ("evaluate", "pdf", "logpdf"):
        same(use(name, points), data)
        same_slopes(use(name, points), data)
    same(lambda w, d: w.scipy.stats.gaussian_kde(d, **options)(points), data)
    same(use("integrate_gaussian", np.zeros(2, np.float32), unit), data)
    same(lambda w, d: w.tree_util.tree_leaves(w.scipy.stats.gaussian_kde(d, **options)), data)
    line = lambda w, d: w.scipy.stats.gaussian_kde(d, **options).integrate_box_1d(-0.5, 1.0)
    same(line, data[0])

    def overlap(w, d):
        kde = w.scipy.stats.gaussian_kde
        return kde(d, **options).integrate_kde(kde(d[:, :4] * 2))

    same(overlap, data)
    same(
        lambda w, d: w.scipy.stats.gaussian_kde(d, **options).resample(w.random.key(0), (4,)), data
    )


stats = tinyjax.scipy.stats
WRONG = {
    "ranks": (ValueError, "unknown method 'x'", lambda: stats.rankdata(np.ones(3), "x")),
    "policy": (ValueError, "Illegal nan_policy", lambda: stats.mode(np.ones(3), nan_policy="x")),
    "omit": (NotImplementedError, "omit", lambda: stats.mode(np.ones(3), nan_policy="omit")),
    "sem": (ValueError, "not supported", lambda: stats.sem(np.ones(3), nan_policy="x")),
    "alpha": (ValueError, "one-dimensional", lambda: stats.dirichlet.pdf(np.ones(2), 1.0)),
    "simplex": (ValueError, "same number", lambda: stats.dirichlet.pdf(np.ones(5), np.ones(2))),
    "counts": (ValueError, "integer type",
               lambda: stats.multinomial.pmf(np.ones(2), 2, np.ones(2))),
    "one point": (ValueError, "multiple elements", lambda: stats.gaussian_kde(np.ones(1))),
    "bandwidth": (ValueError, "bw_method", lambda: stats.gaussian_kde(np.ones(3), "x")),
    "weights": (ValueError, "length n", lambda: stats.gaussian_kde(np.ones(3), weights=np.ones(2))),
    "points": (ValueError, "points have dimension 2",
               lambda: stats.gaussian_kde(np.arange(3.0))(np.ones((2, 4)))),
    "box": (ValueError, "1D", lambda: stats.gaussian_kde(np.eye(2, 3)).integrate_box_1d(0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors(name):
    kind, words, call = WRONG[name]
    with pytest.raises(kind, match=words):
        call()
