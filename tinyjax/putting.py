"""Putting arrays on devices, and asking that they lie there: with_sharding_constraint."""

import enum
import functools

from tinyjax.array import Array, lift
from tinyjax.core import EVAL, Primitive, Tracer, Undef, current_trace, nonzero
from tinyjax.devices import CpuDevice, chosen_device
from tinyjax.parallel.sharded import ShardedArray
from tinyjax.placement import is_committed, placed, sharding_of
from tinyjax.primitives.linear import LinearOp
from tinyjax.sharding.mesh import AbstractMesh, get_mesh
from tinyjax.sharding.shardings import NamedSharding, Sharding, SingleDeviceSharding
from tinyjax.sharding.spec import UNCONSTRAINED, P
from tinyjax.tracebacks import shorten
from tinyjax.tree_util import broadcast_prefix, prefix_errors, tree_flatten

# ---- device_put ----------------------------------------------------------------------------------


class CopySemantics(enum.Enum):
    """What device_put may do with its operand: a note for the reader of a jaxpr."""

    ALWAYS_COPY = 0
    REUSE_INPUT = 1
    DONATE_INPUT = 2

    def __repr__(self):
        return f"ArrayCopySemantics.{self.name}"


class DevicePut(Primitive):
    """device_put[copy_semantics devices srcs] *xs: the same values, elsewhere.

    Every parameter is a tuple with one entry for each operand.
    """

    multi = high = True  # it works on Arrays as they are, so they stay weakly typed

    def impl(self, *xs, **params):
        return list(xs)

    def type(self, *xs, **params):
        return list(xs)

    def one(self, x, i, params):
        """Put one array to the i-th of the places in params."""
        return self.bind(x, **{name: (values[i],) for name, values in params.items()})[0]

    def linearize(self, nz, *xs, **params):
        def push(*tangents):
            return [self.one(t, i, params) if nonzero(t) else t for i, t in enumerate(tangents)]

        return self.bind(*xs, **params), push

    def linear_part(self, own, *xs, **params):
        return self.linearize(own, *xs, **params)

    def transpose(self, cts, *xs, devices, srcs, copy_semantics):
        back = {"devices": srcs, "srcs": devices}
        back["copy_semantics"] = (CopySemantics.ALWAYS_COPY,) * len(xs)
        return [
            (self.one(ct, i, back) if nonzero(ct) else ct) if isinstance(x, Undef) else None
            for i, (ct, x) in enumerate(zip(cts, xs))
        ]

    def batch(self, axis, vals, dims, /, **params):
        return self.bind(*vals, **params), dims


device_put_p = DevicePut("device_put")


def device_put(x, device=None, *, src=None, donate=False, may_alias=None):
    """A pytree with its numbers and NumPy arrays as Arrays, on devices.

    Args:
      x: pytree of arrays and numbers.
      device: a device, a sharding, or a PartitionSpec of the mesh that `set_mesh` named; or a
        pytree of them that is a prefix of x. None leaves arrays where they are.
      src, donate, may_alias: accepted as JAX's; NumPy arrays are copied.

    The result says where it is (`.sharding`, `.addressable_shards`); what is computed from it is
    an ordinary array again, on the default device. To compute on several devices use pmap.

    Raises ValueError if device is something else, or a sharding does not fit the array.

    >>> import tinyjax as jax
    >>> jax.device_put([1, 2.0], jax.devices()[3])[1].device
    CpuDevice(id=3)
    >>> mesh = jax.make_mesh((2,), ("x",))
    >>> x = jax.device_put(jax.numpy.arange(4), jax.NamedSharding(mesh, jax.P("x")))
    >>> x.addressable_shards[1]
    Shard(device=CpuDevice(id=1), index=(slice(2, 4, None),), replica_id=0, data=[2 3])
    """
    leaves, treedef = tree_flatten(x)
    values = list(map(lift, leaves))
    targets = broadcast_places(device, x, treedef)
    places = [resolved(target, v) for target, v in zip(targets, values)]
    if current_trace() is not EVAL and values:
        copying = CopySemantics.DONATE_INPUT if donate else CopySemantics.REUSE_INPUT
        if may_alias is False:
            copying = CopySemantics.ALWAYS_COPY
        values = device_put_p.bind(
            *values,
            devices=tuple(targets),
            srcs=tuple(broadcast_places(src, x, treedef)),
            copy_semantics=(copying,) * len(values),
        )
    return treedef.unflatten(list(map(put_on, values, places)))


def broadcast_places(device, x, treedef):
    """One place for each leaf of x."""

    def is_none(leaf):
        return leaf is None

    if device is None or isinstance(device, (CpuDevice, Sharding, P)):
        return [device] * treedef.num_leaves
    try:
        return broadcast_prefix(device, treedef, is_none)
    except ValueError:
        raise prefix_errors(device, x, is_none)[0]("device_put device") from None


def resolved(target, value):
    """What device_put was given, as the sharding of a value; None if it stays where it is."""
    if target is None or isinstance(target, SingleDeviceSharding):
        return target
    if isinstance(target, CpuDevice):
        return SingleDeviceSharding(target)
    if isinstance(target, P):
        target = NamedSharding(mesh_in_use("device_put", ValueError), target)
    if not isinstance(target, Sharding):
        raise ValueError(
            "device_put takes a device, a sharding, a PartitionSpec, None or a pytree of them, "
            f"got {target!r}"
        )
    check_fits("device_put", target, value.shape)
    if not has_devices(target):
        raise ValueError(f"device_put needs a sharding that names devices, got {target}")
    return target


def has_devices(sharding):
    """Whether a sharding names devices: an AbstractMesh has none."""
    return not isinstance(getattr(sharding, "mesh", None), AbstractMesh)


def check_fits(name, sharding, shape):
    """Raise ValueError if arrays of this shape cannot lie as a sharding says."""
    try:
        sharding.check_compatible_aval(shape)
    except ValueError as error:
        raise ValueError(
            f"One of the arguments of {name} does not fit its sharding {sharding}: {error}"
        ) from None
    sharding.shard_shape(shape)


def mesh_in_use(name, error):
    """The mesh that set_mesh named; an error if there is none."""
    mesh = get_mesh()
    if mesh.empty:
        raise error(
            f"{name} was given a PartitionSpec, but no mesh: name one with `jax.set_mesh`, or give "
            "a jax.sharding.NamedSharding."
        )
    return mesh


def put_on(value, place):
    """A value as an Array in this place; None: where it is, or on the default device."""
    if isinstance(value, Tracer):
        return value
    if place is None:
        chosen = chosen_device()
        if value.literal:  # from now on it is an array like any other
            value = Array(value.npy, value.weak_type)
        if chosen is None or is_committed(value) or hasattr(value, "place"):
            return value
        return placed(value, SingleDeviceSharding(chosen), committed=False)
    if isinstance(value, ShardedArray) and place == sharding_of(value):
        return value
    return placed(value, place)


def takes_device(make):
    """Decorates a function whose argument device= says where to put its result."""

    @functools.wraps(make)
    def maker(*args, device=None, **kwargs):
        try:
            out = make(*args, **kwargs)
            return out if device is None else device_put(out, device)
        except Exception as error:
            shorten(error)
            raise

    return maker


# ---- with_sharding_constraint --------------------------------------------------------------------


class ShardingConstraint(LinearOp):
    """sharding_constraint[sharding unconstrained_dims] x: the same value."""

    printed = {"context_mesh": "Mesh()", "layout": None}

    def impl(self, x, **params):
        return x

    def type(self, x, **params):
        return x

    def transpose(self, ct, x, **params):
        return [self.bind(ct, **params)]

    def batch(self, axis, vals, dims, /, *, sharding, unconstrained_dims):
        (d,) = dims
        free = {k + (k >= d) for k in unconstrained_dims} | {d}
        if isinstance(sharding, NamedSharding):
            spec = list(sharding.spec) + [None] * (d - len(sharding.spec))
            sharding = sharding.update(spec=[*spec[:d], UNCONSTRAINED, *spec[d:]])
        return self.bind(vals[0], sharding=sharding, unconstrained_dims=frozenset(free)), d


sharding_constraint_p = ShardingConstraint("sharding_constraint")


def with_sharding_constraint(x, shardings):
    """The same values; outside of transformations, they lie as the shardings say.

    Args:
      x: pytree of arrays.
      shardings: a sharding, a PartitionSpec of the mesh that `set_mesh` named, or a pytree of them
        that is a prefix of x.

    In a jitted function JAX's compiler cuts arrays as the constraint asks. Here a jitted function
    runs on one device, so the constraint is only checked.

    Raises TypeError for anything else, ValueError if a sharding does not fit its array.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> cut = jax.NamedSharding(jax.make_mesh((2,), ("x",)), jax.P("x"))
    >>> jax.lax.with_sharding_constraint(jnp.arange(4), cut).addressable_data(1)
    Array([2, 3], dtype=int32)
    """
    leaves, treedef = tree_flatten(x)
    targets = broadcast_prefix(shardings, treedef, lambda leaf: leaf is None)
    return treedef.unflatten([constrained(lift(v), s) for v, s in zip(leaves, targets)])


def constrained(value, sharding):
    """One value, constrained."""
    if isinstance(sharding, P):
        sharding = NamedSharding(mesh_in_use("with_sharding_constraint", RuntimeError), sharding)
    if sharding is None:
        raise ValueError("with_sharding_constraint takes a sharding for each array, got None")
    if not isinstance(sharding, Sharding):
        raise TypeError(
            f"with_sharding_constraint takes shardings and PartitionSpecs, got {sharding!r}"
        )
    check_fits("with_sharding_constraint", sharding, value.shape)
    spec = getattr(sharding, "spec", ())
    free = frozenset(k for k, name in enumerate(spec) if name is UNCONSTRAINED)
    if current_trace() is not EVAL:
        value = sharding_constraint_p.bind(value, sharding=sharding, unconstrained_dims=free)
    return put_on(value, sharding) if has_devices(sharding) else value
