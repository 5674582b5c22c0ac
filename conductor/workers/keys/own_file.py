"""Files that decide about keys, and about programs: they count where they are this user's alone.

What came with another person's folder, as by git, or what another user could write decides nothing.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from conductor.errors import PoolError

_writing = threading.Lock()


def own_text(path: Path, *, kind: str) -> str:
    """The text of the file, or "". POSIX: only with this user as its owner and mode 600.

    Raises `PoolError`, which repeats nothing of what it contains, where it cannot be read or does not count.
    `kind` is what it must be: "TOML in UTF-8".
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            if hasattr(os, "geteuid"):
                state = os.fstat(file.fileno())
                if state.st_uid != os.geteuid() or state.st_mode & 0o077:
                    raise PoolError(
                        f"{path} is not yours alone (mode 600), so nothing in it counts; if you wrote it, "
                        f"run: chmod 600 {path}"
                    )
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        raise PoolError(f"{path} cannot be read: it must be {kind}.") from None


def add_own_line(path: Path, line: str, *, once: bool = False) -> None:
    """Add a line to the file, which only this user can read and write; `once` adds none that is there.

    Raises `PoolError`, see `own_text`.
    """
    try:
        with _writing:
            before = own_text(path, kind="a text file in UTF-8")
            if once and line in before.splitlines():
                return
            gap = "" if before.endswith("\n") or not before else "\n"
            path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as lines:
                lines.write(f"{gap}{line}\n")
    except OSError as error:
        raise PoolError(f"{path} cannot be written: {error.strerror}.") from error
