"""debug_key_reuse: what counts as using a key twice, as the oracle has it."""

import numpy as np
import pytest
from worlds import OURS, same_error


def twice(random, key):
    """Draw twice from one key."""
    return random.uniform(key) + random.normal(key)


def split_and_draw(random, key):
    """Split a key, and use it all the same."""
    random.split(key)
    return random.normal(key)


REUSE = [
    lambda jax: twice(jax.random, jax.random.key(0)),
    lambda jax: jax.jit(lambda key: twice(jax.random, key))(jax.random.key(0)),
    lambda jax: split_and_draw(jax.random, jax.random.key(0)),
    lambda jax: jax.jit(lambda key: split_and_draw(jax.random, key))(jax.random.key(0)),
    lambda jax: jax.vmap(lambda k: twice(jax.random, k))(jax.random.split(jax.random.key(0), 3)),
]


@pytest.mark.parametrize("number", range(len(REUSE)))
def test_reuse_is_an_error(number):
    def run(jax):
        with jax.debug_key_reuse(True):
            REUSE[number](jax)

    assert "Previously-consumed key" in same_error(run)
    REUSE[number](OURS)  # without the flag


def test_calls_of_jitted_functions_count():
    def run(jax):
        draw = jax.jit(lambda key: jax.random.uniform(key))
        with jax.debug_key_reuse(True):
            draw(jax.random.key(0))
            key = jax.random.key(1)
            draw(key)
            draw(key)

    same_error(run, "Previously-consumed")


def fine(jax):
    """Programs that use each key once."""
    random = jax.random

    def pair(key):
        a, b = random.split(key)
        return random.uniform(a) + random.normal(b)

    def fold(key):
        return sum(random.uniform(random.fold_in(key, i)) for i in range(3))

    def clone(key):
        return random.uniform(key) + random.uniform(random.clone(key))

    def rows(key):
        keys = random.split(key, 3)
        return sum(random.uniform(keys[i]) for i in range(3))

    def scan(key):
        step = lambda c, k: (c + random.uniform(k), None)
        return jax.lax.scan(step, 0.0, random.split(key, 3))[0]

    def cond(key):
        return jax.lax.cond(True, random.uniform, random.normal, key)

    yield from (pair, fold, clone, rows, scan, cond)
    yield jax.grad(lambda key, x: x * random.normal(key), 1), 2.0
    yield lambda key: jax.vmap(random.uniform)(random.split(key, 3))
    yield lambda key: (random.key_data(key), random.uniform(key))[1]
    yield lambda key: twice(random, random.key_data(key))
    names = "exponential gumbel laplace logistic normal uniform bernoulli cauchy rademacher"
    yield from [getattr(random, name) for name in names.split()]
    yield lambda key: random.permutation(key, 5)
    yield lambda key: random.choice(key, 5, (3,), replace=False)
    yield lambda key: random.randint(key, (3,), 0, 10)
    yield lambda key: random.truncated_normal(key, -1.0, 1.0, (3,))
    yield lambda key: random.gamma(key, 2.0)
    yield lambda key: random.poisson(key, 2.0)
    yield lambda key: random.beta(key, 2.0, 1.0)
    yield lambda key: random.dirichlet(key, np.ones(3, np.float32))
    yield lambda key: random.categorical(key, np.ones(3, np.float32))


def test_each_key_once_is_fine():
    with OURS.debug_key_reuse(True):
        for case in fine(OURS):
            f, *args = case if isinstance(case, tuple) else (case,)
            f(OURS.random.key(0), *args)
            OURS.jit(f)(OURS.random.key(1), *args)
