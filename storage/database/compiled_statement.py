"""A statement that runs for every event: compiled once, and executed by the driver itself.

SQLAlchemy's own handling of a statement costs more than its execution. Knows no table; the caller passes
values as the driver takes them (numbers, and text that is already storable).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import UpdateBase


@dataclass(frozen=True)
class _Compiled:
    """`names` is the order of the parameters, None where the driver takes them by name."""

    text: str
    names: Sequence[str] | None
    constants: Mapping[str, Any]


class Statement:
    """`make` builds the statement for a dialect's name; parameters are its `bindparam` names."""

    def __init__(self, make: Callable[[str], UpdateBase]) -> None:
        self._make = make
        self._compiled: dict[str, _Compiled] = {}

    def execute(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        """Execute it for each row; returns how many rows it wrote. Raises what `Connection` raises."""
        if not rows:
            return 0
        compiled = self._compiled_for(connection.dialect)
        given: Any = [{**compiled.constants, **row} for row in rows] if compiled.constants else rows
        if compiled.names is not None:
            given = [tuple(row[name] for name in compiled.names) for row in given]
        return connection.exec_driver_sql(compiled.text, given).rowcount

    def _compiled_for(self, dialect: Dialect) -> _Compiled:
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            written = self._make(dialect.name).compile(dialect=dialect)
            assert isinstance(written, SQLCompiler)
            constants = {name: value for name, value in written.params.items() if value is not None}
            compiled = _Compiled(text=written.string, names=written.positiontup, constants=constants)
            self._compiled[dialect.name] = compiled
        return compiled
