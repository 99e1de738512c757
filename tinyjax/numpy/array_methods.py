"""What arrays can do by themselves: operators and methods, installed on Array and Tracer."""

import numpy as np

from tinyjax import dtypes, lax, messages
from tinyjax import numpy as jnp
from tinyjax.array import Array, lift
from tinyjax.avals import Value
from tinyjax.config import current_flags
from tinyjax.core import EVAL, Tracer, current_trace
from tinyjax.index_warnings import check_reading
from tinyjax.numpy import comparisons, ufuncs
from tinyjax.numpy.at import IndexUpdate
from tinyjax.numpy.indexing import take_index
from tinyjax.putting import device_put
from tinyjax.tracebacks import boundary, shorten

# ---- operators ----------------------------------------------------------------------------------

NUMBERS = (Value, int, float, complex, np.generic, np.ndarray)  # the commonest first
CONTAINERS = (list, tuple, dict, set)


def operand(other):
    """The other operand of an operator, or NotImplemented if it is none of ours to handle."""
    if isinstance(other, NUMBERS):
        return other
    if hasattr(other, "__jax_array__"):
        return other.__jax_array__()
    return NotImplemented


def binary(function, symbol):
    """-> methods for x * y and y * x."""

    def forward(self, other):
        try:
            if isinstance(other, NUMBERS):
                return function(self, other)
            return unusual(function, symbol, self, other, False)
        except Exception as error:
            shorten(error)
            raise

    def reflected(self, other):
        try:
            if isinstance(other, NUMBERS):
                return function(other, self)
            return unusual(function, symbol, self, other, True)
        except Exception as error:
            shorten(error)
            raise

    return forward, reflected


def unusual(function, symbol, self, other, swap):
    """An operator with something that is neither a number nor an array."""
    value = operand(other)
    if value is not NotImplemented:
        return function(value, self) if swap else function(self, value)
    if type(other) in CONTAINERS and symbol in "+*==!=":
        raise messages.container_operand(symbol, self, other, swap)
    return NotImplemented


OPERATORS = {
    "add": (ufuncs.add, "+"),
    "sub": (ufuncs.subtract, "-"),
    "mul": (ufuncs.multiply, "*"),
    "truediv": (ufuncs.true_divide, "/"),
    "pow": (ufuncs.power, "**"),
    "and": (comparisons.bitwise_and, "&"),
    "or": (comparisons.bitwise_or, "|"),
    "xor": (comparisons.bitwise_xor, "^"),
    "lshift": (comparisons.left_shift, "<<"),
    "rshift": (comparisons.right_shift, ">>"),
}
LATE_OPERATORS = {  # their files are loaded when they are first used
    "floordiv": ("floor_divide", "//"),
    "mod": ("remainder", "%"),
    "divmod": ("divmod", "divmod"),
    "matmul": ("matmul", "@"),
}
COMPARISONS = {
    "eq": (comparisons.equal, "=="),
    "ne": (comparisons.not_equal, "!="),
    "lt": (comparisons.less, "<"),
    "le": (comparisons.less_equal, "<="),
    "gt": (comparisons.greater, ">"),
    "ge": (comparisons.greater_equal, ">="),
}


def to_power(self, other, mod=None):
    """x ** y; Python's three-argument pow is not supported."""
    return NotImplemented if mod is not None else POWER(self, other)


POWER, REFLECTED_POWER = binary(ufuncs.power, "**")


def to_round(self, ndigits=None):
    """round(x) gives integers, round(x, n) floats."""
    out = jnp.round(self, decimals=ndigits or 0)
    return out.astype(int) if ndigits is None else out


# ---- containers ---------------------------------------------------------------------------------


BASIC = {int, slice, type(None), type(Ellipsis)}


def get_item(self, index):
    """x[index]: of an array that nobody traces, NumPy's view does for numbers and slices."""
    try:
        if type(self) is Array and current_trace() is EVAL:
            entries = index if type(index) is tuple else (index,)
            if BASIC.issuperset(map(type, entries)):
                try:
                    return Array(self.npy[index], self.weak_type)
                except IndexError:
                    pass  # out of bounds: the nearest element
        if current_flags().warn_index_bounds:
            check_reading(self, index)
        return take_index(self, index)
    except Exception as error:
        shorten(error)
        raise


def length(self):
    """len(x): the size of the first axis."""
    shape = self.shape
    if not shape:
        raise TypeError("len() of unsized object")
    return shape[0]


def iterate(self):
    """The slices along the first axis."""
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    if isinstance(self, Array):
        return iter([Array(row, self.weak_type) for row in self.npy])
    rest = self.shape[1:]
    strides = (1,) * self.ndim

    def row(i):
        out = lax.slice(self, (i, *[0] * len(rest)), (i + 1, *rest), strides)
        return lax.squeeze(out, (0,))

    return map(row, range(self.shape[0]))


@boundary
def contains(self, other):
    """x in array."""
    if other is None or isinstance(other, str):
        raise TypeError(f"Array.__contains__: unsupported operand type {type(other)}.")
    query = lift(other)
    if self.ndim != 1:
        raise ValueError(
            f"Array.__contains__: search array must be one-dimensional, got {self.shape}."
        )
    if query.ndim != 0:
        raise ValueError(
            f"Array.__contains__: query value must be a scalar, got query.shape={query.shape}"
        )
    return bool(jnp.any(self == query))


# ---- what arrays refuse -------------------------------------------------------------------------


def set_item(self, index, value):
    """x[index] = value: arrays do not change."""
    raise messages.immutable(self, index, value)


def delete_item(self, index):
    """del x[index]"""
    raise messages.cannot_delete(self, index)


def format_traced(self, spec):
    """f"{x}" shows a tracer; f"{x:.2f}" would need its value."""
    if spec:
        raise messages.cannot_format(self)
    return repr(self)


# ---- methods that are not just functions --------------------------------------------------------


def reshape_method(self, *args, order="C"):
    """x.reshape(2, 3) or x.reshape((2, 3)); see jnp.reshape."""
    try:
        return jnp.reshape(self, args[0] if len(args) == 1 else args, order)
    except Exception as error:
        shorten(error)
        raise


def transpose_method(self, *args):
    """x.transpose(1, 0) or x.transpose((1, 0)); see jnp.transpose."""
    try:
        if not args:
            return jnp.transpose(self)
        return jnp.transpose(self, args[0] if np.ndim(args[0]) or args[0] is None else args)
    except Exception as error:
        shorten(error)
        raise


@boundary
def compress_method(self, condition, axis=None, *, out=None, size=None, fill_value=0):
    """See jnp.compress."""
    return jnp.compress(condition, self, axis, out=out, size=size, fill_value=fill_value)


@boundary
def to_device(self, device, *, stream=None):
    """The same array on a device, or as a sharding says."""
    return device_put(self, device)


@boundary
def view(self, dtype=None, type=None):
    """The same bits read as another dtype; the last axis grows or shrinks with the item size."""
    if type is not None:
        raise NotImplementedError("`type` argument of array.view() is not supported.")
    if dtype is None:
        return self
    dtype = dtypes.check_user_dtype_supported(dtype, "view")
    old, new = self.dtype.itemsize, np.dtype(dtype).itemsize
    if self.ndim == 0 and old != new:
        raise ValueError("view() of a 0d array is only supported if the itemsize is unchanged.")
    if self.ndim and self.shape[-1] * old % new:
        raise ValueError(
            "When changing to a larger dtype, its size must be a divisor of the total size in "
            "bytes of the last axis of the array."
        )
    if self.dtype == dtype:
        return self
    if self.dtype == bool:
        return view(self.astype("uint8"), dtype)
    if dtype.kind == "b":
        return view(self, np.uint8).astype(bool)
    if self.dtype.kind == "c":  # the parts of a number lie side by side
        parts = lax.expand_dims(lax.real(self), (-1,)), lax.expand_dims(lax.imag(self), (-1,))
        return view(lax.concatenate(parts, self.ndim).reshape(*self.shape[:-1], -1), dtype)
    if dtype.kind == "c":
        parts = view(self, f"float{4 * new}")
        return lax.complex(parts[..., 0::2], parts[..., 1::2])
    if old < new:
        factor = new // old
        split = self.reshape(*self.shape[:-1], self.shape[-1] // factor, factor)
        return lax.bitcast_convert_type(split, dtype)
    out = lax.bitcast_convert_type(self, dtype)
    if old == new:
        return out
    return out.reshape(*out.shape[:-2], out.shape[-2] * out.shape[-1])


@boundary
def byteswap(self):
    """The bytes of each element in the other order."""
    if self.dtype.kind == "c":
        return lax.complex(byteswap(self.real), byteswap(self.imag))
    if self.dtype.itemsize == 1:
        return jnp.copy(self)
    swapped = lax.rev(lax.bitcast_convert_type(self, np.uint8), [self.ndim])
    return lax.bitcast_convert_type(swapped, self.dtype)


def flat(self):
    """NumPy's x.flat would be a writable view."""
    raise NotImplementedError(
        "JAX Arrays do not implement the arr.flat property: consider arr.flatten() instead."
    )


# Functions of jnp that are methods, too. Their files are loaded when they are first used.
AS_IN_JNP = """
    all any argmax argmin argpartition argsort astype choose clip conj conjugate copy cumprod cumsum
    diagonal dot max mean min nonzero prod ptp ravel repeat round searchsorted sort squeeze std sum
    swapaxes take trace var"""
LATE_METHODS = {name: name for name in AS_IN_JNP.split()} | {"flatten": "ravel"}
LATE_PROPERTIES = {"T": "transpose", "mT": "matrix_transpose"}
METHODS = {
    "byteswap": byteswap,
    "compress": compress_method,
    "reshape": reshape_method,
    "to_device": to_device,
    "transpose": transpose_method,
    "view": view,
    "__pow__": to_power,
    "__neg__": ufuncs.negative,
    "__pos__": ufuncs.positive,
    "__abs__": ufuncs.absolute,
    "__invert__": comparisons.invert,
    "__round__": to_round,
    "__getitem__": get_item,
    "__len__": length,
    "__iter__": iterate,
    "__setitem__": set_item,
    "__delitem__": delete_item,
    "__contains__": contains,
}
PROPERTIES = {
    "real": ufuncs.real,
    "imag": ufuncs.imag,
    "at": IndexUpdate,
    "flat": flat,
    "nbytes": lambda self: self.size * self.dtype.itemsize,
    "itemsize": lambda self: self.dtype.itemsize,
}

# ---- installation -------------------------------------------------------------------------------


class Late:
    """An attribute of Value that is made when it is first asked for, and then takes this place."""

    def __init__(self, name, make):
        self.name, self.make = name, make
        setattr(Value, name, self)

    def __get__(self, x, cls=None):
        made = self.make()
        setattr(Value, self.name, made)
        return made.__get__(x, cls)


def install():
    """Give Value, and with it Array and Tracer, its operators, methods and properties."""
    for name, (function, symbol) in OPERATORS.items():
        forward, reflected = binary(function, symbol)
        setattr(Value, f"__{name}__", forward)
        setattr(Value, f"__r{name}__", reflected)
    for name, (function, symbol) in COMPARISONS.items():
        setattr(Value, f"__{name}__", binary(function, symbol)[0])
    for name, function in METHODS.items():
        setattr(Value, name, function)
    for name, function in PROPERTIES.items():
        setattr(Value, name, property(function))
    setattr(Tracer, "__format__", format_traced)  # noqa: B010


def install_late():
    """Promise Value what takes files that not every program needs."""
    for name, (wanted, symbol) in LATE_OPERATORS.items():
        Late(f"__{name}__", lambda w=wanted, s=symbol: binary(getattr(jnp, w), s)[0])
        Late(f"__r{name}__", lambda w=wanted, s=symbol: binary(getattr(jnp, w), s)[1])
    for name, wanted in LATE_METHODS.items():
        Late(name, lambda w=wanted: getattr(jnp, w))
    for name, wanted in LATE_PROPERTIES.items():
        Late(name, lambda w=wanted: property(getattr(jnp, w)))


install()
install_late()
