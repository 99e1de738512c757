"""Which line of the user's an equation comes from, if a function of this package made it.

Such a function that stands as one equation, jnp.where for one, is traced once for all of its
callers: the equations inside know the line of the first one. What counts is the line of the call.
"""

from tinyjax import printer
from tinyjax.core import inner_jaxprs
from tinyjax.transforms.stage import map_programs
from tinyjax.transforms.subprogram import NAMES

UNKNOWN = object()  # the line of the call, outside of such functions


def is_of_package(params):
    """Whether a jit equation holds a function of this package (not the user's of that name)."""
    name, eqns = params["name"], params["jaxpr"].eqns
    own = any(e.source is not None and e.source.function == name for e in eqns)
    return name in NAMES and not own


def inside(eqn, call):
    """The line of the call, for the programs that an equation holds."""
    if call is UNKNOWN and eqn.primitive.name == "jit" and is_of_package(eqn.params):
        return eqn.source
    return call


def sources(jaxpr):
    """{id of an equation: its Source}, for all equations of a program, however deep. None: it is
    unknown, or not the same wherever the equation occurs."""
    found = {}

    def visit(jaxpr, call):
        for eqn in jaxpr.eqns:
            source = eqn.source if call is UNKNOWN else call
            found[id(eqn)] = source if found.get(id(eqn), source) == source else None
            for inner in inner_jaxprs(eqn.params):
                visit(inner, inside(eqn, call))

    visit(jaxpr, UNKNOWN)
    return found


def with_sources(jaxpr, call=UNKNOWN):
    """The same program, whose equations have these sources."""
    eqns = []
    for eqn in jaxpr.eqns:
        source, below = eqn.source if call is UNKNOWN else call, inside(eqn, call)
        params = map_programs(lambda inner, below=below: with_sources(inner, below), eqn.params)
        eqns.append(eqn.replace(source=source, params=params))
    return jaxpr.replace(eqns=eqns)


printer.install(printer, sources=sources)
