"""A type checker for jaxprs: what a transformation made must still be a well-formed program."""

from contextlib import nullcontext

from tinyjax.core import Literal, Var, inner_jaxprs
from tinyjax.errors import JaxprTypeError
from tinyjax.printer import JaxprPrinter, Names, layout, shared_jaxprs

NEAR = 10  # equations before and after the one at fault that an error shows


def check_jaxpr(jaxpr):
    """Check that a jaxpr is a well-formed program; returns None if it is.

    Every variable is bound once and before it is read, the types (shape, dtype, weak type) of an
    equation's results are those that its primitive gives to its operands, and the same is true
    inside the jaxprs that equations hold. Raises JaxprTypeError, which shows the equation at fault.

    >>> from tinyjax import core
    >>> x = core.Var(core.lift(1.0).aval)
    >>> check_jaxpr(core.Jaxpr([x], [], [x]))
    >>> check_jaxpr(core.Jaxpr([], [], [x]))
    Traceback (most recent call last):
    ...
    tinyjax.errors.JaxprTypeError: output 0 reads the variable 'a', which is not bound
    <BLANKLINE>
    while checking jaxpr:
    <BLANKLINE>
    { lambda ; . let  in (a,) }
    """
    try:
        _check(jaxpr, set())
    except _Fault as fault:
        raise _error(jaxpr, *fault.args) from None


class _Fault(Exception):
    """The jaxpr, the equation in it or None, and what is wrong: texts and variables."""


def _check(jaxpr, passed):
    """Check one jaxpr and what it holds, except what has passed already."""
    if jaxpr in passed:
        return
    passed.add(jaxpr)
    bound = set()

    def bind(variables, eqn=None):
        for v in variables:
            if not isinstance(v, Var):
                raise _Fault(jaxpr, eqn, f"{v!r} is bound, but it is not a variable")
            if v in bound:
                raise _Fault(jaxpr, eqn, "the variable ", v, " is bound twice")
            if any(type(n) is not int for n in v.aval.shape):
                raise _Fault(jaxpr, eqn, "the variable ", v, f" has the shape {v.aval.shape!r}")
            bound.add(v)

    def read(x, reader, eqn=None):
        if not isinstance(x, (Var, Literal)):
            raise _Fault(jaxpr, eqn, f"{reader} reads {x!r}, not a variable or literal")
        if isinstance(x, Var) and x not in bound:
            raise _Fault(jaxpr, eqn, f"{reader} reads the variable ", x, ", which is not bound")

    def compare(variables, avals, count, kind, gives, eqn=None):
        if len(variables) != len(avals):
            raise _Fault(jaxpr, eqn, count)
        for v, aval in zip(variables, avals):
            if v.aval != aval:
                raise _Fault(jaxpr, eqn, kind, v, f" has type {v.aval}, but {gives} {aval}")

    bind(jaxpr.constvars + jaxpr.invars)
    count = f"the jaxpr has {len(jaxpr.constvars)} constvars, but {len(jaxpr.consts)} consts"
    avals = [const.aval for const in jaxpr.consts]
    compare(jaxpr.constvars, avals, count, "the constant ", "its array has type")
    for eqn in jaxpr.eqns:
        prim = eqn.primitive
        for x in eqn.invars:
            read(x, "the equation", eqn)
        with prim.scope(eqn.params) if hasattr(prim, "scope") else nullcontext():  # pmap's axis
            for inner in inner_jaxprs(eqn.params):
                _check(inner, passed)
        try:
            out = prim.type(*[x.aval for x in eqn.invars], **eqn.params)
        except (TypeError, ValueError) as error:
            raise _Fault(jaxpr, eqn, f"`{prim}` does not take these operands: {error}") from None
        avals = list(out) if prim.multi else [out]
        count = f"`{prim}` has {len(avals)} results, but the equation binds {len(eqn.outvars)}"
        compare(eqn.outvars, avals, count, "the variable ", f"`{prim}` gives", eqn)
        bind(eqn.outvars, eqn)
    for i, x in enumerate(jaxpr.outvars):
        read(x, f"output {i}")


def _error(top, jaxpr, eqn, *message):
    """The error for a fault inside `top`, with the names that its variables have in print."""
    # Unused variables keep their names here: an error may be about one of several.
    printer = JaxprPrinter(Names(shared=shared_jaxprs(top)))
    list(printer.top(top))  # writing the jaxpr down names its variables
    text = "".join([f"'{printer.names[x]}'" if isinstance(x, Var) else x for x in message])
    where = "while checking jaxpr"
    if eqn is not None:
        text += f"\n\nin equation:\n\n{layout(printer.eqn(eqn)).rstrip()}"
        text += f"\n\nfrom source: {eqn.source}" if eqn.source else ""
        i, n = jaxpr.eqns.index(eqn), len(jaxpr.eqns)
        if n > 2 * NEAR:
            where += f" (equation {i + 1} of {n} and those near it)"
            jaxpr = jaxpr.replace(eqns=jaxpr.eqns[max(0, i - NEAR) : i + NEAR])
    return JaxprTypeError(f"{text}\n\n{where}:\n\n{layout(printer.program(jaxpr))}")
