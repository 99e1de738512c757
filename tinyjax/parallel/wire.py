"""What the controller and the devices of the local engine say to one another over pipes.

All messages are short, so that writing one never blocks and never mixes with another; what is long
lies in the shared memory.
"""

import os
import select
from functools import cache
from struct import Struct

# ---- controller to device: a head, then words ----------------------------------------------------

HEAD = Struct("<4q")  # bytes of the whole command, kind, number, call to wait for before it
CALL, LONG_CALL, DEFINE, FORGET, RESULT = range(5)
LONGEST = 1024  # bytes of a command

# CALL: number is the call's; words: the program, then places of the operands and results.
# LONG_CALL: the same; words: where the words of the CALL lie, and how many bytes.
# DEFINE: number is the program's; words: where it lies, pickled, and how many bytes.
# FORGET: number is the program's. RESULT: of a callback; words as for DEFINE.


@cache
def words(count):
    """So many 64-bit numbers."""
    return Struct(f"<{count}q")


def command(kind, number, after, payload):
    """A command as bytes."""
    return HEAD.pack(HEAD.size + len(payload), kind, number, after) + payload


LOOKS = 50  # some 50 us: to wake a core that has gone to sleep takes up to 30


class Commands:
    """The device's end of its pipe. looks: how often to look for a command before sleeping."""

    def __init__(self, fd):
        self.fd, self.data, self.looks = fd, b"", 0
        self.poll = select.poll()
        self.poll.register(fd, select.POLLIN)

    def next(self):
        """(kind, number, after, payload) of the next command; ends the process with the pipe."""
        data = self.data or self.read()
        while len(data) < HEAD.size or len(data) < HEAD.unpack_from(data)[0]:
            data += self.read()
        size, kind, number, after = HEAD.unpack_from(data)
        self.data = data[size:]
        return kind, number, after, data[HEAD.size : size]

    def read(self):
        """Wait for bytes."""
        for _ in range(self.looks):
            if self.poll.poll(0):
                break
            os.sched_yield()  # others may run
        data = os.read(self.fd, 1 << 16)
        if not data:
            os._exit(0)
        return data


# ---- device to controller ------------------------------------------------------------------------

REPORT = Struct("<iiqq")  # kind, device, number, bytes of what lies in the device's region
DONE, DEFINED, FAILED, STUCK, CALLBACK = range(5)

# DONE: a call has ended on all of its devices. DEFINED: a program is ready; warnings. FAILED: a
# program or its definition raised; the exception. STUCK: a collective cannot end; (what it is,
# the peer that does not match). CALLBACK: please run; (number, operands).

# ---- controller and supervisor -------------------------------------------------------------------

ORDER = Struct("<iiq")  # kind, device, a number
START, KILL = range(2)  # a device, with the reading end of its pipe; all of them, with a number
STARTED, EXITED, REFUSED, KILLED = range(4)  # with pid; wait status; errno; the number of KILL
