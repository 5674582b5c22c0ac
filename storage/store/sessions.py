"""The store's methods for sessions themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, select

from conductor.values.conversation import Conversation
from conductor.values.presets import Settings
from conductor.values.total import Total
from storage.copies import forking
from storage.database.schema import SESSIONS
from storage.records import Session, SessionOrigin, SessionSummary
from storage.search import query as finding
from storage.search.filter import EVERYTHING, SessionFilter
from storage.search.snippet import Snippet
from storage.store.transactions import Part
from storage.tables import sessions, spending, tags


class Sessions(Part):
    """Sessions by id and in lists; their names, tags, deletion and settings."""

    def create(
        self,
        query: str,
        *,
        title: str | None = None,
        pool_label: str | None = None,
        origin: SessionOrigin | None = None,
        conversation: Conversation | None = None,
        settings: Settings | None = None,
    ) -> Session:
        """A new session; without a title it is named after its query."""
        return self._write(
            sessions.create,
            query,
            title=title,
            pool_label=pool_label,
            origin=origin,
            conversation=conversation,
            settings=settings,
            now=self._clock(),
        )

    def find(self, session: str) -> Session:
        """The session of that id, deleted or not."""
        return self._remember(sessions.find, session)

    def listed(
        self, filter: SessionFilter = EVERYTHING, *, limit: int = 50, offset: int = 0
    ) -> tuple[SessionSummary, ...]:
        """The sessions that a filter selects, last updated first."""
        return self._read(finding.listed, filter, limit=limit, offset=offset)

    def total(self, session: str) -> Total:
        """What planning and all runs of the session have used, trials included."""
        return self._read(spending.totals, [session], costs=True).get(session, Total())

    def count(self, filter: SessionFilter = EVERYTHING) -> int:
        """How many sessions `listed` returns without a limit."""
        return self._read(finding.count, filter)

    def ids(self, filter: SessionFilter = EVERYTHING) -> tuple[str, ...]:
        """The ids of all sessions that `listed` returns without a limit, in its order."""
        return self._read(finding.ids, filter)

    def snippets(self, ids: Sequence[str], search: str) -> Mapping[str, Snippet]:
        """For each of the sessions `ids` the place in its texts, beside its title, that a search found.

        A session is left out where nothing but its title was found.
        """
        return self._read(finding.snippets, ids, search=search)

    def named(self, prefix: str) -> tuple[str, ...]:
        """The ids, deleted sessions' too, that begin with `prefix`."""

        def named(connection: Connection) -> tuple[str, ...]:
            begins = SESSIONS.c.id.startswith(prefix, autoescape=True)
            return tuple(connection.scalars(select(SESSIONS.c.id).where(begins).order_by(SESSIONS.c.id)))

        return self._read(named)

    def known_workers(self) -> tuple[str, ...]:
        """The workers of all sessions' current workflows, in alphabetical order."""
        return self._read(finding.known_workers)

    def rename(self, session: str, title: str) -> Session:
        """Give the session another title; an empty one names it after its query."""
        return self._write(sessions.rename, session, title)

    def tags(self, session: str) -> tuple[str, ...]:
        """The session's tags, in alphabetical order."""
        return self._remember(tags.tags_of, session)

    def known_tags(self) -> tuple[str, ...]:
        """The tags of all sessions that are not deleted, in alphabetical order."""
        return self._read(tags.known)

    def add_tag(self, session: str, tag: str) -> tuple[str, ...]:
        """Tag the session; nothing happens where it has the tag. A tag is one line; a longer one is cut.

        The session's tags now. Raises `StorageError` for an empty tag.
        """
        return self._write(tags.add, session, tag)

    def add_tags(self, ids: Sequence[str], new: Sequence[str]) -> None:
        """Give several sessions tags beside their own: all of them or, where one is unknown, none."""
        self._write(tags.add_all, ids, new)

    def remove_tag(self, session: str, tag: str) -> tuple[str, ...]:
        """Take a tag away; nothing happens where the session does not have it. The session's tags now."""
        return self._write(tags.remove, session, tag)

    def fork(self, session: str, revision: str) -> Session:
        """A new session that begins with a revision of this one.

        It has the query, the settings, all known outputs, and the rounds that the revision looks back on; its
        `forked_from` is that revision.
        """
        return self._write(forking.fork, session, revision, now=self._clock())

    def delete(self, session: str) -> Session:
        """Hide the session from the list; all of its data stays and can be restored."""
        return self._write(sessions.set_deleted, session, at=self._clock())

    def restore(self, session: str) -> Session:
        """Put a deleted session back where it was."""
        return self._write(sessions.set_deleted, session, at=None)

    def delete_all(self, ids: Sequence[str]) -> None:
        """Delete several at once: all of them or, where one is unknown, none."""
        self._write(sessions.set_all_deleted, ids, at=self._clock())

    def restore_all(self, ids: Sequence[str]) -> None:
        """Restore several at once: all of them or, where one is unknown, none."""
        self._write(sessions.set_all_deleted, ids, at=None)

    def set_settings(self, session: str, settings: Settings) -> Session:
        """Store the session's settings for its Conductor from now on."""
        return self._write(sessions.set_settings, session, settings)
