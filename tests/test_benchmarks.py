"""The benchmarks: what the command runs and says, and its arithmetic. No test is about speed."""

import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tinyjax
from benchmarks import child, goals, page, report, runner
from benchmarks.__main__ import parser
from benchmarks.memory import descendants, peak_memory
from benchmarks.reasons import REASONS
from benchmarks.registry import SHAPES, UnknownName, choose, workload
from benchmarks.text import geometric_mean
from benchmarks.workloads import load

ROOT = Path(__file__).resolve().parents[1]

OWN = '''
import os, time
from benchmarks.registry import workload

@workload()
def leaves(jax, jnp):
    """ends the process"""
    print("so long")
    os._exit(7)

@workload()
def raises(jax, jnp):
    """raises"""
    raise ArithmeticError(f"no numbers for {jax.__name__}")

@workload()
def sleeps(jax, jnp):
    """does not end"""
    time.sleep(600)

@workload()
def differs(jax, jnp):
    """computes different things"""
    return lambda: jnp.ones(3) if jax.__name__ == "jax" else jnp.zeros(3)

@workload(devices=(3,))
def counts(jax, jnp, devices):
    """adds one, on so many devices"""
    assert jax.device_count() == devices
    return lambda: jnp.ones(3) + 1
'''


def bench(*arguments, folder):
    """Run the command, one short round of each workload."""
    short = ["--rounds", "1", "--seconds", "0.001", "--output", str(folder / "out.json")]
    command = [sys.executable, "-m", "benchmarks", *arguments, *short]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)


def outcome(name, tinyjax, jax, error="", **description):
    """An Outcome with the same number for all figures."""
    described = {"name": name, "group": name, "module": "mine", "doc": "a workload"}
    described |= {"timed": "call", "devices": 1} | description
    out = runner.Outcome(SimpleNamespace(**described), error=error)
    for figure in runner.FIGURES:
        out.rounds["tinyjax"][figure], out.rounds["jax"][figure] = tinyjax, jax
    return out


# ---- the command ---------------------------------------------------------------------------------


def test_a_workload_from_end_to_end(tmp_path):
    done = bench("jit_call", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [line.split("  ")[0] for line in done.stdout.splitlines() if line.endswith("x")] == [
        "jit_call",
        "geometric mean",
        "worst",
    ]
    assert "call of a jitted function" in done.stdout and "new shape" not in done.stdout
    assert "1/1 jit_call" in done.stderr
    content = json.loads((tmp_path / "out.json").read_text())
    assert content["settings"] == {"rounds": 1, "seconds": 0.001}
    assert content["machine"]["versions"]["jax"] == jax.__version__
    (found,) = content["workloads"]
    for world in runner.WORLDS:
        assert all(found[world][figure] > 0 for figure in ("first", "run", "peak"))
        assert found[world]["output"] == 12 and found[world]["recompiled"] == 0
    for figure, ratio in found["ratio"].items():
        assert ratio == found["tinyjax"][figure] / found["jax"][figure]
        assert content["summary"]["worst"][figure] == ratio
        assert content["summary"]["geometric mean"][figure] == pytest.approx(ratio)
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_workload_of_fresh_processes(tmp_path):
    done = bench("start", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "out.json").read_text())["workloads"]
    for world in runner.WORLDS:  # Python starts, at least
        assert found[world]["first"] > 0.02 and found[world]["run"] > 0.02


@pytest.mark.slow
def test_workloads_that_are_timed_in_other_ways(tmp_path):
    done = bench("new_shape_chain", "long_call_returns", "eager_op-exp", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    shapes, returns, exp = json.loads((tmp_path / "out.json").read_text())["workloads"]
    assert [w["timed"] for w in (shapes, returns, exp)] == ["shapes", "returns", "numpy"]
    assert returns["tinyjax"]["output"] == 40_000_000
    assert 0 < exp["tinyjax"]["numpy"] < math.inf and "numpy" not in returns["tinyjax"]


def test_the_workload_on_the_page_runs(tmp_path):
    own = tmp_path / "mine.py"
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    own.write_text(text.partition('```python title="mine.py"\n')[2].partition("```")[0])
    done = bench("cubes-1000", "--file", str(own), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "cubes-1000 " in done.stdout


def test_a_workload_that_fails_is_told_and_the_others_go_on(tmp_path):
    own = tmp_path / "own.py"
    own.write_text(OWN)
    names = ["leaves", "raises", "differs", "counts"]
    done = bench(*names, "--file", str(own), folder=tmp_path)
    assert done.returncode == 1
    assert "FAILED leaves: tinyjax: the process ended with exit code 7\nso long" in done.stderr
    assert "ArithmeticError: no numbers for tinyjax" in done.stderr
    assert "FAILED differs: The two worlds give different results" in done.stderr
    assert "counts" in done.stdout and "raises" not in done.stdout
    content = json.loads((tmp_path / "out.json").read_text())
    assert [("error" in w) for w in content["workloads"]] == [True, True, True, False]


def test_a_workload_that_does_not_end_is_stopped(tmp_path):
    own = tmp_path / "own.py"
    own.write_text(OWN)
    done = bench("sleeps", "--file", str(own), "--timeout", "3", folder=tmp_path)
    assert done.returncode == 1
    assert "FAILED sleeps: tinyjax: no result after 3 s" in done.stderr
    assert "Nothing was measured." in done.stdout


def test_an_unknown_name_lists_the_known_ones(tmp_path):
    done = bench("selu_1n", folder=tmp_path)
    assert done.returncode == 2
    assert "There is no workload 'selu_1n'. Did you mean 'selu_1m'?" in done.stderr
    for name in load():
        assert f"\n  {name}\n" in done.stderr
    assert not (tmp_path / "out.json").exists()


def test_a_file_that_is_not_there(tmp_path):
    done = bench("--file", str(tmp_path / "nothing.py"), folder=tmp_path)
    assert done.returncode == 2 and "nothing.py" in done.stderr


def test_list_says_what_there_is(tmp_path):
    done = bench("--list", "pmap_psum", folder=tmp_path)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        f"pmap_psum-{size}-2" for size in ("4B", "4KB", "4MB", "64MB")
    ]


@pytest.mark.parametrize("flag", ["--rounds", "--seconds", "--timeout"])
@pytest.mark.parametrize("value", ["0", "-1", "many", "nan", "inf"])
def test_numbers_of_the_command_are_positive(flag, value, capsys):
    with pytest.raises(SystemExit):
        parser().parse_args([flag, value])
    assert f"argument {flag}: {value!r} is not a positive number" in capsys.readouterr().err


# ---- choosing ------------------------------------------------------------------------------------


def test_names_groups_and_patterns():
    known = load()
    assert [w.name for w in choose([], known)] == list(known)
    assert [w.name for w in choose(["pmap_call-4"], known)] == ["pmap_call-4"]
    assert {w.name for w in choose(["pmap_call"], known)} == {f"pmap_call-{n}" for n in (2, 4, 8)}
    assert {w.group for w in choose(["*_call*"], known)} == {
        "pmap_call",
        "jit_call",
        "jit_call_tree",
        "long_call_returns",
    }
    assert [w.name for w in choose(["jit_call", "jit*"], known)] == [
        "jit_call",
        "jit_call_tree",
    ]
    assert {w.module for w in choose(["linear"], known)} == {"linear"}
    assert {"matmul-64", "solve"} < {w.name for w in choose(["linear"], known)}
    with pytest.raises(UnknownName, match="There is no workload 'jit_c'"):
        choose(["jit_c"], known)


def test_workloads_say_in_a_line_what_they_are_and_have_names_of_their_own():
    for found in load().values():
        assert found.doc and len(f"{found.name:24} {found.doc}") <= 120

    def nameless(jax, jnp):
        return None

    with pytest.raises(TypeError, match="workload nameless has no docstring"):
        workload()(nameless)
    nameless.__doc__, nameless.__name__ = "a doc", "jit_call"
    with pytest.raises(TypeError, match="there are two workloads called jit_call"):
        workload()(nameless)
    with pytest.raises(TypeError, match="timed='often' is none of call, numpy, returns"):
        workload(timed="often")


@pytest.mark.slow
@pytest.mark.parametrize("name", [w.name for w in load().values() if w.devices == 1])
def test_workloads_compute_the_same_in_both_worlds(name):
    """On one device; the command checks all of them whenever it runs."""
    found = load()[name]
    ours = child.summary(tinyjax, found.make(tinyjax, tinyjax.numpy, **found.params)())
    runner.check_same(ours, child.summary(jax, found.make(jax, jnp, **found.params)()))


# ---- processes -----------------------------------------------------------------------------------


def test_the_environment_of_a_child():
    outer = {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_L2_SIZE": "1", "HOME": "/home/me"}
    outer |= {"XLA_FLAGS": "--xla_a --xla_force_host_platform_device_count=3", "PYTHONPATH": "/p"}
    env = runner.environment(outer, choose(["pmap_call-4"], load())[0], "/cache")
    assert "OPENBLAS_CORETYPE" not in env and "OPENBLAS_L2_SIZE" not in env
    assert env["XLA_FLAGS"].split() == ["--xla_a", "--xla_force_host_platform_device_count=4"]
    assert env["TINYJAX_NUM_DEVICES"] == "4" and env["JAX_PLATFORMS"] == "cpu"
    assert env["PYTHONPATH"].split(os.pathsep) == [str(ROOT), "/p"] and env["HOME"] == "/home/me"
    assert env["TINYJAX_CACHE_DIR"].startswith("/cache/")
    assert "JAX_COMPILATION_CACHE_DIR" not in env
    env = runner.environment({}, choose(["start"], load())[0], "/cache")
    assert env["JAX_COMPILATION_CACHE_DIR"].startswith("/cache/")


def test_how_a_process_ended():
    assert runner.how_it_ended(-9) == "the process was killed by SIGKILL"


def test_the_time_of_a_call_is_that_of_a_call():
    pause, calls = 0.004, []

    def run():
        calls.append(1)
        time.sleep(pause)

    measured = child.time_of_run(run, lambda out: out, 0.01)
    assert pause <= measured  # how much longer a sleep takes is the machine's business
    assert len(calls) >= child.BLOCK


def test_the_time_until_a_call_returns_leaves_out_the_wait():
    waited = []

    def wait(result):
        time.sleep(0.005)
        waited.append(result)

    assert child.time_until_return(lambda: "result", wait, 0.01) < 0.005
    assert len(waited) > child.BLOCK and set(waited) == {"result"}


def test_new_shapes_are_called_once_each():
    made = []

    def run():
        made.append(len(made))
        return made[-1]

    assert child.time_of_new_shapes(run, lambda out: out, 0.01) > 0
    assert len(made) == SHAPES - 1


@pytest.mark.parametrize("shape", [(), (3,), (70_000,), (300, 300)])
def test_results_are_summed_up_in_pieces(shape):
    x = np.random.default_rng(0).normal(size=shape)
    assert child.mean_size(x) == pytest.approx(np.abs(x).mean())
    assert child.output_bytes(jax, [x, {"a": x.astype(np.float32)}]) == 12 * x.size


def test_memory_counts_what_was_held_at_once():
    before = peak_memory()
    held = bytearray(os.urandom(1 << 20)) * 64
    del held
    assert peak_memory() >= before
    assert peak_memory() >= 64 << 20


def test_descendants_are_found():
    command = "import subprocess, sys; subprocess.run(['sleep', '60'])"
    with subprocess.Popen([sys.executable, "-c", command], start_new_session=True) as process:
        try:
            end = time.monotonic() + 30
            while len(descendants(process.pid)) < 1 and time.monotonic() < end:
                time.sleep(0.02)
            assert len(descendants(process.pid)) == 1
            assert process.pid in descendants(os.getpid())
        finally:
            os.killpg(process.pid, 9)


# ---- goals ---------------------------------------------------------------------------------------


def figures(name, run, first=1.0, group=None, timed="call", module="mine", devices=1, **ours):
    """A workload as it stands in the file; `ours` are tinyjax's own figures."""
    return {
        "name": name,
        "group": group or name,
        "module": module,
        "timed": timed,
        "devices": devices,
        "tinyjax": {"run": run, "first": first} | ours,
        "ratio": {"run": run, "first": first},
    }


def verdicts(*workloads):
    """{goal: (found, those who miss it)}."""
    return {v.goal.words: (v.found, [n for n, _ in v.missed]) for v in goals.judge(workloads)}


def test_goals_about_all_workloads_leave_out_other_times_and_many_devices():
    found = verdicts(
        figures("a", 0.2, first=8.0),
        figures("b", 0.8, first=0.5),
        figures("eager", 0.1, first=1e-9, module="eager"),
        figures("many", 100.0, devices=2),
        figures("op", 0.001, timed="numpy"),
        figures("unawaited", 0.01, timed="returns"),
        {"name": "broken", "error": "it broke"},
    )
    assert found["time of a call, geometric mean"][0] == pytest.approx((0.2 * 0.8 * 0.1) ** (1 / 3))
    assert found["time of a call, each workload"] == (0.8, [])
    assert found["first call, geometric mean"] == (
        pytest.approx(2.0),
        ["the mean of 2 workloads"],
    )
    assert found["first call, each workload"] == (8.0, ["a"])
    assert found["long call returns"] == (0.01, [])


def test_goals_about_some_workloads():
    found = verdicts(
        figures("jit_call", 1.2e-6),
        figures("jit_call_tree", 0.4),
        figures("eager_op-add", 4e-6, group="eager_op", module="eager", numpy=0.5e-6),
        figures("thousand_equations", 0.5, first=4.9),
        figures("vector", 0.3, timed="shapes", recompiled=0),
        figures("matrix", 0.1, timed="shapes", recompiled=2),
        figures("memory_of_chain", 1.0, timed="memory", excess=4 << 20),
        figures("start", 0.5, timed="start"),
    )
    assert found["call of a jitted function"] == (0.4, ["jit_call_tree"])
    assert found["the same, one array"] == (1.2e-6, [])
    assert found["the same, above NumPy's time"] == (3.5e-6, ["eager_op-add"])
    assert found["first call of 1000 equations"] == (4.9, [])
    assert found["new shape of a known function"] == (0.3, ["vector"])
    assert found["kernels compiled for it"] == (2, ["matrix"])
    assert found["memory of a fused chain beyond its operands and result"] == (4 << 20, [])
    assert found["fresh process, warm disk cache"] == (0.5, [])
    assert "long call returns" not in found


def test_a_figure_that_is_no_number_meets_no_goal():
    assert verdicts(figures("start", math.nan, timed="start"))[
        "fresh process, warm disk cache"
    ] == (pytest.approx(math.nan, nan_ok=True), ["start"])


def test_every_goal_is_about_workloads_that_exist():
    known = [
        figures(w.name, 1.0, 1.0, w.group, w.timed, w.module, w.devices, numpy=0, recompiled=0)
        for w in load().values()
    ]
    for found in known:
        found["tinyjax"]["excess"] = 0
    assert [v.goal for v in goals.judge(known)] == goals.GOALS


def test_the_table_of_goals():
    many = [figures(f"w{k}", 2.0 + k) for k in range(6)]
    assert goals.table([figures("start", 0.4, timed="start"), *many]).splitlines() == [
        "goal                            at most  found",
        "-" * 46,
        "time of a call, geometric mean    0.45x  4.14x  missed by the mean of 6 workloads",
        "time of a call, each workload     1.10x  7.00x  "
        "missed by w5 7.00x, w4 6.00x, w3 5.00x, w2 4.00x and 2 more",
        "first call, geometric mean        1.30x  1.00x  met",
        "first call, each workload         3.00x  1.00x  met",
        "fresh process, warm disk cache    0.50x  0.40x  met",
    ]
    assert goals.table([]) == ""


# ---- arithmetic and tables -----------------------------------------------------------------------

positive_numbers = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20)


@given(positive_numbers)
def test_the_geometric_mean_is_that_of_mathematics(numbers):
    mean = geometric_mean(numbers)
    assert mean == pytest.approx(statistics.geometric_mean(numbers))
    assert min(numbers) * (1 - 1e-9) <= mean <= max(numbers) * (1 + 1e-9)
    assert geometric_mean([1 / x for x in numbers]) == pytest.approx(1 / mean)


def test_ratios_are_of_medians_over_rounds():
    found = outcome("a", [1.0, 9.0, 2.0], [4.0, 8.0, 800.0])
    assert found.median("tinyjax", "run") == 2 and found.median("jax", "run") == 8
    assert found.ratio("run") == 0.25


def test_the_table():
    done = [outcome("a", [2.0], [8.0]), outcome("bcd", [4.0], [1.0])]
    assert report.table([*done, outcome("e", [], [], "it broke")]).splitlines() == [
        "workload        tinyjax  jax    run  first  memory",
        "-" * 50,
        "a                   2 s  8 s  0.25x  0.25x   0.25x",
        "bcd                 4 s  1 s  4.00x  4.00x   4.00x",
        "-" * 50,
        "geometric mean                1.00x  1.00x   1.00x",
        "worst                         4.00x  4.00x   4.00x",
    ]
    broken = [outcome("e", [], [], "it broke"), outcome("f", [], [], "it never began")]
    broken.append(outcome("g", [], [], "it broke"))
    assert report.failures([*done, *broken]) == (
        "FAILED e, g: it broke\n\nFAILED f: it never began"
    )
    assert report.table([]) == "Nothing was measured."


def test_the_file_of_no_measurement_is_json():
    settings = SimpleNamespace(rounds=1, seconds=1.0)
    content = report.content([outcome("e", [], [], "it broke")], settings)
    (found,) = json.loads(json.dumps(content))["workloads"]
    assert found["name"] == "e" and found["error"] == "it broke" and "ratio" not in found
    assert content["summary"] == {}


def test_worlds_that_differ_are_found():
    same = [[[3], 1.0]]
    runner.check_same(same, [[[3], 1.001]])
    runner.check_same([[[3], math.nan]], [[[3], math.nan]])
    for other in ([], [[[4], 1.0]], [[[3], 1.5]], [[[3], math.nan]]):
        with pytest.raises(runner.Failed, match="different results"):
            runner.check_same(same, other)


# ---- the page ------------------------------------------------------------------------------------

MACHINE = {"processor": "Abacus", "cores": 2, "system": "Wood 1", "python": "3.11"}
MACHINE["versions"] = {"jax": "0.10.2"}


def file_of_a_run(folder):
    """A JSON file as the command writes it: one workload loses, in both ways."""
    fast = outcome("fast", [1.0, 1.0], [2.0, 2.0])
    slow = outcome("slow-3", [4e-3, 8e-3], [1e-3, 2e-3], group="slow")
    broken = outcome("broken", [], [], "it broke")
    settings = SimpleNamespace(rounds=2, seconds=1.0)
    content = report.content([fast, slow, broken], settings) | {"machine": MACHINE}
    path = folder / "run.json"
    path.write_text(json.dumps(content))
    return path


def test_the_page_gets_the_figures_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setitem(REASONS, "slow", "Its beads are heavy.")
    target = tmp_path / "page.md"
    target.write_text(f"before\n\n{page.BEGIN}\nold words\n{page.END}\n\nafter\n")
    run = str(file_of_a_run(tmp_path))
    assert page.main([run, "--page", str(target)]) == 0
    text = target.read_text()
    assert text.startswith("before\n") and text.endswith("\nafter\n") and "old" not in text
    assert "Abacus with 2 cores, Wood 1, Python 3.11, jax 0.10.2: medians of 2 processes" in text
    assert "| time of a call, each workload | 1.10x | 4.00x | missed by slow-3 |" in text
    losing = "of `slow-3` (a workload): 4.00x, 6 ms where JAX takes 1.5 ms"
    assert f"Its beads are heavy.\n\n- a call {losing}\n- the first call {losing}\n" in text
    assert "| `fast` | a workload | 1 s | 2 s | 0.50x | 0.50x | 0.50x |" in text
    assert "`broken`" not in text
    words = "from 0.50x (fast) to 4.00x (slow-3), geometric mean 1.41x; 1 of them take less time"
    for mode in ("light", "dark"):
        assert f"{words} on tinyjax.](assets/benchmarks-{mode}.svg#only-{mode})" in text
        drawing = (tmp_path / "assets" / f"benchmarks-{mode}.svg").read_text()
        assert ">slow-3<" in drawing and page.INKS[mode] in drawing
    assert page.main([run, "--page", str(target)]) == 0
    assert target.read_text() == text, "the same run gives the same page"


def test_the_page_of_a_run_in_which_nothing_is_slow():
    fast = report.entry(outcome("fast", [1.0], [2.0]))
    assert page.losses([fast]).endswith("In no workload of this run.")


def test_a_page_without_a_place_for_figures(tmp_path, capsys):
    target = tmp_path / "page.md"
    target.write_text("no marks\n")
    assert page.main([str(file_of_a_run(tmp_path)), "--page", str(target)]) == 2
    assert page.BEGIN in capsys.readouterr().err and target.read_text() == "no marks\n"
    assert page.main([str(tmp_path / "nothing.json")]) == 2
    assert "nothing.json" in capsys.readouterr().err


def test_reasons_are_about_workloads_that_exist():
    known = load().values()
    assert REASONS.keys() <= {w.name for w in known} | {w.group for w in known}
