"""What the ranks after the first do in an MPI job: they are devices, and serve the controller.

A device carries out commands in the order in which they come. It may wait for its peers in an
exchange, or for the controller in a callback; a CANCEL of the controller ends such a wait.
"""

import collections
import contextlib
import pickle
import time
import traceback

import numpy as np

from tinyjax.config import FlagScope
from tinyjax.parallel.mpi_exchange import MPIDevice
from tinyjax.parallel.mpi_link import (
    CANCEL,
    COMMAND,
    EXCHANGE,
    HELLO,
    REPLY,
    REPORT,
    Link,
    answer_tag,
    wait_until,
)
from tinyjax.parallel.running import DeviceProgram
from tinyjax.tracebacks import shorten

CONTROLLER = 0
PATIENCE = 1.0  # seconds in an exchange after which the controller is told who is waited for


class Cancelled(BaseException):
    """The controller has given the call up. No error of this device."""


class CallbackFailed(Cancelled):
    """The user's function raised: the controller has the exception."""


class Worker:
    """A device's memory, programs, and communicators with its peers."""

    def __init__(self, comm):
        self.link, self.own = Link(comm), comm.rank - 1
        self.arrays, self.programs, self.groups = {}, {}, {}
        self.waiting = collections.deque()  # commands that have come
        self.call = 0  # the number of the call that is running
        self.epoch = 0  # how many times the controller has given up what was under way,
        self.over = 0  # and the same after the running call, which an earlier one may outlive
        self.questions = 0
        self.abandoned = []  # requests of exchanges that will not end

    def serve(self):
        """Carry out commands until there is one to stop."""
        while True:
            kind, *rest = self.next_command()
            if kind == "stop":
                break
            getattr(self, kind)(*rest)
        wait_until(self.link.sent)

    def next_command(self):
        """Wait for a command."""
        wait_until(self.look, watch=self.link.sent)
        return self.waiting.popleft()

    def look(self):
        """Take commands that have come -> whether there are any."""
        while (message := self.link.receive(COMMAND, CONTROLLER)) is not None:
            self.waiting.append(message[1])
        return bool(self.waiting)

    def answer_early(self):
        """Send arrays that the controller asks for while a program waits: a callback may need them
        to come to its end."""
        if self.look():
            asked = [c for c in self.waiting if c[0] == "get" and c[1] in self.arrays]
            for command in asked:
                self.waiting.remove(command)
                self.get(command[1])

    # ---- commands --------------------------------------------------------------------------------

    def define(self, program):
        """Keep a program; it is compiled when it is first called, where errors can be reported."""
        self.programs[program.number] = program

    def forget(self, number):
        """Drop a program."""
        self.programs.pop(number, None)

    def put(self, key, shape, dtype):
        """Receive an array."""
        array = self.arrays[key] = np.empty(shape, dtype)
        request = self.link.receive_array(array, CONTROLLER)
        if request is not None:
            wait_until(request.Test)

    def get(self, key):
        """Send an array."""
        array = np.asarray(self.arrays[key], order="C")
        self.link.send_array(array, CONTROLLER, answer_tag(key))
        wait_until(self.link.sent)

    def free(self, keys):
        """Drop arrays."""
        for key in keys:
            self.arrays.pop(key, None)

    def reset(self):
        """Drop everything."""
        self.arrays.clear()
        self.programs.clear()

    def run(self, call, epoch, number, ins, outs):
        """Run a program, and report how it went."""
        self.call = call
        try:
            self.enter(epoch)
            program, compiled, device = self.ready_program(number)
            results = [np.empty(spec.shape, spec.dtype) for spec in program.outs]
            with flags(program), np.errstate(all="ignore"):
                compiled.run(device, [self.arrays[k] for k in ins], results, shared=False)
            self.arrays.update(zip(outs, results))
            report = ("done", call)
        except Cancelled:
            report = ("cancelled", call)
        except BaseException as error:
            report = ("failed", call, packed_error(error))
        self.link.send(report, CONTROLLER, REPORT)
        self.link.sent()

    def ready_program(self, number):
        """(program, compiled, device that it runs on) of a program that was defined."""
        found = self.programs[number]
        if not isinstance(found, tuple):
            position = found.devices.index(self.own)
            with flags(found):
                compiled = DeviceProgram(found, position)
            device = MPIDevice(self, found.mesh, position, found.devices)
            found = self.programs[number] = found, compiled, device
        return found

    # ---- giving up -------------------------------------------------------------------------------

    def enter(self, epoch):
        """Begin a call of this epoch; Cancelled if that epoch is over."""
        self.hear_cancels()
        self.over = max(self.over, epoch)
        if self.over > self.epoch:  # exchanges may hang unfinished in the old communicators
            self.epoch = self.over
            self.groups.clear()
        if epoch < self.epoch:
            raise Cancelled

    def hear_cancels(self):
        """Take note of what the controller has given up -> whether the running call is part."""
        ours = False
        while (message := self.link.receive(CANCEL, CONTROLLER)) is not None:
            epoch, first = message[1]
            self.over = max(self.over, epoch)
            ours = ours or (epoch > self.epoch and self.call >= first)
        return ours

    def check(self):
        """Raise Cancelled if the running call has been given up."""
        self.link.sent()
        if self.hear_cancels():
            raise Cancelled
        self.answer_early()

    # ---- peers -----------------------------------------------------------------------------------

    def wait_for_peers(self, ready, devices):
        """Wait until ready(), which needs these devices; tell the controller when it takes long."""
        told, due = False, time.monotonic() + PATIENCE

        def watch():
            nonlocal told, due
            self.check()
            if time.monotonic() > due:
                self.link.send(("stuck", self.call, devices), CONTROLLER, REPORT)
                told, due = True, time.monotonic() + PATIENCE

        wait_until(ready, watch=watch, eager=EXCHANGE)
        if told:
            self.link.send(("moved", self.call), CONTROLLER, REPORT)

    def group(self, devices):
        """The communicator of these devices, in this order; all of them ask for it."""
        if devices not in self.groups:
            self.meet(devices)
            group = self.link.comm.group.Incl([device + 1 for device in devices])
            self.groups[devices] = self.link.comm.Create_group(group, tag=HELLO)
        return self.groups[devices]

    def meet(self, devices):
        """Making a communicator blocks until all members do, so first see that they are there."""
        greeting = (self.epoch, devices)
        missing = set(devices) - {self.own}
        for device in missing:
            self.link.send(greeting, device + 1, HELLO)

        def ready():
            for device in list(missing):
                message = self.link.receive(HELLO, device + 1)
                if message is None or message[1][0] != self.epoch:
                    continue  # nothing, or from a call that was given up
                if message[1] != greeting:
                    raise RuntimeError(
                        f"Devices are in collectives of different members: cpu:{self.own} is with "
                        f"{list(devices)}, cpu:{device} with {list(message[1][1])}."
                    )
                missing.discard(device)
            return not missing

        self.wait_for_peers(ready, devices)

    # ---- callbacks -------------------------------------------------------------------------------

    def call_back(self, number, args):
        """Have the controller run the user's function -> its results."""
        self.questions += 1
        arrays = [np.asarray(x) for x in args]
        self.link.send(("question", self.call, self.questions, number, arrays), CONTROLLER, REPORT)
        answer = None

        def ready():
            nonlocal answer
            message = self.link.receive(REPLY, CONTROLLER)
            if message is not None and message[1][0] == self.questions:  # else to an older one
                answer = message[1][1]
                return True
            return False

        wait_until(ready, watch=self.check)
        if answer is None:
            raise CallbackFailed
        return answer


# ---- odds ----------------------------------------------------------------------------------------


def flags(program):
    """A block in which the flags have the values that they had where the program was made."""
    stack = contextlib.ExitStack()
    for name, value in program.flags.items():
        stack.enter_context(FlagScope(name, value))
    return stack


def packed_error(error):
    """An exception as bytes, if it can be pickled; else a RuntimeError of the same text."""
    shorten(error, noted=False)
    where = "".join(traceback.format_exception(error))
    try:
        error.add_note(where)
        code = pickle.dumps(error)
        pickle.loads(code)
    except Exception:
        plain = RuntimeError(f"{type(error).__name__}: {error}")
        plain.add_note(where)
        code = pickle.dumps(plain)
    return code
