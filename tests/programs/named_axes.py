"""Collectives under vmap with an axis name, alone and inside the other transformations."""

from functools import partial

from programs.custom_jvps import scaled_sine
from programs.registry import MAT, XS, add, program, raises

# ---- functions of one number, inside vmap(axis_name="i") ----------------------------------------


def psum_square(jax, x):
    return jax.lax.psum(x * x, "i")


def pmean_sine(jax, x):
    return jax.lax.pmean(jax.numpy.sin(x), "i") * x


def axis_index(jax, x):
    return x * jax.lax.axis_index("i").astype("float32")


def psum_of_one(jax, x):
    return jax.lax.psum(1, "i") * x


def psum_in_jit(jax, x):
    return jax.jit(lambda y: jax.lax.psum(jax.numpy.sin(y), "i"))(x) * x


def pmean_in_scan(jax, x):
    return jax.lax.scan(lambda k, a: (jax.lax.pmean(k * a, "i") + x, None), x, XS)[0]


def psum_in_cond(jax, x):
    lax = jax.lax
    return lax.cond(lax.psum(x, "i") > 0.1, lambda v: lax.psum(v * v, "i"), lambda v: v, x)


def psum_of_constant_in_jit(jax, x):
    return jax.jit(lambda: jax.lax.psum(jax.numpy.asarray(XS)[1], "i"))() * x


def psum_in_checkpoint(jax, x):
    return jax.checkpoint(lambda x: jax.lax.psum(jax.numpy.sin(x), "i"))(x)


def psum_in_custom_rule(jax, x):
    def rule(primals, tangents):
        return primals[0], jax.lax.psum(tangents[0] * primals[1], "i")

    return scaled_sine(jax, rule, lambda x, y: x)(x, x)


INSIDE = [
    psum_square,
    pmean_sine,
    axis_index,
    psum_of_one,
    psum_in_jit,
    pmean_in_scan,
    psum_in_cond,
    psum_of_constant_in_jit,
    psum_in_checkpoint,
    psum_in_custom_rule,
]
WRAPPERS = {
    "value": lambda jax, f: f,
    "grad": lambda jax, f: jax.grad(f),
    "jit_grad": lambda jax, f: jax.jit(jax.grad(f)),
    "grad_grad": lambda jax, f: jax.grad(jax.jit(jax.grad(f))),
    "jvp": lambda jax, f: lambda x: jax.jvp(f, (x,), (x,)),
}


def inside(f, wrap, jax):
    """The wrapped function for every element of a batch with a named axis."""
    return jax.vmap(wrap(jax, partial(f, jax)), axis_name="i")(XS)


def outside(f, jax):
    """The gradient through the whole batch."""
    jnp = jax.numpy

    def total(x):
        return jnp.sum(jax.vmap(lambda x: f(jax, x) * x, axis_name="i")(x))

    return jax.grad(total)(jnp.asarray(XS))


for f in INSIDE:
    for mode, wrap in WRAPPERS.items():
        add(f"{f.__name__}/{mode}", partial(inside, f, wrap))
    add(f"{f.__name__}/outside", partial(outside, f))


# ---- several axes --------------------------------------------------------------------------------


@program
def psum_over_two_axes(jax):
    lax = jax.lax

    def f(x):
        return lax.psum(x, ("i", "j")) + lax.psum(x, "i") * lax.pmean(x, "j")

    return jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")(MAT)


@program
def psum_through_an_unnamed_axis(jax):
    def row(x):
        return jax.vmap(lambda y: x * y + jax.lax.psum(y * x, "i"))(XS)

    return jax.vmap(row, axis_name="i")(XS)


@raises("NameError", "unbound axis name: i")
def psum_without_vmap(jax):
    return jax.lax.psum(XS[0], "i")


@raises("NameError", "unbound axis name: i")
def psum_in_jit_without_vmap(jax):
    return jax.jit(lambda x: jax.lax.psum(x, "i"))(1.0)


@program
def jit_knows_the_axes_around_it(jax):
    """One jitted function in two surroundings: the axes belong to the key of its cache."""
    f = jax.jit(lambda x: jax.lax.psum(x, "i"))
    small, large = XS[:2], XS
    return jax.vmap(f, axis_name="i")(small), jax.vmap(f, axis_name="i")(large)
