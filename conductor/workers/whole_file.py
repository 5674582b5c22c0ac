"""A text file that is read and replaced as a whole: whoever reads it sees the old or the new, never half.

Knows the disk; knows nothing of what the file says.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from stat import S_IMODE
from uuid import uuid4

from conductor.bounded_file import read_bounded
from conductor.errors import FormatError, PoolError

MAX_BYTES = 1_000_000
"""A thousand workers with a long description each have no more."""

_replacing = threading.Lock()


def read_whole(path: Path) -> str | None:
    """The text with its line ends as they are, None where there is no file. Raises `PoolError`."""
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
    """Put `text` in the file's place, with the file's permissions; a link stays one.

    Raises `PoolError` when the file does not say `before` any more, or cannot be written.
    """
    # Two tabs of the app; another program's write is seen unless it falls into this very moment.
    with _replacing:
        if read_whole(path) != before:
            raise PoolError(
                f"{path} was changed by somebody else meanwhile, so nothing was written; look at what it "
                "says now, and make your change again."
            )
        try:
            _replace(path.resolve(), text.encode("utf-8"))
        except OSError as error:
            raise PoolError(
                f"The pool file {path} cannot be written: {error.strerror}; it is as it was."
            ) from error


def _replace(target: Path, content: bytes) -> None:
    beside = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(file, "wb") as new:
            new.write(content)
            new.flush()
            os.fsync(new.fileno())
        if target.exists():
            beside.chmod(S_IMODE(target.stat().st_mode))
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
