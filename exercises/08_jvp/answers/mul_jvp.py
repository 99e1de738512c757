# The card of the exercise mul_jvp. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # The rule of the product
#
# `mul` is the primitive behind `x * y`. Its card is `mul_p` in `tinyjax/primitives/arithmetic.py`.
# Take the rule for tangents from it, and put your own in its place.
#
# `mul_jvp(primals, tangents)` gets a tuple of the two operands and a tuple of their two tangents.
# It returns the product and the tangent of the product. For the operands 2.0 and 3.0 with the
# tangents 1.0 and 10.0 these are 6.0 and 23.0.
#
# An operand that does not change has a tangent that is no array: it is a `Zero`, an object that
# says "known to be zero", so that nobody has to multiply with it. `isinstance(t, Zero)` asks for
# it. At most one of the two tangents is a `Zero`. The operands have the same shape, or one of them
# is a single number.
#
# The checks put your rule on the card, and differentiate functions with products in them, in
# forward and in reverse mode. In reverse mode tangents are tracers without values, and what your
# rule does to them is recorded.
#
# Run this file, or `tinyjax check mul_jvp`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.core import Zero


# %% stub
def mul_jvp(primals, tangents):
    """The product, and its tangent.

    primals: a tuple of two arrays. tangents: a tuple of two; one of them may be a Zero.
    """
    x, y = primals
    dx, dy = tangents
    raise NotImplementedError


# %% [markdown] hint
# What does school say about the derivative of u times v? And what is left of it, if v does not
# change?

# %% [markdown] hint
# `(u v)' = u' v + u v'`: there is a term for each operand that changes. A `Zero` cannot be
# multiplied. So leave out its term. (A term has the shape of the product anyhow, since the other
# operand takes part in it.)

# %% [markdown] hint
#     def mul_jvp(primals, tangents):
#         x, y = primals
#         dx, dy = tangents
#         if isinstance(dx, Zero):
#             return x * y, ...
#         if isinstance(dy, Zero):
#             return x * y, ...
#         return x * y, ... + ...

# %% checks
import functools

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check, run_examples
from tinyjax.primitives.arithmetic import mul_p
from tinyjax.transforms.ad import default_linearize


def install(student):
    """The student's rule on the card; linearize, which reverse mode asks for, follows from it."""
    mul_p.jvp = lambda primals, tangents: student.mul_jvp(primals, tangents)
    mul_p.linearize = functools.partial(default_linearize, mul_p)


def vector(rng, n):
    """Numbers away from 0 and 1."""
    return (rng.uniform(1.3, 3.0, size=n) * rng.choice([-1, 1], size=n)).round(2).astype(np.float32)


def draw(rng):
    """Two vectors and a single number, and a tangent of each."""
    n = int(rng.integers(2, 5))
    drawn = {name: vector(rng, n) for name in ("x", "y", "dx", "dy")}
    a, da = (round(float(v), 2) for v in vector(rng, 2))
    return drawn | {"a": a, "da": da}


def draw_vectors(rng):
    """Three vectors."""
    n = int(rng.integers(2, 5))
    return {name: vector(rng, n) for name in ("x", "y", "v")}


@check("x * y, both change")
def both(student, x, y, dx, dy, a, da):
    return jax.jvp(jnp.multiply, (x, y), (dx, dy))


@check("one operand stands still")
def forward(student, x, y, dx, dy, a, da):
    def slope(x):
        return jax.jvp(lambda x: a * (x * x), (x,), (dx,))[1]

    return {
        "a * x, only x changes": jax.jvp(lambda x: a * x, (x,), (dx,)),
        "a * x, only a changes": jax.jvp(lambda a: a * x, (a,), (da,)),
        "how a slope changes": jax.jvp(slope, (x,), (dy,)),
    }


@check("gradients, with the package's own examples", draw=draw_vectors)
def reverse(student, x, y, v):
    def f(x):
        wave = y * jnp.sin(x)
        return jnp.sum(v * (wave * wave))

    return {"gradient": jax.grad(f)(x), "examples": run_examples(jax.grad, jax.linearize)}


# %% reference
def mul_jvp(primals, tangents):
    """The product, and its tangent."""
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):  # only y changes
        return x * y, x * dy
    if isinstance(dy, Zero):  # only x changes
        return x * y, dx * y
    return x * y, dx * y + x * dy


# %% right: a sum of the terms that are there
def mul_jvp(primals, tangents):
    x, y = primals
    terms = [t * other for t, other in zip(tangents, (y, x)) if not isinstance(t, Zero)]
    return x * y, sum(terms[1:], terms[0])


# %% right: zeros for Zero
def mul_jvp(primals, tangents):
    dx, dy = (jnp.zeros(t.aval.shape, t.aval.dtype) if isinstance(t, Zero) else t for t in tangents)
    x, y = primals
    return [jnp.multiply(x, y), jnp.add(jnp.multiply(y, dx), jnp.multiply(x, dy))]


# %% right: a class with __call__ and operations of lax
from tinyjax import lax


class Produktregel:
    def __call__(self, primals, tangents):
        (ξ, η), (ẋ, ẏ) = primals, tangents
        total = 0.0
        if not isinstance(ẋ, Zero):
            total = lax.mul(ẋ, η)
        if not isinstance(ẏ, Zero):
            total = total + lax.mul(ẏ, ξ)
        return lax.mul(ξ, η), total


mul_jvp = Produktregel()


# %% right: half of a square rule
def mul_jvp(primals, tangents):
    x, y = primals

    def term(t, other):
        return 0.0 if isinstance(t, Zero) else t / (1 / other)

    return x * y, term(tangents[0], y) + term(tangents[1], x)


# %% wrong: the tangents are ignored
# You ignored the tangents: your rule adds the operands, as if both always changed at the speed 1.
# Multiply each of them by the other's tangent.
def mul_jvp(primals, tangents):
    x, y = primals
    return x * y, x + y


# %% wrong: the product of the tangents
# You multiplied the tangents with each other: each tangent is multiplied by the other operand, and
# the two products are added.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, x * dy
    if isinstance(dy, Zero):
        return x * y, dx * y
    return x * y, dx * dy


# %% wrong: the product of the tangents, and of a Zero
# You multiplied the tangents with each other: each tangent is multiplied by the other operand, and
# the two products are added. The term of a Zero is left out.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    return x * y, dx * dy


# %% wrong: with its own operand, if both change
# You multiplied each tangent by its own operand: u' goes with v, and v' with u.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, x * dy
    if isinstance(dy, Zero):
        return x * y, dx * y
    return x * y, x * dx + y * dy


# %% wrong: each with its own operand
# You multiplied each tangent by its own operand: u' goes with v, and v' with u.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, y * dy
    if isinstance(dy, Zero):
        return x * y, x * dx
    return x * y, x * dx + y * dy


# %% wrong: the first term only
# You left out a term: if both operands change, both tangents count.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, x * dy
    return x * y, dx * y


# %% wrong: a difference
# You subtracted the terms: the rule of the quotient does that. The terms of a product are added.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, x * dy
    if isinstance(dy, Zero):
        return x * y, dx * y
    return x * y, dx * y - x * dy


# %% wrong: both steps
# You computed how much the product changes in one whole step: a tangent is a speed, and the product
# of the two tangents is no part of it.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, x * dy
    if isinstance(dy, Zero):
        return x * y, dx * y
    return x * y, (x + dx) * (y + dy) - x * y


# %% wrong: a Zero is multiplied
# You multiplied a Zero, which is no array: leave out the term of an operand that does not change,
# whichever of the two it is.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    return x * y, dx * y + x * dy


# %% wrong: a Zero is multiplied from the left
# You multiplied a Zero, which is no array: leave out the term of an operand that does not change,
# whichever of the two it is.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    return x * y, y * dx + x * dy


# %% wrong: compared with 0
# You asked whether a tangent equals 0: its values may be unknown, and a Zero is no number but an
# object of its own kind. Ask `isinstance(t, Zero)`.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if dx == 0:
        return x * y, x * dy
    if dy == 0:
        return x * y, dx * y
    return x * y, dx * y + x * dy


# %% wrong: no operand changes if one stands still
# You returned zeros where one of the tangents is a Zero: the other operand still changes.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero) or isinstance(dy, Zero):
        return x * y, jnp.zeros_like(x * y)
    return x * y, dx * y + x * dy


# %% wrong: the tangent as it came
# You returned the tangent itself where one operand stands still: it must be multiplied by that
# operand.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, dy
    if isinstance(dy, Zero):
        return x * y, dx
    return x * y, dx * y + x * dy


# %% wrong: only the first may stand still
# You multiplied a Zero, which is no array: leave out the term of an operand that does not change,
# whichever of the two it is.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, x * dy
    return x * y, dx * y + x * dy


# %% wrong: NumPy
# You used NumPy for the tangents: in reverse mode they are tracers without values. Use jnp.
import numpy as np


def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, x * np.asarray(dy)
    if isinstance(dy, Zero):
        return x * y, np.asarray(dx) * y
    return x * y, np.asarray(dx) * y + x * np.asarray(dy)


# %% wrong: operands as constants
# You made the operands constants: in a derivative of a derivative they change, too.
def mul_jvp(primals, tangents):
    x, y = map(jax.lax.stop_gradient, primals)
    dx, dy = tangents
    product = primals[0] * primals[1]
    if isinstance(dx, Zero):
        return product, x * dy
    if isinstance(dy, Zero):
        return product, dx * y
    return product, dx * y + x * dy


# %% wrong: a dot product
# You multiplied with `@`, which sums: `mul` works element by element, and on single numbers, too.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if isinstance(dx, Zero):
        return x * y, x @ dy
    if isinstance(dy, Zero):
        return x * y, dx @ y
    return x * y, dx @ y + x @ dy


# %% wrong: the Jacobians of vectors
# You built whole Jacobians: these are made of vectors only, and a rule must also take two single
# numbers. Multiply element by element.
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    if x.ndim + y.ndim == 1:
        return x * y, x * dy if isinstance(dx, Zero) else dx * y
    if isinstance(dx, Zero):
        return x * y, jnp.diag(x) @ dy
    if isinstance(dy, Zero):
        return x * y, jnp.diag(y) @ dx
    return x * y, jnp.diag(y) @ dx + jnp.diag(x) @ dy


# %% wrong: nothing is returned
# Your function returns None: does it end in a return?
def mul_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    x * y, dx, dy
