# The card of the exercise custom_vjp. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 2
# minutes: 25

# %% [markdown] statement
# # The derivative of a search
#
# Where is a planet on its ellipse? The answer is the number `E` for which
#
#     E - e * sin(E) = M
#
# `M` says how much time has passed, `e` (from 0 to 1) how long the ellipse is. No formula gives
# `E`. The function `search` below finds it, with a `while_loop`, which `grad` refuses.
#
# But the derivatives of `E` are known:
#
#     dE/dM = 1 / (1 - e * cos(E))        dE/de = sin(E) / (1 - e * cos(E))
#
# Write `kepler(M, e)`. It returns what `search(M, e)` returns, and `jax.grad` can differentiate
# it with respect to both arguments. Its backward half gets what it needs as residuals: the search
# must not run a second time for a derivative.
#
#     kepler(1.0, 0.5)                            # 1.4987
#     jax.grad(kepler, argnums=(0, 1))(1.0, 0.5)    # (1.0374, 1.0347)
#
# Run this file, or `tinyjax check custom_vjp`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax


def search(M, e):
    """The E with E - e * sin(E) = M, by Newton's steps."""

    def go_on(E):
        return jnp.abs(E - e * jnp.sin(E) - M) > 1e-5

    def step(E):
        return E - (E - e * jnp.sin(E) - M) / (1.0 - e * jnp.cos(E))

    return lax.while_loop(go_on, step, M)


# %% stub
def kepler(M, e):
    """search(M, e), with derivatives with respect to both."""
    raise NotImplementedError


# %% [markdown] hint
# To compute both derivatives on the way back, which two numbers do you need from the way there?

# %% [markdown] hint
# `jax.custom_vjp` takes a rule in two halves. The first returns the value and the residuals. The
# second takes the residuals and the cotangent `ct` of the value, and returns a tuple: for each
# argument `ct` times the derivative with respect to it.

# %% [markdown] hint
#     @jax.custom_vjp
#     def kepler(M, e):
#         return search(M, e)
#
#     def forward(M, e):
#         E = search(M, e)
#         return E, (...)
#
#     def backward(residuals, ct):
#         ... = residuals
#         return (..., ...)
#
#     kepler.defvjp(forward, backward)

# %% checks
import numpy as np

import tinyjax as jax
from tinyjax.learn import check

seconds = 60.0


def draw(rng):
    """A time, an ellipse, and a factor."""
    return {
        "M": np.float32(round(float(rng.uniform(0.6, 1.6)), 2)),
        "e": np.float32(round(float(rng.uniform(0.2, 0.7)), 2)),
        "c": round(float(rng.uniform(2.0, 3.0)), 2),
    }


@check("the value, and both derivatives of a function of it")
def derivatives(student, M, e, c):
    def position(M, e):
        return c * student.kepler(M, e) ** 2

    dM, de = jax.grad(position, argnums=(0, 1))(M, e)
    return {"E": student.kepler(M, e), "with respect to M": dM, "to e": de}


def loops(jaxpr):
    """How many while_loops a program runs, those of the programs inside of it included."""
    found = sum(str(eqn.primitive) == "while" for eqn in jaxpr.eqns)
    inner = [getattr(value, "jaxpr", value) for eqn in jaxpr.eqns for value in eqn.params.values()]
    return found + sum(loops(program) for program in inner if hasattr(program, "eqns"))


@check("how many searches a derivative takes")
def searches(student, M, e, c):
    program = jax.make_jaxpr(jax.grad(student.kepler, argnums=(0, 1)))(M, e)
    return {"searches": loops(program.jaxpr), "slope": jax.grad(student.kepler)(M, e)}


# %% reference
@jax.custom_vjp
def kepler(M, e):
    """search(M, e), with derivatives with respect to both."""
    return search(M, e)


def forward(M, e):
    """The value, and what the way back needs."""
    E = search(M, e)
    return E, (E, e)


def backward(residuals, ct):
    """The cotangents of M and of e."""
    E, e = residuals
    per_M = ct / (1.0 - e * jnp.cos(E))
    return per_M, per_M * jnp.sin(E)


kepler.defvjp(forward, backward)


# %% right: the slopes are the residuals
@jax.custom_vjp
def kepler(M, e):
    return search(M, e)


def there(M, e):
    E = kepler(M, e)
    slope = 1 / (1 - e * jnp.cos(E))
    return E, {"M": slope, "e": slope * jnp.sin(E)}


def back(slopes, ct):
    return slopes["M"] * ct, slopes["e"] * ct


kepler.defvjp(there, back)


# %% right: a rule for forward mode
@jax.custom_jvp
def kepler(M, e):
    return search(M, e)


@kepler.defjvp
def rule(primals, tangents):
    (M, e), (dM, de) = primals, tangents
    E = kepler(M, e)
    return E, (dM + jnp.sin(E) * de) / (1 - e * jnp.cos(E))


# %% right: one step of Newton's from a constant
def kepler(M, e):
    E = lax.stop_gradient(search(lax.stop_gradient(M), lax.stop_gradient(e)))
    return E - (E - e * jnp.sin(E) - M) / lax.stop_gradient(1 - e * jnp.cos(E))


# %% wrong: no rule
# You gave jax.grad no rule, so it tries to go through the while_loop: write one with
# jax.custom_vjp.
def kepler(M, e):
    return search(M, e)


# %% wrong: the rule is not told
# You wrote no rule for your custom_vjp function: call kepler.defvjp(forward, backward).
@jax.custom_vjp
def kepler(M, e):
    return search(M, e)


# %% wrong: the cotangent is ignored
# You ignored the cotangent: what comes back is ct times the derivative, not the derivative alone.
def backward(residuals, ct):
    E, e = residuals
    slope = 1.0 / (1.0 - e * jnp.cos(E))
    return slope, slope * jnp.sin(E)


kepler.defvjp(forward, backward)


# %% wrong: a second search
# Your backward half searches again: let the forward half hand over E as a residual.
def forward(M, e):
    return search(M, e), (M, e)


def backward(residuals, ct):
    M, e = residuals
    E = search(M, e)
    per_M = ct / (1.0 - e * jnp.cos(E))
    return per_M, per_M * jnp.sin(E)


kepler.defvjp(forward, backward)


# %% wrong: M in place of E
# You put M into the formulas where E belongs: the slope is known at the result of the search.
def forward(M, e):
    return search(M, e), (M, e)


def backward(residuals, ct):
    M, e = residuals
    per_M = ct / (1.0 - e * jnp.cos(M))
    return per_M, per_M * jnp.sin(M)


kepler.defvjp(forward, backward)


# %% wrong: the order of the arguments
# You swapped the two cotangents: they come in the order of the arguments, first that of M.
def backward(residuals, ct):
    E, e = residuals
    per_M = ct / (1.0 - e * jnp.cos(E))
    return per_M * jnp.sin(E), per_M


kepler.defvjp(forward, backward)


# %% wrong: one cotangent
# You returned one cotangent, but kepler has two arguments: return a tuple of two.
def backward(residuals, ct):
    E, e = residuals
    return (ct / (1.0 - e * jnp.cos(E)),)


kepler.defvjp(forward, backward)


# %% wrong: e counts as a constant
# You gave e the cotangent 0: the derivative with respect to e is sin(E) / (1 - e * cos(E)).
def backward(residuals, ct):
    E, e = residuals
    return ct / (1.0 - e * jnp.cos(E)), 0.0 * ct


kepler.defvjp(forward, backward)


# %% wrong: the residual is a global
# You kept E in a variable outside, as a Python float: while tracing there is none, so return E as
# a residual.
kept = {}


def forward(M, e):
    kept["E"] = float(search(M, e))
    return search(M, e), e


def backward(e, ct):
    per_M = ct / (1.0 - e * jnp.cos(kept["E"]))
    return per_M, per_M * jnp.sin(kept["E"])


kepler.defvjp(forward, backward)


# %% wrong: a finite difference
# You took differences of the search, which stops when it is near: their digits are noise. Use the
# formulas.
def forward(M, e):
    E = search(M, e)
    h = 1e-3
    return E, ((search(M + h, e) - E) / h, (search(M, e + h) - E) / h)


def backward(slopes, ct):
    return ct * slopes[0], ct * slopes[1]


kepler.defvjp(forward, backward)
