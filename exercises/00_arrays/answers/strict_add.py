# The card of the exercise strict_add. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 15

# %% [markdown] statement
# # Add, and keep the type
#
# `jnp.add` looks at both types and chooses one for the result. `lax.add` is strict: it takes two
# arrays of one type. So with `lax` it is you who chooses.
#
# Write `strict_add(x, y)` for two arrays of the same shape. The first one rules: convert `y` to the
# type of `x`, whatever that is, and then add. The result has the type of `x`. For
# `x = [-3, 4]` (int32) and `y = [1.5, 1.5]` (float32) it is `[-2, 5]` (int32): as an integer, 1.5
# is 1.
#
# Run this file, or `tinyjax check strict_add`, to see whether it is right.

# %% given
import tinyjax.numpy as jnp
from tinyjax import lax


# %% stub
def strict_add(x, y):
    """The sum of `x` and `y` in the type of `x`."""
    raise NotImplementedError


# %% [markdown] hint
# `x.dtype` is the type of `x`. Which function of `lax` makes an array of another type out of `y`?

# %% [markdown] hint
# `jnp.add` of an int32 and a float32 array consists of two primitives: `convert_element_type`, then
# `add`. You write the same two, but you choose which array is converted, and to what.

# %% [markdown] hint
#     def strict_add(x, y):
#         converted = lax.convert_element_type(..., ...)
#         return lax.add(..., ...)

# %% checks
import numpy as np

from tinyjax.learn import check


def draw(rng):
    """Integers with both signs, and numbers with a fraction that is far from 0 and from 1."""
    return {
        "x": rng.permutation([-4, -2, -1, 2, 5]).astype(np.int32),
        "y": (rng.integers(0, 4, size=5) + rng.choice([0.25, 0.5, 0.75], 5)).astype(np.float32),
    }


def draw_floats(rng):
    """Numbers that float16 holds exactly, and so does their sum."""
    return {
        "half": (rng.integers(-8, 8, size=4) / 4).astype(np.float16),
        "full": (rng.integers(-8, 8, size=4) / 4).astype(np.float32),
        "whole": rng.integers(-5, 5, size=4).astype(np.int32),
    }


def described(result):
    """The type and the values of a result."""
    return [str(result.dtype), result]


@check("integers rule")
def integers_rule(student, x, y):
    return described(student.strict_add(x, y))


@check("floating-point numbers rule", draw=draw_floats)
def floats_rule(student, half, full, whole):
    return {
        "float32 and float16": described(student.strict_add(full, half)),
        "float32 and int32": described(student.strict_add(full, whole)),
        "float16 and float32": described(student.strict_add(half, full)),
        "float16 and int32": described(student.strict_add(half, whole)),
    }


# %% reference
def strict_add(x, y):
    """The sum of `x` and `y` in the type of `x`."""
    return lax.add(x, lax.convert_element_type(y, x.dtype))


# %% right: with methods
def strict_add(x, y):
    return x + y.astype(x.dtype)


# %% right: asarray, and the operands exchanged
def strict_add(x, y):
    return jnp.add(jnp.asarray(y, dtype=x.dtype), x)


# %% right: the primitive itself
def strict_add(x, y):
    return lax.add_p.bind(x, y.astype(x.dtype))


# %% right: minus minus
class StrictAdd:
    def __call__(self, ξ, υ):
        return lax.sub(ξ, lax.neg(υ.astype(ξ.dtype)))


strict_add = StrictAdd()


# %% right: element by element
def strict_add(x, y):
    elements = [a + b.astype(a.dtype) for a, b in zip(x, y)]
    return jnp.stack(elements)


# %% wrong: jnp decides
# You let jnp choose the type: of an integer and a float it takes the float, but here x rules.
def strict_add(x, y):
    return jnp.add(x, y)


# %% wrong: nothing is converted
# You gave lax.add two types: it is strict, so convert y to the type of x first.
def strict_add(x, y):
    return lax.add(x, y)


# %% wrong: converted afterwards
# You added first and converted the sum: then the fraction of y still counts. Convert y first.
def strict_add(x, y):
    return lax.convert_element_type(jnp.add(x, y), x.dtype)


# %% wrong: x is converted
# You converted x to the type of y: it is x that rules, so y is converted.
def strict_add(x, y):
    return lax.add(lax.convert_element_type(x, y.dtype), y)


# %% wrong: always int32
# You converted to int32, the type in the example: the type to convert to is x.dtype.
def strict_add(x, y):
    return lax.add(x, lax.convert_element_type(y, jnp.int32))


# %% wrong: always float32
# You converted to float32: the type to convert to is x.dtype, whatever it is.
def strict_add(x, y):
    return lax.add(x, lax.convert_element_type(y, jnp.float32))


# %% wrong: both to float32
# You converted both to float32: x stays as it is, and the result has its type.
def strict_add(x, y):
    return lax.add(x.astype(jnp.float32), y.astype(jnp.float32))


# %% wrong: rounded
# You rounded y to the nearest integer: conversion to an integer drops the fraction.
def strict_add(x, y):
    return lax.add(x, jnp.round(y).astype(x.dtype))


# %% wrong: nothing is returned
# You returned nothing: does your function end in a return?
def strict_add(x, y):
    lax.add(x, lax.convert_element_type(y, x.dtype))
