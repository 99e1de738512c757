"""Disk cache of compiled kernels: object code by the hash of everything it depends on.

What lies here will be run, so nobody else may put anything here: the folder belongs to the user
and is closed to others (0700), and so is every file that is read.  An entry carries a digest of its
name and contents; it is written to a file of another name and then renamed, so a reader sees a
whole entry or none.  No trouble with the disk, a full, missing, read-only or damaged folder, ever
reaches the caller: the kernel is then simply compiled again.

The flag ``cache_dir`` (``TINYJAX_CACHE_DIR``) chooses the folder, an empty text switches the cache
off.  ``cache_megabytes`` limits its size: what was not used for longest goes first.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import platform
import stat
import sys
import time

from tinyjax.config import current_flags

MAGIC = b"tinyjax kernel 2\n"
_DIGEST = 32
_HEAD = len(MAGIC) + _DIGEST
DAY = 24 * 3600

# ---- keys ---------------------------------------------------------------------------------------


def key(source: str, signature: tuple[str, ...]) -> str:
    """The name of a kernel's cache entry."""
    digest = hashlib.sha256(environment_key())
    digest.update("\0".join((*signature, source)).encode())
    return digest.hexdigest()


@functools.cache
def environment_key() -> bytes:
    """A digest of what besides source and argument types determines the object code."""
    digest = hashlib.sha256()
    for part in (
        sys.platform,
        processor(),
        sys.implementation.cache_tag,
        str(object.__basicsize__),
    ):
        digest.update(f"{part}\0".encode())
    for path in _sources():
        with open(path, "rb") as file:
            digest.update(file.read())
    return digest.digest()


def _sources() -> list[str]:
    """The files whose text decides what a kernel compiles to: ours, Numba's and LLVM's versions."""
    here = os.path.dirname(__file__)
    found = [os.path.join(here, name) for name in sorted(os.listdir(here))]
    found = [path for path in found if path.endswith((".py", ".pyc"))]
    for package in ("numba", "llvmlite"):
        spec = importlib.util.find_spec(package)  # finds, does not import
        if spec is not None and spec.origin:
            version = os.path.join(os.path.dirname(spec.origin), "_version.py")
            found += [version] * os.path.exists(version)
    return found


# How Linux says what a processor is and can do, on x86 and on ARM.
_TELLING = {"vendor_id", "cpu family", "model", "model name", "stepping", "flags"}
_TELLING |= {"CPU implementer", "CPU architecture", "CPU variant", "CPU part", "Features"}


def processor() -> str:
    """A text that changes whenever object code compiled elsewhere must not be loaded here."""
    lines = []
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if not line.strip():
                break  # the next processor is like the first
            if line.partition(":")[0].strip() in _TELLING:
                lines.append(line)
    if not any(line.startswith(("flags", "Features")) for line in lines):
        from tinyjax.compiler.native import machine_key  # LLVM looks itself; it takes long to load

        return machine_key()
    return "".join([platform.machine(), *lines])


# ---- the folder ---------------------------------------------------------------------------------


def folder() -> str | None:
    """The cache folder, created if need be; ``None`` if there is none that is safe to use."""
    chosen = current_flags().cache_dir
    if chosen == "" or os.environ.get("TINYJAX_CACHE_DIR") == "":
        return None
    if chosen is None:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        chosen = os.path.join(base, "tinyjax")
    path = os.path.join(chosen, "kernels")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        return path if _made_private(path) else None
    except (OSError, ValueError):  # ValueError: no name for a file
        return None


def _made_private(path: str) -> bool:
    """Whether only this user can write in a folder; one that is too open is closed."""
    status = os.stat(path)
    if not _mine(status):
        return False
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.chmod(path, 0o700)
    return True


def _mine(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user."""
    return not hasattr(os, "getuid") or status.st_uid == os.getuid()


def _place(name: str) -> tuple[str, str] | None:
    """The folder and path of an entry: its own folder has a 256th of all entries."""
    top = folder()
    if top is None:
        return None
    shelf = os.path.join(top, name[:2])
    return shelf, os.path.join(shelf, name)


# ---- entries ------------------------------------------------------------------------------------


def load(name: str) -> bytes | None:
    """The object code stored under ``name``; ``None`` if absent or damaged."""
    place = _place(name)
    if place is None:
        return None
    try:
        handle = os.open(place[1], os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(handle, "rb") as file:
            status = os.fstat(handle)
            if not _mine(status) or status.st_mode & 0o022 or not stat.S_ISREG(status.st_mode):
                return None
            content = file.read()
            if time.time() - status.st_mtime > DAY:  # for `make_room`: it is still in use
                os.utime(place[1])
    except OSError:
        return None
    code = content[_HEAD:]
    return code if content[:_HEAD] == _head(name, code) else None


def store(name: str, code: bytes) -> None:
    """Store object code under ``name``; does nothing if the folder cannot be written."""
    place = _place(name)
    if place is None:
        return
    shelf, path = place
    temporary = os.path.join(shelf, f"writing-{os.urandom(8).hex()}")
    try:
        os.makedirs(shelf, mode=0o700, exist_ok=True)
        try:
            handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(handle, "wb") as file:
                file.write(_head(name, code) + code)
            os.replace(temporary, path)
        except BaseException:  # also Ctrl-C
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        make_room(shelf)
    except OSError:
        pass


def _head(name: str, code: bytes) -> bytes:
    """What an entry starts with: nothing else has this digest, be it damaged or renamed."""
    return MAGIC + hashlib.sha256(name.encode() + code).digest()


def make_room(shelf: str) -> None:
    """Delete what was not used for longest, until this folder takes its share of the limit.

    Each of the 256 folders has its own share: looking at all entries would take too long.
    """
    entries = []
    for file in os.scandir(shelf):
        with contextlib.suppress(OSError):  # another process has deleted it
            status = file.stat(follow_symlinks=False)
            entries.append((status.st_mtime, status.st_size, file.path))
    excess = sum(size for _, size, _ in entries) - current_flags().cache_megabytes * 2**20 // 256
    for used, size, path in sorted(entries)[:-1]:  # the newest stays, however large it is
        forgotten = "writing-" in path and time.time() - used > DAY  # by a process that was killed
        if excess <= 0 and not forgotten:
            continue
        with contextlib.suppress(OSError):
            os.unlink(path)
        excess -= size
