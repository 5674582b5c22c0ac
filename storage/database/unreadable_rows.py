"""Rows that cannot be read, of a later version or damaged: lists and sums leave them out, and name them.

Knows no database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from conductor.errors import StorageError

S = TypeVar("S")
T = TypeVar("T")

_SENTENCES: ContextVar[dict[str, None] | None] = ContextVar("_SENTENCES", default=None)


@contextmanager
def left_out_rows() -> Iterator[dict[str, None]]:
    """Sentences that name what the reads of this thread leave out in the block, each once, in order; cached
    answers name it again.
    """
    sentences: dict[str, None] = {}
    token = _SENTENCES.set(sentences)
    try:
        yield sentences
    finally:
        _SENTENCES.reset(token)


def leave_out(*sentences: str) -> None:
    """Name what is left out."""
    if (current := _SENTENCES.get()) is not None:
        current.update(dict.fromkeys(sentences))


def readable(
    read: Callable[[S], T], rows: Iterable[S], *, name: Callable[[S], str] | None = None
) -> Iterator[T]:
    """What `read` makes of each of the rows. One for which it raises `StorageError` is left out, and named by
    the error, behind the row's `name`.
    """
    for row in rows:
        try:
            value = read(row)
        except StorageError as error:
            leave_out(str(error) if name is None else f"{name(row)}: {error}")
        else:
            yield value
