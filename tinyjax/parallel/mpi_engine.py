"""The engine of MPI jobs: rank 0 runs the user's program, the other ranks are the devices.

The controller's side. A buffer is a number; each device that holds a part of it keeps an array of
its own under that number (`mpi_worker.py` is the devices' side). MPI cannot restart a lost rank: if
one dies, the launcher ends the whole job.
"""

import collections
import contextlib
import itertools
import pickle
import threading
import time
import weakref
from dataclasses import replace

import numpy as np

from tinyjax.config import config
from tinyjax.parallel.engine import Buffer, DeviceError, Engine, Spec, Ticket
from tinyjax.parallel.mpi_forks import Forks
from tinyjax.parallel.mpi_link import CANCEL, COMMAND, REPLY, REPORT, Link, answer_tag, wait_until

MANY = 32  # calls under way; who sends off more than this waits, since all need memory for results
MUCH = 1 << 28  # bytes under way to the devices; who puts more than this waits

# ---- buffers and tickets -------------------------------------------------------------------------


class MPIBuffer(Buffer):
    """Arrays on devices, under one number."""

    def __init__(self, engine, spec, number):
        self.spec, self.number = spec, number
        self.error = None  # why it will never have contents
        holders = {device for part in spec.parts for device in part}
        weakref.finalize(self, engine.dropped.append, ("free", holders, number)).atexit = False


class MPITicket(Ticket):
    """A call under way: which devices have not answered yet, and what went wrong."""

    def __init__(self, engine, number, program, inputs, outputs):
        self.engine, self.number, self.program = engine, number, program
        self.inputs, self.outputs = inputs, outputs  # alive until the call is over
        self.pending = set(program.devices)
        self.error = None

    def fail(self, error):
        """The results will not come."""
        self.error = error
        for buffer in self.outputs:
            buffer.error = error

    def done(self):
        self.engine.pump()
        return not self.pending or self.error is not None

    def wait(self):
        limit = config.pmap_timeout
        if not wait_until(self.done, time.monotonic() + limit):
            self.engine.give_up(self, DeviceError(self.too_late(limit)))
        if self.error is not None:
            raise self.error

    def too_late(self, limit):
        """The text of an error."""
        late = ", ".join(f"cpu:{device} (rank {device + 1})" for device in sorted(self.pending))
        return (
            f"No answer from {late} within {limit} seconds in pmap of {self.program.name!r}. MPI "
            "cannot restart a lost rank: if it does not come back, start the job anew. For more "
            "patience set the flag pmap_timeout."
        )


# ---- what must not be interrupted ----------------------------------------------------------------


class Guard:
    """One thread at a time, and no Ctrl-C inside: half a command would confuse the devices."""

    def __init__(self):
        self.lock = threading.RLock()
        self.depth, self.interrupted = 0, False  # of the main thread
        self.opened = 0  # how many blocks of the user's own are running

    def __enter__(self):
        self.depth += threading.current_thread() is threading.main_thread()
        self.lock.acquire()

    def __exit__(self, *exception):
        self.lock.release()
        if threading.current_thread() is threading.main_thread():
            self.depth -= 1
            if self.interrupted and self.depth == 0:
                self.interrupted = False
                raise KeyboardInterrupt

    def on_interrupt(self, number, frame):
        """What SIGINT does while an engine is in use: it may have to wait for a moment."""
        if self.depth:
            self.interrupted = True
        else:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def open(self):
        """A block of the user's own inside, which may be interrupted."""
        depth, self.depth = self.depth, 0
        self.opened += 1
        try:
            yield
        finally:
            self.depth = depth
            self.opened -= 1


# ---- the engine ----------------------------------------------------------------------------------


class MPIEngine(Engine):
    """Runs programs on ranks 1, 2, ... of a communicator, which is for this engine only."""

    def __init__(self, comm):
        self.link, self.count = Link(comm), comm.size - 1
        self.fixed_count = self.count
        self.guard = Guard()
        self.numbers = itertools.count(1)
        self.calls = {}  # number -> ticket, of calls that devices work on
        self.stuck = {}  # device -> the devices that it has been waiting for
        self.defined = weakref.WeakSet()
        self.dropped = collections.deque()  # what was garbage-collected: (command, devices, number)
        self.epoch = 0  # how many times we have given up what was under way
        self.abandoned = []  # requests for arrays that were not waited for
        self.forks = Forks(self)

    @classmethod
    def advice(cls, count):
        return f"mpiexec -n {count + 1} (rank 0 runs the program, the others are the devices)"

    # ---- sending ---------------------------------------------------------------------------------

    def tell(self, device, *command):
        """Send a command to a device."""
        self.link.send(command, device + 1, COMMAND)

    def sweep(self):
        """Tell the devices what nobody needs any more."""
        buffers = collections.defaultdict(list)
        while self.dropped:
            kind, devices, number = self.dropped.popleft()
            for device in devices:
                if kind == "free":
                    buffers[device].append(number)
                else:
                    self.tell(device, kind, number)
        for device, numbers in buffers.items():
            self.tell(device, "free", numbers)

    def under_way(self):
        """Bytes of arrays that have not left yet."""
        return sum(array.nbytes for _, array in self.link.sending if array is not None)

    def put(self, array, parts):
        with self.guard:
            self.sweep()
            buffer = self.alloc(Spec(array.shape[1:], array.dtype, parts))
            for part, holders in zip(array, parts):
                own = np.array(part, order="C")  # the caller's may change while this is under way
                for device in holders:
                    self.tell(device, "put", buffer.number, own.shape, own.dtype)
                    self.link.send_array(own, device + 1)
        # Large arrays leave only while we look at them; devices at work take them later.
        if self.calls:
            wait_until(lambda: self.progress() or self.under_way() < MUCH)
        else:
            wait_until(self.progress)
        return buffer

    def alloc(self, spec):
        return MPIBuffer(self, spec, next(self.numbers))

    def get(self, buffer):
        if buffer.error is not None:
            raise buffer.error
        spec = buffer.spec
        out = np.empty(spec.whole, spec.dtype)
        requests, tag = [], answer_tag(buffer.number)
        with self.guard:
            for row, (holder, *_) in zip(out.reshape(len(spec.parts), -1), spec.parts):
                if row.nbytes:
                    self.tell(holder, "get", buffer.number)
                    requests.append(self.link.receive_array(row, holder + 1, tag))

        def arrived():
            self.pump()
            return all(request.Test() for request in requests)

        limit = config.pmap_timeout
        try:
            if not wait_until(arrived, time.monotonic() + limit):
                raise DeviceError(f"An array did not arrive from its devices within {limit} s.")
        except BaseException:
            self.abandoned.append(requests)  # they may yet write
            raise
        out.setflags(write=False)
        return out

    def call(self, program, inputs, outputs):
        for buffer in inputs:
            if buffer.error is not None:
                raise buffer.error
        self.wait_for_room()
        with self.guard:
            self.sweep()
            if program not in self.defined:
                self.define(program)
            number = next(self.numbers)
            ticket = self.calls[number] = MPITicket(self, number, program, inputs, outputs)
            ins, outs = [b.number for b in inputs], [b.number for b in outputs]
            for device in program.devices:
                self.tell(device, "run", number, self.epoch, program.number, ins, outs)
            self.pump()
            return ticket

    def wait_for_room(self):
        """Wait while too many calls are under way."""

        def room():
            self.pump()
            return len(self.calls) < MANY

        limit = config.pmap_timeout
        if not wait_until(room, time.monotonic() + limit):
            oldest = next(iter(self.calls.values()))
            self.give_up(oldest, DeviceError(oldest.too_late(limit)))
            raise oldest.error

    def define(self, program):
        """Send a program to its devices. Its callbacks stay here."""
        for device in program.devices:
            self.tell(device, "define", replace(program, callbacks=()))
        self.defined.add(program)
        gone = ("forget", set(program.devices), program.number)
        weakref.finalize(program, self.dropped.append, gone).atexit = False

    # ---- receiving -------------------------------------------------------------------------------

    def progress(self):
        """Hear what devices report, and whether everything that we sent has left."""
        with self.guard:
            self.pump()
            return self.link.sent()

    def pump(self):
        """Deal with what devices have reported."""
        with self.guard:
            while (message := self.link.receive(REPORT)) is not None:
                rank, (kind, call, *rest) = message
                ticket = self.calls.get(call)
                if ticket is not None:
                    getattr(self, "on_" + kind)(rank - 1, ticket, *rest)
            self.link.sent()

    def on_done(self, device, ticket):
        """A device has finished."""
        ticket.pending.discard(device)
        if not ticket.pending:
            ticket.inputs = ticket.outputs = ()
            del self.calls[ticket.number]

    on_cancelled = on_done

    def on_failed(self, device, ticket, code):
        """A device has met an exception."""
        self.give_up(ticket, noted(pickle.loads(code), device, ticket.program))
        self.on_done(device, ticket)

    def on_stuck(self, device, ticket, peers):
        """A device waits for others; in vain, if one of them has left the program."""
        gone = [f"cpu:{peer}" for peer in peers if peer not in ticket.pending]
        if gone and self.stuck.get(device) == (ticket, peers):
            text = f"Device cpu:{device} is in a collective with {', '.join(gone)}, but not they."
            self.give_up(ticket, noted(RuntimeError(text), device, ticket.program))
        self.stuck[device] = ticket, peers

    def on_moved(self, device, ticket):
        """A device waits no more."""
        self.stuck.pop(device, None)

    def on_question(self, device, ticket, question, number, arrays):
        """Run a callback for a device; not if the call has been given up."""
        answer = None
        try:
            if ticket.error is not None:
                return
            with self.guard.open():
                results = ticket.program.callbacks[number](*arrays)
                answer = [np.asarray(out) for out in results]
        except BaseException as error:
            self.give_up(ticket, noted(error, device, ticket.program))
            if not isinstance(error, Exception):
                raise
        finally:
            self.link.send((question, answer), device + 1, REPLY)

    def give_up(self, ticket, error):
        """End a call with an error, and all that was sent off after it: their exchanges and those
        of this call could meet. Devices that wait for something are released."""
        if ticket.error is not None:
            return
        ticket.fail(error)
        for number, other in self.calls.items():
            if number > ticket.number and other.error is None:
                given_up = DeviceError(
                    f"pmap of {other.program.name!r} was given up, because pmap of "
                    f"{ticket.program.name!r} failed while both were under way"
                )
                given_up.__cause__ = error
                other.fail(given_up)
        self.epoch += 1
        self.stuck.clear()
        for device in range(self.count):
            self.link.send((self.epoch, ticket.number), device + 1, CANCEL)

    # ---- the end ---------------------------------------------------------------------------------

    def idle(self, deadline):
        """Wait until no device works any more -> whether that was in time."""
        return wait_until(lambda: self.progress() and not self.calls, deadline)

    def close(self):
        """Wait for what is under way, and drop all programs and arrays. The ranks stay."""
        self.idle(time.monotonic() + config.pmap_timeout)
        self.defined.clear()
        for device in range(self.count):
            self.tell(device, "reset")

    def stop(self, patience=None):
        """End the ranks' service -> whether they follow. patience: seconds that devices have to
        finish what they do; by default pmap_timeout, but few if a call of theirs was given up."""
        if patience is None:
            given_up = any(ticket.error is not None for ticket in self.calls.values())
            patience = 5 if given_up else config.pmap_timeout
        deadline = time.monotonic() + patience
        if not self.idle(deadline):
            return False
        for device in range(self.count):
            self.tell(device, "stop")
        return wait_until(self.link.sent, deadline + 5)


def noted(error, device, program):
    """An exception with a note on where it was raised."""
    error.add_note(f"raised on device cpu:{device} inside pmap of {program.name!r}")
    return error
