"""Whole sessions in and out of the store, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Generator

from storage.copies import session_copy
from storage.copies.session_copy import Entries
from storage.copies.session_entries import Entry, Kind
from storage.records import Session
from storage.store.transactions import Part


class SessionFiles(Part):
    """Whole sessions, as they go into a file and come out of one."""

    def entries(self, session: str) -> Generator[tuple[Kind, Entry], None, None]:
        """All of the session, in the order of `ENTRIES`; all from one state of the store."""
        with self._transactions.reading() as connection:
            yield from session_copy.entries_of(connection, session)

    def insert_sessions(self, entries: Callable[[], Entries]) -> tuple[Session, ...]:
        """Make a session of each, or none at all; a title that exists gets a number behind it.

        `entries` begins again each time it is called, because a transaction may be tried again.
        """
        return self._write(session_copy.insert_all, entries, now=self._clock())

    def is_title_taken(self, title: str) -> bool:
        """Whether a session that is not deleted has this title."""
        return self._read(session_copy.is_taken, title)
