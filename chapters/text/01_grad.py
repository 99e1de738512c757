# %% [markdown]
# # 01 · The derivative is a function
#
# `jax.grad(f)` is the derivative of `f`: a function that you call, plot and differentiate again. In
# this chapter you use it for one argument and for many, look at the places where a derivative is not
# what you expect, and find out where a `nan` comes from.
#
# You need: Python functions, and the rules of derivatives from school. Time: about 40 minutes.

# %%
import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict

# %% [markdown]
# ## From f to f'
#
# Take `x**3 + 2*x`. Its derivative, by the rules from school, is `3*x**2 + 2`. At 2 that is 14.

# %%
def f(x):
    return x**3 + 2 * x


df = jax.grad(f)
print(df(2.0))

# %% [markdown]
# `df` is a function like any other. `grad` did not see the formula: it calls `f`, notes which
# operations happen, and goes back through them with the chain rule.
#
# The derivative is the slope of the curve. Here are three tangents of `f`, drawn with the slopes that
# `grad` finds.

# %% tags=["tinyjax-only"]
from tinyjax import viz

viz.tangent_lines(f, jnp.linspace(-2, 2, 81), at=[-1.5, 0.0, 1.0])

# %% [markdown]
# On paper, the derivative is a limit. Take two points of the curve, one on each side of $x$, and let
# them move together. Their difference quotient becomes the slope:
#
# $$f'(x) = \lim_{h \to 0} \frac{f(x + h) - f(x - h)}{2h}$$
#
# Is `grad` exact? The quotient alone is not: with a large `h` it is off because the curve bends, with
# a small one because digits cancel. `grad` has no `h`.

# %% tags=["volatile"]
for h in [1.0, 0.1, 1e-3, 1e-5]:
    quotient = (f(jnp.float32(2 + h)) - f(jnp.float32(2 - h))) / (2 * h)
    print(f"h = {h:<6}: {quotient:.4f}")
print(f"grad      : {df(2.0):.4f}")

# %% [markdown]
# Loops and conditions of Python are no obstacle. What is differentiated is what happened on the way
# from this input to this output.

# %%
def polynomial_or_sine(x):
    if x > 0:
        total = 0.0
        for power in range(1, 4):
            total = total + x**power
        return total
    return jnp.sin(x)


print(f"{jax.grad(polynomial_or_sine)(2.0):.4f}, by hand {1 + 2 * 2 + 3 * 2**2}")
print(f"{jax.grad(polynomial_or_sine)(-1.0):.4f}, by hand {np.cos(-1.0):.4f}")

# %% [markdown]
# ## The derivative of the derivative
#
# A function goes into `grad` and a function comes out, so `jax.grad(jax.grad(f))` is the second
# derivative.
#
# **Predict.** With `f(x) = x**3 + 2*x`, what are the first, the second and the third derivative at 2?
# Put your three numbers in place of the dots, such as `[1, 2, 3]`. (The output of the next cell is
# folded: run it, then click on the dots.)

# %%
predict("01/three-derivatives", ...)  # a list of three numbers

# %% tags=["reveal"]
g = f
for n in range(1, 4):
    g = jax.grad(g)
    print(f"derivative {n} at 2: {g(2.0)}")

# %% [markdown]
# 14, 12, 6: `3*x**2 + 2`, then `6*x`, then 6 everywhere.
#
# To plot a derivative you need it at many points at once. `jax.vmap(df)` is `df` for each element of
# an array. (Chapter 06 is about `vmap`.)

# %% alt="Four curves over x from minus 2 to 2: f, a cubic that rises throughout; its first derivative, a parabola with its lowest point 2 at x = 0; the second, a straight line through zero; the third, the constant 6."
xs = jnp.linspace(-2, 2, 81)
plt.figure(figsize=(5, 3.4))
g = f
for label in ["f", "f'", "f''", "f'''"]:
    plt.plot(xs, jax.vmap(g)(xs), label=label)
    g = jax.grad(g)
plt.xlabel("x")
plt.legend()
plt.show()

# %% [markdown]
# One thing to get used to: derivatives are for floating-point numbers. There is no number next to the
# integer 2 at an arbitrarily small distance, so this is refused.

# %% tags=["raises-exception"]
df(2)

# %% [markdown]
# ## Several arguments
#
# **Predict.** `line` has three arguments. What does `jax.grad(line)(2.0, 3.0, 5.0)` return?
#
# - `"a"`: three numbers, `(5.0, 1.0, 2.0)`.
# - `"b"`: one number, 5.0.
# - `"c"`: an error: it does not say which argument is meant.

# %%
def line(w, b, x):
    return w * x + b


predict("01/which-argument", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
print(jax.grad(line)(2.0, 3.0, 5.0))

# %% [markdown]
# One number: the derivative with respect to the **first** argument. All the others are held fixed. The
# result has the shape and structure of that argument.
#
# `argnums` chooses others. With one number you get one derivative, with a tuple you get a tuple.

# %%
print(jax.grad(line, argnums=1)(2.0, 3.0, 5.0))
dw, db = jax.grad(line, argnums=(0, 1))(2.0, 3.0, 5.0)
print(dw, db)

# %% [markdown]
# "The first argument" can be as large as you like: an array, or lists, tuples and dicts of arrays. The
# gradient comes back in the same packing. That is how networks with millions of numbers are trained.
#
# Here is a function to make small in training: how far off the predictions are, in the mean of the
# squares. Such a function is called a loss. (Chapter 02 trains with one.)

# %%
def loss(parameters, x, y):
    return jnp.mean((parameters["w"] * x + parameters["b"] - y) ** 2)


parameters = {"w": jnp.array([1.0, 2.0, 3.0]), "b": jnp.float32(0.5)}
x, y = jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0, 1.0])
jax.grad(loss)(parameters, x, y)

# %% [markdown]
# ## The value as well
#
# In training you want to see the loss, too. `value_and_grad` returns both, and computes `f` once.

# %%
value, gradient = jax.value_and_grad(f)(2.0)
print(value, gradient)

# %% [markdown]
# Sometimes a function has more to tell: the predictions, or how many points it left out. But `grad`
# needs one number to differentiate.

# %%
def loss_and_predictions(w, x, y):
    predictions = w * x
    return jnp.mean((predictions - y) ** 2), predictions


# %% tags=["raises-exception"]
jax.grad(loss_and_predictions)(2.0, x, y)

# %% [markdown]
# Say `has_aux=True`: the function returns a pair, of which the first is differentiated and the second
# is passed on.

# %%
gradient, predictions = jax.grad(loss_and_predictions, has_aux=True)(2.0, x, y)
print(gradient)
print(predictions)

# %% [markdown]
# With `value_and_grad` it is `(value, aux), gradient = ...`.
#
# ## Many outputs
#
# `grad` is for functions with one number as their result. A function that returns an array has a
# derivative for each element of the result, and `grad` does not guess which you want.

# %% tags=["raises-exception"]
jax.grad(jnp.sin)(x)

# %% [markdown]
# What do you want?
#
# - The slope at each point: `jax.vmap(jax.grad(f))`.
# - The derivative of every output with respect to every input: `jax.jacobian(f)`, a matrix.
# - One number to make small: a sum or a mean, inside of your function.

# %%
print(jax.vmap(jax.grad(jnp.sin))(x))
print(jax.jacobian(jnp.sin)(x))
print(jax.grad(lambda x: jnp.sum(jnp.sin(x)))(x))

# %% [markdown]
# The first and the last print the same. Each output of `sin` depends on its own input alone, so in the
# sum nothing mixes. As soon as outputs share inputs, only the Jacobian tells all.
#
# ## If you come from PyTorch
#
# In PyTorch, a package for neural networks, you call `loss.backward()`, and every parameter gets its
# gradient written into `.grad`, added to what is there. Here the gradient is a **result**. (If you do
# not come from there, make the prediction and leave out the table.)
#
# **Predict.** We call the same derivative twice. What does the second call return?

# %%
predict("01/second-call", ...)  # "14.0" or "28.0"

# %% tags=["reveal"]
print(df(2.0), df(2.0))

# %% [markdown]
# 14 both times. There is nothing to set to zero between the steps, and no graph to keep for a second
# derivative. What you differentiate is a function, and what you differentiate it with respect to is an
# argument of that function.
#
# | PyTorch | `torch.func` (once functorch) | here |
# |---|---|---|
# | `loss.backward()`, then `w.grad` | `grad(loss)(w)` | `jax.grad(loss)(w)` |
# | `requires_grad=True` | `argnums=` | `argnums=` |
# | `optimizer.zero_grad()` | | not needed |
# | `create_graph=True` | `grad(grad(f))` | `jax.grad(jax.grad(f))` |
# | | `grad_and_value(f)`: gradient first | `jax.value_and_grad(f)`: value first |
# | `torch.autograd.functional.jacobian` | `jacrev`, `jacfwd`, `hessian` | `jax.jacrev`, `jax.jacfwd`, `jax.hessian` |
# | | `vjp`, `jvp` | `jax.vjp`, `jax.jvp` |
# | | `vmap(f, in_dims=, out_dims=)` | `jax.vmap(f, in_axes=, out_axes=)` |
# | `model(x)` | `functional_call(model, parameters, (x,))` | `model(parameters, x)` |
# | `x.detach()` | | `lax.stop_gradient(x)` |
# | `with torch.no_grad():` | | not needed: nothing is recorded unless you ask for a derivative |
# | `torch.autograd.Function` | | `jax.custom_vjp`, `jax.custom_jvp` |
#
# `stop_gradient` makes a value count as a constant:

# %%
print(jax.grad(lambda x: x * x)(3.0))
print(jax.grad(lambda x: x * lax.stop_gradient(x))(3.0))

# %% [markdown]
# ## A gap to fill
#
# Newton's method finds a zero of a function: follow the tangent to where it crosses the axis. From
# $x$ that is
#
# $$x - \frac{f(x)}{f'(x)}$$
#
# Write the step, for any function `f`. (Until you do, the cell prints `Ellipsis`, which is what
# Python calls the three dots.)

# %%
def newton_step(f, x):
    return ...  # one line


print(newton_step(lambda x: x**2 - 2, 2.0))

# %% [markdown]
# It should print 1.5. The next cell has one way to write it, and takes a few steps.

# %% tags=["solution"]
def newton_step(f, x):
    return x - f(x) / jax.grad(f)(x)


guess = 2.0
for _ in range(4):
    guess = newton_step(lambda x: x**2 - 2, guess)
    print(f"{guess:.6f}")

# %% [markdown]
# That is the square root of 2. And where is `f` flat, at a minimum, say? There `f'` has a zero:
# `newton_step(jax.grad(f), x)` takes you to it, second derivative included.
#
# ## Where there is no derivative
#
# `abs` has a corner at 0: slope -1 on the left, 1 on the right.
#
# **Predict.** What is `jax.grad(jnp.abs)(0.0)`?

# %%
predict("01/abs-at-zero", ...)  # "-1.0", "0.0", "1.0", "nan" or "an error"

# %% tags=["reveal"]
print("abs:        ", jax.grad(jnp.abs)(0.0))
print("relu:       ", jax.grad(jax.nn.relu)(0.0))
print("max(x, 0):  ", jax.grad(lambda x: jnp.maximum(x, 0.0))(0.0))
print("sqrt:       ", jax.grad(jnp.sqrt)(0.0))
print("floor:      ", jax.grad(jnp.floor)(0.5))

# %% [markdown]
# There is no error: at a corner each function has a convention. `abs` takes 1, the slope on the right.
# `relu`, which is `x` on the right and 0 on the left, takes 0. `jnp.maximum` shares the slope evenly
# when both are equal, hence one half: `relu(x)` and `maximum(x, 0)` are equal everywhere, and their
# gradients are not.
#
# The square root rises vertically at 0, so its slope is `inf`. Steps are flat: `floor` has slope 0,
# and a loss made of `floor`, `round` or comparisons teaches nothing.
#
# `inf` spreads. By the chain rule it is multiplied by the slope of what is inside the root. Where that
# is 0, `inf * 0` is `nan`:

# %%
print(jax.grad(lambda x: jnp.sqrt(x**2))(0.0))
print(jax.grad(jnp.linalg.norm)(jnp.zeros(2)))

# %% [markdown]
# ## A function with two sides
#
# This function is the square root on the right and 0 on the left. Its values are right everywhere.

# %%
def root(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


print(root(4.0), root(-1.0))

# %% [markdown]
# **Predict.** On the left `root` is constant. What is its derivative at -1?

# %%
predict("01/untaken-branch", ...)  # "0.0", "nan" or "an error"

# %% tags=["reveal"]
print(jax.grad(root)(-1.0))

# %% [markdown]
# `jnp.where` computes both branches and then chooses. The branch that is not chosen gets the gradient
# 0, and on the way back through `sqrt` that 0 is multiplied by the slope of the square root at -1,
# which is `nan`. And `0 * nan` is `nan`.
#
# You would have to know that. tinyjax can tell you: `explain_nan(g)(x)` calls `g(x)` and names the
# first operation that made a `nan`, with your line, and what to write instead. (A *cotangent* is a
# gradient on its way back.)

# %% tags=["tinyjax-only"]
print(jax.explain_nan(jax.grad(root))(-1.0))

# %% [markdown]
# The way out is a second `where`, *inside*: give the square root a harmless number where it is not
# wanted.

# %%
def safe_root(x):
    inside = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(inside), 0.0)


print(safe_root(-1.0), jax.grad(safe_root)(-1.0))
print(safe_root(4.0), jax.grad(safe_root)(4.0))

# %% [markdown]
# Remember the pattern, the **double where**: one `where` for the input, one for the output. It is the
# cure for most `nan`s in gradients of functions whose values are fine.
#
# ## Build it yourself
#
# The exercises are files in `exercises/01_grad`, each with its task at the top; the stars say how
# hard they are. To begin, run `tinyjax watch third_derivative` in a terminal: it checks the file at
# each save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer
# with `%%exercise third_derivative`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 01_grad/third_derivative`: differentiate a derivative, and that once more.
# - `*` `tinyjax check 01_grad/argnums`: differentiate a loss whose first arguments are data, not
#   parameters.
# - `*` `tinyjax check 01_grad/value_and_grad`: draw a tangent for which an expensive function is
#   called only once.
# - `**` `tinyjax check 01_grad/has_aux`: return a gradient together with what was found on the way
#   to the loss.
# - `**` `tinyjax check 01_grad/safe_where`: keep `nan` out of a gradient where all the values are
#   fine.
#
# And to try, beyond the exercises:
#
# 1. `log(1 + exp(x))` has the slope 1 for large `x`. What does `grad` say at 100? Find out why (in
#    tinyjax, ask `explain_nan`). Then try `jax.nn.softplus(x)` and `jnp.logaddexp(0.0, x)`.
# 2. Find the lowest point of `x**4 - x**2 + x` with `newton_step` and `jax.grad`, from -1.0. Where
#    do the steps go from 0.0?

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - `jax.grad(f)` is a function, and so is `jax.grad(jax.grad(f))`.
# - It differentiates with respect to the first argument, whatever that contains; `argnums` chooses
#   others, `value_and_grad` returns the value as well, `has_aux=True` passes more along.
# - `f` must return one number. For arrays there are `vmap(grad(f))` and `jacobian(f)`.
# - Nothing is stored and nothing adds up.
# - At corners there are conventions, `where` computes both sides, and a double `where` keeps `nan` out.
#
# Older posts on functorch hold for `torch.func`: the package was renamed.
#
# **Next:** [chapter 02](02_first_loop.ipynb) puts `grad` into a loop and fits a line.
