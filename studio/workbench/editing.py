"""Changing a session's workflow, and taking it in and out as a file."""

from __future__ import annotations

from conductor.amounts import named
from conductor.errors import FormatError, WorkflowError
from conductor.plan_file import read_plan, write_plan
from conductor.planner.planner import check_query
from conductor.workflow import Workflow
from storage.records import Revision, Session
from storage.workbench.bench import Bench


class Editing(Bench):
    """Changing a session's workflow, and taking it in and out as a file."""

    def head(self, session: str) -> Revision | None:
        """The session's current workflow, None before there is one."""
        return self.store.head(session)

    def edit(
        self,
        session: str,
        workflow: Workflow,
        *,
        note: str,
        head: Revision | None = None,
        author: str | None = None,
        restores: str | None = None,
    ) -> Revision:
        """Keep an edited workflow as the newest revision; `head` is the revision that was edited, `author`
        who did it, `restores` the id of an earlier revision whose workflow this is again.

        Raises `WorkflowError` for an unknown worker, `EditConflict` when the head is another one by now. A
        worker that the pool has lost may stay, so that its steps can be mended one after another.
        """
        lost = head.workflow.workers() if head is not None else ()
        if restores is None:
            workflow.check_workers(dict.fromkeys((*self.pool.names, *lost)))
        return self.store.add_revision(
            session,
            workflow,
            origin="human",
            note=note,
            author=author,
            restores=restores,
            expected=head.id if head is not None else None,
        )

    def keep_branch(
        self,
        session: str,
        workflow: Workflow,
        *,
        note: str,
        edited: Revision,
        author: str | None = None,
        instead_of: str | None = None,
    ) -> Revision:
        """Keep an edit of `edited`, which is the head no more, as a revision under it.

        The head stays, unless the branch is to be the head `instead_of` that revision. Raises `EditConflict`
        where yet another one is the head by now.
        """
        return self.store.add_revision(
            session,
            workflow,
            origin="human",
            note=note,
            author=author,
            parent=edited.id,
            expected=instead_of,
            moves_head=instead_of is not None,
        )

    def import_plan(
        self, text: str | bytes, *, query: str | None = None, fallback: str | None = None
    ) -> Session:
        """A new session from a workflow file; `query` counts over the file's own, `fallback` after it.

        Raises `FormatError`, `WorkflowError` or `QueryError`; nothing is kept then.
        """
        document = read_plan(text)
        workflow = document.workflow
        self._check_known(workflow)
        asked = query or document.query or fallback
        if not asked:
            raise FormatError(
                "The file names no query; write one in the query box, or `run QUERY --workflow FILE`."
            )
        return self.store.import_workflow(check_query(asked), workflow, pool_label=self.pool.label)

    def _check_known(self, workflow: Workflow) -> None:
        """Raise `WorkflowError` that names all workers that the pool does not have, not the first alone."""
        unknown = [name for name in workflow.workers() if name not in self.pool.names]
        if unknown:
            raise WorkflowError(
                f"The file's workflow needs {named(unknown)}, which this pool does not have. Add what is "
                "missing to the pool, or write names of this pool's into the file: "
                f"{named(self.pool.names)}.",
                step=next(at for at, step in enumerate(workflow.steps) if step.worker == unknown[0]),
            )

    def export(self, session: str) -> str:
        """The current workflow as a file's text. Raises `WorkflowError` before there is one."""
        head = self.required_head(session)
        return write_plan(
            head.workflow,
            query=self.store.session(session).query,
            origin=head.origin,
            workers=self.pool.names,
            label=self.pool.label,
        )
