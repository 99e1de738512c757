"""Passes over jaxprs, before code is generated: inline calls, share equations, drop dead ones.

The result is a `Program`: the same language, without nested calls and without captured arrays
inside it (they become operands).
"""

from collections import Counter

import numpy as np

from tinyjax.array import Array
from tinyjax.compiler.keys import lower_keys
from tinyjax.core import Jaxpr, JaxprEqn, Literal, Var, memo
from tinyjax.primitives.arithmetic import mul_p
from tinyjax.primitives.linear import broadcast_in_dim_p, convert_element_type_p, reshape_p

# ---- programs -----------------------------------------------------------------------------------


class Program:
    """invars, consts (Var -> NumPy array), eqns, outvars: a flat jaxpr, ready for printing."""

    def __init__(self, invars, consts, eqns, outvars):
        self.invars, self.consts = invars, consts
        self.eqns, self.outvars = eqns, outvars


def prepare(jaxpr):
    """All passes, in order -> Program, if it is not one yet."""
    return jaxpr if isinstance(jaxpr, Program) else passed(jaxpr)


@memo
def passed(jaxpr):
    """A jaxpr after all passes."""
    flat = Flattener()
    env = dict(zip(jaxpr.invars, jaxpr.invars, strict=True))
    outvars = flat.inline(jaxpr, env, 0)
    eqns = drop_dead(turn_products(flat.eqns, outvars), outvars)
    used = {v for eqn in eqns for v in eqn.invars} | set(outvars)
    consts = {v: x for v, x in flat.consts.items() if v in used}
    return Program(*lower_keys(jaxpr.invars, consts, eqns, outvars))


# ---- calls --------------------------------------------------------------------------------------

CALLS = {
    "jit": "jaxpr",
    "closed_call": "jaxpr",
    "composite": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vmap_call": "call",
    "custom_linear_solve": "jaxpr",  # as its `lower` leaves it; so do these, if they
    "psum": "jaxpr",  # reduce over axes of the array
    "pmax": "jaxpr",
    "pmin": "jaxpr",
}
BARRIERS = {"checkpoint": "jaxpr", "remat": "jaxpr", "remat2": "jaxpr"}


def called(eqn):
    """The program that a call equation runs, and whether equal equations stay apart in it."""
    name = eqn.primitive.name
    jaxpr = eqn.params.get(CALLS.get(name) or BARRIERS.get(name))
    if isinstance(jaxpr, Jaxpr) and len(jaxpr.invars) == len(eqn.invars):
        return jaxpr, name in BARRIERS
    return None, False


class Inliner:
    """Walks through a program and all programs that it calls.

    where: what a subclass wants to know of the place, handed on to its methods:
    called(eqn, where) -> the program that an equation calls or None, and where that is
    constant(var, array) -> the operand that stands for a captured array
    equation(eqn, invars, where) -> the outputs of any other equation
    """

    def inline(self, jaxpr, env, where, call=None):
        """Walk through a program whose inputs are in env -> its outputs. call: the user's line, for
        equations that have none."""
        for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True):
            env[v] = self.constant(v, c)

        def read(atom):
            return atom if isinstance(atom, Literal) else env[atom]

        for eqn in jaxpr.eqns:
            invars = list(map(read, eqn.invars))
            if eqn.primitive.lower:
                invars, params = eqn.primitive.lower(invars, **eqn.params)
                eqn = eqn.replace(params=params)
            eqn = eqn.replace(invars=invars, source=eqn.source or call)
            inner, inside = self.called(eqn, where)
            if inner is not None:
                env_inside = dict(zip(inner.invars, invars, strict=True))
                outs = self.inline(inner, env_inside, inside, eqn.source)
            else:
                outs = self.equation(eqn, invars, where)
            env.update(zip(eqn.outvars, outs, strict=True))
        return list(map(read, jaxpr.outvars))


class Flattener(Inliner):
    """Collects the equations of a program and of all programs that it calls.

    Equal equations are shared within a region. A checkpointed program is a region of its own: what
    it recomputes must not be merged with what ran before, or memory would be held after all.
    """

    def __init__(self):
        self.eqns, self.consts, self.seen, self.regions = [], {}, {}, 0

    def called(self, eqn, region):
        """A checkpointed program is in a region of its own."""
        inner, barrier = called(eqn)
        self.regions += barrier
        return inner, self.regions if barrier else region

    def constant(self, var, array):
        """A captured array as an operand; a captured number as a literal."""
        if array.npy.ndim == 0 and array.npy.dtype.kind in "biuf":
            return Literal(array)
        self.consts[var] = np.asarray(array.npy)
        return var

    def equation(self, eqn, invars, region):
        """Add one equation, or find the equal one that is there -> its outputs."""
        if is_outer_product(eqn, invars):
            return self.outer_product(eqn, invars, region)
        eqn = simpler(eqn, invars)
        same = unchanged(eqn, invars)
        if same is not None:
            return [same]
        known = folded(eqn, invars)
        if known is not None:
            return [known]
        if is_single_product(eqn):
            return self.product_in_double(eqn, invars, region)
        key = self.key(eqn, invars, region)
        if key is not None and key in self.seen:
            return self.seen[key]
        outvars = [Var(v.aval) for v in eqn.outvars]
        self.eqns.append(JaxprEqn(eqn.primitive, invars, eqn.params, outvars, eqn.source))
        if key is not None:
            self.seen[key] = outvars
        return outvars

    def outer_product(self, eqn, invars, region):
        """A product that sums over nothing: a multiplication of broadcast operands."""
        batch = len(eqn.params["dimension_numbers"][1][0])
        out, rank, factors = eqn.outvars[0].aval, len(invars[0].aval.shape), []
        for x, first in zip(invars, (batch, rank)):
            dims = (*range(batch), *range(first, first + len(x.aval.shape) - batch))
            params = {"shape": out.shape, "broadcast_dimensions": dims}
            spread = JaxprEqn(broadcast_in_dim_p, [x], params, [Var(out)])
            factors += self.equation(spread, [x], region)
        return self.equation(JaxprEqn(mul_p, factors, {}, eqn.outvars), factors, region)

    def product_in_double(self, eqn, invars, region):
        """A product of float32 numbers in double precision, since every factor costs digits."""
        wide = [Var(v.aval.update(dtype=np.dtype(np.float64))) for v in (*invars, *eqn.outvars)]
        steps = (convert_element_type_p, eqn.primitive, convert_element_type_p)
        for primitive, out in zip(steps, (*wide, eqn.outvars[0])):
            params = {"new_dtype": out.aval.dtype, "weak_type": out.aval.weak_type}
            params = eqn.params if primitive is eqn.primitive else params
            invars = self.equation(JaxprEqn(primitive, invars, params, [out]), invars, region)
        return invars

    def key(self, eqn, invars, region):
        """What equal equations have in common; None if this one must not be shared."""
        if eqn.effectful or eqn.primitive.callables:
            return None
        try:
            params = tuple(sorted(eqn.params.items()))
            hash(params)
        except TypeError:
            return None
        types = tuple(v.aval for v in eqn.outvars)
        return eqn.primitive, tuple(map(atom_key, invars)), params, types, region


def atom_key(atom):
    """A hashable stand-in for a variable or the bits of a literal."""
    if isinstance(atom, Literal):
        value = np.asarray(atom.val)
        return value.dtype, value.tobytes(), atom.aval.weak_type
    return atom


def is_outer_product(eqn, invars):
    """Whether an equation is a matrix product that sums over nothing."""
    if eqn.primitive.name != "dot_general":
        return False
    (left, _), (a_batch, b_batch) = eqn.params["dimension_numbers"]
    first = list(range(len(a_batch)))
    types = {v.aval.dtype for v in (*invars, *eqn.outvars)}
    plain = len(types) == 1 and types.pop().kind in "iufc"
    return plain and not left and list(a_batch) == first and list(b_batch) == first


def is_single_product(eqn):
    """Whether an equation multiplies numbers of single precision along axes."""
    return eqn.primitive.name == "reduce_prod" and eqn.outvars[0].aval.dtype == np.float32


def simpler(eqn, invars):
    """An equation that does the same and fuses better."""
    name, out = eqn.primitive.name, eqn.outvars[0] if eqn.outvars else None
    if name in ONE_BY_ONE and out.aval.size == invars[0].aval.size and out.aval.size:
        return JaxprEqn(reshape_p, invars, {"new_sizes": out.aval.shape}, eqn.outvars)
    return eqn


ONE_BY_ONE = {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or"}


def unchanged(eqn, invars):
    """The operand that an equation hands on as it is, or None."""
    name, params = eqn.primitive.name, eqn.params
    if len(eqn.outvars) != 1 or not invars:
        return None
    if name in ("stop_gradient", "name", "device_put", "sharding_constraint"):
        return invars[0]
    a, b = invars[0].aval, eqn.outvars[0].aval
    if a.shape != b.shape or a.dtype != b.dtype:
        return None
    if name in ("convert_element_type", "copy", "copy_p", "reshape", "squeeze", "broadcast_in_dim"):
        return invars[0]
    if name == "transpose" and tuple(params["permutation"]) == tuple(range(len(a.shape))):
        return invars[0]
    if name.startswith("reduce_") and params.get("axes") == ():
        return invars[0]
    return None


def may_be_size(value):
    """Whether a number could be the size of an array."""
    return not np.iscomplexobj(value) and abs(float(value)) > 2 and float(value).is_integer()


def folded(eqn, invars):
    """The result of an equation between numbers that are known, as a literal; else None."""
    prim = eqn.primitive
    if not invars or not all(isinstance(v, Literal) for v in invars):
        return None
    if prim.multi or prim.high or prim.effectful or prim.collective or eqn.outvars[0].aval.shape:
        return None
    if eqn.outvars[0].aval.dtype.kind not in "biuf":
        return None
    if eqn.outvars[0].aval.dtype.kind == "f" and any(may_be_size(v.val) for v in invars):
        return None  # folded, it would make a kernel depend on the size
    with np.errstate(all="ignore"):
        value = np.asarray(prim.impl(*[np.asarray(v.val) for v in invars], **eqn.params))
    return Literal(Array(value, eqn.outvars[0].aval.weak_type, literal=True))


# ---- products -----------------------------------------------------------------------------------


def turn_products(eqns, outvars):
    """A transposed matrix product is the product of its operands in the other order."""
    uses = Counter(v for eqn in eqns for v in eqn.invars if isinstance(v, Var))
    uses.update(v for v in outvars if isinstance(v, Var))
    made = {eqn.outvars[0]: eqn for eqn in eqns if eqn.primitive.name == "dot_general"}
    turned = {}
    for eqn in eqns:
        product = made.get(eqn.invars[0]) if eqn.primitive.name == "transpose" else None
        if product is None or uses[product.outvars[0]] > 1 or len(eqn.outvars[0].aval.shape) != 2:
            continue
        (left, right), batch = product.params["dimension_numbers"]
        if batch[0] or len(product.invars[0].aval.shape) - len(left) != 1:
            continue
        params = product.params | {"dimension_numbers": ((right, left), batch)}
        turned[eqn] = JaxprEqn(product.primitive, product.invars[::-1], params, eqn.outvars)
    return [turned.get(eqn, eqn) for eqn in eqns]


# ---- dead code ----------------------------------------------------------------------------------


def drop_dead(eqns, outvars):
    """The equations that an output depends on; loops lose the results that nobody reads."""
    live, kept = set(outvars), []
    for eqn in reversed(eqns):
        mask = [v in live for v in eqn.outvars]
        if not any(mask) and not eqn.effectful:
            continue
        if eqn.primitive.dce and not all(mask):
            eqn = eqn.primitive.dce(eqn, mask)
        kept.append(eqn)
        live.update(eqn.invars)
    return kept[::-1]
