"""Tapes: what derivatives do to a program, line by line, with the real numbers (for tapes.py).

A function is staged and then run, one equation after the other, by the trace that differentiates:
its tangents are recorded as the linear program. Forward mode runs that program, reverse mode
transposes it, equation by equation from the last to the first.
"""

import numpy as np

from tinyjax.api import make_jaxpr
from tinyjax.array import Array, is_arraylike, lift
from tinyjax.core import EVAL, Jaxpr, Literal, StageTrace, Undef, Var, Zero, active, nonzero
from tinyjax.dtypes import KeyType
from tinyjax.primitives.identities import copy_p
from tinyjax.primitives.linear import add_tangents, instantiate
from tinyjax.transforms.ad import JVPTrace, JVPTracer, is_inexact
from tinyjax.transforms.flat import arg_names
from tinyjax.tree_util import tree_leaves

LONGEST = 24  # characters of an array in full

# ---- the program --------------------------------------------------------------------------------


def inlined(jaxpr):
    """A program without calls of jit: their equations stand in their place."""
    eqns, consts = [], {}

    def walk(program, args):
        env = dict(zip(program.invars, args)) | dict(zip(program.constvars, program.constvars))
        consts.update(zip(program.constvars, program.consts))
        read = lambda atom: atom if isinstance(atom, Literal) else env[atom]
        for eqn in program.eqns:
            ins = list(map(read, eqn.invars))
            if eqn.primitive.name == "jit":
                outs = walk(eqn.params["jaxpr"], ins)
            else:
                outs = [Var(v.aval) for v in eqn.outvars]  # a program may be called twice
                eqns.append(eqn.replace(invars=ins, outvars=outs))
            env.update(zip(eqn.outvars, outs))
        return list(map(read, program.outvars))

    outs = walk(jaxpr, jaxpr.invars)
    return Jaxpr(jaxpr.invars, eqns, outs, list(consts), list(consts.values()))


class Row:
    """A line of a tape: a variable of the program, or several that one equation makes.

    text: the equation; kind: "input" or "equation". values: what it gives. linear: texts of the
    equations of the linear program that belong to it. derivatives: tangents, or cotangents.
    terms: for each of these, the parts that it is the sum of.
    """

    def __init__(self, text, names, values, atoms, linear, kind="equation"):
        self.text, self.names, self.values, self.kind = text, names, values, kind
        self.atoms, self.linear, self.derivatives, self.terms = atoms, linear, [], []
        self.result = False


class Tape:
    """The program, run and linearized. rows: a Row per input and equation."""

    def __init__(self, who, f, primals):
        if not callable(f):
            raise TypeError(f"{who}: f must be a function, got {f!r}")
        leaves = tree_leaves(primals)
        for x in leaves:
            if not is_arraylike(x):
                raise TypeError(f"{who}: primals must be numbers and arrays, got {x!r}")
        self.jaxpr = jaxpr = inlined(make_jaxpr(f)(*primals))
        self.linear = StageTrace("a linear program", known=EVAL)
        self.trace = JVPTrace(EVAL, self.linear)
        self.names, self.tangents, self.rows, self.helpers = {}, {}, [], 0
        self.env = dict(zip(jaxpr.constvars, jaxpr.consts))
        names = arg_names(f, primals, {})
        for k, (v, x) in enumerate(zip(jaxpr.invars, map(lift, leaves))):
            self.name(v, names[k] if k < len(names) else f"x{k}")
            self.add_input(v, x)
        for k, v in enumerate(jaxpr.constvars):
            self.name(v, f"c{k + 1}")
        with active(self.trace):
            for eqn in jaxpr.eqns:
                self.add_equation(eqn)
        self.outs = [self.read(v) for v in jaxpr.outvars]
        for row in self.rows:
            row.result = any(self.names.get(v) in row.names for v in jaxpr.outvars)
        self.known = dict(self.linear.captured.values())  # what the linear program reads

    def name(self, var, name):
        """Call a variable something."""
        self.names[var] = name

    def read(self, atom):
        """The value, or dual number, of a variable."""
        return atom.array if isinstance(atom, Literal) else self.env[atom]

    def add_input(self, var, x):
        """The row of an argument."""
        atoms = [None]
        if is_inexact(x.aval):
            tangent = self.linear.new_input(x.aval)
            self.tangents[tangent.atom] = f"d{self.names[var]}"
            self.env[var], atoms = JVPTracer(self.trace, x, tangent), [tangent.atom]
        else:
            self.env[var] = x
        self.rows.append(Row(self.names[var], [self.names[var]], [x], atoms, [], "input"))

    def add_equation(self, eqn):
        """Run an equation: its row tells the values, and what it added to the linear program."""
        before = len(self.linear.eqns)
        outs = eqn.primitive.bind(*map(self.read, eqn.invars), **eqn.params)
        outs = outs if eqn.primitive.multi else [outs]
        number = len(self.rows) - len(self.jaxpr.invars) + 1
        for k, v in enumerate(eqn.outvars):
            self.name(v, f"v{number}" if len(outs) == 1 else f"v{number}.{k}")
        made = {v for e in self.linear.eqns[before:] for v in e.outvars}
        outs = [self.own_tangent(x, made) for x in outs]
        self.env.update(zip(eqn.outvars, outs))
        pairs = [self.trace.split(x) for x in outs]
        atoms = [t.atom if nonzero(t) else None for _, t in pairs]
        names = [self.names[v] for v in eqn.outvars]
        for name, atom in zip(names, atoms):
            if atom is not None:
                self.tangents[atom] = f"d{name}"
        linear = [self.linear_text(e) for e in self.linear.eqns[before:]]
        ins = " ".join(self.atom_text(v) for v in eqn.invars)
        text = f"{' '.join(names)} = {eqn.primitive.name}{power(eqn)} {ins}".strip()
        self.rows.append(Row(text, names, [p for p, _ in pairs], atoms, linear))

    def own_tangent(self, x, made):
        """A dual number whose tangent is no other variable's: it gets an equation `dv2 = dv1`."""
        value, tangent = self.trace.split(x)
        if not nonzero(tangent) or tangent.atom in made:
            return x
        with active(self.linear):
            return JVPTracer(self.trace, value, copy_p.bind(tangent))

    def atom_text(self, atom):
        """An operand of an equation."""
        return number(atom.array) if isinstance(atom, Literal) else self.names[atom]

    def linear_text(self, eqn):
        """An equation of the linear program, with the numbers that it has."""
        values = dict(self.linear.captured.values())

        def shown(atom):
            if isinstance(atom, Literal):
                return number(atom.array)
            if atom in values:
                return number(values[atom])
            if atom not in self.tangents:
                self.helpers += 1
                self.tangents[atom] = f"t{self.helpers}"
            return self.tangents[atom]

        outs = " ".join(map(shown, eqn.outvars))
        ins = " ".join(map(shown, eqn.invars))
        name = "" if eqn.primitive.name == "copy" else f"{eqn.primitive.name} "
        return f"{outs} = {name}{ins}"

    # ---- forwards -------------------------------------------------------------------------------

    def push(self, tangents):
        """Run the linear program, and write the tangents into the rows."""
        env = self.known | dict(zip(self.linear.invars, tangents))
        for eqn in self.linear.eqns:
            args = [v.array if isinstance(v, Literal) else env[v] for v in eqn.invars]
            out = eqn.primitive.bind(*args, **eqn.params)
            env.update(zip(eqn.outvars, out if eqn.primitive.multi else [out]))
        for row in self.rows:
            row.derivatives = [None if a is None else env[a] for a in row.atoms]
            row.terms = [[] for _ in row.atoms]

    # ---- backwards ------------------------------------------------------------------------------

    def pull(self, cts):
        """Transpose the linear program from its last equation to its first, and write the
        cotangents into the rows."""
        linear = {v for e in self.linear.eqns for v in e.outvars} | set(self.linear.invars)
        terms: dict = {}
        for x, ct in zip(self.outs, cts):
            _, tangent = self.trace.split(x)
            if nonzero(tangent):
                terms.setdefault(tangent.atom, []).append(ct)

        def read(atom):
            if isinstance(atom, Literal):
                return atom.array
            return Undef(atom.aval) if atom in linear else self.known[atom]

        for eqn in reversed(self.linear.eqns):
            found = [total(terms[v]) if v in terms else Zero(v.aval) for v in eqn.outvars]
            if not any(map(nonzero, found)):
                continue
            ct = found if eqn.primitive.multi else found[0]
            for atom, c in zip(
                eqn.invars, eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
            ):
                if (
                    not isinstance(atom, Literal)
                    and atom in linear
                    and c is not None
                    and nonzero(c)
                ):
                    terms.setdefault(atom, []).append(c)
        for row in self.rows:
            parts = [terms.get(a, []) for a in row.atoms]
            row.derivatives = [
                None if a is None else total(p) if p else instantiate(Zero(a.aval))
                for a, p in zip(row.atoms, parts)
            ]
            row.terms = [p if len(p) > 1 else [] for p in parts]


def total(terms):
    """The sum of the parts of a cotangent."""
    out = terms[0]
    for term in terms[1:]:
        out = add_tangents(out, term)
    return out


def power(eqn):
    """The exponent of a power, which is a parameter."""
    return f"[{eqn.params['y']}]" if "y" in eqn.params else ""


def number(x):
    """A value in a tape: numbers in full, small arrays too, others by their type."""
    known = isinstance(x, Array) and not isinstance(x.dtype, KeyType)
    value = np.asarray(x) if known else None
    if value is None or value.dtype.kind not in "biufc" or value.size > 3 or value.ndim > 1:
        return lift(x).aval.str_short(short_dtypes=True)
    if value.ndim == 0:
        return one(value.item())
    text = f"[{', '.join(one(v) for v in value.tolist())}]"
    return text if len(text) <= LONGEST else lift(x).aval.str_short(short_dtypes=True)


def one(x):
    """A number with four digits."""
    return f"{x + 0.0:.4g}" if isinstance(x, (float, complex)) else str(x)  # no -0
