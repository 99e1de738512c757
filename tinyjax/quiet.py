"""NumPy's warnings: silence() lets it compute nan and inf without a word, as XLA does.

restore(what silence returned) brings back the user's setting. That is np.errstate without its
object, which costs a microsecond, as much as a small operation.
"""

import functools

import numpy as np

try:
    from numpy._core.umath import _extobj_contextvar, _make_extobj

    silence = functools.partial(_extobj_contextvar.set, _make_extobj(all="ignore"))
    restore = _extobj_contextvar.reset
except ImportError:  # NumPy's insides have changed
    silence = functools.partial(np.seterr, all="ignore")  # type: ignore
    restore = lambda before: np.seterr(**before)  # type: ignore # noqa: E731
