"""Random programs for the compiler's tests: the same program for jax.lax and tinyjax.lax."""

import itertools
import math
import random

import numpy as np

SHAPES = [(), (5,), (7,), (4, 5), (5, 1), (1, 5), (3, 4, 5), (4, 1, 5), (1,), (2, 3), (3,), (0, 3)]
UNARY = ["neg", "exp", "tanh", "sin", "abs", "floor", "sign", "logistic", "log1p"]
FLOAT_BINARY = ["add", "sub", "mul", "max", "min", "div"]
INT_BINARY = ["add", "sub", "mul", "max", "bitwise_xor", "shift_left", "shift_right_logical", "div"]
LIMIT = 400  # elements


def inputs(seed):
    """One float32 array of every shape, some int32 arrays."""
    numbers = np.random.default_rng(seed)
    floats = [numbers.normal(size=s).astype(np.float32) for s in SHAPES]
    return floats + [numbers.integers(-5, 6, size=s).astype(np.int32) for s in SHAPES[:5]]


class Program:
    """A random program of about `length` operations, the same for every `lax` it is run with."""

    def __init__(self, seed, length):
        self.seed, self.length = seed, length

    def __call__(self, lax, *xs):
        self.lax, self.rng, self.pool = lax, random.Random(self.seed), list(xs)
        makers = [self.unary, self.binary, self.compare, self.select, self.convert]
        makers += [self.broadcast, self.reduce, self.move, self.join, self.iota, self.binary]
        for _ in range(self.length):
            new = self.rng.choice(makers)()
            if new is not None and math.prod(new.shape) <= LIMIT:
                self.pool.append(new)
        made = self.pool[len(xs) :]
        self.rng.shuffle(made)
        return tuple(made[: self.rng.randint(1, 4)])

    def pick(self, *kinds, like=None, ranked=False):
        """A value with a dtype of these kinds, of the shape and dtype of another."""
        fit = [
            v
            for v in self.pool
            if (not kinds or np.dtype(v.dtype).kind in kinds)
            and (like is None or (v.shape == like.shape and v.dtype == like.dtype))
            and (not ranked or len(v.shape))
        ]
        return self.rng.choice(fit) if fit else None

    def call(self, names, *args):
        """One of several functions of lax."""
        return getattr(self.lax, self.rng.choice(names))(*args)

    def unary(self):
        return self.call(UNARY, self.pick("f"))

    def binary(self):
        x = self.pick("f", "i")
        names = FLOAT_BINARY if np.dtype(x.dtype).kind == "f" else INT_BINARY
        return self.call(names, x, self.pick(like=x))

    def compare(self):
        x = self.pick()
        return self.call(["lt", "ge", "eq", "ne"], x, self.pick(like=x))

    def select(self):
        which, x = self.pick("b"), self.pick("f", "i")
        if which is None or which.shape != x.shape:
            return None
        return self.lax.select(which, x, self.pick(like=x))

    def convert(self):
        dtype = self.rng.choice([np.float32, np.int32, np.int8, np.uint32])
        x = self.pick("b", "i") if np.dtype(dtype).kind == "u" else self.pick()
        return None if x is None else self.lax.convert_element_type(x, dtype)

    def broadcast(self):
        x = self.pick()
        shape = self.rng.choice([s for s in SHAPES if len(s) >= len(x.shape)])
        fits = [
            dims
            for dims in itertools.combinations(range(len(shape)), len(x.shape))
            if all(n in (1, shape[d]) for n, d in zip(x.shape, dims, strict=True))
        ]
        return self.lax.broadcast_in_dim(x, shape, self.rng.choice(fits)) if fits else None

    def reduce(self):
        x = self.pick("f", "i", ranked=True)
        rank = len(x.shape)
        axes = tuple(sorted(self.rng.sample(range(rank), self.rng.randint(1, rank))))
        if self.rng.random() < 0.2 and 0 not in x.shape:
            return self.call(["argmax", "argmin"], x, axes[0], np.int32)
        return self.call(["reduce_sum", "reduce_max", "reduce_min"], x, axes)

    def move(self):
        x = self.pick(ranked=True)
        rank, choice = len(x.shape), self.rng.randrange(4)
        if choice == 0:
            return self.lax.transpose(x, self.rng.sample(range(rank), rank))
        if choice == 1:
            return self.lax.rev(x, (self.rng.randrange(rank),))
        if choice == 2:
            starts = [self.rng.randint(0, min(1, n)) for n in x.shape]
            return self.lax.slice(x, starts, x.shape, [self.rng.randint(1, 2) for _ in x.shape])
        return self.lax.reshape(x, (math.prod(x.shape),))

    def join(self):
        x = self.pick("f", "i", ranked=True)
        if self.rng.random() < 0.5:
            y = self.pick(like=x)
            return self.lax.concatenate([x, y], self.rng.randrange(len(x.shape)))
        config = [
            (
                self.rng.randint(-1 if n > 2 else 0, 1),
                self.rng.randint(0, 2),
                self.rng.randint(0, 1),
            )
            for n in x.shape
        ]
        return self.lax.pad(x, np.ones((), x.dtype), config)

    def iota(self):
        return self.lax.iota(np.int32, self.rng.choice([3, 5, 7]))
