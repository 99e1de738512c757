"""The stages between a jitted function and its result: Traced, Lowered, Compiled."""

from tinyjax.transforms.jit import JitFunction as Wrapped
from tinyjax.transforms.staged import ArgInfo, Compiled, Lowered, Traced

__all__ = ["ArgInfo", "Compiled", "Lowered", "Traced", "Wrapped"]
