"""custom_jvp, custom_vjp and checkpoint: forms of functions and rules, and rules that are wrong."""

import functools

import numpy as np
import pytest
from programs import MAT, XS
from worlds import OURS, same, same_error

# ---- custom_jvp: forms --------------------------------------------------------------------------


def with_rule(jax, rule, f=lambda x: x * 3.0, **options):
    """f with a forward-mode rule."""
    g = jax.custom_jvp(f, **options)
    g.defjvp(rule)
    return g


def ten_fold(primals, tangents):
    """The rule of f(x) = 3 x, with a slope of 10."""
    return primals[0] * 3.0, tangents[0] * 10.0


def test_decorators_and_keywords():
    """As a decorator, with options, with defaults and keyword arguments."""

    def run(jax):
        @functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
        def f(x, n, scale=2.0):
            return x**n * scale

        @f.defjvp
        def f_jvp(n, primals, tangents):
            (x, scale), (t, _) = primals, tangents
            return f(x, n, scale), 100.0 * t

        return (
            f(3.0, 2),
            f(3.0, n=2),
            f(x=3.0, n=2, scale=1.0),
            jax.grad(f)(3.0, 2),
            jax.grad(lambda x: f(x, 2, scale=5.0))(3.0),
            jax.jit(jax.grad(f), static_argnums=1)(3.0, 2),
        )

    same(run)


def test_nondiff_argnames():
    """Arguments that reach the rule first, by name."""

    def run(jax):
        f = jax.custom_jvp(lambda g, x: g(x), nondiff_argnames=("g",))
        f.defjvp(lambda g, primals, tangents: (g(primals[0]), 5.0 * tangents[0]))
        return jax.grad(lambda x: f(jax.numpy.sin, x))(1.0)

    same(run)


def test_defjvps():
    """A rule per argument; None for zero."""

    def run(jax):
        f = jax.custom_jvp(lambda x, y: x * y)
        f.defjvps(lambda t, ans, x, y: t * y * 2.0, lambda t, ans, x, y: t * ans)
        g = jax.custom_jvp(lambda x, y: {"o": x * y})
        g.defjvps(None, lambda t, ans, x, y: {"o": t * ans["o"]})
        return jax.grad(f, (0, 1))(2.0, 3.0), jax.grad(lambda x, y: g(x, y)["o"], (0, 1))(2.0, 3.0)

    same(run)


def test_integers_and_booleans_among_the_arguments():
    """Their tangents are float0 zeros."""

    def run(jax):
        seen = []

        def rule(primals, tangents):
            seen.append(str(tangents[1].dtype))
            return primals[0] * primals[1], tangents[0] * 10.0

        f = with_rule(jax, rule, lambda x, n: x * n)
        out = jax.grad(f)(2.0, 3), jax.vmap(jax.grad(f))(XS, np.arange(3))
        assert set(seen) == {str(np.dtype([("float0", "V")]))} or "float0" in seen[0]
        return out

    same(run)


# ---- custom_jvp: errors -------------------------------------------------------------------------


def test_the_rule_is_missing():
    """A function without defjvp or defvjp cannot be called."""
    same_error(lambda jax: jax.custom_jvp(lambda x: x)(1.0), "no jvp defined", "defjvp")
    same_error(lambda jax: jax.custom_vjp(lambda x: x)(1.0), "no vjp defined", "defvjp")


def test_rules_that_return_no_pair():
    """custom_jvp: a pair of primal and tangent outputs."""
    for out in (1.0, (1.0, 2.0, 3.0), None):
        text = same_error(
            lambda jax, out=out: jax.grad(with_rule(jax, lambda p, t: out))(1.0), "pair"
        )
        assert "custom jvp rule" in text.lower()


def test_rules_whose_results_differ():
    """custom_jvp: tangents have the structure, shapes and dtypes of the primals."""
    grad = lambda jax, rule, f=lambda x: x * 3.0: jax.grad(with_rule(jax, rule, f))(1.0)
    same_error(lambda jax: grad(jax, lambda p, t: (p[0], (t[0],))), "container", "pytree")
    text = same_error(
        lambda jax: grad(jax, lambda p, t: (p[0] * 3.0, t[0] * jax.numpy.ones(2))), "shapes"
    )
    assert "float32[]" in text and "float32[2]" in text
    same_error(lambda jax: grad(jax, lambda p, t: (p[0] * 3.0, 1)), "dtypes")
    same_error(lambda jax: grad(jax, lambda p, t: (p[0] * 3.0, "text")), "")


def test_rules_that_are_not_linear():
    """Reverse mode needs the tangent to be linear in the tangents."""
    text = str(
        pytest.raises(
            NotImplementedError,
            OURS.grad(with_rule(OURS, lambda p, t: (p[0] * 3.0, OURS.numpy.sin(t[0])))),
            1.0,
        ).value
    )
    assert "sin" in text and "linear" in text


# ---- custom_vjp: forms --------------------------------------------------------------------------


def with_vjp(jax, fwd, bwd, f=lambda x: x * 3.0, **options):
    """f with a reverse-mode rule."""
    g = jax.custom_vjp(f, **options)
    g.defvjp(fwd, bwd)
    return g


def test_residuals_of_any_structure():
    """Trees, None, Python numbers, nothing."""

    def run(jax):
        trees = [None, (), {"a": 2.0, "b": [3, None]}, 5.0, XS]
        out = []
        for tree in trees:
            f = with_vjp(
                jax, lambda x, tree=tree: (x * 3.0, (x, tree)), lambda r, ct: (ct * r[0] * 10.0,)
            )
            out += [jax.grad(f)(2.0), jax.jit(jax.grad(f))(2.0), jax.vmap(jax.grad(f))(XS)]
        return out

    same(run)


def test_several_outputs_and_arguments():
    """Cotangents have the structure of the output; None is zero."""

    def run(jax):
        f = with_vjp(
            jax,
            lambda d, y: ({"s": d["a"] * y, "t": (d["b"],)}, (d, y)),
            lambda r, ct: ({"a": ct["s"] * 2.0, "b": ct["t"][0] * 3.0}, None),
            lambda d, y: {"s": d["a"] * y, "t": (d["b"],)},
        )
        loss = lambda d, y: f(d, y)["s"] + f(d, y)["t"][0] ** 2
        d = {"a": 2.0, "b": 3.0}
        return jax.grad(loss, (0, 1))(d, 5.0), jax.vjp(f, d, 5.0)[0]

    same(run)


def test_keywords_defaults_and_nondiff():
    """As for custom_jvp; bwd gets the others first."""

    def run(jax):
        @functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
        def f(x, n, text="a", scale=2.0):
            return x**n * scale

        f.defvjp(
            lambda x, n, text, scale: (x**n * scale, x),
            lambda n, text, x, ct: (ct * 10.0 * n if text == "a" else ct, None),
        )
        return f(3.0, 2), jax.grad(f)(3.0, 2), jax.grad(lambda x: f(x, n=3, text="b"))(3.0)

    same(run)


def test_integer_arguments_of_custom_vjp():
    """Their cotangent is None or anything of float0."""

    def run(jax):
        f = with_vjp(
            jax, lambda x, n: (x * n, n), lambda n, ct: (ct * n * 10.0, None), lambda x, n: x * n
        )
        return jax.grad(f)(2.0, 3), jax.jit(jax.grad(f))(2.0, 3)

    same(run)


# ---- custom_vjp: errors -------------------------------------------------------------------------


def test_fwd_returns_no_pair():
    """(output, residuals)."""
    for out in (1.0, (1.0, 2.0, 3.0)):
        same_error(
            lambda jax, out=out: jax.grad(with_vjp(jax, lambda x: out, lambda r, ct: (ct,)))(1.0),
            "fwd",
            "pair",
        )


def test_bwd_returns_what_does_not_fit():
    """A tuple with a cotangent per argument, of its structure and shape."""
    grad = lambda jax, bwd: jax.grad(with_vjp(jax, lambda x: (x * 3.0, None), bwd))(1.0)
    same_error(lambda jax: grad(jax, lambda r, ct: ct), "tuple", "bwd")
    same_error(lambda jax: grad(jax, lambda r, ct: (ct, ct)), "structure", "bwd")
    same_error(lambda jax: grad(jax, lambda r, ct: ()), "structure", "bwd")
    same_error(lambda jax: grad(jax, lambda r, ct: ({"a": ct},)), "structure", "bwd")
    text = same_error(lambda jax: grad(jax, lambda r, ct: (ct * jax.numpy.ones(2),)), "shape")
    assert "float32[]" in text and "float32[2]" in text


def test_forward_mode_of_custom_vjp():
    """It has no rule for that: the message says what to use."""
    f = lambda jax: with_vjp(jax, lambda x: (x * 3.0, None), lambda r, ct: (ct,))
    for run in (
        lambda jax: jax.jvp(f(jax), (1.0,), (1.0,)),
        lambda jax: jax.jacfwd(f(jax))(1.0),
        lambda jax: jax.jit(lambda x: jax.jvp(f(jax), (x,), (x,)))(1.0),
        lambda jax: jax.linearize(f(jax), 1.0)[1](1.0),
    ):
        text = same_error(run, "forward-mode", "custom_vjp")
        assert "custom_jvp" in text
    # forward over reverse differentiates fwd and bwd themselves
    same(lambda jax: jax.hessian(lambda x: f(jax)(x) ** 2)(1.0))


def test_functions_are_expected():
    """custom_jvp(3.0), checkpoint(3.0); and arrays as arguments."""
    for wrap in (OURS.custom_jvp, OURS.custom_vjp):
        with pytest.raises(TypeError, match="callable"):
            wrap(3.0)
    same_error(lambda jax: jax.checkpoint(3.0)(1.0), "callable")
    same_error(lambda jax: with_rule(jax, ten_fold)("text"), "text")


# ---- checkpoint ---------------------------------------------------------------------------------


def test_checkpoint_forms():
    """As a decorator, with options, with static arguments, of methods."""

    def run(jax):
        @jax.checkpoint
        def f(x):
            return jax.numpy.sin(jax.numpy.sin(x))

        g = jax.checkpoint(lambda x, n: x**n, static_argnums=(1,))
        h = functools.partial(jax.checkpoint, prevent_cse=False)(f)
        xs = jax.numpy.asarray(XS)
        return [
            jax.grad(lambda x: jax.numpy.sum(f(x)))(xs),
            jax.grad(g)(2.0, 3),
            jax.vmap(jax.grad(h))(xs),
            jax.jvp(f, (1.0,), (1.0,)),
            jax.hessian(lambda m: jax.numpy.sum(f(m)))(xs),
            jax.remat(f)(2.0),
        ]

    same(run)


@pytest.mark.parametrize("policy", ["everything_saveable", "nothing_saveable", "dots_saveable"])
def test_checkpoint_policies(policy):
    """What is kept changes no result."""

    def run(jax):
        def f(x, m):
            y = jax.numpy.sin(m @ x)
            return jax.numpy.sum(jax.numpy.sin(m @ y) * y)

        g = jax.checkpoint(f, policy=getattr(jax.checkpoint_policies, policy))
        return (
            jax.grad(g, (0, 1))(XS, MAT),
            jax.jit(jax.grad(g))(XS, MAT),
            jax.vmap(jax.grad(g), (None, 0))(XS, np.stack([MAT, -MAT])),
            jax.hessian(g)(XS, MAT),
        )

    same(run)


def test_policies_keep_what_they_allow():
    """Two products, two sines: the pullback holds the inputs and what may be kept."""

    def f(x):
        y = OURS.numpy.sin(MAT @ x)
        return OURS.numpy.sin(MAT @ y)

    def sizes(policy):
        g = OURS.checkpoint(f, policy=getattr(OURS.checkpoint_policies, policy))
        leaves = OURS.tree_util.tree_leaves(OURS.vjp(g, XS)[1])
        return sum(leaf.size for leaf in leaves if leaf.ndim == 1)

    assert sizes("nothing_saveable") < sizes("dots_saveable") <= sizes("everything_saveable")


def test_checkpoint_keeps_only_inputs():
    """The pullback of a chain of sines holds one array, not one per sine."""

    def chain(x):
        for _ in range(10):
            x = OURS.numpy.sin(x)
        return x

    _, kept = OURS.vjp(OURS.checkpoint(chain), MAT)
    _, all_kept = OURS.vjp(chain, MAT)
    count = lambda pull: len(OURS.tree_util.tree_leaves(pull))
    assert count(kept) == 1 and count(all_kept) >= 10


# ---- rules that close over traced values --------------------------------------------------------


def closing_over(jax, kind, y):
    """x y with a slope of 10 y, where the function and its rules close over y."""
    if kind == "custom_jvp":
        return with_rule(jax, lambda p, t: (p[0] * y, t[0] * y * 10.0), lambda x: x * y)
    return with_vjp(jax, lambda x: (x * y, None), lambda r, ct: (ct * y * 10.0,), lambda x: x * y)


STAGED = {
    "jit": lambda jax, f: jax.jit(f),
    "checkpoint": lambda jax, f: jax.checkpoint(f),
    "cond": lambda jax, f: lambda x: jax.lax.cond(x > 0, f, lambda x: x, x),
    "switch": lambda jax, f: lambda x: jax.lax.switch(1, [lambda x: x, f, f], x),
    "jit_jit": lambda jax, f: jax.jit(lambda x: jax.jit(f)(x) * 1.0),
}
SURROUNDINGS = {
    "vmap": lambda jax, g: jax.vmap(g)(XS),
    "jit": lambda jax, g: [jax.jit(g)(y) for y in XS],
    "scan": lambda jax, g: jax.lax.scan(lambda c, y: (c, g(y)), 0.0, XS)[1],
    "grad": lambda jax, g: [jax.value_and_grad(g)(float(y))[0] for y in XS],
    "jit_vmap": lambda jax, g: jax.jit(jax.vmap(jax.jit(g)))(XS),
}


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("staged", STAGED)
@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_rules_close_over_values_of_an_outer_transformation(kind, staged, around):
    """The slope at 2 is 10 y, wherever the rule runs. (JAX has this for some of the cases only.)"""
    jax = OURS

    def slope(y):
        return jax.grad(STAGED[staged](jax, closing_over(jax, kind, y)))(2.0)

    np.testing.assert_allclose(SURROUNDINGS[around](jax, slope), 10.0 * XS, rtol=1e-5)


@pytest.mark.parametrize("around", SURROUNDINGS)
@pytest.mark.parametrize("kind", ["custom_jvp", "custom_vjp"])
def test_rules_in_loops_close_over_values(kind, around):
    """Three rounds of a scan: the slope is (10 y)**3."""
    jax = OURS

    def slope(y):
        f = closing_over(jax, kind, y)
        return jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, 3)[0])(2.0)

    np.testing.assert_allclose(SURROUNDINGS[around](jax, slope), (10.0 * XS) ** 3, rtol=1e-4)


def test_rules_that_close_over_values_are_differentiated():
    """By an outer gradient: 10 y has the slope 10."""

    def run(jax):
        def slope(y):
            f = closing_over(jax, "custom_jvp", y)
            return jax.grad(lambda x: jax.lax.scan(lambda c, _: (f(c), None), x, None, 1)[0])(2.0)

        return jax.grad(slope)(3.0), jax.value_and_grad(slope)(0.5), jax.vmap(jax.grad(slope))(XS)

    same(run)
