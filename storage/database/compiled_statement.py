"""Statements that run for every event or request: compiled once, and executed by the driver itself.

SQLAlchemy's own handling of a statement costs more than its execution. Knows no table by name.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite


@dataclass(frozen=True)
class _Compiled:
    """`names` is the order of the parameters, None if the driver takes them by name."""

    text: str
    names: Sequence[str] | None
    constants: Mapping[str, Any]


class Statement:
    """`make` builds the statement for a dialect's name; parameters are its `bindparam` names.

    The caller passes values as the driver takes them (numbers, and text that is already storable).
    """

    def __init__(self, make: Callable[[str], UpdateBase]) -> None:
        self._make = make
        self._compiled: dict[str, _Compiled] = {}

    def execute(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        """Execute it for each row; returns how many rows it wrote. Raises what `Connection` raises."""
        if not rows:
            return 0
        compiled = self._compiled_for(connection.dialect)
        values: Any = [{**compiled.constants, **row} for row in rows] if compiled.constants else rows
        if compiled.names is not None:
            values = [tuple([row[name] for name in compiled.names]) for row in values]
        if connection.dialect.name == "sqlite":
            return by_driver(connection, compiled.text, values)
        return connection.exec_driver_sql(compiled.text, values).rowcount

    def _compiled_for(self, dialect: Dialect) -> _Compiled:
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            written = self._make(dialect.name).compile(dialect=dialect)
            assert isinstance(written, SQLCompiler)
            constants = {name: value for name, value in written.params.items() if value is not None}
            compiled = _Compiled(text=written.string, names=written.positiontup, constants=constants)
            self._compiled[dialect.name] = compiled
        return compiled


def by_driver(connection: Connection, text: str, parameters: Sequence[Any] = ((),)) -> int:
    """As `exec_driver_sql` on SQLite, whose own work takes as long as the statement does in a file."""
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    try:
        if len(parameters) == 1:
            return driver.execute(text, parameters[0]).rowcount
        return driver.executemany(text, parameters).rowcount
    except sqlite3.Error as error:
        raise DBAPIError.instance(
            text, None, error, sqlite3.Error, hide_parameters=True, dialect=connection.dialect
        ) from error


def insert_into(table: Table, dialect: str) -> postgresql.Insert | sqlite.Insert:
    """An INSERT that can name what happens on a conflict; loads no other dialect."""
    insert: postgresql.Insert | sqlite.Insert = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    return insert
