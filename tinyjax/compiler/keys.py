"""Random keys inside programs: an array of keys becomes an array of words, uint32[..., 2].

Kernels then move keys like other arrays, and the hash (Threefry-2x32) is lines of a kernel.
"""

import functools

import numpy as np

from tinyjax.array import Array
from tinyjax.avals import ShapedArray
from tinyjax.core import JaxprEqn, Literal, Primitive, Var
from tinyjax.dtypes import key_fry, key_storage

# ---- keys and words -----------------------------------------------------------------------------


def is_key(atom):
    """Whether a variable holds keys."""
    return atom.aval.dtype is key_fry


def to_words(keys):
    """The words of an array of keys."""
    return np.ascontiguousarray(keys["key"])


def to_keys(words):
    """An array of keys with these words."""
    words = np.ascontiguousarray(words)
    return words.view(key_storage).reshape(words.shape[:-1])


def words_aval(aval):
    """The type of the words of keys."""
    return ShapedArray((*aval.shape, 2), np.dtype(np.uint32))


# ---- equations ----------------------------------------------------------------------------------


class Hash(Primitive):
    """What the hash is for: random_bits, random_split, random_fold_in, random_seed, on words."""


class OnKeys(Primitive):
    """An equation between keys that kernels do not know: words become keys for it, and back."""

    def __init__(self, eqn):
        super().__init__(f"keys_{eqn.primitive.name}")
        self.eqn, self.multi = eqn, True

    def call(self, run, *arrays):
        """run(equation, arrays), on words."""
        arrays = [to_keys(x) if is_key(v) else x for x, v in zip(arrays, self.eqn.invars)]
        outs = run(self.eqn, arrays)
        return [to_words(x) if is_key(v) else x for x, v in zip(outs, self.eqn.outvars)]


HASHES = {n: Hash(n) for n in ("random_bits", "random_split", "random_fold_in", "random_seed")}
LOOPS = ("scan", "while", "cond")
SAME = ("random_wrap", "random_unwrap", "random_clone", "copy", "copy_p")


def lower_keys(invars, consts, eqns, outvars):
    """Replace keys by words in a flat program -> its four parts."""
    everything = [*invars, *consts, *outvars, *(v for e in eqns for v in (*e.invars, *e.outvars))]
    if not any(map(is_key, everything)):
        return invars, consts, eqns, outvars
    env = {}

    def word(atom):
        if isinstance(atom, Literal):
            return atom
        if atom not in env:
            env[atom] = Var(words_aval(atom.aval)) if is_key(atom) else atom
        return env[atom]

    new_consts = {word(v): to_words(x) if is_key(v) else x for v, x in consts.items()}
    new_eqns = []
    for eqn in eqns:
        if not any(map(is_key, (*eqn.invars, *eqn.outvars))):
            new_eqns.append(eqn.replace(invars=list(map(word, eqn.invars))))
        elif eqn.primitive.name in SAME:
            env[eqn.outvars[0]] = word(eqn.invars[0])
        else:
            new_eqns.append(lower_equation(eqn, word))
    return list(map(word, invars)), new_consts, new_eqns, list(map(word, outvars))


def lower_equation(eqn, word):
    """One equation on words."""
    name = eqn.primitive.name
    operands, results = list(map(word, eqn.invars)), list(map(word, eqn.outvars))
    if name in HASHES:
        return JaxprEqn(HASHES[name], operands, eqn.params, results)
    if name in LOOPS:
        return eqn.replace(invars=operands, outvars=results)
    move = MOVES.get(name)
    if move is not None:
        params = eqn.params | move(eqn, operands)
        return JaxprEqn(eqn.primitive, operands, params, results)
    return JaxprEqn(OnKeys(eqn), operands, {}, results)


def last_axis(**more):
    """How parameters grow by an axis of size 2: by what is added to each of them."""
    return lambda eqn, operands: {k: add(eqn, eqn.params[k]) for k, add in more.items()}


def appended(value):
    """Add a value at the end of a tuple."""
    return lambda eqn, old: old if old is None else (*old, value)


def own_rank(eqn, old):
    """Add the number of the new last axis."""
    return (*old, len(eqn.outvars[0].aval.shape))


def from_start(eqn, operands):
    """Add a start index of 0 for the words."""
    first = operands[-1].aval if len(operands) > 1 else None
    dtype = first.dtype if first is not None else np.dtype(np.int32)
    operands.append(zero(dtype))
    if eqn.primitive.name == "dynamic_slice":
        return {"slice_sizes": (*eqn.params["slice_sizes"], 2)}
    return {}


@functools.cache
def zero(dtype):
    """The number 0."""
    return Literal(Array(np.zeros((), dtype), literal=True))


MOVES = {
    "broadcast_in_dim": last_axis(shape=appended(2), broadcast_dimensions=own_rank),
    "reshape": last_axis(new_sizes=appended(2)),
    "squeeze": last_axis(),
    "transpose": last_axis(permutation=own_rank),
    "slice": last_axis(start_indices=appended(0), limit_indices=appended(2), strides=appended(1)),
    "rev": last_axis(),
    "concatenate": last_axis(),
    "split": last_axis(),
    "dynamic_slice": from_start,
    "dynamic_update_slice": from_start,
}
