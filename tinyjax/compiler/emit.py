"""From the items of a block to lines of a kernel: a line per equation, in as few loops as can be.

`Emitter` walks over the items. For every nest it looks at all accesses first (`probing`), to see
which axes can be one loop, and then writes the loops; values are computed where they are first
read.
"""

import math

from tinyjax.compiler import reduce
from tinyjax.compiler.emit_columns import emit_columns
from tinyjax.compiler.emit_copies import emit_copy
from tinyjax.compiler.emit_full import emit_full
from tinyjax.compiler.emit_loops import emit_loop
from tinyjax.compiler.emit_rows import emit_rows
from tinyjax.compiler.fusion import Copy, Nest, plan
from tinyjax.compiler.index import ZERO, Ix, read, same, tokens
from tinyjax.compiler.kernel import LOOP_NAMES, Place, group_axes, loop_indices
from tinyjax.compiler.threefry import threefry
from tinyjax.compiler.words import code_of, expression, inside, literal
from tinyjax.core import Literal
from tinyjax.primitives.windows import default_fill

MAX_PIECES = 12  # loop nests that one nest may become


class Block:
    """What is known of the block under construction."""

    def __init__(self, items, lazy, used_at, item_of, whole):
        self.items, self.lazy, self.used_at = items, lazy, used_at
        self.item_of, self.whole = item_of, set(whole)


class Emitter:
    """Writes blocks into a kernel."""

    def __init__(self, kernel, loopable):
        self.kernel, self.loopable = kernel, loopable
        self.block, self.nest = None, None
        self.makers, self.members, self.stashed, self.phase = {}, {}, {}, 0
        self.letter, self.seen = {}, set()
        self.cuts, self.within = None, {}  # axis -> where pieces begin; axis -> present piece
        self.also = {}  # Var -> further places that it is written to
        self.probing = None  # the accesses found so far, while looking ahead

    # ---- blocks ---------------------------------------------------------------------------------

    def run(self, program, whole):
        """Write a whole program (of a loop's body or a branch)."""
        parts = plan(program.eqns, whole, self.loopable)
        outer, self.block = self.block, Block(*parts, whole)
        for item in self.block.items:
            self.item(item)
        self.block = outer

    def item(self, item):
        """Write one item."""
        self.kernel.equations += len(item.eqns)
        if type(item) is Nest:
            self.emit_nest(item)
        elif type(item) is Copy:
            emit_copy(self, item.eqn)
        else:
            emit_loop(self, item.eqn)

    def stored(self, var):
        """Whether a variable of the present item must outlive it in memory."""
        used = self.block.used_at.get(var, set())
        return var in self.block.whole or bool(used - {self.block.item_of[var]})

    def storage(self, var):
        """The array that a variable is written to."""
        kernel = self.kernel
        if var not in kernel.places:
            code = code_of(var.aval.dtype)
            name = kernel.namer(var)
            kernel.places[var] = kernel.scratch(name, code, var.aval.shape, shared=True)
        return kernel.places[var]

    # ---- what index.read asks for ---------------------------------------------------------------

    def leaf(self, atom, idx):
        """The text of an element that exists; None if it must be computed here."""
        if isinstance(atom, Literal):
            return self.kernel.number(atom)
        if atom in self.kernel.scalars:
            return self.kernel.scalars[atom]
        if atom in self.stashed and self.members[atom] < self.phase:
            return self.load(atom, self.stashed[atom], self.tail(idx))
        if atom in self.members:
            return self.known(atom, idx)
        if atom in self.block.lazy:
            return self.known(atom, idx)
        return self.load(atom, self.kernel.array(atom), idx)

    def definition(self, var):
        """The equation that computes a variable here."""
        return self.makers[var] if var in self.makers else self.block.lazy[var]

    def known(self, var, idx):
        """The name of a value that has been computed already."""
        key = var, tuple(ix.text for ix in idx)
        if self.probing is not None:
            return "x" if key in self.seen else None
        for scope in reversed(self.kernel.scopes):
            if key in scope.memo:
                return scope.memo[key]
        return None

    def load(self, var, place, idx):
        """Read an element."""
        if self.probing is not None:
            self.probing.append((place.shape, [*place.at, *idx]))
            return "x"
        name = self.known(var, idx)
        if name is None:
            text = f"{place.name}[{self.kernel.flat(place, idx)}]"
            name = self.assign(var, idx, text)
        return name

    def apply(self, eqn, operands, idx, text=None):
        """Compute an element."""
        var = eqn.outvars[0]
        if self.probing is not None:
            self.seen.add((var, tuple(ix.text for ix in idx)))
            return "x"
        return self.assign(var, idx, text or expression(eqn, operands), self.comment(eqn))

    def assign(self, var, idx, text, comment=""):
        """A line that names a value, in the outermost scope that knows its index."""
        kernel = self.kernel
        key = var, tuple(ix.text for ix in idx)
        scope = kernel.home(idx)
        letters = "".join(self.letter[d] for d in sorted({d for ix in idx for d in ix.uses}))
        letters = "".join(dict.fromkeys(letters))
        base = kernel.namer(var) + (f"_{letters}" if letters else "")
        name = kernel.local(base, (key, letters))
        scope.memo[key] = name
        kernel.line(f"{name} = {text}{comment}", scope)
        return name

    def comment(self, eqn):
        """An equation as a jaxpr shows it, behind its line."""
        names = [
            self.kernel.shown(v) if isinstance(v, Literal) else self.kernel.namer(v)
            for v in eqn.invars
        ]
        out = eqn.outvars[0]
        text = f"{self.kernel.namer(out)}:{out.aval.str_short(True)} = {eqn.primitive}"
        return f"  # {' '.join([text, *names])}"

    def size(self, n):
        """The name of a size."""
        return "n" if self.probing is not None else self.kernel.size(n)

    def clamped(self, start, limit):
        """A start index, moved so that the slice fits."""
        if isinstance(start, Literal):
            at = min(max(int(start.val), 0), limit)
            return str(at) if at <= 4 else self.size(at)
        text = read(self, start, [])
        if self.probing is not None:
            return "s"
        key = (start, "clamped", limit), ()
        for scope in reversed(self.kernel.scopes):
            if key in scope.memo:
                return scope.memo[key]
        scope = self.kernel.home([])
        name = self.kernel.local("start", key)
        scope.memo[key] = name
        self.kernel.line(f"{name} = maximum(minimum(i64({text}), {self.size(limit)}), 0)", scope)
        return name

    def number_of(self, ix):
        """The text of an index, whose axis then has a loop of its own."""
        if self.probing is not None:
            self.probing.append(((2,), [Ix("x", None, ix.uses) if ix.uses else ix]))
        return ix.text

    def hash_counter(self, eqn, idx, words, shape, at):
        """Hash the position of an element in an array."""
        if self.probing is not None:
            self.probing.append((shape, at))
            return "x", "x"
        count = self.kernel.flat(Place("", "", shape), at)
        high = f"u32(shift_right_logical(u64({count}), u64(32)))"
        return self.hash(eqn, idx, words, high, f"u32({count})")

    def hash(self, eqn, idx, words, high, low):
        """The rounds of Threefry-2x32 -> the names of two words."""
        return (
            ("x", "x") if self.probing is not None else threefry(self.kernel, idx, words, high, low)
        )

    def result(self, eqn, idx, text):
        """Name an element that has been computed."""
        return self.apply(eqn, None, idx, text)

    def iota(self, eqn, ix):
        """The index itself, as a number."""
        self.number_of(ix)
        if self.probing is not None:
            return "x"
        code = code_of(eqn.outvars[0].aval.dtype)
        var = eqn.outvars[0]
        return self.known(var, [ix]) or self.assign(var, [ix], f"{inside(code)}({ix.text})")

    def store(self, place, idx, value):
        """Write an element."""
        if self.probing is not None:
            self.probing.append((place.shape, [*place.at, *idx]))
        else:
            self.kernel.line(f"{place.name}[{self.kernel.flat(place, idx)}] = {value}")

    # ---- loops over a shape ---------------------------------------------------------------------

    def over(self, shape, body):
        """Loops over a shape around body(indices); arrays in pieces are met piece by piece."""
        self.cuts = {}
        self.innermost = max((d for d, n in enumerate(shape) if n != 1), default=None)
        groups, idx = self.analyse(shape, body)
        if math.prod(len(starts) for starts in self.cuts.values()) > MAX_PIECES:
            self.cuts = None
            groups, idx = self.analyse(shape, body)
        self.pieces(shape, groups, idx, body)
        self.cuts, self.within = None, {}

    def pieces(self, shape, groups, idx, body):
        """The loops of some groups of axes, once for each piece (of which a slice may read few)."""
        if not groups:
            return body(idx)
        if len(groups) == 1 and len(self.letter) > len(groups[0]) and not self.cuts:
            groups, steps = reduce.written_out(shape, groups, idx)
            if not groups:
                return [body(at) for at in steps]
        axis, rest = groups[0][-1], groups[1:]
        starts = sorted(s for s in (self.cuts or {}).get(axis, ()) if s < shape[axis])
        if len(starts) < 2:
            self.open_loops(shape, groups[:1])
            self.pieces(shape, rest, idx, body)
            return self.kernel.close()
        for first, last in zip(starts, [*starts[1:], shape[axis]]):
            low, high = (str(n) if n <= 2 else self.size(n) for n in (first, last))
            self.within[axis] = first
            self.kernel.open(f"for {self.letter[axis]} in range({low}, {high}):", groups[0])
            self.pieces(shape, rest, idx, body)
            self.kernel.close(f"{self.letter[axis]} = {low}" if last == first + 1 else None)
        return None

    def piece(self, ix, starts):
        """The number of the piece in which the loop is; None if it is not confined to one."""
        if ix is ZERO:
            return 0
        if self.probing is not None:  # which piece it is depends on this axis, so it has a loop
            self.probing.append(((2,), [ix]))
        if self.cuts is None or ix.dim is None or ix.dim != self.innermost:
            return None  # a test outside of the innermost loop costs nothing
        if self.probing is not None:
            self.cuts.setdefault(ix.dim, {0}).update(starts)
            return None
        if not self.cuts.get(ix.dim, {0}).issuperset(starts):
            return None  # an array in pieces inside of a piece: the loop was not cut for it
        at = self.within.get(ix.dim, 0)
        return max(k for k, start in enumerate(starts) if start <= at)

    def start(self, text, ix, limit):
        """Where a window begins, moved until it fits; the test that it need not be moved."""
        if self.probing is not None:
            return "s", "t"
        whole, limit = self.named(ix, f"i64({text})"), self.size(limit)
        moved = self.named(ix, f"maximum(minimum({whole}, {limit}), 0)")
        return moved, f"({whole} >= 0) & ({whole} <= {limit})"

    def fill(self, eqn):
        """What a gather reads outside of its operand."""
        value, dtype = eqn.params["fill_value"], eqn.outvars[0].aval.dtype
        return literal(default_fill(dtype) if value is None else value, code_of(dtype))

    def named(self, ix, text):
        """A line that gives an index along an axis a name."""
        if self.probing is not None:
            return "x"
        scope = self.kernel.home([ix])
        key = text, "index"
        if key not in scope.memo:
            scope.memo[key] = self.kernel.fresh(
                f"{self.letter[ix.uses[0]]}_at" if ix.uses else "at"
            )
            self.kernel.line(f"{scope.memo[key]} = {text}", scope)
        return scope.memo[key]

    def choose(self, var, idx, test, yes, no):
        """An element of one piece or another."""
        if self.probing is not None:
            return "x"
        name = self.kernel.fresh(self.kernel.namer(var) + "_piece")
        self.kernel.line(f"{name} = where({test}, {yes}, {no})", self.kernel.home(idx))
        return name

    def analyse(self, shape, body):
        """Run body for its accesses -> groups of axes that are one loop each, and indices."""
        self.probing, self.seen = [], set()
        body(tokens(shape))
        accesses, self.probing = self.probing, None
        groups = group_axes(shape, accesses)
        self.letter = {d: LOOP_NAMES[k] for k, group in enumerate(groups) for d in group}
        return groups, loop_indices(shape, groups)

    def open_loops(self, shape, groups):
        """for i in range(n): ..."""
        for group in groups:
            n = math.prod(shape[d] for d in group)
            bounds = self.kernel.bounds(n) or self.size(n)
            self.kernel.open(f"for {self.letter[group[-1]]} in range({bounds}):", group)

    def close_loops(self, groups):
        """The end of these loops."""
        for _ in groups:
            self.kernel.close()

    # ---- nests ----------------------------------------------------------------------------------

    def emit_nest(self, nest):
        """One loop nest."""
        self.nest = nest
        self.makers = {v: (eqn, k) for eqn in nest.eqns for k, v in enumerate(eqn.outvars)}
        self.members = dict(nest.phase)
        self.letter = {}
        if nest.shape == ():
            self.scalar_lines(nest)
        elif nest.mode == "row":
            emit_rows(self, nest)
        elif nest.mode == "full":
            emit_full(self, nest)
        elif nest.mode == "cols":
            emit_columns(self, nest)
        else:
            self.over(nest.shape, lambda idx: self.stores(nest.eqns, idx))
        self.nest, self.makers, self.members, self.stashed, self.phase = None, {}, {}, {}, 0

    def scalar_lines(self, nest):
        """Equations between numbers: a line each."""
        for eqn in nest.eqns:
            if reduce.is_reduction(eqn):
                self.scalar(eqn.outvars[0], read(self, eqn.invars[0], []))
            else:
                self.scalar(eqn.outvars[0], read(self, eqn.outvars[0], []))

    def scalar(self, var, name):
        """A number that is known from here on; kept in memory if it outlives the kernel."""
        self.kernel.scalars[var] = name
        if var in self.kernel.places:
            self.kernel.line(f"{self.kernel.places[var].name}[0] = {name}")

    def element_eqns(self, eqns, phase=None):
        """The equations that give one element per index and must be stored."""
        return [
            eqn.outvars[0]
            for eqn in eqns
            if not reduce.is_reduction(eqn)
            and self.stored(eqn.outvars[0])
            and (phase is None or self.members[eqn.outvars[0]] == phase)
        ]

    def stores(self, eqns, idx, phase=None):
        """Compute elements and write them, in this order: what is written may be read, too."""
        full = [v for v in self.element_eqns(eqns, phase) if self.is_full(v)]
        values = [(v, read(self, v, idx)) for v in full]
        for v, value in values:
            for place in [self.storage(v), *self.also.get(v, ())]:
                self.store(place, idx, value)

    def is_full(self, var):
        """Whether a variable of the nest has an element per index (not one per row)."""
        home = self.nest.home[var]
        return len(home) == len(self.nest.shape) and same(home, tokens(self.nest.shape))

    def home_of(self, var, idx):
        """The index at which the nest computes a variable."""
        return [ZERO if h is ZERO else idx[h.dim] for h in self.nest.home[var]]

    def tail(self, idx):
        """The part of an index within a row."""
        return idx[self.nest.kept :]
