"""check_pure, and what jit does for check=True and under the flag check_purity."""

import ast
import contextvars

import numpy as np

from tinyjax.purity.findings import of_bodies, of_calls, of_changes, of_reads, of_sets, place_of
from tinyjax.purity.lines import base_name, file_tree, parameters
from tinyjax.purity.report import Finding, PurityReport
from tinyjax.purity.rewrites import changed_copy, in_words
from tinyjax.purity.spots import MISSING
from tinyjax.purity.tracing import trace_watched
from tinyjax.purity.watching import Watch
from tinyjax.source import Source
from tinyjax.transforms.flat import fun_name
from tinyjax.tree_util import tree_leaves


def check_pure(f, *args, **kwargs):
    """Look whether a function is pure: whether its result depends on its arguments alone, and
    whether it does nothing but compute it. Only such functions may be transformed.

    f is traced twice, and not run. What it changed is set back after each time: variables, lists,
    dicts, sets, NumPy arrays, attributes, the states of random generators. What it prints meanwhile
    is dropped; files that it writes stay written.

    Args:
      f: a function of any kind: with grad, vmap or jit around it, a method, an object with
        `__call__`.
      args, kwargs: arguments to trace it with. Arrays and numbers count by their types only;
        anything else is handed in as it is.

    Returns a PurityReport, which is true if nothing was found and prints what was. Its `.findings`
    have a `kind`, a `variable`, a `message`, a `rewrite` (the same without the impurity), `file`
    and `line`.

    Raises what f raises, if nothing was found that explains it.

    >>> import tinyjax as jax, tinyjax.numpy as jnp
    >>> jax.check_pure(lambda x: jnp.sin(x) * 2, 1.0)
    <lambda> is pure: traced twice, it changed nothing and read nothing that changes.
    >>> log = []
    >>> def f(x):
    ...     log.append(x)
    ...     return x * 2
    >>> report = jax.check_pure(f, 1.0)
    >>> report.ok, report.findings[0].kind, report.findings[0].variable
    (False, 'leaked tracer', 'log[0]')
    >>> print(report.findings[0].rewrite)
    return x * 2, x
    y, kept = f(x)
    log.append(kept)  # outside of f
    """
    if not callable(f):
        raise TypeError(f"Expected a callable value, got {f!r}: check_pure takes a function.")
    report, _ = examine(f, args, kwargs)
    return report


def examine(f, args, kwargs):
    """-> the report on a function, and the first watch."""
    known = ()
    first = watched_trace(f, args, kwargs, known)
    if first.error is not None and any(isinstance(x, int) for x in tree_leaves((args, kwargs))):
        known = (int,)  # a count or a switch (bool is an int), which jit would be told is static
        retried = watched_trace(f, args, kwargs, known)
        first = retried if retried.error is None else first
    second = watched_trace(f, args, kwargs, known, [c.key for c in first.changes])
    findings = [*of_changes(first, second.found), *of_calls(first), *of_sets(first)]
    findings += [*of_reads(first), *of_numpy_arguments(args, kwargs, first), *of_bodies(first)]
    findings = sorted(without_doubles(findings), key=lambda f: (f.file, f.line))
    if not findings and first.error is not None:
        raise first.error
    if not findings and first.program != second.program:
        findings.append(undecided(first))
    return PurityReport(fun_name(f), findings, 2, first.error), first


def watched_trace(f, args, kwargs, known, changing=()):
    """-> the watch over one trace, with the program or the error; all that changed is set back."""
    return contextvars.copy_context().run(_watched_trace, f, args, kwargs, known, changing)


def _watched_trace(f, args, kwargs, known, changing):
    watch = Watch(f, changing)
    watch.program = watch.error = None
    try:
        watch.program = trace_watched(f, args, kwargs, watch, known)
    except Exception as error:
        watch.error = error
    watch.changes = watch.surroundings.changes()
    watch.surroundings.restore()
    return watch


def without_doubles(findings):
    """Findings that say the same of one variable once: what was seen goes before suspicions."""
    kept, seen = [], set()
    for finding in findings:
        name = finding.variable.partition("[")[0]
        key = name, finding.kind.endswith("read") and "read"
        written = (name, False) in seen and finding.kind.endswith("read")
        if (key, finding.line) not in seen and not written:
            kept.append(finding)
        seen |= {(key, finding.line), (name, False) if not finding.kind.endswith("read") else key}
    return kept


def undecided(watch):
    """The finding for two traces that made two programs, although nothing was seen to change."""
    code = next(iter(watch.roots), None)
    return Finding(
        "hidden state",
        code.co_name if code else "?",
        "Traced twice with the same arguments, it made two different programs\n"
        "Something beside its arguments decides: a clock, random numbers, a library's counter.",
        in_words("Make what it depends on an argument."),
        Source(code, 0) if code else None,
    )


def of_numpy_arguments(args, kwargs, watch):
    """Findings for NumPy arrays that were handed in and are changed when f runs without jit."""
    found = []
    for code, lines in watch.lines.items():
        given = watch.given.get(code, {})
        mine = {p for p, x in zip(parameters(code), args) if isinstance(x, np.ndarray)}
        mine |= {p for p, x in kwargs.items() if isinstance(x, np.ndarray)}
        tree = file_tree(code.co_filename) if mine else None
        for node in ast.walk(tree) if tree else ():
            target = getattr(node, "target", None) or (getattr(node, "targets", None) or [None])[0]
            name = base_name(target) if target is not None else None
            in_place = isinstance(node, ast.AugAssign) or isinstance(target, ast.Subscript)
            names = lines.get(getattr(node, "lineno", 0), {})
            if name in mine and in_place and names.get(name, MISSING) is given.get(name):
                found.append(numpy_argument(watch, code, node, name))
    return found


def numpy_argument(watch, code, node, name):
    """The finding for x[0] = 1 or x += 1, where x is a NumPy array of the caller."""
    at = next((i for i, p in enumerate(code.co_positions()) if p[0] == node.lineno), 0)
    return Finding(
        "mutated argument",
        name,
        f"{code.co_name} changes its argument `{name}` in place: a NumPy array of the caller\n"
        "Under jit it stays as it is (or an error is raised): it is traced. Make a new one:",
        changed_copy(node, place_of(watch, Source(code, 2 * at)).values)
        or in_words(f"Make a changed copy of `{name}` with jnp, and return it."),
        Source(code, 2 * at),
    )
