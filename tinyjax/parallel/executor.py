"""Executors: a pmap's program, made ready for the engine, and its calls.

There is one executor for each pmapped program. It lowers the program, finds out which results are
the same on all devices, and brings operands to the devices unless they are there already.
"""

import numpy as np

from tinyjax.config import current_flags
from tinyjax.core import Var, memo
from tinyjax.dtypes import key_fry, key_storage
from tinyjax.parallel.device import Mesh
from tinyjax.parallel.engine import Program, Spec, engine
from tinyjax.parallel.lowering import Lowering, mesh_name
from tinyjax.parallel.packing import pack
from tinyjax.parallel.sharded import (
    Layout,
    ShardedArray,
    ShardedKeys,
    assemble,
    dismantle,
    whole_aval,
)
from tinyjax.transforms.varying import varies

TAILS = {"psum": "add", "pmax": "max", "pmin": "min"}


class Executor:
    """Runs a pmapped program: call `run` with a list of Arrays, get a list of Arrays."""

    def __init__(self, jaxpr, params):
        self.jaxpr, self.name, self.axis_name = jaxpr, params["name"], params["axis_name"]
        self.size, self.in_axes = params["axis_size"], params["in_axes"]
        self.out_axes = params["out_axes"]
        lowering = Lowering(self.size)
        self.lowered = lowering.program(jaxpr, {self.axis_name: 0})
        self.sizes, self.callbacks = lowering.sizes, tuple(lowering.callbacks)
        self.mesh = Mesh((mesh_name(k), n) for k, n in enumerate(self.sizes))
        self.inner = self.mesh.count // self.size
        self.devices = params["devices"] or tuple(range(self.mesh.count))
        self.holders = self.devices[:: self.inner]  # of the array that Layout describes
        self.everyone = (self.devices,)
        self.split = tuple(
            self.devices[k : k + self.inner] for k in range(0, self.mesh.count, self.inner)
        )
        self.results = [
            (whole_aval(v.aval, axis, self.size), Layout(self.holders, self.axis_name, axis))
            for v, axis in zip(jaxpr.outvars, self.out_axes)
        ]
        self.variants = {}

    # ---- the program ----------------------------------------------------------------------------

    def variant(self, shared):
        """The Program for operands that lie in one of two ways. shared: a mask of those of which
        all devices hold the whole."""
        if shared not in self.variants:
            self.variants[shared] = self.make(shared)
        return self.variants[shared]

    def make(self, shared):
        """Make it: decide where results lie, and which collectives write them directly."""
        differs = varies(self.jaxpr, self.axis_name, tuple(not s for s in shared))
        for k, (varying, axis) in enumerate(zip(differs, self.out_axes)):
            if varying and axis is None:
                raise ValueError(
                    f"pmap of {self.name} has a result (number {k}) that differs between devices, "
                    "but its out_axes is None: give it an axis (for example out_axes=0), or make "
                    "it the same everywhere (lax.pmean, lax.psum)."
                )
        tail, jaxpr = self.tail(differs)
        ins = [
            Spec(*self.stored(v.aval), self.everyone if s else self.split)
            for v, s in zip(jaxpr.invars, shared)
        ]
        outs = [
            Spec(*self.stored(v.aval), self.split if d else self.everyone)
            for v, d in zip(jaxpr.outvars, differs)
        ]
        return Program(
            name=self.name,
            code=pack(jaxpr),
            mesh=self.mesh,
            devices=self.devices,
            ins=tuple(ins),
            outs=tuple(outs),
            tail=tail,
            callbacks=self.callbacks,
            flags={"enable_x64": current_flags().enable_x64},
        )

    def stored(self, aval):
        """Shape and dtype of a part as NumPy has it."""
        return aval.shape, key_storage if aval.dtype is key_fry else np.dtype(aval.dtype)

    def tail(self, differs):
        """-> {result: (op, axes)} of the last collectives whose results all devices share and no
        equation uses, and the program that ends before them."""
        eqns, outvars, tail = list(self.lowered.eqns), list(self.lowered.outvars), {}
        every = self.mesh.names
        while eqns:
            eqn = eqns[-1]
            op = TAILS.get(eqn.primitive.name)
            places = [k for k, v in enumerate(outvars) if v in eqn.outvars]
            whole = op and len(places) == 1 and not differs[places[0]]
            if not whole or tuple(sorted(eqn.params["axes"])) != every:
                break
            if eqn.params["axis_index_groups"] is not None or not isinstance(eqn.invars[0], Var):
                break
            eqns.pop()
            outvars[places[0]] = eqn.invars[0]
            tail[places[0]] = (op, eqn.params["axes"])
        # in the order of the program: all devices must meet in the same one
        return dict(reversed(tail.items())), self.lowered.replace(eqns=eqns, outvars=outvars)

    # ---- calls ----------------------------------------------------------------------------------

    def run(self, xs):
        """Send the program off -> arrays that are on the devices, maybe not ready yet."""
        current = engine()
        inputs, shared = [], []
        for x, axis in zip(xs, self.in_axes):
            buffer = self.at_hand(x, axis, current)
            if buffer is None:
                parts = self.everyone if axis is None else self.split
                buffer = current.put(dismantle(x.npy, axis), parts)
            inputs.append(buffer)
            shared.append(buffer.spec.parts == self.everyone)
        program = self.variant(tuple(shared))
        outputs = [current.alloc(spec) for spec in program.outs]
        ticket = current.call(program, inputs, outputs)
        if self.callbacks:  # what the user's functions raise is raised here
            ticket.wait()
        return [self.result(k, b, current, ticket) for k, b in enumerate(outputs)]

    def at_hand(self, x, axis, current):
        """The buffer of an operand that lies on the devices as it must; None if it does not."""
        if type(x) is not ShardedArray or x.engine is not current or x.layout.cut != axis:
            return None
        if x.buffer.spec.parts not in (self.everyone, self.split):
            return None
        return x.buffer

    def result(self, k, buffer, current, ticket):
        """The k-th result as an Array."""
        aval, layout = self.results[k]
        if aval.dtype is key_fry:  # keys are Arrays of a class of their own
            ticket.wait()
            return ShardedKeys(assemble(current.get(buffer), aval, layout.cut), layout)
        return ShardedArray(aval, buffer, layout, current, ticket)


@memo
def executor(jaxpr, params):
    """The executor of a program, made once."""
    return Executor(jaxpr, dict(params))
