"""`sessions show ID --step N`: what a step read and gave in a run."""

from __future__ import annotations

from collections.abc import Iterator

from conductor.errors import StorageError, WorkflowError
from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.text.formatting import duration
from conductor.values.messages import Request
from conductor.workflow.model import Step
from storage import RunRecord, SessionStore
from studio.cli.options import Stored
from studio.cli.output.shapes import Shape, usage_shape
from studio.cli.output.terminal import UNKNOWN, print_label, tokens_cell
from studio.sessions.sent_request import sent_request


def show_step(
    store: SessionStore, session: str, step: int, run: str | None, options: Stored, *, saw: bool
) -> int:
    """Print the step (from 0) of that run, None for the newest; with `saw` all that its worker was sent."""
    runs = store.runs.of_session(session)
    record = next((each for each in runs if run in (None, each.id)), None)
    if record is None:
        raise StorageError(
            f"The session {session[:8]} has no run {run}."
            if run else f"The session {session[:8]} has no run yet; run it: run --session {session[:8]}"
        )  # fmt: skip
    state = store.runs.state(record.id)
    if state.workflow is None or step >= len(state.workflow):
        steps = 0 if state.workflow is None else len(state.workflow)
        raise WorkflowError(f"There is no step {step + 1}; the run {record.id[:8]} has {steps}.", step=step)
    planned, done = state.workflow.steps[step], state.steps[step]
    request = sent_request(done, runs, lambda each: store.runs.state(each.id))
    if options.json:
        return options.show(_shape(record, step, planned, done, request))
    print_label(record.pool_label)
    return options.show(None, *_described(record, state, step, request, saw=saw))


def status_words(done: StepState) -> str:
    """Where a step is in a run, with its seconds."""
    words = done.reuse_origin or done.kept_because or done.status
    return words if done.seconds is None else f"{words}, {duration(done.seconds)}"


def _described(
    record: RunRecord, state: RunState, step: int, request: Request | None, *, saw: bool
) -> Iterator[str]:
    assert state.workflow is not None, "it has the step"
    planned, done = state.workflow.steps[step], state.steps[step]
    by = done.answered_by(planned.worker)
    worker = planned.worker if by == planned.worker else f"{by} in the place of {planned.worker}"
    yield f"Step {step + 1} of {len(state.workflow)}, run {record.id[:8]}"
    yield f"  worker   {worker}"
    yield f"  state    {status_words(done)}"
    yield f"  tokens   {UNKNOWN if done.reused else tokens_cell(done.used)}"
    yield f"\nInstruction\n{planned.instruction}"
    if request is None:
        yield "\nIts worker was sent nothing."
    elif saw:
        for message in request.messages:
            yield f"\nSent, as {message.role}\n{message.content}"
    else:
        for seen in request.seen:
            at = f"step {seen.step + 1}" + (f" of round {seen.round}" if seen.round else "")
            yield f"\nIt saw {at}, by {'a person' if seen.by_hand else seen.worker}\n{seen.response}"
    if done.reasoning:
        yield f"\nThoughts\n{done.reasoning}"
    if (failure := done.failure) is not None:
        yield f"\nWhy its worker gave no answer\n{failure}"
    text = done.text if done.output is None else done.output.text
    yield f"\nAnswer\n{text}" if text else "\nNo answer."


def _shape(record: RunRecord, step: int, planned: Step, done: StepState, request: Request | None) -> Shape:
    """`messages` and `seen` are null where nothing was sent, or it is not in this session; steps from 0."""
    return {
        "session": record.session,
        "run": record.id,
        "step": step,
        "worker": planned.worker,
        "answered_by": done.answered_by(planned.worker),
        "label": record.pool_label,
        "instruction": planned.instruction,
        "status": "reused" if done.reused else done.kept_because or done.status,
        "seen": request and [
            {"step": each.step, "round": each.round, "worker": each.worker, "response": each.response}
            for each in request.seen
        ],
        "messages": request and [
            {"role": message.role, "content": message.content} for message in request.messages
        ],
        "output": None if done.output is None else done.output.text,
        "reasoning": done.reasoning or None,
        "failure": done.failure,
        "usage": usage_shape(done.used),
        "seconds": done.seconds,
    }  # fmt: skip
