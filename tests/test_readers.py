"""Readers: jitted functions find programs they know by generated code, and never the wrong one."""

import collections
import functools

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp

Point = collections.namedtuple("Point", "x y")


@jax.tree_util.register_pytree_node_class
class Box:
    """A container of the user's, with metadata."""

    def __init__(self, value, label):
        self.value, self.label = value, label

    def tree_flatten(self):
        return (self.value,), self.label

    @classmethod
    def tree_unflatten(cls, label, children):
        return cls(*children, label)


def same_result(f, *args, **kwargs):
    """f under jit gives what f gives, the first time and the next times; returns the result."""
    jitted = jax.jit(f)
    wanted = f(*args, **kwargs)
    for _ in range(3):
        out = jitted(*args, **kwargs)
        assert jax.tree.structure(out) == jax.tree.structure(wanted)
        for a, b in zip(jax.tree.leaves(out), jax.tree.leaves(wanted), strict=True):
            assert a == b and a.dtype == b.dtype and a.weak_type == jnp.asarray(b).weak_type
    assert jitted.cache_info()[:2] == (2, 1)
    return out


def test_containers_of_all_kinds_are_read():
    one, two = jnp.float32(1), jnp.float32(2)
    same_result(lambda d: {"b": d["a"] * d["b"], "a": d["a"]}, {"b": one, "a": two})
    same_result(lambda d: d[2] - d[10], {10: one, 2: two})
    same_result(lambda t: (t[0][0], [t[1], None]), ([one], two))
    same_result(lambda p: Point(p.y, p.x - p.y), Point(one, two))
    same_result(lambda d: d, collections.OrderedDict([("b", one), ("a", two)]))
    same_result(lambda d: d["b"], collections.defaultdict(list, a=one, b=two))
    same_result(lambda x, n, t: (x, n, t), one, None, ())
    same_result(lambda x, *rest, y, **more: x + rest[0] * y - more["z"], one, two, y=two, z=one)
    out = same_result(lambda b: Box(b.value + 1, b.label), Box(one, "label"))
    assert out.label == "label"


def test_numbers_are_read():
    one = jnp.float32(1)
    same_result(lambda x, y: x * y, one, 2.0)
    same_result(lambda x, y: x * y, one, 3)
    same_result(lambda x, y: jnp.where(y, x, 0), one, True)
    same_result(lambda x, lr: x - lr * x, one, lr=0.5)
    f = jax.jit(lambda x, y: x * y)
    assert [f(one, k).item() for k in (1.0, 2.0, 3)] == [1.0, 2.0, 3.0]
    assert f.cache_info()[:2] == (1, 2)  # of an int and a float there is a program each
    with pytest.raises(OverflowError, match="too large"):
        [f(one, k) for k in (1, 2, 2**40)]


def test_a_reader_reads_nothing_else():
    one = jnp.float32(1)
    f = jax.jit(lambda d, *rest, **more: (len(d), len(rest), len(more)))
    calls = [
        (({"a": one},), {}), (([one],), {}), (((one,),), {}), (({"b": one},), {}),
        (({"a": one, "b": one},), {}), (({"a": one}, one), {}), (({"a": one},), {"c": one}),
        (([one, one],), {}), (({"a": [one]},), {}), (({"a": {"a": one}},), {}),
        ((Point(one, one),), {}), ((collections.OrderedDict(a=one),), {}), (({"a": None},), {}),
    ]  # fmt: skip
    for _ in range(3):
        for args, kwargs in calls:
            n, rest, more = f(*args, **kwargs)
            assert (n, rest, more) == (len(args[0]), len(args) - 1, len(kwargs))


def test_metadata_tell_calls_apart():
    f = jax.jit(lambda b: b.value * len(b.label))
    boxes = [Box(jnp.float32(1), "a"), Box(jnp.float32(1), "abc")]
    assert [[f(b).item() for b in boxes] for _ in range(3)] == [[1.0, 3.0]] * 3


def test_types_of_leaves_tell_calls_apart():
    f = jax.jit(lambda x, y: x + y)
    kinds = [jnp.float32(1), jnp.int32(1), jnp.ones(1), jnp.ones((1, 1)), 1, 1.0, True, np.ones(2)]
    for _ in range(3):
        for x in kinds:
            for y in kinds:
                out, wanted = f(x, y), jnp.add(x, y)
                assert (out.shape, out.dtype, out.weak_type) == (
                    wanted.shape, wanted.dtype, wanted.weak_type)  # fmt: skip


def test_keys_and_numpy_arrays_are_read():
    f = jax.jit(lambda key, x: jax.random.normal(key, x.shape) + x)
    x = np.zeros(3, np.float32)
    for seed in (0, 1, 0):
        wanted = jax.random.normal(jax.random.key(seed), (3,))
        np.testing.assert_array_equal(f(jax.random.key(seed), x), wanted)
    x[:] = 1  # the program must not keep the caller's array
    np.testing.assert_allclose(f(jax.random.key(0), x), wanted + 1, rtol=1e-6)
    assert f.cache_info()[:2] == (3, 1)


def test_flags_tell_calls_apart():
    f = jax.jit(lambda x: x * 2)
    for _ in range(3):
        assert f(1.0).dtype == jnp.float32
        with jax.enable_x64(True):
            assert f(1.0).dtype == jnp.float64


def test_static_arguments_tell_calls_apart():
    @functools.partial(jax.jit, static_argnums=(1, -1), static_argnames="mode")
    def f(x, n, y, config, mode="add"):
        return x * n + y if mode == "add" else x * n - y + len(config)

    one, two = jnp.float32(1), jnp.float32(2)
    calls = [
        ((one, 2, two, ()), {}, 4.0), ((one, 3, two, ()), {}, 5.0), ((one, 2.0, two, ()), {}, 4.0),
        ((one, True, two, ()), {}, 3.0), ((one, 2, two, (1, 2)), {"mode": "sub"}, 2.0),
        ((one, 2, two, (1,)), {"mode": "sub"}, 1.0), ((one, 2, two, ()), {"mode": "add"}, 4.0),
        ((two, 1, one, ()), {}, 3.0),
    ]  # fmt: skip
    for _ in range(3):
        for args, kwargs, wanted in calls:
            assert f(*args, **kwargs) == wanted
    traced = len({(repr(args[1]), args[3], *kwargs.items()) for args, kwargs, _ in calls})
    assert f.cache_info().misses == traced
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        f(one, 2, two, [])


def test_functions_without_arguments_are_read():
    f = jax.jit(lambda: jnp.ones(2))
    assert [f().sum().item() for _ in range(3)] == [2.0] * 3
    assert f.cache_info()[:2] == (2, 1)


def test_a_static_value_that_does_not_equal_itself():
    f = jax.jit(lambda x, n: x * n, static_argnums=1)
    for _ in range(3):
        assert np.isnan(f(jnp.float32(2), float("nan")))


def test_keywords_may_have_any_name():
    f = jax.jit(lambda **names: names["self"] + names["args"])
    assert [f(self=1, args=2).item() for _ in range(3)] == [3, 3, 3]
