"""The driver of an executable: cuts a program into kernels and call-outs, and calls them."""

import functools
import itertools
import keyword
import math

import numpy as np

from tinyjax.array import Array
from tinyjax.compiler import backend
from tinyjax.compiler.buffers import Scratch, maker
from tinyjax.compiler.emit import Block, Emitter
from tinyjax.compiler.emit_loops import inner_programs, loopable, outputs
from tinyjax.compiler.fusion import CallOut, Nest, plan
from tinyjax.compiler.interpret import call_out
from tinyjax.compiler.kernel import Kernel, Namer, anonymous
from tinyjax.compiler.kernel import Scratch as ScratchOperand
from tinyjax.compiler.keys import is_key, to_keys, to_words
from tinyjax.compiler.passes import prepare
from tinyjax.compiler.threads import pieces, planned, run_all
from tinyjax.compiler.words import COSTLY
from tinyjax.core import Literal
from tinyjax.dtypes import bfloat16

MAX_EQUATIONS = 80  # per kernel
WORTH_THREADS = 200  # microseconds of work from which on a nest has a kernel of its own, in parts

DTYPES = {
    "bool": np.bool_,
    "f32": np.float32,
    "f64": np.float64,
    **{f"{s}{b}": np.dtype(f"{s}{b // 8}") for s in "iu" for b in (8, 16, 32, 64)},
    "f16": np.float16,
    "c64": np.complex64,
    "c128": np.complex128,
    "bf16": bfloat16,
}


def top_level(eqn):
    """Whether an equation outside of loops is part of a kernel: tiny products only."""
    if eqn.primitive.name != "dot_general":
        return loopable(eqn)
    return loopable(eqn) and eqn.outvars[0].aval.size * contracted(eqn) <= 4096


def contracted(eqn):
    """The number of terms of each element of a matrix product."""
    (axes, _), _ = eqn.params["dimension_numbers"]
    return int(np.prod([eqn.invars[0].aval.shape[d] for d in axes], dtype=np.int64))


EXPLANATION = """\
# Kernels, which Numba compiles, and below them the driver that calls them. A line computes one
# equation: c_ij is an element of c, computed inside the loops over i and j. Arrays are flat:
# a[i*n1 + j] is the element in row i and column j. acc(s, v) is s + v, in any order.
"""


class Driver:
    """Plans a program; `text` shows it, `build` compiles it."""

    def __init__(self, jaxpr, name, compile_jaxpr):
        self.program, self.compile_jaxpr = prepare(jaxpr), compile_jaxpr
        self.name, self.jaxpr = function_name(name), jaxpr
        self.weak = [v.aval.weak_type for v in jaxpr.outvars]  # passes change only this of a type
        self.namer = Namer()
        program = self.program
        for v in [*program.consts, *program.invars, *(v for e in program.eqns for v in e.outvars)]:
            self.namer(v)
        whole = outputs(program)
        items, self.lazy, self.used_at, self.item_of = plan(program.eqns, whole, top_level)
        self.whole, self.space, self.body = set(whole), {}, []
        self.known_sizes = sizes_of(program)
        self.kernels, self.scratch = [], 0
        self.made = set(program.invars)
        self.segments = segments(items)
        for at, segment in self.segments:
            if type(segment) is CallOut:
                self.add_call_out(segment.eqn)
            else:
                self.add_kernel(at, segment)
            self.drop_dead(at + (1 if type(segment) is CallOut else len(segment)) - 1)

    # ---- pieces ---------------------------------------------------------------------------------

    def add_kernel(self, first, items):
        """A kernel for consecutive items."""
        kernel = Kernel(f"{self.name}_{len(self.kernels)}", self.namer, self.known_sizes)
        inside = range(first, first + len(items))
        made = [v for item in items for eqn in item.eqns for v in eqn.outvars]
        exported = [
            v
            for v in made
            if v not in self.lazy
            and (v in self.whole or any(k not in inside for k in self.used_at.get(v, ())))
        ]
        for v in exported:
            kernel.array(v)
        kernel.divisible = is_divisible(items)
        emitter = Emitter(kernel, loopable)
        emitter.block = Block(items, self.lazy, self.used_at, self.item_of, exported)
        for item in items:
            emitter.item(item)
        kernel.sort_arrays()
        self.kernels.append(kernel)
        for v in exported:
            self.allocate(v)
        threads = planned()
        parallel = kernel.parts is not None and threads > 1 and work(items) >= WORTH_THREADS
        if parallel and kernel.parts >= threads:
            self.call_in_parts(kernel)
        else:
            self.call(kernel)

    def allocate(self, var):
        """A line that makes the array of a variable."""
        name, aval = self.namer(var), var.aval
        self.space[f"new_{name}"] = maker(aval.shape, aval.dtype)
        self.body.append(f"{name} = new_{name}()  # {aval.str_short(True)}")
        self.made.add(var)

    def call(self, kernel):
        """The line that calls a kernel."""
        args, scratch = [], []
        for code, operand in kernel.arrays.values():
            if isinstance(operand, ScratchOperand):
                name = f"scratch_{self.scratch}"
                self.scratch += 1
                self.space[f"take_{name}"] = Scratch(operand.shape, DTYPES[code])
                self.body.append(f"{name} = take_{name}.take()  # {code}{list(operand.shape)}")
                scratch.append(name)
                args.append(name)
            else:
                args.append(self.argument(operand))
        args += [str(n) for n in kernel.sizes]
        if kernel.parts is not None:
            args += ["0", str(kernel.parts)]
        text = ", ".join(args)
        self.body += [
            "try:",
            f"    {kernel.name}({text})",
            "except TypeError:",
            f"    {kernel.name}(*contiguous({text}))",
        ]
        self.body += [f"take_{name}.give({name})" for name in scratch]

    def call_in_parts(self, kernel):
        """The line that lets several threads run a kernel, each a part of its outermost loop."""
        args, takers = [], []
        for code, operand in kernel.arrays.values():
            if isinstance(operand, ScratchOperand):
                name = f"scratch_{self.scratch}"
                self.scratch += 1
                self.space[name] = Scratch(operand.shape, DTYPES[code])
                takers.append(name)
            else:
                args.append(self.argument(operand))
        arrays = "".join(f"{a}, " for a in args)
        scratch = "".join(f"{t}, " for t in takers)
        sizes = "".join(f"{n}, " for n in kernel.sizes)
        text = f"{kernel.name}, {kernel.parts}, ({arrays}), ({scratch}), ({sizes})"
        self.body += [
            "try:",
            f"    in_parts({text})",
            "except TypeError:",
            f"    in_parts({text.replace(f'({arrays})', f'contiguous({arrays})', 1)})",
        ]

    def argument(self, var):
        """The driver's name of an operand."""
        name = self.namer(var)
        if var not in self.made:
            consts = self.all_consts
            self.space[name] = np.ascontiguousarray(consts[var])
            self.made.add(var)
        return name

    @property
    def all_consts(self):
        """The captured arrays of the program and of the programs inside it."""
        found = dict(self.program.consts)
        todo = list(self.program.eqns)
        while todo:
            eqn = todo.pop()
            for inner in inner_of(eqn):
                found.update(inner.consts)
                todo += inner.eqns
        return found

    def add_call_out(self, eqn):
        """A line that calls NumPy."""
        outs = [self.namer(v) for v in eqn.outvars]
        function = f"{function_name(eqn.primitive.name)}_{len(self.body)}"
        self.space[function] = call_out(eqn, self.compile_jaxpr)
        args = []
        for k, v in enumerate(eqn.invars):
            if isinstance(v, Literal):
                name = f"{function}_operand_{k}"
                self.space[name] = np.asarray(v.val)
                args.append(name)
            else:
                args.append(self.argument(v))
        types = " ".join(f"{n}:{v.aval.str_short(True)}" for n, v in zip(outs, eqn.outvars))
        target = f"[{', '.join(outs)}]" if eqn.primitive.multi else outs[0]
        self.body.append(f"{target} = {function}({', '.join(args)})  # {types} = {eqn.primitive}")
        self.made.update(eqn.outvars)

    def drop_dead(self, at):
        """Let go of arrays that no later item reads, so that their memory is used again."""
        for v in [v for v in self.made if v in self.item_of and v not in self.whole]:
            if max(self.used_at.get(v, {0})) <= at and self.item_of[v] <= at:
                self.made.discard(v)
                if v not in self.lazy:
                    self.body.append(f"del {self.namer(v)}")

    # ---- text and function ----------------------------------------------------------------------

    def source(self):
        """The text of the driver."""
        program = self.program
        names = [self.namer(v) for v in program.invars]
        lines = [f"def {self.name}(args):"]
        if names:
            lines.append(f"    [{', '.join(names)}] = [x.npy for x in args]")
            for n, v in zip(names, program.invars):
                lines[-1] += (
                    f"  # {n}:{v.aval.str_short(True)}"
                    if n == names[0]
                    else (f" {n}:{v.aval.str_short(True)}")
                )
        body = self.body
        if any(type(s) is CallOut for _, s in self.segments):
            body = ["with errstate(all='ignore'):", *("    " + x for x in body)] if body else []
        for n, v in zip(names, self.jaxpr.invars):
            if is_key(v):
                lines.append(f"    {n} = to_words({n})")
        lines += ["    " + x for x in body]
        outs = []
        for k, (v, weak) in enumerate(zip(program.outvars, self.weak)):
            if isinstance(v, Literal):
                self.space[f"literal_{k}"] = np.asarray(v.val)
                text = f"literal_{k}"
            else:
                text = self.argument(v)
            if is_key(self.jaxpr.outvars[k]):
                text = f"to_keys({text})"
            outs.append(f"Array({text}, {weak})")
        lines.append(f"    return [{', '.join(outs)}]")
        return "\n".join(lines) + "\n"

    def text(self):
        """Kernels and driver, as a student reads them."""
        kernels = [k.finish() for k in self.kernels]
        return "\n\n".join([*[EXPLANATION] * bool(kernels), *kernels, self.source()])

    def build(self):
        """Compile -> a function from a list of Arrays to a list of Arrays."""
        space = self.space
        source = self.source()
        for kernel in self.kernels:
            source_text = anonymous(kernel.finish())  # its function is called v0
            space[kernel.name] = backend.compile_kernel("v0", source_text, kernel.signature)
        space.update(Array=Array, to_words=to_words, to_keys=to_keys)
        space.update(contiguous=contiguous, in_parts=in_parts, errstate=np.errstate)
        exec(compile(source, f"<driver of {self.name}>", "exec"), space)
        return space[self.name]


def contiguous(*args):
    """Arguments of a kernel, as it needs them: arrays without gaps."""
    return [a if isinstance(a, int) else np.ascontiguousarray(a) for a in args]


def in_parts(kernel, n, arrays, scratch, sizes):
    """Run a kernel in several threads: parts of its outermost loop, scratch arrays for each."""
    tasks, taken = [], []
    for first, last in pieces(n, 64 if n >= 4096 else 1):
        own = [s.take() for s in scratch]
        taken.append(own)
        tasks.append(functools.partial(kernel, *arrays, *own, *sizes, first, last))
    run_all(tasks)
    for own in taken:
        for s, array in zip(scratch, own):
            s.give(array)


def is_divisible(items):
    """Whether the outermost loop of a kernel with these items may be cut in parts."""
    if len(items) != 1 or type(items[0]) is not Nest or items[0].shape == ():
        return False
    return items[0].mode in ("map", "row") and not items[0].in_pieces


def work(items):
    """A guess at the time that items take, in microseconds on one core."""
    total = 0.0
    for item in items:
        if type(item) is Nest:
            dear = sum(eqn.primitive.name in COSTLY for eqn in item.eqns)
            each = 0.3 + 0.05 * len(item.eqns) + 0.7 * dear
            total += math.prod(item.shape) * each / 1000
    return total


def inner_of(eqn):
    """The flattened programs inside an equation that a kernel or call-out runs."""
    return [prepare(j) for j in inner_programs(eqn) or []]


def segments(items):
    """Consecutive items that make a kernel, and call-outs: (number of the first item, items)."""
    found, current, start, count, last_alone = [], [], 0, 0, False
    for at, item in enumerate(items):
        alone = type(item) is CallOut or planned() > 1 and work([item]) >= WORTH_THREADS
        if current and (alone or last_alone or count + len(item.eqns) > MAX_EQUATIONS):
            found.append((start, current))
            current, count = [], 0
        last_alone = alone
        if type(item) is CallOut:
            found.append((at, item))
            continue
        if not current:
            start = at
        current.append(item)
        count += len(item.eqns)
    if current:
        found.append((start, current))
    return found


def sizes_of(program):
    """Numbers that are sizes in this program: literals equal to them are parameters of kernels."""
    found = set()
    shapes = {v.aval.shape for eqn in program.eqns for v in (*eqn.invars, *eqn.outvars)}
    for shape in shapes:
        for count in range(1, min(len(shape), 4) + 1):
            for dims in itertools.combinations(shape, count):
                n = int(np.prod(dims, dtype=np.int64))
                found.update((n, n - 1))
    return {n for n in found if n > 2}


def function_name(name):
    """A Python name made of any text."""
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    if not text or text[0].isdigit() or keyword.iskeyword(text):
        text = f"f_{text}"
    return text
