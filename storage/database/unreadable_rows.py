"""Rows that cannot be read, of a later version or damaged: lists and sums leave them out, and name them.

Knows connections; knows no table. `Transactions` collects the names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from sqlalchemy import Connection

from conductor.errors import StorageError

S = TypeVar("S")
T = TypeVar("T")

LEFT_OUT = "left out"
"""The key in a connection's `info` under which `leave_out` collects."""


def leave_out(connection: Connection, sentence: object) -> None:
    """Have the store name something that the present reading leaves out, because it cannot be read."""
    connection.info.setdefault(LEFT_OUT, {})[str(sentence)] = None


def readable(
    connection: Connection,
    read: Callable[[S], T],
    rows: Iterable[S],
    *,
    name: Callable[[S], str] | None = None,
) -> Iterator[T]:
    """What `read` makes of each of the rows. One for which it raises `StorageError` is left out, and named by
    the error, behind the row's `name`.
    """
    for row in rows:
        try:
            value = read(row)
        except StorageError as error:
            leave_out(connection, error if name is None else f"{name(row)}: {error}")
        else:
            yield value
