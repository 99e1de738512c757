"""The rest of the top level: small modules, stages, devices, checks, and what derivatives keep."""

import importlib
import inspect
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from worlds import ORACLE, OURS, attempt, same, same_error

XS = np.array([0.5, -1.0, 2.0], np.float32)


def module(jax, name):
    """A submodule of a world."""
    return importlib.import_module(f"{jax.__name__}.{name}")


# ---- names and signatures ------------------------------------------------------------------------

FUNCTIONS = """jit grad value_and_grad vmap vjp jvp linearize linear_transpose jacfwd jacrev hessian
    jacobian make_jaxpr eval_shape device_put device_get block_until_ready custom_gradient
    closure_convert fwd_and_bwd named_call pure_callback devices local_devices device_count
    local_device_count process_index process_count clear_caches live_arrays effects_barrier
    print_environment_info default_backend ds ensure_compile_time_eval"""
MODULES = """debug tree ops flatten_util test_util errors stages ad_checkpoint
    example_libraries.optimizers example_libraries.stax"""
PRIVATE = """annotations Array Callable InitFn Params ParamsFn Schedule State Step UpdateFn
    Updates map zip namedtuple partial safe_map safe_zip unzip2 Traced Lowered
    Compiled Wrapped ArgInfo CompilerOptions Offloadable Recompute Saveable
    checkpoint_policies ones zeros reduce reduce_associative glorot glorot_normal
    randn normal jax"""


def parameters(f):
    """Names and kinds of a function's parameters."""
    return [(p.name, p.kind) for p in inspect.signature(f).parameters.values()]


@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_signatures(name):
    ours = [p for p in parameters(getattr(OURS, name)) if (name, p[0]) != ("jit", "check")]
    assert ours == parameters(getattr(ORACLE, name))  # jit(f, check=True) is not in JAX


@pytest.mark.parametrize("name", MODULES.split())
def test_modules_have_the_names(name):
    ours, oracle = module(OURS, name), module(ORACLE, name)
    for attribute in dir(oracle):
        thing = getattr(oracle, attribute)
        if attribute.startswith("_") or attribute in PRIVATE.split() or inspect.ismodule(thing):
            continue
        assert hasattr(ours, attribute), attribute
        if inspect.isfunction(thing):
            assert parameters(getattr(ours, attribute)) == parameters(thing), attribute


# ---- flatten_util --------------------------------------------------------------------------------

TREES = [
    {"w": np.ones((2, 3), np.float32), "b": np.arange(2, dtype=np.float32)},
    (1.0, np.arange(3)),
    [np.ones(2, np.complex64), 2.0, True],
    [1, 2],
    [],
    {"a": np.zeros((0, 2), np.float32), "b": np.float16(1)},
    np.float32(3),
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_ravel_pytree(tree):
    def run(jax):
        flat, unravel = module(jax, "flatten_util").ravel_pytree(tree)
        return flat, unravel(flat), jax.jit(unravel)(flat)

    same(run)


def test_ravel_pytree_takes_part():
    def run(jax):
        ravel_pytree = module(jax, "flatten_util").ravel_pytree
        tree = {"w": XS, "b": 1.5}
        norm = lambda t: (ravel_pytree(t)[0] ** 2).sum()
        flat, unravel = ravel_pytree(tree)
        return jax.grad(norm)(tree), jax.vmap(unravel)(jax.numpy.stack([flat, 2 * flat]))

    same(run)
    mixed = lambda jax: module(jax, "flatten_util").ravel_pytree([1.0, np.arange(2)])[1]
    same_error(lambda jax: mixed(jax)(jax.numpy.arange(3)), "expected dtype float32")


# ---- ops -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["segment_sum", "segment_prod", "segment_max", "segment_min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8])
def test_segments(name, dtype):
    rng = np.random.RandomState(0)
    for shape, options in (
        ((6,), {}),
        ((6, 2), {"num_segments": 5}),
        ((6, 2), {"num_segments": 2}),
        ((6,), {"num_segments": 4, "bucket_size": 2}),
        ((6,), {"num_segments": 4, "indices_are_sorted": True}),
        ((0,), {"num_segments": 2}),
    ):
        data = rng.randint(1, 5, shape).astype(dtype)
        ids = np.sort(rng.randint(0, 4, shape[0]))
        run = lambda jax, data=data, ids=ids, options=options: getattr(jax.ops, name)(
            data, ids, **options
        )
        same(run)
    outside = np.array([-1, 0, 7])
    same(lambda jax: getattr(jax.ops, name)(np.arange(3).astype(dtype), outside, 2))


def test_segments_under_transformations():
    ids = np.array([0, 1, 0])
    f = lambda jax, x: jax.ops.segment_sum(x, ids, num_segments=2) ** 2
    same(lambda jax: jax.jacobian(lambda x: f(jax, x))(XS))
    same(lambda jax: jax.vmap(lambda x: f(jax, x))(np.stack([XS, 2 * XS])))
    same(lambda jax: jax.jit(lambda x: f(jax, x))(XS))
    same_error(lambda jax: jax.jit(lambda i: jax.ops.segment_sum(XS, i))(ids))
    same_error(lambda jax: jax.ops.segment_sum(XS, ids, num_segments=-1), "non-negative")


# ---- test_util -----------------------------------------------------------------------------------


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("lin",), ("fwd", "rev")])
def test_check_grads_accepts_right_derivatives(modes):
    check = module(OURS, "test_util").check_grads
    jnp = OURS.numpy
    check(lambda x, y: jnp.sin(x) * y["a"], (XS, {"a": 2 * XS}), 2, modes=modes)
    check(lambda x: jnp.abs(x) ** 2, (np.complex64(1 + 2j),), 1, modes=("rev",))
    check(lambda x, n: x * n, (1.5, 3), 1, modes=("rev",))


def test_check_grads_finds_wrong_derivatives():
    def run(jax):
        @jax.custom_jvp
        def f(x):
            return x**2

        f.defjvp(lambda xs, ts: (f(*xs), 3 * xs[0] * ts[0]))
        for modes in (("fwd",), ("rev",)):
            _, error = attempt(
                lambda jax, modes=modes: module(jax, "test_util").check_grads(f, (XS,), 1, modes),
                jax,
            )
            assert isinstance(error, AssertionError)

    run(ORACLE)
    run(OURS)


# ---- custom_gradient, closure_convert, fwd_and_bwd -----------------------------------------------


def test_custom_gradient():
    def run(jax):
        @jax.custom_gradient
        def f(x, y):
            z = jax.numpy.sin(x)
            return z * y["a"], lambda ct: (ct * z, {"a": 2 * ct})

        tree = {"a": 3.0}
        single = jax.custom_gradient(lambda x: (x**2, lambda ct: ct * x))
        return (
            f(1.0, tree),
            jax.grad(f, (0, 1))(1.0, tree),
            jax.jit(jax.grad(f))(1.0, tree),
            jax.vmap(jax.grad(f), (0, None))(XS, tree),
            jax.grad(single)(3.0),
        )

    same(run)


def test_closure_convert():
    def run(jax):
        def minimize(f, x):
            converted, consts = jax.closure_convert(f, x)
            return solve(converted, x, *consts)

        def solve(f, x, *consts):
            return f(x, *consts) ** 2

        solve = jax.custom_vjp(solve, nondiff_argnums=(0,))
        solve.defvjp(
            lambda f, x, *consts: (f(x, *consts) ** 2, (x, consts)),
            lambda f, res, ct: (ct, *(ct * c for c in res[1])),
        )
        loss = lambda a: minimize(lambda x: a * x + XS.sum(), 2.0)
        return loss(3.0), jax.grad(loss)(3.0), len(jax.closure_convert(lambda x: x * XS, 1.0)[1])

    same(run)
    same_error(lambda jax: jax.closure_convert(lambda x: x, 1.0)[0](1.0, 2.0), "structure")


@pytest.mark.parametrize("jitted", [False, True])
def test_fwd_and_bwd(jitted):
    def run(jax):
        f = lambda x, y: (x * y["a"], x)
        fwd, bwd = jax.fwd_and_bwd(f, argnums=(0, 1), jitted=jitted)
        out, residuals = fwd(XS, {"a": 2 * XS})
        one, back = jax.fwd_and_bwd(lambda x, y: (x * y, x), 1, has_aux=True, jitted=jitted)
        value, kept, aux = one(XS, 2.0)
        return out, bwd(residuals, out), value, aux, back(kept, value)

    same(run)
    same_error(lambda jax: jax.fwd_and_bwd(1, 0))


# ---- names, eager islands, caches ----------------------------------------------------------------


def test_named_call_and_scope():
    def run(jax):
        f = jax.named_call(lambda x: x + 1, name="increment")
        with jax.named_scope("outer"):
            y = jax.jit(f)(1.0)
        return y, jax.named_scope("deco")(lambda x: 2 * x)(y)

    same(run)
    same_error(lambda jax: jax.named_scope(1).__enter__())


def test_ensure_compile_time_eval():
    def run(jax):
        @jax.jit
        def f(x):
            with jax.ensure_compile_time_eval():
                n = int(jax.numpy.ones(3).sum()) if jax.numpy.all(jax.numpy.ones(2) > 0) else 0
                y = x * 2
            return y + n

        return f(1.0), jax.grad(f)(1.0), jax.vmap(f)(XS)

    same(run)


def test_clear_caches_and_live_arrays():
    f = OURS.jit(lambda x: x + 1)
    f(1.0)
    f(OURS.numpy.ones(3))
    assert f._cache_size() == 2
    OURS.clear_caches()
    assert f._cache_size() == 0
    assert float(f(1.0)) == 2.0
    x = OURS.numpy.zeros(5)
    assert any(a is x for a in OURS.live_arrays())


def test_environment_info(capsys):
    text = OURS.print_environment_info(return_string=True)
    assert OURS.__version__ in text and np.__version__ in text
    assert OURS.print_environment_info() is None
    assert capsys.readouterr().out.strip() == text
    assert OURS.version.__version__ == OURS.__version__


def test_ds():
    x = np.arange(10)

    def run(jax):
        a = jax.numpy.asarray(x)
        f = jax.jit(lambda a, i: a[jax.ds(i, 2)])
        return a[jax.ds(3)], a[jax.ds(2, 3)], a[jax.ds(1, 3, 2)], f(a, 4), f(a, 9)

    same(run)
    rows = np.ones((4, 3), np.float32)
    for f in (
        lambda jax: lambda a, i: a[jax.ds(i, 2), 1],
        lambda jax: lambda a, i: a[0, jax.ds(i, 2)],
        lambda jax: lambda a, i: a[..., jax.ds(i, 2)],
    ):
        text = lambda jax, f=f: str(jax.make_jaxpr(f(jax))(rows, 1))
        assert text(OURS) == text(ORACLE)


# ---- leaks ---------------------------------------------------------------------------------------


def test_leaks_are_found():
    """In a process of its own, which has fewer objects to look through."""
    program = Path(__file__).with_name("programs") / "leaks.py"
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["leaks:", "5", "fine:", "12"], result.stdout + result.stderr


@pytest.mark.parametrize("name", ["jit", "grad", "vmap"])
def test_an_error_is_no_leak(name):
    """Its traceback holds tracers; it is the error that is told, as in JAX."""
    for jax in (OURS, ORACLE):

        def f(x):
            y = x + 1
            raise ValueError(f"of the user, with {type(y).__name__}")

        x = jax.numpy.ones(2) if name == "vmap" else 1.0
        with jax.checking_leaks(), pytest.raises(ValueError, match="of the user"):
            getattr(jax, name)(f)(x)


# ---- errors --------------------------------------------------------------------------------------


def test_error_classes():
    for name in [n for n in dir(ORACLE.errors) if isinstance(getattr(ORACLE.errors, n), type)]:
        ours, oracle = getattr(OURS.errors, name), getattr(ORACLE.errors, name)
        builtin = [c for c in oracle.__mro__ if c.__module__ == "builtins"]
        assert [c for c in ours.__mro__ if c.__module__ == "builtins"] == builtin, name


# ---- NaNs and infinities -------------------------------------------------------------------------


def nan_cases(jax):
    """Computations that make NaNs, some of them later in a program than infinities."""
    jnp, lax = jax.numpy, jax.lax
    zero, x = jnp.zeros(()), jnp.asarray(XS)
    return [
        lambda: jnp.log(-x),
        lambda: zero / 0,
        lambda: jax.jit(lambda x: jnp.log(-x))(x),
        lambda: jax.grad(lambda x: jnp.sqrt(x) * 0)(0.0),
        lambda: jax.jit(jax.grad(lambda x: jnp.sqrt(x) * 0))(0.0),
        lambda: jax.vmap(jnp.log)(-x),
        lambda: lax.scan(lambda c, x: (c / x, c), zero, jnp.zeros(3)),
        lambda: lax.while_loop(lambda c: c < 3, lambda c: c / 0 + c * jnp.inf, zero),
        lambda: zero + 1,
        lambda: (zero + 1) / 0,
        lambda: jnp.arange(3) // 1,
    ]


@pytest.mark.parametrize("flag", ["debug_nans", "debug_infs"])
@pytest.mark.parametrize("number", range(11))
def test_debug_nans_and_infs(flag, number, capsys):
    def run(jax):
        with getattr(jax, flag)(True):
            nan_cases(jax)[number]()

    ours, oracle = attempt(run, OURS)[1], attempt(run, ORACLE)[1]
    assert str(ours).split("\n")[0] == str(oracle)  # what follows is in test_nans.py
    assert type(ours) is type(oracle)


# ---- stages --------------------------------------------------------------------------------------


def test_stages():
    def run(jax):
        f = jax.jit(lambda x, y, n: {"a": x * y, "b": (x,)}, static_argnums=2)
        traced = f.trace(XS, y=2.0, n=3)
        lowered = traced.lower()
        compiled = lowered.compile()
        assert isinstance(compiled, module(jax, "stages").Compiled)
        texts = []
        for stage in (traced, lowered, compiled):
            info = stage.args_info, stage.in_avals, stage.out_tree, stage.donate_argnums
            texts += [*map(str, info), str(stage.in_tree)]
        texts += [str(traced.out_info), str(lowered.out_info), traced.fun_name, str(traced.jaxpr)]
        struct = jax.ShapeDtypeStruct((3,), np.float32)
        again = f.lower(struct, struct, 3).compile()
        return texts, compiled(XS, y=2.0), again(XS, XS)

    (ours, *results), (oracle, *expected) = run(OURS), run(ORACLE)
    assert ours == oracle
    same(lambda jax: results if jax is OURS else expected)


def test_compiled_functions_check_their_arguments():
    compiled = lambda jax: jax.jit(lambda x, y: x * y).lower(XS, y=2.0).compile()
    assert "'x' compiled with float32[3]" in same_error(lambda jax: compiled(jax)(XS[:2], y=2.0))
    same_error(lambda jax: compiled(jax)(XS.astype(int), y=2.0), "int32[3]")
    same_error(lambda jax: compiled(jax)(XS, 2.0), "2 mismatches")
    same_error(lambda jax: jax.jit(lambda x: compiled(jax)(x, y=2.0))(XS), "Tracer type")
    cost = OURS.jit(lambda x: x @ x).lower(np.ones((4, 4), np.float32)).compile().cost_analysis()
    assert cost["flops"] == 2 * 4**3


def test_shape_dtype_structs():
    for make in (
        lambda jax: jax.ShapeDtypeStruct((2, 3), "float32"),
        lambda jax: jax.ShapeDtypeStruct((2,), np.float64, weak_type=True),
        lambda jax: jax.ShapeDtypeStruct((4,), np.int8).update(shape=(5,)),
    ):
        ours, oracle = make(OURS), make(ORACLE)
        assert repr(ours) == repr(oracle)
        assert (ours.size, ours.ndim, len(ours)) == (oracle.size, oracle.ndim, len(oracle))
        assert ours == make(OURS) and hash(ours) == hash(make(OURS))


# ---- devices -------------------------------------------------------------------------------------


def test_devices_look_like_the_oracles():
    def run(jax):
        x = jax.numpy.arange(3.0)
        d = jax.devices()[0]
        facts = [d, x.device, x.devices(), x.sharding, x.addressable_shards, x.global_shards]
        facts += [x.is_fully_addressable, x.is_fully_replicated, x.committed, x.addressable_data(0)]
        facts += [x.sharding.device_set, x.sharding.devices_indices_map((3,)), x.nbytes]
        facts += [d.platform, d.device_kind, d.id, d.process_index, jax.default_backend()]
        facts += [jax.process_index(), jax.process_count(), jax.local_devices()[0]]
        facts += [jax.device_put(x, d).committed, jax.device_put([1, {"a": 2.0}], d)]
        return [str(f) for f in facts] + [repr(f) for f in facts]

    assert run(OURS) == run(ORACLE)
    for name in ("gpu", "nothing"):
        same_error(lambda jax, name=name: jax.devices(name), "Unknown backend")


def test_there_are_several_devices():
    devices = OURS.devices()
    assert len(devices) == OURS.device_count() == OURS.local_device_count() == 8
    x = OURS.device_put({"a": XS, "b": 1.0}, devices[3])
    assert x["a"].device == devices[3] and x["b"].devices() == {devices[3]}
    assert OURS.device_put(x["a"]).device == devices[3]
    assert OURS.device_put(x["a"], devices[1].__class__(0)).device == devices[0]
    assert str(OURS.device_put(XS, x["a"].sharding).device) == "cpu:3"
    with OURS.default_device(devices[2]):
        assert OURS.device_put(1.0).device == devices[2]
    assert (x["a"] + 1).tolist() == (XS + 1).tolist()
    with pytest.raises(ValueError, match="device_put takes a device"):
        OURS.device_put(1.0, "gpu:0")


def test_tracers_are_nowhere():
    for read in (
        lambda x: x.devices(),
        lambda x: x.sharding,
        lambda x: x.addressable_shards,
        lambda x: x.committed,
        lambda x: x.is_fully_addressable,
    ):
        same_error(lambda jax, read=read: jax.jit(lambda x: read(x) and x)(1.0), "not available")


def test_drawings(capsys):
    OURS.debug.visualize_array_sharding(OURS.numpy.zeros((2, 4)))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0][0] == "┌" and any("CPU 0" in line for line in lines)
    assert len({len(line) for line in lines if line}) == 1
    seen = []
    OURS.jit(lambda x: x)(1.0)
    OURS.debug.inspect_array_sharding(OURS.numpy.zeros(2), callback=seen.append)
    assert str(seen[0]) == "SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)"
    with pytest.raises(ValueError, match="1 and 2 dimensions"):
        OURS.debug.visualize_array_sharding(OURS.numpy.zeros((1, 1, 1)))


# ---- what derivatives keep -----------------------------------------------------------------------


def residual_cases(jax):
    """(function, arguments) pairs for print_saved_residuals."""
    jnp, name = jax.numpy, module(jax, "ad_checkpoint").checkpoint_name
    policies = jax.checkpoint_policies
    W, x = np.ones((3, 3), np.float32), XS

    def layer(W, x):
        return jnp.sin(jnp.dot(W, x))

    def net(params, x):
        for i, W in enumerate(params):
            x = name(layer(W, x), name=f"layer{i}")
        return jnp.sum(x**2)

    args = [W, W], x
    yield layer, (W, x)
    yield net, args
    yield jax.checkpoint(net), args
    yield lambda W, x: jax.checkpoint(layer)(W, jax.checkpoint(layer)(W, x)), (W, x)
    yield lambda x: x * XS, (x,)
    for policy in (
        policies.dots_with_no_batch_dims_saveable,
        policies.save_only_these_names("layer0"),
        policies.save_any_names_but_these("layer0"),
        policies.save_from_both_policies(
            policies.save_only_these_names("layer1"), policies.dots_saveable
        ),
    ):
        yield jax.checkpoint(net, policy=policy), args


@pytest.mark.parametrize("number", range(9))
def test_print_saved_residuals(number, capsys):
    texts = []
    for jax in (OURS, ORACLE):
        f, args = list(residual_cases(jax))[number]
        module(jax, "ad_checkpoint").print_saved_residuals(f, *args)
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    same(lambda jax: jax.jacobian(list(residual_cases(jax))[number][0])(
        *list(residual_cases(jax))[number][1]))  # fmt: skip


def test_checkpoint_name():
    def run(jax):
        name = module(jax, "ad_checkpoint").checkpoint_name
        f = lambda x: jax.numpy.sin(name({"a": x}, "here")["a"])
        return f(XS), jax.jit(f)(XS), jax.vmap(jax.grad(f))(XS), jax.jvp(f, (XS,), (XS,))

    same(run)

    def text(jax):
        name = module(jax, "ad_checkpoint").checkpoint_name
        return str(jax.make_jaxpr(jax.grad(lambda x: name(x, "a")))(1.0))

    assert text(OURS) == text(ORACLE)


# ---- interpreters of jaxprs ----------------------------------------------------------------------


def test_an_interpreter_of_jaxprs():
    def run(jax):
        core = module(jax, "extend.core")
        jnp, lax = jax.numpy, jax.lax
        registry = {lax.exp_p: jnp.log, lax.tanh_p: jnp.arctanh}

        def inverse(jaxpr, consts, *args):
            env = dict(zip(jaxpr.outvars, args))
            env.update(zip(jaxpr.constvars, consts))
            for eqn in reversed(jaxpr.eqns):
                value = env[eqn.outvars[0]]
                env[eqn.invars[0]] = registry[eqn.primitive](value)
            return [env[v] for v in jaxpr.invars]

        def evaluate(jaxpr, consts, *args):
            env = dict(zip((*jaxpr.invars, *jaxpr.constvars), (*args, *consts)))
            for eqn in jaxpr.eqns:
                ins = [x.val if type(x) is core.Literal else env[x] for x in eqn.invars]
                out = eqn.primitive.bind(*ins, **eqn.primitive.get_bind_params(eqn.params))
                env.update(zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]))
            return [env[v] for v in jaxpr.outvars]

        f = lambda x: jnp.exp(jnp.tanh(x))
        closed = jax.make_jaxpr(f)(1.0)
        g = lambda x: inverse(closed.jaxpr, closed.literals, x)[0]
        loop = jax.make_jaxpr(lambda x: lax.scan(lambda c, y: (c * y + XS[0], c), x, XS))(1.0)
        assert jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 1.0)
        return (
            g(f(0.5)),
            jax.jit(jax.vmap(jax.grad(g)))(np.float32([1.5, 2.0])),
            evaluate(loop.jaxpr, loop.consts, 1.0),
            len(core.jaxpr_as_fun(closed)(1.0)),
        )

    same(run, weak=False)


# ---- flags that scripts set ----------------------------------------------------------------------


def test_flags_of_jax_are_accepted():
    """Every flag of the oracle can be set to the value it has there."""
    refused = []
    for name in sorted(ORACLE.config.values):
        if not name.startswith("jax_") or name in KNOWN_ELSEWHERE.split():
            continue
        before = OURS.config.values[name]
        _, error = attempt(lambda jax, n=name: jax.config.update(n, ORACLE.config.values[n]), OURS)
        OURS.config.update(name, before)
        refused += [name] if error else []
    assert not refused


# Flags whose values are objects of the oracle, or that mean something else here.
KNOWN_ELSEWHERE = """jax_platforms jax_platform_name jax_num_cpu_devices jax_legacy_prng_key
    jax_explicit_x64_dtypes jax_numpy_dtype_promotion jax_check_proxy_envs
    jax_compilation_cache_dir"""


def test_enable_checks_checks_jaxprs():
    with OURS.enable_checks():
        assert float(OURS.jit(OURS.grad(lambda x: OURS.numpy.sin(x) ** 2))(1.0))


def test_tracers_are_arrays():
    def run(jax):
        seen = []
        for transform in (jax.jit, jax.vmap, jax.make_jaxpr, jax.jacfwd):
            transform(lambda x: (seen.append(isinstance(x, jax.Array)), x)[1])(XS)
        return seen, isinstance(XS, jax.Array), isinstance(jax.numpy.ones(1), jax.numpy.ndarray)

    same(run)


def test_clearing_caches_meets_dead_references():
    """Every object of the process is looked at; proxies of dead ones must not stop it."""
    thing = type("Thing", (), {})()
    proxy = weakref.proxy(thing)
    del thing
    f = OURS.jit(lambda x: x + 1)
    f(1.0)
    OURS.clear_caches()
    assert f._cache_size() == 0 and type(proxy) is weakref.ProxyType
