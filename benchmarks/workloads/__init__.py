"""What is measured. Every file here is read; each function with `@workload` is one workload."""

import importlib
import importlib.util
import pkgutil

from benchmarks.registry import WORKLOADS


def load(files=()):
    """Read every file of this folder, and further files -> all workloads by name, in that order.

    Raises OSError for a file that cannot be read, and whatever a file raises.
    """
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    for number, file in enumerate(files):
        loader = importlib.machinery.SourceFileLoader(f"workloads_of_file_{number}", str(file))
        spec = importlib.util.spec_from_loader(loader.name, loader)
        loader.exec_module(importlib.util.module_from_spec(spec))
    return WORKLOADS
