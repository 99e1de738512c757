"""explain_nan: run a function and report the first operation that makes a NaN."""

import numpy as np

from tinyjax import dtypes
from tinyjax.array import Array, is_arraylike, lift
from tinyjax.autodiff import grad
from tinyjax.nans.describe import describe
from tinyjax.nans.fixes import fix
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
            self.source, self.phase, self.operands = step.source, step.phase, step.args
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
    f has no NaN and is a real number, its gradient is looked at, too.

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
    out = watch.run(lambda: f(*args, **kwargs))
    outs = [x for x in tree_leaves(out) if isinstance(x, Array)]
    report = look(outs, watch.history, layered(f))
    if report:
        return report
    clean = f"No NaN: the result of {name} is {finite(outs)}"
    floats = [i for i, a in enumerate(args) if is_differentiable(a)]
    if len(outs) != 1 or not is_real_number(outs[0]) or not floats or len(tree_leaves(out)) != 1:
        return Report(clean + "." + dropped(watch.history))
    try:
        gradient = watch.run(lambda: grad(f, argnums=tuple(floats))(*args, **kwargs))
    except Exception as error:  # a function without a derivative, as a while loop
        return Report(f"{clean}. (Its gradient cannot be taken: {type(error).__name__}.)")
    note = f"The value of {name} is {finite(outs)}, but its gradient is not."
    leaves = tree_leaves(gradient)
    report = look(leaves, watch.history, None, note)
    both = f"{clean}, its gradient is {finite(leaves)}."
    both = both.replace("finite, its gradient is finite", "finite, and so is its gradient")
    return report or Report(both + dropped(watch.history))


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
