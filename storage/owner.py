"""Which process a run belongs to, and whether that process is gone.

An owner is "place/pid/start". The place is the host, and which of the host's worlds of pids it is: several
containers may be called the same, and a machine that was started anew counts its ticks from 0. The start
time, in the kernel's own ticks, tells a process from a later one with the same pid; it is "-" where there is
no /proc to ask.
"""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path

_UNKNOWN = "-"


def this_process() -> str:
    """The owner text of the process that asks."""
    return _owner(os.getpid())  # a process that was forked is another one


def is_neighbour(owner: str) -> bool:
    """Whether the owner ran where this process runs, so that its pid says whether it still does."""
    # Earlier versions named the host alone.
    return owner.rsplit("/", 2)[0] in (_place(), socket.gethostname())


def is_gone(owner: str) -> bool:
    """Whether the owner was a neighbour and runs no more; False where that cannot be known."""
    if not is_neighbour(owner):
        return False
    _, pid, started = owner.rsplit("/", 2)
    stat = _stat(int(pid))
    if stat is None or started == _UNKNOWN:
        return not _is_alive(int(pid))
    return stat[0] in "ZX" or stat[1] != started


@cache
def _owner(pid: int) -> str:
    stat = _stat(pid)
    return f"{_place()}/{pid}/{_UNKNOWN if stat is None else stat[1]}"


@cache
def _place() -> str:
    try:
        boot, pids = Path("/proc/sys/kernel/random/boot_id").read_text(), Path("/proc/self/ns/pid").readlink()
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()}~{hashlib.sha256(f'{boot} {pids}'.encode()).hexdigest()[:8]}"


def _stat(pid: int) -> tuple[str, str] | None:
    """State letter and start time of a process; None when there is none, or /proc does not show it."""
    try:
        line = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name comes first in parentheses and may itself hold spaces and parentheses.
    fields = line.rpartition(")")[2].split()
    return fields[0], fields[19]


def _is_alive(pid: int) -> bool:
    if os.name == "nt":  # there, signal 0 is Ctrl+C
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
