"""The printed form of jaxprs: that of JAX, to the character.

Real jaxprs are translated, equation by equation, into tinyjax's data structures and printed from
there. So these tests depend on no primitive of tinyjax.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src import core as jcore

from tinyjax.array import Array, lift
from tinyjax.avals import ShapedArray
from tinyjax.core import Jaxpr, JaxprEqn, Literal, Primitive, Var
from tinyjax.dtypes import key_fry
from tinyjax.printer import Break, Group, Nest, layout

jax.config.update("jax_pprint_use_color", False)  # JAX uses colours when it runs on a terminal

# ---- from JAX's jaxprs to ours ----------------------------------------------------------------


def unspecified(values):
    """Whether a jit was told nothing about the placement of its operands or results."""
    return all(v is None or type(v).__name__ == "UnspecifiedValue" for v in values)


def shown(name, params):
    """The parameters of an equation that JAX prints, in the form in which it prints them."""
    params = dict(params)
    if name == "jit":
        for key in ("inline", "in_layouts", "out_layouts", "compiler_options_kvs"):
            params.pop(key)
        if not any(params["donated_invars"]):
            del params["donated_invars"]
        if not params["keep_unused"]:
            del params["keep_unused"]
        if params["ctx_mesh"].empty:
            del params["ctx_mesh"]
        for key in ("in_shardings", "out_shardings"):
            if unspecified(params[key]):
                del params[key]
    elif name in ("custom_jvp_call", "custom_vjp_call"):
        if not params["num_consts"]:
            del params["num_consts"]
        params.pop("out_trees", None)
        renamed = {"jvp_jaxpr_fun": "jvp", "fwd_jaxpr_thunk": "fwd", "bwd": "bwd"}
        for old, new in renamed.items():
            if old in params:
                params[new] = params.pop(old).debug_info.func_name
        params["name"] = params["call_jaxpr"].jaxpr.debug_info.func_name
    elif name == "dot_general":
        params = {k: v for k, v in params.items() if v is not None}
        contract, batch = params["dimension_numbers"]
        as_lists = [tuple(map(list, contract)), tuple(map(list, batch))]
        params["dimension_numbers"] = tuple(as_lists)
        params.pop("out_sharding", None)
    elif name == "broadcast_in_dim":
        for key in ("shape", "sharding"):
            params.pop(key)
        if not params["broadcast_dimensions"]:
            del params["broadcast_dimensions"]
    elif name == "convert_element_type":
        params.pop("sharding")
    for key in ("accuracy", "out_dtype"):
        if name not in ("pow", "integer_pow", "ragged_dot") and params.get(key, 0) is None:
            del params[key]
    return params


class Translated(Primitive):
    """One of JAX's primitives: only its name counts."""

    def __init__(self, name, visible):
        super().__init__(name)
        self.visible = visible

    def shown_params(self, params):
        return sorted((k, v) for k, v in params.items() if k in self.visible)


class Translator:
    """JAX's jaxprs, variables and literals to ours; what is shared stays shared."""

    def __init__(self):
        self.vars, self.jaxprs = {}, {}

    def aval(self, aval):
        dtype = key_fry if str(aval.dtype) == "key<fry>" else np.dtype(aval.dtype)
        return ShapedArray(aval.shape, dtype, getattr(aval, "weak_type", False))

    def atom(self, x):
        if isinstance(x, jcore.Literal):
            python = isinstance(x.val, (bool, int, float, complex))
            number = (np.asarray(x.val).item(),) if python else True
            array = np.asarray(x.val, dtype=x.aval.dtype)
            return Literal(Array(array, x.aval.weak_type, literal=number))
        if x not in self.vars:
            self.vars[x] = Var(self.aval(x.aval))
        return self.vars[x]

    def param(self, value):
        if isinstance(value, jcore.ClosedJaxpr):
            return self.jaxpr(value.jaxpr)
        if isinstance(value, jcore.Jaxpr):
            return self.jaxpr(value)
        if type(value) is tuple and any(isinstance(v, jcore.ClosedJaxpr) for v in value):
            return tuple(map(self.param, value))
        return value

    def eqn(self, eqn):
        visible = shown(eqn.primitive.name, eqn.params)
        order = [k for k in eqn.params if k in visible] + list(visible)
        params = {k: self.param(visible[k]) for k in dict.fromkeys(order)}
        prim = Translated(eqn.primitive.name, set(visible))
        invars, outvars = (list(map(self.atom, vs)) for vs in (eqn.invars, eqn.outvars))
        return JaxprEqn(prim, invars, params, outvars)

    def jaxpr(self, jaxpr):
        if jaxpr not in self.jaxprs:
            constvars, invars, outvars = (
                list(map(self.atom, vs)) for vs in (jaxpr.constvars, jaxpr.invars, jaxpr.outvars)
            )
            eqns = list(map(self.eqn, jaxpr.eqns))
            self.jaxprs[jaxpr] = Jaxpr(invars, eqns, outvars, constvars, [None] * len(constvars))
        return self.jaxprs[jaxpr]


def translate(closed):
    """A jaxpr of JAX as one of ours."""
    return Translator().jaxpr(closed.jaxpr)


# ---- the programs -----------------------------------------------------------------------------

X = np.float32(0.5)
V = np.arange(3, dtype=np.float32)
M = np.ones((3, 3), np.float32)
I = np.arange(4, dtype=np.int32)
KEY = jax.random.key(0)


@jax.jit
def inner(x):
    return jnp.sin(x) * 2.0


@jax.jit
def pair(x, y):
    return y, x + y


@jax.custom_jvp
def clip_jvp(x):
    return jnp.clip(x, 0.0, 1.0)


@clip_jvp.defjvp
def clip_jvp_rule(primals, tangents):
    return clip_jvp(*primals), tangents[0]


@jax.custom_jvp
def long_jvp(x):
    for _ in range(12):
        x = x + 1.0
    return x


@long_jvp.defjvp
def long_jvp_rule(primals, tangents):
    return long_jvp(*primals), tangents[0]


@jax.custom_vjp
def scaled(x, y):
    return x * y


def scaled_fwd(x, y):
    return x * y, (x, y)


def scaled_bwd(res, ct):
    return ct * res[1], ct * res[0]


scaled.defvjp(scaled_fwd, scaled_bwd)


def count_up(x):
    """More variables than letters."""
    for i in range(800):
        x = x * x if i % 2 else x + 1.0
    return x


def long_jit(name):
    """A jit of a long function called `name`."""

    def f(x):
        for _ in range(11):
            x = jnp.cos(x)
        return x

    f.__name__ = name
    return jax.jit(f)


def many_arguments(*xs):
    return tuple(x + 1 for x in reversed(xs))


def mlp_loss(params, x):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return jnp.mean(x**2)


def twice_nested(x):
    return jax.jit(lambda y: jax.jit(lambda z: z * 2.0 + y)(y))(x)


NARROW = ["int8", "int16", "uint8", "uint16", "uint32", "float16", "bfloat16", "complex64"]
DEFAULTS = ["int32", "float32", "bool"]


def literals_of_all_dtypes():
    return tuple(jnp.asarray(np.asarray(1, jnp.dtype(name))) for name in (*NARROW, *DEFAULTS))


def literal_operands(x):
    dtypes = map(jnp.dtype, NARROW)
    return tuple(lax.full_like(x, 0, dtype) + np.asarray(3, dtype) for dtype in dtypes)


def whiles(x):
    return lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * x), (0, x))


def long_while(x):
    step = long_jit("step")
    return lax.while_loop(lambda c: step(c) > 0, lambda c: step(jnp.sin(c)), x)


def scans(xs):
    return lax.scan(lambda c, x: (c + x, c * x), 0.0, xs)


def long_scan(xs):
    return lax.scan(lambda c, x: (long_jvp(c) + x, count_up(c)), 0.0, xs)


def unused_inside(x):
    return jax.jit(lambda y: (jnp.sin(y), y)[1])(x), (jnp.cos(x), 3)[1]


def big_switch(i, x):
    branches = [lambda a: a + 1.0, lambda a: jnp.var(a * V), lambda a: a, inner]
    return lax.switch(i, branches, x)


PROGRAMS = {
    "empty": (lambda: (), ()),
    "identity": (lambda x: x, (X,)),
    "only unused": (lambda x: (), (X,)),
    "constants out": (lambda x: (x, 0.1, np.float32(0.1), True, None, 3), (X,)),
    "sin": (jnp.sin, (X,)),
    "elementwise": (lambda x: jnp.exp(x) / (1 + jnp.log(x)) ** 2, (V,)),
    "one line": (lambda x: lax.neg(lax.neg(x)), (X,)),
    "unused": (lambda x: (jnp.sin(x), lax.top_k(x, 2)[0])[1], (V,)),
    "unused inside": (unused_inside, (X,)),
    "weak literals": (lambda x: x * 0.1 + 3 - 1e-7 * x + 1e400, (0.5,)),
    "strong literals": (lambda x: x * 0.1 + 3 + np.float32(0.1) * np.float16(0.1), (X,)),
    "nan and inf": (lambda x: x + np.nan - np.inf + np.float32(-np.inf), (X,)),
    "huge numbers": (lambda x: x * 1e30 + 1e-30 * x + 2**30, (X,)),
    "complex": (lambda x: x * 1j + (1 + 2j), (X,)),
    "bools": (lambda x: jnp.logical_and(x > 1, True), (V,)),
    "ints": (lambda i: (i // 2) % 3 + (i << 2), (I,)),
    "literals of all dtypes": (literals_of_all_dtypes, ()),
    "literal operands": (literal_operands, (I,)),
    "where": (lambda x: jnp.where(x > 0, x, 0.0), (V,)),
    "where twice": (lambda x: jnp.where(x > 0, jnp.where(x > 1, x, 0.0), 0.0), (V,)),
    "selu": (jax.nn.selu, (X,)),
    "selu of a number": (jax.nn.selu, (0.5,)),
    "relu": (lambda x: jax.nn.relu(x) + jax.nn.relu(x), (V,)),
    "gelu": (jax.nn.gelu, (V,)),
    "softmax": (jax.nn.softmax, (V,)),
    "logsumexp": (jax.nn.logsumexp, (V,)),
    "var": (jnp.var, (V,)),
    "var twice": (lambda x: jnp.var(x) + jnp.var(x), (V,)),
    "std": (lambda x: jnp.std(x, axis=0), (M,)),
    "jit": (lambda x: inner(x), (X,)),
    "jit reused": (lambda x: inner(inner(x)) + inner(2.0), (X,)),
    "jit nested": (twice_nested, (X,)),
    "jit same argument": (lambda x: pair(x, x), (X,)),
    "jit same name": (lambda x: long_jit("f")(long_jit("f")(long_jit("f")(x))), (X,)),
    "jit named as a variable": (lambda x: long_jit("b")(long_jit("a")(x)) + x, (X,)),
    "jit called f1": (lambda x: [long_jit(n)(x) for n in ("f1", "f", "f", "f", "f1")], (X,)),
    "jit of a lambda": (lambda x: jax.jit(lambda y: count_up(y))(x), (X,)),
    "jit literal operand": (lambda x: jax.jit(lambda a, b: a * b)(x, 0.1), (X,)),
    "cond": (lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x), (X,)),
    "cond no operands": (lambda x: lax.cond(x > 0, lambda: 1.0, lambda: 2.0), (X,)),
    "switch": (big_switch, (1, X)),
    "while": (whiles, (X,)),
    "long while": (long_while, (X,)),
    "fori": (lambda x: lax.fori_loop(0, 5, lambda i, c: c * x + i, x), (X,)),
    "scan": (scans, (V,)),
    "scan of long programs": (long_scan, (V,)),
    "scan of scan": (lambda m: lax.scan(lambda c, row: scans(row), 0.0, m), (M,)),
    "map": (lambda v: lax.map(jnp.sin, v), (V,)),
    "cumsum": (lambda v: jnp.cumsum(v), (V,)),
    "custom_jvp": (lambda x: clip_jvp(x) * clip_jvp(x), (X,)),
    "custom_jvp long": (lambda x: long_jvp(x) + long_jvp(x), (X,)),
    "custom_vjp": (lambda x: scaled(x, 2.0), (X,)),
    "vmap": (jax.vmap(lambda x: jnp.dot(x, x) + inner(x).sum()), (M,)),
    "vmap of custom": (jax.vmap(lambda x: scaled(x, x) + clip_jvp(x)), (V,)),
    "vmap of cond": (jax.vmap(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x)), (V,)),
    "grad": (jax.grad(lambda x: jnp.sin(jnp.cos(x) * 0.1)), (X,)),
    "grad of jit": (jax.grad(lambda x: inner(inner(x))), (X,)),
    "grad of scan": (jax.grad(lambda v: scans(v)[0]), (V,)),
    "grad of selu": (jax.grad(jax.nn.selu), (X,)),
    "grad of mlp": (jax.grad(mlp_loss), ([(M, V), (M, V)], M)),
    "hessian": (jax.hessian(lambda v: jnp.sum(v**3)), (V,)),
    "jvp": (lambda x: jax.jvp(inner, (x,), (x,)), (X,)),
    "checkpoint": (jax.checkpoint(lambda x: jnp.sin(x) * x), (X,)),
    "grad of checkpoint": (jax.grad(jax.checkpoint(lambda x: jnp.sin(x) * x)), (X,)),
    "matmul": (lambda a, b: a @ b, (M, V)),
    "einsum": (lambda a, b: jnp.einsum("ij,kj->ik", a, b), (M, M)),
    "constants": (lambda x: x + jnp.asarray(V) * jnp.asarray(V), (V,)),
    "constant inside": (lambda x: jnp.where(x > 0, jnp.arange(3), np.arange(3.0)), (V,)),
    "constants twice": (lambda x: M + x + np.full(3, x.size), (V,)),
    "iota": (lambda: jnp.arange(4), ()),
    "index": (lambda x: x[1] + x[jnp.array([0, 2])].sum(), (V,)),
    "dynamic index": (lambda x, i: x[i], (V, 1)),
    "slice": (lambda m: m[1:, ::2], (M,)),
    "scatter": (lambda x: x.at[0].add(1.0).at[1].set(2.0), (V,)),
    "concatenate": (lambda x: jnp.concatenate([x, x, jnp.zeros(2)]), (V,)),
    "pad": (lambda x: jnp.pad(x, 2), (V,)),
    "sort": (lambda x: jnp.sort(x), (V,)),
    "argmax": (lambda x: jnp.argmax(x), (V,)),
    "convert": (lambda x: x.astype(jnp.bfloat16).astype(jnp.int8).astype(bool), (V,)),
    "print": (lambda x: jax.debug.print("x = {}", x), (X,)),
    "key": (lambda: jax.random.key(0), ()),
    "random bits": (lambda k: jax.random.bits(k, (3,)), (KEY,)),
    "normal": (lambda k: jax.random.normal(k, (3,)), (KEY,)),
    "normal of a raw key": (lambda k: jax.random.normal(k), (jax.random.PRNGKey(0),)),
    "split and uniform": (lambda k: [jax.random.uniform(s) for s in jax.random.split(k)], (KEY,)),
    "many variables": (count_up, (X,)),
    "many arguments": (many_arguments, (X,) * 40),
    "long types": (many_arguments, (np.ones((10, 100, 1000), bool),) * 9),
    "many jit arguments": (lambda *xs: jax.jit(many_arguments)(*xs), (X,) * 30),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_prints_as_jax_does(name):
    f, args = PROGRAMS[name]
    theirs = jax.make_jaxpr(f)(*args)
    ours = translate(theirs)
    assert str(ours) == theirs.pretty_print(use_color=False)
    assert repr(ours) == str(ours)


@pytest.mark.parametrize("name", ["selu", "scan", "many arguments", "var twice", "switch", "empty"])
@pytest.mark.parametrize("options", [{"print_shapes": False}, {"use_color": True}], ids=str)
def test_options(name, options):
    f, args = PROGRAMS[name]
    theirs = jax.make_jaxpr(f)(*args)
    assert translate(theirs).pretty_print(**options) == theirs.pretty_print(
        **{"use_color": False} | options
    )


@pytest.mark.parametrize("name", ["selu", "scan", "many arguments", "var twice", "custom_vjp"])
def test_every_width(name):
    f, args = PROGRAMS[name]
    theirs = jax.make_jaxpr(f)(*args)
    ours = translate(theirs)
    for width in range(1, 121):
        expected = theirs.pretty_print(use_color=False, width=width)
        assert ours.pretty_print(width=width) == expected, width


@pytest.mark.parametrize("name", ["selu", "scan", "print", "iota", "custom_jvp", "where twice"])
def test_single_equations(name):
    f, args = PROGRAMS[name]
    theirs = jax.make_jaxpr(f)(*args)
    for ours, eqn in zip(translate(theirs).eqns, theirs.eqns, strict=True):
        assert str(ours) == repr(ours) == str(eqn)


# ---- what translated jaxprs do not reach ------------------------------------------------------


class Plain(Primitive):
    """Shows all its parameters."""


def one_equation(**params):
    """The text between the brackets of an equation with these parameters."""
    v = Var(ShapedArray((), np.dtype("float32")))
    return str(JaxprEqn(Plain("p"), [v], params, [Var(v.aval)]))


@pytest.mark.parametrize(
    "value, text",
    [
        (None, "None"),
        (np.dtype("float32"), "float32"),
        (jnp.dtype("bfloat16"), "bfloat16"),
        ((1, (2, 3)), "(1, (2, 3))"),
        ((), "()"),
        ("text", "text"),
        (scaled_fwd, "scaled_fwd"),
        (frozenset({2, 1}), "frozenset({1, 2})"),
    ],
)
def test_parameter_values(value, text):
    assert one_equation(x=value) == f"a:f32[] = p[x={text}] b"


def test_addresses_are_not_shown():
    assert one_equation(x=object()).startswith("a:f32[] = p[x=<object object at 0xXXXXXX")


def test_name_comes_first():
    assert one_equation(a=1, name="f", z=2) == "a:f32[] = p[name=f a=1 z=2] b"


def test_hidden_jaxprs_are_not_hoisted():
    class Hider(Plain):
        hidden = ("secret",)

    v = Var(ShapedArray((), np.dtype("float32")))
    inside = Jaxpr([v], [], [v])
    x = Var(v.aval)
    eqns = [JaxprEqn(Hider("p"), [x], {"secret": inside}, []) for _ in range(2)]
    assert str(Jaxpr([x], eqns, [])) == "{ lambda ; a:f32[]. let p a; p a in () }"


def test_deep_sharing_is_counted_in_linear_time():
    v = Var(ShapedArray((), np.dtype("float32")))
    jaxpr = Jaxpr([v], [], [v])
    for _ in range(60):  # 2 ** 60 occurrences of the innermost
        x = Var(v.aval)
        eqns = [JaxprEqn(Plain("p"), [x], {"jaxpr": jaxpr}, [Var(v.aval)]) for _ in range(2)]
        jaxpr = Jaxpr([x], eqns, [x])
    assert str(jaxpr).count("let jaxpr") == 60


def test_vars_and_literals():
    v = Var(ShapedArray((2,), np.dtype("float32")))
    assert repr(v) == f"Var(id={id(v)}):float32[2]"
    assert repr(Literal(lift(0.1))) == "Literal(0.1)"
    assert repr(Literal(lift(np.float32(0.1)))) == "Literal(0.10000000149011612)"


def test_layout():
    items = Group("[", Nest(2, Break(""), "aaa", Break("; "), "bbb"), Break(""), "]")
    assert layout(items, 10) == "[aaa; bbb]"
    assert layout(items, 9) == "[\n  aaa\n  bbb\n]"
