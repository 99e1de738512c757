"""Which function of ours does what a function of NumPy, SciPy or math does."""

import ast
import math
import operator
import sys

from tinyjax.rewrites import name
from tinyjax.user_code import show

# What math and numpy call differently from jnp.
RENAMED = {
    "math.fabs": "numpy.abs",
    "math.gamma": "scipy.special.gamma",
    "math.lgamma": "scipy.special.gammaln",
    "math.erf": "scipy.special.erf",
    "math.erfc": "scipy.special.erfc",
    "math.factorial": "scipy.special.factorial",
    "math.dist": "numpy.linalg.norm",
}
FOREIGN = ("numpy", "scipy", "math", "cmath")


def equivalent(place):
    """-> (the user's call, the call to write instead) as texts, or None."""
    for node in (place.node, *place.parents):
        if isinstance(node, ast.Call):
            found = ours(place, node.func)
            if found:
                keywords = [k for k in node.keywords if k.arg != "out"]
                new = ast.Call(name(found), node.args, keywords)
                if ".random." in found:  # the same name, but it takes a key
                    return show(node.func), f"{found}(key, ...)"
                return show(node), show(new)
        elif isinstance(node, (ast.Lambda, ast.stmt)):
            return None
    return None


def ours(place, function):
    """'jnp.linalg.norm' for the tree np.linalg.norm; None for what we have not."""
    dotted = foreign_name(place, function)
    if not dotted:
        return None
    package, _, rest = dotted.partition(".")
    if package == "numpy" and rest.startswith("random."):
        inner = rest
    elif package in ("numpy", "scipy"):
        inner = dotted
    else:
        inner = RENAMED.get(dotted, f"numpy.{rest}")
    if not exists(inner):
        return None
    first, _, tail = inner.partition(".")
    return f"{place.jnp}.{tail}" if first == "numpy" else f"{place.jax}.{inner}"


def exists(dotted):
    """Whether tinyjax has such a public function."""
    try:
        return callable(operator.attrgetter(dotted)(sys.modules["tinyjax"]))
    except AttributeError:
        return False


def foreign_name(place, function):
    """'numpy.linalg.norm' for what a call's function is, if it is none of ours."""
    if isinstance(function, ast.Attribute):
        owner = place.value(function.value)
        module = owner.__name__ if isinstance(owner, type(math)) else ""
        if module.split(".")[0] in FOREIGN:
            return f"{module}.{function.attr}"
    if isinstance(function, ast.Name):  # from numpy import sin
        value = place.value(function)
        for module in ("math", "numpy", "scipy.special"):
            owner = sys.modules.get(module)
            known = getattr(value, "__name__", None)
            if known and value is not None and vars(owner or math).get(known) is value:
                return f"{module}.{known}"
    return None
