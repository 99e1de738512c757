"""The functions of the top level: Jacobians, pullbacks as values, transposes, axes of vmap."""

import numpy as np

from programs.registry import MAT, XS, program, raises


def column(jax):
    """A function from R^3 to columns."""
    jnp = jax.numpy
    return lambda x: jnp.sin(jnp.asarray(MAT) @ jnp.reshape(x * x, (3, 1)))


@program
def jacobians(jax):
    f, x = column(jax), jax.numpy.asarray(XS)
    return (
        jax.jacfwd(f)(x),
        jax.jacrev(f)(x),
        jax.jit(jax.jacfwd(jax.jit(f)))(x),
        jax.jacrev(jax.jacfwd(f))(x),
        jax.hessian(lambda x: jax.numpy.sum(f(x)))(x),
    )


@program
def jacobians_of_trees(jax):
    jnp = jax.numpy

    def f(d, k):
        return {"p": d["a"] * k, "q": (jnp.sum(d["a"]) * d["b"],)}

    d = {"a": jnp.asarray(XS), "b": jnp.float32(2.0)}
    return (
        jax.jacfwd(f)(d, 3.0),
        jax.jacrev(f)(d, 3.0),
        jax.jacfwd(f, (0, 1))(d, 3.0),
        jax.jacrev(f, argnums=(1,))(d, 3.0),
        jax.hessian(lambda d: jnp.sum(d["a"] ** 2) * d["b"])(d),
        jax.jacfwd(lambda x: (x * 2, {"aux": x}), has_aux=True)(jnp.asarray(XS)),
        jax.jacrev(lambda x: (x * 2, {"aux": x}), has_aux=True)(jnp.asarray(XS)),
    )


@program
def forward_over_reverse(jax):
    jnp, f = jax.numpy, column(jax)

    def pulled(x):
        return jax.vjp(f, x)[1](jnp.full((3, 1), 1.0))[0]

    return jax.jvp(pulled, (jnp.asarray(XS),), (jnp.asarray(XS + 1.0),))


@program
def linear_transposes(jax):
    jnp, lax = jax.numpy, jax.lax
    mat = jnp.asarray(MAT)

    def loop(x):
        return lax.scan(lambda k, i: (k * i + x, None), x, np.arange(1.0, 4.0))[0]

    return (
        jax.linear_transpose(lambda x: jnp.sum(mat * x * 2.0), 1.0)(3.0),
        jax.linear_transpose(lambda x: jax.jit(lambda x: mat @ x)(x), mat)(mat),
        jax.linear_transpose(loop, 1.0)(3.0),
        jax.linear_transpose(lambda x: x * 2, jax.ShapeDtypeStruct((3,), np.float32))(mat[0]),
    )


@raises("NotImplementedError", "sin")
def linear_transpose_of_sin(jax):
    return jax.linear_transpose(jax.numpy.sin, 1.0)(1.0)


@program
def pullbacks_are_pytrees(jax):
    jnp, xs = jax.numpy, jax.numpy.asarray(XS)
    pulls = jax.vmap(lambda x: jax.vjp(lambda y: jnp.sin(y) * y, x)[1])(xs)
    pushes = jax.vmap(lambda x: jax.linearize(jax.jit(lambda y: jnp.sin(y) * y), x)[1])(xs)
    from_jit = jax.jit(lambda x: jax.vjp(column(jax), x)[1])(xs)
    return (
        jax.vmap(lambda pull, ct: pull(ct))(pulls, xs),
        jax.vmap(lambda push, t: push(t))(pushes, xs),
        from_jit(jnp.full((3, 1), 2.0)),
    )


@program
def vmap_axes_of_trees(jax):
    jnp = jax.numpy

    def f(d, y):
        return {"o": d["a"] * y, "p": d["b"], "q": d["b"] * 2.0}

    in_axes, out_axes = ({"a": 0, "b": None}, -1), {"o": 0, "p": None, "q": None}
    mat = jnp.asarray(MAT)
    return (
        jax.vmap(f, in_axes, out_axes)({"a": mat, "b": 2.0}, mat),
        jax.vmap(lambda x: x * 2.0, 1, -1)(mat),
        jax.vmap(lambda x: 3.0, axis_size=2, in_axes=None)(1.0),
        jax.vmap(lambda x, y: x + y, in_axes=[0, 1])(mat, mat),
        jax.vmap(lambda x, *, y: x + y)(mat, y=mat),
        jax.vmap(lambda x: (x, 1.0), out_axes=(1, 0))(mat),
    )


@raises("ValueError", "out_axes")
def vmap_out_axes_none_of_a_batch(jax):
    return jax.vmap(lambda x: x, out_axes=None)(XS)


@raises("ValueError", "inconsistent sizes", "axis 0 has size 3", "axis 0 has size 2")
def vmap_sizes_differ(jax):
    return jax.vmap(lambda x, y: x)(XS, MAT[:2])


@program
def gradients_of_trees(jax):
    jnp = jax.numpy

    def loss(params, x):
        return jnp.sum(jnp.tanh(params["w"] @ x + params["b"][0]) ** 2)

    params = {"w": jnp.asarray(MAT), "b": [jnp.asarray(XS)]}
    return (
        jax.grad(loss)(params, XS),
        jax.value_and_grad(loss, argnums=(0, 1))(params, jnp.asarray(XS)),
        jax.jit(jax.grad(loss, argnums=-1))(params, jnp.asarray(XS)),
        jax.vmap(jax.grad(loss), (None, 0))(params, jnp.asarray(MAT)),
    )


@program
def gradients_of_complex_numbers(jax):
    jnp = jax.numpy
    z = jnp.complex64(1.0 + 2.0j)
    return (
        jax.grad(lambda z: jnp.real(z * z))(z),
        jax.grad(lambda z: jnp.imag(z * z))(z),
        jax.grad(lambda z: z * z * 3.0, holomorphic=True)(z),
        jax.vjp(lambda z: z * z, z)[1](z),
        jax.jvp(lambda z: z * jnp.conj(z), (z,), (z,)),
        jax.grad(lambda x: jnp.real((x + 1j) * (x - 2j)))(1.5),
    )
