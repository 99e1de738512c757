"""A program as a device runs it: unpack the jaxpr, compile it, run it on parts."""

from tinyjax.array import Array
from tinyjax.compiler.executable import compile_jaxpr
from tinyjax.parallel.device import set_device
from tinyjax.parallel.joining import joined
from tinyjax.parallel.packing import unpack


class DeviceProgram:
    """A `Program` on one device. Engines make one from the message that defines the program."""

    def __init__(self, program, position):
        self.jaxpr = joined(unpack(program.code), program.mesh.count)
        self.executable = compile_jaxpr(self.jaxpr, program.name)
        self.tail = program.tail
        device = program.devices[position]
        self.in_parts = [spec.part_of(device) for spec in program.ins]
        self.out_parts = [spec.part_of(device) for spec in program.outs]
        self.weak = [v.aval.weak_type for v in self.jaxpr.invars]
        self.first = [spec.parts[k][0] == device for spec, k in zip(program.outs, self.out_parts)]

    def prepare(self):
        """Compile now, rather than at the first run."""
        self.executable.prepare()

    def run(self, device, ins, outs, shared=True):
        """Compute from this device's parts of the operands, and write its parts of the results.

        device: what the program's collectives talk to. ins, outs: NumPy arrays.
        shared: holders of one part look at the same memory, so only the first of them writes.
        """
        self.job(device, ins, outs, shared)()

    def job(self, device, ins, outs, shared=True):
        """The same as a function without arguments, to be called again and again."""
        args = [Array(x, weak) for x, weak in zip(ins, self.weak)]
        executable, places = self.executable, range(len(outs))
        own = [k for k in places if k not in self.tail and (self.first[k] or not shared)]
        last = [(k, op, device.peers(axes)) for k, (op, axes) in sorted(self.tail.items())]

        def run():
            set_device(device)
            results = executable.here(args)
            for k in own:
                outs[k][...] = results[k].npy
            for k, op, members in last:
                device.allreduce(op, results[k].npy, members, out=outs[k])

        return run
