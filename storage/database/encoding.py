"""Text as a database can keep it, values as JSON text, and members of such JSON as columns of a query.

This is the one place that changes what it is given: a lone surrogate, which UTF-8 cannot hold,
becomes U+FFFD everywhere; NUL becomes U+FFFD in plain columns (PostgreSQL refuses it, SQLite's
functions stop at it) and stays, escaped, in JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError
from sqlalchemy import JSON, ColumnElement, Connection, Double, Text, case, cast, func, null, type_coerce

from conductor.errors import StorageError, WorkflowError
from conductor.text.json_text import joined

T = TypeVar("T")

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def plain(text: str) -> str:
    """`text` with what no column can hold replaced; surrogates that form a pair are joined."""
    if not _UNSTORABLE.search(text):
        return text
    return joined(text).replace("\x00", "\ufffd")


def to_json(adapter: TypeAdapter[T], value: T) -> str:
    """The value as JSON text that `from_json` reads."""
    try:
        # A model knows itself; the adapter of a union would first look for which of its kinds it is.
        return value.model_dump_json() if isinstance(value, BaseModel) else adapter.dump_json(value).decode()
    except PydanticSerializationError:
        return plain(json.dumps(adapter.dump_python(value), ensure_ascii=False, separators=(",", ":")))


def from_json(adapter: TypeAdapter[T], text: str) -> T:
    """The value this JSON text holds. Raises `StorageError` where it is not of the expected form."""
    try:
        return adapter.validate_json(text)
    except (ValidationError, WorkflowError) as error:
        raise unreadable(text, error) from error


def unreadable(text: str, reason: object) -> StorageError:
    """The error of an entry that is not of the expected form."""
    return StorageError(
        f"The store holds an entry that this version cannot read ({text[:80]!r}): {reason}. "
        "The rest is kept; update Conductor Studio or restore a copy of the store."
    )


class JsonMembers:
    """Members of the JSON in a text column; NULL where it is damaged, or has no such member."""

    def __init__(self, connection: Connection, column: ColumnElement[Any]) -> None:
        self._sqlite = connection.dialect.name == "sqlite"
        self._text = type_coerce(column, Text)

    def text(self, *path: str) -> ColumnElement[Any]:
        """The member at `path` as text."""
        if self._sqlite:
            whole = case((func.json_valid(self._text) == 1, self._text), else_=null())
            return func.json_extract(whole, f"$.{'.'.join(path)}")
        # PostgreSQL reads no text with this character, which JSON may have.
        readable = func.regexp_replace(self._text, r"(?<!\\)((\\\\)*)\\u0000", r"\1", "g")
        whole = case((func.strpos(self._text, r"\u0000") > 0, readable), else_=self._text)
        return func.json_extract_path_text(cast(whole, JSON), *path)

    def number(self, *path: str) -> ColumnElement[Any]:
        """The member at `path` as a number."""
        return cast(self.text(*path), Double)
