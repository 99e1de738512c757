# The card of the exercise write_to_match. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # From the program back to the function
#
# You have read jaxprs. Now write functions for them. Each of the two must become, equation by
# equation, the program that is printed here.
#
# This is what `first` becomes for a vector of 4 numbers:
#
#     { lambda ; a:f32[4]. let
#         b:f32[] = reduce_sum[axes=(0,) out_sharding=None] a
#         c:f32[] = div b 4.0:f32[]
#         d:f32[4] = sub a c
#         e:f32[4] = integer_pow[y=2] d
#         f:f32[] = reduce_max[axes=(0,)] e
#       in (f, c) }
#
# For 7 numbers it is the same, with `f32[7]` for `f32[4]` and with `7.0` for `4.0`.
#
# This is what `second` becomes for a number `x` and `n=3`, which is a Python number:
#
#     { lambda ; a:f32[]. let
#         b:f32[] = sin a
#         c:f32[] = mul 2.0:f32[] b
#         d:f32[] = sub c a
#         e:f32[] = sin d
#         f:f32[] = mul 2.0:f32[] e
#         g:f32[] = sub f a
#         h:f32[] = sin g
#         i:f32[] = mul 2.0:f32[] h
#         j:f32[] = sub i a
#       in (j,) }
#
# For `n=1` it ends with `in (d,)`. To see what your functions become, print
# `jax.make_jaxpr(first)(jnp.ones(4))` and `jax.make_jaxpr(second, static_argnums=1)(1.0, 3)`.
#
# Run this file, or `tinyjax check write_to_match`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def first(x):
    """The first program, of a vector x."""
    raise NotImplementedError


def second(x, n):
    """The second program, of a number x, for a Python number n."""
    raise NotImplementedError


# %% [markdown] hint
# Where in the first program does a 4 come from, if it is a 7 for 7 numbers? And which equations of
# the second program come again and again?

# %% [markdown] hint
# A sum, divided by the number of its terms, has a name in `jnp`. `in (f, c)` means that the
# function returns two results. A Python loop is unrolled: its body appears once for each pass. And
# the order of operands counts: `mul 2.0 b` is not `mul b 2.0`.

# %% [markdown] hint
#     def first(x):
#         c = ...  # two equations
#         return jnp.max(...), ...
#
#
#     def second(x, n):
#         y = x
#         for _ in ...:
#             y = ... * jnp.sin(...) - ...
#         return y

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check


def draw(rng):
    """A vector of three to nine numbers, which are no whole numbers."""
    n = int(rng.integers(3, 10))
    return {"x": (rng.normal(size=n) + 0.5).round(2).astype(np.float32)}


def draw_number(rng):
    """A number, and how often to go round."""
    return {"x": round(rng.uniform(0.3, 1.2), 2), "n": int(rng.integers(2, 6))}


@check("first")
def first_program(student, x):
    program = str(jax.make_jaxpr(student.first)(x))
    return {"jaxpr": program, "its value at x": student.first(x)}


@check("second", draw=draw_number)
def second_program(student, x, n):
    program = str(jax.make_jaxpr(student.second, static_argnums=1)(x, n))
    return {"jaxpr": program, "its value at x": student.second(x, n)}


# %% reference
def first(x):
    """The largest squared distance from the mean, and the mean."""
    mean = jnp.mean(x)  # a sum, divided by the number of elements
    return jnp.max((x - mean) ** 2), mean


def second(x, n):
    """Goes round n times: the loop is Python's, so it is unrolled."""
    y = x
    for _ in range(n):
        y = 2.0 * jnp.sin(y) - x
    return y


# %% right: the operations of lax
from tinyjax import lax


def first(x):
    mean = lax.div(lax.reduce_sum(x, axes=(0,)), float(len(x)))
    return [lax.reduce_max(lax.integer_pow(lax.sub(x, mean), 2), axes=(0,)), mean]


def second(x, n):
    y = x
    while n > 0:
        n, y = n - 1, lax.sub(lax.mul(2.0, lax.sin(y)), x)
    return y


# %% right: methods and recursion
def first(x):
    m = x.sum() / x.shape[0]
    return jnp.power(x - m, 2).max(), m


def second(x, n):
    return x if n == 0 else 2 * jnp.sin(second(x, n - 1)) - x


# %% right: a class, a lambda and unicode names
from functools import reduce


class First:
    def __call__(self, x):
        μ = jnp.mean(x, axis=-1)
        return jnp.max((x - μ) ** 2), μ


first = First()
second = lambda ξ, n: reduce(lambda y, _: 2.0 * jnp.sin(y) - ξ, range(n), ξ)


# %% wrong: the number of elements is fixed
# You divided by a number of your own: in the program it is the number of elements, which Python
# knows while it traces.
def first(x):
    c = jnp.sum(x) / 4.0
    return jnp.max((x - c) ** 2), c


# %% wrong: one result
# Your function returns one result: behind `in` stand two, so return a tuple.
def first(x):
    c = jnp.mean(x)
    return jnp.max((x - c) ** 2)


# %% wrong: results the other way round
# You returned the two results in the other order: behind `in` stands f, and then c.
def first(x):
    c = jnp.mean(x)
    return c, jnp.max((x - c) ** 2)


# %% wrong: the operands of sub the other way round
# You subtracted in the other order: `sub a c` is a - c. The square hides it from the value, but the
# program is another one.
def first(x):
    c = jnp.mean(x)
    return jnp.max((c - x) ** 2), c


# %% wrong: a product for the power
# You multiplied where the program has `integer_pow`, which is what `**` with a whole number
# becomes.
def first(x):
    c = jnp.mean(x)
    d = x - c
    return jnp.max(d * d), c


# %% wrong: jnp.square
# You called `jnp.square`, which is a primitive of its own: `integer_pow` is what `**` with a whole
# number becomes.
def first(x):
    c = jnp.mean(x)
    return jnp.max(jnp.square(x - c)), c


# %% wrong: a sum for the maximum
# You added the squares up: `reduce_max` is their maximum.
def first(x):
    c = jnp.mean(x)
    return jnp.sum((x - c) ** 2), c


# %% wrong: the mean is computed twice
# You computed the mean twice: each call of a jnp function is recorded, so keep its result in a
# variable.
def first(x):
    return jnp.max((x - jnp.mean(x)) ** 2), jnp.mean(x)


# %% wrong: three times, whatever n is
# Your loop goes round three times: n says how often, and the program has as many copies of the
# body.
def first(x):
    c = jnp.mean(x)
    return jnp.max((x - c) ** 2), c


def second(x, n):
    y = x
    for _ in range(3):
        y = 2.0 * jnp.sin(y) - x
    return y


# %% wrong: one time too few
# Your loop goes round n - 1 times: the program has n copies of the body.
def first(x):
    c = jnp.mean(x)
    return jnp.max((x - c) ** 2), c


def second(x, n):
    y = x
    for _ in range(1, n):
        y = 2.0 * jnp.sin(y) - x
    return y


# %% wrong: a loop of lax
# You used a loop of `lax`, which is one equation: a loop of Python is unrolled.
def first(x):
    c = jnp.mean(x)
    return jnp.max((x - c) ** 2), c


def second(x, n):
    return jax.lax.fori_loop(0, n, lambda i, y: 2.0 * jnp.sin(y) - x, x * 1.0)


# %% wrong: the operands of mul the other way round
# You wrote the number behind the sine: in `mul 2.0 b` it stands in front, and a jaxpr keeps the
# order of operands.
def first(x):
    c = jnp.mean(x)
    return jnp.max((x - c) ** 2), c


def second(x, n):
    y = x
    for _ in range(n):
        y = jnp.sin(y) * 2.0 - x
    return y


# %% wrong: y in place of x
# You subtracted the y of the pass before: the program subtracts a, the argument, in each pass.
def first(x):
    c = jnp.mean(x)
    return jnp.max((x - c) ** 2), c


def second(x, n):
    for _ in range(n):
        x = 2.0 * jnp.sin(x) - x
    return x


# %% wrong: compiled
# You compiled the function, so its program is one equation `jit` that holds all the others: leave
# the `jit` out.
@jax.jit
def first(x):
    c = jnp.mean(x)
    return jnp.max((x - c) ** 2), c


# %% wrong: a sum in place of the product
# You added the sine to itself: the program has `mul 2.0 b`, a product.
def first(x):
    c = jnp.mean(x)
    return jnp.max((x - c) ** 2), c


def second(x, n):
    y = x
    for _ in range(n):
        s = jnp.sin(y)
        y = s + s - x
    return y


# %% wrong: nothing is returned
# Your functions return None: do they end in a return?
def first(x):
    c = jnp.mean(x)
    jnp.max((x - c) ** 2), c


def second(x, n):
    y = x
    for _ in range(n):
        y = 2.0 * jnp.sin(y) - x
