"""Asynchronous dispatch: long programs return at once, and nothing can tell but a clock."""

import copy
import gc
import io
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.array import Array
from tinyjax.compiler.dispatch import IN_FLIGHT

ENOUGH = 60  # seconds that no wait in these tests takes, if all is well


class Gate:
    """A jitted function x -> x + 1 that ends when the test says so.

    Its first call takes some milliseconds, so that tinyjax knows it as a long one.
    """

    def __init__(self, dtype=jnp.float32, shape=()):
        self.open, self.calls, self.error = threading.Event(), [], None
        out = jax.ShapeDtypeStruct(shape, dtype)
        self.dtype, self.jitted = dtype, jax.jit(lambda x: jax.pure_callback(self.host, out, x))
        self.open.set()
        self.f(jnp.zeros(shape, dtype)).block_until_ready()
        self.open.clear()
        self.calls.clear()

    def f(self, x):
        return self.jitted(x if isinstance(x, jax.Array) else jnp.asarray(x, self.dtype))

    def host(self, x):
        time.sleep(0.01)
        assert self.open.wait(ENOUGH)
        self.calls.append(np.array(x).flat[0])
        if self.error is not None:
            raise self.error
        return x + 1


@pytest.fixture
def gate():
    """Such a function; whatever a test leaves running ends with it."""
    gate = Gate()
    yield gate
    gate.open.set()
    jax.effects_barrier()


# ---- what a call returns -------------------------------------------------------------------------


def test_a_long_call_returns_before_its_result_is_there(gate):
    y = gate.f(1.0)
    assert not y.is_ready() and not gate.calls
    gate.open.set()
    assert y.block_until_ready() is y
    assert y.is_ready() and y == 2.0


def test_the_type_is_known_at_once(gate):
    y = gate.f(1.0)
    assert isinstance(y, jax.Array)
    assert (y.shape, y.dtype, y.ndim, y.size, y.nbytes, y.itemsize) == ((), jnp.float32, 0, 1, 4, 4)
    assert y.weak_type is False and y.aval.str_short() == "float32[]"
    assert jax.eval_shape(jnp.sin, y).shape == ()
    assert not y.is_ready()


def test_it_becomes_an_ordinary_array(gate):
    y = gate.f(1.0)
    gate.open.set()
    y.block_until_ready()
    assert type(y) is Array


LOOKS = [
    repr, str, float, bool, int, lambda y: y.item(), lambda y: y.tolist(), np.asarray,
    lambda y: y + 1, lambda y: jnp.sin(y), lambda y: f"{y:.2f}", lambda y: y == 2,
    lambda y: pickle.loads(pickle.dumps(y)), lambda y: copy.deepcopy(y).item(),
    lambda y: jax.grad(lambda x: x * y)(3.0), lambda y: jax.vmap(lambda x: x * y)(jnp.arange(3.0)),
    lambda y: jax.jit(lambda x: x * 2)(y), lambda y: np.float32(1) + y,
    lambda y: [0, 1, 2][y.astype(int)], jax.device_get, lambda y: jnp.stack([y, y]),
    lambda y: jax.lax.cond(y > 1, lambda: 1, lambda: 0),
]  # fmt: skip


@pytest.mark.parametrize("look", LOOKS, ids=range(len(LOOKS)))
def test_whoever_looks_waits(gate, look):
    y = gate.f(1.0)
    threading.Timer(0.05, gate.open.set).start()
    assert np.array_equal(look(y), look(jnp.float32(2.0))) or look(y) == look(jnp.float32(2.0))


def test_results_come_in_the_order_of_the_calls(gate):
    ys = [gate.f(float(k)) for k in range(10)]
    gate.open.set()
    assert [float(y) for y in ys[::-1]] == list(range(10, 0, -1))
    assert gate.calls == list(range(10))


def test_calls_on_results_that_are_not_ready_do_not_wait(gate):
    y = jnp.float32(0.0)
    for _ in range(5):
        y = gate.f(y)
    assert not y.is_ready()
    gate.open.set()
    assert y == 5.0 and gate.calls == [0, 1, 2, 3, 4]


def test_no_more_calls_are_in_flight_than_some(gate):
    threading.Timer(0.2, gate.open.set).start()
    ys = [gate.f(float(k)) for k in range(2 * IN_FLIGHT)]  # waits in the middle
    assert gate.open.is_set()
    assert [float(y) for y in ys] == [k + 1.0 for k in range(2 * IN_FLIGHT)]


def test_pytrees_of_results():
    gate = Gate(shape=(3,))
    f = jax.jit(lambda x: {"a": gate.f(x), "b": (x.sum(), gate.f(2 * x)), "c": x})
    gate.open.set()
    f(jnp.ones(3))
    gate.open.clear()
    out = f(jnp.ones(3))
    assert not out["a"].is_ready()
    gate.open.set()
    out = jax.block_until_ready(out)
    assert all(x.is_ready() for x in jax.tree.leaves(out))
    np.testing.assert_array_equal(out["b"][1], np.full(3, 3.0))


def test_operands_and_results_are_let_go():
    big = jnp.ones((300, 300))
    f = jax.jit(lambda x: jax.lax.fori_loop(0, 60, lambda i, x: jnp.tanh(x @ x), x))
    f(big).block_until_ready()
    operand = big * 2
    y = f(operand)
    watched, result = weakref.ref(operand), weakref.ref(y)
    del operand
    y.block_until_ready()
    jax.effects_barrier()
    assert watched() is None
    del y
    gc.collect()
    assert result() is None


def test_flags_are_those_of_the_caller():
    with jax.enable_x64(True):
        gate = Gate(jnp.float64)
        y = gate.f(1.0)
    gate.open.set()
    assert y.dtype == np.float64 and np.asarray(y) == 2.0


# ---- what runs where it is called ----------------------------------------------------------------


def test_short_programs_run_at_once():
    f = jax.jit(lambda x: x + 1)
    assert all(f(float(k)).is_ready() for k in range(100))


def test_the_flag_turns_it_off(gate):
    jax.config.update("jax_cpu_enable_async_dispatch", False)
    try:
        gate.open.set()
        assert gate.f(1.0).is_ready()
    finally:
        jax.config.update("jax_cpu_enable_async_dispatch", True)


def test_programs_with_effects_run_where_they_are_called(capsys):
    def host(x):
        time.sleep(0.01)
        return x

    @jax.jit
    def f(x):
        y = jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x)
        jax.debug.print("y = {}", y)
        return y

    for k in range(3):
        assert f(float(k)).is_ready()
        assert capsys.readouterr().out == f"y = {float(k)}\n"


def test_a_breakpoint_stops_where_it_is_met():
    class Slow(io.StringIO):
        def readline(self):
            time.sleep(0.01)
            return super().readline()

    out = io.StringIO()
    options = {"stdin": Slow("c\n" * 3), "stdout": out}
    f = jax.jit(lambda x: jax.debug.breakpoint(token=x, **options))
    for k in range(3):
        f(float(k))
        assert out.getvalue().count("Entering jdb:") == k + 1


def test_a_callback_may_call_long_programs(gate):
    inner = Gate()
    inner.open.set()
    out = jax.ShapeDtypeStruct((), jnp.float32)
    f = jax.jit(lambda x: jax.pure_callback(lambda x: inner.f(x) * 2, out, x))
    f(1.0)
    assert [float(f(float(k))) for k in range(3)] == [2.0, 4.0, 6.0]


def test_a_callback_may_wait_for_others_that_call_long_programs(gate):
    """In another thread, or called later: kernels do not queue behind callbacks."""
    x = jnp.ones((300, 300))
    long = jax.jit(lambda x: jax.lax.fori_loop(0, 40, lambda i, x: jnp.tanh(x @ x), x)[0, 0])
    wanted = [float(long(x)) for _ in range(2)][0]
    later = []

    def host(_):
        time.sleep(0.01)
        found = []
        other = threading.Thread(target=lambda: found.append(float(long(x))))
        other.start()
        other.join(ENOUGH)
        return np.float32(found[0] + (float(later[0]) if later else 0))

    f = jax.jit(lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x))
    assert f(jnp.float32(0)) == np.float32(wanted)
    y = f(jnp.float32(0))
    later.append(long(x))
    assert y in (np.float32(wanted), np.float32(2 * wanted))


# ---- errors --------------------------------------------------------------------------------------


def test_an_error_is_raised_where_the_result_is_looked_at(gate):
    gate.error = ZeroDivisionError("in the kernel")
    y = gate.f(1.0)
    after = gate.f(y)  # depends on it
    gate.open.set()
    for look in (float, jax.block_until_ready, repr):
        with pytest.raises(Exception, match="in the kernel"):
            look(y)
    with pytest.raises(Exception, match="in the kernel"):
        after.block_until_ready()
    assert y.shape == () and y.is_ready()
    gate.error = None
    assert gate.f(1.0) == 2.0


@pytest.mark.apart
def test_ctrl_c_ends_the_waiting_not_the_program():
    gate = Gate()
    y = gate.f(1.0)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        y.block_until_ready()
    assert not y.is_ready()
    z = gate.f(y)
    gate.open.set()
    assert z == 3.0 and y == 2.0


@pytest.mark.apart
def test_ctrl_c_while_kernels_run_breaks_nothing():
    f = jax.jit(lambda x: jax.lax.fori_loop(0, 40, lambda i, x: jnp.tanh(x @ x + 1e-3), x))
    x = jnp.eye(300) * 0.5
    wanted = np.asarray(f(x))
    for k in range(20):
        try:
            threading.Timer(0.002 * k, os.kill, (os.getpid(), signal.SIGINT)).start()
            while True:
                f(x).block_until_ready()
        except KeyboardInterrupt:
            pass
        np.testing.assert_array_equal(f(x), wanted)


# ---- threads, forks, the end ---------------------------------------------------------------------


def test_several_threads_may_call():
    f = jax.jit(lambda x: jax.lax.fori_loop(0, 30, lambda i, x: jnp.tanh(x @ x + 1e-3), x))
    xs = [jnp.eye(200) * s for s in (0.1, 0.2, 0.3, 0.4)]
    wanted = [np.asarray(f(x)) for x in xs]
    wrong = []

    def work(x, out):
        for _ in range(10):
            if not np.array_equal(f(x), out):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(xs, wanted)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(ENOUGH)
    assert not wrong


def run_python(code):
    """The exit code and output of a new Python, and how long it took."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=ENOUGH
    )
    return done.returncode, done.stdout + done.stderr, time.perf_counter() - start


LONG_PROGRAM = """
import os, sys, time
import tinyjax as jax, tinyjax.numpy as jnp

def host(x):
    time.sleep(SECONDS)
    return x + 1

SECONDS = 0.01
f = jax.jit(lambda x: jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x))
f(1.0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_and_the_child_can_go_on():
    code = """
SECONDS = 0.5
y = f(1.0)
child = os.fork()
assert y.is_ready() and y == 2.0
z = f(2.0)
assert not z.is_ready()
assert z == 3.0
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("fine")
else:
    os._exit(0)
"""
    assert run_python(LONG_PROGRAM + code)[:2] == (0, "fine\n")


def test_the_end_of_python_waits_for_what_runs_and_drops_what_waits():
    code = "SECONDS = 2\nys = [f(1.0) for _ in range(20)]\ntime.sleep(0.2)"
    exit_code, output, seconds = run_python(LONG_PROGRAM + code)
    assert (exit_code, output) == (0, "")
    assert seconds < 30  # 20 of them would take 40


@pytest.mark.parametrize("ending", ["sys.exit(3)", "raise SystemExit(3)", "os._exit(3)"])
def test_ends_of_python_keep_their_exit_code(ending):
    code = f"SECONDS = 0.3\ny = f(1.0)\n{ending}"
    assert run_python(LONG_PROGRAM + code)[:2] == (3, "")


def test_at_the_end_kernels_run_where_they_are_called():
    code = "import atexit\natexit.register(lambda: print(f(1.0)))\nSECONDS = 0.05\ny = f(1.0)"
    code = LONG_PROGRAM.replace("import os", "import atexit, os", 1) + code
    assert run_python(code)[:2] == (0, "2.0\n")
    early = "import atexit\natexit.register(lambda: print(f(1.0)))\n" + LONG_PROGRAM
    assert run_python(early + "SECONDS = 0.05\ny = f(1.0)")[:2] == (0, "2.0\n")


def test_an_error_nobody_looks_at_does_not_disturb_the_end():
    code = "SECONDS = None  # time.sleep(None) raises\ny = f(1.0)\ntime.sleep(0.1)"
    assert run_python(LONG_PROGRAM + code)[:2] == (0, "")
