"""Asking a Conductor in words to change a workflow, and taking all of its answer, a part, or nothing.

Nothing of the session changes until a person takes it; what was asked for and what was done with the answer
is stored. Knows the store and the comparison of workflows; draws and prints nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from conductor.errors import PlanError
from conductor.planner.planner import check_wish
from conductor.runs.request import ChangeRequest
from conductor.text.formatting import quantity
from conductor.workflow.diff import PlanDiff, plan_diff
from conductor.workflow.model import MAX_WRITTEN_STEPS
from conductor.workflow.selection import take_rows, with_own_settings
from storage.records import ChangeRecord, Plan, Revision
from studio.sessions.activity import LiveAlternatives
from studio.workbench.bench import Bench

_NOTE_LENGTH = 120


@dataclass(frozen=True)
class Proposal:
    """What came of a wish: how the Conductor's workflow differs from the revision that it was to change.

    `plan` is its answer, None while there is none; `diff` is None if the answer has no workflow, and
    `problem` is why.
    """

    record: ChangeRecord
    base: Revision
    plan: Plan | None
    diff: PlanDiff | None
    problem: str | None

    @property
    def open(self) -> bool:
        """Whether a person may still take it."""
        return self.diff is not None and self.record.decision is None

    @property
    def changed_rows(self) -> tuple[int, ...]:
        """The rows of the diff in which something differs."""
        if self.diff is None:
            return ()
        return tuple(
            at
            for at, (old, new) in enumerate(self.diff.rows)
            if old is None or new is None or not self.diff.of_new[new].same
        )


class Changing:
    """Asking for changes in words, and what is done with the answers."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._store = bench.store

    def begin(self, session: str, wish: str) -> LiveAlternatives:
        """Send the question, the current workflow and the wish to the Conductor; returns at once.

        Raises `QueryError` for a wish that is empty or too long, `WorkflowError` without a workflow and while
        something runs.
        """
        wish = check_wish(wish)
        current = self._bench.required_head(session)
        own = self._bench.settings(session)
        # A plan of more steps may keep as many; an invalid answer is for the person to judge.
        most = min(MAX_WRITTEN_STEPS, max(own.max_steps, len(current.workflow)))
        settings = own.model_copy(update={"max_steps": most, "attempts": 1})
        after = None
        if current.looks_back is not None:
            after = self._bench.state(self._store.runs.find(current.looks_back))
        return self._bench.runner.begin_change(
            session,
            self._bench.request(session, settings),
            ChangeRequest(workflow=current.workflow, wish=wish),
            revision=current.id,
            after=after,
        )

    def ask(self, session: str, wish: str) -> Proposal:
        """As `begin`, and wait for the answer."""
        live = self.begin(session, wish)
        self._bench.activities.wait(session)
        return self.find(live.batch)

    def find(self, change: str) -> Proposal:
        """What came of the wish of that id. Raises `UnknownId`."""
        return self._proposal(self._store.changes.find(change))

    def newest(self, session: str) -> Proposal | None:
        """The newest wish of the session that was answered and not decided, or None."""
        changes = self._store.changes.of_session(session)
        last = changes[-1] if changes else None
        if last is None or last.plan is None or last.decision is not None:
            return None
        return self._proposal(last)

    def take(self, change: str, rows: Collection[int] | None = None) -> Revision:
        """Make the changed workflow the session's own: all of it, or the old one with these rows of the diff.

        Raises `PlanError` where there is nothing to take, `WorkflowError` for rows that make no workflow and
        for a worker that is no longer in the pool, `EditConflict` where the workflow was edited since.
        """
        proposal = self._undecided(change)
        assert proposal.diff is not None, "it is open"
        whole = rows is None or set(rows) >= set(proposal.changed_rows)
        workflow = proposal.diff.new if whole else take_rows(proposal.diff, rows or ())
        workflow.check_workers(self._bench.pool.cards)
        wish = " ".join(proposal.record.wish.split())[:_NOTE_LENGTH]
        part = "" if whole else f"{quantity(len(set(rows or ())), 'change')} of "
        revision = self._store.revisions.add(
            proposal.record.session,
            workflow,
            origin="conductor" if whole else "human",
            note=f"Took {part}“{wish}”",
            author=None if whole else self._bench.asker.person,
            plan=proposal.record.plan if whole else None,
            expected=proposal.base.id,
        )
        self._store.changes.decide(change, "taken" if whole else "part", chosen=revision.id)
        return revision

    def leave(self, change: str) -> None:
        """Leave the workflow as it is. Raises `StorageError` where that was decided before."""
        self._store.changes.decide(change, "left")

    def _undecided(self, change: str) -> Proposal:
        proposal = self.find(change)
        if proposal.problem is not None:
            raise PlanError(f"There is no changed workflow to take: {proposal.problem}")
        if not proposal.open:
            raise PlanError("This change was decided already. Ask for another one.")
        return proposal

    def _proposal(self, record: ChangeRecord) -> Proposal:
        base = self._store.revisions.find(record.revision)
        plan = None if record.plan is None else self._store.plans.find(record.plan)
        report = None if plan is None else plan.report
        if report is None or report.workflow is None:
            return Proposal(record, base, plan, None, _problem(plan))
        new = with_own_settings(base.workflow, report.workflow)
        return Proposal(record, base, plan, plan_diff(base.workflow, new), None)


def _problem(plan: Plan | None) -> str:
    """Why there is no changed workflow."""
    if plan is None:
        return "The Conductor has not answered yet."
    if plan.report is None:
        return plan.failure or f"{plan.planner} gave no plan; ask again."
    return " ".join(problem.message for problem in plan.report.problems) or "It accepts the answer as it is."
