"""Functions that stand as one equation, `jit[name=...]`, in a jaxpr: where they come from."""

from tinyjax.transforms.subprogram import in_program, subprogram

__all__ = ["in_program", "subprogram"]
