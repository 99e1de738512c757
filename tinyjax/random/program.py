"""Samplers as programs: large samples are worth compiling, small ones are recorded."""

import functools
import math

from tinyjax.primitives.large import LARGE
from tinyjax.transforms.replay import recorded
from tinyjax.transforms.subprogram import PackageJit, in_program


def program(*static):
    """Decorate a sampler, whose keyword `shape` is that of the result.

    Inside a program it is a jit equation. Called on arrays it is compiled if the sample is large.
    static: the names of arguments that are no arrays.
    """

    def decorate(fun):
        jitted, eager = PackageJit(fun, static), recorded(fun)

        @functools.wraps(fun)
        def wrapper(*args, **kwargs):
            large = math.prod(kwargs.get("shape") or ()) >= LARGE
            return (jitted if large or in_program() else eager)(*args, **kwargs)

        return wrapper

    return decorate
