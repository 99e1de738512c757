"""A step along a line that satisfies Wolfe's conditions.

Source: Nocedal, Wright: "Numerical Optimization" (2006), algorithms 3.5 and 3.6.
"""

from typing import Any, NamedTuple

from tinyjax import dtypes, lax
from tinyjax import numpy as jnp
from tinyjax.autodiff import value_and_grad
from tinyjax.numpy.promotion import promote_dtypes_inexact

ZOOMS = 30  # after so many steps, zoom gives up


class Point(NamedTuple):
    """A step along the line: its length, and there the function, its slope, its gradient."""

    a: Any
    phi: Any
    slope: Any
    gradient: Any = None


class LineSearchResults(NamedTuple):
    """What line_search found. status: 0 a step, 1 zoom failed, 3 there were too many steps."""

    failed: Any
    nit: Any
    nfev: Any
    ngev: Any
    k: Any
    a_k: Any
    f_k: Any
    g_k: Any
    status: Any


def dot(x, y):
    """The product of two vectors."""
    return jnp.dot(x, y, precision=lax.Precision.HIGHEST)


def choose(condition, new, old):
    """Every field of `new` where the condition holds, else of `old`."""
    pairs = zip(new, old)
    return type(old)(*[o if o is None else jnp.where(condition, n, o) for n, o in pairs])


# ---- minima of interpolating polynomials --------------------------------------------------------


def cubic_minimum(a, fa, slope, b, fb, c, fc):
    """Where the cubic through three points, with the slope at a, is least."""
    dtype = dtypes.result_type(a, fa, slope, b, fb, c, fc)
    db, dc = b - a, c - a
    scale = (db * dc) ** 2 * (db - dc)
    matrix = jnp.array([[dc**2, -(db**2)], [-(dc**3), db**3]], dtype=dtype)
    rest = jnp.array([fb - fa - slope * db, fc - fa - slope * dc], dtype=dtype)
    third, second = dot(matrix, rest) / scale
    root = jnp.sqrt(second * second - 3.0 * third * slope)
    return a + (-second + root) / (3.0 * third)


def quadratic_minimum(a, fa, slope, b, fb):
    """Where the parabola through two points, with the slope at a, is least."""
    db = b - a
    return a - slope / (2.0 * (fb - fa - slope * db) / db**2)


# ---- zoom ---------------------------------------------------------------------------------------


class Zoom(NamedTuple):
    """The state of zoom: an interval [low, high] in which there is a good step, the best so far."""

    done: Any
    failed: Any
    j: Any
    low: Point
    high: Point
    recent: Point  # the end that was given up last
    best: Point
    evaluations: Any


class Line:
    """A function along a line, and Wolfe's conditions for steps."""

    def __init__(self, f, x, p, phi, slope, c1, c2):
        self.f, self.x, self.p, self.phi, self.slope = f, x, p, phi, slope
        self.c1, self.c2 = c1, c2

    def at(self, a):
        """The Point of a step."""
        a = jnp.array(a, dtype=self.p.dtype)
        phi, gradient = value_and_grad(self.f)(self.x + a * self.p)
        return Point(a, phi, jnp.real(dot(gradient, self.p)), gradient)

    def too_high(self, point):
        """The function did not fall enough."""
        return point.phi > self.phi + self.c1 * point.a * self.slope

    def flat(self, point):
        """The slope has become small enough."""
        return jnp.abs(point.slope) <= -self.c2 * self.slope

    def zoom(self, low, high, gradient, skip):
        """Make the interval smaller until a step is good."""
        recent = Point((low.a + high.a) / 2.0, (low.phi + high.phi) / 2.0, low.slope)
        best = Point(jnp.ones_like(low.a), low.phi, low.slope, gradient)
        low, high = (Point(*p[:3]) for p in (low, high))
        state = Zoom(False, False, 0, low, high, recent, best, 0)
        going = lambda s: ~s.done & ~skip & ~s.failed
        return lax.while_loop(going, self.zoom_step, state)

    def zoom_step(self, state):
        """Try a step inside the interval: where a cubic, a parabola is least, or the middle."""
        low, high, recent = state.low, state.high, state.recent
        width = high.a - low.a
        start, end = jnp.minimum(high.a, low.a), jnp.maximum(high.a, low.a)
        least = 1e-5 if dtypes.finfo(width.dtype).bits < 64 else 1e-10
        failed = state.failed | (width <= least)
        cubic = cubic_minimum(low.a, low.phi, low.slope, high.a, high.phi, recent.a, recent.phi)
        use_cubic = (state.j > 0) & (cubic > start + 0.2 * width) & (cubic < end - 0.2 * width)
        parabola = quadratic_minimum(low.a, low.phi, low.slope, high.a, high.phi)
        use_parabola = (parabola > start + 0.1 * width) & (parabola < end - 0.1 * width)
        a = jnp.where(use_parabola, parabola, (low.a + high.a) / 2.0)
        new = self.at(jnp.where(use_cubic, cubic, a))
        new = Point(*[v.astype(b.dtype) for v, b in zip(new, state.best)])

        is_high = self.too_high(new) | (new.phi >= low.phi)
        is_good = self.flat(new) & ~is_high
        past = (new.slope * width >= 0.0) & ~is_high & ~is_good
        is_low = ~is_high & ~is_good
        short = Point(*new[:3])
        given_up = choose(is_high | past, high, choose(is_low, low, recent))
        return Zoom(
            done=is_good | state.done,
            failed=failed | (state.j + 1 >= ZOOMS),
            j=state.j + 1,
            low=choose(is_low, short, low),
            high=choose(is_high, short, choose(past, low, high)),
            recent=given_up,
            best=choose(is_good, new, state.best),
            evaluations=state.evaluations + 1,
        )


# ---- the search ---------------------------------------------------------------------------------


class Search(NamedTuple):
    """The state of line_search."""

    done: Any
    failed: Any
    i: Any
    last: Point
    best: Point
    evaluations: Any


def line_search(f, xk, pk, old_fval=None, old_old_fval=None, gfk=None, c1=1e-4, c2=0.9,
                maxiter=20):  # fmt: skip
    """A step along the direction pk from xk that satisfies the strong Wolfe conditions.

    Args:
      f: function of a vector.
      xk, pk: vectors: the place, the direction.
      old_fval, old_old_fval: the function at xk, and at the place before.
      gfk: its gradient at xk.
      c1, c2: the constants of the conditions.
      maxiter: the greatest number of steps.

    Returns LineSearchResults.
    """
    xk, pk = promote_dtypes_inexact(xk, pk)
    line = Line(f, xk, pk, None, None, c1, c2)
    known = old_fval is not None and gfk is not None
    start = Point(0.0, old_fval, jnp.real(dot(gfk, pk)), gfk) if known else line.at(0)
    line.phi, line.slope, gradient = start.phi, start.slope, start.gradient
    first = 1.0
    if old_old_fval is not None:
        guess = 1.01 * 2 * (start.phi - old_old_fval) / start.slope
        first = jnp.where(guess > 1, 1.0, guess)

    def step(state):
        """Lengthen the step until an interval, or the step itself, is good."""
        last = state.last
        new = line.at(jnp.where(state.i == 1, first, last.a * 2.0))
        short = Point(*new[:3])
        beyond = line.too_high(new) | ((new.phi >= last.phi) & (state.i > 1))
        good = line.flat(new) & ~beyond
        rising = (new.slope >= 0.0) & ~beyond & ~good
        back = line.zoom(last, short, gradient, ~beyond)
        forth = line.zoom(short, last, gradient, ~rising)
        best = choose(beyond, back.best, choose(good, new, state.best))
        return Search(
            done=beyond | good | rising | state.done,
            failed=(beyond & back.failed) | (rising & forth.failed) | state.failed,
            i=state.i + 1,
            last=short,
            best=choose(rising, forth.best, best),
            evaluations=state.evaluations + 1 + back.evaluations + forth.evaluations,
        )

    zero = jnp.zeros((), pk.dtype)
    best = Point(zero, start.phi, start.slope, gradient)
    state = Search(jnp.array(False), jnp.array(False), 1, Point(*best[:3]), best, int(not known))
    going = lambda s: ~s.done & (s.i <= maxiter) & ~s.failed
    state = lax.while_loop(going, step, state)
    status = jnp.where(state.failed, 1, jnp.where(state.i > maxiter, 3, 0))
    a = state.best.a
    if dtypes.finfo(a.dtype).bits != 64:  # no step is shorter than what single precision notices
        a = jnp.where(jnp.abs(a) < 1e-8, jnp.sign(a) * 1e-8, a)
    return LineSearchResults(
        failed=state.failed | ~state.done,
        nit=state.i - 1,
        nfev=state.evaluations,
        ngev=state.evaluations,
        k=state.i,
        a_k=a,
        f_k=state.best.phi,
        g_k=state.best.gradient,
        status=status,
    )
