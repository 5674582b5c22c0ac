"""The store's methods for the plans that Conductors answered with."""

from __future__ import annotations

from sqlalchemy import Connection

from conductor.values.messages import Usage
from conductor.values.output import WorkerKind
from conductor.workflow.model import Workflow
from conductor.workflow.plan_report import PlanReport
from storage.ownership import plannings
from storage.records import Plan
from storage.store.processes import Processes
from storage.store.transactions import Part, Transactions
from storage.tables import revisions


class Plans(Part):
    """Plans, valid or not, and alternatives to choose from."""

    def __init__(self, transactions: Transactions, processes: Processes) -> None:
        super().__init__(transactions)
        self._processes = processes

    def begin(
        self,
        planning: str,
        session: str,
        *,
        planner: str,
        planner_kind: WorkerKind,
        round: int = 1,
        attempt: int = 1,
        looks_back: str | None = None,
        alternative: str | None = None,
    ) -> None:
        """Record that this process now calls a Conductor, under the id `planning`; `add` ends it.

        Where the process dies before, the plan is marked as interrupted; see `mark_interrupted`.
        """
        asked = plannings.Underway(
            session=session,
            owner=self._processes.hold(),
            planner=planner,
            planner_kind=planner_kind,
            round=round,
            attempt=attempt,
            looks_back=looks_back,
            alternative=alternative,
        )
        self._write(plannings.begin, planning, asked)

    def add(
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
        revision: str | None = None,
        note: str = "",
        planning: str | None = None,
    ) -> Plan:
        """Store a Conductor's answer, valid or not; `failure` is why there is no report.

        From round 2 on it `looks_back` on the run before, as do the revisions made of it. An `alternative`
        (an id shared by plans that were requested together) leaves the session's state as it is.

        The `workflow` made of it becomes the session's head with that `note`, as a revision of the id
        `revision` (None: a new id): both are stored, or neither. The `planning` of that id ends with it,
        where one was begun.
        """
        now = self._clock()

        def keep(connection: Connection) -> Plan:
            if planning is not None:
                plannings.end(connection, planning)
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
                    connection,
                    session,
                    workflow,
                    origin="conductor",
                    note=note,
                    plan=plan.id,
                    id=revision,
                    now=now,
                )
            return plan

        return self._write(keep)

    def find(self, plan: str) -> Plan:
        """The plan of that id."""
        return self._remember(revisions.find_plan, plan)

    def of_session(self, session: str) -> tuple[Plan, ...]:
        """The session's plans, oldest first, without alternatives."""
        return self._remember(revisions.plans_of, session)

    def alternatives(self, session: str) -> tuple[Plan, ...]:
        """The plans that were last requested together, by attempt; those that have ended so far."""
        return self._remember(revisions.alternatives_of, session)

    def latest(self, session: str) -> Plan | None:
        """The session's newest plan that is no alternative, None before the first."""
        return self._remember(revisions.latest_plan, session)
