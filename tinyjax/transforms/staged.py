"""The stages of a jitted function: Traced -> Lowered -> Compiled, each with what it knows."""

import dataclasses
import functools
import math
import operator

import numpy as np

from tinyjax import dtypes
from tinyjax.array import is_arraylike, lift
from tinyjax.avals import ShapedArray
from tinyjax.compiler.profile import profile
from tinyjax.core import EVAL, Tracer, all_eqns, current_trace, run
from tinyjax.transforms.flat import lift_args
from tinyjax.tree_util import equality_errors, keystr, tree_flatten, tree_map, tree_unflatten

# ---- types of arguments and results --------------------------------------------------------------


class ShapeDtypeStruct:
    """Shape and dtype of an array that need not exist.

    >>> ShapeDtypeStruct((2, 3), "float32")
    ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(self, shape, dtype, *, sharding=None, weak_type=False):
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape, self.weak_type, self.sharding = tuple(shape), weak_type, sharding
        extended = dtypes.issubdtype(dtype, dtypes.extended)
        self.dtype = dtype if extended else np.dtype(dtype)

    ndim = property(lambda self: len(self.shape))

    @property
    def size(self):
        """Number of elements."""
        return functools.reduce(operator.mul, self.shape, 1)

    def update(self, **changes):
        """A copy with some parts replaced."""
        own = {name: getattr(self, name) for name in ("shape", "dtype", "sharding", "weak_type")}
        return ShapeDtypeStruct(**own | changes)

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self):
        sharding = "" if self.sharding is None else f", sharding={self.sharding}"
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype.name}{sharding}{weak})"

    def __eq__(self, other):
        return isinstance(other, ShapeDtypeStruct) and repr(self) == repr(other)

    def __hash__(self):
        return hash((self.shape, self.dtype, self.weak_type))


def as_aval(x):
    """The type of an argument: of an array, number or ShapeDtypeStruct."""
    if isinstance(x, ShapedArray):
        return x
    if not is_arraylike(x) and hasattr(x, "shape") and hasattr(x, "dtype"):
        dtype = dtypes.canonicalize_dtype(x.dtype)
        return ShapedArray(x.shape, dtype, getattr(x, "weak_type", False))
    return lift_args([x], "jit")[0].aval


@dataclasses.dataclass(frozen=True)
class ArgInfo:
    """Type of an argument, and whether its memory may be used again (never, on a CPU)."""

    _aval: ShapedArray
    donated: bool = False

    shape = property(lambda self: self._aval.shape)
    dtype = property(lambda self: self._aval.dtype)


class Stage:
    """What all stages know. program: a jit.Traced; in_tree: the structure of (args, kwargs), whose
    leaves have these types and names."""

    keeps_weak = False  # whether out_info tells of weak types; only Traced does

    def __init__(self, program, in_tree, fun_name, avals, names):
        self.program, self.in_tree, self.fun_name = program, in_tree, fun_name
        self.avals, self.names, self.donate_argnums = avals, names, ()
        self.out_tree = program.out_tree

    @property
    def in_avals(self):
        """The types of (args, kwargs)."""
        return tree_unflatten(self.in_tree, self.avals)

    @property
    def args_info(self):
        """The same with ArgInfo."""
        return tree_unflatten(self.in_tree, [ArgInfo(a) for a in self.avals])

    @property
    def out_avals(self):
        """The types of the results."""
        return tree_unflatten(self.out_tree, self.program.jaxpr.out_avals)

    @property
    def out_info(self):
        """The results' structure with a ShapeDtypeStruct for each array."""
        return tree_map(
            lambda a: ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type and self.keeps_weak),
            self.out_avals,
        )

    def kernels(self):
        """The source text of the program's kernels: plain Python that runs without Numba too."""
        return self.program.executable().kernels()

    def cost_analysis(self):
        """A rough count: {"flops": operations, "bytes accessed": bytes read and written}."""
        flops = sum(map(operations, all_eqns(self.program.jaxpr)), 0.0)
        ends = [*self.program.jaxpr.in_avals, *self.program.jaxpr.out_avals]
        moved = sum([a.size * getattr(a.dtype, "itemsize", 8) for a in ends], 0.0)
        return {"flops": flops, "bytes accessed": moved}


def operations(eqn):
    """How many numbers an equation computes; a matrix product adds as many as it multiplies."""
    size = max([v.aval.size for v in eqn.outvars], default=0)
    if eqn.primitive.name == "dot_general":
        (left, _), _ = eqn.params["dimension_numbers"]
        return 2.0 * size * math.prod(eqn.invars[0].aval.shape[d] for d in left)
    if eqn.primitive.name.startswith("reduce_"):
        return float(eqn.invars[0].aval.size)
    return 0.0 if eqn.primitive.high else float(size)


class Traced(Stage):
    """A function traced for arguments of some types: `.jaxpr`, `.out_info`, `.lower()`."""

    keeps_weak = True

    @property
    def jaxpr(self):
        """The program; what it captured is among its consts."""
        jaxpr, captured = self.program.jaxpr, self.program.captured
        n = len(captured)
        return jaxpr.replace(
            invars=jaxpr.invars[n:],
            constvars=jaxpr.constvars + jaxpr.invars[:n],
            consts=jaxpr.consts + captured,
        )

    def lower(self, *, lowering_platforms=None, **_):
        """The next stage. lowering_platforms: accepted as JAX's."""
        return Lowered(self.program, self.in_tree, self.fun_name, self.avals, self.names)

    def __call__(self, *args, **kwargs):
        """Run the program through whatever transformation is in charge."""
        leaves = self.checked(args, kwargs)
        outs = run(self.program.jaxpr, *self.program.captured, *leaves)
        return tree_unflatten(self.out_tree, outs)

    def checked(self, args, kwargs):
        """The leaves of arguments, which must be of the structure traced for."""
        leaves, in_tree = tree_flatten((args, kwargs))
        check_structure(self.in_tree, in_tree)
        return list(map(lift, leaves))


class Lowered(Stage):
    """A program ready to be compiled: `.as_text()` (the jaxpr), `.compile()`."""

    def as_text(self, dialect=None, *, debug_info=False):
        """The jaxpr: the language in which programs are handed to the compiler here."""
        return str(self.program.jaxpr)

    def compiler_ir(self, dialect=None):
        """The jaxpr as an object."""
        return self.program.jaxpr

    def compile(self, compiler_options=None, device_assignment=None):
        """A callable for arguments of these types. The arguments are accepted as JAX's."""
        for x in self.program.captured:
            EVAL.check(x)
        return Compiled(self.program, self.in_tree, self.fun_name, self.avals, self.names)


class Compiled(Stage):
    """A compiled program: call it with arguments of the types it was compiled for."""

    def as_text(self):
        """The source of its kernels, and of the driver that calls them."""
        return self.kernels()

    def memory_analysis(self):
        """Nothing is known of the memory that it needs."""
        return

    def runtime_executable(self):
        """The object that runs the program."""
        return self.program.executable()

    def __call__(self, *args, **kwargs):
        outs = self.program.executable()(self.operands(args, kwargs))
        return tree_unflatten(self.out_tree, outs)

    def profile(self, *args, **kwargs):
        """Run for a moment and look at the clock around each kernel and each call of NumPy.

        Returns a table: time of a call, the memory that operands and results fill, their share of
        the whole. The rows `(memory)` and `(driver)` are about making arrays and about the Python
        code in between. The names are those in `kernels()`.

        Raises RuntimeError if the program could not be compiled.

        >>> import tinyjax as jax, tinyjax.numpy as jnp
        >>> x = jnp.ones((100, 100))
        >>> f = jax.jit(lambda x: jnp.exp(x @ x).sum()).lower(x).compile()
        >>> [(row.name, row.calls) for row in f.profile(x).rows]
        [('dot_general_b', 1), ('_lambda__0', 1)]
        """
        return profile(self.program.executable(), self.operands(args, kwargs))

    def operands(self, args, kwargs):
        """The operands of the program, once they are seen to be what it was made for."""
        leaves, in_tree = tree_flatten((args, kwargs))
        check_structure(self.in_tree, in_tree)
        values = lift_args(leaves, self.fun_name)
        for x in values:
            if isinstance(x, Tracer) and current_trace() is not EVAL:
                raise TypeError(
                    "Cannot apply JAX transformations to a function lowered and compiled for a "
                    f"particular signature. Detected argument of Tracer type {type(x)}."
                )
        check_types(self.names, self.avals, values)
        return [*self.program.captured, *values]


def check_structure(expected, given):
    """TypeError unless a call's arguments have the structure that the program was made for."""
    if given == expected:
        return
    lines = []
    for path, one, two, why in equality_errors(expected, given):
        where = ("args", "kwargs")[path[0].idx] + keystr(path[1:])
        lines.append(f"    * at {where}, seen {one} but now given {two}, so {why}")
    raise TypeError(
        "Function compiled with input pytree does not match the input pytree it was called with. "
        f"There are {len(lines)} mismatches, including:\n" + "\n".join(lines)
    )


def check_types(names, avals, values):
    """TypeError unless arguments have the types that the program was made for."""
    wrong = [
        f"Argument '{name}' compiled with {a.str_short()} and called with {x.aval.str_short()}"
        for name, a, x in zip(names, avals, values)
        if not a.matches(x.aval)
    ]
    if wrong:
        raise TypeError(
            "Argument types differ from the types for which this computation was compiled. "
            "Perhaps you are calling the compiled executable with a different enable_x64 mode than "
            "when it was AOT compiled? The mismatches are:\n" + "\n".join(wrong)
        )
