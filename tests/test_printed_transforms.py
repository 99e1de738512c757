"""The printed jaxprs of what holds programs: JAX's, plain, under jvp and under vmap."""

from functools import partial

import jax
import numpy as np
import pytest

import tinyjax

jax.config.update("jax_pprint_use_color", False)  # JAX uses colours when it runs on a terminal

XS = np.array([0.3, 0.7, 1.1], np.float32)


def floats(jax):
    """An array to loop over."""
    return jax.numpy.asarray(XS)


# ---- programs ------------------------------------------------------------------------------------


def jit_simple(jax, x):
    return jax.jit(lambda y: jax.numpy.sin(y) * 2.0)(x)


def jit_named_nested_and_shared(jax, x):
    @jax.jit
    def inner(y):
        return jax.numpy.sin(y)

    @jax.jit
    def outer(y):
        return inner(y) * inner(y + 1.0)

    return outer(x)


def jit_closure(jax, x):
    return jax.jit(lambda y: y * x)(2.0) + jax.jit(lambda: x)()


def jit_passes_inputs_on(jax, x):
    return jax.jit(lambda y, z: (y, z * 2.0, y, 1.0))(x, x)


def jit_inline(jax, x):
    return jax.jit(lambda y: y * 2.0, inline=True)(x) + 1.0


def cond_two(jax, x):
    return jax.lax.cond(x > 0.5, lambda v: v * 2.0, lambda v: jax.numpy.sin(v), x)


def cond_closures(jax, x):
    y, z = x * 2.0, x + 1.0
    return jax.lax.cond(x > 0.5, lambda v: v * y + z, lambda v: v * z, x)


def cond_forwards(jax, x):
    return jax.lax.cond(x > 0.5, lambda v, w: (v, w * 2.0), lambda v, w: (v, w), x, x * 3.0)


def cond_constant(jax, x):
    return jax.lax.cond(x > 0.5, lambda v: 2.0, lambda v: v * v, x)


def cond_number_as_predicate(jax, x):
    return jax.lax.cond(x, lambda v: v * 2.0, lambda v: v, x)


def switch_three(jax, x):
    i = jax.numpy.asarray(x * 3.0).astype(np.int32)
    return jax.lax.switch(i, [lambda v: v, lambda v: v * 2.0, lambda v: v * x], x)


def scan_simple(jax, x):
    return jax.lax.scan(lambda k, a: (k * a, k + a), x, floats(jax))


def scan_consts(jax, x):
    y = x * 2.0
    return jax.lax.scan(lambda k, a: (k * y + x, a), 1.0, floats(jax), reverse=True)


def scan_no_xs(jax, x):
    return jax.lax.scan(lambda k, _: (jax.numpy.sin(k), None), x, None, length=3)[0]


def scan_trees(jax, x):
    def step(carry, a):
        return {"p": carry["p"] + 1, "q": carry["q"] * a["a"]}, (carry["q"], a["n"])

    xs = floats(jax)
    return jax.lax.scan(step, {"p": 0, "q": x}, {"a": xs, "n": xs * 2.0}, unroll=3)


def scan_of_scan(jax, x):
    xs = floats(jax)

    def step(k, a):
        return jax.lax.scan(lambda q, b: (q * b + a, None), k, xs)[0], k

    return jax.lax.scan(step, x, xs)


def scan_fixed_carry(jax, x):
    def step(carry, n):
        k, w, i = carry
        return (k * w, w, i + n), n + 1

    return jax.lax.scan(step, (1.0, x, 0.0), floats(jax))


def map_square(jax, x):
    return jax.lax.map(lambda a: a * x, floats(jax))


def while_simple(jax, x):
    return jax.lax.while_loop(lambda c: c < 2.0, lambda c: c * 1.5, x)


def while_consts(jax, x):
    y, z = x * 2.0, x + 1.0

    def body(carry):
        i, k = carry
        return i + 1, k * z

    return jax.lax.while_loop(lambda c: c[1] < y, body, (0, 1.0))


def while_counter(jax, x):
    def body(carry):
        i, k = carry
        return i + 1, jax.numpy.sin(k)

    return jax.lax.while_loop(lambda c: c[0] < 3, body, (0, x))


def while_fixed_carry(jax, x):
    def body(carry):
        w, i, k, v = carry
        return w, i + 1, k * w + v, v

    return jax.lax.while_loop(lambda c: c[2] < 3.0 + c[3], body, (x, 0, 1.0, x * 2.0))


def fori_static(jax, x):
    return jax.lax.fori_loop(0, 3, lambda i, k: k * x + i, 0.0)


def fori_offset(jax, x):
    return jax.lax.fori_loop(2, 5, lambda i, k: k * x, x)


def fori_traced(jax, x):
    n = jax.numpy.asarray(x * 3.0).astype(np.int32)
    return jax.lax.fori_loop(0, n, lambda i, k: k + 1.0, x)


def custom_jvp_simple(jax, x):
    @jax.custom_jvp
    def f(x, y):
        return jax.numpy.sin(x) * y

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, y), (t, u) = primals, tangents
        return f(x, y), jax.numpy.cos(x) * t * y + u

    return f(x, 2.0) + f(x, x)


def custom_jvp_closure(jax, x):
    y = jax.numpy.asarray(XS)

    @jax.custom_jvp
    def f(x):
        return jax.numpy.sum(y) * x

    f.defjvp(lambda primals, tangents: (f(primals[0]), tangents[0] * y[0]))
    return f(x)


def custom_vjp_simple(jax, x):
    @jax.custom_vjp
    def f(x):
        return jax.numpy.sin(x)

    def f_fwd(x):
        return f(x), (jax.numpy.cos(x),)

    def f_bwd(res, ct):
        return (res[0] * ct,)

    f.defvjp(f_fwd, f_bwd)
    return f(x) * 2.0


def checkpoint_simple(jax, x):
    return jax.checkpoint(lambda y: jax.numpy.sin(jax.numpy.sin(y)))(x)


def checkpoint_closure(jax, x):
    z = x + 1.0
    return jax.checkpoint(lambda y: y * z)(x)


PROGRAMS = [
    jit_simple,
    jit_named_nested_and_shared,
    jit_closure,
    jit_passes_inputs_on,
    jit_inline,
    cond_two,
    cond_closures,
    cond_forwards,
    cond_constant,
    cond_number_as_predicate,
    switch_three,
    scan_simple,
    scan_consts,
    scan_no_xs,
    scan_trees,
    scan_of_scan,
    scan_fixed_carry,
    map_square,
    while_simple,
    while_consts,
    while_counter,
    while_fixed_carry,
    fori_static,
    fori_offset,
    fori_traced,
    custom_jvp_simple,
    custom_jvp_closure,
    custom_vjp_simple,
    checkpoint_simple,
    checkpoint_closure,
]

# ---- printed forms -------------------------------------------------------------------------------


def plain(jax, f):
    return jax.make_jaxpr(partial(f, jax))(0.7)


def strong(jax, f):
    return jax.make_jaxpr(partial(f, jax))(np.float32(0.7))


def under_jvp(jax, f):
    def pushed(x, t):
        return jax.jvp(partial(f, jax), (x,), (t,))

    return jax.make_jaxpr(pushed)(0.7, 1.0)


def under_vmap(jax, f):
    return jax.make_jaxpr(jax.vmap(partial(f, jax)))(XS)


def under_two_vmaps(jax, f):
    def crossed(x, y):
        return f(jax, x * y)

    across = jax.vmap(jax.vmap(crossed, (None, 0)), (0, None))
    return jax.make_jaxpr(across)(XS, XS[:2])


def under_vmap_of_jvp(jax, f):
    def pushed(x):
        return jax.jvp(partial(f, jax), (x,), (1.0,))

    return jax.make_jaxpr(jax.vmap(pushed))(XS)


def under_jit(jax, f):
    return jax.make_jaxpr(jax.jit(partial(f, jax)))(0.7)


FORWARD = [f for f in PROGRAMS if f is not custom_vjp_simple]


def same(form, f):
    """Both worlds print the same."""
    assert str(form(tinyjax, f)) == str(form(jax, f))


@pytest.mark.parametrize("f", PROGRAMS)
@pytest.mark.parametrize("form", [plain, strong, under_jit, under_vmap, under_two_vmaps])
def test_printed(form, f):
    """Plain, with a strongly typed input, in a jit and under vmap."""
    same(form, f)


@pytest.mark.parametrize("f", FORWARD)
@pytest.mark.parametrize("form", [under_jvp, under_vmap_of_jvp])
def test_printed_under_jvp(form, f):
    """Under jvp (which custom_vjp refuses)."""
    same(form, f)
