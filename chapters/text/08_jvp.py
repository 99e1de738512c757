# %% [markdown]
# # 08 · Forward mode
#
# A number that also knows how fast it changes: that is all there is to forward mode. You will write it
# in some twenty lines, break it, mend it, and then use `jax.jvp` for directions, Jacobians and products
# with the Hessian.
#
# You need: derivatives and the chain rule, and from chapter 07 what a tracer is. Time: about 45
# minutes.

# %%
import inspect
import math

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict

# %% [markdown]
# ## The value, and how fast it changes
#
# Move `x` a little, by `h`. Then `f(x)` moves by about `f'(x) * h`. More generally, let `x` move at the
# speed `t`, which is called its **tangent**. Then `f(x)` moves at the speed `f'(x) * t`.
#
# `jax.jvp(f, (x,), (t,))` computes both: the value, and the tangent of the value. The arguments and their
# tangents are tuples, since `f` may have several.

# %%
def f(x):
    return x * jnp.sin(x)


value, tangent = jax.jvp(f, (2.0,), (1.0,))
print(f"value {value:.4f}, tangent {tangent:.4f}")
print(f"by hand {2 * math.sin(2):.4f}, and {math.sin(2) + 2 * math.cos(2):.4f}")

# %% [markdown]
# With the tangent 1.0 you get the derivative. With another one you get so many times the derivative: the
# result is **linear** in the tangent.

# %%
for t in [1.0, 2.0, -10.0]:
    print(t, f"{jax.jvp(f, (2.0,), (t,))[1]:.4f}")

# %% [markdown]
# The name says what it is: the Jacobian (the derivative, or the matrix of all derivatives) is multiplied
# with a vector. JVP is short for **Jacobian-vector product**. With $J(x)$ for the Jacobian of $f$ at
# $x$, value and tangent become
#
# $$(x, \; t) \;\mapsto\; \bigl(f(x), \; J(x)\, t\bigr)$$
#
# ## Forward mode by hand
#
# How can it know? Let numbers come in pairs, of a value (the **primal**) and a tangent. Say for each
# operation what it does to the tangents. For a sum, the speeds add. For a product, school has a rule:
# $(u\,v)' = u'\,v + u\,v'$. Such pairs are called **dual numbers**.

# %%
class Dual:
    """A number and how fast it changes."""

    def __init__(self, primal, tangent):
        self.primal, self.tangent = primal, tangent

    def __repr__(self):
        return f"Dual({self.primal}, {self.tangent})"

    def __add__(self, other):
        other = dual(other)
        return Dual(self.primal + other.primal, self.tangent + other.tangent)

    def __mul__(self, other):
        other = dual(other)
        return Dual(
            self.primal * other.primal,
            self.tangent * other.primal + self.primal * other.tangent,
        )

    __radd__, __rmul__ = __add__, __mul__  # for 2.0 + x and 2.0 * x

    def __gt__(self, other):  # comparisons look at the value
        return self.primal > dual(other).primal


def dual(x):
    """x as a dual number: what is none yet does not change."""
    return x if isinstance(x, Dual) else Dual(x, 0.0)


def sin(x):
    return Dual(math.sin(x.primal), x.tangent * math.cos(x.primal))


def derivative(f):
    return lambda x: dual(f(Dual(x, 1.0))).tangent


# %% [markdown]
# Read `sin`: this is the chain rule. The inner function changes at the speed `x.tangent`, and the sine at
# `cos` times that.
#
# **Predict.** What is `Dual(3.0, 1.0) * Dual(3.0, 1.0)`?

# %%
predict("08/square", ...)  # "Dual(9.0, 1.0)", "Dual(9.0, 6.0)" or "Dual(9.0, 9.0)"

# %% tags=["reveal"]
print(Dual(3.0, 1.0) * Dual(3.0, 1.0))

# %% [markdown]
# 6: tangents are not multiplied with each other. The derivative of `x * x` is `2 x`.
#
# Now the derivative of a whole program. It may have loops and conditions, since the values are there.

# %%
def program(x):
    total = 0.0
    for _ in range(4):
        x = 0.5 * x if x > 2.0 else x * x
        total = total + x
    return total


print(f"{derivative(lambda x: x * sin(x))(2.0):.4f}, as above")
print(derivative(program)(3.0), "and JAX:", jax.jvp(program, (3.0,), (1.0,))[1])

# %% [markdown]
# You have just written automatic differentiation. No formula was transformed and no small step `h` was
# taken: numbers went through the program, in pairs.
#
# ## The same in JAX
#
# Under `jvp`, the tracer that your function meets is a dual number.

# %%
def show_me(x):
    print(x)
    return x * jnp.sin(x)


result = jax.jvp(show_me, (2.0,), (1.0,))

# %% [markdown]
# What `__mul__` and `sin` say in your class, the primitives' cards say in tinyjax. Here is that of `sin`.

# %% tags=["tinyjax-only"]
print(inspect.getsource(lax.sin_p.partials[0]))

# %% [markdown]
# `scale(cos(x))` is the function that multiplies a tangent with `cos(x)`. Products have two such rules,
# one for each operand (`a` is the product itself, in case that a rule has a use for it).

# %% tags=["tinyjax-only"]
for partial in lax.mul_p.partials:
    print(inspect.getsource(partial).strip(" ,\n"))

# %% [markdown]
# The tangent of `x` is multiplied with `y`, that of `y` with `x`, and the results are added: your
# `__mul__`, for arrays.
#
# `jvp` is a transformation, so you can look at the program it makes. Find the product rule.

# %%
print(jax.make_jaxpr(lambda x, t: jax.jvp(f, (x,), (t,)))(2.0, 1.0))

# %% [markdown]
# `b` is the tangent of `x`. `e` is the tangent of the sine. The last three equations are the
# product rule. (`add_any` is the sum of tangents.)
#
# With two arguments there are two tangents. The picture shows how they go through a program, with the
# real numbers: on the left the values, on the right the tangents, both from top to bottom. Here `x`
# moves, and `y` stands still.

# %% tags=["tinyjax-only"]
from tinyjax import viz

viz.jvp_tape(lambda x, y: x * y + jnp.sin(y), (2.0, 3.0), (1.0, 0.0))

# %% [markdown]
# **Predict.** For this function the derivatives at (2, 3) are 3 for `x` and 1.01 for `y`. What is
# the tangent of the result if the tangents of both arguments are 1?
#
# - `"a"`: two numbers, 3 and 1.01.
# - `"b"`: one number, 4.01.
# - `"c"`: an error, as it can go in one direction only.

# %%
def g(x, y):
    return x * y + jnp.sin(y)


predict("08/both-move", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
for tangents in [(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]:
    print(tangents, f"{jax.jvp(g, (2.0, 3.0), tangents)[1]:.2f}")

# %% [markdown]
# One number, the sum. There is one result, and it moves at one speed. Tangents say in which **direction**
# the arguments move, and `jvp` is the slope in this direction. To get both derivatives apart, you have to
# ask twice.
#
# ## Directions
#
# Stand on a hillside, and turn around. In each direction the slope is another one.

# %%
def height(p):
    return jnp.sin(p[0]) + 0.5 * p[0] * p[1]


def slope(angle, p):
    """How steep it is at p, if you look this way."""
    direction = jnp.array([jnp.cos(angle), jnp.sin(angle)])
    return jax.jvp(height, (p,), (direction,))[1]


p = jnp.array([0.5, 1.0])
print(f"east {slope(0.0, p):.3f}, north {slope(np.pi / 2, p):.3f}, west {slope(np.pi, p):.3f}")
print("gradient:", jax.grad(height)(p))

# %% alt="The slope against the direction, from 0 to 360 degrees: one full wave like a cosine. A vertical line marks the direction of the gradient, at about 10 degrees, where the wave is highest; a horizontal one marks the length of the gradient, which is the height there."
angles = jnp.linspace(0, 2 * np.pi, 181)
slopes = jax.vmap(slope, in_axes=(0, None))(angles, p)
gradient = jax.grad(height)(p)

plt.figure(figsize=(5, 3.2))
plt.plot(np.degrees(angles), slopes)
plt.axvline(np.degrees(np.arctan2(gradient[1], gradient[0])), color="k", linestyle="--", linewidth=1)
plt.axhline(np.linalg.norm(gradient), color="k", linestyle=":", linewidth=1)
plt.xticks(range(0, 361, 90))
plt.xlabel("direction (degrees)")
plt.ylabel("slope")
plt.show()

# %% [markdown]
# East and north are the two numbers in the gradient. It is steepest in the direction of the gradient
# (the dashed line), and there the slope is the gradient's length (the dotted one). Across it, the slope
# is zero.
#
# ## A derivative inside of a derivative
#
# Now something that looks harmless. For each `x`, the inner derivative asks how `x + y` changes with `y`.
#
# **Predict.** Work it out on paper first. Then: what do JAX's derivative and yours, of the class `Dual`,
# say at 1?

# %%
def jax_derivative(f):
    return lambda x: jax.jvp(f, (x,), (1.0,))[1]


def nested(derivative):
    """d/dx of x * (d/dy of x + y, at y = 1), at x = 1."""
    return derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(1.0)


predict("08/nested", ...)  # two numbers, JAX's and yours, such as [3.0, 3.0]

# %% tags=["reveal"]
print("JAX:", nested(jax_derivative), "Dual:", nested(derivative))

# %% [markdown]
# `x + y` changes with `y` at the speed 1, so the function of `x` is `x * 1`, and its derivative is 1.
# JAX is right. Your class says 2.
#
# What went wrong? In the inner derivative, `y` is `Dual(1.0, 1.0)`. But `x` is a dual number as well, of
# the *outer* derivative, and also has the tangent 1. The sum adds the two, and the inner derivative takes
# the 2 for its own. It should count only what moves because `y` moves.
#
# The two tangents are answers to different questions, and were mixed up. This is called
# **perturbation confusion**. Libraries for automatic differentiation have had this bug, and it is a
# quiet one.
#
# The cure: let each derivative have a tag of its own, and let each operation ask whose number it has in
# hand. What belongs to somebody else counts as a constant.

# %%
class Tagged:
    """A number and how fast it changes, for the derivative with this tag."""

    def __init__(self, tag, primal, tangent):
        self.tag, self.primal, self.tangent = tag, primal, tangent

    def __add__(self, other):
        tag = newest(self, other)
        (a, da), (b, db) = split(tag, self), split(tag, other)
        return Tagged(tag, a + b, da + db)

    def __mul__(self, other):
        tag = newest(self, other)
        (a, da), (b, db) = split(tag, self), split(tag, other)
        return Tagged(tag, a * b, da * b + a * db)

    __radd__, __rmul__ = __add__, __mul__


def newest(*numbers):
    """The tag of the innermost derivative that has one of these numbers."""
    return max(x.tag for x in numbers if isinstance(x, Tagged))


def split(tag, x):
    """Primal and tangent, seen by the derivative with this tag."""
    mine = isinstance(x, Tagged) and x.tag == tag
    return (x.primal, x.tangent) if mine else (x, 0.0)


tags_given = 0


def tagged_derivative(f):
    def df(x):
        global tags_given
        tags_given += 1
        tag = tags_given
        return split(tag, f(Tagged(tag, x, 1.0)))[1]

    return df


print(nested(tagged_derivative))

# %% [markdown]
# That is right. In the inner derivative, `split` sees that `x` has another tag. So `x` is a constant there: `a` is
# the whole dual number `x`, and its tangent is 0. The tangent of the sum is 1, a plain number, and nothing
# of `x`'s own tangent got lost.
#
# Numbers can now be nested: the primal of one is again a `Tagged`. So second derivatives work, too.

# %%
def cube(x):
    return x * x * x


print(tagged_derivative(tagged_derivative(cube))(2.0), jax_derivative(jax_derivative(cube))(2.0))
second = jax_derivative(jax_derivative(show_me))(2.0)

# %% [markdown]
# The last line is what JAX's tracer looks like in a second derivative: a dual number in a dual number.
# The inner one belongs to the outer derivative.
#
# In tinyjax the tag is the trace itself. These are the lines. (To write them before you read them, stop
# here and take the exercise `tinyjax check 08_jvp/tags`.)

# %% tags=["tinyjax-only"]
from tinyjax.transforms import ad

print(inspect.getsource(ad.JVPTrace.mine))
print(inspect.getsource(ad.JVPTrace.split))

# %% [markdown]
# (`lift` makes an array of a number. `Zero` is a tangent that is known to be zero, so that nobody has to
# multiply with it.)
#
# And this is what happens to an operation while `jvp` is in charge.

# %% tags=["tinyjax-only"]
print(inspect.getsource(ad.JVPTrace.process))

# %% [markdown]
# - The operands are split. If none of them has a tangent, the operation is none of this trace's business: its
#   **parent** does it, the trace of the transformation outside.
# - `prim.jvp` asks the card for the value and the tangent. While the card works, the parent is in
#   charge. So what the rule computes is in turn differentiated by the outer derivative, if there is one.
# - `pair` makes the dual number of the result.
#
# (The branch between these serves `linearize` and `grad`, which record what happens to tangents.)
# There is no `newest` to be found. Each derivative is the one in charge while its function runs, so the
# innermost is asked first.
#
# ## The whole Jacobian
#
# A function from arrays to arrays has a derivative for each input and each output: a matrix, with a row
# for each output and a column for each input. If only input number 1 moves, all outputs move at once,
# and their speeds are **column** number 1.

# %%
def polar(p):
    """From length and angle to the two coordinates."""
    r, angle = p
    return jnp.array([r * jnp.cos(angle), r * jnp.sin(angle)])


p = jnp.array([2.0, np.pi / 6])
print("only r moves:    ", jax.jvp(polar, (p,), (jnp.array([1.0, 0.0]),))[1])
print("only angle moves:", jax.jvp(polar, (p,), (jnp.array([0.0, 1.0]),))[1])
print(jax.jacfwd(polar)(p))

# %% [markdown]
# `jax.jacfwd` asks in each direction, and puts the answers side by side.
#
# **Predict.** A function takes 3 numbers to 1,000 numbers. How many times must tangents be pushed through
# it for the whole Jacobian, in forward mode?

# %%
predict("08/pushes", ...)  # 1, 3, 1000 or 3000

# %% tags=["reveal"]
def wave(p):
    return p[0] * jnp.sin(p[1] * jnp.linspace(0, 1, 1000) + p[2])


jacobian = jnp.stack([jax.jvp(wave, (jnp.ones(3),), (e,))[1] for e in jnp.eye(3)], axis=1)
print(jacobian.shape, "from 3 pushes")
print("as jacfwd:", jnp.allclose(jacobian, jax.jacfwd(wave)(jnp.ones(3)), atol=1e-6))

# %% [markdown]
# Three: one for each input, however many outputs there are. (Had you said 1, for all directions at once?
# That gives the sum of the columns, as above.)
#
# ## A gap to fill
#
# Write `my_jacfwd(f)` for a function of one vector. `push(t)` is the tangent of the result for a tangent
# `t` of the argument. The rows of `jnp.eye(n)` are the directions. Let `jax.vmap` push all of them at
# once, and see that they end up as columns: `out_axes` of chapter 06 does it, or a transposition.

# %%
def my_jacfwd(f):
    def jacobian(x):
        def push(t):
            return jax.jvp(f, (x,), (t,))[1]

        directions = jnp.eye(x.size)
        return ...  # push, for all the directions

    return jacobian


print(my_jacfwd(polar)(p))

# %% [markdown]
# It should print the matrix from above: `[[0.866 -1.], [0.5 1.732]]`.

# %% tags=["solution"]
def my_jacfwd(f):
    def jacobian(x):
        def push(t):
            return jax.jvp(f, (x,), (t,))[1]

        directions = jnp.eye(x.size)
        return jax.vmap(push, out_axes=1)(directions)

    return jacobian


print(my_jacfwd(polar)(p))

# %% [markdown]
# ## What it costs
#
# A push computes the value and, beside each operation, what happens to the tangent: about twice to three
# times the work of `f`. And nothing must be kept: when an operation is done, its operands can go. Reverse
# mode, on which `grad` rests, has to remember what happened until it comes back (chapter 09).
#
# But the cost is *for each input*. Reverse mode pays for each *output*: `jax.jacrev` makes the Jacobian row
# by row. Let us count the
# multiplications in the matrix products of a small network, with 20 outputs and a growing number of
# inputs.

# %%
def multiplications(f, *args):
    """How many multiplications the matrix products of f need."""
    total = 0
    for eqn in jax.make_jaxpr(f)(*args).eqns:
        if str(eqn.primitive) == "dot_general":
            (axes, _), _ = eqn.params["dimension_numbers"]
            summed = math.prod(eqn.invars[0].aval.shape[axis] for axis in axes)
            total += eqn.outvars[0].aval.size * summed
    return total


def network(x):
    n = len(x)
    hidden = jnp.sin(jnp.ones((30, n)) @ x)
    return jnp.ones((20, 30)) @ hidden


for n in [1, 20, 400]:
    x = jnp.ones(n)
    counts = [multiplications(h, x) for h in (network, jax.jacfwd(network), jax.jacrev(network))]
    print(f"{n:3} inputs: value {counts[0]:7,}, jacfwd {counts[1]:9,}, jacrev {counts[2]:9,}")

# %% alt="Multiplications against the number of inputs, both axes logarithmic, for a network with 20 outputs. The line for jacfwd starts below that for jacrev and rises more steeply. They cross near 20 inputs."
ns = [1, 2, 5, 10, 20, 50, 100, 200, 400]
plt.figure(figsize=(5, 3.2))
for jac, marker in [(jax.jacfwd, "o-"), (jax.jacrev, "s-")]:
    counts = [multiplications(jac(network), jnp.ones(n)) for n in ns]
    plt.loglog(ns, counts, marker, label=jac.__name__)
plt.axvline(20, color="k", linestyle=":", linewidth=1)
plt.xlabel("inputs (there are 20 outputs)")
plt.ylabel("multiplications")
plt.legend()
plt.show()

# %% [markdown]
# They cross near the number of outputs. Few inputs and many outputs: forward mode. Many inputs and
# few outputs: reverse mode. A loss has millions of inputs and one output, so training uses `grad`.
#
# Forward mode also goes where reverse mode cannot. This loop ends when a condition says so. Nobody
# knows beforehand how many steps that will be, so reverse mode cannot tell how much there is to remember.

# %%
def grow(x):
    """x, x**2, x**3 ..., until it is above 100."""
    return lax.while_loop(lambda y: y < 100.0, lambda y: y * x, x)


print(jax.jvp(grow, (3.0,), (1.0,)))

# %% tags=["raises-exception"]
jax.grad(grow)(3.0)

# %% [markdown]
# 243 is 3 to the power of 5, and 405 is 5 times 3 to the power of 4.
#
# ## linearize
#
# Often several tangents are to be pushed from the same point. `jax.linearize(f, x)` returns the value, and
# a function `push` for as many tangents as you like.
#
# **Predict.** `noisy` prints a line whenever it runs. How many lines does the next cell print?

# %%
def noisy(x):
    print("noisy runs")
    return x * jnp.sin(x)


predict("08/linearize", ...)  # a number: linearize, and then three pushes

# %% tags=["reveal"]
value, push = jax.linearize(noisy, 2.0)
for t in [1.0, 2.0, 3.0]:
    print(f"{push(t):.4f}")

# %% [markdown]
# One: what depends on `x` alone is the same for each push, and is computed once. What `push` does is a program, recorded while `noisy` ran. Here it is.

# %%
print(jax.make_jaxpr(push)(1.0))

# %% [markdown]
# No sine and no cosine: what depends on `x` alone has been computed and is kept as consts and literals.
# What is left is a sum, and products with known numbers: a **linear** program. That is the reason for
# the name, and chapter 09 starts from here.
#
# ## A product with the Hessian
#
# The second derivatives of a function of `n` numbers are a matrix of `n` times `n`, the **Hessian**. For a
# million parameters nobody can store it. Mostly it is only needed times a vector `v`, and this is a
# question for forward mode: how does the *gradient* change if `x` moves in the direction `v`?
#
# $$H(x)\, v = \lim_{h \to 0} \frac{\nabla f(x + h v) - \nabla f(x)}{h}$$

# %%
def hvp(f, x, v):
    """The Hessian of f at x, times v."""
    return jax.jvp(jax.grad(f), (x,), (v,))[1]


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


x, v = jnp.array([0.5, -1.0, 2.0]), jnp.array([1.0, 0.0, 2.0])
print(hvp(rosenbrock, x, v))
print(jax.hessian(rosenbrock)(x) @ v)

# %% [markdown]
# Forward over reverse: `grad` inside, since there is one output, `jvp` around it, since there is one
# direction. It costs a few times as much as a gradient, whatever `n` is. Here for a million
# parameters, whose Hessian would fill 4,000 gigabytes.

# %%
n = 1_000_000
x, v = jnp.linspace(-1, 1, n), jnp.ones(n)
product = jax.jit(lambda x, v: hvp(rosenbrock, x, v))(x, v)
print(product.shape, f"{float(product[0]):.1f}")

# %% [markdown]
# ## Build it yourself
#
# The exercises are files in `exercises/08_jvp`, each with its task at the top; the stars say how
# hard they are. To begin, run `tinyjax watch newton_step` in a terminal: it checks the file at each
# save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer with
# `%%exercise newton_step`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 08_jvp/newton_step`: get value and derivative out of one run, for a step of
#   Newton's method.
# - `*` `tinyjax check 08_jvp/sin_jvp`: write the rule of the sine, and put it on its card.
# - `**` `tinyjax check 08_jvp/mul_jvp`: write the rule of the product, where one operand may stand
#   still.
# - `**` `tinyjax check 08_jvp/jacfwd`: return a value and its Jacobian from one run, for arrays of
#   any shape.
# - `***` `tinyjax check 08_jvp/tags`: write the trace of forward mode, which keeps tangents apart;
#   `jax.jvp` then runs on it.
#
# And to try, beyond the exercises:
#
# 1. Give `Tagged` a subtraction and a function `exp`, and compare second derivatives of
#    `x * exp(x)` with JAX's.
# 2. What does `jax.jvp(lambda d: d["w"] * d["b"], ({"w": 2.0, "b": 3.0},), ...)` need for its
#    tangents? Find the derivative with respect to `b` in one push.
# 3. Write `hvp` in the other order: `jax.grad` of the function
#    `lambda x: jax.jvp(f, (x,), (v,))[1]`. Then with `grad` alone: how much of the gradient goes in
#    the direction `v` is `jnp.vdot(jax.grad(f)(x), v)`, one number. Are the results the same?
#    Compare the lengths of the three jaxprs.

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - A dual number is a value with its speed. `jax.jvp` runs a function on them: primitives have rules for
#   tangents, and the chain rule comes by itself.
# - A tangent is a direction. One push gives the slope in one direction, or one column of the Jacobian.
# - Derivatives inside of derivatives need tags. In JAX, each tracer knows its trace.
# - Forward mode costs two or three times the function for each input, and keeps nothing. It wins
#   for few inputs. For many inputs and one output, take `grad`.
# - `linearize` records the pushing; `jvp` of `grad` is a product with the Hessian.
#
# Older posts explain nesting by **levels** that tracers compare with one another, and print tracers such as
# `Traced<ConcreteArray(2.0)>with<JVPTrace(level=2/0)>`. Since version 0.4.36 JAX has no levels: it asks
# the trace in charge, as above.
#
# **Next:** [chapter 09](09_vjp.ipynb) runs the linear program backwards.
