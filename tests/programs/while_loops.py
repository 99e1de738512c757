"""while_loop and fori_loop: forward mode, batches whose lanes end at different steps."""

import numpy as np

from programs.registry import FORWARD, XS, program, scalar, scalar_raises


@scalar(FORWARD)
def while_counter(jax, x):
    def body(carry):
        i, y = carry
        return i + 1, jax.numpy.sin(y * x) + y

    return jax.lax.while_loop(lambda carry: carry[0] < 4, body, (0, x))[1]


@scalar(FORWARD)
def while_predicate_of_x(jax, x):
    def body(carry):
        i, y = carry
        return i + 1, y * (1.5 + x)

    return jax.lax.while_loop(lambda carry: carry[1] < 3.0 + x, body, (0, x))[1]


@scalar(FORWARD)
def while_closure(jax, x):
    y = jax.numpy.sin(x) + 1.0
    return jax.lax.while_loop(lambda k: k < y, lambda k: k + y * x, 0.1)


@scalar_raises(("grad", "grad_jit"), "ValueError", "Reverse-mode", "while_loop")
def while_in_reverse(jax, x):
    return jax.lax.while_loop(lambda k: k < 2.0, lambda k: k * 1.5, x)


@scalar(("value", "grad", "grad_grad", "jit_grad", "vmap_jit_grad", "grad_vmaps"))
def while_without_tangent(jax, x):
    steps = jax.numpy.asarray(jax.lax.stop_gradient(x) * 5.0).astype(np.int32)

    def body(carry):
        i, y = carry
        return i + 1, y * 1.5

    return x * jax.lax.while_loop(lambda carry: carry[0] < steps, body, (0, 1.0))[1]


@scalar(FORWARD)
def while_some_tangents(jax, x):
    def body(carry):
        i, y = carry
        return i + 1, y + i.astype(np.float32) * x

    return jax.lax.while_loop(lambda carry: carry[0] < 3, body, (0, 0.0))[1]


@scalar(FORWARD)
def while_in_vmap(jax, x):
    def one(y):
        return jax.lax.while_loop(lambda k: k < y, lambda k: k * 1.3 + x, 0.1)

    return jax.numpy.sum(jax.vmap(one)(jax.numpy.asarray(XS)))


@scalar()
def fori_static_bounds(jax, x):
    def body(i, k):
        return jax.numpy.sin(k * x) + i.astype(np.float32)

    return jax.lax.fori_loop(0, 3, body, x)


@scalar(FORWARD)
def fori_traced_bound(jax, x):
    stop = jax.numpy.asarray(jax.lax.stop_gradient(x) * 5.0).astype(np.int32)
    return jax.lax.fori_loop(1, stop, lambda i, k: k * x + i, x)


@program
def while_nested_batched_predicates(jax):
    def f(a, b):
        def body(carry):
            total, product = carry
            return total + b, product * 1.1 + b

        return jax.lax.while_loop(lambda carry: carry[0] < a, body, (0.0, 1.0))[1]

    both = jax.vmap(jax.vmap(f, (None, 0)), (0, None))(XS, XS + 0.1)
    return both, jax.vmap(f, (0, None))(XS, 0.4)


@program
def fori_bounds_and_types(jax):
    lax, jnp = jax.lax, jax.numpy
    return (
        lax.fori_loop(0, 5, lambda i, total: total + i, 0),
        lax.fori_loop(3, 1, lambda i, total: total + i, 7),
        lax.fori_loop(jnp.uint8(1), jnp.uint8(4), lambda i, total: total + i, jnp.uint8(0)),
        jax.jit(lambda n: lax.fori_loop(0, n, lambda i, x: x * 2.0, 1.0))(6),
        jax.vmap(lambda n: lax.fori_loop(0, n, lambda i, x: x + i, 0))(jnp.arange(4)),
        lax.fori_loop(
            0,
            3,
            lambda i, d: {"a": d["a"] + i, "b": (d["b"][0] * 2,)},
            {"a": jnp.int32(1), "b": (jnp.float32(1.5),)},
        ),
    )


@program
def while_weak_carry_is_promoted(jax):
    return jax.lax.while_loop(lambda c: c < 10, lambda c: c * jax.numpy.float32(1.5), 1)
