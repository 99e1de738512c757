# %% [markdown]
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

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def clamp(code, low, x, high):
    """The text of x, kept between low and high."""
    raise NotImplementedError


def logistic(code, x):
    """The text of 1 / (1 + exp(-x))."""
    raise NotImplementedError


def not_(code, x):
    """The text of not x; for integers, of all bits changed."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "kernel_rule"]))
