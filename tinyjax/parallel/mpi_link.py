"""Messages between the controller (rank 0) and the devices (ranks 1, 2, ...) of an MPI job.

Sending never blocks: MPI's request and the bytes are kept until they have left. Waiting never
blocks inside MPI, which would keep a core busy; it looks again and again, less and less often.
"""

import os
import time
from functools import cache

import numpy as np


@cache
def mpi():
    """mpi4py's MPI, which starts MPI when it is first imported."""
    from mpi4py import MPI

    return MPI


# ---- waiting -------------------------------------------------------------------------------------

EAGER = 5e-4  # seconds of looking without a pause, since most answers come at once
EXCHANGE = 5e-3  # the same among peers, who need each other to get on
LONGEST = 1e-3  # seconds between two looks after a while

give_way = getattr(os, "sched_yield", None) or (lambda: time.sleep(0))


def wait_until(ready, deadline=None, watch=None, eager=EAGER):
    """Look until ready() is true -> True, or until the deadline (of time.monotonic) -> False.

    watch: called at every look once this takes longer; what it raises ends the wait.
    """
    if ready():
        return True
    start, pause = time.monotonic(), 2e-5
    while True:
        give_way()
        if ready():
            return True
        now = time.monotonic()
        if deadline is not None and now > deadline:
            return False
        if now - start > eager:
            if watch is not None:
                watch()
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST)


# ---- arrays as bytes -----------------------------------------------------------------------------


def as_bytes(array):
    """The memory of a contiguous array as bytes, whatever its dtype; a view."""
    if array.nbytes == 0:
        return np.empty(0, np.uint8)
    return array.reshape(-1).view(np.uint8)


def message_of(array):
    """A contiguous array as MPI's send and receive calls want it."""
    return [as_bytes(array), mpi().BYTE]


# ---- the link ------------------------------------------------------------------------------------

COMMAND, CANCEL, REPORT, REPLY, ARRAY, HELLO = range(6)  # tags: what kind of message this is


def answer_tag(key):
    """The tag of an array that was asked for: devices need not answer in the order of questions."""
    return 100 + key % 30_000  # MPI promises tags up to 32,767


class Link:
    """One rank's connection to the others."""

    def __init__(self, comm):
        self.comm = comm
        self.sending = []  # (request, what must stay alive until it is done)

    def send(self, thing, rank, tag):
        """Send any object that can be pickled."""
        self.sending.append((self.comm.isend(thing, rank, tag), None))

    def send_array(self, array, rank, tag=ARRAY):
        """Send the contents of a contiguous array, which must not change from now on."""
        if array.nbytes:
            self.sending.append((self.comm.Isend(message_of(array), rank, tag), array))

    def receive(self, tag, rank=None):
        """(rank, object) if a message has come; None if not."""
        status = mpi().Status()
        source = mpi().ANY_SOURCE if rank is None else rank
        message = self.comm.improbe(source, tag, status)
        return None if message is None else (status.source, message.recv())

    def receive_array(self, array, rank, tag=ARRAY):
        """MPI's request for the contents of a contiguous array; None if there are none."""
        return self.comm.Irecv(message_of(array), rank, tag) if array.nbytes else None

    def sent(self):
        """Whether everything has left. Looking also helps it to leave."""
        if self.sending:
            self.sending = [pair for pair in self.sending if not pair[0].Test()]
        return not self.sending
