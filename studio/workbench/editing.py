"""Changing a session's workflow; importing and exporting it as a file."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto

from conductor.errors import EditConflict, FormatError, WorkflowError
from conductor.planner.planner import check_query
from conductor.text.formatting import named
from conductor.values.presets import Settings
from conductor.workflow.file import read_plan, write_plan
from conductor.workflow.merge import rebase
from conductor.workflow.model import Workflow
from storage.records import Revision, Session
from studio.gallery import (
    TAG,
    GalleryEntry,
    Recorded,
    import_recorded,
    release,
    with_recorded_pins,
    workflow_for,
)
from studio.sessions.plan_origin import planned_by
from studio.workbench.bench import Bench


class EditEnd(Enum):
    APPLIED = auto()
    """Its workflow is the head's, perhaps on top of what the same person changed in the meantime."""
    CONFLICT = auto()
    """Another person's revision is the head by now, and nothing was stored."""
    REFUSED = auto()
    """It breaks a rule, and nothing was stored."""


class Editing:
    """Changing a session's workflow; importing and exporting it as a file."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def edit(
        self,
        session: str,
        workflow: Workflow,
        *,
        note: str,
        head: Revision | None = None,
        restores: str | None = None,
    ) -> Revision:
        """Store an edited workflow as the newest revision; `head` is the revision that was edited,
        `restores` the id of an earlier revision whose workflow this is again.

        Raises `WorkflowError` for an unknown worker, `EditConflict` when the head has changed. A worker that
        is no longer in the pool may stay, so that its steps can be fixed one after another.
        """
        lost = head.workflow.workers() if head is not None else ()
        if restores is None:
            workflow.check_workers(dict.fromkeys((*self._bench.pool.cards, *lost)))
        return self._bench.store.revisions.add(
            session,
            workflow,
            origin="human",
            note=note,
            author=self._bench.asker.person,
            restores=restores,
            expected=head.id if head is not None else None,
        )

    def edit_over_own(
        self,
        session: str,
        workflow: Workflow,
        *,
        note: str,
        head: Revision,
        is_own: Callable[[str], bool],
        restores: str | None = None,
    ) -> tuple[EditEnd, Revision]:
        """Store an edit of `head` as the newest revision, on top of what the same person changed since:
        `is_own` recognises that by a revision's id. Returns the end and the head, `head` after a conflict.

        Raises `WorkflowError` as `edit`.
        """
        try:
            revision = self.edit(session, workflow, note=note, head=head, restores=restores)
        except EditConflict:
            there = self._bench.store.revisions.head(session)
            if there is None or not is_own(there.id):
                return EditEnd.CONFLICT, head
        else:
            return EditEnd.APPLIED, revision
        merged = workflow if restores else rebase(head.workflow, workflow, there.workflow).workflow
        if merged is None:
            return EditEnd.CONFLICT, head
        if merged == there.workflow:
            return EditEnd.APPLIED, there
        try:
            revision = self.edit(session, merged, note=note, head=there, restores=restores)
        except EditConflict:
            return EditEnd.CONFLICT, head
        return EditEnd.APPLIED, revision

    def keep_branch(
        self,
        session: str,
        workflow: Workflow,
        *,
        note: str,
        edited: Revision,
        instead_of: str | None = None,
    ) -> Revision:
        """Store an edit of `edited`, which is no longer the head, as a revision under it.

        The head stays, unless the branch becomes the head `instead_of` that revision. Raises `EditConflict`
        where yet another one is the head by now.
        """
        return self._bench.store.revisions.add(
            session,
            workflow,
            origin="human",
            note=note,
            author=self._bench.asker.person,
            parent=edited.id,
            expected=instead_of,
            moves_head=instead_of is not None,
        )

    def import_plan(
        self, text: str | bytes, *, query: str | None = None, fallback: str | None = None
    ) -> Session:
        """A new session from a workflow file; `query` overrides the file's query, which overrides `fallback`.

        Raises `FormatError`, `WorkflowError` or `QueryError`; then nothing is stored.
        """
        document = read_plan(text)
        workflow = document.workflow
        self._check_workers(workflow)
        question = query or document.query or fallback
        if not question:
            raise FormatError("The file names no query; give one with it, or `run QUERY --workflow FILE`.")
        return self._bench.store.revisions.import_workflow(
            check_query(question), workflow, pool_label=self._bench.pool.label
        )

    def open_gallery(self, entry: GalleryEntry, query: str, *, settings: Settings | None = None) -> Session:
        """A new session with a workflow of the gallery, whose roles the pool's workers take.

        Raises `QueryError`; then nothing is stored.
        """
        session = self._bench.store.revisions.import_workflow(
            check_query(query),
            workflow_for(entry, self._bench.pool),
            pool_label=self._bench.pool.label,
            note=f"From the gallery: {entry.title}",
        )
        return session if settings is None else self._bench.store.sessions.set_settings(session.id, settings)

    def edit_recorded(self, recorded: Recorded, edited: Workflow, *, note: str) -> Revision:
        """A new session of a recording, whose workflow is then `edited`: what the edit does not touch is
        pinned to its recorded output, the rest goes to the pool's workers.

        Raises `WorkflowError` as `edit`.
        """
        store = self._bench.store
        session = import_recorded(store, recorded)
        store.sessions.rename(session.id, recorded.topic)
        store.sessions.add_tags([session.id], [TAG])
        head = self._bench.required_head(session.id)
        outputs = self._bench.state(store.runs.of_session(session.id)[0]).outputs
        workflow = release(
            with_recorded_pins(edited, head.workflow, outputs),
            before=with_recorded_pins(head.workflow, head.workflow, outputs),
            pool=self._bench.pool,
        )
        return self.edit(session.id, workflow, note=note, head=head)

    def release(self, session: str, edited: Workflow, *, before: Workflow) -> Workflow:
        """`edited` without what a recording gave to the steps that the edit touches; in a session that was
        made of none as it is.
        """
        if TAG not in self._bench.store.sessions.tags(session):
            return edited
        return release(edited, before=before, pool=self._bench.pool)

    def export(self, session: str) -> str:
        """The current workflow as a file's text, with the pool that it was written for, whatever the pool is
        now. Raises `WorkflowError` before there is one.
        """
        head = self._bench.required_head(session)
        record = self._bench.store.sessions.find(session)
        planned = planned_by(self._bench.store, head)
        report = None if planned is None else planned[1].report
        prompt = None if report is None else report.prompt
        # Those that the Conductor was offered, and those that a person chose since.
        names = (*(prompt.workers if prompt is not None else ()), *head.workflow.workers())
        return write_plan(
            head.workflow,
            query=record.query,
            origin=head.origin,
            workers=tuple(dict.fromkeys(names)),
            label=record.pool_label,
        )

    def _check_workers(self, workflow: Workflow) -> None:
        """Raise `WorkflowError` that names all workers that the pool does not have."""
        unknown = [name for name in workflow.workers() if name not in self._bench.pool.cards]
        if unknown:
            needs = [f"{name} (as a fallback)" if name in workflow.fallbacks else name for name in unknown]
            raise WorkflowError(
                f"The file's workflow needs {named(needs)}, which this pool does not have. Add what is "
                "missing to the pool, or write names of this pool's into the file: "
                f"{named(self._bench.pool.names)}.",
                step=next(at for at, step in enumerate(workflow.steps) if unknown[0] in step.workers),
            )
