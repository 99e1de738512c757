"""The process between the user's and the devices': `python -m tinyjax.parallel.supervisor`.

It starts devices by forking itself, which takes milliseconds since NumPy and tinyjax are loaded
here already. (The user's process is never forked: it may have threads, and locks that they hold.)
It tells the controller when a device ends, and when the controller ends it ends all devices.
"""

import contextlib
import gc
import os
import selectors
import signal
import socket
import sys

from tinyjax.parallel import barrier, worker
from tinyjax.parallel.wire import EXITED, KILL, KILLED, ORDER, REFUSED, START, STARTED


class Supervisor:
    """Its children, and what it is asked to do."""

    def __init__(self, link, memory, reports, sizes, method, parent):
        self.link = socket.socket(fileno=link)
        self.shared = memory, reports, *sizes
        self.method, self.parent = method, parent
        self.children = {}  # pid -> device
        self.selector = selectors.DefaultSelector()
        self.bell, self.rung = os.pipe()  # rings when a child ends

    # ---- the loop -------------------------------------------------------------------------------

    def run(self):
        """Serve until the controller is gone."""
        os.set_blocking(self.bell, False)
        os.set_blocking(self.rung, False)
        signal.set_wakeup_fd(self.rung)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(self.link, selectors.EVENT_READ, self.order)
        self.selector.register(self.bell, selectors.EVENT_READ, self.reap)
        with contextlib.suppress(OSError, AttributeError):  # not on every system
            # A fork of the controller may hold our link open when it has ended.
            descriptor = os.pidfd_open(self.parent)
            self.selector.register(descriptor, selectors.EVENT_READ, self.leave)
        while True:
            for key, _ in self.selector.select(timeout=0.5):
                key.data()
            if os.getppid() != self.parent:
                self.leave()

    def leave(self):
        """The controller is gone: end every device, even one that is stuck."""
        self.kill()
        os._exit(0)

    def say(self, kind, device, number):
        """Tell the controller something."""
        try:
            self.link.sendall(ORDER.pack(kind, device, number))
        except OSError:
            self.leave()

    # ---- orders ---------------------------------------------------------------------------------

    def order(self):
        """Carry out an order."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self.link, ORDER.size, 1)
            while data and len(data) < ORDER.size:
                data += self.link.recv(ORDER.size - len(data))
        except OSError:
            data, descriptors = b"", []
        if not data:
            self.leave()
        kind, device, number = ORDER.unpack(data)
        if kind == KILL:
            self.kill()
            self.say(KILLED, 0, number)
        elif kind == START:
            [commands] = descriptors
            try:
                pid = self.start(device, commands, number)
                self.children[pid] = device
                self.say(STARTED, device, pid)
            except OSError as error:
                self.say(REFUSED, device, error.errno or 0)
            os.close(commands)

    def start(self, device, commands, cores):
        """Start a device's process -> its pid."""
        numbers = device, commands, *self.shared, cores, os.getpid()
        if self.method == "spawn":
            for descriptor in (commands, *self.shared[:2]):
                os.set_inheritable(descriptor, True)
            module = "tinyjax.parallel.worker"
            arguments = [sys.executable, "-P", "-m", module, *map(str, numbers)]
            pid = os.posix_spawn(sys.executable, arguments, os.environ)
            os.set_inheritable(commands, False)
            return pid
        pid = os.fork()
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                self.selector.close()
                self.link.close()
                os.close(self.bell)
                os.close(self.rung)
                worker.main(*numbers)
            finally:
                os._exit(1)
        return pid

    def kill(self):
        """End all devices, and wait until they are gone."""
        for pid in self.children:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in self.children:
            with contextlib.suppress(OSError):
                os.waitpid(pid, 0)
        self.children.clear()

    def reap(self):
        """Children have ended: tell which."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.bell, 4096)
        for pid, device in list(self.children.items()):
            try:
                ended, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                ended, status = pid, 0
            if ended:
                del self.children[pid]
                self.say(EXITED, device, status)


def main():
    """Set the process up, then serve."""
    link, memory, reports, *sizes, parent = map(int, sys.argv[1:7])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.argv[7] == "fork":
        barrier.atomics()  # loaded once for all
        gc.collect()
        gc.freeze()  # keeps collections in the children off the shared pages
    Supervisor(link, memory, reports, sizes, sys.argv[7], parent).run()


if __name__ == "__main__":
    main()
