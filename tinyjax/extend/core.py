"""Jaxprs and primitives under JAX's names, for interpreters of jaxprs and for new primitives.

An interpreter walks over the equations of a jaxpr:

    closed = make_jaxpr(f)(x)
    for eqn in closed.jaxpr.eqns:
        invals = [x.val if type(x) is core.Literal else env[x] for x in eqn.invars]
        outvals = eqn.primitive.bind(*invals, **eqn.params)
"""

import functools

from tinyjax import core as _core
from tinyjax.avals import ShapedArray
from tinyjax.check_jaxpr import check_jaxpr
from tinyjax.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Tracer, Var, inner_jaxprs, run
from tinyjax.errors import InconclusiveDimensionOperation, JaxprTypeError
from tinyjax.printer import install
from tinyjax.runtime import ensure_compile_time_eval

AbstractValue, Atom, ParamDict, Effects = ShapedArray, Var | Literal, dict, frozenset
no_effects: frozenset = frozenset()


class Primitive(_core.Primitive):
    """A new operation, defined by rules that are given one by one.

    >>> import numpy as np, tinyjax as jax
    >>> double_p = Primitive("double")
    >>> double_p.def_impl(lambda x: 2 * np.asarray(x)) and None
    >>> double_p.def_abstract_eval(lambda aval: aval) and None
    >>> double_p.bind(3.0)
    Array(6., dtype=float32, weak_type=True)
    >>> jax.make_jaxpr(double_p.bind)(3.0)
    { lambda ; a:f32[]. let b:f32[] = double a in (b,) }
    """

    def def_impl(self, impl):
        """Say how to compute it, from NumPy arrays; returns the function."""
        self.impl = impl
        return impl

    def def_abstract_eval(self, rule):
        """Say what type its result has (or results: multiple_results), from ShapedArrays."""
        self.type = rule
        return rule

    def weak_result(self, args, params):
        """Nobody has to say what the type is before it is computed."""
        return "type" in vars(self) and super().weak_result(args, params)


def jaxpr_as_fun(closed_jaxpr, *args):
    """A function that runs a closed jaxpr on values, and returns the list of its results."""
    return functools.partial(run, closed_jaxpr, *args)


def jaxprs_in_params(params):
    """The jaxprs among the parameters of an equation."""
    return inner_jaxprs(params)


def subjaxprs(jaxpr):
    """The jaxprs that the equations of a jaxpr hold."""
    return [inner for eqn in jaxpr.eqns for inner in inner_jaxprs(eqn.params)]


def new_jaxpr_eqn(invars, outvars, primitive, params, effects=no_effects, source_info=None):
    """An equation."""
    return JaxprEqn(primitive, list(invars), params, list(outvars), source_info)


def get_bind_params(self, params):
    """The parameters of an equation, as bind takes them."""
    return dict(params)


def set_multiple_results(self, value):
    """The operation has a list of results."""
    self.multi = bool(value)


def effects_of_equation(eqn):
    """Its primitive, if it has effects, and those of the programs that it holds."""
    own = {eqn.primitive} if eqn.primitive.effectful else ()
    return frozenset(own).union(*map(_core.effects, inner_jaxprs(eqn.params)))


# JAX's other names for what core has.
install(
    _core.Primitive,
    get_bind_params=get_bind_params,
    multiple_results=property(lambda self: self.multi, set_multiple_results),
)
install(_core.Jaxpr, effects=property(_core.effects))
install(_core.JaxprEqn, effects=property(effects_of_equation))
install(
    _core,
    AbstractValue=AbstractValue,
    Atom=Atom,
    ParamDict=ParamDict,
    ShapedArray=ShapedArray,
    ensure_compile_time_eval=ensure_compile_time_eval,
)

__all__ = [
    "AbstractValue",
    "Atom",
    "ClosedJaxpr",
    "Effects",
    "InconclusiveDimensionOperation",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "ParamDict",
    "Primitive",
    "Tracer",
    "Var",
    "check_jaxpr",
    "jaxpr_as_fun",
    "jaxprs_in_params",
    "new_jaxpr_eqn",
    "no_effects",
    "subjaxprs",
]
