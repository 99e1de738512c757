"""Object code becomes functions: our own linker, LLVM where it does not know how."""

import ctypes
import gc
import struct
import subprocess
import sys
import weakref

import numpy as np
import pytest
from kernels import elementwise

from tinyjax.compiler import backend, linker, loader, native
from tinyjax.compiler.linker import NotLinkable, link

DOUBLE = """
define double @double_it(double %x) {
  %y = fmul double %x, 2.0
  ret double %y
}
"""
POWER = """
declare double @pow(double, double)
declare double @tinyjax_missing(double)
define double @cube(double %x) {
  %y = call double @pow(double %x, double 3.0)
  ret double %y
}
define double @square(double %x) {
  %y = call double @pow(double %x, double 2.0)
  ret double %y
}
"""
LOST = """
declare double @tinyjax_missing(double)
define double @lost(double %x) {
  %y = call double @tinyjax_missing(double %x)
  ret double %y
}
"""
VARIABLE = """
@count = global i64 0
define i64 @add_one() {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  ret i64 %new
}
"""
LINKS_HERE = sys.platform == "linux" and native.target_machine().triple.startswith("x86_64")


def refuse(code, find):
    """A linker for another system."""
    raise NotLinkable("not here")


def function(address, result=ctypes.c_double, *operands):
    """A Python function that calls what lies at an address."""
    return ctypes.CFUNCTYPE(result, *operands)(address)


@pytest.fixture(params=["ours", "LLVM's"])
def way(request, monkeypatch):
    """Object files are loaded by our linker, or as where it does not work."""
    if request.param == "LLVM's":
        monkeypatch.setattr(loader, "link", refuse)
    return request.param


def test_functions_and_their_constants(way):
    [address] = loader.load_symbols(native.compile_ir(DOUBLE), ["double_it"])
    assert function(address, ctypes.c_double, ctypes.c_double)(21.0) == 42.0


def test_functions_of_the_process_are_found_by_name(way):
    square, cube = loader.load_symbols(native.compile_ir(POWER), ["square", "cube"])
    assert function(cube, ctypes.c_double, ctypes.c_double)(3.0) == 27.0
    assert function(square, ctypes.c_double, ctypes.c_double)(3.0) == 9.0


def test_variables_work(way):
    [address] = loader.load_symbols(native.compile_ir(VARIABLE), ["add_one"])
    add_one = function(address, ctypes.c_int64)
    assert [add_one(), add_one()] == [1, 2]


def test_published_functions_are_found_by_later_files(way):
    name = f"tinyjax_doubled_{way[0]}"
    loader.publish(native.compile_ir(DOUBLE.replace("double_it", name)), [name])
    text = f"""
    declare double @{name}(double)
    define double @fourfold(double %x) {{
      %y = call double @{name}(double %x)
      %z = call double @{name}(double %y)
      ret double %z
    }}
    """
    [address] = loader.load_symbols(native.compile_ir(text), ["fourfold"])
    assert function(address, ctypes.c_double, ctypes.c_double)(3.0) == 12.0


def test_a_function_may_be_found_when_it_is_first_called(way):
    name, asked = f"tinyjax_late_{way[0]}", []

    def address():
        asked.append(1)
        return loader.load_symbols(native.compile_ir(DOUBLE), ["double_it"])[0]

    loader.publish_lazily(name, address)
    text = f"""
    @{name} = external global ptr
    define double @through(double %x) {{
      %f = load ptr, ptr @{name}
      %y = call double %f(double %x)
      ret double %y
    }}
    """
    [through] = loader.load_symbols(native.compile_ir(text), ["through"])
    call = function(through, ctypes.c_double, ctypes.c_double)
    assert asked == [] and [call(1.0), call(2.0)] == [2.0, 4.0] and asked == [1]


def test_kernels_give_the_same_results(way, monkeypatch):
    for cached in (backend._launcher, backend._library_function):
        cached.cache_clear()
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    for expression, want in [
        ("x[i] * f32(0.5)", x * np.float32(0.5)),
        ("tanh(x[i]) + sin(x[i])", np.tanh(x) + np.sin(x)),
        ("sin(x[i] * f32(1e30))", np.sin((x * np.float32(1e30)).astype(np.float64))),
    ]:
        source, codes = elementwise(expression, "f32", "f32")
        out = np.empty_like(x)
        backend._build("k", source, codes)(x, out)
        np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)


def test_a_missing_function_is_an_error():
    with pytest.raises(ValueError, match=r"object code lacks one of the functions \['absent'\]"):
        loader.load_symbols(native.compile_ir(DOUBLE), ["absent"])


# ---- what our linker refuses --------------------------------------------------------------------


def patched(code, offset, layout, value):
    """Object code with a number changed."""
    changed = bytearray(code)
    struct.pack_into(layout, changed, offset, value)
    return bytes(changed)


def test_files_of_other_machines_are_refused():
    code = native.compile_ir(DOUBLE)
    for offset, layout, value in [(0, "B", 0), (4, "B", 1), (5, "B", 2), (16, "<H", 3)]:
        with pytest.raises(NotLinkable):
            link(patched(code, offset, layout, value), loader.find)
    with pytest.raises(NotLinkable):
        link(patched(code, 18, "<H", 183), loader.find)


def test_unknown_symbols_and_variables_are_refused():
    if LINKS_HERE:
        with pytest.raises(NotLinkable, match="nobody knows where 'tinyjax_missing' is"):
            link(native.compile_ir(LOST), loader.find)
        with pytest.raises(NotLinkable, match="a section of variables"):
            link(native.compile_ir(VARIABLE), loader.find)


def test_relocations_of_other_kinds_are_refused():
    if LINKS_HERE:
        code = native.compile_ir(POWER)
        [table] = [s for s in linker.read_sections(code) if s.kind == linker.RELOCATIONS and s.size]
        with pytest.raises(NotLinkable, match="a relocation of kind 4"):
            link(patched(code, table.offset + 8, "<I", 4), loader.find)


def test_a_system_that_forbids_it_is_noticed(monkeypatch):
    class Forbidding:
        def __init__(self, name):
            self.mprotect = self.refuse

        class Refusal:
            argtypes = ()

            def __call__(self, *args):
                return -1

        refuse = Refusal()

    monkeypatch.setattr(linker.ctypes, "CDLL", Forbidding)
    with pytest.raises(NotLinkable):
        link(native.compile_ir(DOUBLE), loader.find)


def test_linked_code_cannot_be_written():
    """The memory of a function is closed before it can be run."""
    code = f"""
import ctypes
from tinyjax.compiler import loader, native
[address] = loader.load_symbols(native.compile_ir({DOUBLE!r}), ["double_it"])
ctypes.memset(address, 0, 1)
print("written")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode < 0 and done.stdout == ""


def test_what_code_refers_to_by_address_is_kept_without_a_list(monkeypatch):
    """When Python ends it empties lists before it ends the functions that need their contents."""
    kept = []
    monkeypatch.setattr(loader, "keep", lambda *things: kept.extend(things))
    backend._build("k", *elementwise("x[i] * f32(0.6875)", "f32", "f32"))
    assert {type(x) for x in kept} == {loader._MethodDef, bytes}

    class Thing:
        pass

    thing = Thing()
    seen = weakref.ref(thing)
    linker.keep(thing)
    del thing
    gc.collect()
    assert seen() is not None
