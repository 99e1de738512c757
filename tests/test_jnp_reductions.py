"""Reductions, cumulative functions, statistics and sorting of jnp against the oracle."""

import numpy as np
import pytest
from jnp_check import B, C, F, H, M, N, S, U, check, check_error, check_or_refuse, name
from worlds import same

FUNCTIONS = [
    "sum",
    "prod",
    "max",
    "min",
    "all",
    "any",
    "mean",
    "var",
    "std",
    "ptp",
    "count_nonzero",
    "argmax",
    "argmin",
    "cumsum",
    "cumprod",
    "nansum",
    "nanprod",
    "nanmax",
    "nanmin",
    "nanmean",
    "nanvar",
    "nanstd",
    "nancumsum",
    "median",
    "nanmedian",
    "sort",
    "argsort",
]
NANS = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, 2.0]], np.float32)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("axis", [None, 0, -1], ids=str)
@pytest.mark.parametrize("x", [M, N], ids=name)
def test_axes(function, axis, x):
    """Floats and integers along axes."""
    check(lambda jnp, x: getattr(jnp, function)(x, axis=axis), x)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("x", [B, H, U, C], ids=name)
def test_dtypes(function, x):
    """Booleans, half precision, small integers, complex numbers."""
    check_or_refuse(lambda jnp, x: getattr(jnp, function)(x), x)


@pytest.mark.parametrize("function", ["sum", "max", "mean", "all", "argmax", "prod", "cumsum"])
def test_scalars(function):
    """Numbers without axes."""
    check(lambda jnp, x: getattr(jnp, function)(x), S)


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f.startswith("nan")])
@pytest.mark.parametrize("axis", [None, 0, 1], ids=str)
def test_nans(function, axis):
    """Nans are left out."""
    check(lambda jnp, x: getattr(jnp, function)(x, axis=axis), NANS)


SETTINGS = {
    "keepdims": lambda jnp, x: [
        getattr(jnp, f)(x, axis=1, keepdims=True) for f in ("sum", "max", "mean", "var", "argmax")
    ],
    "sum_where": lambda jnp, x: jnp.sum(x, where=x > 0.5),
    "mean_where": lambda jnp, x: jnp.mean(x, where=x > 0.5),
    "max_initial": lambda jnp, x: jnp.max(x, initial=0.7, where=x > 0.5),
    "sum_initial": lambda jnp, x: jnp.sum(x, axis=0, initial=2),
    "sum_dtype": lambda jnp, x: jnp.sum(x, dtype=jnp.int32),
    "sum_axes": lambda jnp, x: x.sum(axis=(0, 1)),
    "std_ddof": lambda jnp, x: x.std(ddof=1),
    "var_correction": lambda jnp, x: jnp.var(x, axis=0, correction=1),
    "cumsum_dtype": lambda jnp, x: jnp.cumsum(x, axis=1, dtype=jnp.int32),
    "cumulative_sum": lambda jnp, x: jnp.cumulative_sum(x, axis=1, include_initial=True),
    "average": lambda jnp, x: jnp.average(x, axis=0, weights=np.array([1.0, 2.0, 3.0])),
    "average_returned": lambda jnp, x: jnp.average(x, axis=1, returned=True),
    "cov": lambda jnp, x: jnp.cov(x),
    "percentile": lambda jnp, x: jnp.percentile(x, 30),
    "quantiles": lambda jnp, x: jnp.quantile(x, np.array([0.2, 0.7]), axis=1),
    "quantile_axes": lambda jnp, x: jnp.quantile(x, 0.4, axis=(0, 1), keepdims=True),
    "quantile_nearest": lambda jnp, x: jnp.quantile(x, 0.4, axis=0, method="nearest"),
    "sort_descending": lambda jnp, x: jnp.sort(x, axis=0, descending=True),
    "argsort_descending": lambda jnp, x: jnp.argsort(x, descending=True),
    "lexsort": lambda jnp, x: jnp.lexsort((x[0], x[1])),
    "partition": lambda jnp, x: jnp.partition(x, 2),
    "nan_to_num": lambda jnp, x: jnp.nan_to_num(x, nan=1.0, posinf=2.0),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings(setting):
    """Keyword arguments."""
    check(SETTINGS[setting], M)


def test_corrcoef():
    """Values only: the oracle's diagonal holds a branch for another machine."""
    check(lambda jnp, x: jnp.corrcoef(x[:, :3] * x[:, 1:]), M, printed=False)


def test_sorting_puts_nans_last_and_keeps_signed_zeros():
    """The order of sort is total."""
    x = np.array([np.nan, 0.0, -0.0, -np.inf, 3.0], np.float32)
    check(lambda jnp, x: (jnp.sort(x), jnp.argsort(x)), x)


REFUSED = {
    "axis": (lambda jnp, x: jnp.sum(x, axis=2), ("axis 2 is out of bounds",)),
    "duplicate": (lambda jnp, x: jnp.sum(x, axis=(0, 0)), ("duplicate value in 'axis'",)),
    "empty": (lambda jnp, x: jnp.max(x[:0]), ("zero-size array", "max")),
    "empty_argmax": (lambda jnp, x: jnp.argmax(x[:0]), ("argmax of an empty sequence",)),
    "where": (lambda jnp, x: jnp.sum(x, where=x), ("where must be None or a boolean array",)),
    "max_where": (lambda jnp, x: jnp.max(x, where=x > 0), ("initial",)),
    "out": (lambda jnp, x: jnp.sum(x, out=x), ("'out' argument to jnp.sum",)),
    "kind": (lambda jnp, x: jnp.sort(x, kind="quicksort"), ("'kind' argument to sort",)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors(case):
    """Bad arguments are refused, and named."""
    f, words = REFUSED[case]
    check_error(f, F if case in ("empty", "empty_argmax") else M, words=words)


def test_empty():
    """Reductions of nothing that have a value."""
    check(lambda jnp, x: [x.sum(), x.prod(), x.all(), x.any(), x.mean(axis=0)], M[:0])


# ---- quantiles by weight ------------------------------------------------------------------------

CUBE = np.random.default_rng(5).normal(size=(3, 4, 5)).astype(np.float32)
HOLED = np.where(np.arange(60).reshape(3, 4, 5) % 17 == 3, np.nan, CUBE).astype(np.float32)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (1, 2)])
@pytest.mark.parametrize("function", ["quantile", "nanquantile"])
def test_inverted_cdf(function, axis, keepdims):
    """With weights of the array's shape, of the axes' shape, negative ones, and without."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    weights = [None, np.abs(CUBE), -CUBE]
    weights += [np.ones([CUBE.shape[d] for d in axes], np.float32)] if axis is not None else []
    for w in weights:
        for q in (0.0, 0.3, [0.1, 0.5, 1.0]):
            for x in (CUBE, HOLED):
                settings = {"axis": axis, "keepdims": keepdims, "weights": w}
                settings["method"] = "inverted_cdf"
                check(
                    lambda jnp, x, q, kw=settings: getattr(jnp, function)(x, q, **kw),
                    x, np.array(q, np.float32), printed=False,
                )  # fmt: skip


def test_inverted_cdf_refuses():
    for w, axis, method, words in [
        (np.ones(4), None, "inverted_cdf", "Weights shape must match"),
        (np.ones(4), 0, "inverted_cdf", "must match reduction axes"),
        (CUBE * 1j, None, "inverted_cdf", "complex"),
        (CUBE, None, "linear", "doesn't support weights"),
        (None, None, "median_unbiased", "method"),
    ]:
        settings = {"weights": w, "axis": axis, "method": method}
        check_error(lambda jnp, x, kw=settings: jnp.quantile(x, 0.5, **kw), CUBE, words=(words,))


WEAK = {
    "argmax": lambda jax: jax.numpy.argmax(jax.numpy.fmin(jax.numpy.ones((2, 2), bool), 3), axis=1),
    "lax_argmin": lambda jax: jax.lax.argmin(
        jax.numpy.asarray(2.0) * jax.numpy.ones(2), 0, "int32"
    ),
    "power": lambda jax: (jax.numpy.array(True) == 0.5) ** 3,
    "numeric": lambda jax: jax.numpy.abs(jax.numpy.array(True) == 0.5),
    "exp": lambda jax: jax.numpy.exp(jax.numpy.array(True) == 0.5),
    "times": lambda jax: (jax.numpy.array(True) == 0.5) * 2,
}


@pytest.mark.parametrize("name", WEAK)
def test_places_and_booleans_are_not_weak(name):
    """Indices are int32 whatever was searched; what a comparison gives is a plain boolean."""
    same(WEAK[name])
