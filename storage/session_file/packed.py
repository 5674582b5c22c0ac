"""Entries kept as the JSON text that they are stored as: a tenth of what their values take.

Knows one section's entries; events by the hundred thousand are judged before a single one is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from storage.text import to_json

T = TypeVar("T")


class Packed(Generic[T]):
    """As many values of one type as are added, in that order; each is made anew when it is asked for."""

    def __init__(self, adapter: TypeAdapter[T]) -> None:
        self._adapter = adapter
        self._texts: list[bytes] = []

    def add(self, value: T) -> None:
        """Keep one more."""
        self._texts.append(to_json(self._adapter, value).encode())

    def __iter__(self) -> Iterator[T]:
        return map(self._adapter.validate_json, self._texts)
