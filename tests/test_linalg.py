"""Linear algebra against the oracle: values, both derivatives, batches, compiled."""

import inspect

import jax
import jax.scipy.linalg
import numpy as np
import pytest

import tinyjax
import tinyjax.scipy.linalg

RNG = np.random.default_rng(0)


def matrix(*shape, complex_numbers=False):
    """Random numbers."""
    x = RNG.normal(size=shape)
    if complex_numbers:
        return (x + 1j * RNG.normal(size=shape)).astype(np.complex64)
    return x.astype(np.float32)


def positive(x):
    """A Hermitian positive definite matrix."""
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(x.shape[-1], dtype=x.dtype)


def magnitudes(world, xs):
    """Absolute values: vectors are determined up to a factor."""
    return [world.numpy.abs(x) for x in xs]


FUNCTIONS = {
    "cholesky": (lambda w, x: w.numpy.linalg.cholesky(x), "P"),
    "cholesky_batch": (lambda w, x: w.numpy.linalg.cholesky(x), "PP"),
    "cholesky_upper": (lambda w, x: w.numpy.linalg.cholesky(x, upper=True), "P"),
    "solve": (lambda w, a, b: w.numpy.linalg.solve(a, b), "A", "B"),
    "solve_vector": (lambda w, a, b: w.numpy.linalg.solve(a, b), "A", "V"),
    "solve_batch": (lambda w, a, b: w.numpy.linalg.solve(a, b), "AA", "BB"),
    "solve_stretched": (lambda w, a, b: w.numpy.linalg.solve(a, b), "A", "BB"),
    "inv": (lambda w, x: w.numpy.linalg.inv(x), "A"),
    "det": (lambda w, x: w.numpy.linalg.det(x), "A"),
    "det_3": (lambda w, x: w.numpy.linalg.det(x[:3, :3]), "A"),
    "slogdet": (lambda w, x: tuple(w.numpy.linalg.slogdet(x)), "A"),
    "eigh_values": (lambda w, x: w.numpy.linalg.eigh(x)[0], "P"),
    "eigh_vectors": (lambda w, x: w.numpy.abs(w.numpy.linalg.eigh(x)[1]), "P"),
    "eigvalsh": (lambda w, x: w.numpy.linalg.eigvalsh(x), "P"),
    "eigvals": (lambda w, x: w.numpy.sort(w.numpy.linalg.eigvals(x)), "A"),
    "svd_values": (lambda w, x: w.numpy.linalg.svd(x, compute_uv=False), "R"),
    "svd": (lambda w, x: magnitudes(w, w.numpy.linalg.svd(x, full_matrices=False)), "R"),
    "svd_wide": (lambda w, x: magnitudes(w, w.numpy.linalg.svd(x, full_matrices=False)), "W"),
    "qr": (lambda w, x: magnitudes(w, w.numpy.linalg.qr(x)), "R"),
    "pinv": (lambda w, x: w.numpy.linalg.pinv(x), "R"),
    "pinv_wide": (lambda w, x: w.numpy.linalg.pinv(x), "W"),
    "lstsq": (lambda w, a, b: w.numpy.linalg.lstsq(a, b)[0], "A", "B"),
    "matrix_rank": (lambda w, x: w.numpy.linalg.matrix_rank(x), "R"),
    "cond": (lambda w, x: w.numpy.linalg.cond(x), "A"),
    "norm_2": (lambda w, x: w.numpy.linalg.norm(x, ord=2), "A"),
    "norm_nuclear": (lambda w, x: w.numpy.linalg.norm(x, ord="nuc"), "R"),
    "matrix_power": (lambda w, x: w.numpy.linalg.matrix_power(x, -2), "A"),
    "lu": (lambda w, x: w.lax.linalg.lu(x), "A"),
    "lu_tall": (lambda w, x: w.lax.linalg.lu(x), "R"),
    "lu_wide": (lambda w, x: w.lax.linalg.lu(x), "W"),
    "qr_wide": (lambda w, x: w.numpy.linalg.qr(x), "W"),
    "qr_complete": (lambda w, x: w.numpy.linalg.qr(x, mode="complete"), "R"),
    "qr_batch": (lambda w, x: w.numpy.linalg.qr(x), "AA"),
    "slogdet_2": (lambda w, x: tuple(w.numpy.linalg.slogdet(x[:2, :2])), "A"),
    "slogdet_qr": (lambda w, x: tuple(w.numpy.linalg.slogdet(x, method="qr")), "A"),
    "eig_vectors": (
        lambda w, x: magnitudes(
            w,
            w.lax.linalg.eig(x, compute_left_eigenvectors=False, enable_eigvec_derivs=True)[1:],
        ),
        "A",
    ),
    "tridiagonal_solve": (
        lambda w, d, e, f, b: w.lax.linalg.tridiagonal_solve(e, 4 + d, f, b),
        *("V", "V", "V", "B"),
    ),
    "triangular_lower": (
        lambda w, a, b: w.lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
        "A",
        "B",
    ),
    "triangular_adjoint": (
        lambda w, a, b: w.lax.linalg.triangular_solve(a, b.T, transpose_a=True, conjugate_a=True),
        "A",
        "B",
    ),
    "triangular_unit": (
        lambda w, a, b: w.lax.linalg.triangular_solve(a, b, left_side=True, unit_diagonal=True),
        "A",
        "B",
    ),
}
SHAPES = {"A": (4, 4), "B": (4, 2), "V": (4,), "R": (5, 3), "W": (3, 5), "P": (4, 4),
          "AA": (2, 4, 4), "BB": (2, 4, 2), "PP": (2, 4, 4)}  # fmt: skip
ARGUMENTS = {}
for _kind in (False, True):
    for _name, _shape in SHAPES.items():
        x = matrix(*_shape, complex_numbers=_kind)
        ARGUMENTS[_name, _kind] = positive(x) if "P" in _name else x


def loss(world, f, args):
    """A weighted sum of the squares of all results."""

    def g(*args):
        leaves = [x for x in world.tree.leaves(f(world, *args)) if x.dtype.kind in "fc"]
        jnp = world.numpy
        weights = [1 + jnp.arange(x.size).reshape(x.shape) for x in leaves]
        return sum(jnp.sum(jnp.abs(x) ** 2 * w) for x, w in zip(leaves, weights))

    return world.grad(g, argnums=tuple(range(len(args))))(*args)


def run(world, how, f, args):
    """The leaves of a result of a world."""
    jnp, g = world.numpy, lambda *args: f(world, *args)
    args = [jnp.asarray(x) for x in args]
    if how == "value":
        out = g(*args)
    elif how == "jit":
        out = world.jit(g)(*args)
    elif how == "jvp":
        out = world.jvp(g, tuple(args), tuple(jnp.cos(x) for x in args))
    elif how == "vmap":
        out = world.vmap(g)(*[jnp.stack([x, 2 * x]) for x in args])
    else:
        out = loss(world, f, args)
    return [np.asarray(x) for x in world.tree.leaves(out) if x.dtype.kind != "V"]


SLOW = [pytest.param(how, marks=pytest.mark.slow) for how in ("jvp", "vmap", "jit")]


@pytest.mark.parametrize("how", ["value", "grad", *SLOW])
@pytest.mark.parametrize("kind", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_function(function, kind, how):
    """Results, or refusals, are the oracle's."""
    f, *names = FUNCTIONS[function]
    args = [ARGUMENTS[n, kind] for n in names]
    try:
        want = run(jax, how, f, args)
    except (TypeError, NotImplementedError):
        with pytest.raises((TypeError, NotImplementedError)):
            run(tinyjax, how, f, args)
        return
    got = run(tinyjax, how, f, args)
    for x, y in zip(got, want, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        scale = max(1, np.max(np.abs(y), initial=0))
        np.testing.assert_allclose(x, y, rtol=3e-3, atol=3e-4 * scale)


PRINTED = {
    "inv": (lambda w, x: w.numpy.linalg.inv(x), "A"),
    "solve": (lambda w, a, b: w.numpy.linalg.solve(a, b), "AA", "B"),
    "cond": (lambda w, x: w.numpy.linalg.cond(x), "A"),
    "lstsq": (lambda w, a, b: w.numpy.linalg.lstsq(a, b), "A", "B"),
    "norm": (lambda w, x: w.numpy.linalg.norm(x, ord="nuc"), "R"),
    "pinv": (lambda w, x: w.numpy.linalg.pinv(x), "R"),
    "matrix_power": (lambda w, x: w.numpy.linalg.matrix_power(x, -5), "A"),
    "eig": (lambda w, x: w.numpy.linalg.eig(x), "A"),
    "schur": (lambda w, x: w.lax.linalg.schur(x), "A"),
    "hessenberg": (lambda w, x: w.lax.linalg.hessenberg(x), "A"),
    "tridiagonal": (lambda w, x: w.lax.linalg.tridiagonal(x), "P"),
    "cholesky_solve": (lambda w, a, b: w.scipy.linalg.solve(a, b, assume_a="pos"), "P", "V"),
    "cholesky": (lambda w, x: w.lax.linalg.cholesky(x), "P"),
    "eigh": (lambda w, x: w.lax.linalg.eigh(x), "P"),
    "svd": (lambda w, x: w.lax.linalg.svd(x), "R"),
    "lu": (lambda w, x: w.lax.linalg.lu(x), "R"),
    "qr": (lambda w, x: w.numpy.linalg.qr(x), "R"),
    "det": (lambda w, x: w.numpy.linalg.det(x[:3, :3]), "A"),
    "triangular_solve": FUNCTIONS["triangular_lower"],
}


@pytest.mark.parametrize("function", PRINTED)
def test_printed(function):
    """Programs print as the oracle's."""
    f, *names = PRINTED[function]
    args = [ARGUMENTS[n, False] for n in names]
    with np.printoptions(legacy="1.25"):  # np.int64(1) prints as 1
        want = str(jax.make_jaxpr(lambda *a: f(jax, *a))(*args))
        assert str(tinyjax.make_jaxpr(lambda *a: f(tinyjax, *a))(*args)) == want


def test_what_has_no_answer():
    """Not positive definite: nan; singular: infinite; and no other matrix of the batch suffers."""
    jnp = tinyjax.numpy
    good, bad = np.eye(2, dtype=np.float32), -np.eye(2, dtype=np.float32)
    roots = np.asarray(jnp.linalg.cholesky(jnp.stack([good, bad])))
    np.testing.assert_array_equal(roots[0], good)
    assert np.isnan(roots[1][np.tril_indices(2)]).all()
    x = np.asarray(jnp.linalg.solve(jnp.stack([good, 0 * good]), jnp.ones((2, 2, 1))))
    np.testing.assert_array_equal(x[0], np.ones((2, 1)))
    assert not np.isfinite(x[1]).any()


def test_determinant_of_a_singular_matrix_has_a_gradient():
    """The adjugate exists where the inverse does not."""
    a = np.array([[1, 2, 3, 1], [2, 4, 6, 2], [1, 0, 1, 0], [0, 1, 0, 2]], np.float32)
    want = jax.grad(jax.numpy.linalg.det)(a)
    np.testing.assert_allclose(tinyjax.grad(tinyjax.numpy.linalg.det)(a), want, atol=1e-4)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda l: l.cholesky(np.ones((2, 3))), "incompatible shapes"),
        (lambda l: l.inv(np.ones((2, 3))), "shape"),
        (lambda l: l.det(np.ones(3)), "shape"),
        (lambda l: l.eigh(np.eye(2), UPLO="X"), "UPLO"),
        (lambda l: l.qr(np.eye(2), mode="magic"), "mode 'magic'"),
        (lambda l: l.solve(np.ones(3), np.ones(3)), "at least two dimensional"),
        (lambda l: l.matrix_power(np.eye(2), 1.5), "exponent must be an integer"),
        (lambda l: l.pinv(np.eye(2), 1.0, rcond=1.0), "only one of rtol and rcond"),
    ],
)
def test_errors(call, words):
    """Bad arguments are refused, and named."""
    with pytest.raises((TypeError, ValueError), match=words):
        call(tinyjax.numpy.linalg)


NAMES = [
    f"{module}.{name}"
    for module in ("numpy", "lax")
    for name in dir(getattr(jax, module).linalg)
    if not name.startswith("_")
]


@pytest.mark.parametrize("name", NAMES)
def test_names_and_signatures(name):
    """What the oracle has is there, with the same parameters."""
    module, name = name.split(".")
    ours, theirs = (getattr(getattr(w, module).linalg, name) for w in (tinyjax, jax))
    if isinstance(theirs, type):
        assert [m.value for m in ours] == [m.value for m in theirs]
    elif not name.endswith("_p"):
        pairs = [
            [(p.name, p.kind, p.default) for p in inspect.signature(f).parameters.values()]
            for f in (ours, theirs)
        ]
        assert pairs[0] == pairs[1]


@pytest.mark.parametrize("name", ["svd", "qr", "eigh", "eig", "slogdet"])
def test_results_have_names(name):
    """Tuples print as the oracle's."""
    x = 2 * np.eye(2, dtype=np.float32)
    ours, theirs = (getattr(w.numpy.linalg, name)(x) for w in (tinyjax, jax))
    assert type(ours).__name__ == type(theirs).__name__
    assert ours._fields == theirs._fields
    assert repr(ours).replace("-0.", " 0.") == repr(theirs).replace("-0.", " 0.")


@pytest.mark.parametrize("shape", [(2, 4), (4, 2)])
def test_derivative_of_qr_with_pivoting(shape):
    """Against finite differences: the oracle forgets to exchange columns if there are more."""
    x, t = matrix(*shape).astype(np.float64), matrix(*shape).astype(np.float64)

    def f(x):
        return tuple(tinyjax.lax.linalg.qr(x, pivoting=True, full_matrices=False)[:2])

    with tinyjax.enable_x64():
        _, tangents = tinyjax.jvp(f, (x,), (t,))
        ends = zip(f(x + 1e-6 * t), f(x - 1e-6 * t))
        slopes = [(np.asarray(a) - np.asarray(b)) / 2e-6 for a, b in ends]
    for tangent, slope in zip(tangents, slopes):
        np.testing.assert_allclose(tangent, slope, atol=1e-6)


def test_derivatives_of_batches():
    """A batch differentiates as its elements do (the oracle's lu does not)."""
    x, t = ARGUMENTS["AA", False], np.cos(ARGUMENTS["AA", False])
    for f in (tinyjax.lax.linalg.lu, lambda x: tinyjax.lax.linalg.qr(x, pivoting=True)):
        one = tinyjax.vmap(lambda x, t, f=f: tinyjax.jvp(lambda x: f(x)[0], (x,), (t,))[1])(x, t)
        whole = tinyjax.jvp(lambda x, f=f: f(x)[0], (x,), (t,))[1]
        np.testing.assert_allclose(one, whole, rtol=1e-5, atol=1e-5)


EDGES = {
    "empty lu": lambda l: l.lu(np.zeros((0, 3), np.float32)),
    "empty qr": lambda l: l.qr(np.zeros((3, 0), np.float32), pivoting=True),
    "empty svd": lambda l: l.svd(np.zeros((0, 3), np.float32), full_matrices=False),
    "empty eigh": lambda l: l.eigh(np.zeros((0, 0), np.float32)),
    "empty eig": lambda l: l.eig(np.zeros((0, 0), np.float32)),
    "empty batch": lambda l: l.lu(np.zeros((0, 3, 3), np.float32)),
    "nan svd": lambda l: l.svd(np.full((2, 3), np.nan, np.float32)),
    "nan eigh": lambda l: l.eigh(np.full((2, 2), np.nan, np.float32)),
    "nan eig": lambda l: l.eig(np.full((2, 2), np.nan, np.float32)),
    "nan schur": lambda l: l.schur(np.full((2, 2), np.nan, np.float32)),
    "singular": lambda l: l.tridiagonal_solve(
        *np.zeros((3, 2), np.float32), np.ones((2, 1), np.float32)
    ),
    "int": lambda l: l.lu(np.ones((2, 2), int)),
    "vector": lambda l: l.lu(np.ones(3, np.float32)),
    "half": lambda l: l.lu(np.ones((2, 2), np.float16)),
    "eig rectangle": lambda l: l.eig(np.ones((2, 3), np.float32)),
    "schur rectangle": lambda l: l.schur(np.ones((2, 3), np.float32)),
    "hessenberg rectangle": lambda l: l.hessenberg(np.ones((2, 3), np.float32)),
    "tridiagonal rectangle": lambda l: l.tridiagonal(np.ones((2, 3), np.float32)),
    "triangular rectangle": lambda l: l.triangular_solve(*np.ones((2, 2, 3), np.float32)),
    "triangular dtypes": lambda l: l.triangular_solve(
        np.ones((2, 2), np.float32), np.ones((2, 2), np.complex64)
    ),
    "reflectors": lambda l: l.householder_product(*np.ones((2, 2), np.float32)),
    "svd part": lambda l: l.svd(
        np.ones((3, 3), np.float32), full_matrices=False, subset_by_index=(0, 2)
    ),
    "eigh part": lambda l: l.eigh(np.ones((3, 3), np.float32), subset_by_index=(0, 2)),
    "svd method": lambda l: l.svd(np.ones((3, 3), np.float32), algorithm=l.SvdAlgorithm.POLAR),
    "pivots": lambda l: l.lu_pivots_to_permutation(np.array([1, 1], np.int32), 1),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    """Empty matrices, nan, and what is refused."""
    try:
        want = jax.tree.leaves(EDGES[name](jax.lax.linalg))
    except Exception as error:
        with pytest.raises(type(error)):
            EDGES[name](tinyjax.lax.linalg)
        return
    got = tinyjax.tree.leaves(EDGES[name](tinyjax.lax.linalg))
    for x, y in zip(got, want, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("kind", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("name", ["A", "R"])
def test_qdwh(name, kind):
    """Factors, number of steps and the verdict are the oracle's, compiled, too."""
    x = ARGUMENTS[name, kind]
    want = jax.lax.linalg.qdwh(x)
    for f in (tinyjax.lax.linalg.qdwh, tinyjax.jit(tinyjax.lax.linalg.qdwh)):
        for ours, theirs in zip(f(x), want, strict=True):
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            np.testing.assert_allclose(ours, theirs, atol=1e-5)
    with pytest.raises(ValueError, match="M >= N"):
        tinyjax.lax.linalg.qdwh(ARGUMENTS["W", kind])
