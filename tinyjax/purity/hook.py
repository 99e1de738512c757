"""What jit calls for check=True and under the flag check_purity; the checks are loaded then."""

from tinyjax.lazy import lazy_imports
from tinyjax.printer import install
from tinyjax.transforms.jit import JitFunction

with lazy_imports(globals()):
    from tinyjax.purity.jitting import check_jit  # noqa: F401


def check_purity(self, args, kwargs):
    """Raise ImpureFunctionError if a jitted function, about to be called, is not pure."""
    __getattr__("check_jit")(self, args, kwargs)  # noqa: F821  lazy_imports defined it


install(JitFunction, check_purity=check_purity)
