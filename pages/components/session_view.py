"""All that a page shows of one session, read from the store in one go. Knows no Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from conductor.engine.schedule import BlastRadius
from conductor.errors import WorkflowError
from conductor.run_state import RunState
from storage import Plan, Revision, RunRecord, Session
from storage.workbench import Workbench


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session as it stands.

    `run` is the one under way, else the newest of the current revision, else the newest of any; `state` is
    its state now.
    `stoppable` tells whether it runs in this process, `unsaved` why not all of it could be kept.
    `radius` says what a rerun would do, None where there is no workflow or `problem` keeps it from running.
    """

    session: Session
    head: Revision | None
    plan: Plan | None
    run: RunRecord | None
    state: RunState | None
    stoppable: bool
    unsaved: str | None
    radius: BlastRadius | None
    problem: str | None
    undo: Revision | None
    redo: Revision | None

    @classmethod
    def load(cls, bench: Workbench, session: str) -> SessionView:
        """Raises `StorageError` for an unknown session."""
        store = bench.store
        found = store.session(session)
        head = store.head(session)
        runs = store.runs(session)
        run = _shown(runs, head)
        undo, redo = store.neighbours(session)
        radius, problem = _radius(bench, session) if head is not None else (None, None)
        return cls(
            session=found,
            head=head,
            plan=store.plan(head.plan) if head and head.plan else store.latest_plan(session),
            run=run,
            state=bench.state(run) if run is not None else None,
            stoppable=run is not None and bench.runs_here(run),
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
