"""Tracebacks hold the user's lines, all of them, and none of ours."""

import io
import json
import os
import pdb
import subprocess
import sys
import textwrap
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.config import FlagScope
from tinyjax.source import PACKAGE
from tinyjax.tracebacks import NOTE, boundary, shorten

HERE = "test_tracebacks.py"
ONES = jnp.ones(3)


@pytest.fixture(autouse=True)
def filtered():
    """The suite runs with all frames; this file does not."""
    with FlagScope("traceback", "filtered"):
        yield


def caught(run):
    """The error of a call."""
    try:
        run()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def names(error):
    """The functions of a traceback, outermost first, without those of `caught`."""
    frames = traceback.extract_tb(error.__traceback__)
    assert not [f for f in frames if f.filename.startswith(PACKAGE)], traceback.format_tb(
        error.__traceback__
    )
    return [f.name for f in frames][1:]


def noted(error):
    """Whether the note is there, once."""
    return getattr(error, "__notes__", []).count(NOTE) == 1


# ---- errors of the user's own code ---------------------------------------------------------------


def helper(x):
    y = jnp.sin(x)
    return y / (1 // 0)


def f(x):
    return helper(x)


def total(x):
    return jax.vmap(f)(x).sum()


def test_jit_of_grad_of_vmap():
    def main():
        return jax.jit(jax.grad(total))(ONES)

    error = caught(main)
    assert type(error) is ZeroDivisionError
    assert names(error) == ["main", "total", "f", "helper"]
    assert noted(error)
    lines = [f.line for f in traceback.extract_tb(error.__traceback__)]
    assert lines[-1] == "return y / (1 // 0)" and "jax.jit(jax.grad(total))(ONES)" in lines[1]


def fails(*args):
    raise KeyError("mine")


CALLS = {
    "jit": lambda: jax.jit(fails)(1.0),
    "jit_again": lambda: jax.jit(lambda x: fails())(1.0),
    "grad": lambda: jax.grad(fails)(1.0),
    "value_and_grad": lambda: jax.value_and_grad(fails)(1.0),
    "jacfwd": lambda: jax.jacfwd(fails)(1.0),
    "jacrev": lambda: jax.jacrev(fails)(1.0),
    "hessian": lambda: jax.hessian(fails)(1.0),
    "vmap": lambda: jax.vmap(fails)(ONES),
    "jvp": lambda: jax.jvp(fails, (1.0,), (1.0,)),
    "vjp": lambda: jax.vjp(fails, 1.0),
    "linearize": lambda: jax.linearize(fails, 1.0),
    "linear_transpose": lambda: jax.linear_transpose(fails, 1.0),
    "eval_shape": lambda: jax.eval_shape(fails, 1.0),
    "make_jaxpr": lambda: jax.make_jaxpr(fails)(1.0),
    "lower": lambda: jax.jit(fails).lower(1.0),
    "checkpoint": lambda: jax.checkpoint(fails)(1.0),
    "custom_jvp": lambda: make_custom(jax.custom_jvp)(1.0),
    "custom_vjp": lambda: make_custom(jax.custom_vjp)(1.0),
    "scan": lambda: jax.lax.scan(fails, 0, ONES),
    "while_loop": lambda: jax.lax.while_loop(fails, fails, 0),
    "fori_loop": lambda: jax.lax.fori_loop(0, 3, fails, 0),
    "cond": lambda: jax.lax.cond(True, fails, fails, 0),
    "switch": lambda: jax.lax.switch(1, [fails, fails], 0),
    "map": lambda: jax.lax.map(fails, ONES),
    "associative_scan": lambda: jax.lax.associative_scan(fails, ONES),
    "pmap": lambda: jax.pmap(fails)(ONES),
    "apply_along_axis": lambda: jnp.apply_along_axis(fails, 0, jnp.ones((2, 2))),
    "vectorize": lambda: jnp.vectorize(fails)(ONES),
    "custom_root": lambda: jax.lax.custom_root(fails, 0.0, fails, fails),
}


def make_custom(kind):
    """A custom function whose body fails."""
    g = kind(fails)
    if kind is jax.custom_jvp:
        g.defjvp(fails)
    else:
        g.defvjp(fails, fails)
    return g


@pytest.mark.parametrize("name", CALLS)
def test_transformations(name):
    error = caught(CALLS[name])
    inner = [n for n in names(error) if n != "<lambda>" and not n.startswith("make_custom")]
    assert inner == ["fails"]
    assert type(error) is KeyError and noted(error)


def test_rules_and_pulled_back_functions():
    @jax.custom_vjp
    def g(x):
        return x

    def backward(residuals, ct):
        return fails()

    g.defvjp(lambda x: (x, None), backward)
    assert names(caught(lambda: jax.grad(g)(1.0))) == ["<lambda>", "backward", "fails"]
    _, pull = jax.vjp(jnp.sin, 1.0)
    assert names(caught(lambda: pull((1.0, 2.0)))) == ["<lambda>"]


def test_library_frames_of_the_user_stay():
    """What f calls itself is f's, though it is Python's own code."""

    def parse(x):
        return json.loads("{")

    frames = names(caught(lambda: jax.jit(parse)(1.0)))
    assert frames[:2] == ["<lambda>", "parse"]
    assert frames[2:] == ["loads", "decode", "raw_decode"]


def test_user_frames_between_ours_and_numpys():
    """NumPy's frames are ours when we called NumPy, and the user's when they did."""

    def own(x):
        return np.broadcast_to(np.ones(3), (2, 4))

    frames = names(caught(lambda: jax.jit(own)(1.0)))
    assert frames[:2] == ["<lambda>", "own"] and len(frames) > 2
    frames = traceback.extract_tb(caught(lambda: jnp.linspace(0, 1, -1)).__traceback__)
    assert {f.filename for f in frames} == {__file__}


def test_generators():
    def rows(x):
        yield x
        yield fails()

    def body(x):
        return sum(rows(x))

    assert names(caught(lambda: jax.jit(body)(1.0))) == ["<lambda>", "body", "rows", "fails"]


# ---- errors of ours ------------------------------------------------------------------------------


def test_errors_of_ours():
    def choose(x):
        if x > 0:
            return x
        return -x

    error = caught(lambda: jax.jit(choose)(1.0))
    assert names(error) == ["<lambda>", "choose"]
    assert type(error).__name__ == "TracerBoolConversionError" and noted(error)


EAGER = {
    "operator": lambda: ONES + jnp.ones(4),
    "reflected": lambda: np.ones(4) - ONES,
    "matmul": lambda: ONES @ jnp.ones(4),
    "index": lambda: ONES[1, 2],
    "reshape": lambda: ONES.reshape(7),
    "method": lambda: ONES.sum(axis=5),
    "transpose": lambda: ONES.transpose(0, 1),
    "jnp.add": lambda: jnp.add(ONES, jnp.ones(4)),
    "jnp.sin": lambda: jnp.sin("a"),
    "jnp.concatenate": lambda: jnp.concatenate([ONES, jnp.ones((2, 2))]),
    "jnp.where": lambda: jnp.where(ONES, ONES, jnp.ones(4)),
    "jnp.dot": lambda: jnp.dot(ONES, jnp.ones(4)),
    "jnp.stack": lambda: jnp.stack([ONES, jnp.ones(4)]),
    "jnp.zeros": lambda: jnp.zeros(-1),
    "lax.add": lambda: jax.lax.add(ONES, jnp.ones(4)),
    "lax.sin": lambda: jax.lax.sin(jnp.arange(3)),
    "nn.relu": lambda: jax.nn.softmax(ONES, axis=4),
    "grad": lambda: jax.grad(lambda x: x)(ONES),
    "vmap": lambda: jax.vmap(lambda x, y: x)(ONES, jnp.ones(4)),
    "scan": lambda: jax.lax.scan(lambda c, x: (c, x), 0, {"a": ONES, "b": jnp.ones(4)}),
}


@pytest.mark.parametrize("name", EAGER)
def test_eager_errors(name):
    error = caught(EAGER[name])
    assert names(error) == ["<lambda>"]
    assert noted(error)


def test_eager_errors_of_recordings():
    """Calls that repeat run from a recording: its frames go, too."""

    def run(x, y):
        return jnp.add(x, y)

    for _ in range(12):
        run(ONES, ONES)
    assert names(caught(lambda: run(ONES, jnp.ones(4)))) == ["<lambda>", "run"]


# ---- chains --------------------------------------------------------------------------------------


def test_causes_and_contexts():
    def g(x):
        try:
            jax.vmap(fails)(ONES)
        except KeyError as inner:
            raise ValueError("outer") from inner

    error = caught(lambda: jax.jit(g)(1.0))
    assert names(error) == ["<lambda>", "g"] and noted(error)
    assert [f.name for f in traceback.extract_tb(error.__cause__.__traceback__)] == ["g", "fails"]

    def h(x):
        try:
            jax.vmap(fails)(ONES)
        except KeyError:
            return fails()

    error = caught(lambda: jax.jit(h)(1.0))
    assert names(error) == ["<lambda>", "h", "fails"]
    frames = traceback.extract_tb(error.__context__.__traceback__)
    assert [f.name for f in frames] == ["h", "fails"] and not error.__suppress_context__


def test_an_error_that_we_caught_ourselves_is_no_news():
    def ours_too():
        try:
            {}["inside"]
        except KeyError:
            raise ValueError("what the user should read")  # noqa: B904

    with FlagScope("traceback", "full"):
        plain = caught(lambda: run_as_ours(ours_too))
        assert "KeyError" in "".join(traceback.format_exception(plain))
    error = caught(lambda: run_as_ours(ours_too))
    text = "".join(traceback.format_exception(error))
    assert "KeyError" not in text and "what the user should read" in text
    assert isinstance(error.__context__, KeyError)  # kept for debuggers


def run_as_ours(f):
    """Run a copy of f that seems to be a file of this package."""
    code = f.__code__.replace(co_filename=PACKAGE + "somewhere.py")
    return boundary(type(f)(code, f.__globals__))()


def test_groups():
    def g(x):
        errors = []
        for _ in range(2):
            try:
                jax.vmap(fails)(ONES)
            except KeyError as error:
                errors.append(error)
        raise ExceptionGroup("both", errors)

    error = caught(lambda: jax.jit(g)(1.0))
    assert names(error) == ["<lambda>", "g"] and noted(error)
    for one in error.exceptions:
        assert [f.name for f in traceback.extract_tb(one.__traceback__)] == ["g", "fails"]


def test_cycles_end():
    one, two = ValueError("one"), ValueError("two")
    one.__context__, two.__context__ = two, one
    shorten(one)


def test_keyboard_interrupts_are_not_touched():
    def stop(x):
        raise KeyboardInterrupt

    try:
        jax.jit(stop)(1.0)
    except KeyboardInterrupt as error:
        frames = traceback.extract_tb(error.__traceback__)
        assert any(f.filename.startswith(PACKAGE) for f in frames)
        assert not hasattr(error, "__notes__")


def test_an_error_that_is_raised_twice():
    kept = KeyError("kept")

    def g(x):
        raise kept

    for _ in range(2):
        assert names(caught(lambda: jax.jit(g)(1.0)))[-1] == "g"
    assert noted(kept)


def test_endless_recursion():
    def g(x):
        return jax.vmap(g)(x)

    error = caught(lambda: jax.jit(g)(ONES))
    assert isinstance(error, (RecursionError, ValueError))
    assert set(names(error)) <= {"<lambda>", "g"}


# ---- other places --------------------------------------------------------------------------------


def test_full():
    with FlagScope("traceback", "full"):
        error = caught(lambda: jax.jit(fails)(1.0))
    frames = traceback.extract_tb(error.__traceback__)
    assert any(f.filename.startswith(PACKAGE) for f in frames) and not noted(error)
    with FlagScope("traceback", "off"):  # JAX's word
        error = caught(lambda: ONES + jnp.ones(4))
    assert len(traceback.extract_tb(error.__traceback__)) > 2


def test_callbacks_and_programs_that_run_apart():
    def host(x):
        return fails()

    @jax.jit
    def g(x):
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), np.float32), x)

    error = caught(lambda: jax.block_until_ready(g(1.0)))
    frames = traceback.extract_tb(error.__traceback__)
    assert frames[1].name == "<lambda>"
    assert not [f for f in frames[2:] if "dispatch" in f.filename or "driver" in f.filename]


def test_threads():
    with ThreadPoolExecutor(1) as pool:
        error = caught(pool.submit(lambda: FlagScope("traceback", "filtered")(total)(ONES)).result)
    assert [n for n in names(error) if n in ("total", "f", "helper")] == ["total", "f", "helper"]


def test_pdb_post_mortem():
    error = caught(lambda: jax.jit(jax.grad(total))(ONES))
    out = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("w\np x\nup\nq\n"), stdout=out, nosigint=True)
    debugger.use_rawinput = False
    debugger.reset()
    debugger.interaction(None, error.__traceback__)
    text = out.getvalue()
    assert "helper" in text and HERE in text and "Tracer" in text
    assert PACKAGE not in text


def run_script(tmp_path, text, **environment):
    """What a script prints."""
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(text))
    env = {k: v for k, v in os.environ.items() if k != "TINYJAX_TRACEBACK"} | environment
    env["PYTHONPATH"] = os.path.dirname(PACKAGE.rstrip(os.sep))
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=120, env=env
    )
    return done.stdout + done.stderr


SMALL = """
    import tinyjax.numpy as jnp
    import tinyjax

    def area(r):
        return jnp.power(r, "2")

    area(3.0)
"""


def test_uncaught_errors_of_small_functions(tmp_path):
    """These have no boundary: the hook shortens what it prints."""
    text = run_script(tmp_path, SMALL)
    assert text.count('File "') == 2 and "area" in text and NOTE in text
    assert PACKAGE not in text
    text = run_script(tmp_path, SMALL, TINYJAX_TRACEBACK="full")
    assert PACKAGE in text and NOTE not in text


def test_uncaught_errors_in_threads(tmp_path):
    text = run_script(
        tmp_path,
        """
        import threading
        import tinyjax.numpy as jnp

        def area():
            return jnp.power(3.0, "2")

        threading.Thread(target=area).start()
        """,
    )
    assert "Exception in thread" in text and "area" in text and NOTE in text
    assert PACKAGE not in text


def test_print_exc_in_a_script(tmp_path):
    text = run_script(
        tmp_path,
        """
        import traceback
        import tinyjax as jax

        def half(x):
            return x / (1 // 0)

        try:
            jax.jit(jax.vmap(half))(jax.numpy.ones(3))
        except ZeroDivisionError:
            traceback.print_exc()
        """,
    )
    assert text.count('File "') == 2 and "half" in text and NOTE in text


def test_errors_without_us_are_left_alone(tmp_path):
    text = run_script(
        tmp_path,
        """
        import json
        import tinyjax
        json.loads("{")
        """,
    )
    assert text.count('File "') == 4 and NOTE not in text


def test_the_user_hook_before_ours_is_called(tmp_path):
    text = run_script(
        tmp_path,
        """
        import sys
        sys.excepthook = lambda kind, error, tb: print("mine:", kind.__name__, file=sys.stderr)
        import tinyjax.numpy as jnp
        jnp.power(1.0, "2")
        """,
    )
    assert text.strip() == "mine: TypeError"


def test_ipython(tmp_path):
    pytest.importorskip("IPython")
    script = """
        from IPython.core.interactiveshell import InteractiveShell
        shell = InteractiveShell.instance()
        shell.run_line_magic("colors", "NoColor")
        import sys, io
        shell.run_cell("import tinyjax as jax, tinyjax.numpy as jnp")
        shell.run_cell("def half(x):\\n    return x / (1 // 0)")
        shell.run_cell("jax.jit(jax.vmap(half))(jnp.ones(3))")
        shell.run_cell("jnp.power(1.0, '2')")
        shell.run_cell("1 / 0")
        shell.run_cell("print('alive')")
    """
    text = run_script(tmp_path, script, IPYTHONDIR=str(tmp_path))
    assert "alive" in text and "half(x)" in text and text.count(NOTE) == 2
    assert PACKAGE not in text and "tinyjax/" not in text.replace("tinyjax/source", "")


def test_workers_of_pmap():
    def host(x):
        return fails()

    def g(x):
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), np.float32), x)

    error = caught(lambda: jax.block_until_ready(jax.pmap(g)(jnp.ones(2))))
    text = "".join(traceback.format_exception(error))
    assert "fails" in text and "host" in text
    assert f"{PACKAGE}parallel/worker.py" not in text


def test_a_thread_with_the_default_hook():
    """threading.excepthook gets what it expects."""
    heard = []
    before, threading.excepthook = threading.excepthook, heard.append
    try:
        thread = threading.Thread(target=lambda: jnp.power(1.0, "2"))
        thread.start()
        thread.join()
    finally:
        threading.excepthook = before
    assert heard[0].exc_type is TypeError


def test_print_exc_of_small_functions(tmp_path):
    """The module traceback, and with it logging, shortens what it formats."""
    text = run_script(
        tmp_path,
        """
        import logging, traceback
        import tinyjax.numpy as jnp

        def area(r):
            return jnp.power(r, "2")

        try:
            area(1.0)
        except TypeError as error:
            traceback.print_exc()
            logging.exception("found")
            assert "traceback.py" not in traceback.format_exc()
        """,
    )
    assert text.count('File "') == 4 and text.count("in area") == 2
    assert PACKAGE not in text and text.count(NOTE) == 2


def test_programs_given_as_text():
    """python -c: the file is called <string>, as are methods of dataclasses."""
    program = """
import tinyjax as jax
def f(x):
    return 1 // 0
jax.jit(jax.vmap(f))(jax.numpy.ones(3))
"""
    env = os.environ | {"PYTHONPATH": os.path.dirname(PACKAGE.rstrip(os.sep))}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=env
    )
    text = done.stderr
    assert text.count('File "<string>"') == 2 and "in f" in text and PACKAGE not in text


def test_callbacks_say_where_they_failed_without_us():
    def host(x):
        return fails()

    def g(x):
        return jax.pure_callback(host, jax.ShapeDtypeStruct((), np.float32), x)

    error = caught(lambda: jax.jit(g)(1.0).block_until_ready())
    text = "".join(traceback.format_exception(error))
    assert "in host" in text and "in fails" in text
    assert PACKAGE not in text and text.count(NOTE) == 1


def test_an_error_of_the_user_that_ours_led_to(tmp_path):
    text = run_script(
        tmp_path,
        """
        import tinyjax.numpy as jnp

        def area(r):
            try:
                return jnp.power(r, "2")
            except TypeError as error:
                raise ValueError("no radius") from error

        area(1.0)
        """,
    )
    assert "no radius" in text and "direct cause" in text and text.count('File "') == 3
    assert PACKAGE not in text
