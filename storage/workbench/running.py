"""Running the current workflow, and what a run of it would do."""

from __future__ import annotations

from collections.abc import Sequence

from conductor.background import LiveRun
from conductor.engine.assignment import Assignment
from conductor.engine.extent import EDITED, Extent
from conductor.errors import WorkflowError
from conductor.output import Output
from conductor.run_state import RunState
from conductor.workflow import Step, Workflow
from storage.call import Listener
from storage.outlook import Outlook, Resumption, outlook
from storage.workbench.bench import LOOKED_BACK, Bench


class Running(Bench):
    """Running the current workflow, and what a run of it would do."""

    def outlook(self, session: str) -> Outlook:
        """What running the current workflow will do. Raises `WorkflowError` as `start`."""
        return self.outlooks(session, [EDITED])[EDITED]

    def outlooks(self, session: str, extents: Sequence[Extent]) -> dict[Extent, Outlook]:
        """What running the current workflow as far as each of `extents` will do; those that cannot be are
        left out. Raises `WorkflowError` where a step's worker is not in the pool.
        """
        assignment = self.assignment(session)
        last = self.store.latest_run(session)
        old = self.store.revision(last.revision).workflow if last else None
        outputs = self.store.outputs(session)
        return {
            extent: outlook(
                assignment,
                old=old,
                outputs=outputs,
                extent=extent,
                preloaded=self._preloaded(session, assignment.workflow, extent),
            )
            for extent in extents
            if extent.possible(assignment.workflow)
        }

    def resumption(self, session: str, extent: Extent = EDITED) -> Resumption | None:
        """What a run of the current workflow keeps where the session's newest run did not come to its end.

        None where it did, or nothing would be kept. Raises `WorkflowError` as `start` does.
        """
        last = self.store.latest_run(session)
        if last is None or last.status in ("running", "finished"):
            return None
        workflow = self.required_head(session).workflow
        extent.check(workflow)
        return self.outlooks(session, [extent])[extent].resumption(extent.covers(workflow))

    def start(self, session: str, extent: Extent = EDITED, *, listen: Listener | None = None) -> LiveRun:
        """Run the current workflow as far as `extent` in a run of its own; returns at once.

        Further rounds follow a whole run by themselves as the session's settings say. Raises `WorkflowError`
        when a step's worker is not in the pool, the session runs already, or `extent` names a step that
        cannot be run so.
        """
        head = self.required_head(session)
        last = self.store.latest_run(session)
        if last is not None and self.state(last).live:
            raise WorkflowError("This session is running already; stop that run first.")
        extent.check(head.workflow)
        return self.conducting.begin_run(
            session,
            settings=self.settings(session),
            extent=extent,
            preloaded=self._preloaded(session, head.workflow, extent),
            listen=listen,
        )

    def stop(self, session: str) -> None:
        """Stop what goes on in the session; what is done is kept.

        A run of another process is over within a second; its planning is that process's own matter.
        """
        self.conducting.stop(session)
        last = self.store.latest_run(session)
        if last is None:
            return
        if self.runs_here(last):
            self.background.cancel(last.id)
        elif last.status == "running":
            self.store.ask_to_stop(last.id)

    def assignment(self, session: str) -> Assignment:
        """The current workflow set to the session's query. Raises `WorkflowError` as `start` does."""
        head = self.required_head(session)
        asked = self.store.session(session)
        return Assignment.of(
            head.workflow,
            query=asked.query,
            pool=self.pool,
            previous=self.conducting.previous(head),
            conversation=asked.said_before,
        )

    def last_outputs(self, session: str, workflow: Workflow) -> dict[int, Output]:
        """What each step of `workflow` last gave in this session, by position, whatever it was asked.

        A step is known again by its instruction and its worker, else by its place in a workflow of as many
        steps. Pinned outputs count before all others.
        """
        found: dict[int, Output] = dict(workflow.pins)
        for run in self.store.runs(session)[:LOOKED_BACK]:
            state = self.state(run)
            if len(found) == len(workflow) or state.workflow is None:
                break
            for at, step in enumerate(workflow.steps):
                output = None if at in found else _same_step(step, at, len(workflow), state)
                if output is not None:
                    found[at] = output
        return found

    def unwritten(self, session: str, step: int) -> Output:
        """An empty output for a step of the current workflow that has none, for a person to write.

        Its fingerprint is "" where it is not known yet what the step will see.
        """
        assignment = self.assignment(session)
        known = self.outlook(session).radius.known
        own = assignment.workflow.steps[step]
        seen = all(read in known for read in own.access)
        return Output(
            fingerprint=assignment.fingerprint(step, known) if seen else "",
            text="",
            worker=own.worker,
            worker_kind=self.pool.cards[own.worker].kind,
            seconds=0.0,
            run="",
            step=step,
        )

    def _preloaded(self, session: str, workflow: Workflow, extent: Extent) -> dict[int, Output]:
        return self.last_outputs(session, workflow) if extent.kind == "only" else {}


def _same_step(step: Step, at: int, steps: int, state: RunState) -> Output | None:
    """The output in `state` of the step that is `step` (at `at` of `steps`) again; None where it has none."""
    if state.workflow is None:
        return None
    named = (step.instruction, step.worker)
    for earlier, done in zip(state.workflow.steps, state.steps, strict=True):
        if (earlier.instruction, earlier.worker) == named and done.output is not None:
            return done.output
    return state.steps[at].output if len(state.steps) == steps else None
