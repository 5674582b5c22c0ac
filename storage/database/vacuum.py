"""The unused space in a store's file, and how it is returned to the disk.

Knows a database, no table. PostgreSQL does not shrink its files; it reuses the free space in them.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from storage.database.database import Database

_WAIT_SECONDS = 10.0


def unused(database: Database) -> int:
    """Unused bytes in the file; 0 on PostgreSQL, which does not report them. Raises `StorageError`."""
    if database.path is None:
        return 0
    with database.transaction(to="read") as connection:
        pages = connection.scalar(text("PRAGMA freelist_count")) or 0
        return int(pages * (connection.scalar(text("PRAGMA page_size")) or 0))


def give_back(database: Database) -> None:
    """Rewrite the store without its gaps; other writes wait until this ends.

    Raises `StorageError`, for example where the disk has no room for the copy; the store is then unchanged.
    """
    try:
        # Taking the writer's only connection makes the writer wait; no transaction may be open in it.
        with closing(database.writer.raw_connection()) as held:
            if database.path is None:
                _vacuum_server(held.driver_connection)
            else:
                _vacuum_file(str(database.path))
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise database.explain(error) from error


def _vacuum_file(path: str) -> None:
    # A separate connection, whose temporary copy is a file: the writer's are in memory.
    with closing(sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)) as own:
        own.execute("VACUUM")
        own.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _vacuum_server(driver: Any) -> None:
    # PostgreSQL vacuums only outside of transactions.
    driver.autocommit = True
    try:
        with closing(driver.cursor()) as cursor:
            cursor.execute("VACUUM")
    finally:
        driver.autocommit = False
