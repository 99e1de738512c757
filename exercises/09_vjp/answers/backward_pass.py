# The card of the exercise backward_pass. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 3
# minutes: 40

# %% [markdown] statement
# # The run backwards
#
# `vjp` is linearize, then transpose. The second part is done by one function, `transpose` in
# `tinyjax/transforms/ad.py`. In this exercise yours takes its place: each `grad`, `vjp` and
# `jacrev` runs backwards through your code.
#
# Write `backward_pass(jaxpr, args, cts)`.
#
# - `jaxpr` is a linear program. Some entries of `args` are values (residuals), the others are
#   `Undef`: these are the linear inputs, the tangents.
# - `cts` has a cotangent for each of `jaxpr.outvars`. It may be a `Zero`: nothing comes back there.
# - Return a list: for each linear input its cotangent, or `Zero(v.aval)` if none arrives at this
#   variable `v` of `jaxpr.invars`.
#
# The half that runs forwards is there: `forward_half` computes what depends on no tangent, and
# returns the equations that are left to transpose, in the order of the program, and the function
# `read`. For one equation `eqn`, its card gives the cotangents of its operands:
#
#     eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
#
# This is a list with an entry for each of `eqn.invars`: a cotangent, a `Zero`, or `None` for an
# operand that is known. `ct` is the cotangent of its result. A primitive with
# `eqn.primitive.multi` has several `eqn.outvars`, and takes a list of cotangents. Do not
# transpose an equation at which nothing but `Zero` arrives. Cotangents are added with `+`.
#
# A number can be used many times, so there may be millions of ways through a program. Transpose
# each equation once.
#
# Run this file, or `tinyjax check backward_pass`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core import Literal, Undef, Zero


def forward_half(jaxpr, args):
    """Computes what depends on no tangent: the equations that are left, and how to read."""
    env = dict(zip(jaxpr.constvars, jaxpr.consts)) | dict(zip(jaxpr.invars, args))
    equations = []

    def read(atom):
        """The value of a variable or a literal; Undef if it depends on a tangent."""
        if isinstance(atom, Literal):
            return atom.array
        return env.get(atom, Undef(atom.aval))

    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        if any(isinstance(x, Undef) for x in operands):
            equations.append(eqn)
            continue
        out = eqn.primitive.bind(*operands, **eqn.params)
        env.update(zip(eqn.outvars, out if eqn.primitive.multi else [out]))
    return equations, read


# %% stub
def backward_pass(jaxpr, args, cts):
    """Runs a linear program backwards: the cotangents of its linear inputs."""
    equations, read = forward_half(jaxpr, args)
    raise NotImplementedError


# %% [markdown] hint
# When you transpose an equation, the cotangent of its result must be complete. In which order do
# you go through the equations, so that it is?

# %% [markdown] hint
# Keep a dictionary from variables to cotangents. Begin with those of the results. Go through the
# equations from back to front: by then, all that use an equation's result have added their share.
# What comes back is added to what is there, since a copy becomes a sum; also at the results, as a
# variable can be there twice.

# %% [markdown] hint
#     def backward_pass(jaxpr, args, cts):
#         equations, read = forward_half(jaxpr, args)
#         cotangents = {}
#
#         def accumulate(v, ct):
#             if ct is not None and not isinstance(ct, Zero):
#                 cotangents[v] = ...
#
#         for v, ct in zip(jaxpr.outvars, cts):
#             accumulate(v, ct)
#         for eqn in ...:
#             found = [cotangents.get(v, Zero(v.aval)) for v in eqn.outvars]
#             if all(isinstance(ct, Zero) for ct in found):
#                 continue
#             ct = found if eqn.primitive.multi else found[0]
#             ...
#         linear = [v for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]
#         return [...]

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import autodiff, lax
from tinyjax.learn import check, run_examples
from tinyjax.transforms import ad, custom_solve, programs, scan


def install(student):
    """The student's function takes the place of the package's, wherever it is called."""
    for module in (ad, autodiff, programs, scan, custom_solve):
        module.transpose = student.backward_pass


def draw(rng):
    """Three numbers and two factors."""
    return {
        "x": np.float32(round(float(rng.uniform(0.3, 1.2)), 2)),
        "y": np.float32(round(float(rng.uniform(0.3, 1.2)), 2)),
        "c": round(float(rng.uniform(1.5, 3.0)), 2),
        "d": round(float(rng.uniform(0.6, 0.9)), 2),
    }


@check("jax.grad of a diamond, and of twelve steps with 4096 ways through them")
def diamonds(student, x, y, c, d):
    def diamond(x, y):
        a = jnp.sin(x * y)
        b = c * a
        e = a * b + d * a
        return jnp.cos(d * e) * b + x * a

    def steps(x):
        for _ in range(12):
            x = x + d * x
        return c * x

    equations = len(jax.make_jaxpr(jax.grad(steps))(x).eqns)
    return {
        "diamond": jax.grad(diamond, argnums=(0, 1))(x, y),
        "steps": jax.grad(steps)(x),
        "equations (up to 100 count as 100)": max(equations, 100),
    }


@check("jax.vjp of a function with several inputs and results")
def inputs_and_results(student, x, y, c, d):
    def f(x, y, unused):
        z = jnp.sin(x) * c
        return z, x, z, jnp.cos(y)

    _, pull = jax.vjp(f, x, y, c)
    return pull((jnp.float32(c), jnp.float32(d), jnp.float32(2.0), jnp.float32(3.0)))


def nothing(rng):
    """No inputs."""
    return {}


@check("the package's own examples, and a scan whose last carry is not used", draw=nothing, draws=1)
def examples(student):
    def powers(x):
        _, outputs = lax.scan(lambda carry, a: (carry * x, a * carry * x), x, jnp.arange(3.0))
        return jnp.sum(outputs)

    examples = run_examples(
        jax.grad, jax.vjp, jax.jacrev, jax.hessian, jax.checkpoint, jax.custom_vjp, lax.custom_root
    )
    return {"examples": examples, "grad of a scan": jax.grad(powers)(0.7)}


# %% reference
def backward_pass(jaxpr, args, cts):
    """Runs a linear program backwards: the cotangents of its linear inputs."""
    equations, read = forward_half(jaxpr, args)
    cotangents = {}

    def accumulate(v, ct):
        """Adds to the cotangent of a variable: a copy becomes a sum."""
        if ct is not None and not isinstance(ct, Zero):
            cotangents[v] = cotangents[v] + ct if v in cotangents else ct

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    for eqn in reversed(equations):  # all who use its results were here before
        found = [cotangents.get(v, Zero(v.aval)) for v in eqn.outvars]
        if all(isinstance(ct, Zero) for ct in found):
            continue
        ct = found if eqn.primitive.multi else found[0]
        shares = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
        for v, share in zip(eqn.invars, shares):
            accumulate(v, share)
    linear = [v for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]
    return [cotangents.get(v, Zero(v.aval)) for v in linear]


# %% right: lists of contributions
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    arrived = {}

    def note(atoms, shares):
        for atom, δ in zip(atoms, shares):
            if not (δ is None or isinstance(δ, Zero) or isinstance(atom, Literal)):
                arrived.setdefault(atom, []).append(δ)

    def total(v):
        if v not in arrived:
            return Zero(v.aval)
        out, *more = arrived[v]
        for δ in more:
            out = out + δ
        return out

    note(jaxpr.outvars, cts)
    while equations:
        eqn = equations.pop()
        outs = [total(v) for v in eqn.outvars]
        if any(not isinstance(o, Zero) for o in outs):
            operands = [read(v) for v in eqn.invars]
            (head,) = [outs] if eqn.primitive.multi else outs
            note(eqn.invars, eqn.primitive.transpose(head, *operands, **eqn.params))
    return tuple(total(v) for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef))


# %% right: it waits for all who use a number
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    makers = {v: eqn for eqn in equations for v in eqn.outvars}
    users, sums = {}, {}
    for eqn in equations:
        for v in set(eqn.invars) & set(makers):
            users.setdefault(v, set()).add(id(eqn))

    def give(v, ct):
        if ct is not None and not isinstance(ct, Zero):
            sums[v] = ct + sums[v] if v in sums else ct

    for v, ct in zip(jaxpr.outvars, cts):
        give(v, ct)
    waiting = list(equations)
    while waiting:
        for eqn in waiting:
            if not any(users.get(v) for v in eqn.outvars):
                break
        waiting.remove(eqn)
        found = [sums.get(v, Zero(v.aval)) for v in eqn.outvars]
        if not all(isinstance(ct, Zero) for ct in found):
            ct = found if eqn.primitive.multi else found[0]
            back = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
            for v, share in zip(eqn.invars, back):
                give(v, share)
        for v in eqn.invars:
            users.get(v, set()).discard(id(eqn))
    return [sums.get(v, Zero(v.aval)) for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]


# %% wrong: = in place of +=
# You overwrote what had arrived: a number that is used twice gets two cotangents, and they are
# added.
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    cotangents = {}

    def accumulate(v, ct):
        if ct is not None and not isinstance(ct, Zero):
            cotangents[v] = ct

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    for eqn in reversed(equations):
        found = [cotangents.get(v, Zero(v.aval)) for v in eqn.outvars]
        if all(isinstance(ct, Zero) for ct in found):
            continue
        ct = found if eqn.primitive.multi else found[0]
        shares = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
        for v, share in zip(eqn.invars, shares):
            accumulate(v, share)
    linear = [v for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]
    return [cotangents.get(v, Zero(v.aval)) for v in linear]


# %% wrong: depth first
# You follow a way to its end before the others have arrived, so an equation is transposed too
# early: go through the equations in reverse.
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    makers = {v: eqn for eqn in equations for v in eqn.outvars}
    cotangents, done = {}, set()

    def accumulate(v, ct):
        if ct is not None and not isinstance(ct, Zero):
            cotangents[v] = cotangents[v] + ct if v in cotangents else ct

    def visit(v):
        eqn = makers.get(v)
        if eqn is None or id(eqn) in done:
            return
        done.add(id(eqn))
        found = [cotangents.get(v, Zero(v.aval)) for v in eqn.outvars]
        ct = found if eqn.primitive.multi else found[0]
        shares = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
        for atom, share in zip(eqn.invars, shares):
            accumulate(atom, share)
        for atom in eqn.invars:
            visit(atom)

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    for v in jaxpr.outvars:
        visit(v)
    linear = [v for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]
    return [cotangents.get(v, Zero(v.aval)) for v in linear]


# %% wrong: every way
# You go along every way through the program, and there may be millions: add up first, then
# transpose each equation once.
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    makers = {v: eqn for eqn in equations for v in eqn.outvars}
    cotangents = {}

    def go(v, ct):
        if ct is None or isinstance(ct, Zero) or isinstance(v, Literal):
            return
        eqn = makers.get(v)
        if eqn is None:
            cotangents[v] = cotangents[v] + ct if v in cotangents else ct
            return
        cts = [ct if u is v else Zero(u.aval) for u in eqn.outvars]
        cts = cts if eqn.primitive.multi else cts[0]
        shares = eqn.primitive.transpose(cts, *map(read, eqn.invars), **eqn.params)
        for atom, share in zip(eqn.invars, shares):
            go(atom, share)

    for v, ct in zip(jaxpr.outvars, cts):
        go(v, ct)
    linear = [v for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]
    return [cotangents.get(v, Zero(v.aval)) for v in linear]


# %% wrong: forwards
# You transpose equations at which no cotangent has arrived yet: go through them from back to front.
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    cotangents = {}

    def accumulate(v, ct):
        if ct is not None and not isinstance(ct, Zero):
            cotangents[v] = cotangents[v] + ct if v in cotangents else ct

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    for eqn in equations:
        found = [cotangents.get(v, Zero(v.aval)) for v in eqn.outvars]
        if all(isinstance(ct, Zero) for ct in found):
            continue
        ct = found if eqn.primitive.multi else found[0]
        shares = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
        for v, share in zip(eqn.invars, shares):
            accumulate(v, share)
    linear = [v for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]
    return [cotangents.get(v, Zero(v.aval)) for v in linear]


# %% wrong: the results overwrite each other
# You made a dictionary of the results' cotangents: a variable that is returned twice gets the sum
# of both.
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    cotangents = {v: ct for v, ct in zip(jaxpr.outvars, cts) if not isinstance(ct, Zero)}

    for eqn in reversed(equations):
        found = [cotangents.get(v, Zero(v.aval)) for v in eqn.outvars]
        if all(isinstance(ct, Zero) for ct in found):
            continue
        ct = found if eqn.primitive.multi else found[0]
        shares = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
        for v, share in zip(eqn.invars, shares):
            if share is not None and not isinstance(share, Zero):
                cotangents[v] = cotangents[v] + share if v in cotangents else share
    linear = [v for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]
    return [cotangents.get(v, Zero(v.aval)) for v in linear]


# %% wrong: one Zero is enough
# You left out equations at which a single Zero arrives: if another of its results has a cotangent,
# an equation must be transposed.
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    cotangents = {}

    def accumulate(v, ct):
        if ct is not None and not isinstance(ct, Zero):
            cotangents[v] = cotangents[v] + ct if v in cotangents else ct

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    for eqn in reversed(equations):
        found = [cotangents.get(v, Zero(v.aval)) for v in eqn.outvars]
        if any(isinstance(ct, Zero) for ct in found):
            continue
        ct = found if eqn.primitive.multi else found[0]
        shares = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
        for v, share in zip(eqn.invars, shares):
            accumulate(v, share)
    linear = [v for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]
    return [cotangents.get(v, Zero(v.aval)) for v in linear]


# %% wrong: nothing arrives at an input
# You return None for an input at which nothing arrives: return Zero(v.aval) there.
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    cotangents = {}

    def accumulate(v, ct):
        if ct is not None and not isinstance(ct, Zero):
            cotangents[v] = cotangents[v] + ct if v in cotangents else ct

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    for eqn in reversed(equations):
        found = [cotangents.get(v, Zero(v.aval)) for v in eqn.outvars]
        if all(isinstance(ct, Zero) for ct in found):
            continue
        ct = found if eqn.primitive.multi else found[0]
        shares = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
        for v, share in zip(eqn.invars, shares):
            accumulate(v, share)
    return [cotangents.get(v) for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]


# %% wrong: one result for each equation
# You took each equation for one with a single result: if eqn.primitive.multi, its rule takes a
# list of cotangents.
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    cotangents = {}

    def accumulate(v, ct):
        if ct is not None and not isinstance(ct, Zero):
            cotangents[v] = cotangents[v] + ct if v in cotangents else ct

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    for eqn in reversed(equations):
        (v,) = eqn.outvars
        if v not in cotangents:
            continue
        ct = cotangents[v]
        shares = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
        for v, share in zip(eqn.invars, shares):
            accumulate(v, share)
    linear = [v for v, x in zip(jaxpr.invars, args) if isinstance(x, Undef)]
    return [cotangents.get(v, Zero(v.aval)) for v in linear]


# %% wrong: for all inputs
# You returned an entry for each input of the program: residuals get none, return those of the
# Undef only.
def backward_pass(jaxpr, args, cts):
    equations, read = forward_half(jaxpr, args)
    cotangents = {}

    def accumulate(v, ct):
        if ct is not None and not isinstance(ct, Zero):
            cotangents[v] = cotangents[v] + ct if v in cotangents else ct

    for v, ct in zip(jaxpr.outvars, cts):
        accumulate(v, ct)
    for eqn in reversed(equations):
        found = [cotangents.get(v, Zero(v.aval)) for v in eqn.outvars]
        if all(isinstance(ct, Zero) for ct in found):
            continue
        ct = found if eqn.primitive.multi else found[0]
        shares = eqn.primitive.transpose(ct, *map(read, eqn.invars), **eqn.params)
        for v, share in zip(eqn.invars, shares):
            accumulate(v, share)
    return [cotangents.get(v, Zero(v.aval)) for v in jaxpr.invars]
