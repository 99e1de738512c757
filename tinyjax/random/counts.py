"""Whole numbers: poisson, geometric, binomial, multinomial."""

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import lift
from tinyjax.numpy import abs as absolute
from tinyjax.numpy import (
    asarray,
    broadcast_to,
    ceil,
    floor,
    full,
    full_like,
    isinf,
    log,
    log1p,
    moveaxis,
    sqrt,
    where,
    zeros_like,
)
from tinyjax.numpy.checks import check_arraylike
from tinyjax.numpy.promotion import promote_dtypes_inexact
from tinyjax.primitives.linear import canonicalize_shape
from tinyjax.primitives.random_bits import once_more
from tinyjax.random.draws import draws
from tinyjax.random.keys import split, typed
from tinyjax.random.program import program
from tinyjax.random.uniform import (
    check_float_dtype,
    sample_shape,
    three_keys,
    two_keys,
    uniform,
)

# ---- poisson ------------------------------------------------------------------------------------


@draws
def poisson(key, lam, shape=None, dtype=None, *, out_sharding=None):
    """Poisson-distributed integers: how many events there are, when lam are expected.

    Args:
      key: a key.
      lam: the mean, not negative; a number or an array that broadcasts to the shape.
      shape: of the result; by default that of lam.
      dtype: an integer dtype; by default int32.

    >>> import tinyjax as jax
    >>> x = jax.random.poisson(jax.random.key(0), 20.0, (10000,))
    >>> x.dtype, round(float(x.mean()))
    (dtype('int32'), 20)
    """
    key, _ = typed("poisson", key)
    dtype = dtypes.check_user_dtype_supported(int if dtype is None else dtype, "poisson")
    shape = np.shape(lam) if shape is None else canonicalize_shape(shape)
    lam = lax.convert_element_type(broadcast_to(lam, shape), np.float32)
    return _poisson(key, lam, shape=shape, dtype=dtype)


@program("shape", "dtype")
def _poisson(key, lam, shape, dtype):
    """poisson with checked arguments: small means and large ones are drawn in two ways."""
    small = lax.bitwise_or(lax.ne(lam, lam), lam < 10)
    low = lax.select(small, lam, lax.full_like(lam, 0.0))
    high = lax.select(small, lax.full_like(lam, 1e5), lam)
    limits = {"shape": shape, "dtype": dtype, "max_iters": dtype.type(dtypes.iinfo(dtype).max)}
    out = lax.select(
        small,
        _poisson_knuth(key, low, **limits),
        _poisson_rejection(once_more(key), high, **limits),
    )
    return lax.select(lam == 0, zeros_like(out), out)


@program("shape", "dtype", "max_iters")
def _poisson_knuth(key, lam, shape, dtype, max_iters):
    """Count how many uniform numbers may be multiplied before they are below exp(-lam).
    (Knuth, "The Art of Computer Programming", volume 2, 3.4.1.)"""

    def more(carry):
        i, log_product = carry[0], carry[3]
        return (log_product > -lam).any() & (i < max_iters)

    def draw(carry):
        i, k, key, log_product = carry
        key, subkey = two_keys(key)
        k = lax.select(log_product > -lam, k + 1, k)
        u = uniform(subkey, shape, np.float32)
        return i + 1, k, key, log_product + log(u)

    zero = lax.full_like(lam, 0, dtype, shape)
    carry = (0, zero, key, lax.full_like(lam, 0, np.float32, shape))
    k = lax.while_loop(more, draw, carry)[1]
    return (k - 1).astype(dtype)


@program("shape", "dtype", "max_iters")
def _poisson_rejection(key, lam, shape, dtype, max_iters):
    """Transformed rejection. (Hörmann, "The transformed rejection method for generating Poisson
    random variables", 1993, algorithm PTRS.)"""
    log_lam = lax.log(lam)
    b = 0.931 + 2.53 * lax.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def more(carry):
        i, _, accepted, _ = carry
        return (~accepted).any() & (i < max_iters)

    def draw(carry):
        i, out, accepted, key = carry
        key, key_u, key_v = three_keys(key)
        u = uniform(key_u, shape, lam.dtype) - 0.5
        v = uniform(key_v, shape, lam.dtype)
        us = 0.5 - abs(u)
        k = lax.floor((2 * a / us + b) * u + lam + 0.43)
        s = lax.log(v * inv_alpha / (a / (us * us) + b))
        t = -lam + k * log_lam - lax.lgamma(k + 1)
        accept_fast = (us >= 0.07) & (v <= v_r)
        reject = (k < 0) | ((us < 0.013) & (v > us))
        accept = s <= t
        accept = accept_fast | (~reject & accept)
        out, accepted = lax.select(accept, k, out), accepted | accept
        return i + 1, out, accepted, key

    none = lax.full_like(lam, -1, lam.dtype, shape)
    accepted = lax.full_like(lam, False, np.dtype("bool"), shape)
    k = lax.while_loop(more, draw, (0, none, accepted, key))[1]
    return k.astype(dtype)


# ---- geometric ----------------------------------------------------------------------------------


@draws
def geometric(key, p, shape=None, dtype=None, *, out_sharding=None):
    """Geometrically distributed integers: how many trials there are up to the first success.

    Args:
      key: a key.
      p: the probability of success; a number or an array that broadcasts to the shape.
      shape: of the result; by default that of p.
      dtype: an integer dtype; by default int32.

    Raises ValueError for another dtype.
    """
    key, _ = typed("geometric", key)
    dtype = dtypes.check_user_dtype_supported(int if dtype is None else dtype, "geometric")
    if not dtypes.issubdtype(dtype, np.integer):
        raise ValueError(f"dtype argument to `geometric` must be an int dtype, got {dtype}")
    return _geometric(key, p, shape=sample_shape("geometric", shape, p), dtype=dtype)


@program("shape", "dtype")
def _geometric(key, p, shape, dtype):
    """geometric with checked arguments."""
    check_arraylike("geometric", p)
    (p,) = promote_dtypes_inexact(p)
    u = uniform(key, shape, p.dtype)
    log_u = lax.log(where(u == 0, 1, u))
    log_failure = broadcast_to(lax.log1p(-p), shape)
    return (lax.floor(lax.div(log_u, log_failure)) + 1).astype(dtype)


# ---- binomial -----------------------------------------------------------------------------------


@draws
def binomial(key, n, p, shape=None, dtype=None):
    """Binomially distributed numbers: how many of n trials succeed.

    Args:
      key: a key.
      n: the number of trials; a number or an array that broadcasts to the shape.
      p: the probability of success; it broadcasts, too.
      shape: of the result; by default what n and p broadcast to.
      dtype: a float dtype; by default float32.

    Returns whole numbers of a float dtype; nan for negative or nan n, or p < 0 or nan.

    >>> import tinyjax as jax
    >>> x = jax.random.binomial(jax.random.key(0), 40, 0.25, (10000,))
    >>> round(float(x.mean()))
    10
    """
    key, _ = typed("binomial", key)
    check_arraylike("binomial", n, p)
    dtype = check_float_dtype("binomial", dtype)
    shape = sample_shape("binomial", shape, n, p)
    return _binomial(key, n, p, shape=shape, dtype=dtype)


def _binomial(key, count, prob, shape, dtype):
    """binomial with checked arguments: of few expected successes and many in two ways."""
    (prob,) = promote_dtypes_inexact(prob)
    count = broadcast_to(lax.convert_element_type(count, prob.dtype), shape)
    prob = broadcast_to(prob, shape)
    rare = prob < 0.5
    q = lax.select(rare, prob, 1.0 - prob)  # of success or failure: the rarer one
    bad_count = lax.bitwise_or(lax.ne(count, count), count < 0.0)
    infinite = isinf(count)
    bad_q, negative = lax.ne(q, q), q < 0.0
    q = lax.select(bad_q | negative, lax.full_like(q, 0.01), q)
    few = bad_count | (count * q <= 10.0)

    count = floor(count)
    few_count = lax.select(few, count, lax.full_like(count, 0.0))
    many_count = lax.select(few, lax.full_like(count, 1e4), count)
    many_q = lax.select(few, lax.full_like(q, 0.5), q)
    limit = dtype.type(dtypes.finfo(dtype).max)
    out = lax.select(
        few,
        _binomial_inversion(key, few_count, q, shape, dtype, limit),
        _btrs(once_more(key), many_count, many_q, shape, dtype, limit),
    )
    invalid = negative | bad_q | bad_count
    out = lax.select(invalid, full_like(out, np.nan, dtype), out)
    out = lax.select(infinite & (~invalid), full_like(out, np.inf, dtype), out)
    as_drawn = rare | bad_count | bad_q | infinite
    return lax.select(as_drawn, out, count.astype(dtype) - out)


def _binomial_inversion(key, count, prob, shape, dtype, max_iters):
    """Add geometrically distributed waiting times until they exceed the count."""
    log_failure = log1p(-prob)

    def more(carry):
        i, waited = carry[0], carry[2]
        return (waited <= count).any() & (i < max_iters)

    def draw(carry):
        i, times, waited, key = carry
        subkey, key = two_keys(key)
        times = lax.select(waited <= count, times + 1, times)
        u = uniform(subkey, shape, prob.dtype)
        waited = waited + ceil(log(u) / log_failure)
        return i + 1, times, waited, key

    zeros = [lax.full_like(prob, 0, prob.dtype, shape) for _ in range(2)]
    k = lax.while_loop(more, draw, (0, *zeros, key))[1]
    return (k - 1).astype(dtype)


def _btrs(key, count, prob, shape, dtype, max_iters):
    """Transformed rejection with squeeze. (Hörmann, "The generation of binomial random variates",
    1993, algorithm BTRS.)"""
    stddev = sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * stddev
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    r = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * stddev
    m = floor((count + 1) * prob)

    def more(carry):
        i, accepted = carry[0], carry[2]
        return (~accepted).any() & (i < max_iters)

    def draw(carry):
        i, out, accepted, key = carry
        key, key_u, key_v = three_keys(key)
        u = uniform(key_u, shape, prob.dtype)
        v = uniform(key_v, shape, prob.dtype)
        u = u - 0.5
        us = 0.5 - absolute(u)
        accept_fast = (us >= 0.07) & (v <= v_r)
        k = floor((2 * a / us + b) * u + c)
        reject = (k < 0) | (k > count)
        v = log(v * alpha / (a / (us * us) + b))
        bound = (
            (m + 0.5) * log((m + 1) / (r * (count - m + 1)))
            + (count + 1) * log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * log(r * (count - k + 1) / (k + 1))
            + stirling_tail(m)
            + stirling_tail(count - m)
            - stirling_tail(k)
            - stirling_tail(count - k)
        )
        accept = v <= bound
        accept = accept_fast | (~reject & accept)
        out, accepted = lax.select(accept, k, out), accepted | accept
        return i + 1, out, accepted, key

    none = lax.full_like(prob, -1, prob.dtype, shape)
    carry = (0, none, full(shape, False, bool), key)
    return lax.while_loop(more, draw, carry)[1].astype(dtype)


#: log(k!) minus Stirling's approximation, for k = 0 ... 9
STIRLING_TAILS = (
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
    0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def stirling_tail(k):
    """log(k!) minus Stirling's approximation."""
    table = asarray(STIRLING_TAILS, dtype=k.dtype)
    small = k <= 9
    k = lax.clamp(lift(np.asarray(0, k.dtype)), k, lift(np.asarray(9, k.dtype)))
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    return lax.select(small, table[asarray(floor(k), dtype="int32")], series)


@draws
def multinomial(key, n, p, *, shape=None, dtype=None, unroll=1):
    """Multinomially distributed counts: how often each category comes up in n trials.

    Args:
      key: a key.
      n: the number of trials; it broadcasts to shape[:-1].
      p: the probabilities of the categories [..., categories].
      shape: of the result; by default that of p.
      dtype: of the result; by default that of n, as a float.
      unroll: as of lax.scan, which goes over the categories.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> float(jax.random.multinomial(jax.random.key(0), 10, jnp.array([0.2, 0.3, 0.5])).sum())
    10.0
    """
    key, _ = typed("multinomial", key)
    check_arraylike("multinomial", n, p)
    n, p = promote_dtypes_inexact(n, p)
    shape = p.shape if shape is None else shape
    n, p = broadcast_to(n, shape[:-1]), broadcast_to(p, shape)

    def draw(remainder, ratio_and_key):
        ratio, key = ratio_and_key
        count = binomial(key, remainder, ratio.clip(0, 1), dtype=remainder.dtype)
        return remainder - count, count

    p = moveaxis(p, -1, 0)
    left = lax.cumsum(p, 0, reverse=True)
    ratios = p / where(left == 0, 1, left)
    _, counts = lax.scan(draw, n, (ratios, split(key, ratios.shape[0])), unroll=unroll)
    return convert_counts(moveaxis(counts, 0, -1), dtype)


def convert_counts(counts, dtype):
    """Counts at the dtype that the user asked for."""
    return counts if dtype is None else counts.astype(dtype)
