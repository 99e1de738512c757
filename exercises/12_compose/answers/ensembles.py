# The card of the exercise ensembles. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # A list of models becomes an ensemble
#
# Somebody has trained some networks, one after the other, and hands them over as a list. Each is a
# dict of parameters, with the same names and shapes. `network(params, x)` asks one of them about
# one number `x`. Ask all of them about many numbers. Write three functions for that.
#
# - `stack(members)` makes one dict of the list. Each of its arrays has a new first axis, on which
#   the members lie in their order.
# - `answers(stacked, xs)` asks all members about all numbers. The result has the shape
#   `(members, numbers)`. The program must not get longer with the number of members.
# - `on_devices(stacked, xs)` does the same on 4 devices with `jax.pmap`, each for a quarter of the
#   members: the first quarter on the first device, and so on. The result has the shape
#   `(4, members / 4, numbers)`. The number of members can be divided by 4.
#
# If `members` is `[{"w": [1., 2.], ...}, {"w": [3., 4.], ...}]`, then `stack(members)["w"]` is the
# array `[[1., 2.], [3., 4.]]`.
#
# Run this file, or `tinyjax check ensembles`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


def network(params, x):
    """One number in, one out."""
    return jnp.tanh(params["w"] * x + params["b"]) @ params["v"]


# %% stub
def stack(members):
    """One dict of parameters with a new first axis, of a list of such dicts."""
    raise NotImplementedError


def answers(stacked, xs):
    """What each member says to each number: shape (members, numbers)."""
    raise NotImplementedError


def on_devices(stacked, xs):
    """The same on 4 devices: shape (4, members / 4, numbers)."""
    raise NotImplementedError


# %% [markdown] hint
# Read from the inside: `network` takes one dict and one number. What does it take after `vmap` over
# the numbers, and what after another `vmap` over the members?

# %% [markdown] hint
# `jax.tree.map` walks over several trees at once: `jax.tree.map(f, *members)` calls `f` with the
# arrays that have the same place in all of them. And `in_axes=(None, 0)` says that the first
# argument stays the same while the second is mapped. For devices, one more axis goes in front.

# %% [markdown] hint
#     def stack(members):
#         return jax.tree.map(lambda *leaves: ..., *members)
#
#
#     def answers(stacked, xs):
#         of_one = jax.vmap(network, in_axes=(..., ...))  # over numbers
#         return jax.vmap(of_one, in_axes=(..., ...))(stacked, xs)
#
#
#     def on_devices(stacked, xs):
#         quarters = jax.tree.map(lambda a: a.reshape(4, -1, ...), stacked)
#         return jax.pmap(answers, in_axes=...)(quarters, xs)

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

devices = 4
seconds = 60.0


def models(rng, count, width):
    """Parameters of some networks, one behind the other in each array."""
    shapes = {"w": (count, width), "b": (count, width), "v": (count, width)}
    return {k: rng.normal(size=s).round(2).astype(np.float32) for k, s in shapes.items()}


def draw(rng):
    """Three networks, and more numbers than that."""
    count, width = int(rng.integers(2, 4)), int(rng.integers(4, 6))
    return {
        "parameters": models(rng, count, width),
        "xs": rng.normal(size=int(rng.integers(5, 7))).round(2).astype(np.float32),
    }


def draw_eight(rng):
    """Eight networks, and three numbers."""
    return {
        "parameters": models(rng, 8, 2),
        "xs": rng.normal(size=3).round(2).astype(np.float32),
    }


def length(jaxpr):
    """How many equations a program has, with those of the programs inside of it."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    total = len(jaxpr.eqns)
    for eqn in jaxpr.eqns:
        for inner in eqn.params.values():
            if hasattr(inner, "jaxpr") or hasattr(inner, "eqns"):
                total += length(inner)
    return total


@check("the stacked parameters")
def stacked_parameters(student, parameters, xs):
    count = len(parameters["w"])
    members = [{k: jnp.array(a[i]) for k, a in parameters.items()} for i in range(count)]
    stacked = student.stack(members)
    return {k: [list(stacked[k].shape), stacked[k]] for k in sorted(stacked)}


@check("the answers")
def all_answers(student, parameters, xs):
    stacked = {k: jnp.array(a) for k, a in parameters.items()}
    return student.answers(stacked, xs)


@check("a program that is no longer for more members", draws=1)
def one_program(student, parameters, xs):
    def run(stacked, xs):
        return jnp.asarray(student.answers(stacked, xs))

    twice = {k: jnp.concatenate([a, a]) for k, a in parameters.items()}
    short, long = jax.make_jaxpr(run)(parameters, xs), jax.make_jaxpr(run)(twice, xs)
    return {
        "results": len(short.jaxpr.outvars),
        "equations (counted up to 3)": min(length(short), 3),  # what computes nothing has none
        "equations more for twice as many members": length(long) - length(short),
    }


def spread(jaxpr):
    """On how many devices each pmap in a program runs."""
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        if eqn.primitive.name == "pmap":
            yield eqn.params["axis_size"]
        elif eqn.primitive.name == "shard_map":  # what JAX makes of a pmap
            yield eqn.params["mesh"].size
        for inner in eqn.params.values():
            if hasattr(inner, "jaxpr") or hasattr(inner, "eqns"):
                yield from spread(inner)


@check("the answers on four devices", draw=draw_eight)
def quarters(student, parameters, xs):
    stacked = {k: jnp.array(a) for k, a in parameters.items()}

    def run(stacked, xs):
        return jnp.asarray(student.on_devices(stacked, xs))

    program = jax.make_jaxpr(run)(stacked, xs)
    return {"devices": max(spread(program), default=1), "answers": run(stacked, xs)}


# %% reference
def stack(members):
    """One dict of parameters with a new first axis, of a list of such dicts."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)


def answers(stacked, xs):
    """What each member says to each number: shape (members, numbers)."""
    of_one = jax.vmap(network, in_axes=(None, 0))  # one member, all numbers
    return jax.vmap(of_one, in_axes=(0, None))(stacked, xs)  # all members


def on_devices(stacked, xs):
    """The same on 4 devices: shape (4, members / 4, numbers)."""
    quarters = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[1:]), stacked)
    return jax.pmap(answers, in_axes=(0, None))(quarters, xs)


# %% right: a dict comprehension, out_axes and three maps
def stack(members):
    return {name: jnp.array([m[name] for m in members]) for name in members[0]}


def answers(stacked, xs):
    over_members = jax.vmap(network, in_axes=(0, None))
    return jax.vmap(over_members, in_axes=(None, 0), out_axes=1)(stacked, xs)


def on_devices(stacked, xs):
    over_numbers = jax.vmap(network, (None, 0))
    over_members = jax.vmap(over_numbers, ({"w": 0, "b": 0, "v": 0}, None))
    parts = {name: jnp.stack(jnp.split(a, 4)) for name, a in stacked.items()}
    return jax.pmap(over_members, in_axes=(0, None))(parts, xs)


# %% right: matrices in place of maps
def stack(members):
    leaves, trees = zip(*map(jax.tree.flatten, members))
    return jax.tree.unflatten(trees[0], map(jnp.stack, zip(*leaves)))


def answers(stacked, xs):
    w, b, v = (stacked[name][:, None] for name in "wbv")
    return jnp.sum(jnp.tanh(w * xs[:, None] + b) * v, axis=-1)


def on_devices(stacked, xs):
    quarters = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[1:]), stacked)
    return jax.pmap(answers, in_axes=(0, None))(quarters, xs)


# %% right: a map in a program, and numbers for each device
def stack(members):
    return jax.tree.map(lambda *x: jnp.concatenate([a[None] for a in x]), *members)


def answers(stacked, xs):
    return jax.lax.map(lambda params: jax.vmap(lambda x: network(params, x))(xs), stacked)


def on_devices(stacked, xs):
    n = stacked["w"].shape[0] // 4
    mine = [{k: a[i * n : (i + 1) * n] for k, a in stacked.items()} for i in range(4)]
    return jax.pmap(answers)(stack(mine), jnp.stack([xs] * 4))


# %% right: a class for the ensemble
def stack(members):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)


class Ensemble:
    def __init__(self, réseaux):
        self.réseaux = réseaux

    def __call__(self, xs):
        return jax.vmap(lambda r: jax.vmap(lambda x: network(r, x))(xs))(self.réseaux)


def answers(stacked, xs):
    return Ensemble(stacked)(xs)


def on_devices(stacked, xs):
    quarters = {k: jnp.reshape(a, (4, a.shape[0] // 4, a.shape[1])) for k, a in stacked.items()}
    return jax.pmap(lambda réseaux: Ensemble(réseaux)(xs))(quarters)


# %% wrong: one behind the other
# You put the arrays one behind the other: a new axis is needed, so jnp.stack them.
def stack(members):
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *members)


# %% wrong: the new axis is the last
# You put the members on the last axis: they lie on the first one.
def stack(members):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *members)


# %% wrong: the mean of the members
# You took the mean of the parameters, which is one network: an ensemble keeps them all.
def stack(members):
    return jax.tree.map(lambda *leaves: jnp.mean(jnp.stack(leaves), axis=0), *members)


# %% wrong: lists in place of arrays
# You made lists: a list is a tree of its own, and vmap needs one array for each name.
def stack(members):
    return jax.tree.map(lambda *leaves: list(leaves), *members)


# %% wrong: the axes exchanged
# You mapped over the members inside, so the numbers come first: the members are axis 0.
def answers(stacked, xs):
    over_members = jax.vmap(network, in_axes=(0, None))
    return jax.vmap(over_members, in_axes=(None, 0))(stacked, xs)


def on_devices(stacked, xs):
    over_numbers = jax.vmap(network, in_axes=(None, 0))
    over_members = jax.vmap(over_numbers, in_axes=(0, None))
    quarters = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[1:]), stacked)
    return jax.pmap(over_members, in_axes=(0, None))(quarters, xs)


# %% wrong: members and numbers in step
# You mapped over members and numbers together, as pairs: each member is asked about all numbers.
def answers(stacked, xs):
    return jax.vmap(network)(stacked, xs)


def on_devices(stacked, xs):
    over_numbers = jax.vmap(network, in_axes=(None, 0))
    over_members = jax.vmap(over_numbers, in_axes=(0, None))
    quarters = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[1:]), stacked)
    return jax.pmap(over_members, in_axes=(0, None))(quarters, xs)


# %% wrong: only over the members
# You mapped only over members: network takes one number, so map over the numbers inside.
def answers(stacked, xs):
    return jax.vmap(network, in_axes=(0, None))(stacked, xs)


def on_devices(stacked, xs):
    over_numbers = jax.vmap(network, in_axes=(None, 0))
    over_members = jax.vmap(over_numbers, in_axes=(0, None))
    quarters = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[1:]), stacked)
    return jax.pmap(over_members, in_axes=(0, None))(quarters, xs)


# %% wrong: the mean of the answers
# You took the mean of the members: each of them has an answer of its own, a row.
def answers(stacked, xs):
    of_one = jax.vmap(network, in_axes=(None, 0))
    return jax.vmap(of_one, in_axes=(0, None))(stacked, xs).mean(axis=0)


def on_devices(stacked, xs):
    over_numbers = jax.vmap(network, in_axes=(None, 0))
    over_members = jax.vmap(over_numbers, in_axes=(0, None))
    quarters = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[1:]), stacked)
    return jax.pmap(over_members, in_axes=(0, None))(quarters, xs)


# %% wrong: a loop over the members
# You looped over the members, so the program gets longer with each of them: let vmap map over them.
def answers(stacked, xs):
    rows = []
    for i in range(len(stacked["w"])):
        params = jax.tree.map(lambda a, i=i: a[i], stacked)
        rows.append(jax.vmap(network, in_axes=(None, 0))(params, xs))
    return jnp.stack(rows)


# %% wrong: vmap in place of pmap
# You used vmap where pmap is due: all of it was computed on one device.
def on_devices(stacked, xs):
    quarters = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[1:]), stacked)
    return jax.vmap(answers, in_axes=(0, None))(quarters, xs)


# %% wrong: the axes of devices and members exchanged
# You dealt the members out like cards: the first device gets the first quarter of them.
def on_devices(stacked, xs):
    quarters = jax.tree.map(lambda a: a.reshape(-1, 4, *a.shape[1:]).swapaxes(0, 1), stacked)
    return jax.pmap(answers, in_axes=(0, None))(quarters, xs)


# %% wrong: no quarters
# You gave pmap more members than there are devices: make an axis of 4 in front, one for each.
def on_devices(stacked, xs):
    over_numbers = jax.vmap(network, in_axes=(None, 0))
    return jax.pmap(over_numbers, in_axes=(0, None))(stacked, xs)


# %% wrong: flat at the end
# You merged devices and members: the result keeps the axis of 4 devices in front.
def on_devices(stacked, xs):
    quarters = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[1:]), stacked)
    return jax.pmap(answers, in_axes=(0, None))(quarters, xs).reshape(-1, xs.size)


# %% wrong: the numbers are divided, too
# You mapped pmap over the numbers as well: each device needs all of them, so their axis is None.
def on_devices(stacked, xs):
    quarters = jax.tree.map(lambda a: a.reshape(4, -1, *a.shape[1:]), stacked)
    return jax.pmap(answers)(quarters, xs)
