# %% [markdown]
# # 06 · vmap
#
# You write a function for one example, and `jax.vmap` makes a function for many of it. No loop runs,
# and the function itself never mentions a batch axis. In this chapter you learn to say which axes are
# mapped, to nest maps, to get a gradient for each example, and what becomes of branches, loops and
# random numbers. You also read the rules by which it works.
#
# You need: chapters 01 and 03 to 05. Time: about 45 minutes.

# %%
import inspect
import time

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict

# %% [markdown]
# ## From a loop to vmap
#
# Here is one layer of a network, for one example: a vector `x` of three numbers goes in, two come out.

# %%
def layer(w, x):
    return jnp.tanh(jnp.dot(w, x))


w = jnp.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
xs = jnp.arange(15.0).reshape(5, 3) / 10
print(layer(w, xs[0]))

# %% [markdown]
# You have five examples, the rows of `xs`. There are three ways.
#
# - A loop: clear, and slow, since each row is a call of its own.
# - Rewrite `layer` for matrices: fast, but now you must think. Which operand is transposed? What if
#   there is one more axis some day?
# - `jax.vmap(layer, in_axes=(None, 0))`: all of `w` for everybody, one row of `xs` for each.

# %%
by_loop = jnp.stack([layer(w, x) for x in xs])
by_hand = jnp.tanh(xs @ w.T)
by_vmap = jax.vmap(layer, in_axes=(None, 0))(w, xs)

print(by_vmap)
print(jnp.allclose(by_loop, by_vmap), jnp.allclose(by_hand, by_vmap))

# %% [markdown]
# `in_axes` has one entry for each argument: the axis that is taken away from it, or `None`. Here it is
# as a picture. On the left are the whole arguments, in the middle what `layer` gets to see, on the
# right the whole result.

# %% tags=["tinyjax-only"]
from tinyjax import viz

viz.vmap_axes(layer, (None, 0), w, xs)

# %% [markdown]
# `vmap` is no loop over rows: it calls the function once, with a tracer (chapter 03). A `print` shows
# it.

# %%
def noisy_sum(x):
    print("called with", x)
    return jnp.sum(x)


print(jax.vmap(noisy_sum)(xs))

# %% [markdown]
# The tracer looks like `float32[3]` from outside, one row, and inside it has the whole batch,
# `float32[5,3]`. What you do to it is done to the batch. (Chapter 07 is about tracers.)
#
# ## Which axes
#
# Without `in_axes`, all arguments are mapped along axis 0. A number means this axis for every argument.
# Axes may be counted from the end, as in NumPy.

# %%
print("rows:        ", jax.vmap(jnp.sum)(xs))
print("columns:     ", jax.vmap(jnp.sum, in_axes=1)(xs))
print("last axis:   ", jax.vmap(jnp.sum, in_axes=-1)(xs))
print("a row and 10:", jax.vmap(jnp.add, in_axes=(0, None))(xs[0], 10))

# %% [markdown]
# The last line is the form that you meet most often in posts, `in_axes=(0, None)`: map the first, share
# the second.
#
# `out_axes` says where the mapped axis goes in the result. It is 0 unless you say something else.
#
# **Predict.** `xs` has the shape (5, 3). `ends` takes a vector and returns two numbers. What is the
# shape of `jax.vmap(ends, in_axes=1, out_axes=1)(xs)`?

# %%
def ends(v):
    return jnp.stack([v[0], v[-1]])


predict("06/in-1-out-1", ...)  # "(2, 3)", "(3, 2)", "(5, 2)" or "(2, 5)"

# %% tags=["reveal"]
print(jax.vmap(ends, in_axes=1, out_axes=1)(xs).shape)

# %% [markdown]
# Axis 1 is taken away: there are 3 columns, and each call sees a column of 5 numbers. It returns 2. The
# axis of length 3 comes back as axis 1 **of the result**: (2, 3). To find such a shape, take the shape
# of one result, `(2,)`, and insert the mapped length at `out_axes`.

# %% tags=["tinyjax-only"]
viz.vmap_axes(ends, 1, xs, out_axes=1)

# %% [markdown]
# All mapped axes must have one length. If they do not, the error is a table: look for the row that is
# odd.

# %% tags=["raises-exception"]
jax.vmap(jnp.dot)(xs, jnp.ones((4, 3)))

# %% [markdown]
# ## Arguments that are trees
#
# An argument can be a pytree (chapter 05). A single axis then counts for all its leaves. A tree of
# axes, in the same packing, gives each leaf its own.
#
# **Predict.** We call `jax.vmap(shapes, in_axes=({"x": 0, "scale": None},))(data)`. Inside of `shapes`,
# what are the shapes of `data["x"]` and `data["scale"]`?

# %%
data = {"x": xs, "scale": jnp.ones(5)}


def shapes(data):
    print("x:", data["x"].shape, "scale:", data["scale"].shape)
    return jnp.sum(data["x"]) * jnp.sum(data["scale"])


predict("06/axes-of-a-dict", ...)  # "(3,) and ()", "(3,) and (5,)" or "(5, 3) and (5,)"

# %% tags=["reveal"]
print(jax.vmap(shapes, in_axes=({"x": 0, "scale": None},))(data))

# %% [markdown]
# (3,) and (5,): `x` is mapped, `scale` is not, so each call sees all of it. With `in_axes=0` it would
# be one number.
#
# Look at the comma in `({"x": 0, "scale": None},)`. The outer tuple is always the list of arguments,
# and there is one argument here. The same for an argument that is a tuple: `(0, None)` would mean two
# arguments.

# %% tags=["raises-exception"]
jax.vmap(lambda pair: pair[0] + pair[1], in_axes=(0, None))((xs, 1.0))

# %%
print(jax.vmap(lambda pair: pair[0] + pair[1], in_axes=((0, None),))((xs, 1.0)).shape)

# %% [markdown]
# One more trap. `in_axes` is about positional arguments. Those that you pass by name are mapped along
# axis 0, always. A number has no axis 0.

# %% tags=["raises-exception"]
jax.vmap(lambda x, scale: x * scale)(xs, scale=2.0)

# %% [markdown]
# Pass it by position with `None`, or put it into the function:
# `jax.vmap(lambda x: f(x, scale=2.0))(xs)`.
#
# ## Maps of maps
#
# The result of `vmap` is a function, so you can map it again. `distance` takes two points. The inner
# `vmap` maps over the second, the outer one over the first.
#
# **Predict.** There are 2 points in `a` and 5 in `b`. What is the shape of all distances?

# %%
def distance(p, q):
    return jnp.sqrt(jnp.sum((p - q) ** 2))


from_one = jax.vmap(distance, in_axes=(None, 0))  # a point, many points -> many numbers
pairwise = jax.vmap(from_one, in_axes=(0, None))  # many points, many points -> a table

a, b = xs[:2], xs
predict("06/pairwise-shape", ...)  # "(2, 5)", "(5, 2)" or "(5,)"

# %% tags=["reveal"]
print(pairwise(a, b).shape)
print(jnp.round(pairwise(a, b), 2))

# %% [markdown]
# (2, 5): the outer map makes the first axis. Without `vmap` you would write
# `a[:, None, :] - b[None, :, :]`, and sum over the last axis. The nested maps say what is meant: for
# each p, for each q.
#
# What you would write with `jnp.outer`, or as any table of pairs, goes the same way. Here are the
# distances of 60 points on a spiral.

# %% alt="On the left, 60 points on a spiral that winds outwards one and a half times. On the right, the table of their distances as an image of 60 by 60 squares: zero (dark) on the diagonal, and bands on both sides of it that get lighter and darker as the spiral comes around again."
turn = jnp.linspace(1, 10, 60)
spiral = jnp.stack([turn * jnp.cos(turn), turn * jnp.sin(turn)], axis=1)

figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3))
left.plot(spiral[:, 0], spiral[:, 1], "k.")
left.set_aspect("equal")
left.set_title("points")
image = right.imshow(pairwise(spiral, spiral))
right.set_title("distances")
figure.colorbar(image, shrink=0.85)
plt.show()

# %% [markdown]
# ## A gradient for each example
#
# In chapter 02 the loss was a mean over all points, and so was its gradient. What does each single
# point ask for? You write the loss of one point, take its `grad`, and map that.

# %%
def loss_of_one(theta, x, y):
    return (theta["w"] * x + theta["b"] - y) ** 2


x = jnp.linspace(0, 2, 12)
y = (3 * x - 1).at[4].add(3.0)  # eleven points of a line, one that is wrong
theta = {"w": jnp.array(2.9), "b": jnp.array(-0.9)}

gradients = jax.vmap(jax.grad(loss_of_one), in_axes=(None, 0, 0))(theta, x, y)
print(jax.tree.map(jnp.shape, gradients))

# %% [markdown]
# `theta` is shared, each point has its own `x` and `y`. The result is a dict as `theta` is, and each
# leaf has the batch axis in front. The mean over it is the gradient of the mean:

# %%
print(jax.tree.map(lambda g: f"{jnp.mean(g):.4f}", gradients))
whole = jax.grad(lambda theta: jnp.mean(jax.vmap(loss_of_one, (None, 0, 0))(theta, x, y)))(theta)
print(jax.tree.map(lambda g: f"{g:.4f}", whole))

# %% [markdown]
# Which point pulls hardest? Its gradient is the longest.

# %% alt="Twelve points in a plane. Eleven lie close to a straight line and are drawn as small dots. The fifth lies far above the line and is drawn as a very large dot, because its gradient is the longest."
pull = jnp.sqrt(gradients["w"] ** 2 + gradients["b"] ** 2)
print(f"the longest: {jnp.max(pull):.2f}, the others together: {jnp.sum(pull) - jnp.max(pull):.2f}")

plt.figure(figsize=(5, 3.2))
plt.plot(x, theta["w"] * x + theta["b"], "k--", linewidth=1)
plt.scatter(x, y, s=10 + 40 * np.asarray(pull))
plt.xlabel("x")
plt.ylabel("y")
plt.show()

# %% [markdown]
# The dots are as large as their gradients. One example pulls at the line harder than all the others
# together. Finding such examples, and limiting what each may contribute, is done with this line:
# `vmap(grad(loss), (None, 0, 0))`. (Exercise: `tinyjax check 06_vmap/per_example_grad`.)
#
# ## How it works: batching rules
#
# What does `vmap` do to a program? Compare the jaxprs (chapter 05) of `layer` before and after. In them,
# `dot_general` is the product.

# %%
print(jax.make_jaxpr(layer)(w, xs[0]))
print(jax.make_jaxpr(jax.vmap(layer, in_axes=(None, 0)))(w, xs))

# %% [markdown]
# There is no loop, and there are no five copies. `dot_general` is still one `dot_general`. Before, axis
# 1 of `w` met axis 0 of `x`, now it meets axis 1 of `xs`: see `dimension_numbers`. `tanh` is `tanh` of
# a larger array. The `transpose` at the end brings the batch axis to the front, since this product
# leaves it at the end. (With `out_axes=1` there would be none.)
#
# So each primitive has a **batching rule**, which answers this question: if some operands have one more
# axis, how do you compute all at once, and where is the axis in the result? Here is tinyjax's rule of
# `reduce_sum`.

# %% tags=["tinyjax-only"]
print(inspect.getsource(type(lax.reduce_sum_p).batch))

# %% [markdown]
# - `vals` are the operands with their batch axis, and `dims` says which axis that is. There is one
#   operand, so `d = dims[0]`. (`axis` is the length and the name of the mapped axis, which this rule
#   does not need.)
# - You asked for a sum over some axes of one example. In the batch, those from `d` on have moved one
#   place to the right: `a + (a >= d)`.
# - `self.bind` computes the sum over these axes.
# - The result lacks some axes. Those before the batch axis move it to the left:
#   `d - sum(a < d for a in axes)`.
#
# For `add` it is a question of stretching. This rule serves all elementwise operations. (To write it
# before you read it, stop here and take the exercise `tinyjax check 06_vmap/batch_add`.)

# %% tags=["tinyjax-only"]
print(inspect.getsource(type(lax.add_p).batch))

# %% [markdown]
# If all operands have the same shape, with the batch axis in one place, `add` of the whole arrays is
# right: that is the first `return`. Otherwise each batch axis is moved to the front, and who has none
# gets one of length 1, which stretches. (The lines about `rank` are for a batch of plain numbers that
# meets arrays.) You can see it in jaxprs: first a shared vector, then a mapped one.

# %%
print(jax.make_jaxpr(jax.vmap(jnp.add, in_axes=(0, None)))(xs, jnp.ones(3)))
print(jax.make_jaxpr(jax.vmap(jnp.add))(xs, jnp.ones((5, 3))))

# %% [markdown]
# That is all of `vmap`: about a hundred lines that hand tracers from rule to rule
# ([source](../tinyjax/transforms/batching.py)), and a rule for each primitive.
#
# ## Branches
#
# A branch asks for *one* truth value. A batch has many.

# %% tags=["raises-exception"]
jax.vmap(lambda x: jnp.sqrt(x) if x > 0 else -x)(jnp.array([4.0, -1.0, 9.0]))

# %% [markdown]
# `jnp.where` chooses for each element. It computes both sides for all elements: the square root of -1
# as well, which is a NaN that nobody takes.

# %%
print(jax.vmap(lambda x: jnp.where(x > 0, jnp.sqrt(x), -x))(jnp.array([4.0, -1.0, 9.0])))

# %% [markdown]
# But there is also `lax.cond(pred, if_true, if_false, operand)`, which runs one of two functions.
# **Predict.** Under `vmap`, two of three elements take the square root. Of how many is it computed?

# %%
def branch(x):
    return lax.cond(x > 0, lambda v: jnp.sqrt(v), lambda v: -v, x)


predict("06/cond-under-vmap", ...)  # 2 or 3

# %% tags=["reveal"]
print(jax.vmap(branch)(jnp.array([4.0, -1.0, 9.0])))
print(jax.make_jaxpr(jax.vmap(branch))(jnp.ones(3)))

# %% [markdown]
# Three: `sqrt` works on `f32[3]`. The `cond` is gone. Both branches are computed for all elements, and
# the last `select_n` picks for each the right one, as `where` does. (The other `select_n`s take care of
# derivatives: an element that does not take a branch enters it as a constant.)
#
# So a branch that saves work for one example saves none for a batch. If the condition is the same for
# all, it is another matter: the condition is not mapped, and the `cond` stays.

# %%
def choose(flag, x):
    return lax.cond(flag, jnp.sin, jnp.cos, x)


program = jax.make_jaxpr(jax.vmap(choose, in_axes=(None, 0)))(True, jnp.ones(3))
print([str(eqn.primitive) for eqn in program.eqns])

# %% [markdown]
# `lax.while_loop(condition, body, start)` repeats the body while the condition is true. `double` below
# doubles a number until it is at least 100. For 1.0 this takes seven rounds, for 60.0 one, for 200.0
# none.
#
# **Predict.** What comes out under `vmap`?
#
# - `"a"`: what each number gives alone: 128, 120 and 200.
# - `"b"`: each is doubled seven times: 128, 7680 and 25600.
# - `"c"`: an error.

# %%
def double(x):
    return lax.while_loop(lambda v: v < 100, lambda v: 2 * v, x)


predict("06/while-under-vmap", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
print(jax.vmap(double)(jnp.array([1.0, 60.0, 200.0])))
print(jax.make_jaxpr(jax.vmap(double))(jnp.ones(3)))

# %% [markdown]
# Each as alone. There is one loop for all three, and its condition has three truth values, `bool[3]`.
# It goes on until all are false. An element that is done keeps its value while the others go on. You
# get what you meant, and wait for the slowest.
#
# ## Random numbers
#
# **Predict.** `jittered` adds noise. What happens if all calls share one key?

# %%
def jittered(key, x):
    return x + jax.random.normal(key)


predict("06/one-key-for-all", ...)  # "equal noise" or "different noise"

# %% tags=["reveal"]
zeros = jnp.zeros(3)
print("one key:   ", jax.vmap(jittered, in_axes=(None, 0))(jax.random.key(0), zeros))
print("three keys:", jax.vmap(jittered)(jax.random.split(jax.random.key(1), 3), zeros))

# %% [markdown]
# Equal noise: the number is a function of the key, and the key is the same. Split it, and map over the
# keys. An array of keys has an axis like any other array.
#
# ## A gap to fill
#
# Chapter 02 fits a line to Hubble's 24 galaxies: about 454 km/s more for each megaparsec. How sure is
# that number? The **bootstrap** answers without a formula: draw 24 of the galaxies *with repetition*,
# fit again, and do so often. How much the slope varies tells how sure it is.
#
# `slope_of_resample` does it once, with one key. (The slope of the best line is a quotient of two
# means.)

# %%
distances, speeds = np.loadtxt(
    "data/hubble_1929.csv", delimiter=",", skiprows=1, usecols=(1, 2), unpack=True
)
distances, speeds = jnp.array(distances), jnp.array(speeds)


def slope_of_resample(key):
    chosen = jax.random.randint(key, (24,), 0, 24)
    d, s = distances[chosen], speeds[chosen]
    d, s = d - jnp.mean(d), s - jnp.mean(s)
    return jnp.mean(d * s) / jnp.mean(d * d)


print(f"{slope_of_resample(jax.random.key(2)):.1f}")

# %% [markdown]
# Now do it 2,000 times, in one line. (Until you fill the gap, the cell prints `Ellipsis`.)

# %%
slopes = ...  # 2,000 keys made of jax.random.key(3), and a slope for each
print(slopes)

# %% [markdown]
# An array of 2,000 numbers, most of them between 300 and 600? Then you have it.

# %% tags=["solution"] alt="A histogram of 2,000 slopes. It is shaped like a bell with its top near 450 and nearly all values between 300 and 600 kilometres per second and megaparsec. Two dashed lines mark the middle 90 percent."
slopes = jax.vmap(slope_of_resample)(jax.random.split(jax.random.key(3), 2000))
low, high = np.percentile(slopes, [5, 95])
print(f"nine of ten slopes lie between {low:.0f} and {high:.0f}")

plt.figure(figsize=(5, 3))
plt.hist(slopes, bins=40)
for edge in (low, high):
    plt.axvline(edge, color="k", linestyle="--", linewidth=1)
plt.xlabel("slope (km/s per megaparsec)")
plt.show()

# %% [markdown]
# The line is less sure than its three digits suggest. That took no loop over resamples, and no thought
# about a batch axis in `slope_of_resample`.
#
# ## The others in the batch
#
# Each call sees its own example only. Sometimes you need the others: their mean, their maximum. Give
# the mapped axis a name with `axis_name`, and use a **collective**: `lax.psum(x, name)` is the sum over
# all calls, `lax.pmean` the mean.

# %%
def share(x):
    return x / lax.psum(x, "batch")


print(jax.vmap(share, axis_name="batch")(jnp.array([1.0, 2.0, 5.0])))
print(jax.make_jaxpr(jax.vmap(share, axis_name="batch"))(jnp.ones(3)))

# %% [markdown]
# Under `vmap`, a `psum` becomes a plain sum along the batch axis (here printed as `psum` with
# `axes=(0,)`). Without the name, it is an error.

# %% tags=["raises-exception"]
jax.vmap(share)(jnp.array([1.0, 2.0, 5.0]))

# %% [markdown]
# All of this comes back in chapter 11, where the elements of the axis are on different devices and
# `psum` is communication. The function stays as it is.
#
# A result that is the same for all calls needs no axis: `out_axes=None`.

# %%
print(jax.vmap(lambda x: lax.pmean(x, "batch"), axis_name="batch", out_axes=None)(xs))

# %% [markdown]
# ## What it saves
#
# Here is `layer` for 2,000 examples: as a loop, mapped, and mapped and compiled. Your numbers will
# differ from these.

# %% tags=["volatile"]
many = jax.random.normal(jax.random.key(4), (2000, 3))
mapped = jax.vmap(layer, in_axes=(None, 0))
compiled = jax.jit(mapped)


def milliseconds(f):
    f()  # the first call may compile
    start = time.perf_counter()
    jax.block_until_ready(f())
    return 1000 * (time.perf_counter() - start)


print(f"loop:      {milliseconds(lambda: [layer(w, x) for x in many]):8.2f} ms")
print(f"vmap:      {milliseconds(lambda: mapped(w, many)):8.2f} ms")
print(f"jit(vmap): {milliseconds(lambda: compiled(w, many)):8.2f} ms")

# %% [markdown]
# The loop pays for each call of each operation, 2,000 times. `vmap` pays once, for operations on large
# arrays. `jit` also saves the tracing, and is free to join operations.
#
# ## Build it yourself
#
# The exercises are files in `exercises/06_vmap`, each with its task at the top; the stars say how
# hard they are. To begin, run `tinyjax watch matvec` in a terminal: it checks the file at each
# save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer with
# `%%exercise matvec`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 06_vmap/matvec`: let a function of two vectors meet every row of a matrix,
#   and decide what is shared.
# - `**` `tinyjax check 06_vmap/in_axes_dict`: give each leaf of a dict its own axis, on the way in
#   and on the way out.
# - `**` `tinyjax check 06_vmap/per_example_grad`: shorten the gradients of examples that pull too
#   hard, then take the mean.
# - `***` `tinyjax check 06_vmap/batch_add`: write the batching rule of `add`; the package's `vmap`
#   then asks yours.
# - `***` `tinyjax check 06_vmap/batch_dot`: write the batching rule of `dot_general`, which stands
#   behind every product of arrays.
#
# And to try, beyond the exercises:
#
# 1. Write the product of two matrices with nothing but `jnp.dot` of two vectors and two maps. Which
#    axis of the second matrix is mapped?
# 2. Make ten networks with chapter 05's `make_network` by mapping it over ten keys, and run all on
#    one input. Which `in_axes` do you need for the parameters, a list of dicts?
# 3. Write `my_vmap(f)` for functions of one argument with a loop and `jnp.stack`, and for any
#    pytree as the result (chapter 05). Where does it differ from `jax.vmap`? (Try `noisy_sum`, and
#    `lambda x: x if x > 0 else -x`.)

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - `vmap(f, in_axes, out_axes)` calls `f` once, on tracers that stand for a batch. No loop runs.
# - `in_axes` has an entry for each positional argument: an axis, `None`, or a tree of these.
# - Maps nest, the outer one gives the first axis. `vmap(grad(loss), (None, 0, 0))` gives a gradient for
#   each example.
# - A mapped condition makes `cond` compute both branches, and a mapped loop waits for its slowest
#   element.
# - Keys are mapped like anything else. Names make `psum` possible.
#
# Older posts map named axes with `xmap` from `jax.experimental.maps`. It is gone: `axis_name` of `vmap`
# has stayed, and chapter 11 shows what is used for devices.
#
# **Next:** [chapter 07](07_tracing.ipynb) asks what tracers see, and reads programs line by line.
