"""Abstract values: what is known of an array while a function is traced."""

import math

from tinyjax import dtypes


class ShapedArray:
    """Shape, dtype and weak type: the type of an array, without its data.

    A weak type comes from a Python number: it adapts to the dtype it meets.
    """

    __slots__ = ("dtype", "shape", "weak_type")

    def __init__(self, shape, dtype, weak_type=False):
        self.shape, self.dtype, self.weak_type = tuple(shape), dtype, weak_type

    ndim = property(lambda self: len(self.shape))

    @property
    def size(self):
        """Number of elements."""
        return math.prod(self.shape)

    def __eq__(self, other):
        same = type(other) is ShapedArray and self.matches(other)
        return same and self.weak_type == other.weak_type

    def __hash__(self):
        return hash((self.shape, self.dtype, self.weak_type))

    def matches(self, other):
        """Equal but for the weak type."""
        return self.shape == other.shape and self.dtype == other.dtype

    def update(self, shape=None, dtype=None, weak_type=None):
        """A copy with some parts replaced."""
        return ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
        )

    def strip_weak_type(self):
        """The same type, not weak."""
        return self.update(weak_type=False) if self.weak_type else self

    def str_short(self, short_dtypes=False):
        """'float32[2,3]', or 'f32[2,3]' as jaxprs print it."""
        name = dtypes.short_name(self.dtype) if short_dtypes else self.dtype.name
        return f"{name}[{','.join(map(str, self.shape))}]"

    def __str__(self):
        return "~" * self.weak_type + self.str_short()

    def __repr__(self):
        return f"ShapedArray({self.str_short()}{', weak_type=True' * self.weak_type})"


class Value:
    """What programs compute with: an Array or a Tracer.

    Operators and NumPy-like methods (`x + y`, `x.sum()`, `x.at`) are installed by tinyjax.numpy.
    """

    __slots__ = ("__weakref__", "draws")  # draws: made from this key (random/draws.py)
    __array_priority__ = 100  # NumPy arrays let us handle `ndarray + Value`
    literal = False

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    weak_type = property(lambda self: self.aval.weak_type)
    ndim = property(lambda self: len(self.aval.shape))
    size = property(lambda self: self.aval.size)
