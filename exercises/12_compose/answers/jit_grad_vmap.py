# The card of the exercise jit_grad_vmap. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # Repair a composition
#
# `u(w, t)` is a small model of a swinging weight: its position at the time `t`, a number. `w` is an
# array of parameters. The model shall obey the equation of motion, `u'' + u = 0`, at many times
# `ts`, where `u''` is the second derivative by `t`. A post proposes
#
#     jax.jit(jax.grad(jax.grad(jax.vmap(u, in_axes=(None, 0)))))
#
# and all it gets is `Gradient only defined for scalar-output functions`. Read it from the inside:
# what does each function take and return? Then write two compositions that run.
#
# - `accelerations(u, w, ts)`: `u''` at each of the times, an array of the shape of `ts`.
# - `misfit_slope(u, w, ts)`: the gradient, with respect to `w`, of the mean over all times of
#   `(u'' + u)**2`. It has the shape of `w`.
#
# Both are called inside of `jit`, and the program must not get longer with the number of times.
#
# For `u(w, t) = w[0] * t**3`, `w = [2.]` and `ts = [1., 2.]` they give `[12., 24.]` and `[898.]`.
#
# Run this file, or `tinyjax check jit_grad_vmap`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def accelerations(u, w, ts):
    """The second derivative of u by the time, at each of the times."""
    raise NotImplementedError


def misfit_slope(u, w, ts):
    """The gradient, with respect to w, of the mean of (u'' + u)**2 over the times."""
    raise NotImplementedError


# %% [markdown] hint
# `jax.vmap(u)` returns one number for each time. Which of the four functions in the post's formula
# cannot go on from there?

# %% [markdown] hint
# `grad` needs one number. So differentiate twice for one time, and put `vmap` around that: `w` is
# the same for all times. The mean of the squares is one number again, and it may go into a `grad`.

# %% [markdown] hint
#     def accelerations(u, w, ts):
#         second = jax.grad(jax.grad(u, argnums=...), argnums=...)
#         return jax.vmap(second, in_axes=(..., ...))(w, ts)
#
#
#     def misfit_slope(u, w, ts):
#         def misfit(w):
#             rest = accelerations(u, w, ts) + ...
#             return jnp.mean(...)
#
#         return ...

# %% checks
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax.learn import check

seconds = 30.0  # some will use jit, which compiles


def draw(rng):
    """Parameters, and times in any order."""
    n = int(rng.integers(4, 7))
    return {
        "u": "20 + w[0] * sin(w[1] * t) + w[2] * t**3 + w[0] * w[2] * t",
        "w": rng.uniform(0.5, 1.5, size=3).round(2).astype(np.float32),
        "ts": rng.uniform(-1.5, 1.5, size=n).round(2).astype(np.float32),
    }


def swing(w, t):
    """Where the weight is: a swing that gets wider, far away from zero."""
    return 20.0 + w[0] * jnp.sin(w[1] * t) + w[2] * t**3 + w[0] * w[2] * t


@check("the second derivative at each time")
def second(student, u, w, ts):
    return student.accelerations(swing, w, ts)


@check("the gradient of the misfit")
def slope(student, u, w, ts):
    return student.misfit_slope(swing, w, ts)


def length(jaxpr):
    """How many equations a program has, with those of the programs inside of it."""
    jaxpr = getattr(jaxpr, "jaxpr", jaxpr)
    total = len(jaxpr.eqns)
    for eqn in jaxpr.eqns:
        for inner in eqn.params.values():
            if hasattr(inner, "jaxpr") or hasattr(inner, "eqns"):
                total += length(inner)
    return total


@check("in a program, which is no longer for more times", draws=1)
def traced(student, u, w, ts):
    found = {}
    for name in ("accelerations", "misfit_slope"):

        def run(w, ts, name=name):
            return jnp.asarray(getattr(student, name)(swing, w, ts))

        short, long = (jax.make_jaxpr(run)(w, ts) for ts in (ts, jnp.concatenate([ts, ts, ts])))
        more = length(long) - length(short)
        shapes = [str(v.aval.shape) for v in short.jaxpr.outvars]
        found[name] = [*shapes, f"equations more for three times as many times: {more}"]
    return found


# %% reference
def accelerations(u, w, ts):
    """The second derivative of u by the time, at each of the times."""
    second = jax.grad(jax.grad(u, argnums=1), argnums=1)  # for one time: a number
    return jax.vmap(second, in_axes=(None, 0))(w, ts)


def misfit_slope(u, w, ts):
    """The gradient, with respect to w, of the mean of (u'' + u)**2 over the times."""

    def misfit(w):  # one number, so grad may stand around it
        positions = jax.vmap(u, in_axes=(None, 0))(w, ts)
        return jnp.mean((accelerations(u, w, ts) + positions) ** 2)

    return jax.grad(misfit)(w)


# %% right: sums inside
def accelerations(u, w, ts):
    def total(ts):
        return jnp.sum(jax.vmap(lambda t: u(w, t))(ts))

    return jax.grad(lambda ts: jnp.sum(jax.grad(total)(ts)))(ts)


def misfit_slope(u, w, ts):
    def misfit(w):
        rest = accelerations(u, w, ts) + jax.vmap(lambda t: u(w, t))(ts)
        return jnp.vdot(rest, rest) / ts.size

    return jax.grad(misfit)(w)


# %% right: the mean of the gradients
def rest(u, w, t):
    return jax.jacfwd(jax.jacfwd(lambda s: u(w, s)))(t) + u(w, t)


def accelerations(u, w, ts):
    return jax.vmap(lambda t: rest(u, w, t) - u(w, t))(ts)


def misfit_slope(u, w, ts):
    one = jax.grad(lambda w, t: rest(u, w, t) ** 2)
    return jax.vmap(one, (None, 0))(w, ts).mean(axis=0)


# %% right: with jvp, and ones as the direction
def accelerations(u, w, ts):
    def position(ts):
        return jax.vmap(u, in_axes=(None, 0))(w, ts)

    def speed(ts):
        return jax.jvp(position, (ts,), (jnp.ones_like(ts),))[1]

    return jax.jvp(speed, (ts,), (jnp.ones_like(ts),))[1]


def misfit_slope(u, w, ts):
    def misfit(w):
        return jnp.mean(jnp.square(accelerations(u, w, ts) + jax.vmap(lambda t: u(w, t))(ts)))

    return jax.value_and_grad(misfit)(w)[1]


# %% right: a class, and lax.map
class Motion:
    def __init__(self, u, ts):
        self.u, self.ts = u, ts

    def ü(self, w, t):
        return jax.hessian(self.u, argnums=1)(w, t)

    def misfit(self, w):
        return jax.lax.map(lambda t: (self.ü(w, t) + self.u(w, t)) ** 2, self.ts).mean()


def accelerations(u, w, ts):
    motion = Motion(u, ts)
    return jax.lax.map(lambda t: motion.ü(w, t), ts)


def misfit_slope(u, w, ts):
    return jax.jacrev(Motion(u, ts).misfit)(w)


# %% wrong: the formula of the post
# You took grad of many numbers, and it needs one: sum them up first, or differentiate for one time.
def accelerations(u, w, ts):
    return jax.grad(jax.grad(jax.vmap(u, in_axes=(None, 0)), argnums=1), argnums=1)(w, ts)


# %% wrong: one sum for two grads
# You took grad of many numbers, and it needs one: sum them up first, or differentiate for one time.
def accelerations(u, w, ts):
    def total(ts):
        return jnp.sum(jax.vmap(u, in_axes=(None, 0))(w, ts))

    return jax.grad(jax.grad(total))(ts)


# %% wrong: by w
# You differentiated by w: grad takes the first argument unless argnums says 1, the time.
def accelerations(u, w, ts):
    second = jax.grad(lambda w, t: jnp.sum(jax.grad(u)(w, t)))
    return jax.vmap(second, in_axes=(None, 0))(w, ts)


def misfit_slope(u, w, ts):
    def rest(w, t):
        return jax.grad(jax.grad(u, argnums=1), argnums=1)(w, t) + u(w, t)

    def misfit(w):
        return jnp.mean(jax.vmap(rest, in_axes=(None, 0))(w, ts) ** 2)

    return jax.grad(misfit)(w)


# %% wrong: once
# You differentiated once by the time, which is the speed: the acceleration takes two grads.
def accelerations(u, w, ts):
    second = jax.grad(u, argnums=1)
    return jax.vmap(second, in_axes=(None, 0))(w, ts)


# %% wrong: the parameters are mapped, too
# You mapped over w as well: it is the same for all times, so its in_axes is None.
def accelerations(u, w, ts):
    second = jax.grad(jax.grad(u, argnums=1), argnums=1)
    return jax.vmap(second)(w, ts)


# %% wrong: the sum of the accelerations
# You returned the sum over all times: there is one acceleration for each of them.
def accelerations(u, w, ts):
    second = jax.grad(jax.grad(u, argnums=1), argnums=1)
    return jnp.sum(jax.vmap(second, in_axes=(None, 0))(w, ts))


def misfit_slope(u, w, ts):
    def rest(w, t):
        return jax.grad(jax.grad(u, argnums=1), argnums=1)(w, t) + u(w, t)

    def misfit(w):
        return jnp.mean(jax.vmap(rest, in_axes=(None, 0))(w, ts) ** 2)

    return jax.grad(misfit)(w)


# %% wrong: the Hessian of all times
# You built a matrix of all pairs of times: it is zero off its diagonal, so map over the times.
def accelerations(u, w, ts):
    return jax.hessian(lambda ts: jnp.sum(jax.vmap(u, in_axes=(None, 0))(w, ts)))(ts)


def misfit_slope(u, w, ts):
    def rest(w, t):
        return jax.grad(jax.grad(u, argnums=1), argnums=1)(w, t) + u(w, t)

    def misfit(w):
        return jnp.mean(jax.vmap(rest, in_axes=(None, 0))(w, ts) ** 2)

    return jax.grad(misfit)(w)


# %% wrong: finite differences
# You took second differences, and their digits round away: two grads are exact.
def accelerations(u, w, ts):
    h = 1e-2
    at = jax.vmap(u, in_axes=(None, 0))
    return (at(w, ts + h) - 2 * at(w, ts) + at(w, ts - h)) / h**2


def misfit_slope(u, w, ts):
    def rest(w, t):
        return jax.grad(jax.grad(u, argnums=1), argnums=1)(w, t) + u(w, t)

    def misfit(w):
        return jnp.mean(jax.vmap(rest, in_axes=(None, 0))(w, ts) ** 2)

    return jax.grad(misfit)(w)


# %% wrong: a loop over the times
# You looped over the times, so the program gets longer with each of them: let vmap map over them.
def accelerations(u, w, ts):
    second = jax.grad(jax.grad(u, argnums=1), argnums=1)
    return jnp.stack([second(w, t) for t in ts])


# %% wrong: Python's numbers
# You made Python's numbers of the results: inside of jit they are not known, so keep arrays.
def accelerations(u, w, ts):
    second = jax.grad(jax.grad(u, argnums=1), argnums=1)
    return jnp.array([float(second(w, t)) for t in ts])


def misfit_slope(u, w, ts):
    def rest(w, t):
        return jax.grad(jax.grad(u, argnums=1), argnums=1)(w, t) + u(w, t)

    def misfit(w):
        return jnp.mean(jax.vmap(rest, in_axes=(None, 0))(w, ts) ** 2)

    return jax.grad(misfit)(w)


# %% wrong: the square of the mean
# You squared the mean: take the mean of the squares, or what is above and below cancels.
def misfit_slope(u, w, ts):
    def misfit(w):
        positions = jax.vmap(u, in_axes=(None, 0))(w, ts)
        return jnp.mean(accelerations(u, w, ts) + positions) ** 2

    return jax.grad(misfit)(w)


# %% wrong: a sum in place of the mean
# You summed the squares: the misfit is their mean.
def misfit_slope(u, w, ts):
    def misfit(w):
        positions = jax.vmap(u, in_axes=(None, 0))(w, ts)
        return jnp.sum((accelerations(u, w, ts) + positions) ** 2)

    return jax.grad(misfit)(w)


# %% wrong: the accelerations stay constant
# You computed u'' outside of grad, where it counts as a constant: it depends on w, too.
def misfit_slope(u, w, ts):
    constant = accelerations(u, w, ts)

    def misfit(w):
        positions = jax.vmap(u, in_axes=(None, 0))(w, ts)
        return jnp.mean((constant + positions) ** 2)

    return jax.grad(misfit)(w)


# %% wrong: no square
# You left out the square: above and below cancel in the mean, so square first.
def misfit_slope(u, w, ts):
    def misfit(w):
        positions = jax.vmap(u, in_axes=(None, 0))(w, ts)
        return jnp.mean(accelerations(u, w, ts) + positions)

    return jax.grad(misfit)(w)


# %% wrong: the misfit
# You returned the misfit: its gradient with respect to w is asked for.
def misfit_slope(u, w, ts):
    def misfit(w):
        positions = jax.vmap(u, in_axes=(None, 0))(w, ts)
        return jnp.mean((accelerations(u, w, ts) + positions) ** 2)

    return misfit(w)


# %% wrong: a gradient for each time
# You returned a gradient for each time: the gradient of the mean is their mean.
def misfit_slope(u, w, ts):
    def misfit(w, t):
        return (jax.grad(jax.grad(u, argnums=1), argnums=1)(w, t) + u(w, t)) ** 2

    return jax.vmap(jax.grad(misfit), in_axes=(None, 0))(w, ts)


# %% wrong: the gradient by the times
# You took the gradient by the times: w is what we fit, the times stay.
def misfit_slope(u, w, ts):
    def misfit(ts):
        positions = jax.vmap(u, in_axes=(None, 0))(w, ts)
        return jnp.mean((accelerations(u, w, ts) + positions) ** 2)

    return jax.grad(misfit)(ts)


# %% wrong: no mean before grad
# You took grad of many numbers, and it needs one: sum them up first, or differentiate for one time.
def misfit_slope(u, w, ts):
    def misfit(w):
        positions = jax.vmap(u, in_axes=(None, 0))(w, ts)
        return (accelerations(u, w, ts) + positions) ** 2

    return jax.grad(misfit)(w)
