"""Executables: what a jaxpr is compiled to."""

from tinyjax.array import Array
from tinyjax.compiler.interpret import interpret
from tinyjax.core import memo


class Executable:
    """A compiled program: call it with a list of Arrays, get a list of Arrays."""

    def __init__(self, jaxpr, name):
        self.jaxpr, self.name = jaxpr, name
        self.weak = [v.aval.weak_type for v in jaxpr.outvars]

    def __call__(self, args):
        outs = interpret(self.jaxpr, [x.npy for x in args])
        return [Array(o, w) for o, w in zip(outs, self.weak)]

    def kernels(self):
        """The source text of its kernels and call-outs, in order."""
        return ""


@memo
def compile_jaxpr(jaxpr, name):
    """The executable of a program, made once."""
    return Executable(jaxpr, name)
