"""A device's process of the local engine: it carries out the controller's commands.

The supervisor forks it, or starts it with `python -m tinyjax.parallel.worker`. It ends when the
controller or the supervisor does.
"""

import contextlib
import ctypes
import os
import pickle
import select
import signal
import sys
import threading
import time
import traceback
import warnings

import numpy as np

from tinyjax.config import config
from tinyjax.core import all_eqns, inner_jaxprs
from tinyjax.parallel.arena import Memory
from tinyjax.parallel.barrier import atomics
from tinyjax.parallel.cells import (
    ABORT,
    COUNTED,
    FINISHED,
    MESSAGE,
    PAIR,
    SEEN,
    USED,
    WORD,
    Regions,
    cell,
    pairs,
)
from tinyjax.parallel.exchange import LocalDevice, Parted
from tinyjax.parallel.running import DeviceProgram
from tinyjax.parallel.wire import (
    CALL,
    CALLBACK,
    DEFINE,
    DEFINED,
    DONE,
    FAILED,
    FORGET,
    LONG_CALL,
    LOOKS,
    REPORT,
    STUCK,
    Commands,
    words,
)
from tinyjax.tracebacks import shorten

DIRTY = 1 << 24  # bytes of large slots in use for which it is worth giving pages back
IDLE = 1.0  # seconds without commands after which that is done
JOBS = 4096  # calls with operands and results at the same places that are remembered


class Worker:
    """The process: its view of the memory, its programs.

    device: its number. commands, reports: pipes from and to the controller. cores: of the machine.
    """

    def __init__(self, device, commands, memory, reports, regions, cores):
        self.device, self.reports, self.cores = device, reports, cores
        self.memory = Memory(memory, regions)
        os.close(memory)
        self.commands = Commands(commands)
        self.atomics = atomics()
        self.programs, self.jobs, self.flags = {}, {}, None
        self.turn = np.zeros(2, np.int64)  # which small slot, which large slot is next
        self.ended = self.memory.array(pairs(device) + device * PAIR, (1,), np.int64)
        self.large = 0  # bytes of large slots and messages that hold something
        self.most = 0  # devices that this one may have met

    def serve(self):
        """Carry out commands until the pipe ends."""
        while True:
            if self.large > DIRTY:
                self.tidy_when_idle()
            kind, number, after, payload = self.commands.next()
            try:
                if kind == CALL:
                    self.call(number, after, payload)
                elif kind == LONG_CALL:
                    self.call(number, after, self.stored(payload))
                elif kind == DEFINE:
                    self.define(number, payload)
                elif kind == FORGET:
                    self.programs.pop(number, None)
                    self.jobs.clear()
            except Parted as parted:
                self.report(STUCK, number, parted.args)
            except BaseException as error:
                self.report(FAILED, number, describe(error))

    # ---- programs -------------------------------------------------------------------------------

    def stored(self, payload):
        """Bytes that the controller has put into the shared memory."""
        place, size = words(2).unpack(payload)
        return self.memory.array(place, (size,), np.uint8).tobytes()

    def define(self, number, payload):
        """Make a program ready to run."""
        path, program = pickle.loads(self.stored(payload))
        sys.path[:] = path  # the user may have changed it
        self.most = max(self.most, *[d + 1 for d in program.devices])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.use_flags(program.flags)
            position = program.devices.index(self.device)
            own = DeviceProgram(program, position)
            own.prepare()
        own.device = LocalDevice(program, position, self)
        own.specs = program.ins + program.outs
        own.flags, own.count = program.flags, program.mesh.count
        own.may_part = parts(own.jaxpr)
        own.looks = LOOKS if own.count <= self.cores else 0  # else others need the core
        self.programs[number] = own
        found = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
        self.report(DEFINED, number, found or None)

    def use_flags(self, flags):
        """Set the user's flags."""
        for name, value in flags.items():
            config.update(f"tinyjax_{name}", value)
        self.flags = flags

    def job(self, payload):
        """A program, its device, and what runs it, from the words of a command."""
        number, *places = words(len(payload) // 8).unpack(payload)
        own = self.programs[number]
        arrays = [
            self.memory.array(
                place + part * spec.dtype.itemsize * size(spec), spec.shape, spec.dtype
            )
            for place, spec, part in zip(places, own.specs, own.in_parts + own.out_parts)
        ]
        if len(self.jobs) >= JOBS:
            self.jobs.clear()
        count = len(own.in_parts)
        run = own.job(own.device, arrays[:count], arrays[count:])
        self.jobs[payload] = job = own, own.device, run
        return job

    def call(self, number, after, payload):
        """Run a program. after: a call that must have ended first on all devices, or 0."""
        if after and self.atomics.until(*self.waiting(after)):
            raise Parted("before it, waiting for results of an earlier call", None)
        own, device, run = self.jobs.get(payload) or self.job(payload)
        if own.flags != self.flags:
            self.use_flags(own.flags)
        device.begin(number)
        self.commands.looks = own.looks
        run()
        if own.may_part:
            device.meet_at_end()
        self.ended[0] = number
        counter = self.memory.address + cell(number)
        if self.atomics.add_one(counter + COUNTED) == own.count - 1:
            device.finish()
            self.atomics.set(counter + COUNTED, 0)
            self.atomics.set(counter + FINISHED, number)
            os.write(self.reports, REPORT.pack(DONE, self.device, number, 0))

    def waiting(self, call):
        """Arguments of the wait for a call."""
        start = self.memory.address
        return start + cell(call) + FINISHED, call, start + ABORT, 0

    # ---- the controller -------------------------------------------------------------------------

    def report(self, kind, number, content):
        """Tell the controller something; content is pickled into our region."""
        data = b"" if content is None else pickle.dumps(content, protocol=5)
        place = self.memory.regions.start(self.device) + MESSAGE
        if len(data) > self.memory.regions.slot:
            raise MemoryError(f"a message of {len(data)} bytes to the user does not fit")
        self.memory.array(place, (len(data),), np.uint8)[...] = np.frombuffer(data, np.uint8)
        self.large += len(data)
        os.write(self.reports, REPORT.pack(kind, self.device, number, len(data)))

    def call_back(self, call, number, args):
        """Have the user's function called -> its results. (If it fails, we are ended.)"""
        self.report(CALLBACK, call, (number, [np.asarray(x) for x in args]))
        _, _, _, payload = self.commands.next()
        return pickle.loads(self.stored(payload))

    # ---- large slots ----------------------------------------------------------------------------

    def next_large(self, needed):
        """The number of the large slot whose turn it is."""
        self.turn[1] = 1 - self.turn[1]
        self.large += needed
        return 2 + int(self.turn[1])

    def tidy_when_idle(self):
        """Give pages back if no command comes for a while, and no peer still reads."""
        if not (self.commands.data or select.select([self.commands.fd], [], [], IDLE)[0]):
            if self.unread():
                return
            start = self.memory.regions.start(self.device) + MESSAGE
            self.memory.give_back(start, self.memory.regions.size - MESSAGE)
            self.large = 0

    def unread(self):
        """Whether a peer has not read all that it was shown."""
        width = PAIR // WORD
        own = self.memory.array(pairs(self.device), (self.most, width), np.int64)
        theirs = [
            self.memory.array(pairs(d) + self.device * PAIR, (width,), np.int64)[SEEN]
            for d in range(self.most)
        ]
        return bool((own[:, USED : USED + 4].max(axis=1) > theirs).any())


# ---- what programs and errors are like -----------------------------------------------------------


def size(spec):
    """The number of elements of a part."""
    count = 1
    for length in spec.shape:
        count *= length
    return count


def parts(jaxpr):
    """Whether devices may come to different collectives: there are some in a cond or while."""
    return any(
        inner.primitive.collective and not inner.primitive.high
        for eqn in all_eqns(jaxpr)
        if eqn.primitive.name in ("cond", "while")
        for program in inner_jaxprs(eqn.params)
        for inner in all_eqns(program)
    )


def describe(error):
    """An exception for the controller: (pickled or None, its type, its text, traceback)."""
    try:
        packed = pickle.dumps(error)
        pickle.loads(packed)
    except Exception:
        packed = None
    shorten(error, noted=False)
    text = "".join(traceback.format_exception(error))
    return packed, type(error).__name__, str(error), text


# ---- the process ---------------------------------------------------------------------------------


def end_with(parent):
    """Have this process ended when its parent does."""
    if sys.platform == "linux":
        set_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_signal, signal.SIGKILL)
    else:
        threading.Thread(target=watch, args=(parent,), daemon=True).start()
    if os.getppid() != parent:
        os._exit(0)


def watch(parent):
    """End this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(0)


def main(device, commands, memory, reports, heap, slot, cores, parent):
    """Be a device."""
    end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    np.seterr(all="ignore")
    warnings.simplefilter("ignore")
    with contextlib.suppress(BrokenPipeError):  # the controller is gone
        Worker(device, commands, memory, reports, Regions(heap, slot), cores).serve()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
