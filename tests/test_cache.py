"""The disk cache of kernels: whatever happens to it, calls give their results."""

import os
import shutil
import stat
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from kernels import elementwise

from tinyjax.compiler import backend, cache
from tinyjax.config import config, current_flags
from tinyjax.parallel import processes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache folder of its own."""
    monkeypatch.delenv("TINYJAX_CACHE_DIR", raising=False)
    before = config.cache_dir
    config.update("jax_compilation_cache_dir", str(tmp_path))
    yield tmp_path / "kernels"
    config.update("jax_compilation_cache_dir", before)


@pytest.fixture
def small(folder):
    """The smallest limit: 4096 bytes for entries whose names start with the same two letters."""
    config.update("tinyjax_cache_megabytes", 1)
    yield folder
    config.update("tinyjax_cache_megabytes", 512)


def build(expression):
    """Build a kernel as a new process would, and check that it works -> the name of its entry."""
    source, codes = elementwise(expression, "f32", "f32")
    x, out = np.full(20, 0.5, np.float32), np.empty(20, np.float32)
    backend._build("k", source, codes)(x, out)
    python = np.empty_like(out)
    backend.run_source_in_python("k", source)(x, python)
    np.testing.assert_allclose(out, python, rtol=1e-6)
    return cache.key(source, codes)


def path_of(folder, name):
    """Where an entry lies."""
    return folder / name[:2] / name


def run(code, folder, **environment):
    """What a fresh interpreter prints, with its cache below this folder."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "TINYJAX_CACHE_DIR": str(folder.parent), **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    return done.stdout.split()


def all_whole(folder):
    """Whether all files below a cache folder are entries that can be read; there must be some."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return bool(files) and all(cache.load(path.name) is not None for path in files)


# ---- warm starts --------------------------------------------------------------------------------


def test_a_warm_process_loads_no_compiler(folder):
    code = """
        import sys, tinyjax as jax, tinyjax.numpy as jnp
        print(jax.jit(lambda x: jnp.sum(jnp.sin(x) ** 2 + jnp.cos(x) ** 2))(jnp.ones(64)))
        print("llvmlite" in sys.modules, "numba" in sys.modules)
    """
    assert run(code, folder)[:2] == ["64.0", "True"]
    assert run(code, folder) == ["64.0", "False", "False"]


def test_kernels_that_are_compiled_or_loaded_are_counted(folder):
    code = """
        import tinyjax as jax
        jax.jit(lambda x: x * 2 + 1)(1.0).block_until_ready()
        print(*jax.runtime.kernel_counts())
    """.replace("jax.runtime", "__import__('tinyjax.runtime').runtime")
    assert run(code, folder) == ["1", "0"]
    assert run(code, folder) == ["0", "1"]


# ---- damage -------------------------------------------------------------------------------------


def test_entries_are_private_and_whole(folder):
    name = build("x[i] + f32(0.25)")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not path_of(folder, name).stat().st_mode & 0o077
    assert all_whole(folder)


def test_an_entry_that_was_cut_anywhere_is_no_entry(folder):
    name = build("x[i] * f32(0.75)")
    path = path_of(folder, name)
    good = path.read_bytes()
    for length in range(len(good)):
        path.write_bytes(good[:length])
        assert cache.load(name) is None, length
    path.write_bytes(good + b"\0")
    assert cache.load(name) is None
    path.write_bytes(good)
    assert cache.load(name) is not None


def test_an_entry_with_any_byte_changed_is_no_entry(folder):
    name = build("x[i] * f32(0.75)")
    path = path_of(folder, name)
    good = path.read_bytes()
    for i in range(len(good)):
        path.write_bytes(good[:i] + bytes([good[i] ^ 64]) + good[i + 1 :])
        assert cache.load(name) is None, i


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "older", "of another", "foreign"])
def test_a_bad_entry_is_compiled_again_and_replaced(folder, damage):
    name, other = build("x[i] * f32(0.75)"), build("x[i] * f32(0.25)")
    path = path_of(folder, name)
    good = path.read_bytes()
    bad = {
        "empty": b"",
        "cut": good[: len(good) // 2],
        "changed": good[:-9] + bytes([good[-9] ^ 1]) + good[-8:],
        "older": good.replace(cache.MAGIC, b"tinyjax kernel 1\n"),
        "of another": path_of(folder, other).read_bytes(),
        "foreign": b"#!/bin/sh",
    }
    path.write_bytes(bad[damage])
    assert cache.load(name) is None
    assert build("x[i] * f32(0.75)") == name
    assert path.read_bytes() == good


# ---- disks that do not work ---------------------------------------------------------------------


def test_a_folder_that_cannot_be_used_is_done_without(folder, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    for place in (str(file), str(file / "below"), "/proc/nowhere", "a\0b", ""):
        config.update("jax_compilation_cache_dir", place)
        assert cache.folder() is None
        build("x[i] - f32(0.25)")


def test_a_full_disk_is_done_without(folder):
    code = """
        import resource
        import tinyjax as jax
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        print(jax.jit(lambda x: x * 2 + 1)(1.0))
    """
    assert run(code, folder, PYTHONDONTWRITEBYTECODE="1") == ["3.0"]
    assert not [path for path in folder.rglob("*") if path.is_file()]
    assert run(code.replace("1000", "2**30"), folder) == ["3.0"]
    assert all_whole(folder)


@pytest.mark.parametrize("function", ["open", "replace", "makedirs", "utime", "scandir"])
def test_a_failing_disk_is_done_without(folder, monkeypatch, function):
    def fail(*args, **options):
        raise OSError(30, "Read-only file system")

    name = build("x[i] - f32(0.5)")
    old = time.time() - 2 * cache.DAY
    os.utime(path_of(folder, name), (old, old))
    monkeypatch.setattr(cache.os, function, fail)
    build("x[i] - f32(0.5)")
    build("x[i] - f32(0.75)")
    monkeypatch.undo()
    assert all_whole(folder)


def test_what_can_be_read_is_used_where_nothing_can_be_written(folder, monkeypatch):
    name = build("x[i] - f32(0.125)")
    real = os.open

    def read_only(path, flags, *mode):
        if flags & (os.O_CREAT | os.O_WRONLY):
            raise OSError(30, "Read-only file system")
        return real(path, flags, *mode)

    monkeypatch.setattr(cache.os, "open", read_only)
    assert cache.load(name)
    cache.store("0" * 64, b"code")
    assert cache.load("0" * 64) is None


def test_the_folder_may_be_deleted_at_any_time(folder):
    build("x[i] - f32(0.0625)")
    shutil.rmtree(folder)
    build("x[i] - f32(0.0625)")
    assert all_whole(folder)


def test_the_folder_may_be_a_link_to_one_elsewhere(folder, tmp_path):
    (tmp_path / "large disk").mkdir()
    folder.symlink_to(tmp_path / "large disk")
    name = build("x[i] - f32(0.03125)")
    assert cache.load(name) and all_whole(tmp_path / "large disk")


# ---- other users --------------------------------------------------------------------------------


def test_a_folder_open_to_others_is_closed(folder):
    folder.mkdir()
    folder.chmod(0o777)
    assert cache.folder() == str(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    name = build("x[i] / f32(0.75)")
    monkeypatch.setattr(cache.os, "getuid", lambda: os.geteuid() + 1)
    assert cache.folder() is None
    assert cache.load(name) is None
    build("x[i] / f32(0.75)")


def test_a_file_of_another_user_is_not_run(folder, monkeypatch):
    name = build("x[i] / f32(0.5)")
    real = os.fstat
    foreign = {**dict.fromkeys(range(10)), stat.ST_UID: os.getuid() + 1}

    def fstat(handle):
        seen = real(handle)
        return os.stat_result([seen[k] if foreign[k] is None else foreign[k] for k in range(10)])

    monkeypatch.setattr(cache.os, "fstat", fstat)
    assert cache.load(name) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_run_but_replaced(folder, mode):
    name = build("x[i] / f32(0.25)")
    path_of(folder, name).chmod(mode)
    assert cache.load(name) is None
    build("x[i] / f32(0.25)")
    assert stat.S_IMODE(path_of(folder, name).stat().st_mode) == 0o600
    assert cache.load(name)


def test_a_link_is_not_followed_but_replaced(folder, tmp_path):
    name = build("x[i] / f32(0.125)")
    path, elsewhere = path_of(folder, name), tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    assert cache.load(name) is None
    build("x[i] / f32(0.125)")
    assert not path.is_symlink() and cache.load(name)
    assert elsewhere.read_bytes() == before


def test_a_folder_in_place_of_an_entry_is_done_without(folder):
    name = build("x[i] / f32(8.0)")
    path = path_of(folder, name)
    path.unlink()
    path.mkdir()
    assert cache.load(name) is None
    build("x[i] / f32(8.0)")
    assert not list(path.parent.glob("writing-*"))


# ---- many at once -------------------------------------------------------------------------------

FILL = """
    import sys, time
    import tinyjax as jax, tinyjax.numpy as jnp
    time.sleep(max(0, float(sys.argv[1]) - time.time()) if len(sys.argv) > 1 else 0)
    x = jnp.arange(4.0)
    for f in (jnp.sin, jnp.tanh, jnp.exp, jnp.log1p):
        print(float(jnp.sum(jax.jit(lambda x: f(x) * x)(x))))
"""


def test_processes_may_fill_the_cache_at_once(folder):
    start = str(time.time() + 2)
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", textwrap.dedent(FILL), start]
    env = {**os.environ, "TINYJAX_CACHE_DIR": str(folder.parent)}
    running = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = [process.communicate(timeout=100)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    x = np.arange(4.0)
    want = [np.sum(f(x) * x) for f in (np.sin, np.tanh, np.exp, np.log1p)]
    for text in said:
        np.testing.assert_allclose(np.array(text.split(), float), want, rtol=1e-5)
    assert all_whole(folder)


def test_readers_see_whole_entries_while_others_write(folder):
    contents = [bytes([k]) * 20_000 for k in range(4)]
    name, stop = "ab" * 32, threading.Event()
    cache.store(name, contents[0])

    def write():
        while not stop.is_set():
            for code in contents:
                cache.store(name, code)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(500):
            assert cache.load(name) in contents
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert all_whole(folder)


# ---- the limit ----------------------------------------------------------------------------------


def age(path, days):
    """Make a file look as if it was last used so many days ago."""
    then = time.time() - days * cache.DAY
    os.utime(path, (then, then))


def test_what_was_not_used_for_longest_goes_first(small):
    names = [f"ab{k:062d}" for k in range(4)]
    for days, name in zip((40, 30, 20), names):
        cache.store(name, b"x" * 1000)
        age(path_of(small, name), days)
    assert cache.load(names[0])  # used again
    cache.store(names[3], b"x" * 1500)
    assert [cache.load(name) is not None for name in names] == [True, False, True, True]


def test_the_newest_entry_stays_however_large_it_is(small):
    cache.store("ab" * 32, b"x" * 100)
    age(path_of(small, "ab" * 32), 1)
    cache.store("ab" + "0" * 62, b"x" * 10_000)
    assert [path.name for path in small.rglob("*") if path.is_file()] == ["ab" + "0" * 62]


def test_files_of_killed_writers_are_deleted_and_those_of_others_left(folder):
    cache.store("ab" * 32, b"code")
    killed, busy = folder / "ab" / "writing-1", folder / "ab" / "writing-2"
    for path in (killed, busy):
        path.write_bytes(b"x")
    age(killed, 2)
    cache.store("ab" + "0" * 62, b"code")
    assert not killed.exists() and busy.exists()


def test_a_hit_looks_at_no_other_entry(folder, monkeypatch):
    name = build("x[i] + f32(0.75)")
    monkeypatch.setattr(cache.os, "scandir", None)
    monkeypatch.setattr(cache.os, "utime", None)
    assert cache.load(name)


# ---- keys ---------------------------------------------------------------------------------------


def test_keys_tell_kernels_apart():
    keys = {cache.key("a", ("f32[1]",)), cache.key("a", ("f64[1]",)), cache.key("b", ("f32[1]",))}
    assert len(keys) == 3


@pytest.mark.parametrize("changed", ["compiler", "numba", "llvmlite", "processor"])
def test_another_compiler_or_processor_has_other_keys(tmp_path, monkeypatch, changed):
    sources = cache._sources()
    names = {"/".join(Path(path).parts[-2:]) for path in sources}
    assert {"compiler/emit.py", "numba/_version.py", "llvmlite/_version.py"} <= names
    key = cache.environment_key.__wrapped__
    before = key()
    assert key() == before
    if changed == "processor":
        monkeypatch.setattr(cache, "processor", lambda: "another")
    else:
        file = "/emit.py" if changed == "compiler" else f"/{changed}/_version.py"
        [old] = [path for path in sources if path.endswith(file)]
        new = tmp_path / Path(old).name
        new.write_bytes(Path(old).read_bytes() + b"#")
        monkeypatch.setattr(cache, "_sources", lambda: [new if p == old else p for p in sources])
    assert key() != before


def test_a_system_that_does_not_tell_about_its_processor_has_llvm_look(monkeypatch):
    from tinyjax.compiler import native

    def missing(path, *mode):
        raise FileNotFoundError(path)

    monkeypatch.setattr("builtins.open", missing)
    assert cache.processor() == native.machine_key()


# ---- which folder -------------------------------------------------------------------------------


def test_the_folder_is_what_the_flag_or_the_environment_says(folder, tmp_path, monkeypatch):
    assert cache.folder() == str(folder)
    monkeypatch.setenv("TINYJAX_CACHE_DIR", "")
    assert cache.folder() is None
    code = "from tinyjax.compiler import cache; print(cache.folder())"
    assert run(code, folder) == [str(folder)]
    assert run(code, folder, TINYJAX_CACHE_DIR="") == ["None"]
    base = str(tmp_path / "base")
    default = "import os; del os.environ['TINYJAX_CACHE_DIR']; " + code
    assert run(default, folder, XDG_CACHE_HOME=base) == [f"{base}/tinyjax/kernels"]


def test_devices_use_the_same_folder(folder, tmp_path):
    assert processes.environment(current_flags())["TINYJAX_CACHE_DIR"] == str(tmp_path)


# ---- Ctrl-C -------------------------------------------------------------------------------------


def test_ctrl_c_while_compiling_leaves_nothing_half_done(folder):
    code = """
        import json, signal
        import tinyjax as jax, tinyjax.numpy as jnp
        x, hits = jnp.arange(64.0), 0
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        for k in range(24):
            f = jax.jit(lambda x: jnp.sum(jnp.tanh(x) * jnp.exp(-x) + k * jnp.log1p(x)) + 1)
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.001 + 0.003 * k)
                f(x).block_until_ready()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                hits += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
            with jax.disable_jit():
                want = f(x)
            assert jnp.allclose(f(x), want), k
        print(hits)
    """
    assert int(run(code, folder)[0]) > 0
    assert all_whole(folder)


def test_ctrl_c_while_an_entry_is_written_leaves_no_file(folder, monkeypatch):
    def interrupt(*paths):
        raise KeyboardInterrupt

    monkeypatch.setattr(cache.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.store("ab" * 32, b"code")
    assert not list((folder / "ab").iterdir())
