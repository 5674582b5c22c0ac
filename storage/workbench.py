"""What a person does with a session: ask, plan, edit, run, stop, export. The app and the command line
both stand on this.

Knows the store and the core; knows no page and prints nothing. Every change is durable before a
method returns; a run's events are written behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from conductor.background import Background, LiveRun
from conductor.engine.assignment import Assignment
from conductor.engine.run import WorkflowRun
from conductor.engine.schedule import BlastRadius, blast_radius
from conductor.errors import FormatError, PlanError, WorkflowError
from conductor.events import Event, PlanningFailed, PlanRejected, WorkflowPlanned
from conductor.messages import Usage
from conductor.plan_file import read_plan, write_plan
from conductor.planner.conductor import MAX_PLANNED_STEPS, Conductor, PlanRequest
from conductor.planner.planner import check_query, plan
from conductor.run_state import RunState
from conductor.workers.pool import Pool
from conductor.workflow import Workflow
from storage.records import Plan, Revision, RunRecord, Session
from storage.store import SessionStore

FOLDED_RUNS = 64
"""Ended runs whose state is kept in memory; a page asks for the same ones again and again."""

Listener = Callable[[Event], None]


@dataclass(frozen=True)
class Workbench:
    """One pool, one Conductor, one store, and the runs under way."""

    store: SessionStore
    background: Background
    pool: Pool
    conductor: Conductor
    _folded: dict[str, RunState] = field(default_factory=dict, repr=False)

    @classmethod
    def over(cls, store: SessionStore, *, pool: Pool, conductor: Conductor) -> Workbench:
        """A workbench with its own background loop."""
        return cls(store=store, background=Background(store), pool=pool, conductor=conductor)

    def close(self) -> None:
        """Stop what runs and close the store."""
        self.background.close()
        self.store.close()

    # -- plans -----------------------------------------------------------------------------------

    def ask(self, query: str) -> Session:
        """A new session for a query. Raises `QueryError` when it is empty or too long."""
        return self.store.create_session(check_query(query), pool_label=self.pool.label)

    def plan(
        self, session: str, *, max_steps: int = MAX_PLANNED_STEPS, listen: Listener | None = None
    ) -> Plan:
        """Ask the Conductor for a workflow; a valid one becomes the session's newest revision."""
        request = PlanRequest(
            query=self.store.session(session).query,
            workers=tuple(self.pool.cards.values()),
            max_steps=max_steps,
        )
        end = self.background.wait(self._planning(request, listen))
        kept = self._keep_plan(session, end)
        if kept.report is not None and kept.report.workflow is not None:
            self.store.add_revision(
                session, kept.report.workflow, origin="conductor", note="Planned", plan=kept.id
            )
        return kept

    def _keep_plan(self, session: str, end: WorkflowPlanned | PlanRejected | PlanningFailed) -> Plan:
        card = self.conductor.card
        if isinstance(end, PlanningFailed):
            return self.store.add_plan(
                session,
                planner=card.name,
                planner_kind=card.kind,
                report=None,
                failure=end.message,
                usage=Usage(),
                seconds=None,
            )
        return self.store.add_plan(
            session,
            planner=card.name,
            planner_kind=card.kind,
            report=end.report,
            failure=None,
            usage=end.usage,
            seconds=end.seconds,
        )

    async def _planning(
        self, request: PlanRequest, listen: Listener | None
    ) -> WorkflowPlanned | PlanRejected | PlanningFailed:
        async for event in plan(request, conductor=self.conductor, run=new_id()):
            if listen is not None:
                listen(event)
            if isinstance(event, WorkflowPlanned | PlanRejected | PlanningFailed):
                return event
        raise PlanError(f"{self.conductor.card.name} ended without a plan or a reason; ask again.")

    # -- revisions -------------------------------------------------------------------------------

    def head(self, session: str) -> Revision | None:
        """The session's current workflow, None before there is one."""
        return self.store.head(session)

    def edit(self, session: str, workflow: Workflow, *, note: str, head: Revision | None = None) -> Revision:
        """Keep an edited workflow as the newest revision; `head` is the revision that was edited.

        Raises `WorkflowError` for an unknown worker, `EditConflict` when the head is another one by now. A
        worker that the pool has lost may stay, so that its steps can be mended one after another.
        """
        lost = head.workflow.workers() if head is not None else ()
        workflow.check_workers(dict.fromkeys((*self.pool.names, *lost)))
        return self.store.add_revision(
            session, workflow, origin="human", note=note, expected=head.id if head is not None else None
        )

    def import_plan(
        self, text: str | bytes, *, query: str | None = None, fallback: str | None = None
    ) -> Session:
        """A new session from a workflow file; `query` counts over the file's own, `fallback` after it.

        Raises `FormatError`, `WorkflowError` or `QueryError`; nothing is kept then.
        """
        document = read_plan(text)
        workflow = document.workflow
        workflow.check_workers(self.pool.names)
        asked = query or document.query or fallback
        if not asked:
            raise FormatError("The file names no query; write one in the query box (or beside --workflow).")
        session = self.ask(asked)
        self.store.add_revision(session.id, workflow, origin="import", note="Imported")
        return session

    def export(self, session: str) -> str:
        """The current workflow as a file's text. Raises `WorkflowError` before there is one."""
        head = self._required_head(session)
        return write_plan(
            head.workflow,
            query=self.store.session(session).query,
            origin=head.origin,
            workers=self.pool.names,
            label=self.pool.label,
        )

    # -- runs ------------------------------------------------------------------------------------

    def radius(self, session: str) -> BlastRadius:
        """What running the current workflow will do."""
        head = self._required_head(session)
        last = self.store.latest_run(session)
        return blast_radius(
            self.store.revision(last.revision).workflow if last else None,
            head.workflow,
            self.store.outputs(session),
            query=self.store.session(session).query,
            pool=self.pool,
        )

    def start(self, session: str, *, anew: bool = False, listen: Listener | None = None) -> LiveRun:
        """Run the current workflow, reusing known outputs unless `anew`; returns at once.

        Raises `WorkflowError` when a step's worker is not in the pool or the session runs already.
        """
        head = self._required_head(session)
        last = self.store.latest_run(session)
        if last is not None and self.state(last).live:
            raise WorkflowError("This session is running already; stop that run first.")
        assignment = Assignment.of(head.workflow, query=self.store.session(session).query, pool=self.pool)
        run = WorkflowRun(
            assignment,
            self.pool,
            run=new_id(),
            outputs={} if anew else self.store.outputs(session),
            parent=last.id if last else None,
        )
        self.store.start_run(
            run=run.run, session=session, revision=head.id, parent=run.parent, pool_label=self.pool.label
        )
        return self.background.start(run, listen)

    def state(self, run: RunRecord) -> RunState:
        """A run's state, live or from the store: the same fold."""
        live = self.background.live(run.id)
        if live is not None:
            return live.state
        known = self._folded.get(run.id)
        if known is None:
            known = self.store.run_state(run.id)
            if not known.live:
                self._remember(run.id, known)
        return known

    def runs_here(self, run: RunRecord) -> bool:
        """Whether this process runs it, and so can stop it."""
        return self.background.live(run.id) is not None

    def unsaved(self, run: RunRecord) -> str | None:
        """Why not everything of a run could be kept; None when it could."""
        live = self.background.live(run.id)
        return live.unsaved if live is not None else None

    def _remember(self, run: str, state: RunState) -> None:
        while len(self._folded) >= FOLDED_RUNS:
            self._folded.pop(next(iter(self._folded)), None)
        self._folded[run] = state

    def _required_head(self, session: str) -> Revision:
        head = self.store.head(session)
        if head is None:
            raise WorkflowError("This session has no workflow yet; plan one first.")
        return head


def new_id() -> str:
    """A fresh id for a run or a planning attempt."""
    return uuid4().hex[:16]
