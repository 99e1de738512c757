"""Which value belongs to which transformation: closures, perturbations, leaks."""

from functools import partial

from programs.registry import MAT, XS, Raises, add, program, raises

# ---- closures -----------------------------------------------------------------------------------


@program
def captured_arrays_and_tracers(jax):
    jnp, lax = jax.numpy, jax.lax
    w, b, y0 = jnp.asarray(MAT), jnp.asarray(XS), jnp.asarray(0.5)

    def f(x):
        def g(y):
            @jax.jit
            def inner(z):
                return jnp.sum(jnp.sin(w @ jnp.reshape(z * x, (3, 1)))) + y

            def step(k, a):
                return lax.cond(
                    k > x,
                    lambda k: (jnp.sin(k * y * a), inner(b * y)),
                    lambda k: (k + x * y, k),
                    k,
                )

            return lax.scan(step, y, b)[0]

        return jax.grad(g)(x * 1.1) * y0

    return jax.vmap(f)(XS), jax.vmap(jax.grad(f))(XS), jax.jit(jax.vmap(jax.jit(jax.grad(f))))(XS)


@program
def perturbations_are_not_confused(jax):
    def squares(x):
        return jax.grad(lambda y: jax.jit(lambda z: z * y * x)(y))(x)

    return (
        jax.grad(lambda x: x * jax.grad(lambda y: x + y)(1.0))(1.0),
        jax.grad(lambda x: x * jax.grad(lambda y: x * y)(2.0))(3.0),
        jax.jvp(lambda x: x * jax.jvp(lambda y: x, (0.0,), (1.0,))[1], (3.0,), (1.0,)),
        jax.grad(squares)(3.0),
    )


# ---- leaks ---------------------------------------------------------------------------------------

TRACING = {
    "grad": lambda jax, f: jax.grad(f)(1.0),
    "jvp": lambda jax, f: jax.jvp(f, (1.0,), (1.0,)),
    "vjp": lambda jax, f: jax.vjp(f, 1.0),
    "linearize": lambda jax, f: jax.linearize(f, 1.0),
    "jit": lambda jax, f: jax.jit(f)(1.0),
    "vmap": lambda jax, f: jax.vmap(f)(XS),
    "scan": lambda jax, f: jax.lax.scan(lambda k, a: (f(k), a), 1.0, XS),
    "cond": lambda jax, f: jax.lax.cond(jax.numpy.asarray(True), f, lambda x: x, 1.0),
    "switch": lambda jax, f: jax.lax.switch(1, [lambda x: x, f], 1.0),
    "checkpoint": lambda jax, f: jax.checkpoint(f)(1.0),
    "while": lambda jax, f: jax.lax.while_loop(lambda k: k < 2.0, lambda k: f(k) * 2.0, 1.0),
    "fori": lambda jax, f: jax.lax.fori_loop(0, 2, lambda i, k: f(k), 1.0),
    "make_jaxpr": lambda jax, f: jax.make_jaxpr(f)(1.0),
}


def leak(trace, jax):
    """Use a value that escaped from a traced function through a list."""
    box = []

    def f(x):
        box.append(x * 1.0)
        return x * 1.0

    trace(jax, f)
    return jax.numpy.sin(box[0])


def within(wrapper, trace, jax):
    """The same, while another transformation is going on."""
    return wrapper(jax)(lambda x: x * leak(trace, jax))(1.0)


LEAKED = Raises("UnexpectedTracerError", ("escape", "side effect"))
for name, trace in TRACING.items():
    add(f"leak_{name}", partial(leak, trace), LEAKED)
    add(f"leak_{name}_in_jit", partial(within, lambda jax: jax.jit, trace), LEAKED)
    add(f"leak_{name}_in_grad", partial(within, lambda jax: jax.grad, trace), LEAKED)


@raises("TracerBoolConversionError", "boolean conversion", "bool[]")
def python_if_on_a_tracer(jax):
    return jax.jit(lambda x: 1.0 if x > 0 else 2.0)(1.0)
