"""What errors say: the argument, the user's line, and code to write instead, which is then run."""

import ast
import contextlib
import linecache
import math
import re
import textwrap
import warnings

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import errors, lax, rewrites
from tinyjax.example_libraries import optimizers

NAMES = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, "math": math}


def define(text, name="f", file="<cell 1>"):
    """A function from source text that linecache knows, as a notebook's cells are."""
    text = textwrap.dedent(text)
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    scope = dict(NAMES)
    exec(compile(text, file, "exec"), scope)
    return scope[name]


def error_of(run, *args):
    """The exception of a call."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        run(*args)
    return caught.value


def proposal(error):
    """The code that a message proposes."""
    lines = str(error).splitlines()
    for i, line in enumerate(lines):
        if line in ("Write instead:", "Or write:"):
            return lines[i + 1].strip().split("  #")[0]
        found = re.search(r"Write (\S.*) instead of|use (.*), which returns a new array", line)
        if found:
            return found[1] or found[2]
    raise AssertionError(f"no proposal in:\n{error}")


# ---- statements: the whole `if`, `while` or `for` is replaced ------------------------------------

STATEMENTS = {
    "if_return": (
        "def f(x):\n    if x > 0:\n        return x\n    return -x\n",
        (-2.0,),
        2.0,
        "return jnp.where(x > 0, x, -x)",
        "`x > 0` depends on argument x of f",
    ),
    "if_else": (
        "def f(x, y):\n    if x > y and not y < 0:\n        out = x\n    else:\n        out = y\n"
        "    return out\n",
        (3.0, 1.0),
        3.0,
        "out = jnp.where((x > y) & ~(y < 0), x, y)",
        "depends on arguments x and y of f",
    ),
    "if_alone": (
        "def f(x):\n    y = 1.0\n    if x > 0:\n        y += x\n    return y\n",
        (2.0,),
        3.0,
        "y = jnp.where(x > 0, y + x, y)",
        "`x > 0` depends on argument x of f",
    ),
    "elif": (
        "def f(x):\n    if x > 1:\n        return x\n    elif x > 0:\n        return x * 10\n"
        "    else:\n        return -x\n",
        (0.5,),
        5.0,
        "return jnp.where(x > 1, x, jnp.where(x > 0, x * 10, -x))",
        "`x > 1` depends on argument x of f",
    ),
    "pair": (
        "def f(x):\n    if x > 0:\n        return (x, 1.0)\n    return (-x, 0.0)\n",
        (-2.0,),
        (2.0, 0.0),
        "return lax.cond(x > 0, lambda: (x, 1.0), lambda: (-x, 0.0))",
        "`x > 0` depends on argument x of f",
    ),
    "while": (
        "def f(x):\n    while x < 10:\n        x = x * 2\n    return x\n",
        (3.0,),
        12.0,
        "x = lax.while_loop(lambda x: x < 10, lambda x: x * 2, x)",
        "`x < 10` depends on argument x of f",
    ),
    "while_two": (
        "def f(x):\n    i = 0\n    while x < 10:\n        x = x * 2\n        i += 1\n"
        "    return x, i\n",
        (3.0,),
        (12.0, 2),
        "x, i = lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] * 2, s[1] + 1), (x, i))",
        "`x < 10` depends on argument x of f",
    ),
    "for": (
        "def f(x, n):\n    for i in range(n):\n        x = x + i\n    return x\n",
        (1.0, 4),
        7.0,
        "x = lax.fori_loop(0, n, lambda i, x: x + i, x)",
        "`n` is argument n of f",
    ),
    "set": (
        "def f(x):\n    x[1:] = 7\n    return x\n",
        (np.zeros(3, np.float32),),
        [0, 7, 7],
        "x = x.at[1:].set(7)",
        "immutable",
    ),
    "augmented": (
        "def f(x):\n    x[0] *= 3\n    return x\n",
        (np.ones(3, np.float32),),
        [3, 1, 1],
        "x = x.at[0].multiply(3)",
        "immutable",
    ),
    "delete": (
        "def f(x):\n    del x[0]\n    return x\n",
        (np.arange(3.0),),
        [1, 2],
        "x = jnp.delete(x, 0)",
        "immutable",
    ),
}


def replaced(text, new):
    """The function's text with its first statement that can fail replaced; what returns ends it."""
    tree = ast.parse(text)
    body = tree.body[0].body
    kinds = (ast.If, ast.While, ast.For, ast.Delete)
    where = next(
        i
        for i, s in enumerate(body)
        if isinstance(s, kinds)
        or (isinstance(s, (ast.Assign, ast.AugAssign)) and "[" in ast.unparse(s))
    )
    body[where] = (
        ast.parse(new).body[0]
        if "return" not in new
        else ast.Return(ast.parse(new.removeprefix("return ")).body[0].value)
    )
    return ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("case", STATEMENTS)
def test_statements_are_rewritten(case):
    """The proposal stands where the statement stood, and computes what was meant."""
    text, args, want, new, words = STATEMENTS[case]
    error = error_of(jax.jit(define(text)), *args)
    assert proposal(error) == new
    assert words in str(error)
    assert "<cell 1>:" in str(error)
    got = jax.jit(define(replaced(text, new), file="<cell 2>"))(*args)
    for a, b in zip(got, want) if isinstance(got, tuple) else [(got, want)]:
        np.testing.assert_allclose(a, b)


# ---- expressions ---------------------------------------------------------------------------------

V = np.array([3.0, 1.0, 2.0], np.float32)
EXPRESSIONS = {
    "(x > 0) and (x < 1)": ((0.5,), "(x > 0) & (x < 1)", True),
    "x > 0 or x < -1": ((0.5,), "(x > 0) | (x < -1)", True),
    "0 < x < 1": ((0.5,), "(0 < x) & (x < 1)", True),
    "not x > 0": ((0.5,), "~(x > 0)", False),
    "not x": ((0.5,), "jnp.logical_not(x)", False),
    "x and 2.0": ((0.5,), "jnp.where(x != 0, 2.0, x)", 2.0),
    "x if x > 0 else -x": ((-0.5,), "jnp.where(x > 0, x, -x)", 0.5),
    "max(x, 2.0)": ((0.5,), "jnp.maximum(x, 2.0)", 2.0),
    "min(x)": ((V,), "jnp.min(x)", 1.0),
    "sorted(x)": ((V,), "jnp.sort(x)", [1, 2, 3]),
    "any(x > 2)": ((V,), "jnp.any(x > 2)", True),
    "2 in x": ((V,), "jnp.any(x == 2)", True),
    "x in [1, 2]": ((2,), "jnp.isin(x, jnp.array([1, 2]))", True),
    "x not in (1, 2)": ((2,), "~jnp.isin(x, jnp.array([1, 2]))", False),
    "bool(x)": ((2,), "x != 0", True),
    "float(x)": ((2,), "x.astype(float)", 2.0),
    "int(x + 1)": ((2.5,), "(x + 1).astype(int)", 3),
    "x.sum().item()": ((V,), "x.sum()", 6.0),
    "x.tolist()": ((V,), "x", V),
    "[4, 5, 6][x]": ((2,), "jnp.array([4, 5, 6])[x]", 6),
    "np.sin(x)": ((0.5,), "jnp.sin(x)", math.sin(0.5)),
    "np.linalg.norm(x, ord=1)": ((V,), "jnp.linalg.norm(x, ord=1)", 6.0),
    "np.asarray(x)": ((V,), "jnp.asarray(x)", V),
    "math.sin(x)": ((0.5,), "jnp.sin(x)", math.sin(0.5)),
    "math.lgamma(x)": ((4.5,), "jax.scipy.special.gammaln(x)", math.lgamma(4.5)),
    "x[x > 1]": ((V,), "jnp.where(x > 1, x, 0)", [3, 0, 2]),
    "x[x > 1].sum()": ((V,), "x.sum(where=x > 1)", 5.0),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions_are_rewritten(text):
    """The proposal runs under jit and gives the value."""
    args, new, want = EXPRESSIONS[text]
    error = error_of(jax.jit(define(f"f = lambda x: {text}")), *args)
    assert proposal(error) == new
    assert "argument x of <lambda>" in str(error)
    np.testing.assert_allclose(jax.jit(define(f"f = lambda x: {new}"))(*args), want, rtol=1e-5)


def test_text_is_printed_when_the_function_runs(capfd):
    """f"{x:.2f}" becomes jax.debug.print."""
    error = error_of(jax.jit(define("f = lambda x: print(f'{{x}} is {x:.2f}')")), 0.5)
    assert isinstance(error, TypeError)
    assert proposal(error) == "jax.debug.print('{{x}} is {x:.2f}', x=x)"
    jax.jit(define(f"f = lambda x: {proposal(error)}"))(0.5)
    jax.effects_barrier()
    assert capfd.readouterr().out == "{x} is 0.50\n"


# ---- arguments -----------------------------------------------------------------------------------

STATIC = {
    "jnp.zeros(n)": TypeError,
    "jnp.ones((n, 2))": TypeError,
    "jnp.arange(n)": errors.ConcretizationTypeError,
    "jnp.arange(6.0).reshape(n, -1)": TypeError,
    "[i for i in range(n)]": errors.TracerIntegerConversionError,
    "[i for i in range(int(n))]": errors.ConcretizationTypeError,
    "jnp.arange(3)[:n]": IndexError,
    "jnp.sum(jnp.ones((2, 2, 2, 2)), axis=n)": errors.ConcretizationTypeError,
}


@pytest.mark.parametrize("text", STATIC)
def test_sizes_are_to_be_static(text):
    """The message names the argument, and jit with it static works."""
    f = define(f"def f(n):\n    return {text}\n")
    error = error_of(jax.jit(f), 3)
    assert isinstance(error, STATIC[text])
    assert "`n` is argument n of f" in str(error) or "depends on argument n of f" in str(error)
    assert 'jit(f, static_argnames="n")' in str(error)
    jax.jit(f, static_argnames="n")(3)


def test_a_flag_is_to_be_static_and_a_float_is_not():
    """`if training:` of a bool."""
    f = define("def f(x, on):\n    if on:\n        return x\n    return -x\n")
    error = error_of(jax.jit(f), 1.0, True)
    assert 'jit(f, static_argnames="on")' in str(error)
    g = define("def g(x):\n    return x if x else 1.0\n", "g")
    assert "static" not in str(error_of(jax.jit(g), 1.0))


def test_values_are_followed_back_to_arguments():
    """Through equations, pytrees, inner functions and transformations."""
    f = define("def f(p, q, r):\n    y = p['w'] * 2 + q\n    return y if y > 0 else r\n")
    text = str(error_of(jax.jit(f), {"w": 1.0, "b": 1.0}, 2.0, 3.0))
    assert "`y > 0` depends on arguments p['w'] and q of f:" in text
    h = define("def h(x):\n    return x if x > 0 else -x\n", "h")
    assert "argument x of h" in str(error_of(jax.jit(jax.grad(h)), 1.0))
    body = define(
        "def body(carry, row):\n    return carry, row if row > carry else carry\n", "body"
    )
    text = str(error_of(lambda: lax.scan(body, 0.0, jnp.ones(3))))
    assert "depends on arguments carry and row of body" in text


def test_a_captured_value_belongs_to_the_outer_function():
    """An inner jit that looks at a value of the outer one."""
    f = define(
        "def outer(a):\n    def inner(b):\n        return b if a > 0 else -b\n"
        "    return jax.jit(inner)(1.0)\n",
        "outer",
    )
    assert "`a > 0` depends on argument a of outer" in str(error_of(jax.jit(f), 1.0))


def test_vmap_and_grad_say_why():
    """Outside of jit the reasons are others."""
    f = define("def f(x):\n    return x if x > 0 else -x\n")
    text = str(error_of(jax.vmap(f), jnp.ones(3)))
    assert "differs between the elements of a batch: it is computed inside vmap" in text
    assert proposal(error_of(jax.vmap(f), jnp.ones(3))) == "jnp.where(x > 0, x, -x)"
    g = define("f = lambda x: np.sin(x)")
    assert "is being differentiated" in str(error_of(jax.grad(g), 1.0))


def test_several_elements_are_ambiguous():
    """`if array:` raises as NumPy and JAX do."""
    f = define("def f(x):\n    return 1 if x > 0 else 2\n")
    error = error_of(jax.jit(f), jnp.ones(3))
    assert isinstance(error, ValueError)
    assert "truth value of an array with more than one element is ambiguous" in str(error)


# ---- where there is nothing to rewrite -----------------------------------------------------------


def test_long_branches_get_general_words():
    """Too much for one line: lax.cond with the condition."""
    f = define(
        "def f(x):\n    if x > 0 and x < 9:\n        y = x\n        print(y)\n        return y\n"
        "    return -x\n"
    )
    text = str(error_of(jax.jit(f), 1.0))
    assert "Write lax.cond((x > 0) & (x < 9), f, g, x), with each branch a function of x." in text


def test_assert_is_to_be_printed_or_moved():
    """An assert cannot be kept."""
    f = define("def f(x):\n    assert x > 0\n    return x\n")
    assert 'Write jax.debug.print("{}", x > 0), or check outside of jit.' in str(
        error_of(jax.jit(f), 1.0)
    )


def test_loops_have_no_temporary_names_in_their_state():
    """`t` has no value before the loop."""
    f = define("def f(x):\n    while x < 10:\n        t = x * 2\n        x = t + 1\n    return x\n")
    error = error_of(jax.jit(f), 1.0)
    assert proposal(error) == "x = lax.while_loop(lambda x: x < 10, lambda x: x * 2 + 1, x)"


def test_raise_break_and_match():
    """What cannot be rewritten in a line gets words that fit."""
    f = define("def f(x):\n    if x > 3:\n        raise ValueError\n    return x\n")
    assert "or check outside of jit" in str(error_of(jax.jit(f), 1.0))
    f = define("def f(x):\n    for i in range(3):\n        if x > i: break\n    return x\n")
    assert "Write lax.while_loop(lambda s: ~(x > i), body, s)." in str(error_of(jax.jit(f), 1.0))
    f = define("def f(x):\n    match x:\n        case 1: return 2\n    return x\n")
    assert "Write lax.switch(i, [f, g, h], x)" in str(error_of(jax.jit(f), 1))


def test_arrays_are_not_to_be_static():
    """jnp.nonzero needs a size, not a static array."""
    text = str(error_of(jax.jit(define("f = lambda x: jnp.nonzero(x)")), V))
    assert "Give size=n, a known number" in text
    assert "static_argnames" not in text


def test_messages_survive_odd_sources(monkeypatch):
    """A failure in the rewriting leaves general words."""
    monkeypatch.setattr(rewrites, "fits", lambda node: 1 / 0)
    text = str(error_of(jax.jit(define("f = lambda x: x if x > 0 else -x")), 1.0))
    assert "This value depends on argument x of <lambda>" in text
    assert "jnp.where(cond, a, b)" in text


def test_code_without_source_gets_general_words():
    """exec of a text: no line to show, but the argument has its name."""
    scope = dict(NAMES)
    exec("def f(x):\n    if x > 0: return x\n    return -x\n", scope)
    text = str(error_of(jax.jit(scope["f"]), 1.0))
    assert "This value depends on argument x of f" in text
    assert "jnp.where(cond, a, b) or lax.cond(cond, f, g, x)" in text


def test_names_that_do_not_exist_are_not_proposed():
    """np.busday_count has no counterpart."""
    text = str(error_of(jax.jit(define("f = lambda x: np.busday_count(x, x)")), 1))
    assert "jnp.busday_count" not in text
    assert "tinyjax.numpy" in text


def test_random_numbers_of_numpy():
    """np.random.* is jax.random.*, with a key."""
    text = str(error_of(jax.jit(define("f = lambda x: np.random.normal(x)")), 1.0))
    assert "Write jax.random.normal(key, ...) instead of np.random.normal." in text


def all_errors():
    """Every error of this file."""
    for text, args, *_ in STATEMENTS.values():
        yield text, define(text), args
    for text, (args, *_) in EXPRESSIONS.items():
        yield text, define(f"f = lambda x: {text}"), args
    for text in STATIC:
        yield text, define(f"def f(n):\n    return {text}\n"), (3,)


def test_messages_are_short():
    """At most eight lines, each of at most 240 columns."""
    for text, f, args in all_errors():
        lines = str(error_of(jax.jit(f), *args)).splitlines()
        assert len(lines) <= 8, text
        assert max(map(len, lines)) <= 240, text


# ---- indices out of bounds -----------------------------------------------------------------------

X = jnp.arange(6.0).reshape(3, 2)
OUTSIDE = {
    "x[5]": ("index 5 is out of bounds for axis 0 with size 3: x[5] reads the nearest element, at",
             'x.at[5].get(mode="clip")'),
    "x[-4]": ("index -4 is out of bounds for axis 0 with size 3: x[-4] reads the nearest element, "
              "at 0", 'x.at[-4].get(mode="clip")'),
    "x[0, 2]": ("index 2 is out of bounds for axis 1 with size 2", 'x.at[0, 2].get(mode="clip")'),
    "x[..., 7]": ("index 7 is out of bounds for axis 1", 'x.at[..., 7].get(mode="clip")'),
    "x[None, :, 9]": ("index 9 is out of bounds for axis 1", 'x.at[None, :, 9].get(mode="clip")'),
    "x[jnp.array([0]), 4]": ("index 4 is out of bounds for axis 1", ".get("),
    "x[np.int64(3)]": ("index 3 is out of bounds for axis 0", ".get("),
    "x.at[5].get()": ("index 5 is out of bounds for axis 0", 'x.at[5].get(mode="clip")'),
    "x.at[5].set(1)": ("x.at[5].set(...) drops the value and changes nothing",
                       'x.at[5].set(..., mode="drop")'),
    "x.at[0, 2].add(1)": ("x.at[0, 2].add(...) drops", 'x.at[0, 2].add(..., mode="drop")'),
    "x.at[5].divide(2)": ("x.at[5].divide(...) drops", 'mode="drop"'),
}  # fmt: skip
INSIDE = ["x[2]", "x[-3]", "x[1, 1]", "x[5:]", "x[:9]", "x[jnp.array(7)]", "x[jnp.array([7])]"]
INSIDE += ["x[..., 1]", "x[None, 2]", "x.at[2].set(1)", "x.at[5].set(1, mode='drop')"]
INSIDE += ["x.at[5].get(mode='clip')", "x.at[5].get(mode='fill', fill_value=0)", "x.at[9:].set(1)"]
INSIDE += ["jnp.take(x, 7)", "x[x > 2, ]", "x[True, 2]", "x[jnp.array([True, False, True]), 1]"]
INSIDE += ["x.sum(0)[1]", "list(x)", "[r for r in x]", "x[()]"]


def warnings_of(run, *args):
    """The texts of the warnings about indices."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(*args)
    return [w for w in caught if w.category is errors.IndexOutOfBoundsWarning]


@pytest.mark.parametrize("how", [lambda f: f, jax.jit, jax.grad], ids=["eager", "jit", "grad"])
@pytest.mark.parametrize("text", OUTSIDE)
def test_constant_indices_out_of_bounds_warn(text, how):
    """Eager and while tracing, at the user's line, with both ways to say what is meant."""
    f = define(f"def f(x):\n    return jnp.sum({text})\n")
    (warning,) = warnings_of(how(f), X)
    for words in (
        *OUTSIDE[text],
        "JAX clamps an index where it reads and drops it where it writes",
    ):
        assert words in str(warning.message)
    assert (warning.filename, warning.lineno) == ("<cell 1>", 2)


@pytest.mark.parametrize("text", INSIDE)
def test_other_indices_do_not_warn(text):
    """In bounds, slices, arrays, masks, and where mode= says what is wanted."""
    assert not warnings_of(define(f"f = lambda x: {text}"), X)


def test_index_warnings_can_be_switched_off():
    """The flag warn_index_bounds."""
    f = define("f = lambda x: x[5]")
    with off():
        assert not warnings_of(f, X)
    assert warnings_of(f, X)


@contextlib.contextmanager
def off():
    """Without warnings about indices."""
    jax.config.update("tinyjax_warn_index_bounds", False)
    try:
        yield
    finally:
        jax.config.update("tinyjax_warn_index_bounds", True)


def test_apply_warns_too():
    """It has no derivative, so it is not among the cases above."""
    (warning,) = warnings_of(define("f = lambda x: x.at[5].apply(jnp.sin)"), X)
    assert 'x.at[5].apply(..., mode="drop")' in str(warning.message)


def test_index_warnings_come_once_per_place():
    """A loop says it once."""
    f = define("def f(x):\n    for i in range(5):\n        x[5]\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        f(X)
    assert len(caught) == 1


# ---- shapes --------------------------------------------------------------------------------------

A, B, C = jnp.ones((2, 3)), jnp.ones(4), jnp.ones((4, 5), int)
SHAPES = {
    "a + b": """
        a: float32[2, 3]
        b: float32[   4]
                      ^ axis -1: 3 and 4""",
    "a > c": """
        a: float32[2, 3]
        c:   int32[4, 5]
                   ^  ^ axis -2: 2 and 4; axis -1: 3 and 5""",
    "jnp.maximum(a, b)": """
        a: float32[2, 3]
        b: float32[   4]
                      ^ axis -1: 3 and 4""",
    "lax.add(a, jnp.ones((2, 2)))": """
        a:                float32[2, 3]
        jnp.ones((2, 2)): float32[2, 2]
                                     ^ axis -1: 3 and 2""",
    "jnp.where(a > 0, a, b)": """
        a > 0:    bool[2, 3]
        a:     float32[2, 3]
        b:     float32[   4]
                          ^ axis -1: 3 and 4""",
    "lax.select(a > 0, a, a.T)": """
        on_false: float32[3, 2]
        on_true:  float32[2, 3]
                          ^  ^ axis 0: 3 and 2; axis 1: 2 and 3""",
    "a @ c": """
        a: float32[2, 3]
                      ^ summed: 3
        c: int32[4, 5]
                 ^ summed: 4""",
    "jnp.dot(a, b)": """
        a: float32[2, 3]
                      ^ summed: 3
        b: float32[4]
                   ^ summed: 4""",
    "jnp.einsum('ij,jk->ik', a, c)": """
        a: float32[2, 3]
                      ^ j = 3 in 'ij'
        c: int32[4, 5]
                 ^ j = 4 in 'jk'""",
    "jnp.concatenate([a, c])": """
        a: float32[2, 3]
        c:   int32[4, 5]
                      ^ axis 1: 3 and 5""",
    "jnp.concatenate([a, b])": """
        a: float32[2, 3]
        b: float32[   4]""",
    "jnp.stack([a, c])": """
        a: float32[2, 3]
        c:   int32[4, 5]
                   ^  ^ axis 0: 2 and 4; axis 1: 3 and 5""",
    "jnp.concatenate([a] * 9 + [c])": """
        operand 0: float32[2, 3]
        operand 1: float32[2, 3]
        operand 9: float32[4, 5]
                              ^ axis 1: 3 and 5""",
    "jnp.broadcast_to(b, (2, 3))": """
        b:      float32[   4]
        wanted:        [2, 3]
                           ^ axis -1: 4 does not stretch to 3""",
    "a.at[0].set(b)": """
        b:    float32[4]
        a[0]:        [3]
                      ^ axis -1: 4 does not stretch to 3""",
    "a.reshape(4, 2)": """
        4 * 2 = 8, not 6
        reshape(-1, 2) gives shape (3, 2)""",
    "lax.reshape(a, (3, 3))": """
        3 * 3 = 9, not 6
        reshape(-1, 3) gives shape (2, 3)
        reshape(3, -1) gives shape (3, 2)""",
    "jax.vmap(lambda p, q: p + q['w'])(a, {'w': b})": """
      * p       float32[2,3]  axis 0 has size 2
      * q['w']  float32[4]    axis 0 has size 4""",
    "lax.scan(lambda s, x: (s, x), 0, {'u': a, 'v': b})": """
      * xs['u']  float32[2,3]  axis 0 has size 2
      * xs['v']  float32[4]    axis 0 has size 4""",
}


def shape_error(text, how=lambda f: f):
    """The message of an expression in a, b and c."""
    return str(error_of(how(define(f"f = lambda a, b, c: {text}")), A, B, C))


@pytest.mark.parametrize("text", SHAPES)
def test_shapes_stand_one_under_the_other(text):
    """Eager and under jit; JAX's line first, the place afterwards."""
    wanted = textwrap.indent(textwrap.dedent(SHAPES[text].strip("\n")), "    ")
    wanted = wanted.replace("      * ", "  * ").replace("    * ", "  * ")
    for how in (lambda f: f, jax.jit):
        message = shape_error(text, how)
        assert wanted in message
        assert message.index(wanted) > 0
        assert len(message.splitlines()) <= 8


def test_products_propose_a_transposition():
    """Where it fits."""
    assert "Write a @ a.T if that is meant." in shape_error("a @ a")
    assert "Write a.T @ d if" in str(
        error_of(define("f = lambda a, d: a @ d"), A, jnp.ones((2, 5)))
    )
    assert "if that is meant" not in shape_error("a @ c")


def test_leading_axes_propose_a_new_axis():
    """x * v where v belongs to the rows."""
    v = jnp.ones(2)
    text = str(error_of(define("f = lambda a, v: a * v"), A, v))
    assert "If its axes are the first ones: v[..., None]" in text
    define("f = lambda a, v: a * v[..., None]")(A, v)


def test_reshape_proposals_run():
    """They give the shapes that they say."""
    assert A.reshape(-1, 2).shape == (3, 2)
    assert "gives shape" not in shape_error("a.reshape(4, -1)")


def test_shapes_without_source():
    """Operands are then called by their places."""
    scope = dict(NAMES)
    exec("def f(a, b): return a + b", scope)
    text = str(error_of(scope["f"], A, B))
    assert "    first operand:  float32[2, 3]\n    second operand: float32[   4]\n" in text


def test_names_are_not_those_of_other_arrays():
    """A variable whose shape is not that of the operand is none."""
    text = str(error_of(define("f = lambda m, p: jnp.linalg.solve(m, p)"), jnp.eye(3), A))
    assert "    m:" not in text


# ---- pytrees -------------------------------------------------------------------------------------

TREE = {f"layer{i}": {"w": jnp.ones((2, 2)), "b": jnp.ones(2)} for i in range(30)}
RENAMED = {**TREE, "layer7": {"w": jnp.ones((2, 2)), "c": jnp.ones(2)}}
RESHAPED = {**TREE, "layer7": {"w": jnp.ones((3, 2)), "b": jnp.ones(2)}}
SHORTER = {k: v for k, v in TREE.items() if k != "layer7"}
B_C = "['layer7'] is a dict with key 'b' but"
SIDES = "['layer7']['w'] has type float32[2,2] but"
TREES = {
    "map": (lambda: jax.tree.map(jnp.add, TREE, RENAMED), ["['layer7']", "('b', 'w')"]),
    "map_fewer": (lambda: jax.tree.map(jnp.add, TREE, SHORTER), ["{layer7}", "and 25 more"]),
    "cond": (lambda: lax.cond(True, lambda: TREE, lambda: RENAMED),
             [f"true_fun{B_C} false_fun has a dict with key 'c' there, so the keys do not match"]),
    "cond_types": (lambda: lax.cond(True, lambda: TREE, lambda: RESHAPED),
                   [f"true_fun{SIDES} false_fun has float32[3,2] there, so the shapes differ"]),
    "switch": (lambda: lax.switch(0, [lambda: 1.0, lambda: 1, lambda: 1.0]),
               ["branch 0 and branch 1", "float32[] but branch 1 has int32[]"]),
    "scan": (lambda: lax.scan(lambda c, x: (RENAMED, x), TREE, jnp.ones(3)),
             [f"carry in{B_C} carry out has a dict with key 'c'"]),
    "scan_types": (lambda: lax.scan(lambda c, x: (RESHAPED, x), TREE, jnp.ones(3)),
                   [f"carry in{SIDES} carry out has float32[3,2]"]),
    "while": (lambda: lax.while_loop(lambda c: True, lambda c: RENAMED, TREE),
              [f"input{B_C} output has a dict with key 'c'"]),
    "while_types": (lambda: lax.while_loop(lambda c: True, lambda c: RESHAPED, TREE),
                    [f"input{SIDES} output has float32[3,2]"]),
    "fori": (lambda: lax.fori_loop(0, 3, lambda i, c: (c, c), 0), ["is an array but", "a tuple"]),
    "vjp": (lambda: jax.vjp(lambda x: x, TREE)[1](RENAMED),
            ["argument['layer7'] is a dict with key 'c' but the function's output has a dict"]),
    "vjp_types": (lambda: jax.vjp(lambda x: x, TREE)[1](RESHAPED),
                  ["got float32[3,2], but expected float32[2,2]", "output['layer7']['w']"]),
    "jvp": (lambda: jax.jvp(lambda x: x, (TREE,), (RENAMED,)),
            ["primals[0]['layer7'] is a dict with key 'b' but tangents has a dict with key 'c'"]),
    "in_axes": (lambda: jax.vmap(lambda p: p, in_axes=({"layer0": 0},))(TREE),
                ["at key path vmap in_axes[0]", "1 child (layer0)", "and 25 more"]),
    "optimizer": (lambda: optimizers.sgd(0.1)[1](0, RENAMED, optimizers.sgd(0.1)[0](TREE)),
                  ["parameters['layer7'] is a dict with key 'b' but gradients has a dict with"]),
}  # fmt: skip


@pytest.mark.parametrize("case", TREES)
def test_trees_show_only_what_differs(case):
    """The key path and both sides; never a tree of thirty layers."""
    run, words = TREES[case]
    text = str(error_of(run))
    for word in words:
        assert word in text
    assert "layer20" not in text
    assert len(text.splitlines()) <= 8
    assert len(text) < 700


# ---- other mistakes ------------------------------------------------------------------------------

MISTAKES = {
    "jit_of_a_value": ("jax.jit(jnp.sin(1.0))", "write jax.jit(jnp.sin)(1.0) instead of"),
    "grad_of_a_value": ("jax.grad(jnp.sin(1.0))", "write jax.grad(jnp.sin)(1.0) instead of"),
    "text": ("jax.jit(lambda x, mode: x)(1.0, 'relu')", 'jit(f, static_argnames="mode")'),
    "function": ("jax.jit(lambda g, x: g(x))(jnp.sin, 1.0)", 'jit(f, static_argnames="g")'),
    "list": ("jnp.sum([1, 2])", "Make it an array first: jnp.array(...)"),
    "list_operand": ("jnp.ones(2) + [1, 2]", "Make the list an array first, with jnp.array"),
    "ragged": ("jnp.array([[1, 2], [3]])", "Rows must have one length"),
    "float_index": ("jnp.ones(3)[1.0]", "x[int(i)]"),
    "float_indices": ("jnp.ones(3)[jnp.ones(2)]", "x[i.astype(int)]"),
    "seed": ("jax.random.normal(0, (3,))", "jax.random.key(seed)"),
    "no_key": ("jax.random.normal((3,))", "jax.random.key(seed)"),
    "key_arithmetic": ("jax.random.key(0) + 1", "jax.random.fold_in(key, i)"),
    "several_keys": ("jax.random.normal(jax.random.split(jax.random.key(0)))", "Use jax.vmap"),
    "vector_output": ("jax.grad(lambda x: x**2)(jnp.ones(3))", "jax.vmap(jax.grad(f))"),
    "integer": ("jax.grad(lambda x: x**2)(3)", "3.0 instead of 3"),
    "scalar": ("jax.vmap(lambda x: x)(1.0)", "None in in_axes"),
    "static_list": ("jax.jit(lambda x, n: x, static_argnums=1)(1.0, [1])", "a tuple for a list"),
    "shape_and_dtype": ("jnp.zeros(2, 3)", "jnp.zeros((2, 3))"),
    "strict_dtypes": ("lax.add(1, 1.0)", "jnp.add is a similar function"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_typical_mistakes_say_what_to_write(case):
    """In at most eight lines."""
    text, words = MISTAKES[case]
    message = str(error_of(define(f"f = lambda: {text}")))
    assert words in message
    assert len(message.splitlines()) <= 8


def test_cells_of_notebooks_are_rewritten_too():
    """IPython knows the text of its cells."""
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance()
    try:
        shell.run_cell("import tinyjax as tj, tinyjax.numpy as np_", store_history=True)
        shell.run_cell("def f(x):\n    return x if x > 0 else -x", store_history=True)
        text = str(error_of(jax.jit(shell.user_ns["f"]), 1.0))
    finally:
        interactive.InteractiveShell.clear_instance()
    assert "The error occurred at Cell In[2]:2 (f):" in text
    assert proposal(text) == "np_.where(x > 0, x, -x)"
