"""One function of a namespace, run with jax.numpy and with tinyjax.numpy: all must agree."""

import warnings

import jax
import jax.numpy
import numpy as np
from oracle_faults import mended

import tinyjax
import tinyjax.numpy

TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "complex64": 2e-5}

# ---- arguments --------------------------------------------------------------------------------

F = np.array([0.5, -1.5, 2.0], np.float32)
G = np.array([1.0, 2.0, -0.25], np.float32)
I = np.array([3, -2, 0], np.int32)
K = np.array([2, 3, -1], np.int32)
U = np.array([1, 2, 250], np.uint8)
B = np.array([True, False, True])
C = np.array([1 + 2j, -1j, 0.5], np.complex64)
H = F.astype(np.float16)
S = np.float32(0.7)
M = np.arange(12, dtype=np.float32).reshape(3, 4) / 7
N = np.arange(12, dtype=np.int32).reshape(3, 4)
T = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 9


def name(x):
    """What an argument is called in a test's id."""
    if hasattr(x, "dtype"):
        return f"{x.dtype}[{','.join(map(str, x.shape))}]"
    return str(x)


# ---- comparison -------------------------------------------------------------------------------


def check(f, *args, printed=True):
    """f(jnp, *args): printed jaxpr, values, dtypes, weak types and shapes are the oracle's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if printed:
            want = str(jax.make_jaxpr(lambda *a: f(jax.numpy, *a))(*args))
            got = str(tinyjax.make_jaxpr(lambda *a: f(tinyjax.numpy, *a))(*args))
            assert got == want or mended(want)
        want = jax.tree.leaves(f(jax.numpy, *map(jax.numpy.asarray, args)))
        got = tinyjax.tree.leaves(f(tinyjax.numpy, *map(tinyjax.numpy.asarray, args)))
    assert len(got) == len(want)
    for ours, oracle in zip(got, want):
        same(ours, oracle)


def same(ours, oracle):
    """One result."""
    ours, oracle = tinyjax.numpy.asarray(ours), jax.numpy.asarray(oracle)
    assert (ours.dtype, ours.shape) == (oracle.dtype, oracle.shape)
    assert ours.weak_type == oracle.weak_type
    a, b = np.asarray(ours), np.asarray(oracle)
    if a.dtype.kind in "biu":
        np.testing.assert_array_equal(a, b)
        return
    tolerance = TOLERANCE[a.dtype.name]
    if a.dtype.kind == "V":
        a, b = a.astype(np.float32), b.astype(np.float32)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def check_error(f, *args, words=()):
    """f(jnp, *args) raises an error of the oracle's class, with these words."""
    errors = []
    for jnp in (jax.numpy, tinyjax.numpy):
        try:
            f(jnp, *map(jnp.asarray, args))
        except Exception as error:
            errors.append(error)
        else:
            raise AssertionError(f"{jnp.__name__} raised nothing")
    oracle, ours = errors
    assert isinstance(ours, (type(oracle), *type(oracle).__mro__[1:2])), f"{ours!r}, {oracle!r}"
    for word in words:
        assert word in str(ours), f"{word!r} missing in {ours}"


def refuses(f, *args):
    """Whether the oracle raises an error: some programs raise it when they run, some when they
    are traced, some when a value is known."""
    try:
        jax.jit(lambda *a: f(jax.numpy, *a))(*args)
        f(jax.numpy, *map(jax.numpy.asarray, args))
    except (TypeError, ValueError):
        return True
    return False


def check_or_refuse(f, *args):
    """The results agree, or both refuse."""
    if refuses(f, *args):
        check_error(f, *args)
    else:
        check(f, *args)
