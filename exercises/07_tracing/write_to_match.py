# %% [markdown]
# # From the program back to the function
#
# You have read jaxprs. Now write functions for them. Each of the two must become, equation by
# equation, the program that is printed here.
#
# This is what `first` becomes for a vector of 4 numbers:
#
#     { lambda ; a:f32[4]. let
#         b:f32[] = reduce_sum[axes=(0,) out_sharding=None] a
#         c:f32[] = div b 4.0:f32[]
#         d:f32[4] = sub a c
#         e:f32[4] = integer_pow[y=2] d
#         f:f32[] = reduce_max[axes=(0,)] e
#       in (f, c) }
#
# For 7 numbers it is the same, with `f32[7]` for `f32[4]` and with `7.0` for `4.0`.
#
# This is what `second` becomes for a number `x` and `n=3`, which is a Python number:
#
#     { lambda ; a:f32[]. let
#         b:f32[] = sin a
#         c:f32[] = mul 2.0:f32[] b
#         d:f32[] = sub c a
#         e:f32[] = sin d
#         f:f32[] = mul 2.0:f32[] e
#         g:f32[] = sub f a
#         h:f32[] = sin g
#         i:f32[] = mul 2.0:f32[] h
#         j:f32[] = sub i a
#       in (j,) }
#
# For `n=1` it ends with `in (d,)`. To see what your functions become, print
# `jax.make_jaxpr(first)(jnp.ones(4))` and `jax.make_jaxpr(second, static_argnums=1)(1.0, 3)`.
#
# Run this file, or `tinyjax check write_to_match`, to see whether it is right.

# %%
import tinyjax as jax
import tinyjax.numpy as jnp


def first(x):
    """The first program, of a vector x."""
    raise NotImplementedError


def second(x, n):
    """The second program, of a number x, for a Python number n."""
    raise NotImplementedError


# %%
if __name__ == "__main__":
    from tinyjax.learn.cli import main

    raise SystemExit(main(["check", "write_to_match"]))
