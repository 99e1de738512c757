"""debug_key_reuse: what counts as using a key twice, as the oracle has it, and what it says."""

import warnings

import numpy as np
import pytest
from worlds import ORACLE, OURS, attempt, compare_errors

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.example_libraries import stax

# ---- programs, as functions of a world: reuse, and fine -----------------------------------------


def program(f, *arguments):
    """A case: f(jax, *values), where arguments(jax) make the values; once eager, once jitted."""

    def eager(jax):
        f(jax, *[a(jax) for a in arguments])

    def jitted(jax):
        jax.jit(lambda *args: f(jax, *args))(*[a(jax) for a in arguments])

    return eager, jitted


def key(jax):
    return jax.random.key(0)


def keys(jax):
    return jax.random.split(jax.random.key(0), 4)


def draw(jax, k):
    return jax.random.normal(k)


def draw_all(jax, ks):
    return jax.vmap(jax.random.normal)(ks)


def draw_twice(jax, k):
    return draw(jax, k), jax.random.uniform(k)


def draw_split(jax, k):
    draw(jax, k)
    return jax.random.split(k)


def split_draw(jax, k):
    return jax.random.split(k), draw(jax, k)


def split_twice(jax, k):
    return jax.random.split(k), jax.random.split(k)


def same_row(jax, ks):
    return draw(jax, ks[0]), draw(jax, ks[0])


def row_and_all(jax, ks):
    return draw(jax, ks[0]), draw_all(jax, ks)


def all_and_row(jax, ks):
    return draw_all(jax, ks), draw(jax, ks[0])


def overlapping_slices(jax, ks):
    return draw_all(jax, ks[:2]), draw_all(jax, ks[1:3])


def vmap_twice(jax, ks):
    return draw_all(jax, ks), draw_all(jax, ks)


def vmap_captured(jax, k):
    return jax.vmap(lambda x: x + draw(jax, k))(np.arange(3.0)), draw(jax, k)


def scan_rows_and_all(jax, ks):
    return jax.lax.scan(lambda c, k: (c + draw(jax, k), None), 0.0, ks), draw_all(jax, ks)


def scan_captured(jax, k):
    return jax.lax.scan(lambda c, x: (c + draw(jax, k), None), 0.0, np.arange(3.0))


def scan_old_carry(jax, k):
    return jax.lax.scan(lambda k, x: (k, draw(jax, k)), k, np.arange(3.0))


def fori_captured(jax, k):
    return jax.lax.fori_loop(0, 3, lambda i, c: c + draw(jax, k), 0.0)


def fori_rows(jax, ks):
    return jax.lax.fori_loop(0, 3, lambda i, c: c + draw(jax, ks[i]), 0.0)


def while_captured(jax, k):
    return jax.lax.while_loop(lambda c: c < 9, lambda c: c + 5 + draw(jax, k), 0.0)


def while_predicate(jax, k):
    return jax.lax.while_loop(lambda c: jax.random.uniform(k) < c, lambda c: c - 1, 0.5)


def while_old_carry(jax, k):
    step = lambda c: (c[0] + 1, c[1], draw(jax, c[1]))
    return jax.lax.while_loop(lambda c: c[0] < 3, step, (0, k, 0.0))[0]


def while_both(jax, k):
    def step(c):
        new, sub = jax.random.split(c[1])
        return c[0] + 1, new, draw(jax, sub)

    more = lambda c: (c[0] < 3) & (jax.random.uniform(c[1]) < 2)
    return jax.lax.while_loop(more, step, (0, k, 0.0))[0]


def cond_and_draw(jax, k):
    maybe = jax.lax.cond(True, lambda k: draw(jax, k), lambda k: 0.0, k)
    return maybe, draw(jax, k)


def cond_captured_and_draw(jax, k):
    return jax.lax.cond(True, lambda: draw(jax, k), lambda: 0.0), draw(jax, k)


def switch_and_draw(jax, k):
    branches = [jax.random.normal, jax.random.uniform, lambda k: 0.0]
    return jax.lax.switch(1, branches, k), draw(jax, k)


def jit_and_draw(jax, k):
    return jax.jit(lambda k: draw(jax, k))(k), draw(jax, k)


def jit_returns_old(jax, k):
    _, same = jax.jit(lambda k: (draw(jax, k), k))(k)
    return draw(jax, same)


def jit_captured_twice(jax, k):
    f = jax.jit(lambda x: x + draw(jax, k))
    return f(1.0), f(2.0)


def python_loop(jax, k):
    return [draw(jax, k) for _ in range(2)]


def grad_and_draw(jax, k):
    return jax.grad(lambda x: x * draw(jax, k))(1.0), draw(jax, k)


def grad_of_jit(jax, k):
    return jax.grad(jax.jit(lambda x, k: x * draw(jax, k) * draw(jax, k)))(1.0, k)


def remat_and_draw(jax, k):
    f = jax.checkpoint(lambda x, k: jax.numpy.sin(x * draw(jax, k)))
    return jax.jit(lambda x, k: f(x, k) + draw(jax, k))(1.0, k)


def grad_of_remat(jax, k):
    f = lambda x, k: jax.numpy.sin(x * draw(jax, k)) * draw(jax, k)
    return jax.jit(jax.grad(jax.checkpoint(f)))(1.0, k)


def custom_and_draw(jax, k):
    f = jax.custom_jvp(lambda x, k: x * draw(jax, k))
    f.defjvp(lambda p, t: (f(*p), t[0]))
    return jax.jit(lambda x, k: f(x, k) + draw(jax, k))(1.0, k)


def stack_and_draw(jax, k):
    return jax.numpy.stack([k, jax.random.key(1)]), draw(jax, k)


REUSE = [(f, key) for f in (
    draw_twice, draw_split, split_draw, split_twice, vmap_captured, scan_captured, scan_old_carry,
    fori_captured, while_captured, while_predicate, while_old_carry, while_both, cond_and_draw,
    cond_captured_and_draw, switch_and_draw, jit_and_draw, jit_returns_old, jit_captured_twice,
    python_loop, grad_and_draw, grad_of_jit, remat_and_draw, grad_of_remat, custom_and_draw,
    stack_and_draw,
)]  # fmt: skip
REUSE += [(f, keys) for f in (
    same_row, row_and_all, all_and_row, overlapping_slices, vmap_twice, scan_rows_and_all,
    fori_rows,
)]  # fmt: skip


def fine(jax):
    """Functions that use each key once, of one key or, after None, of an array of keys."""
    random, lax = jax.random, jax.lax

    def carry(k, x):
        k, sub = random.split(k)
        return k, draw(jax, sub)

    def steps(c):
        k, sub = random.split(c[1])
        return c[0] + 1, k, draw(jax, sub)

    yield lambda k: [draw(jax, row) for row in random.split(k)]
    yield lambda k: [draw(jax, random.fold_in(k, i)) for i in range(3)]
    yield lambda k: (draw(jax, k), random.fold_in(k, 0))
    yield lambda k: (draw(jax, k), draw(jax, random.clone(k)), draw(jax, random.clone(k)))
    yield lambda k: (random.key_data(k), draw(jax, k), random.key_data(k))
    yield lambda k: draw(jax, random.wrap_key_data(random.key_data(k)))
    yield lambda k: (k == k, draw(jax, k))
    yield lambda k: lax.cond(True, random.normal, random.uniform, k)
    yield lambda k: lax.cond(True, lambda: draw(jax, k), lambda: random.uniform(k))
    yield lambda k: lax.cond(True, lambda k: random.split(k)[0], lambda k: random.fold_in(k, 1), k)
    yield lambda k: lax.scan(carry, k, np.arange(3))[1]
    yield lambda k: lax.while_loop(lambda c: c[0] < 3, steps, (0, k, 0.0))[0]
    yield lambda k: lax.fori_loop(0, 3, lambda i, c: c + draw(jax, random.fold_in(k, i)), 0.0)
    yield lambda k: jax.grad(lambda x: x * draw(jax, k))(2.0)
    yield lambda k: jax.grad(jax.jit(lambda x, k: x * draw(jax, k)))(2.0, k)
    yield lambda k: jax.jit(random.split)(k)
    yield lambda k: draw(jax, jax.jit(lambda k: k)(k))
    yield None
    yield lambda ks: (draw(jax, ks[0]), draw(jax, ks[1]), draw_all(jax, ks[2:]))
    yield lambda ks: [draw(jax, k) for k in ks]
    yield lambda ks: draw_all(jax, ks)
    yield lambda ks: jax.vmap(jax.vmap(random.normal))(ks.reshape(2, 2))
    yield lambda ks: jax.vmap(jax.vmap(random.normal))(ks[:, None])
    yield lambda ks: lax.map(random.normal, ks)
    yield lambda ks: lax.scan(lambda c, k: (c + draw(jax, k), None), 0.0, ks)[0]
    yield lambda ks: draw_all(jax, ks.at[0].set(random.key(7)))
    yield lambda ks: draw_all(jax, jax.numpy.concatenate([ks[:1], ks[2:]]))


SAMPLERS = {
    "ball": (3,), "bernoulli": (), "beta": (2.0, 1.0), "binomial": (5, 0.5), "bits": (),
    "categorical": (np.ones(3, np.float32),), "cauchy": (), "chisquare": (2.0,),
    "choice": (5, (3,), False), "dirichlet": (np.ones(3, np.float32),),
    "double_sided_maxwell": (0.0, 1.0), "exponential": (), "f": (2.0, 3.0), "gamma": (2.0,),
    "generalized_normal": (2.0,), "geometric": (0.5,), "gumbel": (), "laplace": (),
    "loggamma": (2.0,), "logistic": (), "lognormal": (), "maxwell": (),
    "multinomial": (5, np.array([0.5, 0.5], np.float32)),
    "multivariate_normal": (np.zeros(2, np.float32), np.eye(2, dtype=np.float32)), "normal": (),
    "orthogonal": (3,), "pareto": (2.0,), "permutation": (5,), "poisson": (2.0,), "rademacher": (),
    "randint": ((3,), 0, 10), "rayleigh": (1.0,), "t": (2.0,), "triangular": (0.0, 0.5, 1.0),
    "truncated_normal": (-1.0, 1.0), "uniform": (), "wald": (1.0,), "weibull_min": (1.0, 1.0),
}  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    """Keys that a case leaves unused do not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tinyjax.errors.KeyReuseWarning)
        yield


def under_flag(run, jax):
    """Run with the flag on -> the error, or None."""
    with jax.debug_key_reuse(True):
        return attempt(run, jax)[1]


@pytest.mark.parametrize("how", ["eager", "jitted"])
@pytest.mark.parametrize("f, argument", REUSE, ids=lambda x: getattr(x, "__name__", ""))
def test_reuse_is_an_error_in_both_worlds(f, argument, how):
    run = dict(zip(("eager", "jitted"), program(f, argument)))[how]
    error = under_flag(run, OURS)
    compare_errors(error, under_flag(run, ORACLE), ["used", "jax.random.split("])
    assert len(str(error).splitlines()) <= 8
    assert "test_key_reuse.py" in str(error)
    run(OURS)  # without the flag


def test_each_key_once_is_fine():
    argument = key
    for case, oracles in zip(fine(OURS), fine(ORACLE), strict=True):
        if case is None:
            argument = keys
            continue
        for jax, f in ((OURS, case), (ORACLE, oracles)):
            for run in (f, jax.jit(f)):
                assert under_flag(lambda jax, r=run, a=argument: r(a(jax)), jax) is None


def test_every_sampler_counts_as_one_use():
    random = OURS.random
    given = {n for n in random.__all__ if n not in ("random_gamma_p", "split", "clone", "fold_in")}
    assert set(SAMPLERS) == {n for n in given if "key" not in n.lower()}
    with OURS.debug_key_reuse(True):
        for name, args in SAMPLERS.items():
            f = lambda key, name=name, args=args: getattr(random, name)(key, *args)
            f(random.key(0))
            OURS.jit(f)(random.key(1))
            f(random.PRNGKey(0))
            OURS.jit(f)(random.PRNGKey(1))
            used = random.key(2)
            f(used)
            with pytest.raises(OURS.errors.KeyReuseError):
                f(used)


# ---- what JAX takes for reuse and is none -------------------------------------------------------


def stacked(jax):
    draw_all(jax, jax.numpy.stack([jax.random.key(0), jax.random.key(1)]))


def chosen(jax):
    draw(jax, jax.numpy.where(True, jax.random.key(0), jax.random.key(1)))


def reversed_keys(jax):
    jax.jit(lambda ks: draw_all(jax, ks[::-1]))(keys(jax))


def not_used_by_custom(jax):
    f = jax.custom_jvp(lambda x, k: x)
    f.defjvp(lambda p, t: (f(*p), t[0]))
    jax.jit(lambda x, k: f(x, k) + draw(jax, k))(1.0, key(jax))


def remat(jax):
    jax.grad(jax.checkpoint(lambda x, k: jax.numpy.sin(x * draw(jax, k))))(1.0, key(jax))


@pytest.mark.parametrize("run", [stacked, chosen, reversed_keys, not_used_by_custom, remat])
def test_false_alarms_of_jax(run):
    assert type(under_flag(run, ORACLE)).__name__ == "KeyReuseError"
    assert under_flag(run, OURS) is None


# ---- transformations ----------------------------------------------------------------------------


def noisy_steps(x, k):
    keys = OURS.random.split(k, 3)
    return OURS.lax.scan(lambda c, k: (jnp.sin(c * draw(OURS, k)), None), x, keys)[0]


def noisy_carry(x, k):
    def body(carry, _):
        c, k = carry
        k, sub = OURS.random.split(k)
        return (jnp.sin(c * draw(OURS, sub)), k), None

    return OURS.lax.scan(body, (x, k), None, length=3)[0][0]


def noisy_branch(x, k):
    sine = lambda x, k: jnp.sin(x) * OURS.random.poisson(k, 2.0)
    return OURS.lax.cond(x > 0, lambda x, k: x * draw(OURS, k), sine, x, k)


def noisy_remat(x, k):
    return OURS.checkpoint(lambda x, k: jnp.sin(x * draw(OURS, k)))(x, k)


def noisy_custom(x, k):
    f = OURS.custom_vjp(lambda x, k: x * draw(OURS, k))
    f.defvjp(lambda x, k: (x * draw(OURS, k), k), lambda k, g: (g, None))
    return f(x, k)


def noisy_call(x, k):
    return OURS.jit(lambda x, k: OURS.random.gamma(k, x))(x, k)


def lanes(f):
    """f on lanes with a key each, and with one for all."""

    def on_lanes(x, k):
        xs, (k, sub) = x * jnp.array([1.0, -1.0]), OURS.random.split(k)
        return OURS.vmap(f)(xs, OURS.random.split(k)), OURS.vmap(f, (0, None))(xs, sub)

    return on_lanes


TRANSFORMATIONS = {
    "grad": OURS.grad,
    "lanes": lanes,
    "lanes of grad": lambda f: lanes(OURS.grad(f)),
    "grad of jit": lambda f: OURS.grad(OURS.jit(f)),
    "remat": lambda f: OURS.grad(OURS.checkpoint(f)),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.parametrize("f", [
    noisy_steps, noisy_carry, noisy_branch, noisy_remat, noisy_custom, noisy_call,
])  # fmt: skip
def test_transformed_programs_use_each_key_once(f, name):
    transformed = TRANSFORMATIONS[name](f)
    for make in (OURS.random.key, OURS.random.PRNGKey):
        for run in (transformed, OURS.jit(transformed)):
            assert under_flag(lambda jax, run=run, make=make: run(0.7, make(0)), OURS) is None


def test_layers_and_initializers():
    init, apply = stax.serial(stax.Dense(4), stax.Relu, stax.Dropout(0.5), stax.Dense(2))

    def run(jax):
        first, second, third = jax.random.split(jax.random.PRNGKey(0), 3)
        _, params = init(first, (-1, 3))
        apply(params, jnp.ones((2, 3)), rng=second)
        jax.nn.initializers.orthogonal()(third, (3, 4))
        for make in (jax.nn.initializers.he_normal(), jax.nn.initializers.truncated_normal()):
            make(jax.random.key(0), (3, 4))

    assert under_flag(run, OURS) is None


# ---- old-style keys -----------------------------------------------------------------------------


def raw(jax):
    return jax.random.PRNGKey(0)


def raw_keys(jax):
    return jax.random.split(jax.random.PRNGKey(0), 4)


def scan_raw_rows(jax, ks):
    return jax.lax.scan(lambda c, k: (c + draw(jax, k), None), 0.0, ks)[0]


RAW_REUSE = [(f, raw) for f in (
    draw_twice, draw_split, split_draw, split_twice, scan_captured, fori_captured, while_captured,
    scan_old_carry, while_old_carry, cond_and_draw, jit_and_draw, python_loop, grad_and_draw,
    jit_captured_twice,
)]  # fmt: skip
RAW_REUSE += [(f, raw_keys) for f in (same_row, row_and_all, all_and_row, vmap_twice)]


@pytest.mark.parametrize("how", [0, 1], ids=["eager", "jitted"])
@pytest.mark.parametrize("f, argument", RAW_REUSE, ids=lambda x: getattr(x, "__name__", ""))
def test_old_style_keys_are_looked_at_too(f, argument, how):
    """JAX says nothing here: its check knows typed keys only."""
    run = program(f, argument)[how]
    assert type(under_flag(run, OURS)).__name__ == "KeyReuseError"
    assert under_flag(run, ORACLE) is None


def raw_fine(random):
    yield lambda k: [draw(OURS, row) for row in random.split(k)]
    yield lambda k: [draw(OURS, random.split(k, 3)[i]) for i in range(1)]
    yield lambda k: [draw(OURS, random.fold_in(k, i)) for i in range(3)]
    yield lambda k: (draw(OURS, k), draw(OURS, random.clone(k)))
    yield lambda k: (k + 1, k[0], draw(OURS, k), k.sum())
    yield lambda k: (draw(OURS, random.wrap_key_data(k)), draw(OURS, random.wrap_key_data(k)))
    yield lambda k: rows(random.split(k, 4))
    yield lambda k: draw_all(OURS, random.split(k, 4))
    yield lambda k: scan_raw_rows(OURS, random.split(k, 4))


def rows(ks):
    return draw(OURS, ks[0]), ks[0], draw(OURS, ks[1]), draw_all(OURS, ks[2:])


def test_old_style_keys_used_once():
    for f in raw_fine(OURS.random):
        for run in (f, OURS.jit(f)):
            assert under_flag(lambda jax, run=run: run(raw(jax)), OURS) is None


@pytest.mark.parametrize("make", [OURS.random.key, OURS.random.PRNGKey])
def test_pmap_counts_as_a_call(make):
    draw_each = OURS.pmap(lambda k: draw(OURS, k))
    used = OURS.random.split(make(0), 2)
    draw_each(used)  # its program is known now
    with OURS.debug_key_reuse(True):
        draw_each(used)
        with pytest.raises(OURS.errors.KeyReuseError, match="^Previously-consumed key passed to j"):
            draw_each(used)


def test_equal_keys_are_not_the_same_key():
    def run(jax):
        for make in (jax.random.key, jax.random.PRNGKey):
            draw(jax, make(0))
            draw(jax, make(0))

    assert under_flag(run, OURS) is under_flag(run, ORACLE) is None
