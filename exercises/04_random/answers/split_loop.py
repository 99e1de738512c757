# The card of the exercise split_loop. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # A walk with a key for each step
#
# A random walk starts at 0. Each step is one number from `jax.random.normal`, and is added to the
# position. The walk ends as soon as the position is beyond `limit`: above `limit` or below
# `-limit`. So nobody knows how many steps it takes, and how many keys.
#
# Write `walk(key, limit)`. Return the positions after each step, the last one too, as a list of
# numbers. In each step, split the key in two: go on with the first of the new keys, and draw
# from the second. Never use a key twice.
#
# `walk(jax.random.key(6), 2.0)` returns about `[-0.8673, -1.7844, -2.0576]`.
#
# Run this file, or `tinyjax check split_loop`, to see whether it is right.

# %% given
import tinyjax as jax


# %% stub
def walk(key, limit):
    """The positions of a random walk, up to the first one beyond the limit."""
    raise NotImplementedError


# %% [markdown] hint
# If two steps draw from the same key, what do you know about the two numbers?

# %% [markdown] hint
# `jax.random.split(key)` makes two new keys, and the old one is used up. One of the new keys
# takes the place of the old one for the next step. The other is for the draw of this step.

# %% [markdown] hint
#     def walk(key, limit):
#         position, positions = 0.0, []
#         while abs(position) <= limit:
#             ..., ... = jax.random.split(key)
#             position = position + jax.random.normal(...)
#             positions.append(position)
#         return positions

# %% checks
import warnings
from contextlib import contextmanager

import numpy as np

import tinyjax as jax
from tinyjax.learn import check


def draw(rng):
    """A seed and how far the walk may go."""
    return {"seed": int(rng.integers(1, 10_000)), "limit": round(rng.uniform(2.0, 3.5), 2)}


@contextmanager
def uncounted():
    """Keys may be used twice in here: only the numbers count."""
    with warnings.catch_warnings(), jax.debug_key_reuse(False):
        warnings.simplefilter("ignore")
        yield


@check("the positions of the walk")
def positions(student, seed, limit):
    with uncounted():
        return list(student.walk(jax.random.key(seed), limit))


@check("no key is used twice")
def once(student, seed, limit):
    with uncounted():
        *_, end = student.walk(jax.random.key(seed), limit)
    try:
        with jax.debug_key_reuse(True):
            walked = np.array(student.walk(jax.random.key(seed), limit))
    except Exception as error:  # a reuse: say in which walk, as each mistake makes another one
        error.args = (f"in the walk to {float(end):.2f}: {error}",)
        raise
    steps = np.diff(walked, prepend=0.0)
    same = len(steps) - len(np.unique(steps.round(4)))
    return [f"steps that came up before: {same}", f"numbers in a position: {walked[0].size}"]


# %% reference
def walk(key, limit):
    """The positions of a random walk, up to the first one beyond the limit."""
    position, positions = 0.0, []
    while abs(position) <= limit:
        key, subkey = jax.random.split(key)  # the old key is gone, so it cannot be used again
        position = position + jax.random.normal(subkey)
        positions.append(position)
    return positions


# %% right: recursion
def walk(key, limit, start=0.0):
    key, subkey = jax.random.split(key)
    position = start + jax.random.normal(subkey)
    return [position] if abs(position) > limit else [position, *walk(key, limit, position)]


# %% right: a generator of steps
from itertools import accumulate


def steps(key):
    while True:
        key, subkey = jax.random.split(key)
        yield float(jax.random.normal(subkey))


def walk(key, limit):
    positions = []
    for position in accumulate(steps(key)):
        positions.append(position)
        if not -limit <= position <= limit:
            break
    return tuple(positions)


# %% right: the two new keys by fold_in
def walk(key, limit):
    positions = [0.0]
    while abs(positions[-1]) <= limit:
        step = jax.random.normal(jax.random.fold_in(key, 1))
        positions.append(positions[-1] + step)
        key = jax.random.fold_in(key, 0)
    return positions[1:]


# %% right: a class with the key as its state
class Walker:
    def __init__(self, key):
        self.keys, self.x = [key], 0.0

    def step(self):
        self.keys = jax.random.split(self.keys[0])
        self.x += jax.random.normal(self.keys[1], ())
        return self.x


def walk(key, limit):
    walker, trail = Walker(key), []
    while not trail or abs(trail[-1]) <= limit:
        trail.append(walker.step())
    return trail


# %% wrong: one key for all steps
# You drew every step from the same key: the same key gives the same number, so split it first.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        position = position + jax.random.normal(key)
        positions.append(position)
    return positions


# %% wrong: the old key stays
# You split the same key in every step: that gives the same two keys again, so go on with a new one.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        _, subkey = jax.random.split(key)
        position = position + jax.random.normal(subkey)
        positions.append(position)
    return positions


# %% wrong: draw, then split
# You drew from a key and then split it: that uses it twice, so split first and draw from subkey.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        position = position + jax.random.normal(key)
        positions.append(position)
        key, subkey = jax.random.split(key)
    return positions


# %% wrong: the draw is made from the key that goes on
# You drew from the key that the next step splits: draw from the second new key, not from the first.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        key, subkey = jax.random.split(key)
        position = position + jax.random.normal(key)
        positions.append(position)
    return positions


# %% wrong: the two new keys exchanged
# You exchanged the two new keys: go on with the first one, and draw from the second.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        subkey, key = jax.random.split(key)
        position = position + jax.random.normal(subkey)
        positions.append(position)
    return positions


# %% wrong: one draw to move and one to record
# You drew from the same subkey twice in one step: draw once, and keep the number in a variable.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        key, subkey = jax.random.split(key)
        positions.append(position + jax.random.normal(subkey))
        position = position + jax.random.normal(subkey)
    return positions


# %% wrong: two splits for two keys
# You split the same key twice in one step: one split gives both keys, so take both from it.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        subkey = jax.random.split(key)[1]
        key = jax.random.split(key)[0]
        position = position + jax.random.normal(subkey)
        positions.append(position)
    return positions


# %% wrong: a key of its own
# You made a key of your own: use the one that is handed in, so that another key is another walk.
def walk(key, limit):
    key = jax.random.key(0)
    position, positions = 0.0, []
    while abs(position) <= limit:
        key, subkey = jax.random.split(key)
        position = position + jax.random.normal(subkey)
        positions.append(position)
    return positions


# %% wrong: the number of the step as a seed
# You made a key of the number of the step: such steps are the same in every walk, so split the key.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        position = position + jax.random.normal(jax.random.key(len(positions)))
        positions.append(position)
    return positions


# %% wrong: the number of the step folded in
# You made key i from the first key and i, which is a good way too: here each step splits its key.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        position = position + jax.random.normal(jax.random.fold_in(key, len(positions)))
        positions.append(position)
    return positions


# %% wrong: the steps in place of the positions
# You returned the steps: a position is the sum of all steps so far.
def walk(key, limit):
    position, steps = 0.0, []
    while abs(position) <= limit:
        key, subkey = jax.random.split(key)
        steps.append(jax.random.normal(subkey))
        position = position + steps[-1]
    return steps


# %% wrong: the last position is missing
# You left the last position out: the one beyond the limit belongs to the walk.
def walk(key, limit):
    position, positions = 0.0, []
    while True:
        key, subkey = jax.random.split(key)
        position = position + jax.random.normal(subkey)
        if abs(position) > limit:
            return positions
        positions.append(position)


# %% wrong: the start is recorded
# You put the start, 0, into the list: it begins with the position after the first step.
def walk(key, limit):
    positions = [0.0]
    while abs(positions[-1]) <= limit:
        key, subkey = jax.random.split(key)
        positions.append(positions[-1] + jax.random.normal(subkey))
    return positions


# %% wrong: only above
# Your walk ends only above the limit: below -limit it is over, too.
def walk(key, limit):
    position, positions = 0.0, []
    while position <= limit and len(positions) < 60:
        key, subkey = jax.random.split(key)
        position = position + jax.random.normal(subkey)
        positions.append(position)
    return positions


# %% wrong: uniform numbers
# You drew from another distribution: each step is a number from jax.random.normal.
def walk(key, limit):
    position, positions = 0.0, []
    while abs(position) <= limit:
        key, subkey = jax.random.split(key)
        position = position + jax.random.uniform(subkey)
        positions.append(position)
    return positions


# %% wrong: split once, before the loop
# You split once, before the loop: all steps then draw from one subkey, so split in each step.
def walk(key, limit):
    key, subkey = jax.random.split(key)
    position, positions = 0.0, []
    while abs(position) <= limit:
        position = position + jax.random.normal(subkey)
        positions.append(position)
    return positions
