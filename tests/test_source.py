"""Where equations come from: the user's line, through every transformation."""

import collections
import dataclasses
import functools
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core import all_eqns
from tinyjax.source import Source, here, is_user_file, is_user_frame, warn
from tinyjax.transforms.package_lines import sources


def program(x):
    """Three lines with an operation each."""
    y = jnp.sin(x)
    z = y * x
    return jnp.exp(z).sum()


LINES = {"y = jnp.sin(x)", "z = y * x", "return jnp.exp(z).sum()"}
X = np.ones(3, np.float32)


def places(f, *args):
    """(operation, its line, its phase) for every equation."""
    jaxpr = jax.make_jaxpr(f)(*args)
    known, eqns = sources(jaxpr), all_eqns(jaxpr)
    return [(e.primitive.name, known[id(e)].text, known[id(e)].phase) for e in eqns]


def test_equations_know_their_line():
    assert places(program, X) == [
        ("sin", "y = jnp.sin(x)", ""),
        ("mul", "z = y * x", ""),
        ("exp", "return jnp.exp(z).sum()", ""),
        ("reduce_sum", "return jnp.exp(z).sum()", ""),
    ]


def test_a_derivative_knows_the_line_that_it_is_the_derivative_of():
    found = places(jax.grad(program), X)
    assert {text for _, text, _ in found} == LINES
    assert {text for _, text, phase in found if phase == "backward"} == LINES
    assert ("cos", "y = jnp.sin(x)", "") in found


@pytest.mark.parametrize(
    "change",
    [
        jax.jit,
        jax.checkpoint,
        lambda f: jax.grad(jax.jit(f)),
        lambda f: jax.hessian(f),
        lambda f: jax.vmap(f),
        lambda f: lambda x: jax.jvp(f, (x,), (x,)),
        lambda f: lambda x: jax.linearize(f, x)[1](x),
        lambda f: jax.jit(jax.vmap(jax.grad(jax.jit(f)))),
        lambda f: lambda x: jax.lax.scan(lambda c, _: (f(x) + c, c), 0.0, length=3),
        lambda f: jax.grad(lambda x: jax.lax.fori_loop(0, 3, lambda i, c: c * f(x), 1.0)),
        lambda f: lambda x: jax.core.eval_jaxpr(*closed(jax.make_jaxpr(f)(x)), x),
        lambda f: functools.partial(lambda g, x: g(x), f),
    ],
)
def test_through_transformations(change):
    x = np.ones((3, 3), np.float32) if "vmap" in change.__code__.co_names else X
    assert {text for _, text, _ in places(change(program), x)} >= LINES


def closed(jaxpr):
    """jaxpr, consts."""
    return jaxpr.jaxpr, jaxpr.consts


def test_each_caller_of_a_function_of_the_package_has_its_own_line():
    """jnp.where is traced once for all, also its derivative and its batched form."""

    def one(x):
        return jnp.where(x > 0, x, 0.0)

    def other(x):
        y = x * 1.0
        return jnp.where(y > 0, y, 0.0)

    for change in (lambda f: f, lambda f: jax.grad(lambda x: f(x).sum()), jax.vmap, jax.jit):
        for f, line in ((one, "x > 0, x"), (other, "y > 0, y")):
            found = [text for name, text, _ in places(change(f), X) if name == "select_n"]
            assert found and all(line in text for text in found)


def test_the_users_line_is_found_below_libraries():
    """NumPy and Python's own modules are not the user."""

    def f(x):
        return functools.reduce(lambda a, b: a + b, [x, x])

    assert "lambda a, b" in places(f, X)[0][1]
    found = []
    np.vectorize(lambda _: found.append(here()), otypes=[float])(np.zeros(1))
    assert "np.vectorize" in found[0].text and found[0].function == "<lambda>"
    assert not is_user_file(np.__file__) and not is_user_file(functools.__file__)
    assert is_user_file(__file__) and is_user_file(pytest.__file__)


def test_a_place_reads_well_and_stays_in_its_process():
    place = here()
    line = test_a_place_reads_well_and_stays_in_its_process.__code__.co_firstlineno + 1
    assert isinstance(place, Source) and place.line == line
    assert str(place) == f"{__file__}:{line} ({place.function})"
    assert place.text == "place = here()"
    assert pickle.loads(pickle.dumps(place)) is None


def test_cells_of_notebooks_are_named():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        shell.run_cell("from tinyjax.source import here\nplace = here()", store_history=True)
        place = shell.user_ns["place"]
        assert str(place) == "Cell In[1]:2 (<module>)" and place.text == "place = here()"
    finally:
        InteractiveShell.clear_instance()


def test_code_of_the_command_line_is_the_users():
    code = (
        "import tinyjax as jax\nkey = jax.random.key(0)\n"
        "a, b = jax.random.normal(key), jax.random.normal(key)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "<string>:3: KeyReuseWarning" in done.stderr


def test_a_warning_names_the_users_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        jnp.shape([1, 2])
        warn("by myself")
    assert [w.filename for w in caught] == [__file__, __file__]
    assert caught[1].lineno == caught[0].lineno + 1


# ---- code without a file -------------------------------------------------------------------------


def run_text(text, **names):
    """The names after running a text, as a program of the user does with exec."""
    space = {"jax": jax, "here": here, **names}
    exec(text, space)
    return space


@pytest.mark.parametrize("names", [{}, {"__name__": "__main__"}, {"__name__": "model"}])
def test_code_without_a_file_is_the_users(names):
    """The line in it is named, without its text; not the line that calls."""
    text = "\ndef f(x):\n    y = x + 1\n    if y > 0:\n        return y\n    return here()\n"
    f = run_text(text, **names)["f"]
    place = f(-5.0)
    assert str(place) == "<string>:6 (f)" and place.text == ""
    with pytest.raises(TypeError) as caught:
        jax.jit(f)(1.0)
    lines = str(caught.value).splitlines()
    assert "The error occurred at <string>:4 (f)" in lines
    assert "This value depends on argument x of f" in lines[1]
    jaxpr = jax.make_jaxpr(run_text("f = lambda x: x * 2", **names)["f"])(1.0)
    assert str(jaxpr.eqns[0].source) == "<string>:1 (<lambda>)"
    found = eval("jax.make_jaxpr(lambda x: x * 2)(1.0)", {"jax": jax, **names})
    assert str(found.eqns[0].source) == "<string>:1 (<lambda>)"


def test_code_that_libraries_generate_is_not_the_users():
    """Methods of dataclasses and named tuples."""

    @dataclasses.dataclass
    class Point:
        x: object

    pair = collections.namedtuple("pair", "x y")
    found = []

    class Number:
        def __eq__(self, other):
            found.append(sys._getframe(1))
            return True

    assert Point(Number()) == Point(Number())
    assert found[0].f_code.co_filename == "<string>" and not is_user_frame(found[0])
    frames = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, what, arg: frames.append(frame) if what == "call" else None)
    pair(1, 2)
    sys.setprofile(before)
    made = [f for f in frames if f.f_code.co_filename == "<string>"]
    assert all(not is_user_frame(f) for f in made)
    with pytest.raises(TypeError) as caught:
        jax.jit(lambda x: Point(x) == Point(x + 1))(1.0)
    assert "test_source.py" in str(caught.value) and "<string>" not in str(caught.value)


def test_generated_methods_of_scipy_are_not_the_users():
    """norm.rvs reads its arguments by code that SciPy makes."""
    from scipy import stats

    seen = []

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_filename == "<string>":
            seen.append(is_user_frame(frame))

    sys.setprofile(look)
    try:
        stats.norm.rvs(random_state=0)
    finally:
        sys.setprofile(None)
    assert seen and not any(seen)


def test_warnings_of_code_without_a_file_stand_in_it():
    """Not where it was called."""
    text = "\ndef f(x):\n    return x[9]\n"
    with pytest.warns(jax.errors.IndexOutOfBoundsWarning) as caught:
        run_text(text)["f"](jax.numpy.ones(3))
    assert (caught[0].filename, caught[0].lineno) == ("<string>", 3)
