"""How a program is cut: into kernels, these into stages, and stages into calls.

A kernel computes consecutive items, up to a number of equations. Its stages are compiled together:
each runs for a range of steps that the caller chooses, and an empty range leaves it out. So one and
the same kernel serves small arrays, in a single call, and large ones, stage by stage, with threads
that share the steps of each. A matrix product is a stage, too: if it is large, NumPy computes it,
and the kernel leaves that stage out.
"""

import math

from tinyjax.compiler.emit_dot import multiplications
from tinyjax.compiler.fusion import CallOut, Loop, Nest
from tinyjax.compiler.threads import planned
from tinyjax.compiler.words import COSTLY

MAX_EQUATIONS = 80  # per kernel
WORTH_NUMPY = 4096  # multiplications from which on a matrix product is NumPy's
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


def is_product(item):
    """Whether an item is a matrix product."""
    return type(item) is Loop and item.eqn.primitive.name == "dot_general"


def cut(items):
    """Lists of consecutive items that make one stage each."""
    found, joining = [], False
    for item in items:
        apart = is_divisible(item) or is_product(item)
        if joining and not apart:
            found[-1].append(item)
        else:
            found.append([item])
        joining = not apart or has_end(item)
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
        apart = stage.by_numpy or is_shared(stage)
        if joining and not apart:
            found[-1].append(k)
        else:
            found.append([k])
        joining = not apart
    return found


def leave_to_numpy(stages):
    """Mark the matrix products that NumPy computes: large ones, or all if nothing else is there."""
    products = [stage for stage in stages if is_product([*stage.items, None][0])]
    for stage in products:
        large = multiplications(stage.items[0].eqn) > WORTH_NUMPY
        stage.by_numpy = large or len(products) == len(stages)


def is_shared(stage):
    """Whether it pays that threads share the steps of a stage."""
    threads = planned()
    enough = stage.steps is not None and threads > 1 and stage.steps >= threads
    return enough and work(stage.items) >= WORTH_THREADS
