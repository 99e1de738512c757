"""Running equations with NumPy: what the compiler falls back on, and its call-outs."""

import functools
import math

import numpy as np

from tinyjax.array import Array
from tinyjax.compiler.keys import OnKeys, is_key, to_keys, to_words
from tinyjax.compiler.products import one_thread, product
from tinyjax.core import EVAL, Literal, active
from tinyjax.dtypes import key_storage

# What LAPACK computes. For small matrices its threads would wait for one another, mostly.
LAPACK = {"cholesky", "eig", "eigh", "householder_product", "lu", "qr", "schur", "svd"}
LAPACK |= {"triangular_solve", "tridiagonal_solve", "geqrf", "hessenberg"}
SMALL_MATRIX = 1 << 16  # elements

# ---- equation by equation -----------------------------------------------------------------------


def run_equation(eqn, arrays):
    """The results of one equation for NumPy operands, as a list of NumPy arrays."""
    prim = eqn.primitive
    if prim.high:
        args = [Array(x, v.aval.weak_type) for x, v in zip(arrays, eqn.invars, strict=True)]
        with active(EVAL):
            out = prim.impl(*args, **eqn.params)
        return [o.npy for o in (out if prim.multi else [out])]
    with np.errstate(all="ignore"):
        out = prim.impl(*arrays, **eqn.params)
    return list(out) if prim.multi else [out]


def interpret(jaxpr, arrays):
    """The results of a program for NumPy operands (constants inside), as NumPy arrays."""
    env = {v: c.npy for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)}
    env.update(zip(jaxpr.invars, arrays, strict=True))

    def read(atom):
        return atom.val if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, run_equation(eqn, list(map(read, eqn.invars))), strict=True))
    return [read(v) for v in jaxpr.outvars]


# ---- call-outs ----------------------------------------------------------------------------------


def call_out(eqn, compile_jaxpr):
    """A function of NumPy arrays that does what an equation says."""
    prim, params = eqn.primitive, eqn.params
    if prim.name == "scan":
        return scan_in_python(compile_jaxpr(params["jaxpr"], "body"), eqn)
    if prim.name == "while":
        cond = compile_jaxpr(params["cond_jaxpr"], "condition")
        return while_in_python(cond, compile_jaxpr(params["body_jaxpr"], "body"), eqn)
    if prim.name == "cond":
        return cond_in_python([compile_jaxpr(j, "branch") for j in params["branches"]], eqn)
    if prim.high:
        return lambda *arrays: run_equation(eqn, arrays)
    if isinstance(prim, OnKeys):
        return functools.partial(prim.call, run_equation)
    if prim.name == "dot_general":
        return product(eqn) or functools.partial(prim.impl, **params)
    compute = functools.partial(prim.impl, **params)
    small = all(math.prod(v.aval.shape[-2:]) <= SMALL_MATRIX for v in eqn.invars)
    return on_one_thread(compute) if prim.name in LAPACK and small else compute


def on_one_thread(compute):
    """The same, with one BLAS thread: for small matrices threads wait longer than they work."""

    def call(*arrays):
        with one_thread:
            return compute(*arrays)

    return call


def lifted(arrays, variables):
    """NumPy arrays as Arrays of the variables' types; between programs, keys are words."""
    return [
        Array(to_keys(x) if is_key(v) else x, v.aval.weak_type) for x, v in zip(arrays, variables)
    ]


def plain(array):
    """The NumPy array of an Array; the words of keys."""
    return to_words(array.npy) if array.npy.dtype == key_storage else array.npy


def scan_in_python(body, eqn):
    """A scan whose body is compiled on its own."""
    p = eqn.params
    n_consts, n_carry, length = p["num_consts"], p["num_carry"], p["length"]
    order = range(length)[::-1] if p["reverse"] else range(length)
    body_vars = body.jaxpr.invars
    row_vars = body_vars[n_consts + n_carry :]
    stacked = [v.aval for v in eqn.outvars[n_carry:]]

    def scan(*arrays):
        args = lifted(arrays[: n_consts + n_carry], body_vars)
        consts, carry = args[:n_consts], args[n_consts : n_consts + n_carry]
        xs = arrays[n_consts + n_carry :]
        ys = [np.empty(a.shape, a.dtype) for a in stacked]
        for i in order:
            outs = body([*consts, *carry, *lifted([x[i] for x in xs], row_vars)])
            carry = outs[:n_carry]
            for y, row in zip(ys, outs[n_carry:]):
                y[i] = plain(row)
        return [*map(plain, carry), *ys]

    return scan


def while_in_python(cond, body, eqn):
    """A while loop whose programs are compiled on their own."""
    n_cond, n_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]

    def loop(*arrays):
        args = lifted(arrays[:n_cond], cond.jaxpr.invars)
        args += lifted(arrays[n_cond:], body.jaxpr.invars)
        cond_consts, body_consts = args[:n_cond], args[n_cond : n_cond + n_body]
        carry = args[n_cond + n_body :]
        while cond([*cond_consts, *carry])[0].npy:
            carry = body([*body_consts, *carry])
        return list(map(plain, carry))

    return loop


def cond_in_python(branches, eqn):
    """A choice between programs that are compiled on their own."""

    def choose(index, *arrays):
        last = len(branches) - 1
        k = int(index)
        chosen = branches[k if 0 <= k <= last else last]
        return list(map(plain, chosen(lifted(arrays, chosen.jaxpr.invars))))

    return choose
