"""The store's methods for a session's workflows."""

from __future__ import annotations

from sqlalchemy import Connection

from conductor.workflow.file import Origin
from conductor.workflow.model import Workflow
from storage.records import Revision, RevisionEntry, Session
from storage.store.transactions import Part
from storage.tables import revisions, sessions


class Revisions(Part):
    """Revisions of a session's workflow, and which of them is the head."""

    def add(
        self,
        session: str,
        workflow: Workflow,
        *,
        origin: Origin,
        note: str = "",
        author: str | None = None,
        parent: str | None = None,
        plan: str | None = None,
        restores: str | None = None,
        expected: str | None = None,
        moves_head: bool = True,
    ) -> Revision:
        """Keep a workflow as the session's new head, under `parent` (the current head when None).

        `expected` is the head that was edited (None: any). Raises `EditConflict`, a `StorageError`, where
        another revision is the head by now. `restores` is an earlier revision whose workflow this is again.
        The head that there is stays the head unless `moves_head`.
        """
        return self._write(
            revisions.add_revision,
            session,
            workflow,
            origin=origin,
            note=note,
            author=author,
            parent=parent,
            plan=plan,
            restores=restores,
            expected=expected,
            moves_head=moves_head,
            now=self._clock(),
        )

    def import_workflow(self, query: str, workflow: Workflow, *, pool_label: str | None = None) -> Session:
        """A new session whose first revision is an imported workflow: both of them, or neither."""
        now = self._clock()

        def kept(connection: Connection) -> Session:
            session = sessions.create(
                connection, query, title=None, pool_label=pool_label, origin="import", now=now
            )
            revisions.add_revision(
                connection, session.id, workflow, origin="import", note="Imported", now=now
            )
            return sessions.find(connection, session.id)

        return self._write(kept)

    def find(self, revision: str) -> Revision:
        """The revision of that id."""
        return self._remember(revisions.find_revision, revision)

    def of_session(self, session: str) -> tuple[Revision, ...]:
        """The session's revisions, oldest first."""
        return self._remember(revisions.revisions_of, session)

    def history(self, session: str) -> tuple[RevisionEntry, ...]:
        """The session's revisions without their workflows, oldest first."""
        return self._remember(revisions.history, session)

    def head(self, session: str) -> Revision | None:
        """The session's current revision, None before the first."""
        return self._remember(revisions.head, session)

    def planned(self, revision: str) -> Revision | None:
        """The revision with the Conductor's plan that a person's edits led from to this one, or itself.

        None where no plan was edited, as after an import.
        """
        return self._remember(revisions.planned, revision)

    def neighbours(self, session: str) -> tuple[Revision | None, Revision | None]:
        """Where `undo` and `redo` would lead; None where they lead nowhere."""
        return self._remember(revisions.neighbours, session)

    def undo(self, session: str, *, expected: str | None = None) -> Revision | None:
        """Move the head to its parent; None, and no change, where it has none.

        `expected` is the head that is left (None: any). Raises `EditConflict` where that is another by now.
        """
        return self._write(revisions.undo, session, expected=expected, now=self._clock())

    def redo(self, session: str, *, expected: str | None = None) -> Revision | None:
        """Move the head to its newest child; None, and no change, where it has none.

        `expected` as in `undo`.
        """
        return self._write(revisions.redo, session, expected=expected, now=self._clock())
