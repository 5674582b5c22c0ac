"""Asking a Conductor: for the first plan, again with reasons, for another round, for alternatives."""

from __future__ import annotations

from dataclasses import replace

from conductor.background import LivePlan
from conductor.errors import PlanError, WorkflowError
from conductor.modes import MAX_ROUNDS, Settings
from conductor.orchestrate import plan_request
from conductor.planner.conductor import PlanRequest
from conductor.run_state import RunState
from storage.alternatives import FEWEST, MOST, LiveAlternatives
from storage.call import Call, Listener
from storage.ensemble import Ensemble
from storage.records import Plan, Revision
from storage.workbench.bench import Bench


class Asking(Bench):
    """Asking a Conductor: for the first plan, again with reasons, for another round, for alternatives."""

    def plan(self, session: str, *, listen: Listener | None = None) -> Plan:
        """Ask the Conductor for a workflow and wait; an invalid plan is asked for again, with its reasons.

        The last answer; a valid one is the session's newest revision.
        """
        self.conducting.begin_plan(self._first_call(session, self.settings(session), listen), then_run=False)
        self.conducting.wait(session)
        kept = self.store.latest_plan(session)
        if kept is None:
            raise PlanError(f"{self.conductor.card.name} ended without a plan or a reason; ask again.")
        return kept

    def begin_plan(self, session: str, *, then_run: bool = False) -> LivePlan:
        """Ask the Conductor once, and run what it plans when `then_run`; returns at once.

        An invalid plan is for a person to judge: `ask_again` sends its reasons back.
        """
        settings = self.settings(session).model_copy(update={"attempts": 1})
        return self.conducting.begin_plan(self._first_call(session, settings, None), then_run=then_run)

    def ask_again(self, session: str) -> LivePlan:
        """Send the reasons why the newest plans are invalid back to the Conductor; returns at once.

        Raises `PlanError` when the newest plan is valid, or was asked for as often as the settings allow.
        """
        rejected = self.rejected(session)
        settings = self.settings(session)
        if not rejected:
            raise PlanError("The newest plan is not an invalid one; plan the query anew instead.")
        if len(rejected) >= settings.attempts:
            raise PlanError(
                f"The Conductor was asked {len(rejected)} times; change the query, or edit a plan by hand."
            )
        last = rejected[-1]
        before = self.state(self.store.run(last.looks_back)) if last.looks_back else None
        ensemble = self.conducting.ensemble
        request = self._request(session, settings, ensemble, after=before)
        request = request.model_copy(update={"rejected": tuple(plan.report for plan in rejected)})
        call = Call(
            session=session,
            ensemble=ensemble,
            request=request,
            settings=settings.model_copy(update={"attempts": 1}),
            looks_back=last.looks_back,
        )
        return self.conducting.begin_plan(call, then_run=False)

    def rejected(self, session: str) -> tuple[Plan, ...]:
        """The newest round's newest attempts, where the last of them is invalid; oldest first."""
        found: list[Plan] = []
        for plan in reversed(self.store.plans(session)):
            if plan.report is None or plan.report.ok or (found and plan.round != found[0].round):
                break
            found.append(plan)
            if plan.attempt == 1:
                break
        return tuple(reversed(found))

    def begin_round(self, session: str) -> LivePlan:
        """Let the Conductor look at the newest run and plan another round, which then runs; returns at once.

        Raises `WorkflowError` where there is no finished run, or `MAX_ROUNDS` were made.
        """
        last = self.store.latest_run(session)
        state = None if last is None else self.state(last)
        if state is None or state.status != "finished" or not state.whole:
            raise WorkflowError(
                "Another round looks back on a finished run of all steps; run the workflow first."
            )
        if state.round >= MAX_ROUNDS:
            raise WorkflowError(f"This was round {state.round}; a query has at most {MAX_ROUNDS} rounds.")
        settings = self.settings(session).model_copy(update={"attempts": 1, "rounds": state.round + 1})
        ensemble = self.conducting.ensemble
        request = self._request(session, settings, ensemble, after=state)
        call = Call(
            session=session, ensemble=ensemble, request=request, settings=settings, looks_back=state.run
        )
        return self.conducting.begin_plan(call, then_run=True)

    def begin_alternatives(self, session: str, count: int) -> LiveAlternatives:
        """Ask the Conductor for `count` plans at once for the round that is shown; returns at once.

        `use_candidate` makes one the workflow. Raises `PlanError` where it is fewer than `FEWEST` or more
        than `MOST`.
        """
        return self.conducting.begin_alternatives(self._alternatives_call(session, count), count=count)

    def plan_alternatives(
        self, session: str, count: int, *, listen: Listener | None = None
    ) -> tuple[Plan, ...]:
        """Ask for them and wait; all of them, in the order of asking. Raises as `begin_alternatives`."""
        call = replace(self._alternatives_call(session, count), listen=listen)
        self.conducting.begin_alternatives(call, count=count)
        self.conducting.wait(session)
        return self.store.alternatives(session)

    def _alternatives_call(self, session: str, count: int) -> Call:
        if not FEWEST <= count <= MOST:
            raise PlanError(f"{count} plans at once cannot be asked for; ask for {FEWEST} to {MOST}.")
        head = self.store.head(session)
        looks_back = head.looks_back if head is not None else None
        before = self.state(self.store.run(looks_back)) if looks_back else None
        settings, ensemble = self.settings(session), self.conducting.ensemble
        request = self._request(session, settings, ensemble, after=before)
        return Call(
            session=session, ensemble=ensemble, request=request, settings=settings, looks_back=looks_back
        )

    def use_candidate(self, plan: str, candidate: int, *, head: Revision | None = None) -> Revision:
        """Make a candidate (from 0) of a plan its session's workflow; `head` is what it takes the place of.

        Raises `PlanError` where the plan has no such candidate or it is not valid, `WorkflowError` for a
        worker that the pool has lost, `EditConflict` when the head is another one by now.
        """
        kept = self.store.plan(plan)
        found = kept.report.candidates[candidate : candidate + 1] if kept.report is not None else ()
        if candidate < 0 or not found:
            raise PlanError(f"The plan {plan!r} has no candidate {candidate + 1}; choose one that is listed.")
        workflow = found[0].workflow
        if workflow is None:
            why = "keeps the answer" if found[0].ok else "is not valid"
            raise PlanError(f"This plan {why}, so it cannot be used as a workflow; choose another.")
        workflow.check_workers(self.pool.names)
        return self.store.add_revision(
            kept.session,
            workflow,
            origin="conductor",
            note=_picked(kept, candidate),
            plan=plan,
            expected=head.id if head is not None else None,
        )

    def _first_call(self, session: str, settings: Settings, listen: Listener | None) -> Call:
        ensemble = self.conducting.ensemble
        request = self._request(session, settings, ensemble)
        return Call(session=session, ensemble=ensemble, request=request, settings=settings, listen=listen)

    def _request(
        self, session: str, settings: Settings, ensemble: Ensemble, *, after: RunState | None = None
    ) -> PlanRequest:
        """What the Conductor is asked in this session, for its first round or for the one `after` a run."""
        asked = self.store.session(session)
        return plan_request(
            asked.query,
            pool=ensemble.pool,
            settings=settings,
            after=after,
            conversation=asked.said_before,
        )

    def rounds(self, session: str) -> tuple[tuple[Revision, RunState], ...]:
        """The rounds before the current workflow's, oldest first: what was run and what came of it."""
        before: list[tuple[Revision, RunState]] = []
        head = self.store.head(session)
        while head is not None and head.looks_back is not None:
            run = self.store.run(head.looks_back)
            head = self.store.revision(run.revision)
            before.append((head, self.state(run)))
        return tuple(reversed(before))


def _picked(plan: Plan, candidate: int) -> str:
    """What a revision says of the candidate it was made of."""
    several = plan.report is not None and len(plan.report.candidates) > 1
    which = f"plan {candidate + 1} of the text" if several else "its plan"
    if plan.alternative is None:
        return f"Used {which}"
    return f"Used alternative {plan.attempt}{f', {which}' if several else ''}"
