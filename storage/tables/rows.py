"""The rows of a table as records: how one is found by its id, and the numbers that a session's rows have.

Functions of a connection inside a transaction, as in every file of this folder.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    Table,
    Text,
    bindparam,
    func,
    select,
    type_coerce,
)

from conductor.errors import StorageError, UnknownId
from conductor.values.messages import Value
from storage.database.schema import Json
from storage.database.unreadable_rows import readable

R = TypeVar("R", bound=Value)


def new_id() -> str:
    """A fresh id for any row: 16 hexadecimal digits."""
    return secrets.token_hex(8)


def begins(id: Column[str], prefix: str) -> ColumnElement[bool]:
    """Whether an id begins with `prefix`; for one as `new_id` makes them, the index is read, and no more."""
    is_like = id.startswith(prefix, autoescape=True)
    if not re.fullmatch("[0-9a-f]+", prefix):
        return is_like
    # Neither database reads its index for LIKE.
    digit_after = "a" if prefix[-1] == "9" else chr(ord(prefix[-1]) + 1)
    return is_like & (id >= prefix) & (id < prefix[:-1] + digit_after)


def next_number(connection: Connection, table: Table, session: str) -> int:
    """The number of the session's next row in `table`, from 1."""
    highest = connection.scalar(_highest(table), {"session": session})
    return (highest or 0) + 1


@cache
def _highest(table: Table) -> Select[Any]:
    # Made once: to make a statement takes longer than SQLite takes to execute it.
    return select(func.max(table.c.number)).where(table.c.session == bindparam("session"))


def as_text(column: Column[Any]) -> ColumnElement[Any]:
    """The column, its JSON as text: a row whose JSON is damaged must not hide those beside it."""
    return type_coerce(column, Text).label(column.name) if isinstance(column.type, Json) else column


def record(kind: type[R], row: RowMapping | Mapping[str, Any]) -> R:
    """The row as a record. Raises `StorageError` where it does not fit, as one of a later version may not."""
    try:
        return kind(**row)
    except ValidationError as error:
        columns = sorted({str(part) for problem in error.errors() for part in problem["loc"][:1]})
        raise StorageError(
            "The store holds a row that this version cannot read "
            f"({kind.__name__} {next(iter(row.values()))!r}: {', '.join(columns)}). "
            "The rest is kept; update Conductor Studio or restore a copy of the store."
        ) from error


class Rows(Generic[R]):
    """The rows of a table as records of one kind, which have columns of it as their fields.

    `noun` is what a row is called; `choose` is where the ids are, for the error at an unknown one.
    """

    def __init__(self, kind: type[R], table: Table, noun: str, *, choose: str | None = None) -> None:
        self._kind = kind
        self._table = table
        self._noun = noun
        self._choose = choose or f"one of the session's {noun}s"
        columns = [table.c[name] for name in kind.model_fields]
        self._json = {column.name: column.type for column in columns if isinstance(column.type, Json)}
        self._all = select(*map(as_text, columns))
        self._of_id = self._all.where(table.c.id == bindparam("id"))

    def select(self, connection: Connection, *where: ColumnElement[bool], by: Any = None) -> tuple[R, ...]:
        """The records of the rows for which all of this is true, in the order of `by`; those that cannot be
        read are left out and named.
        """
        rows = connection.execute(self._all.where(*where).order_by(by)).mappings()
        return tuple(readable(self._record, rows))

    def first(self, connection: Connection, *where: ColumnElement[bool], by: Any = None) -> R | None:
        """The record of the first of these rows, None without any. Raises `StorageError` as `record`."""
        row = connection.execute(self._all.where(*where).order_by(by).limit(1)).mappings().first()
        return None if row is None else self._record(row)

    def _record(self, row: RowMapping) -> R:
        try:
            values = {name: kind.read(row[name]) for name, kind in self._json.items()}
        except StorageError as error:
            raise StorageError(f"{self._noun.capitalize()} {row['id']!r}: {error}") from error
        return record(self._kind, {**row, **values})

    def find(self, connection: Connection, id: str) -> R:
        """The record of that id. Raises `UnknownId` when there is none."""
        row = connection.execute(self._of_id, {"id": id}).mappings().first()
        if row is None:
            raise self.unknown(id)
        return self._record(row)

    def named(self, connection: Connection, prefix: str) -> tuple[str, ...]:
        """The ids that begin with `prefix`, whatever the rows are."""
        id = self._table.c.id
        return tuple(connection.scalars(select(id).where(begins(id, prefix)).order_by(id)))

    def unknown(self, id: str) -> UnknownId:
        """The error for an id that no row has."""
        return UnknownId(f"There is no {self._noun} {id!r} in this store; choose {self._choose}.")
