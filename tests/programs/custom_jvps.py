"""custom_jvp: rules made of other transformations, in every surrounding."""

from programs.registry import ALL, FORWARD, XS, program, raises, scalar


def scaled_sine(jax, rule=None, fun=None):
    """sin(x) y, whose slope in x is ten times too large: a rule that is ignored is noticed."""
    jnp = jax.numpy

    def default_rule(primals, tangents):
        (x, y), (t, u) = primals, tangents
        return jnp.sin(x) * y, 10.0 * jnp.cos(x) * t * y + jnp.sin(x) * u

    f = jax.custom_jvp(fun or (lambda x, y: jnp.sin(x) * y))
    f.defjvp(rule or default_rule)
    return f


@scalar()
def custom_jvp_plain(jax, x):
    return scaled_sine(jax)(x, x * x)


@scalar()
def custom_jvp_of_constants(jax, x):
    return scaled_sine(jax)(x, 2.0) + scaled_sine(jax)(3.0, x)


@scalar()
def custom_jvp_rule_with_jit(jax, x):
    jnp = jax.numpy

    def rule(primals, tangents):
        def joint(a, b, s, u):
            return jnp.sin(a) * b, jnp.exp(a) * s + u * b

        return jax.jit(joint)(*primals, *tangents)

    return scaled_sine(jax, rule)(x, x)


@scalar(tuple(m for m in ALL if m != "grad_vmaps"))
def custom_jvp_rule_with_cond(jax, x):
    def rule(primals, tangents):
        a, b = primals
        tangent = jax.lax.cond(a > 0.5, lambda s, u: s * b * 3.0 + u, lambda s, u: s - u, *tangents)
        return jax.numpy.sin(a) * b, tangent

    return scaled_sine(jax, rule)(x, x * 0.9)


@scalar()
def custom_jvp_rule_with_scan(jax, x):
    jnp, lax = jax.numpy, jax.lax

    def fun(x, y):
        return lax.scan(lambda k, _: (jnp.sin(k) * y, None), x, None, length=3)[0]

    def rule(primals, tangents):
        (a, b), (t, u) = primals, tangents

        def step(carry, _):
            k, s = carry
            return (jnp.sin(k) * b, jnp.cos(k) * s + k * u), None

        k, s = lax.scan(step, (a, t), None, length=3)[0]
        return k, s * 2.0

    return scaled_sine(jax, rule, fun)(x, x)


@scalar(FORWARD)
def custom_jvp_rule_with_while(jax, x):
    jnp, lax = jax.numpy, jax.lax

    def rule(primals, tangents):
        def body(carry):
            return carry[0] * 1.5, carry[1] * 1.5

        return lax.while_loop(lambda c: jnp.sum(c[0]) < 2.0, body, (primals[0], tangents[0]))

    def fun(x, y):
        return lax.while_loop(lambda c: c < 2.0, lambda c: c * 1.5, x)

    return scaled_sine(jax, rule, fun)(x, 1.0)


@scalar()
def custom_jvp_nested(jax, x):
    inner = scaled_sine(jax)

    def rule(primals, tangents):
        return inner(*primals), jax.jvp(inner, primals, tangents)[1] * 5.0

    return scaled_sine(jax, rule, lambda a, b: inner(a, b))(x, x)


@scalar()
def custom_jvp_rule_calls_its_function(jax, x):
    f = jax.custom_jvp(lambda x: jax.numpy.exp(x))

    @f.defjvp
    def rule(primals, tangents):
        return f(primals[0]), f(primals[0]) * tangents[0]

    return f(x)


@scalar()
def custom_jvp_in_scan(jax, x):
    return jax.lax.scan(lambda k, a: (scaled_sine(jax)(k, x * a), k), x, XS)[0]


@scalar()
def custom_jvp_in_checkpoint_and_cond(jax, x):
    def chosen(x):
        return jax.lax.cond(
            x > 0.5,
            lambda x: scaled_sine(jax)(x, x),
            lambda x: scaled_sine(jax)(x, 1.0) * x,
            x,
        )

    return jax.checkpoint(chosen)(x)


@scalar()
def custom_jvp_in_while_of_fixed_length(jax, x):
    return jax.lax.fori_loop(0, 3, lambda i, k: scaled_sine(jax)(k, x), x)


@program
def custom_jvp_python_control_flow_and_trees(jax):
    f = jax.custom_jvp(lambda d: {"s": d["x"] * 2.0 if d["x"] > 0 else -d["x"]})

    @f.defjvp
    def rule(primals, tangents):
        return f(primals[0]), {"s": tangents[0]["x"] * 7.0}

    gradient = jax.grad(lambda x: f({"x": x})["s"])(1.5)
    return gradient, jax.jvp(f, ({"x": 1.0},), ({"x": 2.0},))


@program
def custom_jvp_nondiff_argnums(jax):
    jnp = jax.numpy

    def apply(g, x):
        return g(x)

    f = jax.custom_jvp(apply, nondiff_argnums=(0,))

    @f.defjvp
    def rule(g, primals, tangents):
        return g(primals[0]), 2.0 * jnp.cos(primals[0]) * tangents[0]

    gradient = jax.grad(lambda x: f(jnp.sin, x))
    return gradient(0.3), jax.vmap(gradient)(XS), jax.jit(gradient)(0.3)


@program
def custom_jvp_defjvps(jax):
    f = jax.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, ans, x, y: 5.0 * t * y, None)
    return jax.grad(f, (0, 1))(2.0, 3.0), jax.jvp(f, (2.0, 3.0), (1.0, 1.0))


def product_with_closure(jax, y):
    """x y, where the function and its rule close over y."""
    f = jax.custom_jvp(lambda x: x * y)
    f.defjvp(lambda primals, tangents: (primals[0] * y, tangents[0] * y * 10.0))
    return f


@program
def custom_jvp_closes_over_batch(jax):
    def f(y):
        return product_with_closure(jax, y)

    return (
        jax.vmap(lambda y: f(y)(2.0))(XS),
        jax.vmap(lambda y: jax.grad(f(y))(2.0))(XS),
        jax.jit(lambda y, x: jax.grad(f(y))(x))(3.0, 2.0),
        jax.vmap(lambda y, x: jax.vmap(jax.jit(jax.grad(f(y))))(x), (0, None))(XS, XS),
        jax.vmap(lambda y: jax.jit(f(y))(2.0))(XS),
    )


@raises("UnexpectedTracerError", "closed-over", "custom_jvp")
def custom_jvp_closure_differentiated(jax):
    return jax.grad(lambda y: product_with_closure(jax, y)(2.0))(3.0)


@raises("UnexpectedTracerError", "closed-over", "custom_jvp")
def custom_jvp_closure_and_argument_differentiated(jax):
    return jax.grad(lambda y: product_with_closure(jax, y)(y))(3.0)
