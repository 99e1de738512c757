"""The exchanges of collectives over MPI.

All of them begin with an Allgather of one slot per member: a line of text that says which
collective this is, and as much data as fits. So members that are in different collectives find out,
and a small exchange needs nothing else. What is larger follows by the MPI call of its kind.

Sums are formed in the order of the members, so all members get the same bits at any time.
"""

import math
import zlib
from functools import lru_cache

import numpy as np

from tinyjax.parallel.device import UFUNCS, Device
from tinyjax.parallel.mpi_link import as_bytes, message_of

TITLE = 128  # bytes of a slot that say what this is
SLOTS = 1 << 16  # bytes of all members' slots for data, if that is a useful share for each

NOTHING = np.empty(0, np.uint8)
NAMES = {"add": "psum", "max": "pmax", "min": "pmin"}


@lru_cache(1000)
def title(name, shape, dtype, extra=()):
    """What an exchange is called, as the first bytes of its slot."""
    text = f"{name} of {dtype}[{','.join(map(str, shape))}]"
    if extra or len(text) > TITLE - 12:
        text = f"{text[: TITLE - 12]} #{zlib.crc32(repr((text, extra)).encode()):08x}"
    return np.frombuffer(text.encode().ljust(TITLE), np.uint8)


def room(count):
    """Bytes of a slot for data."""
    return min(max(SLOTS // count, 256), 4096)


def fold(op, rows):
    """rows[0] op rows[1] op ..., from left to right, in the memory of rows[0]."""
    total = rows[:1]
    for k in range(1, len(rows)):
        UFUNCS[op](total, rows[k : k + 1], out=total)
    return total.reshape(rows.shape[1:])


class MPIDevice(Device):
    """A device whose peers are other ranks.

    worker: this rank's `Worker`, which knows how to wait. devices: the device at each position.
    """

    def __init__(self, worker, mesh, position, devices):
        super().__init__(mesh, position)
        self.worker, self.devices = worker, devices
        self.scratch = {}  # what for -> memory

    def call_back(self, number, args):
        return self.worker.call_back(number, args)

    # ---- the slots -------------------------------------------------------------------------------

    def group(self, members):
        """(communicator, own rank in it) of these members."""
        return self.worker.group(tuple(self.devices[m] for m in members))

    def open(self, name, x, members, extra=()):
        """Begin an exchange -> (communicator, every member's x stacked if x is small, or None).

        Raises RuntimeError when the members are in different collectives.
        """
        comm, count = self.group(members), len(members)
        size = TITLE + room(count)
        own, slots = np.zeros(size, np.uint8), np.empty((count, size), np.uint8)
        own[:TITLE] = title(name, x.shape, x.dtype, extra)
        small = x.nbytes <= size - TITLE
        if small:
            own[TITLE : TITLE + x.nbytes] = as_bytes(x)
        self.finish(members, comm.Iallgather(message_of(own), message_of(slots)))
        titles = slots[:, :TITLE]
        if (titles != titles[0]).any():
            raise RuntimeError(self.mismatch(titles, members))
        if not small:
            return comm, None
        rows = np.ascontiguousarray(slots[:, TITLE : TITLE + x.nbytes])
        return comm, rows.view(x.dtype).reshape(count, *x.shape) if x.nbytes else empty(x, count)

    def mismatch(self, titles, members):
        """The text of an error."""
        doing = [
            f"cpu:{self.devices[m]} in {text.tobytes().decode(errors='replace').strip()}"
            for m, text in zip(members, titles)
        ]
        return f"Devices are in different collectives: {', '.join(doing)}."

    def finish(self, members, *requests):
        """Wait for MPI's requests."""
        try:
            self.worker.wait_for_peers(
                lambda: all(request.Test() for request in requests),
                [self.devices[m] for m in members],
            )
        except BaseException:
            # MPI cannot take them back, and may yet use their memory.
            self.worker.abandoned.append(requests)
            self.scratch.clear()
            raise

    # ---- the exchanges ---------------------------------------------------------------------------

    def allreduce(self, op, x, members, out=None):
        if len(members) == 1:
            return deliver(np.array(x), out)
        x = np.asarray(x, order="C")
        comm, rows = self.open(NAMES[op], x, members)
        if rows is not None:
            return deliver(fold(op, rows), out)
        # Every member forms one slice of the result, and all gather the slices.
        count = len(members)
        length = -(-x.size // count)
        even = length * count == x.size
        slices = x if even else self.padded(x, length * count)
        received = self.memory("received", (count, length), x.dtype)
        own = fold(op, self.swap(comm, slices, members, received))
        whole = out if even and out is not None and out.flags.c_contiguous else None
        if whole is None:
            whole = np.empty(length * count, x.dtype)
        self.finish(members, comm.Iallgather(message_of(own), message_of(whole)))
        return whole if whole is out else deliver(whole[: x.size].reshape(x.shape), out)

    def padded(self, x, size):
        """The elements of x, and as many more as it takes."""
        out = self.memory("padded", (size,), x.dtype)
        out[: x.size] = x.reshape(-1)
        out[x.size :] = 0
        return out

    def memory(self, purpose, shape, dtype):
        """An array to work in; the next one for this purpose has the same memory."""
        size = math.prod(shape) * dtype.itemsize
        if self.scratch.get(purpose, NOTHING).size < size:
            self.scratch[purpose] = np.empty(size, np.uint8)
        return self.scratch[purpose][:size].view(dtype).reshape(shape)

    def all_gather(self, x, members):
        x = np.asarray(x, order="C")
        comm, rows = self.open("all_gather", x, members)
        if rows is None:
            rows = np.empty((len(members), *x.shape), x.dtype)
            self.finish(members, comm.Iallgather(message_of(x), message_of(rows)))
        return rows

    def reduce_scatter(self, x, members):
        x = np.asarray(x, order="C")
        comm, rows = self.open("psum_scatter", x, members)
        if rows is None:
            return fold("add", self.swap(comm, x, members))
        return fold("add", rows[:, members.index(self.position)])

    def all_to_all(self, x, members):
        x = np.asarray(x, order="C")
        comm, rows = self.open("all_to_all", x, members)
        if rows is None:
            return self.swap(comm, x, members)
        return np.array(rows[:, members.index(self.position)])

    def swap(self, comm, x, members, out=None):
        """x[k] goes to the k-th member -> what came from each of them."""
        out = np.empty_like(x) if out is None else out
        self.finish(members, comm.Ialltoall(message_of(x), message_of(out)))
        return out

    def permute(self, x, members, sources):
        x = np.asarray(x, order="C")
        comm, rows = self.open("ppermute", x, members, tuple(sources))
        own = members.index(self.position)
        source = sources[own]
        if rows is not None:
            return np.zeros_like(x) if source is None else np.array(rows[source])
        out = np.zeros_like(x)
        requests = [comm.Isend(message_of(x), k) for k, s in enumerate(sources) if s == own]
        if source is not None:
            requests.append(comm.Irecv(message_of(out), source))
        self.finish(members, *requests)
        return out


def empty(x, count):
    """count arrays like x, which has no bytes."""
    return np.empty((count, *x.shape), x.dtype)


def deliver(result, out):
    """The result of an exchange, in the array where it is wanted."""
    if out is None:
        return result
    out[...] = result
    return out
