"""Which line of the user's an equation comes from, if a function of this package made it.

Such a function that stands as one equation, jnp.where for one, is traced once for all of its
callers, and the equations inside know no line. What counts is the line of the call.
"""

from tinyjax import printer
from tinyjax.core import inner_jaxprs


def sources(jaxpr):
    """{id of an equation: its Source}, for all equations of a program, however deep. None: it is
    unknown, or not the same wherever the equation occurs."""
    found = {}

    def visit(jaxpr, call):
        for eqn in jaxpr.eqns:
            source = eqn.source or call
            found[id(eqn)] = source if found.get(id(eqn), source) == source else None
            for inner in inner_jaxprs(eqn.params):
                visit(inner, source)

    visit(jaxpr, None)
    return found


printer.install(printer, sources=sources)
