"""A small linker: object code into memory, so that a process that compiles nothing loads no LLVM.

Object files of ``native.compile_ir`` follow LLVM's large code model: they name every address that
they need, their own constants' too, in full.  So there is one kind of relocation, "write the 64
bits of this symbol's address there", and no tables or jumps have to be made.  This file knows ELF
files for x86-64 with this one kind, and refuses all others; LLVM's own loader takes those.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
import sys
from collections.abc import Callable
from typing import NamedTuple

# ---- the file -----------------------------------------------------------------------------------

IDENTITY = b"\x7fELF\x02\x01\x01"  # 64 bits, little endian
RELOCATABLE, X86_64 = 1, 62
BITS, SYMBOLS, RELOCATIONS, UNWINDING = 1, 2, 4, 0x70000001  # kinds of sections
WRITABLE, IN_MEMORY = 1, 2  # flags of sections
FULL_ADDRESS = 1  # R_X86_64_64

_HEADER = struct.Struct("<16sHH20xQ10xHH")
_SECTION = struct.Struct("<IIQ8xQQIIQ8x")
_SYMBOL = struct.Struct("<I2xHQ8x")
_RELOCATION = struct.Struct("<QIIq")
_ADDRESS = struct.Struct("<Q")


class NotLinkable(Exception):
    """An object file that this linker does not understand."""


class Section(NamedTuple):
    """A part of an object file. link, info: sections that it refers to."""

    name: int
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


class Symbol(NamedTuple):
    """A name with a place. section: 0 if it is defined elsewhere."""

    name: str
    section: int
    value: int


def read_sections(code: bytes) -> list[Section]:
    """The sections of an object file for this machine."""
    identity, kind, machine, start, size, count = _HEADER.unpack_from(code)
    if not identity.startswith(IDENTITY) or (kind, machine) != (RELOCATABLE, X86_64):
        raise NotLinkable("not an object file for x86-64")
    return [Section(*_SECTION.unpack_from(code, start + i * size)) for i in range(count)]


def read_symbols(code: bytes, sections: list[Section]) -> list[Symbol]:
    """The symbols of an object file, in its order."""
    [table] = [s for s in sections if s.kind == SYMBOLS]
    names = sections[table.link].offset
    symbols = []
    for name, section, value in _SYMBOL.iter_unpack(code[table.offset :][: table.size]):
        end = code.index(b"\0", names + name)
        symbols.append(Symbol(code[names + name : end].decode(), section, value))
    return symbols


# ---- memory -------------------------------------------------------------------------------------


def keep(*things: object) -> None:
    """Let things live as long as the process: code and functions refer to them by address.

    A list would not do. When Python ends it empties modules in no order that we know, and what
    refers to a thing may be looked at after it.
    """
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def place(sections: list[Section]) -> tuple[dict[int, int], int]:
    """Where the sections that are needed shall lie: {number: offset}, and the size of all."""
    offsets, end = {}, 0
    for i, section in enumerate(sections):
        if not section.flags & IN_MEMORY or section.kind == UNWINDING:
            continue  # about the file itself, or for exceptions, which kernels have not
        if section.kind != BITS or section.flags & WRITABLE:
            raise NotLinkable("a section of variables")
        align = max(section.align, 1)
        offsets[i] = -(-end // align) * align
        end = offsets[i] + section.size
    return offsets, end


def make_executable(memory: mmap.mmap, base: int) -> None:
    """Memory that was written becomes memory that can be run, and is not written any more."""
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    if protect(base, len(memory), mmap.PROT_READ | mmap.PROT_EXEC):
        raise NotLinkable("the system does not let us run code that was written to memory")


# ---- linking ------------------------------------------------------------------------------------


def link(code: bytes, find: Callable[[str], int | None]) -> dict[str, int]:
    """Put an object file into memory: the addresses of the symbols that it defines.

    ``find`` gives the address of a symbol that is defined elsewhere, or None.  Raises NotLinkable
    if the file is not understood or a symbol is not found.
    """
    if sys.platform != "linux":
        raise NotLinkable("this linker knows Linux only")
    sections = read_sections(code)
    symbols = read_symbols(code, sections)
    offsets, size = place(sections)
    memory = mmap.mmap(-1, max(size, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))

    def address_of(symbol: Symbol) -> int:
        if symbol.section in offsets:
            return base + offsets[symbol.section] + symbol.value
        found = None if symbol.section else find(symbol.name)
        if found is None:
            raise NotLinkable(f"nobody knows where {symbol.name!r} is")
        return found

    for i, offset in offsets.items():
        section = sections[i]
        memory[offset : offset + section.size] = code[section.offset :][: section.size]
    for table in sections:
        if table.kind != RELOCATIONS or table.info not in offsets:
            continue
        for where, kind, symbol, addend in _RELOCATION.iter_unpack(
            code[table.offset :][: table.size]
        ):
            if kind != FULL_ADDRESS:
                raise NotLinkable(f"a relocation of kind {kind}")
            value = address_of(symbols[symbol]) + addend
            _ADDRESS.pack_into(memory, offsets[table.info] + where, value)
    make_executable(memory, base)
    keep(memory)
    return {s.name: address_of(s) for s in symbols if s.name and s.section in offsets}
