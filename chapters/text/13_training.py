# %% [markdown]
# # 13 · Training
#
# Everything comes together. You take the loop of chapter 02 and make it fast: compiled, as one
# program, and on eight devices, with the same numbers each time. Then you train a network that
# tells three species of penguins apart, with minibatches, Adam, a progress bar and a test set. You
# see it learn, you see it learn too much, and you see it explode, and you know what to do in each
# case.
#
# You need: the first loop ([chapter 02](02_first_loop.ipynb)), keys ([chapter 04](04_random.ipynb))
# and pytrees ([chapter 05](05_pytrees.ipynb)). What is used of `vmap`, `scan` and `pmap` is
# explained again. Time: about 45 minutes.

# %%
import tempfile
import time
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict
from tqdm import tqdm

# %% [markdown]
# ## The loop again
#
# The data are points near the line `y = 3 * x - 1`, as in chapter 02, but 800 of them.

# %%
key_x, key_noise = jax.random.split(jax.random.key(13))
x = jax.random.normal(key_x, (800,))
y = 3 * x - 1 + 0.1 * jax.random.normal(key_noise, (800,))


def loss(theta, x, y):
    w, b = theta
    return jnp.mean((w * x + b - y) ** 2)


def update(theta, x, y, lr=0.1):
    return theta - lr * jax.grad(loss)(theta, x, y)


def train(step, x, y, steps=100):
    """All the thetas on the way."""
    theta = jnp.array([1.0, 1.0])
    path = [theta]
    for _ in range(steps):
        theta = step(theta, x, y)
        path.append(theta)
    return path


paths = {"as written": train(update, x, y)}
print(paths["as written"][-1])

# %% [markdown]
# ## Compiled
#
# `train` takes the step as an argument, so compiling it is one word.

# %%
fast_update = jax.jit(update)
paths["jit"] = train(fast_update, x, y)
print(paths["jit"][-1])

# %% [markdown]
# The same line. How much time does it save? There are three ways to get a wrong answer.
#
# - The first call compiles. So call once before the clock starts.
# - JAX returns before the work is done (chapter 00). So wait, with `jax.block_until_ready`, before
#   the clock stops.
# - Other programs run on your computer, too. So measure a few times and take the best.

# %%
def microseconds_per_step(run, steps=100):
    """The time of one step, where `run()` takes so many."""
    jax.block_until_ready(run())
    times = []
    for _ in range(5):
        start = time.perf_counter()
        jax.block_until_ready(run())
        times.append(time.perf_counter() - start)
    return 1e6 * min(times) / steps

# %% [markdown]
# **Predict.** How many times faster is the compiled step?

# %%
predict("13/speed-up", ...)  # "about 2", "about 20" or "100 and more"

# %% tags=["reveal", "volatile"]
times = {
    "as written": microseconds_per_step(lambda: train(update, x, y)),
    "jit": microseconds_per_step(lambda: train(fast_update, x, y)),
}
for name, number in times.items():
    print(f"{name:12}{number:10.1f} microseconds per step")

# %% [markdown]
# Both do the same arithmetic, a few operations on 800 numbers. What `jit` saves is all the rest:
# finding the derivative anew in each step, and calling one small operation after the other. It does
# that once, when it traces.
#
# ## As one program
#
# The loop itself is still Python. `lax.scan` takes a function `carry, item -> carry, output` and
# repeats it inside of a compiled program. Here the carry is theta, there are no items, and the
# output of each step is theta again, so that we get the path.

# %%
@jax.jit
def train_by_scan(theta, x, y):
    def step(theta, _):
        theta = update(theta, x, y)
        return theta, theta

    return lax.scan(step, theta, length=100)


start = jnp.array([1.0, 1.0])
last, path = train_by_scan(start, x, y)
paths["scan"] = [start, *path]
print(last)

# %% [markdown]
# A hundred steps are now one call. (Its time comes below.) The price is that you see nothing until
# it is over, so a progress bar needs another way. Below we will scan over an epoch, and show
# progress between epochs.
#
# ## On eight devices
#
# Data-parallel training: each device gets a part of the points and computes the gradient of its
# part. Then all take the **mean of the gradients**, and all make the same step.
#
# `jax.pmap` runs a function on all devices at once, one element of a mapped axis on each. Inside of
# it, `lax.pmean(v, "devices")` is the mean over the devices, and `"devices"` is the name that we
# give to the axis.

# %%
print("devices:", jax.device_count())
x8, y8 = x.reshape(8, 100), y.reshape(8, 100)


def device_update(theta, x, y, lr=0.1):
    gradient = jax.grad(loss)(theta, x, y)  # of the 100 points on this device
    return theta - lr * lax.pmean(gradient, "devices")


parallel_update = jax.pmap(
    device_update,
    axis_name="devices",
    in_axes=(None, 0, 0),  # theta goes to all, of x and y each gets a row
    out_axes=None,  # all results are equal: return one of them
)

# %% [markdown]
# (tinyjax always has eight devices, which are processes. JAX has one on a CPU, unless you write
# `jax.config.update("jax_num_cpu_devices", 8)` before anything else.)
#
# **Predict.** We train with `parallel_update`. Rounding aside, what do we get?

# %%
predict("13/one-or-eight", ...)  # "the same line", "a slightly worse line" or "eight lines"

# %% tags=["reveal"]
paths["pmap"] = train(parallel_update, x8, y8)
for name, path in paths.items():
    difference = np.abs(np.array(path) - np.array(paths["as written"])).max()
    print(f"{name:12}{np.array(path[-1]).round(4)}  the same at all steps: {difference < 1e-5}")

# %% [markdown]
# The same, at each of the 100 steps and for all four. The mean of eight means, each of 100 numbers,
# *is* the mean of the
# 800. (With parts of different sizes it would not be. That is why batches should be divisible by
#      the number of devices.)
#
# It is `pmean` that does it. Without it each device goes its own way, and there are eight lines:

# %%
alone = jax.pmap(train_by_scan, in_axes=(None, 0, 0))
lines, _ = alone(start, x8, y8)
print(np.array(lines).round(3))

# %% [markdown]
# Here are the losses of all four on the way. (`jax.vmap` makes of `loss` a function for a whole
# path of thetas.) The curves lie on each other, so each is drawn thinner than the one below it.

# %% alt="Four curves of the loss against the step, on a logarithmic axis. They lie exactly on each other: down in a straight line from about 8 to 0.01 within 20 steps, then flat."
losses_of = jax.vmap(loss, in_axes=(0, None, None))
plt.figure(figsize=(5, 3.2))
for width, (name, path) in zip([9, 6, 3, 1], paths.items()):
    plt.semilogy(losses_of(np.array(path), x, y), linewidth=width, label=name)
plt.xlabel("step")
plt.ylabel("loss")
plt.legend()
plt.show()

# %% [markdown]
# **Predict.** Eight devices, each with an eighth of the points. Compared with the compiled step on
# one device, a step is ...

# %%
predict("13/eight-times-faster", ...)  # "8 times faster", "2 times faster" or "slower"

# %% tags=["reveal", "volatile"] alt="A bar chart of the time per step on a logarithmic axis, with four bars: as written, several hundred microseconds; jit, a few; scan, a fraction of one; pmap, as many as the steps as written."
times["scan"] = microseconds_per_step(lambda: train_by_scan(start, x, y))
times["pmap"] = microseconds_per_step(lambda: train(parallel_update, x8, y8))
for name, number in times.items():
    print(f"{name:12}{number:10.1f} microseconds per step")

plt.figure(figsize=(5, 2.4))
plt.barh(list(times)[::-1], list(times.values())[::-1])
plt.xscale("log")
plt.xlabel("microseconds per step")
plt.tight_layout()
plt.show()

# %% [markdown]
# Much slower. Look at `scan` first. Without Python between the steps, arithmetic is all that is
# left: the gradient of 800 points takes less than a microsecond, or a few. To wake eight devices,
# let them meet for the mean, and collect the result takes hundreds. If that is so, a hundredth of
# the points will not take a hundredth of the time. Eight points, one for each device:

# %% tags=["volatile"]
few_x, few_y = x8[:, :1], y8[:, :1]
tiny = microseconds_per_step(lambda: train(parallel_update, few_x, few_y))
print(f"pmap, 8 points    {tiny:8.1f} microseconds per step")
print(f"pmap, 800 points  {times['pmap']:8.1f} microseconds per step")

# %% [markdown]
# More devices help when the gradient takes much longer than the meeting: large networks, large
# batches. And they must be devices that compute at the same time. Eight processes on two cores are
# only good for learning how to write it.
#
# So here is the rule. First `jit`. Then `scan`, if steps are short. Then more devices, if steps are
# long.
#
# ## Penguins
#
# From 2007 to 2009 Kristen Gorman measured penguins of three species on islands near Palmer
# Station, Antarctica. (K. Gorman, T. Williams, W. Fraser, *Ecological sexual dimorphism and
# environmental variability within a community of Antarctic penguins*, PLoS ONE 9, 2014, e90081. The
# file is `data/palmer_penguins.csv`, in the public domain.)

# %%
table = np.loadtxt("data/palmer_penguins.csv", delimiter=",", skiprows=1, dtype=str)
species, labels = np.unique(table[:, 0], return_inverse=True)
measures = table[:, 1:].astype(np.float32)
print(table[0])
print("penguins:", len(labels), dict(zip(species.tolist(), np.bincount(labels).tolist())))

# %% [markdown]
# The measures are length and depth of the bill and length of the flippers, in millimetres, and
# weight in grams. For now we take the first two, which we can draw.
#
# ## What the network must not see
#
# A network may learn its examples by heart. So you keep some back, the **test set**, and ask it
# about those. Which ones? Chance decides, with a key: the table is sorted by species, so the last
# rows would not do.
#
# (One `split` makes all the keys that this part of the chapter needs.)

# %%
keys = jax.random.split(jax.random.key(27), 10)
key_split, key_init, key_big, key_four, key_shuffle, *run_keys = keys
order = jax.random.permutation(key_split, len(labels))
train_rows, test_rows = order[:176], order[176:]
print("train:", np.bincount(labels[train_rows]), " test:", np.bincount(labels[test_rows]))

# %% [markdown]
# Bills are 32 to 60 millimetres long and 13 to 22 deep. Networks like numbers near zero, so we
# subtract the mean and divide by the standard deviation: those of the *training* set, since even
# the mean of the test set is something that we should not know.

# %%
bills = measures[:, :2]
mean, std = bills[train_rows].mean(axis=0), bills[train_rows].std(axis=0)
inputs, answers = jnp.array((bills - mean) / std), jnp.array(labels)
x_train, y_train = inputs[train_rows], answers[train_rows]
x_test, y_test = inputs[test_rows], answers[test_rows]
print(mean.round(1), std.round(1))

# %% alt="A scatter plot of bill depth against bill length with three clouds of points. Adelie penguins have short deep bills, Gentoo long flat ones, Chinstrap long deep ones. Where Adelie and Chinstrap meet, some points lie in the other cloud."
COLORS, MARKS = ["tab:orange", "tab:purple", "tab:cyan"], ["o", "^", "s"]


def scatter(rows, **style):
    for k, name in enumerate(species):
        chosen = bills[rows[labels[rows] == k]]
        plt.scatter(*chosen.T, s=14, color=COLORS[k], marker=MARKS[k], label=name, **style)
    plt.xlabel("bill length (mm)")
    plt.ylabel("bill depth (mm)")


plt.figure(figsize=(5, 3.6))
scatter(np.array(train_rows))
plt.legend()
plt.show()

# %% [markdown]
# ## The network
#
# Parameters are a pytree: a dict with a list of hidden layers and the layer of the output. Each
# layer gets a key of its own, all of them from **one** `split`: wide, not deep (chapter 04).

# %%
def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    layers = [
        {"w": jax.random.normal(k, (n_in, n_out)) / np.sqrt(n_in), "b": jnp.zeros(n_out)}
        for k, n_in, n_out in zip(keys, sizes[:-1], sizes[1:])
    ]
    return {"hidden": layers[:-1], "out": layers[-1]}


def network(params, x):
    for layer in params["hidden"]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params["out"]["w"] + params["out"]["b"]


initial = init(key_init, [2, 16, 16, 3])
print(jax.tree.map(jnp.shape, initial))
print(network(initial, x_train[:2]))

# %% [markdown]
# Three numbers for each penguin, one for each species, called **logits**. They can be anything.
# **Softmax** makes probabilities of them: take `exp`, so that all are positive, and divide by the
# sum.
#
# The loss of one penguin is the **cross-entropy**: minus the logarithm of the probability that the
# network gives to the right species. Certain and right costs nothing, certain and wrong costs much.
# This is what it says:

# %%
def cross_entropy_as_written(logits, answers):
    probabilities = jnp.exp(logits) / jnp.sum(jnp.exp(logits), axis=-1, keepdims=True)
    right = probabilities[jnp.arange(len(answers)), answers]
    return -jnp.mean(jnp.log(right))


print(cross_entropy_as_written(jnp.array([[2.0, 1.0, 0.0]]), jnp.array([0])))
print(cross_entropy_as_written(jnp.array([[200.0, 100.0, 0.0]]), jnp.array([0])))

# %% [markdown]
# The second network is nearly certain, and it is right, so its loss should be 0. It is NaN. Why?
# Ask.

# %% tags=["tinyjax-only"]
print(jax.explain_nan(cross_entropy_as_written)(jnp.array([[200.0, 100.0, 0.0]]), jnp.array([0])))

# %% [markdown]
# `exp(200)` is too large for 32 bits. The maths offers a way out. The logarithm of a quotient is a
# difference:
#
# ```text
# -log(exp(z[right]) / sum(exp(z)))  =  log(sum(exp(z))) - z[right]
# ```
#
# and `log(sum(exp(z)))` is `m + log(sum(exp(z - m)))` for every `m`. Take the largest z for `m`,
# then no `exp` is larger than 1. This function is called **logsumexp**. `jax.nn.logsumexp` is the
# one to use; here it is by hand.

# %%
def logsumexp(z):
    m = jnp.max(z, axis=-1, keepdims=True)
    return m[..., 0] + jnp.log(jnp.sum(jnp.exp(z - m), axis=-1))


def cross_entropy(logits, answers):
    return jnp.mean(logsumexp(logits) - logits[jnp.arange(len(answers)), answers])


print(cross_entropy(jnp.array([[2.0, 1.0, 0.0]]), jnp.array([0])))
print(cross_entropy(jnp.array([[200.0, 100.0, 0.0]]), jnp.array([0])))
z = jnp.array([200.0, 100.0, 0.0])
print(logsumexp(z) == jax.nn.logsumexp(z))

# %% [markdown]
# ## Loss and accuracy at once
#
# What you care about is the **accuracy**, the share of right answers. But it is a staircase: a
# small step changes nothing, so its derivative is zero. You train on the loss and look at the
# accuracy.
#
# With `has_aux=True` a function returns a pair, and is differentiated by the first one only. The
# second is handed through, so one pass gives value, accuracy and gradient.

# %%
def loss_and_accuracy(params, x, y):
    logits = network(params, x)
    return cross_entropy(logits, y), jnp.mean(jnp.argmax(logits, axis=-1) == y)


(value, accuracy), gradient = jax.value_and_grad(loss_and_accuracy, has_aux=True)(
    initial, x_train, y_train
)
print(f"loss {value:.3f}, accuracy {accuracy:.3f}; guessing costs log(3) = {np.log(3):.3f}")
print(jax.tree.structure(gradient) == jax.tree.structure(initial))

# %% [markdown]
# That is the first thing to check in a new program. An untrained network knows nothing, so its loss
# should be near that of guessing, `log(number of classes)`. If it is 50, something is wrong
# already.
#
# ## Optimizers are maps over trees
#
# An optimizer is a function here: parameters, gradient and state in, new parameters and state out.
# Gradient descent (**SGD**, with an S for stochastic, since batches are drawn by chance) has no
# state.

# %%
def sgd(params, gradient, state, lr=0.1):
    return jax.tree.map(lambda p, g: p - lr * g, params, gradient), state


print(sgd({"w": 1.0, "b": [2.0]}, {"w": 10.0, "b": [20.0]}, None))

# %% [markdown]
# ## A gap to fill
#
# **Momentum** remembers where it was going, as a ball does. Its state is a tree of the shape of the
# parameters, the velocity. In each step the new velocity is `0.9` times the old one plus the
# gradient, and the parameters move by `-lr` times the new velocity.
#
# Fill the two gaps, one `jax.tree.map` in each. (Until you do, the cell prints `Ellipsis` twice.)

# %%
def momentum(params, gradient, velocity, lr=0.1):
    velocity = ...  # 0.9 * velocity + gradient, leaf by leaf
    params = ...  # params - lr * velocity, leaf by leaf
    return params, velocity


print(momentum({"w": 1.0, "b": [2.0]}, {"w": 10.0, "b": [20.0]}, {"w": 10.0, "b": [0.0]}))

# %% [markdown]
# The right answer: `w` is -0.9 and `b` is 0, the velocities are 19 and 20. The next cell holds one
# way.

# %% tags=["solution"]
def momentum(params, gradient, velocity, lr=0.1):
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, gradient)
    params = jax.tree.map(lambda p, v: p - lr * v, params, velocity)
    return params, velocity


print(momentum({"w": 1.0, "b": [2.0]}, {"w": 10.0, "b": [20.0]}, {"w": 10.0, "b": [0.0]}))

# %% [markdown]
# **Adam** is what most people begin with. It keeps two running means for each parameter: `m` of the
# gradient, and `v` of its square. It moves by `m` divided by the root of `v`. Both begin at zero
# and are too small at first, which the two divisions by `1 - b**t` make good; `t` counts the steps.

# %%
def adam_state(params):
    zeros = jax.tree.map(jnp.zeros_like, params)
    return {"m": zeros, "v": zeros, "t": 0}


def adam(params, gradient, state, lr=0.01, b1=0.9, b2=0.999):
    t = state["t"] + 1
    m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["m"], gradient)
    v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, state["v"], gradient)

    def move(p, m, v):
        return p - lr * (m / (1 - b1**t)) / (jnp.sqrt(v / (1 - b2**t)) + 1e-8)  # never 0

    return jax.tree.map(move, params, m, v), {"m": m, "v": v, "t": t}

# %% [markdown]
# **Predict.** Two parameters are 0. The gradient of the first is 1000, of the second 0.001. Adam
# takes its first step. How much farther does the first one move?

# %%
predict("13/adam-first-step", ...)  # "1,000,000 times", "1,000 times" or "not at all"

# %% tags=["reveal"]
two = {"first": jnp.array(0.0), "second": jnp.array(0.0)}
moved, _ = adam(two, {"first": 1000.0, "second": 0.001}, adam_state(two))
print({name: f"{value:.4f}" for name, value in moved.items()})

# %% [markdown]
# Both move by `lr`, here 0.01. At the first step, after the divisions, `m` is `g` and `v` is
# `g**2`, so the quotient is 1 or -1. Later it is mostly a number between them, which is small where
# the gradient keeps changing its sign. So Adam does not mind how large gradients are, and one
# learning rate fits most parameters.
#
# ## Epochs and batches
#
# A step on 16 penguins costs less than one on all 176, and goes roughly the same way. So you
# shuffle the penguins, cut them into 11 **batches**, and make a step on each. That is one
# **epoch**. It is one compiled program: a scan, with the batches as items.
#
# `make_epoch` is a function that makes it, for any loss and any optimizer.

# %%
def make_epoch(loss_and_accuracy, optimizer, size=16):
    def step(carry, batch):
        params, state = carry
        (value, accuracy), gradient = jax.value_and_grad(loss_and_accuracy, has_aux=True)(
            params, *batch
        )
        return optimizer(params, gradient, state), value

    @jax.jit
    def epoch(params, state, key, x, y):
        n = len(y) // size  # what is left over has better luck in the next epoch
        rows = jax.random.permutation(key, len(y))[: n * size].reshape(n, size)
        (params, state), values = lax.scan(step, (params, state), (x[rows], y[rows]))
        return params, state, values

    return epoch


epoch = make_epoch(loss_and_accuracy, adam)
score = jax.jit(loss_and_accuracy)

# %% [markdown]
# The shuffling needs a new key for each epoch. `jax.random.fold_in(key, number)` makes it of one
# key and the number of the epoch. No chain of keys is carried along: the key of epoch 37 is there
# at once.
#
# `tqdm` is a package of its own. It goes around whatever you loop over, and draws the progress bar.

# %% tags=["progress"]
params, state = initial, adam_state(initial)
values, history = [], []
bar = tqdm(range(60), desc="training", ncols=80)
for number in bar:
    key = jax.random.fold_in(key_shuffle, number)
    params, state, batch_values = epoch(params, state, key, x_train, y_train)
    values.extend(batch_values.tolist())
    # Four numbers: loss and accuracy on the training set, then on the test set.
    history.append([*score(params, x_train, y_train), *score(params, x_test, y_test)])
    bar.set_postfix_str(f"test {history[-1][3]:.1%}")
history = np.array(history)

# %% [markdown]
# `values` has the loss of each batch, just before the step on it: 60 times 11 numbers. **Predict.**
# How many of the steps were followed by a batch with a *larger* loss?

# %%
predict("13/steps-up", ...)  # "none", "one in ten" or "half"

# %% tags=["reveal"] alt="The loss of each batch as a thin grey line that jumps up and down between 0 and 0.5 all the time, and the loss of the whole training set after each epoch as a thick line, which falls from 0.35 to 0.07."
ups = np.mean(np.diff(values) > 0)
print(f"the next batch had a larger loss after {ups:.0%} of the steps")

plt.figure(figsize=(5, 3.2))
plt.plot(np.arange(1, 1 + len(values)) / 11, values, color="0.7", linewidth=0.8, label="batches")
plt.plot(np.arange(1, 61), history[:, 0], linewidth=2, label="all 176")
plt.ylim(0, 0.6)
plt.xlabel("epoch")
plt.ylabel("loss")
plt.legend()
plt.show()

# %% [markdown]
# Half of them. The next batch consists of other penguins, and some are harder than others. That
# makes more of a difference than one step does. So never judge by single steps: look at means, at
# least over an epoch. (The loop at the top used all points in each step, and its curve was smooth.)
#
# How good is the network now?

# %%
(train_loss, train_accuracy), (test_loss, test_accuracy) = (
    score(params, x_train, y_train),
    score(params, x_test, y_test),
)
print(f"train: loss {train_loss:.2f}, accuracy {train_accuracy:.1%}")
print(f"test:  loss {test_loss:.2f}, accuracy {test_accuracy:.1%}")

# %% [markdown]
# What it has learned can be drawn. We ask it about each point of a grid, and color the **regions**
# by its answer. The lines between them are its decision boundaries. Crosses are penguins of the
# test set.

# %% alt="The plane of bill length and bill depth in three coloured regions that meet at about 39 mm and 16 mm. Smooth boundaries run between the clouds of Adelie on the left, Chinstrap on the upper right and Gentoo on the lower right. A few points lie on the wrong side."
def draw_regions(params, rows):
    lengths, depths = np.meshgrid(np.linspace(31, 61, 200), np.linspace(12.5, 22, 200))
    points = np.stack([lengths, depths], axis=-1)
    answer = jnp.argmax(network(params, jnp.array((points - mean) / std)), axis=-1)
    plt.figure(figsize=(5, 4))
    plt.contourf(lengths, depths, answer, levels=[-0.5, 0.5, 1.5, 2.5], colors=COLORS, alpha=0.25)
    scatter(np.array(rows))
    plt.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=3, frameon=False)
    for k in range(3):
        chosen = np.array(test_rows)[labels[test_rows] == k]
        plt.scatter(*bills[chosen].T, s=22, color=COLORS[k], marker="x")
    plt.show()


draw_regions(params, train_rows)

# %% [markdown]
# ## Few penguins, many parameters
#
# Now a harder case: only 40 penguins to learn from, a network with 4,547 parameters, and 200
# epochs.

# %%
big = init(key_big, [2, 64, 64, 3])
print("parameters:", sum(leaf.size for leaf in jax.tree.leaves(big)))


def fit(epoch, key, params, train_set, test_set, epochs=200):
    """The trained parameters; and loss and accuracy after each epoch, on both sets."""
    state, history = adam_state(params), []
    for number in range(epochs):
        params, state, _ = epoch(params, state, jax.random.fold_in(key, number), *train_set)
        history.append([*score(params, *train_set), *score(params, *test_set)])
    return params, np.array(history)


few, test_set = (x_train[:40], y_train[:40]), (x_test, y_test)
learned, by_heart = fit(epoch, run_keys[0], big, few, test_set)

# %% [markdown]
# **Predict.** After 200 epochs: what is the accuracy on the 40? And is the loss on the test set
# lower than it was after 40 epochs?

# %%
predict("13/accuracy-on-the-40", ...)  # "90%", "95%" or "100%"
predict("13/test-loss", ...)  # "lower", "the same" or "higher"

# %% tags=["reveal"] alt="Two curves against the epoch on a logarithmic axis. The training loss falls all the way to 0.003. The test loss falls to about 0.2 within 20 epochs and then rises to 0.6."
for number in (40, 200):
    row = by_heart[number - 1]
    print(
        f"after {number:3}: train loss {row[0]:.3f}, accuracy {row[1]:.1%};"
        f"  test loss {row[2]:.2f}, accuracy {row[3]:.1%}"
    )

plt.figure(figsize=(5, 3.2))
plt.semilogy(by_heart[:, 0], label="train")
plt.semilogy(by_heart[:, 2], label="test")
plt.xlabel("epoch")
plt.ylabel("loss")
plt.legend()
plt.show()

# %% [markdown]
# This is **overfitting**. The network knows the 40 by heart, all of them, and its loss on others
# grows.
#
# Its accuracy on others does not fall, though. What gets worse is how sure it is *when it is
# wrong*, and that is what the cross-entropy charges for. (With `run_keys[0]` we get the same first
# 40 epochs again.)

# %%
def sure_when_wrong(params):
    """The mean probability that it gives to its answer, where the answer is wrong."""
    probabilities = jax.nn.softmax(network(params, x_test))
    wrong = jnp.argmax(probabilities, axis=-1) != y_test
    return jnp.max(probabilities, axis=-1)[wrong].mean()


earlier, _ = fit(epoch, run_keys[0], big, few, test_set, epochs=40)
print(f"sure when wrong: {sure_when_wrong(earlier):.2f} after 40 epochs", end=", ")
print(f"{sure_when_wrong(learned):.2f} after 200")

# %% [markdown]
# Here is what it has made of the plane. Look for the one Gentoo penguin among Chinstraps, at 44 mm.

# %% alt="The same plane with regions for the network that learned from 40 penguins. A narrow tongue of the Gentoo region reaches up to a single Gentoo of the training set at 44 mm and 17 mm, and the Chinstrap region bends around it. Several crosses of other species lie in that tongue."
draw_regions(learned, train_rows[:40])

# %% [markdown]
# ## What helps
#
# - **Stop early**: keep the parameters of the epoch at which the test loss was lowest. (Exercise:
#   `tinyjax check 13_training/early_stopping`.)
# - **Weight decay**: add the sum of the squares of the weights to the loss, times a small number.
#   Large weights make sharp bends, and now they cost something.
# - **More penguins.**
# - **Better measures**: all four, and not just two.
#
# `make_epoch` takes any loss, so decay is three lines. We score without it, so that all numbers can
# be compared.

# %%
def decayed(params, x, y, decay=0.003):
    value, accuracy = loss_and_accuracy(params, x, y)
    layers = [*params["hidden"], params["out"]]
    return value + decay * sum(jnp.sum(layer["w"] ** 2) for layer in layers), accuracy


decay_epoch = make_epoch(decayed, adam)
_, with_decay = fit(decay_epoch, run_keys[1], big, few, test_set)
_, with_more = fit(decay_epoch, run_keys[2], big, (x_train, y_train), test_set)

# %% [markdown]
# For four measures, the input has four columns, and the first layer four rows. Nothing else
# changes.

# %%
scaled = jnp.array((measures - measures[train_rows].mean(0)) / measures[train_rows].std(0))
_, with_four = fit(
    decay_epoch,
    run_keys[3],
    init(key_four, [4, 64, 64, 3]),
    (scaled[train_rows], y_train),
    (scaled[test_rows], y_test),
)

runs = {
    "40 penguins": by_heart,
    "and decay": with_decay,
    "and all 176": with_more,
    "and 4 measures": with_four,
}
for name, run in runs.items():
    print(f"{name:16} test loss: lowest {run[:, 2].min():.2f}, last {run[-1, 2]:.2f}")

# %% alt="Four curves of the test loss against the epoch. With 40 penguins it rises to 0.6. With decay it stays near 0.2. With all 176 penguins it is below 0.1, and with four measures it is close to zero."
plt.figure(figsize=(5, 3.2))
for name, run in runs.items():
    plt.plot(run[:, 2], label=name)
plt.ylim(0, 0.7)
plt.xlabel("epoch")
plt.ylabel("test loss")
plt.legend(loc="upper left", fontsize="small")
plt.show()

# %% [markdown]
# Each helps here: the key of this chapter is one that shows it well. With others it is less clear,
# since 166 test penguins are few. Of 40 keys that we tried, decay lowered the last test loss with
# all, more penguins with 34, and four measures with all.
#
# One warning: whoever chooses the epoch or the decay by looking at the test set has learned from
# it. In earnest, make three parts: one to train, one to choose by (the **validation set**), and one
# to look at once, at the end.
#
# ## Keeping what was learned
#
# Parameters are a tree of arrays. NumPy stores the leaves; the structure comes from your own code.

# %%
file = tempfile.mkdtemp() + "/penguins.npz"
np.savez(file, *jax.tree.leaves(params))

with np.load(file) as stored:
    leaves = [jnp.array(stored[name]) for name in stored.files]
restored = jax.tree.unflatten(jax.tree.structure(initial), leaves)
print(jnp.array_equal(network(restored, x_test), network(params, x_test)))

# %% [markdown]
# To go on training later you need the optimizer's state, too: it is a tree like any other.
#
# ## When it goes wrong
#
# Most trouble has one cause: the learning rate. The line again, with a rate that is too large, and
# many steps:

# %%
@jax.jit
def train_too_fast(theta, x, y):
    def step(theta, _):
        return update(theta, x, y, lr=1.1), None

    return lax.scan(step, theta, length=500)[0]


print(train_too_fast(start, x, y))

# %% [markdown]
# NaN, and a NaN never goes away. Which of the 500 steps was it, and what happened there? A scan has
# no line to look at. `explain_nan` opens it.

# %% tags=["tinyjax-only"]
print(jax.explain_nan(train_too_fast)(start, x, y))

# %% [markdown]
# Each step lands farther on the other side of the valley, as in chapter 02, until the numbers no
# longer fit into 32 bits. That takes a while, so NaN is the *end* of such a story. The loss tells
# it much earlier: it grows.
#
# (JAX has no `explain_nan`. There, `jax.config.update("jax_debug_nans", True)` makes an error of
# the first operation whose result has a NaN.)
#
# It may not even come to a NaN. `tanh` never exceeds 1, so our network cannot explode that fast.
# Here it is trained with SGD and three rates:

# %%
for lr, key in zip((0.01, 0.3, 30.0), jax.random.split(run_keys[4], 3)):
    run = make_epoch(loss_and_accuracy, partial(sgd, lr=lr))
    trial = initial
    for number in range(10):
        trial, *_ = run(trial, None, jax.random.fold_in(key, number), x_train, y_train)
    value, _ = score(trial, x_train, y_train)
    verdict = "worse than guessing" if value > np.log(3) else f"{value:.2f}"
    print(f"lr = {lr:5}: loss {verdict}")

# %% [markdown]
# So a good sign is a loss below that of guessing, and a bad one is a loss above it, NaN or not.
#
# Do not rely on the accuracy alone. What is the accuracy of a network that is all NaN?

# %%
broken = jax.tree.map(lambda p: p * jnp.nan, initial)
value, accuracy = score(broken, x_test, y_test)
print(f"loss {value}, accuracy {accuracy:.1%}, Adelie penguins {np.mean(y_test == 0):.1%}")

# %% [markdown]
# `argmax` of three NaNs is 0, so this network calls each penguin an Adelie, and that many are.
#
# What to do, in this order:
#
# 1. Is the first loss about `log(number of classes)`? If not, look at the data and at `init`.
# 2. Can the network learn *one* batch by heart? If not, there is a mistake in the loss or in the
#    step.
# 3. Does the loss grow, or become NaN? Divide the learning rate by 10. Does it fall evenly and
#    slowly? Multiply it by 3.
# 4. Is the test loss much larger than the training loss? See *What helps*.
#
# ## Build it yourself
#
# The exercises are files in `exercises/13_training`, each with its task at the top; the stars say
# how hard they are. To begin, run `tinyjax watch early_stopping` in a terminal: it checks the file
# at each save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer
# with `%%exercise early_stopping`. ([How exercises work](../docs/exercises.md).)
#
# - `**` `tinyjax check 13_training/early_stopping`: end a training when the validation loss no
#   longer falls, and keep the best.
# - `***` `tinyjax check 13_training/train_mlp`: write a network, and its training as one program.
# - `****` `tinyjax check 13_training/add_primitive`: give tinyjax a primitive with all its rules;
#   every transformation then knows it.
#
# And to try, beyond the exercises:
#
# 1. Train the network on eight devices. Write a step that takes `params`, `state`, `x` and `y`,
#    with `lax.pmean(gradient, "devices")` before the optimizer (it takes whole trees); `pmap` it
#    with `in_axes=(None, None, 0, 0)` and `out_axes=None`; give it `x_train.reshape(8, 22, 2)` and
#    `y_train.reshape(8, 22)`. Compare with a step on all 176 on one device.
# 2. Train ten networks at once from ten keys. With `make = lambda key: init(key, [2, 16, 16, 3])`,
#    `ten = jax.vmap(make)(keys)` adds an axis to each leaf, and so does
#    `jax.vmap(adam_state)(ten)`. Then `vmap` the epoch with `in_axes=(0, 0, 0, None, None)`. It
#    wants ten keys for each epoch. How much do the test accuracies differ?
# 3. **Dropout**: give `network` a key, and multiply the output of each hidden layer by
#    `jax.random.bernoulli(key, 0.8, x.shape) / 0.8` in training, with another key for each layer
#    and step. Does it help with 40 penguins?

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - Compile the step first. Scan over steps when they are short, use more devices when they are
#   long; the mean of the gradients makes the result that of one device.
# - Time with a warm-up and `block_until_ready`.
# - Networks, gradients and optimizer states are trees; an optimizer is a few maps over them.
# - Single steps go up and down. Judge by means, and on data that the network has not seen.
# - Cross-entropy goes through logsumexp. A loss that grows or is NaN wants a smaller learning rate.
#
# Older posts copy parameters to all devices with `jax.device_put_replicated`, which is gone;
# `in_axes=None` does it. In new code for JAX you will see `jax.shard_map`, or `jit` with shardings,
# where there was `pmap`. The idea is the same: the data are split, and gradients meet in a `pmean`.
#
# **Next:** you have been through it all. On real JAX, people do not write their optimizers again:
# Optax has them. Flax (NNX) and Equinox have layers, Orbax stores parameters, Grain reads data.
# Beneath all of them are the same transformations, and you know what these do.
