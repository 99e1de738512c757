"""Flags: names, values, environment variables, scopes and threads."""

import asyncio
import contextvars
import os
import subprocess
import sys
import threading

import jax
import numpy as np
import pytest

from tinyjax.config import (
    FLAGS,
    config,
    current_flags,
    debug_nans,
    default_matmul_precision,
    disable_jit,
    enable_x64,
    flag_from_environment,
    numpy_dtype_promotion,
    numpy_rank_promotion,
)
from tinyjax.foreign_flags import log_compiles


@pytest.fixture
def restored():
    """Put every flag back after the test."""
    before = {name: getattr(config, name) for name in FLAGS}
    yield
    for name, value in before.items():
        config.update(f"tinyjax_{name}", value)


def in_thread(fun):
    """Run fun in a new thread and return its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(fun()))
    thread.start()
    thread.join()
    return results[0]


# ---------------------------------------------------------------- names and values


def test_flags_that_jax_has_start_alike():
    same = "enable_x64 disable_jit debug_nans debug_infs debug_key_reuse check_tracer_leaks "
    same += "enable_checks numpy_dtype_promotion numpy_rank_promotion default_matmul_precision "
    same += "default_prng_impl threefry_partitionable enable_custom_prng"
    for name in same.split():
        assert FLAGS[name].default == getattr(jax.config, f"jax_{name}"), name
    assert FLAGS["explicit_x64_dtypes"].default == jax.config.jax_explicit_x64_dtypes.name.lower()


@pytest.mark.parametrize("prefix", ["jax_", "tinyjax_"])
def test_update_takes_both_prefixes(restored, prefix):
    config.update(prefix + "enable_x64", True)
    assert config.enable_x64 is config.jax_enable_x64 is config.tinyjax_enable_x64 is True
    assert current_flags().enable_x64 is config.x64_enabled is True


def test_update_takes_jax_names_of_our_flags(restored):
    config.update("jax_num_cpu_devices", 3)
    assert config.num_devices == config.jax_num_cpu_devices == 3
    config.update("jax_compilation_cache_dir", "somewhere")
    assert config.cache_dir == "somewhere"
    config.update("jax_traceback_filtering", "off")
    assert config.traceback == "full"
    config.update("jax_platform_name", "cpu")
    assert config.platforms == "cpu"


def test_unknown_flags_name_near_matches():
    with pytest.raises(AttributeError, match="jax_enable_x46. Did you mean 'jax_enable_x64'"):
        config.update("jax_enable_x46", True)
    with pytest.raises(AttributeError, match="option: enable_x64. Did you mean 'jax_enable_x64'"):
        config.update("enable_x64", True)  # jax wants the prefix as well
    with pytest.raises(AttributeError, match="The options are: enable_x64, disable_jit"):
        config.update("jax_zzz", True)
    with pytest.raises(AttributeError, match="jax_debug_nan. Did you mean 'debug_nans'"):
        config.jax_debug_nan
    with pytest.raises(AttributeError, match="Did you mean 'debug_nans'"):
        current_flags().debug_nan


def test_flags_cannot_be_assigned():
    with pytest.raises(AttributeError, match=r"use config.update\('jax_enable_x64', True\)"):
        config.jax_enable_x64 = True


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("enable_x64", "yes", "jax_enable_x64 must be of type bool, got 'yes' of type str"),
        ("enable_x64", 2, "must be of type bool, got 2"),
        ("enable_x64", 1.0, "must be of type bool, got 1.0"),
        ("enable_x64", None, "must be of type bool, got None"),
        ("num_devices", "8", "must be of type int, got '8'"),
        ("num_devices", True, "must be of type int, got True"),
        ("num_devices", 0, "must be at least 1, got 0"),
        ("numpy_dtype_promotion", "lax", "must be one of 'standard', 'strict', got 'lax'"),
        ("numpy_rank_promotion", None, "must be of type str, got None"),
        ("default_matmul_precision", "best", "'highest'.* or None, got 'best'"),
        ("threefry_partitionable", False, "must be one of True, got False"),
        ("platforms", "gpu", "must be one of 'cpu', got 'gpu'"),
        ("cache_dir", 3, "must be of type str or None, got 3"),
    ],
)  # fmt: skip
def test_wrong_values_are_refused(name, value, message):
    before = getattr(config, name)
    with pytest.raises(ValueError, match=message):
        config.update(f"jax_{name}", value)
    assert getattr(config, name) == before


def test_right_values_become_canonical(restored):
    for value in (1, np.bool_(True), True):
        config.update("jax_enable_x64", value)
        assert config.enable_x64 is True
    config.update("jax_default_matmul_precision", "highest")
    config.update("jax_default_matmul_precision", None)
    assert config.default_matmul_precision is None


def test_repr_lists_every_flag():
    for name, flag in FLAGS.items():
        assert f"{name}={getattr(config, name)!r}" in repr(config)
        assert flag.doc in repr(config) and "\n" not in flag.doc


# ---------------------------------------------------------------- environment


@pytest.mark.parametrize(
    ("name", "environ", "value"),
    [
        ("enable_x64", {}, False),
        ("enable_x64", {"TINYJAX_ENABLE_X64": "1"}, True),
        ("enable_x64", {"JAX_ENABLE_X64": "True"}, True),
        ("enable_x64", {"JAX_ENABLE_X64": "on", "TINYJAX_ENABLE_X64": "no"}, False),
        ("num_devices", {"TINYJAX_NUM_DEVICES": " 4 "}, 4),
        ("num_devices", {"JAX_NUM_CPU_DEVICES": "2"}, 2),
        ("cache_dir", {"TINYJAX_CACHE_DIR": "/some/Where"}, "/some/Where"),
        ("cache_dir", {"TINYJAX_CACHE_DIR": ""}, None),
        ("default_matmul_precision", {"JAX_DEFAULT_MATMUL_PRECISION": "None"}, None),
        ("traceback", {"JAX_TRACEBACK_FILTERING": "off"}, "full"),
        ("platforms", {"JAX_PLATFORMS": "cuda,cpu"}, "cpu"),
    ],
)
def test_environment_gives_the_starting_value(name, environ, value):
    assert flag_from_environment(FLAGS[name], environ) == value


@pytest.mark.parametrize(
    ("name", "environ", "message"),
    [
        ("enable_x64", {"TINYJAX_ENABLE_X64": "maybe"}, "TINYJAX_ENABLE_X64 must be a boolean"),
        ("num_devices", {"JAX_NUM_DEVICES": "many"}, "JAX_NUM_DEVICES must be an integer"),
        ("num_devices", {"TINYJAX_NUM_DEVICES": "-1"}, "TINYJAX_NUM_DEVICES must be at least 1"),
        ("traceback", {"TINYJAX_TRACEBACK": "some"}, "TINYJAX_TRACEBACK must be one of 'filtered'"),
    ],
)
def test_environment_is_read_strictly(name, environ, message):
    with pytest.raises(ValueError, match=message):
        flag_from_environment(FLAGS[name], environ)


def test_environment_of_a_process():
    program = "from tinyjax.config import config; print(config.enable_x64, config.num_devices)"
    environ = {**os.environ, "JAX_ENABLE_X64": "1", "TINYJAX_NUM_DEVICES": "5"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "5"]


# ---------------------------------------------------------------- scopes


def test_scopes_nest_and_restore():
    with enable_x64(True):
        with enable_x64(False), debug_nans():
            assert (config.enable_x64, config.debug_nans) == (False, True)
        assert (config.enable_x64, config.debug_nans) == (True, False)
    assert config.enable_x64 is False


def test_scope_restores_after_an_error():
    with pytest.raises(ZeroDivisionError), enable_x64(True):
        1 / 0
    assert config.enable_x64 is False


def test_every_scope_function_as_jax_has_it():
    names = ["enable_x64", "debug_nans", "debug_infs", "debug_key_reuse", "check_tracer_leaks"]
    names += ["enable_checks", "numpy_dtype_promotion", "numpy_rank_promotion", "disable_jit"]
    names += ["default_matmul_precision", "threefry_partitionable", "default_prng_impl"]
    names += ["enable_custom_prng"]
    for name in names:
        ours, theirs = getattr(sys.modules["tinyjax.config"], name), getattr(jax, name)
        value = FLAGS[name].choices[-1] if FLAGS[name].choices else True
        with ours(value), theirs(value):
            assert getattr(config, f"jax_{name}") == getattr(jax.config, f"jax_{name}") == value


def test_scope_defaults_and_missing_values():
    with disable_jit():
        assert config.disable_jit is True
        with disable_jit(disable=False):
            assert config.disable_jit is False
    with pytest.raises(TypeError, match="numpy_rank_promotion.. needs the flag's new value"):
        numpy_rank_promotion()
    with pytest.raises(ValueError, match="argument of numpy_dtype_promotion.. must be one of"):
        numpy_dtype_promotion("loose")


def test_scope_decorates_and_is_reentrant():
    scope = enable_x64(True)

    @scope
    def read(depth):
        """Docstring."""
        return [config.enable_x64] + (read(depth - 1) if depth else [])

    assert read(2) == [True, True, True]
    assert read.__doc__ == "Docstring." and config.enable_x64 is False
    with scope, enable_x64(False):
        with scope:
            assert config.enable_x64 is True
        assert config.enable_x64 is False
    assert config.enable_x64 is False


def test_scopes_of_generators_may_overlap():
    def worker():
        with enable_x64(True):
            yield

    generator = worker()
    next(generator)
    with debug_nans():
        generator.close()
        assert (config.enable_x64, config.debug_nans) == (False, True)
    assert (config.enable_x64, config.debug_nans) == (False, False)


# ---------------------------------------------------------------- threads


def test_scope_stays_in_its_thread():
    with enable_x64(True):
        assert in_thread(lambda: config.enable_x64) is False
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with enable_x64(True):
            entered.set()
            leave.wait(10)
            return config.enable_x64

    results = []
    thread = threading.Thread(target=lambda: results.append(hold()))
    thread.start()
    entered.wait(10)
    assert config.enable_x64 is False
    leave.set()
    thread.join()
    assert results == [True]


def test_update_reaches_every_thread_but_not_past_scopes(restored):
    with enable_x64(True):
        in_thread(lambda: config.update("jax_enable_x64", False))
        in_thread(lambda: config.update("jax_debug_infs", True))
        assert (config.enable_x64, config.debug_infs) == (True, True)
        assert in_thread(lambda: (config.enable_x64, config.debug_infs)) == (False, True)
    assert (config.enable_x64, config.debug_infs) == (False, True)


def test_one_scope_in_many_threads():
    scope, barrier = numpy_dtype_promotion("strict"), threading.Barrier(4)
    results = []

    def work():
        for _ in range(200):
            with scope:
                inside = config.numpy_dtype_promotion
            results.append((inside, config.numpy_dtype_promotion))
        barrier.wait(10)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [("strict", "standard")] * 800


def test_updates_race_with_scopes(restored):
    stop, wrong = threading.Event(), []

    def scopes():
        while not stop.is_set():
            with debug_nans():
                pass

    def updates():
        for n in range(1, 301):
            config.update("jax_num_devices", n)
            with debug_nans():
                if config.num_devices != n:
                    wrong.append(n)
        stop.set()

    threads = [threading.Thread(target=scopes), threading.Thread(target=updates)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_scope_in_a_coroutine_stays_there():
    async def inside():
        with enable_x64(True):
            await asyncio.sleep(0.01)
            return config.enable_x64

    async def outside():
        await asyncio.sleep(0.005)
        return config.enable_x64

    async def both():
        return await asyncio.gather(inside(), outside())

    assert asyncio.run(both()) == [True, False]


def test_update_reaches_a_copied_context(restored):
    with enable_x64(True):
        context = contextvars.copy_context()
    config.update("jax_debug_nans", True)
    assert context.run(lambda: (config.enable_x64, config.debug_nans)) == (True, True)


def test_forked_child_can_change_flags():
    program = (
        "import os; from tinyjax.config import config, enable_x64\n"
        "pid = os.fork()\n"
        "config.update('jax_debug_nans', True)\n"
        "with enable_x64(True): pass\n"
        "if pid == 0: os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "7"


# ---------------------------------------------------------------- the trace key


def test_trace_key_is_hashable_and_follows_the_flags(restored):
    start = config.trace_key()
    hash(start)
    scopes = [enable_x64(True), disable_jit(), numpy_dtype_promotion("strict")]
    scopes += [numpy_rank_promotion("raise"), default_matmul_precision("highest")]
    keys = [start]
    for scope in scopes:
        with scope:
            keys.append(config.trace_key())
            assert config.trace_key() == current_flags().trace_key
        assert config.trace_key() == start
    assert len(set(keys)) == len(keys)
    with enable_x64(True):
        scoped = config.trace_key()
    config.update("jax_enable_x64", True)
    assert config.trace_key() == scoped  # the values count, not where they come from
    with numpy_rank_promotion("warn"):
        inside = config.trace_key()
        config.update("jax_enable_x64", False)
        assert config.trace_key() != inside  # an update shows inside a scope too


def test_trace_key_ignores_flags_that_change_no_trace(restored):
    start = config.trace_key()
    config.update("jax_num_cpu_devices", 2)
    with log_compiles():
        assert config.trace_key() == start
