"""From a Python call to a compiled kernel: one launcher, in LLVM IR, serves every kernel.

The launcher is a C function with CPython's ``METH_FASTCALL`` signature.  Its ``self`` is a bytes
object that describes the kernel (address, kinds of the parameters).  It reads data pointers and
shapes straight from NumPy's array structure, whose layout is part of NumPy's stable ABI, lays
them out as a flat list of 64-bit words, releases the GIL and calls the kernel with that list.  A
call costs about a tenth of a microsecond.

An array of another rank than the parameter's is seen with leading axes of length 1, or with its
leading axes merged: a rank-1 parameter takes any C-contiguous array as flat, and a rank-0 array
is one of size 1.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

import numpy as np

from tinyjax.compiler.signature import Param

LAUNCHER = "tinyjax_launcher"
KERNEL = "tinyjax_kernel"

HEAD = object.__basicsize__  # size of PyObject: NumPy's fields follow
DATA, NDIM, SHAPE, FLAGS = HEAD, HEAD + 8, HEAD + 16, HEAD + 48
C_CONTIGUOUS_AND_ALIGNED = 0x101
BYTES_DATA = bytes.__basicsize__ - 1  # where the contents of a bytes object start


def reads_arrays_right() -> bool:
    """Whether an array's fields are where the launcher looks for them."""
    array = np.zeros((3, 5), np.int8)
    shape = ctypes.c_void_p.from_address(id(array) + SHAPE).value
    return (
        ctypes.c_void_p.from_address(id(array) + DATA).value == array.ctypes.data
        and ctypes.c_int.from_address(id(array) + NDIM).value == 2
        and list((ctypes.c_int64 * 2).from_address(shape or 0)) == [3, 5]
        and ctypes.c_int.from_address(id(array) + FLAGS).value & 0x101 == C_CONTIGUOUS_AND_ALIGNED
        and ctypes.c_void_p.from_address(id(array) + HEAD - 8).value == id(np.ndarray)
    )


# ---- descriptors --------------------------------------------------------------------------------

INTEGER, FLOAT = 0, -1  # kinds of scalar parameters; a positive kind is the rank of an array


def describe(name: str, address: int, params: Sequence[Param]) -> tuple[bytes, object]:
    """The launcher's ``self`` for a kernel, and an object to keep alive with it."""
    kinds = [p.rank or (FLOAT if p.code in ("f32", "f64") else INTEGER) for p in params]
    message = (
        f"kernel {name} takes ({', '.join(map(str, params))}): "
        "arrays must be NumPy arrays, aligned and C-contiguous"
    ).encode()
    words = [
        address,
        len(params),
        id(np.ndarray),
        id(message) + BYTES_DATA,
        sum(_slots(p) for p in params),
    ]
    return struct.pack(f"{len(words) + len(kinds)}q", *words, *kinds), message


def _slots(param: Param) -> int:
    """How many 64-bit words an argument takes in the flat list."""
    return 1 + param.rank


# ---- the kernel's side --------------------------------------------------------------------------


def unpacking_ir(params: Sequence[Param], callee: str) -> str:
    """LLVM IR of what the launcher calls: unpack the list, call ``callee`` as Numba would."""
    lines = []
    operands = ["ptr %result", "ptr %excinfo"]
    slot = 0
    for k, param in enumerate(params):
        kinds = ["ptr"] + ["i64"] * param.rank if param.rank else [_slot_type(param)]
        for i, kind in enumerate(kinds):
            lines.append(f"  %p{k}.{i} = getelementptr i64, ptr %list, i64 {slot + i}")
            lines.append(f"  %v{k}.{i} = load {kind}, ptr %p{k}.{i}")
        if param.rank or kinds[0] == param.llvm:
            operands += [f"{kind} %v{k}.{i}" for i, kind in enumerate(kinds)]
        else:
            narrow = "fptrunc" if param.code == "f32" else "trunc"
            lines.append(f"  %n{k} = {narrow} {kinds[0]} %v{k}.0 to {param.llvm}")
            operands.append(f"{param.llvm} %n{k}")
        slot += len(kinds)
    return "\n".join([
        f"define void @{KERNEL}(ptr %list) {{",
        "  %result = alloca ptr", "  %excinfo = alloca ptr",
        *lines,
        f"  %status = call i32 {callee}({', '.join(operands)})",
        "  ret void", "}", "",
    ])  # fmt: skip


def _slot_type(param: Param) -> str:
    return "double" if param.code in ("f32", "f64") else "i64"


# ---- the launcher -------------------------------------------------------------------------------


def launcher_ir() -> str:
    """LLVM IR of the launcher."""
    return f"""
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyErr_Occurred()
declare i64 @PyLong_AsLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
@tinyjax_TypeError = external global i8
@tinyjax_None = external global i8

define ptr @{LAUNCHER}(ptr %self, ptr %args, i64 %count) {{
entry:
  %words = getelementptr i8, ptr %self, i64 {BYTES_DATA}
  %kernel = load ptr, ptr %words
  %count.at = getelementptr i64, ptr %words, i64 1
  %wanted = load i64, ptr %count.at
  %ndarray.at = getelementptr i64, ptr %words, i64 2
  %ndarray = load ptr, ptr %ndarray.at
  %slots.at = getelementptr i64, ptr %words, i64 4
  %slots = load i64, ptr %slots.at
  %kinds = getelementptr i64, ptr %words, i64 5
  %list = alloca i64, i64 %slots
  %count.ok = icmp eq i64 %count, %wanted
  br i1 %count.ok, label %next, label %bad

next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %advance ]
  %slot = phi ptr [ %list, %entry ], [ %slot.next, %advance ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %argument, label %call
argument:
  %object.at = getelementptr ptr, ptr %args, i64 %k
  %object = load ptr, ptr %object.at
  %kind.at = getelementptr i64, ptr %kinds, i64 %k
  %rank = load i64, ptr %kind.at
  %is.array = icmp sgt i64 %rank, 0
  br i1 %is.array, label %array, label %scalar

scalar:
  %is.integer = icmp eq i64 %rank, {INTEGER}
  br i1 %is.integer, label %integer, label %float
integer:
  %i = call i64 @PyLong_AsLongLong(ptr %object)
  store i64 %i, ptr %slot
  %suspect.i = icmp eq i64 %i, -1
  br i1 %suspect.i, label %check, label %scalar.done
float:
  %f = call double @PyFloat_AsDouble(ptr %object)
  store double %f, ptr %slot
  %suspect.f = fcmp oeq double %f, -1.0
  br i1 %suspect.f, label %check, label %scalar.done
check:
  %error = call ptr @PyErr_Occurred()
  %clean = icmp eq ptr %error, null
  br i1 %clean, label %scalar.done, label %fail
scalar.done:
  %slot.after = getelementptr i64, ptr %slot, i64 1
  br label %advance

array:
  %type.at = getelementptr i8, ptr %object, i64 {HEAD - 8}
  %type = load ptr, ptr %type.at
  %type.ok = icmp eq ptr %type, %ndarray
  br i1 %type.ok, label %plain, label %bad
plain:
  %flags.at = getelementptr i8, ptr %object, i64 {FLAGS}
  %flags = load i32, ptr %flags.at
  %layout = and i32 %flags, {C_CONTIGUOUS_AND_ALIGNED}
  %layout.ok = icmp eq i32 %layout, {C_CONTIGUOUS_AND_ALIGNED}
  br i1 %layout.ok, label %contiguous, label %bad
contiguous:
  %data.at = getelementptr i8, ptr %object, i64 {DATA}
  %data = load ptr, ptr %data.at
  store ptr %data, ptr %slot
  %ndim.at = getelementptr i8, ptr %object, i64 {NDIM}
  %ndim32 = load i32, ptr %ndim.at
  %ndim = zext i32 %ndim32 to i64
  %shape.at = getelementptr i8, ptr %object, i64 {SHAPE}
  %shape = load ptr, ptr %shape.at
  %extra = sub i64 %ndim, %rank
  br label %axis
axis:                                             ; trailing lengths, from axis 1
  %a = phi i64 [ 1, %contiguous ], [ %a.next, %axis.store ]
  %a.more = icmp slt i64 %a, %rank
  br i1 %a.more, label %axis.source, label %merge
axis.source:
  %source = add i64 %extra, %a
  %exists = icmp sge i64 %source, 0
  br i1 %exists, label %axis.read, label %axis.store
axis.read:
  %from = getelementptr i64, ptr %shape, i64 %source
  %read = load i64, ptr %from
  br label %axis.store
axis.store:
  %length = phi i64 [ 1, %axis.source ], [ %read, %axis.read ]
  %a.next = add i64 %a, 1
  %to = getelementptr i64, ptr %slot, i64 %a.next
  store i64 %length, ptr %to
  br label %axis
merge:                                            ; length 0: the product of the leading axes
  %m = phi i64 [ 0, %axis ], [ %m.next, %merge.step ]
  %product = phi i64 [ 1, %axis ], [ %product.next, %merge.step ]
  %m.more = icmp sle i64 %m, %extra
  br i1 %m.more, label %merge.step, label %array.done
merge.step:
  %lead.at = getelementptr i64, ptr %shape, i64 %m
  %lead = load i64, ptr %lead.at
  %product.next = mul i64 %product, %lead
  %m.next = add i64 %m, 1
  br label %merge
array.done:
  %first.at = getelementptr i64, ptr %slot, i64 1
  store i64 %product, ptr %first.at
  %used = add i64 %rank, 1
  %slot.array = getelementptr i64, ptr %slot, i64 %used
  br label %advance

advance:
  %slot.next = phi ptr [ %slot.after, %scalar.done ], [ %slot.array, %array.done ]
  %k.next = add i64 %k, 1
  br label %next

call:
  %thread = call ptr @PyEval_SaveThread()
  call void %kernel(ptr %list)
  call void @PyEval_RestoreThread(ptr %thread)
  call void @Py_IncRef(ptr @tinyjax_None)
  ret ptr @tinyjax_None

bad:
  %message.at = getelementptr i64, ptr %words, i64 3
  %message = load ptr, ptr %message.at
  call void @PyErr_SetString(ptr @tinyjax_TypeError, ptr %message)
  br label %fail
fail:
  ret ptr null
}}
"""
