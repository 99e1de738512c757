"""Indexing and its kin beyond the table of cards: random dimension numbers, odd indices, errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tinyjax
from tinyjax import lax

F, I32 = np.float32, np.int32

# ---- random gathers and scatters ----------------------------------------------------------------


class Windows:
    """A random operand, indices and dimension numbers that fit together."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        rank, batch_rank = rng.integers(1, 5), rng.integers(0, 3)
        self.shape = tuple(int(n) for n in rng.integers(1, 5, rank))
        axes = [int(a) for a in rng.permutation(rank)]
        roles = [rng.choice(["dropped", "shared", "window"], p=[0.3, 0.2, 0.5]) for _ in axes]
        shared = sorted(a for a, r in zip(axes, roles) if r == "shared")
        dropped = tuple(sorted(a for a, r in zip(axes, roles) if r == "dropped"))
        indexed = [a for a in axes if a not in shared and (a in dropped or rng.random() < 0.6)]
        if not indexed:  # XLA's scatter-add loses updates when no axis has an index
            indexed = [a for a in axes if a not in shared][:1]
        batch = [int(n) for n in rng.integers(1, 4, batch_rank)]
        shared_at = []
        for axis in shared:  # a batch axis of the operand's size, somewhere
            place = int(rng.integers(0, len(batch) + 1))
            shared_at = [p + (p >= place) for p in shared_at] + [place]
            batch.insert(place, self.shape[axis])
        gone = (*dropped, *shared)
        self.sizes = tuple(
            1 if d in gone else int(rng.integers(0 if rng.random() < 0.1 else 1, n + 1))
            for d, n in enumerate(self.shape)
        )
        kept = rank - len(gone)
        offsets = sorted(rng.permutation(kept + len(batch))[:kept])
        self.numbers = (
            tuple(int(d) for d in offsets),
            dropped,
            tuple(indexed),
            tuple(shared),
            tuple(shared_at),
        )
        self.operand = rng.standard_normal(self.shape).astype(F)
        self.indices = rng.integers(-2, 6, (*batch, len(indexed))).astype(I32)

    def gather(self, world, operand, indices, mode):
        """The windows."""
        numbers = world.GatherDimensionNumbers(*self.numbers)
        return world.gather(operand, indices, numbers, self.sizes, mode=mode)

    def scatter(self, world, kind, operand, indices, updates, mode):
        """The windows replaced, or combined with updates."""
        numbers = world.ScatterDimensionNumbers(*self.numbers)
        return getattr(world, kind)(operand, indices, updates, numbers, mode=mode)


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("seed", range(25))
def test_random_gathers(seed, mode):
    w = Windows(seed)
    mine = w.gather(lax, w.operand, w.indices, mode)
    np.testing.assert_array_equal(mine, w.gather(jax.lax, w.operand, w.indices, mode))


@pytest.mark.parametrize("mode", ["clip", "drop"])
@pytest.mark.parametrize("seed", range(25))
def test_random_scatters(seed, mode):
    w = Windows(seed)
    shape = w.gather(lax, w.operand, w.indices, "clip").shape
    updates = w.rng.standard_normal(shape).astype(F)
    for kind in ("scatter", "scatter_add", "scatter_max"):
        args = (kind, w.operand, w.indices, updates, mode)
        mine, others = w.scatter(lax, *args), w.scatter(jax.lax, *args)
        np.testing.assert_allclose(mine, others, rtol=1e-5, atol=1e-5, err_msg=kind)


@pytest.mark.parametrize("seed", range(12))
def test_scatter_add_is_the_transpose_of_gather(seed):
    w = Windows(seed)
    out, pull = tinyjax.vjp(lambda x: w.gather(lax, x, w.indices, "fill"), w.operand)
    inside = np.where(np.isnan(out), 0, out)
    ct = w.rng.standard_normal(out.shape).astype(F)
    np.testing.assert_allclose(
        np.vdot(inside, ct), np.vdot(w.operand, pull(ct)[0]), rtol=1e-4, atol=1e-4
    )


# ---- odd indices --------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [-9, -5, -1, 0, 2, 3, 4, 100, 2**31 - 1, -(2**31)])
def test_starts_are_moved_until_the_slice_fits(start):
    x = np.arange(5)
    start = np.array(start, I32)
    mine = lax.dynamic_slice(x, (start,), (3,))
    np.testing.assert_array_equal(mine, jax.lax.dynamic_slice(x, (start,), (3,)))
    update = np.array([7, 8, 9])
    mine = lax.dynamic_update_slice(x, update, (start,))
    np.testing.assert_array_equal(mine, jax.lax.dynamic_update_slice(x, update, (start,)))


def test_every_slice_of_a_slice_is_moved_to_fit_its_own_operand():
    def nested(world):
        def f(x, i):
            return world.dynamic_slice(world.dynamic_slice(x, (i,), (4,)), (i,), (2,))

        return f

    x = np.arange(6)
    for i in range(-7, 8):
        i = np.array(i, I32)
        np.testing.assert_array_equal(nested(lax)(x, i), nested(jax.lax)(x, i))


def test_wide_unsigned_indices_are_beyond_the_end():
    x = np.arange(5)
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    indices = np.array([[2**32 - 1], [1]], np.uint32)
    np.testing.assert_array_equal(lax.gather(x, indices, numbers, (1,), mode="clip"), [4, 1])
    filled = lax.gather(x, indices, numbers, (1,), mode="fill", fill_value=-7)
    np.testing.assert_array_equal(filled, [-7, 1])


def test_repeated_indices_add_up_and_the_last_write_wins():
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    indices, updates = np.array([[1], [1], [1]]), np.array([1.0, 2.0, 4.0], F)
    x = np.zeros(3, F)
    np.testing.assert_array_equal(lax.scatter_add(x, indices, updates, numbers), [0, 7, 0])
    np.testing.assert_array_equal(lax.scatter(x, indices, updates, numbers), [0, 4, 0])
    pull = tinyjax.vjp(lambda u: lax.scatter(x, indices, u, numbers), updates)[1]
    np.testing.assert_array_equal(pull(np.ones(3, F))[0], [0, 0, 1])


def test_a_window_partly_outside_is_dropped_as_a_whole():
    numbers = lax.ScatterDimensionNumbers((1,), (), (0,))
    x, updates = np.zeros(4, F), np.ones((1, 3), F)
    dropped = lax.scatter_add(x, np.array([[2]]), updates, numbers, mode="drop")
    np.testing.assert_array_equal(dropped, [0, 0, 0, 0])
    clipped = lax.scatter_add(x, np.array([[2]]), updates, numbers, mode="clip")
    np.testing.assert_array_equal(clipped, [0, 1, 1, 1])


@pytest.mark.parametrize("kind", ["scatter", "scatter_add", "scatter_max"])
@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_one_index_without_a_batch(kind, mode):
    x = np.arange(6.0, dtype=F).reshape(2, 3)
    for numbers, index, update in [
        (((), (0, 1), (0, 1)), [1, 2], 9),
        (((), (0, 1), (0, 1)), [1, 3], 9),
        (((0,), (0,), (0,)), [1], [7, 8, 9]),
        (((0,), (0,), (0,)), [-1], [7, 8, 9]),
        (((0, 1), (), ()), [], [[1, 2, 3], [4, 5, 6]]),
    ]:

        def run(world, numbers=numbers, index=index, update=update):
            numbers = world.ScatterDimensionNumbers(*numbers)
            args = x, np.array(index, I32), np.array(update, F)
            return getattr(world, kind)(*args, numbers, mode=mode)

        np.testing.assert_array_equal(run(lax), run(jax.lax))


def test_operands_are_never_written_to():
    x, u = np.arange(5.0, dtype=F), np.full(2, 9, F)
    mine = lax.neg(-x)
    lax.dynamic_update_slice(mine, u, (1,))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    lax.scatter_add(mine, np.array([[0], [0]]), u, numbers)
    np.testing.assert_array_equal(mine, x)


def test_functions_are_applied_once_for_each_index():
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    x, indices = np.array([2.0, 3.0, 5.0], F), np.array([[0], [2], [2], [7]])
    out = lax.scatter_apply(x, indices, lax.square, numbers, update_shape=(4,))
    np.testing.assert_array_equal(out, [4, 3, 625])


# ---- derivatives the table cannot ask for -------------------------------------------------------


def test_stop_gradient_hides_a_value_from_derivatives():
    def f(world):
        def loss(x):
            tree = world.stop_gradient({"a": x, "b": (world.neg(x),)})
            return world.reduce_sum(world.add(world.mul(tree["a"], x), tree["b"][0]), (0,))

        return loss

    x = np.arange(3.0, dtype=F)
    np.testing.assert_array_equal(tinyjax.grad(f(lax))(x), x)
    np.testing.assert_array_equal(tinyjax.grad(f(lax))(x), jax.grad(f(jax.lax))(x))
    assert str(tinyjax.make_jaxpr(tinyjax.vmap(lax.stop_gradient))(x)) == str(
        jax.make_jaxpr(jax.vmap(jax.lax.stop_gradient))(x)
    )


def test_the_cotangent_of_a_padding_value():
    def f(value):
        padded = lax.pad(np.ones((2, 3), F), value, [(1, 2, 0), (0, 1, 1)])
        return lax.reduce_sum(padded, (0, 1))

    assert float(tinyjax.grad(f)(F(2))) == 5 * 6 - 2 * 3


def test_bits_of_a_batch_whose_axis_is_last():
    x = np.arange(8, dtype=np.int16).reshape(2, 4)  # four pairs of halves

    def join(pair):
        return lax.bitcast_convert_type(pair, np.int32)

    mine = tinyjax.vmap(join, in_axes=1)(x)
    np.testing.assert_array_equal(mine, np.ascontiguousarray(x.T).view(np.int32)[:, 0])


# ---- printed forms ------------------------------------------------------------------------------


def test_scatters_share_the_program_of_their_update():
    def twice(world):
        numbers = world.ScatterDimensionNumbers((1,), (0,), (0,))

        def f(x, indices, updates):
            x = world.scatter_add(x, indices, updates, numbers)
            return world.scatter_add(x, indices, updates, numbers)

        return f

    args = np.ones((3, 4), F), np.zeros((2, 1), I32), np.ones((2, 4), F)
    assert str(tinyjax.make_jaxpr(twice(lax))(*args)) == str(jax.make_jaxpr(twice(jax.lax))(*args))


# ---- errors -------------------------------------------------------------------------------------

X = np.ones((3, 4), F)
G, S = lax.GatherDimensionNumbers, lax.ScatterDimensionNumbers
I1 = np.zeros((2, 1), I32)
U = np.ones((2, 4), F)
MATMUL = (((1,), (0,)), ((), ()))

ERRORS = {
    "slice rank": (lambda w: w.slice(X, (0,), (1,)), "length equal to the number of dimensions"),
    "slice limits": (lambda w: w.slice(X, (0, 0), (4, 4)), "less than or equal to operand shape"),
    "slice negative": (lambda w: w.slice(X, (-1, 0), (2, 2)), "greater than or equal to zero"),
    "slice order": (lambda w: w.slice(X, (2, 0), (1, 2)), "greater than or equal to start_indices"),
    "slice strides": (lambda w: w.slice(X, (0, 0), (2, 2), (1,)), "strides"),
    "index_in_dim": (lambda w: w.index_in_dim(X, 3), "index 3 is out of bounds for axis 0"),
    "pad dtype": (lambda w: w.pad(X, 1, ((0, 0, 0),) * 2), "must be same dtype"),
    "pad rank": (lambda w: w.pad(X, 0.0, ((0, 0, 0),)), "length of padding_config"),
    "pad interior": (lambda w: w.pad(X, 0.0, ((0, 0, -1),) * 2), "must be nonnegative"),
    "pad size": (lambda w: w.pad(X, 0.0, ((-9, 0, 0),) * 2), "not at least 0"),
    "concatenate nothing": (lambda w: w.concatenate([], 0), "non-empty"),
    "concatenate axis": (lambda w: w.concatenate([X, X], 2), "dimension out of bounds"),
    "concatenate shapes": (lambda w: w.concatenate([X, X[:, :2]], 0), "shapes that differ"),
    "concatenate ranks": (lambda w: w.concatenate([X, X[0]], 0), "different numbers of dimensions"),
    "concatenate dtypes": (lambda w: w.concatenate([X, X.astype(I32)], 0), "same dtypes"),
    "split": (lambda w: w.split(X, (1, 1)), "Sum of sizes 2 must be equal to dimension 0"),
    "split negative": (lambda w: w.split(X, (4, -1)), "nonnegative"),
    "stack shapes": (lambda w: w.stack([X, X[:2]]), "All input arrays must have the same shape"),
    "unstack": (lambda w: w.unstack(F(1)), "0|rank"),
    "rev": (lambda w: w.rev(X, (0, 0)), "rev dimensions must be unique"),
    "tile": (lambda w: w.tile(X, (2,)), "reps length must be equal"),
    "iota": (lambda w: w.broadcasted_iota(I32, (2,), 1), "iota dimension must be between 0"),
    "reduce_precision": (lambda w: w.reduce_precision(X, 0, 2), "exponent_bits must be positive"),
    "bitcast": (lambda w: w.bitcast_convert_type(X > 0, I32), "does not support bool or complex"),
    "bitcast size": (lambda w: w.bitcast_convert_type(np.ones(3, np.int8), I32), "Attempting"),
    "dynamic_slice count": (lambda w: w.dynamic_slice(X, (0,), (1, 1)), "must match number of op"),
    "dynamic_slice size": (lambda w: w.dynamic_slice(X, (0, 0), (4, 1)), "less than or equal to"),
    "dynamic_slice dtype": (
        lambda w: w.dynamic_slice(X, (F(0), F(0)), (1, 1)),
        "must be integers of the same type",
    ),
    "dynamic_slice negative": (
        lambda w: w.dynamic_slice(X, (-1, 0), (1, 1), allow_negative_indices=False),
        "Index -1 is out of bounds for dimension 3",
    ),
    "dynamic_update_slice rank": (
        lambda w: w.dynamic_update_slice(X, X[0], (0, 0)),
        "update must have the same rank as operand",
    ),
    "dynamic_update_slice size": (
        lambda w: w.dynamic_update_slice(X, np.ones((4, 4), F), (0, 0)),
        "update shape must be smaller than operand",
    ),
    "gather float indices": (
        lambda w: w.gather(X, I1.astype(F), G((1,), (0,), (0,)), (1, 4)),
        "indices must have an integer type",
    ),
    "gather map": (lambda w: w.gather(X, I1, G((1,), (0,), (0, 1)), (1, 4)), "start_index_map"),
    "gather offsets": (lambda w: w.gather(X, I1, G((5,), (0,), (0,)), (1, 4)), "[Oo]ffset"),
    "gather sizes": (lambda w: w.gather(X, I1, G((1,), (0,), (0,)), (2, 4)), "only collapse slice"),
    "gather large": (lambda w: w.gather(X, I1, G((1,), (0,), (0,)), (1, 5)), "out of range"),
    "gather mode": (
        lambda w: w.gather(X, I1, G((1,), (0,), (0,)), (1, 4), mode="nearest"),
        'Unknown gather mode "nearest"',
    ),
    "scatter dtypes": (
        lambda w: w.scatter_add(X, I1, U.astype(I32), S((1,), (0,), (0,))),
        "lax.scatter requires arguments to have the same dtypes",
    ),
    "scatter rank": (lambda w: w.scatter_add(X, I1, U[0], S((1,), (0,), (0,))), "of rank 2; got 1"),
    "scatter window": (
        lambda w: w.scatter_add(X, I1, np.ones((2, 5), F), S((1,), (0,), (0,))),
        "must not exceed the bounds",
    ),
    "scatter count": (
        lambda w: w.scatter_add(X, I1, np.ones((3, 4), F), S((1,), (0,), (0,))),
        "Bounds of the scatter dimensions",
    ),
    "dot shapes": (lambda w: w.dot(X, X), "dimension_numbers must be specified"),
    "dot sizes": (lambda w: w.dot_general(X, X, MATMUL), "contracting dimensions to have the same"),
    "dot axes": (lambda w: w.dot_general(X, X, (((2,), (0,)), ((), ()))), "nonnegative and less"),
    "dot twice": (lambda w: w.dot_general(X, X, (((0, 0), (0, 1)), ((), ()))), "to be distinct"),
    "dot dtypes": (lambda w: w.dot_general(X, X.T, MATMUL, precision="best"), "Precision argument"),
    "dot preset": (
        lambda w: w.dot_general(X, X.T, MATMUL, precision="TF32_TF32_F32"),
        "not supported by dot_general on CPU",
    ),
    "dot narrow": (
        lambda w: w.dot(np.ones(2, I32), np.ones(2, I32), preferred_element_type=np.int8),
        "must not be narrower",
    ),
    "batch_matmul": (lambda w: w.batch_matmul(X, X[None]), "must have same ndim"),
    "collapse": (lambda w: w.collapse(X, 2, 1), "Invalid dimension range"),
}


class Oracle:
    """jax.lax, with its own dimension numbers in the place of ours."""

    def __getattr__(self, name):
        function = getattr(jax.lax, name)

        def call(*args, **kwargs):
            args = [self.translate(a) for a in args]
            return function(*args, **kwargs)

        return call

    def translate(self, x):
        """Our dimension numbers as the oracle's; NumPy arrays as its arrays."""
        if isinstance(x, np.ndarray):
            return jnp.asarray(x)
        name = type(x).__name__
        return getattr(jax.lax, name)(*x) if name.endswith("DimensionNumbers") else x


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_what_is_wrong(name):
    call, message = ERRORS[name]
    with pytest.raises((TypeError, ValueError, IndexError), match=message) as mine:
        call(lax)
    with pytest.raises((TypeError, ValueError, IndexError)) as others:
        jax.jit(lambda: call(Oracle()))()
    assert mine.type in (others.type, TypeError)
