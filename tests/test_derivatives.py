"""grad, jvp, vjp and the Jacobians at their edges: what they take, what they refuse and how."""

import numpy as np
import pytest
from programs import MAT, XS
from worlds import ORACLE, OURS, same, same_error


def square(x):
    return x * x


# ---- which argument -----------------------------------------------------------------------------


def product(x, y, z=4.0):
    return x * y * y * z


@pytest.mark.parametrize(
    "argnums", [0, 1, -1, -2, (0,), (0, 1), (1, 0), (-1, 0), [1], [1, 0], range(2)]
)
def test_argnums(argnums):
    """Positions from the front and the back, one or several."""
    same(lambda jax: jax.grad(product, argnums)(2.0, 3.0))
    same(lambda jax: jax.value_and_grad(product, argnums=argnums)(2.0, 3.0))
    same(lambda jax: jax.jacfwd(product, argnums)(2.0, 3.0))
    same(lambda jax: jax.jacrev(product, argnums)(2.0, 3.0))


@pytest.mark.parametrize("argnums", [2, -3, (0, 5)])
def test_argnums_out_of_range(argnums):
    """More positional arguments are needed."""
    same_error(lambda jax: jax.grad(product, argnums)(2.0, 3.0), "argnums", "positional arguments")


@pytest.mark.parametrize("argnums", ["x", 1.0, None])
def test_argnums_of_a_wrong_type(argnums):
    """argnums are integers."""
    same_error(lambda jax: jax.grad(product, argnums)(2.0, 3.0), "argnums", "int")


def test_keyword_arguments_are_passed_on():
    """They are not differentiated."""
    same(lambda jax: jax.grad(product)(2.0, y=3.0))
    same(lambda jax: jax.grad(product, (0, 1))(2.0, 3.0, z=5.0))
    same(lambda jax: jax.value_and_grad(lambda x, *, s: x * x * s)(2.0, s=3.0))
    same(lambda jax: jax.jacrev(lambda x, s: x * s)(XS, s=3.0))
    same(lambda jax: jax.hessian(lambda x, s: jax.numpy.sum(x**3) * s)(XS, s=3.0))
    same_error(lambda jax: jax.grad(product)(x=2.0, y=3.0), "positional arguments")


# ---- what is differentiated ---------------------------------------------------------------------


@pytest.mark.parametrize("value", [3, True, np.int32(2), np.arange(3), np.uint8(1)])
def test_integers_have_no_gradient(value):
    """The message names the argument and says how to make it a float."""
    text = same_error(lambda jax: jax.grad(square)(value), "real- or complex-valued", "int")
    assert "argument 0" in text and "3.0 instead of 3" in text


def test_the_leaf_that_is_an_integer_is_named():
    """Inside a pytree."""
    params = {"w": [1.0, 2], "b": 1.0}
    text = same_error(lambda jax: jax.grad(lambda p: p["b"])(params), "int32")
    assert "['w'][1]" in text


@pytest.mark.parametrize("value", ["text", object()])
def test_what_is_no_array_has_no_gradient(value):
    """Strings and objects."""
    same_error(lambda jax: jax.grad(lambda x: 1.0)(value), "argument 0")


def test_lists_are_pytrees():
    """A list of floats has a list of gradients; None is an empty tree."""
    same(lambda jax: jax.grad(lambda xs: xs[0] * xs[1])([2.0, 3.0]))
    same(lambda jax: jax.grad(lambda x, y: x * x)(2.0, None))
    same(lambda jax: jax.grad(lambda d: d["a"])({"a": 2.0, "b": None}))
    same(lambda jax: jax.grad(lambda x: 3.0)({}))


def test_allow_int():
    """Integers have gradients of dtype float0, which hold nothing."""

    def f(jax, x, n):
        return jax.grad(lambda x, n: x * n, (0, 1), allow_int=True)(x, n)

    same(lambda jax: f(jax, 2.0, 3))
    got = f(OURS, 2.0, np.arange(3)[1])[1]
    assert got.dtype == OURS.float0 and got.shape == ()
    same(lambda jax: jax.vjp(lambda x, n: x * n, 2.0, 3)[1](1.0))


# ---- what comes out -----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 2), (0,)])
def test_the_output_must_be_a_scalar(shape):
    """The message says the shape and what to do."""
    text = same_error(
        lambda jax: jax.grad(lambda x: x * jax.numpy.ones(shape))(2.0), "scalar-output", str(shape)
    )
    assert "vmap" in text and "jacobian" in text


@pytest.mark.parametrize(
    "out",
    [None, [1.0], (1.0, 2.0), {"a": 1.0}, "text"],
    ids=["None", "list", "tuple", "dict", "str"],
)
def test_the_output_must_be_an_array(out):
    """A tuple asks whether has_aux was meant."""
    same_error(lambda jax: jax.grad(lambda x: out)(2.0), "scalar" if out != "text" else "")


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64"])
def test_the_output_must_be_real(dtype):
    """Integers, booleans and complex numbers."""
    same_error(
        lambda jax: jax.grad(lambda x: (x * 2.0).astype(dtype))(np.float32(2.0)),
        "real-valued",
        dtype,
    )


def test_outputs_that_do_not_depend_on_the_input():
    """Zeros, of the input's type."""
    same(lambda jax: jax.grad(lambda x: 3.0)(2.0))
    same(lambda jax: jax.grad(lambda x: 3.0)(XS))
    same(lambda jax: jax.vjp(lambda x: (3.0, x, 4), XS)[0])
    same(lambda jax: jax.jvp(lambda x: (3.0, x), (XS,), (XS,)))
    same(lambda jax: jax.linearize(lambda x: (3.0, x), XS)[1](XS))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_gradients_have_the_dtype_of_the_input(dtype):
    """Also when the function computes in another one."""

    def run(jax):
        x = jax.numpy.asarray([0.5, 1.5], dtype)
        real = jax.numpy.real if dtype == "complex64" else lambda y: y.astype("float32")
        return jax.grad(lambda x: jax.numpy.sum(real(x * x)))(x)

    same(run, rtol=1e-2)


# ---- has_aux ------------------------------------------------------------------------------------


def test_auxiliary_data():
    """Any pytree, of anything; what was traced comes out as values."""

    def loss(x):
        return x * x, {"twice": x * 2.0, "text": "kept", "none": None, "n": 3}

    def run(jax):
        (value, aux), gradient = jax.value_and_grad(loss, has_aux=True)(3.0)
        assert aux["text"] == "kept" and aux["n"] == 3 and aux["none"] is None
        inner, aux2 = jax.grad(loss, has_aux=True)(3.0)
        out, pull, aux3 = jax.vjp(loss, 3.0, has_aux=True)
        y, t, aux4 = jax.jvp(loss, (3.0,), (1.0,), has_aux=True)
        return (
            value,
            gradient,
            inner,
            out,
            pull(1.0),
            y,
            t,
            [a["twice"] + 1.0 for a in (aux, aux2, aux3, aux4)],
        )

    same(run)

    def compiled(jax):
        pair = jax.jit(jax.grad(lambda x: (x * x, x + 1.0), has_aux=True))(3.0)
        batch = jax.vmap(jax.grad(lambda x: (x * x, (x, 2.0)), has_aux=True))(XS)
        return pair, batch

    same(compiled)


def test_auxiliary_data_of_jacobians():
    """They come from the one call that the Jacobian needs."""

    def run(jax):
        calls = []

        def f(x):
            calls.append(x)
            return x[0] * x, {"sum": x.sum(), "n": 3}

        return [jac(f, has_aux=True)(XS) for jac in (jax.jacfwd, jax.jacrev)], len(calls)

    same(run)


@pytest.mark.parametrize(
    "out",
    [lambda x: x, lambda x: (x, x, x), lambda x: {"a": x, "b": x}, lambda x: None, lambda x: (x,)],
)
def test_auxiliary_data_needs_a_pair(out):
    """Anything but a pair is refused, with the flag's name."""
    text = same_error(lambda jax: jax.grad(out, has_aux=True)(1.0), "has_aux")
    assert "pair" in text


# ---- complex numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("z", [1.0 + 2.0j, -0.5 + 0.25j, 2.0j])
def test_complex_convention(z):
    """The gradient of a real function is the conjugate of the derivative, as in JAX."""
    z = np.complex64(z)
    same(lambda jax: jax.grad(lambda z: jax.numpy.real(z * z * z))(z))
    same(lambda jax: jax.grad(lambda z: jax.numpy.abs(z) ** 2)(z))
    same(lambda jax: jax.grad(lambda z: jax.numpy.sin(z) * 2.0, holomorphic=True)(z))
    same(lambda jax: jax.vjp(lambda z: jax.numpy.conj(z) * z, z)[1](1.0 + 1.0j))
    same(lambda jax: jax.jvp(lambda z: jax.numpy.exp(z), (z,), (1.0 + 1.0j,)))
    same(lambda jax: jax.jacfwd(lambda z: z * z, holomorphic=True)(z))
    same(lambda jax: jax.jacrev(lambda z: z * z, holomorphic=True)(z))
    same(lambda jax: jax.grad(lambda x: jax.numpy.abs(x * z))(2.0))


def test_holomorphic_needs_complex_numbers():
    """In and out."""
    same_error(lambda jax: jax.grad(square, holomorphic=True)(1.0), "holomorphic=True", "complex")
    same_error(lambda jax: jax.grad(jax.numpy.real, holomorphic=True)(1.0j), "outputs", "complex")
    same_error(lambda jax: jax.jacfwd(square)(1.0j), "jacfwd", "holomorphic")
    same_error(lambda jax: jax.jacfwd(square, holomorphic=True)(1.0), "jacfwd", "complex")
    same_error(lambda jax: jax.jacrev(square)(1.0j), "jacrev")
    same_error(lambda jax: jax.jacfwd(square)(1), "jacfwd", "int32")
    same_error(lambda jax: jax.jacrev(square)(np.arange(3)), "jacrev", "int32")


# ---- jvp, vjp, linearize ------------------------------------------------------------------------


def test_jvp_arguments():
    """Tuples that agree in structure, shapes and dtypes."""
    same_error(lambda jax: jax.jvp(square, 1.0, 1.0), "tuples or lists", "(x,)")
    same_error(lambda jax: jax.jvp(square, (1.0,), 1.0), "tuples or lists")
    same_error(lambda jax: jax.jvp(square, (1.0, 2.0), (1.0,)), "tree structure")
    same_error(lambda jax: jax.jvp(square, (XS,), (XS[:2],)), "shape", "(3,)", "(2,)")
    same_error(lambda jax: jax.jvp(square, (1.0,), (1,)), "dtype")
    same_error(lambda jax: jax.jvp(square, (3,), (1.0,)), "float0")
    same_error(lambda jax: jax.jvp(3, (3,), (1.0,)), "callable")
    same(lambda jax: jax.jvp(square, [2.0], [1.0]))
    same(lambda jax: jax.jvp(lambda d: d["a"] * 2.0, ({"a": XS},), ({"a": XS},)))
    zero = np.zeros((), OURS.float0)
    same(lambda jax: jax.jvp(lambda x, n: (x * n, n), (2.0, 3), (1.0, zero)))


def test_vjp_cotangents():
    """They fit the output."""

    def pull(jax):
        return jax.vjp(lambda x: {"a": x * 2.0, "b": x}, XS)[1]

    same(lambda jax: pull(jax)({"a": XS, "b": XS}))
    same_error(lambda jax: pull(jax)((XS, XS)), "tree structure")
    same_error(lambda jax: pull(jax)({"a": XS[:2], "b": XS}), "float32[2]", "float32[3]")
    same_error(lambda jax: pull(jax)({"a": XS.astype(np.int32), "b": XS}), "int32[3]")
    same_error(lambda jax: pull(jax)(), "argument")


def test_linearized_functions():
    """They take tangents of the inputs' types."""

    def push(jax):
        return jax.linearize(lambda x, y: x * y, XS, 2.0)[1]

    same(lambda jax: push(jax)(XS, 1.0))
    same_error(lambda jax: push(jax)(XS), "tangent")
    same_error(lambda jax: push(jax)(XS[:2], 1.0), "float32[2]")


def test_linear_transpose():
    """Of linear functions only."""
    same(lambda jax: jax.linear_transpose(lambda x: jax.numpy.asarray(MAT) @ x, XS)(XS))
    same(lambda jax: jax.linear_transpose(lambda x, y: (x + y, x * 2.0), 1.0, 1.0)((3.0, 1.0)))
    same(lambda jax: jax.linear_transpose(lambda x: x[0], XS)(1.0))
    with pytest.raises(NotImplementedError, match="mul.*must be linear"):
        OURS.linear_transpose(lambda x: x * x, 1.0)(1.0)
    same_error(lambda jax: jax.linear_transpose(lambda x: jax.numpy.exp(x), 1.0)(1.0), "exp")


@pytest.mark.parametrize(
    "name",
    ["grad", "value_and_grad", "jvp", "vjp", "linearize", "linear_transpose"]
    + ["jacfwd", "jacrev", "hessian"],
)
def test_functions_are_expected(name):
    """grad(f(x)) instead of grad(f)(x)."""
    if name in ("jvp",):
        same_error(lambda jax: jax.jvp(3.0, (1.0,), (1.0,)), "callable")
    elif name in ("vjp", "linearize", "linear_transpose"):
        same_error(lambda jax: getattr(jax, name)(3.0, 1.0), "callable")
    else:
        same_error(lambda jax: getattr(jax, name)(3.0), "callable")


def test_names_and_docstrings():
    """A gradient function presents itself as the function."""

    def loss(x):
        """This is what training makes small."""
        return x

    for jax in (OURS, ORACLE):
        for wrap in (jax.grad, jax.jit, jax.vmap, jax.value_and_grad, jax.checkpoint):
            assert wrap(loss).__name__ == "loss"
        assert "what training makes small" in jax.jit(loss).__doc__


# ---- second derivatives -------------------------------------------------------------------------


def test_hessians_of_trees():
    """Blocks by argument and leaf."""

    def f(p, q):
        return p["a"] ** 2 * p["b"][0] * q

    p = {"a": 2.0, "b": [3.0]}
    same(lambda jax: jax.hessian(f)(p, 4.0))
    same(lambda jax: jax.hessian(f, argnums=(0, 1))(p, 4.0))
    same(lambda jax: jax.hessian(lambda x: jax.numpy.prod(x))(XS))
    same(lambda jax: jax.jacfwd(jax.jacfwd(lambda x: x**3))(XS))
    same(lambda jax: jax.jacrev(jax.jacrev(lambda x: jax.numpy.sin(x)))(XS))


def test_derivatives_of_high_order():
    """Eight nested gradients."""

    def run(jax):
        f = lambda x: jax.numpy.exp(x * 0.5) * x
        for _ in range(8):
            f = jax.grad(f)
        return f(1.0)

    same(run)
