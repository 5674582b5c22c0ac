"""Values as JSON text, and members of such JSON as columns of a query.

Texts of values are portable from the start; what is none is made so here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError
from pydantic_core import from_json as read
from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    Connection,
    Double,
    Text,
    case,
    cast,
    false,
    func,
    null,
    select,
    tuple_,
    type_coerce,
)
from sqlalchemy.exc import DataError

from conductor.errors import StorageError, WorkflowError
from conductor.text.json_text import portable

T = TypeVar("T")

_NUMBER = r"^-?\d{1,30}(\.\d{1,30})?([eE][-+]?\d{1,2})?$"
"""What PostgreSQL can read as a number of double precision."""


def to_json(adapter: TypeAdapter[T], value: T) -> str:
    """The value as JSON text that `from_json` reads."""
    try:
        # A model knows itself; the adapter of a union would first look for which of its kinds it is.
        return value.model_dump_json() if isinstance(value, BaseModel) else adapter.dump_json(value).decode()
    except PydanticSerializationError:
        return portable(json.dumps(adapter.dump_python(value), ensure_ascii=False, separators=(",", ":")))


def from_json(adapter: TypeAdapter[T], text: str, *, exact: bool = False) -> T:
    """The value this JSON text holds, without the fields that a later version adds, or, `exact`, only if it
    has none. Raises `StorageError` where it is not of the expected form.
    """
    try:
        return adapter.validate_json(text, extra="forbid" if exact else "ignore")
    except (ValidationError, WorkflowError) as error:
        raise unreadable(text, error) from error


def unreadable(text: str, reason: object) -> StorageError:
    """The error of an entry that is not of the expected form."""
    if isinstance(reason, ValidationError):
        first = reason.errors(include_url=False, include_context=False, include_input=False)[0]
        reason = " ".join([*map(str, first["loc"]), first["msg"]])
    return StorageError(
        f"The store holds an entry that this version cannot read ({text[:80]!r}): {reason}. "
        "The rest is kept; update Conductor Studio or restore a copy of the store."
    )


class JsonMembers:
    """Members of the JSON in a text column; NULL where it is damaged, or has no such member. Made by
    `read_members`.
    """

    def __init__(self, column: ColumnElement[Any], *, sqlite: bool, damaged: ColumnElement[bool]) -> None:
        self._text = type_coerce(column, Text)
        self._sqlite = sqlite
        self._damaged = damaged

    def text(self, *path: str) -> ColumnElement[Any]:
        """The member at `path` as text."""
        if self._sqlite:
            whole = case((self._damaged, null()), else_=self._text)
            return func.json_extract(whole, f"$.{'.'.join(path)}")
        # PostgreSQL reads no text with this character, which earlier versions wrote.
        readable = func.regexp_replace(self._text, r"(?<!\\)((\\\\)*)\\u0000", r"\1", "g")
        whole = case(
            (self._damaged, null()), (func.strpos(self._text, r"\u0000") > 0, readable), else_=self._text
        )
        return func.json_extract_path_text(cast(whole, JSON), *path)

    def number(self, *path: str) -> ColumnElement[Any]:
        """The member at `path` as a number; NULL where it is none."""
        text = self.text(*path)
        if self._sqlite:
            return case((func.typeof(text).in_(("integer", "real")), text), else_=null())
        return case((text.op("~")(_NUMBER), cast(text, Double)), else_=null())


def read_members(
    connection: Connection,
    column: Column[Any],
    query: Callable[[JsonMembers], T],
    *where: ColumnElement[bool],
) -> T:
    """What `query` returns, which executes a statement with members of the column's JSON, in the rows `where`
    all of this is true.

    PostgreSQL refuses a statement that reads damaged JSON: then the damaged rows are looked for, and `query`
    is called a second time without them.
    """
    if connection.dialect.name == "sqlite":
        invalid = func.json_valid(type_coerce(column, Text)) == 0
        return query(JsonMembers(column, sqlite=True, damaged=invalid))
    try:
        with connection.begin_nested():
            return query(JsonMembers(column, sqlite=False, damaged=false()))
    except DataError:
        key = column.table.primary_key.columns
        rows = connection.execute(select(type_coerce(column, Text), *key).where(*where))
        damaged = tuple_(*key).in_([row[1:] for row in rows if not _is_json(row[0])])
        return query(JsonMembers(column, sqlite=False, damaged=damaged))


def _is_json(text: str) -> bool:
    try:
        read(text, allow_inf_nan=False)
    except ValueError:
        return False
    return True
