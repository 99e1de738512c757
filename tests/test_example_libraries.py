"""example_libraries: networks and optimizers do what the oracle's do, number for number."""

import importlib

import numpy as np
import pytest
from worlds import same, same_error

RNG = np.random.RandomState(0)
IMAGES = RNG.randn(2, 8, 8, 3).astype(np.float32)
LINES = RNG.randn(2, 8, 3).astype(np.float32)
ROWS = RNG.randn(5, 2).astype(np.float32)


def library(jax, name):
    """An example library of a world."""
    return importlib.import_module(f"{jax.__name__}.example_libraries.{name}")


# ---- stax ----------------------------------------------------------------------------------------


def image_classifier(stax):
    pools = stax.MaxPool((2, 2)), stax.AvgPool((2, 2), padding="SAME"), stax.SumPool((2, 2), (2, 2))
    first = stax.Conv(4, (3, 3), padding="SAME"), stax.BatchNorm(), stax.Relu
    return stax.serial(*first, *pools, stax.Flatten, stax.Dense(5), stax.LogSoftmax)


def branches(stax):
    two = stax.parallel(stax.Dense(3), stax.serial(stax.Dense(3), stax.Tanh))
    rest = stax.FanInSum, stax.Softplus, stax.FanOut(2), stax.FanInConcat()
    return stax.serial(stax.Dense(4), stax.FanOut(2), two, *rest)


def elementwise(stax):
    layers = ["Gelu", "Selu", "LeakyRelu", "Exp", "Sigmoid", "Softmax", "Elu", "Identity"]
    more = [getattr(stax, name) for name in layers]
    return stax.serial(stax.Dense(4), stax.Dropout(0.5), *more)


NETWORKS = [
    (image_classifier, IMAGES),
    (branches, ROWS),
    (elementwise, ROWS),
    (lambda s: s.serial(s.Dense(4), s.Dropout(0.5, mode="test")), ROWS),
    (lambda s: s.ConvTranspose(4, (3, 3), strides=(2, 2), padding="SAME"), IMAGES),
    (lambda s: s.Conv1DTranspose(4, (3,)), LINES),
    (lambda s: s.BatchNorm(axis=0, center=False), ROWS),
    (lambda s: s.BatchNorm(axis=0, scale=False), ROWS),
    (lambda s: s.AvgPool((2, 2), spec="NCHW"), IMAGES),
    (lambda s: s.shape_dependent(lambda shape: s.Dense(shape[-1] + 1)), ROWS),
]


@pytest.mark.parametrize("number", range(len(NETWORKS)))
def test_networks(number):
    make, inputs = NETWORKS[number]

    def run(jax):
        init, apply = make(library(jax, "stax"))
        shape, params = init(jax.random.key(0), inputs.shape)
        outputs = lambda params: apply(params, inputs, rng=jax.random.key(1))
        slopes = jax.grad(lambda params: (outputs(params) ** 2).sum())(params)
        return tuple(map(int, shape)), params, outputs(params), slopes

    same(run, weak=False, atol=1e-3)


def test_dropout_needs_a_key():
    layer = lambda jax: library(jax, "stax").Dropout(0.5)[1]
    same_error(lambda jax: layer(jax)((), ROWS), "PRNG key")


# ---- optimizers ----------------------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": (0.1,),
    "momentum": (0.1, 0.9),
    "nesterov": (0.1, 0.9),
    "adagrad": (0.1,),
    "rmsprop": (0.1,),
    "rmsprop_momentum": (0.1,),
    "adam": (0.1,),
    "adamax": (0.1,),
    "sm3": (0.1,),
}


def descend(jax, optimizer, steps=4, jit=True):
    """Some steps -> the parameters and the state, packed and unpacked on the way."""
    optimizers = library(jax, "optimizers")
    init, update, get_params = optimizer
    target = np.float32([1, 2, 3])
    loss = lambda p: ((p["w"].sum(1) - target) ** 2).sum() + (p["b"] ** 2).sum()
    state = init({"w": jax.numpy.asarray(np.ones((3, 2), np.float32)), "b": jax.numpy.ones(3)})
    step = lambda i, state: update(i, jax.grad(loss)(get_params(state)), state)
    step = jax.jit(step) if jit else step
    for i in range(steps):
        state = step(i, state)
        state = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state))
    return get_params(state), jax.tree.leaves(state)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name):
    def run(jax):
        make = getattr(library(jax, "optimizers"), name)
        # the state of sm3 holds a shape, which may not be traced
        return descend(jax, make(*OPTIMIZERS[name]), jit=name != "sm3")

    same(run)


SCHEDULES = [
    lambda o: o.constant(0.1),
    lambda o: o.exponential_decay(0.1, 3, 0.5),
    lambda o: o.inverse_time_decay(0.1, 3, 0.5),
    lambda o: o.inverse_time_decay(0.1, 3, 0.5, staircase=True),
    lambda o: o.polynomial_decay(0.1, 3, 0.01, power=2.0),
    lambda o: o.piecewise_constant([2, 4], [1.0, 0.1, 0.01]),
    lambda o: o.make_schedule(0.5),
]


@pytest.mark.parametrize("number", range(len(SCHEDULES)))
def test_schedules(number):
    def run(jax):
        schedule = SCHEDULES[number](library(jax, "optimizers"))
        steps = descend(jax, library(jax, "optimizers").sgd(schedule))
        return [schedule(i) for i in range(6)], steps

    same(run)


def test_clip_grads():
    tree = {"a": ROWS, "b": np.float32(3)}
    for norm in (0.5, 100.0):
        same(lambda jax, norm=norm: library(jax, "optimizers").clip_grads(tree, norm))
    same(lambda jax: library(jax, "optimizers").l2_norm(tree))


def test_own_optimizers_and_their_errors():
    def make(jax, update):
        optimizer = library(jax, "optimizers").optimizer
        return optimizer(lambda: ((lambda x: (x, x)), update, (lambda state: state[0])))()

    same(lambda jax: descend(jax, make(jax, lambda i, g, s: (s[0] - 0.1 * g, s[0])), jit=False))

    def wrong(jax, gradients, update=lambda i, g, s: s):
        init, update, _ = make(jax, update)
        return update(0, gradients, init({"a": 1.0}))

    same_error(lambda jax: wrong(jax, {"b": 1.0}), "gradient tree")
    same_error(lambda jax: wrong(jax, {"a": 1.0}, lambda i, g, s: s[0]), "output structure")
    for arguments, error in (
        (([1, 2], [1.0]), "one shorter"),
        (([[1]], [1.0]), "must be sequences"),
    ):
        same_error(
            lambda jax, a=arguments: library(jax, "optimizers").piecewise_constant(*a), error
        )
    same_error(lambda jax: library(jax, "optimizers").make_schedule(np.ones(2)))
