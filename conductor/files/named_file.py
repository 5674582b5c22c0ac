"""A file that a person named: read as far as its kind may go, opened at any size, or replaced as a whole.

Knows the disk and stdin, and that devices never end and pipes may have no writer; knows nothing of what a
file contains.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedReader, FileIO
from pathlib import Path
from shutil import copyfileobj
from stat import S_IMODE, S_ISFIFO
from tempfile import TemporaryFile
from typing import BinaryIO, TextIO
from uuid import uuid4

from conductor.errors import FormatError, PoolError

STDIN = "-"
"""The name of stdin where a file's name may be given as text."""

_read_stdin: TextIO | None = None

# Windows has none, and no pipes among its files.
_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)


def read_bounded(place: Path | str, *, most: int, kind: str, called: str | None = None) -> bytes:
    """All bytes of the file at `place`, or of stdin where it is `STDIN`.

    `most` is how many a file of this `kind` ("a pool file") may have, `called` who it is in messages. Raises
    `FormatError` where it is longer, and where it cannot be read, from the `OSError`.
    """
    name = called or _called(place)
    with ExitStack() as stack:
        try:
            first, file = _opened(place, name, stack)
            content = first + file.read(most + 1 - len(first))
        except OSError as error:
            raise FormatError(f"{name} cannot be read: {error.strerror}.") from error
    if len(content) > most:
        raise FormatError(f"{name} has more than {most:,} bytes, the most for {kind}; choose another file.")
    return content


@contextmanager
def open_seekable(place: Path | str) -> Iterator[BinaryIO]:
    """The file at `place`, or stdin where it is `STDIN`, open to be read at any place, of any size.

    A pipe is copied to a temporary file first. Raises `FormatError` where the file cannot be read.
    """
    with ExitStack() as stack:
        try:
            first, file = _opened(place, _called(place), stack)
            if not file.seekable():
                copy: BinaryIO = stack.enter_context(TemporaryFile())
                copy.write(first)
                copyfileobj(file, copy)
                file = copy
            file.seek(0)
        except OSError as error:
            raise FormatError(f"{_called(place)} cannot be read: {error.strerror}.") from error
        yield file


def _called(place: Path | str) -> str:
    return "stdin" if str(place) == STDIN else str(place)


def _opened(place: Path | str, name: str, stack: ExitStack) -> tuple[bytes, BinaryIO]:
    """What was read of the file to see whether there is any, and the file, which `stack` closes.

    Raises `FormatError` where nothing writes to it: a pipe without a writer, a program without stdin.
    """
    unwritten = FormatError(f"{name} cannot be read: nothing writes to it; name a file.")
    if str(place) == STDIN:
        global _read_stdin  # noqa: PLW0603 - there is one in a process
        if sys.stdin is None:
            raise unwritten
        if sys.stdin is _read_stdin:
            raise FormatError("stdin can be read once; name a file in one of the two places.")
        _read_stdin = sys.stdin
        return b"", sys.stdin.buffer

    def opener(path: str, flags: int) -> int:
        # Without waiting for a pipe's other end, which may never come.
        return os.open(path, flags | _NONBLOCK)

    file = stack.enter_context(BufferedReader(FileIO(str(place), opener=opener)))
    # None if a pipe's writer has written nothing yet.
    first = file.raw.read(1)
    if first == b"" and S_ISFIFO(os.fstat(file.fileno()).st_mode):
        raise unwritten
    if _NONBLOCK:
        os.set_blocking(file.fileno(), True)
    return first or b"", file


MAX_BYTES = 1_000_000
"""A thousand workers with a long description each have no more."""

_replacing = threading.Lock()


def read_whole(path: Path) -> str | None:
    """The text with its line ends as they are, or None if there is no file. Raises `PoolError`."""
    called = f"The pool file {path}"
    try:
        content = read_bounded(path, most=MAX_BYTES, kind="a pool file", called=called)
        # Editors of some systems begin a file with a mark that TOML does not know.
        return content.decode("utf-8-sig")
    except FormatError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        raise PoolError(str(error)) from error
    except UnicodeDecodeError as error:
        raise PoolError(f"{called} cannot be read: it is not text in UTF-8.") from error


def write_whole(path: Path, text: str, *, before: str | None) -> None:
    """Put `text` in the file's place, with the file's permissions; a link stays one. Makes its folder.

    Raises `PoolError` when the file is no longer `before`, or cannot be written.
    """
    # Two tabs of the app; another program's write is seen unless it falls into this very moment.
    with _replacing:
        if read_whole(path) != before:
            raise PoolError(
                f"{path} was changed by someone else, so nothing was written. Read its current text "
                "and make your change again."
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path.resolve(), text.encode("utf-8"))
        except OSError as error:
            raise PoolError(
                f"The pool file {path} cannot be written: {error.strerror}; it is as it was."
            ) from error


def replace_file(target: Path, content: bytes, *, mode: int | None = None) -> None:
    """Put `content` in the file's place at once, as `replaced`. Raises `OSError`."""
    with replaced(target, mode=mode) as new:
        new.write(content)


@contextmanager
def replaced(target: Path, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """A file that takes the target's place at the end of the block, with `mode`; None: with the permissions
    that it has. An error leaves the target as it was. Raises `OSError`.
    """
    beside = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
    try:
        with os.fdopen(file, "wb") as new:
            yield new
            new.flush()
            os.fsync(new.fileno())
        if mode is None and target.exists():
            beside.chmod(S_IMODE(target.stat().st_mode))
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
