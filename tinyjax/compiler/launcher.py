"""LLVM IR of a kernel's entry: from the arguments of a Python call to those of the compiled loop nest.

The entry reads NumPy's array structure directly (its layout is part of NumPy's stable ABI).  An array of another rank
than the parameter's is seen with leading axes of length 1, or with its leading axes merged: a rank-1 parameter takes
any C-contiguous array as flat, and a rank-0 array is one of size 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax.compiler.native import ENTRY
from tinyjax.compiler.signature import Param

HEAD = object.__basicsize__  # size of PyObject: NumPy's fields follow
DATA, NDIM, SHAPE, FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 48
C_CONTIGUOUS_AND_ALIGNED = 0x101

# Shape of an array as one of rank %rank, written to %out.
_SHAPE_FUNCTION = """
define internal void @tinyjax_shape(ptr %shape, i32 %ndim32, i64 %rank, ptr %out) {
entry:
  %ndim = zext i32 %ndim32 to i64
  %first = sub i64 %ndim, %rank
  br label %tail
tail:
  %axis = phi i64 [ 1, %entry ], [ %axis.next, %tail.store ]
  %more = icmp slt i64 %axis, %rank
  br i1 %more, label %tail.load, label %merge
tail.load:
  %source = add i64 %first, %axis
  %exists = icmp sge i64 %source, 0
  br i1 %exists, label %tail.read, label %tail.store
tail.read:
  %from = getelementptr i64, ptr %shape, i64 %source
  %read = load i64, ptr %from
  br label %tail.store
tail.store:
  %length = phi i64 [ 1, %tail.load ], [ %read, %tail.read ]
  %to = getelementptr i64, ptr %out, i64 %axis
  store i64 %length, ptr %to
  %axis.next = add i64 %axis, 1
  br label %tail
merge:
  %k = phi i64 [ 0, %tail ], [ %k.next, %merge.step ]
  %product = phi i64 [ 1, %tail ], [ %product.next, %merge.step ]
  %left = icmp sle i64 %k, %first
  br i1 %left, label %merge.step, label %done
merge.step:
  %lead = getelementptr i64, ptr %shape, i64 %k
  %factor = load i64, ptr %lead
  %product.next = mul i64 %product, %factor
  %k.next = add i64 %k, 1
  br label %merge
done:
  store i64 %product, ptr %out
  ret void
}
"""

_DECLARATIONS = """
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyErr_Occurred()
declare i64 @PyLong_AsLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
@tinyjax_TypeError = external global i8
@tinyjax_None = external global i8
"""


def entry_ir(name: str, params: Sequence[Param], callee: str) -> str:
    """The text of the entry function that calls ``callee`` (Numba's calling convention: status, excinfo, args)."""
    lines = ["  %count.ok = icmp eq i64 %count, " + str(len(params)), "  br i1 %count.ok, label %arg0, label %bad"]
    operands = ["ptr %result", "ptr %excinfo"]
    scalars = []
    for k, param in enumerate(params):
        lines.append(f"arg{k}:")
        lines += [f"  %at{k} = getelementptr ptr, ptr %args, i64 {k}", f"  %o{k} = load ptr, ptr %at{k}"]
        if param.rank:
            lines += _array_argument(k, param.rank)
            operands += [f"ptr %data{k}", *(f"i64 %n{k}.{axis}" for axis in range(param.rank))]
        else:
            lines += _scalar_argument(k, param.code)
            scalars.append(k)
            operands.append(f"{param.llvm} %v{k}")
        lines.append(f"  br {'' if not param.rank else f'i1 %ok{k}, '}label %arg{k + 1}" + (", label %bad" if param.rank else ""))
    message = f"kernel {name} takes ({', '.join(map(str, params))}): arrays must be NumPy arrays, aligned and C-contiguous"
    encoded = message.encode("ascii", "replace")
    text = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in encoded)
    shapes = "\n".join(f"  %shape{k} = alloca i64, i64 {p.rank}" for k, p in enumerate(params) if p.rank)
    check = ["  br label %call"]
    if scalars:
        check = ["  %error = call ptr @PyErr_Occurred()", "  %clean = icmp eq ptr %error, null",
                 "  br i1 %clean, label %call, label %fail"]  # fmt: skip
    return "\n".join([
        _DECLARATIONS, _SHAPE_FUNCTION,
        f'@tinyjax_message = internal constant [{len(encoded) + 1} x i8] c"{text}\\00"',
        f"define ptr @{ENTRY}(ptr %self, ptr %args, i64 %count) {{", "entry:",
        "  %result = alloca ptr", "  %excinfo = alloca ptr", shapes,
        *lines,
        f"arg{len(params)}:", *check,
        "call:",
        "  %thread = call ptr @PyEval_SaveThread()",
        f"  %status = call i32 {callee}({', '.join(operands)})",
        "  call void @PyEval_RestoreThread(ptr %thread)",
        "  call void @Py_IncRef(ptr @tinyjax_None)", "  ret ptr @tinyjax_None",
        "bad:", "  call void @PyErr_SetString(ptr @tinyjax_TypeError, ptr @tinyjax_message)", "  br label %fail",
        "fail:", "  ret ptr null", "}", "",
    ])  # fmt: skip


def _array_argument(k: int, rank: int) -> list[str]:
    """Check that argument k is a plain contiguous array and read its data pointer and shape."""
    return [
        f"  %type.at{k} = getelementptr i8, ptr %o{k}, i64 {HEAD - 8}",
        f"  %type{k} = load ptr, ptr %type.at{k}",
        f"  %is.array{k} = icmp eq ptr %type{k}, %self",
        f"  br i1 %is.array{k}, label %array{k}, label %bad",
        f"array{k}:",
        f"  %flags.at{k} = getelementptr i8, ptr %o{k}, i64 {FLAGS}",
        f"  %flags{k} = load i32, ptr %flags.at{k}",
        f"  %layout{k} = and i32 %flags{k}, {C_CONTIGUOUS_AND_ALIGNED}",
        f"  %ok{k} = icmp eq i32 %layout{k}, {C_CONTIGUOUS_AND_ALIGNED}",
        f"  %data.at{k} = getelementptr i8, ptr %o{k}, i64 {DATA}",
        f"  %data{k} = load ptr, ptr %data.at{k}",
        f"  %ndim.at{k} = getelementptr i8, ptr %o{k}, i64 {NDIM}",
        f"  %ndim{k} = load i32, ptr %ndim.at{k}",
        f"  %dims.at{k} = getelementptr i8, ptr %o{k}, i64 {SHAPE}",
        f"  %dims{k} = load ptr, ptr %dims.at{k}",
        f"  call void @tinyjax_shape(ptr %dims{k}, i32 %ndim{k}, i64 {rank}, ptr %shape{k})",
        *(
            line
            for axis in range(rank)
            for line in (
                f"  %n{k}.{axis}.at = getelementptr i64, ptr %shape{k}, i64 {axis}",
                f"  %n{k}.{axis} = load i64, ptr %n{k}.{axis}.at",
            )
        ),
    ]


def _scalar_argument(k: int, code: str) -> list[str]:
    """Read argument k as a Python number."""
    if code == "f64":
        return [f"  %v{k} = call double @PyFloat_AsDouble(ptr %o{k})"]
    if code == "f32":
        return [f"  %w{k} = call double @PyFloat_AsDouble(ptr %o{k})", f"  %v{k} = fptrunc double %w{k} to float"]
    if code in ("intp", "i64", "u64"):
        return [f"  %v{k} = call i64 @PyLong_AsLongLong(ptr %o{k})"]
    bits = 8 if code == "bool" else int(code[1:])
    return [f"  %w{k} = call i64 @PyLong_AsLongLong(ptr %o{k})", f"  %v{k} = trunc i64 %w{k} to i{bits}"]
