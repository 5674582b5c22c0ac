"""All that a page shows of one session, or of one of its experiments, read from the store in one go; and the
session's state in one line, as the bar shows it: what runs, what would run, what was kept.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from conductor.engine.experiments import Trial, trials_of
from conductor.engine.schedule import BlastRadius
from conductor.errors import UnknownId, WorkflowError
from conductor.runs.replay import Replay, as_of
from conductor.runs.scope import RunScope
from conductor.runs.state import RunState
from conductor.text.formatting import quantity
from conductor.values.presets import Settings
from conductor.values.total import NOTHING, Total
from conductor.workflow.matching import matching
from pages.components.view_models.replay import recording
from pages.components.view_models.run_text import progress_text, run_label, used_of
from storage import ExperimentRecord, Plan, Revision, RunRecord, Session
from studio.gallery import RecordedRun
from studio.workbench import Outlook, Workbench

_BROKEN_OFF = ("failed", "cancelled", "interrupted", "over_budget", "paused")


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session as it stands.

    `run` is the one under way, else the newest of the current revision, else the newest of any; `state` is
    its state now.
    `stoppable` is whether it runs in this process, `unsaved` why not all of it could be stored. `newest`
    is whether no later run of the session exists.
    `plan` is what the workflow was made of, in the revision `planned` that people may have edited since, and
    without a workflow the newest; `latest_plan` is the newest that was requested, alternatives aside.
    `planning` is what the Conductor writes just now, None while it does not; `busy` whether this process
    plans or runs here, or will do so next.
    `outlook` is what *Run*, *Rerun* or *Continue* does, or None without a workflow or if `problem` prevents
    it.
    `replay` is where the replay of `run` stands, or None. In a replay `state` is that of its
    moment, as if that were now, and `head` is the workflow that was run.
    """

    session: Session
    head: Revision | None
    planned: Revision | None
    plan: Plan | None
    latest_plan: Plan | None
    run: RunRecord | None
    state: RunState | None
    newest: bool
    planning: RunState | None = None
    busy: bool = False
    stoppable: bool = False
    unsaved: str | None = None
    outlook: Outlook | None = None
    problem: str | None = None
    undo: Revision | None = None
    redo: Revision | None = None
    replay: Replay | None = None
    _outlooks: dict[RunScope, Outlook] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def load(
        cls,
        bench: Workbench,
        session: str,
        *,
        replay: Replay | None = None,
        before: SessionView | None = None,
    ) -> SessionView:
        """The session now; at the moment of `replay`, unless that is over. Raises `StorageError` for an
        unknown session. The outlook of the reading `before` holds while a run is under way and none of its
        steps begins or ends.
        """
        store = bench.store
        # Read before the store: what ended by now is found there.
        busy = bench.activities.busy(session)
        planning = bench.activities.live_plan(session)
        record = store.sessions.find(session)
        if record.expires_at is not None:
            raise UnknownId(f"The session {session!r} is not stored; choose one from the list of sessions.")
        head = store.revisions.head(session)
        runs = store.runs.of_session(session)
        run = _visible_run(runs, head)
        undo, redo = store.revisions.neighbours(session)
        latest_plan = store.plans.latest(session)
        planned = store.revisions.planned(head.id) if head is not None else None
        plan = latest_plan if head is None else None
        if planned is not None and planned.plan is not None:
            plan = store.plans.find(planned.plan)
        view = cls(
            session=record,
            head=head,
            planned=planned,
            plan=plan,
            latest_plan=latest_plan,
            planning=None if planning is None else planning.state,
            busy=busy or planning is not None,
            run=run,
            state=bench.state(run) if run is not None else None,
            stoppable=run is not None and bench.runs_here(run),
            newest=run is not None and run.id == runs[0].id,
            unsaved=bench.unsaved(run) if run is not None else None,
            undo=undo,
            redo=redo,
        )
        if before is not None and view.live and view._progress == before._progress:
            view = replace(view, outlook=before.outlook, problem=before.problem)
        elif head is not None:
            outlook, problem = _outlook(bench, session)
            view = replace(view, outlook=outlook, problem=problem)
        return view if replay is None else view._replayed(replay, bench, runs)

    @classmethod
    def of_recording(cls, recorded: RecordedRun, replay: Replay | None) -> SessionView:
        """A recorded session, which no store has, at the moment of `replay`; None: at its end."""
        now, played = time.time(), recorded.recording
        position = played.seconds if replay is None else replay.at(now)
        return cls(
            session=recorded.session,
            head=recorded.head,
            planned=recorded.head,
            plan=None,
            latest_plan=None,
            run=recorded.run,
            state=as_of(played.at(position), moment=played.began + position, now=now),
            newest=True,
            replay=replay,
        )

    def _replayed(self, replay: Replay, bench: Workbench, runs: Sequence[RunRecord]) -> SessionView:
        """This view at the moment of a replay; as it is where that has ended or something went on since."""
        now = time.time()
        run = next((run for run in runs if run.id == replay.run), None)
        edited = self.head is None or self.head.id != replay.revision
        if run is None or edited or self.locked or replay.over(now):
            return self
        recorded, position = recording(bench.store, run.id), replay.at(now)
        return replace(
            self,
            head=bench.store.revisions.find(run.revision),
            run=run,
            state=as_of(recorded.at(position), moment=recorded.began + position, now=now),
            stoppable=False,
            newest=run.id == runs[0].id,
            outlook=None,
            problem="This is a replay. End it to run the workflow.",
            undo=None,
            redo=None,
            replay=replay,
        )

    @property
    def live(self) -> bool:
        """Whether a run is under way, or is shown as it was while it was so."""
        return self.state is not None and self.state.live

    @property
    def locked(self) -> bool:
        """Whether work is under way that an edit would interfere with."""
        return self.live or self.busy

    @property
    def waits(self) -> bool:
        """Whether the newest run waits at a gate, also where the workflow was edited since."""
        return self.newest and self.state is not None and self.state.status == "paused"

    @property
    def asks(self) -> Mapping[int, int]:
        """The steps with a call that waits for a person's yes, each with its position in the newest run."""
        if not self.waits or self.replay is not None or self.state is None or self.head is None:
            return {}
        assert self.state.workflow is not None, "it ran"
        place = matching(self.state.workflow, self.head.workflow) if self.state.questions else {}
        return {place[at]: at for at in self.state.questions if at in place}

    @property
    def settings(self) -> Settings:
        """What the session asks of its Conductor."""
        return self.session.settings or Settings()

    @property
    def phase(self) -> tuple[object, ...]:
        """What a page was drawn for: where it differs from before, the whole page is drawn again."""
        records = (self.head, self.run, self.latest_plan)
        ids = tuple(None if record is None else record.id for record in records)
        replayed = None if self.replay is None else (self.replay.run, self.replay.playing)
        return (*ids, self.live, self.waits, self.planning is not None, self.busy, replayed)

    @property
    def _progress(self) -> tuple[object, ...]:
        """What decides the outlook of a session whose run is under way."""
        steps = () if self.state is None else tuple(step.status for step in self.state.steps)
        return self.phase, self.settings, steps

    @property
    def moves(self) -> bool:
        """Whether the view changes without a click: a run, or a replay that plays."""
        return self.live and (self.replay is None or self.replay.playing)

    @property
    def no_plan(self) -> Plan | None:
        """The newest plan where it gave nothing to act on and no run or edit followed it."""
        plan = self.latest_plan
        if plan is None or (plan.report is not None and plan.report.ok):
            return None
        after = [self.run.started_at] if self.run is not None else []
        after += [self.head.created_at] if self.head is not None else []
        return plan if all(plan.created_at >= at for at in after) else None

    @property
    def kept_answer(self) -> Plan | None:
        """The newest plan where it returns the answer of the run shown as it is."""
        plan = self.latest_plan
        if plan is None or plan.report is None or not plan.report.return_previous or self.run is None:
            return None
        return plan if plan.looks_back == self.run.id else None

    @property
    def as_run(self) -> bool:
        """Whether the current workflow is the one that was last run."""
        return self.head is not None and self.state is not None and self.state.is_run_of(self.head.workflow)

    @property
    def proceeds(self) -> bool:
        """Whether the next run passes the gates at which the newest one waits."""
        gates = self.state is not None and self.state.gates_reached
        return self.waits and bool(gates) and self.outlook is not None and bool(self.outlook.scope.passes)

    @property
    def next_run(self) -> str | None:
        """What *Continue*, *Go on* or *Rerun* calls, or None if nothing can be run."""
        again = "Continue" if self.proceeds else "Go on" if self.asks else "a rerun"
        return None if self.outlook is None else f"{again} calls {self.outlook.calls}"

    @property
    def is_up_to_date(self) -> bool:
        """Whether a rerun would do just what the newest run did: finish, on known outputs alone."""
        return (
            self.as_run
            and self.newest
            and self.state is not None
            and (self.state.status, self.state.whole) == ("finished", True)
            and self.outlook is not None
            and not (self.outlook.radius.runs or self.outlook.estimate.calls)
        )

    def outlooks(self, bench: Workbench, scopes: Sequence[RunScope]) -> dict[RunScope, Outlook]:
        """As `Running.outlooks`; several parts of a page ask for the same."""
        unknown = [scope for scope in scopes if scope not in self._outlooks]
        if unknown:
            self._outlooks.update(bench.running.outlooks(self.session.id, unknown))
        return {scope: self._outlooks[scope] for scope in scopes if scope in self._outlooks}

    @property
    def radius(self) -> BlastRadius | None:
        """Which steps the next run would call, by `outlook`."""
        return None if self.outlook is None else self.outlook.radius

    @property
    def pin_changed(self) -> frozenset[int]:
        """The pinned steps whose inputs are known to be others than those that their output answers."""
        return frozenset() if self.outlook is None else self.outlook.changed_pins


def _visible_run(runs: Sequence[RunRecord], head: Revision | None) -> RunRecord | None:
    live = (run for run in runs if run.status == "running")
    of_head = (run for run in runs if head is not None and run.revision == head.id)
    return next(chain(live, of_head, runs), None)


def _outlook(bench: Workbench, session: str) -> tuple[Outlook | None, str | None]:
    try:
        return bench.running.outlook(session), None
    except WorkflowError as error:
        return None, str(error)


def state_text(view: SessionView, *, now: float) -> str:
    """Of a session with a workflow; `now` is in Unix seconds."""
    if view.head is None:
        return ""
    parts: list[str] = []
    if view.live and view.state is not None:
        parts += ["running", progress_text(view.state, now=now)]
    elif view.planning is not None:
        parts.append("planning")
    elif view.as_run and view.state is not None:
        parts += [f"{run_label(view.state)}{_remainder(view, view.state)}", *_shortfall(view.state)]
        parts += used_of(view.state, view.plan).known_words
    elif view.outlook is not None:
        parts.append(view.outlook.sentence.removesuffix("."))
    # Last, as the end is what a narrow bar leaves out.
    if view.state is not None and view.as_run and view.state.round > 1:
        parts.append(f"round {view.state.round}")
    parts.append(view.head.workflow.topology)
    if view.head.origin != "conductor":
        came = "from the API" if view.session.origin == "api" else "imported"
        parts.append("edited" if view.head.origin == "human" else came)
    return " · ".join(parts)


def _remainder(view: SessionView, state: RunState) -> str:
    """Of a run that broke off: what was kept, and what the next one calls."""
    if state.status not in _BROKEN_OFF or view.next_run is None:
        return ""
    return f": {view.next_run}, {len(state.outputs)} of {len(state.steps)} kept"


def _shortfall(state: RunState) -> list[str]:
    """What a finished run did without: an answer does not show that steps it did not need have failed."""
    failed = state.counts["failed"]
    return [f"{quantity(failed, 'step')} failed"] if failed and state.status == "finished" else []


@dataclass(frozen=True, slots=True)
class Results:
    """The current state of an experiment: the run `base` that it is compared with, its trials, and the
    `states` of those that were begun, by their place; `right` is, in a search for the
    step, whether the answers of those are that have one. `failure` is why it was stopped early.
    """

    record: ExperimentRecord
    base: RunState
    trials: tuple[Trial, ...]
    states: Mapping[int, RunState]
    right: Mapping[int, bool]
    live: bool
    failure: str | None

    @classmethod
    def load(cls, bench: Workbench, record: ExperimentRecord, *, wait: bool = True) -> Results:
        """Without `wait` with those answers alone that were compared by now. Raises `StorageError` where the
        store cannot be read, and `WorkerError` where an answer cannot be compared.
        """
        live = bench.experiments.live(record.id)
        base = bench.state(bench.store.runs.find(record.base))
        states = bench.experiments.states(record.id)
        return cls(
            record=record,
            base=base,
            trials=trials_of(record.experiment, base.workflow) if base.workflow is not None else (),
            states=states,
            right=bench.experiments.right(record, states, wait=wait),
            live=record.id in bench.experiments.under_way(record.session),
            failure=live.failure if live is not None else None,
        )

    @property
    def used(self) -> Total:
        """What all trials together have used so far."""
        return sum((state.used for state in self.states.values()), NOTHING)
