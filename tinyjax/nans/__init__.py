"""Where a NaN comes from: explain_nan, and what debug_nans says."""

from tinyjax.lazy import lazy_imports

with lazy_imports(globals()):
    from tinyjax.nans.explain import explain_nan
