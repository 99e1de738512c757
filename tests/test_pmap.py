"""pmap against JAX's on eight devices; where JAX refuses, against vmap of the same function."""

import copy
import os
import pickle
import sys

import numpy as np
import pytest
from worlds import ORACLE, OURS, compare, same, same_error

from tinyjax.parallel import engine

XS = np.linspace(-2, 3, 8).astype(np.float32)
MAT = np.linspace(-1, 1, 24).reshape(8, 3).astype(np.float32)
W = np.linspace(0.1, 0.9, 12).reshape(3, 4).astype(np.float32)

# ---- what the introductions show -----------------------------------------------------------------


def test_add_on_eight_devices():
    jax, jnp = OURS, OURS.numpy
    out = jax.pmap(jnp.add)(jnp.arange(8), jnp.arange(8))
    assert str(out) == "[ 0  2  4  6  8 10 12 14]"
    assert len(out.devices()) == 8


def test_share_of_the_sum():
    same(lambda jax: jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(XS))


# ---- axes ----------------------------------------------------------------------------------------

AXES = {
    "tuple": (lambda x, y: x * y, (0, None), 0, (XS, 2.0)),
    "second axis": (lambda x: x * 2, 1, 1, (MAT.T,)),
    "in second, out first": (lambda x: x * 2, 1, 0, (MAT.T,)),
    "out last": (lambda x: x * 2, 0, 1, (MAT,)),
    "tree": (lambda d: {"s": d["x"] * d["y"]}, ({"x": 0, "y": None},), 0, ({"x": XS, "y": 2.0},)),
    "tree of out_axes": (lambda x: (x, x * 2), 0, (0, 1), (MAT,)),
    "fewer rows": (lambda x: x @ x.T, 0, 0, (np.ones((3, 2, 2), np.float32),)),
    "one row": (lambda x: x + 1, 0, 0, (np.ones((1, 2), np.float32),)),
}


@pytest.mark.parametrize("name", AXES)
def test_axes(name):
    f, in_axes, out_axes, args = AXES[name]
    same(lambda jax: jax.pmap(f, in_axes=in_axes, out_axes=out_axes)(*args))


def test_keywords_statics_and_sizes():
    same(lambda jax: jax.pmap(lambda x, y: x * y)(XS, y=XS))
    same(lambda jax: jax.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(XS, 3))
    same(
        lambda jax: jax.pmap(
            lambda n, x, y: x * n + y, static_broadcasted_argnums=(0,), in_axes=(None, 0, None)
        )(3, XS, 1.5)
    )
    same(lambda jax: jax.pmap(lambda x: x * 2, axis_size=8)(XS))
    same(lambda jax: jax.pmap(lambda x: x * 2, devices=jax.devices()[2:6])(XS[:4]))


def test_results_that_do_not_vary():
    """out_axes=None is for what is the same on all devices, and only for that."""
    same(lambda jax: jax.pmap(lambda x: jax.lax.pmean(x, "i"), "i", out_axes=None)(XS))
    same(lambda jax: jax.pmap(lambda x: (x, 1.5), out_axes=(0, None))(XS))
    with pytest.raises(ValueError, match="differs between devices, but its out_axes is None"):
        OURS.pmap(lambda x: x, out_axes=None)(XS)
    with pytest.raises(ValueError, match="differs between devices"):
        OURS.pmap(lambda x: OURS.lax.axis_index("i"), "i", out_axes=None)(XS)

    def loop(jax):  # the carry is the same everywhere, though the data differ
        step = lambda c, _: (c + jax.lax.pmean(c * x_of(jax), "i"), None)
        x_of = lambda jax: jax.numpy.float32(2.0)
        return jax.pmap(
            lambda x: jax.lax.scan(step, jax.lax.psum(x, "i"), None, length=3)[0],
            "i",
            out_axes=None,
        )(XS)

    same(loop)


def test_dtypes_and_weak_types():
    def check_one(dtype):
        same(lambda jax: jax.pmap(lambda x: x)(jax.numpy.ones(8, dtype)))

    for dtype in ("bool", "int8", "uint32", "float16", "bfloat16", "complex64", "int32"):
        check_one(dtype)
    same(lambda jax: jax.pmap(lambda x: (x, 1, 2.0, x * 1j))(XS))


def test_keys():
    """Random keys go in and come out."""

    def run(jax):
        keys = jax.random.split(jax.random.key(3), 8)
        draw = lambda k: (jax.random.normal(k, (2,)), jax.random.key_data(jax.random.split(k)))
        out = jax.pmap(lambda k: jax.random.split(k, 3))(keys)
        return jax.pmap(draw)(keys), jax.random.key_data(out)

    same(run)


# ---- compositions --------------------------------------------------------------------------------


def loss(jax, w, x):
    """A scalar loss of weights and one example."""
    return jax.numpy.sum(jax.numpy.tanh(x @ w) ** 2)


COMPOSED = {
    "pmap of vmap": lambda jax: jax.pmap(jax.vmap(lambda x: jax.numpy.sin(x) * 2))(MAT),
    "vmap of pmap": lambda jax: jax.vmap(jax.pmap(lambda x: jax.numpy.sin(x)), 1, 1)(MAT),
    "vmap of pmap, all axes": lambda jax: jax.vmap(
        jax.pmap(lambda x, y: (x * y, y), in_axes=(1, None), out_axes=(1, 0)), (0, 0), (2, 0)
    )(np.ones((2, 3, 8), np.float32), np.arange(2.0, dtype=np.float32)),
    "jit of pmap": lambda jax: jax.jit(lambda x: jax.pmap(jax.numpy.sin)(x * 2) + 1)(XS),
    "pmap of jit": lambda jax: jax.pmap(jax.jit(lambda x: jax.numpy.sin(x)))(XS),
    "grad through pmap": lambda jax: jax.grad(
        lambda x: jax.numpy.sum(jax.pmap(lambda v: jax.numpy.sin(v) * v)(x))
    )(XS),
    "grad of what all share": lambda jax: jax.grad(
        lambda w: jax.numpy.sum(
            jax.pmap(lambda x, w: jax.numpy.sin(x) @ w, in_axes=(0, None))(MAT, w)
        )
    )(W),
    "grad of a closure": lambda jax: jax.grad(
        lambda w: jax.numpy.sum(jax.pmap(lambda x: jax.numpy.sin(x) @ w)(MAT))
    )(W),
    "grad through psum": lambda jax: jax.grad(
        lambda x: jax.numpy.sum(jax.pmap(lambda v: jax.lax.psum(v * v, "i") * v, "i")(x))
    )(XS),
    "grad through out_axes=None": lambda jax: jax.grad(
        lambda x: jax.pmap(lambda v: jax.lax.pmean(v * v, "i") ** 2, "i", out_axes=None)(x)
    )(XS),
    "second derivative": lambda jax: jax.grad(
        lambda x: jax.numpy.sum(
            jax.grad(
                lambda y: jax.numpy.sum(jax.pmap(lambda v: v**3 * jax.lax.pmean(v, "i"), "i")(y))
            )(x)
        )
    )(XS),
    "jvp": lambda jax: jax.jvp(
        jax.pmap(lambda v: (jax.lax.pmean(v**2, "i"), v), "i"), (XS,), (np.ones(8, np.float32),)
    ),
    "linearize": lambda jax: jax.linearize(jax.pmap(lambda v: jax.numpy.exp(v) * v), XS)[1](XS),
    "vjp under jit": lambda jax: jax.jit(
        lambda x: jax.vjp(jax.pmap(lambda v: jax.numpy.exp(v) * v), x)[1](x)
    )(XS),
    "pmap of grad with pmean": lambda jax: jax.pmap(
        lambda w, x: jax.lax.pmean(jax.grad(lambda w: loss(jax, w, x))(w), "i"),
        "i",
        in_axes=(None, 0),
    )(W, MAT),
    "value_and_grad with has_aux": lambda jax: jax.pmap(
        jax.value_and_grad(lambda x: (jax.numpy.sum(x**2), {"twice": x * 2}), has_aux=True)
    )(MAT),
    "jacobian of pmap": lambda jax: jax.jacrev(
        jax.pmap(lambda v: v**2 * jax.lax.psum(v, "i"), "i")
    )(XS),
    "forward jacobian": lambda jax: jax.jacfwd(
        jax.pmap(lambda v: v**2 * jax.lax.psum(v, "i"), "i")
    )(XS),
    "scan": lambda jax: jax.pmap(
        lambda v: jax.lax.scan(lambda c, k: (c * 0.5 + jax.lax.pmean(c, "i") + k, c), v, MAT[0])[1],
        "i",
    )(XS),
    "while": lambda jax: jax.pmap(
        lambda v: jax.lax.while_loop(lambda c: c < 10, lambda c: c * 2 + 1, jax.numpy.abs(v) + 1)
    )(XS),
    "cond": lambda jax: jax.pmap(
        lambda v: jax.lax.cond(v > 0, lambda u: u * 2, lambda u: u - 1, v)
    )(XS),
    "grad through scan with psum": lambda jax: jax.grad(
        lambda x: jax.numpy.sum(
            jax.pmap(
                lambda v: jax.lax.scan(
                    lambda c, _: (c + jax.lax.psum(jax.numpy.sin(c), "i") * 0.1, None),
                    v,
                    None,
                    length=3,
                )[0],
                "i",
            )(x)
        )
    )(XS),
    "custom rules": lambda jax: jax.grad(lambda x: jax.numpy.sum(jax.pmap(jax.nn.softplus)(x)))(XS),
    "checkpoint": lambda jax: jax.grad(
        lambda x: jax.numpy.sum(
            jax.pmap(jax.checkpoint(lambda v: jax.numpy.sin(jax.numpy.sin(v))))(x)
        )
    )(XS),
    "linear algebra": lambda jax: jax.pmap(lambda a: jax.numpy.linalg.inv(a) @ a)(
        np.eye(3, dtype=np.float32) + np.ones((8, 3, 3), np.float32)
    ),
    "psum of a tree": lambda jax: jax.pmap(lambda d: jax.lax.psum({"x": d["x"], "n": 1}, "i"), "i")(
        {"x": MAT}
    ),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_composed(name):
    same(COMPOSED[name])


def nested(jax, mapping, f):
    """f with two named axes."""
    return mapping(mapping(f, axis_name="cols"), axis_name="rows")


NESTED = {
    "sums": lambda jax, v: (
        jax.lax.psum(v, "rows"),
        jax.lax.psum(v, "cols"),
        jax.lax.psum(v, ("rows", "cols")),
        jax.lax.axis_index("rows") * 10 + jax.lax.axis_index("cols"),
    ),
    "gather": lambda jax, v: jax.lax.all_gather(jax.lax.all_gather(v, "rows"), "cols"),
    "after each other": lambda jax, v: jax.lax.pmax(v * jax.lax.psum(v, "cols"), "rows"),
}


@pytest.mark.parametrize("name", NESTED)
def test_pmap_in_pmap(name):
    """JAX 0.10 refuses nested pmaps; vmap says what they mean."""
    x = XS.reshape(2, 4)
    f = lambda jax: lambda v: NESTED[name](jax, v)
    ours = nested(OURS, OURS.pmap, f(OURS))(x)
    compare(ours, nested(ORACLE, ORACLE.vmap, f(ORACLE))(x))


def test_pmap_in_pmap_of_more():
    """Values computed outside the inner pmap, two inner pmaps, of one size and of two."""

    def program(jax, mapping):
        def outer(x, y):
            a = mapping(lambda v: v * jax.lax.psum(v, "i"))(x * 2)
            b = mapping(lambda u, v: u + v, in_axes=(0, None))(y[:2], a[0])
            c = mapping(lambda v: jax.lax.psum(v, "j"), axis_name="j")(y)
            twice = lambda s, _: (mapping(jax.numpy.sin)(s), None)
            d = jax.lax.scan(twice, x, None, length=2)[0]
            return a.sum() + b, c, d

        return mapping(outer, axis_name="i")(XS.reshape(2, 4), MAT[:2])

    compare(program(OURS, OURS.pmap), program(ORACLE, ORACLE.vmap))


def test_grad_through_pmap_in_pmap():
    def program(jax, mapping):
        f = lambda v: jax.lax.psum(jax.numpy.sin(v), "cols") * jax.lax.pmean(v, "rows")
        return jax.grad(lambda x: jax.numpy.sum(nested(jax, mapping, f)(x)))(XS.reshape(2, 4))

    compare(program(OURS, OURS.pmap), program(ORACLE, ORACLE.vmap))


# ---- arrays that stay ----------------------------------------------------------------------------


def test_results_stay_on_the_devices():
    """The output of one pmap is the input of the next, in the same memory."""
    jax = OURS
    double, add = jax.pmap(lambda x: x * 2), jax.pmap(lambda x, y: x + y)
    once = double(XS)
    add(once, once)  # programs are on the devices now
    assert type(once).__name__ == "ShardedArray" and isinstance(once, jax.Array)
    moved = []
    real = once.engine.put
    once.engine.put = lambda *args: moved.append(args) or real(*args)
    try:
        twice = double(once)
        both = add(once, twice)
    finally:
        del once.engine.put
    assert not moved
    np.testing.assert_array_equal(both, XS * 6)


def test_everything_takes_such_arrays():
    """Operations, jit, grad, indexing, NumPy, printing, pickling, deletion of the source."""

    def run(jax):
        jnp = jax.numpy
        y = jax.pmap(lambda x: x * 2, out_axes=1)(MAT)
        return (y + 1, y[0], jnp.sum(y), jax.jit(jnp.sin)(y), y.at[0].set(1.0), y.T, y.reshape(-1),
                jax.grad(lambda z: jnp.sum(z * z))(y), jnp.asarray(np.asarray(y)), list(y)[1],
                jax.vmap(lambda r: r * 2)(y), pickle.loads(pickle.dumps(y)), copy.deepcopy(y),
                jax.pmap(lambda x: x + 1, in_axes=1)(y))  # fmt: skip

    same(run)
    across = OURS.pmap(lambda x: x * 2, out_axes=1)(MAT)  # cut along the other axis
    np.testing.assert_allclose(OURS.pmap(lambda x: x + 1)(across), MAT.T * 2 + 1)
    np.testing.assert_allclose(OURS.pmap(lambda x: x * 2, in_axes=[0])(XS), XS * 2)  # JAX: tuples
    empty = np.ones((4, 0, 2), np.float32)  # JAX fails
    assert OURS.pmap(lambda x: x + 1)(empty).shape == empty.shape
    y = OURS.pmap(lambda x: x * 2)(XS)
    assert repr(y) == repr(OURS.numpy.asarray(XS * 2))
    assert y.is_ready() in (True, False) and y.block_until_ready() is y and y.is_ready()
    assert float(y[0]) == -4.0 and len(y) == 8 and y.nbytes == 32


def test_shared_results():
    """What all devices share lies in memory once, and may be mapped over again."""
    jax = OURS
    total = jax.pmap(lambda x: jax.lax.psum(x, "i"), axis_name="i")(MAT)
    assert total.shape == (8, 3) and len(total.buffer.spec.parts) == 1
    np.testing.assert_allclose(total, np.broadcast_to(MAT.sum(0), (8, 3)), atol=1e-6)
    again = jax.pmap(lambda x, y: x + y)(total, MAT)
    np.testing.assert_allclose(again, MAT.sum(0) + MAT, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda x: x + 1)(total), np.asarray(total) + 1)


def test_data_parallel_training():
    """The loop of the introductions, weights replicated, gradients averaged: as on one device."""

    def run(jax):
        jnp = jax.numpy

        def step(w, x, y):
            g = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
            return w - 0.1 * jax.lax.pmean(g, "batch")

        step = jax.pmap(step, axis_name="batch")
        x = np.linspace(-1, 1, 48).reshape(8, 2, 3).astype(np.float32)
        w = jnp.stack([jnp.zeros(3)] * 8)
        for _ in range(20):
            w = step(w, x, x.sum(2))
        return w

    same(run)


def test_printed_form():
    """Ours: the program of one device, and which axes are mapped (JAX prints its shard_map)."""
    jaxpr = OURS.make_jaxpr(OURS.pmap(lambda x, y: x * y, "i", in_axes=(0, None)))(XS, 2.0)
    text = str(jaxpr)
    for part in ("pmap[", "axis_name=i", "axis_size=8", "in_axes=(0, None)", "out_axes=(0,)"):
        assert part in text
    assert "mul" in text and text.count("lambda ;") == 2


# ---- errors --------------------------------------------------------------------------------------


def test_sizes_and_devices():
    jax = OURS
    with pytest.raises(
        ValueError, match=r"requires 9 devices, but only 8.*\n.*x .*axis 0 has size 9"
    ):
        jax.pmap(lambda x: x)(np.ones((9, 4), np.float32))
    with pytest.raises(ValueError, match=r"x .*axis 0 has size 8.*\n.*y .*axis 0 has size 3"):
        jax.pmap(lambda x, y: x)(XS, XS[:3])
    with pytest.raises(ValueError, match=r"requires 16 devices \(4 x 4, since pmaps inside"):
        jax.pmap(jax.pmap(lambda x: x))(np.ones((4, 4), np.float32))
    with pytest.raises(ValueError, match=r"maps an axis of size 3, but devices= names 2"):
        jax.pmap(lambda x: x, devices=jax.devices()[:2])(XS[:3])
    with pytest.raises(ValueError, match="a device twice"):
        jax.pmap(lambda x: x, devices=[jax.devices()[0]] * 2)
    same_error(lambda jax: jax.pmap(lambda x: x, devices=[])(XS), "devices", "non-empty")


def test_arguments_that_cannot_be_mapped():
    same_error(
        lambda jax: jax.pmap(lambda x, y: x)(XS, 2.0), "rank should be at least 1", "it is y"
    )
    same_error(lambda jax: jax.pmap(lambda: 1.0)(), "at least one")
    same_error(lambda jax: jax.pmap(lambda x: x, in_axes=None)(XS), "at least one")
    same_error(lambda jax: jax.pmap(lambda x: x, axis_size=3)(XS), "axis_size")
    same_error(lambda jax: jax.pmap(lambda x: x, in_axes=(0, 0))(XS), "in_axes")
    same_error(lambda jax: jax.pmap(3.0), "callable")
    same_error(lambda jax: jax.pmap(lambda x: x, in_axes="a"), "in_axes")
    same_error(
        lambda jax: jax.pmap(lambda x, n: x, static_broadcasted_argnums=1)(XS, n=2), "positional"
    )


def test_choices_that_make_no_sense():
    jax = OURS
    with pytest.raises(
        ValueError, match=r"axis of size 0, but each device.*\n.*x .*axis 0 has size 0"
    ):
        jax.pmap(lambda x: x)(np.ones((0, 3), np.float32))
    with pytest.raises(TypeError, match=r"devices must be devices, .* got \[0, 1\]"):
        jax.pmap(lambda x: x, devices=[0, 1])(XS[:2])
    with pytest.raises(TypeError, match="static_broadcasted_argnums must be ints, got .*'a'"):
        jax.pmap(lambda x: x, static_broadcasted_argnums="a")
    with pytest.raises(TypeError, match="make the argument static with pmap.f, static_broadcast"):
        jax.pmap(lambda x, mode: x, in_axes=(0, None))(XS, "mean")
    with pytest.raises(TypeError, match="axis_size must be an int, got '8'"):
        jax.pmap(lambda x: x, axis_size="8")
    with pytest.raises(TypeError, match=r"axis_name must be hashable, got \['i'\]"):
        jax.pmap(lambda x: x, axis_name=["i"])
    with pytest.raises(TypeError, match=r"perm must be pairs .* got \[1, 2\]"):
        jax.pmap(lambda x: jax.lax.ppermute(x, "i", [1, 2]), "i")(XS)
    with pytest.raises(RuntimeError, match="Unknown backend gpu. Available backends are"):
        jax.pmap(lambda x: x, backend="gpu")


def test_unbound_axis_names():
    message = same_error(
        lambda jax: jax.pmap(lambda x: jax.lax.psum(x, "j"), "i")(XS), "unbound", "j"
    )
    assert "'i'" in message
    same_error(lambda jax: jax.lax.psum(XS, "i"), "unbound axis name: i")


def test_python_that_needs_values():
    same_error(lambda jax: jax.pmap(lambda x: x if x > 0 else -x)(XS), "boolean")


# ---- what is not an array operation --------------------------------------------------------------


def test_callbacks_run_in_the_users_process(capfd):
    """Printing and Python functions inside of pmap; what they raise comes with the device."""
    jax, jnp = OURS, OURS.numpy
    seen = []

    def note(x):
        seen.append((os.getpid(), float(x)))

    jax.pmap(lambda x: (jax.debug.callback(note, x), x)[1])(XS[:4])
    assert sorted(seen) == [(os.getpid(), float(x)) for x in XS[:4]]
    jax.pmap(lambda x: (jax.debug.print("x is {}", x), x)[1])(jnp.arange(3.0))
    assert sorted(capfd.readouterr().out.split("\n")[:3]) == [f"x is {k}.0" for k in range(3)]
    square = lambda x: jax.pure_callback(lambda v: np.square(v), jax.typeof(x), x)
    np.testing.assert_allclose(jax.pmap(square)(XS), XS * XS, rtol=1e-6)

    def fails(x):
        if x == 2:
            raise KeyError("the student's mistake")

    with pytest.raises(KeyError, match="the student's mistake") as caught:
        jax.pmap(lambda x: (jax.debug.callback(fails, x), x)[1])(jnp.arange(4.0))
    assert caught.value.__notes__ == ["raised on device cpu:2 inside pmap of '<lambda>'"]
    assert any(entry.name == "fails" for entry in caught.traceback)
    np.testing.assert_allclose(jax.pmap(square)(XS), XS * XS, rtol=1e-6)  # and all goes on


class Cube(OURS.core.Primitive):
    """Of the tests' own."""

    def impl(self, x):
        assert __name__ not in sys.modules  # this file is not imported on devices
        return x * x * x

    def type(self, x):
        return x

    def linearize(self, nz, x):
        return self.bind(x), lambda t: 3 * x * x * t


def test_a_primitive_of_ones_own():
    """It goes to the devices by value."""
    cube_p = Cube("cube")
    np.testing.assert_allclose(OURS.pmap(cube_p.bind)(XS), XS**3, rtol=1e-6)
    slope = OURS.pmap(OURS.grad(lambda x: cube_p.bind(x)))(XS)
    np.testing.assert_allclose(slope, 3 * XS**2, rtol=1e-6)


def test_flags_reach_the_devices():
    with OURS.enable_x64(True):
        out = OURS.pmap(lambda x: x * 2 + OURS.numpy.arange(2.0))(OURS.numpy.arange(4.0))
        assert out.dtype == "float64"
        np.testing.assert_array_equal(out, np.arange(4.0)[:, None] * 2 + np.arange(2.0))
    with OURS.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        OURS.pmap(OURS.numpy.log)(-OURS.numpy.ones(2))


def test_shapes_of_results_are_python_ints():
    """NumPy's numbers would not do for the protocols that arrays take part in."""

    def run(jax):
        cube = lambda x: jax.numpy.sum(jax.lax.pmean(x, "i") ** 3 * x)
        return jax.pmap(jax.hessian(cube), "i")(MAT)

    assert all(type(n) is int for n in run(OURS).shape)
    same(run)


def test_derivatives_are_compiled_once():
    """A gradient taken again sends no new program."""
    x = np.linspace(-1, 1, 4).astype(np.float32)
    f = OURS.pmap(lambda v: OURS.lax.psum(OURS.numpy.sin(v) * v, "i") * v, "i")
    slope = OURS.grad(lambda x: OURS.numpy.sum(f(x)))
    first = np.asarray(slope(x))
    sent = []
    used, real = engine.engine(), engine.engine().define
    used.define = lambda program: sent.append(program) or real(program)
    try:
        np.testing.assert_array_equal(slope(x), first)
    finally:
        del used.define
    assert not sent
