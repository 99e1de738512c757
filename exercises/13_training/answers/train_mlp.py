# The card of the exercise train_mlp. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 3
# minutes: 30

# %% [markdown] statement
# # A network, trained in one program
#
# The parameters of a network are a pytree: a list of layers, and each layer is a dict with `"w"`
# of shape (n_in, n_out) and `"b"` of shape (n_out,). There may be any number of layers.
#
# - `network(params, x)`: each layer computes `x @ w + b`. After each but the last comes
#   `jnp.tanh`. `x` is one input of shape (n_in,) or many, (N, n_in).
# - The loss is the mean of `(network(params, x) - y) ** 2` over all its numbers, plus `decay`
#   times the sum of the squares of all **weights** `w`. The biases `b` do not count there.
# - `train(params, x, y, lr, decay, steps)` takes `steps` steps of gradient descent, each with all
#   the data. It returns the new parameters, in the same packing, and an array of `steps` losses:
#   the loss just before each step.
#
# The steps run as **one program**, with `lax.scan`: the jaxpr of `train` must not be longer for
# more steps.
#
# A tiny example: one layer, `[{"w": [[1.]], "b": [0.]}]`, with `x = [[1.]]`, `y = [[0.]]`,
# `lr = 0.1`, `decay = 0.` and one step: the losses are `[1.]`, and the new parameters
# `[{"w": [[0.8]], "b": [-0.2]}]`.
#
# Run this file, or `tinyjax check train_mlp`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


# %% stub
def network(params, x):
    """The output of the network for one input or many."""
    raise NotImplementedError


def train(params, x, y, lr, decay, steps):
    """Steps of gradient descent -> new parameters, the loss before each step."""
    raise NotImplementedError


# %% [markdown] hint
# `lax.scan` repeats `carry, item -> carry, output`. What must the carry be here, and what is the
# output of each step?

# %% [markdown] hint
# The carry is the tree of parameters, the output is the loss, and there are no items: give scan
# `length=steps`. `jax.value_and_grad` returns the loss and its gradient, a tree like the
# parameters, and `jax.tree.map` steps in all leaves at once. The parameters that the step uses are
# the carry, not those that `train` was given.

# %% [markdown] hint
#     def network(params, x):
#         *hidden, last = params
#         for layer in hidden:
#             x = ...
#         return ...
#
#     def train(params, x, y, lr, decay, steps):
#         def loss(params):
#             squares = sum(jnp.sum(...) for layer in params)
#             return ... + decay * squares
#
#         def step(params, _):
#             value, gradient = jax.value_and_grad(loss)(...)
#             return jax.tree.map(lambda p, g: ..., params, gradient), ...
#
#         return lax.scan(step, ..., length=steps)

# %% checks
from functools import partial

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 60.0  # a solution may compile its step


def layers(rng, sizes):
    """Random parameters, the biases too."""
    return [
        {
            "w": rng.normal(size=(a, b)).round(1).astype(np.float32),
            "b": rng.normal(size=b).round(1).astype(np.float32),
        }
        for a, b in zip(sizes[:-1], sizes[1:])
    ]


def draw_deep(rng):
    """Four layers."""
    sizes = [3, 2, 4, 3, 2]
    return {
        "params": layers(rng, sizes),
        "x": rng.normal(size=(4, 3)).round(1).astype(np.float32),
    }


def draw(rng):
    """Three layers, inputs and answers."""
    return {
        "params": layers(rng, [2, 4, 3, 2]),
        "x": rng.normal(size=(5, 2)).round(1).astype(np.float32),
        "y": rng.normal(size=(5, 2)).round(1).astype(np.float32),
        "lr": round(rng.uniform(0.02, 0.1), 2),
        "decay": round(rng.uniform(0.05, 0.2), 2),
    }


@check("the network of four layers, for many inputs and for one", draw=draw_deep)
def outputs(student, params, x):
    return [student.network(params, x), student.network(params, x[0])]


@check("three steps from random parameters")
def three_steps(student, params, x, y, lr, decay):
    with jax.disable_jit():  # the same numbers, and no kernel to wait for
        new, losses = student.train(params, x, y, lr, decay, 3)
    return {"losses": losses, "params": new}


def equations(jaxpr):
    """How many equations a jaxpr has, those of the programs inside of it counted at each place."""
    count = 0
    for eqn in jaxpr.eqns:
        inner = [getattr(value, "jaxpr", value) for value in eqn.params.values()]
        count += 1 + sum(equations(program) for program in inner if hasattr(program, "eqns"))
    return count


@check("the equations of train's jaxpr: for 3 steps, and for 30")
def one_program(student, params, x, y, lr, decay):
    def length(steps):
        some = partial(student.train, lr=lr, decay=decay, steps=steps)
        return equations(jax.make_jaxpr(some)(params, x, y).jaxpr)

    return {
        "for 3 steps (counted up to 10)": min(length(3), 10),  # what computes nothing has none
        "more for 30 steps": length(30) > length(3),
    }


# %% reference
def network(params, x):
    """The output of the network for one input or many."""
    *hidden, last = params
    for layer in hidden:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ last["w"] + last["b"]


def train(params, x, y, lr, decay, steps):
    """Steps of gradient descent -> new parameters, the loss before each step."""

    def loss(params):
        squares = sum(jnp.sum(layer["w"] ** 2) for layer in params)
        return jnp.mean((network(params, x) - y) ** 2) + decay * squares

    def step(params, _):  # these params are the carry: those of this step
        value, gradient = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - lr * g, params, gradient), value

    return lax.scan(step, params, length=steps)


# %% right: a fori_loop that writes the losses down
def network(params, x):
    for i, layer in enumerate(params):
        x = jnp.dot(x, layer["w"]) + layer["b"]
        if i < len(params) - 1:
            x = jnp.tanh(x)
    return x


def loss(params, x, y, decay):
    one = jax.vmap(lambda x, y: (network(params, x) - y) ** 2)
    return one(x, y).mean() + decay * sum((layer["w"] ** 2).sum() for layer in params)


def train(params, x, y, lr, decay, steps):
    def body(i, state):
        params, losses = state
        value, gradient = jax.jit(jax.value_and_grad(loss))(params, x, y, decay)
        new = jax.tree.map(lambda p, g: p - lr * g, params, gradient)
        return new, losses.at[i].set(value)

    return lax.fori_loop(0, steps, body, (params, jnp.zeros(steps)))


# %% right: one flat vector of parameters
from functools import reduce

from tinyjax.flatten_util import ravel_pytree


def network(params, x):
    first, *others = params
    start = x @ first["w"] + first["b"]
    return reduce(lambda h, layer: jnp.tanh(h) @ layer["w"] + layer["b"], others, start)


def train(params, x, y, lr, decay, steps):
    flat, unravel = ravel_pytree(params)
    is_weight, _ = ravel_pytree([{"w": 0 * p["w"] + 1, "b": 0 * p["b"]} for p in params])

    def loss(flat):
        error = network(unravel(flat), x) - y
        return jnp.sum(error**2) / error.size + decay * jnp.sum(is_weight * flat**2)

    def step(flat, _):
        return flat - lr * jax.grad(loss)(flat), loss(flat)

    flat, losses = lax.scan(step, flat, None, steps)
    return unravel(flat), losses


# %% right: backwards by hand, a class with __call__, items that nobody reads
class Network:
    def hidden(self, params, x):
        values = [x]
        for layer in params[:-1]:
            values.append(jnp.tanh(values[-1] @ layer["w"] + layer["b"]))
        return values

    def __call__(self, params, x):
        return self.hidden(params, x)[-1] @ params[-1]["w"] + params[-1]["b"]


network = Network()


def train(params, x, y, lr, decay, steps):
    def step(θ, _):
        values = network.hidden(θ, x)
        error = values[-1] @ θ[-1]["w"] + θ[-1]["b"] - y
        loss = jnp.mean(error**2) + decay * sum(jnp.sum(layer["w"] ** 2) for layer in θ)
        new, ct = [], 2 * error / error.size
        for layer, value in zip(θ[::-1], values[::-1]):
            w = layer["w"] - lr * (value.T @ ct + 2 * decay * layer["w"])
            new.insert(0, {"w": w, "b": layer["b"] - lr * ct.sum(0)})
            ct = (ct @ layer["w"].T) * (1 - value**2)
        return new, loss

    return lax.scan(step, params, jnp.arange(steps))


# %% wrong: a Python loop
# You looped in Python, so the program has every step again: lax.scan holds the step once.
def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train(params, x, y, lr, decay, steps):
    def loss(params):
        squares = sum(jnp.sum(layer["w"] ** 2) for layer in params)
        return jnp.mean((network(params, x) - y) ** 2) + decay * squares

    losses = []
    for _ in range(steps):
        value, gradient = jax.value_and_grad(loss)(params)
        losses.append(value)
        params = jax.tree.map(lambda p, g: p - lr * g, params, gradient)
    return params, jnp.stack(losses)


# %% wrong: uphill
# You went uphill: the step subtracts the gradient.
def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train(params, x, y, lr, decay, steps):
    def loss(params):
        squares = sum(jnp.sum(layer["w"] ** 2) for layer in params)
        return jnp.mean((network(params, x) - y) ** 2) + decay * squares

    def step(params, _):
        value, gradient = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p + lr * g, params, gradient), value

    return lax.scan(step, params, length=steps)


# %% wrong: tanh at the end
# You applied tanh after the last layer as well: its output is the answer as it is.
def network(params, x):
    for layer in params:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x


# %% wrong: no tanh
# You left tanh out: layers without it are one matrix, however many there are.
def network(params, x):
    for layer in params:
        x = x @ layer["w"] + layer["b"]
    return x


# %% wrong: three layers
# You wrote the network for three layers: go through the list, it may be of any length.
def network(params, x):
    first, second, last = params
    x = jnp.tanh(x @ first["w"] + first["b"])
    x = jnp.tanh(x @ second["w"] + second["b"])
    return x @ last["w"] + last["b"]


# %% wrong: the biases decay
# You let the biases decay as well: only the weights w are squared there.
def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train(params, x, y, lr, decay, steps):
    def loss(params):
        squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))
        return jnp.mean((network(params, x) - y) ** 2) + decay * squares

    def step(params, _):
        value, gradient = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - lr * g, params, gradient), value

    return lax.scan(step, params, length=steps)


# %% wrong: no decay
# You left out the decay: add decay times the sum of the squares of all weights.
def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train(params, x, y, lr, decay, steps):
    def loss(params):
        return jnp.mean((network(params, x) - y) ** 2)

    def step(params, _):
        value, gradient = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - lr * g, params, gradient), value

    return lax.scan(step, params, length=steps)


# %% wrong: a sum of squares
# You summed the squared errors: the loss has their mean, over all numbers.
def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train(params, x, y, lr, decay, steps):
    def loss(params):
        squares = sum(jnp.sum(layer["w"] ** 2) for layer in params)
        return jnp.sum((network(params, x) - y) ** 2) + decay * squares

    def step(params, _):
        value, gradient = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - lr * g, params, gradient), value

    return lax.scan(step, params, length=steps)


# %% wrong: the losses after the steps
# Your losses are those after each step: what value_and_grad returns is the loss before it.
def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train(params, x, y, lr, decay, steps):
    def loss(params):
        squares = sum(jnp.sum(layer["w"] ** 2) for layer in params)
        return jnp.mean((network(params, x) - y) ** 2) + decay * squares

    def step(params, _):
        gradient = jax.grad(loss)(params)
        params = jax.tree.map(lambda p, g: p - lr * g, params, gradient)
        return params, loss(params)

    return lax.scan(step, params, length=steps)


# %% wrong: always the first gradient
# You took the gradient at the parameters of the start in each step: take it at the carry.
def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train(params, x, y, lr, decay, steps):
    def loss(params):
        squares = sum(jnp.sum(layer["w"] ** 2) for layer in params)
        return jnp.mean((network(params, x) - y) ** 2) + decay * squares

    def step(carry, _):
        value, gradient = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - lr * g, carry, gradient), value

    return lax.scan(step, params, length=steps)


# %% wrong: only the weights move
# You moved the weights only: the biases are parameters, too.
def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train(params, x, y, lr, decay, steps):
    def loss(params):
        squares = sum(jnp.sum(layer["w"] ** 2) for layer in params)
        return jnp.mean((network(params, x) - y) ** 2) + decay * squares

    def step(params, _):
        value, gradient = jax.value_and_grad(loss)(params)
        new = [{"w": p["w"] - lr * g["w"], "b": p["b"]} for p, g in zip(params, gradient)]
        return new, value

    return lax.scan(step, params, length=steps)


# %% wrong: half the decay
# Your weights decay half as fast: the derivative of decay * w**2 is 2 * decay * w.
def network(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def train(params, x, y, lr, decay, steps):
    def errors(params):
        return jnp.mean((network(params, x) - y) ** 2)

    def step(params, _):
        value, gradient = jax.value_and_grad(errors)(params)
        value += decay * sum(jnp.sum(layer["w"] ** 2) for layer in params)
        gradient = [{"w": g["w"] + decay * p["w"], "b": g["b"]} for p, g in zip(params, gradient)]
        return jax.tree.map(lambda p, g: p - lr * g, params, gradient), value

    return lax.scan(step, params, length=steps)
