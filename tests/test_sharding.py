"""Devices, meshes and shardings against JAX's, for the eight devices that both worlds have."""

import copy
import importlib
import pickle

import numpy as np
import pytest
from worlds import ORACLE, OURS, attempt, compare, compare_errors, same, same_error

from tinyjax.parallel.engine import engine
from tinyjax.parallel.sharded import ShardedArray

XS = np.arange(8, dtype=np.float32)
MAT = np.arange(24, dtype=np.float32).reshape(8, 3)


class Names(dict):
    """What the expressions below may use, in one of the worlds."""

    def __init__(self, jax):
        sharding = importlib.import_module(f"{jax.__name__}.sharding")
        super().__init__({n: getattr(sharding, n) for n in dir(sharding) if n[0] != "_"})
        D = jax.devices()
        self.update(jax=jax, jnp=jax.numpy, np=np, P=jax.P, D=D, XS=XS, MAT=MAT)
        self["grid"] = self["Mesh"](np.array(D).reshape(2, 4), ("x", "y"))
        self["row"] = self["Mesh"](D, "x")
        self["on"] = lambda *spec: self["NamedSharding"](self["grid"], jax.P(*spec))
        self["on_each"] = lambda xs: [jax.device_put(x, d) for x, d in zip(xs, D)]
        self["put"] = lambda x, *spec: jax.device_put(x, self["on"](*spec))


WORLDS = {}


def answer(expression, jax):
    """The value of an expression in a world."""
    if jax not in WORLDS:
        WORLDS[jax] = Names(jax)
    return eval(expression, WORLDS[jax])


def agree(expression):
    """Both worlds print the same."""
    want = answer(expression, ORACLE)
    if isinstance(want, set):  # which is in no order
        want, got = (sorted(map(repr, answer(expression, jax))) for jax in (ORACLE, OURS))
        assert got == want
    else:
        assert repr(answer(expression, OURS)) == repr(want)


# ---- what prints alike ---------------------------------------------------------------------------

SPECS = """
P()
P("x")
P("x", None), P(None, "x"), P(("x", "y"), None)
P(("x",)), P([]), P(["x", "y"]), P(1, None), P(P.UNCONSTRAINED)
P("x") == P("x"), P("x", None) == P("x"), hash(P("x")) == hash(P("x")), P("x") == ("x",)
P("x")[0], list(P("x", "y")), len(P("x", "y")), P("x").partitions
P("x") + P("y"), P("x") + ("y",), ("y",) + P("x")
P("x", "y").index("y"), P("x", ("y",)).count("y"), P("x").update(partitions=("y",))
jax.tree.leaves([P("x"), P()])
jax.P is PartitionSpec
"""
MESHES = """
grid
str(grid), str(row)
grid.shape, grid.shape_tuple, grid.axis_names, grid.axis_sizes, grid.axis_types, grid.size
grid.device_ids, grid.devices, grid.local_devices
grid.empty, grid.is_multi_process, grid.local_mesh, grid.auto_axes, grid.explicit_axes
grid.are_all_axes_auto, grid.are_all_axes_explicit, grid.are_all_axes_manual, grid.manual_axes
grid.abstract_mesh, grid.abstract_mesh.abstract_mesh == grid.abstract_mesh
grid == Mesh(np.array(D).reshape(2, 4), ("x", "y")), grid == Mesh(grid.devices, ("x", "z"))
hash(grid) == hash(Mesh(np.array(D).reshape(2, 4), ("x", "y")))
Mesh(D, "x", axis_types=AxisType.Explicit), Mesh(D[:2], ("i",), (AxisType.Manual,))
grid.update(axis_names=("a", "b")), grid.update(devices=grid.devices[::-1]).device_ids
jax.make_mesh((4, 2), ("x", "y")), jax.make_mesh((3,), ("x",)), jax.make_mesh((8,), ("x"))
jax.make_mesh((2, 2), ("x", "y"), devices=D[2:6]).device_ids
jax.make_mesh((2,), "x", (AxisType.Auto,))
AbstractMesh((2, 4), ("x", "y")), AbstractMesh((), ()), AbstractMesh((2,), ("x",)).shape
AbstractMesh((2,), ("x",)) == AbstractMesh((2,), ("x",)), AbstractMesh((2,), ("x",)).size
AbstractMesh((2,), ("x",)).update(axis_sizes=(3,))
AxisType.Auto, str(AxisType.Auto), list(AxisType)
get_mesh(), get_abstract_mesh()
"""
SHARDINGS = """
on("x"), on("x", "y"), on(("x", "y")), on(), NamedSharding(row, P(None, "x"))
on("x").mesh, on("x").spec, on("x").memory_kind, on("x").num_devices
on("x").device_set
on("x").addressable_devices
on("x").is_fully_replicated, on().is_fully_replicated, on("x").is_fully_addressable
NamedSharding(Mesh(D[:1], "x"), P("x")).is_fully_replicated, on("x").has_addressable_devices
on("x").replicated_axes, on().replicated_axes == {"x", "y"}
on("x") == on("x"), on("x") == on("x", None), hash(on("x")) == hash(on("x")), on("x") == on("y")
NamedSharding(grid, P("x"), memory_kind="device") == on("x")
on("x").with_memory_kind("pinned_host"), on("x").with_memory_kind("pinned_host") == on("x")
on("x").update(spec=P("y")), on("x").update(mesh=row)
on("x", "y").shard_shape((4, 8)), on("x", "y").shard_shape((4, 8, 3)), on().shard_shape(())
on(("y", "x")).devices_indices_map((8,))
on(("x", "y")).devices_indices_map((8,))
on("x", "y").devices_indices_map((4, 8))
on("y", "x").devices_indices_map((4, 8))
on("x").devices_indices_map((4, 8, 3))
on("x").addressable_devices_indices_map((4,))
on().devices_indices_map((4, 8)), on().devices_indices_map(())
NamedSharding(Mesh(D[:1], "x"), P("x")).devices_indices_map((4,))
NamedSharding(Mesh(np.array(D).reshape(1, 8), ("x", "y")), P("x", "y")).devices_indices_map((4, 8))
on("x").is_equivalent_to(on("x", None), 2), on("x").is_equivalent_to(on("y"), 2)
on(None).is_equivalent_to(NamedSharding(row, P()), 1)
on("x").is_equivalent_to(NamedSharding(grid.update(axis_names=("a", "b")), P("a")), 1)
on("x").is_equivalent_to(NamedSharding(grid.update(devices=grid.devices[::-1]), P("x")), 1)
NamedSharding(row, P("x")).is_equivalent_to(on(("x", "y")), 1)
NamedSharding(row, P("x")).is_equivalent_to(on(("y", "x")), 1)
on("x").is_equivalent_to(on("x").with_memory_kind("pinned_host"), 1)
on().is_equivalent_to(SingleDeviceSharding(D[0]), 2)
SingleDeviceSharding(D[0]).is_equivalent_to(NamedSharding(Mesh(D[:1], "x"), P()), 2)
SingleDeviceSharding(D[0]) == NamedSharding(Mesh(D[:1], "x"), P())
SingleDeviceSharding(D[3]), SingleDeviceSharding(D[3]) == SingleDeviceSharding(D[3])
SingleDeviceSharding(D[3]).device_set, SingleDeviceSharding(D[3]).num_devices
SingleDeviceSharding(D[3]).devices_indices_map((2, 3)), make_single_device_sharding(D[1])
SingleDeviceSharding(D[0], memory_kind="device") == jnp.ones(2).sharding
SingleDeviceSharding(D[0]).with_memory_kind("unpinned_host").memory_kind
NamedSharding(AbstractMesh((2,), ("x",)), P("x")), isinstance(on("x"), Sharding)
NamedSharding(AbstractMesh((2,), ("x",)), P("x")).shard_shape((4,))
"""
ARRAYS = """
put(XS, "x"), put(XS, "x").sharding, put(XS, "x").device, put(XS, "x").committed
put(XS, "x").addressable_shards
put(XS, "x").global_shards[5], put(XS, "x").addressable_data(5)
put(MAT, ("x", "y")).addressable_shards[6], put(MAT.T, None, "y").addressable_shards[3].index
put(XS, "x").devices()
put(XS, "x").on_device_size_in_bytes(), put(XS, ("x", "y")).on_device_size_in_bytes()
put(XS, "x").is_fully_replicated, put(XS).is_fully_replicated, put(XS).is_fully_addressable
put(np.ones((2, 0)), "x").addressable_shards[0]
put(XS, "x").addressable_shards[4].data.sharding, put(7.0).addressable_shards[3]
jax.device_put(put(XS, "x")).sharding, jax.device_put(put(XS, "x"), on("y")).sharding
jax.device_put(1.0).committed, jax.device_put([1, 2.0], on())[1].sharding
jax.device_put(XS, D[2]).addressable_shards, jax.device_put(XS, D[2]).device
jax.tree.map(lambda x: x.sharding, jax.device_put({"a": XS, "b": 1}, {"a": on("x"), "b": D[3]}))
jax.tree.map(lambda x: x.device, jax.device_put([{"a": XS, "b": 1}, 2], [D[2], None]))
jax.device_put(jax.random.split(jax.random.key(0), 8), on("x")).sharding
jax.device_put(jax.random.split(jax.random.key(0), 8), on("x")).addressable_shards[4].data
jax.device_put(jax.random.key(0), D[2]).devices()
jnp.zeros(8, device=D[1]).sharding, jnp.ones(8, device=on("x")).sharding
jnp.full(8, 2, device=on("x")).sharding, jnp.empty(8, device=D[1]).sharding
jnp.arange(8, device=on("x")).sharding, jnp.eye(4, device=D[1]).device
jnp.array([1] * 8, device=on("x")).addressable_data(5), jnp.asarray(jnp.ones(2), device=D[2]).device
jnp.zeros_like(XS, device=on("x")).sharding, jnp.ones_like(XS, device=D[1]).sharding
jnp.full_like(XS, 3, device=D[1]).sharding, jnp.empty_like(XS, device=D[1]).sharding
jnp.linspace(0, 1, 8, device=D[1]).sharding, jnp.fft.fftfreq(8).sharding
jnp.fft.rfftfreq(8, device=D[2]).sharding, jnp.astype(jnp.ones(2), int, device=D[1]).sharding
jnp.ones(3).to_device(D[1]).sharding, jnp.ones(8).to_device(on("x")).addressable_shards[5]
jnp.ones(3, device=None).committed, jnp.asarray(put(XS, "x")).sharding
jnp.ones(3).addressable_shards, jnp.ones(3).sharding, jnp.ones(3).committed
jax.lax.with_sharding_constraint(XS, on("x")).sharding
jax.lax.with_sharding_constraint([XS, 1.0], [on("x"), on()])
jax.make_array_from_callback((8,), on("x"), lambda i: XS[i])
jax.make_array_from_process_local_data(on("x"), XS).sharding
jax.make_array_from_process_local_data(on("x"), XS, (8,)).addressable_shards[5]
jax.make_array_from_callback((8, 3), on("x"), lambda i: MAT[i]).sharding
jax.make_array_from_single_device_arrays((8,), on("x"), on_each([XS[:4], *[-XS[:4]] * 3] * 2))
"""
DEVICES = """
D, str(D[1]), D[1] == jax.devices()[1], hash(D[1]) == hash(jax.devices()[1]), D[1] == D[2]
D[1].id, D[1].process_index, D[1].platform, D[1].device_kind, D[1].local_hardware_id
D[1].host_id, D[1].task_id, D[1].memory_stats(), D[1].addressable_memories()
D[1].default_memory(), D[1].memory("pinned_host"), D[1].memory("device").kind
D[0].client.platform, D[0].client.device_count(), D[0].client.process_index(), D[0].client.devices()
jax.devices("cpu"), jax.local_devices(process_index=0), jax.local_devices(backend="cpu")
jax.device_count(), jax.local_device_count("cpu"), jax.process_indices()
"""
PRINTED = {
    name: [line for line in text.splitlines() if line]
    for name, text in [
        ("specs", SPECS),
        ("meshes", MESHES),
        ("shardings", SHARDINGS),
        ("arrays", ARRAYS),
        ("devices", DEVICES),
    ]
}


@pytest.mark.parametrize("expression", [line for lines in PRINTED.values() for line in lines])
def test_prints_alike(expression):
    agree(expression)


# ---- errors --------------------------------------------------------------------------------------

# expression, the words of our message
REFUSED = [
    ('Mesh(D, ("x", "y"))', "devices.ndim == 1 and len(axis_names) == 2"),
    ("Mesh(D, (None,))", "cannot be None"),
    ('Mesh(D, "x", axis_types="Auto")', "AxisType, got ('Auto',)"),
    ('Mesh(D, "x", axis_types=(AxisType.Auto,) * 2)', "one axis type for each axis name"),
    ('jax.make_mesh((16,), ("x",))', "8 devices are not enough"),
    ('jax.make_mesh(8, "x")', "axis_shapes must be a sequence of ints, got 8"),
    ('jax.make_mesh((2, 4), ("x",))', "one axis name for each axis"),
    ('AbstractMesh((2,), ("x",)).devices', "has no devices"),
    ('on("z")', "Resource axis: z of P('z',) is not found in mesh: ('x', 'y')"),
    ('on("x", "x")', "duplicate entries for `x`"),
    ('NamedSharding(grid, P("x"), memory_kind="gone")', "memory of kind 'gone'"),
    ('SingleDeviceSharding(D[0], memory_kind="gone")', "memory of kind 'gone'"),
    ('on("x", "y").shard_shape((4, 7))', "array axis 1 is partitioned 4 times", "size is 7"),
    ('on("x", "y").devices_indices_map((4, 7))', "array axis 1 is partitioned 4 times"),
    ('on("x").check_compatible_aval(())', "rank at least 1", "should be P()"),
    ('NamedSharding(AbstractMesh((2,), ("x",)), P("x")).device_set', "has no devices"),
    ("Sharding().device_set", "Subclasses should implement"),
    ('put(np.ones(7), "x")', "partitioned 2 times"),
    ('put(np.float32(7), "x")', "device_put does not fit", "rank at least 1"),
    ('jax.device_put(XS, P("x"))', "name one with `jax.set_mesh`"),
    ('jax.device_put(XS, "gpu")', "device_put takes a device, a sharding", "got 'gpu'"),
    ("jax.device_put(XS, Mesh)", "device_put takes a device, a sharding"),
    ('jax.device_put(XS, NamedSharding(AbstractMesh((2,), ("x",)), P("x")))', "names devices"),
    ('jax.device_put({"a": 1, "b": 2}, {"a": D[0]})', "device_put device", "key"),
    ("jax.device_put(XS, (D[0],))", "device_put device"),
    ('jax.lax.with_sharding_constraint(np.ones(7), on("x"))', "partitioned 2 times"),
    ('jax.lax.with_sharding_constraint(np.ones(7), P("x"))', "jax.set_mesh"),
    ('jax.lax.with_sharding_constraint(XS, "x")', "takes shardings and PartitionSpecs, got 'x'"),
    ("jax.lax.with_sharding_constraint(XS, None)", "a sharding for each array, got None"),
    (
        "jax.make_array_from_process_local_data(on('x'), XS, (24,))",
        "global_shape must be (8,), got (24,)",
    ),
    ("set_mesh(3)", "takes a jax.sharding.Mesh, got 3"),
    ("jax.local_devices(process_index=1)", "Unknown process_index 1"),
    ('jax.devices("gpu")', "Unknown backend"),
    ('jax.local_devices(backend="gpu")', "Unknown backend"),
    ('put(XS, "x").addressable_data(9)', "out of range"),
    (
        "jax.make_array_from_callback((8,), on('x'), lambda i: XS[i][:2])",
        "shape (4,)",
        "shape (2,)",
    ),
    (
        "jax.make_array_from_single_device_arrays((8,), on('x'), [jnp.ones(4)] * 8)",
        "one array on each of the devices",
    ),
]


@pytest.mark.parametrize("expression,words", [(e, w) for e, *w in REFUSED])
def test_refused(expression, words):
    errors = [attempt(lambda jax: answer(expression, jax), jax)[1] for jax in (OURS, ORACLE)]
    compare_errors(*errors, words)


def test_refused_with_a_better_error():
    """Where JAX fails by accident."""
    on = Names(OURS)["on"]
    for make, words in [
        (lambda: OURS.NamedSharding(on("x").mesh, "x"), "must be a jax.sharding.PartitionSpec"),
        (lambda: OURS.NamedSharding("mesh", OURS.P()), "must be a jax.sharding.Mesh"),
        (lambda: OURS.sharding.SingleDeviceSharding("cpu"), "takes a device, got 'cpu'"),
        (lambda: setattr(OURS.P("x"), "partitions", ()), "cannot be changed"),
    ]:
        with pytest.raises((TypeError, AttributeError), match=words):
            make()
    with pytest.raises(ValueError, match="rank at least 2"):
        on("x", "y").shard_shape((4,))
    with pytest.raises(ValueError, match="memory of kind 'gone'"):
        OURS.devices()[0].memory("gone")


# ---- the mesh in use -----------------------------------------------------------------------------


@pytest.mark.parametrize("jax", [OURS, ORACLE])
def test_a_mesh_may_be_named_for_a_while(jax):
    grid, P = Names(jax)["grid"], jax.P
    with jax.set_mesh(grid):
        assert jax.sharding.get_mesh() == grid
        assert jax.sharding.get_abstract_mesh() == grid.abstract_mesh
        assert jax.device_put(XS, P("x")).sharding == jax.NamedSharding(grid, P("x"))
        out = jax.lax.with_sharding_constraint(XS, P("x"))
        assert out.sharding.spec == P("x")
    jax.set_mesh(grid)
    assert jax.sharding.get_mesh() == grid
    jax.set_mesh(None)
    assert jax.sharding.get_mesh().empty
    with pytest.raises(ValueError, match="set_mesh.*can only be used outside"):
        jax.jit(lambda x: jax.set_mesh(grid) and x)(1.0)


def test_devices_for_a_mesh():
    def make(jax, *args):
        utils = importlib.import_module(f"{jax.__name__}.experimental.mesh_utils")
        return jax.sharding.Mesh(utils.create_device_mesh(*args), ("a", "b"))

    for shape in ((2, 4), (8, 1)):
        assert make(OURS, shape).device_ids.tolist() == make(ORACLE, shape).device_ids.tolist()
    some = [make(jax, (2, 2), jax.devices()[4:]).device_ids.tolist() for jax in (OURS, ORACLE)]
    assert some[0] == some[1]
    same_error(lambda jax: make(jax, (3, 2)), "number of devices", "8", "(3, 2)")


def test_a_mesh_as_a_context():
    grid = Names(OURS)["grid"]
    with grid as mesh:
        assert OURS.sharding.get_mesh() is mesh is grid
    assert OURS.sharding.get_mesh().empty


@pytest.mark.parametrize("jax", [OURS, ORACLE])
def test_the_default_device_commits_to_nothing(jax):
    device = jax.devices()[3]
    with jax.default_device(device):
        x = jax.device_put(1.0)
        assert x.device == device and not x.committed
    assert x.device == device and not x.committed
    assert jax.device_put(x, device).committed


def test_everything_can_be_pickled():
    names = Names(OURS)
    for thing in (names["D"][3], names["grid"], names["on"]("x"), OURS.P("x", None), OURS.P()):
        assert pickle.loads(pickle.dumps(thing)) == thing
        assert copy.deepcopy(thing) == thing
    free = OURS.P.UNCONSTRAINED
    assert pickle.loads(pickle.dumps(free)) is free
    x = names["put"](XS, "x")
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


# ---- under transformations -----------------------------------------------------------------------

PROGRAMS = {
    "put": lambda jax, n: lambda x: jax.device_put(x, n["D"][1]) * 2,
    "put a tree": lambda jax, n: lambda x: jax.device_put((x, 2 * x, 1.0), n["D"][0]),
    "put nowhere": lambda jax, n: lambda x: x + jax.device_put(2.0),
    "put a copy": lambda jax, n: lambda x: jax.device_put(x, n["D"][1], may_alias=False),
    "give away": lambda jax, n: lambda x: jax.device_put(x, n["D"][1], donate=True),
    "from": lambda jax, n: lambda x: jax.device_put(x, n["D"][1], src=n["D"][0]),
    "constrain": lambda jax, n: lambda x: jax.lax.with_sharding_constraint(x, n["on"]("x")),
    "one device": lambda jax, n: (
        lambda x: jax.lax.with_sharding_constraint(x, n["SingleDeviceSharding"](n["D"][0]))
    ),
    "free": lambda jax, n: (
        lambda x: jax.lax.with_sharding_constraint(x, n["on"](n["P"].UNCONSTRAINED))
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    """Values, printed programs, derivatives and batches."""
    ours, oracles = (PROGRAMS[name](jax, Names(jax)) for jax in (OURS, ORACLE))
    for run in (
        lambda jax, f: f(XS),
        lambda jax, f: jax.jit(f)(XS),
        lambda jax, f: jax.vmap(f)(MAT[:, :2]),
        lambda jax, f: jax.vmap(f, in_axes=1)(MAT),
        lambda jax, f: jax.jvp(f, (XS,), (XS,)),
        lambda jax, f: jax.jit(jax.vmap(f))(MAT[:, :2]),
    ):
        compare(run(OURS, ours), run(ORACLE, oracles))
    if name != "give away":  # which JAX does not transpose
        pull = lambda jax, f: jax.vjp(f, XS)[1](jax.tree.map(jax.numpy.ones_like, f(XS)))
        compare(pull(OURS, ours), pull(ORACLE, oracles))
    for f in (lambda jax, f: f, lambda jax, f: jax.vmap(f, in_axes=1, out_axes=-1)):
        x = MAT[:4, :2] if name == "free" else MAT[:, :2]
        x = XS if f(OURS, ours) is ours else x
        got = str(OURS.make_jaxpr(f(OURS, ours))(x))
        assert got == str(ORACLE.make_jaxpr(f(ORACLE, oracles))(x))


def test_what_was_put_is_no_number_any_more():
    def printed(jax, place):
        y = jax.device_put(2.0, place(jax))
        return str(jax.make_jaxpr(lambda x: x * y)(1.0))

    for place in (lambda jax: None, lambda jax: jax.devices()[0]):
        assert printed(OURS, place) == printed(ORACLE, place)


def test_a_derivative_goes_back():
    """The cotangent is put where the operand came from."""
    for jax in (OURS, ORACLE):
        put = lambda x, jax=jax: jax.device_put(x, jax.devices()[1], src=jax.devices()[2])
        text = str(jax.make_jaxpr(jax.grad(put))(1.0))
        back = text[text.rindex("device_put[") :]
        assert "devices=(CpuDevice(id=2),)" in back and "srcs=(CpuDevice(id=1),)" in back
        assert "ALWAYS_COPY" in back


def test_results_of_operations_are_ordinary():
    x = Names(OURS)["put"](XS, "x")
    for y in (x + 1, OURS.jit(lambda x: x * 2)(x), x[2:], x.reshape(2, 4)):
        assert y.sharding == OURS.numpy.ones(2).sharding and not y.committed
    assert (x + 1).tolist() == (XS + 1).tolist()


# ---- results of pmap -----------------------------------------------------------------------------

MAPPED = {
    "first axis": lambda jax: jax.pmap(lambda x: x * 2)(XS),
    "second axis": lambda jax: jax.pmap(lambda x: x * 2, axis_name="i", out_axes=1)(MAT),
    "everywhere": lambda jax: jax.pmap(lambda x: jax.lax.psum(x, "i"), "i", out_axes=None)(XS),
    "same rows": lambda jax: jax.pmap(lambda x: jax.lax.psum(x, "i"), "i")(XS),
    "other devices": lambda jax: jax.pmap(lambda x: x, devices=jax.devices()[2:6])(XS[:4]),
    "one device": lambda jax: jax.pmap(lambda x: x * 2)(XS[:1]),
}
FACTS = """sharding device committed is_fully_replicated is_fully_addressable addressable_shards
    global_shards sharding.spec sharding.mesh sharding.memory_kind shape dtype weak_type nbytes"""


@pytest.mark.parametrize("name", MAPPED)
def test_results_of_pmap_say_where_they_are(name):
    y, want = (MAPPED[name](jax) for jax in (OURS, ORACLE))
    for fact in FACTS.split():
        assert repr(eval(f"y.{fact}", {"y": y})) == repr(eval(f"y.{fact}", {"y": want})), fact
    assert y.on_device_size_in_bytes() == want.on_device_size_in_bytes()
    assert repr(y.addressable_data(0)) == repr(want.addressable_data(0))
    assert sorted(map(repr, y.devices())) == sorted(map(repr, want.devices()))
    assert y.addressable_shards[-1].data.sharding.device_set == {y.addressable_shards[-1].device}


def test_keys_of_pmap_say_where_they_are():
    """Like numbers; JAX's indices also count the words of a key, ours do not."""
    y, want = (jax.pmap(jax.random.key)(np.arange(8)) for jax in (OURS, ORACLE))
    for fact in ("sharding", "committed", "is_fully_replicated", "sharding.spec"):
        assert repr(eval(f"y.{fact}", {"y": y})) == repr(eval(f"y.{fact}", {"y": want})), fact
    for shard, other in zip(y.addressable_shards, want.addressable_shards, strict=True):
        assert repr(shard.data) == repr(other.data) and shard.index == other.index[:1]
    assert y.on_device_size_in_bytes() == want.on_device_size_in_bytes() == 64
    again = OURS.pmap(OURS.random.uniform)(y)
    compare(again, ORACLE.pmap(ORACLE.random.uniform)(want))


def test_asking_where_a_result_is_does_not_wait(monkeypatch):
    y = OURS.pmap(lambda x: x * 3)(XS)
    with monkeypatch.context() as patch:
        patch.setattr(ShardedArray, "npy", property(lambda self: pytest.fail("fetched")))
        assert [s.index for s in y.addressable_shards][3] == (slice(3, 4),)
        assert y.sharding.num_devices == len(y.devices()) == 8
        assert OURS.device_put(y) is y and OURS.device_put(y, y.sharding) is y
    assert OURS.device_put(y, OURS.devices()[3]).device == OURS.devices()[3]


# ---- rows for devices ----------------------------------------------------------------------------


@pytest.fixture
def puts(monkeypatch):
    """What is put into the memory of devices from now on."""
    seen, current = [], engine()
    put = type(current).put

    def spy(self, array, parts):
        if array.dtype != np.uint8:  # in which engines move programs
            seen.append((array.shape, parts))
        return put(self, array, parts)

    monkeypatch.setattr(type(current), "put", spy)
    return seen


def test_rows_on_devices(puts):
    devices = OURS.devices()[:3]
    tree = [{"a": MAT[i], "b": float(i)} for i in range(3)]
    x = OURS.device_put_sharded(tree, devices)
    np.testing.assert_array_equal(x["a"], MAT[:3])
    assert x["b"].tolist() == [0, 1, 2] and x["b"].weak_type
    assert x["a"].devices() == set(devices)
    assert [s.device.id for s in x["a"].addressable_shards] == [0, 1, 2]
    assert str(x["a"].addressable_shards[1].data) == str(MAT[1:2])
    assert puts == [((3, 3), ((0,), (1,), (2,))), ((3,), ((0,), (1,), (2,)))]
    out = OURS.pmap(lambda d: d["a"].sum() + d["b"])(x)  # nothing is moved
    np.testing.assert_array_equal(out, MAT[:3].sum(1) + np.arange(3))
    assert len(puts) == 2


def test_copies_on_devices(puts):
    devices = OURS.devices()[:4]
    x = OURS.device_put_replicated({"w": MAT, "b": 2}, devices)
    np.testing.assert_array_equal(x["w"], np.stack([MAT] * 4))
    assert x["b"].tolist() == [2] * 4 and x["w"].shape == (4, 8, 3)
    assert puts == [((1,), ((0, 1, 2, 3),)), ((1, 8, 3), ((0, 1, 2, 3),))]
    assert x["w"].sharding.spec == OURS.P("_device_put_replicated")
    out = OURS.pmap(lambda d: d["w"].sum() * d["b"])(x)
    assert out.tolist() == [2 * MAT.sum()] * 4
    assert len(puts) == 2


def test_rows_are_what_the_oracle_advises_to_write_instead():
    """JAX has dropped device_put_sharded: its guide stacks, and puts with a NamedSharding."""
    jax, devices = ORACLE, ORACLE.devices()[2:5]
    mesh = jax.sharding.Mesh(np.array(devices), ("_device_put_sharded",))
    want = jax.device_put(MAT[:3], jax.NamedSharding(mesh, jax.P("_device_put_sharded")))
    got = OURS.device_put_sharded(list(MAT[:3]), OURS.devices()[2:5])
    compare(got, want)
    assert repr(got.sharding) == repr(want.sharding)
    assert repr(got.addressable_shards) == repr(want.addressable_shards)


def test_rows_of_other_kinds():
    jax, devices = OURS, OURS.devices()
    keys = jax.device_put_sharded(list(jax.random.split(jax.random.key(0), 8)), devices)
    same(lambda jax: jax.pmap(jax.random.uniform)(jax.random.split(jax.random.key(0), 8)))
    assert jax.pmap(jax.random.uniform)(keys).shape == (8,)
    assert len(keys.devices()) == 8
    for dtype in ("bool", "int8", "float16", "bfloat16", "complex64"):
        x = jax.device_put_sharded([jax.numpy.ones(2, dtype)] * 2, devices[:2])
        assert x.dtype == dtype and x.tolist() == [[1, 1], [1, 1]]
    grads = jax.grad(lambda x: (jax.device_put_sharded([x, 2 * x], devices[:2]) ** 2).sum())(3.0)
    assert grads == 30
    grads = jax.grad(lambda x: (jax.device_put_replicated(x, devices[:2]) ** 2).sum())(3.0)
    assert grads == 12


ROWS = [
    (
        lambda jax, D: jax.device_put_sharded([1, 2], D[:3]),
        "len(shards) = 2 must equal len(devices) = 3",
    ),
    (lambda jax, D: jax.device_put_sharded([XS, MAT], D[:2]), "shards[1] is float32[8,3]"),
    (lambda jax, D: jax.device_put_sharded([1, 2.0], D[:2]), "shards[1] is float32[]"),
    (lambda jax, D: jax.device_put_sharded([{"a": 1}, {"b": 1}], D[:2]), "one structure"),
    (lambda jax, D: jax.device_put_sharded([1, 2], [D[1], D[1]]), "devices has cpu:1 twice"),
    (lambda jax, D: jax.device_put_sharded(XS, D), "shards must be a sequence"),
    (lambda jax, D: jax.device_put_sharded([1], D[0]), "devices must be a sequence of devices"),
    (lambda jax, D: jax.device_put_sharded([1], ["cpu"]), "devices must be a sequence of devices"),
    (lambda jax, D: jax.device_put_sharded([], []), "devices must not be empty"),
    (lambda jax, D: jax.device_put_replicated(1, []), "devices must not be empty"),
    (lambda jax, D: jax.device_put_replicated(1, [D[0]] * 2), "devices has cpu:0 twice"),
    (lambda jax, D: jax.device_put_replicated(1, D[0]), "devices must be a sequence of devices"),
    (lambda jax, D: jax.device_put_replicated("a", D), "not a valid JAX type"),
]


@pytest.mark.parametrize("run,words", ROWS)
def test_rows_refused(run, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        run(OURS, OURS.devices())
    assert words in str(caught.value)


# ---- pictures ------------------------------------------------------------------------------------

PICTURES = [
    ((8,), 'NamedSharding(row, P("x"))', {}),
    ((8,), 'on("x")', {}),
    ((8,), "on()", {}),
    ((8,), "SingleDeviceSharding(D[3])", {}),
    ((8, 8), 'on("x", "y")', {}),
    ((8, 8), 'on("y", "x")', {}),
    ((8, 8), 'on("x")', {}),
    ((8, 8), 'on(None, "y")', {}),
    ((8, 8), "on()", {}),
    ((8, 8), "SingleDeviceSharding(D[3])", {}),
    ((8, 2), 'NamedSharding(row, P("x"))', {}),
    ((8, 8), 'NamedSharding(row, P("x"))', {}),
    ((4, 12), 'on("x", "y")', {}),
    ((16, 4), 'on("y", "x")', {}),
    ((8, 8), 'on("x", "y")', {"scale": 2.0}),
    ((8, 8), 'on("x", "y")', {"scale": 0.5}),
    ((8, 8), 'on("x", "y")', {"min_width": 15}),
    ((8, 8), 'on("x")', {"max_width": 40}),
]


@pytest.mark.parametrize("shape,sharding,options", PICTURES)
def test_pictures(shape, sharding, options, capsys):
    seen = []
    for jax in (OURS, ORACLE):
        where = answer(sharding, jax)
        jax.debug.visualize_sharding(shape, where, use_color=False, **options)
        x = jax.device_put(np.zeros(shape), where)
        jax.debug.visualize_array_sharding(x, use_color=False, **options)
        seen.append(capsys.readouterr().out)
    assert seen[0] == seen[1]


def test_a_wide_picture_keeps_the_names(capsys):
    """Where JAX's picture loses them."""
    OURS.debug.visualize_sharding((8, 64), answer('on("x", "y")', OURS))
    lines = capsys.readouterr().out.splitlines()
    assert [c.strip() for c in lines[2].split("│")[1:-1]] == ["CPU 0", "CPU 1", "CPU 2", "CPU 3"]
    assert {len(line) for line in lines} == {77}


def test_a_picture_of_a_result_of_pmap(capsys):
    for jax in (OURS, ORACLE):
        jax.debug.visualize_array_sharding(jax.pmap(lambda x: x + 1)(MAT), use_color=False)
        jax.debug.visualize_array_sharding(
            jax.pmap(lambda x: x + 1, out_axes=1)(MAT), use_color=False
        )
    printed = capsys.readouterr().out
    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :]


def test_inspecting():
    seen = []
    put = Names(OURS)["put"]
    OURS.debug.inspect_array_sharding({"a": put(XS, "x"), "b": 1.0}, callback=seen.append)
    assert seen == [put(XS, "x").sharding, OURS.numpy.ones(1).sharding]
    for run in (OURS.jit, OURS.vmap, lambda f: lambda x: OURS.jvp(f, (x,), (x,))):
        seen.clear()
        run(lambda x: OURS.debug.inspect_array_sharding(x, callback=seen.append) or x)(XS)
        assert seen == [OURS.numpy.ones(1).sharding]
    same_error(lambda jax: jax.debug.visualize_sharding((1, 1, 1), None), "1 and 2 dimensions")
