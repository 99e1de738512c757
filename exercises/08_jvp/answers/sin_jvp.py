# The card of the exercise sin_jvp. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 15

# %% [markdown] statement
# # The rule of the sine
#
# Everything that tinyjax knows about the sine stands on its card, `sin_p` in
# `tinyjax/primitives/maths.py`. Take the rule for tangents from it, and put your own in its place.
#
# `sin_jvp(primals, tangents)` gets a tuple with one array `x`, and a tuple with one array `t`, the
# speed at which `x` changes. It returns the value `sin(x)` and the tangent of the value. For
# `x = 0.0` and `t = 2.0` these are 0.0 and 2.0.
#
# The checks do not call your function. They put it on the card, and then differentiate functions
# with a sine in them, in forward and in reverse mode: `jax.jvp` and `jax.grad` call your rule
# whenever they meet one. In reverse mode `t` is a tracer without a value, and what your rule does
# to it is recorded. So use functions of `jnp` only.
#
# Run this file, or `tinyjax check sin_jvp`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def sin_jvp(primals, tangents):
    """The value of sin, and the tangent of the value.

    primals: a tuple of one array. tangents: a tuple of one array, of the same shape.
    """
    (x,) = primals
    (t,) = tangents
    raise NotImplementedError


# %% [markdown] hint
# If `x` changes at the speed 1, how fast does `sin(x)` change? And if `x` changes at the speed `t`?

# %% [markdown] hint
# This is the chain rule: the slope of the function at `x`, times the tangent. In chapter 08 the
# function `sin` of dual numbers does it for Python's numbers.

# %% [markdown] hint
#     def sin_jvp(primals, tangents):
#         (x,) = primals
#         (t,) = tangents
#         return jnp.sin(x), ... * ...

# %% checks
import functools

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check, run_examples
from tinyjax.primitives.maths import sin_p
from tinyjax.transforms.ad import default_linearize


def install(student):
    """The student's rule on the card; linearize, which reverse mode asks for, follows from it."""
    sin_p.jvp = lambda primals, tangents: student.sin_jvp(primals, tangents)
    sin_p.linearize = functools.partial(default_linearize, sin_p)


def draw(rng):
    """A few angles, and as many other numbers."""
    n = int(rng.integers(2, 5))
    return {
        "x": rng.uniform(0.2, 2.8, size=n).round(2).astype(np.float32),
        "t": rng.uniform(1.5, 4.0, size=n).round(2).astype(np.float32),
    }


def nothing(rng):
    """The examples bring their own numbers."""
    return {}


@check("jax.jvp of the sine, and of its derivatives")
def forward(student, x, t):
    def derivative(f):
        return lambda x: jax.jvp(f, (x,), (jnp.ones_like(x),))[1]

    second = derivative(derivative(jnp.sin))
    value, tangent = jax.jvp(jnp.sin, (x,), (t,))
    return {"value": value, "tangent": tangent, "higher": [second(x), derivative(second)(x)]}


@check("jax.grad of a sum of sines")
def reverse(student, x, t):
    return jax.grad(lambda x: jnp.sum(t * jnp.sin(x)))(x)


@check("the package's own examples", draw=nothing, draws=1)
def examples(student):
    return run_examples(jax.jvp)


# %% reference
def sin_jvp(primals, tangents):
    """The value of sin, and the tangent of the value."""
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), jnp.cos(x) * t  # the slope at x, times the speed of x


# %% right: from the value
def sin_jvp(primals, tangents):
    y = jnp.sin(*primals)
    return y, tangents[0] * jnp.sin(primals[0] + jnp.pi / 2)


# %% right: from Euler's formula
def sin_jvp(primals, tangents):
    z = jnp.exp(1j * primals[0])
    return z.imag, z.real * tangents[0]


# %% right: a class with __call__ and operations of lax
from tinyjax import lax


class Rule:
    def __call__(self, primals, tangents):
        [ξ], [ẋ] = primals, tangents
        return [lax.sin(ξ), lax.mul(ẋ, lax.cos(ξ))]


sin_jvp = Rule()


# %% right: compiled
@jax.jit
def sin_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return jnp.sin(x), -(-t * jnp.cos(x))


# %% wrong: the tangent is ignored
# You ignored the tangent: your rule returns the slope, as if x always changed at the speed 1.
# Multiply the slope by t.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), jnp.cos(x)


# %% wrong: the slope at the tangent
# You took the slope at t: the slope is that at x, and t is what it is multiplied by.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), jnp.cos(t) * t


# %% wrong: the sine of the tangent
# You took the sine of the tangent: tangents only go through linear operations, such as a product
# with the slope.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), jnp.sin(t)


# %% wrong: minus the cosine
# Your tangent has the wrong sign: the derivative of sin is cos; it is that of cos which has a
# minus.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), -jnp.cos(x) * t


# %% wrong: the sine for the slope
# You multiplied by sin(x): the slope of sin is cos(x).
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), jnp.sin(x) * t


# %% wrong: the slope at the value
# You took the slope at sin(x): the slope of sin is needed where it was called, at x.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    y = jnp.sin(x)
    return y, jnp.cos(y) * t


# %% wrong: a root for the cosine
# You took the root of 1 - sin(x)**2, which is never negative: the cosine is, from pi/2 on.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    y = jnp.sin(x)
    return y, jnp.sqrt(1 - y * y) * t


# %% wrong: a sum
# You added the tangent to the slope: multiply them.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), jnp.cos(x) + t


# %% wrong: x for the value
# You returned x as the value: the pair is sin(x) and its tangent.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return x, jnp.cos(x) * t


# %% wrong: the other way round
# You returned the tangent first: the pair is the value, and then its tangent.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.cos(x) * t, jnp.sin(x)


# %% wrong: the tangent alone
# You returned the tangent alone: return the value, too, as a pair.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.cos(x) * t


# %% wrong: NumPy for the tangent
# You used NumPy for the tangent: in reverse mode it is a tracer without a value. Use jnp.
import numpy as np


def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), jnp.cos(x) * np.asarray(t)


# %% wrong: NumPy for the slope
# You used NumPy for the slope: in a derivative of a derivative x is a tracer. Use jnp.
import numpy as np


def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), np.cos(np.asarray(x)) * t


# %% wrong: the slope as a constant
# You made the slope a constant: it changes with x, too, and higher derivatives need that.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), jax.lax.stop_gradient(jnp.cos(x)) * t


# %% wrong: a small step
# You took a small step: a difference of values that are almost equal loses digits. Write the slope
# as a formula.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    h = 1e-2
    return jnp.sin(x), (jnp.sin(x + h) - jnp.sin(x - h)) / (2 * h) * t


# %% wrong: the whole Jacobian
# You built the whole Jacobian: that works for vectors only, and a rule must take arrays of any
# shape, single numbers included. Multiply element by element.
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return jnp.sin(x), jnp.diag(jnp.cos(x)) @ t


# %% wrong: nothing is returned
# Your function returns None: does it end in a return?
def sin_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    jnp.sin(x), jnp.cos(x) * t
