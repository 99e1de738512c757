# %% [markdown]
# # 12 · Compositions
#
# `jit`, `grad`, `vmap` and `pmap` take a function and return a function, so each can be applied to what
# another one made. In this chapter you learn to read such compositions, to see in which order they may
# stand, and to judge a formula that many posts print. Then you build things that would be hard
# without them: a gradient for each example, an ensemble trained in one call, the derivative of a whole
# training.
#
# You need: chapters 01 to 06, and 11 for `pmap`. It helps to have read 07 to 10. Time: about 45
# minutes.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict

# %% [markdown]
# ## From the inside out
#
# Here is the second derivative of `f`, for each element of an array, compiled.

# %%
def f(x):
    return x * jnp.sin(x)


xs = jnp.array([0.5, 1.0, 1.5, 2.0])
second = jax.jit(jax.vmap(jax.grad(jax.grad(f))))
print(second(xs))
print("by hand:", 2 * jnp.cos(xs) - xs * jnp.sin(xs))

# %% [markdown]
# Read a composition from the inside, and note at each step what the function takes and returns.
#
# | function | takes | returns |
# |---|---|---|
# | `f` | a number | a number |
# | `grad(f)` | a number | a number, the slope |
# | `grad(grad(f))` | a number | a number, the bend |
# | `vmap(grad(grad(f)))` | an array of numbers | one bend for each |
# | `jit(vmap(grad(grad(f))))` | the same | the same, compiled |
#
# The picture has this table as boxes. It was made by tracing the function, so the types in it are those
# that the parts really got.

# %% tags=["tinyjax-only"]
from tinyjax import viz

viz.transformation_stack(second, xs)

# %% [markdown]
# What happens in each box? `jax.explain` follows the call from the inside out. (It is tinyjax's own.)
# These are the titles of the stages; each `grad` has three steps.

# %% tags=["tinyjax-only"]
story = jax.explain(second)(xs)
print("\n".join(stage.title for stage in story.stages))

# %% [markdown]
# And these are two whole stages, of the shorter `vmap(grad(f))`.

# %% tags=["tinyjax-only"]
print(jax.explain(jax.vmap(jax.grad(f)))(xs).only("all of it", "batched"))

# %% [markdown]
# Compare the two programs. `grad` made one for a number. `vmap` gave each equation of it an axis of 4,
# and does not ask where it came from. Every transformation makes ordinary equations of ordinary
# equations: that is why they compose.
#
# ## The formula in the posts
#
# Many introductions to JAX praise its compositions with a line such as `jit(grad(grad(vmap(f))))`. It
# has the same four parts, in another order.
#
# **Predict.** What does it do with `xs`?
#
# - `"a"`: the same as above.
# - `"b"`: it returns a matrix of second derivatives.
# - `"c"`: it raises an error.

# %%
predict("12/formula-of-the-posts", ...)  # "a", "b" or "c"

# %% tags=["reveal", "raises-exception"]
jax.jit(jax.grad(jax.grad(jax.vmap(f))))(xs)

# %% [markdown]
# Read it from the inside. `vmap(f)` takes four numbers and returns four. The next one is `grad`, and it
# needs **one** number, a scalar, to differentiate. ([Chapter 09](09_vjp.ipynb) says
# why: it pulls back a single 1.0.)
# `jit` and the outer `grad` are not to blame; they never get that far.
#
# There are two ways to mend it. The first is to move `vmap` outside, past the `grad`s, as above:
# differentiate for one, then map. The second is to make one number, by a sum, before each `grad`.

# %%
def total(xs):
    return jnp.sum(jax.vmap(f)(xs))


def total_slope(xs):
    return jnp.sum(jax.grad(total)(xs))


print("vmap outside:", jax.jit(jax.vmap(jax.grad(jax.grad(f))))(xs))
print("sums inside: ", jax.jit(jax.grad(total_slope))(xs))

# %% [markdown]
# (Two sums, since `grad(total)` returns four numbers again.)
#
# Why may one sum up? In `total`, only the first term depends on the first number. Its derivative is
# that of this term alone; the other terms add nothing.
#
# ## What the sum means
#
# That holds for `vmap(f)`, in which nobody looks at a neighbour. This function is another matter: it
# subtracts the mean of all numbers.

# %%
def centred(xs):
    return xs - jnp.mean(xs)


# %% [markdown]
# **Predict.** What is the gradient of the sum of `centred(xs)`?

# %%
predict("12/coupled", ...)  # "all ones", "all zeros" or "an error"

# %% tags=["reveal"]
print(jax.grad(lambda xs: jnp.sum(centred(xs)))(xs))

# %% [markdown]
# Zeros. Raise one number by 1: its own output rises by 3/4, and the three others fall by 1/4 each. In
# the sum that cancels. (You see it at once on paper: the sum of `centred(xs)` is always 0.)
#
# The Jacobians show the difference. In the left one all is on the diagonal, so a sum over rows loses
# nothing. In the right one it mixes.

# %% alt="Two 4 by 4 matrices as coloured squares. Left, vmap(f): only the diagonal differs from zero. Right, centred: the diagonal is 0.75 and everything else is minus 0.25. The numbers are written in the squares."
figure, panels = plt.subplots(1, 2, figsize=(6.5, 3.2))
for ax, name, function in zip(panels, ["vmap(f)", "centred"], [jax.vmap(f), centred]):
    jacobian = jax.jacobian(function)(xs)
    ax.imshow(jacobian, cmap="RdBu", vmin=-3, vmax=3)
    for (row, column), entry in np.ndenumerate(np.asarray(jacobian)):
        ax.text(column, row, f"{entry:.2f}", ha="center", va="center", fontsize=9)
    ax.set(title=name, xlabel="input", ylabel="output", xticks=range(4), yticks=range(4))
plt.tight_layout()
plt.show()

# %% [markdown]
# So before you add a sum in order to please `grad`, ask whether the outputs share inputs. A softmax or
# a batch normalisation couples them, as `centred` does. If you wanted each output's derivative, take
# `vmap` outside, or `jax.jacobian`.
#
# ## grad of vmap, vmap of grad
#
# In training there is one more thing: parameters, which all examples share. Take a loss for one
# example, and 40 examples.

# %%
def loss(w, x, y):
    """How wrong the line w[0] * x + w[1] is at one point."""
    return (w[0] * x + w[1] - y) ** 2


key_x, key_noise = jax.random.split(jax.random.key(12))
x = jax.random.normal(key_x, (40,))
y = 2.0 * x - 1.0 + 0.3 * jax.random.normal(key_noise, (40,))
w = jnp.array([1.0, 0.5])

# %% [markdown]
# `vmap(grad(loss))` has a gradient for each example. `grad` of the mean over `vmap(loss)` has one for
# all.
#
# **Predict.** Is the mean of the first the same as the second?
#
# - `"a"`: yes, always.
# - `"b"`: only for a linear model.
# - `"c"`: no: a mean of gradients is not the gradient of a mean.

# %%
def mean_loss(w, x, y):
    return jnp.mean(jax.vmap(loss, in_axes=(None, 0, 0))(w, x, y))


predict("12/grad-of-vmap", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
each = jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(w, x, y)
print("gradients of all examples:", each.shape)
print("their mean:          ", each.mean(axis=0))
print("gradient of the mean:", jax.grad(mean_loss)(w, x, y))

# %% [markdown]
# Yes, always, up to rounding: a derivative of a sum is the sum of derivatives. Nothing about the model
# matters. But the *costs* differ. `vmap(grad(loss))` makes an array with one more axis: 40 gradients,
# each of the size of the parameters. For a large network you cannot afford that, and for one step of
# training you do not need it.
#
# When is it needed? When something happens to each gradient before they are added up: when each is
# clipped (for privacy), or when you want to know which example matters.
#
# ## A gap to fill
#
# Somebody has mistyped one of the labels. Which? An example that does not fit pulls hard: the gradient
# of its loss is long.
#
# Write `lengths(w, x, y)`: for each example, the length of the gradient of its loss
# (`jnp.linalg.norm`). Write it for one example first, then let `vmap` and `jit` do the rest.

# %%
y_typed = y.at[17].add(4.0)
fitted = jnp.array([2.0, -1.0])


def pull_of_one(w, x, y):
    return jnp.linalg.norm(jax.grad(loss)(w, x, y))


lengths = ...  # jit of vmap of pull_of_one: w is the same for all
print(lengths)

# %% [markdown]
# `lengths(fitted, x, y_typed)` should be an array of 40 numbers, and the largest of them should be
# number 17. The next cell has one way to write it, and draws the numbers.

# %% tags=["solution"] alt="A scatter plot of 40 points along a rising line, with one point far above it. The size of each point shows how long its gradient is: the point above the line is by far the largest."
lengths = jax.jit(jax.vmap(pull_of_one, in_axes=(None, 0, 0)))
found = lengths(fitted, x, y_typed)
print(found.shape, "the longest:", jnp.argmax(found))

plt.figure(figsize=(5, 3.2))
plt.scatter(x, y_typed, s=12 * found, alpha=0.7)
plt.xlabel("x")
plt.ylabel("y")
plt.show()

# %% [markdown]
# ## Where to put jit
#
# `jit` changes no values, up to rounding. So it may stand anywhere, and for `vmap` even the program is
# the same:

# %%
inner, outer = jax.vmap(jax.jit(f)), jax.jit(jax.vmap(f))
print("same program:", str(jax.make_jaxpr(inner)(xs)) == str(jax.make_jaxpr(outer)(xs)))
print(jax.make_jaxpr(inner)(xs))

# %% [markdown]
# A jitted function is one equation. `vmap` goes into it and batches the program there.
#
# With `grad` it makes a difference. Count the programs that are compiled.

# %%
for name, function in [
    ("grad(jit(f))", jax.grad(jax.jit(f))),
    ("jit(grad(f))", jax.jit(jax.grad(f))),
]:
    equations = jax.make_jaxpr(function)(1.0).eqns
    print(name, "is made of", [str(eqn.primitive) for eqn in equations])

# %% [markdown]
# `grad(jit(f))` has two: one forwards, one backwards. What passes between them has to be stored in
# arrays. In `jit(grad(f))` the compiler sees both as one program and can fuse them. The rule of thumb:
# **`jit` goes outermost**, around the whole step. (Your numbers will differ.)

# %% tags=["volatile"]
def microseconds(function, *args, repeat=200):
    jax.block_until_ready(function(*args))  # the first call compiles
    start = time.perf_counter()
    for _ in range(repeat):
        result = function(*args)
    jax.block_until_ready(result)
    return 1e6 * (time.perf_counter() - start) / repeat


print(f"vmap(grad(f)):      {microseconds(jax.vmap(jax.grad(f)), xs):8.1f} microseconds")
print(f"vmap(grad(jit(f))): {microseconds(jax.vmap(jax.grad(jax.jit(f))), xs):8.1f} microseconds")
print(f"jit(vmap(grad(f))): {microseconds(jax.jit(jax.vmap(jax.grad(f))), xs):8.1f} microseconds")

# %% [markdown]
# One thing may not stand anywhere: an `if` about a value. Chapter 07 showed that `grad` alone admits
# it, while `jit` and `vmap` do not.
#
# **Predict.** Which of these five accept `bent`?

# %%
def bent(x):
    if x > 0:
        return x * x
    return -x


compositions = {
    "grad": (jax.grad(bent), 2.0),
    "grad(grad)": (jax.grad(jax.grad(bent)), 2.0),
    "jit(grad)": (jax.jit(jax.grad(bent)), 2.0),
    "grad(jit)": (jax.grad(jax.jit(bent)), 2.0),
    "vmap(grad)": (jax.vmap(jax.grad(bent)), xs),
}
predict("12/who-accepts-if", ...)  # a list, such as ["grad", "grad(jit)"]

# %% tags=["reveal"]
for name, (function, argument) in compositions.items():
    try:
        print(f"{name:11} {function(argument)}")
    except jax.errors.TracerBoolConversionError:
        print(f"{name:11} refused")

# %% [markdown]
# As soon as `jit` or `vmap` is among them, inside or outside, the value is unknown or many. A
# composition accepts what *all* of its parts accept. With `jnp.where` or `lax.cond` in the place of the
# `if`, all five run.
#
# ## Derivatives of derivatives, for arrays
#
# `grad(grad(f))` was fine for a number.
#
# **Predict.** `h` takes three numbers and returns one. What is `jax.grad(jax.grad(h))`?
#
# - `"a"`: the matrix of all second derivatives.
# - `"b"`: the second derivative for each of the three numbers.
# - `"c"`: an error.

# %%
def h(p):
    return p[0] ** 2 * p[1] + jnp.sin(p[1] * p[2])


p = jnp.array([1.0, 2.0, 0.5])
predict("12/grad-of-grad", ...)  # "a", "b" or "c"

# %% tags=["reveal", "raises-exception"]
jax.grad(jax.grad(h))(p)

# %% [markdown]
# The inner `grad` returns three numbers, the outer one needs one. Read from the inside, you see it
# coming.
#
# What fits there is a Jacobian. That of the gradient is the **Hessian**. In row $i$ and column $j$ it
# has
#
# $$H_{ij} = \frac{\partial^2 h}{\partial p_i \, \partial p_j}$$

# %%
print(jax.jacfwd(jax.grad(h))(p))

# %% [markdown]
# `jax.hessian(h)` is `jacfwd(jacrev(h))`. (`jacrev` is `grad` if there is one output.) There are four
# ways to put the two Jacobians together. Same matrix, other programs:

# %%
for outer in (jax.jacfwd, jax.jacrev):
    for inner in (jax.jacfwd, jax.jacrev):
        both = outer(inner(h))
        same = jnp.allclose(both(p), jax.hessian(h)(p), atol=1e-5)
        length = len(jax.make_jaxpr(both)(p).eqns)
        print(f"{outer.__name__}({inner.__name__}(h)): the same {same}, {length} equations")

# %% [markdown]
# Which is best? Decide for each from the inside, by what it gets (chapters 08 and 09). `h` has many
# inputs and one output: reverse. Its gradient has as many outputs as inputs, where both modes need the
# same number of runs, and forward mode keeps nothing: forward. The number of equations says little
# about that.
#
# A Hessian for each of 100 points, compiled? You can write it down by now.

# %%
points = jnp.linspace(-1.0, 1.0, 300).reshape(100, 3)
hessians = jax.jit(jax.vmap(jax.hessian(h)))(points)
print(hessians.shape, "symmetric:", jnp.allclose(hessians, hessians.transpose(0, 2, 1), atol=1e-6))

# %% [markdown]
# ## Over devices and over examples
#
# `pmap` maps over devices (chapter 11): each takes one slice of the leading axis. Inside, `vmap` takes
# care of the slice. Here are 1,000 examples, 125 for each of 8 devices; everybody gets all of `w`.
#
# **Predict.** What is the shape of the result?

# %%
key_x, key_noise = jax.random.split(jax.random.key(5))
many_x = jax.random.normal(key_x, (8, 125))
many_y = 2.0 * many_x - 1.0 + 0.3 * jax.random.normal(key_noise, (8, 125))
axes = (None, 0, 0)
on_devices = jax.pmap(jax.vmap(jax.grad(loss), in_axes=axes), in_axes=axes)

predict("12/pmap-of-vmap", ...)  # "(8, 2)", "(1000, 2)" or "(8, 125, 2)"

# %% tags=["reveal"]
gradients = on_devices(w, many_x, many_y)
print(gradients.shape)

# %% [markdown]
# Read it from the inside: `(2,)` for one example, `(125, 2)` for one device, `(8, 125, 2)` in all. Two
# `vmap`s would give the same numbers, on one device.

# %%
on_one = jax.vmap(jax.vmap(jax.grad(loss), in_axes=axes), in_axes=axes)(w, many_x, many_y)
print(jnp.allclose(gradients, on_one, atol=1e-5))

# %% tags=["tinyjax-only"]
viz.transformation_stack(on_devices, w, many_x, many_y)

# %% [markdown]
# ## An ensemble in one call
#
# One network tells you what it predicts. Twenty of them, from different random starts, also give you an
# idea of how sure that is. With `vmap`, training twenty is no more to write than training one.
#
# So write it for **one**. A key goes in; trained parameters come out. The steps are a `lax.scan`, a
# loop that is part of the program, and in each there is a `grad`.

# %%
def start(key):
    key_1, key_2 = jax.random.split(key)
    return {
        "w1": 3.0 * jax.random.normal(key_1, (16,)),
        "b1": jnp.linspace(-3.0, 3.0, 16),
        "w2": 0.3 * jax.random.normal(key_2, (16,)),
    }


def network(params, x):
    """One number in, one out."""
    return jnp.tanh(params["w1"] * x + params["b1"]) @ params["w2"]


def fit_error(params, x, y):
    outputs = jax.vmap(network, in_axes=(None, 0))(params, x)
    return jnp.mean((outputs - y) ** 2)


def train(key, x, y):
    def step(params, _):
        error, slopes = jax.value_and_grad(fit_error)(params, x, y)
        return jax.tree.map(lambda p, s: p - 0.05 * s, params, slopes), error

    return lax.scan(step, start(key), None, length=500)


# %% [markdown]
# Now for twenty keys. `x` and `y` are the same for all.

# %%
key_x, key_noise, key_nets = jax.random.split(jax.random.key(7), 3)
x_train = jax.random.uniform(key_x, (30,), minval=-1.0, maxval=1.0)
y_train = jnp.sin(3.0 * x_train) + 0.1 * jax.random.normal(key_noise, (30,))

train_all = jax.jit(jax.vmap(train, in_axes=(0, None, None)))
ensemble, errors = train_all(jax.random.split(key_nets, 20), x_train, y_train)
print({name: leaf.shape for name, leaf in ensemble.items()})
print("errors:", errors.shape)
print("the largest, before and after:", f"{errors[:, 0].max():.1f}", f"{errors[:, -1].max():.2f}")

# %% [markdown]
# Each parameter has an axis more: twenty networks are one dict. From the inside out this was `grad`,
# `scan`, `vmap`, `jit`, with one more `vmap` inside, for the points.
#
# To ask all networks at many points takes two maps: one over points, one over networks.

# %% alt="Noisy points of a sine between x = minus 1 and 1, and twenty thin curves, one of each network. Between minus 1 and 1 the curves lie close together on the points. Outside of it, where there are no points, they spread."
grid = jnp.linspace(-2.0, 2.0, 101)
at_points = jax.vmap(network, in_axes=(None, 0))
curves = jax.vmap(at_points, in_axes=(0, None))(ensemble, grid)

plt.figure(figsize=(5.5, 3.4))
plt.plot(grid, curves.T, color="C0", linewidth=0.7, alpha=0.6)
plt.plot(x_train, y_train, "k.")
plt.xlabel("x")
plt.ylabel("output")
plt.show()

# %% [markdown]
# Where there are data they agree; where there are none, they do not. A single curve would not have told
# you. (Exercise: `tinyjax check 12_compose/ensembles`.)
#
# ## The derivative of a training
#
# `train` is a function like any other, so it has a derivative, too. Take the straight line from above:
# three steps with learning rate `lr`, and then the error. How does the error change with `lr`?

# %%
def error_after_training(lr):
    def step(w, _):
        return w - lr * jax.grad(mean_loss)(w, x, y), None

    w_end, _ = lax.scan(step, jnp.array([1.0, 0.5]), None, length=3)
    return mean_loss(w_end, x, y)


slope_in_lr = jax.grad(error_after_training)
print(f"at lr = 0.1: error {error_after_training(0.1):.4f}, slope {slope_in_lr(0.1):.3f}")

# %% [markdown]
# The slope is negative: a larger learning rate would have been better, up to a point, as you will see.
# Inside of this `grad` is a `scan`, and inside of the scan another `grad`.
#
# **Predict.** You want value and slope for 30 learning rates at once, compiled. Which of these does it?
#
# - `"a"`: `jit(vmap(value_and_grad(error_after_training)))`
# - `"b"`: `jit(value_and_grad(vmap(error_after_training)))`
# - `"c"`: both, with the same result.

# %%
predict("12/thirty-rates", ...)  # "a", "b" or "c"

# %% tags=["reveal"] alt="The error after three steps against the learning rate, from 0.05 to 0.85: a curve that falls steeply, is flat and near 0.1 between about 0.3 and 0.65, and rises again. Short tangents on it, drawn with the computed slopes, touch the curve."
rates = jnp.linspace(0.05, 0.85, 30)
values, slopes = jax.jit(jax.vmap(jax.value_and_grad(error_after_training)))(rates)
try:
    jax.jit(jax.value_and_grad(jax.vmap(error_after_training)))(rates)
except TypeError:
    print("b: refused, it has 30 outputs")

plt.figure(figsize=(5, 3.2))
plt.plot(rates, values)
for i in range(0, 30, 4):
    ends = rates[i] + jnp.array([-0.03, 0.03])
    plt.plot(ends, values[i] + slopes[i] * (ends - rates[i]), "k", linewidth=1.5)
plt.xlabel("learning rate")
plt.ylabel("error after 3 steps")
plt.show()

# %% [markdown]
# The formula of the posts once more: `grad` of something with 30 outputs. With `vmap` outside, it runs:
# `grad` in `scan` in `grad` in `vmap` in `jit`. Each of them did what it always does.
#
# ## Which orders may be swapped
#
# | composition | swapped |
# |---|---|
# | `jit` with anything | same values; outermost is fastest |
# | `vmap(grad(f))` | `grad` of the sum over `vmap(f)`: the same, if no example looks at another |
# | mean of `vmap(grad(loss))` | `grad` of the mean over `vmap(loss)`: the same, with less memory |
# | `vmap(vmap(f))` | the same numbers, axes in another order |
# | `jacfwd(jacrev(f))` | the same matrix, other costs |
# | `pmap(vmap(f))` | the same numbers, with the device axis second; mostly `pmap` is outside |
# | `grad(grad(f))` | nothing to swap; for arrays it is `jacfwd(grad(f))` |
#
# ## Build it yourself
#
# The exercises are files in `exercises/12_compose`, each with its task at the top; the stars say
# how hard they are. To begin, run `tinyjax watch jit_grad_vmap` in a terminal: it checks the file
# at each save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer
# with `%%exercise jit_grad_vmap`. ([How exercises work](../docs/exercises.md).)
#
# - `**` `tinyjax check 12_compose/jit_grad_vmap`: repair a composition of the posts, for second
#   derivatives and for a gradient.
# - `**` `tinyjax check 12_compose/hvp`: multiply a Hessian with many directions, without ever
#   having it.
# - `**` `tinyjax check 12_compose/ensembles`: make an ensemble of a list of models, and ask it on
#   one device and on four.
#
# And to try, beyond the exercises:
#
# 1. Clip the gradient of each example to length 1 before the mean, and fit `x` and `y_typed` with
#    it. Which line is closer to that of the clean `y`: this one, or the one without clipping?
# 2. Give the ensemble a second axis: twenty keys times five learning rates, so that the errors have
#    the shape `(20, 5, 500)`. Let `train` take the rate as an argument.
# 3. Find a good learning rate by gradient descent on `error_after_training`. What is the learning
#    rate of *that*?

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - Read a composition from the inside, and note what each function takes and returns.
# - `grad` needs a scalar. So `jit(grad(grad(vmap(f))))` fails: take `vmap` outside, or a sum inside,
#   which is the same only if outputs do not share inputs.
# - `jit` goes outermost. An `if` on a value must suit all parts.
# - Write for one example, one key, one learning rate. Then map.
# - Whatever is made of primitives can be differentiated: loops, and trainings with gradients inside.
#
# When older posts print `jit(grad(grad(vmap(f))))`, they mean that the transformations can be combined,
# in whatever order *fits*. They also build ensembles with lists of models in a loop; one `vmap` over
# keys replaces it.
#
# **Next:** [chapter 13](13_training.ipynb) trains a real model, with all of this.
