# %% [markdown]
# # 09 · Reverse mode
#
# One run backwards gives the derivatives with respect to a million inputs. How? In this chapter you
# turn a linear program around, equation by equation, write the same as a tape in 25 lines, and read the
# function of tinyjax that does it. Then you use it: a way to trade time for memory, Jacobians, and
# derivatives of your own.
#
# You need: jaxprs ([chapter 07](07_tracing.ipynb)), tangents and `linearize`
# ([chapter 08](08_jvp.ipynb)). Time: about 45 minutes.

# %%
import inspect
import math

import matplotlib.pyplot as plt
import numpy as np
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.learn import predict

# %% [markdown]
# ## Backwards: who is how much to blame?
#
# Forward mode asks: if `x` moves, how fast does everything behind it move? Reverse mode asks the other
# way round: if the result is to move, how much does each number before it matter?
#
# `jax.vjp(f, x, y)` returns the value and a function, here called `pull`. Give `pull` a 1.0 for the
# result, and it says how much the result changes per change of `x` and of `y`: both derivatives, in one
# call.

# %%
def f(x, y):
    return x * y + jnp.sin(x)


value, pull = jax.vjp(f, 2.0, 3.0)
dx, dy = pull(1.0)
print(f"value {value:.4f}, derivatives {dx:.4f} and {dy:.4f}")
print(f"by hand: {3 + math.cos(2):.4f} and {2:.4f}")

# %% [markdown]
# What goes into `pull` and comes out of it is called a **cotangent**. Each number in a computation has
# one: how much the final result changes, per change of this number. The cotangent of the result itself
# is 1.0, unless you say otherwise.
#
# Now with arrays. `polar`, from chapter 08, takes two numbers to two numbers, so its Jacobian is a
# matrix: a row for each output, a column for each input.

# %%
def polar(p):
    """From length and angle to the two coordinates."""
    r, angle = p
    return jnp.array([r * jnp.cos(angle), r * jnp.sin(angle)])


p = jnp.array([2.0, np.pi / 6])
print(jax.jacfwd(polar)(p))
value, pull = jax.vjp(polar, p)
print("output 0:", pull(jnp.array([1.0, 0.0]))[0])
print("output 1:", pull(jnp.array([0.0, 1.0]))[0])

# %% [markdown]
# A push gave a column. A pull gives a **row**: how one output depends on all the inputs. In general
# `pull(w)` is the vector `w`, times the Jacobian. Hence the name VJP, **vector-Jacobian product**:
#
# $$w \;\mapsto\; w^\mathsf{T} J(x)$$

# %%
w = jnp.array([3.0, -1.0])
print(pull(w)[0], w @ jax.jacfwd(polar)(p))

# %% [markdown]
# `w @ J` is the same as `J.T @ w`. So pulling is pushing with the *transposed* matrix. And nobody ever
# makes this matrix: it is the program that gets transposed.
#
# What makes a map the transpose of another? Push a tangent $t$ and multiply with $w$, or pull $w$ and
# multiply with $t$: it must be the same number, whichever $t$ and $w$ you take.
#
# $$w \cdot (J\, t) = (J^\mathsf{T} w) \cdot t$$
#
# ## Transposing an equation
#
# Remember `linearize` of chapter 08: it runs `f` and records a linear program, which takes tangents to
# tangents.

# %%
value, push = jax.linearize(f, 2.0, 3.0)
print(jax.make_jaxpr(push)(1.0, 1.0))

# %% [markdown]
# Products with known numbers, and sums; that is all. (`a` is the cosine of 2, `b` and `c` are the
# tangents of `x` and `y`.) To transpose the program we need to transpose equations like these.
#
# `jax.linear_transpose(g, x)` does it for any linear `g`, and takes `x` for its shape only. Start with
# the product with a number: a matrix of size 1 times 1, which is its own transpose.

# %%
transposed = jax.linear_transpose(lambda x: 5.0 * x, 1.0)
print(jax.make_jaxpr(transposed)(1.0))

# %% [markdown]
# Next, one number is used twice. As a matrix, `x -> (x, x)` is a column of two ones.
#
# **Predict.** Two cotangents come back for the two copies: 2.0 and 3.0. What is the cotangent of `x`?

# %%
transposed = jax.linear_transpose(lambda x: (x, x), 1.0)
predict("09/copy", ...)  # 2.5, 3.0, 5.0 or 6.0

# %% tags=["reveal"]
print(transposed((2.0, 3.0)))
print(jax.make_jaxpr(transposed)((1.0, 1.0)))

# %% [markdown]
# 5.0: **a copy becomes a sum**. If `x` moves, both copies move, and both matter. The transposed matrix
# is a row of two ones. (`add_any` is the sum of tangents and cotangents.)
#
# It also works the other way: a sum becomes copies.

# %%
transposed = jax.linear_transpose(lambda x, y: x + y, 1.0, 1.0)
print(transposed(2.0))

# %% [markdown]
# The same for arrays. `jnp.sum` takes three numbers to one. `broadcast_to` takes one number to three.
# And a matrix gets transposed in the literal sense.

# %%
matrix = jnp.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
print("sum:      ", jax.linear_transpose(jnp.sum, jnp.zeros(3))(2.0))
spread = jax.linear_transpose(lambda x: jnp.broadcast_to(x, (3,)), 0.0)
print("broadcast:", spread(jnp.array([1.0, 2.0, 3.0])))
product = jax.linear_transpose(lambda x: matrix @ x, jnp.zeros(3))
print("matrix:   ", product(w), "and", matrix.T @ w)

# %% [markdown]
# | forwards | backwards |
# |---|---|
# | times a known number | times the same number |
# | a copy | a sum |
# | a sum of two | a copy for each |
# | `reduce_sum` | `broadcast_in_dim` |
# | `broadcast_in_dim` | `reduce_sum` |
# | `dot_general` with a known matrix | `dot_general` with its transpose |
#
# Nothing else is needed for `sin`, `exp` and the others. They are not linear and have no transpose:

# %% tags=["raises-exception"]
jax.linear_transpose(jnp.sin, 1.0)(1.0)

# %% [markdown]
# They need none, because they never get there: `linearize` has made a product of each of them.
#
# ## The whole program, from back to front
#
# To transpose a program, transpose its equations, the last one first. It is the same rule for
# matrices. If $A$ comes first, then $B$, then $C$:
#
# $$(C\, B\, A)^\mathsf{T} = A^\mathsf{T}\, B^\mathsf{T}\, C^\mathsf{T}$$
#
# Here are `push` once more, and what becomes of it.

# %%
print(jax.make_jaxpr(push)(1.0, 1.0))
print(jax.make_jaxpr(jax.linear_transpose(push, 1.0, 1.0))(1.0))

# %% [markdown]
# Read the two side by side.
#
# - The first ends with `h = add f g`. A sum becomes copies, so `f` and `g` both get the cotangent of
#   the result. (It is called `b` in the second program.)
# - `g = mul b a` becomes `mul b a`: a first contribution to `x`.
# - `f = add_any d e` copies again; `e` and `d` become products with 2 and with 3.
# - `x` was used twice. A copy becomes a sum: the `add_any` at the end.
#
# `vjp` is nothing more than that: **linearize, then transpose**.

# %%
value, pull = jax.vjp(f, 2.0, 3.0)
turned_round = jax.linear_transpose(push, 1.0, 1.0)
print("the same program:", str(jax.make_jaxpr(pull)(1.0)) == str(jax.make_jaxpr(turned_round)(1.0)))

# %% [markdown]
# ## A diamond
#
# When several ways lead from an input to the result, the program has the shape of a diamond. Here `a`
# is used in `b` and, twice, in `c`.

# %%
def diamond(x):
    a = jnp.sin(x)
    b = 3.0 * a
    c = a * a
    return b + c


print(jax.make_jaxpr(diamond)(1.0))

# %% [markdown]
# **Predict.** Two questions about the run backwards. Which of `b = 3.0 * a` and `c = a * a` is
# transposed first? And how often is a cotangent multiplied with `cos(x)`, the derivative of `sin`:
# once, or once for each way that leads there?

# %%
predict("09/diamond-first", ...)  # "b" or "c"
predict("09/diamond-cosines", ...)  # 1, 2 or 3

# %% tags=["reveal"]
print(jax.make_jaxpr(jax.grad(diamond))(1.0))

# %% [markdown]
# The first five equations run forwards: the function, and the cosine. From `f` on it goes backwards.
# `c` came last, so it is first. Its two products are summed to `h`, then comes `b` with its 3.0, and
# `j` is the sum of it all. Only then `k = mul j c`, with the cosine, once.
#
# In school, the chain rule adds up over all ways from the input to the result. Reverse mode does not go
# along ways. It goes through equations, and waits at each number until all its cotangents have arrived
# and are added up. With a bar for the cotangent, and the sum over all $u$ that are computed from $v$:
#
# $$\bar{v} = \sum_{u} \bar{u} \, \frac{\partial u}{\partial v}$$
#
# This order is what makes it cheap. Here are 20 doublings, so a million ways:

# %%
def doubled(x):
    for _ in range(20):
        x = x + x
    return x


program = jax.make_jaxpr(jax.grad(doubled))(1.0)
print("ways:", f"{jax.grad(doubled)(1.0):,.0f}", "equations:", len(program.eqns))

# %% [markdown]
# 20 equations forwards, 20 backwards.
#
# In the picture, values are computed on the left from top to bottom, and cotangents on the right from
# bottom to top. Look at the row of `v1`: three contributions are added there.

# %% tags=["tinyjax-only"]
from tinyjax import viz

viz.vjp_tape(diamond, 1.0)

# %% [markdown]
# ## A tape by hand
#
# You can have reverse mode without jaxprs. Let each number remember what it was made from, and with
# which slope. The **tape** is the list of all numbers, in the order in which they were made.

# %%
tape = []


class Node:
    """A number that knows what it was made from."""

    def __init__(self, value, parents=()):
        self.value, self.parents, self.cotangent = value, parents, 0.0
        tape.append(self)

    def __add__(self, other):
        return Node(self.value + other.value, [(self, 1.0), (other, 1.0)])

    def __mul__(self, other):
        return Node(self.value * other.value, [(self, other.value), (other, self.value)])


def sin(x):
    return Node(math.sin(x.value), [(x, math.cos(x.value))])


def backward(result):
    """Gives each number on the tape its cotangent."""
    result.cotangent = 1.0
    for node in reversed(tape):
        for parent, slope in node.parents:
            parent.cotangent += slope * node.cotangent


# %% [markdown]
# All of the above is there. The slopes are the linear program. `reversed` is the order. And `+=` is the
# sum that a copy becomes.

# %%
x = Node(1.0)
a = sin(x)
result = Node(3.0) * a + a * a
backward(result)
print(f"{x.cotangent:.4f}, and JAX: {jax.grad(diamond)(1.0):.4f}")

# %% [markdown]
# **Predict.** Suppose that somebody writes `=` in place of `+=`. For which functions is the gradient
# wrong?
#
# - `"a"`: for all.
# - `"b"`: for those that contain a sum.
# - `"c"`: for those in which a number is used more than once.

# %%
predict("09/forgot-to-add", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
def wrong_backward(result):
    result.cotangent = 1.0
    for node in reversed(tape):
        for parent, slope in node.parents:
            parent.cotangent = slope * node.cotangent


for text, function in [
    ("sin(x) + 3", lambda x: sin(x) + Node(3.0)),
    ("sin(sin(x))", lambda x: sin(sin(x))),
    ("sin(x) + x", lambda x: sin(x) + x),
]:
    gradients = []
    for go_back in (backward, wrong_backward):
        x = Node(1.0)
        go_back(function(x))
        gradients.append(round(x.cotangent, 4))
    print(f"{text:12} right {gradients[0]}, with = {gradients[1]}")

# %% [markdown]
# Only the last one, where `x` is used twice: the later contribution overwrites the earlier one. Such a
# bug hides, as many tests use each number once.
#
# PyTorch works with a tape of this kind, and so do small teaching engines such as micrograd. What does
# JAX do differently?
#
# - Your cotangents stay in the nodes, and a second run backwards adds to what is there. In PyTorch the
#   parameters are like this, hence its `zero_grad()`. In JAX, a cotangent is a result.
# - Your slopes are plain numbers, so there is no second derivative. JAX's are traced, too.
# - Your tape is walked by Python each time. JAX's is a program: it can be compiled, and mapped over
#   many cotangents at once, as you will see below.
#
# ## In the package
#
# The function that goes backwards is called `transpose`. Here it is in pieces, read from the file that
# is running. `jaxpr` is a linear program, `cts` holds the cotangents of its results, and `args` its
# inputs. Residuals have values there. Tangents have none: they are `Undef`. (To write it before you
# read it, stop here and take the exercise `tinyjax check 09_vjp/backward_pass`.)

# %% tags=["tinyjax-only"]
from tinyjax.transforms import ad


def piece(function, first, last):
    """Prints a function's lines, from the first that contains one text to the next with another."""
    lines = inspect.getsource(function).splitlines()
    start = next(i for i, line in enumerate(lines) if first in line)
    end = next(i for i, line in enumerate(lines) if i >= start and last in line)
    print("\n".join(lines[start : end + 1]))


piece(ad.transpose, "env =", "env.update(zip(eqn")

# %% [markdown]
# `env` is the dictionary of values that every interpreter has. `linear` is the set of variables that
# have none, since they depend on tangents. `ct_env` is a second dictionary: of cotangents. `read` looks up
# a value, `accumulate` adds to a cotangent.
#
# The loop goes once forwards. Equations that depend on no tangent are computed. The others are only
# noted, in `todo`: this is the tape.

# %% tags=["tinyjax-only"]
piece(ad.transpose, "for out, ct in zip", "accumulate(atom, c)")

# %% [markdown]
# Then backwards, over `reversed(todo)`. `ct_env.pop(v)` takes the cotangent of the equation's result;
# by then it is complete. `prim.transpose` asks the primitive's card for the cotangents of its operands,
# and `accumulate` adds them to what is there: your `+=`.
#
# (Where nothing has arrived yet, there is no sum, so programs hold no useless `0 + ct`. `Zero` stands
# for a cotangent that is known to be zero, and no equation is transposed for it.)
#
# What do cards say? These are two of them. Compare with the table above.

# %% tags=["tinyjax-only"]
print(inspect.getsource(type(lax.mul_p).transpose))
print(inspect.getsource(type(lax.reduce_sum_p).transpose))

# %% [markdown]
# `mul` is linear in one operand at a time: the one that is `Undef`. It multiplies the cotangent with
# the other. (`unbroadcast` sums if a small operand was stretched to fit a large one: a broadcast,
# transposed.)
#
# So each primitive needs two rules: how to linearize it, and, if it can appear in linear programs, how
# to transpose it. There is no third one for reverse mode.
#
# `jax.explain` tells the same story of any call, with your lines beside the equations. An arrow marks
# the line that an equation is the derivative of.

# %% tags=["tinyjax-only"]
print(jax.explain(jax.grad(diamond))(1.0).only("forward", "linear", "backward"))

# %% [markdown]
# ## What has to be remembered
#
# The run backwards begins at the end, and needs cosines and factors from the start. These residuals
# must be kept meanwhile. `pull` holds them, and is a pytree, so you can count how many numbers there
# are.

# %%
def kept(f, *args):
    """How many numbers are kept for the run backwards."""
    _, pull = jax.vjp(f, *args)
    return sum(leaf.size for leaf in jax.tree.leaves(pull))


def sines(x, times):
    for _ in range(times):
        x = jnp.sin(x)
    return x


x = jnp.ones(1000)
for times in [1, 10, 100]:
    print(f"{times:3} sines of 1,000 numbers: {kept(lambda x: sines(x, times), x):7,} kept")

# %% [markdown]
# In forward mode it was none. When training runs out of memory, this is where it went.
#
# `jax.checkpoint(g)` behaves like `g`, but keeps only its *input*. When the run backwards arrives
# there, `g` is computed once more, and what it needs is at hand.
#
# **Predict.** 100 sines of 1,000 numbers, in ten blocks of ten sines, each block in a checkpoint. How
# many numbers are kept?

# %%
def in_blocks(x, blocks):
    block = jax.checkpoint(lambda x: sines(x, 100 // blocks))
    for _ in range(blocks):
        x = block(x)
    return x


predict("09/checkpoint", ...)  # 1000, 10000, 90000 or 100000

# %% tags=["reveal"]
print(f"{kept(lambda x: in_blocks(x, 10), x):,}")

# %% [markdown]
# 10,000: the inputs of ten blocks. Going back, one block at a time is computed again, which takes
# 10,000 more for this moment. So instead of 100,000 numbers it is never more than about 20,000. The
# price is one more run forwards.
#
# Here is this sum, the inputs of all blocks and the inside of one, for other numbers of blocks.

# %% alt="How many numbers are held at most against the number of blocks, from 1 to 100. The curve starts above 100,000 for one block, falls to about 20,000 at ten blocks, and rises again to 100,000. A dashed line at 100,000 marks the run without checkpoints."
divisors = [1, 2, 4, 5, 10, 20, 25, 50, 100]
inputs = [kept(lambda x: in_blocks(x, n), x) for n in divisors]
inside = [kept(lambda x: sines(x, 100 // n), x) for n in divisors]

plt.figure(figsize=(5, 3.2))
plt.plot(divisors, np.add(inputs, inside), "o-", label="with checkpoints")
plt.axhline(kept(lambda x: sines(x, 100), x), color="k", linestyle="--", label="without")
plt.xscale("log")
plt.ylim(0, 110_000)
plt.xlabel("blocks")
plt.ylabel("numbers held at most")
plt.legend()
plt.show()

# %% [markdown]
# One large block saves nothing: at the end, all of it is computed again at once. The best number of
# blocks is near the square root of the number of steps.
#
# ## One pull for each output
#
# `grad` is now two lines: `vjp`, and `pull` with a one.
#
# **Predict.** `my_grad` does not check that there is one output. What does it return for `polar`, with
# two outputs and two inputs?
#
# - `"a"`: the diagonal of the Jacobian.
# - `"b"`: the sum of the Jacobian's rows.
# - `"c"`: the whole Jacobian.

# %%
def my_grad(f):
    def gradient(x):
        value, pull = jax.vjp(f, x)
        return pull(jnp.ones_like(value))[0]

    return gradient


predict("09/ones", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
print(my_grad(polar)(p))
print("sum of rows:", jax.jacrev(polar)(p).sum(axis=0))
print("diagonal:   ", jnp.diag(jax.jacrev(polar)(p)))

# %% [markdown]
# The sum of the rows, which is the gradient of the *sum* of the outputs. Is that what the caller meant?
# Perhaps; perhaps a mean was meant, or a forgotten axis is to blame. For one output there is no doubt,
# and this is why `jax.grad` insists on a **scalar**.

# %% tags=["raises-exception"]
jax.grad(polar)(p)

# %% [markdown]
# ## A gap to fill
#
# For the whole Jacobian, pull once for each output. In chapter 08 you wrote `my_jacfwd`. Now write
# `my_jacrev`: the rows of `jnp.eye(n)` are the cotangents, and `jax.vmap` pulls all of them at once.
# Mind that `pull` returns a tuple, and that a pull gives a row.

# %%
def my_jacrev(f):
    def jacobian(x):
        value, pull = jax.vjp(f, x)
        cotangents = jnp.eye(value.size)
        return ...  # pull, for all the cotangents

    return jacobian


print(my_jacrev(polar)(p))

# %% [markdown]
# It should print the matrix from above: `[[0.866 -1.], [0.5 1.732]]`.

# %% tags=["solution"]
def my_jacrev(f):
    def jacobian(x):
        value, pull = jax.vjp(f, x)
        cotangents = jnp.eye(value.size)
        return jax.vmap(pull)(cotangents)[0]

    return jacobian


print(my_jacrev(polar)(p))

# %% [markdown]
# `jacfwd` needs a push for each input, `jacrev` a pull for each output; chapter 08 counted what each
# costs. A Jacobian is **tall** if there are more outputs than inputs, and **wide** in the other case. So
# take `jacfwd` for a tall one, `jacrev` for a wide one. A loss is the widest of all: it has one output,
# and its gradient is one pull, however many parameters there are.
#
# ## Rules of your own
#
# Sometimes the derivative that follows from the operations is not the one you want. This function is
# close to `x` for a large `x`, so its slope is close to 1. (Chapter 01 left it to you.)

# %%
def log1pexp(x):
    return jnp.log(1.0 + jnp.exp(x))


for at in [1.0, 50.0, 100.0]:
    print(f"at {at}: {log1pexp(at):.4f}, slope {jax.grad(log1pexp)(at):.4f}")

# %% [markdown]
# At 100 `exp` overflows: `inf`. The chain rule multiplies 1/inf by inf, which is no number. On paper
# the two cancel, and the slope is `1 - 1 / (1 + exp(x))`, which is right even where `exp(x)` is `inf`.
#
# `jax.custom_jvp` lets you say so. The rule is one for forward mode: it takes primals and tangents, and
# returns the value and its tangent.

# %%
@jax.custom_jvp
def better_log1pexp(x):
    return jnp.where(x > 80.0, x, jnp.log(1.0 + jnp.exp(x)))


@better_log1pexp.defjvp
def log1pexp_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return better_log1pexp(x), (1.0 - 1.0 / (1.0 + jnp.exp(x))) * t


for at in [1.0, 50.0, 100.0]:
    print(f"at {at}: {better_log1pexp(at):.4f}, slope {jax.grad(better_log1pexp)(at):.4f}")

# %% [markdown]
# `grad` uses it, though the rule runs forward. Linearize, then transpose: the rule is linear in `t`, so
# it can be transposed like everything else. And since it is made of ordinary operations, it can be
# mapped, compiled, and differentiated again.

# %%
print(jax.vmap(jax.grad(better_log1pexp))(jnp.array([0.0, 100.0])))
print(f"{jax.grad(jax.grad(better_log1pexp))(1.0):.4f}")

# %% [markdown]
# `jax.custom_vjp` takes a rule for reverse mode, in two halves. The first runs forwards, and returns
# the value and whatever the second will need: the residuals. The second takes these and a cotangent,
# and returns a tuple with a cotangent for each argument.
#
# One use for it: loops that reverse mode cannot go through. Chapter 08 showed that `grad` refuses
# `while_loop`. Here is a square root by Newton's method. Its derivative is known: `1 / (2 * root)`.

# %%
@jax.custom_vjp
def root(x):
    """The square root, by steps of Newton's."""
    return lax.while_loop(
        lambda y: jnp.abs(y * y - x) > 1e-5 * x, lambda y: 0.5 * (y + x / y), x
    )


def root_forward(x):
    y = root(x)
    return y, y  # the value, the residual


def root_backward(y, cotangent):
    return (cotangent / (2.0 * y),)


root.defvjp(root_forward, root_backward)
print(f"{root(2.0):.4f}, slope {jax.grad(root)(2.0):.4f}, and {1 / (2 * math.sqrt(2)):.4f}")

# %% [markdown]
# The other use: to do something to cotangents on their way. This function returns its argument, and a
# cotangent that comes back is clipped to lie between -1 and 1. It keeps a few extreme values from
# pushing a model too far.

# %%
@jax.custom_vjp
def clip_gradient(x):
    return x


def clip_forward(x):
    return x, None  # no residual needed


def clip_backward(_, cotangent):
    return (jnp.clip(cotangent, -1.0, 1.0),)


clip_gradient.defvjp(clip_forward, clip_backward)

# %% [markdown]
# **Predict.** Without clipping, the derivative of `3 * x**2` at 2 is 12. What is it if you clip
# outside, and what if you clip inside?

# %%
def outside(x):
    return clip_gradient(3.0 * x**2)


def inside(x):
    return 3.0 * clip_gradient(x) ** 2


predict("09/clip", ...)  # two numbers: outside and inside, such as [1.0, 1.0]

# %% tags=["reveal"]
print(jax.grad(outside)(2.0), jax.grad(inside)(2.0))

# %% [markdown]
# Outside it does nothing: what arrives there is the cotangent of the result, 1.0, and the 12 comes
# about later, on the way back to `x`. Inside, the 12 arrives and is clipped. Cotangents run against the
# reading direction: put the function *before* what makes them large.
#
# A rule for reverse mode cannot be turned round. Forward mode refuses it:

# %% tags=["raises-exception"]
jax.jvp(clip_gradient, (2.0,), (1.0,))

# %% [markdown]
# So take `custom_jvp` if the rule is a true derivative: it serves both modes. Take `custom_vjp` if only
# the way back can be described.
#
# ## Build it yourself
#
# The exercises are files in `exercises/09_vjp`, each with its task at the top; the stars say how
# hard they are. To begin, run `tinyjax watch jacobian_row` in a terminal: it checks the file at
# each save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer
# with `%%exercise jacobian_row`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 09_vjp/jacobian_row`: get one row of a Jacobian with one pull.
# - `**` `tinyjax check 09_vjp/unbroadcast`: bring a cotangent back to the shape of an operand that
#   was stretched.
# - `**` `tinyjax check 09_vjp/custom_vjp`: give a search, through which `grad` cannot go, the
#   derivatives that you know.
# - `***` `tinyjax check 09_vjp/transpose_dot`: write the transpose rule of matrix products; every
#   `grad` then uses yours.
# - `***` `tinyjax check 09_vjp/backward_pass`: write the run backwards; each `grad` and `vjp` then
#   goes through your code.
#
# And to try, beyond the exercises:
#
# 1. What are the transposes of `x[::-1]`, of `jnp.cumsum(x)` and of `x[2:5]`? Guess, then ask
#    `jax.linear_transpose`.
# 2. `jnp.round` has the slope 0 everywhere. Write a `custom_jvp` that rounds, and passes tangents
#    through as if it did not. (This is called a straight-through estimator.)
# 3. Write `reverse_gradient(x)`: it returns `x`, and changes the sign of the cotangent. What does
#    gradient descent do with `reverse_gradient(w)` in the place of `w`?

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - Reverse mode is linearize, then transpose. A copy becomes a sum, a sum becomes copies, a product
#   with a number stays one, and the equations run from back to front.
# - `pull` takes a cotangent of the result to cotangents of all inputs: a row of the Jacobian. `grad` is
#   `pull(1.0)`.
# - Each number waits until all its cotangents are added up, so a gradient costs a few times as much as
#   the function. It must remember residuals; `checkpoint` computes some of them again instead.
# - Wide Jacobian: `jacrev`. Tall: `jacfwd`.
# - `custom_jvp` replaces a derivative in both modes, `custom_vjp` the way back.
#
# Older posts and papers explain reverse mode by **partial evaluation**: the program of the jvp is cut
# into what is known and what is linear. JAX now records the linear part directly.
# They also write `jax.custom_transforms` and `defvjp_all`, which are gone: today it is `custom_jvp` and
# `custom_vjp`. `jax.remat` is another name for `jax.checkpoint`.
#
# **Next:** [chapter 10](10_jit.ipynb) compiles: what `jit` keeps, and what its kernels look like.
