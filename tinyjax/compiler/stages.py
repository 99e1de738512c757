"""How a program is cut: into kernels, these into stages, and stages into calls.

A kernel computes consecutive items, up to a number of equations. Its stages are compiled together:
each runs for a range of steps that the caller chooses, and an empty range leaves it out. So one and
the same kernel serves small arrays, in a single call, and large ones, stage by stage, with threads
that share the steps of each.
"""

import math

from tinyjax.compiler.fusion import CallOut, Nest
from tinyjax.compiler.threads import planned
from tinyjax.compiler.words import COSTLY

MAX_EQUATIONS = 80  # per kernel
WORTH_THREADS = 200  # microseconds of work from which on threads share the steps of a stage


def segments(items):
    """Consecutive items that make a kernel, and call-outs: (number of the first item, items)."""
    found, current, start, count = [], [], 0, 0
    for at, item in enumerate(items):
        alone = type(item) is CallOut
        if current and (alone or count + len(item.eqns) > MAX_EQUATIONS):
            found.append((start, current))
            current, count = [], 0
        if alone:
            found.append((at, item))
            continue
        if not current:
            start = at
        current.append(item)
        count += len(item.eqns)
    if current:
        found.append((start, current))
    return found


def is_divisible(item):
    """Whether threads may share the steps of an item's outermost loop."""
    return type(item) is Nest and item.shape != () and not item.in_pieces


def has_end(item):
    """Whether something is left to do when all steps of a divisible item have been run."""
    return is_divisible(item) and item.mode in ("full", "cols")


def cut(items):
    """Lists of consecutive items that make one stage each."""
    found, joining = [], False
    for item in items:
        divisible = is_divisible(item)
        if joining and not divisible:
            found[-1].append(item)
        else:
            found.append([item])
        joining = not divisible or has_end(item)
    return found


def work(items):
    """A guess at the time that items take, in microseconds on one core."""
    total = 0.0
    for item in items:
        if type(item) is Nest:
            dear = sum(eqn.primitive.name in COSTLY for eqn in item.eqns)
            memory = 0.08 if item.mode in ("full", "cols") else 0.3  # writing is what takes long
            each = memory + 0.05 * len(item.eqns) + 0.7 * dear
            total += math.prod(item.shape) * each / 1000
    return total


def calls(stages):
    """Lists of the numbers of stages that are run by one call; what threads share is alone."""
    found, joining = [], False
    for k, stage in enumerate(stages):
        shared = is_shared(stage)
        if joining and not shared:
            found[-1].append(k)
        else:
            found.append([k])
        joining = not shared
    return found


def is_shared(stage):
    """Whether it pays that threads share the steps of a stage."""
    threads = planned()
    enough = stage.steps is not None and threads > 1 and stage.steps >= threads
    return enough and work(stage.items) >= WORTH_THREADS
