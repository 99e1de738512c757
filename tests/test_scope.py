"""Which value belongs to which transformation, and what happens to those that leave it."""

import threading

import numpy as np
import pytest
from programs import MAT, XS
from worlds import OURS, attempt, same, same_error

from tinyjax.core import EVAL, current_trace

# ---- exceptions ---------------------------------------------------------------------------------


class Boom(Exception):
    """What a traced function raises."""


def boom(*args):
    raise Boom


TRACERS = {
    "grad": lambda jax, f: jax.grad(f)(1.0),
    "jvp": lambda jax, f: jax.jvp(f, (1.0,), (1.0,)),
    "vjp": lambda jax, f: jax.vjp(f, 1.0),
    "linearize": lambda jax, f: jax.linearize(f, 1.0),
    "linear_transpose": lambda jax, f: jax.linear_transpose(f, 1.0)(1.0),
    "jacfwd": lambda jax, f: jax.jacfwd(f)(XS),
    "jacrev": lambda jax, f: jax.jacrev(f)(XS),
    "hessian": lambda jax, f: jax.hessian(f)(XS),
    "vmap": lambda jax, f: jax.vmap(f)(XS),
    "jit": lambda jax, f: jax.jit(f)(1.0),
    "make_jaxpr": lambda jax, f: jax.make_jaxpr(f)(1.0),
    "eval_shape": lambda jax, f: jax.eval_shape(f, 1.0),
    "checkpoint": lambda jax, f: jax.checkpoint(f)(1.0),
    "scan": lambda jax, f: jax.lax.scan(f, 1.0, XS),
    "map": lambda jax, f: jax.lax.map(f, XS),
    "cond": lambda jax, f: jax.lax.cond(True, f, lambda x: x, 1.0),
    "switch": lambda jax, f: jax.lax.switch(1, [lambda x: x, f], 1.0),
    "while_body": lambda jax, f: jax.lax.while_loop(lambda x: x < 2.0, f, 1.0),
    "while_cond": lambda jax, f: jax.lax.while_loop(f, lambda x: x, 1.0),
    "fori": lambda jax, f: jax.lax.fori_loop(0, 3, f, 1.0),
    "custom_jvp": lambda jax, f: jax.grad(with_jvp(jax, f))(1.0),
    "custom_vjp_fwd": lambda jax, f: jax.grad(with_vjp(jax, f, lambda r, ct: (ct,)))(1.0),
    "custom_vjp_bwd": lambda jax, f: jax.grad(with_vjp(jax, lambda x: (x, None), f))(1.0),
}


def with_jvp(jax, rule):
    """The identity with a forward-mode rule."""
    f = jax.custom_jvp(lambda x: x)
    f.defjvp(rule)
    return f


def with_vjp(jax, fwd, bwd):
    """The identity with a reverse-mode rule."""
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(fwd, bwd)
    return f


@pytest.mark.parametrize("name", TRACERS)
@pytest.mark.parametrize("around", ["nothing", "grad", "jit", "vmap"])
def test_exceptions_restore_the_trace(name, around):
    """After an exception in a traced function nothing is being traced."""
    wrap = {
        "nothing": lambda f: f(1.0),
        "grad": lambda f: OURS.grad(f)(1.0),
        "jit": lambda f: OURS.jit(f)(1.0),
        "vmap": lambda f: OURS.vmap(f)(XS),
    }[around]
    with pytest.raises(Boom):
        wrap(lambda x: TRACERS[name](OURS, boom))
    assert current_trace() is EVAL
    assert float(OURS.grad(OURS.numpy.sin)(0.0)) == 1.0


def test_exceptions_inside_a_trace_restore_the_outer_one():
    """A function may catch what an inner transformation raises, and go on."""

    def f(jax):
        def g(x):
            for trace in TRACERS.values():
                with pytest.raises(Boom):
                    trace(jax, boom)
            return x * x

        return jax.grad(g)(3.0), jax.jit(g)(3.0), jax.vmap(g)(XS)

    same(f)


# ---- threads ------------------------------------------------------------------------------------


def test_threads_trace_independently():
    """What one thread traces another one does not see."""
    jax = OURS
    seen, inside, done = [], threading.Event(), threading.Event()

    def other():
        inside.wait(10)
        seen.append(current_trace() is EVAL)
        seen.append(float(jax.grad(lambda x: x * x * x)(2.0)))
        seen.append(float(jax.jit(lambda x: x + 1.0)(2.0)))
        done.set()

    def f(x):
        inside.set()
        assert done.wait(30)
        return x * x

    thread = threading.Thread(target=other)
    thread.start()
    assert float(jax.jit(jax.grad(f))(3.0)) == 6.0
    thread.join()
    assert seen == [True, 12.0, 3.0]


def test_many_threads_call_one_jitted_function():
    """One jitted function, new shapes, several threads."""
    jax = OURS
    f, wrong = jax.jit(lambda x: jax.numpy.sum(jax.numpy.sin(x) * 2.0)), []

    def work(seed):
        for n in range(1, 9):
            x = np.linspace(0.0, 1.0, n).astype(np.float32) + seed
            if not np.allclose(f(x), 2.0 * np.sin(x).sum(), rtol=1e-5, atol=1e-5):
                wrong.append((seed, n))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- captured arrays ----------------------------------------------------------------------------


def test_a_captured_numpy_array_is_copied():
    """What happens to a NumPy array after the call changes nothing that was computed or traced."""
    jax = OURS
    w = np.ones(3, np.float32)
    f = jax.jit(lambda x: jax.numpy.sum(x * w))
    y, push = jax.linearize(lambda x: x * w, XS)
    _, pull = jax.vjp(lambda x: x * w, XS)
    jaxpr = jax.make_jaxpr(lambda x: x * w)(XS)
    before = float(f(XS))
    kept, given = jax.numpy.asarray(w), jax.device_put(w)
    w[:] = 100.0
    assert float(f(XS)) == before
    assert np.array_equal(push(XS), XS)
    assert np.array_equal(pull(XS)[0], XS)
    assert np.array_equal(y, XS)
    assert np.array_equal(kept, np.ones(3)) and np.array_equal(given, np.ones(3))
    assert np.array_equal(jaxpr.consts[0], np.ones(3))


def test_an_argument_changed_after_the_call_changes_nothing():
    """The same for arguments."""
    jax = OURS
    x = XS.copy()
    y, pull = jax.vjp(lambda x: x * x, x)
    batch = jax.vmap(lambda a: a)(x)
    same_x = jax.jit(lambda x: x)(x)
    x[:] = 100.0
    assert np.allclose(pull(np.ones(3, np.float32))[0], 2.0 * XS)
    assert np.array_equal(batch, XS) and np.array_equal(same_x, XS)


def test_results_do_not_share_memory_with_what_users_may_write():
    """np.asarray of a result is read-only."""
    view = np.asarray(OURS.numpy.asarray(XS) * 2.0)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0


# ---- leaks through everything -------------------------------------------------------------------

KEPT = {}


class Box:
    """Something with an attribute."""

    value = None


def through_list(store):
    store.append(None)
    return lambda v: store.__setitem__(0, v), lambda: store[0]


HOLDERS = {
    "list": lambda: through_list([]),
    "global": lambda: (lambda v: KEPT.__setitem__("x", v), lambda: KEPT["x"]),
    "attribute": lambda: (lambda v: setattr(Box, "value", v), lambda: Box.value),
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("name", ["grad", "jvp", "vmap", "jit", "scan", "checkpoint"])
def test_leaks_name_the_users_line(name, holder):
    """A tracer used after its transformation: the message says where it is used."""
    keep, kept = HOLDERS[holder]()

    def run(jax):
        def f(x, *_):
            keep(x * 2.0)
            return (x, x) if name == "scan" else x

        TRACERS[name](jax, f)
        return kept() + 1.0

    text = same_error(run, "unexpected tracer", "test_scope.py")
    assert "was traced" in text or "differentiated" in text or "vmap" in text


def test_leak_through_a_closure():
    """A function made while tracing must not run afterwards."""

    def run(jax):
        made = []

        @jax.jit
        def f(x):
            made.append(lambda y: x * y)
            return x

        f(1.0)
        return jax.jit(made[0])(2.0)

    same_error(run, "unexpected tracer", "argument x of f")


def test_leaked_tracers_do_not_convert():
    """float, bool and NumPy of a leaked tracer, too."""

    def leaked(jax):
        box = []
        jax.jit(lambda x: box.append(x) or x)(1.0)
        return box[0]

    for use in (bool, float, int):
        _, error = attempt(lambda jax, use=use: use(leaked(jax)), OURS)
        assert type(error).__name__ == "UnexpectedTracerError"


# ---- tracers where Python needs values ----------------------------------------------------------

NEEDS_VALUES = {
    "bool": (lambda jax, x: bool(x > 0), "TracerBoolConversionError", "lax.cond"),
    "if": (lambda jax, x: 1.0 if x > 0 else x, "TracerBoolConversionError", "jnp.where"),
    "while": (lambda jax, x: x if x else 1.0, "TracerBoolConversionError", ""),
    "and": (lambda jax, x: (x > 0) and (x < 1), "TracerBoolConversionError", "&"),
    "in": (lambda jax, x: x in [1.0, 2.0], "TracerBoolConversionError", ""),
    "float": (lambda jax, x: float(x), "ConcretizationTypeError", "float"),
    "int": (lambda jax, x: int(x), "ConcretizationTypeError", "int"),
    "complex": (lambda jax, x: complex(x), "ConcretizationTypeError", "complex"),
    "item": (lambda jax, x: x.item(), "ConcretizationTypeError", "item"),
    "range": (lambda jax, x: list(range(x)), "TracerIntegerConversionError", "static_argnames"),
    "list": (lambda jax, x: [1, 2, 3][x], "TracerIntegerConversionError", "jnp.array"),
    "numpy": (lambda jax, x: np.sin(x), "TracerArrayConversionError", "tinyjax.numpy"),
    "asarray": (lambda jax, x: np.asarray(x), "TracerArrayConversionError", "tinyjax.numpy"),
}


@pytest.mark.parametrize("name", NEEDS_VALUES)
def test_traced_values_are_not_known(name):
    """JAX's error classes; the message shows the user's line and what to write instead."""
    use, class_name, hint = NEEDS_VALUES[name]
    x = 1 if name in ("range", "list") else 1.0

    def run(jax):
        return jax.jit(lambda x: use(jax, x))(x)

    text = same_error(run, hint, "test_scope.py")
    assert type(attempt(run, OURS)[1]).__name__ == class_name
    assert "argument x" in text or "It was made by" in text


@pytest.mark.parametrize("name", ["bool", "float", "int", "item", "numpy", "range"])
def test_batches_are_not_one_value(name):
    """The same under vmap."""
    use, _, _ = NEEDS_VALUES[name]
    xs = np.arange(3) if name == "range" else XS
    same_error(lambda jax: jax.vmap(lambda x: use(jax, x))(xs), "vmap")


@pytest.mark.parametrize("name", ["bool", "if", "and", "int", "item"])
def test_differentiation_knows_the_values(name):
    """Under grad alone values are known: Python's control flow works."""

    def run(jax):
        def f(x):
            NEEDS_VALUES[name][0](jax, x)
            return x * 3.0 if x > 0.5 else x

        return jax.grad(f)(1.0), jax.grad(jax.grad(f))(1.0), jax.jvp(f, (0.2,), (1.0,))

    same(run)


def test_masks_and_shapes_that_depend_on_values():
    """Boolean masks and data-dependent shapes."""

    def masked(jax):
        return jax.jit(lambda x: x[x > 0])(XS)

    def shaped(jax):
        return jax.jit(lambda n: jax.numpy.zeros(n))(3)

    same_error(masked, "boolean", "where")
    same_error(shaped, "shape", "static")


def test_assignment_shows_what_to_write():
    """x[i] = v inside and outside of a traced function."""

    def run(jax):
        x = jax.numpy.asarray(XS)
        x[0] = 1.0

    def traced(jax):
        def f(x):
            x[0] = 1.0
            return x

        return jax.jit(f)(XS)

    same_error(run, "immutable", "x.at[0].set(1.0)")
    same_error(traced, "immutable", "x.at[0].set(1.0)")


def test_iteration_unrolls():
    """A traced array of known length can be unpacked."""

    def run(jax):
        def f(x):
            a, b, c = x
            return sum(a * y for y in x) + b * c + len(x)

        return jax.jit(f)(XS), jax.grad(f)(XS), jax.vmap(f)(MAT)

    same(run)
    same_error(lambda jax: jax.jit(lambda x: [*x])(1.0), "0-d")
