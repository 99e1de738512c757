"""Collects programs that run in two worlds: functions of a module that is jax or tinyjax.

`@program` adds a function of the module as it is. `@scalar(modes)` adds a function f(jax, x) of
one number under many transformations, each of which is a program of its own.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

XS = np.array([0.3, 0.7, 1.1], np.float32)
MAT = np.array([[0.1, 0.5, -0.3], [0.7, -0.2, 0.4], [0.2, 0.9, 0.6]], np.float32)


class Raises(NamedTuple):
    """The error that both worlds raise: a class of this name, with these words in the message."""

    name: str
    words: tuple = ()


class Program(NamedTuple):
    """run: a function of the module that returns a pytree, or raises as `error` says.
    weak: whether the results' weak types are compared, too."""

    name: str
    run: Callable[[Any], Any]
    error: Raises | None = None
    weak: bool = True


PROGRAMS: list[Program] = []


def add(name, run, error=None, weak=True):
    """Add a program; its name must be new."""
    assert all(p.name != name for p in PROGRAMS), f"two programs are called {name}"
    PROGRAMS.append(Program(name, run, error, weak))


def program(run):
    """Decorator: add a function of the module."""
    add(run.__name__, run)
    return run


def raises(name, *words):
    """Decorator: add a function of the module that must raise."""

    def decorate(run):
        add(run.__name__, run, Raises(name, words))
        return run

    return decorate


# ---- one function, many transformations ----------------------------------------------------------


def grad_of_vmaps(jax, f):
    """The gradient of a sum over a batch of batches."""
    jnp = jax.numpy
    batches = jax.vmap(jax.vmap(f))
    return jax.grad(lambda x: jnp.sum(batches(jnp.reshape(x, (3, 1)))))(jnp.asarray(XS))


def linearized(jax, f):
    """The value, and the linear map applied twice."""
    y, push = jax.linearize(f, 0.7)
    return y, push(1.0), push(2.0)


def second_tangent(jax, f):
    """Forward mode over forward mode, with a jit between."""
    return jax.jvp(lambda x: jax.jvp(jax.jit(f), (x,), (1.0,))[1], (0.7,), (1.0,))


def hessian_of_norm(jax, f):
    """The second derivatives of a function of the squared norm."""
    jnp = jax.numpy
    return jax.hessian(lambda x: f(jnp.sum(x * x)))(jnp.asarray(XS[:2]))


MODES = {
    "value": lambda jax, f: f(0.7),
    "grad": lambda jax, f: jax.grad(f)(0.7),
    "grad_grad": lambda jax, f: jax.grad(jax.grad(f))(0.7),
    "jit": lambda jax, f: jax.jit(f)(0.7),
    "jit_grad": lambda jax, f: jax.jit(jax.grad(f))(0.7),
    "grad_jit": lambda jax, f: jax.grad(jax.jit(f))(0.7),
    "deep": lambda jax, f: jax.jit(jax.grad(jax.jit(jax.grad(jax.jit(f)))))(0.7),
    "vmap": lambda jax, f: jax.vmap(f)(XS),
    "vmap_jit_grad": lambda jax, f: jax.vmap(jax.jit(jax.grad(f)))(XS),
    "grad_vmaps": grad_of_vmaps,
    "jvp": lambda jax, f: jax.jvp(f, (0.7,), (1.3,)),
    "jvp_jvp": second_tangent,
    "linearize": linearized,
    "hessian": hessian_of_norm,
}
ALL = tuple(MODES)
FORWARD = ("value", "jit", "vmap", "jvp", "jvp_jvp", "linearize")
REVERSE = tuple(m for m in MODES if m not in ("jvp", "jvp_jvp", "linearize"))
REVERSE_ONCE = tuple(m for m in REVERSE if m != "hessian")


def scalar(modes=ALL, error=None, weak=True):
    """Decorator: add f(jax, x), a function of one number, under every mode."""

    def decorate(f):
        for mode in modes:
            transform = MODES[mode]
            run = partial(lambda transform, jax: transform(jax, partial(f, jax)), transform)
            add(f"{f.__name__}/{mode}", run, error, weak)
        return f

    return decorate


def scalar_raises(modes, name, *words):
    """Decorator: add f(jax, x) under every mode, where each must raise."""
    return scalar(modes, Raises(name, words))
