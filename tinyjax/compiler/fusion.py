"""Which equations share a loop nest.

`plan` turns the equations of a block into a list of items in order: `Nest` (a loop nest that
computes many equations), `Loop` (scan, while, cond), `Copy` (concatenate, pad and the like) and
`CallOut` (what NumPy does). Operations that only move elements are no items: consumers read through
them (index.py).

A nest runs over one shape and is of one mode:

    map    every equation has the shape of the nest
    row    reductions over the last axes; what depends on them runs in a further pass over each row
    full   reductions over all axes; their results are there when the nest has ended
    cols   reductions over other axes, into an array; likewise
"""

from tinyjax.compiler.index import HASHES, IN_PIECES, ZERO, moves, read, same, tokens
from tinyjax.compiler.roles import alike, same_size
from tinyjax.compiler.words import COSTLY, PARTS, code_of, printable
from tinyjax.core import Literal

MAX_EQUATIONS = 60
FEW_COMPLEX = 1024  # complex numbers that are added up one by one; more are NumPy's

# ---- items --------------------------------------------------------------------------------------


class Nest:
    """Equations computed together in one loop nest over `shape`."""

    def __init__(self, shape):
        self.shape, self.mode, self.axes, self.eqns = shape, "map", (), []
        self.in_pieces = False  # whether it reads an array that is joined of several
        self.phase, self.home = {}, {}  # Var -> pass after which it is known; index where it lives

    @property
    def kept(self):
        """How many leading axes the rows have."""
        return len(self.shape) - len(self.axes)

    def add(self, eqn, home, phase):
        """Add an equation that was found to fit."""
        self.eqns.append(eqn)
        for v in eqn.outvars:
            self.home[v], self.phase[v] = home, phase


class Loop:
    """scan, while or cond inside a kernel."""

    def __init__(self, eqn):
        self.eqns, self.eqn = [eqn], eqn


class Copy:
    """An equation that writes its result piece by piece."""

    def __init__(self, eqn):
        self.eqns, self.eqn = [eqn], eqn


class CallOut:
    """An equation that NumPy computes."""

    def __init__(self, eqn):
        self.eqns, self.eqn = [eqn], eqn


# ---- classes of equations -----------------------------------------------------------------------

REDUCTIONS = {
    "reduce_sum",
    "reduce_max",
    "reduce_min",
    "reduce_prod",
    "reduce_and",
    "reduce_or",
    "argmax",
    "argmin",
}
SCATTERS = {
    "scatter": "{1}",
    "scatter-add": "{0} + {1}",
    "scatter-sub": "{0} - {1}",
    "scatter-mul": "{0} * {1}",
    "scatter-min": "minimum({0}, {1})",
    "scatter-max": "maximum({0}, {1})",
}
CUMULATIVE = {
    "cumsum": "reduce_sum",
    "cumprod": "reduce_prod",
    "cummax": "reduce_max",
    "cummin": "reduce_min",
}
COPIES = {"concatenate", "pad", "dynamic_update_slice", *SCATTERS, *CUMULATIVE}


def carried(eqn):
    """The range of operands that are a loop's first carry: they are copied, wherever they are."""
    p, n = eqn.params, len(eqn.invars)
    if eqn.primitive.name == "scan":
        return p["num_consts"], p["num_consts"] + p["num_carry"]
    if eqn.primitive.name == "while":
        return p["cond_nconsts"] + p["body_nconsts"], n
    return 0, 0


def read_whole(eqn, loopable, moved):
    """The operands that an equation needs as arrays in memory; moved: those made by moving."""
    if not loopable(eqn):
        return eqn.invars
    if eqn.primitive.name == "dot_general":
        return [v for v in eqn.invars if v not in moved]
    first, last = carried(eqn)
    return eqn.invars[:first] + eqn.invars[last:]


def known_dtypes(eqn):
    """Whether kernels know all dtypes of an equation."""
    return all(code_of(v.aval.dtype) for v in (*eqn.invars, *eqn.outvars))


def is_reduction(eqn):
    """Whether a kernel can do this reduction."""
    if eqn.primitive.name not in REDUCTIONS or not known_dtypes(eqn) or not eqn.params["axes"]:
        return False
    code, axes = code_of(eqn.invars[0].aval.dtype), eqn.params["axes"]
    if code in PARTS:
        count = eqn.invars[0].aval.size // max(eqn.outvars[0].aval.size, 1)
        return eqn.primitive.name == "reduce_sum" and count <= FEW_COMPLEX
    rank = len(eqn.invars[0].aval.shape)
    if eqn.primitive.name.startswith("arg"):
        return code not in ("bool", "f16", "bf16") and (rank == 1 or axes == (rank - 1,))
    if code in ("f16", "bf16"):
        return False
    bits = eqn.primitive.name in ("reduce_and", "reduce_or")
    return (code == "bool") == bits or bits and "f" not in code


def is_copy(eqn):
    """Whether a kernel can write this result piece by piece."""
    name = eqn.primitive.name
    if name in SCATTERS or name in CUMULATIVE:
        code = code_of(eqn.outvars[0].aval.dtype)
        if name == "scatter":
            return known_dtypes(eqn) and eqn.params["update_jaxpr"] is None
        return known_dtypes(eqn) and code not in ("bool", "f16", "bf16", *PARTS)
    if name == "dynamic_update_slice":
        return known_dtypes(eqn) and all(v.aval.dtype.kind in "iu" for v in eqn.invars[2:])
    return name in COPIES and known_dtypes(eqn)


def is_move(eqn):
    """Whether consumers can read through an equation."""
    return known_dtypes(eqn) and moves(eqn)


def is_elementwise(eqn):
    """Whether a kernel computes this equation element by element."""
    return known_dtypes(eqn) and (eqn.primitive.name in HASHES or printable(eqn))


# ---- planning -----------------------------------------------------------------------------------


class Planner:
    """Sorts the equations of one block into items.

    loopable(eqn): whether a control flow equation can be part of a kernel. whole: variables that
    must exist as arrays (or scalars) when the block has run. through_products: whether matrix
    products read through what moves elements; if not, NumPy can compute them instead.
    """

    def __init__(self, loopable, whole, through_products):
        self.loopable, self.whole, self.through_products = loopable, whole, through_products
        self.items, self.item_of, self.lazy = [], {}, {}
        self.used_at = {}  # Var -> items that read it

    # what index.read asks for, when looking at accesses

    def leaf(self, atom, idx):
        """Record an access to something that is there."""
        if isinstance(atom, Literal) or atom in self.lazy:
            return "" if isinstance(atom, Literal) else None
        self.accesses.append((atom, idx))
        return ""

    def definition(self, var):
        """The equation that moves elements to var."""
        return self.lazy[var]

    def apply(self, eqn, operands, idx):
        """Nothing to compute yet."""
        return ""

    def size(self, n):
        """Sizes need no name yet."""
        return str(n)

    def clamped(self, start, limit):
        """A start index is read, too."""
        read(self, start, [])
        return "start"

    def iota(self, eqn, ix):
        """Reads nothing."""
        return ""

    def piece(self, ix, starts):
        """Any piece may be read."""
        self.in_pieces = True

    def hash_counter(self, eqn, idx, words, shape, at):
        """Nothing to hash yet."""
        return "", ""

    def hash(self, eqn, idx, words, high, low):
        """Nothing to hash yet."""
        return "", ""

    def result(self, eqn, idx, text):
        """Nothing to compute yet."""
        return ""

    def number_of(self, ix):
        """The text of an index."""
        return ix.text

    def start(self, text, ix, limit):
        """Any window may be read."""
        return "start", ""

    def fill(self, eqn):
        """What is read outside."""
        return ""

    def named(self, ix, text):
        """Nothing to name yet."""
        return text

    def choose(self, var, idx, test, yes, no):
        """Nothing to choose yet."""
        return ""

    def accessed(self, atoms_at):
        """What is read for the given (atom, index) pairs."""
        self.accesses = []
        for atom, idx in atoms_at:
            read(self, atom, idx)
        return self.accesses

    # sorting

    def plan(self, eqns):
        """All equations -> items."""
        wanted = set(self.whole)
        moved = {v for eqn in eqns if is_move(eqn) and self.through_products for v in eqn.outvars}
        wanted.update(v for eqn in eqns if is_reduction(eqn) for v in joined(eqn, eqns))
        for eqn in reversed(eqns):
            # what moves elements to several results is NumPy's work if one of them must be there
            several = len(eqn.outvars) > 1 and is_move(eqn)
            if self.needs_arrays(eqn) or several and any(v in wanted for v in eqn.outvars):
                whole = read_whole(eqn, self.loopable, moved)
                wanted.update(v for v in whole if not isinstance(v, Literal))
        self.inner = {v for eqn in eqns for v in eqn.outvars}
        for eqn in eqns:
            self.place(eqn, wanted)
        return self.items

    def is_cheap(self, eqn):
        """Whether computing a result again costs no more than reading it from memory.

        Few operations on at most one array of its size, which is in memory anyway.
        """
        if (
            not is_elementwise(eqn)
            or eqn.primitive.name in COSTLY | HASHES
            or not eqn.outvars[0].aval.shape
        ):
            return False
        size = eqn.outvars[0].aval.size
        todo, steps, large = list(eqn.invars), 1, set()
        while todo:
            v = todo.pop()
            if isinstance(v, Literal):
                continue
            if v in self.lazy:
                maker = self.lazy[v][0]
                steps += is_elementwise(maker)
                todo += maker.invars
            elif same_size(v.aval.size, size):
                large.add(v)
                if v in self.inner and type(self.items[self.item_of[v]]) not in (Loop, CallOut):
                    return False
            elif v not in self.item_of and v in self.inner:
                return False
        return steps <= 3 and len(large) <= 1

    def needs_arrays(self, eqn):
        """Whether the operands of an equation must be arrays in memory."""
        return not (is_move(eqn) or is_elementwise(eqn) or is_reduction(eqn) or is_copy(eqn))

    def place(self, eqn, wanted):
        """Put one equation where it belongs."""
        if is_move(eqn) and not any(v in wanted for v in eqn.outvars):
            for which, v in enumerate(eqn.outvars):
                self.lazy[v] = eqn, which
            return
        if eqn.outvars and eqn.outvars[0] not in wanted and self.is_cheap(eqn):
            self.lazy[eqn.outvars[0]] = eqn, 0
        elif is_copy(eqn):
            reads = self.accessed([(v, tokens(v.aval.shape)) for v in eqn.invars])
            self.append(Copy(eqn), eqn, reads)
        elif is_move(eqn) and len(eqn.outvars) == 1 or is_elementwise(eqn):
            self.place_map(eqn)
        elif is_reduction(eqn):
            self.place_reduction(eqn)
        else:
            item = Loop(eqn) if self.loopable(eqn) else CallOut(eqn)
            through = [(v, tokens(v.aval.shape)) for v in eqn.invars if v in self.lazy]
            reads = [(v, ()) for v in eqn.invars if not isinstance(v, Literal)]
            self.append(item, eqn, reads + self.accessed(through))

    def append(self, item, eqn, accesses):
        """A new item at the end."""
        self.items.append(item)
        self.note(len(self.items) - 1, eqn, accesses)

    def note(self, at, eqn, accesses):
        """Remember which item makes and reads what."""
        for v in eqn.outvars:
            self.item_of[v] = at
        for v, _ in accesses:
            self.used_at.setdefault(v, set()).add(at)

    def earliest(self, accesses):
        """The first item that could hold an equation that reads these."""
        return max((self.item_of.get(v, 0) for v, _ in accesses), default=0)

    def place_map(self, eqn):
        """An equation with one result per element."""
        shape = eqn.outvars[0].aval.shape
        reading = self.reading(eqn, tokens(shape))
        in_pieces = self.in_pieces
        for at in range(self.earliest(reading), len(self.items)):
            nest = self.items[at]
            if type(nest) is not Nest or len(nest.eqns) >= MAX_EQUATIONS:
                continue
            if in_pieces and nest.mode != "map":
                continue
            if alike(nest.shape, shape):
                phase = self.fits(nest, reading, row=False)
                if phase is not None:
                    nest.add(eqn, tokens(shape), phase)
                    nest.in_pieces |= in_pieces
                    return self.note(at, eqn, reading)
            if nest.mode == "row" and is_row(shape, nest):
                home = tokens(nest.shape)[: nest.kept] + [ZERO] * (len(shape) - nest.kept)
                row_reading = self.reading(eqn, home)
                phase = self.fits(nest, row_reading, row=True)
                if phase is not None:
                    nest.add(eqn, home, phase)
                    return self.note(at, eqn, row_reading)
        nest = Nest(shape)
        nest.add(eqn, tokens(shape), 0)
        nest.in_pieces = in_pieces
        return self.append(nest, eqn, reading)

    def reading(self, eqn, idx):
        """What an equation reads to give its element at idx."""
        self.accesses, self.in_pieces = [], False
        var = eqn.outvars[0]
        self.lazy[var] = eqn, 0
        read(self, var, idx)
        del self.lazy[var]
        return self.accesses

    def fits(self, nest, accesses, row):
        """The pass of the nest in which an equation with these accesses can run; None if none."""
        phase = 0
        for v, idx in accesses:
            home = nest.home.get(v)
            if home is None:
                continue
            reduced = len(home) < len(nest.shape) or not same(home, tokens(nest.shape))
            if not same(idx, home) or reduced and nest.mode != "row":
                return None
            if row and not reduced:
                return None
            phase = max(phase, nest.phase[v] + (1 if reduced and not row else 0))
        return phase

    def place_reduction(self, eqn):
        """A reduction, in the nest that computes its operand if possible."""
        x, axes = eqn.invars[0], tuple(sorted(eqn.params["axes"]))
        shape = x.aval.shape
        kept = len(shape) - len(axes)
        mode = "full" if kept == 0 else "row" if axes == tuple(range(kept, len(shape))) else "cols"
        accesses = self.accessed([(x, tokens(shape))])
        for at in range(self.earliest(accesses), len(self.items)):
            nest = self.items[at]
            if (
                type(nest) is not Nest
                or not alike(nest.shape, shape)
                or len(nest.eqns) >= MAX_EQUATIONS
            ):
                continue
            if nest.mode != "map" and (nest.mode, nest.axes) != (mode, axes) or nest.in_pieces:
                continue
            phase = self.fits(nest, accesses, row=False)
            if phase is not None:
                self.reduce_in(nest, eqn, mode, axes, phase)
                return self.note(at, eqn, accesses)
        nest = Nest(shape)
        self.reduce_in(nest, eqn, mode, axes, 0)
        return self.append(nest, eqn, accesses)

    def reduce_in(self, nest, eqn, mode, axes, phase):
        """Add a reduction to a nest."""
        nest.mode, nest.axes = mode, axes
        home = [ix for d, ix in enumerate(tokens(nest.shape)) if d not in axes]
        nest.add(eqn, home, phase)


def is_row(shape, nest):
    """Whether a shape is that of one element per row of a nest."""
    head, tail = shape[: nest.kept], shape[nest.kept :]
    return (
        alike(head, nest.shape[: nest.kept]) and len(shape) <= len(nest.shape) and set(tail) <= {1}
    )


def joined(eqn, eqns):
    """The operand of a reduction if it is joined of pieces: it is better made first."""
    made = [e for e in eqns if eqn.invars[0] in e.outvars and e.primitive.name in IN_PIECES]
    return [v for e in made for v in e.outvars]


def plan(eqns, whole, loopable, through_products=True):
    """-> items, definitions of the variables that are read through, and who reads what."""
    planner = Planner(loopable, whole, through_products)
    items = planner.plan(eqns)
    return items, planner.lazy, planner.used_at, planner.item_of
