"""Devices as threads of this process: an engine without processes, for where those cannot be.

Python's lock lets one thread interpret at a time; only kernels and NumPy overlap.
"""

import threading
from functools import reduce

import numpy as np

from tinyjax.parallel.device import UFUNCS, Device
from tinyjax.parallel.engine import Buffer, DeviceError, Engine, Spec, Ticket
from tinyjax.parallel.running import DeviceProgram


class ThreadBuffer(Buffer):
    """A NumPy array with a part in each row."""

    def __init__(self, spec, array):
        self.spec, self.array = spec, array


class ThreadDevice(Device):
    """Exchanges through a table that all threads see."""

    def __init__(self, mesh, position, meeting, callbacks):
        super().__init__(mesh, position)
        self.meeting, self.callbacks = meeting, callbacks

    def exchange(self, x, members):
        """The operands of all members."""
        table, barrier = self.meeting
        table[self.position] = x
        barrier.wait()
        found = [np.array(table[m]) for m in members]
        barrier.wait()
        return found

    def allreduce(self, op, x, members, out=None):
        total = reduce(UFUNCS[op], self.exchange(x, members))
        if out is not None and self.position == members[0]:
            out[...] = total
        return total

    def all_gather(self, x, members):
        return np.stack(self.exchange(x, members))

    def reduce_scatter(self, x, members):
        own = members.index(self.position)
        return reduce(np.add, [rows[own] for rows in self.exchange(x, members)])

    def all_to_all(self, x, members):
        own = members.index(self.position)
        return np.stack([rows[own] for rows in self.exchange(x, members)])

    def permute(self, x, members, sources):
        found = self.exchange(x, members)
        source = sources[members.index(self.position)]
        return np.zeros_like(x) if source is None else found[source]

    def call_back(self, number, args):
        return self.callbacks[number](*args)


class Done(Ticket):
    """A call that has ended."""

    def wait(self):
        return None

    def done(self):
        return True


class ThreadEngine(Engine):
    """Runs each call to its end before it returns."""

    def __init__(self):
        self.programs = {}

    def put(self, array, parts):
        array = np.array(array)
        return ThreadBuffer(Spec(array.shape[1:], array.dtype, parts), array)

    def alloc(self, spec):
        return ThreadBuffer(spec, np.empty(spec.whole, spec.dtype))

    def get(self, buffer):
        view = buffer.array[...]
        view.flags.writeable = False
        return view

    def call(self, program, inputs, outputs):
        if program.number not in self.programs:
            self.programs[program.number] = [
                DeviceProgram(program, k) for k in range(program.mesh.count)
            ]
        table, errors = [None] * program.mesh.count, []
        barrier = threading.Barrier(program.mesh.count)

        def work(position, own):
            try:
                device = ThreadDevice(program.mesh, position, (table, barrier), program.callbacks)
                ins = [b.array[k] for b, k in zip(inputs, own.in_parts)]
                outs = [b.array[k : k + 1] for b, k in zip(outputs, own.out_parts)]
                own.run(device, ins, outs)
            except BaseException as error:
                device_number = program.devices[position]
                error.add_note(
                    f"raised on device cpu:{device_number} inside pmap of {program.name!r}"
                )
                errors.append((position, error))
                barrier.abort()

        threads = [
            threading.Thread(target=work, args=(k, own))
            for k, own in enumerate(self.programs[program.number])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        causes = [e for _, e in errors if not isinstance(e, threading.BrokenBarrierError)]
        if causes:
            raise causes[0]
        if errors:
            raise DeviceError("the devices did not meet in a collective")
        return Done()

    def close(self):
        self.programs.clear()
