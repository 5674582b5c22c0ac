"""A file that somebody named, of which no more is read than its kind may have.

Knows the disk and stdin, and that devices never end and pipes may have nobody behind them; knows nothing of
what a file says.
"""

from __future__ import annotations

import os
import sys
from io import BufferedReader, FileIO
from pathlib import Path
from stat import S_ISFIFO

from conductor.errors import FormatError

STDIN = "-"
"""What stands for stdin where a file's name may be given as text."""

# Windows has none, and no pipes among its files.
_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)


def read_bounded(place: Path | str, *, most: int, kind: str, called: str | None = None) -> bytes:
    """All bytes of the file at `place`, or of stdin where it is `STDIN`.

    `most` is how many a file of this `kind` ("a pool file") may have, `called` who it is in messages. Raises
    `FormatError` where it is longer, and where it cannot be read, from the `OSError`.
    """
    name = called or ("stdin" if place == STDIN else str(place))
    try:
        content = _of_stdin(most + 1) if place == STDIN else _of_file(Path(place), most + 1)
    except OSError as error:
        raise FormatError(f"{name} cannot be read: {error.strerror}.") from error
    if content is None:
        raise FormatError(f"{name} cannot be read: nobody writes to it; name a file.")
    if len(content) > most:
        raise FormatError(f"{name} has more than {most:,} bytes, the most for {kind}; choose another file.")
    return content


def _of_stdin(most: int) -> bytes | None:
    """At most so much of it; None where the program was started without one."""
    return None if sys.stdin is None else sys.stdin.buffer.read(most)


def _of_file(path: Path, most: int) -> bytes | None:
    """At most so much of it; None where it is a pipe that nobody writes to."""
    with BufferedReader(FileIO(str(path), opener=_opened)) as file:
        # None where a pipe's writer has said nothing yet.
        begun = file.raw.read(1)
        if begun == b"" and S_ISFIFO(os.fstat(file.fileno()).st_mode):
            return None
        if _NONBLOCK:
            os.set_blocking(file.fileno(), True)
        begun = begun or b""
        return begun + file.read(most - len(begun))


def _opened(path: str, flags: int) -> int:
    """Opened without waiting for a pipe's other end, which may never come."""
    return os.open(path, flags | _NONBLOCK)
