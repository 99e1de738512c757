"""What debug_nans and debug_infs call. Whoever does not use these flags does not load the rest."""

import importlib

from tinyjax.core import EvalTrace


def look_at(*operation):
    """Raise FloatingPointError for bad results of an operation, see flagged.py."""
    importlib.import_module("tinyjax.nans.flagged").look_at(*operation)


def run_again(*call):
    """Run a compiled program equation by equation to find the one that makes bad values."""
    importlib.import_module("tinyjax.nans.flagged").run_again(*call)


EvalTrace.look_at = staticmethod(look_at)
EvalTrace.run_again = staticmethod(run_again)
