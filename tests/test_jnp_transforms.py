"""jnp's functions under jvp, vmap and grad: printed forms and values are the oracle's."""

import re

import jax
import numpy as np
import pytest
from jnp_check import F, M
from oracle_faults import mended
from test_jnp_indexing import KEYS
from test_jnp_linear import FORMULAS
from test_jnp_linear import SETTINGS as PRODUCTS
from test_jnp_reductions import FUNCTIONS
from test_jnp_shaping import PRINTED
from test_jnp_ufuncs import BINARY, UNARY

import tinyjax


def table():
    """id -> function of (jnp, *arrays), arrays."""
    cases = {}
    for n in UNARY:
        cases[f"unary_{n}"] = lambda jnp, x, n=n: getattr(jnp, n)(x), F
    for n in BINARY:
        cases[f"binary_{n}"] = lambda jnp, x, n=n: getattr(jnp, n)(x, x[::-1] + 1), F
    for n in FUNCTIONS:
        cases[f"reduce_{n}"] = lambda jnp, x, n=n: getattr(jnp, n)(x, axis=0), M
    for n, f in PRINTED.items():
        cases[f"shape_{n}"] = f, M
    for n, key in KEYS.items():
        cases[f"get_{n}"] = lambda jnp, x, key=key: x[key], M
        cases[f"set_{n}"] = lambda jnp, x, key=key: x.at[key].set(x.sum()), M
    for n, f in PRODUCTS.items():
        cases[f"product_{n}"] = lambda jnp, x, f=f: f(jnp, x, x.T), M
    for n, arrays in FORMULAS.items():
        if len(arrays) == 2:
            cases[n] = lambda jnp, *xs, n=n: jnp.einsum(n, *xs), *arrays
    return cases


CASES = table()
#: Left out of the printed forms: the oracle's has an unused tangent, or operands in another order.
OTHERWISE = {("jvp", "unary_frexp"), ("vmap", "shape_polyval")}
REFUSALS = (TypeError, ValueError, IndexError, AttributeError, NotImplementedError)


def transformed(world, how, f, arrays):
    """The function under a transformation of a world, and arguments for it."""
    g = lambda *xs: f(world.numpy, *xs)
    if how == "vmap":
        return world.vmap(g), [np.stack([x, x + 1]) for x in arrays]
    return lambda *xs: world.jvp(g, xs, xs), arrays


def printed(world, how, f, arrays):
    """The jaxpr, without what differs in the way numbers are written."""
    g, arrays = transformed(world, how, f, arrays)
    text = re.sub(r"np\.int64\((-?\d+)\)", r"\1", str(world.make_jaxpr(g)(*arrays)))
    return re.sub(r"\s+", " ", text).replace("[ ", "[").replace(" ]", "]")


@pytest.mark.parametrize(
    "how, case", [(h, c) for h in ("jvp", "vmap") for c in CASES if (h, c) not in OTHERWISE]
)
def test_printed(how, case):
    """The program that a transformation makes."""
    f, *arrays = CASES[case]
    try:
        want = printed(jax, how, f, arrays)
    except REFUSALS:
        with pytest.raises(REFUSALS):
            printed(tinyjax, how, f, arrays)
        return
    assert printed(tinyjax, how, f, arrays) == want or mended(want)


def loss(world, f, arrays):
    """The sum of the squares of all real results."""

    def g(*xs):
        leaves = world.tree.leaves(f(world.numpy, *xs))
        return sum((x * x).sum() for x in leaves if x.dtype.kind == "f")

    return world.grad(g)(*map(world.numpy.asarray, arrays))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_gradients(case):
    """Gradients."""
    f, *arrays = CASES[case]
    try:
        want = loss(jax, f, arrays)
    except REFUSALS:
        with pytest.raises(REFUSALS):
            loss(tinyjax, f, arrays)
        return
    np.testing.assert_allclose(loss(tinyjax, f, arrays), want, rtol=1e-3, atol=1e-4)
