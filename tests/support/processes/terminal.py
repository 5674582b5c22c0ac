"""A command in a terminal of its own: it is typed into, and what it shows is read. POSIX only."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes.child_process import child
from tests.support.runs.waiting import until

_ROOT = Path(__file__).parents[3]

_BEGIN = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, "-m", "conductor", *sys.argv[1:]])
"""
"""Makes the terminal that of the session, so that Ctrl+C reaches the command and what it has started."""


class Terminal:
    """`screen` is all that was shown, as it was sent; `text` is that without styles and moves."""

    def __init__(self, file: int, process: subprocess.Popen[str]) -> None:
        self._file = file
        self._process = process
        self.screen = b""

    @property
    def text(self) -> str:
        self._read()
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.screen.decode(errors="replace")).replace("\r", "")

    def shows(self, words: str) -> None:
        """Wait until it shows that."""
        until(lambda: words in self.text, what=f"the terminal shows {words!r}")

    def type(self, keys: str) -> None:
        os.write(self._file, keys.encode())

    def end(self) -> int:
        """The exit code of the command, which may still show something."""
        until(lambda: self._read() or self._process.poll() is not None, what="the command ends")
        self._read()
        return int(self._process.returncode)

    def _read(self) -> None:
        while select.select([self._file], [], [], 0)[0]:
            try:
                piece = os.read(self._file, 65_536)
            except OSError:  # its other end is closed
                return
            if not piece:
                return
            self.screen += piece


@contextmanager
def in_terminal(
    *arguments: str, folder: Path, variables: Mapping[str, str], columns: int = 100
) -> Iterator[Terminal]:
    """`conductor` with these arguments, in a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command: Sequence[str] = [sys.executable, "-c", _BEGIN, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "TERM": "xterm", **variables}
    try:
        with child(
            command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            yield Terminal(ours, process)
    finally:
        os.close(ours)
