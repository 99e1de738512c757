# The card of the exercise third_derivative. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 1
# minutes: 10

# %% [markdown] statement
# # The third derivative
#
# `jax.grad(f)` is a function again, so you can differentiate it again.
#
# Write `third_derivative`: it takes a function `f` of one number and returns the function
# that computes its third derivative. For `f(x) = x**3 + 2*x` that is 6 everywhere.
#
# Differentiate: a difference quotient does not count, however good. So one of the checks looks at
# where `f` is asked for values.
#
# Run this file, or `tinyjax check third_derivative`, to see whether it is right.

# %% given
import tinyjax as jax


# %% stub
def third_derivative(f):
    """The function that computes f'''."""
    raise NotImplementedError


# %% [markdown] hint
# What does `jax.grad(f)` return: a number or a function?

# %% [markdown] hint
# `jax.grad(f)` is the function f'. Whatever you can do with f you can do with f', and that
# includes handing it to `jax.grad`.

# %% [markdown] hint
#     def third_derivative(f):
#         df = jax.grad(f)
#         ddf = jax.grad(...)
#         return ...

# %% checks
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check


def draw(rng):
    """A random polynomial of degree five, with a large square in which differences drown."""
    coefficients = [float(c) for c in rng.normal(size=6).round(2)]
    coefficients[2] = float(rng.integers(100_000, 900_000))
    return {"coefficients": coefficients, "x": round(rng.uniform(0.5, 1.5), 2)}


def value(coefficients, x):
    """The polynomial at x."""
    return sum(c * jnp.power(x, k) for k, c in enumerate(coefficients))


@check("a random polynomial at a random point")
def polynomial(student, coefficients, x):
    return student.third_derivative(lambda x: value(coefficients, x))(x)


@check("f is not asked for its values nearby")
def no_neighbours(student, coefficients, x):
    traced, asked = [], set()

    def f(point):
        if isinstance(point, jax.core.Tracer):
            traced.append(point)
        jax.debug.callback(lambda number: asked.add(round(float(number), 6)), point)
        return value(coefficients, point)

    student.third_derivative(f)(x)
    jax.effects_barrier()
    return {"f is traced": bool(traced), "points other than x": sorted(asked - {round(x, 6)})}


# %% reference
def third_derivative(f):
    """The function that computes f'''."""
    return jax.grad(jax.grad(jax.grad(f)))


# %% right: a loop
def third_derivative(f):
    for _ in range(3):
        f = jax.grad(f)
    return f


# %% right: in forward mode
def third_derivative(f):
    return jax.jacfwd(jax.jacfwd(jax.jacfwd(f)))


# %% right: with jvp
def third_derivative(f):
    def derivative(g):
        return lambda x: jax.jvp(g, (x,), (1.0,))[1]

    return derivative(derivative(derivative(f)))


# %% right: an inner function, compiled
def third_derivative(f):
    @jax.jit
    def d3(x):
        return jax.grad(lambda y: jax.grad(jax.grad(f))(y))(x)

    return d3


# %% wrong: once
# You differentiated once: each grad adds one derivative, so the third needs three.
def third_derivative(f):
    return jax.grad(f)


# %% wrong: twice
# You differentiated twice: each grad adds one derivative, so the third needs three.
def third_derivative(f):
    return jax.grad(jax.grad(f))


# %% wrong: four times
# You differentiated four times: count the grads.
def third_derivative(f):
    return jax.grad(jax.grad(jax.grad(jax.grad(f))))


# %% wrong: the cube of the derivative
# You took the third power of f': the third derivative differentiates f three times.
def third_derivative(f):
    return lambda x: jax.grad(f)(x) ** 3


# %% wrong: three times the derivative
# You multiplied f' by three: the third derivative differentiates f three times.
def third_derivative(f):
    return lambda x: 3 * jax.grad(f)(x)


# %% wrong: the product of three
# You multiplied f by derivatives of it: apply grad to the result of grad instead.
def third_derivative(f):
    return lambda x: f(x) * jax.grad(f)(x) * jax.grad(jax.grad(f))(x)


# %% wrong: differentiating values
# You called the derivative before differentiating it again: grad takes a function, not a number.
def third_derivative(f):
    return lambda x: jax.grad(jax.grad(jax.grad(f)(x)))(x)


# %% wrong: a number
# You returned a number: third_derivative returns a function, which takes x and gives f'''(x).
def third_derivative(f):
    return jax.grad(jax.grad(jax.grad(f)))(1.0)


# %% wrong: the answer for the example
# You returned the answer for the example, 6: the function must work for every f.
def third_derivative(f):
    return lambda x: 6.0


# %% wrong: a difference quotient
# You took differences of f nearby: in 32 bits a third difference has hardly a digit left.
def third_derivative(f):
    h = 1e-2
    return lambda x: (f(x + 3 * h) - 3 * f(x + 2 * h) + 3 * f(x + h) - f(x)) / h**3


# %% wrong: a difference quotient in the middle
# You took differences of f around x: with 32 bits most of their digits cancel. Use jax.grad.
def third_derivative(f):
    h = 0.05

    def d3(x):
        outer = f(x + 2 * h) - f(x - 2 * h)
        inner = f(x + h) - f(x - h)
        return (outer - 2 * inner) / (2 * h**3)

    return d3


# %% wrong: a difference quotient of the second derivative
# You took a difference quotient of f'': differentiate it, with a third grad.
def third_derivative(f):
    second = jax.grad(jax.grad(f))
    h = 0.01
    return lambda x: (second(x + h) - second(x - h)) / (2 * h)


# %% wrong: differences in 64 bits
# You took differences of f in 64 bits: that is close, but it is no derivative. Use jax.grad.
def third_derivative(f):
    def d3(x):
        h = 0.02
        weights = {-3: 1, -2: -8, -1: 13, 1: -13, 2: 8, 3: -1}
        with jax.enable_x64(True):
            return float(sum(w * f(x + k * h) for k, w in weights.items())) / (8 * h**3)

    return d3


# %% wrong: nothing is returned
# Your function returns None, so there is nothing to call: does it end in a return?
def third_derivative(f):
    jax.grad(jax.grad(jax.grad(f)))
