"""What happens to the local engine when the user's process is forked.

The child keeps the values of its arrays: they move to memory of its own, so that it does not see
what the parent does next. It leaves the parent's devices alone, and has its own when it calls pmap.
"""

import os
import threading
import weakref

from tinyjax.parallel.arena import arenas
from tinyjax.parallel.engine import DeviceError

PATIENCE = 10  # seconds that a fork waits for calls under way

_engines: weakref.WeakSet = weakref.WeakSet()
_prepared: list = []  # not empty: the functions below are registered


def prepare(engine):
    """See to it that forks treat an engine well."""
    _engines.add(engine)
    if not _prepared:
        _prepared.append(True)  # once per process
        os.register_at_fork(before=before_fork, after_in_parent=in_parent, after_in_child=in_child)


class Forking:
    """One fork at a time: which engines' locks it holds, and the contents of arenas."""

    def __init__(self):
        self.lock, self.engines, self.contents = threading.Lock(), [], []

    def end(self):
        """-> the engines, the contents; nothing is held any more."""
        engines, self.engines = self.engines, []
        contents, self.contents = self.contents, []
        self.lock.release()
        return engines, contents


_forking = Forking()


def before_fork():
    """Copy what arrays hold: the parent will go on and use the memory again."""
    _forking.lock.acquire()
    for engine in list(_engines):
        engine.lock.acquire()
        _forking.engines.append(engine)
        if not engine.calling_back:
            engine.finish_calls(PATIENCE)
    for arena in list(arenas):
        if arena.fd is not None:
            _forking.contents.append((arena, arena.snapshot()))


def in_parent():
    """Go on."""
    engines, _ = _forking.end()
    for engine in engines:
        engine.lock.release()


def in_child():
    """Have an engine of our own, at our own first call; arrays keep what they hold."""
    engines, contents = _forking.end()
    for engine in engines:
        for ticket in engine.flying.values():
            text = f"pmap of {ticket.program.name!r} was under way when this process was forked"
            ticket.finish(DeviceError(text))
        processes = engine.processes
        engine.__init__(engine.heap)
        processes.forget()
    for arena, copies in contents:
        arena.detach(copies)
