"""Small matrix products inside a kernel, as loops.

Where the rows of the right operand lie in memory as they are needed, multiples of rows are added
up; otherwise every element is a sum of its own. Several rows at a time keep the processor busy.
"""

import math

from tinyjax.compiler.index import ZERO, Ix, plain, read
from tinyjax.compiler.kernel import LOOP_NAMES
from tinyjax.compiler.reduce import TINY
from tinyjax.compiler.words import code_of, literal

MAX_PRODUCT = 1 << 16  # multiplications of a matrix product that is written as loops


def has_loops(eqn):
    """Whether a product can be written as loops."""
    dtypes = {v.aval.dtype for v in (*eqn.invars, *eqn.outvars)}
    return len(dtypes) == 1 and code_of(*dtypes) in ("f32", "f64")


def multiplications(eqn):
    """How many numbers a product multiplies."""
    (lc, _), _ = eqn.params["dimension_numbers"]
    terms = math.prod(int(eqn.invars[0].aval.shape[d]) for d in lc)
    return int(eqn.outvars[0].aval.size) * terms


def is_small_product(eqn):
    """Whether a product is small enough for plain loops."""
    return has_loops(eqn) and multiplications(eqn) <= MAX_PRODUCT


class Product:
    """out[batch, m, n] = sum over k of a[batch, m, k] * b[batch, k, n], each letter some axes.

    The axes of the loops are numbered: batch, m (of a), n (of b), k.
    """

    def __init__(self, em, eqn):
        self.em, self.eqn, self.out = em, eqn, eqn.outvars[0]
        self.a, self.b = eqn.invars
        (self.a_sum, self.b_sum), (self.a_batch, self.b_batch) = eqn.params["dimension_numbers"]
        self.a_free = free(self.a, self.a_sum, self.a_batch)
        self.b_free = free(self.b, self.b_sum, self.b_batch)
        a_axes = (*self.a_batch, *self.a_free)
        self.kept = [self.a.aval.shape[d] for d in a_axes]
        self.kept += [self.b.aval.shape[d] for d in self.b_free]
        self.shape = self.kept + [self.a.aval.shape[d] for d in self.a_sum]
        axes = [d for d, n in enumerate(self.shape) if n != 1]
        em.letter = {d: LOOP_NAMES[k] for k, d in enumerate(axes)}
        self.idx = [plain(d, em.letter[d]) if d in axes else ZERO for d in range(len(self.shape))]
        self.outer = [[d] for d in axes if d < len(self.kept)]
        self.inner = [[d] for d in axes if d >= len(self.kept)]
        self.zero = literal(0, code_of(self.out.aval.dtype))

    def factors(self, idx):
        """The texts of two elements that are multiplied."""
        return self.left(idx), self.right(idx)

    def left(self, idx):
        """An element of a."""
        n = len(self.a_batch) + len(self.a_free)
        places = zip((*self.a_batch, *self.a_free, *self.a_sum), (*idx[:n], *idx[len(self.kept) :]))
        return read(self.em, self.a, in_order(places))

    def right(self, idx):
        """An element of b."""
        n, m = len(self.b_batch), len(self.a_batch) + len(self.a_free)
        axes = (*self.b_batch, *self.b_free, *self.b_sum)
        return read(self.em, self.b, in_order(zip(axes, (*idx[:n], *idx[m:]))))

    def result(self, idx):
        """The text of an element of the result."""
        place = self.em.kernel.places[self.out]
        return f"{place.name}[{self.em.kernel.flat(place, idx[: len(self.kept)])}]"

    def moved(self, axis, step, k):
        """The indices with step * i + k along an axis."""
        idx = list(self.idx)
        idx[axis] = Ix(f"({idx[axis].text}*{step} + {k})", None, (axis,))
        return idx


def free(x, *axes):
    """The axes of an operand that are in none of the tuples."""
    return [d for d in range(len(x.aval.shape)) if not any(d in some for some in axes)]


def in_order(places):
    """Indices by axis, from (axis, index) pairs."""
    return [ix for _, ix in sorted(places, key=lambda pair: pair[0])]


def emit_dot(em, eqn):
    """The loops of a product."""
    em.nest, em.makers, em.members = None, {}, {}
    p, kernel = Product(em, eqn), em.kernel
    kernel.line(f"# {kernel.namer(p.out)} = dot_general")
    if p.out.aval.shape:
        em.storage(p.out)
    last = len(p.b.aval.shape) - 1
    if p.b_free and p.b_free[-1] == last and p.shape[len(p.kept) - 1] > 1:
        by_rows(p)
    else:
        by_elements(p)


# ---- rows of b are added up ---------------------------------------------------------------------


def by_rows(p):
    """The innermost loop runs along the last axis of the result."""
    em, kernel = p.em, p.em.kernel
    place = kernel.places[p.out]
    letters, em.letter = em.letter, {}
    em.over(p.out.aval.shape, lambda idx: em.store(place, idx, p.zero))
    em.letter = letters
    around, along = p.outer[:-1], p.outer[-1:]
    em.open_loops(p.shape, around)
    if len(p.inner) == 1 and p.shape[p.inner[0][0]] > TINY:
        rows_by_eight(p, p.inner[0][0], along)
    else:
        em.open_loops(p.shape, p.inner + along)
        add_row(p)
        em.close_loops(p.inner + along)
    em.close_loops(around)


def add_row(p):
    """One multiple of one element of a row."""
    x, y = p.factors(p.idx)
    p.em.kernel.line(f"{p.result(p.idx)} = muladd({x}, {y}, {p.result(p.idx)})")


def rows_by_eight(p, axis, along):
    """Eight rows at a time, and the rest."""
    em, kernel = p.em, p.em.kernel
    n, letter = em.size(p.shape[axis]), em.letter[axis]
    kernel.open(f"for {letter} in range({n} // 8):", (axis,))
    places = [p.moved(axis, 8, k) for k in range(8)]
    multiples = [p.left(idx) for idx in places]
    em.open_loops(p.shape, along)
    text = p.result(p.idx)
    for x, idx in zip(multiples, places):
        text = f"muladd({x}, {p.right(idx)}, {text})"
    kernel.line(f"{p.result(p.idx)} = {text}")
    em.close_loops(along)
    kernel.close()
    kernel.open(f"for {letter} in range({n} // 8 * 8, {n}):", (axis,))
    em.open_loops(p.shape, along)
    add_row(p)
    em.close_loops(along)
    kernel.close()


# ---- a sum for each element ---------------------------------------------------------------------


def by_elements(p):
    """The innermost loop runs along what is summed over."""
    em, outer = p.em, p.outer
    rows = len(p.a_batch) + len(p.a_free) - 1
    if outer and not p.b_free and outer[-1] == [rows] and p.shape[rows] > TINY and p.inner:
        em.open_loops(p.shape, outer[:-1])
        sums_by_four(p, rows)
        em.close_loops(outer[:-1])
        return
    em.open_loops(p.shape, outer)
    one_sum(p)
    em.close_loops(outer)


def one_sum(p):
    """One element."""
    em, kernel = p.em, p.em.kernel
    total = kernel.fresh(kernel.namer(p.out) + "_acc")
    kernel.line(f"{total} = {p.zero}")
    em.open_loops(p.shape, p.inner)
    x, y = p.factors(p.idx)
    kernel.line(f"{total} = acc({total}, {x} * {y})")
    em.close_loops(p.inner)
    if p.out.aval.shape:
        kernel.line(f"{p.result(p.idx)} = {total}")
    else:
        em.scalar(p.out, total)


def sums_by_four(p, axis):
    """Four elements at a time, and the rest."""
    em, kernel = p.em, p.em.kernel
    n, letter = em.size(p.shape[axis]), em.letter[axis]
    kernel.open(f"for {letter} in range({n} // 4):", (axis,))
    places = [p.moved(axis, 4, k) for k in range(4)]
    totals = [kernel.fresh(kernel.namer(p.out) + "_acc") for _ in places]
    for total in totals:
        kernel.line(f"{total} = {p.zero}")
    em.open_loops(p.shape, p.inner)
    for total, idx in zip(totals, places):
        kernel.line(f"{total} = acc({total}, {p.left(idx)} * {p.right(idx)})")
    em.close_loops(p.inner)
    for total, idx in zip(totals, places):
        kernel.line(f"{p.result(idx)} = {total}")
    kernel.close()
    kernel.open(f"for {letter} in range({n} // 4 * 4, {n}):", (axis,))
    one_sum(p)
    kernel.close()
