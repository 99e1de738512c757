"""Small things that jax.lax has: options that CPUs ignore, tokens, sinks, platforms, shapes."""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tinyjax.array import Array, lift
from tinyjax.core import Primitive, Tracer
from tinyjax.primitives import slicing
from tinyjax.primitives.broadcasting import broadcast_to
from tinyjax.primitives.conv_shapes import ConvDimensionNumbers
from tinyjax.primitives.dot import DotAlgorithmPreset, Precision
from tinyjax.primitives.linear import full
from tinyjax.transforms.subprogram import subprogram
from tinyjax.tree_util import tree_map

# ---- types of arguments -------------------------------------------------------------------------

Axes = Sequence[int]
#: What dot_general takes for dimension_numbers: contracting and batch axes of both operands.
DotDimensionNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]
#: What conv_general_dilated takes for dimension_numbers.
ConvGeneralDilatedDimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str]


class DotAlgorithm(NamedTuple):
    """How an accelerator computes a dot product; a CPU knows the ones of DotAlgorithmPreset.

    lhs_precision_type, rhs_precision_type: what the operands are rounded to.
    accumulation_type: the dtype of sums. lhs_component_count, rhs_component_count,
    num_primitive_operations: into how many parts operands are split, and how many products of parts
    are summed. allow_imprecise_accumulation: whether some sums may be less exact.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


OnePrecision = str | Precision
#: What products take for precision.
PrecisionLike = (
    None | OnePrecision | tuple[OnePrecision, OnePrecision] | DotAlgorithm | DotAlgorithmPreset
)


class AccuracyMode(enum.Enum):
    """How accurate a function should be; CPUs always are as accurate as they can."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """Which error a function may have: absolute, relative, or in units of the last place.

    Raises ValueError when one is negative or none is given.
    """

    def __init__(self, atol=0.0, rtol=0.0, ulps=0):
        if min(atol, rtol, ulps) < 0:
            raise ValueError("Tolerances must be non-negative.")
        if not (atol or rtol or ulps):
            raise ValueError("At least one of atol, rtol, or ulps must be set.")
        self.atol, self.rtol, self.ulps = atol, rtol, ulps


# ---- values and shapes --------------------------------------------------------------------------


def stage(x, /):
    """x as a value of the current trace: an array, outside of programs.

    >>> from tinyjax import lax
    >>> lax.stage(1)
    Array(1, dtype=int32, weak_type=True)
    """
    return lift(x)


def broadcast_like(arr, like_arr):
    """arr broadcast to the shape of another array. Raises ValueError if it does not fit.

    >>> from tinyjax import lax, numpy as jnp
    >>> lax.broadcast_like(jnp.arange(2), jnp.zeros((2, 2)))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    return broadcast_to(arr, lift(like_arr).shape)


def shape_as_value(shape):
    """A shape as an array of integers.

    >>> from tinyjax import lax
    >>> lax.shape_as_value((2, 3))
    array([2, 3], dtype=int32)
    """
    if not len(shape):
        return full((0,), np.int32(0))
    return np.asarray(shape, np.int32)


# ---- sinks and tokens ---------------------------------------------------------------------------


class DceSink(Primitive):
    """dce_sink[prevent_mlir_dce] x: keeps what computes x in a program."""

    multi = effectful = True

    def impl(self, x, *, prevent_mlir_dce):
        return []

    def type(self, x, *, prevent_mlir_dce):
        return []

    def weak_result(self, args, params):
        return False

    def jvp(self, primals, tangents, **params):
        return self.bind(*primals, **params), []

    def batch(self, axis, vals, dims, /, **params):
        return self.bind(*vals, **params), []


dce_sink_p = DceSink("dce_sink")


def dce_sink(val, *, prevent_mlir_dce=False):
    """Keep the arrays of a pytree, and what computes them, in a program that does not return them.

    Args:
      val: a pytree of arrays.
      prevent_mlir_dce: accepted as JAX's.
    """
    tree_map(lambda x: dce_sink_p.bind(lift(x), prevent_mlir_dce=prevent_mlir_dce), val)


class Token(Array):
    """Something to wait for: on one CPU, where nothing runs ahead, an array of nothing."""

    __slots__ = ()

    def __init__(self):
        super().__init__(np.zeros((0,), bool))


def create_token(_=None):
    """A token that waits for nothing. The argument is ignored."""
    return Token()


def after_all(*operands):
    """A token that waits for several. Raises TypeError for operands that are no tokens."""
    if not all(isinstance(t, Token | Tracer) for t in operands):
        raise TypeError("Arguments to after_all must be tokens")
    return Token()


# ---- which program runs -------------------------------------------------------------------------


def platform_dependent(*args, default=None, **per_platform):
    """Call the function of this platform, which is a CPU.

    Args:
      args: arguments of the function.
      default: the function for platforms that are not named.
      per_platform: functions by the names of platforms.

    Raises TypeError for functions that are none, NotImplementedError when there is none for a CPU.

    >>> from tinyjax import lax
    >>> lax.platform_dependent(2.0, cpu=lambda x: x + 1, default=lambda x: x)
    3.0
    """
    for name, function in per_platform.items():
        if not callable(function):
            raise TypeError(f"lax.platform_dependent: the '{name}' branch must be a callable.")
        if name == "gpu":
            raise ValueError("Use 'cuda' or 'rocm' for lax.platform_dependent.")
    if default is not None and not callable(default):
        raise TypeError("lax.platform_dependent: the 'default' branch must be a callable.")
    function = per_platform.get("cpu", default)
    if function is None:
        raise NotImplementedError(
            f"platform_dependent has no branch for 'cpu' and no default: {list(per_platform)}"
        )
    return function(*args)


# ---- what stands as one equation in a jaxpr -----------------------------------------------------

dynamic_index_in_dim = subprogram(
    slicing.dynamic_index_in_dim,
    static_argnames=("axis", "keepdims", "allow_negative_indices"),
)
