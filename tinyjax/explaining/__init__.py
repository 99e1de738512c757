"""explain: the story of a call, from the function as written to the kernels."""

from tinyjax.explaining.explanation import Explanation, explain
from tinyjax.explaining.stack import transformation_stack

__all__ = ["Explanation", "explain", "transformation_stack"]
