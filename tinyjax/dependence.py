"""What a traced value depends on: back along the recorded equations to the arguments."""

import sys


def arguments_of(tracer):
    """-> (names of arguments, name of the traced function), as far as records tell.

    Names are empty for a value that was made without any argument; the function is None if nobody
    records: in a derivative or a vmap of its own.
    """
    while not hasattr(tracer, "atom"):
        below = getattr(tracer, "primal", getattr(tracer, "val", None))
        if below is None:
            return [], None
        tracer = below
    trace, names = tracer.trace, []
    makers = {v: eqn for eqn in trace.eqns for v in eqn.outvars}
    captured = dict(trace.captured.values())
    seen, todo = set(), [tracer.atom]
    while todo:
        atom = todo.pop()
        if atom in seen or hasattr(atom, "array"):  # a number has no history
            continue
        seen.add(atom)
        if atom in makers:
            todo += makers[atom].invars
    known = names_of_inputs(trace)
    names += [known[i] for i, var in enumerate(trace.invars) if var in seen]
    for var, value in captured.items():
        if var in seen and hasattr(value, "trace"):
            outer, function = arguments_of(value)
            names += [f"{n} of {function}" for n in outer if function]
    return names, trace.name


def names_of_inputs(trace):
    """What the inputs of a traced function are called; their numbers, if nobody knows better."""
    names = [trace.names[v] for v in trace.invars]
    inner = getattr(trace.function, "f", None)
    if None in names and inner is not None:
        args = trace.function.in_tree.unflatten([v.aval for v in trace.invars])
        found = sys.modules["tinyjax.transforms.flat"].arg_names(inner, args, {})
        if len(found) == len(names):
            names = found
    return [n or f"{i}" for i, n in enumerate(names)]


def could_be_static(tracer):
    """Whether a value depends on arguments only that are integers or booleans."""
    while not hasattr(tracer, "atom"):
        tracer = getattr(tracer, "primal", None)
        if tracer is None:
            return False
    names, _ = arguments_of(tracer)
    trace = tracer.trace
    types = dict(zip(names_of_inputs(trace), [v.aval for v in trace.invars]))
    return bool(names) and all(
        n.isidentifier() and n in types and types[n].shape == () and types[n].dtype.kind in "bi"
        for n in names
    )


def is_batched(tracer):
    """Whether vmap hides the value: under it each element has its own."""
    while tracer is not None and not hasattr(tracer, "atom"):
        if hasattr(tracer, "dim"):
            return True
        tracer = getattr(tracer, "primal", None)
    return False


def listed(words):
    """'a, b and c'; long lists are cut."""
    words = list(words)
    if len(words) > 4:
        words = [*words[:3], f"{len(words) - 3} more"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def explain(tracer, what):
    """One sentence: which argument the value of `what` depends on."""
    names, function = arguments_of(tracer)
    if is_batched(tracer):
        return f"{what} differs between the elements of a batch: it is computed inside vmap."
    if function is None:
        return f"{what} is being differentiated; a plain number or NumPy array has no derivative."
    if not names:
        return f"{what} is traced too: nothing that {function} computes has a value meanwhile."
    word, its = ("argument", "its value is") if len(names) == 1 else ("arguments", "values are")
    inner = "" if " of " in names[-1] else f" of {function}"
    relation = "is" if what == f"`{names[0]}`" and len(names) == 1 else "depends on"
    return (
        f"{what} {relation} {word} {listed(names)}{inner}: {its} not known while {function} is "
        "traced."
    )


def origin(tracer):
    """Where a recorded value came from."""
    trace = tracer.trace
    if tracer.atom in trace.invars:
        which = tracer.name or trace.invars.index(tracer.atom)
        return f"It is the value of argument {which} of {trace.name}, which is being traced."
    for eqn in trace.eqns:
        if tracer.atom in eqn.outvars:
            return f"It was made by `{eqn.primitive}` while {trace.name} was traced."
    return f"It was made while {trace.name} was traced."
