"""What each primitive does to keys: the Effects that key_flow.py puts together.

The rules are JAX's: drawing, splitting and taking rows consume; fold_in and clone do not; an
operation that nobody has a rule for consumes all keys that it gets.
"""

import numpy as np

from tinyjax.core import Jaxpr
from tinyjax.transforms.key_flow import MOVERS, Effect, flow_through, is_typed
from tinyjax.transforms.key_messages import in_loop

FORWARD = Effect(forwards=((0, 0),))
NOTHING = Effect()

FIXED = {
    "random_bits": Effect(sinks=((0, None, None),)),
    "random_gamma": Effect(sinks=((0, None, None),)),
    "random_split": Effect(sinks=((0, None, None),), fresh=(0,)),
    "random_seed": Effect(fresh=(0,)),
    "random_fold_in": Effect(fresh=(0,)),
    "random_clone": Effect(fresh=(0,)),
    "random_wrap": FORWARD,
    "dynamic_update_slice": Effect(sinks=((1, None, None),), forwards=((0, 0),)),
    "scatter": Effect(sinks=((2, None, None),), forwards=((0, 0),)),
}
FIXED |= dict.fromkeys(MOVERS, FORWARD)
FIXED |= dict.fromkeys(["dynamic_slice", "gather", "convert_element_type"], FORWARD)
FIXED |= dict.fromkeys(["random_unwrap", "eq", "ne", "debug_callback", "debug_print"], NOTHING)

JOINERS = {"concatenate", "stack", "tile", "select_n", "pad"}  # new arrays of all operands' keys
CUTTERS = {"split", "unstack"}
CALLS = {"jit": "jaxpr", "composite": "jaxpr", "pmap": "jaxpr", "remat2": "jaxpr"}
CALLS |= {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}


def rules(prim, avals, params):
    """The Effect of an operation on operands of these types."""
    name = prim.name
    if name == "slice" and is_typed(avals[0]):
        return of_slice(avals[0], **params)
    if name in FIXED:
        return FIXED[name]
    if name in JOINERS:
        return Effect(consume_all(avals), fresh=(0,))
    if name in CUTTERS:
        return Effect(consume_all(avals), fresh=range(avals[0].size))
    special = LOOPS.get(name)
    if special:
        return special(avals, params)
    program = params.get(CALLS.get(name))
    if isinstance(program, Jaxpr):
        return of_call(name, avals, params, program)
    return Effect(consume_all(avals))


def consume_all(avals):
    """Sinks for all operands that are keys."""
    return tuple((i, None, None) for i, a in enumerate(avals) if is_typed(a))


def of_slice(aval, *, start_indices, limit_indices, strides):
    """The rows that are taken are consumed in the array, and new in the result."""
    mask = np.zeros(aval.shape, bool)
    steps = strides or (1,) * len(start_indices)
    mask[tuple(map(slice, start_indices, limit_indices, steps))] = True
    return Effect(((0, mask, None),), fresh=(0,))


# ---- programs -----------------------------------------------------------------------------------

effect_of = flow_through(rules)


def of_call(name, avals, params, jaxpr):
    """A call consumes what its program does; the line is that of the call."""
    if params.get("differentiated"):
        return NOTHING  # the same numbers once more: nothing new is drawn
    effect = effect_of(jaxpr)
    mapped = name == "pmap"  # keys of one device have no places in the operand
    sinks = tuple((where, None if mapped else mask, None) for where, mask, _ in effect.sinks)
    return effect._replace(sinks=sinks)


def of_cond(avals, params):
    """What any of the branches consumes is consumed."""
    effects = [effect_of(branch) for branch in params["branches"]]
    sinks = {}
    for effect in effects:
        for where, mask, use in effect.sinks:
            where = where + 1 if isinstance(where, int) else where
            number = where if isinstance(where, int) else id(where)
            before = sinks.get(number)
            sinks[number] = where, mask | before[1] if before else mask, use
    fresh = {k for effect in effects for k in effect.fresh}
    forwards = set.intersection(*[set(effect.forwards) for effect in effects])
    shifted = tuple((i + 1, k) for i, k in sorted(forwards))
    return Effect(tuple(sinks.values()), tuple(sorted(fresh)), shifted)


def of_scan(avals, params):
    """A body may consume a key that it captured never, a key that it carries if it makes it new."""
    jaxpr, num_consts = params["jaxpr"], params["num_consts"]
    num_carry = params["num_carry"]
    effect = effect_of(jaxpr)
    again = "scan body function leads to key reuse when repeatedly executed, because "
    sinks = []
    for where, mask, use in effect.sinks:
        if not isinstance(where, int) or where < num_consts:
            raise in_loop(again + "key constants are repeatedly consumed.", use.source)
        place = where - num_consts
        if place >= num_carry:  # one row in each step: in the end, all of them
            mask = np.broadcast_to(mask, avals[where].shape)
        elif place not in effect.fresh:
            raise in_loop(again + "consumed inputs don't match sourced outputs.", use.source)
        sinks.append((where, mask, None))
    return effect._replace(sinks=tuple(sinks))


def of_while(avals, params):
    """As scan; predicate and body get the same keys, so only one of them may consume one."""
    cond, body = effect_of(params["cond_jaxpr"]), effect_of(params["body_jaxpr"])
    num_cond, num_body = params["cond_nconsts"], params["body_nconsts"]
    consumed = {}
    for name, effect, skip in (("cond", cond, num_cond), ("body", body, num_body)):
        again = f"while_loop {name} function leads to key reuse when repeatedly executed."
        for where, mask, use in effect.sinks:
            place = where - skip if isinstance(where, int) else -1
            if place < 0 or place not in body.fresh:
                raise in_loop(again, use.source)
            if consumed.setdefault(place, (name, mask))[0] != name:
                raise in_loop("while_loop cond and body functions both use the same key.",
                              use.source)  # fmt: skip
    sinks = tuple((num_cond + num_body + p, mask, None) for p, (_, mask) in consumed.items())
    forwards = tuple((i + num_cond, k) for i, k in body.forwards)
    return Effect(sinks, body.fresh, forwards)


LOOPS = {"cond": of_cond, "scan": of_scan, "while": of_while}
