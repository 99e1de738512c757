"""Questions about objects: isscalar, iscomplexobj, isrealobj."""

import numpy as np

from tinyjax.avals import Value
from tinyjax.numpy.creation import asarray


def isscalar(element):
    """Whether something is a number, or an array without axes."""
    if np.isscalar(element):
        return True
    if isinstance(element, (np.ndarray, Value)):
        return element.ndim == 0
    return hasattr(element, "__jax_array__") and asarray(element).ndim == 0


def iscomplexobj(x):
    """Whether something has a complex dtype."""
    if isinstance(x, (complex, np.complexfloating)):
        return True
    if x is None or isinstance(x, (bool, int, float, str, np.generic)):
        return False
    dtype = x.dtype if hasattr(x, "dtype") else asarray(x).dtype
    return np.dtype(dtype).kind == "c"


def isrealobj(x):
    """Whether something has no complex dtype."""
    return not iscomplexobj(x)
