"""The controller's hold on the processes of the local engine: the supervisor, and its devices."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys

from tinyjax.compiler.threads import cores
from tinyjax.config import current_flags
from tinyjax.parallel.wire import (
    EXITED,
    KILL,
    KILLED,
    ORDER,
    REFUSED,
    REPORT,
    START,
    STARTED,
)

PATIENCE = 5.0  # seconds that the supervisor has to end the devices
THREADS = ["OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM"]


class Lost(Exception):
    """A device has ended: (device, or None if it is the supervisor; why)."""


class Processes:
    """Started with the first device. arena: the memory that they share."""

    def __init__(self, arena):
        self.arena = arena
        self.pipes, self.pids = {}, {}  # device -> end of its pipe, its process
        self.supervisor, self.ready = None, False  # ready: it has answered
        self.started = set()  # devices that there ever were
        self.kills = 0  # how often it was told to end all devices

    # ---- starting -------------------------------------------------------------------------------

    def start_supervisor(self):
        """Start the supervisor; it takes orders at once and carries them out when it can."""
        self.link, theirs = socket.socketpair()
        self.ready = False
        self.reports, write = os.pipe()
        flags = current_flags()
        regions = self.arena.regions
        numbers = theirs.fileno(), self.arena.fd, write, *regions.sizes, os.getpid()
        arguments = [sys.executable, "-P", "-m", "tinyjax.parallel.supervisor"]
        try:
            self.supervisor = subprocess.Popen(
                [*arguments, *map(str, numbers), flags.pmap_start],
                pass_fds=numbers[:3],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the user's process
                env=environment(flags),
            )
        finally:
            theirs.close()
            os.close(write)
        self.poll = select.poll()
        self.poll.register(self.reports, select.POLLIN)
        self.poll.register(self.link, select.POLLIN)

    def start(self, device):
        """Start a device."""
        if self.supervisor is None:
            self.start_supervisor()
        self.started.add(device)
        read, write = os.pipe()
        order = ORDER.pack(START, device, cores())
        try:
            socket.send_fds(self.link, [order], [read])
        except OSError:
            os.close(write)
            raise Lost(None, self.supervisor_status()) from None
        finally:
            os.close(read)
        self.pipes[device] = write

    # ---- talking --------------------------------------------------------------------------------

    def send(self, device, data):
        """Send a command. It is short: this does not block."""
        try:
            os.write(self.pipes[device], data)
        except BrokenPipeError:
            self.explain(device)

    def listen(self, timeout):
        """Wait for reports -> a list of them, empty after so many seconds. Raises Lost."""
        for descriptor, _ in self.poll.poll(timeout * 1000):
            if descriptor == self.reports:
                data = os.read(self.reports, 64 * REPORT.size)
                if not data:  # all who could write are gone
                    raise Lost(None, self.supervisor_status())
                return list(REPORT.iter_unpack(data))
            self.news()
            return self.listen(timeout)
        return []

    def news(self):
        """Read one message of the supervisor. Raises Lost if it is a bad one."""
        data = b""
        with contextlib.suppress(ConnectionResetError):
            data = self.link.recv(ORDER.size, socket.MSG_WAITALL)
        if len(data) < ORDER.size:
            raise Lost(None, self.supervisor_status())
        kind, device, number = ORDER.unpack(data)
        self.ready = True
        if kind == STARTED:
            self.pids[device] = number
        elif kind == REFUSED:
            raise Lost(device, f"its process could not be started: {os.strerror(number)}")
        elif kind == EXITED:
            raise Lost(device, f"its process (pid {self.pids[device]}) {reason(number)}")
        return kind

    def explain(self, device):
        """A device's pipe is broken: find out why. Raises Lost."""
        readable = select.poll()
        readable.register(self.link, select.POLLIN)
        while readable.poll(2000):
            self.news()
        raise Lost(device, "its process does not listen")

    def supervisor_status(self):
        """Why the supervisor ended."""
        pid = self.supervisor.pid
        try:
            code = self.supervisor.wait(2)
        except subprocess.TimeoutExpired:
            return f"their supervisor (pid {pid}) does not answer"
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        return f"their supervisor (pid {pid}) {how}"

    # ---- ending ---------------------------------------------------------------------------------

    def close_pipes(self):
        """Close the pipes of all devices."""
        for pipe in self.pipes.values():
            with contextlib.suppress(OSError):  # the user may have closed all files
                os.close(pipe)
        self.pipes.clear()
        self.pids.clear()

    def kill(self):
        """End all devices; return when they are gone and write to the memory no more."""
        self.close_pipes()
        if self.supervisor is None:
            return
        if not self.ready:
            self.close()
            return
        try:
            self.link.settimeout(PATIENCE)
            self.kills += 1
            self.link.sendall(ORDER.pack(KILL, 0, self.kills))
            while True:
                data = self.link.recv(ORDER.size, socket.MSG_WAITALL)
                if len(data) < ORDER.size:
                    raise ConnectionError
                kind, _, number = ORDER.unpack(data)
                if kind == KILLED and number == self.kills:
                    break
            self.link.settimeout(None)
            while select.select([self.reports], [], [], 0)[0]:  # what they still said
                if not os.read(self.reports, 1 << 16):
                    raise ConnectionError
        except OSError:
            self.close()

    def close(self):
        """End the supervisor, and with it all devices."""
        self.close_pipes()
        if self.supervisor is None:
            return
        supervisor, self.supervisor = self.supervisor, None
        self.link.close()  # it ends by itself, having ended the devices
        if not self.ready:
            supervisor.kill()  # it has none
        try:
            supervisor.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            supervisor.wait()
        with contextlib.suppress(OSError):
            while select.select([self.reports], [], [], PATIENCE)[0]:
                if not os.read(self.reports, 1 << 16):
                    break  # nobody is left who could write to the memory, either
            os.close(self.reports)

    def forget(self):
        """In a forked child: these processes are the parent's."""
        self.close_pipes()
        if self.supervisor is not None:
            self.link.close()
            os.close(self.reports)
            self.supervisor.returncode = 0  # not a child of this process
            self.supervisor = None


def standard_files():
    """Have files 0, 1 and 2 open: a new descriptor of one of these numbers would not reach a child.

    Daemons are started with them closed; what is written there then goes nowhere.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


def threads_each(devices):
    """How many threads each device may use."""
    return max(1, cores() // devices)


def environment(flags):
    """Environment variables of the processes: where modules and kernels are, how many threads."""
    count = str(threads_each(flags.num_devices))
    found = {f"{name}_NUM_THREADS": count for name in THREADS[:4]}
    found |= {"VECLIB_MAXIMUM_THREADS": count, "TINYJAX_THREADS": count}
    if flags.cache_dir is not None:
        found["TINYJAX_CACHE_DIR"] = flags.cache_dir
    folders = [os.path.abspath(p) for p in sys.path]
    return {**os.environ, **found, "PYTHONPATH": os.pathsep.join(folders)}


def reason(status):
    """How a process ended, from its wait status."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        hint = " (out of memory?)" if number == signal.SIGKILL else ""
        return f"was killed by {signal.Signals(number).name}{hint}"
    return f"exited with {os.waitstatus_to_exitcode(status)}"
