"""What becomes LLVM IR where Numba lowers a kernel: words, elements of buffers, loops over ranges.

A buffer has neither reference counts, nor bounds and wrap-around tests: LLVM sees through every
index.  The functions have the signatures that Numba's lowering expects of its own.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.types.containers import BaseTuple
from numba.core.types.misc import unliteral

from tinyjax.compiler.complex_words import PART, join, split
from tinyjax.compiler.intrinsics import Intrinsic, bf16_bits, f16_bits, f16_value
from tinyjax.compiler.signature import is_complex
from tinyjax.compiler.target_types import CODES, Buffer
from tinyjax.compiler.vector_ir import Num

# ---- words and buffers --------------------------------------------------------------------------


def number(builder, kind: types.Type, value) -> Num:
    literal = kind.literal_value if isinstance(kind, types.IntegerLiteral) else None
    return Num(builder, value, CODES[unliteral(kind)], literal)


def emit_intrinsic(intrinsic: Intrinsic, context, sig, builder, args, loc=None):
    return intrinsic.emit(
        *(number(builder, kind, v) for kind, v in zip(sig.args, args, strict=True))
    ).value


def _parts(builder, kind: Buffer, value) -> tuple[ir.Value, list[ir.Value]]:
    """Data pointer and lengths of a buffer."""
    fields = [builder.extract_value(value, k) for k in range(1 + kind.ndim)]
    return builder.bitcast(fields[0], STORAGE[kind.code].as_pointer()), fields[1:]


def _pack(context, builder, kind: Buffer, data, lengths):
    value = ir.Constant(context.get_value_type(kind), ir.Undefined)
    data = builder.bitcast(data, ir.IntType(8).as_pointer())
    for k, part in enumerate((data, *lengths)):
        value = builder.insert_value(value, part, k)
    return value


def _product(builder, factors):
    result = factors[0]
    for factor in factors[1:]:
        result = builder.mul(result, factor, flags=["nsw"])
    return result


def emit_size(context, builder, kind, value, attr=None):
    return _product(builder, _parts(builder, kind, value)[1])


def emit_shape(context, builder, kind, value, attr=None):
    return cgutils.pack_array(builder, _parts(builder, kind, value)[1])


def _address(builder, kind: Buffer, data, lengths, indices):
    """Pointer to the element (or row) at ``indices``."""
    offset = indices[0]
    for axis in range(1, kind.ndim):
        offset = builder.mul(offset, lengths[axis], flags=["nsw"])
        if axis < len(indices):
            offset = builder.add(offset, indices[axis], flags=["nsw"])
    return builder.gep(data, [offset], inbounds=True)


STORAGE = {
    "bool": ir.IntType(8), "f16": ir.IntType(16), "bf16": ir.IntType(16),
    "f32": ir.FloatType(), "f64": ir.DoubleType(),
    **{f"{sign}{bits}": ir.IntType(bits) for sign in "iu" for bits in (8, 16, 32, 64)},
    "c64": ir.LiteralStructType([ir.FloatType()] * 2),
    "c128": ir.LiteralStructType([ir.DoubleType()] * 2),
}  # fmt: skip


def _unpack_index(builder, kind, value):
    if isinstance(kind, BaseTuple):
        pairs = zip(kind, cgutils.unpack_tuple(builder, value, len(kind)), strict=True)
    else:
        pairs = [(kind, value)]
    return [number(builder, k, v).to("i64").value for k, v in pairs]


def emit_getitem(context, sig, builder, args, loc=None):
    kind, index = sig.args
    if isinstance(kind, types.UniTuple):
        return builder.extract_value(args[0], index.literal_value)
    data, lengths = _parts(builder, kind, args[0])
    if index == types.slice2_type:
        return emit_slice(context, builder, kind, index, data, lengths, args[1])
    indices = _unpack_index(builder, index, args[1])
    pointer = _address(builder, kind, data, lengths, indices)
    if len(indices) < kind.ndim:
        return _pack(context, builder, sig.return_type, pointer, lengths[len(indices) :])
    return _load(builder, kind.code, pointer)


def _load(builder, code: str, pointer):
    """Read an element in the form it has inside the kernel."""
    if is_complex(code):
        return join(
            *(Num(builder, builder.load(p), PART[code]) for p in _part_pointers(builder, pointer))
        ).value
    value = builder.load(pointer)
    if code == "bool":
        return builder.trunc(value, ir.IntType(1))
    if code in ("f16", "bf16"):
        bits = Num(builder, builder.zext(value, ir.IntType(32)), "u32")
        return (f16_value(bits) if code == "f16" else (bits << 16).as_float()).value
    return value


def _store(builder, code: str, value, pointer):
    """Write an element; halves are rounded to nearest even."""
    if is_complex(code):
        for part, target in zip(
            split(Num(builder, value, code)), _part_pointers(builder, pointer), strict=True
        ):
            builder.store(part.value, target)
        return
    if code == "bool":
        value = builder.zext(value, ir.IntType(8))
    elif code in ("f16", "bf16"):
        bits = (f16_bits if code == "f16" else bf16_bits)(Num(builder, value, "f32"))
        value = builder.trunc(bits.value, ir.IntType(16))
    builder.store(value, pointer)


def _part_pointers(builder, pointer):
    """Pointers to the real and the imaginary part of a complex number."""
    index = ir.IntType(32)
    return [
        builder.gep(pointer, [ir.Constant(index, 0), ir.Constant(index, k)], inbounds=True)
        for k in (0, 1)
    ]


def emit_setitem(context, sig, builder, args, loc=None):
    kind, index, _ = sig.args
    data, lengths = _parts(builder, kind, args[0])
    pointer = _address(builder, kind, data, lengths, _unpack_index(builder, index, args[1]))
    _store(builder, kind.code, args[2], pointer)
    return context.get_dummy_value()


def emit_slice(context, builder, kind, index, data, lengths, value):
    """``a[low:high]`` on the first axis, 0 <= low, clipped at the end."""
    bounds = context.make_helper(builder, index, value)
    low, high = bounds.start, bounds.stop
    high = builder.select(builder.icmp_signed("<", high, lengths[0]), high, lengths[0])
    count = builder.sub(high, low)
    zero = ir.Constant(count.type, 0)
    count = builder.select(builder.icmp_signed("<", count, zero), zero, count)
    return _pack(
        context, builder, kind, _address(builder, kind, data, lengths, [low]), [count, *lengths[1:]]
    )


# ---- loops --------------------------------------------------------------------------------------


def emit_range(context, sig, builder, args, loc=None):
    """What ``range(...)`` gives: start, end and step."""
    low, high, step = {1: (None, 0, None), 2: (0, 1, None), 3: (0, 1, 2)}[len(args)]
    kind = context.get_value_type(sig.return_type)
    value = ir.Constant(kind, ir.Undefined)
    for k, (at, otherwise) in enumerate([(low, 0), (high, 0), (step, 1)]):
        part = ir.Constant(kind.elements[k], otherwise) if at is None else args[at]
        value = builder.insert_value(value, part, k)
    return value


def emit_getiter(context, sig, builder, args):
    """Start a loop over a range: a place for the next number, the end and the step."""
    start, stop, step = (builder.extract_value(args[0], k) for k in range(3))
    place = cgutils.alloca_once(builder, start.type)
    builder.store(start, place)
    loop = ir.Constant(context.get_value_type(sig.return_type), ir.Undefined)
    for k, part in enumerate((place, stop, step)):
        loop = builder.insert_value(loop, part, k)
    return loop


def emit_iternext(context, sig, builder, args):
    """The next number of a loop, and whether there is one."""
    place, stop, step = (builder.extract_value(args[0], k) for k in range(3))
    number = builder.load(place)
    up = builder.icmp_signed(">", step, ir.Constant(step.type, 0))
    more = builder.select(
        up, builder.icmp_signed("<", number, stop), builder.icmp_signed(">", number, stop)
    )
    builder.store(builder.add(number, step, flags=["nsw"]), place)
    pair = ir.Constant(context.get_value_type(sig.return_type), ir.Undefined)
    return builder.insert_value(builder.insert_value(pair, number, 0), more, 1)


# What Numba makes of a loop has four times as many instructions, which LLVM must then remove.
LOOPS = {
    "getiter": emit_getiter,
    "iternext": emit_iternext,
    "pair_first": lambda context, sig, builder, args: builder.extract_value(args[0], 0),
    "pair_second": lambda context, sig, builder, args: builder.extract_value(args[0], 1),
}
