"""Samplers as programs: large samples are worth compiling, small ones are not."""

import functools
import math

from tinyjax.transforms.jit import jit
from tinyjax.transforms.subprogram import in_program

LARGE = 1 << 17  # elements


def program(*static):
    """Decorate a sampler, whose keyword `shape` is that of the result.

    Inside a program it is a jit equation. Called on arrays it is compiled if the sample is large.
    static: the names of arguments that are no arrays.
    """

    def decorate(fun):
        jitted = jit(fun, static_argnames=static)

        @functools.wraps(fun)
        def wrapper(*args, **kwargs):
            large = math.prod(kwargs.get("shape") or ()) >= LARGE
            return (jitted if large or in_program() else fun)(*args, **kwargs)

        return wrapper

    return decorate
