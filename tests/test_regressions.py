"""Programs that once went wrong, in both worlds."""

import copy
import enum
import importlib

import jax
import numpy as np
import pytest
from worlds import same_error

import tinyjax


def many_names(w):
    """A variable whose name could be that of a size."""

    def f(a, b, c, d, e, f, g, h, i, j, k, l, m, n, x, y, z):
        return n * 2, x + 1, y + 1, z + 1

    jnp = w.numpy
    args = [0.0] * 13 + [jnp.array([7]), jnp.arange(5), jnp.arange(6), jnp.arange(7)]
    return w.jit(f)(*args)


def growing(w):
    """An array in pieces inside of a piece."""
    jnp = w.numpy

    def f(x):
        for _ in range(4):
            x = jnp.concatenate([x, x[-1:] + x[-2:-1]])
        return x

    return w.jit(f)(jnp.array([1, 1]))


def appended(w):
    """The same with append."""
    jnp = w.numpy

    def f(x):
        for _ in range(4):
            x = jnp.append(x, x[-1] * 2)
        return x

    return w.jit(f)(jnp.array([1, 3]))


PROGRAMS = {
    "many_names": many_names,
    "growing": growing,
    "appended": appended,
    "deep_copies": lambda w: w.jit(w.grad(lambda d: copy.deepcopy(d)["a"] ** 3))({"a": 2.0}),
    "copies": lambda w: w.vmap(lambda x: copy.copy(x) * 2)(w.numpy.arange(3)),
    "reflected": lambda w: w.jit(lambda x: w.numpy.pad(x, 2, mode="reflect"))(w.numpy.arange(2.0)),
    "not_true": lambda w: w.jit(lambda a: ~w.numpy.isfinite(a))(w.numpy.arange(3)),
    "sum_of_not_true": lambda w: w.jit(lambda a: w.numpy.sum(~w.numpy.isfinite(a)))(
        w.numpy.arange(3)
    ),
    "true_less": lambda w: w.jit(lambda a: w.numpy.full((3,), True) < (a > 0))(w.numpy.arange(3)),
    "choice_by_not_true": lambda w: w.jit(lambda a: w.numpy.where(~w.numpy.isfinite(a), 1, 2))(
        w.numpy.arange(3)
    ),
    "weak_mask": lambda w: w.jit(lambda t, x: (t > 0.5) * x)(1.0, w.numpy.arange(3.0)),
    "weak_bool": lambda w: (w.numpy.array(3) > 2) * w.numpy.ones(2),
    "scatter_into_nothing": lambda w: w.numpy.zeros(0).at[w.numpy.array([0])].set(1),
    "scatter_into_empty_rows": lambda w: w.numpy.zeros((2, 0)).at[:, w.numpy.array([0])].add(1),
    "narrow_product_wraps": lambda w: w.numpy.arange(3, dtype="int8") * 200,
    "gather_over_carry": lambda w: w.lax.fori_loop(
        0, 10, lambda i, r: r[w.numpy.array([1, 2, 3, 0])], w.numpy.arange(4)
    ),
    "slice_of_reversed": lambda w: w.jit(lambda a: w.lax.slice(w.lax.rev(a, (0,)), (0,), (1,)))(
        w.numpy.arange(3)
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_worlds_agree(name):
    assert repr(PROGRAMS[name](tinyjax)) == repr(PROGRAMS[name](jax))


def shown(w, transform, *args):
    """How a tracer prints."""
    texts = []

    def f(x):
        texts.append(str(x))
        return x

    transform(w, f)(*args)
    return texts


TRACERS = {
    "jit": lambda w, f: w.jit(f),
    "grad": lambda w, f: w.grad(f),
    "grad_of_grad": lambda w, f: w.grad(w.grad(f)),
    "jit_of_grad": lambda w, f: w.jit(w.grad(f)),
    "jvp": lambda w, f: lambda x: w.jvp(f, (x,), (1.0,)),
    "vmap": lambda w, f: lambda x: w.vmap(f)(np.full(2, x, np.float32)),
}


@pytest.mark.parametrize("name", TRACERS)
def test_tracers_print_as_in_jax(name):
    assert shown(tinyjax, TRACERS[name], 2.0) == shown(jax, TRACERS[name], 2.0)


def test_tracers_have_no_hash_and_no_list():
    with pytest.raises(TypeError, match="unhashable"):
        tinyjax.jit(lambda x: {x: 1})(3.0)
    with pytest.raises(tinyjax.errors.ConcretizationTypeError, match="tolist"):
        tinyjax.jit(lambda x: x.tolist())(3.0)


def test_large_integers_beside_arrays_overflow():
    with pytest.raises(OverflowError, match="too large"):
        tinyjax.numpy.ones(3) + 2**40


# ---- arrays in pieces, mapped over new axes -----------------------------------------------------


@pytest.mark.parametrize("lead", [(), (2,), (3, 2)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (3, 2)])
@pytest.mark.parametrize("axis", [0, 1])
def test_joined_arrays_fill_every_row_of_a_broadcast(axis, shape, lead):
    """The pieces do not depend on the new axes, but each row needs them all."""
    jnp = tinyjax.numpy
    a, b = np.random.default_rng(1).normal(size=(2, *shape)).astype(np.float32)

    def f(a, b):
        c = jnp.concatenate([a * 2, b + 1, a], axis=axis)
        d = jnp.pad(a * 2, ((1, 0), (0, 2)), constant_values=3.0)
        spread = [jnp.broadcast_to(x, lead + x.shape) * 2 for x in (c, d)]
        return [*spread, c.sum(), jnp.broadcast_to(c[..., None], (*c.shape, 3))]

    for ours, want in zip(tinyjax.jit(f)(a, b), f(jnp.asarray(a), jnp.asarray(b)), strict=True):
        np.testing.assert_allclose(ours, want, rtol=1e-6)


@pytest.mark.parametrize("place", [(0, 1), (2, -1)])
def test_scatter_under_vmap_knows_its_place_before_the_loop(place):
    """The index is joined from two numbers: its lines belong outside of the loop over the batch."""
    jnp = tinyjax.numpy
    x, v = jnp.zeros((3, 4, 4)), jnp.arange(3.0)
    out = tinyjax.jit(tinyjax.vmap(lambda x, v: x.at[place].set(v)))(x, v)
    want = np.zeros((3, 4, 4), np.float32)
    want[(slice(None), *place)] = np.arange(3)
    np.testing.assert_array_equal(out, want)


# ---- conversions --------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [float, complex, lambda x: complex(x).real])
def test_a_number_under_grad_is_no_plain_number(convert):
    """It would lose its derivative without a word."""
    for transform in (lambda w, f: w.grad(f), lambda w, f: w.jit(f), lambda w, f: w.jit(w.grad(f))):
        same_error(lambda w, t=transform: t(w, lambda x: x * convert(x))(2.0), "traced array")


VIEWS = {
    "complex_as_float": (np.array([1 + 2j, 3 - 1j], np.complex64), "float32"),
    "complex_as_bytes": (np.array([1j], np.complex64), "uint8"),
    "floats_as_complex": (np.arange(8, dtype=np.float32).reshape(2, 4), "complex64"),
    "float_as_int": (np.ones(3, np.float32), "int32"),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views(name):
    x, dtype = VIEWS[name]
    np.testing.assert_array_equal(tinyjax.numpy.asarray(x).view(dtype), x.view(dtype))


def test_lists_have_shapes_with_a_warning():
    for function in ("shape", "ndim", "size"):
        with pytest.warns(DeprecationWarning, match="requires ndarray or scalar"):
            found = getattr(tinyjax.numpy, function)([[1, 2]])
        assert found == getattr(np, function)([[1, 2]])


def test_dtypes_alone_decide_what_a_vector_of_leaves_is():
    tree = {"a": np.arange(2, dtype=np.int32), "b": np.ones(2, np.float16), "c": 2.0}
    ours, theirs = (
        importlib.import_module(f"{world}.flatten_util").ravel_pytree(tree)[0]
        for world in ("tinyjax", "jax")
    )
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


# ---- functions that are called like something in a driver ---------------------------------------

NAMES = "sort lu top_k cumsum reduce dot_general_c sort_0 Array args errstate contiguous in_parts "
NAMES += "to_keys take_scratch take_scratch_0 give_scratch_0 new_b no_f32 literal_0 TypeError v0"


@pytest.mark.parametrize("name", NAMES.split())
def test_names_of_functions_are_free(name):
    def program(w, x):
        jnp = w.numpy
        y = jnp.sort(x) * 2 + jnp.cumsum(x, 0) @ x.T
        return y / 3 + w.lax.top_k(x, 2)[0].sum(), jnp.linalg.slogdet(x @ x.T), 1.5

    def named(w):
        f = lambda x: program(w, x)
        f.__name__ = name
        return w.jit(f)

    x = np.random.default_rng(0).normal(size=(40, 40)).astype(np.float32)[:, ::-1]
    got, want = (w.tree.leaves(named(w)(x)) for w in (tinyjax, jax))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)


# ---- arrays that are none ------------------------------------------------------------------------

ODD = {
    "big endian": (np.array([1, 2], ">i4"), ">i4 array is not a valid JAX type: use x.astype"),
    "text": (np.array(["a"]), "not a valid JAX type"),
    "objects": (np.array([None]), "not a valid JAX type"),
    "long double": (np.ones(2, np.longdouble), "not a valid JAX type"),
    "dates": (np.array(["2026-11-30"], "datetime64[D]"), "not a valid JAX type"),
    "records": (np.zeros(2, [("a", "f4")]), "not a valid JAX type"),
}


@pytest.mark.parametrize("name", ODD)
def test_arrays_of_no_known_dtype_are_refused(name):
    x, message = ODD[name]
    for take in (tinyjax.jit(lambda x: x), tinyjax.device_put, tinyjax.numpy.asarray):
        with pytest.raises(TypeError, match=message):
            take(x)
    with pytest.raises(TypeError):
        jax.jit(lambda x: x)(x)


def test_masked_arrays_are_refused():
    x = np.ma.array([1.0, 2.0], mask=[False, True])
    for w in (tinyjax, jax):
        with pytest.raises(ValueError, match="masked arrays are not supported"):
            w.jit(lambda x: x + 1)(x)


def test_a_loop_sees_what_a_captured_numpy_array_holds_now():
    seen = []
    for w in (tinyjax, jax):
        array = np.ones(3, np.float32)
        add = lambda c, _, array=array: (c + array, None)
        results = []
        for k in range(4):
            array[:] = k
            results.append(np.asarray(w.lax.scan(add, w.numpy.zeros(3), None, 2)[0]).tolist())
        seen.append(results)
    assert seen[0] == seen[1] == [[2.0 * k] * 3 for k in range(4)]


def test_a_dump_folder_that_cannot_be_made_is_told_and_done_without(tmp_path):
    (tmp_path / "file").write_text("")
    tinyjax.config.update("tinyjax_dump", str(tmp_path / "file" / "below"))
    try:
        with pytest.warns(RuntimeWarning, match="nothing is written to the folder of the flag"):
            assert tinyjax.jit(lambda x: x * 2.625 + 1)(2.0) == 6.25
    finally:
        tinyjax.config.update("tinyjax_dump", None)


# ---- numbers of the user's classes ---------------------------------------------------------------


class Level(enum.IntEnum):
    HIGH = 3


class Metres(float):
    pass


@pytest.mark.parametrize("number", [Level.HIGH, Metres(2.5)], ids=repr)
def test_numbers_of_derived_classes_are_numbers(number):
    def results(w):
        jnp = w.numpy
        return [
            jnp.ones(2) * number,
            w.jit(lambda x: x + 1)(number),
            w.jit(lambda x, n: x * n, static_argnums=1)(jnp.ones(2), number),
            jnp.array([number]),
            jnp.where(True, number, 1),
            jnp.maximum(jnp.arange(5), number),
            jnp.zeros(2).at[0].set(number),
            w.grad(lambda x: x * number)(2.0),
        ]

    for got, want in zip(*map(results, (tinyjax, jax)), strict=True):
        np.testing.assert_array_equal(got, want)
        assert (got.dtype, got.weak_type) == (want.dtype, want.weak_type)
