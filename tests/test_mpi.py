"""The MPI engine, in jobs of a few ranks on this machine; and how such jobs begin and end."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BESIDE = Path(sys.executable).with_name("mpiexec")
MPIEXEC = str(BESIDE) if BESIDE.exists() else shutil.which("mpiexec")
pytestmark = pytest.mark.slow

PRELUDE = """
import os, sys, threading, time
import tinyjax as jax, tinyjax.numpy as jnp
from tinyjax import lax

def endless(x):  # a while loop that the devices are never done with
    return lax.while_loop(lambda c: c[0] >= 0, lambda c: (c[0] * 0, jnp.sin(c[1])), (x, x))[1]

n = jax.device_count()
total = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
zeros = jnp.zeros(n)
"""


def command(ranks, *arguments):
    """The command line of a job."""
    return [MPIEXEC, "-n", str(ranks), sys.executable, "-m", "tinyjax.mpi", *map(str, arguments)]


def environment():
    """Where tinyjax is found, and nothing that an MPI job around this one has set."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PMI", "MPI", "OMPI"))}
    return clean | {"PYTHONPATH": str(ROOT)}


def job(ranks, *arguments, timeout=120, **options):
    """Run a job -> the finished process."""
    return subprocess.run(
        command(ranks, *arguments),
        capture_output=True,
        text=True,
        timeout=timeout,
        env=environment(),
        stdin=subprocess.DEVNULL,
        **options,
    )


def code(ranks, text, *arguments, **options):
    """Run a program given as text, after the prelude."""
    return job(ranks, "-c", PRELUDE + text, *arguments, **options)


def succeeded(done):
    """The output of a job that must have gone well."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---- pmap ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [3, 5])
def test_the_checks_of_every_engine(ranks):
    """On 2 and on 4 devices."""
    done = job(ranks, ROOT / "tests/parallel_checks.py", timeout=400)
    out = succeeded(done)
    assert "FAILED" not in out
    assert out.count("passed") > 25


# ---- beginnings ----------------------------------------------------------------------------------


def test_a_script_runs_unchanged(tmp_path):
    """Its arguments, its folder and its own primitives are there; its devices are the ranks."""
    (tmp_path / "helper.py").write_text(
        "import numpy as np\nfrom tinyjax.extend.core import Primitive\n"
        "twice_p = Primitive('twice')\ntwice_p.def_impl(lambda x: np.asarray(x) * 2)\n"
        "twice_p.def_abstract_eval(lambda x: x)\n"
    )
    (tmp_path / "train.py").write_text(
        PRELUDE + "from helper import twice_p\n"
        "from tinyjax.extend.core import Primitive\n"
        "half_p = Primitive('half')\n"
        "half_p.def_impl(lambda x: x * 0.5)\nhalf_p.def_abstract_eval(lambda x: x)\n"
        "print(__name__, sys.argv[1:], os.path.basename(__file__), jax.devices())\n"
        "print(jax.pmap(lambda x: half_p.bind(twice_p.bind(twice_p.bind(x))))(jnp.arange(2.0)))\n"
    )
    out = succeeded(job(3, tmp_path / "train.py", "--steps", 10, cwd=ROOT))
    assert out.splitlines() == [
        "__main__ ['--steps', '10'] train.py [CpuDevice(id=0), CpuDevice(id=1)]",
        "[0. 2.]",
    ]


def test_a_module(tmp_path):
    (tmp_path / "study.py").write_text(PRELUDE + "print(sys.argv[1:], total(zeros + 1))")
    assert succeeded(job(3, "-m", "study", "x", cwd=tmp_path)) == "['x'] [2. 2.]\n"


def test_one_rank_is_not_enough():
    done = job(1, "-c", "print(1)")
    assert done.returncode == 1
    assert "There is only one rank" in done.stderr
    assert "mpiexec -n RANKS python -m tinyjax.mpi" in done.stderr


def test_a_file_that_does_not_exist():
    done = job(3, "no_such_file.py")
    assert done.returncode == 1
    assert "there is no file 'no_such_file.py'" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("-m",)])
def test_a_wrong_command_line(arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tinyjax.mpi", *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )
    assert done.returncode == 1
    assert "usage: mpiexec -n RANKS" in done.stderr


# ---- the number of devices -----------------------------------------------------------------------


def test_there_are_as_many_devices_as_ranks_whatever_the_flag_says():
    out = succeeded(
        code(
            3,
            """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    jax.config.update("jax_num_cpu_devices", 4)
    print(jax.devices(), jax.device_count(), total(zeros + 1))
    try:
        total(jnp.zeros(4))
    except ValueError as error:
        print(error)
print(len(caught), caught[0].message)
""",
        )
    )
    lines = out.splitlines()
    assert lines[0] == "[CpuDevice(id=0), CpuDevice(id=1)] 2 [2. 2.]"
    assert lines[1] == "pmap of <lambda> requires 4 devices, but only 2 are available:"
    assert "or ask for more devices: mpiexec -n 5 (rank 0 runs the program" in lines[3]
    assert "config" not in lines[3]
    assert lines[4].startswith("1 num_devices=4 is ignored: there are 2 devices")
    assert "mpiexec -n 5" in lines[4]


# ---- forks ---------------------------------------------------------------------------------------

FORKED = """
import atexit, multiprocessing, numpy as np
known, pending = total(zeros + 1), total(zeros + 2)
known.tolist()

def attempt(action):
    try:
        print(action(), flush=True)
    except Exception as error:
        print(type(error).__name__, str(error)[:58], flush=True)

def child():
    attempt(lambda: known)
    attempt(lambda: known + jnp.ones(2))
    attempt(lambda: pending)
    attempt(lambda: total(known))
"""
IN_CHILD = """[2. 2.]
[3. 3.]
DeviceError This process is a fork of the program that mpiexec started
DeviceError This process is a fork of the program that mpiexec started
"""


@pytest.mark.parametrize(
    ("end", "status"),
    [("os._exit(3)", 3), ("sys.exit(4)", 4), ("raise KeyError('mine')", 1)],
)
def test_a_forked_child_leaves_mpi_alone(end, status):
    """However it ends, while a result of the parent's is pending."""
    text = f"""
pid = os.fork()
if pid == 0:
    child()
    {end}
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(pending, total(known))
"""
    done = code(3, FORKED + text)
    assert succeeded(done) == IN_CHILD + f"{status}\n[4. 4.] [4. 4.]\n"
    assert ("KeyError: 'mine'" in done.stderr) == ("KeyError" in end)


def test_a_forked_child_that_goes_on_after_the_fork():
    """Parent and child both run to the end of the program; their handlers at exit, too."""
    text = """
atexit.register(lambda: print("at exit", flush=True))
pid = os.fork()
if pid:
    os.waitpid(pid, 0)
attempt(lambda: known)
"""
    assert succeeded(code(3, FORKED + text)) == "[2. 2.]\nat exit\n" * 2


def test_forked_helpers_between_calls():
    """multiprocessing, beside calls from another thread."""
    text = """
def work():
    return [float(total(zeros + k)[0]) for k in range(100)]
results = []
thread = threading.Thread(target=lambda: results.append(work()))
thread.start()
context = multiprocessing.get_context("fork")
for _ in range(3):
    with context.Pool(2) as pool:
        print(pool.map(abs, [-1, -2, -3]), total(zeros + 5))
thread.join()
print(results == [[2.0 * k for k in range(100)]])
"""
    out = succeeded(code(3, FORKED + text))
    assert out == "[1, 2, 3] [10. 10.]\n" * 3 + "True\n"


def test_a_fork_inside_a_callback():
    """It does not wait for the call that it is part of."""
    text = """
def forks(x):
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return np.float32(x + (time.monotonic() - start < 5))
print(jax.pmap(lambda x: jax.pure_callback(forks, x, x))(zeros))
"""
    assert succeeded(code(3, FORKED + text)) == "[1. 1.]\n"


def test_a_fork_does_not_wait_for_ever():
    text = """
from tinyjax.parallel import mpi_forks
mpi_forks.PATIENCE = 1
y = jax.pmap(endless)(zeros)
pid = os.fork()
if pid == 0:
    child()
    os._exit(0)
os.waitpid(pid, 0)
raise KeyError("mine")
"""
    done = code(3, FORKED + text)
    assert done.stdout.startswith(IN_CHILD)
    assert "KeyError: 'mine'" in done.stderr
    assert done.returncode != 0


# ---- ends ----------------------------------------------------------------------------------------


def test_an_exception_ends_the_job_with_its_traceback():
    done = code(3, "print(total(zeros))\nraise KeyError('mine')")
    assert done.returncode == 1
    assert done.stdout == "[0. 0.]\n"
    assert done.stderr.rstrip().endswith("KeyError: 'mine'")
    assert "tinyjax" not in done.stderr  # nothing but the user's own frames


def test_an_exception_while_devices_compute_ends_the_job():
    done = code(3, "y = jax.pmap(endless)(zeros)\ntime.sleep(0.2)\nraise KeyError('mine')")
    assert done.returncode != 0
    assert "KeyError: 'mine'" in done.stderr
    assert "devices are busy" in done.stderr


def test_the_exit_code_is_the_programs():
    assert code(3, "sys.exit(7)").returncode == 7
    done = code(3, "total(zeros).block_until_ready(); sys.exit('farewell')")
    assert (done.returncode, done.stderr) == (1, "farewell\n")


def test_the_end_comes_when_devices_have_finished():
    out = succeeded(
        code(
            3,
            """
import atexit
atexit.register(lambda: print(f"at exit {total(zeros)}"))
def late():
    time.sleep(0.3)
    print(f"thread {total(zeros + 1)}")
threading.Thread(target=late).start()
def noisy(x):
    x = lax.fori_loop(0, 100_000, lambda i, x: jnp.sin(x + i), x)
    jax.debug.callback(lambda x: print("callback"), x)
    return x
jax.pmap(noisy)(zeros)  # nobody waits for this
print("end")
""",
        )
    )
    assert sorted(out.splitlines()) == sorted(
        ["end", "callback", "callback", "thread [2. 2.]", "at exit [0. 0.]"]
    )


def test_no_answer_in_time():
    """The limit holds; devices that do not compute go on; the job ends nevertheless."""
    done = code(
        3,
        """
jax.config.update("tinyjax_pmap_timeout", 1)
try:
    jax.pmap(lambda x: lax.psum(lax.cond(x > 0, endless, lambda x: x, x), "i"), "i")(
        jnp.arange(2.0)).block_until_ready()
except RuntimeError as error:
    print(type(error).__name__, error)
jax.config.update("tinyjax_pmap_timeout", 60)
print(jax.pmap(lambda x: x + 1, devices=jax.devices()[:1])(zeros[:1]))
""",
    )
    assert "DeviceError No answer from cpu:" in done.stdout
    assert "within 1 seconds in pmap of '<lambda>'. MPI cannot restart a lost rank" in done.stdout
    assert "\n[1.]\n" in done.stdout
    assert done.returncode != 0
    assert "devices are busy" in done.stderr


# ---- signals -------------------------------------------------------------------------------------


def processes():
    """All processes: "number command line"; from /proc, since not every Linux has ps."""
    if not Path("/proc/self").exists():
        return subprocess.check_output(
            ["ps", "-e", "-ww", "-o", "pid,args"], text=True
        ).splitlines()
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(f"{file.parent.name} " + file.read_text().replace("\0", " "))
        except OSError:  # it has ended
            pass
    return found


class Running:
    """A job of 3 ranks that has come to a certain point."""

    def __init__(self, folder, text):
        self.script = folder / f"{uuid.uuid4().hex}.py"  # a name to find the ranks by
        self.script.write_text(PRELUDE + text)
        self.process = subprocess.Popen(
            command(3, self.script),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment(),
        )
        late = threading.Timer(100, self.process.kill)
        late.start()
        line = self.process.stdout.readline()
        late.cancel()
        assert line == "ready\n", self.process.communicate(timeout=60)[1]

    def ranks(self):
        """Process ids of the ranks."""
        lines = [x for x in processes() if self.script.name in x and "mpiexec" not in x]
        return [int(line.split()[0]) for line in lines]

    def ended(self):
        """Wait until the job has ended, and assert that it failed and left no process.
        Returns what it wrote to stderr."""
        start = time.monotonic()
        stderr = self.process.communicate(timeout=60)[1]
        while self.ranks():
            assert time.monotonic() - start < 60, "ranks are left"
            time.sleep(0.05)
        assert time.monotonic() - start < 20
        assert self.process.returncode != 0
        return stderr


@pytest.fixture
def start(tmp_path):
    """A function that starts a job, which does not outlive the test."""
    jobs = []

    def start(text):
        jobs.append(Running(tmp_path, text))
        return jobs[-1]

    yield start
    for running in jobs:
        running.process.kill()
        running.process.wait()


BUSY = """
y = jax.pmap(endless)(zeros)
print("ready", flush=True)
y.block_until_ready()
"""
IDLE = """
total(zeros).block_until_ready()
print("ready", flush=True)
time.sleep(100)
"""


@pytest.mark.parametrize("text", [BUSY, IDLE], ids=["busy", "idle"])
def test_ctrl_c_ends_the_job(start, text):
    running = start(text)
    running.process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in running.ended()


def test_a_caught_ctrl_c_leaves_everything_in_order():
    out = succeeded(
        code(
            3,
            """
import random, signal
random.seed(0)
step = jax.pmap(lambda x, y: (lax.psum(x, "i"), x + y), "i")
def disturb():
    for _ in range(60):
        time.sleep(random.random() / 50)
        os.kill(os.getpid(), signal.SIGINT)
    done.set()
done = threading.Event()
x = jnp.arange(2.0)
step(x, x)[0].block_until_ready()
threading.Thread(target=disturb).start()
rounds = interrupts = 0
while not done.is_set():
    try:
        total, double = step(x + rounds, x)
        last = step(double, total)[1]
        values = total.tolist(), last.tolist()
        assert values == ([2.0 * rounds + 1] * 2, [3.0 * rounds + 1, 3.0 * rounds + 3]), values
        rounds += 1
    except KeyboardInterrupt:
        interrupts += 1
print(interrupts > 5, rounds > 5)
""",
        )
    )
    assert out == "True True\n"


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize("text", [BUSY, IDLE], ids=["busy", "idle"])
def test_a_lost_rank_ends_the_job(start, text, which):
    running = start(text)
    ranks = running.ranks()
    assert len(ranks) == 3
    os.kill(ranks[which], signal.SIGKILL)
    running.ended()


def test_shared_memory_has_no_name_that_could_stay(start):
    running = start(IDLE)
    for rank in running.ranks():
        maps = Path(f"/proc/{rank}/maps")  # on Linux
        lines = maps.read_text().splitlines() if maps.exists() else []
        named = [x for x in lines if "/dev/shm/" in x and not x.endswith("(deleted)")]
        assert named == []
    running.process.kill()
    running.ended()


def test_a_lost_launcher_ends_the_job(start):
    running = start(BUSY)
    running.process.kill()
    running.ended()
