"""Why a function is traced again: each reason in words, and the table of what is kept."""

import dataclasses
import functools
import logging
import math
import os
import subprocess
import sys
import unittest.mock
from collections import namedtuple

import jax
import pytest

import tinyjax
import tinyjax.numpy as jnp


@pytest.fixture
def said(caplog):
    """What the flag makes tinyjax log, message by message."""
    caplog.set_level(logging.WARNING, logger="tinyjax")
    with tinyjax.explain_retraces(True):
        yield lambda: [r.getMessage() for r in caplog.records if r.name == "tinyjax"]


def last(said, *words):
    """The last message, which holds these words and is short."""
    text = said()[-1]
    for word in words:
        assert word in text, f"{word!r} missing in:\n{text}"
    assert len(text.splitlines()) <= 8, text
    return text


def make():
    """A jitted function with two static arguments."""

    @functools.partial(tinyjax.jit, static_argnames=("n", "g"))
    def step(x, n=2, g=None):
        return x * 2

    return step


# ---- nothing to say ------------------------------------------------------------------------------


def test_first_traces_and_hits_say_nothing(said):
    step = make()
    step(1.0), step(2.0), step(3.0)
    tinyjax.jit(lambda x: x)(1.0), tinyjax.jit(lambda x: x + 1)(1.0)
    tinyjax.vmap(tinyjax.jit(jnp.sin))(jnp.ones(3))
    assert said() == []


def test_off_by_default(caplog):
    step = make()
    step(1.0), step(jnp.ones(3))
    assert tinyjax.config.tinyjax_explain_retraces is False
    assert not caplog.records


def test_parts_of_this_package_are_not_the_users_business(said):
    f = tinyjax.jit(lambda x: jnp.var(x) + jnp.linalg.norm(x))
    f(jnp.ones(3))
    assert said() == []
    f(jnp.ones(4))
    assert len(said()) == 1


def test_jaxprs_are_the_same_with_the_flag(said):
    step = make()
    with tinyjax.explain_retraces(False):
        plain = str(tinyjax.make_jaxpr(step)(1.0))
    assert str(tinyjax.make_jaxpr(step)(1.0)) == plain


# ---- arrays --------------------------------------------------------------------------------------


def test_weak_types(said):
    step = make()
    step(1.0), step(jnp.float32(1))
    text = last(said, "x: float32[] weak -> float32[]", "jnp.asarray(x, jnp.float32)", "weak type")
    assert f"step ({__file__}" in text
    assert text.count(__file__) == 3  # where it is defined, called, and was called before
    assert "Entry 1" in text and "test_weak_types" in text


def test_dtypes(said):
    step = make()
    step(jnp.ones(3)), step(jnp.ones(3, int))
    last(said, "x: float32[3] -> int32[3]", "jnp.asarray(x, jnp.float32)")
    step(jnp.ones(3, bool))
    last(said, "-> bool[3]")


def test_the_type_that_suits_all_calls(said):
    """Not that of the nearest earlier call alone, which might lose something."""
    f = tinyjax.jit(lambda x: x)
    f(1.0), f(1)
    last(said, "jnp.asarray(x, jnp.float32)")
    f(1j)
    last(said, "-> complex64[] weak", "jnp.asarray(x, jnp.complex64)")
    g = tinyjax.jit(lambda x: x)
    g(jnp.ones(3)), g(jnp.ones(3, jnp.bfloat16)), g(jnp.ones(3, int))
    last(said, "bfloat16[3] -> int32[3]", "jnp.asarray(x, jnp.float32)")


def test_keys(said):
    step = tinyjax.jit(lambda k: tinyjax.random.bits(k))
    step(tinyjax.random.key(1)), step(tinyjax.random.PRNGKey(1))
    last(said, "k: ", "uint32[2]")


def test_shapes(said):
    step = make()
    step(jnp.ones(3)), step(jnp.ones(4))
    last(said, "x: float32[3] -> float32[4]", "pad x", "jnp.pad")
    step(jnp.ones((9, 4)))
    last(said, "x: float32[4] -> float32[9,4]", "jax.vmap(f)", "Entry 2")


def test_the_nearest_entry_is_named(said):
    f = tinyjax.jit(lambda x, y, z: x)
    one, three = jnp.float32(1), jnp.ones(3)
    f(one, one, one), f(three, three, one), f(three, three, three)
    text = last(said, "Entry 2", "z: float32[] -> float32[3]")
    assert "  x:" not in text and "  y:" not in text
    g = tinyjax.jit(lambda x: x)
    g(jnp.ones(3)), g(jnp.ones(3, int)), g(jnp.ones(4))
    last(said, "Entry 1", "x: float32[3] -> float32[4]")  # of a type that differs less


def test_many_differences_are_few_lines(said):
    f = tinyjax.jit(lambda p: p["a"])
    f(dict.fromkeys("abcdefg", 1.0)), f({k: jnp.ones(2) for k in "abcdefg"})
    last(said, "p['a']: float32[] weak -> float32[2]", "and 4 more")


# ---- structure -----------------------------------------------------------------------------------


def test_pytrees_are_told_by_paths(said):
    f = tinyjax.jit(lambda params, x: params["w"] * x)
    f({"w": jnp.ones(3)}, 1.0), f({"w": jnp.ones(4)}, 1.0)
    last(said, "params['w']: float32[3] -> float32[4]", "pad params['w']")
    f({"w": jnp.ones(4), "b": 1.0}, 1.0)
    last(said, "params['b']: absent -> float32[] weak", "one structure")
    f({"w": jnp.ones(4), "b": None}, 1.0)
    assert "params" in said()[-1]
    f({"w": jnp.ones(4), "b": [1.0]}, 1.0)
    last(said, "params['b'][0]: absent -> float32[] weak")
    f({"w": jnp.ones(4), "b": (1.0,)}, 1.0)
    last(said, "params['b']: list -> tuple", "one structure")


def test_none_has_a_place(said):
    """A key whose value is None is not the same as no key."""
    f = tinyjax.jit(lambda p: p["w"])
    one = jnp.ones(3)
    f({"w": one}), f({"w": one, "n": one}), f({"w": one, "b": None})
    text = last(said, "Entry 1", "  p['b']: absent -> None")
    assert "p['n']" not in text
    f({"w": one, "b": one})
    last(said, "p['b']: None -> float32[3]")
    table = str(f.cache_info())
    assert "(p['w']: float32[3])" in table
    assert "(p['w']: float32[3], p['b']: None)" in table
    g = tinyjax.jit(lambda x, y=None, *more, k=None: x)
    g(one), g(one, None)
    last(said, "absent -> None")
    g(one, one, None, k=None)
    last(said, "k: absent -> None")


def test_none_is_absent(said):
    f = tinyjax.jit(lambda x, mask: x)
    f(1.0, 2.0), f(1.0, None)
    last(said, "mask: float32[] weak -> None", "an array instead of None")


def test_classes_of_one_shape(said):
    Point, Pair = namedtuple("Point", "x y"), namedtuple("Pair", "x y")
    f = tinyjax.jit(lambda p: p.x)
    f(Point(1.0, 2.0)), f(Pair(1.0, 2.0))
    last(said, "Point", "Pair", "p: ")


def test_keywords(said):
    f = tinyjax.jit(lambda x, y: x)
    f(1.0, 2.0), f(1.0, y=2.0)
    last(said, "y: by position -> by keyword", "the same way in all calls")
    g = tinyjax.jit(lambda x, **options: x)
    g(1.0, a=1.0), g(1.0, b=1.0)
    last(said, "a: float32[] weak -> absent", "b: absent -> float32[] weak")


# ---- static values -------------------------------------------------------------------------------


def test_static_values(said):
    step = make()
    step(1.0, n=3), step(1.0, n=4)
    last(said, "n (static): 3 -> 4", "let n be traced", "static_argnames")
    step(1.0, n=True), step(1.0, n=1)
    last(said, "n (static): True (bool) -> 1 (int)")
    step(1.0)
    last(said, "n (static): 1 -> absent")


def test_static_by_position_and_by_keyword(said):
    step = make()
    step(1.0, n=3), step(1.0, 3)
    last(said, "static", "by position and by keyword")


def test_a_static_nan_is_never_found(said):
    step = make()
    step(1.0, n=math.nan), step(1.0, n=float("nan"))
    last(said, "n (static): nan -> another nan", "not equal to itself", "do not make it static")


def test_static_objects(said):
    class Config:
        pass

    @dataclasses.dataclass(frozen=True)
    class Frozen:
        size: int

    step = make()
    step(1.0, g=Config()), step(1.0, g=Config())
    last(said, "Config object -> another Config object", "identity", "@dataclass(frozen=True)")
    step(1.0, g=Frozen(1)), step(1.0, g=Frozen(1)), step(1.0, g=Frozen(2))
    last(said, "Frozen(size=1)", "Frozen(size=2)")
    assert len(said()) == 3  # equal ones were found


def test_static_functions(said):
    step = make()
    for _ in range(2):
        step(1.0, g=lambda x: x)
    last(said, "g (static): <lambda> -> another <lambda>", "make g once, outside of the loop")


def test_what_cannot_be_compared(said):
    class Odd:
        __hash__ = object.__hash__

        def __eq__(self, other):
            return self is other or math.nan / 0

    step = make()
    step(1.0, n=1, g=Odd())
    step(2.0, n=1, g=3)
    last(said, "g (static)")


def test_unhashable_static_arguments_are_an_error_as_before(said):
    with pytest.raises(ValueError, match="Non-hashable"):
        make()(1.0, n=[1])
    assert said() == []


# ---- what is around ------------------------------------------------------------------------------


def test_flags(said):
    step = make()
    x = jnp.float32(1)
    step(x)
    with tinyjax.enable_x64(True):
        step(x)
    last(said, "flag enable_x64: False -> True", 'jax.config.update("jax_enable_x64", ...)')


def test_named_axes(said):
    step = make()
    step(jnp.float32(1))
    tinyjax.vmap(step, axis_name="i")(jnp.ones(3))
    last(said, "named axes: none -> 'i' of size 3")


def test_captured_tracers_are_never_cached(said):
    def outer(y):
        @tinyjax.jit
        def inner(x):
            return x * y

        return inner(1.0) + inner(2.0)

    tinyjax.grad(outer)(3.0)
    last(said, "inner", "captured y (float32[])", "pass that as an argument")


def test_transformed_jitted_functions(said):
    step = make()
    tinyjax.grad(step)(1.0)
    tinyjax.vmap(step)(jnp.ones(3))
    tinyjax.vmap(tinyjax.grad(step))(jnp.ones(4))  # the same type: found
    assert len(said()) == 1
    last(said, "x: float32[] weak -> float32[]", "test_transformed_jitted_functions")


def test_methods_and_partial(said):
    class Model:
        @functools.partial(tinyjax.jit, static_argnums=0)
        def run(self, x):
            return x

    Model().run(1.0), Model().run(1.0)
    last(said, "self (static): Model object -> another Model object", "__eq__")
    f = tinyjax.jit(functools.partial(lambda a, x: a * x, 2.0))
    f(1.0), f(jnp.ones(2))
    last(said, "float32[] weak -> float32[2]")


# ---- functions made anew -------------------------------------------------------------------------


def test_jit_in_a_loop(said):
    for _ in range(3):
        tinyjax.jit(lambda x: x + 1)(2.0)
    assert len(said()) == 2
    text = last(
        said, "<lambda>", "new function object", "2 before", "jit once, outside of the loop"
    )
    assert text.count(__file__) == 2


def test_jit_in_a_loop_with_a_closure(said):
    def run(i):
        return tinyjax.jit(lambda x: x + i)(2.0)

    run(1), run(2)
    last(said, "i from outside: 1 -> 2", "pass i as an argument")


def test_transformations_in_a_loop(said):
    def loss(x):
        return x * x

    for _ in range(2):
        tinyjax.jit(tinyjax.grad(loss))(2.0)
    last(said, "loss", "new function object", "jit once")
    for n in (2.0, 3.0):
        tinyjax.jit(functools.partial(lambda a, x: a * x, n))(1.0)
    last(said, "argument 0 of partial", "2.0 -> 3.0", "and pass argument 0 in the call.")


def test_different_functions_are_no_reason(said):
    for f in (jnp.sin, jnp.cos):
        tinyjax.jit(tinyjax.grad(f))(1.0)
    for x in (1.0, jnp.ones(2)):  # nor is a type that was not there
        tinyjax.jit(lambda y: y + 1)(x)
    assert said() == []


def test_callables_of_all_kinds(said):
    class Model:
        def __call__(self, x):
            return x

    mock = unittest.mock.Mock(side_effect=lambda x: x)
    kinds = [
        mock,
        jnp.add,
        abs,
        Model(),
        Model,
        Model().__call__,
        functools.partial(jnp.add, 1.0),
        tinyjax.jit(jnp.sin),
    ]
    for kind in kinds:
        for args in ((1.0,), (1.0, 2.0), (jnp.ones(2),)):
            for _ in range(2):
                try:
                    tinyjax.jit(kind)(*args)
                except TypeError:  # a wrong number of arguments, or no array
                    pass
    assert all(len(text.splitlines()) <= 8 for text in said())


def test_functions_that_live_side_by_side_are_meant_to(said):
    def layer(n):
        return tinyjax.jit(lambda x: x * n)

    layers = [layer(n) for n in (1.0, 2.0, 3.0)]
    for f in layers:
        f(1.0)

    class Model:
        def step(self, x):
            return x

    models = Model(), Model()
    steps = [tinyjax.jit(m.step) for m in models]
    steps[0](1.0), steps[1](1.0)
    assert said() == []


def test_pmap(said):
    f = tinyjax.pmap(lambda x: x * 2)
    f(jnp.ones(2)), f(jnp.ones(3))
    last(said, "x: float32[2] -> float32[3]")


# ---- cache_info ----------------------------------------------------------------------------------


def test_cache_info_counts_as_before():
    step = make()
    step(1.0), step(2.0), step(jnp.ones(3))
    hits, misses, maxsize, currsize = info = step.cache_info()
    assert (hits, misses, maxsize, currsize) == (1, 2, None, 2)
    assert info.hits == 1 and info._asdict()["misses"] == 2
    assert repr(info) == "CacheInfo(hits=1, misses=2, maxsize=None, currsize=2)"


def test_cache_info_tells_of_entries_and_reasons():
    step = make()
    step(1.0, n=3), step(2.0, n=3), step(3.0, n=3), step(jnp.ones(3), n=3), step(1.0, n=4)
    info = step.cache_info()
    assert [(e.number, e.hits, e.arguments) for e in info.entries] == [
        (1, 2, "x: float32[] weak, n=3"),
        (2, 0, "x: float32[3], n=3"),
        (3, 0, "x: float32[] weak, n=4"),
    ]
    assert all(e.place.file == __file__ for e in info.entries)
    assert len(info.reasons) == 2
    assert "x: float32[] weak -> float32[3]" in info.reasons[0]
    assert "n (static): 3 -> 4" in info.reasons[1] and "Entry 1" in info.reasons[1]
    text = str(info)
    assert "hits=2, misses=3, entries=3" in text and "2 hits" in text and "3 -> 4" in text


def test_cache_info_after_clear_cache():
    step = make()
    step(1.0)
    step.clear_cache()
    info = step.cache_info()
    assert info == (0, 0, None, 0) and info.entries == [] and info.reasons == []


def test_traces_are_shared_by_what_jits_one_function():
    def f(x):
        return x

    one, two = tinyjax.jit(f), tinyjax.jit(f)
    one(1.0), two(1.0)
    assert one.cache_info() == two.cache_info() == (1, 1, None, 1)


# ---- as JAX --------------------------------------------------------------------------------------


def test_the_flag_has_jaxs_name(said, caplog):
    """Both name the argument and its two types; JAX's flag is an alias of ours."""
    with tinyjax.explain_retraces(False), tinyjax.explain_cache_misses(True):
        assert tinyjax.config.jax_explain_cache_misses
        step = make()
        step(jnp.ones(3)), step(jnp.ones(4))
    assert "float32[3] -> float32[4]" in said()[-1]
    with jax.explain_cache_misses(True):
        theirs = jax.jit(lambda x: x)
        theirs(jax.numpy.ones(3)), theirs(jax.numpy.ones(4))
    theirs = caplog.records[-1]
    assert theirs.levelno == logging.WARNING and "at x, now f32[4]" in theirs.getMessage()


def test_in_a_notebook(tmp_path):
    """Cells are called as they are in the notebook."""
    script = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in (
    "import tinyjax as jax, tinyjax.numpy as jnp",
    "jax.config.update('tinyjax_explain_retraces', True)",
    "@jax.jit\\ndef step(x):\\n    return x",
    "step(1.0)",
    "step(jnp.ones(3))",
    "for n in range(2): jax.jit(lambda x: x)(1.0)",
):
    shell.run_cell(cell, store_history=True)
"""
    path = tmp_path / "cells.py"
    path.write_text(script)
    env = os.environ | {
        "IPYTHONDIR": str(tmp_path),
        "PYTHONPATH": os.path.dirname(os.path.dirname(tinyjax.__file__)),
    }
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=120, env=env
    )
    wanted = "step (Cell In[3]:1) is traced again, called at Cell In[5]:1 (<module>). Entry 1, "
    assert wanted + "from Cell In[4]:1" in done.stderr
    assert "<lambda> (Cell In[6]:1) is traced again" in done.stderr
