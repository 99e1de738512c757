"""Callbacks: debug.print, debug.callback, pure_callback and io_callback, under everything."""

import importlib
import io
import logging
from functools import partial

import numpy as np
import pytest
from worlds import ORACLE, OURS, same, same_error

XS = np.array([0.5, -1.0, 2.0], np.float32)


def printed(run, capsys):
    """What a program prints, in both worlds -> ours, the oracle's (as lists of lines)."""
    lines = []
    for world in (OURS, ORACLE):
        capsys.readouterr()
        run(world)
        world.effects_barrier()
        lines.append(capsys.readouterr().out.splitlines())
    return lines


def same_lines(run, capsys, ordered=True):
    """Both worlds print the same lines; the oracle may change their order if they are unordered."""
    ours, oracle = printed(run, capsys)
    assert (ours if ordered else sorted(ours)) == (oracle if ordered else sorted(oracle))
    return ours


def show(jax, x, **options):
    """Print a value and hand it on."""
    jax.debug.print("x={x} {}", 2 * x, x=x, **options)
    return x


def transformed(jax, transform, f, x):
    """f of a world, transformed, at x."""
    return transform(jax, lambda y: f(jax, y))(x)


# ---- print ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [False, True])
def test_print_under_jit_and_derivatives(capsys, ordered):
    def f(jax, x):
        return jax.numpy.sin(show(jax, x, ordered=ordered))

    for transform in (
        lambda jax, f: f,
        lambda jax, f: jax.jit(f),
        lambda jax, f: jax.grad(f),
        lambda jax, f: jax.jit(jax.grad(f)),
        lambda jax, f: lambda x: jax.jvp(f, (x,), (1.0,)),
        lambda jax, f: lambda x: jax.linearize(f, x)[1](1.0),
    ):
        lines = same_lines(partial(transformed, transform=transform, f=f, x=0.5), capsys)
        assert lines == ["x=0.5 1.0"]


def test_print_of_every_kind(capsys):
    def run(jax):
        jax.debug.print("no placeholder")
        jax.debug.print("{:.2f} {{}} {x!r}", np.float32(1.2345), x=jax.numpy.arange(3))
        jax.debug.print("{t}", t={"a": jax.numpy.arange(2), "b": (1, "text")})
        jax.debug.print("{} {name}", 1.5, name="static")
        jax.debug.print(ordered=True)("two calls {}", 1)
        jax.jit(lambda x: jax.debug.print("{x} {s}", x=x, s="hi"))(1.0)

    assert len(same_lines(run, capsys)) == 6


def test_print_uses_the_print_options_of_its_call(capsys):
    def run(jax):
        f = jax.jit(lambda x: jax.debug.print("{x}", x=x))
        with np.printoptions(precision=2):
            f(np.array([0.123456], np.float32))

    assert same_lines(run, capsys) == ["[0.12]"]


def test_print_checks_its_format():
    def fail(*args, **kwargs):
        return same_error(lambda jax: jax.debug.print(*args, **kwargs))

    fail("x={y}", x=1.0)
    fail("{} {}", 1.0)
    assert "f-string" in fail("{}", 1.0, x=1.0)
    assert "positional" in fail("text", 1.0)
    same_error(lambda jax: jax.debug.print(None, 1.0))


def test_print_in_control_flow(capsys):
    def scan(jax, x):
        def body(c, y):
            jax.debug.print("c={c}", c=c, ordered=True)
            return c + y, c * 2

        return jax.lax.scan(body, x, XS)[0]

    def loop(jax, x):
        def body(i, c):
            jax.debug.print("i={i} c={c}", i=i, c=c, ordered=True)
            return c * 2

        return jax.lax.fori_loop(0, 3, body, x)

    def while_loop(jax, x):
        def body(c):
            jax.debug.print("c={c}", c=c, ordered=True)
            return c + 1

        return jax.lax.while_loop(lambda c: c < 3, body, x)

    def cond(jax, x):
        def branch(sign):
            def f(x):
                jax.debug.print("{sign} {}", x, sign=sign)
                return x

            return f

        return jax.lax.cond(x > 0, branch("plus"), branch("minus"), x)

    for f, count in ((scan, 3), (loop, 3), (while_loop, 3), (cond, 1)):
        for transform in (lambda jax, f: f, lambda jax, f: jax.jit(f)):
            lines = same_lines(partial(transformed, transform=transform, f=f, x=0.0), capsys)
            assert len(lines) == count
    for f in (scan, loop, cond):  # nobody reads the result of the loop, but it prints
        of_jit = lambda jax, f: jax.jit(jax.grad(f))
        assert same_lines(partial(transformed, transform=of_jit, f=f, x=0.5), capsys)


def test_print_of_a_batch(capsys):
    """Once per element; both branches of a batched cond, all lanes of a batched loop."""

    def f(jax, x):
        jax.debug.print("x={x}", x=x)
        y = jax.lax.cond(x > 0, lambda x: show(jax, x), lambda x: show(jax, -x), x)
        return jax.lax.fori_loop(0, 2, lambda i, c: show(jax, c + i), y)

    for transform in (
        lambda jax, f: jax.vmap(f),
        lambda jax, f: jax.jit(jax.vmap(f)),
        lambda jax, f: jax.vmap(jax.grad(f)),
    ):
        run = partial(transformed, transform=transform, f=f, x=XS)
        assert len(same_lines(run, capsys, ordered=False)) == 15


def test_effects_are_neither_shared_nor_dropped(capsys):
    """Equal prints stay apart, unused results do not matter, the order is that of the program."""

    def f(jax, x):
        y = jax.numpy.sin(x)
        jax.debug.print("first {}", y, ordered=True)
        jax.debug.print("first {}", y, ordered=True)
        jax.numpy.cos(show(jax, y * 2, ordered=True))
        z = jax.jit(lambda x: show(jax, x, ordered=True))(y + 1)
        jax.debug.print("last {}", z, ordered=True)

    assert len(same_lines(lambda jax: jax.jit(lambda x: f(jax, x))(0.5), capsys)) == 5


def test_print_inside_custom_rules(capsys):
    def make(jax):
        @jax.custom_vjp
        def f(x):
            return show(jax, x)

        def fwd(x):
            jax.debug.print("forward {}", x, ordered=True)
            return x, x

        def bwd(x, ct):
            jax.debug.print("backward {} {}", x, ct, ordered=True)
            return (ct,)

        f.defvjp(fwd, bwd)
        return f

    for transform in (lambda jax, f: jax.grad(f), lambda jax, f: jax.jit(jax.grad(f))):
        run = lambda jax, transform: transform(jax, make(jax))(0.5)
        lines = same_lines(partial(run, transform=transform), capsys)
        assert lines == ["forward 0.5", "backward 0.5 1.0"]


def test_jaxprs_with_effects():
    """They print as the oracle's (but for what differs between two runs of it)."""

    def f(jax, x):
        show(jax, x)
        jax.debug.callback(lambda y: None, x, ordered=True)
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float32), x)

    def text(jax):
        once, inner = lambda x: f(jax, x), lambda x: jax.jit(lambda x: f(jax, x))(x)
        batched = jax.vmap(lambda x: show(jax, x))
        return [str(jax.make_jaxpr(p)(x)) for p, x in ((once, 1.0), (inner, 1.0), (batched, XS))]

    assert text(OURS) == text(ORACLE)
    jaxpr = OURS.make_jaxpr(lambda x: f(OURS, x))(1.0)
    assert sorted(map(str, jaxpr.effects)) == ["debug_callback", "debug_print"]
    assert [bool(eqn.effects) for eqn in jaxpr.eqns] == [False, True, True, False]


def test_log(caplog):
    with caplog.at_level(logging.INFO, logger="tinyjax.debug"):
        OURS.jit(lambda x: OURS.debug.log("x={}", x))(1.5)
    assert [record.message for record in caplog.records] == ["x=1.5"]


# ---- callback ------------------------------------------------------------------------------------


def test_callback():
    def run(jax):
        seen = []

        def note(x, tree, text):
            seen.append((np.asarray(x).tolist(), np.asarray(tree["a"]).tolist(), text))

        def f(x):
            jax.debug.callback(note, x, {"a": 2 * x}, text="word", ordered=True)
            return x * x

        f(1.0)
        jax.jit(f)(2.0)
        jax.grad(f)(3.0)
        jax.lax.map(f, jax.numpy.arange(2.0))
        jax.debug.callback(ordered=True)(note, 1.0, {"a": 0}, "two calls")
        jax.effects_barrier()
        return [x for triple in seen for x in triple if not isinstance(x, str)]

    same(run)


def test_callback_errors_reach_the_caller():
    def fail(x):
        raise ZeroDivisionError("inside")

    for transform in (lambda f: f, OURS.jit):
        with pytest.raises(ZeroDivisionError, match="inside"):
            transform(lambda x: OURS.debug.callback(fail, x))(1.0)
    with pytest.raises(TypeError, match="callable"):
        OURS.debug.callback(1.0)


# ---- pure_callback -------------------------------------------------------------------------------


def test_pure_callback_returns_trees():
    def run(jax):
        shapes = {
            "a": jax.ShapeDtypeStruct((2,), np.float32),
            "b": jax.ShapeDtypeStruct((), np.int32),
        }

        def host(x, *, scale):
            x = np.asarray(x)
            return {"a": x * np.float32(scale), "b": np.int32(x.sum())}

        f = lambda x: jax.pure_callback(host, shapes, x, scale=3.0)
        x = np.ones(2, np.float32)
        return f(x), jax.jit(f)(x), jax.pure_callback(lambda: np.float32(1), XS[0])

    same(run)


@pytest.mark.parametrize(
    "method",
    ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"],
)
@pytest.mark.parametrize("in_axes", [(0, 0), (0, None), (1, 0), (None, 0)])
def test_pure_callback_vmap_methods(method, in_axes):
    shapes = []

    def run(jax):
        seen = []
        x = np.ones((2, 2), np.float32) if in_axes[0] is not None else np.ones(2, np.float32)
        y = XS[:2] if in_axes[1] is not None else XS[0]

        def host(x, y):
            seen.append((np.shape(x), np.shape(y)))
            y = np.asarray(y)
            return np.asarray(x) + (y[..., None] if y.ndim else y)

        def f(x, y):
            out = jax.ShapeDtypeStruct((2,), np.float32)
            return jax.pure_callback(host, out, x, y, vmap_method=method)

        result = jax.vmap(f, in_axes)(x, y), jax.jit(jax.vmap(f, in_axes))(x, y)
        shapes.append(seen)
        return result

    same(run)
    assert shapes[0] == shapes[1]


def test_pure_callback_errors():
    def f(jax, host=np.sin, out=None, **options):
        out = jax.ShapeDtypeStruct((), np.float32) if out is None else out
        return lambda x: jax.pure_callback(host, out, x, **options)

    text = same_error(lambda jax: jax.vmap(f(jax))(XS))
    assert "Got vmap_method=None" in text
    same_error(lambda jax: f(jax, vmap_method="other")(1.0), "vmap_method", "other")
    same_error(lambda jax: jax.grad(f(jax))(1.0), "do not support JVP", "custom_jvp")
    for transform in ("eager", "jit"):

        def call(jax, transform=transform, **options):
            g = f(jax, **options)
            return (jax.jit(g) if transform == "jit" else g)(1.0)

        for host, words in (
            (lambda x: np.zeros(3, np.float32), ["shape", "Expected: ()", "Actual: (3,)"]),
            (lambda x: np.int32(1), ["dtype", "float32", "int32"]),
            (lambda x: (1.0, 2.0), ["Mismatched number", "Actual: 2"]),
            (lambda x: 1 / 0, ["ZeroDivisionError"]),
        ):
            same_error(lambda jax, host=host: call(jax, host=host), *words)
    wide = lambda jax: jax.ShapeDtypeStruct((), np.float64)
    same_error(lambda jax: f(jax, out=wide(jax))(1.0), "64-bit")


def test_pure_callback_with_its_own_derivative():
    def run(jax):
        @jax.custom_jvp
        def sin(x):
            out = jax.ShapeDtypeStruct(x.shape, x.dtype)
            return jax.pure_callback(np.sin, out, x, vmap_method="legacy_vectorized")

        def cos(x):
            out = jax.ShapeDtypeStruct(x.shape, x.dtype)
            return jax.pure_callback(np.cos, out, x, vmap_method="legacy_vectorized")

        sin.defjvp(lambda xs, ts: (sin(*xs), cos(*xs) * ts[0]))
        x = jax.numpy.asarray(XS)
        return (
            sin(x),
            jax.jit(sin)(x),
            jax.vmap(jax.grad(sin))(x),
            jax.jit(jax.vmap(jax.grad(sin)))(x),
        )

    same(run)


# ---- io_callback ---------------------------------------------------------------------------------


def io_callback(jax):
    """The function of a world."""
    return importlib.import_module(f"{jax.__name__}.experimental").io_callback


@pytest.mark.parametrize("ordered", [False, True])
def test_io_callback(ordered):
    def run(jax):
        log = []
        count = iter(range(100))
        call = io_callback(jax)

        def step(x):
            call(lambda x: log.append(float(x)), None, x, ordered=ordered)
            return call(lambda: np.int32(next(count)), np.int32(0), ordered=ordered)

        def loop(x):
            return jax.lax.scan(lambda c, _: (c + 1, step(c)), x, None, length=3)[1]

        out = step(1.0), jax.jit(step)(2.0), jax.jit(loop)(0.0)
        jax.effects_barrier()
        return out, sorted(log)

    same(run)


def test_io_callback_errors():
    f = lambda jax, **options: lambda x: io_callback(jax)(lambda x: x, x, x, **options)
    same_error(lambda jax: jax.vmap(f(jax, ordered=True))(XS), "vmap", "ordered")
    same_error(lambda jax: jax.grad(f(jax))(1.0), "IO callbacks do not support JVP")
    same(lambda jax: jax.vmap(f(jax))(XS))


# ---- breakpoint ----------------------------------------------------------------------------------


def session(run, *commands):
    """What the debugger says to these commands."""
    out = io.StringIO()
    run(stdin=io.StringIO("\n".join(commands) + "\n"), stdout=out)
    return out.getvalue()


def test_breakpoint_sees_values():
    def f(x, **options):
        y = OURS.numpy.sin(x)
        OURS.debug.breakpoint(**options)
        return y

    for transform in (lambda f: f, OURS.jit, OURS.grad):
        run = lambda transform=transform, **options: transform(lambda x: f(x, **options))(0.5)
        text = session(run, "p y", "x + 1", "pp {1: x}", "oops", "l", "u", "d", "bt", "c")
        assert text.startswith("Entering jdb:")
        for words in ("0.47942", "1.5", "{1: Array(0.5", "*** NameError", "->", "File", "(jdb)"):
            assert words in text, words


def test_breakpoint_quits_and_passes_tokens():
    with pytest.raises(SystemExit):
        session(lambda **options: OURS.debug.breakpoint(**options), "q")
    out = []
    text = session(
        lambda **options: out.append(
            OURS.jit(lambda x: OURS.debug.breakpoint(token=x, **options))(1.5)
        ),
        "c",
    )
    assert "Entering jdb:" in text and float(out[0]) == 1.5
    with pytest.raises(ValueError, match="mutually exclusive"):
        OURS.debug.breakpoint(token=1.0, ordered=True)


@pytest.mark.parametrize("policy", [None, "everything_saveable", "dots_saveable"])
def test_what_runs_again_prints_again(capsys, policy):
    def f(jax, x):
        y = jax.numpy.sin(show(jax, x))
        return jax.numpy.sin(show(jax, y + 1))

    def checkpointed(jax):
        chosen = policy and getattr(jax.checkpoint_policies, policy)
        return jax.checkpoint(lambda x: f(jax, x), policy=chosen)

    for transform in (
        lambda jax: checkpointed(jax),
        lambda jax: jax.jit(checkpointed(jax)),
        lambda jax: jax.grad(checkpointed(jax)),
        lambda jax: jax.jit(jax.grad(checkpointed(jax))),
    ):
        run = lambda jax, transform: transform(jax)(0.0)
        same_lines(partial(run, transform=transform), capsys, ordered=False)
