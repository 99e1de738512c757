"""custom_linear_solve, custom_root and the iterative solvers against the oracle."""

import inspect

import jax
import jax.scipy.sparse.linalg
import numpy as np
import pytest

import tinyjax
import tinyjax.scipy.sparse.linalg

RNG = np.random.default_rng(7)


def normal(*shape):
    """Random numbers."""
    return RNG.normal(size=shape).astype(np.float32)


A, B = normal(3, 3) + 3 * np.eye(3, dtype=np.float32), normal(3)
P = (A @ A.T + np.eye(3)).astype(np.float32)
C = (A + 1j * normal(3, 3)).astype(np.complex64)
WORLDS = (jax, tinyjax)


def symmetric(w, a, b):
    """solve serves for both directions. It is not exact, so derivatives show who calls what."""
    return w.lax.custom_linear_solve(lambda x: a @ x, b, lambda mv, x: x / a[0, 0], symmetric=True)


def transposable(w, a, b):
    """Both directions, each with its own function."""
    return w.lax.custom_linear_solve(
        lambda x: a @ x, b, lambda mv, x: mv(x) / a[1, 1], lambda vm, x: vm(x) / a[2, 2]
    )


def forward_only(w, a, b):
    """No transpose_solve."""
    return w.lax.custom_linear_solve(lambda x: a @ x, b, lambda mv, x: x / a[1, 1])


def with_aux(w, a, b):
    """An auxiliary result."""
    return w.lax.custom_linear_solve(
        lambda x: a @ x,
        b,
        lambda mv, x: (x / 2, 3 * a[0, 0]),
        lambda vm, x: (x / 2, 3 * a[0, 0]),
        has_aux=True,
    )


def trees(w, a, b):
    """A pytree."""

    def solve(_, y):
        return {"u": y["u"] / a[0, 0], "v": y["v"] / 2}

    out = w.lax.custom_linear_solve(
        lambda x: {"u": a @ x["u"], "v": 2 * x["v"]}, {"u": b, "v": b[:2]}, solve, solve
    )
    return out["u"], out["v"]


def root(w, a, b):
    """A root that depends on two closed-over values."""
    return w.lax.custom_root(
        lambda x: a @ x - b, b, lambda f, x: x - f(x) / 3, lambda g, y: g(y) / 9
    )


def root_with_aux(w, a, b):
    """An auxiliary result."""
    return w.lax.custom_root(
        lambda x: a @ x - w.numpy.sin(b),
        b,
        lambda f, x: (x - f(x) / 3, b.sum()),
        lambda g, y: y / 3,
        has_aux=True,
    )


FUNCTIONS = [symmetric, transposable, forward_only, with_aux, trees, root, root_with_aux]


def loss(w, f):
    """A scalar of all results."""
    return lambda *args: sum(w.numpy.sum(w.numpy.sin(x)) for x in w.tree.leaves(f(w, *args)))


def batch(axes):
    """Arguments with batch axes."""
    return [np.stack([x, 2 * x]) if axis == 0 else x for x, axis in zip((A, B), axes)]


HOW = {
    "value": lambda w, f: f(w, A, B),
    "jit": lambda w, f: w.jit(lambda *args: f(w, *args))(A, B),
    "jvp": lambda w, f: w.jvp(lambda *args: f(w, *args), (A, B), (A + 1, B * 2)),
    "jvp b": lambda w, f: w.jvp(lambda b: f(w, A, b), (B,), (B * 2,)),
    "linearize": lambda w, f: w.linearize(lambda *args: f(w, *args), A, B)[1](A, B),
    "grad": lambda w, f: w.grad(loss(w, f), (0, 1))(A, B),
    "jit grad": lambda w, f: w.jit(w.grad(loss(w, f), (0, 1)))(A, B),
    "hessian": lambda w, f: w.hessian(loss(w, f), (0, 1))(A, B),
    "reverse twice": lambda w, f: w.jacrev(w.jacrev(loss(w, f), (0, 1)), (0, 1))(A, B),
    **{
        f"vmap {axes}": lambda w, f, axes=axes: w.vmap(lambda *args: f(w, *args), axes)(
            *batch(axes)
        )
        for axes in ((0, 0), (0, None), (None, 0))
    },
    "vmap grad": lambda w, f: w.vmap(w.grad(loss(w, f), (0, 1)), (0, None))(*batch((0, None))),
}


def leaves(w, tree):
    """Leaves as NumPy arrays."""
    return [np.asarray(x) for x in w.tree.leaves(tree)]


SLOW = {"jit", "linearize", "jit grad", "hessian", "reverse twice", "vmap (0, 0)", "vmap grad"}
WAYS = [pytest.param(how, marks=pytest.mark.slow if how in SLOW else ()) for how in HOW]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_function(f, how):
    """Values and errors are the oracle's."""
    try:
        want = leaves(jax, HOW[how](jax, f))
    except TypeError as error:
        with pytest.raises(TypeError, match=str(error)[:40]):
            HOW[how](tinyjax, f)
        return
    for x, y in zip(leaves(tinyjax, HOW[how](tinyjax, f)), want, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)


PRINTED = {
    "plain": lambda w, f: w.make_jaxpr(lambda a, b: f(w, a, b))(A, B),
    "jvp": lambda w, f: w.make_jaxpr(
        lambda *args: w.jvp(lambda a, b: f(w, a, b), args[:2], args[2:])
    )(A, B, A, B),
    "vmap": lambda w, f: w.make_jaxpr(w.vmap(lambda a, b: f(w, a, b), (0, None)))(
        *batch((0, None))
    ),
}


@pytest.mark.parametrize("how", PRINTED)
@pytest.mark.parametrize(
    "f", [symmetric, transposable, forward_only, with_aux, root], ids=lambda f: f.__name__
)
def test_printed(f, how):
    """Programs print as the oracle's."""
    with np.printoptions(legacy="1.25"):  # np.int64(1) prints as 1
        assert str(PRINTED[how](tinyjax, f)) == str(PRINTED[how](jax, f))


@pytest.mark.parametrize("vector", [True, False])
def test_solve_prints_as_the_oracles(vector):
    """jnp.linalg.solve is a custom_linear_solve around LU."""
    b = B if vector else normal(3, 2)
    with np.printoptions(legacy="1.25"):  # np.int64(1) prints as 1
        ours, theirs = (str(w.make_jaxpr(w.numpy.linalg.solve)(A, b)) for w in (tinyjax, jax))
    assert ours == theirs


ERRORS = [
    lambda w: w.lax.custom_linear_solve(lambda x: (x,), B, lambda f, b: b),
    lambda w: w.lax.custom_linear_solve(lambda x: x[:2], B, lambda f, b: b),
    lambda w: w.lax.custom_linear_solve(lambda x: x, B, lambda f, b: (b, b)),
    lambda w: w.lax.custom_linear_solve(lambda x: x, B, lambda f, b: b[:1]),
    lambda w: w.lax.custom_linear_solve(lambda x: x, B, lambda f, b: b, lambda f, b: [b]),
    lambda w: w.lax.custom_root(lambda x: (x,), B, lambda f, x: x, lambda g, y: y),
    lambda w: w.lax.custom_root(lambda x: x, B, lambda f, x: (x,), lambda g, y: y),
    lambda w: w.lax.custom_root(lambda x: x, B, lambda f, x: x, lambda g, y: [y]),
    lambda w: w.lax.custom_root(lambda x: x, B, lambda f, x: x, lambda g, y: y, has_aux=True),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    """Results that do not look like b are refused as the oracle refuses them."""
    with pytest.raises(Exception) as want:
        ERRORS[case](jax)
    with pytest.raises(Exception) as got:
        ERRORS[case](tinyjax)
    assert type(got.value) is type(want.value)
    assert str(got.value)[:50] == str(want.value)[:50]


@pytest.mark.parametrize("name", ["custom_linear_solve", "custom_root"])
def test_signature(name):
    """Names, order and defaults of parameters are the oracle's."""
    ours, theirs = (
        [
            (p.name, p.kind, p.default)
            for p in inspect.signature(getattr(w.lax, name)).parameters.values()
        ]
        for w in WORLDS
    )
    assert ours == theirs


def test_implicit_differentiation_of_a_square_root():
    """d sqrt(a) = 1 / (2 sqrt(a)), though Newton's method is never differentiated."""
    jnp, lax = tinyjax.numpy, tinyjax.lax

    def newton(f, x):
        return lax.while_loop(
            lambda x: abs(f(x)) > 1e-5, lambda x: x - f(x) / tinyjax.grad(f)(x), x
        )

    def sqrt(a):
        return lax.custom_root(lambda x: x**2 - a, 1.0, newton, lambda g, y: y / g(1.0))

    for f in (sqrt, tinyjax.jit(sqrt)):
        np.testing.assert_allclose(f(9.0), 3, rtol=1e-5)
        np.testing.assert_allclose(tinyjax.grad(f)(9.0), 1 / 6, rtol=1e-5)
        np.testing.assert_allclose(tinyjax.grad(tinyjax.grad(f))(9.0), -1 / 108, rtol=1e-4)
        many = tinyjax.vmap(tinyjax.grad(f))(jnp.array([4.0, 9.0]))
        np.testing.assert_allclose(many, [0.25, 1 / 6], rtol=1e-5)


# ---- iterative solvers --------------------------------------------------------------------------

SOLVERS = {
    "cg": lambda l, a, b: l.cg(a, b),
    "cg preconditioned": lambda l, a, b: l.cg(a, b, M=lambda x: x / 9, x0=b),
    "cg tree": lambda l, a, b: l.cg(
        lambda t: {"x": a @ t["x"], "y": 2 * t["y"]}, {"x": b, "y": b.reshape(3, 1)}
    ),
    "bicgstab": lambda l, a, b: l.bicgstab(a @ a, b, tol=1e-6),
    "gmres": lambda l, a, b: l.gmres(a + a[0], b),
    "gmres incremental": lambda l, a, b: l.gmres(a, b, solve_method="incremental"),
    "gmres restarted": lambda l, a, b: l.gmres(lambda x: a @ x, b, restart=2, tol=1e-6),
}


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("kind", [False, True], ids=["real", "complex"])
def test_solver(name, kind):
    """Solutions and gradients are those of the exact solution."""
    if kind and name == "cg tree":
        return
    f = SOLVERS[name]
    a = (C @ C.conj().T + np.eye(3)).astype(np.complex64) if kind else P
    b = B.astype(a.dtype)

    def run(w):
        l, jnp = w.scipy.sparse.linalg, w.numpy

        def size(a, b):
            return sum(jnp.sum(jnp.abs(x) ** 2) for x in w.tree.leaves(f(l, a, b)[0]))

        a_, b_ = jnp.asarray(a), jnp.asarray(b)
        return leaves(w, (f(l, a_, b_), w.grad(size, (0, 1))(a_, b_)))

    for x, y in zip(run(tinyjax), run(jax), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        scale = max(1, np.max(np.abs(y)))
        np.testing.assert_allclose(x, y, rtol=2e-3, atol=2e-3 * scale)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_solver_signature_and_errors(name):
    """Signatures are the oracle's; bad operators are named."""
    ours, theirs = (
        getattr(tinyjax.scipy.sparse.linalg, name),
        getattr(jax.scipy.sparse.linalg, name),
    )
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    with pytest.raises(ValueError, match="must be a square matrix"):
        ours(normal(2, 3), B)
    with pytest.raises(TypeError, match="either a function or ndarray"):
        ours("A", B)
    with pytest.raises(ValueError, match="matching tree structure"):
        ours(A, B, (B,))
