"""The copy of a SQLite store that is made before it is brought up to date.

It has its name only once it is whole: whoever finds one may trust it, also after a crash. Knows files, not
what is in them.
"""

from __future__ import annotations

import time
from pathlib import Path

from conductor.errors import StorageError
from storage.database import Database


def copy_aside(database: Database, file: Path, *, version: int, now: float) -> Path:
    """Copy the store beside itself, named after its version and `now` (Unix seconds); the copy's path.

    Only one process may do so at a time. Raises `StorageError`, and then leaves nothing behind.
    """
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    copy = file.with_name(f"{file.name}.version-{version}.{stamp}")
    part = file.with_name(f"{file.name}.version-{version}.part")
    try:
        # What a killed process left; its journal would be played back into the new copy.
        _remove(part)
        database.copy_to(part)
        part.replace(copy)
    except OSError as error:
        raise StorageError(
            f"The store {database.place} cannot be copied to {copy} before it is updated: {error.strerror}. "
            "It was not changed; allow this user to write that folder, then try again."
        ) from error
    except StorageError:
        _remove(part)
        raise
    return copy


def _remove(part: Path) -> None:
    for file in (part, part.with_name(f"{part.name}-journal")):
        file.unlink(missing_ok=True)
