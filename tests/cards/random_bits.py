"""Cases: keys and random bits."""

import numpy as np

from cards import Case

KEY = np.array([7, 42], np.uint32)
KEYS = np.array([[7, 42], [1, 2], [3, 4]], np.uint32)
NUMBER = np.array(5, np.uint32)
SHAPE = np.array([0.4, 1.0, 3.5], np.float32)
SEED = np.array(42, np.int32)


def case(prim, name, fun, *args, **options):
    """A case of this file."""
    return Case(f"{prim} {name}", prim, fun, args, ns="random", **options)


CASES = [
    case("random_seed", "typed", lambda random, s: random.key(s), SEED),
    case("random_seed", "old style", lambda random, s: random.PRNGKey(s), SEED),
    case("random_seed", "int8", lambda random, s: random.key(s), SEED.astype(np.int8)),
    case("random_seed", "uint32", lambda random, s: random.key(s), SEED.astype(np.uint32)),
    *[
        case("random_split", str(n), lambda random, k, n=n: random.split(k, n), KEY)
        for n in (2, 5, (2, 3), ())
    ],
    case("random_fold_in", "array", lambda random, k, n: random.fold_in(k, n), KEY, NUMBER),
    case("random_fold_in", "number", lambda random, k: random.fold_in(k, 7), KEY),
    *[
        case("random_bits", f"{d} {s}", lambda random, k, s=s, d=d: random.bits(k, s, d), KEY)
        for d in ("uint8", "uint16", "uint32")
        for s in ((), (3,), (2, 5), (0, 2))
    ],
    case("random_wrap", "one", lambda random, w: random.wrap_key_data(w), KEY),
    case("random_wrap", "many", lambda random, w: random.wrap_key_data(w), KEYS),
    case("random_unwrap", "many", lambda random, w: random.key_data(w), KEYS),
    case("random_gamma", "one key", lambda random, k, a: random.gamma(k, a, (2, 3)), KEY, SHAPE,
         tol=1e-4),
    case("random_gamma", "small", lambda random, k: random.gamma(k, 0.3), KEY),
    case("random_gamma", "logarithm", lambda random, k, a: random.loggamma(k, a), KEY, SHAPE,
         tol=1e-4),
    case("random_gamma", "empty", lambda random, k: random.gamma(k, 0.3, (0,)), KEY),
    case("random_clone", "one", lambda random, w: random.clone(random.wrap_key_data(w)), KEY),
]  # fmt: skip
