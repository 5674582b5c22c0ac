"""A supervisor that runs one command within limits, and that nothing of it outlives. A script of its own.

Started by `command.py`, outside of this project's package: it imports nothing but Python's own modules. Where
the system lets it, the command is in namespaces of its own, without a network and with its own processes,
which all end with it. Elsewhere the supervisor becomes the parent of every orphan, and ends all below it. The
command's files are limited by `isolation.py`, which it starts in.

How the command ended is written to standard error, which the command does not have: so a failure of this
script or of the machine is not taken for one of the command, whatever that prints and whatever its code.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import re
import select
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from errno import ENAMETOOLONG
from pathlib import Path

READY = """
import os, resource, time
ready, seconds = map(int, os.environ.pop("CONDUCTOR_READY").split())
most, allowed = int(time.process_time()) + seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]
if allowed == resource.RLIM_INFINITY or most < allowed:
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
os.write(ready, b".")
os.close(ready)
"""
"""What a command runs once its interpreter has started: its seconds count from here, whatever that took."""

ISOLATION = str(Path(__file__).with_name("isolation.py"))

_GROUPS, _OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
"""Where Linux shows control groups, and this process' own (docs.kernel.org/admin-guide/cgroup-v2.html)."""

_REFUSED = b"!"
"""See there."""

_LOOK = 0.25
"""Seconds after which the processes are counted again."""

_PATIENCE = 10.0
"""Seconds after which what was killed should be gone."""

_NAMESPACES = 0x10000000 | 0x40000000 | 0x20000000 | 0x08000000
"""Of users, which lets anybody have the others; of networks, an empty one; of processes; of shared memory."""


@dataclass(frozen=True)
class Limits:
    """Seconds of a core while the child has work, and by the clock while it waits: a busy machine takes none
    of them, and one that takes `start` more by the clock fails. `wait`: seconds that it may wait in all while
    nothing of it has work, where there are as many. Bytes of memory, of a file and of all files;
    the number of files, and of processes below the child; bytes of its output that are read, the rest is
    thrown away. The bytes of memory are those of one process and, at once where control groups are delegated
    to this user, else a quarter of a second later, of all together.

    `isolated`: it is not run where the system cannot isolate it; see `isolation.py`.
    `start`: seconds until the child runs `READY`, which count for nothing else.
    """

    seconds: float = 10.0
    start: float = 120.0
    wait: float = 120.0
    memory: int = 1024**3
    file: int = 10 * 1024**2
    disk: int = 64 * 1024**2
    files: int = 10_000
    processes: int = 64
    output: int = 100_000
    isolated: bool = False


def supervise(argument: str) -> None:
    """Run the command of a JSON list [limits, folder, path, readable, command]; `path` is that of its Python.

    Writes a line of JSON when the command is ready, {}, and one at the end: its `code` or why it was
    `stopped`, and the `seconds` since it was ready; why its isolation was `refused`; or the `failure` that
    was not its own: a traceback of what is raised here ends with that.
    """
    raw, folder, path, readable, command = json.loads(argument)
    limits = Limits(**raw)
    woken, group = _signals(), _control_group(limits.memory)
    try:
        ended = _supervised(limits, folder, path, readable, command, woken=woken, group=group)
    finally:
        _end_all_below(os.getpid())
        remove(folder)
        if group is not None:
            with suppress(OSError):
                group.rmdir()
    _write(ended)


def remove(folder: str) -> None:
    """Remove a folder, or a link that was put in its place: whatever its folders allow, and however deep they
    are, which costs `shutil.rmtree` a level of recursion and a descriptor each.
    """
    with suppress(OSError):
        Path(folder).unlink()
    with suppress(OSError):
        Path(folder).chmod(0o700)
        name = f"{folder}/{os.urandom(8).hex()}"
        numbers = itertools.count()
        while entries := list(os.scandir(folder)):
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    Path(entry).unlink()
                    continue
                Path(entry).chmod(0o700)
                for inner in list(os.scandir(entry)):
                    if inner.is_dir(follow_symlinks=False):
                        Path(inner).chmod(0o700)
                    Path(inner).rename(f"{name}-{next(numbers)}")
                Path(entry).rmdir()
        Path(folder).rmdir()


def _write(report: dict[str, object]) -> None:
    os.write(2, json.dumps(report).encode() + b"\n")


def _supervised(
    limits: Limits,
    folder: str,
    path: list[str],
    readable: list[str],
    command: list[str],
    *,
    woken: int,
    group: Path | None,
) -> dict[str, object]:
    namespaces = _take_care()
    # Not by what started this, which may be killed before this runs.
    Path(folder).mkdir(mode=0o700)
    bounded = namespaces and _bounds_processes()
    isolated = [folder, readable, limits.disk, limits.files, namespaces, limits.isolated, command]
    ready, written = os.pipe()
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CONDUCTOR_READY": f"{written} {int(limits.seconds) + 1}",
    }
    child = subprocess.Popen(  # noqa: S603 - the scorer's own command
        (sys.executable, "-I", "-S", ISOLATION, json.dumps(isolated)),
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment,
        pass_fds=(written,),
        preexec_fn=lambda: _take_limits(limits, group, bounded=bounded),  # noqa: PLW1509
        # What signals its own group is not to reach the supervisor.
        start_new_session=True,
    )
    os.close(written)
    started, counted_at, started_at = False, 0.0, 0.0
    ends_at = time.monotonic() + limits.start
    spent, idle, used, looked_at = 0.0, 0.0, 0.0, 0.0
    while True:
        waited = [woken] if started else [woken, ready]
        remaining = limits.seconds - spent if started else ends_at - time.monotonic()
        seen = select.select(waited, [], [], max(0.01, min(_LOOK, remaining)))[0]
        if woken in seen and signal.SIGTERM in os.read(woken, 4096):
            return {"failure": "it was ended from outside"}
        ended, status = os.waitpid(child.pid, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if ended else None
        if not started and (ready in seen or code is not None) and (first := os.read(ready, 1)):
            if first == _REFUSED:
                return {"refused": os.read(ready, 4096).decode(errors="replace")}
            started, started_at = True, time.monotonic()
            ends_at, looked_at = started_at + limits.seconds + limits.start, started_at
            used, _ = _used()
            _write({})
        looks = code is None and time.monotonic() - counted_at >= _LOOK
        if looks or code == -signal.SIGKILL:
            counted_at = time.monotonic()
            if (too_much := _excess(limits, folder, group, bounded=bounded)) is not None:
                return {"stopped": f"stopped with more than {too_much}"}
        if code is not None and started:
            return {"code": code, "seconds": time.monotonic() - started_at}
        if code is not None:
            return {"failure": f"its interpreter ended with exit code {code} before the program began"}
        if started:
            before, (used, runs) = used, _used()
            passed, looked_at = time.monotonic() - looked_at, time.monotonic()
            spent += min(passed, max(0.0, used - before)) if runs else passed
            idle += passed if runs is False else 0.0
        if idle >= limits.wait:
            return {"stopped": f"stopped after it had waited for {limits.wait:g} s", "seconds": limits.wait}
        if spent >= limits.seconds:
            return {"stopped": f"stopped after {limits.seconds:g} s", "seconds": limits.seconds}
        if time.monotonic() >= ends_at:
            if not started:
                return {"failure": f"its interpreter did not start within {limits.start:g} s"}
            most = limits.seconds + limits.start
            return {"failure": f"the machine gave it {spent:.1f} of {limits.seconds:g} s within {most:g} s"}


def _control_group(memory: int) -> Path | None:
    """A new control group whose processes have so many bytes together, beside this process's own, or None if
    that is not delegated to this user.
    """
    with suppress(OSError, StopIteration):
        lines = _OWN_GROUPS.read_text(encoding="utf-8").splitlines()
        own = _GROUPS / next(line[4:] for line in lines if line.startswith("0::/"))
        # Only the first of all may have both processes and groups that share its memory.
        above = own if own == _GROUPS else own.parent
        if "memory" not in (shared := above / "cgroup.subtree_control").read_text(encoding="ascii").split():
            shared.write_text("+memory", encoding="ascii")
        group = above / f"conductor-limited-{os.getpid()}-{os.urandom(4).hex()}"
        group.mkdir()
        try:
            # Without memory that is swapped out, where the system counts it.
            for name, value in (("swap.max", 0), ("max", memory), ("oom.group", 1)):
                if (file := group / f"memory.{name}").exists() or name == "max":
                    file.write_text(str(value), encoding="ascii")
        except OSError:
            group.rmdir()
            raise
        return group
    return None


def _ran_out_of_memory(group: Path | None) -> bool:
    """Whether the system ended the processes of the group because they needed more."""
    with suppress(OSError):
        events = "" if group is None else (group / "memory.events").read_text(encoding="ascii")
        return re.search(r"^oom_kill [1-9]", events, re.MULTILINE) is not None
    return False


def _excess(limits: Limits, folder: str, group: Path | None, *, bounded: bool) -> str | None:
    """What the command and all below it have too much of together, or None."""
    pids = _children(os.getpid())
    sizes = [size for pid in pids if (size := _memory(pid))]
    if not bounded and len(sizes) > limits.processes:
        return f"{limits.processes} processes"
    if sum(sizes) > limits.memory or _ran_out_of_memory(group):
        return f"{limits.memory // 1024**2} MB of memory"
    number, size, waiting = 0, _removed(pids), [folder]
    while waiting and number <= limits.files:
        try:
            for entry in os.scandir(waiting.pop()):
                number += 1
                with suppress(FileNotFoundError):
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_size
        except OSError as error:
            if error.errno == ENAMETOOLONG:
                return "4095 characters in a path"
    if number > limits.files:
        return f"{limits.files} files"
    return f"{limits.disk // 1024**2} MB in files" if size > limits.disk else None


def _removed(pids: list[int]) -> int:
    """Bytes of files that have no name any more, but are open."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        with suppress(OSError):
            for descriptor in os.scandir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    file = Path(descriptor).stat()
                    if stat.S_ISREG(file.st_mode) and not file.st_nlink:
                        sizes[file.st_dev, file.st_ino] = file.st_size
    return sum(sizes.values())


def _used() -> tuple[float, bool | None]:
    """Seconds of a core that the command and all below it had, and whether any of them runs or would; None
    if the system lists none of them.
    """
    ticks, runs = 0, None
    for pid in _children(os.getpid()):
        with suppress(OSError, ValueError, IndexError):
            line = Path(f"/proc/{pid}/stat").read_bytes().decode(errors="replace")
            fields = line.rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
            runs = bool(runs) or fields[0] in ("R", "D")
    return ticks / os.sysconf("SC_CLK_TCK"), runs


def _children(parent: int) -> list[int]:
    """The descendants as the kernel lists them, for a look that is cheap; `_below` misses none."""
    descendants: list[int] = []
    waiting = [parent]
    while waiting:
        with suppress(OSError):  # A process that has ended since has no folder, a thread no file.
            for thread in os.scandir(f"/proc/{waiting.pop()}/task"):
                with suppress(OSError):
                    pids = Path(thread, "children").read_text(encoding="ascii").split()
                    descendants += map(int, pids)
                    waiting += map(int, pids)
    return descendants


def _memory(pid: int) -> int:
    """Bytes; of a page that several have, its share, where that may be read. 0 if it has ended."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf(
            "SC_PAGE_SIZE"
        )
    return 0


def _signals() -> int:
    """A descriptor to read the numbers of signals from, so that none is lost wherever it arrives."""
    woken, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    return woken


def _take_care() -> bool:
    """Become the parent of orphans, end with the program that started this, and leave its network; whether
    the command gets namespaces of its own.
    """
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    with suppress(AttributeError):  # Linux has these calls.
        libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
        own: bool = libc.unshare(_NAMESPACES) == 0
        if own:
            with suppress(OSError):
                Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
                Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
                Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
        libc.prctl(1, signal.SIGTERM, 0, 0, 0)  # PR_SET_PDEATHSIG
        libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: the command cannot write its report, by way of /proc
        return own
    return False


def _bounds_processes() -> bool:
    """Whether the kernel limits the processes of a namespace: since Linux 5.14, but not of root. Elsewhere it
    would count all that the user has on this machine.
    """
    version = [int(number) for number in re.findall(r"\d+", os.uname().release)[:2]]
    return version >= [5, 14] and os.geteuid() != 0


def _take_limits(limits: Limits, group: Path | None, *, bounded: bool) -> None:
    import resource  # noqa: PLC0415 - not on every platform

    if group is not None:
        with suppress(OSError):  # The watcher holds the limit as well.
            (group / "cgroup.procs").write_text("0", encoding="ascii")
    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG: it ends with its supervisor
    for kind, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_FSIZE, limits.file),
        *([(resource.RLIMIT_NPROC, limits.processes)] if bounded else []),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


def _end_all_below(parent: int) -> None:
    """Kill every descendant of `parent`, however they were started, until there is none; what hangs in the
    kernel is left to it.
    """
    ends_at = time.monotonic() + _PATIENCE
    while (below := _below(parent, ended=True)) and time.monotonic() < ends_at:
        # All are stopped before one is killed: what starts others is to start no more.
        for last in (signal.SIGSTOP, signal.SIGKILL):
            for pid in below:
                with suppress(ProcessLookupError):
                    os.kill(pid, last)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _below(parent: int, *, ended: bool = False) -> list[int]:
    """The descendants; `ended`: with children that may have ended, but for some thread of theirs."""
    children: dict[int, list[int]] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            fields = file.read_text().rpartition(")")[2].split()
            if fields[0] != "Z" or (ended and int(fields[1]) == parent):
                children.setdefault(int(fields[1]), []).append(int(file.parent.name))
    descendants, waiting = [], [parent]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            descendants.append(pid)
            waiting.append(pid)
    return descendants


if __name__ == "__main__":
    supervise(sys.argv[1])
