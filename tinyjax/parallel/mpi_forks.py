"""What happens to an MPI job when its program is forked.

MPI belongs to the process that started it. The child keeps the values that were fetched before the
fork; for anything else it would need MPI, and gets an error. The parent goes on as if nothing had
happened.
"""

import os
import threading
import time

from tinyjax.parallel.engine import DeviceError

PATIENCE = 10  # seconds that a fork waits for calls under way

CHILD = (
    "This process is a fork of the program that mpiexec started, and MPI is only for that program: "
    "pmap cannot run here, nor can arrays be fetched from the devices. Fetch them before the fork "
    "(jax.device_get), and leave pmap to the parent."
)


class CutLink:
    """The link of a child: every use of it is an error. It keeps the parent's, which must not be
    cleaned up here."""

    def __init__(self, old):
        self.old = old

    def refuse(self, *args, **kwargs):
        """There is nobody at the other end."""
        raise DeviceError(CHILD)

    send = send_array = receive = receive_array = sent = refuse


class Forks:
    """The forks under way of an engine's process; one may be inside another, in a callback."""

    def __init__(self, engine):
        self.engine, self.states = engine, []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self.before, after_in_parent=self.in_parent, after_in_child=self.in_child
            )

    def before(self):
        """Let no other thread be in the middle of something, and no message be under way."""
        guard = self.engine.guard
        main = threading.current_thread() is threading.main_thread()
        depth = guard.depth if main else 0  # of the thread that will be the child's only one
        guard.depth += main
        locked = guard.lock.acquire(timeout=PATIENCE)
        self.states.append((depth, main, locked))
        if locked and not guard.opened and not isinstance(self.engine.link, CutLink):
            self.engine.idle(time.monotonic() + PATIENCE)

    def in_parent(self):
        """Go on. A Ctrl-C that came meanwhile is raised when the engine is next used."""
        depth, main, locked = self.states.pop()
        self.engine.guard.depth -= main
        if locked:
            self.engine.guard.lock.release()

    def in_child(self):
        """Leave MPI alone from now on."""
        depth, _, locked = self.states.pop()
        self.states.clear()
        engine, guard = self.engine, self.engine.guard
        guard.depth, guard.interrupted = depth, False
        if locked:
            guard.lock.release()
        else:
            guard.lock = threading.RLock()  # whoever held it is not in this process
        if not isinstance(engine.link, CutLink):
            engine.link = CutLink(engine.link)
