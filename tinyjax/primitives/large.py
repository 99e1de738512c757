"""Which eager operations are worth a compiled program, by the number of elements.

Up to a few ten thousand elements a call of NumPy is soonest done. Beyond, kernels win: they use
vector instructions and both cores, and make no arrays on the way. Where NumPy does nothing but read
and write each element once, memory decides, and kernels only win by using its pages again.
"""

import operator
from typing import Any

import numpy as np

LARGE, HUGE = 1 << 15, 1 << 22  # measured: from here on kernels are faster, or as fast

#: What reads and writes each element once.
ONE_PASS: set[Any] = {
    *(np.add, np.subtract, np.multiply, np.abs, np.square, np.floor, np.ceil, np.isfinite),
    *(np.less, np.less_equal, np.greater, np.greater_equal, operator.eq, operator.ne),
    *(np.invert, np.bitwise_and, np.bitwise_or, np.bitwise_xor),
}


def large_for(impl):
    """From how many elements on an elementwise operation with this `impl` is compiled."""
    return HUGE if impl in ONE_PASS else LARGE
