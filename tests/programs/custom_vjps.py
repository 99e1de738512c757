"""custom_vjp: opaque in the linear program, run by the transpose."""

from programs.custom_jvps import scaled_sine
from programs.registry import REVERSE, REVERSE_ONCE, XS, program, raises, scalar, scalar_raises


def scaled_product(jax, bwd=None):
    """sin(x) y, whose slope in x is ten times too large."""
    jnp = jax.numpy

    def fwd(x, y):
        return jnp.sin(x) * y, (x, y)

    def default_bwd(residuals, ct):
        x, y = residuals
        return 10.0 * jnp.cos(x) * y * ct, jnp.sin(x) * ct

    f = jax.custom_vjp(lambda x, y: jnp.sin(x) * y)
    f.defvjp(fwd, bwd or default_bwd)
    return f


@scalar(REVERSE)
def custom_vjp_plain(jax, x):
    return scaled_product(jax)(x, x * x)


@scalar(REVERSE)
def custom_vjp_of_constants(jax, x):
    return scaled_product(jax)(x, 2.0) * scaled_product(jax)(3.0, x)


@scalar(REVERSE)
def custom_vjp_none_is_zero(jax, x):
    return scaled_product(jax, lambda residuals, ct: (ct * residuals[1], None))(x, x)


@scalar(REVERSE)
def custom_vjp_bwd_with_jit_and_scan(jax, x):
    def bwd(residuals, ct):
        def inner(a, b):
            return jax.lax.scan(lambda k, _: (k * a, None), b, None, length=2)[0], a * b

        return jax.jit(inner)(residuals[0], ct)

    return scaled_product(jax, bwd)(x, x)


@scalar(REVERSE)
def custom_vjp_in_scan(jax, x):
    return jax.lax.scan(lambda k, a: (scaled_product(jax)(k, x * a), k * x), x, XS)[0]


@scalar(REVERSE)
def custom_vjp_in_cond(jax, x):
    return jax.lax.cond(x > 0.5, lambda x: scaled_product(jax)(x, x), lambda x: x * 2.0, x)


@scalar(REVERSE)
def custom_vjp_in_checkpoint(jax, x):
    return jax.checkpoint(lambda x: jax.numpy.sin(scaled_product(jax)(x, x) * x))(x)


@scalar(REVERSE_ONCE)
def custom_vjp_in_custom_jvp(jax, x):
    f = scaled_product(jax)

    def rule(primals, tangents):
        return f(*primals), f(primals[0], 1.0) * tangents[0] + tangents[1]

    return scaled_sine(jax, rule)(x, x)


@scalar(REVERSE)
def custom_vjp_clips_gradient(jax, x):
    jnp = jax.numpy
    f = jax.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: (jnp.where(g > 1.0, 1.0, g),))
    return jnp.exp(f(x) * 2.0) + f(x)


@scalar_raises(("jvp", "linearize"), "TypeError", "forward-mode", "custom_vjp")
def custom_vjp_in_forward_mode(jax, x):
    return scaled_product(jax)(x, x * x)


@program
def custom_vjp_trees_nondiff_and_integers(jax):
    jnp = jax.numpy

    def apply(g, d, n):
        return {"o": g(d["x"]) * d["y"], "i": n}

    def fwd(g, d, n):
        return apply(g, d, n), (d, 2.0)

    def bwd(g, residuals, ct):
        d, two = residuals
        return {"x": ct["o"] * two, "y": d["y"] * ct["o"]}, None

    f = jax.custom_vjp(apply, nondiff_argnums=(0,))
    f.defvjp(fwd, bwd)

    def h(d):
        return f(jnp.sin, d, 3)["o"]

    d = {"x": 0.5, "y": 1.5}
    return (
        jax.grad(h)(d),
        jax.jit(jax.grad(h))(d),
        jax.vmap(jax.grad(h))({"x": XS, "y": XS + 1.0}),
        jax.vmap(jax.grad(h), ({"x": 0, "y": None},))({"x": XS, "y": 1.0}),
    )


@program
def custom_vjp_sums_over_a_batch(jax):
    """The cotangent of an operand that is not batched is summed over the batch."""
    jnp = jax.numpy
    f = scaled_product(jax)

    def total(one):
        return lambda w: jnp.sum(jax.vmap(one, (None, 0))(w, XS))

    plain = total(lambda w, x: f(x, w))
    compiled = total(jax.jit(lambda w, x: f(x, w)))
    return jax.grad(plain)(0.3), jax.jit(jax.grad(compiled))(0.3)


def product_with_closure(jax, y):
    """x y, where the function and its rules close over y."""
    f = jax.custom_vjp(lambda x: x * y)
    f.defvjp(lambda x: (x * y, None), lambda _, ct: (ct * y * 10.0,))
    return f


@program
def custom_vjp_closes_over_batch(jax):
    def f(y):
        return product_with_closure(jax, y)

    return (
        jax.vmap(lambda y: f(y)(2.0))(XS),
        jax.vmap(lambda y: jax.grad(f(y))(2.0))(XS),
        jax.jit(lambda y, x: jax.grad(f(y))(x))(3.0, 2.0),
        jax.vmap(lambda y: jax.jit(jax.grad(f(y)))(2.0))(XS),
    )


@raises("UnexpectedTracerError", "closed-over", "custom_vjp")
def custom_vjp_closure_differentiated(jax):
    return jax.grad(lambda y: product_with_closure(jax, y)(y))(3.0)
