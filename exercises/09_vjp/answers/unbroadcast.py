# The card of the exercise unbroadcast. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # Back to the small shape
#
# In `s * A` a number meets a matrix, in `row * A` an array of shape (1, 3) one of shape (2, 3). The
# small operand is stretched: each of its elements is used several times. So on the way back its
# cotangent arrives in the large shape, and must be brought back to the small one.
#
# In tinyjax the function `unbroadcast`, in `tinyjax/primitives/linear.py`, does this. The transpose
# rules of `mul`, `div` and others call it. In this exercise yours takes its place, and every `grad`
# goes through it.
#
# Write `unbroadcast(aval, ct)`. `aval.shape` is the shape of the operand. `ct` is the cotangent, in
# the shape of the result. Return the cotangent in the operand's shape. There are three cases:
#
# - the shapes are equal: there is nothing to do;
# - the operand is a number, of shape `()`;
# - both have as many axes, and some that have size 1 in the operand are longer in `ct`.
#
# For example:
#
#     ct = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
#     unbroadcast(jax.typeof(jnp.ones((1, 3))), ct)    # [[5. 7. 9.]]
#
# Run this file, or `tinyjax check unbroadcast`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def unbroadcast(aval, ct):
    """The cotangent of an operand of type aval, which was stretched to the shape of ct."""
    raise NotImplementedError


# %% [markdown] hint
# To stretch is to copy. What does a copy become on the way back?

# %% [markdown] hint
# A sum, over the copies: so sum over each axis that was stretched, and keep it as an axis of size
# 1. For a number, that is each axis there is, and none is kept.

# %% [markdown] hint
#     def unbroadcast(aval, ct):
#         if aval.shape == ():
#             return ...
#         stretched = tuple(
#             i for i, (small, large) in enumerate(zip(aval.shape, ct.shape)) if ...
#         )
#         return jnp.sum(ct, axis=..., keepdims=...)

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check
from tinyjax.primitives import arithmetic, complex_parts, linear, rules


def install(student):
    """The student's function takes the place of the package's, wherever it is called."""
    for module in (linear, arithmetic, rules, complex_parts):
        module.unbroadcast = student.unbroadcast


def draw(rng):
    """A block of numbers, and weights for it, so that no two elements count the same."""
    a, b, c = (int(n) for n in rng.permutation([2, 3, 4]))
    return {
        "s": np.float32(round(float(rng.uniform(0.5, 1.5)), 2)),
        "block": rng.normal(size=(a, b, c)).round(1).astype(np.float32),
        "w": rng.normal(size=(a, b, c)).round(1).astype(np.float32),
    }


@check("jax.grad: a number and a row")
def number_and_row(student, s, block, w):
    def loss(s, row):
        return jnp.sum(w[0] * jnp.sin(s * block[0])) + jnp.sum(row * block[1] / s)

    return jax.grad(loss, argnums=(0, 1))(s, block[0, :1, :])


@check("jax.grad: a column, and a factor that is stretched along two axes")
def more_axes(student, s, block, w):
    def loss(column, factor):
        return jnp.sum(w[0] * (column * block[0])) + jnp.sum(w * jnp.cos(factor * block))

    return jax.grad(loss, argnums=(0, 1))(block[1, :, :1], block[:1, :, :1])


@check("a second derivative of a loss with a row")
def second_derivative(student, s, block, w):
    slope = jax.grad(lambda row: jnp.sum(w[0] * jnp.sin(row * block[0])))
    return jax.jvp(slope, (block[1, :1, :],), (w[1, :1, :],))[1]


# %% reference
def unbroadcast(aval, ct):
    """The cotangent of an operand of type aval, which was stretched to the shape of ct."""
    if aval.shape == ():
        return jnp.sum(ct)
    pairs = enumerate(zip(aval.shape, ct.shape))
    stretched = tuple(i for i, (small, large) in pairs if small != large)
    return jnp.sum(ct, axis=stretched, keepdims=True)  # a copy becomes a sum


# %% right: axis by axis
def unbroadcast(aval, ct):
    while len(ct.shape) > len(aval.shape):
        ct = ct.sum(0)
    for ax, size in enumerate(aval.shape):
        if size == 1:
            ct = ct.sum(ax, keepdims=True)
    return ct


# %% right: the transpose of broadcast_to
def unbroadcast(aval, ct):
    (out,) = jax.linear_transpose(lambda x: jnp.broadcast_to(x, ct.shape), aval)(ct)
    return out


# %% right: a class, and a reshape at the end
class Unbroadcast:
    def __call__(self, typ, λ):
        axes = [i for i in range(λ.ndim) if typ.shape == () or typ.shape[i] < λ.shape[i]]
        return jnp.reshape(jnp.sum(λ, axis=tuple(axes)), typ.shape)


unbroadcast = Unbroadcast()


# %% wrong: not summed
# You returned the cotangent in the large shape: each element was used several times, so sum over
# its copies.
def unbroadcast(aval, ct):
    return ct


# %% wrong: the mean
# You took the mean of the copies: a copy becomes a sum, as each of them adds to the result.
def unbroadcast(aval, ct):
    if aval.shape == ():
        return jnp.mean(ct)
    axes = tuple(i for i, n in enumerate(aval.shape) if n != ct.shape[i])
    return jnp.mean(ct, axis=axes, keepdims=True)


# %% wrong: one of the copies
# You kept the cotangent of one copy and forgot the others: sum over all of them.
def unbroadcast(aval, ct):
    if aval.shape == ():
        return ct.reshape(-1)[0]
    return ct[tuple(slice(0, n) for n in aval.shape)]


# %% wrong: the axes are gone
# You summed over the right axes, but they are gone: the operand has them with size 1, so keep them.
def unbroadcast(aval, ct):
    axes = tuple(i for i in range(ct.ndim) if aval.shape == () or aval.shape[i] != ct.shape[i])
    return jnp.sum(ct, axis=axes)


# %% wrong: numbers are forgotten
# You forgot the case of a number: it has no axes to compare, and is stretched along all axes of ct.
def unbroadcast(aval, ct):
    axes = tuple(i for i, (m, n) in enumerate(zip(aval.shape, ct.shape)) if m != n)
    return jnp.sum(ct, axis=axes, keepdims=True)


# %% wrong: one axis only
# You summed over the first stretched axis only: there may be several.
def unbroadcast(aval, ct):
    if aval.shape == ():
        return jnp.sum(ct)
    for i, (small, large) in enumerate(zip(aval.shape, ct.shape)):
        if small != large:
            return jnp.sum(ct, axis=i, keepdims=True)
    return ct


# %% wrong: everything is summed
# You summed over all axes: an axis that both have in full length was not stretched and stays as
# it is.
def unbroadcast(aval, ct):
    if aval.shape == ct.shape:
        return ct
    return jnp.broadcast_to(jnp.sum(ct), aval.shape)


# %% wrong: the other axes
# You summed over the axes that were not stretched: sum where the two shapes differ.
def unbroadcast(aval, ct):
    if aval.shape == ():
        return jnp.sum(ct)
    if aval.shape == ct.shape:
        return ct
    axes = tuple(i for i, (m, n) in enumerate(zip(aval.shape, ct.shape)) if m == n)
    return jnp.sum(ct, axis=axes, keepdims=True)


# %% wrong: NumPy
# You computed with NumPy, which needs values: in a second derivative ct is a tracer, so use jnp.
def unbroadcast(aval, ct):
    import numpy as np

    ct = np.asarray(ct)
    axes = tuple(i for i in range(ct.ndim) if aval.shape == () or aval.shape[i] != ct.shape[i])
    return jnp.array(ct.sum(axis=axes).reshape(aval.shape))
