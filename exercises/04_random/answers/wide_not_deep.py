# The card of the exercise wide_not_deep. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 15

# %% [markdown] statement
# # From a deep tree of keys to a wide one
#
# `deep_walks` lets some walkers take some random steps each. Every step has a key of its own, but
# all keys hang in one long chain: each walk has to wait for the keys of all walks before it.
#
# Write `walks(key, walkers, steps)`, which does it with one level of keys:
#
# - Walker `i` gets key `i` of `jax.random.split(key, walkers)`, and no other key.
# - One draw from this key gives all steps of the walker: `jax.random.normal`, shape `(steps,)`.
# - A position is the sum of the steps so far. All walkers start at 0.
#
# The result has the shape `(walkers, steps)`. `walks(jax.random.key(0), 2, 3)` is about
# `[[1.004, 0.0977, -0.6505], [-2.4425, -4.4781, -4.2726]]`. Use `jnp`, not NumPy: your function is
# traced, to see how deep its tree of keys is.
#
# Run this file, or `tinyjax check wide_not_deep`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


def deep_walks(key, walkers, steps):
    """The positions of random walkers after each step, with a chain of keys."""
    table = []
    for _ in range(walkers):
        position, row = 0.0, []
        for _ in range(steps):
            key, subkey = jax.random.split(key)
            position = position + jax.random.normal(subkey)
            row.append(position)
        table.append(jnp.stack(row))
    return jnp.stack(table)


# %% stub
def walks(key, walkers, steps):
    """The positions of random walkers after each step, with one level of keys."""
    raise NotImplementedError


# %% [markdown] hint
# How would you write the walk of a single walker that has a key and draws all steps at once?

# %% [markdown] hint
# `jax.random.split(key, walkers)` is an array of keys. `jax.vmap` maps a function of one key over
# it, or you loop over it. `jnp.cumsum` makes positions of steps.

# %% [markdown] hint
#     def walks(key, walkers, steps):
#         def one(key):
#             return jnp.cumsum(...)
#
#         return jax.vmap(one)(...)

# %% checks
import warnings
from contextlib import contextmanager

import tinyjax as jax
from tinyjax.learn import check

seconds = 30.0  # some will use jit or scan, which compile


def draw(rng):
    """A seed, some walkers and another number of steps."""
    walkers = int(rng.integers(2, 5))
    return {
        "seed": int(rng.integers(1, 10_000)),
        "walkers": walkers,
        "steps": walkers + int(rng.integers(1, 4)),
    }


def levels(jaxpr, entering):
    """For each result of a program, how many splits of keys lie before it."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    depth = dict(zip(jaxpr.invars, entering))
    depth.update(dict.fromkeys(jaxpr.constvars, 0))
    for eqn in jaxpr.eqns:
        into = [0 if hasattr(v, "val") else depth[v] for v in eqn.invars]
        if "jaxpr" in eqn.params and eqn.primitive.name != "scan":
            out = levels(eqn.params["jaxpr"], into)
        elif eqn.primitive.name == "scan":
            out = rounds(eqn.params, into)
        else:
            deeper = eqn.primitive.name in ("random_split", "random_fold_in")
            out = [max(into, default=0) + deeper] * len(eqn.outvars)
        depth.update(zip(eqn.outvars, out))
    return [0 if hasattr(v, "val") else depth[v] for v in jaxpr.outvars]


def rounds(params, into):
    """The same for a loop: each round starts from what the one before left."""
    consts, carried = params["num_consts"], params["num_carry"]
    carry, total = into[consts : consts + carried], None
    for _ in range(params["length"]):
        out = levels(params["jaxpr"], [*into[:consts], *carry, *into[consts + carried :]])
        carry, ys = out[:carried], out[carried:]
        total = ys if total is None else list(map(max, total, ys))
    return [*carry, *(total or [])]


@contextmanager
def uncounted():
    """Keys may be used twice in here: only the numbers count."""
    with warnings.catch_warnings(), jax.debug_key_reuse(False):
        warnings.simplefilter("ignore")
        yield


@check("the positions of the walkers")
def positions(student, seed, walkers, steps):
    with uncounted():
        return student.walks(jax.random.key(seed), walkers, steps)


@check("one level of keys, each used once")
def wide(student, seed, walkers, steps):
    key = jax.random.key(seed)
    with jax.debug_key_reuse(True):
        rows = len(student.walks(key, walkers, steps))
    program = jax.make_jaxpr(student.walks, static_argnums=(1, 2))(key, walkers, steps)
    return {"rows": rows, "levels of keys": max(levels(program, [0]))}


# %% reference
def walks(key, walkers, steps):
    """The positions of random walkers after each step, with one level of keys."""

    def one(key):  # one walker knows nothing of the others
        return jnp.cumsum(jax.random.normal(key, (steps,)))

    return jax.vmap(one)(jax.random.split(key, walkers))


# %% right: a loop over the keys
def walks(key, walkers, steps):
    rows = [jax.random.normal(k, (steps,)) for k in jax.random.split(key, walkers)]
    return jnp.cumsum(jnp.stack(rows), axis=1)


# %% right: the keys by fold_in
def walks(key, walkers, steps):
    keys = [jax.random.fold_in(key, i) for i in range(walkers)]
    return jnp.stack([jax.random.normal(k, (steps,)).cumsum() for k in keys])


# %% right: a matrix product for the sums
def walks(key, walkers, steps):
    draw = jax.vmap(lambda k: jax.random.normal(k, (steps,)))
    return draw(jax.random.split(key, walkers)) @ jnp.triu(jnp.ones((steps, steps)))


# %% right: a class, and vmap over the numbers of the walkers
class Walker:
    def __init__(self, clé, steps):
        self.clé, self.steps = clé, steps

    def __call__(self, i):
        return jnp.cumsum(jax.random.normal(jax.random.fold_in(self.clé, i), (self.steps,)))


def walks(key, walkers, steps):
    return jax.vmap(Walker(key, steps))(jnp.arange(walkers))


# %% wrong: the chain
# You used the chain: each of its keys waits for the one before, so split once, into all keys.
walks = deep_walks


# %% wrong: a chain of one key for each walker
# You split off one key for each walker in a chain: make all of them in one split(key, walkers).
def walks(key, walkers, steps):
    rows = []
    for _ in range(walkers):
        key, subkey = jax.random.split(key)
        rows.append(jnp.cumsum(jax.random.normal(subkey, (steps,))))
    return jnp.stack(rows)


# %% wrong: a key for each step, too
# You split the key of each walker again for its steps: one draw of shape (steps,) needs one key.
def walks(key, walkers, steps):
    def one(key):
        return jnp.cumsum(jax.vmap(jax.random.normal)(jax.random.split(key, steps)))

    return jax.vmap(one)(jax.random.split(key, walkers))


# %% wrong: a key for each step
# You made a key for each step: make one for each walker, and draw all its steps at once.
def walks(key, walkers, steps):
    keys = jax.random.split(key, (walkers, steps))
    return jnp.cumsum(jax.vmap(jax.vmap(jax.random.normal))(keys), axis=1)


# %% wrong: the same split for every walker
# You split the same key again for each walker: split once, before the loop, and take key i of it.
def walks(key, walkers, steps):
    rows = []
    for i in range(walkers):
        rows.append(jnp.cumsum(jax.random.normal(jax.random.split(key, walkers)[i], (steps,))))
    return jnp.stack(rows)


# %% wrong: one key for all walkers
# You gave the same key to every walker: then all take the same steps, so give each its own key.
def walks(key, walkers, steps):
    def one(key, _):
        return jnp.cumsum(jax.random.normal(key, (steps,)))

    return jax.vmap(one, in_axes=(None, 0))(key, jnp.arange(walkers))


# %% wrong: one key in a loop
# You drew again and again from one key, which gives the same steps: use the keys of a split.
def walks(key, walkers, steps):
    return jnp.stack([jnp.cumsum(jax.random.normal(key, (steps,))) for _ in range(walkers)])


# %% wrong: one draw for all
# You drew everything from one key: each walker is to have its own, key i of the split.
def walks(key, walkers, steps):
    return jnp.cumsum(jax.random.normal(key, (walkers, steps)), axis=1)


# %% wrong: a key of its own
# You made a key of your own: use the one that is handed in, so that another key is another walk.
def walks(key, walkers, steps):
    keys = jax.random.split(jax.random.key(0), walkers)
    return jax.vmap(lambda k: jnp.cumsum(jax.random.normal(k, (steps,))))(keys)


# %% wrong: seeds in place of keys
# You made a key of each walker's number: such keys are the same in every call, so split the key.
def walks(key, walkers, steps):
    rows = [jax.random.normal(jax.random.key(i), (steps,)) for i in range(walkers)]
    return jnp.cumsum(jnp.stack(rows), axis=1)


# %% wrong: the first key is left out
# You left the first new key out and took one more at the end: walker i gets key i.
def walks(key, walkers, steps):
    _, *keys = jax.random.split(key, walkers + 1)
    return jnp.stack([jnp.cumsum(jax.random.normal(k, (steps,))) for k in keys])


# %% wrong: steps, not positions
# You returned the steps: a position is the sum of all steps so far.
def walks(key, walkers, steps):
    keys = jax.random.split(key, walkers)
    return jax.vmap(lambda k: jax.random.normal(k, (steps,)))(keys)


# %% wrong: sums over the walkers
# You summed over the walkers: the sums go along the steps of each walker, axis 1.
def walks(key, walkers, steps):
    keys = jax.random.split(key, walkers)
    return jnp.cumsum(jax.vmap(lambda k: jax.random.normal(k, (steps,)))(keys), axis=0)


# %% wrong: sums over everything
# You summed over the whole table: without an axis, cumsum goes on from one walker to the next.
def walks(key, walkers, steps):
    keys = jax.random.split(key, walkers)
    return jnp.cumsum(jax.vmap(lambda k: jax.random.normal(k, (steps,)))(keys))


# %% wrong: the axes exchanged
# You exchanged the two axes: the first one is that of the walkers.
def walks(key, walkers, steps):
    def one(key):
        return jnp.cumsum(jax.random.normal(key, (steps,)))

    return jax.vmap(one, out_axes=1)(jax.random.split(key, walkers))


# %% wrong: a walker for each step
# You split into a key for each step: it is the walkers who get keys of their own.
def walks(key, walkers, steps):
    keys = jax.random.split(key, steps)
    return jnp.cumsum(jax.vmap(lambda k: jax.random.normal(k, (walkers,)))(keys), axis=0).T


# %% wrong: NumPy in a traced function
# You handed the numbers to NumPy, which cannot take part in a traced program: use jnp.
def walks(key, walkers, steps):
    import numpy as np

    rows = [np.asarray(jax.random.normal(k, (steps,))) for k in jax.random.split(key, walkers)]
    return np.cumsum(rows, axis=1)
