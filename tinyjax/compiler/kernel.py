"""The text of one kernel: its parameters, its variables' names, its nested scopes of lines."""

import keyword
import re
import textwrap

import numpy as np

from tinyjax.compiler.index import ZERO, Ix, plain
from tinyjax.compiler.intrinsics_py import WORDS
from tinyjax.compiler.roles import role_of, same_size
from tinyjax.compiler.words import code_of, inside, literal

# ---- names --------------------------------------------------------------------------------------

LOOP_NAMES = "ijklmpq"
RESERVED = {*WORDS, *keyword.kwlist, *LOOP_NAMES, "range"}


class Namer:
    """Letters for variables, in the order in which they are met: a, b, ... z, ba, bb, ..."""

    def __init__(self):
        self.names, self.count = {}, 0

    def __call__(self, var):
        if var not in self.names:
            name = letters(self.count)
            self.count += 1
            self.names[var] = name + "_" if name in RESERVED else name
        return self.names[var]


def letters(n):
    """0 -> a, 25 -> z, 26 -> ba, as jaxprs are printed."""
    text = ""
    while True:
        n, digit = divmod(n, 26)
        text = chr(ord("a") + digit) + text
        if n == 0:
            return text


# ---- where values are ---------------------------------------------------------------------------


class Place:
    """An array parameter that holds a variable; at: indices of further axes in front."""

    __slots__ = ("at", "code", "name", "shape")

    def __init__(self, name, code, shape, at=()):
        self.name, self.code, self.shape, self.at = name, code, tuple(shape), tuple(at)

    def row(self, text):
        """One element along the first axis."""
        return Place(self.name, self.code, self.shape, (*self.at, Ix(text)))


class Scope:
    """Lines under construction, and the values that they have computed."""

    def __init__(self, header=None, dims=()):
        self.header, self.dims, self.lines, self.memo = header, dims, [], {}

    def block(self):
        """Header and indented lines."""
        empty = all(line.startswith("#") for line in self.lines)
        return [self.header, *("    " + line for line in self.lines), *["    pass"] * empty]


# ---- the kernel ---------------------------------------------------------------------------------


MAX_SIZE = 1 << 53


class Kernel:
    """Collects parameters and lines; `finish` makes them the source of one function.

    Parameters are arrays of variables, scratch arrays, and sizes: no size is ever written into the
    source, so that other shapes find the same kernel.
    """

    def __init__(self, name, namer, known_sizes):
        self.name, self.namer, self.known_sizes = name, namer, known_sizes
        self.arrays = {}  # name -> (code, operand); an operand is a Var or a Scratch
        self.sizes = {}  # (role, number) -> name
        self.places, self.scalars = {}, {}  # Var -> Place, Var -> text
        self.scopes = [Scope()]
        self.base = 0  # the scope of the block under construction
        self.taken = {}  # local name -> what it stands for
        self.equations = 0
        self.stages = []

    # parameters

    def size(self, n):
        """The name of a size."""
        return str(n) if n in (0, 1) else self.parameter(role_of(n), n)

    def parameter(self, role, n):
        """The name of a number that is passed to the kernel."""
        key = role, int(n)
        if key not in self.sizes:
            self.sizes[key] = self.fresh(f"n{len(self.sizes)}")
        return self.sizes[key]

    def bounds(self, n):
        """The range of the outermost loop of a stage that threads may share, else None."""
        stage = self.stages[-1] if self.stages else None
        if stage is None or not stage.divisible or stage.steps is not None:
            return None
        stage.steps = n
        return ", ".join(stage.range)

    def array(self, var, suffix=""):
        """The place of a variable that is an argument of the kernel."""
        if var not in self.places:
            code = code_of(var.aval.dtype)
            name = self.fresh(self.namer(var) + (suffix or ("" if var.aval.shape else "_ref")))
            self.arrays[name] = code, var
            self.places[var] = Place(name, code, var.aval.shape)
        return self.places[var]

    def scratch(self, name, code, shape, shared=False):
        """A new array that lives during the call only; shared: for the next stages, too."""
        name = self.fresh(name)
        stage = len(self.stages) - 1 if not shared and self.stages else None
        self.arrays[name] = code, Scratch(code, shape, stage)
        return Place(name, code, shape)

    def fresh(self, name):
        """A name that nothing else has."""
        base, k = name, 2
        while name in self.taken or name in self.arrays:
            name, k = f"{base}{k}", k + 1
        self.taken[name] = object()
        return name

    def local(self, name, key):
        """The name of a local variable for a value; the same value gets the same name again."""
        base, k = name, 2
        while name in self.arrays or self.taken.get(name, key) != key:
            name, k = f"{base}{k}", k + 1
        self.taken[name] = key
        return name

    def number(self, atom):
        """The text of a literal; one that is a size of the program is a parameter."""
        code, value = code_of(atom.aval.dtype), np.asarray(atom.val)[()]
        if self.is_size(value):
            return f"{inside(code)}({self.parameter(atom, value)})"
        return literal(value, code)

    def shown(self, atom):
        """A literal in a comment."""
        return str(np.asarray(atom.val)[()])

    def is_size(self, value):
        """Whether a number may be a size of the program: a whole float, whatever the sizes are."""
        if isinstance(value, (np.bool_, np.complexfloating)):
            return False
        if isinstance(value, np.integer):
            return value in self.known_sizes
        return 4 < value < MAX_SIZE and float(value).is_integer()

    # stages

    def begin(self, items, divisible, alone):
        """Begin a stage; alone: it is the only one of its kernel."""
        stage = Stage(items, divisible, alone, len(self.stages))
        self.stages.append(stage)
        if not alone:
            self.open(f"if {' < '.join(stage.range)}:")
            self.base = len(self.scopes) - 1

    def split(self, finished=0):
        """Begin another stage for what must wait for all steps of the present one.

        finished: how many items end with the present one.
        """
        stage = self.stages[-1]
        stage.items, rest = stage.items[:1], stage.items[1:]
        stage.finished = finished
        self.end()
        self.begin(rest, False, False)
        self.stages[-1].finished += 1 - finished

    def end(self):
        """End it: what it leaves to the next one lies in arrays."""
        stage, lines = self.stages[-1], self.scope.lines
        stage.arrays = self.arrays.keys() & IDENTIFIER.findall("\n".join(map(code_only, lines)))
        if self.base:
            self.close()
            self.base = 0
            self.scalars.clear()

    # lines

    @property
    def scope(self):
        """The innermost scope."""
        return self.scopes[-1]

    def line(self, text, scope=None):
        """Add a line."""
        (scope or self.scope).lines.append(text)

    def open(self, header, dims=()):
        """Begin a loop or branch."""
        self.scopes.append(Scope(header, dims))

    def close(self, once=None):
        """End it; a loop that runs once is a line that sets its variable instead."""
        done = self.scopes.pop()
        self.scope.lines += [once, *done.lines] if once else done.block()

    def home(self, idx):
        """The outermost scope in which an index is known."""
        uses = {d for ix in idx for d in ix.uses}
        for scope in reversed(self.scopes[self.base + 1 :]):
            if uses.intersection(scope.dims):
                return scope
        return self.scopes[self.base]

    def flat(self, place, idx):
        """The text of the position of an element in its array."""
        text, rest = None, 1
        for n, ix in zip(place.shape, [*place.at, *idx], strict=True):
            if n == 1:
                continue
            rest *= n
            if ix.text is None:
                continue
            if text in (None, "0"):
                text = ix.text
            else:
                # a tiny stride is written out, like the loop over such an axis (reduce.TINY)
                stride = rest if rest <= 4 else self.size(rest)
                text = f"{wrapped(text)}*{stride} + {ix.text}"
            rest = 1
        return text or "0"

    def sort_arrays(self):
        """Put scratch arrays behind the others, last those that belong to one stage."""

        def order(pair):
            _, (_, operand) = pair
            if not isinstance(operand, Scratch):
                return -2
            return -1 if operand.stage is None else operand.stage

        self.arrays = dict(sorted(self.arrays.items(), key=order))

    def finish(self):
        """The source text."""
        params = [*self.arrays, *self.sizes.values(), *self.extra]
        lines = self.scopes[0].lines
        if all(line.startswith("#") for line in lines):
            lines = [*lines, "pass"]
        lines = [*self.described(), *lines]
        header = f"def {self.name}({', '.join(params)}):"
        return "\n".join([header, *("    " + line for line in lines)]) + "\n"

    def described(self):
        """Comments that say what the parameters are: here, and only here, sizes are numbers."""
        arrays = [f"{n}:{code}[{','.join(map(str, x.shape))}]" for n, (code, x) in self.shapes()]
        sizes = [f"{name}={n}" for (_, n), name in self.sizes.items()]
        return textwrap.wrap(
            " ".join([*arrays, *sizes]), 96, initial_indent="# ", subsequent_indent="# "
        )

    def shapes(self):
        """(name, (code, thing with a shape)) of the arrays."""
        for name, (code, x) in self.arrays.items():
            yield name, (code, x if isinstance(x, Scratch) else x.aval)

    @property
    def signature(self):
        """Types of the parameters, as the backend wants them."""
        arrays = [f"{code}[1]" for code, _ in self.arrays.values()]
        return (*arrays, *["intp"] * (len(self.sizes) + len(self.extra)))

    @property
    def extra(self):
        """Parameters that say which steps of each stage to run."""
        if self.stages[0].alone and self.stages[0].steps is None:
            return []
        return [name for stage in self.stages for name in stage.range]


class Stage:
    """A part of a kernel: a loop whose steps threads may share, or what runs as a whole."""

    def __init__(self, items, divisible, alone, number):
        self.items, self.divisible, self.alone = items, divisible, alone
        self.finished = len(items)  # how many items end with it
        suffix = "" if alone else f"_{number}"
        self.range = [f"first{suffix}", f"last{suffix}"]
        self.steps = None  # of the outermost loop, if threads may share them
        self.by_numpy = False  # whether NumPy computes it, and the kernel leaves it out
        self.arrays = set()  # names of the arrays that it reads or writes


def code_only(line):
    """A line without its comment."""
    return line.split("#")[0].rstrip()


IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*")
KEPT = {*WORDS, *keyword.kwlist, "range"}


def anonymous(source):
    """The source without comments, and with names that do not depend on the program's.

    Equal computations of one program or of several are then compiled once.
    """
    names = {}

    def rename(match):
        word = match[0]
        return word if word in KEPT else names.setdefault(word, f"v{len(names)}")

    lines = map(code_only, source.splitlines())
    return "\n".join(IDENTIFIER.sub(rename, line) for line in lines if line.strip()) + "\n"


class Scratch:
    """An array that a kernel needs while it runs; stage: the number of the one that it is for."""

    def __init__(self, code, shape, stage):
        self.code, self.shape, self.stage = code, shape, stage


def wrapped(text):
    """In parentheses if it is a sum."""
    return f"({text})" if " + " in text or " - " in text else text


# ---- loops over shapes --------------------------------------------------------------------------


def group_axes(shape, accesses):
    """Which neighbouring axes can be one loop: those that every access runs through together.

    accesses: (shape of the array, indices). -> lists of axes, without axes of size 1.
    """
    axes = [d for d, n in enumerate(shape) if n != 1]
    groups = []
    for d in axes:
        before = groups[-1][-1] if groups else None
        if before is not None and all(together(before, d, shape, *a) for a in accesses):
            groups[-1].append(d)
        else:
            groups.append([d])
    return groups


def together(first, second, shape, array_shape, idx):
    """Whether an access runs through two neighbouring axes as if they were one."""
    pairs = [(n, ix) for n, ix in zip(array_shape, idx, strict=True) if n != 1]
    dims = [ix.dim for _, ix in pairs]
    for _, ix in pairs:
        if ix.dim is None and {first, second} & set(ix.uses):
            return False
    if first not in dims and second not in dims:
        return True
    if dims.count(first) != 1 or dims.count(second) != 1:
        return False
    at = dims.index(first)
    return (
        at + 1 < len(dims) and dims[at + 1] == second and same_size(pairs[at + 1][0], shape[second])
    )


def loop_indices(shape, groups):
    """For every axis its index: the last axis of a group carries the loop variable."""
    idx = [ZERO for _ in shape]
    for name, group in zip(LOOP_NAMES, groups):
        for d in group:
            idx[d] = plain(d)
        idx[group[-1]] = plain(group[-1], name)
    return idx
