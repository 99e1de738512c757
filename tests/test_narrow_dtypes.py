"""Floats of 8 bits and integers of 4: storage, conversion and promotion as the oracle's."""

import jax
import jax.numpy
import numpy as np
import pytest
from worlds import same, same_error

import tinyjax

FLOATS = [
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn"),
]
INTS = ["int4", "uint4"]
VALUES = [0.0, 1.0, -1.5, 0.3, 300.0, 2.0]
OPERATIONS = {
    "conversion": lambda jnp, x: x.astype("float32"),
    "back": lambda jnp, x: x.astype("float32").astype(x.dtype),
    "sum of two": lambda jnp, x: x + x,
    "product": lambda jnp, x: x * x,
    "with an int": lambda jnp, x: x + 1,
    "with a bool": lambda jnp, x: x + True,
    "negative": lambda jnp, x: -x,
    "comparison": lambda jnp, x: x < 1,
    "slice": lambda jnp, x: x[::-2],
    "update": lambda jnp, x: x.at[0].set(1),
    "choice": lambda jnp, x: jnp.where(x == 1, x, 0),
    "zeros": lambda jnp, x: jnp.zeros_like(x),
    "greatest": lambda jnp, x: jnp.max(x[:4]),
    "result_type": lambda jnp, x: jnp.zeros((), jnp.result_type(x, 1)),
}
OF_FLOATS = {
    "with a float": lambda jnp, x: x * 2.5,
    "with ints": lambda jnp, x: x + jnp.int32(1),
    "sine": lambda jnp, x: jnp.sin(x),
    "total": lambda jnp, x: x[:4].sum(),
    "matrix product": lambda jnp, x: x[:4] @ x[:4],
}


def array(jnp, name):
    """Some numbers of the dtype."""
    return jnp.array(VALUES, "float32").astype(name)


def bits(x):
    """An array in a form that both worlds' NumPy arrays share."""
    a = np.asarray(x)
    return a.astype(np.float32), a.dtype.name, x.weak_type


def check(f, name):
    """One operation in both worlds."""
    ours = bits(f(tinyjax.numpy, array(tinyjax.numpy, name)))
    oracle = bits(f(jax.numpy, array(jax.numpy, name)))
    np.testing.assert_array_equal(ours[0], oracle[0])
    assert ours[1:] == oracle[1:]


@pytest.mark.parametrize("name", FLOATS + INTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations(name, operation):
    check(OPERATIONS[operation], name)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("operation", OF_FLOATS)
def test_operations_of_floats(name, operation):
    check(OF_FLOATS[operation], name)


@pytest.mark.parametrize("name", FLOATS + INTS)
def test_names(name):
    for jnp in (tinyjax.numpy, jax.numpy):
        dtype = getattr(jnp, name)
        assert dtype.dtype == np.dtype(dtype) == jnp.dtype(name)
        assert jnp.issubdtype(dtype, jnp.floating) == name.startswith("float")
        assert jnp.issubdtype(dtype, jnp.integer) == (name in INTS)
        assert jnp.isdtype(dtype, "numeric")
        assert jnp.promote_types(dtype, dtype) == np.dtype(name)
    text = [repr(array(w.numpy, name)) for w in (tinyjax, jax)]
    assert text[0] == text[1]
    jaxprs = [str(w.make_jaxpr(lambda x: x * x)(array(w.numpy, name))) for w in (tinyjax, jax)]
    assert jaxprs[0] == jaxprs[1]


def test_no_promotion_among_arrays():
    for name in FLOATS + INTS:
        other = "float32" if name in FLOATS else "int32"
        same_error(lambda w, n=name, o=other: array(w.numpy, n) + array(w.numpy, o), "promotion")
    same_error(lambda w: array(w.numpy, "int4") + 1.5, "promotion")
    same_error(lambda w: array(w.numpy, FLOATS[0]) + array(w.numpy, FLOATS[1]), "promotion")


def test_gradients_and_programs():
    def run(world):
        f = lambda x: (x * x).astype("float32").sum()
        x = array(world.numpy, "float8_e5m2")[:4]
        slope = world.grad(f)(x).astype("float32")
        return world.jit(f)(x), slope, world.vmap(lambda a: a + a)(x).astype("float32")

    same(run)


def test_numpys_own():
    for name in ("can_cast", "iterable"):
        assert getattr(tinyjax.numpy, name) is getattr(np, name)
    assert tinyjax.numpy.ComplexWarning is np.exceptions.ComplexWarning
