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


class Loop:
    """A random scan, fori_loop, while_loop or cond, whose body is a random program."""

    def __init__(self, seed, length):
        self.seed, self.length = seed, length

    def body(self, lax, carry, extra=()):
        """New values of the carry (of the same types), and some other results."""
        rng = random.Random(self.seed + 1)
        made = Program(self.seed + 2, self.length)(lax, *carry, *extra)
        pool = [*carry, *made]
        new = []
        for c in carry:
            fit = [v for v in pool if v.shape == c.shape and v.dtype == c.dtype]
            v = rng.choice(fit[::-1][: 1 + len(fit) // 2] if rng.random() < 0.8 else fit)
            new.append(lax.tanh(v) if np.dtype(v.dtype).kind == "f" else v)  # stays small
        return tuple(new), made[:2]

    def __call__(self, lax, *xs):
        rng = random.Random(self.seed)
        xs = [x for x in xs if 0 not in x.shape]
        carry = tuple(xs[i] for i in rng.sample(range(len(xs)), 4))
        kind = rng.choice(["scan", "fori", "while", "cond"])
        if kind == "scan":
            rows = rng.choice([x for x in xs if x.shape])

            def step(c, x):
                return self.body(lax, c, [x])

            return lax.scan(step, carry, rows, reverse=rng.random() < 0.5)
        if kind == "fori":
            return lax.fori_loop(0, 4, lambda i, c: self.body(lax, c, [i])[0], carry)
        if kind == "while":

            def more(s):
                return lax.lt(s[0], np.int32(4))

            def count(s):
                return (lax.add(s[0], np.int32(1)), *self.body(lax, s[1:])[0])

            return lax.while_loop(more, count, (np.int32(0), *carry))
        which = lax.gt(lax.reduce_sum(xs[1], (0,)), np.float32(0))
        return lax.cond(which, lambda *c: self.body(lax, c)[0], lambda *c: c, *carry)
