"""Mixing arguments: one dtype for all of them, ranks that fit; what separates jnp from lax."""

import functools

import numpy as np

from tinyjax import dtypes, lax
from tinyjax.array import Array, lift
from tinyjax.config import current_flags
from tinyjax.numpy.checks import check_arraylike
from tinyjax.primitives.arithmetic import alike
from tinyjax.primitives.broadcasting import common_shape
from tinyjax.primitives.linear import convert
from tinyjax.source import warn
from tinyjax.tracebacks import shorten
from tinyjax.transforms.replay import recorded

# ---- dtypes -------------------------------------------------------------------------------------


def promote_dtypes(*args):
    """Arguments at the one dtype (and weak type) that mixing them gives."""
    if len(args) < 2:
        return [lift(a) for a in args]
    dtype, weak_type = dtypes.lattice_result_type(*args)
    return [convert(a, dtype, weak_type) for a in args]


def promote_dtypes_inexact(*args):
    """The same, and integers become floats."""
    dtype, weak_type = dtypes.lattice_result_type(*args)
    dtype = dtypes.to_inexact_dtype(dtype)
    return [convert(a, dtype, weak_type) for a in args]


def promote_dtypes_numeric(*args):
    """The same, and booleans become integers."""
    dtype, weak_type = dtypes.lattice_result_type(*args)
    dtype = dtypes.to_numeric_dtype(dtype)
    return [convert(a, dtype, weak_type) for a in args]


def promote_dtypes_complex(*args):
    """The same, and reals become complex."""
    dtype, weak_type = dtypes.lattice_result_type(*args)
    dtype = dtypes.to_complex_dtype(dtype)
    return [convert(a, dtype, weak_type) for a in args]


# ---- shapes -------------------------------------------------------------------------------------


def promote_shapes(fun_name, *args):
    """Give arrays of different ranks one rank: leading axes of size 1. Scalars may stay scalars."""
    ranks = {np.ndim(a) for a in args} - {0}
    if len(ranks) < 2:
        return [lift(a) for a in args]
    shapes = [np.shape(a) for a in args]
    _check_rank_promotion(fun_name, shapes)
    rank = len(common_shape(shapes, args))
    return [lax.broadcast_to_rank(a, rank) for a in args]


def _check_rank_promotion(fun_name, shapes):
    """Warn or raise about ranks that differ, when the flag numpy_rank_promotion says so."""
    mode = current_flags().numpy_rank_promotion
    text = " ".join(map(str, shapes))
    if mode == "warn":
        warn(
            f"Following NumPy automatic rank promotion for {fun_name} on shapes {text}. Set the "
            "jax_numpy_rank_promotion config option to 'allow' to disable this warning.",
        )
    elif mode == "raise":
        raise ValueError(
            f"Operands could not be broadcast together for {fun_name} on shapes {text} and with "
            "the config option jax_numpy_rank_promotion='raise'. Reshape the operands to one rank."
        )


# ---- both ---------------------------------------------------------------------------------------


def promote_args(fun_name, *args):
    """Arguments as Values that a lax function takes: one dtype, ranks that fit."""
    if len(args) == 2:
        x, y = args
        if type(x) is Array and type(y) is Array:  # nothing to do is the common case
            a, b = x.npy, y.npy
            if a.dtype is b.dtype and a.ndim == b.ndim and x.weak_type == y.weak_type:
                return args
        elif type(x) is Array and adapts(y, x):
            return x, Array(x.npy.dtype.type(y), literal=True)
        elif type(y) is Array and adapts(x, y):
            return Array(y.npy.dtype.type(x), literal=True), y
    elif len(args) == 1 and type(args[0]) is Array and args[0].npy.dtype.kind != "V":
        return args
    check_args(fun_name, *args)
    return promote_shapes(fun_name, *promote_dtypes(*args))


def adapts(number, x):
    """Whether a Python number takes the dtype of an Array, which stays as it is."""
    if x.weak_type:
        return False
    if type(number) is float:
        return x.npy.dtype.kind == "f"
    if type(number) is int:  # larger ones overflow, or wrap around in a narrow dtype
        kind = x.npy.dtype.kind
        return kind == "f" and -(2**31) <= number < 2**31 or kind == "i" and -128 <= number < 128
    return False


def just(prim, kinds):
    """Decorate a function of two arguments that is just `prim` where there is nothing to promote.

    That is so for two Arrays of one type, or an Array and a number, if the dtype is of one of these
    kinds. It is the common case, and the check is all that stands between a user and NumPy.
    """

    def decorate(fun):
        general = recorded(fun)

        @functools.wraps(fun)
        def function(x, y, /):
            try:
                if type(x) is Array:
                    if type(y) is Array:
                        if alike(x, y) and x.npy.dtype.kind in kinds:
                            return prim.bind(x, y)
                    elif adapts(y, x) and x.npy.dtype.kind in kinds:
                        return prim.bind(x, Array(x.npy.dtype.type(y), literal=True))
                elif type(y) is Array and adapts(x, y) and y.npy.dtype.kind in kinds:
                    return prim.bind(Array(y.npy.dtype.type(x), literal=True), y)
                return general(x, y)
            except Exception as error:
                shorten(error)
                raise

        return function

    return decorate


def promote_args_numeric(fun_name, *args):
    """The same, and booleans become integers."""
    check_args(fun_name, *args)
    return promote_shapes(fun_name, *promote_dtypes_numeric(*args))


def promote_args_ordered(fun_name, *args):
    """The same for functions that ask which argument is larger.

    Without 64-bit types uint32 and a signed type meet in int32. Larger numbers do not fit there:
    they become the largest that does, where they would turn negative otherwise.
    """
    kinds = {d.kind for a in args if isinstance(d := getattr(a, "dtype", None), np.dtype)}
    if {"u", "i"} <= kinds:
        dtype, _ = dtypes.lattice_result_type(*args)
        args = [capped(a, dtype) for a in args]
    return promote_args(fun_name, *args)


def capped(x, dtype):
    """x, or the largest number of a signed dtype if x is of a wide unsigned one and larger."""
    own = getattr(x, "dtype", dtype)
    if own.kind != "u" or dtype.kind != "i" or own.itemsize < dtype.itemsize:
        return x
    x = lift(x)
    return lax.min(x, Array(np.asarray(np.iinfo(dtype).max, own), literal=True))


def promote_args_inexact(fun_name, *args):
    """The same, and integers become floats."""
    if len(args) == 1:
        x = args[0]
        if type(x) is Array and x.npy.dtype.kind == "f":
            return args
    check_args(fun_name, *args)
    return promote_shapes(fun_name, *promote_dtypes_inexact(*args))


def check_args(fun_name, *args):
    """Raise TypeError for what is no array, or an array that no arithmetic takes."""
    check_arraylike(fun_name, *args)
    found = [a.dtype for a in args if hasattr(a, "dtype")]
    if dtypes.float0 in found:
        raise TypeError(
            f"Called {fun_name} with a float0 array. float0s do not support any operations by "
            "design: they are the tangents of integers, which have none. If you did not expect "
            "one, you may have differentiated with respect to an integer argument. "
            "np.zeros_like(x, dtype=float) makes an array of zeros of it."
        )
    if len(args) > 1 and any(isinstance(d, dtypes.ExtendedDType) for d in found):
        names = [str(dtypes.dtype(a)) for a in args]
        if len(set(names)) > 1:
            raise TypeError(
                f"{fun_name} does not accept dtypes {', '.join(names)}. Keys are not numbers: "
                "jax.random.fold_in(key, i) makes another key, jax.random.split(key) two."
            )


# ---- constants beside an array ------------------------------------------------------------------


def const(example, value):
    """A number at the dtype of an example; weakly typed beside a weakly typed scalar."""
    weak = bool(example.weak_type) and example.ndim == 0
    return Array(np.asarray(value).astype(example.dtype), weak, literal=True)


def constant_like(example, value):
    """A number at the dtype of an example, not weakly typed."""
    return Array(np.asarray(value).astype(example.dtype), literal=True)


def to_shape(x, shape):
    """Broadcast to a shape; see lax.broadcast_to."""
    return lax.broadcast_to(x, shape)


def broadcast_together(*args):
    """Values broadcast to their common shape."""
    shapes = [a.shape for a in args]
    if len(set(shapes)) <= 1:
        return list(args)
    shape = common_shape(shapes, args)
    return [to_shape(a, shape) for a in args]
