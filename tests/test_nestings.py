"""Random nestings of transformations: grad(f), jit(grad(f)) and jax must agree.

A nesting is a base function, wrapped several times: "scan>vmap>grad>checkpoint". TINYJAX_NESTINGS
is the number of nestings (most of the time jax compiles them), TINYJAX_SEED what they are drawn
with.
"""

import os
import random
from functools import partial

import jax
import numpy as np
import pytest
from programs import MAT, XS
from programs.custom_jvps import scaled_sine
from programs.custom_vjps import scaled_product
from worlds import ORACLE, OURS, attempt

from tinyjax.compiler.executable import Executable

COUNT = int(os.environ.get("TINYJAX_NESTINGS", "300"))
SEED = int(os.environ.get("TINYJAX_SEED", "0"))
BATCH = 10  # nestings per test

XS, MAT = XS.astype(np.float64), MAT.astype(np.float64)  # deep nestings amplify rounding


@pytest.fixture
def interpreted(monkeypatch):
    """Programs run equation by equation: compiling them takes most of the time, and is tested
    elsewhere."""
    monkeypatch.setattr(Executable, "first_run", Executable.interpret)


@pytest.fixture(autouse=True)
def double_precision():
    """Both worlds at 64 bits."""
    with jax.enable_x64(True), OURS.enable_x64(True):
        yield


# ---- base functions -----------------------------------------------------------------------------


def sine(jax, x):
    return jax.numpy.sin(x * 1.3) * x


def scan(jax, x):
    sin = jax.numpy.sin
    return jax.lax.scan(lambda k, a: (sin(k * x) + a, k * x), x * 0.5, XS)[0]


def cond(jax, x):
    sin = jax.numpy.sin
    return jax.lax.cond(sin(x) > 0.5, lambda v: sin(v) * x, lambda v: v * v * x, x)


def custom_jvp(jax, x):
    return scaled_sine(jax)(x, jax.numpy.sin(x))


def custom_vjp(jax, x):
    return scaled_product(jax)(x, jax.numpy.cos(x))


def matmul(jax, x):
    jnp = jax.numpy
    return jnp.sum(jnp.tanh((jnp.asarray(MAT) * x) @ jnp.asarray(MAT.T))) * 0.3


def while_loop(jax, x):
    def body(carry):
        i, k = carry
        return i + 1, jax.numpy.sin(k) * x

    return jax.lax.while_loop(lambda carry: carry[0] < 3, body, (0, x))[1]


BASES = [sine, scan, cond, custom_jvp, custom_vjp, matmul, while_loop]

# ---- wrappers: scalar functions in, scalar functions out ----------------------------------------


def in_jit(jax, f):
    return jax.jit(f)


def in_checkpoint(jax, f):
    return jax.checkpoint(f)


def in_grad(jax, f):
    return jax.grad(f)


def in_jvp(jax, f):
    return lambda x: jax.jvp(f, (x,), (x * 0.5,))[1]


def in_linearize(jax, f):
    return lambda x: jax.linearize(f, x)[1](x)


def in_vjp(jax, f):
    return lambda x: jax.vjp(f, x)[1](x)[0]


def in_vmap(jax, f):
    jnp = jax.numpy
    return lambda x: jnp.sum(jax.vmap(f)(x * jnp.asarray(XS))) * 0.4


def in_vmap_with_closure(jax, f):
    jnp = jax.numpy
    return lambda x: jnp.sum(jax.vmap(lambda a: f(a) * x + a * f(x))(jnp.asarray(XS))) * 0.3


def in_named_vmap(jax, f):
    def mapped(x):
        lanes = jax.vmap(lambda a: jax.lax.pmean(f(a * x), "i") * a, axis_name="i")
        return lanes(jax.numpy.asarray(XS))[1]

    return mapped


def in_scan(jax, f):
    sin = jax.numpy.sin
    return lambda x: jax.lax.scan(lambda k, a: (sin(f(k) * a + x), k), x, XS)[0]


def in_map(jax, f):
    jnp = jax.numpy
    return lambda x: jnp.sum(jax.lax.scan(lambda k, a: (k, f(a * x)), 0, XS)[1]) * 0.5


def in_cond(jax, f):
    def chosen(x):
        predicate = jax.numpy.sin(x * 3.0) > 0.2
        return jax.lax.cond(predicate, f, lambda y: y * f(y * 0.5) * x, x)

    return chosen


def in_switch(jax, f):
    def chosen(x):
        index = jax.numpy.asarray(x * 3.0).astype(np.int32)
        return jax.lax.switch(index, [f, lambda y: x * y, jax.numpy.sin], x)

    return chosen


def in_custom_jvp(jax, f):
    g = jax.custom_jvp(f)

    @g.defjvp
    def rule(primals, tangents):
        y, t = jax.jvp(f, primals, tangents)
        return y, t * 1.5

    return lambda x: g(x)


def in_custom_vjp(jax, f):
    g = jax.custom_vjp(f)
    g.defvjp(lambda x: jax.vjp(f, x), lambda pull, ct: (pull(ct)[0] * 1.5,))
    return lambda x: g(x)


def in_jit_with_closure(jax, f):
    return lambda x: jax.jit(lambda y: f(y * x))(x)


def in_sines(jax, f):
    sin = jax.numpy.sin
    return lambda x: sin(f(sin(x))) + x * f(x)


def in_jacobian(jax, f):
    jnp = jax.numpy
    return lambda x: jnp.sum(jax.jacfwd(lambda v: jax.vmap(f)(v * x))(jnp.asarray(XS))) * 0.3


DERIVATIVES = [in_grad, in_jvp, in_linearize, in_vjp, in_jacobian]
WRAPPERS = [
    in_jit,
    in_checkpoint,
    *DERIVATIVES,
    in_vmap,
    in_vmap_with_closure,
    in_named_vmap,
    in_scan,
    in_map,
    in_cond,
    in_switch,
    in_custom_jvp,
    in_custom_vjp,
    in_jit_with_closure,
    in_sines,
]

# ---- nestings -----------------------------------------------------------------------------------


def draw(rng):
    """-> a base function and the wrappers around it, with at most three derivatives."""
    wrappers = [rng.choice(WRAPPERS) for _ in range(rng.randint(2, 5))]
    while sum(w in DERIVATIVES for w in wrappers) > 3:
        wrappers.remove(rng.choice([w for w in wrappers if w in DERIVATIVES]))
    return rng.choice(BASES), wrappers


def nested(base, wrappers, jax):
    """The scalar function that they make."""
    f = partial(base, jax)
    for wrap in wrappers:
        f = wrap(jax, f)
    return f


def name_of(base, wrappers):
    """How a nesting is called in messages."""
    return ">".join([base.__name__, *(w.__name__ for w in wrappers)])


def difference(base, wrappers):
    """What is wrong with a nesting, or None. Where jax raises (a while loop in reverse, a
    custom_vjp in forward mode), tinyjax must raise, too, unless jax just lacks a rule."""

    def gradient(jax):
        return jax.grad(nested(base, wrappers, jax))(0.7)

    def compiled(jax):
        return jax.jit(jax.grad(nested(base, wrappers, jax)))(0.7)

    def oracle(jax):
        lowered = jax.jit(jax.grad(nested(base, wrappers, jax))).lower(0.7)
        quickly = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
        return lowered.compile(compiler_options=quickly)(0.7)

    want, oracle_error = attempt(oracle, ORACLE)
    if isinstance(oracle_error, NotImplementedError):
        want, oracle_error = attempt(gradient, OURS)
    for form in (gradient, compiled):
        got, error = attempt(form, OURS)
        if (error is None) != (oracle_error is None):
            return f"tinyjax: {error or got!r}\njax: {oracle_error or want!r}"
        if error is None and not np.allclose(got, want, rtol=1e-6, atol=1e-9, equal_nan=True):
            return f"tinyjax: {got}\njax: {want}"
    return None


def marked(number):
    """The first batch runs in `make check`, too."""
    return pytest.param(number, marks=[pytest.mark.slow] if number else [])


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.slow
def test_compiled():
    """A few nestings as compiled code, all of whose programs must compile."""
    rng = random.Random(f"{SEED}/compiled")
    for _ in range(8):
        base, wrappers = draw(rng)
        problem = difference(base, wrappers)
        assert problem is None, f"seed {SEED}, {name_of(base, wrappers)}:\n{problem}"


@pytest.mark.parametrize("number", list(map(marked, range(max(1, COUNT // BATCH)))))
def test_nestings(number, interpreted):
    """Nestings drawn with a seed of their own, so that one batch can be run again alone."""
    rng = random.Random(f"{SEED}/{number}")
    for _ in range(min(BATCH, COUNT)):
        base, wrappers = draw(rng)
        problem = difference(base, wrappers)
        assert problem is None, f"seed {SEED}, {name_of(base, wrappers)}:\n{problem}"
