"""Run a program with the ranks of an MPI job as its devices, on one machine or many.

    mpiexec -n 5 python -m tinyjax.mpi train.py [arguments]     (or: -m module, -c code)

Rank 0 runs the program, unchanged; ranks 1 to 4 are what `jax.devices()` shows it. See
docs/distributed.md.
"""

import atexit
import os
import re
import runpy
import signal
import sys
import traceback
from pathlib import Path

from tinyjax.compiler.threads import cores
from tinyjax.config import config
from tinyjax.parallel.engine import use
from tinyjax.parallel.mpi_engine import MPIEngine
from tinyjax.parallel.mpi_link import mpi
from tinyjax.parallel.mpi_worker import Worker

USAGE = "usage: mpiexec -n RANKS python -m tinyjax.mpi (FILE | -m MODULE | -c CODE) [ARGUMENTS]"
# What MPICH, OpenMPI and MVAPICH tell a rank: its number, and how many ranks its machine has.
RANK = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
LOCAL_RANKS = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE")
THREADS = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")]
THREADS += ["VECLIB_MAXIMUM_THREADS", "TINYJAX_THREADS"]

# ---- the program ---------------------------------------------------------------------------------


def parse(args):
    """Command line -> (kind, what to run, the program's sys.argv). SystemExit if it is wrong."""
    if not args or args[0] in ("-h", "--help"):
        sys.exit(USAGE)
    kind, rest = (args[0], args[1:]) if args[0] in ("-m", "-c") else ("file", args)
    if not rest:
        sys.exit(f"{args[0]} needs an argument.\n{USAGE}")
    return kind, rest[0], [rest[0] if kind == "file" else kind, *rest[1:]]


def set_path(kind, target):
    """Modules beside the program can be imported, as if Python had been started with it.

    The devices need this, too: what the controller sends them may refer to such modules.
    """
    sys.path[0] = os.path.dirname(os.path.abspath(target)) if kind == "file" else os.getcwd()


def run_program(kind, target):
    """Run the program as `__main__`."""
    if kind == "file":
        runpy.run_path(target, run_name="__main__")
    elif kind == "-m":
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        exec(compile(target, "<string>", "exec"), vars(sys.modules["__main__"]))


# ---- the two roles -------------------------------------------------------------------------------


def control(comm, kind, target):
    """Rank 0: run the program. When it ends, however it ends, the whole job does."""
    engine = MPIEngine(comm)
    use(engine)
    config.update("tinyjax_num_devices", engine.count)
    job = Job(comm, engine)
    atexit.register(job.finish)
    signal.signal(signal.SIGINT, engine.guard.on_interrupt)
    try:
        if kind == "file" and not os.path.exists(target):
            sys.exit(f"tinyjax.mpi: there is no file {target!r}.\n{USAGE}")
        run_program(kind, target)
    except SystemExit:
        raise  # the interpreter prints what is to be printed, and knows the code
    except BaseException as error:
        error = error.with_traceback(user_part(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        job.code = 130 if isinstance(error, KeyboardInterrupt) else 1
        job.patience = 0.5
        sys.exit(job.code)


class Job:
    """How the job ends: after an error nobody waits for what devices still compute."""

    def __init__(self, comm, engine):
        self.comm, self.engine, self.process = comm, engine, os.getpid()
        self.patience, self.code = None, 1

    def finish(self):
        """The program is over: stop the devices. The end of a forked child is not."""
        if self.process == os.getpid() and not self.engine.stop(self.patience):
            print("tinyjax.mpi: ending the job, though devices are busy", file=sys.stderr)
            abort(self.comm, self.code)


def user_part(tb):
    """A traceback without the frames that started the program."""
    own = (__file__, runpy.__file__, "<frozen runpy>")
    while tb is not None and tb.tb_frame.f_code.co_filename in own:
        tb = tb.tb_next
    return tb


def serve(comm):
    """Ranks from 1 on: be a device. Ctrl-C is for rank 0, whose end is the end of all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Worker(comm).serve()
    except BaseException:
        traceback.print_exc()
        abort(comm, 1)


def abort(comm, code):
    """End all ranks, now."""
    sys.stdout.flush()
    sys.stderr.flush()
    comm.Abort(code)


# ---- the start -----------------------------------------------------------------------------------


def share_cores():
    """Devices on one machine share its cores. NumPy must know before it is loaded: start over.

    The user's own choice of OMP_NUM_THREADS counts.
    """
    known = [
        next((os.environ[n] for n in names if n in os.environ), "0")
        for names in (RANK, LOCAL_RANKS)
    ]
    rank, ranks = map(int, known)
    if rank > 0 and ranks > 1 and "OMP_NUM_THREADS" not in os.environ:
        share = str(max(1, cores() // (ranks - 1)))
        os.environ.update(dict.fromkeys(THREADS, share))
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def start_mpi():
    """Start MPI, and see to it that it ends with this process. mpi4py would end it in a forked
    child, too, which then waits for ever."""
    import mpi4py

    mpi4py.rc.finalize = False
    mpi()
    process = os.getpid()

    def finalize():
        if os.getpid() == process and not mpi().Is_finalized():
            mpi().Finalize()

    atexit.register(finalize)


def drop_names():
    """Unlink the shared memory of MPICH, which would survive a job that is killed. After the start
    nobody looks for it by name."""
    maps = Path("/proc/self/maps")
    if maps.exists():
        for name in set(re.findall(r"/dev/shm/mpich_shm_\w+", maps.read_text())):
            Path(name).unlink(missing_ok=True)


def main():
    """Be what this rank is."""
    kind, target, argv = parse(sys.argv[1:])
    share_cores()
    try:
        start_mpi()
        comm = mpi().COMM_WORLD.Dup()  # a world of our own: the program may use the other
        drop_names()
    except ImportError as error:
        sys.exit(f"tinyjax.mpi needs mpi4py and an MPI: pip install 'tinyjax[mpi]' ({error})")
    if comm.size == 1:
        sys.exit(
            f"There is only one rank; rank 0 runs the program, the others are devices.\n{USAGE}"
        )
    set_path(kind, target)
    if comm.rank == 0:
        sys.argv[:] = argv
        control(comm, kind, target)
    else:
        serve(comm)


if __name__ == "__main__":
    main()
