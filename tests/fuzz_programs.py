"""Random programs over the public API, as text: a function of a few arrays, and how to call it.

A program is made line by line: a template is filled with values that exist already, and the line is
kept if the oracle accepts its types. What a template holds between braces:

    {a} a value    {f} a float    {i} an integer    {b} a boolean    {c} a complex number
    {v} a value of rank 1 or more    {m} a float of rank 2 or more    {like} one of the shape of the
    value before    {axis} {axes} axes of the value before    {n} a small number    {k} a factor
    {index} an index into the value before    {dtype} a dtype    {shape} another shape for it
"""

import dataclasses
import random
import re
import textwrap

import jax
import numpy as np

UNARY = """sin cos tanh exp log sqrt abs negative square sign floor ceil round arctan sinh log1p
    expm1 reciprocal cbrt arcsinh isnan isfinite logical_not rint exp2 positive conj real imag angle
    deg2rad sinc nan_to_num trunc"""
BINARY = """add subtract multiply divide maximum minimum power arctan2 hypot less greater equal
    not_equal logical_and logical_or floor_divide remainder mod fmax fmin logaddexp
    heaviside less_equal greater_equal float_power"""
INTEGER = "bitwise_and bitwise_or bitwise_xor left_shift right_shift gcd lcm floor_divide remainder"
REDUCE = "sum prod max min mean any all std var argmax argmin ptp nansum nanmax count_nonzero"
SUMS = "sum max mean all"
CUMULATE = "cumsum cumprod sort argsort flip unwrap diff"
NN = "relu sigmoid softplus silu gelu elu selu log_sigmoid leaky_relu hard_tanh soft_sign relu6"

TEMPLATES = [
    *(f"jnp.{name}({{a}})" for name in UNARY.split()),
    *(f"jnp.{name}({{a}}, {{a}})" for name in BINARY.split()),
    *(f"jnp.{name}({{a}}, {{k}})" for name in BINARY.split()),
    *(f"jnp.{name}({{i}}, {{i}})" for name in INTEGER.split()),
    *(f"jnp.{name}({{v}}, axis={{axis}})" for name in REDUCE.split()),
    *(f"jnp.{name}({{a}}, axis={{axes}}, keepdims={{flag}})" for name in SUMS.split()),
    *(f"jnp.{name}({{v}}, axis={{axis}})" for name in CUMULATE.split()),
    *(f"jax.nn.{name}({{f}})" for name in NN.split()),
    *("{a} + {a}", "{a} * {k}", "{k} - {a}", "{a} / {a}", "-{a}", "{a} ** 2", "{a} ** {k}",
    "{a} @ {a}"),
    *("{a} % {k}", "{k} // {a}", "{a} < {a}", "{a} == {k}", "~{i}", "{i} << 1", "{b} & {b}",
    "abs({a})"),
    "jnp.where({b}, {a}, {a})", "jnp.where({a} > {k}, {a}, {k})", "jnp.clip({a}, {k}, 2)",
    "jnp.where({like} > 0, {like}, {like})", "lax.select({like} > 0, {like}, {like})",
    "{a}.astype({dtype})", "jnp.asarray({a}, dtype={dtype})",
    "lax.convert_element_type({a}, {dtype})",
    "{a}.reshape({shape})", "jnp.ravel({a})", "jnp.transpose({a})", "{v}.T", "jnp.squeeze({a})",
    "jnp.expand_dims({a}, {n})", "jnp.swapaxes({m}, 0, {axis})", "jnp.moveaxis({v}, {axis}, 0)",
    "jnp.roll({v}, {k}, axis={axis})", "jnp.tile({a}, 2)", "jnp.repeat({v}, 2, axis={axis})",
    "jnp.pad({v}, {n})", "jnp.pad({v}, 1, mode='edge')", "jnp.pad({v}, ({n}, 1), mode='reflect')",
    "jnp.concatenate([{v}, {v}], axis={axis})", "jnp.stack([{a}, {like}], axis=0)",
    "jnp.hstack([{v}, {v}])",
    "jnp.concatenate([{v}, {like}], axis={axis})", "jnp.append({v}, {k})",
    "jnp.split({v}, 1, axis={axis})[0]",
    "{v}[{index}]", "{v}[{index}]", "{v}[..., None]", "{v}[::-1]", "{v}[-1]", "{v}[{i}]", "{v}[1:]",
    "{v}.at[{index}].set({k})", "{v}.at[{index}].add({a})", "{v}.at[0].mul({k})",
    "{v}.at[{i}].max({k})",
    "jnp.take({v}, {i}, axis={axis})", "jnp.take({v}, {i}, axis={axis}, mode='clip')",
    "jnp.take({v}, {i})",
    "jnp.take_along_axis({v}, jnp.argsort({same}, axis={axis}), axis={axis})", "jnp.diag({v})",
    "jnp.dot({f}, {f})", "jnp.matmul({m}, {m})", "jnp.outer({v}, {v})", "jnp.inner({f}, {f})",
    "jnp.einsum('i,i->', {v}, {like})", "jnp.einsum('ij,kj->ik', {m}, {m})",
    "jnp.einsum('ij->j', {m})",
    "jnp.tensordot({m}, {m}, 1)", "jnp.trace({m})", "jnp.tril({m})", "jnp.triu({m}, {n})",
    "jnp.vdot({v}, {v})",
    "jnp.cross({f}, {f})", "jnp.kron({v}, {v})", "jnp.convolve({v}, {v})",
    "jnp.interp({f}, jnp.arange(3.0), {v})",
    "jnp.searchsorted(jnp.sort({v}), {k})", "jnp.bincount({i}, length=4)",
    "jnp.digitize({f}, jnp.arange(3.0))",
    "jnp.meshgrid({v}, {v})[0]", "jnp.broadcast_to({a}, (2,) + {same}.shape)",
    "jnp.full_like({a}, {k})",
    "jnp.zeros_like({a})", "jnp.ones_like({a}) * {k}", "jnp.arange({same}.size) * {k}",
    "jnp.linspace({k}, 2.0, 3)",
    "jnp.quantile({v}, 0.5, axis={axis})", "jnp.percentile({f}, 30)",
    "jnp.average({v}, axis={axis})",
    "jnp.nan_to_num({f} / 0)", "jnp.linalg.norm({f})", "jnp.linalg.norm({m}, axis={axis})",
    "jnp.polyval({v}, {a})",
    "jax.nn.softmax({v}, axis={axis})", "jax.nn.log_softmax({v}, axis={axis})",
    "jax.nn.one_hot({i}, 3)",
    "jax.nn.logsumexp({v}, axis={axis})", "jax.nn.standardize({v}, axis={axis})",
    "jax.nn.glu({v}, axis={axis})",
    "lax.add({a}, {like})", "lax.mul({a}, {like})", "lax.max({a}, {like})", "lax.rsqrt({f})",
    "lax.logistic({f})",
    "lax.erf({f})", "lax.stop_gradient({a})", "lax.rev({v}, ({axis},))", "lax.cumsum({v}, axis=0)",
    "lax.sort({v})",
    "lax.top_k({v}, 1)[0]", "lax.dynamic_slice({v}, [{k}] * {same}.ndim, [1] * {same}.ndim)",
    "lax.dynamic_update_slice({v}, {same} * 2, [{n}] * {same}.ndim)", "lax.square({a})",
    "lax.expand_dims({a}, (0,))",
    "lax.clamp({k}, {a}, {k})", "lax.integer_pow({a}, 3)", "lax.reduce_max({v}, (0,))",
    "lax.sign({a})",
    "lax.cond({b}.any(), lambda x: x * 2, lambda x: x + 1, {a})",
    "lax.cond(True, jnp.sin, jnp.cos, {f})",
    "lax.switch({n}, [lambda x: x, lambda x: x * {k}], {f})", "lax.map(lambda r: r * {k}, {v})",
    "lax.scan(lambda c, x: (c + x.sum(), c), np.float32(0), {f})[1]",
    "lax.fori_loop(0, 3, lambda i, c: c * 0.5 + i, {f})",
    "lax.scan(lambda c, x: (jnp.sin(c) * x, c + x), {same}[0], {f})[0]",
    "lax.associative_scan(jnp.add, {v})",
    "lax.while_loop(lambda c: (abs(c) > 1).any(), lambda c: c / 2, {f})",
    "jax.checkpoint(jnp.sin)({f})",
    "jax.jit(lambda x: x * {k} + 1)({a})", "jax.vmap(lambda x: jnp.sum(x * {k}))({v})",
    "jax.vmap(jnp.sort)({v})",
    "jax.vmap(jnp.dot, in_axes=(0, None))({m}, {f})", "jax.grad(lambda x: jnp.sum(x ** 3))({f})",
    "jax.jvp(jnp.tanh, ({f},), ({same},))[1]", "jax.vjp(jnp.exp, {f})[1]({same})[0]",
    "jax.random.normal(jax.random.key({n}), {same_shape})",
    "jax.random.uniform(jax.random.PRNGKey({n}), (2,))",
    "jax.random.randint(jax.random.key({n}), (3,), 0, 5)",
    "jax.random.split(jax.random.PRNGKey({n}))",
    "jax.random.permutation(jax.random.key({n}), {v})",
    "jax.random.bernoulli(jax.random.key(1), 0.5, (2,))",
    "jnp.fft.fft({v}, axis={axis}).real", "jnp.fft.rfft({f}).imag", "{c} * 1j", "jnp.abs({c})",
    "jnp.exp({c})",
    "jnp.linalg.det({m})",
    "jnp.linalg.solve({m} @ {same}.T + 3 * jnp.eye({same}.shape[0]), {same})",
    "jnp.linalg.inv({m} @ {same}.T + 3 * jnp.eye({same}.shape[0]))",
    "jax.scipy.special.logit(lax.logistic({f}))",
    "jnp.linalg.cholesky({m} @ {same}.T + 3 * jnp.eye({same}.shape[0]))",
    "jax.scipy.special.gammaln({f})",
]  # fmt: skip

DTYPES = ["float32"] * 6 + ["int32"] * 3 + ["bool", "float16", "bfloat16", "complex64", "uint8"]
SHAPES = [(), (3,), (3,), (2, 3), (2, 3), (3, 3), (1, 3), (2, 1), (1,), (2, 1, 3), (0,)]
NUMBERS = ["2", "3", "0.5", "1.5", "-1", "2.0", "-0.7", "1", "np.float32(0.3)", "True", "0"]
CALLS = (
    ["plain"] * 3 + ["grad"] * 4 + ["jvp"] * 2 + ["vmap"] * 4 + ["vmap_grad"] * 2 + ["grad_grad"]
)


@dataclasses.dataclass(frozen=True)
class Program:
    """A program: its arguments, its lines, what it returns, and how it is called."""

    args: tuple[tuple[str, tuple, int], ...]  # dtype, shape, seed of the values
    lines: tuple[tuple[str, str], ...]  # name, expression
    outputs: tuple[str, ...]
    call: str = "plain"
    axes: tuple = ()  # vmap's in_axes

    def names(self):
        """x0, x1 ..."""
        return [f"x{i}" for i in range(len(self.args))]

    def source(self):
        """The function f, as text."""
        body = "".join(f"    {name} = {text}\n" for name, text in self.lines)
        return f"def f({', '.join(self.names())}):\n{body}    return {', '.join(self.outputs)},\n"

    def arguments(self):
        """The arrays to call it with."""
        batched = self.call.startswith("vmap")
        axes = self.axes if batched else (None,) * len(self.args)
        return [make_array(*arg, axis) for arg, axis in zip(self.args, axes, strict=True)]

    def differentiable(self):
        """The positions of the float arguments."""
        return tuple(i for i, (d, _, _) in enumerate(self.args) if "float" in d)

    def caller(self):
        """How f is called, as text; it gives the function `run`."""
        wrt = self.differentiable()
        total = (
            "def total(*xs):\n"
            "    outs = [o for o in f(*xs) if jnp.issubdtype(o.dtype, jnp.floating)]\n"
            "    return sum([jnp.sum(o.astype('float32')) for o in outs], jnp.float32(0))\n"
        )
        if self.call == "plain":
            return "run = f\n"
        if self.call == "vmap":
            return f"run = jax.vmap(f, in_axes={self.axes})\n"
        if self.call == "jvp":
            return (
                "def run(*xs):\n"
                "    def g(*ys):\n"
                f"        moved = dict(zip({wrt}, ys))\n"
                "        return f(*[moved.get(i, x) for i, x in enumerate(xs)])\n"
                f"    ts = [xs[i] * 0 + 1 for i in {wrt}]\n"
                f"    return jax.jvp(g, [xs[i] for i in {wrt}], ts)\n"
            )
        if self.call == "grad":
            return total + f"run = jax.grad(total, {wrt})\n"
        if self.call == "vmap_grad":
            return total + f"run = jax.vmap(jax.grad(total, {wrt}), in_axes={self.axes})\n"
        first = f"lambda *xs: sum(jnp.sum(jnp.sin(g)) for g in jax.grad(total, {wrt})(*xs))"
        return total + f"run = jax.grad({first}, {wrt})\n"

    def text(self):
        """All of it, to paste into a file."""
        arrays = [f"{n} = {show(a)}" for n, a in zip(self.names(), self.arguments(), strict=True)]
        call = f"print(run({', '.join(self.names())}))"
        return "\n".join([self.source() + self.caller(), *arrays, call])


def show(array):
    """An array as an expression."""
    data = np.array(array, dtype=complex if array.dtype.kind == "c" else None)
    data = data.astype(np.float32) if array.dtype.kind in "fV" else data
    return f"jnp.array({data.tolist()}, dtype='{array.dtype}')"


def make_array(dtype, shape, seed, axis=None):
    ("""Values that are neither large nor on kinks; a batch of two along axis, if there is one.""",)
    if axis is not None:
        at = axis if axis >= 0 else axis + len(shape) + 1
        shape = (*shape[:at], 2, *shape[at:])
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if "int" in dtype:
        return np.asarray(rng.integers(-2 if dtype == "int32" else 0, 4, shape), dtype)
    values = np.round(rng.normal(size=shape) * 1.3, 2) + 0.013
    if dtype == "complex64":
        values = values + 1j * np.round(rng.normal(size=shape), 2)
    return np.asarray(values).astype(jax.numpy.dtype(dtype))


# ---- growing one --------------------------------------------------------------------------------


class Grower:
    """Makes one program."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.args = tuple(
            (self.rng.choice(DTYPES), self.rng.choice(SHAPES), self.rng.randrange(1000))
            for _ in range(self.rng.choice([1, 2, 2, 3]))
        )
        self.values = {
            f"x{i}": jax.ShapeDtypeStruct(shape, dtype)
            for i, (dtype, shape, _) in enumerate(self.args)
        }
        self.lines, self.last = [], None

    def program(self):
        """A program of two to seven lines that the oracle accepts."""
        for _ in range(self.rng.choice([2, 3, 4, 5, 7])):
            self.grow()
        names = [name for name, _ in self.lines] or list(self.values)
        outputs = {names[-1], self.rng.choice(names)}
        call = self.rng.choice(CALLS)
        program = Program(self.args, tuple(self.lines), tuple(sorted(outputs)), call, self.axes())
        if call not in ("plain", "vmap") and not program.differentiable():
            return dataclasses.replace(program, call="plain")
        return program

    def axes(self):
        """in_axes for vmap: at least one argument is mapped."""
        axes = [self.rng.choice([0, 0, 0, None, -1, len(shape)]) for _, shape, _ in self.args]
        return tuple(axes) if any(a is not None for a in axes) else (0, *axes[1:])

    def grow(self):
        """One more line."""
        for _ in range(30):
            text = self.filled(self.rng.choice(TEMPLATES))
            aval = text and oracle_type(text, self.values)
            if aval is not None and np.prod(aval.shape) <= 64:
                name = f"v{len(self.lines)}"
                self.lines.append((name, text))
                self.values[name] = aval
                return

    def filled(self, template):
        """A template with its holes filled; None if nothing fits."""
        try:
            return re.sub(r"\{(\w+)\}", lambda m: self.fill(m[1]), template)
        except LookupError:
            return None

    def fill(self, hole):
        """What goes into one hole."""
        rng, last = self.rng, self.values.get(self.last)
        kinds = {"f": "fV", "i": "iu", "b": "b", "c": "c"}
        if hole in kinds:
            return self.pick(lambda v: v.dtype.kind in kinds[hole])
        if hole in ("a", "v", "m"):
            rank = "avm".index(hole)
            return self.pick(lambda v: len(v.shape) >= rank and (rank < 2 or v.dtype.kind == "f"))
        if hole == "like":
            if last is None:
                return self.pick(lambda v: True)
            return self.pick(lambda v: (v.shape, v.dtype) == (last.shape, last.dtype))
        if hole == "same":
            return self.last
        if hole == "axis" and last is not None and not last.shape:
            raise LookupError("a number has no axis")
        rank, shape = len(last.shape) if last is not None else 1, () if last is None else last.shape
        choices = {
            "same_shape": lambda: str(tuple(shape)),
            "axis": lambda: str(rng.randrange(-rank, rank)),
            "axes": lambda: rng.choice(["None", "0", "-1", str(tuple(range(rank)))]),
            "n": lambda: rng.choice("012"),
            "k": lambda: rng.choice(NUMBERS),
            "flag": lambda: rng.choice(["True", "False"]),
            "dtype": lambda: f"'{rng.choice(DTYPES)}'",
            "shape": lambda: rng.choice(["-1", "(1, -1)", "(-1, 1)", str(shape[::-1])]),
            "index": lambda: rng.choice(
                ["0", "-1", ":1", "1:", "::2", "..., 0", "None", "[0, 0]", ":, 0", "[True, False]"]
            ),
        }
        return choices[hole]()

    def pick(self, fits):
        """The name of a value; later ones are likelier."""
        names = [name for name, value in self.values.items() if fits(value)]
        self.last = self.rng.choice(names + names[-2:])
        return self.last


def oracle_type(text, values):
    """The type of an expression, None if the oracle does not accept it or it is no array."""
    names = list(values)

    def f(*args):
        scope = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax, "np": np}
        return eval(text, scope | dict(zip(names, args, strict=True)))

    try:
        out = jax.eval_shape(f, *values.values())
    except Exception:
        return None
    is_array = isinstance(out, jax.ShapeDtypeStruct) and isinstance(out.dtype, np.dtype)
    return out if is_array else None


def indented(text):
    """A program in a report."""
    return textwrap.indent(text, "    ")
