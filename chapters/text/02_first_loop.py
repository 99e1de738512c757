# %% [markdown]
# # 02 · The first loop
#
# You will fit a straight line to points, the way every neural network is trained: guess, measure how
# wrong the guess is, ask for the derivative, take a small step, repeat.
#
# In this chapter the whole of it is one line, and it reads as the maths does:
#
# ```python
# theta - lr * grad(loss)(theta, x, y)
# ```
#
# You need: Python functions, and what a derivative is. Time: about half an hour.
#
# JAX is four things put together: the interface of NumPy, automatic derivatives, a compiler, and
# functions that transform functions, which you can combine freely. Here you meet the first three.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import predict

# %% [markdown]
# ## The data
#
# We make the data ourselves, so that we know the right answer: 100 points on the line
# `y = 3 * x - 1`, each moved up or down a little by chance.
#
# Random numbers come from a **key**. The same key always gives the same numbers, so we split it:
# one key for `x`, another one for the noise. (Chapter 04 is about keys.)

# %%
key_x, key_noise = jax.random.split(jax.random.key(2))
x = jax.random.normal(key_x, (100,))
y = 3 * x - 1 + 0.1 * jax.random.normal(key_noise, (100,))
x[:4]

# %% alt="A scatter plot. The points lie close to a straight line that rises from lower left to upper right and crosses x = 0 at about minus one."
plt.figure(figsize=(5, 3.2))
plt.scatter(x, y, s=12)
plt.xlabel("x")
plt.ylabel("y")
plt.show()

# %% [markdown]
# `x` is an `Array`. It prints and plots like a NumPy array. (Posts from before 2023 call it
# `DeviceArray`.)
#
# ## The model and the loss
#
# A line has two numbers, its slope `w` and its height `b` at zero. We keep both in one array,
# `theta`.
#
# The **loss** says how wrong a theta is: the mean of the squared distances between the line and the
# points. Small is good, zero would be perfect. For $n$ points on paper:
#
# $$L(w, b) = \frac{1}{n} \sum_{i=1}^{n} \left(w x_i + b - y_i\right)^2$$

# %%
def model(theta, x):
    w, b = theta
    return w * x + b


def loss(theta, x, y):
    return jnp.mean((model(theta, x) - y) ** 2)


theta = jnp.array([1.0, 1.0])
loss(theta, x, y)

# %% [markdown]
# ## The gradient
#
# `jax.grad(loss)` is a new function. It takes the arguments of `loss` and returns the derivative with
# respect to the first one, so here one number for `w` and one for `b`. It says how the loss changes
# when you raise each of them a little.
#
# **Predict.** We are at `w = 1`, `b = 1`. The points lie on `w = 3`, `b = -1`. A step goes *against*
# the gradient, so that the loss falls. Which way does `w` move first? And what is the sign of its
# derivative?
#
# Write your answers in place of the dots. Nobody marks them; a guess you have committed to is what
# makes the next cell worth reading. (Its output is folded away: run it, then click on the dots.)

# %%
predict("02/w-moves", ...)  # "up" or "down"
predict("02/sign-of-the-derivative", ...)  # "+" or "-"

# %% tags=["reveal"]
gradient = jax.grad(loss)(theta, x, y)
print("gradient:      ", gradient)
print("after one step:", theta - 0.1 * gradient)

# %% [markdown]
# The derivative for `w` is negative: raising `w` lowers the loss. Subtracting a negative number
# raises `w`. For `b` it is the other way round. Both move towards the line we know.
#
# ## The loop
#
# One step, as a function. The number `lr` is the **learning rate**: how far a step goes. On paper it
# is often called $\eta$ (eta), theta is $\theta$, and $\nabla L$ is the gradient of the loss:
#
# $$\theta_\text{new} = \theta - \eta \, \nabla L(\theta)$$

# %%
def update(theta, x, y, lr=0.1):
    return theta - lr * jax.grad(loss)(theta, x, y)


theta = jnp.array([1.0, 1.0])
path = [theta]
for _ in range(100):
    theta = update(theta, x, y)
    path.append(theta)

w, b = theta
print(f"w: {w:.2f}, b: {b:.2f}")
w, b = path[30]
print(f"w: {w:.2f}, b: {b:.2f} after 30 steps")

# %% [markdown]
# That is the line the points were made from, and 30 steps come close to it.
#
# Nothing was changed in place: `update` takes a theta and returns another one. The old ones are still
# there, in `path`, so we can draw the way we came.
#
# The picture shows the loss as a landscape over all lines. Every place is one line, with its slope to
# the right and its height upwards. On each ring the loss is the same.

# %% alt="Rings around the point w = 3, b = minus 1, where the loss is smallest. A trail of dots starts at w = 1, b = 1 and runs to the middle in a slight bend, in steps that get shorter."
def draw_path(path, x, y, w_range, b_range):
    """The rings of equal loss, and the steps of the path on them."""
    w, b = np.meshgrid(np.linspace(*w_range, 80), np.linspace(*b_range, 80))
    losses = np.mean((w[..., None] * np.asarray(x) + b[..., None] - np.asarray(y)) ** 2, axis=-1)
    steps = np.array(path)
    plt.figure(figsize=(5, 4))
    plt.contour(w, b, losses, levels=np.geomspace(losses.min() * 1.05, losses.max(), 12))
    plt.plot(steps[:, 0], steps[:, 1], "k.-", linewidth=1, markersize=5)
    plt.plot(*steps[-1], "r*", markersize=12)
    plt.gca().set_aspect("equal")
    plt.xlabel("w")
    plt.ylabel("b")
    plt.show()


draw_path(path, x, y, (0, 5), (-3, 2))

# %% [markdown]
# Each step goes straight down from where it stands, across the ring. The gradient gets small where
# the ground gets flat. That is why the steps get shorter by themselves.
#
# ## How far to go
#
# **Predict.** Now the learning rate is eleven times as large, `lr = 1.1`. What does the loss do in ten
# steps, compared with `lr = 0.1`: does it fall faster, fall slower, or grow?

# %%
predict("02/large-steps", ...)  # "faster", "slower" or "grows"

# %% tags=["reveal"]
for lr in [0.01, 0.1, 0.5, 1.1]:
    theta = jnp.array([1.0, 1.0])
    losses = []
    for _ in range(10):
        theta = update(theta, x, y, lr)
        losses.append(loss(theta, x, y))
    print(f"lr = {lr:4}: after 1, 5 and 10 steps", *[f"{losses[i]:10.4f}" for i in (0, 4, 9)])

# %% [markdown]
# With 1.1 every step jumps across the valley and lands higher on the other side. Too small costs
# time, too large never arrives. If a loss of yours grows, try a smaller learning rate first.
#
# ## The compiler
#
# `jax.jit(update)` is again a function, with the same arguments and the same result. The first call
# records what `update` does and compiles it; the calls after that run the compiled code.

# %%
fast_update = jax.jit(update)

theta = jnp.array([1.0, 1.0])
print("as written:", update(theta, x, y))
print("compiled:  ", fast_update(theta, x, y))

# %% [markdown]
# How much faster is it? Your numbers will differ from these.

# %% tags=["volatile"]
def steps_per_second(step, steps=300):
    theta = step(jnp.array([1.0, 1.0]), x, y)  # the first call compiles
    start = time.perf_counter()
    for _ in range(steps):
        theta = step(theta, x, y)
    theta.block_until_ready()
    return steps / (time.perf_counter() - start)


print(f"as written: {steps_per_second(update):10,.0f} steps per second")
print(f"compiled:   {steps_per_second(fast_update):10,.0f} steps per second")

# %% [markdown]
# ## Your turn, with real data
#
# In 1929 Edwin Hubble published the distances of 24 galaxies and the speeds at which they move away
# from us. (Source: *A relation between distance and radial velocity among extra-galactic nebulae*,
# Proceedings of the National Academy of Sciences 15, pages 168-173, table 1. The file is
# `data/hubble_1929.csv`.)
#
# Distances are in megaparsec (one is 3.26 million light years). We take the speeds in units of
# 1,000 km/s, so that both columns are numbers near one: gradient descent likes that.

# %% alt="A scatter plot of 24 galaxies. Speed grows with distance, from about zero nearby to about 1,000 kilometres per second at two megaparsec, with a wide spread."
distance, speed = np.loadtxt(
    "data/hubble_1929.csv", delimiter=",", skiprows=1, usecols=(1, 2), unpack=True
)
distance = jnp.array(distance)
speed = jnp.array(speed) / 1000

plt.figure(figsize=(5, 3.2))
plt.scatter(distance, speed, s=16)
plt.xlabel("distance (megaparsec)")
plt.ylabel("speed (1,000 km/s)")
plt.show()

# %% [markdown]
# The farther away, the faster. How fast per megaparsec? Fit the line.
#
# The cell below is the loop from above with a gap. Put the right thing in place of `...` and run it.
# (Until you do, it prints `Ellipsis`, which is what Python calls the three dots.)

# %%
def fit(distance, speed, steps=200, lr=0.4):
    """All the thetas on the way from a flat line to the best one."""
    theta = jnp.array([0.0, 0.0])
    path = [theta]
    for _ in range(steps):
        theta = ...  # one update, on distance and speed, with this lr
        path.append(theta)
    return path


print(fit(distance, speed)[-1])

# %% [markdown]
# Did it print two numbers near 0.45 and -0.04? Then you have it. The next cell holds one way to fill
# the gap; the rest of the chapter goes on from there.

# %% tags=["solution"]
def fit(distance, speed, steps=200, lr=0.4):
    """All the thetas on the way from a flat line to the best one."""
    theta = jnp.array([0.0, 0.0])
    path = [theta]
    for _ in range(steps):
        theta = update(theta, distance, speed, lr)
        path.append(theta)
    return path


hubble_path = fit(distance, speed)
slope, height = hubble_path[-1]
print(f"{1000 * slope:.0f} km/s more for each megaparsec")

# %% [markdown]
# **Predict.** Our own data had rings that were nearly circles; its `x` lay on both sides of zero. Here
# all distances are positive. What do the rings look like now?

# %%
predict("02/rings", ...)  # "circles" or "a long valley"

# %% tags=["reveal"] alt="Long narrow rings that lie aslant. The trail of dots first jumps from side to side across the valley and then creeps along its floor to the lowest point near w = 0.45, b = minus 0.04."
draw_path(hubble_path, distance, speed, (-0.1, 0.8), (-0.4, 0.4))

# %% [markdown]
# A long valley. Where all distances are positive, a steeper line can be made up for by a lower one, and
# the loss hardly changes along that direction.
#
# Across the valley the ground is steep, along it nearly flat, and one learning rate has to serve both:
# the path jumps from side to side, then creeps. (The last thing to try below does something about it.)
#
# A line has a formula for its best slope and height, so here we can check the loop against it. (Most
# models have no such formula. The loop works for them all the same.)

# %%
best_slope, best_height = np.polyfit(distance, 1000 * speed, 1)
print(f"the loop:    {1000 * slope:.1f} km/s per megaparsec, {1000 * height:.1f} km/s at zero")
print(f"the formula: {best_slope:.1f} km/s per megaparsec, {best_height:.1f} km/s at zero")

# %% [markdown]
# Hubble's own number was about 500, by a more careful fit. Today's is about 70: his distances were
# too small. But that speed grows with distance, as it does in a universe that expands, is in these 24
# points.
#
# ## Build it yourself
#
# The exercises are files in `exercises/02_first_loop`, each with its task at the top; the stars say
# how hard they are. To begin, run `tinyjax watch sgd_step` in a terminal: it checks the file at
# each save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer
# with `%%exercise sgd_step`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 02_first_loop/sgd_step`: write the step of this chapter again, without
#   looking.
# - `*` `tinyjax check 02_first_loop/lr_sweep`: try several learning rates and choose the best,
#   though some may end at `nan`.
# - `**` `tinyjax check 02_first_loop/closed_form_check`: compute the best line by its formula, with
#   32 bits and so that it can be differentiated.
#
# And to try, beyond the exercises:
#
# 1. Fit a parabola: give `theta` three numbers and change `model`. What else must change? (Try it
#    before you read on: nothing else. `grad` differentiates whatever you write.)
# 2. Drop the height: force Hubble's line through zero. Is the slope larger or smaller?
# 3. Subtract the mean from the distances before you fit. What do the rings look like now, and how
#    many steps do you need?

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - A training step is `theta - lr * grad(loss)(theta, x, y)`. It takes values and returns a value;
#   nothing is changed in place.
# - `grad` makes the derivative function, `jit` the compiled function. Both take a function and return
#   one, so they combine.
# - A learning rate that is too large makes the loss grow.
#
# Older posts import ready-made steps with `from jax.experimental import optimizers`. That module has
# moved to `jax.example_libraries`, and what people use today is a package of its own, Optax. Many
# posts also time a step by the clock alone. JAX returns before the work is done: hence
# `block_until_ready()` above.
#
# **Next:** chapter 03 asks what a function must be like so that `grad` and `jit` may transform it.
