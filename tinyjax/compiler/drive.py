"""The driver of an executable: cuts a program into kernels and call-outs, and calls them."""

import functools
import itertools
import keyword

import numpy as np

from tinyjax.array import Array
from tinyjax.compiler import backend
from tinyjax.compiler.buffers import Scratch, maker
from tinyjax.compiler.emit import Block, Emitter
from tinyjax.compiler.emit_dot import has_loops
from tinyjax.compiler.emit_loops import inner_programs, loopable, outputs
from tinyjax.compiler.fusion import CallOut, plan
from tinyjax.compiler.interpret import call_out
from tinyjax.compiler.kernel import Kernel, Namer, anonymous
from tinyjax.compiler.kernel import Scratch as ScratchOperand
from tinyjax.compiler.keys import is_key, to_keys, to_words
from tinyjax.compiler.passes import prepare
from tinyjax.compiler.products import product
from tinyjax.compiler.roles import with_roles
from tinyjax.compiler.stages import (
    calls,
    cut,
    has_end,
    is_divisible,
    is_shared,
    leave_to_numpy,
    segments,
)
from tinyjax.compiler.threads import pieces, run_all
from tinyjax.compiler.words import code_of
from tinyjax.core import Literal
from tinyjax.dtypes import bfloat16

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
    """Whether an equation outside of loops is part of a kernel.

    Matrix products of all sizes are, so that the text does not depend on sizes (see stages.py).
    """
    return has_loops(eqn) if eqn.primitive.name == "dot_general" else loopable(eqn)


EXPLANATION = """\
# Kernels, which Numba compiles, and below them the driver that calls them. A line computes one
# equation: c_ij is an element of c, computed inside the loops over i and j. Arrays are flat:
# a[i*n1 + j] is the element in row i and column j. acc(s, v) is s + v, in any order. A kernel has
# stages: first_2, last_2 say which steps of stage 2 a call runs, so that threads may share them.
"""


class Driver:
    """Plans a program; `text` shows it, `build` compiles it."""

    def __init__(self, jaxpr, name, compile_jaxpr):
        self.program, self.compile_jaxpr = with_roles(prepare(jaxpr), loopable), compile_jaxpr
        self.taken = set()
        self.name, self.jaxpr = self.fresh(function_name(name)), jaxpr
        self.weak = [v.aval.weak_type for v in jaxpr.outvars]  # passes change only this of a type
        self.namer = Namer()
        program = self.program
        for v in [*program.consts, *program.invars, *(v for e in program.eqns for v in e.outvars)]:
            self.namer(v)
        whole = outputs(program)
        self.items, self.lazy, self.used_at, self.item_of = plan(
            program.eqns, whole, top_level, through_products=False
        )
        self.whole, self.space, self.body = set(whole), {}, []
        self.known_sizes = sizes_of(program)
        self.kernels, self.scratch, self.calls_numpy = [], 0, False
        self.made = set(program.invars)
        self.segments = segments(self.items)
        for at, segment in self.segments:
            if type(segment) is CallOut:
                self.add_call_out(segment.eqn)
                self.drop_dead(at)
            else:
                self.add_kernel(at, segment)

    def fresh(self, name):
        """A name of a function that no other has: a program may be called as a primitive is."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    # ---- pieces ---------------------------------------------------------------------------------

    def add_kernel(self, first, items):
        """A kernel for consecutive items, and the calls of its stages."""
        name = self.fresh(f"{self.name}_{len(self.kernels)}")
        kernel = Kernel(name, self.namer, self.known_sizes)
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
        emitter = Emitter(kernel, loopable)
        emitter.block = Block(items, self.lazy, self.used_at, self.item_of, exported)
        stages = cut(items)
        for stage in stages:
            alone = len(stages) == 1 and not has_end(stage[0])
            kernel.begin(stage, is_divisible(stage[0]), alone)
            self.hand_over(kernel, range(first, first + len(stage)))
            for item in stage:
                if kernel.stages[-1].steps is not None:
                    kernel.split(finished=1)
                emitter.item(item)
            kernel.end()
            first += len(stage)
        kernel.sort_arrays()
        leave_to_numpy(kernel.stages)
        if all(stage.by_numpy for stage in kernel.stages):  # it will not be called
            self.taken.discard(kernel.name)
        else:
            self.kernels.append(kernel)
        self.call_stages(kernel, inside.start, exported)

    def hand_over(self, kernel, numbers):
        """Numbers that items of later stages read lie in arrays."""
        for v in [v for k in numbers for eqn in self.items[k].eqns for v in eqn.outvars]:
            later = any(k not in numbers for k in self.used_at.get(v, ()))
            if later and not v.aval.shape and v not in self.lazy and v not in kernel.places:
                name, code = f"{self.namer(v)}_ref", code_of(v.aval.dtype)
                kernel.places[v] = kernel.scratch(name, code, (), shared=True)

    # ---- calls ----------------------------------------------------------------------------------

    def call_stages(self, kernel, at, exported):
        """Lines that call a kernel: once for all of its stages or, if some are large, part by part.

        Whatever is not read any more after a call makes room for what the next one needs.
        """
        groups = calls(kernel.stages)
        used = [set().union(*(kernel.stages[k].arrays for k in group)) for group in groups]
        spans = self.scratch_spans(kernel, groups, used)
        waiting = list(exported)
        for n, group in enumerate(groups):
            last = n == len(groups) - 1
            by_numpy = kernel.stages[group[0]].by_numpy
            for v in [v for v in waiting if last or kernel.places[v].name in used[n]]:
                waiting.remove(v)
                if not (by_numpy and v in kernel.stages[group[0]].items[0].eqn.outvars):
                    self.allocate(v)
            for (begin, _), names in spans.items():
                if begin == n:
                    self.body.append(self.take(kernel, names))
            if by_numpy:
                self.call_numpy(kernel, kernel.stages[group[0]].items[0].eqn)
            elif is_shared(kernel.stages[group[0]]):
                self.call_in_parts(kernel, group[0], used[n])
            else:
                self.call(kernel, group, used[n])
            for (_, end), names in spans.items():
                if end == n:
                    self.body.append(self.give(names))
            at += sum(kernel.stages[k].finished for k in group)
            self.drop_dead(at - 1)

    def allocate(self, var):
        """A line that makes the array of a variable."""
        name, aval = self.namer(var), var.aval
        self.space[f"new_{name}"] = maker(aval.shape, aval.dtype)
        self.body.append(f"{name} = new_{name}()  # {aval.str_short(True)}")
        self.made.add(var)

    def scratch_spans(self, kernel, groups, used):
        """(first call, last call) -> names of the scratch arrays that are needed then."""
        spans = {}
        self.scratch_names = {}
        for name, (_, operand) in kernel.arrays.items():
            when = [n for n, names in enumerate(used) if name in names]
            if not isinstance(operand, ScratchOperand) or not when:
                continue
            if operand.stage is not None and is_shared(kernel.stages[operand.stage]):
                continue  # every thread has its own
            self.scratch_names[name] = f"scratch_{self.scratch}"
            self.scratch += 1
            spans.setdefault((when[0], when[-1]), []).append(name)
        return spans

    def take(self, kernel, names):
        """A line that takes scratch arrays."""
        own = [self.scratch_names[name] for name in names]
        store = self.scratch_store(kernel, names)
        self.space[f"take_{own[0]}"], self.space[f"give_{own[0]}"] = store.take, store.give
        kinds = [f"{code}{list(x.shape)}" for code, x in map(kernel.arrays.get, names)]
        return f"[{', '.join(own)}] = take_{own[0]}()  # {' '.join(kinds)}"

    def give(self, names):
        """A line that returns them."""
        own = [self.scratch_names[name] for name in names]
        return f"give_{own[0]}([{', '.join(own)}])"

    def scratch_store(self, kernel, names):
        """Where scratch arrays come from."""
        return Scratch([(x.shape, DTYPES[code]) for code, x in map(kernel.arrays.get, names)])

    def passed(self, kernel, names, used):
        """The texts of arguments that are arrays: empty ones for those that are not used."""
        for name in names:
            code, operand = kernel.arrays[name]
            if name not in used:
                self.space[f"no_{code}"] = np.empty(0, DTYPES[code])
                yield f"no_{code}"
            elif isinstance(operand, ScratchOperand):
                yield self.scratch_names[name]
            else:
                yield self.argument(operand)

    def call_numpy(self, kernel, eqn):
        """The line that has NumPy compute a large matrix product instead of a stage."""
        names = [self.name_in_driver(kernel, v) for v in eqn.invars]
        [out] = eqn.outvars
        function = self.fresh(f"{eqn.primitive.name}_{self.namer(out)}")
        self.calls_numpy = True
        known = product(eqn)
        self.space[function] = known or call_out(eqn, self.compile_jaxpr)
        comment = f"  # {self.namer(out)}:{out.aval.str_short(True)}"
        if type(kernel.arrays[kernel.places[out].name][1]) is not ScratchOperand:
            line = f"{self.namer(out)} = {function}({', '.join(names)})"
            self.made.add(out)
        elif known:
            line = f"{function}({', '.join([*names, self.name_in_driver(kernel, out)])})"
        else:
            line = f"{self.name_in_driver(kernel, out)}[...] = {function}({', '.join(names)})"
        self.body.append(line + comment)

    def name_in_driver(self, kernel, var):
        """The driver's name of an array that a kernel reads or writes."""
        name = kernel.places[var].name
        return next(self.passed(kernel, [name], {name}))

    def call(self, kernel, group, used):
        """The line that calls a kernel for a group of its stages."""
        args = [
            *self.passed(kernel, kernel.arrays, used),
            *(str(n) for _, n in kernel.sizes),
        ]
        if kernel.extra:
            for k, stage in enumerate(kernel.stages):
                steps = 1 if stage.steps is None else stage.steps
                args += ["0", str(steps if k in group else 0)]
        text = ", ".join(args)
        self.body += [
            "try:",
            f"    {kernel.name}({text})",
            "except TypeError:",
            f"    {kernel.name}(*contiguous({text}))",
        ]

    def call_in_parts(self, kernel, number, used):
        """The line that lets several threads run a stage, each some of its steps."""
        names = list(kernel.arrays)
        own = [n for n in names if getattr(kernel.arrays[n][1], "stage", None) == number]
        begin = names.index(own[0]) if own else len(names)
        arrays = self.passed(kernel, names[:begin], used)
        others = self.passed(kernel, names[begin + len(own) :], used)
        empty = ["0", "0"]
        between = [*others, *(str(n) for _, n in kernel.sizes), *empty * number]
        after = empty * (len(kernel.stages) - 1 - number)
        store = f"scratch_{self.scratch}"
        self.scratch += 1
        self.space[store] = self.scratch_store(kernel, own)
        steps = kernel.stages[number].steps
        before = tuple_of(arrays)
        rest = f"{store}, {tuple_of(between)}, {tuple_of(after)}"
        self.body += [
            "try:",
            f"    in_parts({kernel.name}, {steps}, {before}, {rest})",
            "except TypeError:",
            f"    in_parts({kernel.name}, {steps}, contiguous{before}, {rest})",
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
        self.calls_numpy = True
        outs = [self.namer(v) for v in eqn.outvars]
        function = self.fresh(f"{function_name(eqn.primitive.name)}_{len(self.body)}")
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
            lines.append(f"    [{', '.join(names)}] = args")
        for n, v in zip(names, program.invars):
            lines.append(f"    {n} = {n}.npy  # {v.aval.str_short(True)}")
        body = self.body
        if self.calls_numpy:
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
        texts = [anonymous(kernel.finish()) for kernel in self.kernels]  # functions are called v0
        requests = [("v0", text, k.signature) for text, k in zip(texts, self.kernels)]
        compiled = backend.compile_kernels(requests)
        space.update((k.name, function) for k, function in zip(self.kernels, compiled))
        space.update(Array=Array, to_words=to_words, to_keys=to_keys)
        space.update(contiguous=contiguous, in_parts=in_parts, errstate=np.errstate)
        exec(compile(source, f"<driver of {self.name}>", "exec"), space)
        return space[self.name]


def contiguous(*args):
    """Arguments of a kernel, as it needs them: arrays without gaps."""
    return [a if isinstance(a, int) else np.ascontiguousarray(a) for a in args]


def in_parts(kernel, steps, arrays, scratch, between, after):
    """Run a stage of a kernel in several threads: some steps each, scratch arrays for each."""
    tasks, taken = [], []
    for first, last in pieces(steps, 64 if steps >= 4096 else 1):
        own = scratch.take()
        taken.append(own)
        tasks.append(functools.partial(kernel, *arrays, *own, *between, first, last, *after))
    run_all(tasks)
    for own in taken:
        scratch.give(own)


def tuple_of(texts):
    """The text of a tuple."""
    return f"({''.join(f'{text}, ' for text in texts)})"


def inner_of(eqn):
    """The flattened programs inside an equation that a kernel or call-out runs."""
    return [prepare(j) for j in inner_programs(eqn) or []]


def sizes_of(program):
    """Numbers that are sizes in this program: literals equal to them are parameters of kernels."""
    found = set()
    shapes = {v.aval.shape for eqn in program.eqns for v in (*eqn.invars, *eqn.outvars)}
    for shape in shapes:
        for count in range(1, min(len(shape), 4) + 1):
            for dims in itertools.combinations(shape, count):
                n = int(np.prod(dims, dtype=np.int64))
                found.update((n, n - 1))
    return {n for n in found if n > 4}


# Names that mean something else in a driver.
WORDS = {"Array", "args", "contiguous", "errstate", "in_parts", "to_keys", "to_words", "TypeError"}
PREFIXES = ("new_", "take_", "give_", "scratch_", "no_", "literal_")


def function_name(name):
    """A Python name made of any text."""
    text = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    if not text or text[0].isdigit() or keyword.iskeyword(text):
        text = f"f_{text}"
    return f"f_{text}" if text in WORDS or text.startswith(PREFIXES) else text
