"""Conversions that NumPy leaves undefined."""

import numpy as np

from tinyjax import dtypes


def saturating_cast(x, new_dtype):
    """Float to integer as XLA does it: towards zero, clamped to the range, NaN to 0."""
    info = dtypes.iinfo(new_dtype)
    low, high = float(info.min), float(info.max)
    wide = np.asarray(x, np.float64)
    if wide.size and np.abs(wide).max() < high:  # False for NaN
        return np.maximum(wide, low).astype(new_dtype)
    wide = np.nan_to_num(np.trunc(wide), nan=0.0, posinf=None, neginf=None)
    inside = np.clip(wide, low, np.nextafter(high + 1, 0) if info.bits == 64 else high)
    highest = np.asarray(info.max).astype(new_dtype)
    return np.where(wide >= high, highest, inside.astype(new_dtype)).astype(new_dtype)
