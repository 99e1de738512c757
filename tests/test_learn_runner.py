"""Whatever a student's code does, a verdict comes back, and in time."""

import json
import sys
import time
from pathlib import Path

import pytest

from tinyjax.learn import feedback
from tinyjax.learn.exercise import find
from tinyjax.learn.judge import Grader
from tinyjax.learn.runner import Worker, run, summarise

EXERCISE = find("third_derivative")
SOLUTION = EXERCISE.reference.source
WRONG = EXERCISE.solutions("wrong")[0].source


@pytest.fixture(scope="module")
def grader():
    with Grader() as grader:
        yield grader


HOSTILE = {
    "endless loop": ("while True: pass", "timeout"),
    "endless loop in the function": ("def third_derivative(f):\n    while True: pass", "timeout"),
    "sleep": ("import time; time.sleep(600)", "timeout"),
    "a child that outlives it": (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "while True: time.sleep(1)",
        "timeout",
    ),
    "flood": ("while True: print('x' * 10000)", "flood"),
    "os._exit": ("import os; os._exit(0)", "crash"),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", "crash"),
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "crash"),
    "all the memory": ("x = bytearray(1 << 40)", "broken"),
    "syntax error": ("def third_derivative(f:", "broken"),
    "an error at the top": ("1 / 0", "broken"),
    "sys.exit": ("import sys; sys.exit(0)", "broken"),
    "an empty file": ("", "fail"),
    "input": ("input()", "broken"),
    "a reference in a thread": (SOLUTION + "\nimport threading, time\n"
        "threading.Thread(target=time.sleep, args=(600,)).start()", "pass"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_every_code_gets_a_verdict(name, grader, monkeypatch):
    source, status = HOSTILE[name]
    limit = 3.0 if status == "timeout" else 60.0  # on a busy machine, too, the rest is done by then
    monkeypatch.setattr(type(EXERCISE), "seconds", limit)
    began = time.monotonic()
    verdict = grader.check(EXERCISE, source)
    assert verdict.status == status, verdict
    assert time.monotonic() - began < limit + 10
    assert feedback.render(verdict).startswith("third_derivative: ")


def test_the_crash_is_put_in_words(grader):
    verdict = grader.check(EXERCISE, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert verdict.detail == "the process was ended by signal 11 (SIGSEGV)"
    verdict = grader.check(EXERCISE, "import os; os._exit(3)")
    assert verdict.detail == "the process left with exit code 3 before the checks were done"


def test_a_traceback_shows_the_student_only(grader):
    source = "def third_derivative(f):\n    return lambda x: missing + x\n"
    verdict = grader.check(EXERCISE, source)
    error = verdict.checks[0].error
    assert error is not None
    assert "return lambda x: missing + x" in error
    assert "NameError: name 'missing' is not defined" in error
    assert "learn/child.py" not in error and "TINYJAX_TRACEBACK" not in error


def test_a_key_that_is_used_twice_is_a_mistake(grader):
    """What only warns elsewhere is an error here, with both lines."""
    verdict = grader.check(
        EXERCISE,
        "import tinyjax as jax\n\nkey = jax.random.PRNGKey(0)\n"
        "noise = jax.random.normal(key)\nkey, sub = jax.random.split(key)\n" + SOLUTION,
    )
    assert verdict.status == "broken" and verdict.detail is not None
    assert "KeyReuseError" in verdict.detail
    assert "noise = jax.random.normal(key)" in verdict.detail
    assert "key, sub = jax.random.split(key)" in verdict.detail


def test_a_renamed_function_is_named(grader):
    verdict = grader.check(EXERCISE, SOLUTION.replace("third_derivative", "third"))
    assert "your file defines no 'third_derivative'" in verdict.checks[0].error


def test_printed_text_is_shown_on_failure(grader):
    verdict = grader.check(EXERCISE, "print('I am here')\nthird_derivative = None")
    assert "I am here" in feedback.render(verdict)


def test_an_unknown_failure_gets_no_diagnosis(grader):
    """No misconception is named unless the fingerprint says so."""
    verdict = grader.check(EXERCISE, "def third_derivative(f):\n    return lambda x: 1234.5")
    assert verdict.status == "fail"
    assert verdict.checks[0].misconception is None


def test_one_error_that_many_make_is_no_diagnosis(grader):
    """A place beyond the last one ends in an error that a known mistake makes as well."""
    card = find("batch_dot")
    last = "return self.bind(x, y, dimension_numbers=numbers, **params), place"
    beyond = last.replace("return", "out =").replace(", place", "")
    beyond += "\n    return out, (out.ndim if i is None else place)"
    verdict = grader.check(card, card.reference.source.replace(last, beyond))
    failed = [result for result in verdict.checks if result.status == "fail"]
    assert len(failed) == 2 and not any(result.misconception for result in failed)


def test_what_fails_in_its_own_way_is_not_a_known_mistake(grader):
    """To return f itself is no derivative either, but not `the answer for the example`."""
    verdict = grader.check(EXERCISE, "def third_derivative(f):\n    return f")
    assert {result.status for result in verdict.checks} == {"fail"}
    assert not any(result.misconception for result in verdict.checks)


LOOK_AROUND = """
import sys
def third_derivative(f):
    frame, found = sys._getframe(), []
    while frame := frame.f_back:
        found += [name for name in ("result", "reply", "line") if name in frame.f_locals]
        found += frame.f_locals.get("secret", [])
    raise LookupError(found)
"""


def test_nothing_of_the_student_before_is_to_be_found(grader):
    """The process forks from one that has just had another student's answers."""
    assert grader.check(EXERCISE, EXERCISE.reference.source).passed
    verdict = grader.check(EXERCISE, LOOK_AROUND)
    assert "LookupError: []" in verdict.checks[0].error, verdict.checks[0].error


def test_forged_reports_do_not_pass(grader):
    """A student's process returns values; it cannot say that they are right."""
    line = json.dumps({"done": True, "passed": True, "status": "pass"}) + "\n"
    source = (
        "import os\n"
        "for number in range(3, 40):\n"
        f"    try: os.write(number, {line.encode()!r})\n"
        "    except OSError: pass\n"
        "os._exit(0)\n"
    )
    assert grader.check(EXERCISE, source).status == "fail"


PATCHES = {
    "tinyjax.grad": "jax.grad = lambda f: lambda x: 0.0",
    "tinyjax.jit": "jax.jit = lambda f: f",
    "the code of tinyjax.grad": "jax.grad.__code__ = (lambda *a, **k: None).__code__",
    "a method of Array": "jax.Array.__eq__ = lambda a, b: True",
    "numpy.allclose": "import numpy; numpy.allclose = lambda *a, **k: True",
    "numpy.asarray": "import numpy; numpy.asarray = lambda x: x",
    "json.dumps": "import json; json.dumps = lambda x: '{}'",
    "the grader's own encode": "import tinyjax.learn.values as v; v.encode = lambda x: 6.0",
    "builtins.float": "import builtins; builtins.float = int",
}


@pytest.mark.parametrize("name", PATCHES)
def test_patches_gain_nothing(name, grader):
    """Not even beside a right solution: what the checks rely on must be as it is."""
    patch = f"import tinyjax as jax\n{PATCHES[name]}\n"
    assert not grader.check(EXERCISE, patch + WRONG).passed
    assert not grader.check(EXERCISE, patch + SOLUTION).passed
    assert grader.check(EXERCISE, SOLUTION).passed  # the next one finds the package whole


JIT_PATCHES = {
    "a flag": "jax.config.update('jax_disable_jit', True)\n",
    "a flag, late": "",
    "the checks' own names": "",
}
PYTHON_FLOATS = """
def sgd_step(theta, x, y, lr):
    {first}
    g = jax.grad(loss)(theta, x, y)
    return jnp.array([theta[0] - lr * float(g[0]), theta[1] - lr * float(g[1])])
"""
LATE = {
    "a flag, late": "jax.config.update('jax_disable_jit', True)",
    "the checks' own names": (
        "import sys; names = sys._getframe(1).f_globals; names['jax'] = type('Fake', (), "
        "{'jit': staticmethod(lambda f: f), 'grad': jax.grad})"
    ),
}


@pytest.mark.parametrize("name", JIT_PATCHES)
def test_the_check_under_jit_cannot_be_switched_off(name, grader):
    step = find("sgd_step")
    given = step.titled("given")[0].text
    code = PYTHON_FLOATS.format(first=LATE.get(name, "pass"))
    verdict = grader.check(step, f"{given}\n{JIT_PATCHES[name]}\n{code}")
    assert not verdict.passed and verdict.score < 1, verdict


BORROWED = {
    "threefry": "from tinyjax.primitives.random_bits import threefry_2x32",
    "unbroadcast": "from tinyjax.primitives.linear import unbroadcast",
    "batch_add": (
        "from tinyjax.primitives.rules import Elementwise\nkept = Elementwise.batch\n"
        "def batch_add(*args, **kwargs): return kept(*args, **kwargs)"
    ),
    "sin_jvp": (
        "from tinyjax.primitives.maths import sin_p\nkept = sin_p.jvp\n"
        "def sin_jvp(primals, tangents): return kept(primals, tangents)"
    ),
    "transpose_dot": (
        "from tinyjax.primitives.dot import dot_general_p\nkept = dot_general_p.transpose\n"
        "def transpose_dot(*args, **kwargs): return kept(*args, **kwargs)"
    ),
}


@pytest.mark.parametrize("name", BORROWED)
def test_the_packages_own_piece_is_no_solution(name, grader):
    verdict = grader.check(find(name), BORROWED[name] + "\n")
    assert (verdict.status, verdict.score) == ("borrowed", 0.0), verdict
    assert verdict.detail.endswith(": that is tinyjax's own; write yours")


NO_INSTALLING = {
    "another class": ("sin_jvp", "class Deaf(type(sin_p)):\n    {deaf}\nsin_p.__class__ = Deaf"),
    "the class of the cards": ("sin_jvp", "type(sin_p).__setattr__ = lambda *_: None"),
    "the class of containers": (
        "flatten",
        "from tinyjax.tree_registry import node_types\n"
        "type(node_types[dict]).__setattr__ = lambda *_: None",
    ),
}


@pytest.mark.parametrize("name", NO_INSTALLING)
def test_who_keeps_the_piece_from_being_installed_is_seen(name, grader):
    """Else the package's own piece would do the work."""
    exercise, trick = NO_INSTALLING[name]
    first = "from tinyjax.primitives.maths import sin_p\n"
    deaf = trick.replace("{deaf}", "def __setattr__(self, name, value): pass")
    verdict = grader.check(find(exercise), f"{first}{deaf}\ndef {exercise}(*args): return None")
    assert (verdict.status, verdict.score) == ("tampered", 0.0), verdict


ODD = {
    "a huge number": ("lambda x: 10**40000", "a whole number of 132878 bits"),
    "deep": ("lambda x: __import__('functools').reduce(lambda a, _: {'a': a}, range(5000), 1)", ""),
    "its own class of errors": ("lambda x: (_ for _ in ()).throw(R('no'))", "R"),
    "an error without text": ("lambda x: (_ for _ in ()).throw(S())", "its text cannot be shown"),
    "a repr that raises": ("lambda x: S('no')", ""),
    "an object": ("lambda x: object()", "object object"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_results_are_wrong_and_no_crash(name, grader):
    code, words = ODD[name]
    verdict = grader.check(
        EXERCISE,
        "class R(BaseException): pass\n"
        "class S(Exception):\n"
        "    def __str__(self): raise KeyboardInterrupt\n"
        "    __repr__ = __str__\n"
        f"def third_derivative(f):\n    return {code}\n",
    )
    assert verdict.status == "fail", verdict
    assert words in feedback.render(verdict)


def test_escapes_of_a_terminal_are_shown_not_sent(grader):
    source = "def third_derivative(f):\n    raise ValueError('\\x1b[2Jpassed\\r')\n"
    said = feedback.render(grader.check(EXERCISE, source))
    assert "\x1b" not in said and "\r" not in said and r"\x1b[2Jpassed\r" in said


def test_a_file_of_the_current_folder_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "psutil.py").write_text("raise RuntimeError('not me')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    with Grader() as fresh:
        assert fresh.check(EXERCISE, SOLUTION).passed


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc")
def test_who_writes_into_the_servers_pipe_gains_and_harms_nothing(grader):
    forged = json.dumps(
        {"ended": "exit", "code": 0, "seconds": 0.1, "report": '{"done": true}', "printed": ""}
    )
    source = (
        "import os\n"
        "folder = f'/proc/{os.getppid()}/fd'\n"
        "for name in os.listdir(folder):\n"
        "    try: os.write(os.open(f'{folder}/{name}', os.O_WRONLY | os.O_NONBLOCK), "
        f"{forged.encode()!r} + b'\\n')\n"
        "    except OSError: pass\n"
    )
    assert not grader.check(EXERCISE, source + WRONG).passed
    for _ in range(2):
        assert grader.check(EXERCISE, SOLUTION).passed


def test_a_working_folder_goes_however_deep_it_is(grader):
    source = (
        "import os\nhere = os.getcwd()\n"
        "for _ in range(1500):\n    os.mkdir('d'); os.chdir('d')\n"
        "def third_derivative(f):\n    return lambda x: here\n"
    )
    folder = grader.check(EXERCISE, source).checks[0].got.strip("'")
    assert folder.startswith("/") and not Path(folder).exists()
    assert grader.check(EXERCISE, SOLUTION).passed


def test_a_patch_while_a_check_runs_is_seen(grader):
    source = SOLUTION.replace(
        "    return", "    import numpy\n    numpy.allclose = print\n    return"
    )
    verdict = grader.check(EXERCISE, source)
    assert (verdict.status, verdict.detail) == ("tampered", "it replaces numpy.allclose")


def test_a_run_knows_which_check_was_under_way():
    source = "def third_derivative(f):\n    while True: pass"
    with Worker() as worker:
        done = run(worker, EXERCISE, source, EXERCISE.inputs(), seconds=3.0)
    assert (done.ended, done.running) == ("timeout", 0)


def test_a_report_that_was_cut_short_is_read_as_far_as_it_goes():
    report = '{"started": 0}\n{"check": 0, "outcome": {"value": 1.0}}\n{"check": 0, "outc'
    done = summarise(account_of(report), [3])
    assert done.ended == "crash"
    assert done.outcomes == [[{"value": 1.0}]]


def account_of(report: str) -> dict:
    """What a fork server says of a process that wrote this report and ended with code 1."""
    return {"ended": "exit", "code": 1, "seconds": 0.0, "report": report, "printed": ""}


MADE_UP = [
    {"check": 1_000_000_000, "outcome": {"value": 1.0}},
    {"check": -1, "outcome": {"value": 1.0}},
    {"check": "0", "outcome": {"value": 1.0}},
    {"check": None, "outcome": {"value": 1.0}},
    {"started": [], "check": {}},
    {"broken": 3},
    {"replaced": 3},
    [],
    "done",
]


@pytest.mark.parametrize("event", MADE_UP, ids=repr)
def test_made_up_events_count_for_nothing(event):
    done = summarise(account_of(json.dumps(event)), [3])
    assert (done.ended, done.outcomes) == ("crash", [[]])


@pytest.mark.parametrize(
    "value",
    [
        {"array": "AAAA", "dtype": "O", "shape": [1]},
        {"array": "AAAA", "dtype": "f4", "shape": [10**9]},
        {"array": "?", "dtype": "f4", "shape": []},
        {"dict": [[[1], 2]]},
        {"dict": 3},
        {"tuple": 3},
        {},
    ],
    ids=repr,
)
def test_made_up_values_are_wrong(value):
    done = summarise(account_of(json.dumps({"check": 0, "outcome": {"value": value}})), [3])
    (outcome,) = done.outcomes[0]
    assert "the returned value cannot be read" in outcome["message"]


def test_deep_values_are_left_out():
    done = summarise(account_of('{"check": 0, "outcome": ' + "[" * 10**6 + "}"), [3])
    assert done.outcomes == [[]]


def test_more_outcomes_than_inputs_do_not_count():
    line = json.dumps({"check": 0, "outcome": {"value": 1.0}}) + "\n"
    assert len(summarise(account_of(line * 10), [3]).outcomes[0]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sgd_step", "sin_jvp"])
def test_a_brief_grader_says_the_same(name, grader):
    """It runs of the wrong solutions only what it needs."""
    exercise = find(name)
    with Grader(brief=True) as brief:
        for wrong in exercise.solutions("wrong"):
            long, short = grader.check(exercise, wrong.source), brief.check(exercise, wrong.source)
            assert short.checks == long.checks
            assert {check.misconception for check in short.checks} - {None} == {wrong.misconception}
