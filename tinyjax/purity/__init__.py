"""Is a function pure? What it reads and changes beside its arguments, and how to write it purely.

| file | what is there |
|---|---|
| `checking.py` | `check_pure`: two traces, one report |
| `jitting.py` `hook.py` | `jit(f, check=True)` and the flag `check_purity` |
| `tracing.py` `watching.py` | two traces, under a watch: lines that run, what they change |
| `calls.py` | functions of Python's library that are not pure |
| `surroundings.py` `spots.py` | the state that a function can reach: read, compared, set back |
| `code.py` `lines.py` | names in code objects; the syntax tree, where there is a text |
| `elsewhere.py` `sets.py` | who else changes what is read; loops over sets |
| `findings.py` `report.py` | what is said; the report |
| `rewrites.py` `draws.py` | the pure version: of state; of random numbers, I/O and clocks |
"""

from tinyjax.lazy import lazy_imports as _lazy_imports

with _lazy_imports(globals()):
    from tinyjax.purity.checking import check_pure
    from tinyjax.purity.report import Finding, PurityReport
