"""Cases of what is seldom used: bits of counters, approximate extremes."""

import numpy as np

from cards import Case

KEY = np.array([1, 2, 2**32 - 1, 2**32 - 1], np.uint32)
X = (np.random.default_rng(4).permutation(60) / 60).reshape(4, 15).astype(np.float32)


def bits(name, algorithm, *args):
    """Bits of a counter."""
    return Case(
        f"rng_bit_generator {name}",
        "rng_bit_generator",
        lambda lax, k: lax.rng_bit_generator(k, *args, algorithm=lax.RandomAlgorithm(algorithm)),
        (KEY,),
        batch=False,
    )


CASES = [
    bits("default", 0, (7,)),
    bits("threefry", 1, (3, 3)),
    bits("threefry bytes", 1, (5,), np.uint8),
    bits("philox halves", 2, (3, 2), np.uint16),
    bits("philox of nothing", 2, (0,)),
    Case("rng_uniform of one number", "rng_uniform",
         lambda lax, a: lax.rng_uniform(a, 2.0, (3,)), (np.float32(2.0),), batch=False),
    Case("approx_max_k", "approx_top_k", lambda lax, x: lax.approx_max_k(x, 3), (X,)),
    Case("approx_min_k", "approx_top_k",
         lambda lax, x: lax.approx_min_k(x, 2, 0, recall_target=0.5), (X,)),
    Case("approx_max_k slope", "approx_top_k", lambda lax, x: lax.approx_max_k(x, 3)[0],
         (X,), (0,), printed=False),
]  # fmt: skip
