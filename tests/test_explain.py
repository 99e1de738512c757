"""explain: its stages are the programs that really run, its sources are the user's lines."""

import functools
import inspect
import re
import runpy
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import Jaxpr, run
from tinyjax.explaining import transformation_stack
from tinyjax.explaining.stages import Line, elided
from tinyjax.source import Source

X = np.arange(1.0, 4.0, dtype=np.float32)
M = np.linspace(0.1, 1.5, 15, dtype=np.float32).reshape(5, 3)


def loss(w, x):
    y = jnp.sin(w) * x
    return jnp.sum(y**2)


def vector(x):
    return jnp.sin(x) * x[0]


def power(x, n):
    return x**n


def share(x):
    return x / lax.psum(x, "i")


def branchy(x, mode):
    return jnp.sin(x) if mode == "s" else jnp.cos(x)


def with_aux(x):
    return jnp.sum(x * x), {"x": x, "n": 3}


@tinyjax.custom_jvp
def softplus(x):
    return jnp.log(1 + jnp.exp(x))


@softplus.defjvp
def softplus_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return softplus(x), (1 - 1 / (1 + jnp.exp(x))) * t


@functools.partial(tinyjax.custom_vjp, nondiff_argnums=(1, 2))
def scaled(x, n, f):
    return f(x) * n


scaled.defvjp(lambda x, n, f: (f(x) * n, x), lambda n, f, x, ct: (ct * n * 7,))


def rnn(w, xs):
    def step(h, x):
        return jnp.tanh(w @ h + x), h.sum()

    h, ys = lax.scan(step, jnp.zeros(3), xs)
    return h.sum() + ys.sum()


def update(params, batch):
    gradient = tinyjax.grad(lambda p: jnp.mean((batch @ p["w"] + p["b"]) ** 2))(params)
    return tinyjax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, gradient)


def flat(*trees):
    """The array leaves of pytrees."""
    return [x for x in tinyjax.tree_util.tree_leaves(trees) if not isinstance(x, str)]


def close(got, want):
    """Assert that lists of arrays are equal but for rounding."""
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-5, atol=1e-6)


def titles(story):
    """The titles of the stages."""
    return [stage.title for stage in story.stages]


# ---- the last program is that of make_jaxpr, and computes what the call returns -----------------

PARAMS = {"w": X, "b": np.float32(0.5)}
CALLS = {  # function, arguments, positions that make_jaxpr must take as static
    "plain": (loss, (X, X)),
    "grad": (tinyjax.grad(loss), (X, X)),
    "two argnums": (tinyjax.grad(loss, argnums=(0, 1)), (X, X)),
    "negative argnums": (tinyjax.grad(loss, argnums=-1), (X, X)),
    "grad of grad of grad": (tinyjax.grad(tinyjax.grad(tinyjax.grad(jnp.sin))), (1.0,)),
    "value_and_grad": (tinyjax.value_and_grad(loss), (X, X)),
    "has_aux": (tinyjax.value_and_grad(with_aux, has_aux=True), (X,)),
    "jit": (tinyjax.jit(loss), (X, X)),
    "jit of jit": (tinyjax.jit(tinyjax.jit(loss)), (X, X)),
    "static_argnums": (tinyjax.jit(power, static_argnums=1), (X, 3), 1),
    "static inside": (
        tinyjax.vmap(tinyjax.grad(tinyjax.jit(power, static_argnames="n")), in_axes=(0, None)),
        (X, 3),
        1,
    ),
    "vmap": (tinyjax.vmap(loss, in_axes=(None, 0)), (X, M)),
    "vmap in_axes of a tree": (
        tinyjax.vmap(lambda d, y: d["a"] * y, in_axes=({"a": 1}, None), out_axes=1),
        ({"a": M}, 2.0),
    ),
    "vmap axis_size": (tinyjax.vmap(lambda: 3.0, axis_size=4), ()),
    "named axes": (tinyjax.vmap(tinyjax.vmap(share, axis_name="i"), axis_name="j"), (M,)),
    "jit of vmap of grad": (
        tinyjax.jit(tinyjax.vmap(tinyjax.grad(loss), in_axes=(None, 0))),
        (X, M),
    ),
    "jacfwd": (tinyjax.jacfwd(vector), (X,)),
    "jacrev": (tinyjax.jacrev(vector), (X,)),
    "hessian": (tinyjax.jit(tinyjax.hessian(lambda x: jnp.sum(x**3))), (X,)),
    "checkpoint": (tinyjax.grad(tinyjax.checkpoint(lambda x: jnp.sum(jnp.sin(jnp.sin(x))))), (X,)),
    "checkpoint, static": (
        tinyjax.jit(tinyjax.checkpoint(power, static_argnums=(1,)), static_argnums=1),
        (X, 2),
        1,
    ),
    "custom_jvp": (tinyjax.vmap(tinyjax.grad(softplus)), (X,)),
    "custom_vjp": (tinyjax.grad(scaled), (1.5, 2.0, jnp.sin), 2),
    "pmap": (tinyjax.pmap(share, axis_name="i"), (X,)),
    "pmap of value_and_grad": (
        tinyjax.pmap(tinyjax.value_and_grad(loss), in_axes=(None, 0), out_axes=0),
        (X, M),
    ),
    "jit of pmap of vmap of grad": (
        tinyjax.jit(tinyjax.pmap(tinyjax.vmap(tinyjax.grad(jnp.sin)))),
        (M,),
    ),
    "scan": (tinyjax.jit(tinyjax.grad(rnn)), (np.eye(3, dtype=np.float32), M)),
    "a derivative inside": (tinyjax.jit(update), (PARAMS, M)),
    "a string": (tinyjax.grad(branchy), (1.0, "s"), 1),
    "integers": (tinyjax.grad(lambda x, i: x[i]), (X, 2)),
    "allow_int": (tinyjax.grad(lambda i, x: 2.0 * x, argnums=1, allow_int=True), (3, 2.0)),
    "complex": (tinyjax.grad(lambda z: z * z, holomorphic=True), (1 + 2j,)),
    "a constant": (tinyjax.grad(lambda x: 3.0), (1.0,)),
    "keys": (tinyjax.jit(lambda k: tinyjax.random.normal(k, (3,))), (tinyjax.random.PRNGKey(0),)),
    "partial": (functools.partial(tinyjax.grad(loss), X), (X,)),
    "custom_vmap": (tinyjax.vmap(tinyjax.custom_batching.sequential_vmap(jnp.sin)), (X,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_last_program_is_that_of_make_jaxpr(name):
    f, args, *static = CALLS[name]
    story = tinyjax.explain(f, limit=None)(*args)
    assert str(story.program) == str(tinyjax.make_jaxpr(f, static_argnums=static)(*args))
    last = [s for s in story.stages if s.program is story.program][-1]
    printed = [line.text for line in last.lines]
    assert [x for x in str(story).split("\n") if x in printed]
    dynamic = [a for i, a in enumerate(args) if i not in static]
    close(run(story.program, *flat(*dynamic)), flat(f(*args)))


@pytest.mark.parametrize("name", CALLS)
def test_what_the_passes_leave_computes_the_same(name):
    f, args, *static = CALLS[name]
    story = tinyjax.explain(f, kernels=True)(*args)
    after = [s for s in story.stages if s.title.endswith("after the passes")]
    if len(after) != 1 or "pmap" in name or name == "keys":
        return  # several programs are compiled, or none as a whole; bits of keys are kernels' words
    dynamic = [a for i, a in enumerate(args) if i not in static]
    close(run(after[0].program, *flat(*dynamic)), flat(f(*args)))


def test_all_calls_print_in_both_ways():
    for f, args, *_ in CALLS.values():
        story = tinyjax.explain(f)(*args)
        assert str(story) == repr(story)
        ElementTree.fromstring(story._repr_html_())


# ---- derivatives ---------------------------------------------------------------------------------

DERIVATIVES = {
    "grad": (loss, (X, X), (1,)),
    "a vector": (vector, (X,), ()),
    "scan": (rnn, (np.eye(3, dtype=np.float32), M), (1,)),
    "jit": (tinyjax.jit(loss), (X, X), (1,)),
    "vmap": (tinyjax.vmap(loss, in_axes=(None, 0)), (X, M), (1,)),
    "checkpoint": (tinyjax.checkpoint(vector), (X,), ()),
    "custom_jvp": (softplus, (1.5,), ()),
    "grad of grad": (tinyjax.grad(lambda x: x**3), (1.5,), ()),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_forward_linear_and_backward_fit_together(name):
    f, args, _ = DERIVATIVES[name]
    story = tinyjax.explain(tinyjax.vjp)(f, *args)
    by_title = {s.title: s.program for s in story.stages}
    forward, linear, backward = (
        by_title[f"vjp, step {t}"] for t in ("1: forward", "2: the linear program", "3: backward")
    )
    tangents = [np.ones_like(a) * np.float32(0.3) for a in args]
    out, out_tangent = tinyjax.jvp(f, args, tuple(tangents))
    n_out = len(flat(out))
    outs = run(forward, *args)
    residuals = outs[n_out:]
    close(outs[:n_out], flat(out))
    close(run(linear, *residuals, *tangents), flat(out_tangent))
    ct = np.ones_like(flat(out)[0])
    close(run(backward, *residuals, ct), flat(tinyjax.vjp(f, *args)[1](tinyjax.numpy.array(ct))))


def test_against_the_oracle():
    story = tinyjax.explain(tinyjax.grad(loss))(X, X)
    forward, linear, backward, whole = (stage.program for stage in story.stages[1:])

    def oracle(w, x):
        return jax.numpy.sum((jax.numpy.sin(w) * x) ** 2)

    want = jax.grad(oracle)(X, X)
    value, *residuals = run(forward, X, X)
    close([value], [oracle(X, X)])
    close(run(backward, *residuals, np.float32(1)), [want])
    close(run(whole, X, X), [want])
    close(run(linear, *residuals, X), [jax.jvp(lambda w: oracle(w, X), (X,), (X,))[1]])


def test_residuals_have_one_name_in_all_programs_of_a_derivative():
    stages = tinyjax.explain(tinyjax.grad(loss))(X, X).stages
    assert stages[1].lines[-1].text == "  in (h, d, b, g) }"
    assert "d:f32[3] b:f32[3] g:f32[3]" in stages[1].prose and "36 bytes" in stages[1].prose
    assert stages[2].lines[0].text == "{ lambda ; d:f32[3] b:f32[3] g:f32[3] i:f32[3]. let"
    assert stages[3].lines[0].text == "{ lambda ; d:f32[3] b:f32[3] g:f32[3] i:f32[]. let"


def test_jvp_linearize_and_vjp_take_the_function_first():
    for story, program in [
        (
            tinyjax.explain(tinyjax.jvp)(vector, (X,), (X,)),
            tinyjax.make_jaxpr(functools.partial(tinyjax.jvp, vector))((X,), (X,)),
        ),
        (
            tinyjax.explain(functools.partial(tinyjax.jvp, vector))((X,), (X,)),
            tinyjax.make_jaxpr(functools.partial(tinyjax.jvp, vector))((X,), (X,)),
        ),
        (
            tinyjax.explain(tinyjax.linearize)(vector, X),
            tinyjax.make_jaxpr(functools.partial(tinyjax.linearize, vector))(X),
        ),
        (
            tinyjax.explain(tinyjax.vjp)(vector, X),
            tinyjax.make_jaxpr(functools.partial(tinyjax.vjp, vector))(X),
        ),
    ]:
        assert str(story.program) == str(program)
        assert story.stages[0].title == "vector, as written"
    by_name = tinyjax.explain(tinyjax.jvp)(vector, primals=(X,), tangents=(X,))
    assert titles(by_name) == ["vector, as written", "jvp(vector, ...)"]
    aux = tinyjax.explain(tinyjax.vjp)(with_aux, X, has_aux=True)
    assert len(aux.stages) == 5


def test_linearize_stops_before_the_way_back():
    assert titles(tinyjax.explain(tinyjax.linearize)(vector, X)) == [
        "vector, as written",
        "linearize, step 1: forward",
        "linearize, step 2: the linear program",
        "linearize(vector, ...): all of it",
    ]


def test_jacfwd_shows_the_pushforward_of_one_tangent():
    push = tinyjax.explain(tinyjax.jacfwd(vector))(X).stages[1].program
    want = jax.jvp(lambda x: jax.numpy.sin(x) * x[0], (X,), (X,))
    close(run(push, X, X), list(want))


def test_custom_rules_are_shown_and_run():
    rule = tinyjax.explain(softplus)(1.5).stages[1]
    assert rule.title == "custom_jvp: the rule of softplus"
    slope = float(1 / (1 + np.exp(-1.5)))
    close(run(rule.program, 1.5, 2.0), [np.log1p(np.exp(1.5)), 2 * slope])
    stages = tinyjax.explain(tinyjax.grad(scaled))(1.5, 2.0, jnp.sin).stages
    bwd = next(s for s in stages if s.title == "custom_vjp: bwd of scaled").program
    fwd = next(s for s in stages if s.title == "custom_vjp: fwd of scaled").program
    _, *residuals = run(fwd, 1.5, 2.0)
    close(run(bwd, *residuals, 1.0), [14.0])
    assert "only the way back is known" in stages[5].prose


# ---- batches, devices, kernels -------------------------------------------------------------------


def test_vmap_names_the_axes():
    story = tinyjax.explain(tinyjax.vmap(tinyjax.grad(loss), in_axes=(None, 1)))(X, M.T)
    assert story.stages[0].prose.startswith(
        "Called with w: f32[3], x: f32[3], it is a program of 4"
    )
    prose = story.stages[-1].prose
    assert "for 5 examples at once" in prose
    assert "w is not mapped: all share the f32[3]" in prose
    assert "x along axis 1: f32[3,5] is 5 times f32[3]" in prose


def test_pmap_shows_what_a_device_runs():
    story = tinyjax.explain(tinyjax.pmap(share, axis_name="i"))(X)
    device = story.stages[1]
    assert device.title == "pmap: what each of 3 devices runs"
    assert "x along axis 0: f32[3] is 3 times f32[]" in device.prose
    [eqn] = story.program.eqns
    assert device.program is eqn.params["jaxpr"]


def test_kernels_are_those_of_lower():
    f = tinyjax.jit(tinyjax.vmap(tinyjax.grad(loss), in_axes=(None, 0)))
    story = tinyjax.explain(f)(X, M)
    last = story.stages[-1]
    assert last.title == "compiler, step 2: loss as kernels" and last.program is None
    assert last.text == f.lower(X, M).kernels().rstrip()
    assert last.prose.startswith("1 kernel and 0 calls of NumPy")
    before, after = re.search(
        r"Before: (\d+) equations; now: (\d+)", story.stages[-2].prose
    ).groups()
    assert int(after) == len(story.stages[-2].program.eqns) < int(before)


def test_calls_of_numpy_are_counted():
    large = tinyjax.ShapeDtypeStruct((300, 300), "float32")
    story = tinyjax.explain(tinyjax.jit(lambda a: jnp.sort(jnp.sin(a) @ a)))(large)
    assert story.stages[-1].prose.startswith("1 kernel and 2 calls of NumPy")


def test_kernels_only_where_something_is_jitted_or_they_are_asked_for():
    assert titles(tinyjax.explain(loss)(X, X)) == ["loss, as written"]
    asked = tinyjax.explain(loss, kernels=True)(X, X)
    assert asked.stages[-1].text == tinyjax.jit(loss).lower(X, X).kernels().rstrip()
    without = tinyjax.explain(tinyjax.jit(loss), kernels=False)(X, X)
    assert titles(without) == ["loss, as written", "jit(loss): one equation"]


def test_a_jit_inside_is_compiled_once_forward_and_once_backward():
    story = tinyjax.explain(tinyjax.grad(tinyjax.jit(loss)))(X, X)
    assert sum(s.title.endswith("as kernels") for s in story.stages) == 2


# ---- transformations inside ----------------------------------------------------------------------


def model(w, x):
    return jnp.tanh(jnp.dot(w, x))


def batch_loss(w, xs):
    return jnp.mean(tinyjax.vmap(model, in_axes=(None, 0))(w, xs) ** 2)


def step(w, xs):
    value, gradient = tinyjax.value_and_grad(lambda w: batch_loss(w, xs))(w)
    return w - 0.1 * gradient


def test_what_a_function_transforms_inside_is_told_too():
    story = tinyjax.explain(tinyjax.jit(step), kernels=False)(X, M)
    assert titles(story) == [
        "step, as written",
        "inside step: lambda, as written",
        "inside step: inside lambda: model, as written",
        "inside step: inside lambda: vmap(model, in_axes=(None, 0)): the batched program",
        "inside step: value_and_grad, step 1: forward",
        "inside step: value_and_grad, step 2: the linear program",
        "inside step: value_and_grad, step 3: backward",
        "inside step: value_and_grad(lambda): all of it",
        "jit(step): one equation",
    ]
    assert story.stages[0].prose.endswith("It calls 1 transformed function: see the next stages.")
    model_text = story.stages[2].prose
    assert model_text.startswith("Called with w: f32[3], x: f32[3], it is a program of 2 equations")
    assert str(story.program) == str(tinyjax.make_jaxpr(tinyjax.jit(step))(X, M))


def test_jvp_and_vjp_inside_are_told_too():
    def product(x, v):
        return tinyjax.jvp(tinyjax.grad(loss), (x, x), (v, v))[1]

    def weighted(x):
        y, pull = tinyjax.vjp(vector, x)
        return pull(y)[0]

    inside = titles(tinyjax.explain(product)(X, X))
    assert inside[1] == "inside product: loss, as written"
    assert inside[-2:] == ["inside product: jvp(grad(loss), ...)", "product: all of it"]
    assert titles(tinyjax.explain(weighted)(X))[-3:] == [
        "inside weighted: vjp, step 3: backward",
        "inside weighted: vjp(vector, ...): all of it",
        "weighted: all of it",
    ]


def test_a_call_inside_of_one_kind_is_told_once_and_only_some_kinds():
    def many(x):
        total = x
        for n in range(6):
            total += tinyjax.grad(lambda y: y**3)(x)
            total += tinyjax.grad(power)(x, n)
        return total

    inside = [t for t in titles(tinyjax.explain(many)(1.0)) if t.endswith("as written")]
    assert inside == [
        "many, as written",
        "inside many: lambda, as written",
        *["inside many: power, as written"] * 3,
    ]


def test_transformations_that_the_package_uses_itself_are_not_told():
    def f(x):
        return jnp.vectorize(lambda a: a + 1)(x) + tinyjax.jacfwd(vector)(x).sum()

    assert titles(tinyjax.explain(f)(X)) == [
        "f, as written",
        "inside f: vector, as written",
        "inside f: jacfwd, step 1: the pushforward of one tangent",
        "inside f: jacfwd(vector): all of it",
        "f: all of it",
    ]


def test_a_derivative_in_a_loop():
    def descend(w):
        return lax.scan(lambda w, x: (w - tinyjax.grad(loss)(w, x), None), w, M)[0]

    def closing(w):
        return lax.scan(lambda w, x: (w - tinyjax.grad(lambda w: loss(w, x))(w), None), w, M)[0]

    assert "inside descend: grad(loss): all of it" in titles(tinyjax.explain(descend)(X))
    assert titles(tinyjax.explain(closing)(X)) == ["closing, as written"]  # x is gone by then


def test_profilers_are_left_as_they_were():
    seen = []
    sys.setprofile(lambda *event: seen.append(event) if "user_mark" in str(event[0]) else None)
    try:
        before = sys.getprofile()
        tinyjax.explain(step)(X, M)
        with pytest.raises(ZeroDivisionError):
            tinyjax.explain(lambda x: 1 // 0)(X)
        assert sys.getprofile() is before
    finally:
        sys.setprofile(None)


# ---- sources -------------------------------------------------------------------------------------


def body(f):
    """The lines of a function, without indentation."""
    return [line.strip() for line in inspect.getsource(f).split("\n")]


def test_every_equation_of_the_users_has_the_users_line():
    story = tinyjax.explain(tinyjax.jit(tinyjax.vmap(tinyjax.grad(loss), in_axes=(None, 0))))(X, M)
    first = [line.source for line in story.stages[0].lines if line.source]
    lines = body(loss)
    assert [s.text for s in first] == [lines[1], lines[1], lines[2], lines[2]]
    whole = next(s for s in story.stages if s.title == "grad(loss): all of it")
    phases = [line.source.phase for line in whole.lines if line.source]
    assert phases == [""] * 6 + ["backward"] * 4
    backward = [line.source.text for line in whole.lines if line.source][6:]
    assert backward == [lines[2], lines[2], lines[1], lines[1]]


def first_caller(x):
    return jnp.where(x > 0, x, 0.0)


def second_caller(x):
    y = jnp.where(x > 1, x, 0.0)
    return jnp.sum(jnp.where(y > 3, y, 0.0))


def test_what_a_function_of_the_package_does_comes_from_its_call():
    tinyjax.make_jaxpr(first_caller)(X)  # the program of jnp.where is kept from here on
    story = tinyjax.explain(tinyjax.jit(tinyjax.grad(second_caller)))(X)
    lines = body(second_caller)
    seen = {line.source.text for stage in story.stages for line in stage.lines if line.source}
    assert seen == {
        *lines[1:3],
        "story = tinyjax.explain(tinyjax.jit(tinyjax.grad(second_caller)))(X)",
    }
    whole = [s for s in story.stages if s.program is story.program][0]
    once = [line for line in whole.lines if "select_n" in line.text and line.source is None]
    assert len(once) == 2  # forward and backward, written once for two calls: nobody's line
    passes = next(s for s in story.stages if s.title.endswith("after the passes"))
    assert {line.source.text for line in passes.lines if line.source} <= set(lines[1:3])


def test_a_jitted_function_of_the_users_keeps_its_lines():
    @tinyjax.jit
    def clip(x):  # the name of one of the package's
        return jnp.sin(x)

    story = tinyjax.explain(lambda x: clip(x) + 1)(1.0)
    [line] = [line for line in story.stages[0].lines if "sin" in line.text]
    assert line.source.text == "return jnp.sin(x)"


def test_text_has_two_columns_and_ditto_marks():
    text = str(tinyjax.explain(tinyjax.grad(loss))(X, X))
    line = body(loss)[1]
    assert re.search(rf"c:f32\[3\] = sin a +\| {re.escape(line)}\n", text)
    assert re.search(r'd:f32\[3\] = mul c b +\| "\n', text)
    assert f"| ← {line}" in text
    assert max(map(len, text.split("\n"))) <= 100
    columns = {x.index("|") for x in text.split("\n") if x.startswith("    ") and "|" in x}
    assert len(columns) <= 5  # one per program


def test_the_line_that_calls_explain_is_no_source():
    story = tinyjax.explain(tinyjax.jit(jnp.sin))(1.0)
    assert "tinyjax.explain(" not in str(story)


def test_the_derivative_inside_is_marked():
    story = tinyjax.explain(tinyjax.jit(update))(PARAMS, M)
    assert "It takes a derivative itself" in story.stages[0].prose
    assert "| ← gradient = tinyjax.grad(" in str(story)


def test_without_a_file_the_number_of_the_line_is_shown():
    names = {"jnp": jnp}
    exec(compile("def f(x):\n    return jnp.sin(x)\n", "<stdin>", "exec"), names)
    assert "| line 2 of f" in str(tinyjax.explain(names["f"])(1.0))


# ---- what is printed -----------------------------------------------------------------------------


def test_long_programs_lose_their_middle_with_a_count():
    def long(x):
        for _ in range(50):
            x = jnp.sin(x)
        return x

    text = str(tinyjax.explain(long)(1.0))
    assert "... 12 more lines (limit=None shows them) ..." in text
    assert text.count("sin") < 45
    whole = str(tinyjax.explain(long, limit=None)(1.0))
    assert whole.count("= sin") == 50 and "more lines" not in whole
    assert str(tinyjax.explain(long, limit=10)(1.0)).count("= sin") < 10


def test_eliding_keeps_both_ends():
    lines = [Line(str(k)) for k in range(20)]
    kept = elided(lines, 6)
    assert [x.text for x in kept[:4]] == ["0", "1", "2", "3"] and kept[-1].text == "19"
    assert "14 more lines" in kept[4].text and len(kept) == 7
    assert elided(lines, 19) == lines and elided(lines, None) == lines


def test_a_part_of_a_story():
    story = tinyjax.explain(tinyjax.jit(tinyjax.grad(loss)))(X, X)
    part = story.only("backward", "kernels")
    assert titles(part) == ["grad, step 3: backward", "compiler, step 2: loss as kernels"]
    assert "How jit(grad(loss)) comes about" in str(part) and "forward" not in str(part)
    ElementTree.fromstring(part._repr_html_())
    with pytest.raises(ValueError, match=r"about \('batched',\); there are\n  loss, as written\n"):
        story.only("batched")


def test_html_is_well_formed_escaped_and_plain():
    def tricky(x):
        return jnp.where(x < 2, x, x & 1)  # "<b>" & 'quotes'

    page = tinyjax.explain(tinyjax.jit(tricky))(np.arange(3))._repr_html_()
    root = ElementTree.fromstring(page)
    assert root.tag == "section"
    assert [h.tag for h in root.iter() if h.tag in ("h3", "h4")] == ["h3"] + ["h4"] * 4
    assert len(list(root.iter("details"))) == 4 == len(list(root.iter("summary")))
    cells = ["".join(cell.itertext()) for cell in root.iter("td")]
    assert body(tricky)[1] in cells and "<b>" not in page
    assert [th.get("scope") for th in root.iter("th")][:2] == ["col", "col"]
    assert "<script" not in page and "http" not in page and "class=" not in page
    styles = " ".join(element.get("style", "") for element in root.iter())
    colours = re.findall(r"(?:color|background|border[a-z-]*):([^;]*)", styles)
    assert {c.split()[-1] for c in colours} <= {"inherit", "none", "currentColor", "0", "collapse"}
    places = {td.get("title") for td in root.iter("td") if td.get("title")}
    assert any("test_explain.py:" in place and "(tricky)" in place for place in places)


def test_linear_and_backward_program_stand_side_by_side():
    page = tinyjax.explain(tinyjax.grad(loss))(X, X)._repr_html_()
    [row] = [e for e in ElementTree.fromstring(page) if "flex-wrap" in e.get("style", "")]
    heads = ["".join(h.itertext()) for h in row.iter("h4")]
    assert heads == ["3. grad, step 2: the linear program", "4. grad, step 3: backward"]


def test_the_title_is_the_call_as_written():
    f = tinyjax.jit(tinyjax.vmap(tinyjax.grad(loss, argnums=1), in_axes=(None, 0)))
    title = "jit(vmap(grad(loss, argnums=1), in_axes=(None, 0)))"
    assert str(tinyjax.explain(f)(X, M)).startswith(f"How {title} comes about\n")
    assert tinyjax.explain(lambda x: x)(1.0).title == "lambda"


def test_the_page_shows_what_is_printed(tmp_path):
    page = (Path(__file__).parent.parent / "docs" / "explaining.md").read_text()
    section = page[page.index("## explain:") :]
    code = re.search(r"```python\n(.*?)```", section, re.S)[1]
    shown = re.search(r"```text\n(.*?)```", section, re.S)[1]
    (tmp_path / "example.py").write_text(code)
    assert shown in str(runpy.run_path(str(tmp_path / "example.py"))["story"])


# ---- the stack -----------------------------------------------------------------------------------


def test_the_stack_lists_transformations_from_the_outside_in():
    f = tinyjax.jit(
        tinyjax.vmap(tinyjax.value_and_grad(loss, argnums=(0, 1)), in_axes=(None, 0)),
        static_argnums=(),
    )
    layers, inner = transformation_stack(f)
    assert layers == [
        ("jit", {}),
        ("vmap", {"in_axes": (None, 0)}),
        ("value_and_grad", {"argnums": (0, 1)}),
    ]
    assert inner is loss
    policy = tinyjax.checkpoint_policies.dots_saveable
    layers, inner = transformation_stack(tinyjax.checkpoint(loss, policy=policy))
    assert layers == [("checkpoint", {"policy": policy})] and inner is loss
    assert transformation_stack(loss) == ([], loss)
    assert [n for n, _ in transformation_stack(tinyjax.hessian(loss))[0]] == ["jacfwd", "jacrev"]
    assert transformation_stack(functools.partial(tinyjax.grad(loss), X))[0] == [("grad", {})]
    assert transformation_stack(tinyjax.pmap(share, axis_name="i"))[0] == [
        ("pmap", {"axis_name": "i"})
    ]
    assert transformation_stack(tinyjax.vmap(softplus)) == (
        [("vmap", {}), ("custom_jvp", {})],
        softplus.fun,
    )


def test_a_copy_of_attributes_is_not_a_transformation():
    transformed = tinyjax.grad(loss)

    @functools.wraps(transformed)
    def mine(w, x):
        return 2 * transformed(w, x)

    assert transformation_stack(mine) == ([], mine)
    assert titles(tinyjax.explain(mine)(X, X))[:2] == [
        "loss, as written",
        "inside loss: loss, as written",
    ]

    class Model:
        @tinyjax.jit
        def __call__(self, x):
            return x

        @functools.partial(tinyjax.jit, static_argnums=0)
        def method(self, x):
            return jnp.sin(x)

    assert titles(tinyjax.explain(Model().method)(1.0))[:2] == [
        "method, as written",
        "jit(method, static_argnums=0): one equation",
    ]


def test_shapes_suffice():
    struct = tinyjax.ShapeDtypeStruct((3,), "float32")
    story = tinyjax.explain(tinyjax.grad(loss))(struct, struct)
    assert str(story) == str(tinyjax.explain(tinyjax.grad(loss))(X, X))


def test_nothing_is_computed():
    ran = []

    @tinyjax.jit
    def noisy(x):
        tinyjax.debug.callback(ran.append, x)
        return 2 * x

    story = tinyjax.explain(noisy)(1.0)
    assert ran == []
    assert all(s.program is None or isinstance(s.program, Jaxpr) for s in story.stages)
    noisy(1.0).block_until_ready()
    assert len(ran) == 1


# ---- errors --------------------------------------------------------------------------------------


def test_explain_takes_a_function():
    with pytest.raises(TypeError, match=r"Expected a callable value, got 3.*explain\(f\)\(x\)"):
        tinyjax.explain(3)


@pytest.mark.parametrize(
    "f, args",
    [
        (loss, (X,)),
        (tinyjax.grad(loss), ()),
        (tinyjax.grad(vector), (X,)),
        (tinyjax.grad(vector), (np.arange(3),)),
        (tinyjax.vmap(loss), (X, M)),
        (tinyjax.vmap(loss, in_axes=(0,)), (X, M)),
        (tinyjax.jit(power), (X, "three")),
        (tinyjax.jit(lambda x: x if x > 0 else -x), (1.0,)),
        (tinyjax.pmap(share), (X,)),
        (tinyjax.jvp, ()),
        (tinyjax.jvp, (vector,)),
        (tinyjax.jvp, (vector, (X,), (M,))),
        (tinyjax.jvp, (3, (X,), (X,))),
        (tinyjax.vjp, (vector, "x")),
        (tinyjax.jvp, (lambda x: scaled(x, 2.0, jnp.sin), (1.0,), (1.0,))),
    ],
)
def test_errors_are_those_of_the_call(f, args):
    with pytest.raises(Exception) as want:
        f(*args)
    with pytest.raises(type(want.value)) as got:
        tinyjax.explain(f)(*args)
    assert str(got.value).split("\n")[0] == str(want.value).split("\n")[0]


# ---- sources in jaxprs ---------------------------------------------------------------------------


def test_jaxprs_print_with_sources_as_in_jax():
    ours = tinyjax.make_jaxpr(tinyjax.grad(loss))(X, X)
    text = ours.pretty_print(source_info=True)
    namespace = dict(loss.__globals__, jnp=jax.numpy)
    oracle_loss = type(loss)(loss.__code__, namespace)
    oracle = jax.make_jaxpr(jax.grad(oracle_loss))(X, X)
    assert text == oracle.pretty_print(source_info=True)
    assert text.count("test_explain.py:") == 10
    assert "#" not in str(ours)


def test_sources_of_jaxprs_are_lines_of_calls():
    tinyjax.make_jaxpr(first_caller)(X)
    text = tinyjax.make_jaxpr(lambda x: second_caller(x))(X).pretty_print(source_info=True)
    assert "(first_caller)" not in text and text.count("(second_caller)") == 5


def test_a_source_is_a_place():
    [eqn] = tinyjax.make_jaxpr(lambda x: jnp.sin(x))(1.0).eqns
    assert isinstance(eqn.source, Source)


def test_the_story_of_a_function_that_takes_a_gradient_ends_with_its_own_program():
    def step(x):
        return x - 0.1 * tinyjax.grad(lambda x: jnp.sum(x * x))(x)

    story = tinyjax.explain(step)(X)
    assert story.stages[-1].title == "step: all of it"
    assert str(story.program) == str(tinyjax.make_jaxpr(step)(X))
    assert str(tinyjax.explain(jnp.sin)(X).program) == str(tinyjax.make_jaxpr(jnp.sin)(X))
