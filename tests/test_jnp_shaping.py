"""Shapes, joining, creation, searching and matrices of jnp against the oracle."""

import numpy as np
import pytest
from jnp_check import M, N, check, check_error

import tinyjax

PRINTED = {
    "reshape": lambda jnp, x: jnp.reshape(x, (4, 3)),
    "reshape_unknown": lambda jnp, x: x.reshape(2, -1),
    "ravel": lambda jnp, x: x.ravel(),
    "T": lambda jnp, x: x.T,
    "transpose": lambda jnp, x: x.transpose(1, 0),
    "swapaxes": lambda jnp, x: jnp.swapaxes(x, 0, 1),
    "moveaxis": lambda jnp, x: jnp.moveaxis(x, 0, -1),
    "rollaxis": lambda jnp, x: jnp.rollaxis(x, 1),
    "expand_dims": lambda jnp, x: jnp.expand_dims(x, (0, -1)),
    "squeeze": lambda jnp, x: jnp.squeeze(x[None]),
    "squeeze_axis": lambda jnp, x: jnp.squeeze(x[None], axis=0),
    "broadcast_to": lambda jnp, x: jnp.broadcast_to(x, (2, 3, 4)),
    "broadcast_arrays": lambda jnp, x: jnp.broadcast_arrays(x, x[0], 1.0),
    "flip": lambda jnp, x: (jnp.flip(x), jnp.flip(x, 0), jnp.fliplr(x), jnp.flipud(x)),
    "rot90": lambda jnp, x: [jnp.rot90(x, k) for k in range(4)],
    "roll": lambda jnp, x: (jnp.roll(x, 1), jnp.roll(x, (1, -2), axis=(0, 1))),
    "atleast": lambda jnp, x: (jnp.atleast_1d(x[0, 0]), jnp.atleast_2d(x[0]), jnp.atleast_3d(x)),
    "resize": lambda jnp, x: jnp.resize(x, (5, 4)),
    "stack": lambda jnp, x: jnp.stack([x, x], axis=1),
    "stack_mixed": lambda jnp, x: jnp.stack([x, N]),
    "concatenate": lambda jnp, x: jnp.concatenate([x, x], axis=1),
    "concatenate_flat": lambda jnp, x: jnp.concatenate([x, x], axis=None),
    "concatenate_mixed": lambda jnp, x: jnp.concatenate([x, N]),
    "vstack": lambda jnp, x: jnp.vstack([x, x[0]]),
    "hstack": lambda jnp, x: (jnp.hstack([x, x]), jnp.hstack([x[0], x[1]])),
    "dstack": lambda jnp, x: jnp.dstack([x, x]),
    "column_stack": lambda jnp, x: jnp.column_stack([x, x[:, 0]]),
    "block": lambda jnp, x: jnp.block([[x, x], [x, x]]),
    "append": lambda jnp, x: jnp.append(x, 3.0),
    "tile": lambda jnp, x: (jnp.tile(x, 2), jnp.tile(x, (2, 1, 3))),
    "repeat": lambda jnp, x: (jnp.repeat(x, 2), jnp.repeat(x, 2, axis=1)),
    "repeat_array": lambda jnp, x: jnp.repeat(x, np.array([1, 0, 2]), axis=0),
    "repeat_length": lambda jnp, x: jnp.repeat(x, 3, axis=0, total_repeat_length=7),
    "unstack": lambda jnp, x: jnp.unstack(x),
    "diag": lambda jnp, x: (jnp.diag(x[0]), jnp.diag(x[0], k=1), jnp.diag(x, 1)),
    "diagonal": lambda jnp, x: jnp.diagonal(x),
    "trace": lambda jnp, x: jnp.trace(x),
    "triangles": lambda jnp, x: (jnp.tril(x), jnp.triu(x, 1)),
    "diagflat": lambda jnp, x: jnp.diagflat(x[0]),
    "fill_diagonal": lambda jnp, x: jnp.fill_diagonal(x, 5.0, inplace=False),
    "where": lambda jnp, x: jnp.where(x > 0.5, x, 0.0),
    "where_scalar": lambda jnp, x: jnp.where(x[0, 0] > 0.5, x, 1),
    "where_int": lambda jnp, x: jnp.where(N, x, 2),
    "where_size": lambda jnp, x: jnp.where(x > 0.5, size=3),
    "select": lambda jnp, x: jnp.select([x > 1, x > 0.5], [x, 2 * x], 0.0),
    "choose": lambda jnp, x: jnp.choose(np.array([0, 1, 0, 1]), [x[0], x[1]], mode="clip"),
    "clip": lambda jnp, x: (jnp.clip(x, 0.2, 0.8), x.clip(0), jnp.clip(x, max=1)),
    "nonzero": lambda jnp, x: jnp.nonzero(x, size=4, fill_value=-1),
    "argwhere": lambda jnp, x: jnp.argwhere(x > 0.5, size=3),
    "bincount": lambda jnp, x: jnp.bincount(N.ravel(), x.ravel(), length=5),
    "astype": lambda jnp, x: (x.astype(int), x.astype(float), x.astype(bool)),
    "array": lambda jnp, x: (jnp.array(x), jnp.asarray(x), jnp.array(x, dtype=jnp.float16)),
    "array_of_arrays": lambda jnp, x: jnp.array([x, 2 * x]),
    "array_nested": lambda jnp, x: jnp.array([[x[0, 0], 1.0], [2, 3]]),
    "literal": lambda jnp, x: x * jnp.array(2.0) + jnp.array(1),
    "like": lambda jnp, x: jnp.zeros_like(x) + jnp.ones_like(x) * jnp.full_like(x, 3),
    "full_array": lambda jnp, x: jnp.full((3, 4), x[0]),
    "zeros": lambda jnp, x: jnp.zeros((2, 3)) + jnp.ones(3) + jnp.full((2, 3), 2),
    "scalar_types": lambda jnp, x: jnp.float32(x) + jnp.int32(3) + jnp.int8(1),
    "meshgrid": lambda jnp, x: jnp.meshgrid(x[0], x[:, 0]),
    "meshgrid_ij": lambda jnp, x: jnp.meshgrid(x[0], x[:, 0], indexing="ij", sparse=True),
    "ix_": lambda jnp, x: x[jnp.ix_(jnp.arange(2), jnp.arange(3))],
    "indices": lambda jnp, x: jnp.indices((2, 3)),
    "linspace": lambda jnp, x: (jnp.linspace(0, 1, 5), jnp.linspace(0, 10, 4, dtype=int)),
    "linspace_arrays": lambda jnp, x: jnp.linspace(x[0, 0], x[1], 4, endpoint=False),
    "linspace_one": lambda jnp, x: jnp.linspace(0, 1, 1),
    "logspace": lambda jnp, x: (jnp.logspace(0, 1, 3), jnp.geomspace(1, 100, 3)),
    "arange": lambda jnp, x: (jnp.arange(5) + x[0, 0], jnp.arange(2, 8), jnp.arange(3.0)),
    "arange_step": lambda jnp, x: (jnp.arange(1, 2, 0.3), jnp.arange(5, 0, -2)),
    "arange_dtype": lambda jnp, x: jnp.arange(3, dtype=jnp.float16),
    "eye": lambda jnp, x: (jnp.eye(3) @ x, jnp.eye(3, 4, 1, dtype=int), jnp.identity(2)),
    "tri": lambda jnp, x: jnp.tri(3),
    "view": lambda jnp, x: x.view(jnp.int32),
    "copy": lambda jnp, x: x.copy(),
    "flatten": lambda jnp, x: x.flatten(),
    "diff": lambda jnp, x: (jnp.diff(x), jnp.diff(x, 2, axis=0), jnp.diff(x, prepend=0.0)),
    "ediff1d": lambda jnp, x: jnp.ediff1d(x, to_end=1.0),
    "gradient": lambda jnp, x: (jnp.gradient(x[0]), jnp.gradient(x, 2.0, axis=1)),
    "trapezoid": lambda jnp, x: jnp.trapezoid(x),
    "vander": lambda jnp, x: jnp.vander(x[0]),
    "polyval": lambda jnp, x: jnp.polyval(x[0], 2.0),
    "polynomials": lambda jnp, x: (jnp.polyadd(x[0], x[1, :2]), jnp.polyder(x[0])),
    "delete": lambda jnp, x: jnp.delete(x, 1, axis=0),
    "insert": lambda jnp, x: jnp.insert(x, 1, 5.0, axis=0),
    "triu_indices": lambda jnp, x: jnp.triu_indices(3),
    "unique": lambda jnp, x: jnp.unique(x, size=4),
    "mgrid": lambda jnp, x: jnp.mgrid[0:2, 0:3],
    "r_": lambda jnp, x: (jnp.r_[x[0], 1.0, 0:3], jnp.c_[x[0], x[1]]),
    "windows": lambda jnp, x: (jnp.hanning(4), jnp.hamming(4), jnp.bartlett(4)),
    "packbits": lambda jnp, x: jnp.unpackbits(jnp.packbits(x > 0.5)),
    "apply_along_axis": lambda jnp, x: jnp.apply_along_axis(jnp.cos, 1, x),
    "vectorize": lambda jnp, x: jnp.vectorize(jnp.dot, signature="(n),(n)->()")(x, x[0]),
    "unwrap": lambda jnp, x: jnp.unwrap(x * 9),
    "isin": lambda jnp, x: jnp.isin(x, x[0]),
}


@pytest.mark.parametrize("what", PRINTED)
def test_printed(what):
    """Printed forms and values."""
    check(PRINTED[what], M)


VALUES = {
    "reshape_F": lambda jnp, x: (jnp.reshape(x, (4, 3), order="F"), jnp.ravel(x, order="F")),
    "split": lambda jnp, x: (jnp.split(x, 3), jnp.split(x, [1], axis=1), jnp.vsplit(x, 3)),
    "array_split": lambda jnp, x: (jnp.array_split(x, 3, axis=1), jnp.hsplit(x, 2)),
    "compress": lambda jnp, x: jnp.compress(x[:, 0] < 1, x, axis=0, size=2),
    "extract": lambda jnp, x: jnp.extract(x > 0.5, x),
    "searchsorted": lambda jnp, x: jnp.searchsorted(x[0], x, side="right"),
    "digitize": lambda jnp, x: jnp.digitize(x, np.array([0.0, 0.5, 1.0])),
    "interp": lambda jnp, x: jnp.interp(x, x[0], x[1]),
    "interp_period": lambda jnp, x: jnp.interp(x, x[0], x[1], period=1.0),
    "histogram": lambda jnp, x: jnp.histogram(x, bins=3),
    "histogram2d": lambda jnp, x: jnp.histogram2d(x[0], x[1], bins=3),
    "unique": lambda jnp, x: jnp.unique(jnp.round(x), True, True, True),
    "sets": lambda jnp, x: (jnp.union1d(x[0], x[:2]), jnp.setdiff1d(x, x[1])),
    "intersect1d": lambda jnp, x: jnp.intersect1d(x[:2], x[1:], return_indices=True),
    "intersect1d_size": lambda jnp, x: jnp.intersect1d(x[:2], x[1:], size=6, fill_value=-1.0),
    "setxor1d": lambda jnp, x: (jnp.setxor1d(x[:2], x[1:]), jnp.setxor1d(x, x[0], size=9)),
    "nonzero": lambda jnp, x: jnp.nonzero(x > 0.5),
    "trim_zeros": lambda jnp, x: jnp.trim_zeros(jnp.array([0, 0, 1, 2, 0])),
    "pad": lambda jnp, x: jnp.pad(x, ((1, 2), (0, 1)), constant_values=5.0),
    "pad_reflect": lambda jnp, x: jnp.pad(x, 3, mode="reflect"),
    "pad_odd": lambda jnp, x: jnp.pad(x, 2, mode="symmetric", reflect_type="odd"),
    "pad_edge": lambda jnp, x: jnp.pad(x, (1, 2), mode="edge"),
    "pad_wrap": lambda jnp, x: jnp.pad(x, 5, mode="wrap"),
    "pad_ramp": lambda jnp, x: jnp.pad(x, 2, mode="linear_ramp", end_values=(0, 1)),
    "pad_mean": lambda jnp, x: jnp.pad(x, 2, mode="mean", stat_length=2),
    "pad_maximum": lambda jnp, x: jnp.pad(x, 1, mode="maximum"),
    "apply_over_axes": lambda jnp, x: jnp.apply_over_axes(jnp.sum, x, (0, 1)),
    "fromfunction": lambda jnp, x: jnp.fromfunction(lambda i, j: i * 2 + j, (2, 3)),
    "piecewise": lambda jnp, x: jnp.piecewise(x, [x < 0.5, x >= 1], [lambda x: -x, 7.0]),
    "frompyfunc": lambda jnp, x: jnp.frompyfunc(lambda a, b: a * 2 + b, 2, 1).outer(x[0], x[1]),
    "ufunc_reduce": lambda jnp, x: jnp.frompyfunc(lambda a, b: a + b, 2, 1).reduce(x, axis=1),
    "ufunc_accumulate": lambda jnp, x: jnp.frompyfunc(lambda a, b: a + b, 2, 1).accumulate(x),
    "blackman": lambda jnp, x: jnp.blackman(4),
}  # fmt: skip


@pytest.mark.parametrize("what", VALUES)
def test_values(what):
    """Values where the printed form differs, or where shapes depend on values."""
    check(VALUES[what], M, printed=False)


@pytest.mark.slow
@pytest.mark.parametrize("what", PRINTED)
def test_compiled(what):
    """jit gives what the eager function gives."""
    jnp = tinyjax.numpy
    want = tinyjax.tree.leaves(PRINTED[what](jnp, jnp.asarray(M)))
    got = tinyjax.tree.leaves(tinyjax.jit(lambda x: PRINTED[what](jnp, x))(jnp.asarray(M)))
    for a, b in zip(got, want, strict=True):
        assert (a.dtype, a.shape, a.weak_type) == (b.dtype, b.shape, b.weak_type)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_compiled_insert():
    """A kernel in which a variable n stands beside the size n2."""
    jnp = tinyjax.numpy
    got = tinyjax.jit(PRINTED["insert"], static_argnums=0)(jnp, jnp.asarray(M))
    np.testing.assert_array_equal(got, np.insert(M, 1, 5.0, axis=0))


REFUSED = {
    "reshape": (lambda jnp, x: x.reshape(5, 2), ("cannot reshape array of shape (3, 4)",)),
    "reshape_two": (lambda jnp, x: x.reshape(-1, -1), ("one unknown axis size",)),
    "squeeze": (lambda jnp, x: jnp.squeeze(x, axis=0), ("squeeze",)),
    "broadcast_to": (lambda jnp, x: jnp.broadcast_to(x, (2, 3)), ("(2, 3)",)),
    "stack_nothing": (lambda jnp, x: jnp.stack([]), ("at least one array",)),
    "concatenate_scalars": (lambda jnp, x: jnp.concatenate([1, 2]), ("Zero-dimensional",)),
    "split": (lambda jnp, x: jnp.split(x, 2), ("equal division",)),
    "zeros_tuple": (lambda jnp, x: jnp.zeros(2, 3), ("zeros((2, 3))",)),
    "arange_complex": (lambda jnp, x: jnp.arange(1j), ()),
    "eye_negative": (lambda jnp, x: jnp.eye(-1), ("negative dimensions",)),
    "array_none": (lambda jnp, x: jnp.array([None]), ("None",)),
    "array_string": (lambda jnp, x: jnp.array({"a": 1}), ()),
    "where_one": (
        lambda jnp, x: jnp.where(x > 0, x),
        ("where requires ndarray or scalar", "position 2"),
    ),
    "clip_nothing": (lambda jnp, x: jnp.clip(), ("No input",)),
    "nonzero_scalar": (lambda jnp, x: jnp.nonzero(3), ("0d arrays",)),
    "pad_mode": (lambda jnp, x: jnp.pad(x, 1, mode="magic"), ("magic",)),
    "transpose": (lambda jnp, x: x.transpose(0, 3), ("axis 3 is out of bounds",)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors(case):
    """Bad arguments are refused, and named."""
    f, words = REFUSED[case]
    check_error(f, M, words=words)


def test_numpy_input_is_copied():
    """Later changes to a NumPy array are not seen."""
    jnp = tinyjax.numpy
    source = np.zeros(3, np.float32)
    arrays = [jnp.array(source), jnp.asarray(source), jnp.add(source, 0)]
    source[:] = 7
    for x in arrays:
        np.testing.assert_array_equal(np.asarray(x), np.zeros(3))


def test_arrays_and_tracers_are_ndarrays():
    """jnp.ndarray is the class of arrays and of what stands for them."""
    jnp = tinyjax.numpy
    assert isinstance(jnp.zeros(2), jnp.ndarray)
    seen = []
    tinyjax.jit(lambda x: seen.append(isinstance(x, jnp.ndarray)) or x)(1.0)
    assert seen == [True]
    assert not isinstance(np.zeros(2), jnp.ndarray)


def test_concrete_sizes_are_asked_for():
    """Under jit, functions whose result has no known shape say what to do."""
    jnp = tinyjax.numpy
    x = jnp.asarray(M)
    for f in (jnp.nonzero, jnp.unique, jnp.argwhere, lambda x: jnp.bincount(x.astype(int)[0])):
        with pytest.raises(tinyjax.errors.ConcretizationTypeError, match="static|size"):
            tinyjax.jit(f)(x)
    with pytest.raises(tinyjax.errors.ConcretizationTypeError, match="jnp.arange argument 'stop'"):
        tinyjax.jit(jnp.arange)(3)
