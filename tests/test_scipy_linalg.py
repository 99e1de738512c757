"""scipy.linalg against the oracle: values, dtypes, derivatives, batches, compiled; signatures."""

import inspect

import jax
import jax.scipy.linalg
import numpy as np
import pytest

import tinyjax
import tinyjax.scipy.linalg

RNG = np.random.default_rng(4)


def normal(*shape):
    """Random numbers."""
    return RNG.normal(size=shape).astype(np.float32)


A = normal(4, 4) + 3 * np.eye(4, dtype=np.float32)
P = (A @ A.T + np.eye(4)).astype(np.float32)
C = (A + 1j * normal(4, 4)).astype(np.complex64)
H = (C @ C.conj().T + np.eye(4)).astype(np.complex64)
B, V, WIDE = normal(4, 2), normal(4), normal(3, 5)
ROT = np.array([[0, -1, 0.3], [1, 0, 0.2], [0, 0, 2]], np.float32)  # complex eigenvalues
INTS = np.array([1, 2, 3, 4])
PAIR = np.stack([A, A.T + 1])


def solver(factor, solve):
    """The function of a and b that factors a and solves."""
    return lambda l, a, b: getattr(l, solve)(getattr(l, factor)(a), b)


def signless(xs):
    """Absolute values: vectors are determined up to a factor."""
    return [abs(x) for x in xs]


# name: (function of the module and arrays, arrays, whether the oracle differentiates it)
FUNCTIONS = {
    "cholesky": (lambda l, x: l.cholesky(x), (P,), True),
    "cholesky lower complex": (lambda l, x: l.cholesky(x, lower=True), (H,), True),
    "cho_solve": (solver("cho_factor", "cho_solve"), (P, B), True),
    "cho_solve lower": (lambda l, a, b: l.cho_solve(l.cho_factor(a, True), b), (P, V), True),
    "svd": (lambda l, x: signless(l.svd(x, full_matrices=False)), (WIDE,), True),
    "det": (lambda l, x: l.det(x), (A,), True),
    "inv": (lambda l, x: l.inv(x), (C,), True),
    "lu": (lambda l, x: l.lu(x)[1:], (A,), True),
    "lu permuted": (lambda l, x: l.lu(x, permute_l=True), (WIDE,), True),
    "lu_solve": (solver("lu_factor", "lu_solve"), (A, B), True),
    "lu_solve adjoint": (lambda l, a, b: l.lu_solve(l.lu_factor(a), b, trans=2), (C, C), True),
    "solve": (lambda l, a, b: l.solve(a, b), (A, B), True),
    "solve positive": (lambda l, a, b: l.solve(a, b, assume_a="pos"), (P, B), True),
    "solve_triangular": (lambda l, a, b: l.solve_triangular(a, b, lower=True), (A, B), True),
    "solve_triangular adjoint": (lambda l, a, b: l.solve_triangular(a, b, "C"), (C, C), True),
    "qr": (lambda l, x: l.qr(x, mode="economic"), (A[:, :3],), True),
    "qr r": (lambda l, x: l.qr(x, mode="r"), (A,), True),
    "qr pivoting": (lambda l, x: l.qr(x, pivoting=True), (A[:, :3],), False),
    "qr_multiply": (lambda l, a, c: l.qr_multiply(a, c), (A[:, :3], B.T), False),
    "qr_multiply conjugate": (
        lambda l, a, c: l.qr_multiply(a, c, mode="left", conjugate=True, pivoting=True),
        (C, C),
        False,
    ),
    "eigh": (lambda l, x: signless(l.eigh(x)), (P,), True),
    "eigh_tridiagonal": (lambda l, d, e: signless(l.eigh_tridiagonal(d, e)), (V, V[1:]), False),
    "eigh_tridiagonal part": (
        lambda l, d, e: l.eigh_tridiagonal(
            d, e, eigvals_only=True, select="i", select_range=(1, 2)
        ),
        (V, V[1:]),
        False,
    ),
    "schur": (lambda l, x: l.schur(x), (ROT,), False),
    "rsf2csf": (lambda l, x: l.rsf2csf(*l.schur(x)), (ROT,), False),
    "hessenberg": (lambda l, x: l.hessenberg(x, calc_q=True), (A,), False),
    "polar": (lambda l, x: l.polar(x), (A,), False),
    "polar left": (lambda l, x: l.polar(x, side="left", method="svd"), (WIDE,), True),
    "expm": (lambda l, x: l.expm(x), (A,), True),
    "expm small": (lambda l, x: l.expm(x / 50), (C,), True),
    "expm triangular": (lambda l, x: l.expm(x, upper_triangular=True), (np.triu(A),), True),
    "expm batch": (lambda l, x: l.expm(x), (PAIR,), True),
    "expm_frechet": (lambda l, x, t: l.expm_frechet(x, t), (A, P / 9), True),
    "sqrtm": (lambda l, x: l.sqrtm(x), (ROT,), False),
    "funm": (lambda l, x: l.funm(x, lambda z: z**2 + 1), (A,), False),
    "funm error": (lambda l, x: l.funm(x, lambda z: z**3, disp=False), (A,), False),
    "solve_sylvester": (lambda l, a, b, c: l.solve_sylvester(a, b, c), (A, P, C.real), False),
    "solve_sylvester eigen": (
        lambda l, a, b, c: l.solve_sylvester(a, b, c, method="eigen"),
        (A, P, B @ B.T),
        False,
    ),
    "block_diag": (lambda l, a, b: l.block_diag(a, b, 3), (WIDE, V), True),
    "toeplitz": (lambda l, c: l.toeplitz(c), (C[0],), True),
    "toeplitz row": (lambda l, c, r: l.toeplitz(c, r), (V, B[:, 0]), True),
    "hankel": (lambda l, c, r: l.hankel(c, r), (A, V), True),
    "circulant": (lambda l, c: l.circulant(c), (A,), True),
    "leslie": (lambda l, f, s: l.leslie(f, s), (V, V[1:]), True),
    "companion": (lambda l, c: l.companion(c), (V,), True),
    "fiedler": (lambda l, c: l.fiedler(c), (V,), True),
    "fiedler_companion": (lambda l, c: l.fiedler_companion(c), (WIDE,), True),
    "convolution_matrix": (lambda l, c: l.convolution_matrix(c, 3), (V,), True),
    "convolution_matrix valid": (lambda l, c: l.convolution_matrix(c, 3, "valid"), (A,), True),
    "convolution_matrix same": (lambda l, c: l.convolution_matrix(c, 6, "same"), (V,), True),
}


def loss(world, f, args):
    """A weighted sum of the squares of all results, differentiated."""

    def g(*args):
        leaves = [
            x for x in world.tree.leaves(f(world.scipy.linalg, *args)) if x.dtype.kind in "fc"
        ]
        weights = [1 + world.numpy.arange(x.size).reshape(x.shape) for x in leaves]
        return sum(world.numpy.sum(abs(x) ** 2 * w) for x, w in zip(leaves, weights))

    return world.grad(g, argnums=tuple(range(len(args))))(*args)


def run(world, how, f, args):
    """The leaves of a result of a world."""
    jnp, g = world.numpy, lambda *args: f(world.scipy.linalg, *args)
    args = [jnp.asarray(x) for x in args]
    if how == "value":
        out = g(*args)
    elif how == "jit":
        out = world.jit(g)(*args)
    elif how == "jvp":
        out = world.jvp(g, tuple(args), tuple(jnp.cos(x) for x in args))
    elif how == "vmap":
        out = world.vmap(g)(*[jnp.stack([x, x + x / 4]) for x in args])
    else:
        out = loss(world, f, args)
    leaves = [x for x in world.tree.leaves(out) if x.dtype.name != "float0"]
    return [np.asarray(x) for x in leaves if x.dtype.kind != "V"]


def close(got, want):
    """Equal shapes and dtypes, nearly equal values."""
    for x, y in zip(got, want, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        scale = max(1, np.max(np.abs(y), initial=0))
        np.testing.assert_allclose(x, y, rtol=3e-3, atol=1e-3 * scale)


SLOW = [pytest.param(how, marks=pytest.mark.slow) for how in ("jvp", "vmap", "jit")]


@pytest.mark.parametrize("how", ["value", "grad", *SLOW])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name, how):
    """Results are the oracle's."""
    f, args, differentiable = FUNCTIONS[name]
    if how in ("grad", "jvp") and not differentiable:
        return
    if name == "expm triangular" and how == "grad":
        return  # the oracle's, too, depends on what it is promised not to see
    close(run(tinyjax, how, f, args), run(jax, how, f, args))


SIZES = [
    *[(lambda l, n=n, f=f: getattr(l, f)(n)) for n in (1, 2, 5) for f in (
        "hilbert", "invhilbert", "pascal", "invpascal", "helmert", "dft")],
    *[(lambda l, k=k, f=f: getattr(l, f)(4, k)) for k in ("lower", "upper") for f in (
        "pascal", "invpascal")],
    lambda l: l.helmert(4, full=True),
    lambda l: l.hadamard(4),
    lambda l: l.hadamard(2, dtype=np.float32),
    lambda l: l.dft(4, "sqrtn"),
    lambda l: l.dft(4, scale="n", dtype=np.complex64),
    lambda l: l.block_diag(),
    lambda l: l.toeplitz(INTS, 2.0 * INTS),
    lambda l: l.hankel(INTS),
    lambda l: l.convolution_matrix(INTS, 3),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(SIZES)))
def test_named_matrix(case):
    """Values and dtypes are the oracle's."""
    f = SIZES[case]
    close([np.asarray(f(tinyjax.scipy.linalg))], [np.asarray(f(jax.scipy.linalg))])


NAMES = [n for n in dir(jax.scipy.linalg) if not n.startswith("_")]


@pytest.mark.parametrize("name", NAMES)
def test_signature(name):
    """Names, order and defaults of parameters are the oracle's."""

    def parameters(module):
        signature = inspect.signature(getattr(module, name))
        return [(p.name, p.kind, p.default) for p in signature.parameters.values()]

    assert parameters(tinyjax.scipy.linalg) == parameters(jax.scipy.linalg)


ERRORS = [
    lambda l: l.expm(V),
    lambda l: l.schur(A, output="x"),
    lambda l: l.solve(A, B, assume_a="x"),
    lambda l: l.solve_triangular(A, B, trans=5),
    lambda l: l.polar(A, side="x"),
    lambda l: l.polar(A, method="x"),
    lambda l: l.polar(WIDE),
    lambda l: l.sqrtm(A, 2),
    lambda l: l.solve_sylvester(A, A, B),
    lambda l: l.solve_sylvester(A, A, A, method="q"),
    lambda l: l.qr(A, mode="z"),
    lambda l: l.qr_multiply(A, B),
    lambda l: l.eigh_tridiagonal(V, V[1:], select="v"),
    lambda l: l.eigh_tridiagonal(V, INTS[1:]),
    lambda l: l.eigh(P, P),
    lambda l: l.hadamard(3),
    lambda l: l.helmert(0),
    lambda l: l.dft(4, scale="q"),
    lambda l: l.dft(4, dtype=np.float32),
    lambda l: l.hankel(1.0),
    lambda l: l.toeplitz([1, 2]),
    lambda l: l.leslie(V, V),
    lambda l: l.convolution_matrix(V, 0),
    lambda l: l.convolution_matrix(V, 2, "x"),
    lambda l: l.companion(V[:1]),
    lambda l: l.rsf2csf(A, WIDE),
    lambda l: l.lu_solve((A, np.arange(3, dtype=np.int32)), V[:2]),
]


@pytest.mark.parametrize("case", range(len(ERRORS)))
def test_errors(case):
    """The same kind of error as the oracle's, and the same beginning."""
    with pytest.raises(Exception) as want:
        ERRORS[case](jax.scipy.linalg)
    with pytest.raises(Exception) as got:
        ERRORS[case](tinyjax.scipy.linalg)
    assert type(got.value) is type(want.value)
    assert str(got.value)[:15] == str(want.value)[:15]
