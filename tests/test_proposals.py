"""Code that errors propose does what was meant; where that is not certain there are only words."""

import re

import numpy as np
import pytest

import tinyjax as jax
from tests.test_messages import define, error_of, proposal
from tinyjax.config import FlagScope

V = np.array([3.0, 1.0, 2.0], np.float32)

# ---- text ----------------------------------------------------------------------------------------

TEXTS = {
    """f"{x:.2f}\"""": ("jax.debug.print('{x:.2f}', x=x)", "1.50"),
    """print(f"{x:.3f} and {x*2:>8}")""": (
        "jax.debug.print('{:.3f} and {:>8}', x, x * 2)",
        "1.500 and      3.0",
    ),
    """print(f"{x:.1f} {{}} {x:.2f}")""": (
        "jax.debug.print('{x:.1f} {{}} {x:.2f}', x=x)",
        "1.5 {} 1.50",
    ),
    """print("loss", f"{x:.2f}")""": ("jax.debug.print('{x:.2f}', x=x)", "1.50"),
    """"%.2f" % x""": ("jax.debug.print('{:.2f}', x)", "1.50"),
    """print("%.2f%% {} %5.1f" % (x, x))""": (
        "jax.debug.print('{:.2f}% {{}} {:5.1f}', x, x)",
        "1.50% {}   1.5",
    ),
    """print("{:.2f} {y:.3f}".format(x, y=x))""": (
        "jax.debug.print('{:.2f} {y:.3f}', x, y=x)",
        "1.50 1.500",
    ),
    """format(x, ".2f")""": ("jax.debug.print('{:.2f}', x)", "1.50"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_becomes_a_print_of_the_same_text(text, capfd):
    """It prints what the text would have been."""
    new, printed = TEXTS[text]
    message = str(error_of(jax.jit(define(f"f = lambda x: {text}")), 1.5))
    assert f"    {new}" in message.splitlines()
    assert "jnp functions" not in message
    assert ("Write instead:" in message) == (text.startswith("print(") and "loss" not in text)
    jax.jit(define(f"f = lambda x: {new}"))(1.5)
    jax.effects_barrier()
    assert capfd.readouterr().out == printed + "\n"


def test_text_whose_format_is_computed_gets_words():
    """f"{x:{w}}" has no counterpart."""
    message = str(error_of(jax.jit(define("f = lambda x, w=5: f'{x:{w}}'")), 1.5))
    assert 'jax.debug.print("{}", x)' in message
    assert "Write instead" not in message


# ---- logic and indices ---------------------------------------------------------------------------

CODE = {
    "x or y": ((0.0, 2.0), "jnp.where(x != 0, x, y)", 2.0),
    "x or y ": ((3.0, 2.0), "jnp.where(x != 0, x, y)", 3.0),
    "x and y": ((3.0, 2.0), "jnp.where(x != 0, y, x)", 2.0),
    "x or y or 4.0": ((0.0, 0.0), "jnp.where(x != 0, x, jnp.where(y != 0, y, 4.0))", 4.0),
    "x > 5 or y": ((3.0, 2.0), "jnp.where(x > 5, x > 5, y)", 2.0),
    "1.0 if x or y else 2.0": ((0.0, 3.0), "jnp.where(jnp.logical_or(x, y), 1.0, 2.0)", 1.0),
    "not x or x > 1": ((0.0, 0.0), "jnp.logical_not(x) | (x > 1)", True),
    "any([x > 2, y < 0])": ((0.0, -1.0), "(x > 2) | (y < 0)", True),
    "all([x > 2, y < 0])": ((0.0, -1.0), "(x > 2) & (y < 0)", False),
    "(4, -5, 6)[x]": ((1, 0), "jnp.array((4, -5, 6))[x]", -5),
    "{0: 4.0, 1: 5.0}[x]": ((1, 0), "jnp.array([4.0, 5.0])[x]", 5.0),
    "(lambda t: t[x])({0: 4.0, 1: 5.0})": ((1, 0), "jnp.array(list(t.values()))[x]", None),
    "x in {1, 2}": ((2, 0), "jnp.isin(x, jnp.array([1, 2]))", True),
    "x.at[x > 1].set(x[x > 1] * y)": ((V, 10.0), "jnp.where(x > 1, x * y, x)", [30, 1, 20]),
    "x.at[x > 1].set(jnp.exp(-x[x > 1]))": (
        (V, 0.0),
        "jnp.where(x > 1, jnp.exp(-x), x)",
        [np.exp(-3), 1, np.exp(-2)],
    ),
    "x.at[x > 1].add(x[x > 1])": ((V, 0.0), "jnp.where(x > 1, x + x, x)", [6, 1, 4]),
    "x.at[x > 1].set(x * 2)": ((V, 0.0), "jnp.where(x > 1, x * 2, x)", [6, 1, 4]),
    "x.at[x > 1].multiply(x + 1)": ((V, 0.0), "jnp.where(x > 1, x * (x + 1), x)", [12, 1, 6]),
}


@pytest.mark.parametrize("text", CODE)
def test_code_does_what_python_does(text):
    """It runs under jit, and gives Python's value."""
    args, new, want = CODE[text]
    assert proposal(error_of(jax.jit(define(f"f = lambda x, y: {text}")), *args)) == new
    if want is None:  # the expression is a part of the function
        text, want = "(lambda t: {})({{0: 4.0, 1: 5.0}})", 5.0
        new = text.format(new)
    got = jax.jit(define(f"f = lambda x, y: {new}"))(*args)
    np.testing.assert_allclose(got, want, rtol=1e-5)


WORDS = {
    "list(range(10))[x:]": ((2,), "lax.dynamic_slice_in_dim(x, start, size) is for arrays"),
    "'abc'[x]": ((2,), "a text needs a known index"),
    "[[1, 2], [3]][x]": ((0,), "Numbers can be indexed with it as an array"),
    "[jnp.sin, jnp.cos][x](1.0)": ((0,), "lax.switch(i, [f, g, ...], x)"),
    "{0: jnp.sin}[x](1.0)": ((0,), "Dicts, sets and caches need a value."),
    "{x: 1}": ((0,), "`x` is argument x of <lambda>"),
    "any([x > 2, x < 0]) or max(*[x, x])": ((0,), "Write jnp.where, jnp.logical_and"),
    "x or None": ((0,), "Write jnp.where, jnp.logical_and"),
    "1 if x > 0 and float(x) > 1 else 2": ((2.0,), "Write jnp.where(cond, a, b)."),
    "x.at[x > 1].set(jnp.sort(x)[:2])": ((V,), "Write jnp.where(mask, new, x)"),
    "x.at[x > 1].set(jnp.sort(x[x > 1]))": ((V,), "Write jnp.where(mask, new, x)"),
    "x.at[x[:, 0] > 1].set(x * 2)": ((V[:, None],), "Write jnp.where(mask, new, x)"),
    "x[x[:, 0] > 1]": ((V[:, None],), "Write jnp.where(mask, x, 0) to keep the size"),
    "x[x[:, 0] > 1, 0]": ((V[:, None],), "Write jnp.where(mask, x, 0) to keep the size"),
}


@pytest.mark.parametrize("text", WORDS)
def test_words_where_code_is_not_certain(text):
    """No line that would fail, or give something else, when it is pasted."""
    args, words = WORDS[text]
    message = str(error_of(jax.jit(define(f"f = lambda x: {text}")), *args))
    assert words in message
    assert "Write instead" not in message
    assert len(message.splitlines()) <= 8


def test_a_name_without_a_value_is_not_kept():
    """`if x > 0: y = 1`, where y has no value otherwise: jnp.where would have none, either."""
    body = "    if x > 0:\n        y = 1\n    return y\n"
    message = str(error_of(jax.jit(define("def f(x):\n" + body)), 1.0))
    assert "Write lax.cond(x > 0, f, g, x)" in message
    module = "y = 5\ndef f(x):\n" + body  # the y outside is another
    assert "Write lax.cond(x > 0, f, g, x)" in str(error_of(jax.jit(define(module)), 1.0))
    found = proposal(error_of(jax.jit(define("def f(x):\n    y = 0\n" + body)), 1.0))
    assert found == "y = jnp.where(x > 0, 1, y)"


LOOPS = {
    "range(1, n, 2)": "lax.while_loop where the step is not 1",
    "range(n, 0, -1)": "lax.while_loop where the step is not 1",
}


@pytest.mark.parametrize("loop", LOOPS)
def test_loops_with_a_step(loop):
    """fori_loop cannot count like that: no code, but both words."""
    f = define(f"def f(n):\n    s = 0\n    for i in {loop}:\n        s += i\n    return s\n")
    message = str(error_of(jax.jit(f), 5))
    assert LOOPS[loop] in message
    assert "fori_loop(start, stop, body, s)" in message
    assert "lambda" not in message


def test_loops_with_a_start():
    """range(2, n) is fori_loop(2, n, ...)."""
    text = "def f(n):\n    s = 0\n    {}\n    return s\n"
    f = define(text.format("for i in range(2, n): s += i"))
    message = str(error_of(jax.jit(f), 5)).splitlines()
    new = message[message.index("Or write:") + 1].strip()
    assert new == "s = lax.fori_loop(2, n, lambda i, s: s + i, s)"
    assert jax.jit(define(text.format(new)))(5) == 2 + 3 + 4


# ---- NumPy and lists -----------------------------------------------------------------------------


@pytest.mark.parametrize("statement", ["a[0] = x", "a[0] += x"])
def test_numpy_arrays_cannot_be_filled(statement):
    """One error, NumPy's, whose text says what to write; and that runs."""
    text = "def f(x):\n    a = np.zeros(3)\n    {}\n    return a\n"
    with FlagScope("traceback", "filtered"):
        error = error_of(jax.jit(define(text.format(statement))), 2.0)
    assert isinstance(error, ValueError)
    assert error.__cause__ is None and error.__suppress_context__
    message = str(error)
    assert message.startswith("setting an array element with a sequence.")
    assert "argument x of f" in message
    (new,) = re.findall("NumPy arrays cannot hold traced values. Write (.*)", message)
    got = jax.jit(define(text.format(new)))(2.0)
    np.testing.assert_array_equal(got, [2, 0, 0])
    assert len(message.splitlines()) <= 8


def test_lists_are_repeated_a_known_number_of_times():
    """[0.0] * n."""
    f = define("def f(n):\n    return jnp.array([0.0] * n)\n")
    message = str(error_of(jax.jit(f), 3))
    assert "unsupported operand type(s) for *: 'list' and 'JitTracer'." in message
    assert 'make the number static: jit(f, static_argnames="n")' in message
    assert jax.jit(f, static_argnames="n")(3).shape == (3,)
    assert "Write int(n)" in str(error_of(f, jax.numpy.int32(3)))
    message = str(error_of(jax.jit(define("f = lambda x: [0.0] * x")), V))
    assert "Make the list an array first, with jnp.array." in message


# ---- names and places ----------------------------------------------------------------------------


def test_tracers_have_the_names_that_users_see():
    """Python's own messages, too: no class has a second name."""
    g = define("f = lambda x: x + 'a'")
    for how, name in [(jax.jit, "JitTracer"), (jax.grad, "GradTracer")]:
        assert f"for +: '{name}' and 'str'" in str(error_of(how(g), 1.0))
    assert "'VmapTracer' and 'str'" in str(error_of(jax.vmap(g), V))
    kinds = []
    jax.jit(lambda x: kinds.append((type(x), repr(x))))(1.0)
    jax.grad(lambda x: kinds.append((type(x), repr(x))) or x)(1.0)
    jax.vmap(lambda x: kinds.append((type(x), repr(x))) or x)(V)
    for kind, text in kinds:
        assert text.startswith(kind.__name__ + "(")
        assert kind.__name__ in repr(kind)
    for text in ("f'{x:.2f}'", "{0: 1}[x]"):
        assert "JitTracer" in str(error_of(jax.jit(define(f"f = lambda x: {text}")), 1))


def test_sizes_are_told_once():
    """jnp.zeros(n) says where and what in one error."""
    error = error_of(jax.jit(define("def f(n):\n    return jnp.zeros(n)\n")), 3)
    assert isinstance(error, TypeError)
    assert error.__cause__ is None and error.__suppress_context__
    assert str(error).count("The error occurred at") == 1


def test_the_line_is_kept_where_the_marks_have_no_room():
    """A head with a colon is followed by the line."""
    lines = str(error_of(define("f = lambda a: jnp.dot(a, a)"), np.ones((2, 3)))).splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("The error occurred at"))
    assert lines[head].endswith(":")
    assert lines[head + 1] == "    f = lambda a: jnp.dot(a, a)"
    assert lines[-1] == "Write a @ a.T if that is meant."
    assert len(lines) <= 8
