"""With check_tracer_leaks on, leaks are found, and nothing else is taken for one."""

import numpy as np

import tinyjax

XS = np.array([0.5, -1.0, 2.0], np.float32)
kept = []


def leak(x):
    """Keep a tracer."""
    kept.append(x * 2)
    return x


def leaking(jax):
    """Programs that leak."""
    return [
        lambda: jax.jit(leak)(1.0),
        lambda: jax.grad(leak)(1.0),
        lambda: jax.make_jaxpr(leak)(1.0),
        lambda: jax.vmap(leak)(XS),
        lambda: jax.lax.scan(lambda c, x: (leak(c), x), 0.0, XS),
    ]


def fine(jax):
    """Functions that leak nothing."""
    jnp = jax.numpy

    @jax.custom_vjp
    def square(x):
        return x**2

    square.defvjp(lambda x: (x**2, (x,)), lambda res, ct: (2 * ct * res[0],))

    @jax.custom_jvp
    def cube(x):
        return x**3

    cube.defjvp(lambda xs, ts: (cube(*xs), 3 * xs[0] ** 2 * ts[0]))
    scan = lambda x: jax.lax.scan(lambda c, y: (c * y, c), x, XS)[0]
    return [
        jax.jit(lambda x: {"a": x, "b": [x * 2]}),
        jax.grad(lambda x: (x**2, x * 3), has_aux=True),
        jax.jit(jax.grad(scan)),
        jax.hessian(lambda x: jnp.sum(x * scan(x))),
        *(jax.jit(jax.grad(f)) for f in (square, cube)),
        *(lambda x, f=f: jax.vmap(jax.grad(f))(x * XS) for f in (square, cube)),
        jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.cos(x)))),
        lambda x: jax.linearize(lambda y: y**2, x)[1](x),
        jax.grad(lambda x: jax.jit(lambda y: y * x)(2.0)),
        jax.jit(lambda x: jax.lax.while_loop(lambda c: c < x, lambda c: c + 1, 0.0)),
    ]


def found(program):
    """Whether a program is said to leak."""
    kept.clear()
    try:
        program()
    except Exception as error:
        return "Leaked trace" in str(error)
    return False


if __name__ == "__main__":
    programs = fine(tinyjax)
    with tinyjax.checking_leaks():
        print("leaks:", sum(map(found, leaking(tinyjax))))
        for program in programs:
            program(1.5)
        print("fine:", len(programs))
    tinyjax.jit(leak)(1.0)  # not looked for
