"""Types for annotations: ArrayLike is what functions take for an array, DTypeLike for a dtype."""

from typing import Any, Protocol, Union

import numpy as np

from tinyjax.array import Array


class SupportsDType(Protocol):
    """Has a dtype."""

    @property
    def dtype(self) -> np.dtype: ...


ArrayLike = Union[Array, np.ndarray, np.bool_, np.number, bool, int, float, complex]  # noqa: UP007
DTypeLike = Union[str, type[Any], np.dtype, SupportsDType]  # noqa: UP007

__all__ = ["ArrayLike", "DTypeLike"]
