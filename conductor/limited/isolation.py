"""Shuts its own process in, then runs a command in its place. A script of its own, which imports nothing but
Python's own modules.

Where the system gives namespaces, the process gets a file system of its own: what an interpreter needs, for
reading; an empty folder in memory, for writing; nothing else. Where it does not, Landlock (since Linux 6.7)
allows the same files. What neither covers is refused call by call, by seccomp: memory that counts for no
process, and with Landlock every socket and what changes other processes or their files. Sources:
mount_namespaces(7), pivot_root(2), landlock(7), seccomp(2).
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import struct
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from errno import EPERM
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
_SCOPES_LANDLOCK = 6
"""The first one that limits signals."""
_EXECUTE, _READ, _LIST, _WRITE, _TRUNCATE = 1, 1 << 2, 1 << 3, 1 << 1, 1 << 14
_ALL_OF_FILES, _ALL_OF_TCP, _ALL_SCOPES = (1 << 15) - 1, 3, 3

_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1), "riscv64": (0xC00000F3, 1)}
"""AUDIT_ARCH, and which numbers of the tables below are the machine's; those of x86_64 come first."""
_SECCOMP, _FILTER, _FIRST_X32 = 22, 2, 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _ANSWER = 0x20, 0x15, 0x35, 0x06
_KILL, _ERROR, _ALLOW = 0x80000000, 0x50000, 0x7FFF0000
_Call = tuple[int, int]
_When = tuple[int, int, int, int]
"""An instruction that looks at the first argument."""
_ALWAYS, _IF_VSOCK = (_AT_LEAST, 0, 1, 0), (_EQUAL, 0, 1, 40)
_IF_ANOTHER, _IF_DUMPABLE = (_EQUAL, 1, 0, 0), (_EQUAL, 0, 1, 4)
_SOCKET, _PRLIMIT, _PRCTL = (41, 198), (302, 261), (157, 167)
_UNCOUNTED = (
    (425, 425), (319, 279), (29, 194), (64, 190), (68, 186), (248, 217), (249, 218), (250, 219),
)  # fmt: skip
"""io_uring_setup, memfd_create, shmget, semget, msgget, add_key, request_key, keyctl."""
_OF_OTHERS = ((141, 140), (203, 122), (144, 119), (142, 118), (314, 274), (251, 30))
"""setpriority, sched_setaffinity, sched_setscheduler, sched_setparam, sched_setattr, ioprio_set."""
_OF_ANY_FILE = (
    *((90, 52), (91, 52), (268, 53), (452, 452), (92, 54), (93, 55), (94, 54), (260, 54)),
    *((132, 88), (235, 88), (261, 88), (280, 88), (188, 5), (189, 6), (190, 7), (463, 463)),
    *((197, 14), (198, 15), (199, 16), (466, 466), (469, 469)),
)
"""All of chmod, chown, utime, setxattr and removexattr, and file_setattr."""
_SIGNALS = ((62, 129), (200, 130), (234, 131), (129, 138), (297, 240), (424, 424))
"""kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal."""


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
    # Sockets to the host of a virtual machine have no namespace.
    _refuse_calls((_UNCOUNTED, EPERM, _ALWAYS), ([_SOCKET], EPERM, _IF_VSOCK))


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
    if version >= _SCOPES_LANDLOCK:
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
    of_others = (_SOCKET, *_UNCOUNTED, *_OF_OTHERS, *(_SIGNALS if version < _SCOPES_LANDLOCK else ()))
    # Programs that copy a file set its mode: they go on, and no mode is set.
    _refuse_calls(
        (of_others, EPERM, _ALWAYS),
        ([_PRLIMIT], EPERM, _IF_ANOTHER),
        # Its supervisor looks at its descriptors.
        ([_PRCTL], EPERM, _IF_DUMPABLE),
        (_OF_ANY_FILE, 0, _ALWAYS),
    )


def _allow(rules: int, path: str, access: int) -> None:
    if not Path(path).is_dir():
        access &= _EXECUTE | _READ | _WRITE | _TRUNCATE
    place = os.open(path, os.O_PATH)
    _checked(
        _LIBC.syscall(_LANDLOCK + 1, rules, 1, struct.pack("<Qi", access, place), 0), f"a rule for {path}"
    )
    os.close(place)


# -- seccomp -----------------------------------------------------------------------------------------


def _refuse_calls(*rules: tuple[Iterable[_Call], int, _When]) -> None:
    """Let calls end with an error, 0 for none, on a condition. Raises `OSError`. Source: linux/filter.h."""
    if platform.machine() not in _MACHINES:
        raise OSError(0, f"seccomp is not known on {platform.machine()}")
    machine, column = _MACHINES[platform.machine()]
    number, first = (_LOAD, 0, 0, 0), (_LOAD, 0, 0, 16)
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, machine), (_ANSWER, 0, 0, _KILL), number]
    program += [(_AT_LEAST, 0, 1, _FIRST_X32), (_ANSWER, 0, 0, _ERROR | EPERM)]
    for calls, error, when in rules:
        for call in calls:
            program += [(_EQUAL, 0, 4, call[column]), first, when, (_ANSWER, 0, 0, _ERROR | error), number]
    program.append((_ANSWER, 0, 0, _ALLOW))
    filter = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in program))
    place = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(filter)))
    _checked(_LIBC.prctl(_SECCOMP, _FILTER, place, 0, 0), "seccomp")


if __name__ == "__main__":
    isolate(sys.argv[1])
