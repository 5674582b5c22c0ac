"""What the application asks about the plans that Conductors answered with."""

from __future__ import annotations

from sqlalchemy import Connection

from conductor.messages import Usage
from conductor.output import WorkerKind
from conductor.plan import PlanReport
from conductor.workflow import Workflow
from storage import revisions
from storage.records import Plan
from storage.store.transactions import Transactions


class Plans(Transactions):
    """Plans, valid or not, and alternatives to choose from."""

    def add_plan(
        self,
        session: str,
        *,
        planner: str,
        planner_kind: WorkerKind,
        report: PlanReport | None,
        failure: str | None = None,
        usage: Usage,
        seconds: float | None = None,
        round: int = 1,
        attempt: int = 1,
        looks_back: str | None = None,
        alternative: str | None = None,
        workflow: Workflow | None = None,
        note: str = "",
    ) -> Plan:
        """Keep what a Conductor answered, valid or not; `failure` says why there is no report.

        From round 2 on it `looks_back` on the run before, as do the revisions made of it. An `alternative`
        (an id that those asked for together share) is to be chosen from: the session's state stays.

        The `workflow` that is made of it becomes the session's head, with that `note`: both are kept, or
        neither.
        """
        now = self._clock()

        def keep(connection: Connection) -> Plan:
            plan = revisions.add_plan(
                connection,
                session,
                planner=planner,
                planner_kind=planner_kind,
                report=report,
                failure=failure,
                usage=usage,
                seconds=seconds,
                round=round,
                attempt=attempt,
                looks_back=looks_back,
                alternative=alternative,
                now=now,
            )
            if workflow is not None:
                revisions.add_revision(
                    connection, session, workflow, origin="conductor", note=note, plan=plan.id, now=now
                )
            return plan

        return self._write(keep)

    def plan(self, plan: str) -> Plan:
        """The plan of that id."""
        return self._remember(revisions.find_plan, plan)

    def plans(self, session: str) -> tuple[Plan, ...]:
        """The session's plans, oldest first, without alternatives."""
        return self._remember(revisions.plans_of, session)

    def alternatives(self, session: str) -> tuple[Plan, ...]:
        """The plans that were last asked for together, by attempt; those that have ended so far."""
        return self._remember(revisions.alternatives_of, session)

    def latest_plan(self, session: str) -> Plan | None:
        """The session's newest plan that is no alternative, None before the first."""
        return self._remember(revisions.latest_plan, session)
