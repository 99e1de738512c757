"""pmap: what a call and a collective cost, and training steps on several devices.

Operands are on the devices beforehand, as results of another pmap.
"""

import numpy as np

from benchmarks.registry import workload

BYTES = {"4B": 4, "4KB": 4 << 10, "4MB": 4 << 20, "64MB": 64 << 20}
# Sizes of the layers, and examples per device.
MODELS = {
    "tiny": ((32, 64, 10), 16),
    "small": ((784, 64, 10), 32),
    "large": ((784, 512, 10), 128),
}


def on_devices(jax, tree):
    """The arrays of a tree, cut along their first axis, each part on its device."""
    return jax.block_until_ready(jax.pmap(lambda tree: tree)(tree))


@workload(devices=(2, 4, 8))
def pmap_call(jax, jnp, devices):
    """pmap(lambda x: x + 1) of four numbers on each device: what a call costs"""
    f = jax.pmap(lambda x: x + 1)
    x = on_devices(jax, jnp.zeros((devices, 4)))
    return lambda: f(x)


@workload(devices=(2,))
def pmap_feed(jax, jnp, devices):
    """ten such calls, each on the result of the one before, the last one awaited"""
    f = jax.pmap(lambda x: x * 0.5 + 1)
    x = on_devices(jax, jnp.zeros((devices, 4)))

    def run():
        y = x
        for _ in range(10):
            y = f(y)
        return y

    return run


@workload(size=tuple(BYTES), devices=(2,))
def pmap_psum(jax, jnp, size, devices):
    """psum of so many bytes on each device"""
    f = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")
    x = on_devices(jax, jnp.ones((devices, BYTES[size] // 4)))
    return lambda: f(x)


@workload(model=tuple(MODELS), devices=(2, 4, 8))
def pmap_train(jax, jnp, model, devices):
    """a data-parallel training step of a network, its result the operand of the next one"""
    step, state, batch = training(jax, jnp, model, devices)

    def run():
        nonlocal state
        state = step(state, *batch)
        return state

    return run


def training(jax, jnp, model, devices):
    """-> step(params, images, labels), params and (images, labels), all of them on the devices."""
    layers, examples = MODELS[model]
    rng = np.random.default_rng(0)

    def loss(params, images, labels):
        *hidden, (w_last, b_last) = params
        for w, b in hidden:
            images = jnp.tanh(images @ w + b)
        scores = jax.nn.log_softmax(images @ w_last + b_last)
        return -jnp.mean(jnp.sum(scores * labels, axis=-1))

    def step(params, images, labels):
        grads = jax.lax.pmean(jax.grad(loss)(params, images, labels), "i")
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)

    def copies(array):
        return np.broadcast_to(array.astype(np.float32), (devices, *array.shape))

    params = [
        (copies(rng.normal(size=(m, n)) / np.sqrt(m)), copies(np.zeros(n)))
        for m, n in zip(layers, layers[1:])
    ]
    images = rng.normal(size=(devices, examples, layers[0])).astype(np.float32)
    labels = np.eye(layers[-1], dtype=np.float32)[
        rng.integers(layers[-1], size=(devices, examples))
    ]
    placed = on_devices(jax, (params, images, labels))
    return jax.pmap(step, axis_name="i"), placed[0], placed[1:]
