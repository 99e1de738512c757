"""check_grads: are the derivatives of a function right? Finite differences decide."""

from functools import partial

import numpy as np

from tinyjax import dtypes
from tinyjax.autodiff import jvp, linearize, vjp
from tinyjax.tracebacks import boundary
from tinyjax.tree_util import tree_leaves, tree_map, tree_structure

EPS = 1e-4

# How far a derivative may be from what finite differences say.
TOLERANCE = {"bfloat16": 1e-1, "float16": 1e-2, "float32": 2e-3, "float64": 1e-5}
TOLERANCE |= {"complex64": 1e-3, "complex128": 1e-5}


# ---- trees of numbers ----------------------------------------------------------------------------


def _dtype(x):
    """The dtype of a leaf: Python numbers have none of their own."""
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def _direction(rng, x):
    """Random numbers like a leaf; integers have no tangents."""
    dtype, shape = _dtype(x), np.shape(x)
    if not dtypes.issubdtype(dtype, np.inexact):
        return np.zeros(shape, dtypes.float0)
    values = rng.randn(*shape)
    if dtypes.issubdtype(dtype, np.complexfloating):
        values = values + 1j * rng.randn(*shape)
    out = np.asarray(values).astype(dtype)
    return out if hasattr(x, "dtype") else type(x)(out.item())


def _moved(args, tangents, step):
    """args + step * tangents."""
    return tree_map(
        lambda x, t: x if _dtype(t) == dtypes.float0 else x + np.asarray(step, _dtype(x)) * t,
        args,
        tangents,
    )


def _slope(above, below, eps):
    """The difference of two results as a tangent."""
    if not dtypes.issubdtype(_dtype(above), np.inexact):
        return np.zeros(np.shape(above), dtypes.float0)
    return (np.asarray(above) - np.asarray(below)) * np.asarray(0.5 / eps, _dtype(above))


def _numerical_jvp(f, args, tangents, eps):
    """The directional derivative, by two values of f."""
    above, below = f(*_moved(args, tangents, eps)), f(*_moved(args, tangents, -eps))
    return tree_map(lambda a, b: _slope(a, b, eps), above, below)


def _wide(x):
    """A leaf as a NumPy array that NumPy can compute with."""
    x = np.asarray(x)
    return x.astype(np.float32) if x.dtype.name in ("bfloat16", "float16") else x


def _inner_product(xs, ys):
    """The real part of the sum of all products of (conjugated) corresponding numbers."""
    pairs = zip(tree_leaves(xs), tree_leaves(ys), strict=True)
    kept = [(_wide(x), _wide(y)) for x, y in pairs if _dtype(y) != dtypes.float0]
    total = sum([np.sum(np.conj(x) * y, dtype=np.result_type(x, y)) for x, y in kept])
    return np.real(total)


def _conj(tree):
    """The conjugates of all leaves."""
    return tree_map(lambda x: x if _dtype(x) == dtypes.float0 else np.conj(x), tree)


# ---- comparing -----------------------------------------------------------------------------------


def _tolerance(given, x):
    """The tolerance for a leaf: a number, a dictionary by dtype, or the default."""
    if given is not None and not isinstance(given, dict):
        return given
    by_dtype = TOLERANCE | {np.dtype(k).name: v for k, v in (given or {}).items()}
    return by_dtype.get(_dtype(x).name, 0)


def _check_close(xs, ys, atol, rtol, message):
    """AssertionError unless two trees hold nearly the same numbers."""
    assert tree_structure(xs) == tree_structure(ys), (tree_structure(xs), tree_structure(ys))
    for x, y in zip(tree_leaves(xs), tree_leaves(ys)):
        if _dtype(x) == dtypes.float0:
            assert np.shape(x) == np.shape(y), message
            continue
        limits = [max(_tolerance(given, x), _tolerance(given, y)) for given in (atol, rtol)]
        np.testing.assert_allclose(
            _wide(x), _wide(y), atol=limits[0], rtol=limits[1], err_msg=message
        )


def _check_dtypes(xs, ys):
    """AssertionError unless the dtypes agree (tangents of integers are float0)."""
    for x, y in zip(tree_leaves(xs), tree_leaves(ys)):
        if _dtype(y) != dtypes.float0:
            assert _dtype(x) == _dtype(y), f"dtypes differ: {_dtype(x)} and {_dtype(y)}"


# ---- the checks ----------------------------------------------------------------------------------


def check_jvp(f, f_jvp, args, atol=None, rtol=None, eps=EPS, err_msg=""):
    """Compare a forward-mode derivative with finite differences, in one random direction.

    Args:
      f: function of `*args`.
      f_jvp: function (args, tangents) -> (out, tangents_out), such as `partial(jax.jvp, f)`.
      args: tuple of arrays and pytrees.
      atol, rtol: tolerances: numbers, or dictionaries from dtypes to numbers.
      eps: the step of the differences.
      err_msg: what to say first when the check fails.

    Raises AssertionError if they differ.
    """
    rng = np.random.RandomState(0)
    args = tuple(args)
    tangents = tree_map(partial(_direction, rng), args)
    value, tangent = f_jvp(args, tangents)
    _check_dtypes(value, tangent)
    expected = f(*args)
    _check_dtypes(value, expected)
    head = f"{err_msg} " if err_msg else ""
    _check_close(value, expected, atol, rtol, head + "primal")
    slope = _numerical_jvp(f, args, tangents, eps)
    _check_close(tangent, slope, atol, rtol, head + "tangent")


def check_vjp(f, f_vjp, args, atol=None, rtol=None, eps=EPS, err_msg=""):
    """Compare a reverse-mode derivative with finite differences, in one random direction.

    Args:
      f_vjp: function of `*args` -> (out, pullback), such as `partial(jax.vjp, f)`.

    The other arguments are those of check_jvp. Raises AssertionError if they differ.
    """
    rng = np.random.RandomState(0)
    args = tuple(args)
    value, pullback = f_vjp(*args)
    head = f"{err_msg} " if err_msg else ""
    _check_close(value, f(*args), atol, rtol, head + "primal")
    tangents = tree_map(partial(_direction, rng), args)
    slope = _numerical_jvp(f, args, tangents, eps)
    cotangent = tree_map(partial(_direction, np.random.RandomState(1)), value)
    gradient = _conj(pullback(_conj(cotangent)))
    found, expected = _inner_product(tangents, gradient), _inner_product(slope, cotangent)
    _check_close(found, expected, atol, rtol, head + "cotangent projection")


def _jvp_from_linearize(f, primals, tangents):
    """The joint rule by way of linearize."""
    value, push = linearize(f, *primals)
    return value, push(*tangents)


@boundary
def check_grads(f, args, order, modes=("fwd", "rev"), atol=None, rtol=None, eps=None):
    """Compare the derivatives of a function with finite differences.

    Args:
      f: function of `*args`, which may be pytrees.
      args: tuple of arrays or numbers.
      order: the highest order of derivatives to look at; modes are mixed in the higher ones.
      modes: of "fwd" (jvp), "rev" (vjp) and "lin" (linearize).
      atol, rtol: tolerances: numbers, or dictionaries from dtypes to numbers.
      eps: the step of the differences (1e-4).

    Raises AssertionError if a derivative is wrong. Only one random direction is tried.

    >>> import tinyjax.numpy as jnp
    >>> check_grads(jnp.sin, (0.5,), order=2)
    """
    options = {"atol": atol, "rtol": rtol, "eps": eps or EPS}

    def pull_value(f, *args):
        value, pullback = vjp(f, *args)
        return pullback(value)

    def check(f, args, order, message):
        for mode, derivative, word in (
            ("fwd", partial(jvp, f), "JVP"),
            ("rev", partial(vjp, f), "VJP"),
            ("lin", partial(_jvp_from_linearize, f), "LIN"),
        ):
            if mode not in modes:
                continue
            text = f"{word} of {message}" if message else word
            test = check_vjp if mode == "rev" else check_jvp
            test(f, derivative, args, err_msg=text, **options)
            if order > 1 and mode == "rev":
                check(partial(pull_value, f), args, order - 1, text)
            elif order > 1:
                check(derivative, (args, args), order - 1, text)

    check(f, tuple(args), order, "")


__all__ = ["check_grads", "check_jvp", "check_vjp"]
