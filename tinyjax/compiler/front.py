"""Kernel source -> LLVM IR, in one walk over Python's syntax tree.

The kernel language is a small part of Python (``backend.py`` describes it), so it needs no general
compiler: every statement and expression below becomes a few LLVM instructions, and types follow
from the operands, since no variable has more than one.  Numba compiles the same text
(``njit_fallback.py``), several times more slowly.

* A name assigned once is an LLVM value; one assigned more often is a place on the stack, which
  LLVM turns into registers.
* An array is a ``View``: a pointer and lengths.  There are no bounds tests and no wrap-around, and
  parameters do not overlap (``noalias``), so LLVM sees through every index.
* A loop over ``range`` tests its condition at the end, with a guard in front: the form that LLVM's
  vectoriser wants.
"""

from __future__ import annotations

import ast
import math
import operator
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

from tinyjax.compiler.complex_words import to_complex
from tinyjax.compiler.intrinsics import INTRINSICS, OPERATORS
from tinyjax.compiler.signature import BITS, Param, is_complex, is_integer
from tinyjax.compiler.vector_ir import Num, llvm_type
from tinyjax.compiler.views import STORAGE, View, load, storage_type, store
from tinyjax.compiler.word_table import Intrinsic

CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
SIGNS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and_",
    ast.BitOr: "or_", ast.BitXor: "xor",
    ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not_",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip
INDEX = ir.IntType(64)


# ---- names --------------------------------------------------------------------------------------


def assigned_often(function: ast.FunctionDef) -> set[str]:
    """The names that more than one statement gives a value (for loops alone do not count)."""
    stores = Counter(argument.arg for argument in function.args.args)
    targets: Counter[str] = Counter()
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            targets.update(n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            stores[node.target.id] += 2
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] += 1
    return {name for name, n in stores.items() if n > 1 and n > targets[name]}


class Names:
    """What the names of a kernel stand for: values, known in a block, or places on the stack."""

    def __init__(self, places: set[str]):
        self.often = places
        self.places: dict[str, tuple[ir.Value, str]] = {}
        self.blocks: list[dict[str, object]] = [{}]

    @contextmanager
    def block(self) -> Iterator[None]:
        """A block of statements: what is assigned once inside is not known after it."""
        self.blocks.append({})
        yield
        self.blocks.pop()

    def read(self, name: str, builder: ir.IRBuilder):
        """The value of a name."""
        for block in reversed(self.blocks):
            if name in block:
                return block[name]
        if name in self.places:
            place, code = self.places[name]
            return Num(builder, builder.load(place), code)
        if name in CONSTANTS:
            return Num(builder, ir.Constant(ir.DoubleType(), CONSTANTS[name]), "f64")
        raise TypeError(f"{name!r} is not known here: no word, and not assigned in this block")

    def write(self, name: str, value, builder: ir.IRBuilder) -> None:
        """Give a name a value."""
        if name not in self.often:
            self.blocks[-1][name] = value
            return
        if not isinstance(value, Num):
            raise TypeError(f"{name!r} is assigned more than once, which only numbers may be")
        if name not in self.places:
            with builder.goto_entry_block():
                self.places[name] = builder.alloca(value.value.type), value.code
        place, code = self.places[name]
        builder.store(converted(value, code, name).value, place)


def converted(number: Num, code: str, name: str) -> Num:
    """A number for a place of dtype ``code``: literals adapt, and integers widen to int64."""
    widens = code == "i64" and (is_integer(number.code) or number.code == "bool")
    if number.code != code and number.literal is None and not widens:
        raise TypeError(f"{name!r} is {code} and cannot become {number.code}")
    return number.to(code)


def refused(node: ast.AST, why: str) -> TypeError:
    """The error for a part of a kernel's text that means nothing."""
    return TypeError(f"{ast.unparse(node)}: {why}")


# ---- the walk -----------------------------------------------------------------------------------


class Writer:
    """Writes the LLVM IR of one kernel."""

    def __init__(self, builder: ir.IRBuilder, names: Names):
        self.builder, self.names = builder, names
        self.exits: list[ir.Block] = []  # where `break` leads
        self.line = 1

    # ---- statements -----------------------------------------------------------------------------

    def statements(self, body: Sequence[ast.stmt]) -> None:
        """A block of statements."""
        with self.names.block():
            for statement in body:
                if not self.builder.block.is_terminated:  # else it comes after a `break`
                    self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        self.line = node.lineno
        write = getattr(self, type(node).__name__, None)
        if write is None:
            raise refused(node, "the kernel language has no such statement")
        write(node)

    def Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value)

    def AugAssign(self, node: ast.AugAssign) -> None:
        self.assign(node.target, self.operation(node, node.op, node.target, node.value))

    def assign(self, target: ast.expr, value) -> None:
        """``target = value``."""
        if isinstance(target, ast.Name):
            self.names.write(target.id, value, self.builder)
        elif isinstance(target, ast.Subscript):
            self.store(target, value)
        elif isinstance(target, ast.Tuple) and isinstance(value, list):
            for part, number in zip(target.elts, value, strict=True):
                self.assign(part, number)
        else:
            raise refused(target, "this cannot be assigned to")

    def Pass(self, node: ast.Pass) -> None:
        pass

    def Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def If(self, node: ast.If) -> None:
        then, after = self.new_block("then"), self.new_block("after")
        otherwise = self.new_block("else") if node.orelse else after
        self.builder.cbranch(self.condition(node.test).value, then, otherwise)
        for block, body in ((then, node.body), (otherwise, node.orelse)):
            if body:
                self.builder.position_at_end(block)
                self.statements(body)
                self.go_on(after)
        self.builder.position_at_end(after)

    def While(self, node: ast.While) -> None:
        test, body, after = (self.new_block(x) for x in ("while", "body", "after"))
        self.builder.branch(test)
        self.builder.position_at_end(test)
        self.builder.cbranch(self.condition(node.test).value, body, after)
        self.loop_body(body, after, node.body)
        self.go_on(test)
        self.builder.position_at_end(after)

    def For(self, node: ast.For) -> None:
        low, high, step = self.range_of(node.iter)
        before, body, after = self.builder.block, self.new_block("for"), self.new_block("after")
        going_on = operator.gt if (step.literal or 1) < 0 else operator.lt
        self.builder.cbranch(going_on(low, high).value, body, after)
        self.builder.position_at_end(body)
        counter = low.new(self.builder.phi(low.value.type))
        counter.value.add_incoming(low.value, before)
        with self.names.block():
            self.assign(node.target, counter)
            self.loop_body(body, after, node.body)
        if not self.builder.block.is_terminated:
            following = counter.new(self.builder.add(counter.value, step.value, flags=["nsw"]))
            counter.value.add_incoming(following.value, self.builder.block)
            self.builder.cbranch(going_on(following, high).value, body, after)
        self.builder.position_at_end(after)

    def range_of(self, node: ast.expr) -> list[Num]:
        """First value, end and step of a call of ``range``."""
        if not (isinstance(node, ast.Call) and getattr(node.func, "id", None) == "range"):
            raise refused(node, "loops go over range")
        numbers = [self.number(argument).to("i64") for argument in node.args]
        if len(numbers) == 1:
            numbers.insert(0, numbers[0].const(0))
        if len(numbers) == 2:
            numbers.append(numbers[0].const(1))
        return numbers

    def loop_body(self, block: ir.Block, after: ir.Block, body: Sequence[ast.stmt]) -> None:
        """The statements of a loop, beginning in ``block``; `break` leads to ``after``."""
        self.builder.position_at_end(block)
        self.exits.append(after)
        self.statements(body)
        self.exits.pop()

    def Break(self, node: ast.Break) -> None:
        self.builder.branch(self.exits[-1])

    def new_block(self, name: str) -> ir.Block:
        return self.builder.append_basic_block(name)

    def go_on(self, block: ir.Block) -> None:
        """Continue at ``block``, unless a `break` has left already."""
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    # ---- expressions ----------------------------------------------------------------------------

    def value(self, node: ast.expr):
        """The value of an expression: a ``Num``, a ``View`` or a list of them."""
        match node:
            case ast.Name():
                return self.names.read(node.id, self.builder)
            case ast.Constant():
                return self.constant(node.value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return self.constant(-number)
            case ast.BinOp():
                return self.operation(node, node.op, node.left, node.right)
            case ast.UnaryOp():
                return self.operation(node, node.op, node.operand)
            case ast.Compare(ops=[op], comparators=[right]):
                return self.operation(node, op, node.left, right)
            case ast.Call(func=ast.Name()):
                return self.call(node)
            case ast.Subscript():
                return self.subscript(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Tuple():
                return [self.value(part) for part in node.elts]
        raise refused(node, "the kernel language has no such expression")

    def constant(self, x: bool | int | float) -> Num:
        """A number of the kernel's text: integers adapt to what they meet, floats are float64."""
        if isinstance(x, bool):
            return Num(self.builder, ir.Constant(ir.IntType(1), x), "bool")
        if isinstance(x, int):
            return Num(self.builder, ir.Constant(INDEX, x), "i64", literal=x)
        return Num(self.builder, ir.Constant(ir.DoubleType(), x), "f64")

    def number(self, node: ast.expr) -> Num:
        """The value of an expression that is a number."""
        value = self.value(node)
        if not isinstance(value, Num):
            raise refused(node, "this is not a number")
        return value

    def condition(self, node: ast.expr) -> Num:
        """Whether an expression holds."""
        return INTRINSICS["bool_"].emit(self.number(node))

    def operation(self, node: ast.AST, sign: ast.AST, *operands: ast.expr) -> Num:
        """An operator applied to its operands."""
        name = SIGNS.get(type(sign))
        if name is None:
            raise refused(node, "the kernel language has no such operator")
        return self.apply(OPERATORS[name], *operands)

    def call(self, node: ast.Call) -> Num:
        """A word applied to its operands."""
        name = node.func.id
        if name not in INTRINSICS:
            raise refused(node, f"{name!r} is no word of the kernel language")
        return self.apply(INTRINSICS[name], *node.args)

    def apply(self, word: Intrinsic, *operands: ast.expr) -> Num:
        """The instructions of a word or operator."""
        numbers = [self.number(x) for x in operands]
        codes = [x.typing_code for x in numbers]
        if len(codes) != word.arity or word.result(*codes) is None:
            raise TypeError(f"{word.name} has no meaning for ({', '.join(codes)})")
        return word.emit(*numbers)

    # ---- arrays ---------------------------------------------------------------------------------

    def array(self, node: ast.expr) -> View:
        """The value of an expression that is an array."""
        value = self.value(node)
        if not isinstance(value, View):
            raise refused(node, "this is not an array")
        return value

    def attribute(self, node: ast.Attribute):
        """``x.size`` and ``x.shape``."""
        array = self.array(node.value)
        if node.attr not in ("size", "shape"):
            raise refused(node, "arrays have .size and .shape only")
        return array.size() if node.attr == "size" else array.lengths

    def subscript(self, node: ast.Subscript):
        """``a[i]``, ``a[i, j]``, rows ``a[i]``, slices ``a[i:j]``, and ``a.shape[k]``."""
        if isinstance(node.value, ast.Attribute):
            return self.value(node.value)[self.number(node.slice).literal]
        if isinstance(node.slice, ast.Slice):
            array, low, high = self.array(node.value), node.slice.lower, node.slice.upper
            first = self.number(low).to("i64") if low else array.lengths[0].const(0)
            return array.slice(first, self.number(high).to("i64") if high else array.lengths[0])
        part = self.part(node)
        return part if part.lengths else load(self.builder, part.code, part.data)

    def part(self, node: ast.Subscript) -> View:
        """What an index selects of an array."""
        array = self.array(node.value)
        several = isinstance(node.slice, ast.Tuple)
        at = [self.number(x).to("i64") for x in (node.slice.elts if several else [node.slice])]
        if len(at) > len(array.lengths):
            raise refused(node, f"an array of rank {len(array.lengths)} has {len(at)} indices")
        return array.at(at)

    def store(self, target: ast.Subscript, value) -> None:
        """``a[i] = value``."""
        part = self.part(target)
        inside = "f32" if part.code in ("f16", "bf16") else part.code
        if part.lengths or not isinstance(value, Num):
            raise refused(target, "single numbers are stored in single elements")
        if is_complex(value.code) and not is_complex(inside):
            raise refused(target, f"a complex number does not fit an array of {part.code}")
        number = to_complex(value, inside) if is_complex(inside) else value.to(inside)
        store(self.builder, part.code, number, part.data)


# ---- a kernel -----------------------------------------------------------------------------------


def parsed(name: str, source: str) -> ast.FunctionDef:
    """The syntax tree of the function ``name``."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise ValueError(f"kernel source defines no function {name!r}")


def parameter_types(params: Sequence[Param]) -> Iterator[ir.Type]:
    """The LLVM types of a kernel's parameters: an array is a pointer and its lengths."""
    for param in params:
        if param.rank:
            yield storage_type(param.code).as_pointer()
            yield from [INDEX] * param.rank
        else:
            yield (
                ir.IntType(64)
                if param.code == "intp"
                else STORAGE.get(param.code, llvm_type(param.code))
            )


def lower_to_ir(name: str, source: str, params: Sequence[Param]) -> tuple[str, str]:
    """LLVM IR of a kernel as text, and the name of its function there."""
    tree = parsed(name, source)
    if len(tree.args.args) != len(params):
        raise TypeError(f"{name} has {len(tree.args.args)} parameters, not {len(params)}")
    module = ir.Module(name)
    kind = ir.FunctionType(ir.VoidType(), list(parameter_types(params)))
    function = ir.Function(module, kind, f"tinyjax.{name}")
    function.linkage = "internal"
    # A function of its own: the arguments' noalias marks would not survive inlining as well.
    function.attributes.add("noinline")
    function.attributes.add("nounwind")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    names = Names(assigned_often(tree))
    arguments = iter(function.args)
    for argument, param in zip(tree.args.args, params, strict=True):
        names.write(argument.arg, parameter(builder, param, arguments), builder)
    writer = Writer(builder, names)
    start = builder.append_basic_block("start")
    builder.branch(start)
    builder.position_at_end(start)
    try:
        writer.statements(tree.body)
    except TypeError as error:
        raise TypeError(f"line {writer.line}: {error}") from error
    builder.ret_void()
    return str(module), function.get_reference()


def parameter(builder: ir.IRBuilder, param: Param, arguments: Iterator[ir.Argument]):
    """A parameter's value, made of the next of the function's arguments."""
    first = next(arguments)
    if not param.rank:
        number = Num(builder, first, "i64" if param.code == "intp" else param.code)
        return (
            number if BITS.get(param.code) != 1 else number.new(builder.trunc(first, ir.IntType(1)))
        )
    first.add_attribute("noalias")
    lengths = [Num(builder, next(arguments), "i64") for _ in range(param.rank)]
    return View(param.code, first, lengths)
