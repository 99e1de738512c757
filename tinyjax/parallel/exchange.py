"""A device of the local engine, as its programs see it: exchanges through the shared memory.

Small operands (a whole exchange is one call of `barrier.py`): each device copies its own into a
slot, and when all have met, copies those of all, and computes what it needs. Of large operands,
each device reduces a slice. Either way sums run in the order of the members, so all get
the same bits.

A device has two slots of each kind and takes them in turn, so that it may go on while its peers
still read; before it uses a slot again it makes sure that they have.
"""

import hashlib
from functools import lru_cache, reduce
from typing import NamedTuple

import numpy as np

from tinyjax.compiler.buffers import maker
from tinyjax.dtypes import dtype_name
from tinyjax.parallel.barrier import MISMATCH, OK
from tinyjax.parallel.cells import CALLS_AT_ONCE, SMALL, TAILS
from tinyjax.parallel.device import UFUNCS, Device

NAMES = {"add": "psum of", "max": "pmax of", "min": "pmin of"}
END = "at the end of the program"
BLOCK = 1 << 15  # elements that are reduced at a time, so that they stay in the cache
TWICE = 1 << 23  # bytes that two devices both reduce
SPINS = 10  # looks at a peer's cell before others may run, if there is a core for every device
CROWDED = -45  # else: so many looks fewer before it sleeps, since its peers need the core


class Parted(BaseException):
    """A collective that cannot end: (what it is, the device that does not match or None)."""


class Plan(NamedTuple):
    """What one collective needs to run, made once. words: the list that `barrier.py` reads."""

    text: str
    words: np.ndarray
    address: int
    operand: np.ndarray
    stack: np.ndarray
    kept: tuple  # what words point to


class LocalDevice(Device):
    """A device for the programs of one mesh. worker: the process (`worker.py`)."""

    def __init__(self, program, position, worker):
        super().__init__(program.mesh, position)
        self.worker, self.memory, self.atomics = worker, worker.memory, worker.atomics
        self.devices, self.everyone = program.devices, tuple(range(program.mesh.count))
        self.spins = SPINS if len(self.devices) <= worker.cores else CROWDED
        self.plans, self.tail = {}, lru_cache(1024)(self.tail_rows)
        self.call, self.tail_used, self.tails = 0, 0, []

    # ---- meeting --------------------------------------------------------------------------------

    def plan(self, what, shape, dtype, members, small):
        """The plan of a collective."""
        key = (what, shape, dtype, members, small)
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = self.make_plan(*key)
        return plan

    def make_plan(self, what, shape, dtype, members, small):
        """Lay out the list of words that `barrier.py` explains."""
        ids = np.array([self.devices[m] for m in members], np.int32)
        named = f" {dtype_name(dtype)}[{','.join(map(str, shape))}]" if dtype is not None else ""
        text = (
            f"{what}"
            if what is END
            else f"in {what}{named} over {', '.join(f'cpu:{i}' for i in ids)}"
        )
        digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        places, worker = np.zeros(len(ids), np.int64), self.worker
        kind = dtype if small else np.uint8
        operand = np.empty(shape if small else (), kind)
        stack = np.empty((len(ids), *operand.shape), kind)
        words = np.zeros(15, np.int64)
        words[0:4] = self.memory.address, worker.device, address(ids), len(ids)
        words[4] = int.from_bytes(digest, "little", signed=True)
        words[6:9] = -1, self.spins, address(places)
        words[9:12] = address(operand), operand.nbytes, address(stack)
        words[12] = self.memory.regions.small(worker.device, 0)
        words[13:15] = address(worker.turn), worker.most
        return Plan(text, words, address(words), operand, stack, (ids, places))

    def check(self, code, plan):
        """Raise if a wait was in vain."""
        if code != OK:
            raise Parted(plan.text, code >> 8 if code & 255 == MISMATCH else None)

    def swap(self, what, x, members):
        """An exchange of small operands -> a stack of all, to be used before the next exchange."""
        plan = self.plan(what, x.shape, x.dtype, members, True)
        plan.operand[...] = x
        self.check(self.atomics.swap(plan.address), plan)
        return plan.stack

    def show(self, what, x, members):
        """Meet, with large operands -> (plan, those of all). End with `seen`."""
        plan = self.plan(what, x.shape, x.dtype, members, False)
        place = self.memory.place(x) if x.flags.c_contiguous else None
        slot = -1
        if place is None:
            slot, place = self.slot(plan, x.nbytes)
            self.memory.array(place, x.shape, x.dtype)[...] = x
        return plan, [self.memory.array(p, x.shape, x.dtype) for p in self.meet(plan, place, slot)]

    def slot(self, plan, size):
        """A free large slot: its number and place."""
        if size > self.memory.regions.slot:
            raise MemoryError(f"{plan.text}: an operand of {size} bytes does not fit")
        slot = self.worker.next_large(size)
        plan.words[6] = slot
        self.check(self.atomics.settle(plan.address), plan)
        return slot, self.memory.regions.large(self.worker.device, slot)

    def meet(self, plan, place, slot):
        """Wait for all members -> the places that they name."""
        plan.words[5:7] = place, slot
        self.check(self.atomics.meet(plan.address), plan)
        return plan.kept[1].tolist()

    def seen(self, plan):
        """Others may write to what they have shown."""
        self.atomics.seen(plan.address)

    # ---- the exchanges --------------------------------------------------------------------------

    def allreduce(self, op, x, members, out=None):
        if len(members) == 1:
            return x if out is None else write(out, x)
        if out is not None and members == self.everyone and self.defer(op, x, out):
            return out
        if x.nbytes * len(members) > SMALL:
            return self.allreduce_large(op, x, members, out)
        stack = self.swap(NAMES[op], x, members)
        if out is not None and self.position != members[0]:
            return out
        total = reduce(UFUNCS[op], stack)
        return total if out is None else write(out, total)

    def allreduce_large(self, op, x, members, out):
        """Each member reduces a slice. Two both reduce all of it, unless it is huge."""
        plan, shown = self.show(NAMES[op], x, members)
        flat = [view.reshape(-1) for view in shown]
        cuts = slices(x.size, len(members))
        own = cuts[members.index(self.position)]
        if out is not None:
            reduce_into(UFUNCS[op], [view[own] for view in flat], out.reshape(-1)[own])
            self.seen(plan)
            return out
        total = maker((x.size,), x.dtype)()
        if len(members) == 2 and x.nbytes <= TWICE:
            reduce_into(UFUNCS[op], flat, total)
            self.seen(plan)
            return total.reshape(x.shape)
        slot = int(plan.words[6])
        if slot < 0:
            slot, place = self.slot(plan, x.nbytes)
        else:
            place = int(plan.words[5])  # nobody else reads our slice of what we have shown
        target = self.memory.array(place, (x.size,), x.dtype)
        reduce_into(UFUNCS[op], [view[own] for view in flat], target[own])
        for cut, at in zip(cuts, self.meet(plan, place, slot)):
            total[cut] = self.memory.array(at, (x.size,), x.dtype)[cut]
        self.seen(plan)
        return total.reshape(x.shape)

    def all_gather(self, x, members):
        if x.nbytes <= SMALL:
            return self.swap("all_gather of", x, members).copy()
        plan, shown = self.show("all_gather of", x, members)
        rows = np.stack(shown)
        self.seen(plan)
        return rows

    def reduce_scatter(self, x, members):
        own = members.index(self.position)
        if x.nbytes <= SMALL:
            return reduce(np.add, self.swap("psum_scatter of", x, members)[:, own])
        plan, shown = self.show("psum_scatter of", x, members)
        total = np.empty(x.shape[1:], x.dtype)
        reduce_into(np.add, [view[own].reshape(-1) for view in shown], total.reshape(-1))
        self.seen(plan)
        return total

    def all_to_all(self, x, members):
        own = members.index(self.position)
        if x.nbytes <= SMALL:
            return self.swap("all_to_all of", x, members)[:, own].copy()
        plan, shown = self.show("all_to_all of", x, members)
        rows = np.stack([view[own] for view in shown])
        self.seen(plan)
        return rows

    def permute(self, x, members, sources):
        source = sources[members.index(self.position)]
        what = f"ppermute from {sources} of"
        if x.nbytes <= SMALL:
            stack = self.swap(what, x, members)
            return np.zeros_like(x) if source is None else stack[source].copy()
        plan, shown = self.show(what, x, members)
        received = np.zeros_like(x) if source is None else shown[source].copy()
        self.seen(plan)
        return received

    def call_back(self, number, args):
        return self.worker.call_back(self.call, number, args)

    # ---- what the last device of a call does ----------------------------------------------------

    def begin(self, call):
        """A call begins."""
        self.call, self.tail_used = call, 0
        self.tails.clear()

    def defer(self, op, x, out):
        """Leave a small reduction whose result no device needs to the device that ends last, so
        that nobody waits. Returns whether there was room."""
        offset = self.tail_used
        if offset + x.nbytes > SMALL // len(self.devices):
            return False
        self.tail_used = offset + (x.nbytes + 63 & -64)
        rows = self.tail(self.call % CALLS_AT_ONCE, offset, x.shape, x.dtype)
        rows[self.position][...] = x
        self.tails.append((UFUNCS[op], rows, out))
        return True

    def tail_rows(self, cell, offset, shape, dtype):
        """Where the devices leave their operands of a reduction for the last one."""
        start = TAILS + cell * SMALL + offset
        regions = self.memory.regions
        return [self.memory.array(regions.start(d) + start, shape, dtype) for d in self.devices]

    def finish(self):
        """Do these reductions: all devices have left their operands."""
        for ufunc, rows, out in self.tails:
            if len(rows) == 2:
                ufunc(rows[0], rows[1], out=out)
            else:
                out[...] = reduce(ufunc, rows)

    def meet_at_end(self):
        """Meet once more after a program whose devices may meet more or less often: if some wait in
        a collective that others do not come to, this fails instead of hanging."""
        plan = self.plan(END, (), None, self.everyone, False)
        self.meet(plan, 0, -1)
        self.seen(plan)


# ---- reductions ----------------------------------------------------------------------------------


def address(array):
    """Where an array lies."""
    return array.__array_interface__["data"][0]


def write(out, x):
    """out, which now holds x."""
    out[...] = x
    return out


def reduce_into(ufunc, rows, out):
    """The same for flat arrays, in blocks; out may be one of them."""
    first, second, *rest = rows
    scratch = np.empty(min(BLOCK, out.size), out.dtype) if rest else None
    for start in range(0, out.size, BLOCK):
        cut = slice(start, min(start + BLOCK, out.size))
        if scratch is None:
            ufunc(first[cut], second[cut], out=out[cut])
            continue
        total = scratch[: cut.stop - start]
        ufunc(first[cut], second[cut], out=total)
        for row in rest[:-1]:
            ufunc(total, row[cut], out=total)
        ufunc(total, rest[-1][cut], out=out[cut])


def slices(size, count):
    """Cut so many elements into slices for so many devices."""
    cuts = [size * k // count // 16 * 16 for k in range(count)]
    return [slice(a, b) for a, b in zip(cuts, [*cuts[1:], size])]
