"""The local engine: memory, calls, exchanges between devices, and how it is started."""

import gc
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from local_devices import ROOT, descriptors, equal, family, local_engine, run_script, shared, until

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.config import config
from tinyjax.core import Primitive
from tinyjax.dtypes import key_storage
from tinyjax.parallel.device import Mesh, current_device
from tinyjax.parallel.engine import Program, Spec
from tinyjax.parallel.heap import Heap, readable
from tinyjax.parallel.packing import pack
from tinyjax.transforms.pmapping import pmap


@pytest.fixture(scope="module", params=["fork", "spawn"])
def engine(request):
    """An engine whose devices start in one of the two ways."""
    config.update("tinyjax_pmap_start", request.param)
    with local_engine() as new:
        yield new
    config.update("tinyjax_pmap_start", "fork")


def split(count):
    """Parts of which each of so many devices holds one."""
    return tuple((k,) for k in range(count))


def together(count):
    """The one part that so many devices hold."""
    return (tuple(range(count)),)


# ---- programs built by hand ----------------------------------------------------------------------


class Ask(Primitive):
    """ask[text aval] x: the text is run as an expression of the device and x."""

    collective = True

    def impl(self, x, *, text, aval):
        return np.asarray(eval(text, {"device": current_device(), "x": np.asarray(x), "np": np}))

    def type(self, x, *, text, aval):
        return aval


ask_p = Ask("ask")


def asking(text, like, result=None, axes=(("i", 2),), devices=None):
    """A program that has each device compute an expression. like, result: a part before, after."""
    mesh = Mesh(axes)
    devices = devices or tuple(range(mesh.count))
    result = like if result is None else result
    aval = jax.core.ShapedArray(result.shape, result.dtype)
    jaxpr = jax.make_jaxpr(lambda x: ask_p.bind(x, text=text, aval=aval))(jnp.asarray(like)).jaxpr
    parts = tuple((d,) for d in devices)
    ins, outs = [Spec(a.shape, a.dtype, parts) for a in (like, result)]
    return Program("ask", pack(jaxpr), mesh, devices, (ins,), (outs,))


def compute(engine, program, *stacked):
    """Run a program on arrays whose first axis counts the devices."""
    ins = [engine.put(x, spec.parts) for x, spec in zip(stacked, program.ins)]
    outs = [engine.alloc(spec) for spec in program.outs]
    engine.call(program, ins, outs).wait()
    return [engine.get(out) for out in outs]


def example(shape, dtype, seed=0):
    """Random numbers of a dtype."""
    numbers = np.random.default_rng(seed).normal(size=shape) * 5
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind == "u":
            numbers = np.abs(numbers)
        if np.dtype(dtype).kind == "c":
            numbers = numbers + 1j * numbers[::-1]
        return numbers.astype(dtype)


DTYPES = [np.bool_, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64]
DTYPES += [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128]
SHAPES = [(), (1,), (3, 5), (7, 1001), (1 << 17,), (0, 3)]
UFUNCS = {"add": np.add, "max": np.maximum, "min": np.minimum}


# ---- memory --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*DTYPES, key_storage])
def test_put_and_get(engine, dtype):
    array = np.zeros((3, 4, 5), dtype)
    if dtype is not key_storage:
        array = example((3, 4, 5), dtype)
    buffer = engine.put(array, split(3))
    found = engine.get(buffer)
    equal(found, array)
    assert buffer.spec == Spec((4, 5), np.dtype(dtype), split(3))
    assert not found.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        found[...] = 0


def test_an_array_keeps_its_buffer(engine):
    found = engine.get(engine.put(np.arange(6.0).reshape(2, 3), split(2)))[1][1:]
    others = [engine.put(np.full((2, 3), -1.0), split(2)) for _ in range(50)]
    equal(found, np.array([4.0, 5.0]))
    del others


def test_put_copies(engine):
    array = np.ones((2, 3))
    buffer = engine.put(array.T[:, ::-1].T, split(2))
    array[...] = 7
    equal(engine.get(buffer), np.ones((2, 3)))


def test_alloc_has_the_shape_of_all_parts(engine):
    assert engine.get(engine.alloc(Spec((2,), np.dtype("f4"), split(4)))).shape == (4, 2)
    assert engine.get(engine.alloc(Spec((2,), np.dtype("f4"), together(4)))).shape == (1, 2)


def test_a_full_memory_is_an_error_that_names_sizes():
    with local_engine(heap=1 << 26) as engine:
        held = [engine.put(np.zeros((1, 1 << 24), np.uint8), ((0,),)) for _ in range(3)]
        with pytest.raises(MemoryError, match=r"no room for an array of 32.0 MB .*48.0 MB of 64.0"):
            engine.put(np.zeros((1, 1 << 25), np.uint8), ((0,),))
        del held
        engine.put(np.zeros((1, 1 << 25), np.uint8), ((0,),))


def test_what_is_freed_is_used_again():
    with local_engine(heap=1 << 26) as engine:
        for _ in range(20):
            x = engine.put(np.zeros((1, 40 << 20), np.uint8), ((0,),))
            del x
        assert engine.arena.heap.frontier() - engine.arena.heap.start < 48 << 20


def test_large_pieces_go_back_to_the_system():
    gc.collect()  # other tests' memory
    with local_engine() as engine:
        before = shared()
        held = [engine.put(np.ones((1, 64 << 20), np.uint8), ((0,),)) for _ in range(8)]
        assert shared() - before >= 500 << 20
        held.clear()
        engine.put(np.ones((1, 1)), ((0,),))
        assert shared() - before < 300 << 20


# ---- the allocator by itself ---------------------------------------------------------------------


def test_pieces_never_overlap_and_memory_does_not_grow():
    heap, rng, held = Heap(1 << 20, 1 << 30, lambda place, size: None), random.Random(0), {}
    highest = 0
    for step in range(20000):
        if len(held) > 60 or held and rng.random() < 0.45:
            heap.give(held.pop(rng.choice(list(held))))
        else:
            size = int(2 ** rng.uniform(0, 20))
            place = heap.take(size)
            assert place % 64 == 0 and place >= 1 << 20
            held[step] = place
        if step % 500 == 0:
            pieces = sorted(heap.taken.items())
            assert all(a + n <= b for (a, n), (b, _) in zip(pieces, pieces[1:]))
            free = sum(size for size, _ in heap.free) + heap.kept_bytes
            assert free + sum(heap.taken.values()) == heap.size
        highest = max(highest, heap.frontier())
    for place in held.values():
        heap.give(place)
    heap.merge_kept()
    assert heap.free == [(heap.size, heap.start)]  # all merged again
    assert highest - heap.start < 60 << 20  # 60 pieces of at most a megabyte


def test_sizes_in_words():
    assert [readable(n) for n in (5, 2048, 1 << 40)] == ["5 bytes", "2.0 KB", "1.0 TB"]


# ---- calls ---------------------------------------------------------------------------------------


def test_a_program_runs_on_each_part(engine):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    [found] = compute(engine, asking("x * 10 + device.position", x[0]), x)
    equal(found, x * 10 + np.array([[0], [1]], np.float32))


def test_devices_keep_their_number(engine):
    program = asking("x + device.axis_index('i')", np.zeros(2), devices=(3, 1))
    [found] = compute(engine, program, np.zeros((2, 2)))
    equal(found, np.array([[0.0, 0.0], [1.0, 1.0]]))
    assert {1, 3} <= set(engine.processes.pipes)


def test_calls_run_in_order_and_may_be_many(engine):
    f = pmap(lambda x: x + 1)
    x = jnp.zeros(4)
    for _ in range(200):
        x = f(x)
    equal(x, np.full(4, 200, np.float32))


def test_results_that_all_devices_share_are_ready_before_they_are_read(engine):
    f = pmap(lambda x: lax.psum(x, "i"), axis_name="i", out_axes=None)
    g = pmap(lambda s, x: x + s, axis_name="i", in_axes=(None, 0))
    for size in (1, 1000, 100_000):
        for _ in range(4):
            x = jnp.ones((4, size))
            for _ in range(8):  # nobody looks in between
                x = g(f(x), x)
            equal(x, np.full((4, size), 5.0**8, np.float32))


def test_a_ticket_says_when_it_is_done(engine):
    x = pmap(lambda x: x + 1)(jnp.zeros(2))
    until(x.is_ready)
    equal(x, np.ones(2, np.float32))


def test_many_operands(engine):
    xs = [jnp.full(2, k, jnp.float32) for k in range(300)]
    found = pmap(lambda *xs: sum(xs))(*xs)
    equal(found, np.full(2, sum(range(300)), np.float32))


def test_more_devices_are_added(engine):
    for count in (1, 2, 5):
        equal(pmap(lambda x: x * 2)(jnp.arange(count)), np.arange(count, dtype=np.int32) * 2)


def test_two_threads(engine):
    f, g = pmap(lambda x: lax.psum(x, "i"), axis_name="i"), pmap(lambda x: x * 3)
    wrong = []

    def work(k):
        for n in range(60):
            x = jnp.arange(4.0) + n + k
            s, t = f(x), g(x)
            if not (np.all(np.asarray(s) == 6 + 4 * (n + k)) and np.all(np.asarray(t) == 3 * x)):
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(100)
    assert not wrong and not any(t.is_alive() for t in threads)


def test_programs_that_nobody_has_are_forgotten(engine):
    for _ in range(3):
        engine.forgotten.clear()
        program = asking("x + 1", np.zeros(2))
        compute(engine, program, np.zeros((2, 2)))
        number = program.number
        del program
        assert number in engine.forgotten
        compute(engine, asking("x + 1", np.zeros(2)), np.zeros((2, 2)))
        assert number not in engine.defined


def test_forgetting_what_only_some_devices_know(engine):
    equal(pmap(lambda x: x * 2)(jnp.arange(3)), np.arange(3, dtype=np.int32) * 2)
    program = asking("x + 1", np.zeros(2))  # two of the three
    compute(engine, program, np.zeros((2, 2)))
    del program
    for _ in range(3):
        equal(pmap(lambda x: x * 2)(jnp.arange(3)), np.arange(3, dtype=np.int32) * 2)


def test_modules_that_the_user_has_found_since(engine, tmp_path, monkeypatch):
    compute(engine, asking("x + 1", np.zeros(2)), np.zeros((2, 2)))  # the devices run
    (tmp_path / "found_later.py").write_text("five = 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    [found] = compute(
        engine, asking("x + __import__('found_later').five", np.zeros(1)), np.ones((2, 1))
    )
    equal(found, np.full((2, 1), 6.0))


def test_a_program_that_cannot_be_compiled_warns_once(engine):
    with pytest.warns(RuntimeWarning) as caught:
        program = asking("x", np.zeros(2))
        program = Program(**{**vars(program), "code": broken_code(), "number": 10**9})
        compute(engine, program, np.ones((2, 2)))
    assert len([w for w in caught if "could not be compiled" in str(w.message)]) == 1


class Unspeakable(Primitive):
    """A primitive whose lowering fails, but not its value."""

    def impl(self, x):
        return np.asarray(x) + 1

    def type(self, x):
        return x

    def lower(self, invars, **params):
        raise NotImplementedError("no words for this")


def broken_code():
    """A packed program with such a primitive."""
    bad = Unspeakable("unspeakable")
    jaxpr = jax.make_jaxpr(bad.bind)(jnp.zeros(2, jnp.float32)).jaxpr
    return pack(jaxpr)


# ---- exchanges -----------------------------------------------------------------------------------


@pytest.mark.parametrize("op", UFUNCS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_allreduce(engine, op, dtype):
    for shape in SHAPES:
        x = example((3, *shape), dtype)
        text = f"device.allreduce('{op}', x, (0, 1, 2))"
        [found] = compute(engine, asking(text, x[0], axes=[("i", 3)]), x)
        with np.errstate(all="ignore"):
            wanted = UFUNCS[op](UFUNCS[op](x[0], x[1]), x[2])
        for row in found:
            equal(row, wanted)


@pytest.mark.parametrize("op", ["max", "min"])
def test_nan_wins(engine, op):
    x = np.array([[1, np.nan, 3], [np.nan, 2, 5]], np.float32)
    text = f"device.allreduce('{op}', x, (0, 1))"
    [found] = compute(engine, asking(text, x[0]), x)
    equal(np.isnan(found), np.array([[True, True, False]] * 2))


def test_sums_are_the_same_everywhere_and_every_time(engine):
    for size in (9, 1000, 40_000):
        x = example((4, size), np.float32) * 10.0 ** np.arange(4)[:, None].astype(np.float32)
        program = asking("device.allreduce('add', x, (0, 1, 2, 3))", x[0], axes=[("i", 4)])
        wanted = ((x[0] + x[1]) + x[2]) + x[3]
        for _ in range(10):
            for row in compute(engine, program, x)[0]:
                equal(row, wanted)


@pytest.mark.parametrize("shape", SHAPES)
def test_allreduce_of_a_tail(engine, shape):
    x = example((3, *shape), np.float32)
    jaxpr = jax.make_jaxpr(lambda a, b: (a, b))(jnp.asarray(x[0]), jnp.asarray(x[0])).jaxpr
    apart, one = Spec(shape, x.dtype, split(3)), Spec(shape, x.dtype, together(3))
    tail = {0: ("add", ("i",)), 1: ("max", ("i",))}
    mesh = Mesh([("i", 3)])
    program = Program("f", pack(jaxpr), mesh, (0, 1, 2), (apart, apart), (one, one), tail)
    for _ in range(3):
        total, largest = compute(engine, program, x, x)
        equal(total[0], x[0] + x[1] + x[2])
        equal(largest[0], np.maximum(np.maximum(x[0], x[1]), x[2]))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.complex128])
def test_other_exchanges(engine, shape, dtype):
    x = example((3, *shape), dtype)
    axes = [("i", 3)]
    [found] = compute(engine, asking("device.all_gather(x, (0, 1, 2))", x[0], x, axes), x)
    for row in found:
        equal(row, x)
    text = "device.permute(x, (0, 1, 2), (2, None, 0))"
    [found] = compute(engine, asking(text, x[0], axes=axes), x)
    equal(found, np.stack([x[2], np.zeros_like(x[0]), x[0]]))
    y = example((3, 3, *shape), dtype)
    [found] = compute(engine, asking("device.reduce_scatter(x, (0, 1, 2))", y[0], x[0], axes), y)
    equal(found, np.stack([y[0, k] + y[1, k] + y[2, k] for k in range(3)]))
    [found] = compute(engine, asking("device.all_to_all(x, (0, 1, 2))", y[0], axes=axes), y)
    equal(found, np.ascontiguousarray(y.swapaxes(0, 1)))


def test_exchanges_of_rows_columns_and_all(engine):
    x = example((4, 6), np.float32)
    text = """[device.allreduce('add', device.allreduce('max', device.allreduce('add', x + n,
        device.peers(('rows',))), device.peers(('columns',))), device.peers(('columns', 'rows')))
        for n in range(20)][-1]"""
    [found] = compute(engine, asking(text, x[0], axes=[("rows", 2), ("columns", 2)]), x)
    y = x + np.float32(19)
    sums = np.stack([y[0] + y[2], y[1] + y[3]])  # over rows: devices 0 and 2, 1 and 3
    largest = np.maximum(sums[0], sums[1])
    for row in found:
        np.testing.assert_allclose(row, 4 * largest, rtol=1e-6)


def test_groups_that_meet_more_often_than_others(engine):
    """What a device tells one group is not overwritten when another group is faster."""
    text = """[device.allreduce('add', x, (0, 1)) if device.position < 2 else x for n in range(
        50 if device.position < 2 else 1)][-1] + device.allreduce('add', x, (0, 1, 2))"""
    for shape in ((5,), (30_000,)):
        x = example((3, *shape), np.float32)
        [found] = compute(engine, asking(text, x[0], axes=[("i", 3)]), x)
        total = x[0] + x[1] + x[2]
        equal(found, np.stack([x[0] + x[1] + total, x[0] + x[1] + total, x[2] + total]))


def test_many_exchanges_of_changing_sizes(engine):
    text = """sum(device.allreduce('add', np.full(n * 997 % 9973, x[0]), (0, 1, 2)).sum()
        for n in range(1, 60)) + 0 * x"""
    x = np.array([[1.0], [2.0], [4.0]])
    [found] = compute(engine, asking(text, x[0], axes=[("i", 3)]), x)
    equal(found, np.full((3, 1), 7.0 * sum(n * 997 % 9973 for n in range(1, 60))))


def test_slow_devices(engine):
    text = """[(__import__('time').sleep(0.002 * ((n + device.position) % 3)),
        device.allreduce('add', x + n, (0, 1, 2)))[1] for n in range(30)][-1]"""
    for size in (4, 40_000):
        x = example((3, size), np.float64)
        [found] = compute(engine, asking(text, x[0], axes=[("i", 3)]), x)
        for row in found:
            equal(row, (x[0] + 29) + (x[1] + 29) + (x[2] + 29))


# ---- how it is used ------------------------------------------------------------------------------

SCRIPT = """
import tinyjax as jax, tinyjax.numpy as jnp
from tinyjax.transforms.pmapping import pmap
from tinyjax.parallel import engine, local
engine.use(local.LocalEngine())
factor = 3
print(pmap(lambda x: jax.lax.psum(x * factor, 'i'), axis_name='i')(jnp.arange(4)))
print(pmap(jnp.add)(jnp.arange(8), jnp.arange(8)))
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("stdin", [False, True])
def test_scripts_without_a_guard_and_from_stdin(tmp_path, start, stdin):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    arguments = [] if stdin else [str(path)]
    out = run_script(SCRIPT, *arguments, stdin=stdin, TINYJAX_PMAP_START=start)
    assert out == "[18 18 18 18]\n[ 0  2  4  6  8 10 12 14]\n"


def test_a_limit_of_addresses():
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))"
    assert run_script(limit + SCRIPT, stdin=True).endswith("[ 0  2  4  6  8 10 12 14]\n")


def test_import_starts_nothing():
    code = """
import os, sys, tinyjax, tinyjax.parallel.local
print(open(f"/proc/self/task/{os.getpid()}/children").read().split())
print([m for m in ("numba", "llvmlite") if m in sys.modules])
"""
    assert run_script(code, stdin=True) == "[]\n[]\n"


def test_files_named_like_modules_do_no_harm(tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('the wrong one')")
    subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=100,
    )


def test_nothing_listens(engine):
    equal(pmap(lambda x: x + 1)(jnp.zeros(3)), np.ones(3, np.float32))
    listening = set()
    for kind in ("tcp", "tcp6", "udp", "udp6"):
        path = Path(f"/proc/net/{kind}")
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            listening.add(line.split()[9])  # the inode of every socket of the network
    for pid in family(os.getpid()):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            link = os.readlink(file)
            inode = link.removeprefix("socket:[").removesuffix("]")
            assert inode not in listening
            assert not link.startswith("/dev/shm")


def test_devices_have_few_descriptors(engine):
    equal(pmap(lambda x: x + 1)(jnp.zeros(5)), np.ones(5, np.float32))
    for pid in engine.processes.pids.values():
        assert descriptors(pid) <= 10


def test_an_engine_is_used_again_after_close(engine):
    x = pmap(lambda x: x + 1)(jnp.zeros(3)).block_until_ready()
    own = {engine.processes.supervisor.pid, *engine.processes.pids.values()}
    assert own <= set(family(os.getpid()))  # among those of other engines
    engine.close()
    assert not own & set(family(os.getpid()))
    equal(x, np.ones(3, np.float32))  # the array is still there
    equal(pmap(lambda x: x + 1)(x), np.full(3, 2, np.float32))
