"""Profiling a compiled program: what is counted is what the driver does; the results stay."""

import threading

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.compiler import drive
from tinyjax.compiler.profile import Profile, Row, size
from tinyjax.compiler.threads import planning


def compiled(f, *args):
    """f, compiled for such arguments."""
    return tinyjax.jit(f).lower(*args).compile()


def layer(w, x):
    return jnp.tanh(jnp.sort(w @ x, axis=0)) * 2.0


W, X = jnp.ones((100, 50)), jnp.ones((50, 40))


def test_rows_are_the_kernels_and_call_outs_of_the_text():
    f = compiled(layer, W, X)
    rows = {row.name: row for row in f.profile(W, X).rows}
    assert [name.rpartition("_")[0] for name in rows] == ["dot_general", "sort", "layer"]
    for name, row in rows.items():
        assert f"{name}(" in f.kernels()
        assert row.calls == 1 and row.threads == 1 and row.seconds > 0
    product, sort, kernel = rows.values()
    assert product.bytes == 4 * (100 * 50 + 50 * 40 + 100 * 40)
    assert sort.bytes == kernel.bytes == 4 * 2 * 100 * 40


def test_the_parts_add_up_to_the_whole():
    profile = compiled(layer, W, X).profile(W, X)
    parts = sum(row.seconds for row in [*profile.rows, profile.memory])
    assert profile.between == max(0.0, profile.seconds - parts)
    assert {len(row.times) for row in [*profile.rows, profile.memory]} == {
        len(profile.memory.times)
    }
    assert len(profile.memory.times) >= 5


def test_a_kernel_that_threads_share_is_one_row(monkeypatch):
    monkeypatch.setattr(drive, "pieces", lambda n, *_: [(0, n // 2), (n // 2, n)])
    with planning(2):
        f = compiled(lambda x: jnp.exp(jnp.sin(x)) + 1.0, jnp.ones(1_000_003))
        (row,) = f.profile(jnp.ones(1_000_003)).rows
    assert (row.calls, row.threads) == (1, 2)
    assert row.bytes == 2 * 4 * 1_000_003


def test_the_program_is_the_same_afterwards():
    x = jnp.arange(12.0)
    f = compiled(lambda x: (jnp.sin(x), jnp.sort(x)), x)
    before, run = f(x), f.runtime_executable().compiled
    f.profile(x)
    assert f.runtime_executable().compiled is run
    for one, other in zip(before, f(x)):
        np.testing.assert_array_equal(one, other)


def test_arguments_are_checked_as_in_a_call():
    f = compiled(lambda x, scale: x * scale, jnp.ones(3), 2.0)
    with pytest.raises(TypeError, match="input pytree does not match"):
        f.profile(jnp.ones(3))
    with pytest.raises(TypeError, match="Argument types differ"):
        f.profile(jnp.ones(4), 2.0)
    assert f.profile(jnp.ones(3), 3.0).rows


def test_an_operand_that_is_being_computed_is_waited_for():
    x = jnp.ones((1500, 1500))
    f = compiled(lambda x: x + 1.0, x)
    product = tinyjax.jit(lambda x: x @ x @ x)
    product(x)
    assert len(f.profile(product(x)).rows) == 1


def test_operands_that_are_no_rows_one_after_the_other_are_copied_by_the_driver():
    x = jnp.asarray(np.ones((30, 20), np.float32).T)
    (row,) = compiled(lambda x: jnp.sin(x) + 1.0, x).profile(x).rows
    assert row.calls == 1 and row.bytes == 2 * 4 * 600


def test_random_keys_and_captured_arrays():
    table, key = jnp.arange(1000.0), tinyjax.random.key(0)
    f = compiled(lambda key: tinyjax.random.normal(key, (1000,)) + table, key)
    assert f.profile(key).rows


def test_a_program_without_kernels():
    profile = compiled(lambda: 3).profile()
    assert profile.rows == [] and profile.seconds > 0
    assert str(profile).splitlines()[-1].startswith("_lambda_")


def test_a_program_that_could_not_be_compiled_says_so(monkeypatch):
    def refuse(*_):
        raise ValueError("no kernels today")

    monkeypatch.setattr(drive.backend, "compile_kernels", refuse)
    f = compiled(lambda x: jnp.sin(x) * 3.25, jnp.ones(3))
    with (
        pytest.warns(RuntimeWarning, match="no kernels today"),
        pytest.raises(RuntimeError, match="'<lambda>' has no kernels to look at.*no kernels today"),
    ):
        f.profile(jnp.ones(3))


def test_two_threads_may_profile_at_once():
    f, failed = compiled(layer, W, X), []

    def run():
        try:
            assert len(f.profile(W, X).rows) == 3
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []


def test_the_table():
    rows = [Row("f_0", 1, 2, 3_000_000, [1e-3, 2e-3, 9e-3]), Row("sort_1", 2, 1, 4000, [4e-6])]
    profile = Profile("f", rows, Row("(memory)", times=[1e-6]), 4e-3)
    assert str(profile).splitlines() == [
        "          calls  threads    time      bytes  GB/s  share",
        "f_0           1        2  2.0 ms  3,000,000   1.5   50 %",
        "sort_1        2        1  4.0 us      4,000   1.0    0 %",
        "(memory)                  1.0 us                     0 %",
        "(driver)                  2.0 ms                    50 %",
        "f                         4.0 ms                   100 %",
    ]
    assert repr(profile) == str(profile)


def test_sizes():
    x = np.zeros(3, np.float32)
    assert size((x, [x, (1, x)], 7, None)) == 36
