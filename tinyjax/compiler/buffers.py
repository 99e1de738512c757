"""Memory for results: aligned, and used again when nobody holds it any more.

A fresh large array costs a page fault every 4 kB, which can take longer than computing it. So each
place in a program that needs a large array keeps a few, and takes one that only it still knows.
"""

import sys
from collections import deque

import numpy as np

ALIGNMENT = 64
LARGE = 1 << 16  # bytes; smaller arrays are cheap to make
KEPT = 3  # arrays kept per place in a program


def aligned(shape, dtype):
    """A new array at an address that is a multiple of 64 -> the array, the array that owns it."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    owner = np.empty(count * dtype.itemsize + ALIGNMENT, np.uint8)
    first = -owner.ctypes.data % ALIGNMENT
    part = owner[first : first + count * dtype.itemsize]
    return part.view(dtype).reshape(shape), owner


def holders(pair):
    """How many references there are to an array and to its owner, which every view of it holds."""
    array, owner = pair
    return sys.getrefcount(array), sys.getrefcount(owner)


NOBODY = holders(aligned((1,), np.uint8))  # what holders says of a pair that nobody else knows


class Recycler:
    """Makes arrays of one shape and dtype: call it for an array whose content is undefined.

    A pair is taken out of the queue while it is looked at, so that two threads never see the same
    one as free; whoever finds it afterwards sees that it is held.
    """

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.queue = shape, dtype, deque()

    def __call__(self):
        queue = self.queue
        for _ in range(len(queue)):
            try:
                pair = queue.popleft()
            except IndexError:  # another thread was faster
                break
            if holders(pair) == NOBODY:
                array = pair[0]
                queue.append(pair)
                return array
            queue.append(pair)
        pair = aligned(self.shape, self.dtype)
        if len(queue) < KEPT:
            queue.append(pair)
        return pair[0]


class Scratch:
    """Arrays that no caller ever sees: taken for a call and given back after it."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.free = shape, dtype, []

    def take(self):
        """An array whose content is undefined."""
        try:
            return self.free.pop()
        except IndexError:
            return aligned(self.shape, self.dtype)[0]

    def give(self, array):
        """Return it."""
        if len(self.free) < KEPT:
            self.free.append(array)


def maker(shape, dtype):
    """A function that makes arrays of this shape and dtype."""
    if int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize >= LARGE:
        return Recycler(shape, dtype)
    empty = np.empty
    return lambda: empty(shape, dtype)
