"""All that a page shows of one session, read from the store in one go. Knows no Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from conductor.engine.schedule import BlastRadius
from conductor.errors import WorkflowError
from conductor.modes import Settings
from conductor.run_state import RunState
from storage import Plan, Revision, RunRecord, Session
from storage.workbench import Workbench


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session as it stands.

    `run` is the one under way, else the newest of the current revision, else the newest of any; `state` is
    its state now.
    `stoppable` tells whether it runs in this process, `unsaved` why not all of it could be kept. `newest`
    tells whether no later run of the session exists.
    `plan` is what the workflow was made of, `latest_plan` the newest that was asked for. `planning` is what
    the Conductor writes just now, None while it does not; `busy` whether this process plans or runs here,
    or will do so next.
    `radius` says what a rerun would do, None where there is no workflow or `problem` keeps it from running.
    """

    session: Session
    head: Revision | None
    plan: Plan | None
    latest_plan: Plan | None
    planning: RunState | None
    busy: bool
    run: RunRecord | None
    state: RunState | None
    stoppable: bool
    newest: bool
    unsaved: str | None
    radius: BlastRadius | None
    problem: str | None
    undo: Revision | None
    redo: Revision | None

    @classmethod
    def load(cls, bench: Workbench, session: str) -> SessionView:
        """Raises `StorageError` for an unknown session."""
        store = bench.store
        # Read before the store: what ended by now is found there.
        busy = bench.conducting.busy(session)
        planning = bench.conducting.live_plan(session)
        found = store.session(session)
        head = store.head(session)
        runs = store.runs(session)
        run = _shown(runs, head)
        undo, redo = store.neighbours(session)
        latest_plan = store.latest_plan(session)
        radius, problem = _radius(bench, session) if head is not None else (None, None)
        return cls(
            session=found,
            head=head,
            plan=store.plan(head.plan) if head and head.plan else latest_plan,
            latest_plan=latest_plan,
            planning=None if planning is None else planning.state,
            busy=busy or planning is not None,
            run=run,
            state=bench.state(run) if run is not None else None,
            stoppable=run is not None and bench.runs_here(run),
            newest=run is not None and run.id == runs[0].id,
            unsaved=bench.unsaved(run) if run is not None else None,
            radius=radius,
            problem=problem,
            undo=undo,
            redo=redo,
        )

    @property
    def live(self) -> bool:
        """Whether a run of this session is under way."""
        return self.state is not None and self.state.live

    @property
    def locked(self) -> bool:
        """Whether something goes on that an edit would come between."""
        return self.live or self.busy

    @property
    def settings(self) -> Settings:
        """What the session asks of its Conductor."""
        return self.session.settings or Settings()

    @property
    def phase(self) -> tuple[object, ...]:
        """What a page is drawn for: where it is another than before, the whole page is drawn anew."""
        kept = (self.head, self.run, self.latest_plan)
        ids = tuple(None if record is None else record.id for record in kept)
        return (*ids, self.live, self.planning is not None, self.busy)

    @property
    def no_plan(self) -> Plan | None:
        """The newest plan where it gave nothing to act on and nobody has gone on without it."""
        plan = self.latest_plan
        if plan is None or (plan.report is not None and plan.report.ok):
            return None
        after = [self.run.started_at] if self.run is not None else []
        after += [self.head.created_at] if self.head is not None else []
        return plan if all(plan.created_at >= at for at in after) else None

    @property
    def kept_answer(self) -> Plan | None:
        """The newest plan where it says that the answer of the run shown is to be returned as it is."""
        plan = self.latest_plan
        kept = plan is not None and plan.report is not None and plan.report.return_previous
        return plan if kept and plan is not None and self._looked_at(plan) else None

    def _looked_at(self, plan: Plan) -> bool:
        return self.run is not None and plan.looks_back == self.run.id

    @property
    def as_run(self) -> bool:
        """Whether the current workflow is the one that was last run."""
        return self.head is not None and self.state is not None and self.state.workflow == self.head.workflow


def _shown(runs: Sequence[RunRecord], head: Revision | None) -> RunRecord | None:
    live = (run for run in runs if run.status == "running")
    of_head = (run for run in runs if head is not None and run.revision == head.id)
    return next(chain(live, of_head, runs), None)


def _radius(bench: Workbench, session: str) -> tuple[BlastRadius | None, str | None]:
    try:
        return bench.radius(session), None
    except WorkflowError as error:
        return None, str(error)


def radius_sentence(radius: BlastRadius, steps: int) -> str:
    """What a rerun will do, in one sentence."""
    runs = len(radius.runs)
    if not runs:
        return "Nothing to run: every step's output is known."
    if not radius.reused:
        return f"All {steps} steps will run." if steps > 1 else "The step will run."
    said = f"{runs} of {steps} steps will run, {len(radius.reused)} reused"
    return f"{said}; fewer if an output stays the same." if radius.spared else f"{said}."
