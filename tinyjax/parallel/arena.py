"""The memory that the local engine's processes share, and the buffers in its heap.

It has no name in the file system: when the last process that holds it has ended, it is gone.
"""

import contextlib
import ctypes
import mmap
import os
import uuid
import weakref
from collections import deque

import numpy as np

from tinyjax.parallel.cells import PAIR, Regions, pairs
from tinyjax.parallel.engine import Buffer
from tinyjax.parallel.heap import Heap

with contextlib.suppress(ImportError):
    import _posixshmem  # what multiprocessing.shared_memory is made of

# ---- memory without a name -----------------------------------------------------------------------


def nameless_memory(size):
    """A descriptor of new memory of this size, which uses none until it is written to."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("tinyjax")
    else:
        name = f"/tinyjax-{uuid.uuid4().hex[:16]}"
        fd = _posixshmem.shm_open(name, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600)
        _posixshmem.shm_unlink(name)
    os.ftruncate(fd, size)
    return fd


def heap_size():
    """How much the buffers may take: the machine's memory."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20 << 20
    except (ValueError, OSError):
        return 1 << 34


class Memory:
    """The shared memory as one process sees it. fd: its descriptor."""

    def __init__(self, fd, regions):
        self.regions = regions
        self.map = mmap.mmap(fd, self.regions.total)
        self.bytes = np.frombuffer(self.map, np.uint8)
        self.address = self.bytes.__array_interface__["data"][0]

    def array(self, place, shape, dtype, strides=None):
        """An array that lies there."""
        return np.ndarray(shape, dtype, self.map, place, strides)

    def place(self, x):
        """Where a C-contiguous array lies; None if it is not in this memory."""
        place = x.__array_interface__["data"][0] - self.address
        return place if 0 <= place < self.regions.total else None

    def give_back(self, place, size):
        """Let the system have the pages between here and there. What they held is lost."""
        first = -(-place // mmap.PAGESIZE) * mmap.PAGESIZE
        last = (place + size) // mmap.PAGESIZE * mmap.PAGESIZE
        if last > first and hasattr(mmap, "MADV_REMOVE"):
            with contextlib.suppress(OSError):  # not on every system
                self.map.madvise(mmap.MADV_REMOVE, first, last - first)


# ---- the controller's side -----------------------------------------------------------------------


arenas: weakref.WeakSet = weakref.WeakSet()  # all there are


class Arena(Memory):
    """The memory as the controller has it: it decides what lies where in the heap."""

    fd, closer = None, staticmethod(lambda: None)

    def __init__(self, heap=None):
        heap = (heap or heap_size()) >> 20 << 20
        regions = Regions(heap, min(heap, max(heap >> 23 << 20, 1 << 32)))
        while True:
            try:
                self.fd = nameless_memory(regions.total)
                self.closer = weakref.finalize(self, os.close, self.fd)
                super().__init__(self.fd, regions)
                break
            except OSError:  # the system and `ulimit` may set limits: less will do
                self.close()
                heap = heap >> 21 << 20
                regions = Regions(heap, max(heap >> 26 << 20, 1 << 20))
                if heap < 1 << 26:
                    raise MemoryError(
                        "devices need a few gigabytes of addresses (not of memory): the system "
                        "does not give them. Is there a limit, as `ulimit -v` shows?"
                    ) from None
        arenas.add(self)
        self.heap = Heap(self.regions.heap, heap, self.give_back)
        self.watched = {}  # place -> Watch
        self.dropped = deque()  # of buffers that are gone; filled at any time, by any thread

    def buffer(self, spec):
        """A new buffer. Raises MemoryError if the heap is full."""
        if self.dropped:
            self.collect()
        place = self.heap.take(max(spec.nbytes, 1))
        buffer = ArenaBuffer(self, spec, place)
        self.watched[place] = watch = Watch(buffer, self.dropped.append)
        watch.place = place
        return buffer

    def collect(self):
        """Take the memory of dropped buffers back."""
        dropped = self.dropped
        while dropped:
            place = dropped.popleft().place
            del self.watched[place]
            self.heap.give(place)

    def reset_control(self, devices):
        """Forget all meetings of these devices, and all calls."""
        self.bytes[: pairs(0)] = 0
        for device in devices:
            self.bytes[pairs(device) : pairs(device + 1)] = 0

    def ended(self, device):
        """The last call that a device has ended."""
        return int(self.array(pairs(device) + device * PAIR, (), np.int64))

    def close(self):
        """Close the descriptor; what is mapped stays until nobody looks at it."""
        self.closer()
        self.fd = None

    # ---- forks: a child must not see what the parent writes ---------------------------------

    def snapshot(self):
        """The contents of all buffers: [(place, copy)]."""
        self.collect()
        return [
            (place, self.bytes[place : place + size].copy())
            for place, size in self.heap.taken.items()
        ]

    def detach(self, contents):
        """In a forked child: put memory of our own at the same addresses, with these contents."""
        replace_descriptors(self.fd)
        self.close()
        self.heap.give_back = lambda place, size: None
        private_memory(self.address, self.regions.total, PROT_NONE)
        used = -(-self.heap.frontier() // mmap.PAGESIZE) * mmap.PAGESIZE - self.regions.heap
        if used:
            both = mmap.PROT_READ | mmap.PROT_WRITE
            private_memory(self.address + self.regions.heap, used, both)
        for place, content in contents:
            self.bytes[place : place + content.size] = content


PROT_NONE = 0  # what Python's mmap module does not name
MAP_FIXED = 0x10


def private_memory(address, size, protection):
    """Replace what is mapped at an address by new memory of this process alone."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    kinds = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.mmap.argtypes = kinds
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANON | MAP_FIXED
    if library.mmap(address, size, protection, flags, -1, 0) != address:
        raise OSError(ctypes.get_errno(), "tinyjax: a forked process could not keep its arrays")


def replace_descriptors(fd):
    """Have all descriptors of a file lead nowhere. (Python's mmap has one, too, and will close it:
    its number must stay taken.)"""
    file = os.fstat(fd)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(int(name)), file):
                os.dup2(nowhere, int(name), inheritable=False)
    os.close(nowhere)


class Watch(weakref.ref):
    """Tells when a buffer is gone. (Not by `__del__`: Ctrl-C while that runs would get lost.)"""

    __slots__ = ("place",)


class ArenaBuffer(Buffer):
    """A piece of the heap. Arrays that look at it keep it alive.

    ticket: the call that makes the contents, until they are there.
    """

    __slots__ = ("arena", "place", "spec", "ticket")

    def __init__(self, arena, spec, place):
        self.arena, self.spec, self.place, self.ticket = arena, spec, place, None

    @property
    def __array_interface__(self):
        """NumPy's protocol: our bytes, not to be written to."""
        address = self.arena.address + self.place
        return {
            "shape": (self.spec.nbytes,),
            "typestr": "|u1",
            "data": (address, True),
            "version": 3,
        }

    def view(self):
        """The contents, as an array of shape spec.whole that keeps this buffer alive."""
        return np.ndarray(self.spec.whole, self.spec.dtype, np.asarray(self))

    def fill(self, array):
        """Write the contents."""
        self.arena.array(self.place, self.spec.whole, self.spec.dtype)[...] = array
