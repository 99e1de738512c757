"""Where a NaN comes from: explain_nan, and the errors of debug_nans."""

import ast
import dataclasses
import functools
import linecache
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from worlds import OURS

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import explain_nan, lax
from tinyjax.nans import describe, fixes, guard, history

Z = np.zeros(3, np.float32)
AT_ZERO = np.array([1.0, 0.0, 4.0], np.float32)


@pytest.fixture(autouse=True)
def faults_are_errors(monkeypatch):
    """A fault in the machinery of messages is not hidden from these tests."""
    monkeypatch.setattr(guard, "strict", True)


# ---- the classics: a function, its argument, the operation, words of the report ------------------


def sqrt_guarded(x):
    return jnp.where(x > 0, jnp.sqrt(x), 0.0).sum()


def sqrt_guarded_below(x):
    return jnp.where(x <= 0, 0.0, jnp.sqrt(x)).sum()


def sqrt_before(x):
    y = jnp.sqrt(x)
    return jnp.where(x > 0, y, 0.0).sum()


def log_guarded(x):
    return jnp.where(x > 0, x * jnp.log(x), 0.0).sum()


def quotient_guarded(x):
    return jnp.where(x != 0, 1.0 / x, 0.0).sum()


def power_guarded(x):
    return jnp.where(x > 0, x**0.5, 0.0).sum()


def exp_guarded(x):
    return jnp.where(x < 1, jnp.exp(x * 100), 1.0).sum()


def angle_guarded(x):
    return jnp.where(x > 0, jnp.arctan2(x, x), 0.0).sum()


def norm_guarded(x):
    return jnp.where(x.sum() > 0, jnp.linalg.norm(x), 0.0)


GUARDED = [
    (sqrt_guarded, AT_ZERO),
    (sqrt_guarded_below, AT_ZERO),
    (sqrt_before, AT_ZERO),
    (log_guarded, AT_ZERO),
    (quotient_guarded, AT_ZERO),
    (power_guarded, AT_ZERO),
    (exp_guarded, AT_ZERO),
    (angle_guarded, AT_ZERO),
    (norm_guarded, Z),
]


@pytest.mark.parametrize("change", [lambda f: f, jax.grad, lambda f: jax.jit(jax.grad(f))])
@pytest.mark.parametrize("f, x", GUARDED)
def test_the_branch_that_where_does_not_take(f, x, change):
    report = explain_nan(change(f))(x)
    assert report and report.found and report.fix.startswith("safe = jnp.where(")
    assert "did not take" in report.message and "cotangent is 0" in report.message
    assert report.source.function == f.__name__
    assert ("is finite, but its gradient is not" in report.message) == (change(f) is f)
    assert len(report.message.splitlines()) <= 12
    assert np.isfinite(jax.grad(rewritten(f, report))(x)).all()
    assert rewritten(f, report)(jnp.array(x)) == f(jnp.array(x))


def rewritten(f, report):
    """f with the lines of the fix in place of the expression that they mend."""
    lines = linecache.getlines(f.__code__.co_filename)[f.__code__.co_firstlineno - 1 :]
    tree = ast.parse("".join(lines).split("\n\n\n")[0])
    *body, last = ast.unparse(tree).splitlines()
    assert report.instead_of in last
    *before, new = report.fix.splitlines()
    body += [f"    {line}" for line in before]
    body.append(last.replace(report.instead_of, f"({new.split('  #')[0]})"))
    space = dict(f.__globals__)
    exec("\n".join(body), space)
    return space[f.__name__]


def root(x):
    return jnp.sqrt(x).sum() * 0.0


def length(x):
    return jnp.linalg.norm(x)


def unit(x):
    return (x / jnp.linalg.norm(x)).sum()


def standard(x):
    return ((x - 1.0) / jnp.std(x) * 0.0).sum()


def spread(x):
    return jnp.std(x)


def entropy(x):
    return (x * jnp.log(x)).sum()


def log_of_negative(x):
    return jnp.log(x - 2.0).sum()


def ratio(x):
    return (x / x).sum()


def power(x):
    return (x**0.5).sum() * 0.0


def negative_power(x):
    return ((x - 2.0) ** 0.5).sum()


def angle(x):
    return jnp.arctan2(x, x).sum()


def inverse_cosine(x):
    return jnp.arccos(x).sum() * 0.0


def beyond_one(x):
    return jnp.arcsin(x + 1.0).sum()


CLASSICS = [
    (root, Z, "the derivative of sqrt is infinite at 0", "mul"),
    (length, Z, "norm is a square root", "mul"),
    (unit, Z, "0 / 0 is nan", "div"),
    (spread, Z, "std is a square root", "mul"),
    (entropy, Z, "log(0) is -inf", "mul"),
    (ratio, Z, "0 / 0 is nan", "div"),
    (power, Z, "the derivative of x ** p is infinite at 0 if p < 1", "mul"),
    (negative_power, Z, "a negative number to a power that is not whole", "pow"),
    (angle, Z, "the derivative of arctan2", "div"),
    (inverse_cosine, Z + 1, "the derivative of arccos is infinite at -1 and 1", "mul"),
    (beyond_one, Z + 1, "arcsin outside of [-1, 1]", "asin"),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("f, x, words, primitive", CLASSICS)
def test_classics(f, x, words, primitive, compiled):
    gradient = jax.jit(jax.grad(f)) if compiled else jax.grad(f)
    report = explain_nan(gradient)(x)
    assert report and words in report.message
    assert report.primitive == primitive
    assert report.source.function == f.__name__ and report.source.text.startswith("return")
    assert report.source.text in report.message and len(report.message.splitlines()) <= 12
    assert np.isfinite(jax.grad(rewritten(f, report))(x)).all()


def test_log_of_a_negative_number():
    report = explain_nan(log_of_negative)(Z)
    assert report.primitive == "log" and "log of a negative number" in report.message
    assert np.isfinite(rewritten(log_of_negative, report)(Z))
    assert not explain_nan(jax.grad(log_of_negative))(Z)  # 1 / (x - 2) is fine


def test_division_by_a_standard_deviation_that_has_a_name():
    def scaled(x):
        s = jnp.std(x)
        return (x - x.mean()) / s

    report = explain_nan(scaled)(Z)
    assert report.primitive == "div" and report.fix == "jnp.sqrt(jnp.var(x) + 1e-6)"
    assert report.instead_of == "jnp.std(x)"


def test_overflow_of_a_softmax():
    def softmax(x):
        e = jnp.exp(x)
        return e / e.sum()

    report = explain_nan(softmax)(np.array([1.0, 100.0], np.float32))
    assert report.primitive == "div" and "inf / inf is nan" in report.message
    assert (
        "inf was made by exp(100.0) at" in report.message and ": e = jnp.exp(x)" in report.message
    )
    assert "exp overflows above 88.7" in report.message and "as jax.nn.softmax" in report.fix
    x = np.array([1.0, 100.0], np.float32)
    e = eval(report.fix.split("#")[0])
    np.testing.assert_allclose(e / e.sum(), jax.nn.softmax(x))


def test_overflow_of_a_logsumexp():
    report = explain_nan(jax.grad(lambda x: jnp.log(jnp.sum(jnp.exp(x)))))(Z + 100)
    assert report.fix == "jax.nn.logsumexp(x)"
    assert report.instead_of == "jnp.log(jnp.sum(jnp.exp(x)))"
    report = explain_nan(lambda x: jnp.exp(x) - jnp.exp(2 * x))(100.0)
    assert report.fix == "" and "subtract the largest operand before exp" in str(report)


def test_steps_that_are_too_large():
    def descend(w):
        def step(w, _):
            return w - 10.0 * jax.grad(lambda w: jnp.sum(w**4))(w), None

        return lax.scan(step, w, None, length=30)[0]

    report = explain_nan(jax.jit(descend))(Z + 1)
    assert "inf - inf" in str(report) and "iteration 4 of the scan" in str(report)
    assert "too large for float32" in str(report) and "smaller step size" in str(report)


def test_matrices():
    report = explain_nan(jnp.linalg.cholesky)(-np.eye(2, dtype=np.float32))
    assert "not positive definite" in str(report) and "jnp.eye(n)" in str(report)
    assert "the matrix is singular" in str(explain_nan(jnp.linalg.inv)(np.zeros((2, 2))))
    assert "the mean of no elements" in str(explain_nan(jnp.mean)(np.zeros(0)))


def test_lax_select_and_broadcast_operands():
    report = explain_nan(lambda x: lax.select(x > 0, jnp.sqrt(x), jnp.zeros(())))(0.0)
    assert report.fix.startswith("safe = jnp.where(x > 0, x, 1.0)\nlax.select(x > 0, jnp.sqrt(")
    x = np.array([[1.0, 2.0], [0.0, 0.0]], np.float32)
    report = explain_nan(lambda x: x / x.sum(1, keepdims=True))(x)
    assert "div(0.0, 0.0) = nan at index [1, 0]" in str(report)


def test_inf_minus_inf_names_both_places():
    def difference(x):
        big = jnp.exp(x)
        return big - 2.0 * big

    report = explain_nan(difference)(1000.0)
    assert report.primitive == "sub" and "inf - inf is nan" in report.message
    assert "big = jnp.exp(x)" in report.message and report.source.text == "return big - 2.0 * big"


def test_other_guards_of_the_same_kind():
    """One name used twice in the branch is replaced twice; a chain of operations is followed."""

    def twice(x):
        return jnp.where(x > 0, jnp.sqrt(x) + 1 / x, 0.0)

    report = explain_nan(twice)(0.0)
    assert report.fix.splitlines() == [
        "safe = jnp.where(x > 0, x, 1.0)",
        "jnp.where(x > 0, jnp.sqrt(safe) + 1 / safe, 0.0)",
    ]

    def chain(x):
        return jnp.where(x > 0, 3.0 * jnp.exp(-jnp.sqrt(x)), 0.0)

    assert "jnp.exp(-jnp.sqrt(safe))" in explain_nan(chain)(0.0).fix


def test_a_branch_that_calls_another_function():
    @jax.jit
    def helper(x):
        return jnp.sqrt(x)

    def f(x):
        return jnp.where(x > 0, helper(x), 0.0)

    expected = ["safe = jnp.where(x > 0, x, 1.0)", "jnp.where(x > 0, helper(safe), 0.0)"]
    assert explain_nan(f)(0.0).fix.splitlines() == expected
    assert explain_nan(jax.jit(jax.grad(f)))(0.0).fix.splitlines() == expected
    assert "return jnp.sqrt(x)" in "".join(error_of(jax.grad(f), 0.0))


def test_checkpoint_keeps_the_lines():
    @jax.checkpoint
    def helper(x):
        return jnp.sqrt(x) * 2

    report = explain_nan(lambda x: jnp.where(x > 0, helper(x), 0.0))(0.0)
    assert "inf was made by div(0.5, 0.0): the derivative of sqrt" in str(report)


def test_a_name_that_is_taken():
    def f(x):
        safe = 2 * x
        return jnp.where(x > 0, jnp.sqrt(x) + safe, 0.0)

    assert explain_nan(f)(0.0).fix.splitlines() == [
        "harmless = jnp.where(x > 0, x, 1.0)",
        "jnp.where(x > 0, jnp.sqrt(harmless) + safe, 0.0)",
    ]


# ---- from outside --------------------------------------------------------------------------------


def test_a_nan_in_the_input_names_the_argument():
    def f(params, x):
        return params["w"] * x

    report = explain_nan(f)({"w": np.array([1.0, np.nan])}, 2.0)
    assert report and report.primitive is None
    assert "NaN in the input: params['w'][1]" in str(report)
    assert "args" not in str(report)
    assert "x is NaN" in str(explain_nan(f)({"w": Z}, jnp.nan * jnp.ones(())))
    assert "x is NaN" in str(explain_nan(jax.jit(f))({"w": Z}, float("nan") * jnp.ones(())))


def test_a_nan_in_a_constant():
    bad = jnp.array([1.0, np.nan])
    report = explain_nan(lambda x: x + bad)(np.ones(2, np.float32))
    assert report and "NaN in a constant" in str(report) and "[1]" in str(report)
    assert "x + bad" in str(report)
    report = explain_nan(jax.jit(lambda x: x + np.array([1.0, np.nan])))(np.ones(2, np.float32))
    assert "NaN in a constant" in str(report)


def test_an_inf_in_the_input():
    report = explain_nan(lambda x: x - x)(np.array([1.0, np.inf], np.float32))
    assert report.primitive == "sub" and "inf was in the argument x" in str(report)


# ---- nested --------------------------------------------------------------------------------------


def log_of_difference(x, steps=4):
    def body(carry, a):
        carry = jnp.log(carry - a)
        return carry, carry

    return lax.scan(body, x, jnp.arange(float(steps)))[0]


@pytest.mark.parametrize("change", [lambda f: f, jax.jit, jax.grad, jax.checkpoint])
def test_scan_names_the_iteration(change):
    report = explain_nan(change(log_of_difference))(5.0)
    assert report.primitive == "log" and "iteration 2 of the scan" in str(report)
    assert report.source.text == "carry = jnp.log(carry - a)"


def test_backward_pass_of_a_scan():
    def f(x):
        def body(carry, a):
            return carry + jnp.where(a > 0, jnp.sqrt(a * x), 0.0), None

        return lax.scan(body, 0.0, jnp.array([2.0, 0.0, 1.0]))[0]

    report = explain_nan(f)(1.0)
    assert report.phase == "backward" and "iteration 1 of the scan" in str(report)
    assert "safe = jnp.where(a > 0, a * x, 1.0)" in report.fix


def test_while_and_cond_and_custom_rules():
    def loop(x):
        return lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, jnp.log(c[1])), (0, x))[1]

    report = explain_nan(loop)(5.0)
    assert report.primitive == "log" and "iteration 3 of the while loop" in str(report)

    def choice(x):
        return lax.cond(x > 0, lambda x: jnp.log(-x), lambda x: x, x)

    assert explain_nan(jax.jit(choice))(1.0).source.text.startswith("return lax.cond")
    assert not explain_nan(jax.jit(choice))(-1.0)

    @jax.custom_jvp
    def root(x):
        return jnp.sqrt(x)

    @root.defjvp
    def _(primals, tangents):
        return root(primals[0]), tangents[0] * 0.0 / primals[0]

    report = explain_nan(root)(0.0)
    assert "tangents[0] * 0.0 / primals[0]" in str(report)

    @jax.custom_vjp
    def same(x):
        return x

    same.defvjp(lambda x: (x, x), lambda x, ct: (jnp.log(-x) * ct,))
    assert explain_nan(jax.grad(same))(1.0).primitive == "log"
    assert "log of a negative number" in str(explain_nan(jax.jit(jax.grad(same)))(1.0))


def test_vmap_names_the_element():
    xs = np.array([1.0, 2.0, -1.0], np.float32)
    report = explain_nan(jax.vmap(lambda x: jnp.log(x) * 2.0))(xs)
    assert "batch element 2" in str(report) and report.index == (2,)
    assert "batch element 2" in str(explain_nan(jax.jit(jax.vmap(jnp.log)))(xs))
    report = explain_nan(jax.vmap(jax.grad(sqrt_guarded)))(np.stack([AT_ZERO + 1, AT_ZERO]))
    assert "batch element 1" in str(report) and "safe" in report.fix


def test_second_derivatives_and_forward_mode():
    assert "sqrt" in str(explain_nan(jax.grad(jax.grad(lambda x: jnp.sqrt(x) ** 2)))(0.0))
    assert explain_nan(jax.hessian(length))(Z)
    assert not explain_nan(jax.grad(jax.grad(jnp.sin)))(1.0)
    assert explain_nan(jax.jacfwd(unit))(Z)


def test_pmap_runs_as_a_vmap():
    report = explain_nan(jax.pmap(lambda x: jnp.log(x) + lax.psum(x, "i"), "i"))(-np.ones(1))
    assert report.primitive == "log"


def test_large_arrays():
    x = np.ones((300, 400), np.float32)
    x[7, 11] = 0.0
    report = explain_nan(jax.grad(sqrt_guarded))(x)
    assert report.index == (7, 11) and "at index [7, 11]" in str(report)
    assert "f32[300,400] = mul f32[300,400] f32[300,400]" in str(report)
    assert len(str(report)) < 800


def test_python_code_that_looks_at_values_runs():
    def f(x):
        return jnp.log(x) if x < 0 else x

    assert explain_nan(f)(-1.0).primitive == "log"


# ---- clean ---------------------------------------------------------------------------------------

CLEAN = """
sin cos tanh exp sqrt log arctan square cumsum sort softmax logsumexp abs sign floor log1p expm1
relu gelu silu elu softplus sigmoid log_softmax selu celu swish leaky_relu glu hard_tanh mish
mean std var max prod linalg.norm linalg.inv linalg.det linalg.eigvalsh linalg.qr linalg.cholesky
nanmean nansum nanmax nanstd nan_to_num median argsort hypot logaddexp arctan2 power sinc cbrt i0
linalg.svd linalg.pinv linalg.slogdet percentile nanmedian cov corrcoef interp unwrap log2 exp2
"""


@functools.cache
def find(name):
    for place in (jnp, jax.nn):
        value = place
        for part in name.split("."):
            value = getattr(value, part, None)
        if value is not None:
            return value
    raise AttributeError(name)


@pytest.mark.parametrize("name", CLEAN.split())
def test_clean_functions_give_no_report(name):
    f = find(name)
    x = np.array([[2.0, 0.5], [0.5, 1.0]], np.float32)
    args = (x, x + 1) if name in ("hypot", "logaddexp", "arctan2", "power") else (x,)
    args = (x, 50.0) if name == "percentile" else args
    args = (x[0], x[1][::-1] * 2, x[1]) if name == "interp" else args

    def total(*args):
        leaves = jax.tree.leaves(f(*args))
        return sum(jnp.sum(y * 1.0) for y in leaves)

    for g in (f, jax.jit(f), total, jax.jit(jax.grad(total))):
        report = explain_nan(g)(*args)
        assert not report and str(report).startswith("No NaN"), str(report)
        with jax.debug_nans(True):
            g(*args)


def test_a_nan_that_is_dropped_is_no_finding():
    def f(x):
        return jnp.where(x > 0, jnp.log(x), 0.0)

    report = explain_nan(f)(np.array([-1.0, 1.0], np.float32))
    assert not report and "A NaN was made by log" in str(report) and "dropped" in str(report)

    def later(x):
        unused = jnp.where(x > 0, jnp.log(x), 0.0)
        return unused + x / (x - x)  # inf - inf has no part in it

    assert "0 / 0" in str(explain_nan(lambda x: f(x) + (x - x) / (x - x))(-1.0))
    report = explain_nan(jax.vmap(later))(-np.ones(1, np.float32))
    assert "The value of later is inf, and the gradient of its sum is NaN." in str(report)


def test_results_that_are_infinite():
    assert "not NaN but inf" in str(explain_nan(lambda x: 1 / x)(Z))


def test_functions_without_gradient():
    def loop(x):
        return lax.while_loop(lambda c: c < 3, lambda c: c + 1.0, x)

    assert "gradient cannot be taken" in str(explain_nan(loop)(0.0))
    assert str(explain_nan(lambda n: n + 1)(3)) == "No NaN: the result of <lambda> is finite."
    with pytest.raises(TypeError, match="explain_nan takes a function"):
        explain_nan(3)


# ---- debug_nans ----------------------------------------------------------------------------------


def error_of(f, *args):
    """The lines of the FloatingPointError."""
    with jax.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        f(*args)
    lines = str(caught.value).splitlines()
    assert len(lines) <= 8
    return lines


@pytest.mark.parametrize("change", [jax.grad, lambda f: jax.jit(jax.grad(f))])
def test_errors_of_the_backward_pass(change, capsys):
    lines = error_of(change(sqrt_guarded), AT_ZERO)
    assert lines[0] == "invalid value (nan) encountered in mul"
    assert "in the backward pass" in lines[1] and "jnp.sqrt(x)" in lines[1]
    assert lines[2].startswith("mul(0.0, inf) = nan at index [1]")
    assert "the derivative of sqrt is infinite at 0" in lines[3]
    assert "did not take `jnp.sqrt(x)`" in lines[4]
    assert lines[6:] == [
        "  safe = jnp.where(x > 0, x, 1.0)",
        "  jnp.where(x > 0, jnp.sqrt(safe), 0.0)",
    ]
    compiled = change is not jax.grad
    assert capsys.readouterr().out.count("Calling the de-optimized version.") == compiled


@pytest.mark.parametrize("change", [lambda f: f, jax.jit])
def test_errors_of_the_forward_pass(change):
    lines = error_of(change(log_of_negative), Z)
    assert lines[0] == "invalid value (nan) encountered in log"
    assert "return jnp.log(x - 2.0).sum()" in lines[1]
    assert lines[-1] == "fix: jnp.log(jnp.maximum(x - 2.0, 1e-6))"


@pytest.mark.parametrize("change", [lambda f: f, jax.jit])
def test_errors_in_a_scan(change):
    lines = error_of(change(log_of_difference), 5.0)
    assert lines[0] == "invalid value (nan) encountered in scan"
    assert "carry = jnp.log(carry - a)" in lines[1] and "iteration 2 of the scan" in lines[1]


def test_errors_of_large_arrays_and_pmap():
    lines = error_of(jnp.log, jnp.arange(-100_000.0, 100_000.0))
    assert lines[0] == "invalid value (nan) encountered in log" and "index [0]" in lines[2]
    lines = error_of(jax.pmap(lambda x: jnp.log(x)), -jnp.ones(1))
    assert lines[0].startswith("invalid value (nan) encountered in pmap(")
    assert "jnp.log(x)" in lines[1]


def test_a_nan_that_was_there_before():
    lines = error_of(lambda x: x + 1, jnp.array([1.0, np.nan]))
    assert lines[0] == "invalid value (nan) encountered in add" and "[1]" in lines[1]


def test_errors_about_infinities():
    with jax.debug_infs(True), pytest.raises(FloatingPointError) as caught:
        jnp.exp(jnp.float32(1000.0))
    lines = str(caught.value).splitlines()
    assert lines[0] == "invalid value (inf) encountered in exp"
    assert "exp overflows above 88.7" in lines[-1]


def test_the_flag_looks_at_each_operation_as_jax_does():
    """A NaN that is dropped in the end: an eager operation has made it, a compiled program not."""

    def f(jax):
        jnp = jax.numpy
        return lambda x: jnp.where(x > 0, jnp.log(x), 0.0)

    assert error_of(f(OURS), -jnp.ones(2))[0] == "invalid value (nan) encountered in log"
    with jax.debug_nans(True):
        assert jax.jit(f(OURS))(-jnp.ones(2)).sum() == 0
        g = jax.jit(lambda x: jax.jit(f(OURS))(x) + 1.0)
        assert g(-jnp.ones(2)).sum() == 2
    lines = error_of(jax.jit(lambda x: jax.jit(f(OURS))(x) + jnp.sqrt(x)), -jnp.ones(2))
    assert lines[0] == "invalid value (nan) encountered in sqrt"


def test_without_source_text():
    space = {"jnp": jnp}
    exec(
        compile("def f(x):\n    return jnp.where(x > 0, jnp.sqrt(x), 0.0)", "<typed>", "exec"),
        space,
    )
    report = explain_nan(space["f"])(0.0)
    assert report and "<typed>:2 (f)" in str(report) and "0 * inf is nan" in str(report)
    assert "branch that was not taken" in str(report)


def test_in_a_notebook():
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    try:
        shell.run_cell(
            "import tinyjax as jax, tinyjax.numpy as jnp\n"
            "def f(x):\n"
            "    return jnp.where(x > 0, jnp.sqrt(x), 0.0)\n"
            "report = jax.explain_nan(f)(0.0)",
            store_history=True,
        )
        report = shell.user_ns["report"]
    finally:
        InteractiveShell.clear_instance()
    assert "Cell In[1]:3 (f)" in str(report)
    assert report.fix == "safe = jnp.where(x > 0, x, 1.0)\njnp.where(x > 0, jnp.sqrt(safe), 0.0)"


def test_in_a_thread():
    with ThreadPoolExecutor(1) as pool:
        report = pool.submit(explain_nan(sqrt_guarded), AT_ZERO).result()
    assert report.fix.startswith("safe = jnp.where(x > 0, x, 1.0)")
    assert not explain_nan(jnp.sin)(1.0)


def test_static_arguments_and_shapes_stay_numbers():
    f = jax.jit(lambda x, p, n: jnp.log(x * jnp.ones(n)) ** p, static_argnums=(1, 2))
    assert explain_nan(f)(-1.0, 2.0, 3).primitive == "log"
    assert explain_nan(lambda x, n: jnp.log(x * jnp.ones(n)))(-1.0, 3).index == (0,)


def test_with_jit_switched_off():
    with jax.disable_jit():
        assert explain_nan(jax.jit(jax.grad(sqrt_guarded)))(AT_ZERO).fix.startswith("safe")
        lines = error_of(jax.jit(log_of_negative), Z)
    assert lines[0] == "invalid value (nan) encountered in log"


def test_an_error_in_the_function_is_the_users():
    with pytest.raises(ZeroDivisionError):
        explain_nan(lambda x: x * (1 // 0))(1.0)
    assert not explain_nan(jnp.sin)(1.0)


# ---- fixes are tried -----------------------------------------------------------------------------


def unit_by_hand(v):
    return (v / jnp.sqrt(jnp.sum(v * v))).sum()


def standardised(x):
    return ((x - x.mean()) / x.std()).sum()


def standardised_by_hand(x):
    return ((x - x.mean()) / jnp.sqrt(x.var())).sum()


def root_of_quotient(x):
    return jnp.where(x > 0, x / jnp.sqrt(x), 0.0).sum()


def divergence(p):
    return (p * jnp.log(p / 0.5)).sum()


def masked_log(x):
    return ((x > 0) * jnp.log(x)).sum()


def second_half(p):
    return ((1 - p) * jnp.log(1 - p)).sum()


def far_from_one(x):
    return (x / jnp.linalg.norm(x - 1)).sum()


def cosine(x):
    return jnp.dot(x, x) / (jnp.linalg.norm(x) * jnp.linalg.norm(x))


def inverse_root(x):
    return (x * lax.rsqrt(x)).sum()


def two_logs(x):
    return jnp.log(jnp.exp(x).sum()) - jnp.log(jnp.exp(x).sum())


def odds(p):
    return jnp.log(p / (1 - p)).sum()


TRIED = [
    (unit_by_hand, Z, "jnp.sqrt(jnp.sum(v * v) + 1e-12)"),
    (unit, Z, "jnp.sqrt(jnp.sum(x ** 2) + 1e-12)"),
    (standardised, Z + 1, "jnp.sqrt(jnp.var(x) + 1e-6)"),
    (standardised_by_hand, Z + 1, "jnp.sqrt(x.var() + 1e-6)"),
    (root_of_quotient, AT_ZERO, "jnp.where(x > 0, safe / jnp.sqrt(safe), 0.0)"),
    (divergence, AT_ZERO, "jnp.where(p > 0, p * jnp.log(safe / 0.5), 0.0)"),
    (masked_log, AT_ZERO, "jnp.log(jnp.maximum(x, 1e-6))"),
    (far_from_one, Z + 1, "jnp.sqrt(jnp.sum((x - 1) ** 2) + 1e-12)"),
    (cosine, Z, ""),
    (inverse_root, AT_ZERO, "jnp.where(x > 0, lax.rsqrt(safe), 0.0)"),
    (two_logs, Z + 100, "jax.nn.logsumexp(x)"),
    (odds, Z + [1.0, 0.5, 0.0], "jnp.log(safe / (1 - safe))"),
]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("f, x, fix", TRIED)
def test_what_is_proposed_helps(f, x, fix, compiled):
    """The value and the gradient are finite, and the value is the old one where that was finite."""
    x = np.asarray(x, np.float32)
    report = explain_nan(jax.jit(f) if compiled else f)(x)
    assert report
    if fix:
        assert report.fix.splitlines()[-1] == fix
    if report.fix:
        new = rewritten(f, report)
        assert np.isfinite(new(x)) and np.isfinite(jax.grad(new)(x)).all()
        good = np.float32([0.3, 0.4, 0.2])
        np.testing.assert_allclose(new(good), f(good), 1e-4, 1e-5)
    else:
        assert "fix: " in str(report)


STABLE = [
    (lambda x: jnp.log(1 + jnp.exp(x)).sum(), Z + 100, "jax.nn.softplus(x)"),
    (lambda x: jnp.log1p(jnp.exp(x)).sum(), Z + 100, "jax.nn.softplus(x)"),
    (lambda x: jnp.log(jnp.exp(x) + 1).sum(), Z + 100, "jax.nn.softplus(x)"),
    (lambda x: jnp.log(1 / (1 + jnp.exp(-x))).sum(), Z - 100, "jax.nn.log_sigmoid(x)"),
    (lambda x: jnp.log(1 - jax.nn.sigmoid(x)).sum(), Z + 100, "jax.nn.log_sigmoid(-(x))"),
    (lambda x: (x / (1 + jnp.exp(-x))).sum(), Z - 100, "x * jax.nn.sigmoid(x)"),
    (lambda x: jnp.log(jnp.exp(x).sum(axis=0)).sum(), Z + 100, "jax.nn.logsumexp(x, axis=0)"),
    (lambda x: jnp.log(jnp.sum(jnp.exp(x), 0)), Z + 100, "jax.nn.logsumexp(x, axis=0)"),
    (lambda x: -jnp.log(jax.nn.softmax(x)[1]), AT_ZERO * 1000, "jax.nn.log_softmax(x)[1]"),
    (lambda x: (jnp.exp(x) / jnp.exp(x).sum()).sum(), Z + 100, "jax.nn.softmax(x, axis=None)"),
    (lambda x: -jnp.log(jax.nn.softmax(x)).sum(), AT_ZERO * 1000, "jax.nn.log_softmax(x)"),
]


@pytest.mark.parametrize("f, x, fix", STABLE)
def test_formulas_with_a_stable_form(f, x, fix):
    for change in (lambda f: f, jax.grad, lambda f: jax.jit(jax.grad(f))):
        report = explain_nan(change(f))(x)
        assert report.fix == fix
        good = {"x": jnp.array([0.3, -0.4, 0.2]), "jnp": jnp, "jax": jax}
        np.testing.assert_allclose(eval(fix, good), eval(report.instead_of, good), 1e-5)


def test_a_fix_of_a_second_derivative():
    def slope(x):
        return jax.grad(lambda x: jnp.where(x > 0, x**1.5, 0.0))(x)

    assert explain_nan(slope)(0.0).fix.splitlines()[-1] == "jnp.where(x > 0, safe ** 1.5, 0.0)"


def test_a_value_that_was_right_is_not_changed():
    report = explain_nan(lambda x: (x**x).sum())(np.float32([4.0, 0.0]))
    assert report.fix == "" and "fix: keep the base above 0" in str(report)


def test_expressions_that_change_something_are_not_run():
    seen = []

    def f(x):
        return jnp.log(x) + jnp.zeros(len(seen.append(1) or seen)).sum()

    report = explain_nan(f)(-1.0)
    assert len(seen) == 1 and report.fix == "" and "keep the operand of log above 0" in str(report)


SPECIES = np.array(["Adelie", "Gentoo"])  # a global that is no array of JAX
STRANGE = [SPECIES.astype(object), np.datetime64("2026-01-01"), object(), {1: SPECIES}]


def test_other_values_around_do_no_harm():
    names = SPECIES
    report = explain_nan(lambda x: jnp.exp(x) / jnp.sum(jnp.exp(x), axis=-1) + len(names))(Z + 100)
    assert report.fix == "jax.nn.softmax(x, axis=-1)"


def test_values_in_containers():
    def f(p):
        return (p["w"] / jnp.sqrt((p["w"] ** 2).sum())).sum()

    for g in (f, jax.jit(f)):
        assert explain_nan(g)({"w": Z}).fix == "jnp.sqrt((p['w'] ** 2).sum() + 1e-12)"
    lines = error_of(jax.jit(f), {"w": Z})  # here the values of the names are not known
    assert lines[-1].startswith("fix: keep what is under the root away from 0")


def test_an_argument_is_not_blamed_for_what_a_loop_makes():
    def f(x):
        return lax.scan(lambda c, _: (c / jnp.linalg.norm(c), None), x, None, length=2)[0].sum()

    report = explain_nan(jax.jit(jax.grad(f)))(Z)
    assert report.primitive == "div" and "iteration 0 of the scan" in str(report)
    assert report.fix == "jnp.sqrt(jnp.sum(c ** 2) + 1e-12)"


def test_an_infinity_that_masks():
    def attention(s, mask):
        s = jnp.where(mask, s, -jnp.inf)
        w = jnp.exp(s - s.max(-1, keepdims=True))
        return w / w.sum(-1, keepdims=True)

    mask = np.array([[True, True, False], [False, False, False]])
    report = explain_nan(attention)(np.ones((2, 3), np.float32), mask)
    assert "inf was in a constant, used at" in str(report)
    assert "s = jnp.where(mask, s, -jnp.inf)" in str(report)
    assert report.fix == "jnp.where(mask, s, -1e+30)"


# ---- places and words ----------------------------------------------------------------------------


def test_backward_rules_and_loops_have_their_names():
    @jax.custom_vjp
    def same(x):
        return x

    same.defvjp(lambda x: (x, x), lambda x, ct: (jnp.log(-x) * ct,))
    for change in (jax.grad, lambda f: jax.jit(jax.grad(f))):
        report = explain_nan(change(same))(1.0)
        assert "in the backward pass (a rule of custom_vjp)" in str(report)
        assert report.phase == "backward"
        assert "in the backward pass" in error_of(change(same), 1.0)[1]
    report = explain_nan(lambda x: lax.fori_loop(0, 4, lambda i, c: jnp.log(c), x))(3.0)
    assert "iteration 3 of the fori_loop" in str(report)


def test_a_nan_in_the_branch_itself():
    report = explain_nan(sqrt_guarded)(np.float32([1.0, -1.0]))
    assert "its cotangent is 0, but 0 * nan is nan: square root of a negative number" in str(report)

    def f(x):
        y = jnp.sqrt(x)
        return (y * jnp.where(x > 0, 1.0, 0.0)).sum()

    assert "cotangent" not in str(explain_nan(f)(np.float32([1.0, -1.0])))


def test_the_gradient_of_the_sum_of_a_vector():
    def root(x):
        return jnp.where(x > 0, jnp.sqrt(x), 0.0)

    report = explain_nan(root)(AT_ZERO)
    assert str(report).startswith(
        "The value of root is finite, but the gradient of its sum is not."
    )
    assert report.fix.splitlines()[-1] == "jnp.where(x > 0, jnp.sqrt(safe), 0.0)"
    expected = "No NaN: the result of root is finite, and so is the gradient of its sum."
    assert str(explain_nan(root)(AT_ZERO + 1)) == expected
    slope = explain_nan(jax.grad(lambda x: (x * jnp.abs(x) ** 0.5).sum()))(AT_ZERO + 1)
    assert str(slope) == "No NaN: the result of <lambda> is finite."


def test_code_that_is_a_string():
    space = {"jnp": jnp}
    exec("def f(x):\n    y = x - 2\n    return jnp.log(y)", space)
    assert "at <string>:3 (f)" in str(explain_nan(space["f"])(1.0))
    assert error_of(space["f"], jnp.ones(()))[1] == "at <string>:3 (f)"

    @dataclasses.dataclass
    class Box:
        x: object

        def __post_init__(self):
            self.y = jnp.log(self.x)

    assert "self.y = jnp.log(self.x)" in str(explain_nan(lambda x: Box(x).y)(-1.0))


# ---- nothing of this raises an error of its own --------------------------------------------------


def broken(*args, **kwargs):
    raise IndexError("list index out of range")


PARTS = [
    (describe, "infinities"),
    (describe, "why"),
    (describe, "advice"),
    (fixes, "chosen"),
    (history, "places"),
    (history.History, "origin"),
    (history.History, "first_in_line"),
    (history.History, "look_for_masked_zero"),
]


@pytest.mark.parametrize("place, part", PARTS)
def test_a_part_that_fails_leaves_a_shorter_message(place, part, monkeypatch):
    monkeypatch.setattr(guard, "strict", False)
    monkeypatch.setattr(place, part, broken)
    for f in (log_of_negative, jax.jit(log_of_negative)):
        assert isinstance(str(explain_nan(f)(Z)), str)
        if part != "places":  # by which the flag looks for NaNs
            assert error_of(f, Z)[0] == "invalid value (nan) encountered in log"


def test_a_message_without_its_parts_still_has_the_place(monkeypatch):
    monkeypatch.setattr(guard, "strict", False)
    monkeypatch.setattr(describe, "why", broken)
    report = explain_nan(log_of_negative)(Z)
    assert report and "NaN made by `log`" in str(report) and "(log_of_negative)" in str(report)
