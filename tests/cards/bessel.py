"""Cases of the scaled Bessel functions; the oracle's derivatives are written otherwise."""

import numpy as np

from cards import Case

X = np.array([-900.0, -7.5, -0.5, 0.0, 1e-3, 3.0, 49.0, 51.0, 1e4, np.inf], np.float32)
FINITE = np.array([-7.5, -0.5, 0.25, 3.0, 20.0], np.float32)

CASES = [
    case
    for name in ("bessel_i0e", "bessel_i1e")
    for case in (
        Case(name, name, lambda lax, x, name=name: getattr(lax, name)(x), (FINITE,), (0,),
             tol=2e-4, order2=False, printed=False),
        Case(f"{name} edges", name, lambda lax, x, name=name: getattr(lax, name)(x), (X,),
             tol=1e-5),
    )
]  # fmt: skip
