"""A process that a test starts: it ends with the test, and with pytest, however those end.

It leads a group of its own, and what it starts belongs to that, so none of it outlives the test. A shell that
waits for the end of pytest's own process kills the groups which a killed pytest leaves behind.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

SECONDS = 60
"""How long a process may take to end once it is asked to, before it is killed."""

_SHELL = """
trap '' INT HUP TERM
groups=
while read -r what group; do
    rest=
    for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
    groups=$rest
    [ "$what" = ended ] || groups="$groups $group"
done
for each in $groups; do kill -9 "-$each" 2>/dev/null; done
"""

_watchers: dict[int, subprocess.Popen[str]] = {}
"""The shell beside this process, by its id: a fork of it has another one."""


@contextmanager
def child(
    command: Sequence[str | Path], *, stop: signal.Signals = signal.SIGKILL, **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """Start `command` with subprocess's `options`; when the block is left, it is sent `stop` and ends."""
    process = start(command, **options)
    try:
        yield process
    finally:
        end(process, stop)


def start(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[str]:
    """A process that does not outlive pytest; it is for the caller to `end` it with the test."""
    process = subprocess.Popen(command, start_new_session=True, **{"encoding": "utf-8", **options})
    _report("began", process.pid)
    return process


def end(process: subprocess.Popen[str], stop: signal.Signals = signal.SIGKILL) -> None:
    """Send it `stop` unless it has ended; then kill what is left of it and of what it has started."""
    try:
        if process.poll() is None:
            process.send_signal(stop)
            with suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS)
    finally:
        # A number that was waited for may be another process by now, which leads a group of its own.
        if process.returncode is None or not _exists(process.pid):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait(SECONDS)
        _report("ended", process.pid)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def _dismiss(watcher: subprocess.Popen[str]) -> None:
    assert watcher.stdin is not None
    watcher.stdin.close()
    watcher.wait(SECONDS)


def lives(process: int) -> bool:
    """Whether a process runs; one that has ended and is not collected yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return _exists(process)  # it ended meanwhile, or the system has no such files


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _report(what: str, group: int) -> None:
    watcher = _watchers.get(os.getpid())
    if watcher is None:
        command = ["/bin/sh", "-c", _SHELL]
        watcher = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, encoding="utf-8")
        _watchers[os.getpid()] = watcher
        atexit.register(_dismiss, watcher)
    assert watcher.stdin is not None
    watcher.stdin.write(f"{what} {group}\n")
    watcher.stdin.flush()
