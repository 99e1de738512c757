"""The last stages: what the compiler makes of the programs of a call."""

from tinyjax.array import lift
from tinyjax.compiler import compile_jaxpr
from tinyjax.compiler.fusion import CallOut
from tinyjax.compiler.passes import prepare
from tinyjax.core import Jaxpr
from tinyjax.explaining.stages import Line, Stage, count, program_stage
from tinyjax.explaining.words import plural


def compiled_programs(whole, jitted, wanted, level):
    """The programs that are compiled when the call is made, and their names."""
    found = [
        (eqn.params["jaxpr"], eqn.params["name"])
        for eqn in whole.eqns
        if eqn.primitive.name == "jit" and eqn.params["name"] in jitted
    ]
    return found or ([(whole, level.name)] if wanted else [])


def tell_kernels(jaxpr, name):
    """The program after the compiler's passes, and its kernels."""
    flat = prepare(jaxpr)
    consts = list(map(lift, flat.consts.values()))
    after = Jaxpr(flat.invars, flat.eqns, flat.outvars, list(flat.consts), consts)
    yield program_stage(
        f"compiler, step 1: {name} after the passes",
        "Calls inlined, equal equations shared, useless ones dropped. Before: "
        f"{plural(count(jaxpr), 'equation')}; now: {count(after)}.",
        after,
    )
    executable = compile_jaxpr(jaxpr, name)
    plan = executable.plan()
    outside = sum(type(segment) is CallOut for _, segment in plan.segments)
    outside += sum(stage.by_numpy for kernel in plan.kernels for stage in kernel.stages)
    yield Stage(
        f"compiler, step 2: {name} as kernels",
        f"{plural(len(plan.kernels), 'kernel')} and {plural(outside, 'call')} of NumPy: this is "
        "the text that is compiled to machine code.",
        list(map(Line, executable.kernels().rstrip().split("\n"))),
    )
