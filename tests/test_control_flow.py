"""What cond, switch, scan, while_loop, fori_loop and map refuse, and what they accept."""

import numpy as np
import pytest
from programs import MAT, XS
from worlds import OURS, same, same_error

INTS = np.arange(3, dtype=np.int32)

# ---- scan ---------------------------------------------------------------------------------------


def test_scan_carry_changes_its_type():
    """The message names the leaf and says how it differs."""

    def run(step, init):
        return lambda jax: jax.lax.scan(lambda c, x: step(jax, c, x), init, XS)

    start = np.float32(1.0)
    text = same_error(
        run(lambda jax, c, x: (c.astype("int32"), x), start), "carry", "float32[]", "int32[]"
    )
    assert "dtypes" in text
    text = same_error(
        run(lambda jax, c, x: (c * jax.numpy.ones(2), x), start), "carry", "float32[]", "float32[2]"
    )
    assert "shapes" in text
    tree = {"a": start, "b": (start, np.int32(1))}
    text = same_error(
        run(lambda jax, c, x: ({"a": c["a"], "b": (c["b"][0], c["b"][1] * 1.5)}, x), tree), "carry"
    )
    assert "['b'][1]" in text and "['a']" not in text


def test_scan_carry_changes_its_structure():
    """Tuples for lists, a leaf more, None."""
    for out in ((1.0, 2.0), [1.0], {"b": 1.0}, None, {"a": 1.0, "c": 2.0}):
        same_error(
            lambda jax, out=out: jax.lax.scan(lambda c, x: (out, x), {"a": 1.0}, XS), "carry"
        )


def test_scan_body_returns_a_pair():
    """(carry, y), nothing else."""
    for out in ((1.0, 2.0, 3.0), (1.0,)):
        same_error(lambda jax, out=out: jax.lax.scan(lambda c, x: out, 1.0, XS), "pair")
    same_error(lambda jax: jax.lax.scan(lambda c, x: c, 1.0, XS), "pair")
    same_error(lambda jax: jax.lax.scan(3.0, 1.0, XS), "callable")


def test_scan_lengths():
    """All xs have one length, which `length` repeats."""
    loop = lambda jax, xs, **kw: jax.lax.scan(lambda c, x: (c, x), 1.0, xs, **kw)
    same_error(lambda jax: loop(jax, (XS, MAT[:2])), "different leading axis sizes", "3, 2")
    same_error(lambda jax: loop(jax, XS, length=4), "length", "4", "3")
    same_error(lambda jax: loop(jax, None), "length")
    same_error(lambda jax: loop(jax, 2.0), "leading axis")
    same_error(lambda jax: loop(jax, {"a": XS, "b": 2.0}), "leading axis")
    same_error(lambda jax: jax.jit(lambda n: loop(jax, None, length=n))(3), "length", "concrete")
    same(lambda jax: loop(jax, XS, length=3))
    same(lambda jax: loop(jax, None, length=2))
    same(lambda jax: loop(jax, np.zeros((0, 2), np.float32)))


def test_scan_weak_carries_are_promoted():
    """A Python number takes the type that the body gives it."""
    same(lambda jax: jax.lax.scan(lambda c, x: (c + x, c), 0, XS))
    same(lambda jax: jax.lax.scan(lambda c, x: (c * x, c), 1, INTS.astype(np.int8)))
    same(lambda jax: jax.lax.scan(lambda c, x: (c + 1j, c), 0.0, XS))
    (a, b), _ = OURS.lax.scan(lambda c, x: ((c[1], c[0] + x), None), (0, 0), XS)
    assert a.dtype == b.dtype == np.float32  # in two rounds, where JAX makes one and raises
    np.testing.assert_allclose((a, b), (0.7, 1.4), rtol=1e-6)
    same_error(lambda jax: jax.lax.scan(lambda c, x: (c + x, c), np.int32(0), XS), "int32[]")


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, True])
def test_scan_options(reverse, unroll):
    """Direction and unrolling change no result."""
    step = lambda c, x: (c * 0.5 + x, c)
    options = {"reverse": reverse, "unroll": unroll}
    same(lambda jax: jax.lax.scan(step, 1.0, XS, **options))
    same(lambda jax: jax.grad(lambda a: jax.lax.scan(step, a, XS, **options)[0])(1.0))


@pytest.mark.parametrize("batch_size", [1, 2, 3, 5, 7])
def test_map_in_batches(batch_size):
    """Whole batches run in a scan, what is left over by one vmap more; the printed form agrees."""
    rows = {"a": np.arange(5.0, dtype=np.float32), "b": np.ones((5, 2), np.float32)}

    def f(row):
        return row["a"] * row["b"], row["a"] ** 2

    same(lambda jax: jax.lax.map(f, rows, batch_size=batch_size))
    same(lambda jax: jax.jit(lambda x: jax.lax.map(f, x, batch_size=batch_size))(rows))
    same(lambda jax: jax.lax.map(f, {"a": rows["a"][:0], "b": rows["b"][:0]}, batch_size=2))


def test_map():
    """scan without carry; trees and batches."""
    same(lambda jax: jax.lax.map(lambda x: x * x, XS))
    same(lambda jax: jax.lax.map(lambda t: {"s": t[0] + t[1], "n": 1}, (XS, INTS)))
    same(lambda jax: jax.lax.map(lambda row: row.sum(), MAT, batch_size=2))
    same_error(lambda jax: jax.lax.map(lambda t: t, (XS, MAT[:2])), "leading axis sizes")


# ---- while and fori -----------------------------------------------------------------------------


def test_while_carry_changes():
    """As in scan."""
    loop = lambda jax, body, init: jax.lax.while_loop(lambda c: True, lambda c: body(jax, c), init)
    start = np.float32(1.0)
    text = same_error(
        lambda jax: loop(jax, lambda jax, c: c.astype("int32"), start), "float32[]", "int32[]"
    )
    assert "while_loop" in text
    same_error(lambda jax: loop(jax, lambda jax, c: (c, c), start), "carry")
    same_error(lambda jax: loop(jax, lambda jax, c: {"b": c["a"]}, {"a": start}), "carry")
    text = same_error(
        lambda jax: loop(jax, lambda jax, c: (c[0], c[1] * XS), (start, start)), "float32[3]"
    )
    assert "[1]" in text


def test_while_condition():
    """A boolean scalar."""
    loop = lambda jax, cond: jax.lax.while_loop(cond, lambda c: c + 1, 0)
    same_error(lambda jax: loop(jax, lambda c: c), "boolean scalar", "int32[]")
    same_error(lambda jax: loop(jax, lambda c: (c < 3, c)), "boolean scalar")
    same_error(lambda jax: loop(jax, lambda c: XS < 3), "boolean scalar", "bool[3]")
    same_error(lambda jax: loop(jax, 3), "callable")
    same_error(lambda jax: jax.lax.while_loop(lambda c: True, 3, 0), "callable")
    same_error(lambda jax: loop(jax, lambda c: c < 3 and c > 1), "boolean conversion")


def test_reverse_mode_through_while():
    """It would have to store an unknown number of steps: the message says what to write."""

    def grad_of(loop):
        return lambda jax: jax.grad(jax.jit(lambda x: loop(jax, x)))(1.0)

    def while_loop(jax, x):
        return jax.lax.while_loop(lambda c: c < 3.0, lambda c: c * 2.0, x)

    def fori_loop(jax, x):
        n = jax.lax.stop_gradient(x).astype("int32")
        return jax.lax.fori_loop(0, n, lambda i, c: c * 2.0, x)

    for loop in (while_loop, fori_loop):
        text = same_error(grad_of(loop), "reverse-mode", "lax.while_loop", "scan", "static")
        assert "fori_loop" in text
    same(lambda jax: jax.jvp(lambda x: while_loop(jax, x), (1.0,), (1.0,)))
    same(lambda jax: jax.jacfwd(lambda x: while_loop(jax, x))(1.0))


def test_fori_bounds():
    """Integers of one type; Python's adapt."""
    loop = lambda jax, a, b: jax.lax.fori_loop(a, b, lambda i, c: c + i, 0)
    same(lambda jax: loop(jax, 0, 4))
    same(lambda jax: loop(jax, np.int32(1), 4))
    same(lambda jax: loop(jax, 0, jax.numpy.int8(4)))
    same(lambda jax: jax.jit(lambda n: loop(jax, 0, n))(4))
    same(lambda jax: jax.jit(lambda n: loop(jax, n, 4))(np.int8(1)))
    same(lambda jax: jax.vmap(lambda n: loop(jax, n, 4))(INTS))
    same_error(lambda jax: loop(jax, np.int8(0), np.int32(4)), "equal types", "int8", "int32")
    same_error(lambda jax: loop(jax, 0, 4.0), "fori_loop")
    same_error(lambda jax: jax.lax.fori_loop(0, 3, 3, 0), "callable")
    same_error(lambda jax: jax.lax.fori_loop(0, 3, lambda i, c: (c, c), 0), "carry")


# ---- cond and switch ----------------------------------------------------------------------------


def test_cond_predicates():
    """Scalars, boolean or numbers."""
    branch = lambda jax, p: jax.lax.cond(p, lambda x: x + 1, lambda x: x - 1, 5)
    for p in (True, 0, 1, -2, 0.0, 0.5, np.bool_(True), np.int8(3), np.float32(0.0)):
        same(lambda jax, p=p: branch(jax, p))
        same(lambda jax, p=p: jax.jit(lambda q: branch(jax, q))(p))
    text = same_error(lambda jax: branch(jax, XS > 0), "scalar", "(3,)")
    assert "jnp.where" in text
    same_error(lambda jax: branch(jax, "text"), "text")
    same_error(lambda jax: branch(jax, None), "None")
    same_error(lambda jax: branch(jax, [True]), "scalar")
    same_error(lambda jax: branch(jax, 1j), "boolean or number")


def test_branches_differ():
    """In structure, shape or dtype: the message names the leaf."""
    cond = lambda jax, f, g: jax.lax.cond(True, lambda x: f(jax, x), lambda x: g(jax, x), XS)
    same_error(
        lambda jax: cond(jax, lambda jax, x: x, lambda jax, x: (x,)), "true_fun", "false_fun"
    )
    text = same_error(
        lambda jax: cond(jax, lambda jax, x: {"a": x, "b": x}, lambda jax, x: {"a": x, "b": x[0]}),
        "float32[3]",
        "float32[]",
    )
    assert "['b']" in text and "['a']" not in text
    same_error(
        lambda jax: cond(jax, lambda jax, x: x, lambda jax, x: x > 0), "float32[3]", "bool[3]"
    )
    same_error(lambda jax: cond(jax, lambda jax, x: x, lambda jax, x: None), "true_fun")
    same_error(lambda jax: jax.lax.cond(True, 1.0, lambda x: x, 1.0), "callable")
    same_error(lambda jax: jax.lax.cond(True, lambda x: x, lambda x: x), "argument")
    same(lambda jax: cond(jax, lambda jax, x: 1.0, lambda jax, x: x[0]))


def test_switch():
    """Clamped; integers only; one branch; no branch."""
    branches = [lambda x: x, lambda x: x * 2, lambda x: x * 3]
    same(lambda jax: [jax.lax.switch(i, branches, 2.0) for i in (-9, 0, 1, 2, 3, 99)])
    same(lambda jax: jax.jit(lambda i: jax.lax.switch(i, branches, 2.0))(np.uint8(200)))
    same(lambda jax: jax.lax.switch(7, branches[:1], 2.0))
    same(lambda jax: jax.lax.switch(1, tuple(branches), 2.0))
    same(lambda jax: jax.vmap(lambda i: jax.lax.switch(i, branches, 2.0))(np.arange(-1, 5)))
    same_error(lambda jax: jax.lax.switch(1, [], 2.0), "empty branch")
    same_error(lambda jax: jax.lax.switch(1.0, branches, 2.0), "integer", "float32")
    same_error(lambda jax: jax.lax.switch(INTS, branches, 2.0), "scalar")
    same_error(lambda jax: jax.lax.switch(1, [lambda x: x, 3.0], 2.0), "callable")
    text = same_error(
        lambda jax: jax.lax.switch(0, [*branches[:2], lambda x: (x, x)], 2.0), "branch"
    )
    assert "2" in text


def test_operands():
    """Several, none, trees, the keyword `operand`."""
    same(lambda jax: jax.lax.cond(True, lambda x, y: x + y, lambda x, y: x - y, 1.0, 2.0))
    same(lambda jax: jax.lax.cond(False, lambda: 1.0, lambda: 2.0))
    same(lambda jax: jax.lax.cond(True, lambda d: d["a"], lambda d: d["b"], {"a": XS, "b": XS}))
    same(lambda jax: jax.lax.cond(True, lambda x: x, lambda x: x * 2, operand=3.0))
    same(lambda jax: jax.lax.cond(True, lambda x: 1.0, lambda x: 2.0, operand=None))
    same(lambda jax: jax.lax.switch(1, [lambda x: x, lambda x: -x], operand=3.0))
    same_error(lambda jax: jax.lax.cond(True, lambda x: x, lambda x: x, "text"), "text")


# ---- associative_scan ---------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8])
def test_associative_scan(n, reverse):
    """Sums, products of matrices, trees."""
    xs = np.linspace(0.5, 1.5, n).astype(np.float32)
    mats = np.stack([MAT] * n)

    def run(jax):
        scan = jax.lax.associative_scan
        jnp = jax.numpy
        pair = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
        return (
            scan(jnp.add, xs, reverse=reverse),
            scan(jnp.matmul, mats, reverse=reverse),
            scan(pair, (xs, xs), reverse=reverse),
            scan(jnp.maximum, np.stack([xs, -xs]), axis=1),
        )

    same(run)


# ---- nested containers --------------------------------------------------------------------------


def test_nested_loops_and_branches():
    """A loop of branches of loops, with trees in every carry."""

    def run(jax):
        lax, jnp = jax.lax, jax.numpy

        def inner(i, state):
            grow = lambda s: {"x": s["x"] * 1.5, "n": s["n"] + 1}
            keep = lambda s: {"x": s["x"] + 0.1, "n": s["n"]}
            return lax.cond(state["x"].sum() < 4.0, grow, keep, state)

        def step(carry, row):
            state, (total,) = carry
            state = lax.fori_loop(0, 3, inner, state)
            total = lax.while_loop(lambda t: t < state["n"], lambda t: t + 2, total)
            return (state, (total,)), {"row": row @ state["x"], "total": total}

        def f(x):
            return lax.scan(step, ({"x": x, "n": jnp.int32(0)}, (jnp.int32(0),)), MAT)

        loss = lambda x: lax.scan(step, ({"x": x, "n": jnp.int32(0)}, (jnp.int32(0),)), MAT)[1][
            "row"
        ]
        batch = jnp.stack([jnp.asarray(XS), jnp.asarray(XS) * 3.0])
        return f(XS), jax.jit(f)(XS), jax.vmap(f)(batch), jax.jacfwd(loss)(XS)

    same(run)
