# %% [markdown]
# # 11 · pmap
#
# `vmap` turns a function into one for many elements. `pmap` does the same and gives each element a device of its own:
# a GPU, or here a process. In this chapter you run a program on eight devices, let them talk
# to each other, and train a model on all of them together.
#
# You need: `vmap` ([chapter 06](06_vmap.ipynb)), the training loop ([chapter 02](02_first_loop.ipynb)), keys
# ([chapter 04](04_random.ipynb)). Time: about 40 minutes.

# %%
import inspect
import threading
import time

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict
from tinyjax.sharding import NamedSharding
from tinyjax.sharding import PartitionSpec as P

# %% [markdown]
# ## Devices
#
# A **device** is something that computes, and has memory of its own.

# %%
print(jax.device_count())
print(jax.devices()[:2])

# %% [markdown]
# On tinyjax there are eight of them, on any machine. Introductions to JAX often show a board with eight
# TPU cores, so their examples work here. JAX counts your GPUs or TPUs. Without them it has
# one device, the CPU, unless you write `jax.config.update("jax_num_cpu_devices", 8)` before anything else.
#
# ## One element for each device
#
# Here is `jnp.add` on eight devices. (`pmap` is for *parallel map*.)

# %%
jax.pmap(jnp.add)(jnp.arange(8.0), jnp.ones(8))

# %% [markdown]
# The first axis was dealt out, like cards: each device got one number of either argument, and added
# two numbers. The results together are an array again.
#
# In tinyjax each device is a process. The first call of `pmap` started them, and they wait for more. These
# are their numbers in the operating system:

# %% tags=["tinyjax-only", "volatile"]
from tinyjax.parallel.engine import engine

print(engine().processes.pids)

# %% [markdown]
# **Predict.** `tell` says what it sees. It is mapped over an array with the shape `(8, 3)`. What is printed?
#
# - `"a"`: `(8, 3)`, once
# - `"b"`: `(3,)`, once
# - `"c"`: `(3,)`, eight times

# %%
def tell(row):
    print("a device sees", row.shape)
    return row.sum()


predict("11/what-a-device-sees", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
print(jax.pmap(tell)(jnp.ones((8, 3))))

# %% [markdown]
# `(3,)`, once. A `pmap` is traced and compiled, as with `jit`, so Python runs once, in your own process. What
# the devices get is the program, and all get the same one.
#
# ## Beside vmap
#
# For `vmap` the numbers are the same. The difference is *where* they are computed.

# %%
def distance(point):
    return jnp.sqrt(jnp.sum(point**2))


points = jnp.arange(16.0).reshape(8, 2)
print(jax.vmap(distance)(points))
print(jax.pmap(distance)(points))

# %% [markdown]
# Look at the programs. `vmap` pushes the axis into each primitive: the arrays get larger, and the sum, over
# axis 0 of a point, is now over axis 1. (`np.int64(1)` is a 1. JAX prints it so.)

# %%
print(jax.make_jaxpr(jax.vmap(distance))(points))

# %% [markdown]
# `pmap` leaves the program as it is, for one point, and says: run this on each device. (In JAX you would see
# `shard_map`, of which more at the end.)

# %% tags=["tinyjax-only"]
print(jax.make_jaxpr(jax.pmap(distance))(points))

# %% [markdown]
# ## What goes in, what comes out
#
# `in_axes` and `out_axes` mean what they mean for `vmap`. With `None`, an argument is not dealt out:
# each device gets all of it.
#
# **Predict.** Each device multiplies its matrix with one vector. What is the shape of the result?

# %%
matrices = jnp.ones((8, 5, 3))
vector = jnp.array([1.0, 2.0, 3.0])
predict("11/shape-of-the-result", ...)  # "(5,)", "(8, 5)" or "(40,)"

# %% tags=["reveal"]
products = jax.pmap(jnp.matmul, in_axes=(0, None))(matrices, vector)
print(products.shape)

# %% [markdown]
# `(8, 5)`: there is always an axis for the devices, and it has their number. Nothing is glued together along
# other axes.
#
# The result looks like one array, but its rows lie on different devices. It is a **sharded** array: one that is
# cut into shards.

# %%
print(products.sharding)
for shard in products.addressable_shards[:3]:
    print(shard.device, shard.data.shape, np.asarray(shard.data))

# %% [markdown]
# In words: the first axis is cut along an axis of eight devices, so each of them has one row. (An axis that you
# did not name is called `_internal_pmap_axis_name`.)
#
# As long as you hand it to another `pmap`, the rows stay where they are. Only when you look at it,
# by `print` or `np.asarray`, do they come together.
#
# **Predict.** There are eight devices. What does `pmap` do with nine elements?
#
# - `"a"`: one device computes two of them.
# - `"b"`: the ninth has to wait until a device is free.
# - `"c"`: it raises an error.

# %%
predict("11/nine-elements", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
try:
    print(jax.pmap(jnp.sin)(jnp.arange(9.0)))
except ValueError:
    print("an error")

# %% [markdown]
# An error: one element for each device, and no more. (Fewer are fine.) tinyjax says what to do about it:

# %% tags=["tinyjax-only", "raises-exception"]
jax.pmap(jnp.sin)(jnp.arange(9.0))

# %% [markdown]
# A number has no axis to deal out. This is an error as well, and `in_axes=(0, None)` is what is needed.

# %% tags=["raises-exception"]
jax.pmap(lambda x, y: x + y)(jnp.arange(8.0), 1.0)

# %% [markdown]
# With more elements than devices, cut the axis in two: so many rows for the devices, and `vmap` for what
# each of them gets.

# %%
many = jnp.arange(2000.0).reshape(1000, 2)
distances = jax.pmap(jax.vmap(distance))(many.reshape(8, 125, 2))
print(distances.shape)
print(jnp.allclose(distances.reshape(1000), jax.vmap(distance)(many)))

# %% [markdown]
# ## Devices talk
#
# So far each device minded its own business. To let them exchange numbers, give the mapped axis a name.
# `lax.psum(x, "i")` is the sum of the `x` of all devices along the axis `"i"`, and everyone gets it.
#
# **Predict.** Device 0 has 0.0, device 1 has 1.0, and so on to 7.0. What does the `pmap` of `psum` return?
#
# - `"a"`: `28.0`, a number
# - `"b"`: an array with eight times `28.0`
# - `"c"`: the running sums `0, 1, 3, 6, ... 28`

# %%
predict("11/psum", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
print(jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(jnp.arange(8.0)))

# %% [markdown]
# Eight times, because each device returns what it has. If you know that all results are equal, say
# `out_axes=None`, and get one of them.

# %%
print(jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(jnp.arange(8.0)))

# %% [markdown]
# Functions like `psum` are called **collectives**, because all devices take part. With one, a device can compute its
# own share of a total that it does not hold.

# %%
def share(x):
    return x / lax.psum(x, "i")


print(jax.pmap(share, axis_name="i")(jnp.arange(8.0)).round(3))
print(jax.vmap(share, axis_name="i")(jnp.arange(8.0)).round(3))

# %% [markdown]
# The second line is `vmap`. It knows collectives, too, and they mean the same there. So you can
# write such a function and test it without any devices.
#
# Without the name there is nobody to talk to:

# %% tags=["raises-exception"]
jax.pmap(share)(jnp.arange(8.0))

# %% [markdown]
# The others, each in one line. `axis_index` is the device's own number. In `ppermute` you say who sends
# to whom.

# %%
def on_devices(f):
    """f on four devices, which have the numbers 0, 1, 4 and 9."""
    return np.asarray(jax.pmap(f, axis_name="i")(jnp.arange(4.0) ** 2))


print("pmean:     ", on_devices(lambda x: lax.pmean(x, "i")))
print("pmax:      ", on_devices(lambda x: lax.pmax(x, "i")))
print("axis_index:", on_devices(lambda x: lax.axis_index("i")))
print("ppermute:  ", on_devices(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (2, 3), (3, 0)])))
print("all_gather:", *on_devices(lambda x: lax.all_gather(x, "i")))

# %% [markdown]
# After `all_gather` each device has all numbers, hence the four equal rows.
#
# How can a sum be everywhere at once? Each device writes its number where all can read it. All wait until
# the last one has written, and each adds up. Here is a `pmap` of your own, with a thread for a device.

# %%
def my_pmap(f, rows):
    """f(row, psum) for all rows at the same time."""
    table, results = [None] * len(rows), [None] * len(rows)
    everyone = threading.Barrier(len(rows))  # where all have to arrive before anyone goes on

    def device(number):
        def psum(x):
            table[number] = x
            everyone.wait()  # until all have written
            total = sum(table)
            everyone.wait()  # until all have read
            return total

        results[number] = f(rows[number], psum)

    threads = [threading.Thread(target=device, args=[k]) for k in range(len(rows))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.array(results)


print(my_pmap(lambda x, psum: x / psum(x), np.arange(8.0)).round(3))

# %% [markdown]
# This explains two things about collectives. A device that arrives early **waits**. And if one of them
# does not call `psum` at all, the others wait forever. That is why all run the same program.
#
# tinyjax has such an engine of threads, for systems where it cannot start processes. Compare its
# exchange with yours. The engine of processes does the same in memory that the processes share.

# %% tags=["tinyjax-only"]
from tinyjax.parallel.threads import ThreadDevice

print(inspect.getsource(ThreadDevice.exchange))
print(inspect.getsource(ThreadDevice.allreduce))

# %% [markdown]
# (`members` are the devices that take part, `op` is `"add"` for `psum`, and `out` is where the result may
# be written at once.)
#
# ## Training on eight devices
#
# Now the line of chapter 02 again, on points that are spread over the devices: five for each.

# %%
key_x, key_noise = jax.random.split(jax.random.key(0))
x = jax.random.normal(key_x, (40,))
y = 3 * x - 1 + jax.random.normal(key_noise, (40,))
x8, y8 = x.reshape(8, 5), y.reshape(8, 5)


def loss(theta, x, y):
    w, b = theta
    return jnp.mean((w * x + b - y) ** 2)


theta = jnp.array([0.0, 0.0])
gradients = jax.pmap(jax.grad(loss), in_axes=(None, 0, 0))(theta, x8, y8)
print(gradients.shape)

# %% [markdown]
# Eight gradients of the same `theta`: each device has seen five points, and has an opinion of its own. Drawn as
# steps *against* the gradient they look like this. The mean of the eight is drawn in black, and the gradient
# from all 40 points on one device in orange. (Some of the eight lie nearly behind each other.)

# %% alt="Thin blue arrows, one for each device, from the point at w = 0, b = 0. They point to the right and mostly down, in different directions and with different lengths. A black arrow, their mean, lies exactly on a wide orange arrow, the gradient of all points."
whole = jax.grad(loss)(theta, x, y)
mean = gradients.mean(0)


def arrow(step, **style):
    plt.quiver(0, 0, -step[0], -step[1], angles="xy", scale_units="xy", scale=1, **style)


plt.figure(figsize=(5, 3.4))
arrow(whole, color="tab:orange", width=0.025)
for gradient in np.asarray(gradients):
    arrow(gradient, color="tab:blue", width=0.004)
arrow(mean, color="black", width=0.008)
low, high = -np.max(gradients, 0).clip(0.5), -np.min(gradients, 0).clip(max=-0.5)
plt.xlim(low[0] - 0.5, high[0] + 0.5)
plt.ylim(low[1] - 0.5, high[1] + 0.5)
plt.xlabel("step in w")
plt.ylabel("step in b")
plt.show()

# %% [markdown]
# The mean of the eight is the gradient of all: the loss is a mean over points, and the mean of eight means of five
# numbers is the mean of the forty. **Data-parallel training** uses this. Each device computes the
# gradient of its share, `pmean` averages, and everybody takes the same step.

# %%
def update(theta, x, y, lr=0.1):
    gradient = jax.grad(loss)(theta, x, y)  # of the points on this device
    return theta - lr * lax.pmean(gradient, "devices")


parallel_update = jax.pmap(update, axis_name="devices", in_axes=(0, 0, 0))

# %% [markdown]
# `theta` is dealt out as well: each device has a copy of its own, which stays there from step to step. To
# begin with, make eight copies.
#
# **Predict.** After 50 steps we compare with 50 steps on one device, with all the points. What do we find?
#
# - `"a"`: the same line, up to rounding
# - `"b"`: nearly the same line, but a little worse, because each device sees few points
# - `"c"`: a line that is eight times as far on its way

# %%
predict("11/one-or-eight", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
def single_update(theta, x, y, lr=0.1):
    return theta - lr * jax.grad(loss)(theta, x, y)


copies = jnp.broadcast_to(theta, (8, 2))
single = theta
for _ in range(50):
    copies = parallel_update(copies, x8, y8)
    single = single_update(single, x, y)

print("eight devices:", np.asarray(copies[0]).round(3))
print("one device:   ", np.asarray(single).round(3))

# %% [markdown]
# The same. The number of devices is no part of the maths. It decides how long it takes.
#
# Instead of eight copies you can pass one `theta`, with `in_axes=None`, and get one back, with `out_axes=None`. Then a
# step looks from outside as if there were one device.

# %%
one_step = jax.pmap(update, axis_name="devices", in_axes=(None, 0, 0), out_axes=None)
print(one_step(theta, x8, y8))
print(single_update(theta, x, y))

# %% [markdown]
# **Predict.** Now we forget the `pmean`. What do the eight copies of `theta` look like after 50 steps?

# %%
def lonely_update(theta, x, y, lr=0.1):
    return theta - lr * jax.grad(loss)(theta, x, y)


parallel_lonely = jax.pmap(lonely_update)
predict("11/without-pmean", ...)  # "all equal" or "eight different lines"

# %% tags=["reveal"]
lonely = jnp.broadcast_to(theta, (8, 2))
for _ in range(50):
    lonely = parallel_lonely(lonely, x8, y8)
print("with pmean:\n", np.asarray(copies).round(2))
print("without:\n", np.asarray(lonely).round(2))

# %% [markdown]
# Eight different lines, each fitted to five points. There is no error and no warning. If your copies should be
# equal, look at two of them.
#
# ## A gap to fill
#
# A table of measurements is spread over the devices: 100 rows on each, three columns. Every device shall know the
# mean of each column, over **all** rows.

# %%
measured = 20 + 3 * jax.random.normal(jax.random.key(1), (8, 100, 3))

means = ...  # a pmap over measured
print(means)

# %% [markdown]
# Right is an array of the shape `(8, 3)` with eight equal rows, equal to `measured.reshape(800, 3).mean(0)`. The
# next cell holds one way. It goes on to the standard deviation, for which devices must talk twice.

# %% tags=["solution"]
means = jax.pmap(lambda rows: lax.pmean(rows.mean(0), "i"), axis_name="i")(measured)
print(np.asarray(means[0]), np.asarray(measured.reshape(800, 3).mean(0)))


def deviation(rows):
    mean = lax.pmean(rows.mean(0), "i")
    return jnp.sqrt(lax.pmean(((rows - mean) ** 2).mean(0), "i"))


print(np.asarray(jax.pmap(deviation, axis_name="i", out_axes=None)(measured)))
print(np.asarray(measured.reshape(800, 3).std(0)))

# %% [markdown]
# ## Keys on devices
#
# The same key gives the same numbers, wherever it is used: with one key for all, each device would draw the
# same noise, as the elements did under `vmap` in chapter 06. With dropout or noise that is not what you
# want. Split the key and deal out the pieces, or let each device fold its number into the key. Both give
# each device a key of its own.

# %%
def draw(key, x):
    return x + jax.random.normal(key)


print(jax.pmap(draw)(jax.random.split(jax.random.key(3), 8), jnp.zeros(8)))


def draw_apart(key, x):
    return draw(jax.random.fold_in(key, lax.axis_index("i")), x)


print(jax.pmap(draw_apart, axis_name="i", in_axes=(None, 0))(jax.random.key(4), jnp.zeros(8)))

# %% [markdown]
# ## What happens when
#
# What do the devices do meanwhile? Here is a step of a larger model, measured by clocks in the program. Each row is a
# device, and time runs to the right.

# %%
def wide_loss(w, x, y):
    return jnp.mean((jnp.tanh(x @ w).sum(-1) - y) ** 2)


def wide_update(w, x, y):
    return w - 0.01 * lax.pmean(jax.grad(wide_loss)(w, x, y), "devices")


wide_step = jax.pmap(wide_update, axis_name="devices", in_axes=(0, 0, 0))
w8 = jnp.broadcast_to(jax.random.normal(jax.random.key(5), (64, 64)) / 8, (8, 64, 64))
inputs = jax.random.normal(jax.random.key(6), (8, 10_000, 64))
targets = inputs.sum(-1)

# %% tags=["tinyjax-only", "volatile"]
from tinyjax import viz

viz.device_timeline(wide_step, w8, inputs, targets)

# %% [markdown]
# Your picture will look different. Look for three things. The devices do not start at once, since a message has to
# reach each of them. With fewer cores than devices, some wait for a core. And nobody leaves the exchange
# before the last one has arrived: the slowest device sets the pace.
#
# ## What it costs
#
# Here is the same work by `pmap`, and by `vmap` under `jit` on one device: sines of rows, short and long.

# %% tags=["volatile"] alt="Time of a call against the length of the rows, both axes logarithmic, a line for jit(vmap) and one for pmap. For short rows pmap takes many times longer and its line is flat; for long rows the lines come close to each other."
def milliseconds(f, *args, calls=10):
    """The time of one call, the best of several; compiling aside."""
    jax.block_until_ready(f(*args))
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        jax.block_until_ready(f(*args))
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def work(row):
    return lax.fori_loop(0, 20, lambda i, r: jnp.sin(r) + 0.5, row)


one_device, eight_devices = jax.jit(jax.vmap(work)), jax.pmap(work)
lengths = [10, 100, 1_000, 10_000, 100_000]
plt.figure(figsize=(5, 3.2))
for name, f in {"jit(vmap)": one_device, "pmap": eight_devices}.items():
    times = [milliseconds(f, jnp.ones((8, n))) for n in lengths]
    print(f"{name:9}", *[f"{n}: {t:.2f} ms " for n, t in zip(lengths, times)])
    plt.loglog(lengths, times, "o-", label=name)
plt.xlabel("length of a row")
plt.ylabel("ms for 8 rows")
plt.legend()
plt.show()

# %% [markdown]
# A call of `pmap` has a price: messages to eight devices, and answers. Short rows do not earn it back. For long ones
# it hardly matters.
#
# Do not expect a gain of eight here. Eight processes on a machine with two cores have two cores, and `jit` uses
# both already. The gain comes where each device has hardware of its own, such as eight GPUs. What you learn with
# processes holds there: the program, the shapes, and where devices wait.
#
# ## pmap and today's JAX
#
# `pmap` is the oldest way to use several devices, and the easiest one to understand. JAX recommends two newer ones for
# new programs.
#
# **`jit` with sharded arguments.** You say how the arrays lie, and write the function as if there was one
# device. JAX works out who computes what, and its compiler puts in the exchanges. The axes of a **mesh** of devices have
# names, and a `PartitionSpec` says which axis of the array is cut along which of them.

# %%
mesh = jax.make_mesh((8,), ("i",))
spread = jax.device_put(jnp.arange(16.0), NamedSharding(mesh, P("i")))
print(spread.sharding.spec, [shard.data.shape for shard in spread.addressable_shards][:3])
print(jax.jit(lambda x: x / x.sum())(spread).round(3))

# %% [markdown]
# (tinyjax knows how such an array lies, but computes in one place: only `pmap` runs on devices here. The
# numbers are the same.)
#
# **`jax.shard_map`.** This is what `pmap` became. The function sees one device's part, and collectives work as you know
# them. The part keeps its axis, so here each device has two numbers instead of one. tinyjax has no `shard_map`; in
# JAX the share from above is
#
# ```python
# def share(x):  # x: the part of this device
#     return x / lax.psum(x.sum(), "i")
#
# with jax.set_mesh(mesh):
#     print(jax.shard_map(share, in_specs=P("i"), out_specs=P("i"))(spread))
# ```
#
# In JAX `pmap` itself is a `jit` of a `shard_map` by now.
#
# ## Build it yourself
#
# The exercises are files in `exercises/11_pmap`, each with its task at the top; the stars say how
# hard they are. To begin, run `tinyjax watch shard_batch` in a terminal: it checks the file at each
# save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer with
# `%%exercise shard_batch`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 11_pmap/shard_batch`: cut a batch up for the devices, and put it together
#   again.
# - `**` `tinyjax check 11_pmap/pmean`: take one step of training on all devices, as if there were
#   only one.
# - `***` `tinyjax check 11_pmap/ragged`: share out a batch that does not divide, and still get the
#   right gradient.
# - `***` `tinyjax check 11_pmap/psum`: write what `psum` does under `vmap` and on the way back; the
#   package then uses yours.
#
# And to try, beyond the exercises:
#
# 1. Give `my_pmap` a `pmax` and an `all_gather`. Both can be made of the same `exchange`, which
#    returns the whole table: write that first.
# 2. Leave out the second `everyone.wait()` in `my_pmap` and let the function call `psum` a hundred
#    times. What goes wrong, and why not always?
# 3. Pass a number around the ring with `ppermute` in a `lax.fori_loop`, seven times, and add up
#    what comes by. Which collective did you build?

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - `pmap` deals out an axis, one element for each device, and all run the same program. It means what `vmap` means.
# - The result has the axis of the devices, and its parts stay on them.
# - Collectives (`psum`, `pmean`, `all_gather`, `ppermute`) exchange numbers along a named axis. Everybody
#   waits for the slowest.
# - Data-parallel training: gradient of the own share, `pmean`, the same step. The result is that of one device.
# - Each device needs a key of its own, and enough work.
#
# Older posts replicate parameters with `jax.device_put_replicated`, and map with `xmap`. JAX has neither now:
# `jnp.broadcast_to` or `in_axes=None` do the first, `shard_map` the second.
#
# **Next:** [chapter 12](12_compose.ipynb) composes all the transformations.
