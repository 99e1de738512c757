"""debug_key_reuse: with this flag on, a random key may be consumed once.

Drawing numbers and splitting consume a key; fold_in and clone do not. A key is an object here: an
Array, or a tracer while a function is traced. A jitted function consumes what its program does.
"""

import weakref

from tinyjax.config import current_flags
from tinyjax.core import Var, inner_jaxprs, memo
from tinyjax.dtypes import key_fry
from tinyjax.errors import KeyReuseError
from tinyjax.primitives.random_bits import random_bits_p, random_split_p
from tinyjax.primitives.random_gamma import random_gamma_p
from tinyjax.printer import install

CONSUMERS = (random_bits_p, random_split_p, random_gamma_p)

_consumed: dict = {}  # id(key) -> a weak reference to it


def consume(key, what, index=0):
    """Note that a key is used; KeyReuseError if it was before."""
    if key.dtype != key_fry:
        return
    known = _consumed.get(id(key))
    if known is not None and known() is key:
        raise KeyReuseError(
            f"Previously-consumed key passed to {what} at index {index}: numbers drawn from one "
            "key are always the same. Make new keys with jax.random.split or fold_in; if it is on "
            "purpose, use jax.random.clone(key)."
        )
    number = id(key)
    _consumed[number] = weakref.ref(key, lambda _: _consumed.pop(number, None))


def consume_inputs(jaxpr, values, name):
    """Use all keys that a program consumes."""
    for i, (x, used) in enumerate(zip(values, consumed_inputs(jaxpr))):
        if used:
            consume(x, f"jit-compiled function {name}", i)


@memo
def consumed_inputs(jaxpr):
    """A mask of the inputs that are keys which the program uses."""
    used = set()
    for eqn in jaxpr.eqns:
        if eqn.primitive in CONSUMERS:
            used.add(eqn.invars[0])
        if eqn.primitive.name == "while":
            continue  # its keys are carried, and new ones in every step
        for inner in inner_jaxprs(eqn.params):
            operands = eqn.invars[len(eqn.invars) - len(inner.invars) :]
            used.update(v for v, u in zip(operands, consumed_inputs(inner)) if u)
    return [isinstance(v, Var) and v in used for v in jaxpr.invars]


def watched(prim):
    """bind of a primitive that consumes its first operand."""
    plain = prim.bind

    def bind(*args, **params):
        if current_flags().debug_key_reuse:
            consume(args[0], str(prim))
        return plain(*args, **params)

    return bind


for _prim in CONSUMERS:
    install(_prim, bind=watched(_prim))
