# The card of the exercise stopwatch. Spoilers: it holds the solutions.

# %% [markdown] about
# difficulty: 2
# minutes: 20

# %% [markdown] statement
# # Time a call, and wait for it
#
# A call returns as soon as the work has been handed over; the values come later. And the first call
# of a compiled function compiles it. A fair time counts neither too little nor too much.
#
# Write `seconds(f, x, clock)`: how long one call `f(x)` takes from the moment it is made until its
# values are there, compilation left out. Call `f` once before you start the clock, so that it is
# compiled. (Then you may time several calls, and return their mean or the best.) `clock()` returns
# the present time in seconds, as `time.perf_counter()` does; `f(x)` returns an array.
#
# The checks bring a clock and a function that pretend: a compilation of 5 seconds, a call that
# returns after 0.01 seconds, values that come 2 seconds later. There `seconds` must return 2.01.
#
# Run this file, or `tinyjax check stopwatch`, to see whether it is right.

# %% given
import time

import tinyjax as jax
import tinyjax.numpy as jnp


# %% stub
def seconds(f, x, clock=time.perf_counter):
    """The seconds from calling `f(x)` to its values, compilation left out."""
    raise NotImplementedError


# %% [markdown] hint
# What is still under way when `f(x)` has returned, and which method of the array waits for it?

# %% [markdown] hint
# Every call starts work that goes on behind its back, the first call, too. `block_until_ready()`
# waits for one result. Wait before you start the clock, so that nothing old is left to do, and wait
# before you stop it.

# %% [markdown] hint
#     def seconds(f, x, clock=time.perf_counter):
#         f(x)...
#         start = clock()
#         ...
#         return clock() - start

# %% checks
import numpy as np

from tinyjax.learn import check


class Machine:
    """A function and a clock that pretend: time passes only here."""

    def __init__(self, compiling, call, work):
        self.compiling, self.call, self.work = compiling, call, work
        self.now, self.done, self.results, self.asked = 100.0, 0.0, [], False

    def clock(self):
        """The present time."""
        self.asked = True
        return self.now

    def f(self, x):
        """Hands the work over; what was handed over before is done first."""
        if not self.results:
            self.now += self.compiling
        self.now += self.call
        self.done = max(self.now, self.done) + self.work
        self.results.append(Result(self, self.done))
        return self.results[-1]


class Result:
    """Stands for an array: whoever looks at the values waits for them."""

    def __init__(self, machine, ready):
        self.machine, self.ready = machine, ready

    def block_until_ready(self):
        """Waits until the values are there."""
        self.machine.now = max(self.machine.now, self.ready)
        return self

    def __array__(self, dtype=None, copy=None):
        self.block_until_ready()
        return np.zeros(3, dtype or np.float32)

    def __float__(self):
        return float(np.asarray(self)[0])

    def __repr__(self):
        return repr(np.asarray(self))

    def __iter__(self):
        return iter(np.asarray(self))

    def __getitem__(self, index):
        return np.asarray(self)[index]

    def tolist(self):
        """The values as numbers of Python."""
        return np.asarray(self).tolist()


def draw(rng):
    """A machine that has nothing to compile, but much to compute."""
    return {
        "compiling": 0.0,
        "call": round(rng.uniform(0.01, 0.05), 3),
        "work": round(rng.uniform(1.0, 4.0), 2),
    }


def draw_compiled(rng):
    """A machine that compiles for long; its values are there when the call returns."""
    return {
        "compiling": round(rng.uniform(5.0, 9.0), 2),
        "call": round(rng.uniform(0.3, 0.9), 2),
        "work": 0.0,
    }


def measured(student, compiling, call, work):
    """What the student's stopwatch shows on such a machine."""
    machine = Machine(compiling, call, work)
    seconds = student.seconds(machine.f, np.ones(3, np.float32), machine.clock)
    if isinstance(seconds, float):
        seconds = round(seconds, 6)
    return {"seconds": seconds, "clock was read": machine.asked}


@check("until the values are there")
def until_ready(student, compiling, call, work):
    return measured(student, compiling, call, work)


@check("without the compilation", draw=draw_compiled)
def without_compilation(student, compiling, call, work):
    return measured(student, compiling, call, work)


# %% reference
def seconds(f, x, clock=time.perf_counter):
    """The seconds from calling `f(x)` to its values, compilation left out."""
    f(x).block_until_ready()  # compiles, and leaves nothing to do that would be in the way
    start = clock()
    f(x).block_until_ready()
    return clock() - start


# %% right: with the function that waits
def seconds(f, x, clock=time.perf_counter):
    jax.block_until_ready(f(x))
    started = clock()
    result = f(x)
    jax.block_until_ready(result)
    stopped = clock()
    return stopped - started


# %% right: the best of five
def seconds(f, x, clock=time.perf_counter):
    def once():
        start = clock()
        f(x).block_until_ready()
        return clock() - start

    once()
    return min(once() for _ in range(5))


# %% right: the mean of ten
def seconds(f, x, clock=time.perf_counter):
    jax.block_until_ready(f(x))
    start = clock()
    for _ in range(10):
        jax.block_until_ready(f(x))
    return (clock() - start) / 10


# %% right: looking at the values
def seconds(f, x, clock=time.perf_counter):
    jnp.asarray(f(x).tolist())
    t0 = clock()
    f(x).tolist()
    return clock() - t0


# %% right: the second of two laps
class Stopwatch:
    def __call__(self, ƒ, ξ, clock):
        laps = []
        for _ in range(2):
            laps.append(-clock())
            ƒ(ξ).block_until_ready()
            laps[-1] += clock()
        return laps[-1]


seconds = Stopwatch()


# %% wrong: nobody waits
# You stopped the clock before the values were there: wait with block_until_ready() first.
def seconds(f, x, clock=time.perf_counter):
    f(x).block_until_ready()
    start = clock()
    f(x)
    return clock() - start


# %% wrong: waiting too late
# You stopped the clock before the values were there: wait with block_until_ready() first.
def seconds(f, x, clock=time.perf_counter):
    f(x).block_until_ready()
    start = clock()
    result = f(x)
    stop = clock()
    result.block_until_ready()
    return stop - start


# %% wrong: the compilation counts
# You timed the first call: it compiles f, so call f once before you start the clock.
def seconds(f, x, clock=time.perf_counter):
    start = clock()
    f(x).block_until_ready()
    return clock() - start


# %% wrong: the first call is still at work
# You did not wait for the first call: its work is still under way and ends up in your time.
def seconds(f, x, clock=time.perf_counter):
    f(x)
    start = clock()
    f(x).block_until_ready()
    return clock() - start


# %% wrong: both calls
# You started the clock before the first call: it counts neither as a call nor as compilation.
def seconds(f, x, clock=time.perf_counter):
    start = clock()
    f(x).block_until_ready()
    f(x).block_until_ready()
    return clock() - start


# %% wrong: the mean with the first call
# You took the mean of two calls, of which the first compiles: leave the first one out.
def seconds(f, x, clock=time.perf_counter):
    start = clock()
    for _ in range(2):
        f(x).block_until_ready()
    return (clock() - start) / 2


# %% wrong: the wrong sign
# You subtracted the wrong way round: the time is the end minus the start.
def seconds(f, x, clock=time.perf_counter):
    f(x).block_until_ready()
    start = clock()
    f(x).block_until_ready()
    return start - clock()


# %% wrong: only waiting is timed
# You started the clock after the call: the call itself belongs to the time.
def seconds(f, x, clock=time.perf_counter):
    f(x).block_until_ready()
    result = f(x)
    start = clock()
    result.block_until_ready()
    return clock() - start
