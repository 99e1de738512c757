"""Sizes that know what they are: which axes of a program are equal for every input.

The text of a kernel must not depend on which sizes happen to be equal: an array of shape (64, 64)
is computed as one of shape (100, 50) is. So every size carries a role. Two axes have the same role
if the program makes them equal (x + y does), not if their lengths are equal today; products and
differences of sizes have roles that follow from their parts.
"""

from tinyjax.avals import ShapedArray
from tinyjax.compiler.passes import Program, prepare
from tinyjax.core import Literal, Var
from tinyjax.primitives.rules import Elementwise

# ---- sizes --------------------------------------------------------------------------------------


class Size(int):
    """A number with a role, which is a text."""

    def __new__(cls, n, role):
        if n in (0, 1):
            return int(n)  # the text of a kernel shows them anyway
        self = super().__new__(cls, n)
        self.role = role
        return self

    def __mul__(self, other):
        if not isinstance(other, int):
            return NotImplemented
        if other in (0, 1):
            return other * int(self) if other == 0 else self
        factors = [*self.role.split("*"), *role_of(other).split("*")]
        return Size(int(self) * int(other), "*".join(sorted(factors)))

    __rmul__ = __mul__

    def __add__(self, other):
        if not isinstance(other, int):
            return NotImplemented
        return Size(int(self) + int(other), one(f"{role_of(self)}+{role_of(other)}"))

    def __radd__(self, other):
        if not isinstance(other, int):
            return NotImplemented
        return Size(int(self) + int(other), one(f"{role_of(other)}+{role_of(self)}"))

    def __sub__(self, other):
        if not isinstance(other, int):
            return NotImplemented
        return Size(int(self) - int(other), one(f"{role_of(self)}-{role_of(other)}"))

    def __rsub__(self, other):
        if not isinstance(other, int):
            return NotImplemented
        return Size(int(other) - int(self), one(f"{role_of(other)}-{role_of(self)}"))

    def __neg__(self):
        negative = self.role.startswith("-")
        return Size(-int(self), self.role[1:] if negative else f"-{self.role}")


def one(role):
    """A role that is no product."""
    return f"({role.replace('*', 'x')})"


def role_of(n):
    """The role of a size; a plain number stands for itself."""
    return n.role if isinstance(n, Size) else f"={n}"


def same_size(a, b):
    """Whether two sizes are equal whatever they are."""
    return a == b and (a in (0, 1) or role_of(a) == role_of(b))


def alike(a, b):
    """Whether two shapes are equal whatever their sizes are."""
    return a == b and all(map(same_size, a, b))


# ---- programs -----------------------------------------------------------------------------------


def with_roles(program, fits):
    """A copy of a program whose sizes have roles. fits(eqn): whether a loop is part of a kernel."""
    copy = copied(program, fits)
    axes = Axes()
    axes.program(copy)
    axes.name_all()
    return copy


def copied(program, fits):
    """A copy with variables of its own, and so for the programs inside it."""
    env = {}

    def var(v):
        if isinstance(v, Literal):
            return v
        if v not in env:
            env[v] = Var(v.aval)
        return env[v]

    def equation(eqn):
        params = eqn.params
        if eqn.primitive.name in LOOPS and fits(eqn):
            params = {k: inner(value) for k, value in params.items()}
        ins, outs = list(map(var, eqn.invars)), list(map(var, eqn.outvars))
        return eqn.replace(invars=ins, outvars=outs, params=dict(params))

    def inner(value):
        if isinstance(value, tuple):
            return tuple(map(inner, value))
        return copied(prepare(value), fits) if hasattr(value, "eqns") else value

    invars = list(map(var, program.invars))
    consts = {var(v): x for v, x in program.consts.items()}
    eqns = list(map(equation, program.eqns))
    return Program(invars, consts, eqns, list(map(var, program.outvars)))


LOOPS = {"scan", "while", "cond"}
SAME = {"select_n", "clamp", "convert_element_type", "add_any", "copy", "copy_p", "stop_gradient"}
SAME |= {
    "cumsum",
    "cumprod",
    "cummax",
    "cummin",
    "sort",
    "rev",
    "random_fold_in",
    "reduce_precision",
}
REDUCTIONS = {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or"}
REDUCTIONS |= {"argmax", "argmin"}


class Axes:
    """Sorts the axes of all variables into classes.

    of[v]: the number of each axis of v. None stands for an axis that has any length, as that along
    which a broadcast stretches its operand: equal broadcasts are one, whatever they are used for.
    """

    def __init__(self):
        self.of, self.parent, self.programs = {}, [], []

    def new(self):
        """A new axis."""
        self.parent.append(len(self.parent))
        return len(self.parent) - 1

    def find(self, a):
        """The axis that stands for the class of one."""
        while self.parent[a] != a:
            self.parent[a] = a = self.parent[self.parent[a]]
        return a

    def join(self, a, b):
        """Two axes are of the same length."""
        if a is not None and b is not None:
            self.parent[self.find(a)] = self.find(b)

    def axes(self, atom):
        """The axes of a variable or literal."""
        if isinstance(atom, Literal):
            return [None] * len(atom.aval.shape)
        if atom not in self.of:
            self.of[atom] = [self.new() for _ in atom.aval.shape]
        return self.of[atom]

    def match(self, x, y, pairs=None):
        """Axes of x are those of y, pair by pair; all of them by default, if x has as many."""
        if pairs is None:
            n, m = len(x.aval.shape), len(y.aval.shape)
            pairs = [(d, d) for d in range(n)] if n == m else []
        for d, e in pairs:
            if x.aval.shape[d] == y.aval.shape[e] != 1:
                self.join(self.axes(x)[d], self.axes(y)[e])

    def program(self, program):
        """All equations."""
        self.programs.append(program)
        for v in [*program.consts, *program.invars]:
            self.axes(v)
        for eqn in program.eqns:
            name = eqn.primitive.name
            if name in SAME or isinstance(eqn.primitive, Elementwise):
                for v in eqn.invars:
                    for out in eqn.outvars:
                        self.match(v, out)
            elif name in REDUCTIONS:
                self.reduction(eqn)
            elif name in RULES:
                RULES[name](self, eqn, *eqn.invars)

    def reduction(self, eqn):
        """The axes that are left."""
        x, out = eqn.invars[0], eqn.outvars[0]
        kept = [d for d in range(len(x.aval.shape)) if d not in eqn.params["axes"]]
        self.match(x, out, zip(kept, range(len(kept))))

    def name_all(self):
        """Give every variable a type whose sizes have roles, and numbers of equations, too."""
        for number, program in enumerate(self.programs):
            for v in program.invars:
                self.name(v)
            for v in program.consts:
                self.name(v)
            for k, eqn in enumerate(program.eqns):
                for v in eqn.outvars:
                    self.name(v)
                name_params(eqn, f"{number}:{k}")

    def name(self, var):
        """The type of one variable."""
        aval = var.aval
        roles = [self.find(self.new() if a is None else a) for a in self.axes(var)]
        shape = [Size(n, f"#{role}") for n, role in zip(aval.shape, roles)]
        var.aval = ShapedArray(shape, aval.dtype, aval.weak_type)


def name_params(eqn, place):
    """Sizes among the parameters of an equation."""
    params, name = eqn.params, eqn.primitive.name
    if name == "slice":
        numbered = enumerate(params["start_indices"])
        params["start_indices"] = tuple(Size(n, f"{place}s{d}") for d, n in numbered)
    elif name == "pad":
        numbered = enumerate(params["padding_config"])
        params["padding_config"] = tuple(
            (Size(low, f"{place}l{d}") if low > 0 else low, high, step)
            for d, (low, high, step) in numbered
        )
    elif name == "split":
        params["sizes"] = tuple(v.aval.shape[params["axis"]] for v in eqn.outvars)
    elif name == "scan":
        rows = [*eqn.invars[params["num_consts"] + params["num_carry"] :]]
        rows += eqn.outvars[params["num_carry"] :]
        known = [v.aval.shape[0] for v in rows if isinstance(v, Var)]
        params["length"] = known[0] if known else Size(params["length"], f"{place}n")
    elif name in ("random_bits", "random_split"):
        rank = len(eqn.invars[0].aval.shape) - 1
        params["shape"] = eqn.outvars[0].aval.shape[rank:][: len(params["shape"])]


# ---- rules --------------------------------------------------------------------------------------


def broadcast_in_dim(axes, eqn, x, *_):
    """Along other axes an operand may be stretched to any length."""
    out, dims = eqn.outvars[0], eqn.params["broadcast_dimensions"]
    known = dict(zip(dims, zip(x.aval.shape, axes.axes(x))))
    shape = out.aval.shape
    axes.of[out] = [
        known[d][1] if known.get(d, (None,))[0] == n else None for d, n in enumerate(shape)
    ]


def iota(axes, eqn, *_):
    """Numbers up to any length."""
    axes.of[eqn.outvars[0]] = [None] * len(eqn.outvars[0].aval.shape)


def reshape(axes, eqn, x, *_):
    """Where axes of length 1 come or go, the others stay."""
    out = eqn.outvars[0]
    old, new = ([d for d, n in enumerate(v.aval.shape) if n != 1] for v in (x, out))
    if [x.aval.shape[d] for d in old] == [out.aval.shape[d] for d in new]:
        own = axes.axes(x)
        axes.of[out] = [axes.new() for _ in out.aval.shape]
        for d, e in zip(old, new):
            axes.of[out][e] = own[d]


def transpose(axes, eqn, x):
    """Axes in another order."""
    axes.of[eqn.outvars[0]] = [axes.axes(x)[d] for d in eqn.params["permutation"]]


def windows(axes, eqn, x, *_):
    """slice, dynamic_slice and the like: axes that stay whole."""
    for out in eqn.outvars:
        axes.match(x, out)


def split(axes, eqn, x):
    """All axes but one."""
    for out in eqn.outvars:
        pairs = [(d, d) for d in range(len(x.aval.shape)) if d != eqn.params["axis"]]
        axes.match(x, out, pairs)


def update(axes, eqn, x, values, *_):
    """The result is like the operand; where the update is as long, it is like it, too."""
    axes.match(x, eqn.outvars[0])
    axes.match(values, x)


def concatenate(axes, eqn, *xs):
    """All axes but one."""
    for x in xs:
        pairs = [(d, d) for d in range(len(x.aval.shape)) if d != eqn.params["dimension"]]
        axes.match(x, eqn.outvars[0], pairs)


def pad(axes, eqn, x, *_):
    """Axes without padding."""
    config = enumerate(eqn.params["padding_config"])
    axes.match(x, eqn.outvars[0], [(d, d) for d, around in config if around == (0, 0, 0)])


def dot_general(axes, eqn, a, b, *_):
    """Those of the operands, which agree where they are summed over and in batches."""
    (a_sum, b_sum), (a_batch, b_batch) = eqn.params["dimension_numbers"]
    out = eqn.outvars[0]
    axes.match(a, b, [*zip(a_sum, b_sum), *zip(a_batch, b_batch)])
    a_free = [d for d in range(len(a.aval.shape)) if d not in (*a_sum, *a_batch)]
    b_free = [d for d in range(len(b.aval.shape)) if d not in (*b_sum, *b_batch)]
    first = [*a_batch, *a_free]
    axes.match(a, out, [(d, k) for k, d in enumerate(first)])
    axes.match(b, out, [(d, len(first) + k) for k, d in enumerate(b_free)])


def gather(axes, eqn, x, indices):
    """Batches of the indices' shape, and whole windows."""
    place_windows(axes, eqn, x, indices, eqn.outvars[0])


def scatter(axes, eqn, x, indices, updates):
    """The result is like the operand; updates are like what a gather reads."""
    axes.match(x, eqn.outvars[0])
    place_windows(axes, eqn, x, indices, updates)


def place_windows(axes, eqn, x, indices, values):
    """Axes of the values that are read from an operand or written to it."""
    window, dropped, _, operand_axes, _ = eqn.params["dimension_numbers"]
    batch = [d for d in range(len(values.aval.shape)) if d not in window]
    whole = [d for d in range(len(x.aval.shape)) if d not in (*dropped, *operand_axes)]
    axes.match(indices, values, list(enumerate(batch)))
    axes.match(x, values, zip(whole, window))


def scan(axes, eqn, *_):
    """Carried values keep their shape; rows belong to stacks."""
    program, p = eqn.params["jaxpr"], eqn.params
    if not isinstance(program, Program):
        return
    axes.program(program)
    fixed, carries = p["num_consts"] + p["num_carry"], p["num_carry"]
    for v, inner in zip(eqn.invars[:fixed], program.invars):
        axes.match(v, inner)
    for v, out, inner in zip(
        program.invars[p["num_consts"] :], eqn.outvars, program.outvars[:carries]
    ):
        axes.match(v, inner)
        axes.match(v, out)
    stacks = [*zip(eqn.invars[fixed:], program.invars[fixed:])]
    stacks += zip(eqn.outvars[carries:], program.outvars[carries:])
    for stack, row in stacks:
        axes.match(stack, row, [(d + 1, d) for d in range(len(row.aval.shape))])
        axes.match(stack, stacks[0][0], [(0, 0)])


def while_(axes, eqn, *_):
    """Carried values keep their shape."""
    cond, body, p = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"], eqn.params
    if not isinstance(body, Program):
        return
    axes.program(cond)
    axes.program(body)
    n, m = p["cond_nconsts"], p["body_nconsts"]
    carried = eqn.invars[n + m :]
    for v, inner in zip([*eqn.invars[:n], *carried], cond.invars):
        axes.match(v, inner)
    for v, inner in zip(eqn.invars[n:], body.invars):
        axes.match(v, inner)
    for v, out, inner in zip(body.invars[m:], eqn.outvars, body.outvars):
        axes.match(v, inner)
        axes.match(v, out)


def cond(axes, eqn, _, *operands):
    """All branches return the same shapes."""
    for program in eqn.params["branches"]:
        if not isinstance(program, Program):
            return
        axes.program(program)
        for v, inner in zip(operands, program.invars):
            axes.match(v, inner)
        for out, inner in zip(eqn.outvars, program.outvars):
            axes.match(inner, out)


RULES = {
    "broadcast_in_dim": broadcast_in_dim,
    "iota": iota,
    "reshape": reshape,
    "squeeze": reshape,
    "expand_dims": reshape,
    "transpose": transpose,
    "slice": windows,
    "dynamic_slice": windows,
    "split": split,
    "dynamic_update_slice": update,
    "concatenate": concatenate,
    "pad": pad,
    "dot_general": dot_general,
    "gather": gather,
    **dict.fromkeys(
        ["scatter", "scatter-add", "scatter-sub", "scatter-mul", "scatter-min", "scatter-max"],
        scatter,
    ),
    "scan": scan,
    "while": while_,
    "cond": cond,
}
