"""Members of stored JSON as columns of a query, so that whole values need not be read. Knows no table."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ColumnElement, Connection, Double, Text, case, cast, func, null, type_coerce


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
        return func.json_extract_path_text(cast(self._text, JSON), *path)

    def number(self, *path: str) -> ColumnElement[Any]:
        """The member at `path` as a number."""
        return cast(self.text(*path), Double)
