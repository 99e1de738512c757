"""Bits in bytes: packbits, unpackbits."""

import numpy as np

from tinyjax import lax
from tinyjax.numpy.checks import ensure_arraylike
from tinyjax.numpy.creation import arange, asarray
from tinyjax.numpy.padding import pad
from tinyjax.numpy.promotion import const
from tinyjax.numpy.shaping import swapaxes
from tinyjax.transforms.subprogram import subprogram


def bit_places(bitorder):
    """Which bit of a byte each of eight booleans is."""
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    places = arange(8, dtype="uint8")
    return places[::-1] if bitorder == "big" else places


@subprogram(static_argnames=("axis", "bitorder"))
def packbits(a, axis=None, bitorder="big"):
    """Eight booleans each as the bits of a byte.

    Args:
      a: integers or booleans; axis: along which, by default of the flat array.
      bitorder: "big": the first is the highest bit; "little": the lowest.
    """
    a = ensure_arraylike("packbits", a)
    if a.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    a = lax.ne(a, const(a, 0)).astype("uint8")
    places = bit_places(bitorder)
    if axis is None:
        a, axis = a.ravel(), 0
    a = swapaxes(a, axis, -1)
    rest = a.shape[-1] % 8
    if rest:
        a = lax.pad(a, np.uint8(0), [(0, 0, 0)] * (a.ndim - 1) + [(0, 8 - rest, 0)])
    a = a.reshape(*a.shape[:-1], a.shape[-1] // 8, 8)
    places = lax.expand_dims(places, tuple(range(a.ndim - 1)))
    return swapaxes((a << places).sum(-1).astype("uint8"), axis, -1)


@subprogram(static_argnames=("axis", "count", "bitorder"))
def unpackbits(a, axis=None, count=None, bitorder="big"):
    """The bits of bytes, one element each; count: how many of them. See packbits."""
    a = ensure_arraylike("unpackbits", a)
    if a.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    if bitorder not in ("little", "big"):
        raise ValueError("'order' must be either 'little' or 'big'")
    masks = asarray(1) << arange(8, dtype="uint8")
    masks = masks[::-1] if bitorder == "big" else masks
    if axis is None:
        a, axis = a.ravel(), 0
    a = swapaxes(a, axis, -1)
    bits = ((a[..., None] & lax.expand_dims(masks, tuple(range(a.ndim)))) > 0).astype("uint8")
    bits = bits.reshape(*bits.shape[:-2], bits.shape[-2] * 8)
    if count is not None:
        if count > bits.shape[-1]:
            bits = pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, count - bits.shape[-1])])
        else:
            bits = bits[..., :count]
    return swapaxes(bits, axis, -1)
