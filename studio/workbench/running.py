"""Running the current workflow, and what a run of it would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.continuation import continuation, rerun
from conductor.engine.estimate import Estimate, estimate
from conductor.engine.schedule import BlastRadius, blast_radius, changed_pins
from conductor.errors import WorkflowError
from conductor.runs.scope import EDITED, RunScope
from conductor.runs.state import RunState
from conductor.text.formatting import quantity
from conductor.values.message_parts.tool_use import ToolDecision
from conductor.values.output import Output
from conductor.workflow.model import Workflow
from storage.records import RunRecord
from studio.sessions.background_runs import LiveRun
from studio.sessions.recorder import known_outputs
from studio.sessions.runner import Listener
from studio.workbench.bench import Bench

OUTDATED = (
    " Outputs that an earlier version stored are shown and not reused: it did not compare the whole requests."
)
"""For steps that run although they have an output."""

LOOKED_BACK = 20
"""Runs in which a step's last output, or a run to compare with, is looked for."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a run as far as `scope` will do, which covers that many `steps`.

    `radius` names the steps, `estimate` what those take that are called before the next gate. `changed_pins`
    are pinned steps whose inputs, as far as they are known, have changed since their output was given.
    """

    scope: RunScope
    steps: int
    radius: BlastRadius
    estimate: Estimate
    changed_pins: frozenset[int]

    @property
    def calls(self) -> str:
        """How many steps it calls, as in "3 steps now, 2 after the gate"."""
        now, behind = len(self.radius.called), len(self.radius.behind)
        count = quantity(now, "step") if now else "no step"
        return f"{count} now, {behind} after the gate" if behind else count

    @property
    def sentence(self) -> str:
        """What it does; estimates are marked with "~", what is unknown is left out."""
        radius, now = self.radius, len(self.radius.called)
        if not radius.runs and not self.estimate.calls:
            return "Nothing to run: every step's output is known."
        every = f"All {self.steps:,} steps will run" if self.steps > 1 else "The step will run"
        parts = [every if now == self.steps else f"{now:,} of {quantity(self.steps, 'step')} will run"]
        if radius.behind:
            parts = [f"{parts[0]} now", f"{len(radius.behind):,} after the gate"]
        if radius.reused:
            equal = f" ({len(radius.equal_steps)} of an equal step)" if radius.equal_steps else ""
            parts.append(f"{len(radius.reused):,} reused{equal}")
        if count := len(radius.kept_steps):
            changed = len(self.changed_pins)
            which = "" if changed == count else f"{changed} with "
            what = "as before" if self.scope.kind == "only" else "pinned"
            parts.append(f"{count} {what}" + (f" ({which}inputs changed)" if changed else ""))
        parts += self.estimate.words if self.estimate.calls else []
        if radius.doubts:
            step, doubt = next(iter(sorted(radius.doubts.items())))
            more = len(radius.doubts) - 1
            parts.append(f"step {step + 1} because {doubt}{f' (and {more} more)' if more else ''}")
        fewer = "; fewer if an output stays the same" if radius.spared else ""
        return f"{', '.join(parts)}{fewer}.{OUTDATED if radius.outdated else ''}"


class Running:
    """Running the current workflow, and what a run of it would do."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._bound: BoundWorkflow | None = None

    def outlook(
        self, session: str, scope: RunScope | None = None, *, workflow: Workflow | None = None
    ) -> Outlook:
        """What running the current workflow will do as far as `scope`, None: `next_scope`; or `workflow` in
        its place. Raises `WorkflowError` as `start`.
        """
        scope = self.next_scope(session) if scope is None else scope
        scope.check(workflow or self._bench.required_head(session).workflow)
        return self.outlooks(session, [scope], workflow=workflow)[scope]

    def outlooks(
        self, session: str, scopes: Sequence[RunScope], *, workflow: Workflow | None = None
    ) -> dict[RunScope, Outlook]:
        """What running the current workflow, or `workflow`, as far as each of `scopes` will do; those that
        cannot be are left out. Raises `WorkflowError` where a step's worker is not in the pool.
        """
        bound, head = self.bound_workflow(session, workflow), self._bench.required_head(session)
        runs = self._bench.store.runs
        before = 0 if head.looks_back is None else self._bench.state(runs.find(head.looks_back)).round
        plans_again = before + 1 < self._bench.settings(session).rounds
        last = runs.latest(session)
        old = self._bench.store.revisions.find(last.revision).workflow if last else None
        reusable, cards = known_outputs(self._bench.store, session), self._bench.pool.cards
        past = runs.outputs(session)
        by_scope: dict[RunScope, Outlook] = {}
        for scope in scopes:
            if scope.possible(bound.workflow):
                preloaded = self._preloaded(session, bound.workflow, scope)
                radius = blast_radius(old, bound, reusable, scope=scope, preloaded=preloaded)
                takes = estimate(bound, radius.called, past, cards=cards, outputs=radius.outputs)
                steps = len(scope.covers(bound.workflow))
                if plans_again and steps == len(bound.workflow) and not radius.behind:
                    takes = replace(takes, calls=takes.calls + 1, at_least=True)
                pins = changed_pins(bound, radius.outputs)
                by_scope[scope] = Outlook(scope, steps, radius, takes, pins)
        return by_scope

    def start(
        self, session: str, scope: RunScope | None = None, *, listen: Listener | None = None
    ) -> LiveRun:
        """Run the current workflow as far as `scope` (None: `next_scope`) in a new run; returns at once.

        Further rounds follow a whole run as the session's settings require. Raises `WorkflowError` when a
        step's worker is not in the pool, the session runs already, or `scope` names a step that cannot be
        run so.
        """
        head = self._bench.required_head(session)
        last = self._bench.store.runs.latest(session)
        if last is not None and self._bench.state(last).live:
            raise WorkflowError("This session is running already; stop that run first.")
        if scope is None:
            scope = self.next_scope(session)
        elif last is not None:
            scope = scope.with_grants(scope.grants or self._bench.state(last).scope.grants)
        scope.check(head.workflow)
        return self._bench.runner.begin_run(
            session,
            self._bench.request(session),
            revision=head,
            scope=scope,
            preloaded=self._preloaded(session, head.workflow, scope),
            listen=listen,
        )

    def next_scope(
        self, session: str, *, proceed: bool | None = None, decisions: Sequence[ToolDecision] = ()
    ) -> RunScope:
        """What *Continue* or *Rerun* does: pass the gates at which the session's newest run waits, as far as
        that run was to go, or run the current workflow. What that run finished is reused, and what it was to
        call again and did not is called. The `decisions` are of the calls of tools that it waits with.

        Where `proceed` is True, or with decisions, a run must wait, else `WorkflowError` is raised; False: no
        gate is passed.
        """
        proceed = True if decisions else proceed
        workflow, last = self._bench.required_head(session).workflow, self._bench.store.runs.latest(session)
        waits = last is not None and last.status == "paused"
        if proceed and not waits:
            raise WorkflowError("No run of this session waits at a gate; run its workflow instead.")
        state = None if last is None else self._bench.state(last)
        if state is not None and waits and proceed is not False:
            try:
                return continuation(state, workflow, decisions)
            except WorkflowError:  # the step that the run was for was removed
                if proceed:
                    raise
        return rerun(state, workflow)

    def waiting(self, session: str) -> RunState | None:
        """The session's newest run, if that waits for a person."""
        last = self._bench.store.runs.latest(session)
        return None if last is None or last.status != "paused" else self._bench.state(last)

    def stop(self, session: str) -> None:
        """As `stop_work`; a run that waits at a gate ends as stopped, too."""
        self.stop_work(session)
        last = self._bench.store.runs.latest(session)
        if last is not None and last.status == "paused":
            self._bench.store.runs.stop_waiting(last.id)

    def stop_work(self, session: str) -> None:
        """Stop the session's activity; finished results are kept. A run or a planning of another process is
        over within a second.
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

    def bound_workflow(self, session: str, workflow: Workflow | None = None) -> BoundWorkflow:
        """The current workflow, or `workflow`, set to the session's query. Raises `WorkflowError` as `start`
        does.
        """
        head = self._bench.required_head(session)
        record = self._bench.store.sessions.find(session)
        bound = BoundWorkflow.of(
            workflow or head.workflow,
            query=record.query,
            pool=self._bench.pool,
            previous=self._bench.runner.previous(head),
            conversation=record.earlier_conversation,
        )
        last = self._bound
        # Workflows that differ in their steps' lineage are equal, and take over other outputs.
        if last != bound or last.workflow.lineage != bound.workflow.lineage:
            self._bound = last = bound
        # The one of last time has the requests of its steps already.
        return last

    def last_outputs(self, session: str, workflow: Workflow) -> dict[int, Output]:
        """Each step's last output in this session, by position, for any input. Pinned outputs come before all
        others.
        """
        own = known_outputs(self._bench.store, session).own(workflow)
        return {at: outputs[0].output for at, outputs in enumerate(own) if outputs} | dict(workflow.pins)

    def recent_states(self, session: str) -> Iterator[tuple[RunRecord, RunState]]:
        """The session's last runs with their states, newest first."""
        for run in self._bench.store.runs.of_session(session)[:LOOKED_BACK]:
            yield run, self._bench.state(run)

    def unwritten(self, session: str, step: int, *, workflow: Workflow | None = None) -> Output:
        """An empty output for a step of the current workflow, or of `workflow`, that has none, for a person
        to write.

        Its fingerprint is "" where it is not known yet what the step will see.
        """
        bound = self.bound_workflow(session, workflow)
        outputs = self.outlook(session, EDITED, workflow=workflow).radius.outputs
        own = bound.workflow.steps[step]
        seen = all(read in outputs for read in own.access)
        return Output(
            fingerprint=bound.fingerprint(step, outputs) if seen else "",
            text="",
            worker=own.worker,
            worker_kind=self._bench.pool.cards[own.worker].kind,
            seconds=0.0,
            run="",
            step=step,
        )

    def _preloaded(self, session: str, workflow: Workflow, scope: RunScope) -> dict[int, Output]:
        return self.last_outputs(session, workflow) if scope.kind == "only" else {}
