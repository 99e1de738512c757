"""Whatever a student's code does, a verdict comes back, and in time."""

import json
import time

import pytest

from tinyjax.learn import feedback
from tinyjax.learn.exercise import find
from tinyjax.learn.judge import check_exercise
from tinyjax.learn.runner import run, summarise

EXERCISE = find("third_derivative")
SOLUTION = EXERCISE.reference.source

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
def test_every_code_gets_a_verdict(name, monkeypatch):
    source, status = HOSTILE[name]
    limit = 3.0 if status == "timeout" else 60.0  # on a busy machine, too, the rest is done by then
    monkeypatch.setattr(type(EXERCISE), "seconds", limit)
    began = time.monotonic()
    verdict = check_exercise(EXERCISE, source)
    assert verdict.status == status, verdict
    assert time.monotonic() - began < limit + 10
    assert feedback.render(verdict).startswith("third_derivative: ")


def test_the_crash_is_put_in_words():
    verdict = check_exercise(EXERCISE, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert verdict.detail == "the process was ended by signal 11 (SIGSEGV)"
    verdict = check_exercise(EXERCISE, "import os; os._exit(3)")
    assert verdict.detail == "the process left with exit code 3 before the checks were done"


def test_a_traceback_shows_the_student_only():
    source = "def third_derivative(f):\n    return lambda x: missing + x\n"
    verdict = check_exercise(EXERCISE, source)
    error = verdict.checks[0].error
    assert error is not None
    assert "return lambda x: missing + x" in error
    assert "NameError: name 'missing' is not defined" in error
    assert "learn/child.py" not in error and "TINYJAX_TRACEBACK" not in error


def test_a_key_that_is_used_twice_is_a_mistake():
    """What only warns elsewhere is an error here, with both lines."""
    verdict = check_exercise(
        EXERCISE,
        "import tinyjax as jax\n\nkey = jax.random.PRNGKey(0)\n"
        "noise = jax.random.normal(key)\nkey, sub = jax.random.split(key)\n" + SOLUTION,
    )
    assert verdict.status == "broken" and verdict.detail is not None
    assert "KeyReuseError" in verdict.detail
    assert "noise = jax.random.normal(key)" in verdict.detail
    assert "key, sub = jax.random.split(key)" in verdict.detail


def test_a_renamed_function_is_named():
    verdict = check_exercise(EXERCISE, SOLUTION.replace("third_derivative", "third"))
    assert "your file defines no 'third_derivative'" in verdict.checks[0].error


def test_printed_text_is_shown_on_failure():
    verdict = check_exercise(EXERCISE, "print('I am here')\nthird_derivative = None")
    assert "I am here" in feedback.render(verdict)


def test_an_unknown_failure_gets_no_diagnosis():
    """No misconception is named unless the fingerprint says so."""
    verdict = check_exercise(EXERCISE, "def third_derivative(f):\n    return lambda x: 1234.5")
    assert verdict.status == "fail"
    assert verdict.checks[0].misconception is None


def test_forged_reports_do_not_pass():
    """A student's process returns values; it cannot say that they are right."""
    line = json.dumps({"done": True, "passed": True, "status": "pass"}) + "\n"
    source = (
        "import os\n"
        "for number in range(3, 40):\n"
        f"    try: os.write(number, {line.encode()!r})\n"
        "    except OSError: pass\n"
        "os._exit(0)\n"
    )
    assert check_exercise(EXERCISE, source).status == "fail"


def test_patching_numpy_does_not_pass():
    source = (
        "import numpy as np\nnp.allclose = lambda *a, **k: True\n"
        "np.array_equal = np.allclose\ndef third_derivative(f):\n    return lambda x: 0.0\n"
    )
    assert check_exercise(EXERCISE, source).status == "fail"


def test_a_run_knows_which_check_was_under_way():
    source = "def third_derivative(f):\n    while True: pass"
    done = run(EXERCISE, source, seconds=8.0)
    assert (done.ended, done.running) == ("timeout", 0)


def test_a_report_that_was_cut_short_is_read_as_far_as_it_goes():
    report = '{"started": 0}\n{"check": 0, "outcome": {"value": 1.0}}\n{"check": 0, "outc'
    done = summarise(report, "", in_time=True, flooded=False, code=1, seconds=0.0)
    assert done.ended == "crash"
    assert done.outcomes == [[{"value": 1.0}]]
