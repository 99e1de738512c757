# The card of the exercise add_primitive. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 4
# minutes: 45

# %% [markdown] statement
# # Build it: a primitive of your own
#
# tinyjax knows about two hundred primitives, and you can add one: a **card** with a rule for each
# transformation (`tinyjax/core.py`, class `Primitive`; *How to add a primitive* in
# `docs/architecture.md`). Yours is `gaps`: differences of numbers that lie `by` places apart,
# along the last axis.
#
# `gaps(jnp.array([1., 4., 9., 16.]), by=2)` is `[8., 12.]`, that is 9 - 1 and 16 - 4.
#
# Write its five rules.
#
# - `impl(self, x, *, by)`: the value. `x` is a NumPy array. Compiled programs call it, too.
# - `type(self, x, *, by)`: the type of the result, from that of the operand, before there are
#   values. `x.shape` and `x.dtype` are known: return a `ShapedArray(shape, dtype)`.
# - `jvp(self, primals, tangents, *, by)`: for lists of one value and one tangent, the pair of the
#   result and its tangent.
# - `transpose(self, ct, x, *, by)`: `gaps` is linear. From the cotangent of the result, the
#   cotangent of x, in a list, since there is one for each operand. (`x` has no value here.)
# - `batch(self, axis, vals, dims, /, *, by)`: `vals` has the whole batch, `dims` the place of its
#   batch axis. Return the result and the place of the axis in it. Bind once, loop over nothing.
#
# `self.bind(x, by=by)` computes `gaps` inside of a rule. Then `grad`, `vmap` and `jit` of the
# package work on it. The checks also put it to work inside of `jnp.diff` and `jnp.trapezoid`.
#
# Run this file, or `tinyjax check add_primitive`, to see whether it is right.

# %% given
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.extend.core import Primitive, ShapedArray


# %% stub
class Gaps(Primitive):
    """gaps[by] x: x[..., by:] - x[..., :-by]."""

    def impl(self, x, *, by):
        """The value, with NumPy."""
        raise NotImplementedError

    def type(self, x, *, by):
        """The type of the result, a ShapedArray, from that of x."""
        raise NotImplementedError

    def jvp(self, primals, tangents, *, by):
        """-> the result, its tangent."""
        raise NotImplementedError

    def transpose(self, ct, x, *, by):
        """-> [the cotangent of x], from the cotangent of the result."""
        raise NotImplementedError

    def batch(self, axis, vals, dims, /, *, by):
        """-> the result for the whole batch, the place of its batch axis."""
        raise NotImplementedError


gaps_p = Gaps("gaps")


def gaps(x, by=1):
    """Differences of numbers that lie `by` places apart, along the last axis."""
    return gaps_p.bind(x, by=by)


# %% [markdown] hint
# How does the result of `gaps` change if x changes a little in the direction t? (It is linear.)
# And for the way back: in which results does the number `x[i]` occur, and with which sign?

# %% [markdown] hint
# The tangent of a linear function is the function of the tangent. Backwards, `ct` arrives with a
# plus at `x[by:]`, which was added, and with a minus at `x[:-by]`, which was subtracted: two arrays
# as long as x, one with zeros in front of ct, one with zeros behind. For a batch, take care that
# the last axis is not the batch axis: move that to the front.

# %% [markdown] hint
#     def impl(self, x, *, by):
#         return x[..., by:] - ...
#
#     def type(self, x, *, by):
#         return ShapedArray((*x.shape[:-1], ...), x.dtype)
#
#     def jvp(self, primals, tangents, *, by):
#         (x,), (t,) = primals, tangents
#         return self.bind(x, by=by), ...
#
#     def transpose(self, ct, x, *, by):
#         zeros = jnp.zeros((*ct.shape[:-1], by), ct.dtype)
#         added = jnp.concatenate([..., ...], axis=-1)
#         subtracted = ...
#         return [added - subtracted]
#
#     def batch(self, axis, vals, dims, /, *, by):
#         return self.bind(jnp.moveaxis(..., ..., 0), by=by), ...

# %% checks
import functools

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check, run_examples
from tinyjax.numpy import differences

seconds = 60.0  # a program around the primitive is compiled


def install(student):
    """jnp.diff, which trapezoid and others call, takes its differences with the primitive."""

    @functools.wraps(jnp.diff)
    def diff(a, n=1, axis=-1):
        a = jnp.moveaxis(jnp.asarray(a), axis, -1)
        for _ in range(n):
            a = student.gaps(a, by=1)
        return jnp.moveaxis(a, -1, axis)

    differences.diff = jnp.diff = diff


def draw(rng):
    """Two rows of numbers, a direction, weights, and a distance."""
    by = int(rng.integers(2, 4))
    n = by + int(rng.integers(3, 6))
    return {
        "x": rng.normal(size=(2, n)).round(1).astype(np.float32),
        "t": rng.normal(size=(2, n)).round(1).astype(np.float32),
        "weights": rng.uniform(0.5, 2.0, size=(2, n - by)).round(1).astype(np.float32),
        "by": by,
    }


@check("the value, the type, and the jaxpr")
def value_and_type(student, x, t, weights, by):
    gaps = functools.partial(student.gaps, by=by)
    program = jax.make_jaxpr(gaps)(x)
    return {
        "value": gaps(x),
        "type": str(program.out_avals[0]),
        "type for whole numbers": str(jax.make_jaxpr(gaps)(x.astype(int)).out_avals[0]),
        "primitives": [str(eqn.primitive) for eqn in program.eqns],
        "compiled": jax.jit(gaps)(x),
    }


@check("derivatives, forwards and backwards")
def derivatives(student, x, t, weights, by):
    gaps = functools.partial(student.gaps, by=by)
    _, forwards = jax.jvp(lambda x: gaps(x**2), (x,), (t,))
    (transposed,) = jax.linear_transpose(gaps, x)(weights)
    gradient = jax.grad(lambda x: jnp.sum(weights * gaps(x) ** 3))
    along_t = jax.jvp(gradient, (x,), (t,))[1]
    return {
        "jvp of gaps(x**2)": forwards,
        "linear_transpose": transposed,
        "grad of sum(weights * gaps(x)**3)": gradient(x),
        "hessian times t": along_t,
    }


@check("vmap along the last axis and the first: results, and how many gaps the jaxpr has")
def mapped(student, x, t, weights, by):
    gaps = functools.partial(student.gaps, by=by)
    last, nested = jax.vmap(gaps, in_axes=-1), jax.vmap(jax.vmap(gaps), in_axes=2, out_axes=1)
    batch = jnp.stack([x, 2 * x, x**2], axis=-1)
    names = [str(eqn.primitive) for eqn in jax.make_jaxpr(last)(x.T).eqns]
    return {
        "last axis": last(x.T),
        "first axis": jax.vmap(gaps)(x),
        "nested": nested(batch),
        "gaps in the jaxpr": names.count("gaps"),
    }


def nothing(rng):
    """No inputs."""
    return {}


@check("the package's own examples of diff, and trapezoid", draw=nothing, draws=1)
def examples(student):
    y, x = jnp.array([[1.0, 4.0, 9.0], [0.0, 5.0, 1.0]]), jnp.array([0.0, 1.0, 3.0])
    return {"trapezoid": jnp.trapezoid(y, x), "examples": run_examples(jnp.diff)}


# %% reference
class Gaps(Primitive):
    """gaps[by] x: x[..., by:] - x[..., :-by]."""

    def impl(self, x, *, by):
        """The value, with NumPy."""
        return x[..., by:] - x[..., :-by]

    def type(self, x, *, by):
        """The type of the result, a ShapedArray, from that of x."""
        return ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype)

    def jvp(self, primals, tangents, *, by):
        """-> the result, its tangent."""
        (x,), (t,) = primals, tangents
        return self.bind(x, by=by), self.bind(t, by=by)  # linear: the same function of t

    def transpose(self, ct, x, *, by):
        """-> [the cotangent of x], from the cotangent of the result."""
        zeros = jnp.zeros((*ct.shape[:-1], by), ct.dtype)
        added = jnp.concatenate([zeros, ct], axis=-1)  # to x[..., by:]
        subtracted = jnp.concatenate([ct, zeros], axis=-1)  # from x[..., :-by]
        return [added - subtracted]

    def batch(self, axis, vals, dims, /, *, by):
        """-> the result for the whole batch, the place of its batch axis."""
        # in front the batch axis does not disturb the last one
        return self.bind(jnp.moveaxis(vals[0], dims[0], 0), by=by), 0


gaps_p = Gaps("gaps")


def gaps(x, by=1):
    """Differences of numbers that lie `by` places apart, along the last axis."""
    return gaps_p.bind(x, by=by)


# %% right: rules given one by one
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: np.subtract(x[..., by:], x[..., : x.shape[-1] - by]))


@gaps_p.def_abstract_eval
def gaps_type(x, by):
    shape = list(x.shape)
    shape[-1] -= by
    return ShapedArray(shape=tuple(shape), dtype=x.dtype)


def gaps_jvp(primals, tangents, by):
    return gaps(*primals, by), gaps(*tangents, by)


def gaps_transpose(ct, x, by):
    zero = jnp.zeros(x.shape, ct.dtype)
    return (zero.at[..., by:].add(ct).at[..., :-by].add(-ct),)


def gaps_batch(axis, vals, dims, by):
    (x,), (d,) = vals, dims
    if d == x.ndim - 1:
        x, d = jnp.swapaxes(x, d, d - 1), d - 1
    return gaps(x, by), d


gaps_p.jvp, gaps_p.transpose, gaps_p.batch = gaps_jvp, gaps_transpose, gaps_batch


def gaps(x, by=1):
    return gaps_p.bind(x, by=by)


# %% right: the linear map, flips, slices and lax.pad
class Δ(Primitive):
    def impl(self, x, *, by):
        return -np.flip(np.flip(x, -1)[..., by:] - np.flip(x, -1)[..., :-by], -1)

    def type(self, x, *, by):
        return x.update(shape=(*x.shape[:-1], x.shape[-1] - by))

    def linearize(self, nonzero, x, *, by):
        return self.bind(x, by=by), lambda t: t[..., by:] - t[..., :-by]

    def transpose(self, ct, x, *, by):
        rest = [(0, 0, 0)] * (ct.ndim - 1)
        added, subtracted = (lax.pad(ct, 0.0, [*rest, w]) for w in ((by, 0, 0), (0, by, 0)))
        return [added - subtracted]

    def batch(self, axis, vals, dims, /, *, by):
        x, d = jnp.moveaxis(vals[0], dims[0], -2), vals[0].ndim - 2
        return self.bind(x, by=by), d


gaps_p = Δ("gaps")
gaps = jax.tree_util.Partial(lambda x, by=1: gaps_p.bind(x, by=by))


# %% wrong: no primitive
# Your gaps does not bind the primitive: its jaxpr must have one equation, gaps.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by), 0)


def gaps(x, by=1):
    return x[..., by:] - x[..., :-by]


# %% wrong: the type of the operand
# You gave the result the type of x: its last axis is shorter, by `by`.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray(x.shape, x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: always float32
# You made the type float32: the result has the dtype of x, whole numbers stay whole.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(
    lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), np.dtype("float32"))
)
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: differences of differences
# You took differences of neighbours `by` times: gaps are between numbers `by` places apart.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: np.diff(x, n=by))
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: by is ignored
# You took neighbours always: `by` says how far apart the two numbers are.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: np.diff(x))
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - 1), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., 1:].add(c).at[..., :-1].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: the first axis
# You took differences along axis 0: gaps go along the last axis.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[by:] - x[:-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: whole numbers become floats
# Your impl makes floats of whole numbers: keep the dtype of x.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: np.subtract(x[..., by:], x[..., :-by], dtype=np.float32))
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: the tangent is ignored
# Your tangent is computed from x: it must be computed from the tangent t.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*xs, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: the tangent comes through
# You handed the tangent through: the tangent of the result is gaps of it.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), ts[0])
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: the tangent comes first
# You returned the tangent before the result: the result comes first.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*ts, by=by), gaps(*xs, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: impl for the tangent
# You called impl in jvp, which takes NumPy arrays only: bind works on tracers, too.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), jnp.asarray(gaps_p.impl(np.asarray(*ts), by)))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: the transpose has the wrong sign
# Your cotangent has the wrong sign: x[..., by:] was added, so ct arrives there with plus.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(-c).at[..., :-by].add(c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: only what was added
# You sent ct to x[..., by:] only: x[..., :-by] was subtracted and gets minus ct.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: gaps again
# You took gaps of the cotangent: the transpose goes back, from the shorter array to the longer.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [gaps(c, by=by)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: no list
# You returned the cotangent itself: transpose returns a list, one cotangent for each operand.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), 0)
gaps = gaps_p.bind


# %% wrong: the batch axis stays
# You left the batch axis where it is: if it is the last one, gaps go across the batch.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(*xs, by=by), ds[0])
gaps = gaps_p.bind


# %% wrong: the old place
# You moved the batch axis to the front and returned its old place: the result has it at 0.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (gaps(jnp.moveaxis(xs[0], ds[0], 0), by=by), ds[0])
gaps = gaps_p.bind


# %% wrong: a loop over the batch
# You looped over the batch, one bind for each element: bind once, for all of it.
gaps_p = Primitive("gaps")
gaps_p.def_impl(lambda x, by: x[..., by:] - x[..., :-by])
gaps_p.def_abstract_eval(lambda x, by: ShapedArray((*x.shape[:-1], x.shape[-1] - by), x.dtype))
gaps_p.jvp = lambda xs, ts, by: (gaps(*xs, by=by), gaps(*ts, by=by))
gaps_p.transpose = lambda c, x, by: [jnp.zeros(x.shape).at[..., by:].add(c).at[..., :-by].add(-c)]
gaps_p.batch = lambda axis, xs, ds, by: (
    jnp.stack([gaps(x, by=by) for x in jnp.moveaxis(*xs, *ds, 0)]),
    0,
)
gaps = gaps_p.bind
