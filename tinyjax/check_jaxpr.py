"""A type checker for jaxprs: what a transformation made must still be a well-formed program."""

import functools

from tinyjax.core import Literal, Var, inner_jaxprs
from tinyjax.printer import JaxprPrinter, Names, layout, shared_jaxprs

NEAR = 10  # equations before and after the one at fault that an error shows


class JaxprTypeError(TypeError):
    """A jaxpr is not well formed."""


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
    tinyjax.check_jaxpr.JaxprTypeError: output 0 reads the variable 'a', which is not bound
    <BLANKLINE>
    while checking jaxpr:
    <BLANKLINE>
    { lambda ; . let  in (a,) }
    """
    _Checker(jaxpr).check(jaxpr)


class _Checker:
    """Walks over a jaxpr and all that it holds; names variables as the printed jaxpr does."""

    def __init__(self, top):
        self.top, self.passed = top, set()

    def check(self, jaxpr):
        """Check one jaxpr and what it holds."""
        if jaxpr in self.passed:
            return  # shared by several equations
        self.passed.add(jaxpr)
        bound: set[Var] = set()
        for v in jaxpr.constvars + jaxpr.invars:
            self.bind(v, bound, jaxpr)
        self.check_consts(jaxpr)
        for eqn in jaxpr.eqns:
            for x in eqn.invars:
                self.read(x, bound, jaxpr, "the equation", eqn)
            for inner in inner_jaxprs(eqn.params):
                self.check(inner)
            self.check_types(eqn, jaxpr)
            for v in eqn.outvars:
                self.bind(v, bound, jaxpr, eqn)
        for i, x in enumerate(jaxpr.outvars):
            self.read(x, bound, jaxpr, f"output {i}")

    def bind(self, v, bound, jaxpr, eqn=None):
        """A variable becomes known."""
        if not isinstance(v, Var):
            self.fail(f"{v!r} is bound, but it is not a variable", jaxpr, eqn)
        if v in bound:
            self.fail(f"the variable {self.name(v)} is bound twice", jaxpr, eqn)
        bound.add(v)

    def read(self, x, bound, jaxpr, reader, eqn=None):
        """A variable or literal is used."""
        if isinstance(x, Literal):
            return
        if not isinstance(x, Var):
            self.fail(f"{reader} reads {x!r}, not a variable or literal", jaxpr, eqn)
        if x not in bound:
            message = f"{reader} reads the variable {self.name(x)}, which is not bound"
            self.fail(message, jaxpr, eqn)

    def check_consts(self, jaxpr):
        """The captured arrays have the types of their variables."""
        if len(jaxpr.consts) != len(jaxpr.constvars):
            count = f"{len(jaxpr.constvars)} constvars, but {len(jaxpr.consts)} consts"
            self.fail(f"the jaxpr has {count}", jaxpr)
        for v, const in zip(jaxpr.constvars, jaxpr.consts):
            if v.aval != const.aval:
                types = f"has type {v.aval}, but its array has type {const.aval}"
                self.fail(f"the constant {self.name(v)} {types}", jaxpr)

    def check_types(self, eqn, jaxpr):
        """The results of an equation have the types that the primitive's type rule gives."""
        prim = eqn.primitive
        try:
            out = prim.type(*[x.aval for x in eqn.invars], **eqn.params)
        except (TypeError, ValueError) as error:
            self.fail(f"`{prim}` does not take these operands: {error}", jaxpr, eqn)
        avals = list(out) if prim.multi else [out]
        if len(avals) != len(eqn.outvars):
            count = f"{len(avals)} results, but the equation binds {len(eqn.outvars)}"
            self.fail(f"`{prim}` has {count}", jaxpr, eqn)
        for v, aval in zip(eqn.outvars, avals):
            if v.aval != aval:
                types = f"has type {v.aval}, but `{prim}` gives {aval}"
                self.fail(f"the variable {self.name(v)} {types}", jaxpr, eqn)

    @functools.cached_property
    def printer(self):
        """Writes jaxprs with one set of names; made when an error needs it."""
        # Unused variables keep their names here: an error may be about one of several.
        printer = JaxprPrinter(Names(shared=shared_jaxprs(self.top)))
        printer.top(self.top)  # writing the jaxpr down names its variables
        return printer

    def name(self, v):
        """A variable's name, in quotes."""
        return f"'{self.printer.names[v]}'"

    def fail(self, message, jaxpr, eqn=None):
        """Raise the error, with the equation and the jaxpr that it stands in."""
        where = "while checking jaxpr"
        if eqn is not None:
            message += f"\n\nin equation:\n\n{layout(self.printer.eqn(eqn)).rstrip()}"
            message += f"\n\nfrom source: {eqn.source}" if eqn.source else ""
            i, n = jaxpr.eqns.index(eqn), len(jaxpr.eqns)
            jaxpr = jaxpr.replace(eqns=jaxpr.eqns[max(0, i - NEAR) : i + NEAR])
            if len(jaxpr.eqns) < n:
                where += f" (equation {i + 1} of {n} and those near it)"
        text = layout(self.printer.program(jaxpr))
        raise JaxprTypeError(f"{message}\n\n{where}:\n\n{text}") from None
