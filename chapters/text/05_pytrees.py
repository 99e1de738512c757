# %% [markdown]
# # 05 · Pytrees
#
# A network has many arrays of parameters. You keep them in dicts and lists, nested as you like, and
# transformations take them as they are. In this chapter you learn what they see in such a nest: leaves,
# which count, and structure, which only has to fit. You train a small network with it, and teach JAX a
# class of your own.
#
# You need: chapters 00, 01, 02 and 04. Time: about 40 minutes.

# %%
import dataclasses
import inspect

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.flatten_util import ravel_pytree
from tinyjax.learn import predict

# %% [markdown]
# ## Parameters with names
#
# In chapter 02 the two numbers of a line were the elements of one array. Here they are in a dict, each
# with its name. `grad` does not mind: the gradient is a dict with the same keys.

# %%
def loss(theta, x, y):
    return jnp.mean((theta["w"] * x + theta["b"] - y) ** 2)


x = jnp.array([0.0, 1.0, 2.0, 3.0])
y = 3 * x - 1
theta = {"w": jnp.array(1.0), "b": jnp.array(1.0)}
gradient = jax.grad(loss)(theta, x, y)
print(gradient)

# %% [markdown]
# A step of gradient descent was `theta - lr * gradient`. But dicts know no arithmetic.

# %% tags=["raises-exception"]
theta - gradient

# %% [markdown]
# You want the subtraction for each pair of entries that belong together. `jax.tree.map` does this: it
# takes a function and one or more dicts, calls the function on the entries, and packs the results the
# same way.

# %%
def sgd(theta, gradient, lr=0.1):
    return jax.tree.map(lambda p, g: p - lr * g, theta, gradient)


for _ in range(100):
    theta = sgd(theta, jax.grad(loss)(theta, x, y))
print(f"w: {theta['w']:.3f}, b: {theta['b']:.3f}")

# %% [markdown]
# The line is found, and `sgd` knows nothing about lines. It never mentions `w` or `b`. The same two
# lines will train a network below.
#
# ## Leaves and structure
#
# What works for a dict works for lists, tuples, dicts in lists, and so on. Such a nest is called a
# **pytree**. It consists of **leaves**, the things at the bottom, and of **structure**, all that is
# above them.

# %%
tree = {"layer": [jnp.ones((3, 2)), jnp.zeros(2)], "scale": 0.5}
print(jax.tree.leaves(tree))
print(jax.tree.structure(tree))

# %% [markdown]
# Three leaves. In the structure, each star stands for a leaf. Here is the tree as a picture: containers
# in blue, leaves in green with their type, and on each branch the index or key that leads there.

# %% tags=["tinyjax-only"]
from tinyjax import viz

viz.tree_diagram(tree)

# %% [markdown]
# **Predict.** What are the leaves of a dict whose keys are not in order, with a `None` among its
# values?

# %%
odd = {"b": 1, "a": 2, "c": None}
predict("05/leaves-of-a-dict", ...)  # "[1, 2, None]", "[2, 1, None]", "[1, 2]" or "[2, 1]"

# %% tags=["reveal"]
print(jax.tree.leaves(odd))
print(jax.tree.structure(odd))

# %% [markdown]
# Two things may have surprised you.
#
# - **Keys are sorted.** Python remembers in which order you filled a dict. For a pytree this order must
#   not matter: `{"w": 1, "b": 2}` and `{"b": 2, "w": 1}` are equal, so they have the same leaves in the
#   same order.
# - **`None` is not a leaf.** It is a container with nothing in it, and belongs to the structure. That
#   makes it the way to say "nothing here": no bias, no state, no gradient.
#
# So a function that is mapped never sees `None`. With `is_leaf` you decide where to stop: things for
# which it returns true are taken as leaves.

# %%
print(jax.tree.map(lambda v: 10 * v, odd))
print(jax.tree.leaves(odd, is_leaf=lambda v: v is None))

# %% [markdown]
# What is a container, then? Dicts, lists, tuples, named tuples, `None`, and the classes that somebody
# has registered. **All else is a leaf**, whatever it is.
#
# **Predict.** How many leaves has this list?

# %%
mixed = [np.ones(3), (4, 5), "six", {}, {7, 8}]
predict("05/how-many-leaves", ...)  # a number

# %% tags=["reveal"]
print(jax.tree.leaves(mixed))

# %% [markdown]
# Five. An array is one leaf, however many elements it has. So is a string, though you can loop over it,
# and so is a set: it is not among the containers. The empty dict is a container and has none.
#
# That `"six"` is a leaf does not mean that you can compute with it. `jax.tree` takes any leaves.
# `grad`, `jit` and `vmap` then want arrays and numbers.
#
# ## What a transformation does with a tree
#
# `jax.tree.flatten` returns both parts, and `jax.tree.unflatten` puts them together again, with these
# leaves or with others.

# %%
leaves, structure = jax.tree.flatten({"w": 3.0, "b": [1.0, 2.0]})
print(leaves)
print(jax.tree.unflatten(structure, ["one", "two", "three"]))

# %% [markdown]
# Transformations work on the flat list. You see it in the program that `jax.make_jaxpr` shows (as in
# chapter 00; it is called a **jaxpr**). `loss` takes a dict and two arrays, and its jaxpr has no dict in
# it. The four inputs are the leaves: first `b`, then `w`, then `x` and `y`.

# %%
print(jax.make_jaxpr(loss)(theta, x, y))

# %% [markdown]
# You can write that yourself. Suppose that `grad` knew numbers only, by `argnums`. Then this would be
# how to get from there to trees: flatten, take the derivative by each leaf, unflatten.

# %%
def grad_of_tree(f):
    def gradient(tree, *rest):
        leaves, structure = jax.tree.flatten(tree)

        def flat(*leaves):
            return f(jax.tree.unflatten(structure, leaves), *rest)

        every = tuple(range(len(leaves)))
        return jax.tree.unflatten(structure, jax.grad(flat, argnums=every)(*leaves))

    return gradient


start = {"w": jnp.array(1.0), "b": jnp.array(1.0)}
print(grad_of_tree(loss)(start, x, y))
print(jax.grad(loss)(start, x, y))

# %% [markdown]
# `jax.tree.map` is made the same way. Here is tinyjax's own. `treedef` is the structure, and `_up_to`
# takes the other trees apart along it.

# %% tags=["tinyjax-only"]
source = inspect.getsource(jax.tree.map)
print(source[: source.index('"""')].rstrip())
print(source[source.rindex('"""') + 4 :])

# %% [markdown]
# Flatten, map, unflatten. So the first tree decides where the leaves are. What the others have at this
# place is handed over as it is, even if it is a list.

# %%
print(jax.tree.map(lambda n, values: n * sum(values), {"a": 2, "b": 3}, {"a": [1, 2], "b": (4, 5)}))

# %% [markdown]
# Above its leaves, the structure must agree. A list is not a tuple.

# %% tags=["raises-exception"]
jax.tree.map(jnp.add, {"a": 1, "b": [2, 3]}, {"a": 1, "b": (2, 3)})

# %% [markdown]
# Read the second line first: `tree['b']` is the place where the trees part. This happens when a file or
# a library gives you back tuples for lists.
#
# ## A network
#
# This is a network with one hidden layer, or with several. A layer is a dict, the network is a list of
# them. Each layer gets a key of its own (chapter 04).

# %%
def make_network(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [
        {"W": jax.random.normal(k, (n_in, n_out)) / np.sqrt(n_in), "b": jnp.zeros(n_out)}
        for k, n_in, n_out in zip(keys, sizes[:-1], sizes[1:])
    ]


def network(params, x):
    *hidden, last = params
    for layer in hidden:
        x = jnp.tanh(x @ layer["W"] + layer["b"])
    return x @ last["W"] + last["b"]


params = make_network(jax.random.key(0), [1, 16, 16, 1])
print(jax.tree.map(jnp.shape, params))

# %% tags=["tinyjax-only"]
viz.tree_diagram(params)

# %% [markdown]
# How many numbers is that? `jax.tree.reduce` goes over all leaves with a function of two arguments, as
# `functools.reduce` does.

# %%
sizes = jax.tree.map(jnp.size, params)
print(sizes)
print(jax.tree.reduce(lambda a, b: a + b, sizes))

# %% [markdown]
# ## A gap to fill
#
# The network shall learn a sine curve from 64 points. The loss is the mean square, as always, and its
# gradient has the structure of `params`.
#
# Fill the gap: one step of gradient descent, for all leaves at once. (Until you do, the cell prints
# `Ellipsis`.)

# %%
inputs = jnp.linspace(-1, 3, 64).reshape(64, 1)
targets = jnp.sin(2 * inputs)


def network_loss(params, x, y):
    return jnp.mean((network(params, x) - y) ** 2)


def step(params, x, y, lr=0.1):
    gradient = jax.grad(network_loss)(params, x, y)
    new_params = ...  # each leaf of params, minus lr times the leaf of gradient
    return new_params


print(step(params, inputs, targets))

# %% [markdown]
# Does it print a list of three dicts? And does `network_loss` of the result fall when you repeat the
# step? Then you have it. The next cell fills the gap, and trains. (`jit` takes and returns pytrees,
# too.)

# %% tags=["solution"] alt="Two curves over the range from minus 1 to 3. A dashed line is the untrained network, which falls from left to right and is unlike a sine. A solid line is the trained one, which runs along the 64 dots of the sine."
def step(params, x, y, lr=0.1):
    gradient = jax.grad(network_loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - lr * g, params, gradient)


fast_step = jax.jit(step)
trained = params
for _ in range(3000):
    trained = fast_step(trained, inputs, targets)
before, after = (network_loss(p, inputs, targets) for p in (params, trained))
print(f"loss before: {before:.2f}, less than a hundredth of it after: {after < before / 100}")

plt.figure(figsize=(5, 3.2))
plt.plot(inputs, targets, "k.", markersize=4, label="sine")
plt.plot(inputs, network(params, inputs), "--", label="before")
plt.plot(inputs, network(trained, inputs), label="after 3,000 steps")
plt.ylim(-1.2, 2)
plt.legend()
plt.show()

# %% [markdown]
# ## Where is a leaf? Key paths
#
# Leaves have addresses. `jax.tree.leaves_with_path` returns each leaf with its **key path**, a tuple
# with one key for each level. `keystr` prints a path as Python would get there.

# %%
pairs = jax.tree.leaves_with_path(trained)
print(pairs[1][0])
for path, leaf in pairs:
    print(jax.tree_util.keystr(path), leaf.shape)

# %% [markdown]
# That is how you name things in tables and plots. The next cell shows how large the gradient of each
# leaf is before the first step. The layers close to the result have the largest.

# %% alt="A horizontal bar chart with six bars, one for each leaf of the network's parameters, labelled with its key path such as [0]['W']. The bars show the length of the gradient of each leaf."
gradient = jax.grad(network_loss)(params, inputs, targets)
names = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(gradient)]
lengths = [jnp.linalg.norm(leaf) for leaf in jax.tree.leaves(gradient)]

plt.figure(figsize=(5, 2.8))
plt.barh(names[::-1], lengths[::-1])
plt.xlabel("length of the gradient")
plt.tight_layout()
plt.show()

# %% [markdown]
# `jax.tree.map_with_path` hands the path to your function. So you can treat leaves by their names. Here
# each gets its own learning rate: nothing in the first layer, a larger one for biases than for weights.

# %%
def rate(path, leaf):
    layer, name = path[0].idx, path[1].key
    if layer == 0:
        return 0.0
    return 0.1 if name == "W" else 0.2


print(jax.tree.map_with_path(rate, params))

# %% [markdown]
# ## A class of your own
#
# Dicts are handy, but `theta.w` reads better than `theta["w"]`, and a class can have methods. Python's
# `dataclasses` make such a class in three lines.
#
# **Predict.** How many leaves has a `Line`?

# %%
@dataclasses.dataclass
class Line:
    w: float
    b: float

    def __call__(self, x):
        return self.w * x + self.b


predict("05/leaves-of-a-class", ...)  # 0, 1 or 2

# %% tags=["reveal"]
print(jax.tree.leaves(Line(3.0, -1.0)))

# %% [markdown]
# One: the line as a whole. Nobody has registered `Line`, so it is a leaf. It is no array, though, and
# `grad` refuses it.

# %% tags=["raises-exception"]
jax.grad(lambda line: line(2.0))(Line(3.0, -1.0))

# %% [markdown]
# `jax.tree_util.register_dataclass` makes a container of it: its fields become children.

# %%
jax.tree_util.register_dataclass(Line)

print(jax.tree.leaves(Line(3.0, -1.0)))
print(jax.grad(lambda line: line(2.0))(Line(3.0, -1.0)))

# %% [markdown]
# The gradient is again a `Line`: the derivative by `w` is 2, by `b` it is 1. You could even draw it,
# but it is not a line that fits anything. It is a *change* of a line, in the same packing.
#
# ## Fields that are no data
#
# Some fields are settings: a number of layers, a name, a function. Nobody wants their derivative, and
# strings cannot be traced at all. Mark them as **static**. They move from the leaves to the structure.

# %%
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Power:
    scale: float
    exponent: int = dataclasses.field(metadata={"static": True})

    def __call__(self, x):
        return self.scale * x**self.exponent


print(jax.tree.leaves(Power(2.0, 3)))
print(jax.grad(lambda power: power(2.0))(Power(2.0, 3)))

# %% [markdown]
# One leaf. The exponent has come through unchanged.
#
# `jit` keeps one program for each structure (and each kind of arrays in it). **Predict.** The function
# below prints when it is traced. How many times does it print in these four calls?

# %%
@jax.jit
def evaluate(power, x):
    print("traced with exponent", power.exponent)
    return power(x)


predict("05/static-field", ...)  # 1, 2, 3 or 4

# %% tags=["reveal"]
for power in (Power(2.0, 3), Power(5.0, 3), Power(5.0, 4), Power(2.0, 3)):
    print(evaluate(power, 2.0))

# %% [markdown]
# 2: once for each exponent. Another `scale` is only another input of the same program. Another exponent
# is another program, in which the exponent is a constant. The last call finds the first program again.
#
# So static fields are for what changes seldom. They must be things that Python can compare and hash:
# numbers, strings, tuples, functions. Never make an array static.
#
# ## A class that is no dataclass
#
# For any other class you say yourself how it comes apart and together. `register_pytree_node` takes the
# class and two functions. The first returns the children, and whatever else is needed (here nothing).
# The second gets both, in the other order.
#
# This class checks what it is given, as careful people do.

# %%
class Interval:
    def __init__(self, low, high):
        if low > high:
            raise ValueError(f"low must not be above high, got {low} and {high}")
        self.low, self.high = low, high

    def __repr__(self):
        return f"Interval({self.low}, {self.high})"


def take_apart(interval):
    return (interval.low, interval.high), None


def put_together(_, children):
    return Interval(*children)


jax.tree_util.register_pytree_node(Interval, take_apart, put_together)
print(jax.tree.map(lambda v: v + 1, {"age": Interval(20, 30)}))

# %% [markdown]
# **Predict.** We take the gradient of `3 * low + high` at the interval from 20 to 30. What happens?

# %%
predict("05/check-in-init", ...)  # "Interval(3.0, 1.0)", "Interval(1.0, 3.0)" or "an error"

# %% tags=["reveal", "raises-exception"]
jax.grad(lambda i: 3 * i.low + i.high)(Interval(20.0, 30.0))

# %% [markdown]
# An error. The gradient is put into the same class, and is no interval: with a `low` of 3 and a `high`
# of 1 it is a pair of derivatives. Transformations put all kinds of things into your class while they
# work: gradients, tracers (which stand for values that are not known yet), shapes, `None`.
#
# So keep checks out of the way of `put_together`. It can leave `__init__` aside and set the fields. (A
# subclass is not registered with its parent, so `Bounds` is registered anew.)

# %%
class Bounds(Interval):
    """Checked when you make one, not when a transformation does."""


def put_together_unchecked(_, children):
    bounds = object.__new__(Bounds)
    bounds.low, bounds.high = children
    return bounds


jax.tree_util.register_pytree_node(Bounds, take_apart, put_together_unchecked)
print(jax.grad(lambda i: 3 * i.low + i.high)(Bounds(20.0, 30.0)))

# %% [markdown]
# (Exercise: `tinyjax check 05_pytrees/register_node`.)
#
# ## Pitfalls
#
# **A number that is an integer.** `grad` wants floats in all the leaves of its first argument. A
# counter among the parameters is an error. Make it static, or pass it as an argument of its own.

# %% tags=["raises-exception"]
jax.grad(lambda p: p["w"] ** 2)({"w": 2.0, "steps": 3})

# %% [markdown]
# **A tree where an array is meant.** Transformations take lists. The functions of `jnp` do not:
# `jnp.sum([1, 2])` is an error. For a sum over a whole tree use `jax.tree.reduce`.
#
# **A long list of numbers.** `total` adds up what it gets. **Predict.** How many inputs has its program
# if it gets a list of 500 numbers? And if it gets an array of 500?

# %%
def total(values):
    return jnp.sum(jnp.stack(list(values)))


numbers = [float(i) for i in range(500)]
predict("05/inputs-for-a-list", ...)  # 1 or 500
predict("05/inputs-for-an-array", ...)  # 1 or 500

# %% tags=["reveal"]
print("list: ", len(jax.make_jaxpr(total)(numbers).jaxpr.invars))
print("array:", len(jax.make_jaxpr(total)(jnp.array(numbers)).jaxpr.invars))

# %% [markdown]
# Each number of the list is a leaf of its own, with all the work of an array: an input, a check, an
# equation or more. Data belong in arrays, names belong in the tree.
#
# ## One vector of all
#
# Some methods want one vector, not a tree: those of `scipy.optimize`, or whatever inverts a matrix.
# `ravel_pytree` makes a vector of all leaves (in their order: `b` comes first), and a function that
# leads back.

# %%
vector, unravel = ravel_pytree({"w": jnp.array([[1.0, 2.0], [3.0, 4.0]]), "b": jnp.array([5.0])})
print(vector)
print(unravel(10 * vector))

# %% [markdown]
# Here is a use. The Hessian, the matrix of second derivatives, of a function of a dict is a dict of
# dicts: a block for each pair of parameters.

# %%
print(jax.tree.map(float, jax.hessian(loss)(theta, x, y)))

# %% [markdown]
# That is correct, and hard to compute with. As a function of the vector, it is a matrix.
#
# With it you make a step of Newton's method. In chapter 01 you divided the slope by the second
# derivative. Here `solve` does that, with the matrix. For the square loss of a line, one step ends at
# the solution.

# %%
vector, unravel = ravel_pytree({"w": jnp.array(1.0), "b": jnp.array(1.0)})


def flat_loss(vector):
    return loss(unravel(vector), x, y)


hessian, slope = jax.hessian(flat_loss)(vector), jax.grad(flat_loss)(vector)
print(hessian)
newton = unravel(vector - jnp.linalg.solve(hessian, slope))
print({name: f"{value:.3f}" for name, value in newton.items()})

# %% [markdown]
# ## Build it yourself
#
# The exercises are files in `exercises/05_pytrees`, each with its task at the top; the stars say
# how hard they are. To begin, run `tinyjax watch dict_params` in a terminal: it checks the file at
# each save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer
# with `%%exercise dict_params`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 05_pytrees/dict_params`: write a loss whose parameters are in a dict, and
#   some of them in a dict in it.
# - `*` `tinyjax check 05_pytrees/tree_sgd`: write gradient descent with **momentum**, a memory of
#   earlier gradients, for any tree.
# - `**` `tinyjax check 05_pytrees/register_node`: make a container of a class that checks what it
#   is given and has a setting.
# - `**` `tinyjax check 05_pytrees/flatten`: take containers apart, one level at a time; all of
#   `jax.tree` then runs on your function.
# - `***` `tinyjax check 05_pytrees/unflatten`: put trees together from their leaves; `jax.tree.map`
#   and `grad` then run on your function.
#
# And to try, beyond the exercises:
#
# 1. Train the network with the `momentum_step` of your exercise, with `lr=0.05` and `momentum=0.9`.
#    The first velocity is `jax.tree.map(jnp.zeros_like, params)`. How many steps does it need for a
#    loss of 0.002?
# 2. Train with the rates from above: `jax.tree.map` takes three trees as well. Check that the first
#    layer stays as it was, and see how much worse the fit is.

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - Dicts, lists, tuples, named tuples, `None` and registered classes are structure. All else is a leaf.
# - Dicts are read in the order of their sorted keys, and `None` has no leaf.
# - Transformations flatten, work on leaves, and unflatten: results come back in the packing that you
#   gave.
# - `jax.tree.map` is how to compute with whole trees. The first tree sets the structure.
# - Register a class to make it a container. Settings are static fields: part of the structure, and of
#   what `jit` compares.
#
# Older posts write `jax.tree_map` and `jax.tree_multimap`, which are both gone. Read `jax.tree.map`,
# for one tree or several. `jax.tree_util.tree_map` is the same function and still there.
#
# **Next:** [chapter 06](06_vmap.ipynb) maps functions over axes, and trees tell which.
