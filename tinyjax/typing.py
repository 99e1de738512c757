"""Types for annotations: ArrayLike is what functions take for an array, DTypeLike for a dtype."""

from typing import Any, Protocol

import numpy as np

from tinyjax.array import Array


class SupportsDType(Protocol):
    """Has a dtype."""

    @property
    def dtype(self) -> np.dtype: ...


ArrayLike = Array | np.ndarray | np.bool_ | np.number | bool | int | float | complex
DTypeLike = str | type[Any] | np.dtype | SupportsDType

__all__ = ["ArrayLike", "DTypeLike"]
