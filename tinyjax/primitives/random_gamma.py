"""random_gamma[log_space] keys, a: samples of the gamma distribution, one key for each element.

Marsaglia and Tsang's rejection method: x normal, v = (1 + c x)**3, and d v is a sample if a uniform
number says so. Rejected elements draw again, each from its own keys, until none are left. For a < 1
a sample of a + 1 is multiplied by a power of a uniform number. ("A Simple Method for Generating
Gamma Variables", 2000.)
"""

import numpy as np

from tinyjax import dtypes
from tinyjax.core import Primitive, Zero, nonzero
from tinyjax.primitives import special
from tinyjax.primitives.arithmetic import const, div, eq, full_of, mul
from tinyjax.primitives.incomplete import random_gamma_grad
from tinyjax.primitives.linear import batched_front
from tinyjax.primitives.maths import exp
from tinyjax.primitives.random_bits import threefry_2x32
from tinyjax.primitives.selection import select

BLOCK = 1 << 13  # samples that are drawn together: they stay in the processor's cache

# ---- many keys, one number of each --------------------------------------------------------------


def split_each(keys, num):
    """Split every key into so many: pairs of arrays of words."""
    zero = np.zeros_like(keys[0])
    return [threefry_2x32(keys, zero, zero + np.uint32(i)) for i in range(num)]


def unit_each(keys, dtype):
    """A uniform number of [0, 1) for every key, as random.uniform makes it."""
    info = dtypes.finfo(dtype)
    n_random = info.bits if info.nmant >= 8 else 8
    zero = np.zeros_like(keys[0])
    first, second = threefry_2x32(keys, zero, zero)
    if n_random == 64:
        words = first.astype(np.uint64) << np.uint64(32) | second
    else:
        words = (first ^ second).astype(f"uint{n_random}")
    word = np.dtype(f"uint{info.bits}").type
    words = words.astype(word) >> word(n_random - info.nmant)
    one = np.ones((), dtype)
    return (words | one.view(word)).view(dtype) - one


def normal_each(keys, dtype):
    """A normal number for every key, as random.normal makes it."""
    low = np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype))
    span = np.asarray(1, dtype) - low
    u = np.maximum(low, unit_each(keys, dtype) * span + low)
    return np.asarray(np.sqrt(2), dtype) * special.erf_inv(u)


# ---- rejection ----------------------------------------------------------------------------------


def positive_cubes(keys, c):
    """Draw x until 1 + c x is positive -> x² and (1 + c x)³."""
    dtype = c.dtype
    x, v = np.zeros_like(c), np.full_like(c, -1)
    left = np.arange(len(c))
    while len(left):
        keys, subkeys = split_each(keys, 2)
        x[left] = normal_each(subkeys, dtype)
        v[left] = np.asarray(1, dtype) + x[left] * c[left]
        again = v[left] <= 0
        left, keys = left[again], [k[again] for k in keys]
    return x * x, v * v * v


def accepted_cubes(keys, c, d):
    """Draw until every element accepts -> (1 + c x)³."""
    dtype = c.dtype
    one, half, squeeze = (np.asarray(v, dtype) for v in (1, 0.5, 0.0331))
    out = np.ones_like(c)
    left = np.flatnonzero(np.isfinite(d))  # no draw would decide the others
    keys = [k[left] for k in keys]
    while len(left):
        keys, x_keys, u_keys = split_each(keys, 3)
        square, cube = positive_cubes(x_keys, c[left])
        u = unit_each(u_keys, dtype)
        out[left] = cube
        bound = square * half + d[left] * ((one - cube) + np.log(cube))
        again = (u >= one - squeeze * (square * square)) & (np.log(u) >= bound)
        left, keys = left[again], [k[again] for k in keys]
    return out


def draw(keys, a, log_space):
    """Samples of gamma(a) or their logarithms, of flat arrays: words of keys, and a."""
    dtype = a.dtype
    one, third = np.asarray(1, dtype), np.asarray(1 / 3, dtype)
    large = a >= one
    d = np.where(large, a, a + one) - third
    keys, subkeys = split_each(keys, 2)
    v = accepted_cubes(keys, third / np.sqrt(d), d)
    u = unit_each(subkeys, dtype)
    if not log_space:
        return d * v * np.where(large, one, (one - u) ** (one / a))
    logs = np.log1p(-u)  # the logarithm of a uniform number of (0, 1]
    boost = np.where(large | (logs == 0), np.asarray(0, dtype), logs * (one / a))
    return np.log(d) + np.log(v) + boost


# ---- the card -----------------------------------------------------------------------------------


class RandomGamma(Primitive):
    """Every key of the keys' array makes the samples of the part of a that lies at its place."""

    def impl(self, keys, a, *, log_space):
        words = np.reshape(keys["key"], (-1, 2))
        each = a.size // max(len(words), 1)
        flat, out = a.ravel(), np.empty(a.size, a.dtype)
        with np.errstate(all="ignore"):
            for start in range(0, a.size, BLOCK):
                place = np.arange(start, min(start + BLOCK, a.size))
                parents = words[place // each]
                number = (place % each).astype(np.uint32)
                parents = np.ascontiguousarray(parents.T)
                own = threefry_2x32(parents, np.zeros_like(number), number)
                out[place] = draw(own, flat[place], log_space)
        return out.reshape(a.shape)

    def type(self, keys, a, *, log_space):
        return a

    def linearize(self, nz, keys, a, *, log_space):
        out = self.bind(keys, a, log_space=log_space)
        slope = sample_slope(out, a, log_space) if nz[1] else None

        def push(_, t):
            return mul(t, slope) if nonzero(t) else Zero(out.aval)

        return out, push

    def batch(self, axis, vals, dims, /, *, log_space):
        vals = [batched_front(axis, v, d) for v, d in zip(vals, dims)]
        return self.bind(*vals, log_space=log_space), 0


def sample_slope(sample, a, log_space):
    """The slope of a sample, or of its logarithm, in a."""
    if not log_space:
        return random_gamma_grad(a, sample)
    plain = exp(sample)
    tiny = full_of(plain, dtypes.finfo(sample.dtype).tiny)
    plain = select(eq(plain, const(sample, 0)), tiny, plain)
    return div(random_gamma_grad(a, plain), plain)


random_gamma_p = RandomGamma("random_gamma")
