"""Shuts its own process in, then runs a command in its place. A script of its own, which imports nothing but
Python's own modules.

Where the system gives namespaces, the process gets a file system of its own: what an interpreter needs, for
reading; an empty folder in memory, for writing; nothing else. Where it does not, Landlock (since Linux 6.7)
allows the same files, and no connection by TCP. Sources: mount_namespaces(7), pivot_root(2), landlock(7).
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

REFUSED = b"!"
"""Stands before the reason in the pipe of `READY`, where a process must be isolated and cannot."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_LINUX = sys.platform == "linux"
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41}
_MOUNT_SETATTR = 442
_NEW_MOUNTS = 0x20000
_NOSUID, _NODEV, _NOEXEC, _BIND, _RECURSIVE, _PRIVATE = 2, 4, 8, 0x1000, 0x4000, 0x40000
_READ_ONLY = struct.pack("<QQQQ", 1 | 2, 0, 0, 0)
"""MOUNT_ATTR_RDONLY and MOUNT_ATTR_NOSUID, which are set."""
_HERE, _DETACH = -100, 2
_NO_CAPABILITY, _CAPABILITIES = 24, 64
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")

_LANDLOCK = 444
_OLDEST_LANDLOCK = 4
"""The first version that limits connections."""
_EXECUTE, _READ, _LIST, _WRITE, _TRUNCATE = 1, 1 << 2, 1 << 3, 1 << 1, 1 << 14
_ALL_OF_FILES, _ALL_OF_TCP, _ALL_SCOPES = (1 << 15) - 1, 3, 3


def isolate(argument: str) -> None:
    """Run the command of a JSON list [folder, readable, bytes, files, own, must, command] in its place.

    `readable`: paths to be read and executed; `bytes` and `files`: how much may be in `folder`, the only
    place to write; `own`: it is in namespaces of its own; `must`: without isolation the command is not run.
    """
    folder, readable, most, files, own, must, command = json.loads(argument)
    readable = [path for path in _outermost(readable) if Path(path).exists()]
    refusals: list[str] = [] if _LINUX else ["it is no Linux"]
    if not (own and _succeeds(lambda: _enter_own_files(folder, readable, most, files), refusals)):
        refusals = refusals or ["namespaces are refused"]
        landlocked = _LINUX and _succeeds(lambda: _take_landlock(folder, readable), refusals)
        if not landlocked and must:
            os.write(int(os.environ["CONDUCTOR_READY"].split()[0]), REFUSED + "; ".join(refusals).encode())
            os._exit(1)
    for number in range(_CAPABILITIES if _LINUX else 0):
        # Otherwise root would have them again in what it executes, and could mount.
        _LIBC.prctl(_NO_CAPABILITY, number, 0, 0, 0)
    os.chdir(folder)
    os.execv(command[0], command)  # noqa: S606 - the command of the supervisor's own caller


def _succeeds(way: Callable[[], None], refusals: list[str]) -> bool:
    try:
        way()
    except OSError as refused:
        refusals.append(refused.strerror or str(refused))
        return False
    return True


def _outermost(paths: list[str]) -> list[str]:
    """The paths that are in none of the others."""
    outer: list[str] = []
    for path in sorted(set(paths)):
        if not (outer and Path(path).is_relative_to(outer[-1])):
            outer.append(path)
    return outer


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what} is refused ({os.strerror(number)})")
    return result


# -- namespaces --------------------------------------------------------------------------------------


def _enter_own_files(folder: str, readable: list[str], most: int, files: int) -> None:
    pivot = _PIVOT_ROOT.get(platform.machine())
    if pivot is None:
        raise OSError(0, f"pivot_root is not known on {platform.machine()}")
    _checked(_LIBC.unshare(_NEW_MOUNTS), "a mount namespace")
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    _mount("tmpfs", folder, "tmpfs", _NOSUID | _NODEV, f"size={most},nr_inodes={files},mode=700")
    for path in readable:
        _put(path, folder)
    for device in _DEVICES:
        _bind(device, folder)
    for path in (folder, "/tmp", "/dev/shm", "/proc"):  # noqa: S108 - inside the new root
        Path(folder + path).mkdir(parents=True, exist_ok=True)
    # Refused in a container that covers a part of its own: then there is none.
    with suppress(OSError):
        _mount("proc", f"{folder}/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    os.chdir(folder)
    _checked(_LIBC.syscall(pivot, b".", b"."), "pivot_root")
    _checked(_LIBC.umount2(b".", _DETACH), "umount")


def _put(path: str, root: str) -> None:
    """Put the path at the same place under the new root, for reading; a link of the system's as a link."""
    if Path(path).is_symlink():
        Path(root + path).parent.mkdir(parents=True, exist_ok=True)
        Path(root + path).symlink_to(Path(path).readlink())
        return
    _bind(path, root)
    attributes = ctypes.create_string_buffer(_READ_ONLY)
    set_at = _LIBC.syscall(
        _MOUNT_SETATTR, _HERE, (root + path).encode(), 0x8000, attributes, ctypes.c_size_t(len(_READ_ONLY))
    )
    _checked(set_at, "mount_setattr")


def _bind(path: str, root: str) -> None:
    target = Path(root + path)
    if Path(path).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    _mount(path, str(target), None, _BIND | _RECURSIVE)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    arguments = [None if each is None else each.encode() for each in (source, target, kind, data)]
    result = _LIBC.mount(*arguments[:3], ctypes.c_ulong(flags), arguments[3])
    _checked(result, f"mounting {target}")


# -- Landlock ----------------------------------------------------------------------------------------


def _take_landlock(folder: str, readable: list[str]) -> None:
    version = _checked(_LIBC.syscall(_LANDLOCK, None, ctypes.c_size_t(0), 1), "Landlock")
    if version < _OLDEST_LANDLOCK:
        raise OSError(0, f"version {version} of Landlock does not limit connections")
    handled = struct.pack("<QQ", _ALL_OF_FILES, _ALL_OF_TCP)
    if version >= 6:
        handled += struct.pack("<Q", _ALL_SCOPES)
    rules = _checked(
        _LIBC.syscall(_LANDLOCK, handled, ctypes.c_size_t(len(handled)), 0), "a rule set of Landlock"
    )
    reading = _EXECUTE | _READ | _LIST
    for path in (*readable, *_DEVICES):
        _allow(rules, path, reading)
    for device in _DEVICES:
        _allow(rules, device, _READ | _WRITE)
    _allow(rules, folder, _ALL_OF_FILES)
    _checked(_LIBC.syscall(_LANDLOCK + 2, rules, 0), "Landlock's restriction")
    os.close(rules)


def _allow(rules: int, path: str, access: int) -> None:
    if not Path(path).is_dir():
        access &= _EXECUTE | _READ | _WRITE | _TRUNCATE
    place = os.open(path, os.O_PATH)
    _checked(
        _LIBC.syscall(_LANDLOCK + 1, rules, 1, struct.pack("<Qi", access, place), 0), f"a rule for {path}"
    )
    os.close(place)


if __name__ == "__main__":
    isolate(sys.argv[1])
