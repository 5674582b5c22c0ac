"""A SQLite store as one other file, and such a file in the store's place; for PostgreSQL its own programs."""

from __future__ import annotations

import shlex
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from conductor.errors import StorageError
from storage.database.database import Database
from storage.migrations import newest

_DUMP = "pg_dump --format=custom --file={file} --dbname={url}"
_RESTORE = "pg_restore --clean --if-exists --no-owner --single-transaction --dbname={url} {file}"
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_UNCHANGED = "nothing was changed"
_VERSIONS = (
    "SELECT version_num, coalesce((SELECT value FROM meta WHERE key = 'readable_from'), version_num)"
    " FROM alembic_version"
)


def back_up(url: str, target: Path) -> int:
    """Copy the store to a new file, while others read and write; the bytes of the copy, which is checked.

    Raises `StorageError`, and then makes no file.
    """
    database = Database(url)
    if not _file(database, _DUMP, target).is_file():
        raise StorageError(f"There is no store {database.place} to back up; name one with --database.")
    if target.exists():
        raise StorageError(f"{target} exists and was not overwritten; name another file.")
    part = target.with_name(f"{target.name}.part")
    try:
        part.unlink(missing_ok=True)
        try:
            database.copy_to(part)
            _check(part)
            part.rename(target)
        finally:
            database.close()
            part.unlink(missing_ok=True)
        return target.stat().st_size
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror}; name another file.") from error


def restore(url: str, source: Path, *, now: float) -> Path | None:
    """Put a copy of the file in the store's place; returns the file of the store that was there, if one was,
    which is named after `now` (Unix seconds).

    Raises `StorageError`, and then has changed nothing: if the file is no whole store that this program
    reads, and while another program has the store open.
    """
    database = Database(url)
    path = _file(database, _RESTORE, source)
    part = path.with_name(f"{path.name}.restored")
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(now))
    aside = path.with_name(f"{path.name}.before-{stamp}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part.unlink(missing_ok=True)
        try:
            _copy(source, part)
            _check(part)
            is_there = path.exists()
            if is_there:
                _close_log(path, database.place)
                for ending in ("", "-wal", "-shm"):
                    if (own := path.with_name(f"{path.name}{ending}")).exists():
                        own.rename(aside.with_name(f"{aside.name}{ending}"))
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"The store {database.place} cannot be replaced: {error.strerror}; allow this user to write its "
            "folder, then try again."
        ) from error
    return aside if is_there else None


def _file(database: Database, command: str, file: Path) -> Path:
    """The store's file. Raises `StorageError` with the command that does it for a server."""
    if database.path is None:
        own = command.format(url=shlex.quote(database.address), file=shlex.quote(str(file)))
        raise StorageError(
            f"The store {database.place} is on PostgreSQL, whose own programs do that: {own} "
            "(with the password in ~/.pgpass or PGPASSWORD)."
        )
    return database.path


def _copy(source: Path, part: Path) -> None:
    if not source.is_file():
        raise StorageError(f"There is no file {source}; name one that `backup` made.")
    part.touch(mode=0o600)
    try:
        with (
            closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)) as own,
            closing(sqlite3.connect(part)) as copy,
        ):
            own.backup(copy)
    except sqlite3.Error as error:
        raise StorageError(f"{source} cannot be read as a store: {error}; {_UNCHANGED}.") from error


def _check(part: Path) -> None:
    """Make the copy one file, without a log beside it. Raises `StorageError` if it is no whole store."""
    try:
        with closing(sqlite3.connect(part)) as copy:
            (fault,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            version, oldest = copy.execute(_VERSIONS).fetchone()
            copy.execute("PRAGMA journal_mode=DELETE").close()
    except (sqlite3.Error, TypeError) as error:
        raise StorageError(f"The file is no store of this program ({error}); {_UNCHANGED}.") from error
    if fault != "ok":
        raise StorageError(f"The file is a damaged store ({fault}); {_UNCHANGED}.")
    if int(oldest) > newest():
        raise StorageError(
            f"The file is a store of version {version}, and this program reads up to version {newest()}; "
            f"{_UNCHANGED}. Update Conductor Studio."
        )


def _close_log(path: Path, place: str) -> None:
    """Have SQLite fold the log into the file, which it does if no other program has the file open."""
    try:
        with closing(sqlite3.connect(path, timeout=1.0)) as own:
            own.execute("PRAGMA journal_mode=DELETE").close()
    except sqlite3.Error as error:
        # A damaged store is put aside as it is.
        if error.sqlite_errorcode & 0xFF in _LOCKED:
            raise StorageError(
                f"The store {place} is open in another program, so it was not replaced. End that program, "
                "then try again."
            ) from error
