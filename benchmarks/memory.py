"""How much memory a process has taken, and its workers with it."""

import os
import sys
from pathlib import Path

KIB = 1024


def peak_memory():
    """The most memory, in bytes, that this process has held at once."""
    fields = proc_fields("/proc/self/status")
    if "VmHWM" in fields:
        return fields["VmHWM"]
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * KIB


def forget_peak():
    """Let the peak be what is held now (Linux; elsewhere nothing happens)."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass  # then `growth` counts what came before, and says less than it could


def workers_memory():
    """Bytes that processes below this one hold now, without what they share with this one.

    0 where the system does not say (it is told on Linux).
    """
    total = 0
    for pid in descendants(os.getpid()):
        fields = proc_fields(f"/proc/{pid}/smaps_rollup")
        total += fields.get("Pss_Anon", 0) + fields.get("Pss_File", 0)
    return total


def proc_fields(path):
    """The lines `Name: 123 kB` of a file of the kernel's, in bytes."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return {}
    parts = [line.split() for line in lines]
    return {p[0].rstrip(":"): int(p[1]) * KIB for p in parts if len(p) == 3 and p[2] == "kB"}


def descendants(pid):
    """The ids of all processes below one."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state = path.read_text()
        except OSError:
            continue  # it ended while we looked
        parent = int(state.rpartition(")")[2].split()[1])
        children.setdefault(parent, []).append(int(path.parent.name))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found
