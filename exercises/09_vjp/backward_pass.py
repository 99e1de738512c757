# %% [markdown]
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

# %%
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


def backward_pass(jaxpr, args, cts):
    """Runs a linear program backwards: the cotangents of its linear inputs."""
    equations, read = forward_half(jaxpr, args)
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "backward_pass"]))
