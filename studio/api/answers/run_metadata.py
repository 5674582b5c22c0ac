"""The object `conductor` of an answer: how it was made. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conductor.runs.state import RunState, RunStatus
from conductor.runs.step_state import StepState
from conductor.values.messages import FINE_SAMPLING, NOTHING_USED
from conductor.workers.pool.pool import Pool
from conductor.workflow.file import Origin, write_plan
from conductor.workflow.model import Step
from studio.api.answers.answer import Answer
from studio.api.answers.answer_usage import estimate, sum_of_calls, tokens_and_cost
from studio.api.answers.choices import Choices
from studio.api.answers.followed_run import AnsweredRun
from studio.api.requests.request import ApiRequest

Shape = dict[str, Any]


def run_metadata(request: ApiRequest, ended: AnsweredRun) -> Shape:
    """The run, its workflow as in a workflow file, its steps, and what all calls used; None is unknown."""
    answer = ended.answer
    run = answer.state.run
    used = answer.state.used
    origin: Origin = "conductor" if answer.state.planned else "import"
    return {
        "session": ended.session,
        "continued": ended.continued,
        "run": None if run is None else run.run,
        "url": ended.url,
        "label": _label(run, ended.pool),
        "rounds": len(answer.state.runs),
        "workflow": None if run is None else _workflow(run, ended.pool, origin=origin),
        "steps": [] if run is None else _steps(run),
        "answered": run is not None and run.answered,
        "answer_step": None if run is None else run.answer_step,
        "waits_before": [] if run is None else list(run.gates_reached),
        "waits_with": [] if run is None else [each.shape for each in run.waiting_calls],
        "warning": warning_of(answer),
        "resumptions": 0 if run is None else run.scope.resumption,
        "tokens": used.usage.total,
        **sum_of_calls(used, calls=answer.state.calls),
        "counted": estimate(answer) is not None,
        "seconds": round(ended.seconds, 3),
        "without_effect": [*request.ignored, *_without_effect(request, ended)],
    }


def _label(run: RunState | None, pool: Pool) -> str | None:
    """The label of the workers that answered, or may answer."""
    return pool.label if run is None or run.workflow is None else pool.label_of(run.workflow, run)


def choices_metadata(request: ApiRequest, choices: Choices) -> Shape:
    """As `run_metadata` of the first answer, with what all answers used; `choices` has the run of each."""
    state, runs = choices.state, choices.runs
    return {
        **run_metadata(request, runs[0]),
        "choices": [_choice(each.answer) for each in runs],
        "tokens": state.usage.total,
        **sum_of_calls(state.used, calls=state.calls),
        "seconds": round(runs[0].seconds, 3),
    }


def _choice(answer: Answer) -> Shape:
    run = answer.state.run
    return {
        "run": None if run is None else run.run,
        "answer_step": None if run is None else run.answer_step,
        "answered": run is not None and run.answered,
        "warning": warning_of(answer),
    }


def _without_effect(request: ApiRequest, ended: AnsweredRun) -> list[str]:
    """The parameters that had none on what ran: fine ones where a worker computes its answer, names of
    speakers where more than a worker alone answers, and what its endpoint refused or did not give.
    """
    question, run, output = request.question, ended.answer.state.run, ended.answer.state.output
    worker = None if run is None or run.workflow is None else run.workflow.steps[run.workflow.final].worker
    card = ended.pool.cards.get(worker or "" if output is None else output.worker)
    lost = FINE_SAMPLING if card is not None and not card.takes_sampling else ()
    named = ["messages.name"] if request.names_speakers and not ended.answer.verbatim else []
    refused = () if output is None else output.left_out
    missing = question.logprobs is not None and output is not None and output.text and not output.logprobs
    tokens = (
        [question.logprobs_parameter, *(["top_logprobs"] if question.logprobs else [])] if missing else []
    )
    ignored = [
        name
        for name in (*lost, *refused)
        if name != "reasoning_effort" and getattr(request, name, None) is not None
    ]
    return [*ignored, *_effort(request, run), *_members(request, ended), *named, *tokens]


def _effort(request: ApiRequest, run: RunState | None) -> list[str]:
    """The effort that workers were to make, where no worker takes one or an endpoint refused it."""
    if request.workers_effort is None or run is None or run.workflow is None:
        return []
    has_effort = any(step.sampling.reasoning_effort is not None for step in run.workflow.steps)
    outputs = [step.output for step in run.steps if step.output is not None]
    refused = any("reasoning_effort" in output.left_out for output in outputs)
    return [request.effort_parameter] if refused or not has_effort else []


def _members(request: ApiRequest, ended: AnsweredRun) -> list[str]:
    """The members of messages, thoughts and signatures, that the endpoint of a worker alone refused."""
    output, place = ended.answer.state.output, request.query_parameter
    left_out = () if output is None or not ended.answer.verbatim else output.left_out
    return [f"{place}.{name.removeprefix('messages.')}" for name in left_out if name.startswith("messages.")]


_ENDS: Mapping[RunStatus, str] = {
    "cancelled": "was stopped",
    "interrupted": "was interrupted",
    "over_budget": "was stopped at its budget",
    "paused": "waits for a person",
}


def warning_of(answer: Answer) -> str | None:
    """A warning where the answer is not the final step's, or a later round was not finished."""
    run = answer.state.run
    warnings = [] if run is None or run.warning is None else [run.warning]
    if run is not None and run is not answer.state.runs[-1]:
        ended = _ENDS.get(answer.state.runs[-1].status, answer.state.runs[-1].status)
        warnings.append(
            f"Round {answer.state.runs[-1].round} {ended}; this is the answer of round {run.round}."
        )
    elif run is not None and answer.state.failure is not None:
        warnings.append(f"Another round was not planned: {answer.state.failure}")
    return " ".join(warnings) or None


def _workflow(run: RunState, pool: Pool, *, origin: Origin) -> Shape | None:
    if run.workflow is None:
        return None
    # Of the pool, no other names: the token may be for these workers only.
    named = run.workflow.workers()
    written = write_plan(run.workflow, query=run.query, origin=origin, workers=named, label=pool.label)
    shape: Shape = json.loads(written)
    return shape


def _steps(run: RunState) -> list[Shape]:
    steps = run.workflow.steps if run.workflow is not None else ()
    return [_step(at, own, done) for at, (own, done) in enumerate(zip(steps, run.steps, strict=True))]


def _step(at: int, own: Step, done: StepState) -> Shape:
    return {
        "step": at,
        "worker": own.worker,
        "stand_in": done.stand_in,
        "failure": done.failure,
        "kind": done.worker_kind,
        "status": done.status,
        "answered": done.status == "finished",
        "reused": done.reused or done.kept_because is not None,
        "usage": tokens_and_cost(done.usage if done.started_at is not None else NOTHING_USED),
        "seconds": None if done.seconds is None else round(done.seconds, 3),
        "message": done.message,
    }
