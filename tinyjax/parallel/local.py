"""The local engine: devices are processes of this machine, and the user's process controls them.

Buffers lie in memory that all of them share (`arena.py`). A call is a few words, written to the
pipe of each device; the last device to end it writes one report. When anything goes wrong, all
devices are ended, so that nobody writes to the memory any more, and the next call starts them.
"""

import atexit
import contextlib
import pickle
import sys
import threading
import time
import warnings
import weakref
from dataclasses import replace

import numpy as np

from tinyjax.compiler import cache
from tinyjax.compiler.threads import planning
from tinyjax.config import current_flags
from tinyjax.parallel import forks
from tinyjax.parallel.arena import Arena
from tinyjax.parallel.cells import ABORT, CALLS_AT_ONCE, MESSAGE, MOST_DEVICES
from tinyjax.parallel.engine import DeviceError, Engine, Spec, Ticket
from tinyjax.parallel.processes import Lost, Processes, standard_files, threads_each
from tinyjax.parallel.running import DeviceProgram
from tinyjax.parallel.wire import (
    CALL,
    CALLBACK,
    DEFINE,
    DEFINED,
    DONE,
    FAILED,
    FORGET,
    HEAD,
    LONG_CALL,
    LONGEST,
    RESULT,
    STUCK,
    command,
    words,
)
from tinyjax.source import warn

STARTING = 60  # seconds that devices have, more than usual, to start and to compile
GRACE = 0.2  # seconds that devices have to say what they wait for, after a call took too long
MISMATCH_GRACE = 2.0  # and when there is one that has the wrong collective


class LocalTicket(Ticket):
    """A call under way; keeps its buffers."""

    __slots__ = ("engine", "error", "inputs", "number", "outputs", "pending", "program")

    def __init__(self, engine, number, program, inputs, outputs):
        self.engine, self.number, self.program = engine, number, program
        self.inputs, self.outputs = inputs, outputs
        self.pending, self.error = True, None

    def wait(self):
        if self.pending:
            self.engine.wait_for(self)
        if self.error is not None:
            raise self.error

    def done(self):
        if self.pending:
            self.engine.look()
        return not self.pending

    def finish(self, error=None):
        """The call has ended."""
        self.pending, self.error = False, error
        if error is None:
            for buffer in self.outputs:
                buffer.ticket = None
        self.inputs = self.outputs = None


class LocalEngine(Engine):
    """Devices as processes. heap: bytes for buffers (the size of the machine's memory)."""

    def __init__(self, heap=None):
        self.heap, self.lock = heap, threading.RLock()
        self.arena = self.processes = None
        self.number = 0  # of the last call
        self.flying = {}  # number -> ticket of calls under way, oldest first
        self.defined = set()  # numbers of programs that their devices know
        self.watched = set()  # numbers of programs that have been defined since they were made
        self.forgotten = []  # and of those that nobody refers to any more
        self.answers = set()  # devices that have defined the program being defined
        self.trouble = None  # why the last definition failed
        self.calling_back = False
        self.halfway = False  # ending the devices was interrupted in its turn

    # ---- memory ---------------------------------------------------------------------------------

    def memory(self):
        """The arena, made when it is first needed."""
        if _exit.begun:
            raise RuntimeError("pmap cannot run any more: Python is exiting, devices have ended")
        if self.arena is None:
            standard_files()
            self.arena = Arena(self.heap)
            self.processes = Processes(self.arena)
            weakref.finalize(self, self.processes.close).atexit = False
            _exit.engines.add(self)
            forks.prepare(self)
        return self.arena

    def put(self, array, parts):
        with self.lock:
            buffer = self.memory().buffer(Spec(array.shape[1:], array.dtype, parts))
        buffer.fill(array)
        return buffer

    def alloc(self, spec):
        with self.lock:
            return self.memory().buffer(spec)

    def get(self, buffer):
        return buffer.view()

    # ---- calls ----------------------------------------------------------------------------------

    def call(self, program, inputs, outputs):
        with self.lock:
            if self.calling_back:
                raise RuntimeError(
                    f"pmap of {program.name!r} was called by a callback of a pmapped function, for "
                    "which the devices wait: compute with jit there, or call pmap outside"
                )
            if program.number not in self.defined and max(program.devices) >= MOST_DEVICES:
                raise ValueError(f"the local engine has at most {MOST_DEVICES} devices")
            for buffer in inputs:
                if buffer.ticket is not None and buffer.ticket.error is not None:
                    raise buffer.ticket.error
            try:
                if self.halfway:
                    self.give_up("it was interrupted")
                return self.send(program, inputs, outputs)
            except Lost as lost:
                raise self.give_up_lost(lost) from None
            except BaseException as error:
                self.give_up(f"{type(error).__name__} in the meantime")
                raise

    def send(self, program, inputs, outputs):
        """Send a call to all devices of a program."""
        arena = self.memory()
        while len(self.flying) >= CALLS_AT_ONCE or (program.callbacks and self.flying):
            self.hear()  # a callback may fail: let others end before
        if self.forgotten and not self.flying:
            self.forget()
        if program.number not in self.defined:
            self.define(program)
        after, places = 0, [program.number]
        for k, buffer in enumerate(inputs):
            if buffer.arena is not arena:
                inputs = [*inputs[:k], self.put(buffer.view(), buffer.spec.parts), *inputs[k + 1 :]]
                buffer = inputs[k]
            ticket = buffer.ticket
            if ticket is not None:
                if ticket.error is not None:
                    raise ticket.error
                if unfinished(ticket, buffer, program):
                    after = max(after, ticket.number)
            places.append(buffer.place)
        for buffer in outputs:
            places.append(buffer.place)
        self.number = number = self.number + 1
        ticket = LocalTicket(self, number, program, inputs, outputs)
        for buffer in outputs:
            buffer.ticket = ticket
        kind, payload = CALL, words(len(places)).pack(*places)
        if HEAD.size + len(payload) > LONGEST:
            inputs = ticket.inputs = [*inputs, self.store(payload)]
            kind, payload = LONG_CALL, self.stored(inputs[-1])
        data = command(kind, number, after, payload)
        self.flying[number] = ticket
        send = self.processes.send
        for device in program.devices:
            send(device, data)
        if program.callbacks:
            while ticket.pending:
                self.hear()
        return ticket

    def store(self, data):
        """A buffer that holds bytes."""
        return self.put(np.frombuffer(data, np.uint8)[None], ((0,),))

    def stored(self, buffer):
        """The words that tell a device where these bytes lie."""
        return words(2).pack(buffer.place, buffer.spec.shape[0])

    # ---- programs -------------------------------------------------------------------------------

    def define(self, program):
        """Start a program's devices, and make them ready to run it."""
        while self.flying:  # so that they are not lost if this fails
            self.hear()
        for device in program.devices:
            if device not in self.processes.pipes:
                self.processes.start(device)
        buffer = self.store(pickle.dumps((sys.path, replace(program, callbacks=())), protocol=5))
        data = command(DEFINE, program.number, 0, self.stored(buffer))
        compile_here(program)  # while the devices start
        self.answers.clear()
        for device in program.devices:
            self.processes.send(device, data)
        while not self.answers.issuperset(program.devices):
            self.hear(defining=program)
            if self.trouble is not None:
                trouble, self.trouble = self.trouble, None
                raise trouble
        self.defined.add(program.number)
        if program.number not in self.watched:
            self.watched.add(program.number)
            weakref.finalize(program, self.forgotten.append, program.number).atexit = False

    def forget(self):
        """Have the devices forget programs that nobody refers to any more."""
        for _ in range(min(len(self.forgotten), 500)):  # they must fit into a pipe
            number = self.forgotten.pop()
            self.watched.discard(number)
            if number in self.defined:
                self.defined.discard(number)
                for device in self.processes.pipes:
                    self.processes.send(device, command(FORGET, number, 0, b""))

    # ---- listening ------------------------------------------------------------------------------

    def wait_for(self, ticket):
        """Listen until a call has ended."""
        with self.lock:
            self.listen(lambda: not ticket.pending)

    def look(self):
        """Hear what has been reported already."""
        with self.lock:
            self.listen(lambda: True, timeout=0)

    def finish_calls(self, seconds):
        """Wait for all calls under way, but only so long."""
        end = time.monotonic() + seconds
        while self.flying and time.monotonic() < end:
            self.listen(lambda: True, max(0, end - time.monotonic()))

    def listen(self, enough, timeout=None):
        """Hear reports until it is enough; at least once, if calls are under way."""
        try:
            if self.halfway:
                self.give_up("it was interrupted")
            while self.flying:
                self.hear(timeout)
                if enough():
                    break
        except Lost as lost:
            self.give_up_lost(lost)
        except BaseException as error:
            self.give_up(f"{type(error).__name__} in the meantime")
            raise

    def hear(self, timeout=None, defining=None):
        """Wait for reports and act on them. defining: the program that devices are defining."""
        limit = current_flags().pmap_timeout if timeout is None else timeout
        if defining is not None:
            limit += STARTING
        reports = self.processes.listen(limit)
        for kind, _, number, _ in reports:
            if kind == DONE:
                self.flying.pop(number).finish()
        for kind, device, number, size in reports:
            if kind == DONE:
                continue
            if number not in self.flying and defining is None:
                return  # all has been given up
            if kind == DEFINED:
                self.answers.add(device)
                for text in self.message(device, size) if device == defining.devices[0] else ():
                    warn(text, RuntimeWarning)
            elif kind == CALLBACK:
                self.call_back(device, number, size)
            elif kind == FAILED:
                self.failed(device, number, size, defining)
                return
            else:
                self.stuck(number, {d: self.message(d, n) for k, d, _, n in reports if k == STUCK})
                return
        if not reports and timeout is None:
            self.late(limit, defining)

    def message(self, device, size):
        """What a device has put into its region."""
        if not size:
            return ()
        place = self.arena.regions.start(device) + MESSAGE
        return pickle.loads(self.arena.array(place, (size,), np.uint8))

    def call_back(self, device, number, size):
        """Run one of the user's functions for a device."""
        ticket = self.flying[number]
        program = ticket.program
        which, args = self.message(device, size)
        self.calling_back = True
        try:
            results = program.callbacks[which](*args)
        except Exception as error:
            error.add_note(raised_on(device, program))
            self.give_up("a callback raised an exception", {number: error})
            return
        finally:
            self.calling_back = False
        buffer = self.store(pickle.dumps(list(results), protocol=5))
        ticket.inputs = [*ticket.inputs, buffer]
        self.processes.send(device, command(RESULT, number, 0, self.stored(buffer)))

    # ---- trouble --------------------------------------------------------------------------------

    def give_up(self, why, errors=None):
        """End all devices, and with them all calls. errors: of some calls, by number."""
        self.halfway = True  # unless we come to the end of this
        if self.processes is not None:
            self.processes.kill()
            self.arena.reset_control(self.processes.started)
        self.defined.clear()
        while self.flying:
            number, ticket = self.flying.popitem()
            error = (errors or {}).get(number)
            if error is None:
                error = DeviceError(f"pmap of {ticket.program.name!r} was not finished: {why}")
            ticket.finish(error)
        self.halfway = False

    def give_up_lost(self, lost):
        """The same, when devices were lost -> the error that says so."""
        device, why = lost.args
        devices = sorted(self.processes.pipes) if device is None else [device]
        error = DeviceError(
            f"{names(devices)} {'were' if len(devices) > 1 else 'was'} lost: {why}. "
            f"The next call starts {'them' if len(devices) > 1 else 'it'} again."
        )
        self.give_up(str(error), dict.fromkeys(self.flying, error))
        return error

    def failed(self, device, number, size, defining):
        """A program raised on a device, or could not be defined."""
        packed, kind, text, trace = self.message(device, size)
        program = defining or self.flying[number].program
        error = pickle.loads(packed) if packed else DeviceError(f"{kind}: {text}")
        error.add_note(raised_on(device, program))
        error.add_note(trace.rstrip())
        if defining is not None:
            self.trouble = error
        self.give_up(f"an earlier call failed: {text}", {number: error})

    def stuck(self, number, waiting):
        """Some devices wait in a collective to which others do not come."""
        self.abort(number, waiting, MISMATCH_GRACE)
        program = self.flying[number].program
        error = DeviceError(
            f"the devices of pmap of {program.name!r} do not run the same collectives: "
            f"{whereabouts(waiting)}. A collective inside of cond or while_loop needs a condition "
            "that is the same on all devices."
        )
        self.give_up(str(error), {number: error})

    def abort(self, number, waiting, seconds):
        """Have devices that wait in a collective say so: {device: (what, peer)} gets larger."""
        self.arena.bytes[ABORT] = 1
        with contextlib.suppress(Lost):
            while len(waiting) < len(self.flying[number].program.devices):
                reports = self.processes.listen(seconds)
                if not reports:
                    break
                for kind, device, ended, size in reports:
                    if kind == DONE:
                        self.flying.pop(ended).finish()
                    elif kind not in (CALLBACK, FAILED):
                        waiting.setdefault(device, self.message(device, size))

    def late(self, limit, defining):
        """Nothing was heard for too long."""
        if defining is not None:
            silent, program = set(defining.devices) - self.answers, defining
            waiting = {}
        else:
            number = next(iter(self.flying))
            program, waiting = self.flying[number].program, {}
            self.abort(number, waiting, GRACE)
            silent = {d for d in program.devices if self.arena.ended(d) < number} - set(waiting)
        texts = [f"{names(sorted(silent))} did not answer for {limit} s"] if silent else []
        texts += [whereabouts(waiting)] if waiting else []
        error = DeviceError(
            f"pmap of {program.name!r} was given up: {'; '.join(texts)}. The next call starts the "
            "devices again. (The limit is the flag pmap_timeout.)"
        )
        if defining is not None:
            self.trouble = error
        self.give_up(str(error), dict.fromkeys(self.flying, error))

    # ---- the end --------------------------------------------------------------------------------

    def close(self):
        with self.lock:
            self.give_up("the engine was closed")
            if self.processes is not None:
                self.processes.close()


def compile_here(program):
    """Bring a program's kernels into the cache on disk, where devices find them: Numba, which takes
    long to load, is then needed in this process only."""
    if cache.folder() is None:
        return
    with planning(threads_each(current_flags().num_devices)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception):  # then it fails on the devices, too, and they tell
            DeviceProgram(program, 0).prepare()


def unfinished(ticket, buffer, program):
    """Whether devices that are to read a buffer must wait for the call that makes it. One that
    reads what it has written itself need not."""
    shared = len(buffer.spec.parts) < len(ticket.program.devices)
    return shared or ticket.program.devices != program.devices


def name(device):
    """A device's name."""
    return f"cpu:{device}"


def names(devices):
    """Several devices, as the subject of a sentence."""
    return f"device{'s' if len(devices) > 1 else ''} {', '.join(map(name, devices))}"


def whereabouts(waiting):
    """What devices are doing: {device: (what, ...)} in words."""
    found = {}
    for device, (text, *_) in sorted(waiting.items()):
        found.setdefault(text, []).append(device)
    return "; ".join(f"{names(devices)} {text}" for text, devices in found.items())


def raised_on(device, program):
    """The note that says where an exception comes from."""
    return f"raised on device {name(device)} inside pmap of {program.name!r}"


# ---- the end of the program ----------------------------------------------------------------------


class Exit:
    """What happens when Python exits: devices are ended.

    Registered when tinyjax is imported, so it comes after the handlers that users register later:
    those may still look at arrays, and call pmap.
    """

    def __init__(self):
        self.begun, self.engines = False, weakref.WeakSet()
        atexit.register(self.end)

    def end(self):
        """End all devices."""
        self.begun = True
        for engine in list(self.engines):
            engine.close()


_exit = Exit()
