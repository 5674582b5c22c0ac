"""Reads the workflows of planners that write nothing from a session or an earlier evaluation's cells.

Knows the store; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from conductor.errors import DataError
from conductor.evaluation.plan_sources import PLAN, CategoryPlans, FixedPlan, GivenPlans, WrittenPlans
from conductor.values.output import Output
from conductor.workflow.edits import edited
from conductor.workflow.model import Workflow
from storage import SessionStore
from storage.records import CellRecord


def plan_of_session(store: SessionStore, name: str) -> FixedPlan:
    """The workflow that `plan:SESSION[@REVISION]` names: by the beginning of a session's id, or "last", and a
    revision's number, without one the current workflow.

    Its own name has the revision. Raises `DataError` where there is no such session or revision.
    """
    prefix, _, number = name.removeprefix(PLAN).partition("@")
    if prefix == "last" and (newest := store.sessions.listed(limit=1)):
        prefix = newest[0].id
    ids = store.sessions.named(prefix) if prefix else ()
    if prefix not in ids and len(ids) != 1:
        which = "There are several sessions" if ids else "There is no session"
        raise DataError(f"{which} {prefix[:60]!r}, whose workflow {name[:80]!r} would be.")
    session = store.sessions.find(prefix if prefix in ids else ids[0])
    revisions = store.revisions.of_session(session.id)
    chosen = [
        each for each in revisions if (str(each.number) == number if number else each.id == session.head)
    ]
    if not chosen:
        numbers = ", ".join(str(each.number) for each in revisions) or "none"
        raise DataError(
            f"The session {session.id[:8]} has no revision {number[:20]!r}; it has {numbers}."
            if number
            else f"The session {session.id[:8]} has no workflow yet; plan one first."
        )
    (revision,) = chosen
    return FixedPlan.of(
        f"{PLAN}{session.id[:8]}@{revision.number}",
        f"{session.title}, revision {revision.number}",
        revision.workflow,
    )


class CellPlans:
    """The workflows of the cells of planners that write nothing. May be used from any thread."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._cells: dict[str, dict[tuple[int, str, int], CellRecord]] = {}

    def workflow(self, plans: GivenPlans, item: int, repeat: int, category: str | None) -> Workflow | None:
        """The cell's workflow, of a question of that category; None if there was no valid plan.

        Raises `DataError` where the session that it was written in is gone.
        """
        if isinstance(plans, FixedPlan):
            return plans.edited
        if isinstance(plans, CategoryPlans):
            return plans.workflow(category)
        session = self._session(plans, item, repeat)
        if session is None:
            raise DataError(
                f"The plan that {plans.planner} wrote for question {item + 1} is gone, or was not written; "
                f"the evaluation {plans.evaluation[:8]} must have all of its sessions."
            )
        runs = self._store.runs.of_session(session)
        if not runs:
            cell = self._store.evaluations.cell_of_session(session)
            if cell is not None and cell.result is not None and cell.result.score.unanswered:
                raise DataError(
                    f"{plans.planner} could not be reached for question {item + 1} "
                    f"({cell.result.score.outage}), and wrote no plan; continue with `evaluate resume "
                    f"{plans.evaluation[:8]}` first."
                )
            return None
        # The first run is the cell's own, whatever a person did in its session since.
        written = self._store.revisions.find(runs[-1].revision).workflow
        return edited(written.unpinned, plans.edits)

    def outputs(self, plans: Iterable[GivenPlans], item: int, repeat: int) -> list[Output]:
        """What the steps of the plans as they were written answered there."""
        sources = {(it.evaluation, it.planner): it for it in plans if isinstance(it, WrittenPlans)}
        written: list[Output] = []
        for each in sources.values():
            session = self._session(each, item, repeat)
            if session is not None:
                written += self._store.runs.outputs(session)
        return written

    def _session(self, plans: WrittenPlans, item: int, repeat: int) -> str | None:
        """The session that the plan was written in; None if it is gone."""
        by_place = self._cells.get(plans.evaluation)
        if by_place is None:
            cells = self._store.evaluations.cells(plans.evaluation)
            by_place = self._cells[plans.evaluation] = {(it.item, it.planner, it.repeat): it for it in cells}
        cell = by_place.get((item, plans.planner, repeat))
        if cell is None or not self._store.sessions.named(cell.answered_in):
            return None
        return cell.answered_in
