"""Disk cache of compiled kernels: object code by the hash of everything it depends on.

The folder is private to the user (0700), since its files are executed.  Entries are written to a
temporary file and renamed, and carry a digest, so that a reader sees a whole entry or none.  No
trouble with the disk, a full, missing, read-only or damaged folder, ever reaches the caller: the
kernel is then simply compiled again.

``TINYJAX_CACHE_DIR`` chooses the folder; set to an empty string it switches the cache off.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import stat
import sys
import threading
from pathlib import Path

MAGIC = b"tinyjax kernel 1\n"
_DIGEST = 32

# ---- keys ---------------------------------------------------------------------------------------


@functools.cache
def environment_key() -> bytes:
    """A digest of what besides source and argument types determines the object code."""
    import llvmlite

    from tinyjax.compiler.native import machine_key

    digest = hashlib.sha256()
    for part in (
        machine_key(),
        llvmlite.__version__,
        sys.implementation.cache_tag,
        str(object.__basicsize__),
    ):
        digest.update(f"{part}\0".encode())
    for path in _sources():
        digest.update(path.read_bytes())
    return digest.digest()


def _sources() -> list[Path]:
    """The files whose text decides what a kernel compiles to: ours, and Numba's version."""
    found = sorted(Path(__file__).parent.glob("*.py"))
    numba = importlib.util.find_spec("numba")  # finds, does not import
    if numba is not None and numba.origin:
        version = Path(numba.origin).with_name("_version.py")
        if version.exists():
            found.append(version)
    return found


def key(source: str, signature: tuple[str, ...]) -> str:
    """The name of a kernel's cache entry."""
    digest = hashlib.sha256(environment_key())
    digest.update("\0".join((*signature, source)).encode())
    return digest.hexdigest()


# ---- the folder ---------------------------------------------------------------------------------


def folder() -> Path | None:
    """The cache folder, created if need be; ``None`` if there is none that is safe to use."""
    chosen = os.environ.get("TINYJAX_CACHE_DIR")
    if chosen == "":
        return None
    try:
        if chosen is None:
            base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
            chosen = os.path.join(base, "tinyjax")
        path = Path(chosen) / "kernels"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path if _private(path) else None
    except (OSError, RuntimeError):
        return None


def _private(path: Path) -> bool:
    """Whether only this user can write in ``path``; tightens a folder that is too open."""
    status = path.stat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return False
    if stat.S_IMODE(status.st_mode) & 0o077:
        path.chmod(0o700)
    return True


# ---- entries ------------------------------------------------------------------------------------


def load(name: str) -> bytes | None:
    """The object code stored under ``name``; ``None`` if absent or damaged."""
    path = folder()
    if path is None:
        return None
    try:
        content = (path / name).read_bytes()
    except OSError:
        return None
    head = len(MAGIC) + _DIGEST
    code = content[head:]
    if (
        content[: len(MAGIC)] != MAGIC
        or hashlib.sha256(code).digest() != content[len(MAGIC) : head]
    ):
        return None
    return code


def store(name: str, code: bytes) -> None:
    """Store object code under ``name``; does nothing if the folder cannot be written."""
    path = folder()
    if path is None:
        return
    temporary = path / f"writing-{os.getpid()}-{threading.get_ident()}"
    try:
        handle = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + hashlib.sha256(code).digest() + code)
        os.replace(temporary, path / name)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
