"""Running the current workflow, and what a run of it would do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.continuation import continuation
from conductor.engine.estimate import Estimate, estimate
from conductor.engine.schedule import BlastRadius, blast_radius, changed_pins
from conductor.errors import WorkflowError
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState
from conductor.values.output import Output
from conductor.workflow.model import Step, Workflow
from storage.records import RunRecord
from studio.sessions.background_runs import LiveRun
from studio.sessions.runner import Listener
from studio.workbench.bench import Bench

LOOKED_BACK = 20
"""Runs in which a step's last output, or a run to compare with, is looked for."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """`radius` names the steps, `estimate` what they will probably take. `changed_pins` are pinned steps
    whose inputs, as far as they are known, have changed since their output was given.
    """

    radius: BlastRadius
    estimate: Estimate
    changed_pins: frozenset[int]

    def resumption(self, covers: Collection[int]) -> Resumption | None:
        """What a run of these steps reuses of one that broke off; None where it reuses nothing."""
        kept = sum(step in self.radius.known for step in covers)
        return Resumption(kept=kept, steps=len(covers)) if kept else None


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a run reuses of one that broke off: how many of the steps have their output already."""

    kept: int
    steps: int

    @property
    def words(self) -> str:
        """After "Resumes:"."""
        verb = "is" if self.kept == 1 else "are"
        return f"{self.kept} of {self.steps} steps {verb} kept" if self.steps > 1 else "its step is kept"


class Running:
    """Running the current workflow, and what a run of it would do."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def outlook(self, session: str) -> Outlook:
        """What running the current workflow will do. Raises `WorkflowError` as `start`."""
        return self.outlooks(session, [EDITED])[EDITED]

    def outlooks(self, session: str, scopes: Sequence[RunScope]) -> dict[RunScope, Outlook]:
        """What running the current workflow as far as each of `scopes` will do; those that cannot be are
        left out. Raises `WorkflowError` where a step's worker is not in the pool.
        """
        bound = self.bound_workflow(session)
        last = self._bench.store.runs.latest(session)
        old = self._bench.store.revisions.find(last.revision).workflow if last else None
        outputs, cards = self._bench.store.runs.outputs(session), self._bench.pool.cards
        found: dict[RunScope, Outlook] = {}
        for scope in scopes:
            if scope.possible(bound.workflow):
                preloaded = self._preloaded(session, bound.workflow, scope)
                radius = blast_radius(old, bound, outputs, scope=scope, preloaded=preloaded)
                takes = estimate(bound, radius.runs, outputs.values(), cards=cards, known=radius.known)
                found[scope] = Outlook(radius, takes, changed_pins(bound, radius.known))
        return found

    def resumption(self, session: str, scope: RunScope = EDITED) -> Resumption | None:
        """What a run of the current workflow reuses where the session's newest run did not come to its end.

        None where it did, or nothing would be reused. Raises `WorkflowError` as `start` does.
        """
        last = self._bench.store.runs.latest(session)
        if last is None or last.status in ("running", "finished"):
            return None
        workflow = self._bench.required_head(session).workflow
        scope.check(workflow)
        return self.outlooks(session, [scope])[scope].resumption(scope.covers(workflow))

    def start(self, session: str, scope: RunScope = EDITED, *, listen: Listener | None = None) -> LiveRun:
        """Run the current workflow as far as `scope` in a new run; returns at once.

        Further rounds follow a whole run as the session's settings require. Raises `WorkflowError` when a
        step's worker is not in the pool, the session runs already, or `scope` names a step that cannot be
        run so.
        """
        head = self._bench.required_head(session)
        last = self._bench.store.runs.latest(session)
        if last is not None and self._bench.state(last).live:
            raise WorkflowError("This session is running already; stop that run first.")
        scope.check(head.workflow)
        return self._bench.runner.begin_run(
            session,
            self._bench.request(session),
            revision=head,
            scope=scope,
            preloaded=self._preloaded(session, head.workflow, scope),
            listen=listen,
        )

    def waiting(self, session: str) -> RunState | None:
        """The session's newest run where it waits at gates, else None."""
        last = self._bench.store.runs.latest(session)
        return None if last is None or last.status != "paused" else self._bench.state(last)

    def way_on(self, session: str) -> RunScope:
        """What `start` is to do to pass the gates at which the session's newest run waits: the current
        workflow as far as that run was to go.

        What that run finished is reused, also where it was to call every step. Raises `WorkflowError` where
        no run waits.
        """
        paused = self.waiting(session)
        if paused is None:
            raise WorkflowError("No run of this session waits at a gate; run its workflow instead.")
        return continuation(paused, self._bench.required_head(session).workflow)

    def stop(self, session: str) -> None:
        """Stop the session's activity; finished results are kept. A run that waits at a gate ends as stopped.

        A run or a planning of another process is over within a second.
        """
        if self._bench.activities.busy(session):
            self._bench.activities.stop(session)
        else:
            self._bench.store.processes.ask_to_stop_planning(session)
        last = self._bench.store.runs.latest(session)
        if last is None:
            return
        if self._bench.runs_here(last):
            self._bench.background.cancel(last.id)
        elif last.status == "running":
            self._bench.store.processes.ask_to_stop(last.id)
        elif last.status == "paused":
            self._bench.store.runs.stop_waiting(last.id)

    def bound_workflow(self, session: str) -> BoundWorkflow:
        """The current workflow set to the session's query. Raises `WorkflowError` as `start` does."""
        head = self._bench.required_head(session)
        asked = self._bench.store.sessions.find(session)
        return BoundWorkflow.of(
            head.workflow,
            query=asked.query,
            pool=self._bench.pool,
            previous=self._bench.runner.previous(head),
            conversation=asked.earlier_conversation,
        )

    def last_outputs(self, session: str, workflow: Workflow) -> dict[int, Output]:
        """Each step's last output in this session, by position, for any input.

        A step is recognised by its instruction and its worker, else by its position in a workflow of as many
        steps. Pinned outputs come before all others.
        """
        found: dict[int, Output] = dict(workflow.pins)
        for _, state in self.recent_states(session):
            if len(found) == len(workflow) or state.workflow is None:
                break
            for at, step in enumerate(workflow.steps):
                output = None if at in found else _same_step(step, at, len(workflow), state)
                if output is not None:
                    found[at] = output
        return found

    def recent_states(self, session: str) -> Iterator[tuple[RunRecord, RunState]]:
        """The session's last runs with their states, newest first."""
        for run in self._bench.store.runs.of_session(session)[:LOOKED_BACK]:
            yield run, self._bench.state(run)

    def unwritten(self, session: str, step: int) -> Output:
        """An empty output for a step of the current workflow that has none, for a person to write.

        Its fingerprint is "" where it is not known yet what the step will see.
        """
        bound = self.bound_workflow(session)
        known = self.outlook(session).radius.known
        own = bound.workflow.steps[step]
        seen = all(read in known for read in own.access)
        return Output(
            fingerprint=bound.fingerprint(step, known) if seen else "",
            text="",
            worker=own.worker,
            worker_kind=self._bench.pool.cards[own.worker].kind,
            seconds=0.0,
            run="",
            step=step,
        )

    def _preloaded(self, session: str, workflow: Workflow, scope: RunScope) -> dict[int, Output]:
        return self.last_outputs(session, workflow) if scope.kind == "only" else {}


def _same_step(step: Step, at: int, steps: int, state: RunState) -> Output | None:
    """The output in `state` of the step that is `step` (at `at` of `steps`) again; None where it has none."""
    if state.workflow is None:
        return None
    named = (step.instruction, step.worker)
    for earlier, done in zip(state.workflow.steps, state.steps, strict=True):
        if (earlier.instruction, earlier.worker) == named and done.output is not None:
            return done.output
    return state.steps[at].output if len(state.steps) == steps else None
