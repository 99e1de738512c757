# The card of the exercise out_of_bounds. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 15

# %% [markdown] statement
# # Read beyond the end, and see it
#
# `x[10]` raises no error when `x` has five elements: you get the last one. That hides mistakes.
#
# Write `look_up(table, positions, default)`. `table` has the shape `(n,)` and the dtype float32;
# `positions` is an array of integers. Return an array of float32 with the element of `table` at
# each position, and `default` (a number) where `table` has no such position. Positions count as in
# Python: from 0 to `n - 1`, and from the end with -1 down to `-n`. For `table = [5.0, 6.0, 7.0]`,
# `positions = [0, 3, -1, -4]` and `default = 0.5` the result is `[5.0, 0.5, 7.0, 0.5]`.
#
# Run this file, or `tinyjax check out_of_bounds`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def look_up(table, positions, default):
    """The elements of `table` at `positions`; `default` where there is none."""
    raise NotImplementedError


# %% [markdown] hint
# What does `table[positions]` give for a position beyond the end, and which method after `at[...]`
# lets you say what you want instead?

# %% [markdown] hint
# `get` reads, as `x[...]` does, but it takes a `mode`. The mode `"fill"` puts a fill value of your
# choice wherever an index is out of bounds. (`jnp.where` with a condition on `positions` works as
# well; then think of both ends.)

# %% [markdown] hint
#     def look_up(table, positions, default):
#         return table.at[...].get(mode=..., fill_value=...)

# %% checks
import numpy as np

from tinyjax.learn import check


def draw_common(rng):
    """A table of numbers that are all different, and a default that is not among them."""
    n = int(rng.integers(4, 8))
    numbers = rng.permutation(np.arange(1, 30))[:n] + 0.25
    return n, {"table": numbers.astype(np.float32), "default": -float(rng.integers(3, 90)) - 0.5}


def draw(rng):
    """Positions from the start: inside, just beyond the end, and far beyond it."""
    n, drawn = draw_common(rng)
    inside = rng.integers(0, n, size=2)
    positions = rng.permutation([*inside, n, n + int(rng.integers(1, n)), 100])
    return drawn | {"positions": positions.astype(np.int32)}


def draw_both_ends(rng):
    """Positions from the end: inside, just before the start and far before it; and two others."""
    n, drawn = draw_common(rng)
    inside = [-1, -n, -int(rng.integers(2, n)), int(rng.integers(0, n - 1))]
    positions = rng.permutation([*inside, -n - 1, -100, n + 2])
    return drawn | {"positions": positions.astype(np.int32)}


@check("positions from the start")
def from_the_start(student, table, positions, default):
    return student.look_up(table, positions, default)


@check("positions from the end as well", draw=draw_both_ends)
def from_the_end(student, table, positions, default):
    return student.look_up(table, positions, default)


# %% reference
def look_up(table, positions, default):
    """The elements of `table` at `positions`; `default` where there is none."""
    return table.at[positions].get(mode="fill", fill_value=default)


# %% right: where, with both ends
def look_up(table, positions, default):
    n = table.shape[0]
    inside = (positions >= -n) & (positions < n)
    return jnp.where(inside, table[positions], default)


# %% right: the default in the dtype of the table
def look_up(table, positions, default):
    n = table.shape[0]
    ok = (positions >= -n) & (positions < n)
    return jnp.where(ok, table[positions], jnp.asarray(default).astype(table.dtype))


# %% right: a longer table
def look_up(table, positions, default):
    n = table.size
    longer = jnp.concatenate([table, jnp.array([default])])
    counted = jnp.where(positions < 0, positions + n, positions)
    return longer[jnp.where((counted < 0) | (counted >= n), n, counted)]


# %% right: a loop and Python's own lists
def look_up(table, positions, default):
    numbers = table.tolist()
    found = []
    for position in positions.tolist():
        try:
            found.append(numbers[position])
        except IndexError:
            found.append(default)
    return found


# %% right: one position at a time, with vmap
def look_up(table, positions, default):
    def one(position):
        return table.at[position].get(mode="fill", fill_value=default)

    return jax.vmap(one)(positions)


# %% right: a product with ones and zeros
def look_up(table, positions, default):
    n = len(table)
    counted = jnp.where(positions < 0, positions + n, positions)
    hits = counted[:, None] == jnp.arange(n)
    return jnp.where(hits.any(axis=1), hits @ table, default)


# %% wrong: plain reading
# You got the nearest element for a missing position: plain reading clips, and default is wanted.
def look_up(table, positions, default):
    return table[positions]


# %% wrong: not a number
# You got nan for the missing ones: the mode "fill" takes nan unless you give it a fill_value.
def look_up(table, positions, default):
    return table.at[positions].get(mode="fill")


# %% wrong: the remainder
# You let the positions go round in a circle with %: a position beyond the end is to give default.
def look_up(table, positions, default):
    return table[positions % table.shape[0]]


# %% wrong: the missing ones are left out
# You left the missing ones out: the result has one element for each position.
def look_up(table, positions, default):
    n = table.shape[0]
    return table[positions[(positions >= -n) & (positions < n)]]


# %% wrong: whole numbers
# You cut the numbers down to integers: table and default are float32, and so is the result.
def look_up(table, positions, default):
    found = table.at[positions].get(mode="fill", fill_value=default)
    return found.astype(jnp.int32)


# %% wrong: one too many
# You took position n for one of the table: the last one is n - 1.
def look_up(table, positions, default):
    n = table.shape[0]
    return jnp.where((positions >= -n) & (positions <= n), table[positions], default)


# %% wrong: only beyond the end
# You looked at one end only: a position below -n is out of bounds as well.
def look_up(table, positions, default):
    return jnp.where(positions < table.shape[0], table[positions], default)


# %% wrong: only before the start
# You looked at the lower end only: a position of n or more is out of bounds as well.
def look_up(table, positions, default):
    return jnp.where(positions >= -table.shape[0], table[positions], default)


# %% wrong: no negative positions
# You refused all negative positions: -1 is the last element, as in Python, and -n is the first.
def look_up(table, positions, default):
    inside = (positions >= 0) & (positions < table.shape[0])
    return jnp.where(inside, table[positions], default)


# %% wrong: one for all
# You gave default for all of them as soon as one was missing: decide for each position.
def look_up(table, positions, default):
    n = table.shape[0]
    if jnp.any((positions >= n) | (positions < -n)):
        return jnp.full(positions.shape, default)
    return table[positions]


# %% wrong: the wrong way round
# You have the two sides of where the wrong way round: where(condition, if true, if false).
def look_up(table, positions, default):
    n = table.shape[0]
    return jnp.where((positions >= -n) & (positions < n), default, table[positions])
