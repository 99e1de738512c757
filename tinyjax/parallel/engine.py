"""The engine: what pmap asks of whoever runs its programs, and which engine that is.

An engine has devices, numbered from 0. A `Program` is defined once and called many times; its
operands and results are `Buffer`s, which stay on the devices. Calls run in order, each on all of
its program's devices; `call` returns at once with a `Ticket` to wait for.
"""

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tinyjax.config import config
from tinyjax.parallel.device import Mesh
from tinyjax.source import warn

# ---- what is handed to an engine -----------------------------------------------------------------

# For each part of an array, the devices that hold it: ((0,), (1,)) if it is split over two
# devices, ((0, 1),) if both hold the whole.
Parts = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Spec:
    """How an array lies on devices: the shape and dtype of a part, and who holds which part."""

    shape: tuple[int, ...]
    dtype: np.dtype
    parts: Parts

    @property
    def whole(self):
        """The shape of all parts, stacked along a first axis."""
        return (len(self.parts), *self.shape)

    @cached_property
    def nbytes(self):
        """The bytes of all parts."""
        return math.prod(self.whole) * self.dtype.itemsize

    def part_of(self, device):
        """The number of the part that a device holds."""
        return next(k for k, holders in enumerate(self.parts) if device in holders)


class Buffer:
    """Memory on devices, given back when nobody refers to it any more. Engines subclass it."""

    spec: Spec


_numbers = itertools.count(1)


@dataclass(eq=False)
class Program:
    """What devices are to run. code: a packed jaxpr (`packing.py`), for one device's parts.

    devices: which device is at each position of the mesh. ins, outs: how operands and results lie.
    tail: collectives that make a result and nothing else, {number of the result: (op, axes)}; the
    jaxpr returns their operands. callbacks: the user's functions, called where the user is (number
    k of `Device.call_back`). number: no two programs have the same.
    """

    name: str
    code: bytes
    mesh: Mesh
    devices: tuple[int, ...]
    ins: tuple[Spec, ...]
    outs: tuple[Spec, ...]
    tail: dict[int, tuple] = field(default_factory=dict)
    callbacks: tuple[Any, ...] = ()
    flags: dict[str, Any] = field(default_factory=dict)
    number: int = field(default_factory=_numbers.__next__)


class DeviceError(RuntimeError):
    """A device was lost, or did not answer in time. The next call starts it again."""


class Ticket(ABC):
    """A call that has been sent off."""

    @abstractmethod
    def wait(self) -> None:
        """Return when the results are there.

        Raises DeviceError when a device was lost; the user's own exception when a callback raised.
        """

    @abstractmethod
    def done(self) -> bool:
        """Whether `wait` would return at once."""


class Engine(ABC):
    """Runs programs on devices."""

    fixed_count: int | None = None  # how many devices it has, if that is not the flag's to say

    @classmethod
    def advice(cls, count):
        """What a user does to have so many devices."""
        return f'jax.config.update("jax_num_cpu_devices", {count}) or TINYJAX_NUM_DEVICES={count}'

    @abstractmethod
    def put(self, array: np.ndarray, parts: Parts) -> Buffer:
        """A buffer with the contents of array, whose first axis counts the parts."""

    @abstractmethod
    def alloc(self, spec: Spec) -> Buffer:
        """A buffer for results."""

    @abstractmethod
    def get(self, buffer: Buffer) -> np.ndarray:
        """The contents, of shape `buffer.spec.whole`; read-only, perhaps without a copy. The call
        that makes them must have been waited for."""

    @abstractmethod
    def call(self, program: Program, inputs: list[Buffer], outputs: list[Buffer]) -> Ticket:
        """Send a program off; the first time, define it. The ticket keeps the buffers alive."""

    @abstractmethod
    def close(self) -> None:
        """Stop all devices. The engine may be used again: it starts anew."""


# ---- the one in use ------------------------------------------------------------------------------

_engine: Engine | None = None
_makers: list = []


def register(make):
    """Name the engine to use unless another one is set: a function without arguments."""
    _makers.append(make)


def engine():
    """The engine that pmap uses; made at the first call."""
    global _engine
    if _engine is None:
        _engine = _makers[-1]()
    return _engine


def use(new):
    """Use another engine from now on -> the one before, or None. None: the default, made anew."""
    global _engine
    old, _engine = _engine, new
    return old


# ---- its devices ---------------------------------------------------------------------------------

_warned: list = []  # not empty: the user knows that the flag does not count


def num_devices():
    """How many devices there are: what the engine in use has, else what the flag says."""
    asked = config.num_devices
    there = None if _engine is None else _engine.fixed_count
    if there is None:
        return asked
    if there != asked and not _warned:
        _warned.append(True)
        text = (
            f"num_devices={asked} is ignored: there are {there} devices, as many as were started. "
            f"For {asked}: {advice(asked)}."
        )
        warn(text)
    return there


def advice(count):
    """What a user does to have so many devices."""
    return (_engine or Engine).advice(count)
