"""jit: static arguments, how often it traces, what its programs look like, how to switch it off."""

import functools
from typing import NamedTuple

import numpy as np
import pytest
from programs import MAT, XS
from worlds import ORACLE, OURS, same, same_error

BOTH = [OURS, ORACLE]


class Counter:
    """A function that counts how often it is traced."""

    def __init__(self, f):
        self.f, self.count = f, 0

    def __call__(self, *args, **kwargs):
        self.count += 1
        return self.f(*args, **kwargs)


def counted(f, calls, **options):
    """How often jit traces f for these (args, kwargs): must be the same in both worlds."""
    counts = []
    for jax in BOTH:
        counter = Counter(f)
        wrapper = functools.wraps(f)(lambda *a, counter=counter, **k: counter(*a, **k))
        jitted = jax.jit(wrapper, **options)
        for args, kwargs in calls(jax):
            jitted(*args, **kwargs)
        counts.append(counter.count)
    assert counts[0] == counts[1]
    return counts[0]


def calls(*args_list):
    """Calls with positional arguments only, the same in both worlds."""
    return lambda jax: [(args, {}) for args in args_list]


# ---- static arguments ---------------------------------------------------------------------------


def power(x, n, scale=1.0):
    return sum([x * scale] * n)


def test_static_arguments_by_position_and_name():
    """Each completes the other."""
    same(lambda jax: jax.jit(power, static_argnums=1)(XS, 3))
    same(lambda jax: jax.jit(power, static_argnums=(1,))(XS, n=3))
    same(lambda jax: jax.jit(power, static_argnames="n")(XS, 3))
    same(lambda jax: jax.jit(power, static_argnames=("n", "scale"))(XS, 3, scale=2.0))
    same(lambda jax: jax.jit(power, static_argnums=-2)(XS, 3, 2.0))
    same(lambda jax: jax.jit(power, static_argnums=(1, 2))(XS, 3))
    same(lambda jax: jax.jit(power, static_argnames=["n"])(x=XS, n=2))


def test_static_arguments_of_any_kind():
    """Strings, functions, None, tuples."""

    def f(x, how, g=None, shape=()):
        y = x * 2.0 if how == "double" else x
        return (g(y) if g else y) + sum(shape)

    options = {"static_argnames": ("how", "g", "shape")}
    same(lambda jax: jax.jit(f, **options)(XS, "double"))
    same(lambda jax: jax.jit(f, **options)(XS, "other", jax.numpy.sin, shape=(1, 2)))
    same(lambda jax: jax.jit(f, **options)(XS, how="double", g=None))


def test_static_arguments_must_be_hashable():
    """Lists, dicts and arrays cannot select a program."""
    for value in ([1, 2], {"a": 1}, np.ones(2)):
        text = same_error(
            lambda jax, value=value: jax.jit(power, static_argnums=1)(XS, value), "non-hashable"
        )
        assert "static" in text and "power" in text

    def array(jax):
        return jax.jit(power, static_argnames="n")(XS, n=jax.numpy.arange(2))

    same_error(array, "non-hashable", "n")


def test_static_arguments_must_exist():
    """A position or a name that the function does not have."""
    same_error(lambda jax: jax.jit(power, static_argnums=5), "static_argnums", "3")
    same_error(lambda jax: jax.jit(power, static_argnums=-4), "static_argnums")
    same_error(lambda jax: jax.jit(power, static_argnames="missing"), "static_argnames", "missing")
    same(lambda jax: jax.jit(lambda *args: args[0] * args[2], static_argnums=2)(XS, 1.0, 3))
    same(lambda jax: jax.jit(lambda x, **kw: x * kw["n"], static_argnames="n")(XS, n=3))


def test_a_traced_value_cannot_be_static():
    """A jitted function inside another one."""
    inner = lambda jax: jax.jit(power, static_argnames="n")
    same_error(lambda jax: jax.jit(lambda n: inner(jax)(1.0, n=n))(3), "non-hashable", "n")


def test_static_values_select_programs():
    """1, True and 1.0 are different settings; equal ones share a program."""
    f = lambda x, s: x
    options = {"static_argnums": 1}
    assert counted(f, calls((1.0, 1), (2.0, 1), (1.0, 2)), **options) == 2
    assert counted(f, calls((1.0, 1), (1.0, True), (1.0, 1.0)), **options) == 3
    assert counted(f, calls((1.0, "a"), (1.0, "b"), (1.0, "a")), **options) == 2
    assert counted(f, calls((1.0, (1, 2)), (1.0, (1, 2))), **options) == 1
    assert counted(
        lambda x, s=1: x, lambda jax: [((1.0,), {}), ((1.0,), {"s": 1})], static_argnames="s"
    ) in (1, 2)


# ---- how often it traces ------------------------------------------------------------------------


def test_one_trace_per_kind_of_argument():
    """Shape, dtype, weak type, structure."""
    double = lambda x: x * 2
    assert counted(double, calls((XS,), (XS + 1,), (XS[:2],), (XS[:2] * 3,))) == 2
    assert counted(double, calls((1,), (2,), (1.0,), (2.5,), (True,), (1j,))) == 4
    assert counted(double, calls((1.0,), (np.float32(1.0),), (np.float64(2.0),))) == 2
    assert counted(double, calls((np.int32(1),), (np.int64(1),), (np.int8(1),), (1,))) == 3
    first = lambda t: t[0]
    assert counted(first, calls(((1.0, 2.0),), ((3.0, 4.0),), ([1.0, 2.0],), ((1.0,),))) == 3
    assert counted(lambda d: d["a"], calls(({"a": 1.0},), ({"a": 2.0, "b": 1.0},))) == 2


def test_weak_results_come_back():
    """A Python number and a weakly typed result are one kind; a strong one is another."""

    def run(jax):
        x = jax.numpy.asarray(1.0)
        return [((1.0,), {}), ((x,), {}), ((x + 1,), {}), ((jax.numpy.float32(1.0),), {})]

    assert counted(lambda x: x * 2, run) == 2


def test_keywords_and_positions_differ():
    """f(1.0), f(x=1.0), f(y=..., x=...) and f(x=..., y=...)."""
    both = lambda x, y=2.0: x * y
    forms = lambda jax: [
        ((1.0,), {"y": 2.0}),
        ((3.0,), {"y": 4.0}),
        ((), {"x": 1.0, "y": 2.0}),
        ((), {"y": 2.0, "x": 1.0}),
    ]
    assert counted(both, forms) == 2


@pytest.mark.parametrize("jax", BOTH, ids=["tinyjax", "jax"])
def test_closures_over_tracers_are_traced_again(jax):
    """A function that captured a tracer gives no stale results."""
    seen = []

    def outer(scale):
        @jax.jit
        def inner(x):
            seen.append(1)
            return x * scale

        return inner(2.0) + inner(3.0)

    assert float(jax.grad(outer)(1.0)) == 5.0
    assert float(jax.jit(outer)(2.0)) == 10.0
    assert np.allclose(jax.vmap(outer)(XS), XS * 5.0)


def test_one_function_in_different_surroundings():
    """One jitted function that captures a tracer that changes: every call sees its own. (In JAX
    the second call meets the first one's tracer.)"""
    jax, cell = OURS, [None]
    inner = jax.jit(lambda x: x * cell[0])

    def outer(scale):
        cell[0] = scale
        return inner(2.0)

    assert float(jax.grad(outer)(1.0)) == 2.0
    assert float(jax.grad(outer)(5.0)) == 2.0
    assert np.allclose(jax.vmap(outer)(XS), XS * 2.0)


@pytest.mark.parametrize("jax", BOTH, ids=["tinyjax", "jax"])
def test_transformations_share_the_trace(jax):
    """grad, vmap and jit of a jitted function trace it once more at most."""
    seen = []

    @jax.jit
    def f(x):
        seen.append(1)
        return x * x

    for _ in range(3):
        f(1.0), jax.grad(f)(1.0), jax.vmap(f)(XS), jax.jit(f)(1.0), jax.grad(jax.grad(f))(1.0)
    assert len(seen) <= 2


@pytest.mark.parametrize("jax", BOTH, ids=["tinyjax", "jax"])
def test_flags_are_part_of_the_key(jax):
    """x64 and the promotion mode select programs of their own."""
    f = jax.jit(lambda x: x + np.float64(1.0))
    assert f(np.float64(1.0)).dtype == np.float32
    with jax.enable_x64(True):
        assert f(np.float64(1.0)).dtype == np.float64
    assert f(np.float64(1.0)).dtype == np.float32
    g = jax.jit(lambda x: x + np.ones((), np.int32))
    g(np.float32(1.0))
    with jax.numpy_dtype_promotion("strict"), pytest.raises(Exception, match="strict"):
        g(np.float32(1.0))
    assert g(np.float32(1.0)).dtype == np.float32


def test_cache_is_visible():
    """clear_cache traces anew; cache_info counts."""
    seen = []
    f = OURS.jit(lambda x: seen.append(1) or x)
    f(1.0), f(2.0), f(XS)
    assert len(seen) == 2 and f._cache_size() == 2
    info = f.cache_info()
    assert info.misses == 2 and info.hits == 1
    f.clear_cache()
    f(1.0)
    assert len(seen) == 3


# ---- what can be jitted -------------------------------------------------------------------------


class Model:
    """Methods, jitted in every way."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale

    def method(self, x, n=1):
        return x * self.scale * n


class Point(NamedTuple):
    """A pytree."""

    x: object
    y: object


def test_callables_of_every_kind():
    """Methods, partials, callable objects, builtins, lambdas, other transformations."""
    same(lambda jax: jax.jit(Model(2.0))(XS))
    same(lambda jax: jax.jit(Model(2.0).method)(XS, n=3))
    same(lambda jax: jax.jit(Model(3.0).method, static_argnames="n")(XS, 2))
    same(lambda jax: jax.jit(functools.partial(power, n=2))(XS))
    same(lambda jax: jax.jit(functools.partial(power, XS), static_argnums=0)(2))
    same(lambda jax: jax.jit(jax.numpy.sum)(XS))
    same(lambda jax: jax.jit(jax.vmap(jax.grad(lambda x: x**3)))(XS))
    same(lambda jax: jax.jit(lambda *args, **kw: (args, kw))(1.0, XS, a=2.0))
    same(lambda jax: jax.jit(lambda p: p._replace(x=p.y))(Point(1.0, 2.0)))


def test_decorators():
    """Plain, with options, on methods and with static self."""

    def run(jax):
        @jax.jit
        def plain(x):
            return x + 1.0

        @jax.jit(static_argnames="n")
        def with_options(x, n):
            return x * n

        @functools.partial(jax.jit, static_argnums=(1,))
        def partial(x, n):
            return x * n

        class Layer:
            w = 3.0

            @functools.partial(jax.jit, static_argnums=0)
            def apply(self, x):
                return x * self.w

        return plain(1.0), with_options(2.0, n=3), partial(2.0, 3), Layer().apply(XS)

    same(run)


def test_arguments_that_are_no_arrays():
    """A string, a function or an object must be static: the message says so."""
    for value in ("text", len, object()):
        text = same_error(lambda jax, value=value: jax.jit(lambda x: x)(value), "argument")
        assert "static" in text
    same_error(lambda jax: jax.jit(lambda x: x)({"a": [1.0, "text"]}), "text")
    same_error(lambda jax: jax.jit(lambda x: "text")(1.0), "output", "text")
    same_error(lambda jax: jax.jit(lambda x: len)(1.0), "output")
    same_error(lambda jax: jax.jit(3.0), "callable")
    same_error(lambda jax: jax.jit(lambda x: x, unknown=1), "unknown")
    same_error(lambda jax: jax.jit(lambda x: x)(1.0, 2.0), "positional argument")
    same_error(lambda jax: jax.jit(lambda x: x)(y=1.0), "y")


def test_structures_come_back():
    """Containers, None, namedtuples, nested; empty ones, too."""

    def f(tree):
        return {"same": tree, "n": None, "empty": ((), [], {}), "p": Point(tree["a"], 1.0)}

    same(lambda jax: jax.jit(f)({"a": XS, "b": (1.0, [2, None])}))
    same(lambda jax: jax.jit(lambda: ())())
    same(lambda jax: jax.jit(lambda x: x)({}))


# ---- looking inside -----------------------------------------------------------------------------


def test_lower_trace_and_compile():
    """The stages of compilation, by hand."""

    def run(jax):
        f = jax.jit(lambda x, y: {"s": x * 2.0 + y})
        lowered = f.lower(XS, 1.0)
        struct = f.lower(jax.ShapeDtypeStruct((3,), np.float32), 1.0)
        return (
            lowered.compile()(XS, 1.0),
            struct.compile()(XS, 1.0),
            f.trace(XS, 1.0).lower().compile()(XS, 1.0),
        )

    same(run)
    f = OURS.jit(lambda x: x * 2.0)
    assert f.lower(XS).as_text() == str(OURS.make_jaxpr(lambda x: x * 2.0)(XS))
    assert "def " in f.lower(XS).kernels()
    assert f.lower(XS).out_info.shape == (3,)
    with pytest.raises(TypeError):
        f.lower(XS).compile()({"a": XS})


def test_eval_shape():
    """Shapes and dtypes without values."""

    def info(tree, jax):
        leaves = jax.tree_util.tree_leaves(tree)
        return [(leaf.shape, str(leaf.dtype)) for leaf in leaves]

    def f(x, y):
        return {"a": x @ y, "b": (x.sum(), 3)}

    for jax in BOTH:
        struct = jax.ShapeDtypeStruct((2, 3), np.float32)
        other = jax.ShapeDtypeStruct((3, 4), np.float32)
        want = [((2, 4), "float32"), ((), "float32"), ((), "int32")]
        assert info(jax.eval_shape(f, struct, other), jax) == want
        assert info(jax.eval_shape(f, np.ones((2, 3), np.float32), other), jax) == want
        assert info(jax.jit(f).eval_shape(struct, other), jax) == want
        assert info(jax.eval_shape(lambda d: d["x"], {"x": struct}), jax) == [((2, 3), "float32")]
    same_error(lambda jax: jax.eval_shape(lambda x: 1.0 if x > 0 else 2.0, 1.0), "boolean")


def test_make_jaxpr():
    """Static arguments, keyword arguments, the shapes of the outputs, captured arrays."""
    forms = [
        lambda jax: jax.make_jaxpr(power, static_argnums=1)(XS, 2),
        lambda jax: jax.make_jaxpr(lambda x, y: x * y)(XS, y=2.0),
        lambda jax: jax.make_jaxpr(lambda d: (d["b"], d["a"] * 2))({"b": 1, "a": 2.0}),
        lambda jax: jax.make_jaxpr(lambda x: x, return_shape=True)(XS)[0],
        lambda jax: jax.make_jaxpr(lambda: 1.0)(),
        lambda jax: jax.make_jaxpr(lambda x, y: x)(1.0, 2.0),
        lambda jax: jax.make_jaxpr(jax.grad(lambda x: x * x))(2.0),
    ]
    for form in forms:
        assert str(form(OURS)) == str(form(ORACLE))
    shapes = OURS.make_jaxpr(lambda x: {"a": x, "b": 1}, return_shape=True)(XS)[1]
    assert repr(shapes) == (
        "{'a': ShapeDtypeStruct(shape=(3,), dtype=float32), "
        "'b': ShapeDtypeStruct(shape=(), dtype=int32, weak_type=True)}"
    )
    closed = OURS.make_jaxpr(lambda x: x + OURS.numpy.asarray(MAT))(1.0)
    assert np.array_equal(closed.consts[0], MAT)
    same_error(lambda jax: jax.make_jaxpr(3.0), "callable")


# ---- switched off -------------------------------------------------------------------------------


@pytest.mark.parametrize("jax", BOTH, ids=["tinyjax", "jax"])
def test_disable_jit(jax):
    """Functions run eagerly: printing and Python's control flow see values."""
    seen = []

    @jax.jit
    def f(x):
        seen.append(float(x))
        return x * 2.0 if x > 0 else x

    with jax.disable_jit():
        assert float(f(1.0)) == 2.0 and float(f(-1.0)) == -1.0
        assert float(jax.lax.cond(True, lambda x: x + float(x), lambda x: x, 1.0)) == 2.0
        assert float(jax.lax.switch(1, [lambda x: x, lambda x: x + float(x)], 1.0)) == 2.0
        carry, ys = jax.lax.scan(lambda k, a: (k + a, k * float(a)), 0.0, XS)
        total = jax.lax.while_loop(lambda c: bool(c < 3), lambda c: c + int(c) + 1, 0)
        assert int(total) == 3
        assert float(jax.lax.fori_loop(0, 3, lambda i, c: c + float(i), 0.0)) == 3.0
        assert np.allclose(jax.grad(lambda x: x * f(2.0))(1.0), 4.0)
        assert float(jax.lax.fori_loop(3, 0, lambda i, c: c + float(i), 0.0)) == 0.0
        batch = jax.vmap(lambda x: jax.lax.cond(x > 0.5, jax.numpy.sin, jax.numpy.cos, x))(XS)
        assert np.allclose(batch, np.where(XS > 0.5, np.sin(XS), np.cos(XS)))
        loops = jax.vmap(lambda x: jax.lax.while_loop(lambda c: c < 1.0, lambda c: c * 2.0, x))(XS)
        assert np.allclose(loops, [1.2, 1.4, 1.1])
    assert seen == [1.0, -1.0, 2.0] and np.allclose(carry, XS.sum(), atol=1e-6)
    assert ys.shape == (3,)


def test_trees_of_the_same_arrays_are_told_apart():
    """Calls take a short way the second time; what they return has the structure of their own."""
    x, y = (OURS.numpy.asarray(a) for a in (XS, XS + 1))
    trees = [(x, y), [x, y], {"a": x, "b": y}, {"b": x, "c": y}, ((x,), {"a": (y,)}), [x, [y]]]
    f = OURS.jit(lambda tree: OURS.tree_util.tree_map(lambda z: z * 2, tree))
    for _ in range(3):
        for tree in trees:
            assert OURS.tree_util.tree_structure(f(tree)) == OURS.tree_util.tree_structure(tree)
            for found, leaf in zip(*map(OURS.tree_util.tree_leaves, (f(tree), tree)), strict=True):
                np.testing.assert_array_equal(found, np.asarray(leaf) * 2)
    same_twice = calls(((XS, XS),), ([XS, XS],), ({"a": XS, "b": XS},), ((XS, XS),))
    assert counted(lambda tree: tree, same_twice) == 3


def test_what_looks_inside_shares_the_traces_of_calls():
    """make_jaxpr, lower, trace, eval_shape and calls trace a function once, as in the oracle."""

    def counts(jax):
        traces, seen = [], []

        def f(x, n=1):
            traces.append(1)
            return x * n

        jitted = jax.jit(f, static_argnames="n")
        weak, strong = 1.0, jax.ShapeDtypeStruct((), "float32")
        for step in (
            lambda: jax.make_jaxpr(f)(weak),
            lambda: jax.make_jaxpr(f)(weak),
            lambda: jax.jit(f)(weak),
            lambda: jax.jit(f).lower(weak),
            lambda: jax.jit(f).trace(strong),
            lambda: jax.eval_shape(f, strong),
            lambda: jax.eval_shape(f, 1),
            lambda: jitted.lower(weak, n=2),
            lambda: jitted(weak, n=2),
            lambda: jitted(weak, n=3),
            lambda: jax.make_jaxpr(jax.grad(f))(weak),
            lambda: jax.make_jaxpr(lambda x: jax.lax.psum(f(x), "i"), axis_env=[("i", 3)])(weak),
            lambda: jax.make_jaxpr(f, axis_env=[("i", 3)])(weak),
            lambda: jitted.clear_cache(),
            lambda: jitted(weak, n=3),
        ):
            step()
            seen.append(len(traces))
        return seen

    assert counts(OURS) == counts(ORACLE)
