"""Notes on an answer: which worker gave it and for which, its kind where no model is called, whether it is
cut off. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from conductor.runs.state import RunState
from conductor.runs.step_state import StepState
from conductor.values.output import CUT_OFF, NO_ANSWER, Output


def said_by(worker: str, state: StepState) -> list[str]:
    """Notes for a text that a step of `worker` wrote."""
    if state.output is not None and state.output.hand is not None:
        return [worker, *by_hand(state.output)]
    stood_in = stand_in(worker, state)
    return [stood_in or worker, *_kind(state), *no_answer(state), *cut_off(state)]


def _kind(state: StepState) -> list[str]:
    """The kind of worker that wrote a text where that is no model; a person is of none."""
    by_person = state.output is not None and state.output.hand is not None
    return [] if by_person or state.worker_kind in (None, "model") else [str(state.worker_kind)]


def by_hand(output: Output | None) -> list[str]:
    """That a person wrote it, who and when; nothing where a worker did."""
    if output is None or output.hand is None:
        return []
    when = datetime.fromtimestamp(output.hand.at, tz=UTC).astimezone().strftime("%d %b %Y, %H:%M")
    return [f"edited by hand by {output.hand.by}, {when}"]


def stand_in(worker: str, state: StepState) -> str | None:
    """That another worker answered, None where the step's own did."""
    output = state.output
    if output is not None and output.instead_of is not None:
        return f"answered by {output.worker} in place of {output.instead_of}"
    return None if state.stand_in is None else f"answered by {state.stand_in} in place of {worker}"


def cut_off(state: StepState) -> list[str]:
    """The note for an answer that ended where its worker had no tokens left."""
    output = state.output
    return [CUT_OFF] if output is not None and output.cut_off else []


def no_answer(state: StepState) -> list[str]:
    """The note for a text in which a worker declines to answer."""
    return [NO_ANSWER] if state.status == "refused" else []


def answer_stand_in(state: RunState) -> list[str]:
    """The notes for a run's answer."""
    if state.workflow is None or state.answer_step is None:
        return []
    at = state.answer_step
    said = stand_in(state.workflow.steps[at].worker, state.steps[at])
    kept = ["pinned"] if state.steps[at].kept == "pinned" else []
    hand = by_hand(state.steps[at].output)
    ending = [*no_answer(state.steps[at]), *cut_off(state.steps[at])]
    return [*kept, *hand, *([] if said is None else [said]), *ending]


def answer_kind(state: RunState) -> list[str]:
    """The kind of worker that gave a run's answer where that is no model, in a pool that has others, too."""
    return [] if state.answer_step is None else _kind(state.steps[state.answer_step])
