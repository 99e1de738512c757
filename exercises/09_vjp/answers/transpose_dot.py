# The card of the exercise transpose_dot. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 3
# minutes: 30

# %% [markdown] statement
# # Turn a matrix product around
#
# In tinyjax every matrix product becomes the primitive `dot_general`. Its card, in
# `tinyjax/primitives/dot.py`, says how to transpose it, and `vjp` asks the card whenever a
# cotangent comes back to a product. In this exercise your rule takes its place: all products of
# two matrices go back through your code, in `grad`, `jit`, `vmap` and second derivatives.
#
# Write `transpose_dot(ct, x, y, *, dimension_numbers, **params)`.
#
# - The product was taken of `x` and `y`, and exactly one of the two is an `Undef`: it is the linear
#   operand. It has a `shape`, and no values. The other one is an array or a tracer.
# - `dimension_numbers` is `(((i,), (j,)), ((), ()))`: axis `i` of `x` and axis `j` of `y` were
#   summed over, so these two axes are gone. The result has the axis of `x` that is left, then
#   that of `y`. For `x @ y`, `i` is 1 and `j` is 0; but your rule must know all four cases.
# - `ct` is the cotangent of the result, and has its shape.
# - Return a list of two: the cotangent of the operand that is an `Undef`, in its place, and `None`
#   for the other one. (Leave `params` alone.)
#
# For example:
#
#     x, y = Undef(jax.typeof(jnp.ones((2, 3)))), jnp.ones((3, 4))
#     transpose_dot(jnp.ones((2, 4)), x, y, dimension_numbers=(((1,), (0,)), ((), ())))
#     # [an array of shape (2, 3), full of 4.0, None]
#
# Run this file, or `tinyjax check transpose_dot`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import Undef


# %% stub
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    """The cotangents of a product of two matrices: [of x, None] or [None, of y]."""
    raise NotImplementedError


# %% [markdown] hint
# Take `x @ y` first. `x` has the shape (m, k), `y` (k, n) and `ct` (m, n). Which product of `ct`
# and `y` has the shape of `x`?

# %% [markdown] hint
# A matrix from the left becomes its transpose from the left, one from the right its transpose
# from the right: the cotangent of `x` is `ct @ y.T`, that of `y` is `x.T @ ct`. If another axis
# was summed over, it was the product of a transposed operand: what you multiply with, or what you
# return, is then transposed once more.

# %% [markdown] hint
#     def transpose_dot(ct, x, y, *, dimension_numbers, **params):
#         ((i,), (j,)), _ = dimension_numbers
#         if isinstance(x, Undef):
#             out = ct @ (y.T if j == 0 else y)     # the axis left of x, then the summed one
#             return [out if i == 1 else ..., None]
#         out = ... @ ct                            # the summed axis, then the one left of y
#         return [None, ...]

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import check
from tinyjax.primitives.dot import dot_general_p


def install(student):
    """The student's rule takes the place of the card's, for products of two matrices."""
    rule_of_card = dot_general_p.transpose

    def rule(ct, x, y, *, dimension_numbers, **params):
        contract, batch = dimension_numbers
        matrices = x.ndim == y.ndim == 2 and len(contract[0]) == 1 and not batch[0]
        chosen = student.transpose_dot if matrices else rule_of_card
        return chosen(ct, x, y, dimension_numbers=dimension_numbers, **params)

    dot_general_p.transpose = rule


def draw(rng):
    """Two matrices, none of them square, and weights for their product."""
    m, k, n = rng.permutation([2, 3, 4])
    return {
        "x": rng.normal(size=(m, k)).round(1).astype(np.float32),
        "y": rng.normal(size=(k, n)).round(1).astype(np.float32),
        "w": rng.normal(size=(m, n)).round(1).astype(np.float32),
    }


def draw_square(rng):
    """Two square matrices and weights: what goes wrong has other values, not another shape."""
    return {name: rng.normal(size=(3, 3)).round(1).astype(np.float32) for name in "xyw"}


def along(i, j):
    """The product of two matrices along axis i of the first and j of the second."""
    return lambda x, y: lax.dot_general(x, y, (((i,), (j,)), ((), ())))


@check("jax.vjp of x @ y, and of products along other axes", draw=draw_square)
def products(student, x, y, w):
    return {
        "x @ y": jax.vjp(jnp.matmul, x, y)[1](w),
        "axes 0 and 0, of x": jax.vjp(lambda x: along(0, 0)(x, y), x.T)[1](w),
        "axes 1 and 1, of y": jax.vjp(lambda y: along(1, 1)(x, y), y.T)[1](w),
    }


@check("a second derivative, of a product along axes 0 and 1")
def second_derivative(student, x, y, w):
    slope = jax.grad(lambda x: jnp.sum(w * along(0, 1)(x, y.T) ** 3))
    return jax.jvp(slope, (x.T,), (jnp.cos(x.T),))[1]


# %% reference
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    """The cotangents of a product of two matrices: [of x, None] or [None, of y]."""
    ((i,), (j,)), _ = dimension_numbers
    if isinstance(x, Undef):
        out = ct @ (y.T if j == 0 else y)  # the axis left of x, then the summed one
        return [out if i == 1 else out.T, None]
    out = (x.T if i == 1 else x) @ ct  # the summed axis, then the one left of y
    return [None, out if j == 0 else out.T]


# %% right: einsum
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers
    of_x, of_y = ("mk", "km")[i == 0], ("kn", "nk")[j == 1]
    if isinstance(x, Undef):
        return [jnp.einsum(f"mn,{of_y}->{of_x}", ct, y), None]
    return [None, jnp.einsum(f"mn,{of_x}->{of_y}", ct, x)]


# %% right: dot_general, in a tuple
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), batch = dimension_numbers

    def one(ct_axis, other, axis, summed):
        out = lax.dot_general(ct, other, (((ct_axis,), (1 - axis,)), batch))
        return out if summed == 1 else lax.transpose(out, (1, 0))

    if isinstance(x, Undef):
        return one(1, y, j, i), None
    return None, one(0, x, i, j)


# %% right: sums of products
def product(α, β):
    return jnp.sum(α[:, :, None] * β[None, :, :], axis=1)


def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers
    if isinstance(x, Undef):
        out = product(ct, jnp.moveaxis(y, j, 1))
        return [jnp.moveaxis(out, 1, i), None]
    out = product(jnp.moveaxis(x, i, 0), ct)
    return [None, jnp.moveaxis(out, 0, j)]


# %% right: by jax.linear_transpose of the other form
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers

    def forwards(x, y):
        x, y = jnp.swapaxes(x, i, 1), jnp.swapaxes(y, j, 0)
        return jnp.sum(x[:, :, None] * y[None, :, :], axis=1)

    if isinstance(x, Undef):
        (out,) = jax.linear_transpose(lambda x: forwards(x, y), x)(ct)
        return [out, None]
    (out,) = jax.linear_transpose(lambda y: forwards(x, y), y)(ct)
    return [None, out]


# %% wrong: not transposed
# You multiplied with the matrix as it is: going back, it is the transposed matrix that you
# multiply with.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers
    if isinstance(x, Undef):
        out = ct @ (y if j == 0 else y.T)
        return [out if i == 1 else out.T, None]
    out = (x if i == 1 else x.T) @ ct
    return [None, out if j == 0 else out.T]


# %% wrong: the axes are mixed up
# You mixed the two axes up: dimension_numbers names the axis of x first, then that of y.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((j,), (i,)), _ = dimension_numbers
    if isinstance(x, Undef):
        out = ct @ (y.T if j == 0 else y)
        return [out if i == 1 else out.T, None]
    out = (x.T if i == 1 else x) @ ct
    return [None, out if j == 0 else out.T]


# %% wrong: the result is transposed
# Your cotangent is the transpose of the right one: it must have the shape of its operand.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers
    if isinstance(x, Undef):
        out = ct @ (y.T if j == 0 else y)
        return [out.T if i == 1 else out, None]
    out = (x.T if i == 1 else x) @ ct
    return [None, out.T if j == 0 else out]


# %% wrong: from the other side
# You multiplied from the wrong side: what stood on the right comes back on the right, as its
# transpose.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers
    if isinstance(x, Undef):
        out = (y.T if j == 0 else y) @ ct
        return [out if i == 1 else out.T, None]
    out = ct @ (x.T if i == 1 else x)
    return [None, out if j == 0 else out.T]


# %% wrong: x @ y only
# Your rule takes every product for x @ y: look into dimension_numbers for the axes that were
# summed over.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    if isinstance(x, Undef):
        return [ct @ y.T, None]
    return [None, x.T @ ct]


# %% wrong: x only
# Your rule takes x for the linear operand every time: ask which of the two is an Undef.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers
    out = ct @ (y.T if j == 0 else y)
    return [out if i == 1 else out.T, None]


# %% wrong: the places are swapped
# Nothing arrives at the linear operand: its cotangent must stand in its own place, x first, then y.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers
    if isinstance(x, Undef):
        out = ct @ (y.T if j == 0 else y)
        return [None, out if i == 1 else out.T]
    out = (x.T if i == 1 else x) @ ct
    return [out if j == 0 else out.T, None]


# %% wrong: one cotangent, no list
# You returned the cotangent alone: return a list with an entry for each operand, None for the
# known one.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers
    if isinstance(x, Undef):
        out = ct @ (y.T if j == 0 else y)
        return [out if i == 1 else out.T]
    out = (x.T if i == 1 else x) @ ct
    return [out if j == 0 else out.T]


# %% wrong: NumPy
# You computed with NumPy, which needs values: in a second derivative the operands are tracers, so
# use jnp.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    import numpy as np

    ((i,), (j,)), _ = dimension_numbers
    ct = np.asarray(ct)
    if isinstance(x, Undef):
        out = ct @ np.moveaxis(np.asarray(y), j, 1)
        return [jnp.array(np.moveaxis(out, 1, i)), None]
    out = np.moveaxis(np.asarray(x), i, 0) @ ct
    return [None, jnp.array(np.moveaxis(out, 0, j))]


# %% wrong: without the cotangent
# You left out the cotangent: the other matrix alone is the derivative, and what comes back is ct
# times it.
def transpose_dot(ct, x, y, *, dimension_numbers, **params):
    ((i,), (j,)), _ = dimension_numbers
    if isinstance(x, Undef):
        out = jnp.ones(ct.shape) @ (y.T if j == 0 else y)
        return [out if i == 1 else out.T, None]
    out = (x.T if i == 1 else x) @ jnp.ones(ct.shape)
    return [None, out if j == 0 else out.T]
