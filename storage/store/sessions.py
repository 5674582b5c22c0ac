"""What the application asks about sessions themselves."""

from __future__ import annotations

from conductor.modes import Settings
from storage import sessions
from storage.records import Session, SessionSummary
from storage.store.transactions import Transactions


class Sessions(Transactions):
    """Sessions by id and in lists; their names, deletion and settings."""

    def create_session(
        self, query: str, *, title: str | None = None, pool_label: str | None = None
    ) -> Session:
        """A new session; without a title it is called after its query."""
        return self._write(sessions.create, query, title=title, pool_label=pool_label, now=self._clock())

    def session(self, session: str) -> Session:
        """The session of that id, deleted or not."""
        return self._remember(sessions.find, session)

    def sessions(self, *, search: str = "", limit: int = 50, offset: int = 0) -> tuple[SessionSummary, ...]:
        """Sessions that are not deleted, last updated first.

        `search` keeps those whose title, query or any answer holds the text, whatever its case (of
        letters beyond ASCII, SQLite tells the cases apart).
        """
        return self._read(sessions.listed, search=search, limit=limit, offset=offset)

    def count_sessions(self, *, search: str = "") -> int:
        """How many sessions `sessions` would list without a limit."""
        return self._read(sessions.count, search=search)

    def rename_session(self, session: str, title: str) -> Session:
        """Give the session another title; an empty one calls it after its query."""
        return self._write(sessions.rename, session, title)

    def delete_session(self, session: str) -> Session:
        """Take the session out of the list; everything of it is kept and can be restored."""
        return self._write(sessions.set_deleted, session, at=self._clock())

    def restore_session(self, session: str) -> Session:
        """Put a deleted session back where it was."""
        return self._write(sessions.set_deleted, session, at=None)

    def set_settings(self, session: str, settings: Settings) -> Session:
        """Keep what the session asks of its Conductor from now on."""
        return self._write(sessions.set_settings, session, settings)
