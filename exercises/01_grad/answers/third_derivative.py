# The card of the exercise third_derivative. Spoilers: it holds the solutions.

# %% [markdown] statement
# # The third derivative
#
# `jax.grad(f)` is a function again, so you can differentiate it again.
#
# Write `third_derivative`: it takes a function `f` of one number and returns the function
# that computes its third derivative. For `f(x) = x**3 + 2*x` that is 6 everywhere.
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
from tinyjax.learn import check


def draw(rng):
    """A random polynomial of degree five and a point."""
    return {
        "coefficients": [float(c) for c in rng.normal(size=6).round(2)],
        "x": round(rng.uniform(0.5, 1.5), 2),
    }


@check("a random polynomial at a random point")
def polynomial(student, coefficients, x):
    def f(x):
        return sum(c * x**k for k, c in enumerate(coefficients))

    return student.third_derivative(f)(x)


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


# %% wrong: the answer for the example
# You returned the answer for the example, 6: the function must work for every f.
def third_derivative(f):
    return lambda x: 6.0


# %% wrong: a finite difference
# Your differences round away: in float32 a third difference has no digits left. Use jax.grad.
def third_derivative(f):
    h = 1e-2
    return lambda x: (f(x + 3 * h) - 3 * f(x + 2 * h) + 3 * f(x + h) - f(x)) / h**3


# %% wrong: nothing is returned
# Your function returns None, so there is nothing to call: does it end in a return?
def third_derivative(f):
    jax.grad(jax.grad(jax.grad(f)))
