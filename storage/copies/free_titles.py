"""Titles for sessions that are imported together."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlalchemy import Connection, exists, select

from storage.database.schema import SESSIONS
from storage.tables.sessions import MAX_TITLE

_NUMBER = re.compile(r" \(\d{1,6}\)$")


class FreeTitles:
    """Titles for sessions that are imported together: none that another session of the store has.

    Titles that are equal in the file stay equal, as they were in the store that it was written from.
    """

    def __init__(self, *, is_taken: Callable[[str], bool]) -> None:
        self._is_taken = is_taken
        self._titles: set[str] = set()
        self._numbered: set[str] = set()
        # By title without a number: all up to this one are taken, so that no title is looked up twice.
        self._numbers: dict[str, int] = {}

    def give(self, title: str) -> str:
        """The title, with the next free number behind it where it is taken."""
        if title in self._titles or not self._is_another(title):
            self._titles.add(title)
            return title
        bare = _NUMBER.sub("", title)
        number = self._numbers.get(bare, 1)
        candidate = title
        while candidate == title or candidate in self._titles or self._is_another(candidate):
            number += 1
            mark = f" ({number})"
            candidate = f"{bare[: MAX_TITLE - len(mark)]}{mark}"
        self._numbers[bare] = number
        self._numbered.add(candidate)
        return candidate

    def _is_another(self, title: str) -> bool:
        return title in self._numbered or self._is_taken(title)


def is_taken(connection: Connection, title: str) -> bool:
    """Whether a session that is not deleted has this title."""
    named = exists().where(SESSIONS.c.title == title, SESSIONS.c.deleted_at.is_(None))
    return bool(connection.scalar(select(named)))
