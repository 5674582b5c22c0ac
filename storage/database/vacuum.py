"""The room that a store's file takes: how much of it is unused, and how it is given back.

Knows a database, no table. PostgreSQL keeps its files and uses what is free in them anew.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from storage.database import Database

_WAIT_SECONDS = 10.0


def unused(database: Database) -> int:
    """Bytes that the file holds free; 0 where the database does not tell. Raises `StorageError`."""
    if database.path is None:
        return 0
    with database.transaction(to="read") as connection:
        pages = connection.scalar(text("PRAGMA freelist_count")) or 0
        return int(pages * (connection.scalar(text("PRAGMA page_size")) or 0))


def give_back(database: Database) -> None:
    """Write the store anew without its gaps. Nobody writes meanwhile; whoever wants to waits.

    Raises `StorageError`, as where the disk has no room for the copy that this takes; the store then is as
    it was.
    """
    try:
        # Whoever holds the writer's one connection has the writer wait; no transaction may be open in it.
        with closing(database.writer.raw_connection()) as held:
            if database.path is None:
                _vacuum_server(held.driver_connection)
            else:
                _vacuum_file(str(database.path))
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise database.explain(error) from error


def _vacuum_file(path: str) -> None:
    # A connection of its own, whose temporary copy is a file: the writer's are in memory.
    with closing(sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)) as own:
        own.execute("VACUUM")
        own.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _vacuum_server(driver: Any) -> None:
    # PostgreSQL vacuums outside of transactions alone.
    driver.autocommit = True
    try:
        with closing(driver.cursor()) as cursor:
            cursor.execute("VACUUM")
    finally:
        driver.autocommit = False
