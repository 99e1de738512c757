"""A guess at how long a program takes, from its text alone: is it worth another thread?

Only the order of magnitude matters. Once the program has run, its time is known (dispatch.py).
"""

import math

from tinyjax.core import all_eqns, inner_jaxprs

EACH = 0.5e-9  # seconds for one element of one equation: memory is the limit
PRODUCT = 0.05e-9  # seconds for one multiplication of a matrix product
DEAR = 20e-9  # seconds for one element of what is sorted, decomposed, looked up
DEARER = {"sort", "top_k", "gather", "scatter", "scatter-add", "fft", "cholesky", "lu", "eigh"}
DEARER |= {"qr", "svd", "eig", "triangular_solve", "conv_general_dilated", "pure_callback"}


def seconds(jaxpr):
    """A low guess at the time that a program takes."""
    return sum(map(equation_seconds, jaxpr.eqns))


def equation_seconds(eqn):
    """The same for one equation."""
    inner = [seconds(j) for j in inner_jaxprs(eqn.params)]
    if eqn.primitive.name == "scan":
        return sum(inner) * eqn.params["length"]
    if inner:  # of the branches of cond any may run, and of a while loop nobody knows
        return min(inner)
    size = max((v.aval.size for v in (*eqn.invars, *eqn.outvars)), default=0)
    if eqn.primitive.name == "dot_general":
        (axes, _), _ = eqn.params["dimension_numbers"]
        terms = math.prod(eqn.invars[0].aval.shape[d] for d in axes)
        return eqn.outvars[0].aval.size * terms * PRODUCT
    return size * (DEAR if eqn.primitive.name in DEARER else EACH)


def has_unknown(jaxpr):
    """Whether the time depends on values: loops until something happens, Python functions."""
    return calls_python(jaxpr) or any(eqn.primitive.name == "while" for eqn in all_eqns(jaxpr))


def calls_python(jaxpr):
    """Whether a program calls a function of the user's."""
    return any(eqn.primitive.name == "pure_callback" for eqn in all_eqns(jaxpr))
