"""What the local engine must survive: lost devices, interrupts, forks, exits, and long use."""

import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path

import numpy as np
import pytest
from local_devices import (
    ROOT,
    alive,
    descriptors,
    equal,
    family,
    linux,
    local_engine,
    resident,
    run_script,
    shared,
    until,
)
from test_local_engine import asking, compute, split, together

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.config import config
from tinyjax.parallel.engine import DeviceError, Program, Spec, use
from tinyjax.parallel.local import LocalEngine
from tinyjax.transforms.pmapping import pmap

pytestmark = linux
SOON = 3.0  # seconds for what takes a few hundredths on a machine with nothing else to do


@pytest.fixture(scope="module")
def engines():
    """Two engines that all tests share: each must leave them right. {way to start: engine}."""
    config.update("tinyjax_pmap_timeout", 100)  # so that no test hangs
    with local_engine() as forked, local_engine() as spawned:
        yield {"fork": forked, "spawn": spawned}
    config.update("tinyjax_pmap_timeout", 3600)


@contextlib.contextmanager
def healthy(engines, start):
    """The engine that starts its devices in this way, with three of them."""
    config.update("tinyjax_pmap_start", start)
    old = use(engines[start])
    try:
        assert_right()
        yield engines[start]
        assert_right()
    finally:
        use(old)
        config.update("tinyjax_pmap_start", "fork")


@pytest.fixture
def engine(engines):
    """The engine whose devices are forked."""
    with healthy(engines, "fork") as found:
        yield found


@pytest.fixture(params=["fork", "spawn"])
def either(engines, request):
    """An engine whose devices start in one of the two ways."""
    with healthy(engines, request.param) as found:
        yield found


plus_one = pmap(lambda x: x + 1)
total = pmap(lambda x: x * lax.psum(x, "i"), axis_name="i")


def assert_right():
    """Calls and collectives work."""
    x = jnp.arange(3.0)
    equal(plus_one(x), np.array([1, 2, 3], np.float32))
    equal(total(x), np.array([0, 3, 6], np.float32))


def forever(x):
    """A loop without an end."""
    return lax.while_loop(lambda c: c[0] < 1e30, lambda c: (c[0] * 1.0, c[1] * 1.0), (x, x))[1]


endless = pmap(forever)


@pmap
def napping(x):
    """A callback that takes its time."""
    return jax.pure_callback(nap, jax.ShapeDtypeStruct((), np.float32), x)


def nap(x):
    time.sleep(30)
    return x


def waiting(x):
    """Device 0 computes for ever, the others wait for it in a collective."""
    y = lax.cond(lax.axis_index("i") == 0, forever, lambda x: x, x)
    return y + lax.psum(y, "i")


in_psum = pmap(waiting, axis_name="i")


@contextlib.contextmanager
def after_a_while(action, seconds=0.3):
    """Do something in another thread, while this one is busy; yields a list for the time."""
    done = []

    def run():
        time.sleep(seconds)
        done.append(time.monotonic())
        action()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield done
    finally:
        while thread.is_alive():
            with contextlib.suppress(KeyboardInterrupt):  # one that came too late to do harm
                thread.join()
                time.sleep(0.01)


# ---- a device is lost ----------------------------------------------------------------------------

LOST = r"device cpu:1 was lost: its process \(pid \d+\) was killed by SIGKILL \(out of memory\?\)"


def kill(engine, device=1):
    """End a device the hard way."""
    while device not in engine.processes.pids:  # that it started is told, and not read yet
        engine.processes.news()
    os.kill(engine.processes.pids[device], signal.SIGKILL)


def test_lost_while_idle(either):
    kill(either)
    start = time.monotonic()
    with pytest.raises(DeviceError, match=LOST + ". The next call starts it again."):
        plus_one(jnp.arange(3.0)).block_until_ready()
    assert time.monotonic() - start < SOON


@pytest.mark.parametrize("function", [endless, in_psum], ids=["computing", "in a collective"])
def test_lost_while_busy(either, function):
    with after_a_while(lambda: kill(either)) as done, pytest.raises(DeviceError, match=LOST):
        function(jnp.arange(3.0)).block_until_ready()
    assert time.monotonic() - done[0] < SOON


def test_lost_while_starting(either):
    either.close()
    either.processes.start(0)
    either.processes.start(1)
    while len(either.processes.pids) < 2:
        either.processes.news()
    kill(either)
    with pytest.raises(DeviceError, match=LOST):
        plus_one(jnp.arange(3.0)).block_until_ready()


def test_lost_supervisor(either):
    pid = either.processes.supervisor.pid
    workers = family(pid)
    assert len(workers) == 3
    match = (
        rf"devices cpu:0, cpu:1, cpu:2 were lost: their supervisor \(pid {pid}\) "
        "was killed by SIGKILL"
    )
    with (
        after_a_while(lambda: os.kill(pid, signal.SIGKILL)) as done,
        pytest.raises(DeviceError, match=match),
    ):
        endless(jnp.arange(3.0)).block_until_ready()
    assert time.monotonic() - done[0] < SOON
    until(lambda: not any(map(alive, workers)), SOON)


def test_lost_supervisor_while_idle(engine):
    pid = engine.processes.supervisor.pid
    pids = [pid, *family(pid)]
    os.kill(pid, signal.SIGKILL)
    until(lambda: not any(map(alive, pids)), SOON)
    with pytest.raises(DeviceError, match="supervisor"):
        plus_one(jnp.arange(3.0)).block_until_ready()


def test_lost_supervisor_while_starting(engine):
    engine.close()
    engine.processes.start_supervisor()
    os.kill(engine.processes.supervisor.pid, signal.SIGKILL)
    with pytest.raises(DeviceError, match="supervisor"):
        plus_one(jnp.arange(3.0)).block_until_ready()


def test_arrays_outlive_devices(engine):
    x = plus_one(jnp.arange(3.0)).block_until_ready()
    kill(engine)
    with pytest.raises(DeviceError):
        endless(x).block_until_ready()
    equal(x, np.array([1, 2, 3], np.float32))
    equal(plus_one(x), np.array([2, 3, 4], np.float32))


def test_calls_behind_a_lost_one_say_so(engine):
    y = endless(jnp.arange(3.0))
    z = plus_one(y)
    kill(engine)
    for _ in range(2):
        with pytest.raises(DeviceError, match=LOST):
            z.block_until_ready()
        with pytest.raises(DeviceError, match=LOST):
            y.block_until_ready()
        with pytest.raises(DeviceError, match=LOST):
            plus_one(z)
    equal(plus_one(jnp.arange(3.0)), np.array([1, 2, 3], np.float32))


def test_a_failed_array_disturbs_no_other_calls(engine):
    y = endless(jnp.arange(3.0))
    kill(engine)
    with pytest.raises(DeviceError, match=LOST):
        y.block_until_ready()
    assert_right()
    x = plus_one(jnp.arange(3.0))
    with pytest.raises(DeviceError, match=LOST):
        plus_one(y)
    equal(x, np.array([1, 2, 3], np.float32))


# ---- no answer -----------------------------------------------------------------------------------


@pytest.fixture
def one_second():
    config.update("tinyjax_pmap_timeout", 1)
    yield
    config.update("tinyjax_pmap_timeout", 100)


def test_endless_loop(either, one_second):
    y = endless(jnp.arange(3.0))
    start = time.monotonic()
    match = "pmap of 'forever' was given up: devices cpu:0, cpu:1, cpu:2 did not answer for 1 s"
    with pytest.raises(DeviceError, match=match):
        y.block_until_ready()
    assert time.monotonic() - start < 1 + SOON


def test_others_wait_for_an_endless_loop(engine, one_second):
    match = r"device cpu:0 did not answer for 1 s; devices cpu:1, cpu:2 in psum of float32\[\] over"
    with pytest.raises(DeviceError, match=match):
        in_psum(jnp.arange(3.0)).block_until_ready()


def test_a_stopped_process(engine, one_second):
    os.kill(engine.processes.pids[2], signal.SIGSTOP)
    with pytest.raises(DeviceError, match="device cpu:2 did not answer for 1 s"):
        plus_one(jnp.arange(3.0)).block_until_ready()


def test_many_calls_to_a_stopped_process(engine, one_second):
    os.kill(engine.processes.pids[2], signal.SIGSTOP)
    with pytest.raises(DeviceError, match="device cpu:2 did not answer for 1 s"):
        x = jnp.arange(3.0)
        for _ in range(1000):  # more than can be under way at once
            x = plus_one(x)


def test_a_stopped_supervisor_does_no_harm(engine):
    pid = engine.processes.supervisor.pid
    os.kill(pid, signal.SIGSTOP)
    assert_right()
    os.kill(pid, signal.SIGCONT)


# ---- interrupts ----------------------------------------------------------------------------------


def interrupt():
    """What Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.apart
@pytest.mark.parametrize("function", [endless, in_psum, napping])
def test_interrupt(either, function):
    with pytest.raises(KeyboardInterrupt), after_a_while(interrupt) as done:
        function(jnp.arange(3.0)).block_until_ready()
    assert time.monotonic() - done[0] < SOON


@pytest.mark.apart
def test_interrupt_while_starting():
    with local_engine():
        for seconds in (0.05, 0.3, 0.6):
            with contextlib.suppress(KeyboardInterrupt), after_a_while(interrupt, seconds):
                plus_one(jnp.arange(3.0)).block_until_ready()
                time.sleep(1)
            assert_right()


@pytest.mark.apart
def test_interrupts_at_any_time():
    """Whatever is interrupted, the next result is right."""
    with local_engine() as engine:
        assert_right()
        for k in range(40):
            interruption = after_a_while(interrupt, 0.001 * k)
            with contextlib.suppress(KeyboardInterrupt), interruption as done:
                x = jnp.arange(3.0)
                while not (done and time.monotonic() > done[0] + 1):  # it may hit a __del__
                    x = total(plus_one(x)) * 0
            assert_right()
        assert len(engine.flying) == 0


@pytest.mark.apart
def test_interrupts_of_interrupts():
    """Impatient users press Ctrl-C again while the first one is dealt with."""
    with local_engine() as engine:
        assert_right()
        for k in range(12):
            again = after_a_while(interrupt, 0.1 + 0.001 * k)
            interruption = after_a_while(interrupt, 0.1)
            with contextlib.suppress(KeyboardInterrupt), again as done, interruption:
                x = endless(jnp.arange(3.0))
                with contextlib.suppress(KeyboardInterrupt):
                    x.block_until_ready()
                while not (done and time.monotonic() > done[0] + 1):
                    total(plus_one(jnp.arange(3.0))).block_until_ready()
            assert_right()
        assert len(engine.flying) == 0


def test_ctrl_c_in_a_terminal_reaches_only_the_user(tmp_path):
    """It goes to all processes of the group; devices are in one of their own."""
    with local_engine() as engine:
        assert_right()
        for pid in (engine.processes.supervisor.pid, *engine.processes.pids.values()):
            assert os.getpgid(pid) != os.getpgid(0) and os.getsid(pid) != os.getsid(0)


# ---- the user's mistakes -------------------------------------------------------------------------


def test_a_callback_that_raises(engine):
    class Mine(Exception):
        pass

    def complain(x):
        raise Mine(f"not {x.size}")

    program = asking("device.call_back(0, (x,))[0]", np.zeros(5))
    program.callbacks = (complain,)
    ins, outs = engine.put(np.zeros((2, 5)), split(2)), engine.alloc(program.outs[0])
    with pytest.raises(Mine, match="not 5") as caught:
        engine.call(program, [ins], [outs]).wait()
    assert "raised on device cpu:" in caught.value.__notes__[0]
    assert "inside pmap of 'ask'" in caught.value.__notes__[0]
    assert "complain" in [f.name for f in traceback.extract_tb(caught.value.__traceback__)]


def test_callbacks(engine):
    seen = []

    def double(x):
        seen.append(threading.current_thread())
        return [x * 2]

    program = asking("device.call_back(0, (x,))[0]", np.zeros(50_000))
    program.callbacks = (double,)
    x = np.arange(100_000.0).reshape(2, -1)
    equal(compute(engine, program, x)[0], 2 * x)
    assert seen == [threading.current_thread()] * 2


def test_pmap_in_a_callback_is_an_error(engine):
    def nested(x):
        plus_one(jnp.arange(3.0)).block_until_ready()

    program = asking("device.call_back(0, (x,))[0]", np.zeros(5))
    program.callbacks = (nested,)
    with pytest.raises(RuntimeError, match="called by a callback of a pmapped function"):
        compute(engine, program, np.zeros((2, 5)))


def test_a_program_that_raises(engine):
    program = asking("np.zeros(3) + np.zeros(x.size)", np.zeros(5))
    with pytest.raises(ValueError, match="could not be broadcast") as caught:
        compute(engine, program, np.zeros((2, 5)))
    where, trace = caught.value.__notes__
    assert where.startswith("raised on device cpu:") and "Traceback" in trace


def test_an_exception_that_cannot_be_moved(engine):
    program = asking("exec('class Odd(Exception): pass\\nraise Odd(5)')", np.zeros(5))
    with pytest.raises(DeviceError, match="Odd: 5"):
        compute(engine, program, np.zeros((2, 5)))


def test_a_program_that_cannot_be_read(engine):
    program = asking("x", np.zeros(5))
    broken = Program(**{**vars(program), "code": b"nonsense", "number": 10**9})
    with pytest.raises(Exception, match="unpickling|pickle|invalid load key"):
        compute(engine, broken, np.zeros((2, 5)))


def test_others_finish_before_a_program_is_defined(engine):
    x = plus_one(jnp.arange(3.0))
    with pytest.raises(ValueError, match="at most 128 devices"):
        program = asking("x", np.zeros(5), devices=(0, 128))
        compute(engine, program, np.zeros((2, 5)))
    equal(x, np.array([1, 2, 3], np.float32))


# ---- collectives that do not match ---------------------------------------------------------------


def mismatched(text):
    """A program of three devices that do different things."""
    return asking(text, np.zeros(5), axes=[("i", 3)])


@pytest.mark.parametrize(
    "text, words",
    [
        (
            "device.allreduce('add' if device.position else 'max', x, (0, 1, 2))",
            [
                "device cpu:0 in pmax of float64[5] over cpu:0, cpu:1, cpu:2",
                "devices cpu:1, cpu:2 in psum of float64[5] over cpu:0, cpu:1, cpu:2",
            ],
        ),
        (
            "device.allreduce('add', x[device.position:], (0, 1, 2))",
            [f"device cpu:{k} in psum of float64[{5 - k}]" for k in range(3)],
        ),
        (
            "device.allreduce('add', x, (0, 1, 2) if device.position else (0, 1))",
            ["device cpu:0 in psum of float64[5] over cpu:0, cpu:1;", "over cpu:0, cpu:1, cpu:2"],
        ),
        (
            "device.all_gather(x, (0, 1, 2)) if device.position else device.permute(np.zeros("
            "50000), (0, 1, 2), (0, 1, 2))",
            ["ppermute from (0, 1, 2) of float64[50000]", "all_gather of float64[5]"],
        ),
    ],
)
def test_mismatched_collectives(engine, text, words):
    with pytest.raises(DeviceError, match="do not run the same collectives") as caught:
        compute(engine, mismatched(text), np.zeros((3, 5)))
    assert sum(w in str(caught.value) for w in words) >= 2


def test_a_device_that_leaves_a_collective_out(engine):
    def f(x):
        index = lax.axis_index("i")
        return lax.cond(index == 0, lambda x: lax.psum(x, "i"), lambda x: x, x)

    with pytest.raises(DeviceError, match="do not run the same collectives") as caught:
        pmap(f, axis_name="i")(jnp.arange(3.0)).block_until_ready()
    assert "in psum of float32[] over cpu:0, cpu:1, cpu:2" in str(caught.value)
    assert "at the end of the program" in str(caught.value)


# ---- the user's process ends ---------------------------------------------------------------------

START = """
import os, signal, sys, time
import tinyjax as jax, tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.transforms.pmapping import pmap
from tinyjax.parallel import engine, local
e = local.LocalEngine()
engine.use(e)
f = pmap(lambda x: x + 1)
f(jnp.arange(3.0)).block_until_ready()
loop = pmap(lambda x: lax.while_loop(lambda c: c < 1e30, lambda c: c * 1.0, x))
y = loop(jnp.arange(3.0))
print(e.processes.supervisor.pid, *e.processes.pids.values(), flush=True)
"""
ENDS = {
    "return": "",
    "exit": "sys.exit(3)",
    "exception": "raise ValueError",
    "at once": "os._exit(0)",
    "SIGTERM": "os.kill(os.getpid(), signal.SIGTERM)",
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGSEGV": "os.kill(os.getpid(), signal.SIGSEGV)",
    "SIGINT": "os.kill(os.getpid(), signal.SIGINT); time.sleep(5)",
    "lost devices": "[os.kill(p, signal.SIGKILL) for p in e.processes.pids.values()]",
    "stopped devices": "[os.kill(p, signal.SIGSTOP) for p in e.processes.pids.values()]",
}


def shared_files():
    """Names of shared memory; MPI, which other tests may use just now, has some."""
    return {name for name in os.listdir("/dev/shm") if not name.startswith("mpich")}


@pytest.mark.parametrize(
    "end, start", [*[(end, "fork") for end in ENDS], ("return", "spawn"), ("SIGKILL", "spawn")]
)
def test_nothing_is_left(end, start, tmp_path):
    before = shared_files()
    path = tmp_path / "script.py"
    path.write_text(START + ENDS[end])
    script = subprocess.Popen(
        [sys.executable, path],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TINYJAX_PMAP_START": start},
    )
    out, _ = script.communicate(timeout=100)  # returns when nobody holds its output open
    pids = list(map(int, out.split()))
    assert len(pids) == 4
    until(lambda: not any(map(alive, pids)), SOON)
    assert shared_files() <= before


def test_an_engine_that_nobody_refers_to():
    gc.collect()
    before = descriptors()
    engine = LocalEngine()
    old = use(engine)
    assert_right()
    pids = [engine.processes.supervisor.pid, *engine.processes.pids.values()]
    use(old)
    del engine
    gc.collect()
    until(lambda: not any(map(alive, pids)), SOON)
    assert descriptors() <= before


# ---- forks ---------------------------------------------------------------------------------------


def in_child(function):
    """Run a function in a forked process; it must return True."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if function() else 2
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def succeeded(pid):
    """Wait for such a process."""
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == 0


def test_a_fork_keeps_its_arrays_and_has_devices_of_its_own(engine):
    x = plus_one(jnp.arange(3.0))  # still under way, perhaps
    read, write = os.pipe()

    def child():
        os.read(read, 1)  # the parent has written over its memory
        equal(x, np.array([1, 2, 3], np.float32))
        assert_right()
        equal(plus_one(x), np.array([2, 3, 4], np.float32))
        mine = set(engine.processes.pids.values())
        engine.close()
        return not mine & theirs

    theirs = set(engine.processes.pids.values())
    pid = in_child(child)
    place = x.buffer.place
    engine.arena.bytes[place : place + 12] = 255
    for _ in range(50):
        assert_right()
    os.write(write, b"x")
    assert succeeded(pid)
    assert set(engine.processes.pids.values()) == theirs
    os.close(read)
    os.close(write)


def test_a_fork_does_not_hold_on_to_the_memory(engine):
    x = plus_one(jnp.arange(3.0))

    def child():
        equal(x, np.array([1, 2, 3], np.float32))
        found = Path("/proc/self/maps").read_text()
        for file in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):
                found += os.readlink(file)
        return "memfd:tinyjax" not in found

    assert succeeded(in_child(child))


def test_a_fork_keeps_arrays_of_engines_that_are_gone():
    with local_engine() as old:
        x = old.get(old.put(np.arange(6.0).reshape(2, 3), split(2)))
        assert_right()
        place = old.arena.address
    arena = old.arena
    del old
    gc.collect()
    read, write = os.pipe()

    def child():
        os.read(read, 1)
        return list(x[1]) == [3, 4, 5]

    pid = in_child(child)
    arena.bytes[x.__array_interface__["data"][0] - place :][:48] = 255
    os.write(write, b"x")
    assert succeeded(pid)
    os.close(read)
    os.close(write)


def test_a_fork_that_does_not_care(engine):
    count = descriptors()
    pids = [in_child(lambda: True) for _ in range(5)]
    assert_right()
    assert all(list(map(succeeded, pids)))
    assert descriptors() == count


def test_a_fork_outlives_the_parent(engine):
    """A child that goes on does not keep its parent's devices alive."""
    code = START + "local.forks.PATIENCE = 1\nif os.fork() == 0: time.sleep(20)\nos._exit(0)"
    script = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    pids = list(map(int, script.stdout.readline().split()))
    script.wait(60)
    until(lambda: not any(map(alive, pids)), SOON)
    script.stdout.close()


def test_a_pool_of_processes(engine):
    x = plus_one(jnp.arange(3.0))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for found in pool.map(np.asarray, [x] * 4):
            equal(found, np.array([1, 2, 3], np.float32))
    equal(plus_one(x), np.array([2, 3, 4], np.float32))


def test_fork_while_another_thread_calls(engine):
    stop = []

    def work():
        while not stop:
            assert_right()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        pids = [in_child(lambda: float(jnp.arange(3.0)[2]) == 2) for _ in range(10)]
        assert all(list(map(succeeded, pids)))
    finally:
        stop.append(True)
        thread.join(60)
    assert not thread.is_alive()


# ---- long use ------------------------------------------------------------------------------------


def footprint(engine):
    """What might grow: memory, files and children; of this process and the others."""
    pids = [os.getpid(), engine.processes.supervisor.pid]
    return {
        "memory": sum(map(resident, pids)),
        "shared": shared(),
        "descriptors": sum(map(descriptors, pids)),
        "children": len(family(os.getpid())),
        "/dev/shm": len(shared_files()),
    }


def assert_no_growth(before, after, memory):
    """memory: how many bytes more are no growth."""
    for what in ("descriptors", "children", "/dev/shm"):
        assert after[what] <= before[what], what
    assert after["memory"] - before["memory"] < memory
    assert after["shared"] - before["shared"] < memory


def restarts(engine, count):
    """Lose a device so many times."""
    for k in range(count):
        kill(engine, k % 2)
        with pytest.raises(DeviceError):
            total_of_two(jnp.arange(2.0)).block_until_ready()
        equal(total_of_two(jnp.arange(2.0)), np.array([0, 1], np.float32))


total_of_two = pmap(lambda x: x * lax.psum(x, "i"), axis_name="i")


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_restarts(count):
    with local_engine() as engine:
        total_of_two(jnp.arange(2.0)).block_until_ready()
        restarts(engine, 10)
        before = footprint(engine)
        restarts(engine, count)
        gc.collect()
        assert_no_growth(before, footprint(engine), 10 << 20)


@pytest.mark.parametrize("count", [2000, pytest.param(20000, marks=pytest.mark.slow)])
def test_calls(count):
    with local_engine() as engine:
        x = jnp.arange(2.0)
        for _ in range(500):
            x = total_of_two(plus_one(x)) * 0
        workers = list(engine.processes.pids.values())
        before, theirs = footprint(engine), sum(map(resident, workers))
        for _ in range(count // 2):
            x = total_of_two(plus_one(x)) * 0
        equal(plus_one(x * 0), np.ones(2, np.float32))
        gc.collect()
        assert_no_growth(before, footprint(engine), 5 << 20)
        assert sum(map(resident, workers)) - theirs < 5 << 20


def test_large_arrays_leave_no_memory_behind():
    with local_engine() as engine:
        x = jnp.ones((2, 4 << 20))
        for _ in range(3):
            equal(total_of_two(x)[1, :5], np.full(5, 2, np.float32))
        workers = list(engine.processes.pids.values())
        until(lambda: all(shared(pid) < 150 << 20 for pid in workers))
        equal(total_of_two(x)[1, :5], np.full(5, 2, np.float32))


def test_under_pytest_xdist(tmp_path):
    path = tmp_path / "test_it.py"
    path.write_text(
        "import pytest, tinyjax.numpy as jnp\n"
        "from tinyjax.transforms.pmapping import pmap\n"
        "@pytest.mark.parametrize('k', range(6))\n"
        "def test(k):\n"
        "    assert pmap(lambda x: x + k)(jnp.arange(2)).tolist() == [k, 1 + k]\n"
    )
    out = run_script(
        f"import sys, pytest; sys.exit(pytest.main(['-q', '-n', '2', {str(path)!r}]))", stdin=True
    )
    assert "6 passed" in out


def test_values_that_all_devices_hold(engine):
    """A part that several devices hold is written by one of them, and read by all."""
    one = Spec((4,), np.dtype(np.float64), together(3))
    program = asking("x + 1", np.zeros(4), axes=[("i", 3)])
    program = Program(**{**vars(program), "ins": (one,), "outs": (one,), "number": 10**9 + 1})
    [found] = compute(engine, program, np.zeros((1, 4)))
    equal(found, np.ones((1, 4)))


AT_EXIT = """
import atexit
import tinyjax as jax, tinyjax.numpy as jnp, numpy as np
double = jax.pmap(lambda x: x * 2)
atexit.register(lambda: print("saved", np.asarray(state).sum(), np.asarray(double(state))))
state = double(jnp.arange(4.0))
class Late:
    def __del__(self):
        try:
            double(jnp.arange(4.0))
        except RuntimeError as error:
            print(error)
late = Late()
"""


def test_handlers_at_exit_may_use_pmap():
    """Those that were registered after the import, whenever the first pmap was."""
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=120
    )
    assert done.stdout == (
        "saved 12.0 [ 0.  4.  8. 12.]\n"
        "pmap cannot run any more: Python is exiting, devices have ended\n"
    )
    assert done.stderr == ""


def test_standard_files_that_are_closed(tmp_path):
    """Daemons have none."""
    code = """
import sys, tinyjax as jax, tinyjax.numpy as jnp
with open(sys.argv[1], "w") as file:
    print(jax.pmap(lambda x: x + 1)(jnp.arange(4.0)), file=file)
"""
    path = tmp_path / "out"
    for closed in ("<&-", "<&- >&- 2>&-"):
        command = f'exec "$0" -c "$1" "$2" {closed}'
        subprocess.run(["sh", "-c", command, sys.executable, code, path], timeout=120, check=True)
        assert path.read_text() == "[1. 2. 3. 4.]\n"
