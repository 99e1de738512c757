"""Products, einsum and norms of jnp against the oracle."""

import jax
import numpy as np
import pytest
from jnp_check import check, check_error, check_or_refuse

import tinyjax

A = np.arange(12, dtype=np.float32).reshape(3, 4) / 5
B = np.arange(20, dtype=np.float32).reshape(4, 5) / 7
P = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 9
Q = np.arange(40, dtype=np.float32).reshape(2, 4, 5) / 9
W, Z = np.arange(4, dtype=np.float32), np.arange(3, dtype=np.float32)
SQUARE = np.arange(9, dtype=np.float32).reshape(3, 3) / 5
OPERANDS = {
    "matrices": (A, B), "matrix_vector": (A, W), "vector_matrix": (Z, A), "vectors": (W, W),
    "batches": (P, Q), "batch_matrix": (P, B), "matrix_batch": (A, Q), "stretched": (P[:1], Q),
    "broadcast": (P[:, None], Q), "batch_vector": (P, W), "units": (P[:1], Q[:1]),
    "int_float": (A.astype(np.int32), B), "ints": (A.astype(np.int32), B.astype(np.int32)),
    "scalar": (np.float32(2), A), "misfit": (A, A), "complex": (A.astype(np.complex64), B),
    "half": (A.astype(np.float16), B.astype(np.float16)),
}  # fmt: skip
CHAINS = {
    "chain": ("ij,jk,kl->il", [(2, 30), (30, 4), (4, 50)]),
    "five": ("ab,bc,cd,de,ea->", [(3, 2), (2, 5), (5, 4), (4, 3), (3, 3)]),
    "shared": ("abc,ad,bd,cd->d", [(2, 3, 4), (2, 5), (3, 5), (4, 5)]),
    "outer": ("a,b,c->abc", [(2,), (3,), (4,)]),
}
FUNCTIONS = ["dot", "matmul", "inner", "outer", "vdot", "tensordot", "kron", "matvec", "vecmat"]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("operands", OPERANDS)
def test_products(function, operands):
    """Every function on every pair, or both refuse."""
    check_or_refuse(lambda jnp, a, b: getattr(jnp, function)(a, b), *OPERANDS[operands])


FORMULAS = {
    "ij,jk->ik": (A, B), "ij,jk": (A, B), "ij->ji": (A,), "ij->": (A,), "ij->i": (A,),
    "ii": (SQUARE,), "ii->i": (SQUARE,), "i,j->ij": (W, Z), "i,i": (W, W), "i,i->i": (W, W),
    "bij,bjk->bik": (P, Q), "...ij,...jk->...ik": (P, Q), "...ij,jk->...ik": (P, B),
    "ij,j->i": (A, W), "ij,jk,k->i": (A, B, np.ones(5, np.float32)), "ij,ij->i": (A, A),
    "ij,ik->jk": (A, A), "ijk->kji": (P,), "ij,jk,kl->il": (A, B, B.T.copy()),
    "iij->j": (np.ones((3, 3, 2), np.float32),), "a,b,c->abc": (W, Z, W), "bij,bjk->ik": (P, Q),
    "ij,kj->": (A, A), "i...->...": (P,), "ij, jk -> ik": (A, B),
}  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_einsum(formula):
    """Formulas."""
    check(lambda jnp, *xs: jnp.einsum(formula, *xs), *FORMULAS[formula])


SETTINGS = {
    "tensordot_1": lambda jnp, a, b: jnp.tensordot(a, b, 1),
    "tensordot_lists": lambda jnp, a, b: jnp.tensordot(a, b, ([1], [0])),
    "tensordot_negative": lambda jnp, a, b: jnp.tensordot(a, b, (-1, 0)),
    "weak": lambda jnp, a, b: jnp.dot(a, 2),
    "preferred": lambda jnp, a, b: jnp.matmul(a, b, preferred_element_type=jnp.float16),
    "einsum_ints": lambda jnp, a, b: jnp.einsum("ij,jk->ik", a.astype(int), b),
    "einsum_lists": lambda jnp, a, b: jnp.einsum(a, [0, 1], b, [1, 2], [0, 2]),
    "einsum_in_order": lambda jnp, a, b: jnp.einsum("ij,jk,kl->il", a, b, b.T, optimize=False),
    "cross": lambda jnp, a, b: jnp.cross(a[0, :3], a[1, :3]),
    "norm": lambda jnp, a, b: jnp.linalg.norm(a),
    "norm_axis": lambda jnp, a, b: jnp.linalg.norm(a, axis=1, keepdims=True),
    "norm_orders": lambda jnp, a, b: [
        jnp.linalg.norm(a, ord=p, axis=0) for p in (0, 1, 3, np.inf, -np.inf)
    ],
    "matrix_norms": lambda jnp, a, b: [
        jnp.linalg.norm(a, ord=p) for p in ("fro", 1, -1, np.inf, -np.inf)
    ],
    "vector_norm": lambda jnp, a, b: jnp.linalg.vector_norm(a, axis=0),
    "matrix_power": lambda jnp, a, b: jnp.linalg.matrix_power(a[:, :3], 5),
    "det": lambda jnp, a, b: (jnp.linalg.det(a[:, :3]), jnp.linalg.det(a[:2, :2])),
    "vecdot": lambda jnp, a, b: jnp.vecdot(a, a, axis=0),
    "multi_dot": lambda jnp, a, b: jnp.linalg.multi_dot([a, b, b.T]),
    "outer": lambda jnp, a, b: jnp.linalg.outer(a[0], b[0]),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings(setting):
    """Keyword arguments, norms, determinants of small matrices."""
    check(SETTINGS[setting], A, B)


REFUSED = {
    "einsum_sizes": (lambda jnp, a, b: jnp.einsum("ij,jk->ik", a, a), ("'j'",)),
    "einsum_count": (lambda jnp, a, b: jnp.einsum("ij,jk->ik", a), ("number of operands",)),
    "einsum_letters": (lambda jnp, a, b: jnp.einsum("ij->k", a), ("k",)),
    "einsum_rank": (lambda jnp, a, b: jnp.einsum("i->i", a), ("i",)),
    "tensordot": (lambda jnp, a, b: jnp.tensordot(a, b, 3), ("exceeds input ranks",)),
    "matmul_scalar": (lambda jnp, a, b: jnp.matmul(a, 2.0), ("ndim at least 1",)),
    "norm_axes": (lambda jnp, a, b: jnp.linalg.norm(a[None], axis=(0, 1, 2)), ("axes for norm",)),
    "norm_order": (lambda jnp, a, b: jnp.linalg.norm(a, ord="max"), ("Invalid order",)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors(case):
    """Bad arguments are refused, and named."""
    f, words = REFUSED[case]
    check_error(f, A, B, words=words)


@pytest.mark.parametrize("optimize", ["auto", True, False, "greedy", "optimal"])
@pytest.mark.parametrize("name", CHAINS)
def test_einsum_path(name, optimize):
    """The path and its description are JAX's, and einsum takes that path."""
    formula, shapes = CHAINS[name]
    arrays = [np.ones(shape, np.float32) for shape in shapes]
    path, text = tinyjax.numpy.einsum_path(formula, *arrays, optimize=optimize)
    wanted, wanted_text = jax.numpy.einsum_path(formula, *arrays, optimize=optimize)
    assert (list(path), str(text)) == (list(wanted), str(wanted_text))
    check(lambda jnp, *xs: jnp.einsum(formula, *xs, optimize=optimize), *arrays)
