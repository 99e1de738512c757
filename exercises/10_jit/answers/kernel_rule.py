# The card of the exercise kernel_rule. Spoilers: it holds the solutions.
# %% [markdown] about
# difficulty: 3
# minutes: 30

# %% [markdown] statement
# # A line of the kernel
#
# `jit` turns each equation into a line of a kernel. What the line says is written down in a table,
# `PLAIN` in `tinyjax/compiler/words.py`: for each primitive a function that returns a text. In this
# exercise three of them are yours. The compiler asks them, and the kernels run what they say.
#
# Write `clamp`, `logistic` and `not_`. Each takes `code`, which says of what type the operands
# are (`"f32"`, `"i32"`, `"bool"` ...), and the operands. These are **texts**, such as `"b_i"` or
# `"f32(2.0)"`. Each returns a text, the expression that computes the result:
#
# - `clamp(code, low, x, high)`: `x`, but no less than `low` and no more than `high`;
# - `logistic(code, x)`: 1 / (1 + exp(-x)), for any float, 200.0 and -200.0 as well;
# - `not_(code, x)`: the other truth value for `"bool"`; else an integer, all of whose bits change
#   (`~5` is `-6`).
#
# The kernel language knows `+ - * / < > == & | ^ ~`, the words `minimum maximum where abs sqrt
# exp tanh`, and numbers such as `2.0` or `f32(2.0)`. It knows no `np`, no `max`, and no names of
# yours. What does not compile is left to the interpreter, with a warning; here, everything must
# compile.
#
#     sub = lambda code, x, y: f"{x} - {y}"    # how the rule of `sub` would look
#     sub("f32", "a_i", "f32(2.0)")            # 'a_i - f32(2.0)'
#
# To see a kernel, print `jax.jit(f).lower(x).kernels()`, as chapter 10 does.
#
# Run this file, or `tinyjax check kernel_rule`, to see whether it is right.

# %% given
import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def clamp(code, low, x, high):
    """The text of x, kept between low and high."""
    raise NotImplementedError


def logistic(code, x):
    """The text of 1 / (1 + exp(-x))."""
    raise NotImplementedError


def not_(code, x):
    """The text of not x; for integers, of all bits changed."""
    raise NotImplementedError


# %% [markdown] hint
# Your function runs once, while the program is compiled. Are there any numbers at that time, or
# texts only?

# %% [markdown] hint
# Write down the expression as it would stand in the loop, with the operands put in by an f-string.
# `minimum(maximum(...), ...)` keeps a number between two others. For `not_`, think of both kinds of
# operands: if one expression does not serve both, look at `code`.

# %% [markdown] hint
#     def clamp(code, low, x, high):
#         return f"minimum(maximum({x}, ...), ...)"
#
#     def logistic(code, x):
#         return f"1.0 / (...)"
#
#     def not_(code, x):
#         if code == "bool":
#             return f"{x} ^ ..."
#         return ...

# %% checks
import ast
import re
import warnings

import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.compiler import words
from tinyjax.compiler.intrinsics_py import WORDS
from tinyjax.learn import check

seconds = 60.0


def install(student):
    """The student's texts take the place of the package's."""
    words.PLAIN["clamp"] = student.clamp
    words.PLAIN["logistic"] = student.logistic
    words.PLAIN["not"] = student.not_


def unknown_names(text):
    """The names in kernels that are no words of the kernel language and were not given a value."""
    try:
        kernels = [f for f in ast.parse(text).body if re.search(r"_\d+$", f.name)]
    except SyntaxError:
        return []
    found = set()
    for kernel in kernels:
        names = [node for node in ast.walk(kernel) if isinstance(node, ast.Name)]
        given = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        given |= {argument.arg for argument in kernel.args.args} | {"range", *WORDS}
        found |= {node.id for node in names} - given
    return sorted(found)


def compiled(f, *args):
    """What f returns under jit, of how many functions, and why it was not compiled, if so."""
    program = jax.jit(f)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = program(*args)
    text = program.lower(*args).kernels()
    unknown = unknown_names(text)
    said = [str(w.message) for w in caught if "could not be compiled" in str(w.message)]
    reasons = [re.sub(r"\x1b\[\d*m", "", message.split("\n")[0]) for message in said]
    reasons = [reason.split("'intp', 'intp'): ")[-1] for reason in reasons]
    return {
        "result": result,
        "functions": text.count("\ndef "),
        "not compiled": f"unknown: {', '.join(unknown)}" if unknown else reasons,
    }


def draw(rng):
    """Floats, with a large one and a small one, and two limits."""
    x = rng.normal(0.0, 2.0, size=7).round(2)
    return {
        "x": rng.permutation([*x, 5.5, -5.5]).astype(np.float32),
        "low": round(float(rng.uniform(-2.0, -0.5)), 2),
        "high": round(float(rng.uniform(0.5, 2.0)), 2),
    }


@check("clamp, in a kernel with other operations")
def with_clamp(student, x, low, high):
    return compiled(lambda x: lax.clamp(low, 1.5 * x, high) + x, x)


@check("logistic, and its derivative for each of many numbers")
def with_logistic(student, x, low, high):
    def f(x):
        return 3.0 * lax.logistic(40.0 * x) - x

    def slope(x):
        return 3.0 * lax.logistic(x) - x

    return [compiled(f, x), compiled(jax.vmap(jax.grad(slope)), x)]


@check("not, of truth values and of integers")
def with_not(student, x, low, high):
    truths = compiled(lambda x: jnp.where(~(x > high), 2.0 * x, -1.0), x)
    whole = jnp.round(x).astype(int)
    return [truths, compiled(lambda n: 10 * ~(n + 3), whole)]


# %% reference
def clamp(code, low, x, high):
    """The text of x, kept between low and high."""
    return f"minimum(maximum({x}, {low}), {high})"


def logistic(code, x):
    """The text of 1 / (1 + exp(-x))."""
    return f"1.0 / (1.0 + exp(-{x}))"  # where exp is inf, this is 0


def not_(code, x):
    """The text of not x; for integers, of all bits changed."""
    if code == "bool":
        return f"{x} ^ True"
    return f"~{x}"


# %% right: with where and tanh
def clamp(code, low, x, high):
    return f"where({x} < {low}, {low}, where({x} > {high}, {high}, {x}))"


def logistic(code, x):
    return "0.5 + 0.5 * tanh(0.5 * " + x + ")"


def not_(code, x):
    return {"bool": f"{x} == False"}.get(code, f"-1 - {x}")


# %% right: Python's conditional expression, and typed numbers
class Text:
    def __init__(self, pattern):
        self.pattern = pattern

    def __call__(self, code, *xs):
        return self.pattern.format(*xs, code)


clamp = Text("{0} if {1} < {0} else {2} if {1} > {2} else {1}")
logistic = Text("{1}(1.0) / ({1}(1.0) + exp(-{0}))")


def not_(code, ω):
    return f"(~{ω})"


# %% wrong: Python's functions
# You used min and max, which the kernel language does not know: its words are minimum and maximum.
def clamp(code, low, x, high):
    return f"min(max({x}, {low}), {high})"


def not_(code, x):
    return f"~{x}"


# %% wrong: NumPy in the kernel
# You wrote np. in a kernel, where NumPy is not known: its words are exp, tanh, minimum and so on.
def clamp(code, low, x, high):
    return f"np.minimum(np.maximum({x}, {low}), {high})"


def logistic(code, x):
    return f"1.0 / (1.0 + np.exp(-{x}))"


def not_(code, x):
    return f"np.invert({x})"


# %% wrong: values
# You computed with the operands, but they are texts: return the text of an expression.
def clamp(code, low, x, high):
    return jnp.minimum(jnp.maximum(x, low), high)


def logistic(code, x):
    return 1.0 / (1.0 + jnp.exp(x))


def not_(code, x):
    return ~x


# %% wrong: the names of the arguments
# You wrote the names low, x and high into the text: put the operands' texts there, with an
# f-string.
def clamp(code, low, x, high):
    return "minimum(maximum(x, low), high)"


def logistic(code, x):
    return "1.0 / (1.0 + exp(-x))"


def not_(code, x):
    return "~x"


# %% wrong: low and high are swapped
# You took the larger of x and high, and the smaller of that and low: it is maximum with low,
# minimum with high.
def clamp(code, low, x, high):
    return f"minimum(maximum({x}, {high}), {low})"


def not_(code, x):
    return f"~{x}"


# %% wrong: no brackets
# Your division comes before the sum: put the sum 1.0 + exp(-x) in brackets.
def logistic(code, x):
    return f"1.0 / 1.0 + exp(-{x})"


def not_(code, x):
    return f"~{x}"


# %% wrong: the sign is missing
# You left out the minus sign: exp(-x), or else the curve falls.
def logistic(code, x):
    return f"1.0 / (1.0 + exp({x}))"


def not_(code, x):
    return f"~{x}"


# %% wrong: exp overflows
# Your quotient is inf / inf for a large x, which is no number: divide 1 by 1 + exp(-x).
def logistic(code, x):
    return f"exp({x}) / (1.0 + exp({x}))"


def not_(code, x):
    return f"~{x}"


# %% wrong: not for truth values only
# Python's not gives a truth value, so integers become 0 or 1: for them, change all bits with ~.
def not_(code, x):
    return f"not {x}"


# %% wrong: xor with True for integers
# You changed the last bit only: ^ True does for truth values, an integer needs ~.
def not_(code, x):
    return f"{x} ^ True"


# %% wrong: printed
# You printed the texts and returned None, so these equations are left to NumPy: return the text.
def clamp(code, low, x, high):
    print(f"minimum(maximum({x}, {low}), {high})")


def logistic(code, x):
    print(f"1.0 / (1.0 + exp(-{x}))")


def not_(code, x):
    print(f"~{x}")
