"""The compiler: jaxpr -> executable. `compile_jaxpr(jaxpr, name)(arrays)` runs a program."""

from tinyjax.compiler.executable import Executable, compile_jaxpr

__all__ = ["Executable", "compile_jaxpr"]
