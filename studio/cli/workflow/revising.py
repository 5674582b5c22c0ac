"""A changed workflow as a session's next revision: what differs and what would run again, then the revision.

Knows what is printed and asked; `studio.workbench.editing` stores it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from conductor.errors import PlanError
from conductor.runs.scope import EDITED
from conductor.values.output import HandEdit, Output
from conductor.workflow.diff import StepPair, plan_diff
from conductor.workflow.model import Workflow
from conductor.workflow.selection import edited_as
from storage import Revision
from studio.cli.options import Configured
from studio.cli.output.plan_diff import print_diff, what_changes
from studio.cli.output.terminal import agreed, name_next, print_remark
from studio.workbench import Workbench


def head_of(workbench: Workbench, session: str) -> Revision:
    """The session's current revision. Raises `PlanError` that names the command which gives it one."""
    head = workbench.store.revisions.head(session)
    if head is None:
        raise PlanError(
            f"The session {session[:8]} has no workflow yet; plan it: plan --session {session[:8]}"
        )
    return head


def revise(
    workbench: Workbench,
    head: Revision,
    workflow: Workflow,
    options: Configured,
    *,
    ask: bool = False,
    note: str | None = None,
) -> Revision | None:
    """Store the workflow, which was edited from `head`, as the next revision, where it differs. Prints how it
    differs and what of it will run, and with `ask` asks; None if the answer is no.

    Raises `WorkflowError` for a worker that the pool does not have, `EditConflict` for a new head.
    """
    workflow = edited_as(head.workflow, workflow)
    diff = plan_diff(head.workflow, workflow)
    if diff.empty:
        print_remark("the workflow is as it was; nothing is changed.")
        return head
    workflow.check_workers(workbench.pool.names)
    if not options.json:
        print_diff(diff)
    print_remark(workbench.running.outlook(head.session, EDITED, workflow=workflow).sentence)
    if ask and not agreed("Store this as the session's workflow?"):
        return None
    changed = [what_changes(diff, *row) for row in diff.rows if not _same(diff.of_new, row)]
    words = note or "; ".join(changed)
    revision = workbench.editing.edit(head.session, workflow, note=words[0].upper() + words[1:], head=head)
    print_remark(f"revision {revision.number} of session {head.session[:8]}")
    name_next(f"session {head.session[:8]}", f"run --session {head.session[:8]}{options.again}")
    return revision


def _same(of_new: Mapping[int, StepPair], row: tuple[int | None, int | None]) -> bool:
    old, new = row
    return old is not None and new is not None and of_new[new].same


def pinned_text(workbench: Workbench, session: str, workflow: Workflow, step: int, text: str) -> Output:
    """The text as the output of a step (from 0) of the workflow, written by a person."""
    last = workbench.running.last_outputs(session, workflow).get(step)
    if last is not None and last.text == text:
        return last
    empty = workbench.running.unwritten(session, step, workflow=workflow)
    return empty.model_copy(
        update={"text": text, "hand": HandEdit(at=time.time(), by=workbench.asker.person or "a person")}
    )
