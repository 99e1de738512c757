"""Checks of pmap that hold on every engine: functions without arguments, on all devices there are.

pytest runs them on the engines of this process (test_parallel.py); as a program, this file runs
them on the engine that it finds, which test_mpi.py uses:

    mpiexec -n 3 python -m tinyjax.mpi tests/parallel_checks.py [names]

Values are compared with NumPy's, and with those of vmap, which other tests compare with JAX.
"""

import functools
import sys
import threading
import time
import traceback

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax

CHECKS = {}  # name -> function
FAULTS = {}  # the same, of what an engine must notice: devices that do not meet


def check(f):
    """Register a check."""
    CHECKS[f.__name__] = f
    return f


def fault(f):
    """Register a check of a fault."""
    FAULTS[f.__name__] = f
    return f


def count():
    """How many devices to use: all, but no more than 4, since they may share few cores."""
    return min(jax.device_count(), 4)


def data(*shape, dtype=np.float32, seed=0):
    """Numbers whose sums depend on the order of summation, where that is possible."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count(), *shape)) * 10.0 ** rng.integers(-3, 4, (count(), *shape))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(x.shape)
    if np.dtype(dtype).kind in "iu":
        x = np.clip(np.abs(x), 0, 50)
    if np.dtype(dtype) == bool:
        x = x > 0
    return x.astype(dtype)


def equal(got, want):
    """Assert that arrays have the same types and the same bits (or are both NaN)."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{got.dtype}, not {want.dtype}"
    assert got.shape == want.shape, f"{got.shape}, not {want.shape}"
    same = got.tobytes() == want.tobytes() or np.array_equal(got, want)
    assert same, f"got\n{got}\nwant\n{want}"


def close(got, want, rtol=2e-5):
    """Assert that arrays are nearly the same."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{got.dtype}, not {want.dtype}"
    np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-5 * max(1, np.abs(want).max()))


def as_vmap(f, *args, axis_name="i", compare=close, **axes):
    """Assert that pmap and vmap of a function agree."""
    got = jax.pmap(f, axis_name=axis_name, **axes)(*args)
    want = jax.vmap(f, axis_name=axis_name, **axes)(*args)
    leaves, tree = jax.tree.flatten(got)
    wanted, wanted_tree = jax.tree.flatten(want)
    assert tree == wanted_tree
    for x, y in zip(leaves, wanted, strict=True):
        compare(x, y)


def in_order(ufunc, rows):
    """rows[0] + rows[1] + ... from left to right, in the dtype of the rows."""
    return functools.reduce(ufunc, rows)


def everywhere(x):
    """x as each device has it."""
    return np.stack([np.asarray(x)] * count())


# ---- collectives, bit for bit --------------------------------------------------------------------

SHAPES = [(), (3,), (0,), (4, 5), (3000, 7)]  # the last does not fit into a small message
DTYPES = [np.float32, np.float16, jnp.bfloat16, np.int32, np.uint8, np.complex64]


def collective(f, *args):
    """f under pmap with axis "i"."""
    return jax.pmap(f, axis_name="i")(*args)


@check
def psum_adds_in_the_order_of_devices():
    for dtype in DTYPES:
        for shape in SHAPES:
            x = data(*shape, dtype=dtype)
            equal(collective(lambda x: lax.psum(x, "i"), x), everywhere(in_order(np.add, x)))


@check
def psum_of_booleans_counts():
    x = data(5, dtype=bool)
    equal(collective(lambda x: lax.psum(x, "i"), x), everywhere(x.sum(0, dtype=np.int32)))


@check
def psum_has_the_same_bits_everywhere_and_always():
    x = data(3000)
    # out_axes=0 of what depends on the index: each device computes on its own copy
    f = jax.pmap(lambda x: lax.psum(x, "i") + 0 * lax.axis_index("i"), axis_name="i")
    first = np.asarray(f(x))
    for row in first:
        equal(row, first[0])
    for _ in range(5):
        equal(f(x), first)


@check
def pmax_and_pmin():
    for dtype in (np.float32, jnp.bfloat16, np.int32):
        for shape in SHAPES:
            x = data(*shape, dtype=dtype)
            equal(collective(lambda x: lax.pmax(x, "i"), x), everywhere(x.max(0)))
            equal(collective(lambda x: lax.pmin(x, "i"), x), everywhere(x.min(0)))


@check
def extremes_of_nan():
    x = data(3)
    x[1, 1] = np.nan
    equal(collective(lambda x: lax.pmax(x, "i"), x), everywhere(x.max(0)))


@check
def pmean_of_a_tree():
    x, y = data(3), data(2, 2, seed=1)
    got = collective(lambda t: lax.pmean(t, "i"), {"x": x, "y": (y,)})
    close(got["x"], everywhere(x.mean(0)))
    close(got["y"][0], everywhere(y.mean(0)))


@check
def all_gather_stacks():
    for dtype in [*DTYPES, bool]:
        for shape in SHAPES:
            x = data(*shape, dtype=dtype)
            equal(collective(lambda x: lax.all_gather(x, "i"), x), everywhere(x))
    x = data(2, 3)
    tiled = np.concatenate(list(x), 1)
    equal(collective(lambda x: lax.all_gather(x, "i", axis=1, tiled=True), x), everywhere(tiled))


@check
def psum_scatter_splits_the_sum():
    for dtype in DTYPES:
        for shape in SHAPES:
            x = data(count(), *shape, dtype=dtype)
            equal(collective(lambda x: lax.psum_scatter(x, "i"), x), in_order(np.add, x))
    x = data(2 * count(), 3)
    got = collective(lambda x: lax.psum_scatter(x, "i", tiled=True), x)
    equal(got, in_order(np.add, x).reshape(count(), 2, 3))


@check
def all_to_all_transposes():
    for dtype in [*DTYPES, bool]:
        for shape in SHAPES:
            x = data(count(), *shape, dtype=dtype)
            equal(collective(lambda x: lax.all_to_all(x, "i", 0, 0), x), np.swapaxes(x, 0, 1))


@check
def ppermute_moves():
    n = count()
    for dtype in [*DTYPES, bool]:
        for shape in SHAPES:
            x = data(*shape, dtype=dtype)
            ring = [(k, (k + 1) % n) for k in range(n)]
            equal(collective(lambda x, ring=ring: lax.ppermute(x, "i", ring), x), np.roll(x, 1, 0))
            got = collective(lambda x: lax.ppermute(x, "i", [(0, 1)]), x)
            want = np.zeros_like(x)
            want[1] = x[0]
            equal(got, want)
    order = list(reversed(range(n)))
    x = data(3)
    equal(collective(lambda x: lax.pshuffle(x, "i", order), x), x[order])


@check
def the_index_of_a_device():
    got = collective(lambda x: lax.axis_index("i") + 0 * x, np.zeros(count(), np.int32))
    equal(got, np.arange(count(), dtype=np.int32))
    assert collective(lambda x: x * lax.axis_size("i"), np.ones(count()))[0] == count()


@check
def groups_of_indices():
    n = count()
    if n < 4:
        return
    groups = [[0, 3], [1, 2]]
    x = data(2500)
    want = np.stack([x[0] + x[3], x[1] + x[2], x[1] + x[2], x[0] + x[3]])
    equal(collective(lambda x: lax.psum(x, "i", axis_index_groups=groups), x), want)
    gathered = np.stack([x[[0, 3]], x[[1, 2]], x[[1, 2]], x[[0, 3]]])
    got = collective(lambda x: lax.all_gather(x, "i", axis_index_groups=groups), x)
    equal(got, gathered)


# ---- compositions --------------------------------------------------------------------------------


@check
def normalised_by_the_sum():
    as_vmap(lambda x: x / lax.psum(jnp.abs(x), "i"), data(6))
    as_vmap(lambda x: (x - lax.pmean(x, "i")) / (1 + lax.pmax(x, "i")), data(6))


@check
def axes_of_operands_and_results():
    n = count()
    x, y = data(3), data(2, seed=1)
    as_vmap(lambda x, y: x * y[0], x.T, y, in_axes=(1, 0), out_axes=1, compare=equal)
    as_vmap(lambda x, y: (x + y, y * 2), x, y[0, 0], in_axes=(0, None), compare=equal)
    got = jax.pmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)(x)
    equal(got, in_order(np.add, x))
    equal(jax.pmap(lambda x: x * 2, devices=jax.devices()[1:n])(x[1:]), x[1:] * 2)


@check
def loops_and_branches_with_collectives():
    def loop(x):
        return lax.scan(
            lambda c, _: (jnp.tanh(c + lax.pmean(c, "i")), lax.psum(c, "i")), x, length=4
        )

    def branch(x):
        total = lax.psum(x, "i")
        return lax.cond(total[0] > 0, lambda: lax.pmax(x, "i"), lambda: lax.pmin(x, "i"))

    def until(x):
        return lax.while_loop(
            lambda c: lax.pmax(c, "i") < 50, lambda c: c + lax.axis_index("i") + 1, x
        )

    as_vmap(loop, data(3))
    as_vmap(branch, data(3))
    as_vmap(until, np.zeros(count(), np.int32))


@check
def derivatives_through_and_inside():
    x, w = data(5), data(5, seed=1)[0]

    def loss(w, x):
        return jnp.sum(jnp.sin(w) * x) / 100

    as_vmap(lambda x: lax.pmean(jax.grad(loss)(jnp.asarray(w), x), "i"), x)
    through = lambda mapped: jax.grad(
        lambda w: jnp.sum(mapped(lambda x: loss(w, x) * lax.psum(x, "i"), axis_name="i")(x))
    )(jnp.asarray(w))
    close(through(jax.pmap), through(jax.vmap), rtol=1e-3)


@check
def inside_of_jit_and_vmap():
    x = data(3, 4)
    f = lambda x: lax.psum(x, "i") * 2
    equal(jax.jit(jax.pmap(f, axis_name="i"))(x), jax.pmap(f, axis_name="i")(x))
    equal(
        jax.vmap(jax.pmap(f, axis_name="i"), in_axes=1)(x),
        np.swapaxes(np.asarray(jax.pmap(f, axis_name="i")(x)), 0, 1),
    )
    as_vmap(lambda x: jax.vmap(lambda y: y - lax.pmean(y, ("i", "j")), axis_name="j")(x), x)


@check
def pmap_inside_pmap():
    n = count()
    rows = 2
    columns = n // rows
    x = data(1500).reshape(rows, columns, 1500)

    def inner(x):
        return (
            lax.psum(x, "j"),
            lax.psum(x, "i"),
            lax.psum(x, ("i", "j")),
            lax.all_gather(x, "i"),
            x * (lax.axis_index("i") * 10 + lax.axis_index("j")),
        )

    nest = lambda m: m(m(inner, axis_name="j"), axis_name="i")(x)
    for got, want in zip(nest(jax.pmap), nest(jax.vmap), strict=True):
        close(got, want)


# ---- data ----------------------------------------------------------------------------------------


@check
def dtypes_pass_through():
    for dtype in [*DTYPES, bool, np.int8, np.int16, np.uint32]:
        x = data(3, dtype=dtype)
        equal(jax.pmap(lambda x: x)(x), x)
    with jax.enable_x64(True):
        x = data(3, dtype=np.float64)
        equal(jax.pmap(lambda x: x * 2)(x), x * 2)


@check
def random_keys():
    keys = jax.random.split(jax.random.key(3), count())
    draw = lambda key: jax.random.normal(key, (3,))
    close(jax.pmap(draw)(keys), jax.vmap(draw)(keys))
    split = lambda key: jax.random.split(key)
    got, want = jax.pmap(split)(keys), jax.vmap(split)(keys)
    equal(jax.random.key_data(got), jax.random.key_data(want))
    equal(
        jax.pmap(lambda k: jax.random.uniform(k[0]))(got),
        jax.vmap(lambda k: jax.random.uniform(k[0]))(want),
    )
    raw = jax.random.split(jax.random.PRNGKey(0), count())
    close(jax.pmap(draw)(raw), jax.vmap(draw)(raw))
    one = jax.random.key(7)
    as_vmap(lambda i, k: jax.random.fold_in(k, i).shape[0:0] + (jax.random.uniform(k),),
            np.arange(count()), one, in_axes=(0, None))  # fmt: skip


@check
def large_arrays():
    x = data(1 << 20)  # 4 MB on each device
    f = jax.pmap(lambda x: (lax.psum(x, "i"), x * 2), axis_name="i")
    total, double = f(x)
    equal(double, x * 2)
    equal(total, everywhere(in_order(np.add, x)))
    odd = data(1_000_003)
    equal(collective(lambda x: lax.psum(x, "i"), odd), everywhere(in_order(np.add, odd)))
    n = count()
    pieces = data(n, (1 << 18) + 1)
    equal(collective(lambda x: lax.all_to_all(x, "i", 0, 0), pieces), np.swapaxes(pieces, 0, 1))
    equal(collective(lambda x: lax.psum_scatter(x, "i"), pieces), in_order(np.add, pieces))
    equal(collective(lambda x: lax.pshuffle(x, "i", [*range(1, n), 0]), x), np.roll(x, -1, 0))


@check
def results_go_into_the_next_call():
    f = jax.pmap(lambda x: x + lax.psum(x, "i") / 8, axis_name="i")
    g = jax.pmap(lambda x, y: x * y)
    x = data(10)
    y, want = jnp.asarray(x), x
    for _ in range(5):
        y, want = f(y), want + in_order(np.add, want) / np.float32(8)
    close(y, want)
    close(g(y, f(y)), want * (want + in_order(np.add, want) / np.float32(8)))
    close(y + 1, want + 1)  # and into what is no pmap


@check
def calls_run_in_order():
    step = jax.pmap(lambda x: x + 1)
    x = jnp.zeros((count(), 4))
    kept = []
    for _ in range(200):  # sent off without waiting
        x = step(x)
        kept.append(x)
    assert float(x[0, 0]) == 200
    assert [float(k[count() - 1, 3]) for k in kept[::50]] == [1, 51, 101, 151]


@check
def what_is_put_may_change_afterwards():
    x = data(100_000)
    want = x * 2
    out = jax.pmap(lambda x: x * 2)(x)
    x[...] = 0
    equal(out, want)


@check
def many_programs_and_many_arrays():
    for k in range(30):
        x = data(100 * k + 1, seed=k)
        equal(jax.pmap(lambda x, k=k: x + k)(x), x + np.float32(k))


@check
def calls_from_several_threads():
    f = jax.pmap(lambda x: x + lax.psum(x, "i"), axis_name="i")
    g = jax.pmap(lambda x: lax.all_gather(x, "i")[0] * x, axis_name="i")
    wrong = []

    def work(seed):
        x = data(50, seed=seed)
        for _ in range(20):
            a, b = np.asarray(f(x)), np.asarray(g(f(x)))
            total = x + in_order(np.add, x)
            if not np.array_equal(a, total) or not np.array_equal(b, total[0] * total):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not wrong


# ---- callbacks and errors ------------------------------------------------------------------------


@check
def callbacks_run_where_the_user_is():
    seen = []  # a closure's list: only if the function runs in this process do we see it change

    def host(i, x):
        seen.append(int(i))
        return np.asarray(x) * 3

    def f(x):
        i = lax.axis_index("i")
        tripled = jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), i, x)
        return lax.psum(tripled, "i")

    x = data(4)
    got = jax.pmap(f, axis_name="i")(x)
    close(got, everywhere(in_order(np.add, x * 3)))
    assert sorted(seen) == list(range(count())), seen


@check
def debug_callbacks():
    seen = []

    def f(x):
        jax.debug.callback(lambda x: seen.append(float(x)), x)
        return x + 1

    x = np.arange(count(), dtype=np.float32)
    equal(jax.pmap(f)(x), x + 1)
    jax.effects_barrier()
    assert sorted(seen) == x.tolist(), seen


@check
def callbacks_may_look_at_other_results():
    """While devices wait for one another and for the callback."""
    earlier = jax.pmap(lambda x: x + 1)(data(3000))

    def host(i):
        return np.asarray(earlier)[i, 0]

    def f(i):
        return lax.psum(jax.pure_callback(host, jax.ShapeDtypeStruct((), np.float32), i), "i")

    got = jax.pmap(f, axis_name="i")(np.arange(count()))
    equal(got, everywhere(in_order(np.add, (data(3000) + 1)[:, 0])))


class Refusal(Exception):
    """An error of the user's own."""


def refuse_third(i):
    """A callback that raises on the last device."""
    if int(i) == count() - 1:
        raise Refusal("not this one")
    return np.float32(i)


@check
def exceptions_arrive():
    def f(x):
        i = lax.axis_index("i")
        value = jax.pure_callback(refuse_third, jax.ShapeDtypeStruct((), np.float32), i)
        return lax.psum(value + x, "i")  # the others wait here

    mapped = jax.pmap(f, axis_name="i")
    x = np.zeros(count(), np.float32)
    for _ in range(3):
        error = error_of(lambda: mapped(x).block_until_ready())
        chain = [error, error.__cause__, error.__context__]
        assert any(isinstance(e, Refusal) for e in chain), repr(error)
        frames = [f.name for e in chain if e for f in traceback.extract_tb(e.__traceback__)]
        assert "refuse_third" in frames, frames
        notes = "".join(error.__notes__)
        assert f"cpu:{count() - 1}" in notes, notes
        assert "'f'" in notes, notes
        close(collective(lambda x: lax.psum(x, "i"), x + 1), x + count())


@check
def a_failed_call_spoils_what_is_behind_it():
    def f(x):
        value = jax.pure_callback(
            refuse_third, jax.ShapeDtypeStruct((), np.float32), lax.axis_index("i")
        )
        return value + x

    x = np.zeros(count(), np.float32)
    made = []

    def run():
        made.append(jax.pmap(f, axis_name="i")(x))
        made.append(jax.pmap(lambda y: lax.psum(y, "i"), axis_name="i")(made[0]))
        made[1].block_until_ready()

    error_of(run)
    if made:
        error_of(made[0].block_until_ready)
        error_of(lambda: jax.pmap(lambda y: y + 1)(made[0]).block_until_ready())
    equal(jax.pmap(lambda x: x + 1)(x), x + 1)


def error_of(run):
    """The exception that a function raises."""
    try:
        run()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


# ---- faults --------------------------------------------------------------------------------------


def uneven(first, second):
    """On device 0 the first, elsewhere the second collective."""
    return lambda x: lax.cond(lax.axis_index("i") == 0, first, second, x)


@fault
def devices_in_different_collectives():
    cases = [
        (lambda x: lax.psum(x, "i"), lambda x: lax.pmax(x, "i")),
        (lambda x: lax.psum(x, "i"), lambda x: x + lax.psum(x[:2], "i")[0]),
        (lambda x: lax.psum(x, "i"), lambda x: lax.all_gather(x, "i")[0]),
    ]
    for size in (3, 5000):
        for first, second in cases:
            start = time.monotonic()
            mapped = jax.pmap(uneven(first, second), axis_name="i")
            error = error_of(
                lambda mapped=mapped, size=size: mapped(data(size)).block_until_ready()
            )
            assert isinstance(error, RuntimeError), repr(error)
            assert "collective" in str(error), str(error)
            assert time.monotonic() - start < 20
            again()


@fault
def a_collective_that_some_devices_leave_out():
    start = time.monotonic()
    mapped = jax.pmap(uneven(lambda x: lax.psum(x, "i"), lambda x: x), axis_name="i")
    error = error_of(lambda: mapped(data(3)).block_until_ready())
    assert isinstance(error, RuntimeError), repr(error)
    assert "collective" in str(error), str(error)
    assert time.monotonic() - start < 20
    again()


def again():
    """After an error the next sum is right."""
    x = data(5000)
    equal(collective(lambda x: lax.psum(x, "i"), x), everywhere(in_order(np.add, x)))


# ---- as a program --------------------------------------------------------------------------------


def main(names):
    """Run checks -> how many failed."""
    failed = 0
    for name, f in (CHECKS | FAULTS).items():
        if names and name not in names:
            continue
        start = time.perf_counter()
        try:
            f()
            outcome = "passed"
        except Exception:
            failed += 1
            outcome = "FAILED\n" + traceback.format_exc()
        print(f"{name}: {time.perf_counter() - start:.2f} s: {outcome}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 100))
