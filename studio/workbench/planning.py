"""Asking a Conductor: for the first plan, again with reasons, for another round, for alternatives."""

from __future__ import annotations

from conductor.errors import PlanError, WorkflowError
from conductor.planner.parsing.parse import over_limit
from conductor.runs.request import RunRequest
from conductor.runs.state import RunState
from conductor.values.presets import MAX_ROUNDS
from storage.records import Plan, Revision
from studio.sessions.activity import FEWEST, MOST, LiveAlternatives
from studio.sessions.background_runs import LiveState
from studio.sessions.runner import Listener
from studio.workbench.bench import Bench


class Planning:
    """Asking a Conductor: for the first plan, again with reasons, for another round, for alternatives."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def plan(self, session: str, *, listen: Listener | None = None) -> Plan:
        """Call the Conductor for a workflow and wait; an invalid plan is sent back with its reasons.

        Returns the last answer; a valid one is the session's newest revision.
        """
        self._bench.runner.begin_plan(session, self._bench.request(session), then_run=False, listen=listen)
        self._bench.activities.wait(session)
        latest = self._bench.store.plans.latest(session)
        if latest is None:
            raise PlanError(f"{self._bench.conductor.card.name} ended without a plan or a reason; ask again.")
        return latest

    def begin(self, session: str, *, then_run: bool = False) -> LiveState:
        """Ask the Conductor once, and run what it plans when `then_run`; returns at once.

        An invalid plan is for a person to judge: `ask_again` sends its reasons back.
        """
        return self._bench.runner.begin_plan(session, self._one_attempt_request(session), then_run=then_run)

    def begin_as(self, session: str, planner: str) -> LiveState:
        """Plan once as a baseline, whatever the session's settings name; returns at once.

        Raises `PlanError` where there is no planner of that name.
        """
        return self._bench.runner.begin_plan(
            session, self._one_attempt_request(session, planner=planner), then_run=False
        )

    def ask_again(self, session: str) -> LiveState:
        """Send the reasons why the newest plans are invalid back to the Conductor; returns at once.

        Raises `PlanError` when the newest plan is valid, or the settings allow no further attempt.
        """
        rejected = self.rejected(session)
        if not rejected:
            raise PlanError(
                "The newest plan is valid, so there is nothing to correct. Plan the query again instead."
            )
        if len(rejected) >= self._bench.settings(session).attempts:
            raise PlanError(
                f"The Conductor was asked {len(rejected)} times; change the query, or edit a plan by hand."
            )
        return self._bench.runner.begin_plan(
            session,
            self._one_attempt_request(session),
            then_run=False,
            after=self._looked_back_on(rejected[-1].looks_back),
            rejected=tuple(plan.report for plan in rejected if plan.report is not None),
        )

    def rejected(self, session: str) -> tuple[Plan, ...]:
        """The newest round's newest attempts, where the last of them is invalid; oldest first."""
        attempts: list[Plan] = []
        for plan in reversed(self._bench.store.plans.of_session(session)):
            if plan.report is None or plan.report.ok or (attempts and plan.round != attempts[0].round):
                break
            attempts.append(plan)
            if plan.attempt == 1:
                break
        return tuple(reversed(attempts))

    def begin_round(self, session: str) -> LiveState:
        """Send the newest run to the Conductor, which plans another round, and run it; returns at once.

        Raises `WorkflowError` where there is no finished run, or `MAX_ROUNDS` were made.
        """
        last = self._bench.store.runs.latest(session)
        state = None if last is None else self._bench.state(last)
        if state is None or state.status != "finished" or not state.whole:
            raise WorkflowError("Another round needs a finished run of all steps. Run the workflow first.")
        if state.round >= MAX_ROUNDS:
            raise WorkflowError(f"This was round {state.round}; a query has at most {MAX_ROUNDS} rounds.")
        request = self._one_attempt_request(session, rounds=state.round + 1)
        return self._bench.runner.begin_plan(session, request, then_run=True, after=state)

    def begin_alternatives(self, session: str, count: int) -> LiveAlternatives:
        """Ask the Conductor for `count` plans at once for the round that is shown; returns at once.

        `use_candidate` makes one the workflow. Raises `PlanError` where it is fewer than `FEWEST` or more
        than `MOST`.
        """
        if not FEWEST <= count <= MOST:
            raise PlanError(f"{count} plans at once are not possible; ask for {FEWEST} to {MOST}.")
        head = self._bench.store.revisions.head(session)
        before = self._looked_back_on(None if head is None else head.looks_back)
        request = self._bench.request(session)
        return self._bench.runner.begin_alternatives(session, request, count=count, after=before)

    def plan_alternatives(self, session: str, count: int) -> tuple[Plan, ...]:
        """Ask for them and wait; all of them, in the order of asking. Raises as `begin_alternatives`."""
        self.begin_alternatives(session, count)
        self._bench.activities.wait(session)
        return self._bench.store.plans.alternatives(session)

    def use_candidate(self, plan: str, candidate: int, *, head: Revision | None = None) -> Revision:
        """Make a candidate (from 0) of a plan its session's workflow; `head` is the revision it replaces.

        Raises `PlanError` where the plan has no such candidate or it is not valid, `WorkflowError` for a
        worker that is no longer in the pool, `EditConflict` when the head has changed.
        """
        record = self._bench.store.plans.find(plan)
        candidates = record.report.candidates[candidate : candidate + 1] if record.report is not None else ()
        if candidate < 0 or not candidates:
            raise PlanError(f"The plan {plan!r} has no candidate {candidate + 1}; choose one that is listed.")
        workflow = candidates[0].workflow
        if workflow is None:
            why = "keeps the answer" if candidates[0].ok else "is not valid"
            raise PlanError(f"This plan {why}, so it cannot be used as a workflow; choose another.")
        workflow.check_workers(self._bench.pool.cards)
        return self._bench.store.revisions.add(
            record.session,
            workflow,
            origin="conductor",
            note=_note_of(record, candidate),
            plan=plan,
            expected=head.id if head is not None else None,
        )

    def take_over_limit(
        self,
        plan: str,
        candidate: int | None = None,
        *,
        head: Revision | None = None,
    ) -> Revision:
        """Make a plan that is invalid only for its number of steps the workflow, without a call.

        It is marked as a person's edit; `candidate` (from 0) is one of the plan's text, None
        the one that counts; `head` is the revision it replaces. Raises `PlanError` for any other plan,
        `WorkflowError` for a worker that is no longer in the pool, `EditConflict` when the head has changed.
        """
        record = self._bench.store.plans.find(plan)
        workflow = over_limit(record.report, candidate)
        if workflow is None or record.report is None or record.report.prompt is None:
            raise PlanError(
                "This plan cannot be taken as it is: it has other faults than too many steps. Ask "
                "again, or plan again."
            )
        workflow.check_workers(self._bench.pool.cards)
        return self._bench.store.revisions.add(
            record.session,
            workflow,
            origin="human",
            note=f"Taken with {len(workflow)} steps, over the limit of {record.report.prompt.max_steps}",
            author=self._bench.asker.person,
            plan=plan,
            expected=head.id if head is not None else None,
        )

    def _one_attempt_request(self, session: str, **chosen: int | str) -> RunRequest:
        """The session's request with one attempt a round: a person judges an invalid plan."""
        settings = self._bench.settings(session).model_copy(update={"attempts": 1, **chosen})
        return self._bench.request(session, settings)

    def _looked_back_on(self, run: str | None) -> RunState | None:
        return None if run is None else self._bench.state(self._bench.store.runs.find(run))

    def rounds(self, session: str) -> tuple[tuple[Revision, RunState], ...]:
        """The rounds before the current workflow's, oldest first: what was run and what came of it."""
        before: list[tuple[Revision, RunState]] = []
        head = self._bench.store.revisions.head(session)
        while head is not None and head.looks_back is not None:
            run = self._bench.store.runs.find(head.looks_back)
            head = self._bench.store.revisions.find(run.revision)
            before.append((head, self._bench.state(run)))
        return tuple(reversed(before))


def _note_of(plan: Plan, candidate: int) -> str:
    several = plan.report is not None and len(plan.report.candidates) > 1
    which = f"plan {candidate + 1} of the text" if several else "its plan"
    if plan.alternative is None:
        return f"Used {which}"
    return f"Used alternative {plan.attempt}{f', {which}' if several else ''}"
