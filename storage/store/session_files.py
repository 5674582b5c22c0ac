"""What the application asks about whole sessions, as files hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from storage import session_copy
from storage.records import Session
from storage.session_copy import Copy
from storage.session_entries import Entry, Section
from storage.store.transactions import Transactions


class SessionFiles(Transactions):
    """Whole sessions, as they go into a file and come out of one."""

    def entries(self, session: str) -> Iterator[tuple[Section, Entry]]:
        """All of the session, entry by entry in a file's order; all from one state of the store."""
        self._check_open()
        with self._database.transaction(to="read") as connection:
            yield from session_copy.entries_of(connection, session)

    def keep_copies(self, copies: Sequence[Copy]) -> tuple[Session, ...]:
        """Make a session of each, or none at all; a title that exists gets a number behind it."""
        return self._write(session_copy.keep_all, copies, now=self._clock())

    def is_title_taken(self, title: str) -> bool:
        """Whether a session that is not deleted has this title."""
        return self._read(session_copy.is_taken, title)
