"""Optimizers: how parameters follow their gradients.

An optimizer is three functions, `(init_fun, update_fun, get_params)`:

    state = init_fun(params)
    state = update_fun(step, gradients, state)
    params = get_params(state)

Each is written for one array; the decorator `optimizer` makes it work on pytrees. Step sizes are
numbers, or schedules: functions of the step.
"""

import functools
from typing import Any, NamedTuple

from tinyjax import numpy as jnp
from tinyjax.transforms.tree_words import structure_differences
from tinyjax.tree_util import register_pytree_node, tree_flatten, tree_leaves, tree_map
from tinyjax.util import unzip2

# ---- from arrays to pytrees ----------------------------------------------------------------------


class OptimizerState(NamedTuple):
    """The states of all parameters: their leaves, the tree of parameters, the trees of states."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


register_pytree_node(
    OptimizerState,
    lambda state: ((state.packed_state,), (state.tree_def, state.subtree_defs)),
    lambda trees, children: OptimizerState(children[0], *trees),
)


class Optimizer(NamedTuple):
    """The three functions of an optimizer."""

    init_fn: Any
    update_fn: Any
    params_fn: Any


def pack(states, tree):
    """The states of the leaves of a tree -> OptimizerState."""
    leaves, subtrees = unzip2(map(tree_flatten, states))
    return OptimizerState(tuple(leaves), tree, tuple(subtrees))


def unpack(state):
    """OptimizerState -> the states of the leaves."""
    pairs = zip(state.subtree_defs, state.packed_state, strict=True)
    return [subtree.unflatten(leaves) for subtree, leaves in pairs]


def optimizer(opt_maker):
    """Decorator: an optimizer that is written for one array works on pytrees of them.

    Args:
      opt_maker: a function that returns (init, update, get_params), where init(x) is the state for
        an array, update(step, gradient, state) the next state, and get_params(state) the array.

    The update raises TypeError if gradients have another structure than the parameters, or if the
    structure of a state changes.
    """

    @functools.wraps(opt_maker)
    def tree_opt_maker(*args, **kwargs):
        init, update, get_params = opt_maker(*args, **kwargs)

        def tree_init(params):
            leaves, tree = tree_flatten(params)
            return pack(map(init, leaves), tree)

        def tree_update(step, gradients, state):
            leaves, tree = tree_flatten(gradients)
            if tree != state.tree_def:
                lines = structure_differences(state.tree_def, tree, "parameters", "gradients")
                raise TypeError(
                    "optimizer update function was passed a gradient tree that did not match the "
                    "parameter tree structure with which it was initialized:\n" + "\n".join(lines)
                )
            new = pack([update(step, g, s) for g, s in zip(leaves, unpack(state))], tree)
            for old_def, new_def in zip(state.subtree_defs, new.subtree_defs):
                if old_def != new_def:
                    raise TypeError(
                        "optimizer update function produced an output structure that did not "
                        f"match its input structure: input {old_def} and output {new_def}."
                    )
            return new

        def tree_get_params(state):
            return state.tree_def.unflatten([get_params(s) for s in unpack(state)])

        return Optimizer(tree_init, tree_update, tree_get_params)

    return tree_opt_maker


def first(state):
    """The parameter in a state that is a tuple."""
    return state[0]


# ---- optimizers ----------------------------------------------------------------------------------


@optimizer
def sgd(step_size):
    """Gradient descent: x - step_size * g.

    >>> init, update, get_params = sgd(0.1)
    >>> print(get_params(update(0, {"w": 2.0}, init({"w": 1.0}))))
    {'w': 0.8}
    """
    step_size = make_schedule(step_size)

    def update(i, g, x):
        return x - step_size(i) * g

    return (lambda x: x), update, (lambda x: x)


@optimizer
def momentum(step_size, mass):
    """Gradient descent with a velocity that keeps the share `mass` of itself."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, jnp.zeros_like(x)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * velocity, velocity

    return init, update, first


@optimizer
def nesterov(step_size, mass):
    """Momentum that looks ahead (Nesterov, 1983)."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, jnp.zeros_like(x)

    def update(i, g, state):
        x, velocity = state
        velocity = mass * velocity + g
        return x - step_size(i) * (mass * velocity + g), velocity

    return init, update, first


@optimizer
def adagrad(step_size, momentum=0.9):
    """Steps divided by the root of all squared gradients so far (Duchi, Hazan, Singer, 2011)."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, jnp.zeros_like(x), jnp.zeros_like(x)

    def update(i, g, state):
        x, squares, m = state
        squares += jnp.square(g)
        scale = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        m = (1.0 - momentum) * (g * scale) + momentum * m
        return x - step_size(i) * m, squares, m

    return init, update, first


@optimizer
def rmsprop(step_size, gamma=0.9, eps=1e-8):
    """Steps divided by the root of a running mean of squared gradients (Tieleman, Hinton, 2012)."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, jnp.zeros_like(x)

    def update(i, g, state):
        x, mean = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        return x - step_size(i) * g / jnp.sqrt(mean + eps), mean

    return init, update, first


@optimizer
def rmsprop_momentum(step_size, gamma=0.9, eps=1e-8, momentum=0.9):
    """RMSProp with momentum."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, jnp.zeros_like(x), jnp.zeros_like(x)

    def update(i, g, state):
        x, mean, m = state
        mean = mean * gamma + jnp.square(g) * (1.0 - gamma)
        m = momentum * m + step_size(i) * g / jnp.sqrt(mean + eps)
        return x - m, mean, m

    return init, update, first


@optimizer
def adam(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """Running means of gradients (rate b1) and of their squares (b2), without their bias towards
    zero in the first steps (Kingma, Ba, 2015)."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, jnp.zeros_like(x), jnp.zeros_like(x)

    def update(i, g, state):
        x, m, v = state
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * jnp.square(g) + b2 * v
        unbiased_m = m / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        unbiased_v = v / (1 - jnp.asarray(b2, m.dtype) ** (i + 1))
        return x - step_size(i) * unbiased_m / (jnp.sqrt(unbiased_v) + eps), m, v

    return init, update, first


@optimizer
def adamax(step_size, b1=0.9, b2=0.999, eps=1e-8):
    """Adam with the largest gradient in place of their squares (Kingma, Ba, 2015)."""
    step_size = make_schedule(step_size)

    def init(x):
        return x, jnp.zeros_like(x), jnp.zeros_like(x)

    def update(i, g, state):
        x, m, u = state
        m = (1 - b1) * g + b1 * m
        u = jnp.maximum(b2 * u, jnp.abs(g))
        step = step_size(i) / (1 - jnp.asarray(b1, m.dtype) ** (i + 1))
        return x - step * m / (u + eps), m, u

    return init, update, first


@optimizer
def sm3(step_size, momentum=0.9):
    """Adagrad that keeps one number per row and column only (Anil, Gupta, Koren, Singer, 2019)."""
    step_size = make_schedule(step_size)

    def init(x):
        shape, x = x.shape, jnp.atleast_1d(x)
        return x, jnp.zeros_like(x), [jnp.zeros(n, dtype=x.dtype) for n in x.shape], shape

    def update(i, g, state):
        x, m, rows, shape = state
        spread = [jnp.expand_dims(v, others(x.ndim, axis)) for axis, v in enumerate(rows)]
        total = functools.reduce(jnp.minimum, spread) + jnp.square(g)
        scale = jnp.where(total > 0, 1.0 / jnp.sqrt(total), 0)
        m = (1.0 - momentum) * (g * scale) + momentum * m
        rows = [total.max(others(x.ndim, axis)) for axis in range(x.ndim)]
        return x - step_size(i) * m, m, rows, shape

    def get_params(state):
        return state[0].reshape(state[3])

    return init, update, get_params


def others(ndim, axis):
    """All axes but one."""
    return tuple(d for d in range(ndim) if d != axis)


# ---- schedules -----------------------------------------------------------------------------------


def constant(step_size):
    """The same step size always."""
    return lambda i: step_size


def exponential_decay(step_size, decay_steps, decay_rate):
    """step_size * decay_rate ** (i / decay_steps)."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size, decay_steps, decay_rate, staircase=False):
    """step_size / (1 + decay_rate * i / decay_steps); staircase: only at whole decay_steps."""
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(step_size, decay_steps, final_step_size, power=1.0):
    """From step_size to final_step_size in decay_steps steps.

    >>> print(polynomial_decay(1.0, 10, 0.5)(5))
    0.75
    """

    def schedule(step_num):
        step_num = jnp.minimum(step_num, decay_steps)
        share = (1 - step_num / decay_steps) ** power
        return share * (step_size - final_step_size) + final_step_size

    return schedule


def piecewise_constant(boundaries, values):
    """values[k] after the k-th boundary; ValueError unless there is one value more."""
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1:
        raise ValueError("boundaries and values must be sequences")
    if boundaries.shape[0] != values.shape[0] - 1:
        raise ValueError("boundaries length must be one shorter than values length")
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule):
    """A function of the step, for a number or such a function; TypeError for anything else."""
    if callable(scalar_or_schedule):
        return scalar_or_schedule
    if jnp.ndim(scalar_or_schedule) == 0:
        return constant(scalar_or_schedule)
    raise TypeError(type(scalar_or_schedule))


# ---- gradients -----------------------------------------------------------------------------------


def l2_norm(tree):
    """The Euclidean norm of all numbers in a pytree."""
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in tree_leaves(tree)))


def clip_grads(grad_tree, max_norm):
    """Gradients, scaled down to the norm max_norm if theirs is greater.

    >>> import tinyjax.numpy as jnp
    >>> clip_grads([jnp.array([3.0, 4.0])], 1.0)
    [Array([0.6, 0.8], dtype=float32)]
    """
    norm = l2_norm(grad_tree)
    return tree_map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


# ---- saving --------------------------------------------------------------------------------------


class JoinPoint:
    """A leaf that holds a pytree: marks the boundary between two nested ones."""

    def __init__(self, subtree):
        self.subtree = subtree

    def __iter__(self):
        yield self.subtree


def unpack_optimizer_state(opt_state):
    """An OptimizerState as a pytree like the parameters, whose leaves are JoinPoints."""
    return opt_state.tree_def.unflatten(list(map(JoinPoint, unpack(opt_state))))


def pack_optimizer_state(marked_pytree):
    """The inverse of unpack_optimizer_state."""
    points, tree = tree_flatten(marked_pytree)
    if not all(isinstance(p, JoinPoint) for p in points):
        raise ValueError("pack_optimizer_state: all leaves of marked_pytree must be JoinPoints")
    return pack([p.subtree for p in points], tree)
