"""Memory for results: aligned, and used again when nobody holds it any more.

A fresh large array costs a page fault every 4 kB, which can take longer than computing it. So large
blocks of memory are kept, by size, and whoever needs one takes one that nobody else knows of: the
references to it tell. Within a program, an array that is deleted makes room for the next one.
"""

import functools
import math
import sys
import threading
from collections import deque

import numpy as np

ALIGNMENT = 64
LARGE = 1 << 16  # bytes; smaller arrays are cheap to make
MOST = 1 << 28  # bytes that are kept; beyond that, all are forgotten
EACH = 32  # blocks of one size that are kept

# ---- blocks of memory ---------------------------------------------------------------------------


def new_block(size):
    """A block of bytes, and where in it an aligned address is."""
    owner = np.empty(size + ALIGNMENT, np.uint8)
    return owner, -owner.ctypes.data % ALIGNMENT


def holders(block):
    """How many references there are to a block: every array in it holds one."""
    return sys.getrefcount(block[0])


NOBODY = holders(new_block(1))  # what holders says of a block that nobody else knows of


class Pool:
    """Blocks by size. A block is taken out of its queue while it is looked at, so that two threads
    never see the same one as free; whoever finds it afterwards sees that it is held."""

    def __init__(self):
        self.queues, self.kept, self.lock = {}, 0, threading.Lock()

    def array(self, shape, dtype, size):
        """An array whose content is undefined."""
        queue = self.queues.get(size)
        if queue is None:
            queue = self.queues.setdefault(size, deque())
        for _ in range(min(len(queue), 8)):
            try:
                block = queue.popleft()
            except IndexError:  # another thread was faster
                break
            if holders(block) == NOBODY:
                array = np.ndarray(shape, dtype, *block)
                queue.appendleft(block)  # likely still in the cache when it is free again
                return array
            queue.append(block)
        block = new_block(size)
        array = np.ndarray(shape, dtype, *block)
        if len(queue) < EACH:
            self.keep(queue, block, size)
        return array

    def keep(self, queue, block, size):
        """Keep a block, unless it is too large; forget the others if too much is kept."""
        if size > MOST:
            return
        with self.lock:
            if self.kept + size > MOST:
                self.kept = 0
                for other in list(self.queues.values()):
                    other.clear()
            self.kept += size
            queue.appendleft(block)


POOL = Pool()


def let_go(arrays):
    """Do not keep them."""


# ---- arrays -------------------------------------------------------------------------------------


def maker(shape, dtype):
    """A function that makes arrays of this shape and dtype, whose content is undefined."""
    shape, dtype = tuple(map(int, shape)), np.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size >= LARGE:
        return functools.partial(POOL.array, shape, dtype, size)
    return functools.partial(np.empty, shape, dtype)


class Scratch:
    """Arrays that no caller ever sees: taken for a call of a kernel and given back after it.

    take() and give(arrays) are part of every call, so they do little. There are as many arrays as
    calls at a time.
    """

    def __init__(self, kinds):
        self.kinds = [(tuple(map(int, shape)), np.dtype(dtype)) for shape, dtype in kinds]
        self.sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in self.kinds]
        self.free = []
        small = max(self.sizes, default=0) < LARGE
        self.give = self.free.append if small else let_go  # large ones are in the pool anyway

    def take(self):
        """Arrays whose content is undefined."""
        try:
            return self.free.pop()
        except IndexError:
            return [self.new(*kind, size) for kind, size in zip(self.kinds, self.sizes)]

    def new(self, shape, dtype, size):
        """One of them, if there is none yet."""
        if size >= LARGE:
            return POOL.array(shape, dtype, size)
        return np.ndarray(shape, dtype, *new_block(size))
