"""explain_nan: run a function and report the first operation that makes a NaN."""

import contextlib
import functools

import numpy as np

from tinyjax import dtypes
from tinyjax.array import Array, is_arraylike, lift
from tinyjax.autodiff import grad
from tinyjax.config import disable_jit
from tinyjax.nans.describe import describe
from tinyjax.nans.fixes import fix
from tinyjax.nans.guard import safely
from tinyjax.nans.history import first_index, places
from tinyjax.nans.watch import Watch
from tinyjax.transforms.flat import arg_names, fun_name, layer_of, wraps
from tinyjax.tree_util import tree_flatten, tree_leaves, tree_unflatten


class Report:
    """What explain_nan has found.

    found: whether there is a NaN (also the truth value of the report).
    primitive: the operation that made the NaN; None if an argument or a constant is NaN.
    source: its place in the code: `.file`, `.line`, `.text`, `.function`; None if unknown.
    phase: "forward" or "backward".
    operands: its operands, arrays.
    index: the place of the first NaN in its result.
      fix: code to write instead, as text; "" if there is no recipe.
    instead_of: the expression for which the last line of fix stands.
    message: all that as text, which print shows.
    """

    def __init__(self, message, step=None, word="nan"):
        self.message, self.found = message, step is not None
        self.primitive = self.source = self.index = None
        self.phase, self.operands, self.fix, self.instead_of = "", [], "", ""
        if step is not None:
            self.primitive = step.prim and step.prim.name
            self.source, self.operands = step.source, step.args
            self.phase = "backward" if step.is_rule else step.phase
            self.index = step.index(word)[1]
            lines, self.instead_of = fix(step)
            self.fix = "\n".join(lines)

    def __bool__(self):
        return self.found

    def __str__(self):
        return self.message

    __repr__ = __str__


def explain_nan(f):
    """A function that runs f and reports which operation makes the first NaN, and why.

    Call it with the arguments of f. Programs inside are opened: what jit, scan, while_loop, cond,
    vmap, pmap and custom rules hold runs equation by equation, on the real values. If the result of
    f has no NaN, its gradient is looked at, too, or that of the sum of its elements.

    Args:
      f: a function, transformed or not; explain_nan(jax.grad(loss)) looks at the gradient of loss.

    Returns a function that returns a Report: print it. It is true if there is a NaN, and has the
    fields found, primitive, source, phase, operands, index, fix and message.
    Raises TypeError when f is no function.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> report = jax.explain_nan(lambda x: jnp.log(x) - jnp.log(x))(jnp.zeros(2))
    >>> report.primitive, bool(report)
    ('sub', True)
    >>> jax.explain_nan(jnp.sin)(1.0)
    No NaN: the result of sin is finite, and so is its gradient.
    """
    if not callable(f):
        raise TypeError(f"Expected a callable value, got {f!r}: explain_nan takes a function.")

    def explained(*args, **kwargs):
        return explain_call(f, args, kwargs)

    return wraps(f, explained)


def explain_call(f, args, kwargs):
    """The Report on one call."""
    name, watch = fun_name(f), Watch()
    args, kwargs = with_names(f, args, kwargs, watch.history)
    watch.history.again = functools.partial(variables, f, args, kwargs)
    out = watch.run(lambda: f(*args, **kwargs))
    outs = [x for x in tree_leaves(out) if isinstance(x, Array)]
    report = look(outs, watch.history, layered(f))
    if report:
        return report
    clean = f"No NaN: the result of {name} is {finite(outs)}"
    floats = [i for i, a in enumerate(args) if is_differentiable(a)]
    one = len(outs) == len(tree_leaves(out)) == 1 and is_real_number(outs[0])
    reals = [o for o in outs if dtypes.issubdtype(o.dtype, np.floating)]
    if not floats or not reals or not (one or is_plain(f)):
        return Report(clean + "." + dropped(watch.history))
    its, of_sum = ("its gradient", f) if one else ("the gradient of its sum", summed(f))
    try:
        gradient = watch.run(lambda: grad(of_sum, argnums=tuple(floats))(*args, **kwargs))
    except Exception as error:  # a function without a derivative, as a while loop
        return Report(f"{clean}. ({its.capitalize()} cannot be taken: {type(error).__name__}.)")
    note = f"The value of {name} is finite, but {its} is not."
    if finite(outs) != "finite":
        note = f"The value of {name} is inf, and {its} is NaN."
    leaves = tree_leaves(gradient)
    report = look(leaves, watch.history, None, note)
    both = f"{clean}, {its} is {finite(leaves)}."
    both = both.replace(f"finite, {its} is finite", f"finite, and so is {its}")
    return report or Report(both + dropped(watch.history))


def is_plain(f):
    """Whether a function takes no derivative itself, as far as its transformations tell: of these
    not many want another one."""
    layer = layer_of(f)
    while layer is not None and layer.transform in ("jit", "vmap", "pmap", "checkpoint"):
        layer = layer_of(layer.function)
    return layer is None


def summed(f):
    """A function that gives the sum of all real numbers in the result of f."""

    def total(*args, **kwargs):
        leaves = [lift(x) for x in tree_leaves(f(*args, **kwargs)) if is_arraylike(x)]
        return sum(x.sum() for x in leaves if dtypes.issubdtype(x.dtype, np.floating))

    return total


def variables(f, args, kwargs):
    """The variables of the functions that a call runs when nothing of it is compiled."""
    watch = Watch()
    with disable_jit(True), contextlib.suppress(Exception):
        watch.run(lambda: f(*args, **kwargs))
    return watch.history.scenes


@safely(lambda outs, history, transform, note="": in_few_words(outs, note))
def look(outs, history, transform, note=""):
    """The Report on the first NaN among results; None if there is none."""
    for out in outs:
        mask = places("nan", out)
        if mask is not None:
            step = history.first_in_line(history.origin("nan", out))
            batch = batch_element(step, mask) if transform == "vmap" else None
            lines = describe(step, note=note, batch=batch)
            return Report("\n".join(lines), step)
    return None


def in_few_words(outs, note):
    """The Report when it could not be found out where a NaN comes from."""
    report = Report(f"{note} There is a NaN; where it begins is not known.".strip())
    report.found = any(places("nan", out) is not None for out in outs)
    return report if report.found else None


def batch_element(step, mask):
    """Which element of vmap's batch a NaN belongs to. mask: where the result is NaN."""
    out, where = step.index()
    if where and mask.shape and out.shape[0] == mask.shape[0]:
        return where[0]
    return first_index(mask)[0] if mask.shape else None


def with_names(f, args, kwargs, history):
    """The arguments as Arrays, whose names the history knows."""
    leaves, tree = tree_flatten((args, kwargs))
    names = arg_names(f, args, kwargs)
    values = []
    for i, x in enumerate(leaves):
        if is_array(x, f):
            x = lift(x)
            if isinstance(x, Array) and id(x) not in history.steps:
                step = history.outside(x, names[i] if i < len(names) else f"argument {i}")
                step.source = None
        values.append(x)
    return tree_unflatten(tree, values)


def is_array(x, f):
    """Whether an argument is to become an Array: as for jit, but whole numbers stay, since they may
    be shapes, and all numbers if some are static."""
    static = getattr(f, "static_argnums", ()) or getattr(f, "static_argnames", ())
    number = isinstance(x, float | complex) and not static
    return is_arraylike(x) and (number or hasattr(x, "shape"))


def layered(f):
    """The outermost transformation of f that is not jit; None if there is none."""
    layer = layer_of(f)
    while layer is not None and layer.transform == "jit":
        layer = layer_of(layer.function)
    return layer and layer.transform


def is_differentiable(x):
    """Whether a gradient with respect to an argument exists: it is made of floats."""
    leaves = tree_leaves(x)
    return bool(leaves) and all(
        is_arraylike(v) and dtypes.issubdtype(lift(v).dtype, np.floating) for v in leaves
    )


def is_real_number(x):
    """Whether a result is one to take a gradient of."""
    return not x.shape and dtypes.issubdtype(x.dtype, np.floating)


def finite(outs):
    """'finite', or what else there is to say."""
    return "finite" if not any(places("inf", o) is not None for o in outs) else "not NaN but inf"


def dropped(history):
    """A sentence on a NaN that was made on the way and did not reach the result."""
    for step in history.steps.values():
        if step.nan is step and step.prim is not None and step.source is not None:
            return f"\n(A NaN was made by {step.prim} at {step.source}, and dropped.)"
    return ""
