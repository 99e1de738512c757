# %% [markdown]
# # 07 · Tracing
#
# `grad`, `vmap` and `jit` take your function apart into primitives. How do they get at them? In this
# chapter you learn to read the program that a function becomes, to tell what is known while it is
# being made, and to write interpreters of such programs yourself. At the end you read the lines of
# the package that do all this.
#
# You need: what the transformations do (chapters 01 to 03 and 06). Time: about 45 minutes.

# %%
import inspect

import matplotlib.pyplot as plt
import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.extend.core import Literal
from tinyjax.learn import predict

# %% [markdown]
# ## What f becomes
#
# `jax.make_jaxpr(f)` calls `f` once, on arguments of the kind that you give, and returns the program
# that `f` turned out to be. It is called a **jaxpr**, for JAX expression.

# %%
def f(x, y):
    return jnp.sin(x) * y + 2.0


print(jax.make_jaxpr(f)(1.0, 3.0))

# %% [markdown]
# Read it line by line.
#
# - `{ lambda ; a:f32[] b:f32[]. let`: a function of `a` and `b`. A type follows each colon: `f32` is
#   `float32`, and the brackets hold the shape, which is empty for a number. (Ignore the semicolon for
#   now.)
# - `c:f32[] = sin a`: the first **equation**. The primitive `sin`, applied to `a`, gives `c`.
# - `d:f32[] = mul c b` and `e:f32[] = add d 2.0:f32[]`: two more. The number 2.0 stands where it is
#   used.
# - `in (e,) }`: the result is `e`. It is a tuple, since there can be several.
#
# Each equation is one primitive, each variable gets a value once, and nothing jumps. There are no
# names of yours left, no Python, and no numbers of your arguments either.
#
# **Predict.** How many equations has the jaxpr of `x**2 + x`?

# %%
predict("07/equations", ...)  # a number

# %% tags=["reveal"]
print(jax.make_jaxpr(lambda x: x**2 + x)(3.0))

# %% [markdown]
# Two. A power with a whole number as its exponent is one primitive, `integer_pow`. The exponent is no
# operand: it stands in brackets, as a **parameter** of the equation. Parameters are Python values that
# are known when the program is made. Operands are arrays that will only be known when it runs.
#
# Here is the loss of chapter 02, for a matrix `x`. Look for the parameters: which axes are summed over,
# which axis of `x` meets which axis of `w`.

# %%
def loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)


w, x, y = jnp.ones(3), jnp.ones((2, 3)), jnp.ones(2)
print(jax.make_jaxpr(loss)(w, x, y))

# %% [markdown]
# `@` is `dot_general`, and the mean is a sum and a division by 2.0, the number of rows. That number
# was taken from the shape of `x` while the program was made. For another number of rows this would be
# another program. (Ignore `preferred_element_type` and `out_sharding`: they are about other number types
# and several devices.)
#
# The same as a picture. Arrays flow along the lines, from the inputs at the top to the result.

# %% tags=["tinyjax-only"]
from tinyjax import viz

viz.jaxpr_graph(loss, w, x, y)

# %% [markdown]
# ## What x is, meanwhile
#
# `make_jaxpr` *called* the function. What did it call it with? Let the function tell.

# %%
def watched(x):
    print("x is", x)
    print("known:", x.shape, x.dtype, x.ndim, len(x))
    return 2 * x


jaxpr = jax.make_jaxpr(watched)(jnp.array([1.0, 2.0, 3.0]))

# %% [markdown]
# `x` is a **tracer**: a stand-in for an array. It has a shape and a dtype and it has no values. The
# numbers 1, 2 and 3 are nowhere in it. Whatever is done to a tracer is written down as an equation,
# and gives another tracer.
#
# You can make such a thing yourself. Python lets a class say what `+` and `*` mean, and here they mean:
# write it down.

# %%
class Variable:
    """A stand-in of which only the name is known."""

    def __init__(self, name):
        self.name = name

    def __add__(self, other):
        return record("add", self, other)

    def __mul__(self, other):
        return record("mul", self, other)

    def __radd__(self, other):  # for 2.0 + x, where Python asks the right side
        return record("add", other, self)

    def __rmul__(self, other):
        return record("mul", other, self)


equations = []


def record(primitive, *operands):
    """Writes an equation down, and returns the variable for its result."""
    result = Variable("bcdefghijklmnopq"[len(equations)])
    names = [o.name if isinstance(o, Variable) else str(o) for o in operands]
    equations.append(f"{result.name} = {primitive} {' '.join(names)}")
    return result


def my_make_jaxpr(f):
    equations.clear()
    result = f(Variable("a"))
    print("lambda a. let\n   ", "\n    ".join(equations), f"\n  in {result.name}")


my_make_jaxpr(lambda x: 2.0 * x + x * x)
print(jax.make_jaxpr(lambda x: 2.0 * x + x * x)(1.0))

# %% [markdown]
# The same three equations, yours first, then JAX's. JAX's tracers have all the operators of an array,
# and a type. What has no operator, such as `jnp.sin(x)`, sees that `x` is a tracer and records, too. The
# idea is the one above.
#
# It has a consequence. Recording a function means running it, once, on stand-ins. Python runs only
# **then**. When the compiled program runs, there is no Python left in it. That is why a `print` in a
# function under `jit` shows when it is traced, not when it is called.
#
# **Predict.** `jit` traces a function when it meets a kind of arguments for the first time, and keeps
# the program. Five calls of `double`: with 1.0, 2.0, 1, an array of two numbers, and another such array. How
# many lines do they print?

# %%
@jax.jit
def double(x):
    print("tracing, x is", x)
    return 2 * x


predict("07/how-many-traces", ...)  # a number

# %% tags=["reveal"]
for argument in [1.0, 2.0, 1, jnp.array([1.0, 2.0]), jnp.array([5.0, 6.0])]:
    double(argument)

# %% [markdown]
# Three. 1.0 and 2.0 are of one kind, and so are the two arrays: of such a tracer only the type is known,
# so the program cannot depend on more. The integer 1 has another type. (The sign `~` marks a weak type:
# chapter 00.)
#
# ## Python's own loops and conditions
#
# **Predict.** What does the jaxpr of this function look like?
#
# - `"a"`: one equation `for`, with the body inside.
# - `"b"`: six equations: `sin` and `add`, three times.
# - `"c"`: two equations, `sin` and `add`, and a 3 somewhere.

# %%
def looped(x):
    for _ in range(3):
        x = x + jnp.sin(x)
    return x


predict("07/python-loop", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
print(jax.make_jaxpr(looped)(1.0))

# %% [markdown]
# Six: the loop is **unrolled**. Your `Variable` would do the same. A stand-in sees additions and
# multiplications. It does not see the `for` around them, which is Python's.
#
# Three passes are fine. With a thousand, tracing and compiling take long. `lax.fori_loop` is a loop
# that is a primitive: it traces its body once and puts it into one equation. (For a known number of
# passes this equation is called `scan`.)

# %%
def looped_by_lax(x):
    return lax.fori_loop(0, 3, lambda i, x: x + jnp.sin(x), x)


print(jax.make_jaxpr(looped_by_lax)(1.0))

# %% alt="Number of equations against the number of passes, from 1 to 64. For the Python loop a straight line that rises to 128; for fori_loop a flat line at 1."
def equations_of(passes, loop):
    def f(x):
        if loop == "Python":
            for _ in range(passes):
                x = x + jnp.sin(x)
            return x
        return lax.fori_loop(0, passes, lambda i, x: x + jnp.sin(x), x)

    return len(jax.make_jaxpr(f)(1.0).eqns)


passes = [1, 2, 4, 8, 16, 32, 64]
plt.figure(figsize=(5, 3))
plt.plot(passes, [equations_of(n, "Python") for n in passes], "o-", label="Python's for")
plt.plot(passes, [equations_of(n, "lax") for n in passes], "s-", label="lax.fori_loop")
plt.xlabel("passes")
plt.ylabel("equations")
plt.legend()
plt.show()

# %% [markdown]
# Now an `if`. **Predict.** `training` is a Python value here, not an array: `static_argnums` says so.
# What of the two `if`s is to be seen in the jaxpr?
#
# - `"a"`: both, as conditions.
# - `"b"`: only the first, because it is about an array.
# - `"c"`: neither.

# %%
def layer(x, training):
    if x.ndim == 1:
        x = x.reshape(1, -1)
    if training:
        x = 0.5 * x
    return jnp.sin(x)


predict("07/static-if", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
print(jax.make_jaxpr(layer, static_argnums=1)(jnp.ones((2, 3)), False))

# %% [markdown]
# Neither. Both conditions can be decided while the function is traced: one asks for the number of axes,
# which a tracer knows, the other for a Python value. So Python decides, and only what was done is
# recorded. The program for `training=True` is another one.
#
# ## What is not known
#
# A condition on a *value* cannot be decided.

# %%
def bent(x):
    if x > 0:
        return x * x
    return -x


# %% tags=["raises-exception"]
jax.make_jaxpr(bent)(2.0)

# %% [markdown]
# `x > 0` is a tracer, of a boolean. Python's `if` needs `True` or `False`, and asks the tracer, which
# does not know. JAX calls such errors **concretization errors**: a concrete value was needed.
#
# The fix is to let the program decide, not Python. `jnp.where` computes both sides and chooses.

# %%
def bent_too(x):
    return jnp.where(x > 0, x * x, -x)


print(jax.make_jaxpr(bent_too)(2.0))

# %% [markdown]
# (`lax.cond` runs only one of the sides: chapter 10. And if the value that you ask for is a setting that
# rarely changes, make it a Python value, as `training` above.)
#
# The equation `jit[...]` holds a small program of its own: `select_n` does the choosing. More about such
# equations below.
#
# **Predict.** Which of the three transformations `jit`, `vmap` and `grad` refuse `bent`, with its
# `if x > 0`?

# %%
predict("07/who-refuses", ...)  # a list, such as ["jit", "vmap", "grad"]

# %% tags=["reveal"]
for transform, argument in [(jax.jit, 2.0), (jax.vmap, jnp.array([2.0, -2.0])), (jax.grad, 2.0)]:
    try:
        print(f"{transform.__name__}: {transform(bent)(argument)}")
    except jax.errors.TracerBoolConversionError:
        print(f"{transform.__name__}: refused")

# %% [markdown]
# `grad` does not mind. All three run your function on tracers, but there are several kinds of these.
# Print one of each.

# %%
def show_me(x):
    print(x)
    return x * x


jax.jit(show_me)(2.0)
jax.vmap(show_me)(jnp.array([2.0, -2.0]))
jax.jvp(show_me, (2.0,), (1.0,))
jax.grad(show_me)(2.0)
gradient = jax.jit(jax.grad(show_me))(2.0)

# %% [markdown]
# - Under `jit` only a type is known.
# - Under `vmap` the values are there, but `x` claims to be one number, and stands for two. For one of
#   them `x > 0` is true, for the other it is false.
# - Under `jvp` (next chapter) and `grad` the tracer holds the value, called **primal**, together with
#   something about its derivative. So `if` has its answer.
#
# The last line is `jit(grad(show_me))`. Here the primal is itself a tracer, of `jit`'s, so there is no
# value in it. Code that works under `grad` can fail under `jit(grad(...))`.
#
# Here are the other ways to ask a tracer for what it does not know. The classes of errors differ, the
# reason is one.

# %%
attempts = {
    "float(n)": lambda n: float(n),
    "range(n)": lambda n: [0 for _ in range(n)],
    "jnp.zeros(n)": lambda n: jnp.zeros(n),
    "x[x > 0]": lambda n: jnp.arange(3)[jnp.arange(3) > n],
}
for text, attempt in attempts.items():
    try:
        jax.make_jaxpr(attempt)(3)
    except Exception as error:
        print(f"{text:14}{type(error).__name__}")

# %% [markdown]
# A conversion, a number of passes, a size, and a size again: how many elements are greater than `n`
# depends on values. Sizes are part of types, so they must be known.
#
# ## What a jaxpr holds beside equations
#
# Numbers such as 2.0 stand in the equations themselves. They are **literals**. An array that your
# function takes from outside is neither an argument nor a literal: it is a **const**.

# %%
table = jnp.array([1.0, 2.0, 3.0])
jaxpr = jax.make_jaxpr(lambda x: 2.0 * x * table)(jnp.ones(3))
print(jaxpr)
print(jaxpr.consts)

# %% [markdown]
# Before the semicolon stand the variables for consts, behind it those for arguments. The array itself
# is kept beside the program. It is the one of the moment of tracing: give the name `table` to another
# array later, and this program will not notice. (Chapter 03 shows what comes of that.)
#
# A function under `jit`, called inside another function, is one equation. Its program is a parameter.

# %%
@jax.jit
def normalise(x):
    return x / jnp.sum(x)


print(jax.make_jaxpr(lambda x: normalise(x) + 1.0)(jnp.ones(3)))

# %% [markdown]
# The inner program has variables of its own: the `a` inside is bound by the inner `lambda`. In brackets
# beside it stands the name of the function. Call it twice, and the inner program is printed once, in
# front, under a name.

# %%
print(jax.make_jaxpr(lambda x: normalise(normalise(x)))(jnp.ones(3)))

# %% [markdown]
# Many functions of `jnp` and `jax.nn` are jitted inside, so equations `jit[...]` are frequent. Loops,
# `cond` and custom derivatives hold programs in the same way.
#
# Where does an equation come from? `pretty_print(source_info=True)` adds the line. (`_` is a variable
# that nobody uses.)

# %% tags=["tinyjax-only"]
print(jax.make_jaxpr(jax.grad(loss))(w, x, y).pretty_print(source_info=True))

# %% [markdown]
# This is the gradient of the loss. No derivative is taken in it any more: it consists of the same kind
# of equations as the loss. And the equations at the end, which compute the gradient from back to
# front, carry the line that they are the derivative of.
#
# ## An interpreter of jaxprs
#
# A jaxpr is a Python object, and you can look at its parts. (`Literal` is the class of the numbers in
# equations; everything else that an equation reads is a variable.)

# %%
jaxpr = jax.make_jaxpr(f)(1.0, 3.0)
for eqn in jaxpr.eqns:
    operands = [str(v.val) if isinstance(v, Literal) else "variable" for v in eqn.invars]
    print(f"{eqn.primitive!s:4} of {operands}")

# %% [markdown]
# To run a program, keep a dictionary of what each variable is worth, and go through the equations.

# %%
def run(jaxpr, *args):
    """Runs a program on arguments; a list of its results."""
    program = jaxpr.jaxpr  # without the consts, which are kept beside it
    value = dict(zip(program.constvars, jaxpr.consts)) | dict(zip(program.invars, args))

    def read(v):
        return v.val if isinstance(v, Literal) else value[v]

    for eqn in program.eqns:
        result = eqn.primitive.bind(*map(read, eqn.invars), **eqn.params)
        results = result if eqn.primitive.multiple_results else [result]
        value.update(zip(eqn.outvars, results))
    return [read(v) for v in program.outvars]


print(f"{run(jaxpr, 1.0, 3.0)[0]:.4f}, and f itself: {f(1.0, 3.0):.4f}")

# %% [markdown]
# `primitive.bind(...)` is how a primitive is called, as in chapter 00. The rest is looking up and
# storing. This function is an **interpreter**: it gives the equations a meaning, here the usual one.
#
# JAX has it as `jax.core.eval_jaxpr`. You will see tinyjax's in a moment.
#
# **Predict.** `run` is Python, and calls primitives. What if its arguments are tracers? What does
# `make_jaxpr` of `lambda x, y: run(jaxpr, x, y)` print?
#
# - `"a"`: an error.
# - `"b"`: one equation, `run`.
# - `"c"`: the program that `run` was given.

# %%
predict("07/trace-the-interpreter", ...)  # "a", "b" or "c"

# %% tags=["reveal"]
print(jax.make_jaxpr(lambda x, y: run(jaxpr, x, y))(1.0, 3.0))

# %% [markdown]
# The program itself. `run` calls `bind` for each equation, on tracers, and each call is recorded. So
# whatever is written as an interpreter can be transformed again: differentiated, batched, compiled.
# This is what *composable* rests on.

# %%
print(jax.grad(lambda x: run(jaxpr, x, 3.0)[0])(1.0))
print(jax.vmap(lambda x: run(jaxpr, x, 3.0)[0])(jnp.array([1.0, 2.0])))

# %% [markdown]
# Change a line, and the program means something else. This interpreter also tells what it does.

# %%
def run_aloud(f, *args):
    """f(*args), with a line for each equation."""
    jaxpr = jax.make_jaxpr(f)(*args)
    program = jaxpr.jaxpr
    value = dict(zip(program.constvars, jaxpr.consts)) | dict(zip(program.invars, args))

    def read(v):
        return v.val if isinstance(v, Literal) else value[v]

    for eqn in program.eqns:
        operands = [read(v) for v in eqn.invars]
        result = eqn.primitive.bind(*operands, **eqn.params)
        print(eqn.primitive, *[f"{o:.3f}" for o in operands], "->", f"{result:.3f}")
        value[eqn.outvars[0]] = result
    return result


result = run_aloud(f, 1.0, 3.0)

# %% [markdown]
# ## A gap to fill
#
# An interpreter need not compute at all. The types alone, which each variable has as `.aval`, say how
# much there is to do.
#
# `tally(f, *args)` shall say how many numbers each kind of primitive computes in all: a dictionary such
# as `{"sub": 2, "integer_pow": 2, ...}`. If a primitive occurs twice, its sizes are added. Fill the
# gap. (Until you do, each entry is `Ellipsis`.)

# %%
def tally(f, *args):
    """How many numbers each kind of primitive computes."""
    counts = {}
    for eqn in jax.make_jaxpr(f)(*args).eqns:
        name = str(eqn.primitive)
        size = eqn.outvars[0].aval.size
        counts[name] = ...  # what was there before (0 at first), and size
    return counts


print(tally(looped, jnp.ones(10)))

# %% [markdown]
# `looped` adds and takes the sine three times, of ten numbers each. So the right answer is
# `{'sin': 30, 'add': 30}`. The next cell holds one way.

# %% tags=["solution"]
def tally(f, *args):
    """How many numbers each kind of primitive computes."""
    counts = {}
    for eqn in jax.make_jaxpr(f)(*args).eqns:
        name = str(eqn.primitive)
        size = eqn.outvars[0].aval.size
        counts[name] = counts.get(name, 0) + size
    return counts


forward = tally(looped, jnp.ones(10))
gradient = tally(jax.grad(lambda x: jnp.sum(looped(x))), jnp.ones(10))
print(forward, "in all", sum(forward.values()))
print(gradient, "in all", sum(gradient.values()))

# %% [markdown]
# The second line is the gradient: cosines have joined, and products. It takes less than three times as
# many numbers as the function. Chapter 09 says why it is never much more.
#
# ## Two views of a transformation
#
# A transformation gives each primitive another meaning. There are two moments at which it can do so.
#
# - **Afterwards**: record a jaxpr first, and interpret that. `jit` does: it records, and its
#   interpreter is a compiler. And the backward pass of `grad` does: it must go through the program from
#   its end, and so needs all of it.
# - **At once**: run your function on tracers that do not record, but act. `vmap` and `jvp` do. This
#   takes no jaxpr and no second pass, and Python's `if` may look at values that the tracers hold.
#
# You have written both already: `run` goes through a program afterwards, `Variable` acts while a function
# runs. (What it does is recording. So even `jit` starts out in the second way.)
#
# ## In the package
#
# Now the lines of tinyjax that do it. `inspect.getsource` reads them from the file that is running, so
# you see what is really there. First: what happens when a primitive is called?

# %% tags=["tinyjax-only"]
from tinyjax import core

print(inspect.getsource(core.Primitive.bind))

# %% [markdown]
# Every operation of every program goes through this line. A **trace** is an object that says what
# primitives mean at present; the current one is asked to `process` the operation. With no
# transformation around, that is the trace that computes with NumPy. Inside of `make_jaxpr` and `jit` it
# is the one that records. (To write that before you read it, stop here and take the exercise
# `tinyjax check 07_tracing/tracer`.)

# %% tags=["tinyjax-only"]
print(inspect.getsource(core.StageTrace.process))

# %% [markdown]
# What stands before `atoms = ...` is about special cases. From there on, it is your `record`.
#
# - `self.atom(a)` finds the variable for each operand; a number becomes a literal, and an array from
#   outside a const.
# - `prim.type(...)` asks the primitive what type its result will have. Nothing is computed.
# - `self.eqns.append(...)` writes the equation down. `here()` is the line of yours that it comes from.
# - A new tracer comes back for each result.
#
# And this is the interpreter. Compare it with your `run`.

# %% tags=["tinyjax-only"]
print(inspect.getsource(core.eval_jaxpr))

# %% [markdown]
# (`multi` is short for `multiple_results`. `@replays()` lets equations keep their source line when they
# are run and recorded again.)
#
# What a trace asks the primitive for, such as `prim.type`, stands on the primitive's **card**. This is
# the card of `sin`, all of it.

# %% tags=["tinyjax-only"]
print(inspect.getsource(lax.sin_p.partials[0]))

# %% [markdown]
# The name; the NumPy function for its value; the derivative, which scales a small change by `cos(x)`;
# and that it takes floating-point and complex numbers. Types and batching are the same for all
# functions that work element by element, so `Elementwise` supplies them.
#
# That is the whole design: cards, which know the primitives, and traces, which ask the cards. Neither
# knows how many there are of the other.
#
# ## The story of a call
#
# With `jax.explain` you can watch transformations work. It shows each program that is made on the way.
# (It is tinyjax's own. In JAX, `make_jaxpr` shows what comes out of it, here number 6.)

# %% tags=["tinyjax-only"]
story = jax.explain(jax.jit(jax.grad(lambda x: f(x, 3.0))))(1.0)
for number, stage in enumerate(story.stages, start=1):
    print(number, stage.title)

# %% tags=["tinyjax-only"]
print(story.only("forward", "linear", "backward"))

# %% [markdown]
# This is what tracers and interpreters did for one gradient. Tracers ran `f`: while it computed its value
# they also recorded a second program, about small changes. An interpreter then went
# through that one from its end to its start. Chapter 08 is about the first half, chapter 09 about the
# second.
#
# ## Build it yourself
#
# The exercises are files in `exercises/07_tracing`, each with its task at the top; the stars say
# how hard they are. To begin, run `tinyjax watch count_traces` in a terminal: it checks the file at
# each save. Or stay here: run `%load_ext tinyjax.learn` once, and start the cell of your answer
# with `%%exercise count_traces`. ([How exercises work](../docs/exercises.md).)
#
# - `*` `tinyjax check 07_tracing/count_traces`: find out how often a function under `jit` is
#   traced.
# - `**` `tinyjax check 07_tracing/write_to_match`: read two programs, and write functions that
#   become them, equation by equation.
# - `**` `tinyjax check 07_tracing/count_runs`: count operations, those in loops and in functions
#   under `jit` as well.
# - `**` `tinyjax check 07_tracing/eval_jaxpr`: write an interpreter that forgets what nobody will
#   read; the package then uses yours.
# - `***` `tinyjax check 07_tracing/tracer`: write `record` for arrays; `make_jaxpr`, `jit` and
#   `grad` then record with yours.
#
# And to try, beyond the exercises:
#
# 1. `my_make_jaxpr(bent)` fails. Give `Variable` the methods `__gt__` and `__neg__`, which record,
#    and `__bool__`, which raises an error. What should its message say?
# 2. Give `Variable` a type: a shape beside the name. What is the shape of `a + b`, and when should
#    `record` refuse?
# 3. Write `replace_sin(f)`: an interpreter which does what `run` does, except that for an equation
#    `sin` it computes `x - x**3 / 6`. Check that `jax.grad(replace_sin(f))` differentiates the
#    replacement.

# %%
# Your space.

# %% [markdown]
# ## What you know now
#
# - A function is traced by running it on stand-ins, which know a type and no value. What they
#   write down is a jaxpr: equations of primitives, with types.
# - Python runs while tracing, and only then. Loops are unrolled, conditions on shapes and Python values
#   are decided, conditions on values are refused.
# - An interpreter goes through a jaxpr and gives each equation a meaning. If it uses `bind`, it can be
#   traced and transformed itself.
# - Some transformations interpret a jaxpr, some act while the function runs. Both ask the primitive's
#   card.
#
# Older posts print tracers as `Traced<ShapedArray(float32[3])>with<DynamicJaxprTrace(level=1/0)>`, and
# the equation of a jitted function as `xla_call[...]` or `pjit[...]`. What used to be
# `jax.core.Literal`, `jax.core.Primitive` and so on is now in `jax.extend.core`.
#
# **Next:** [chapter 08](08_jvp.ipynb) lets tracers carry derivatives.
