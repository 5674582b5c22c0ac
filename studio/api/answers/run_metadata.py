"""The object `conductor` of an answer: how it was made; and `usage` in OpenAI's words. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conductor.runs.state import RunState, RunStatus
from conductor.runs.step_state import StepState
from conductor.values.messages import FINE_SAMPLING, NOTHING_USED, Usage
from conductor.values.output import Output
from conductor.values.provenance import LIKELY_CHARACTERS
from conductor.workers.pool.pool import Pool
from conductor.workflow.file import Origin, write_plan
from conductor.workflow.model import Step
from studio.api.answers.answer import Answer
from studio.api.answers.answered_run import AnsweredRun
from studio.api.answers.choices import Choices
from studio.api.requests.request import ApiRequest

Shape = dict[str, Any]


def run_metadata(request: ApiRequest, ended: AnsweredRun) -> Shape:
    """The run, its workflow as in a workflow file, its steps, and what all calls used; None is unknown."""
    answer = ended.answer
    run = answer.state.run
    usage = answer.state.usage
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
        "waits_before": [] if run is None else list(run.held),
        "warning": warning_of(answer),
        "calls": answer.state.calls,
        "tokens": usage.total,
        "cost": usage.cost,
        "cost_at_most": usage.least_cost is not None,
        "known": _used(answer.state.used.lower),
        "counted": _token_estimate(answer) is not None,
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
        "calls": state.calls,
        "tokens": state.usage.total,
        "cost": state.usage.cost,
        "cost_at_most": state.usage.least_cost is not None,
        "known": _used(state.used.lower),
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
    "paused": "waits at a gate",
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
        "usage": _used(done.usage if done.started_at is not None else NOTHING_USED),
        "seconds": None if done.seconds is None else round(done.seconds, 3),
        "message": done.message,
    }


def _used(usage: Usage) -> Shape:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        **({} if usage.least_cost is None else {"least_cost": usage.least_cost}),
    }


# -- in OpenAI's words -----------------------------------------------------------------------------


def orchestration(answer: Answer) -> tuple[int, int] | None:
    """The tokens read and written by all calls but the one that gave the answer; None if unknown."""
    usage, own = answer.state.usage, _own(answer.state.output, answer.state.run)
    read, written = usage.prompt_tokens, usage.completion_tokens
    if read is None or written is None or own.prompt_tokens is None or own.completion_tokens is None:
        return None
    return read - own.prompt_tokens, written - own.completion_tokens


def _own(output: Output | None, run: RunState | None) -> Usage:
    """What the answer's own call used in this request; a reused answer used nothing."""
    if output is None or run is None or output.run != run.run or output.worker_kind == "offline":
        return NOTHING_USED
    return output.usage


def chat_usage(*answers: Answer) -> Shape | None:
    """`usage` of a chat completion with these answers; None if that of one is unknown."""
    usages = [used for answer in answers if (used := _chat_usage(answer)) is not None]
    if len(usages) < len(answers):
        return None
    read, written = (sum(used[name] for used in usages) for name in ("prompt_tokens", "completion_tokens"))
    apart = [
        sum(used[f"{name}_tokens_details"]["orchestration_tokens"] for used in usages)
        for name in ("prompt", "completion")
    ]
    return _shape(read, written, apart=(apart[0], apart[1]))


def _chat_usage(answer: Answer) -> Shape | None:
    """Of one answer: all calls together; None if a call's usage is unknown, or none ended.

    Where workers that call no model alone answered, it is what was counted of the question and the answer.
    OpenAI's clients accept null there, and calculate with the numbers where there is an object.
    """
    if counts := _token_estimate(answer):
        read, written = counts
        return _shape(read, written, apart=(0, 0))
    usage, apart = answer.state.usage, orchestration(answer)
    if usage.total is None or apart is None or not answer.state.called_a_model:
        return None
    assert usage.prompt_tokens is not None
    assert usage.completion_tokens is not None
    return _shape(usage.prompt_tokens, usage.completion_tokens, apart=apart)


def _shape(read: int, written: int, *, apart: tuple[int, int]) -> Shape:
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"orchestration_tokens": apart[0]},
        "completion_tokens_details": {"orchestration_tokens": apart[1]},
    }


def _token_estimate(answer: Answer) -> tuple[int, int] | None:
    """The tokens of the question and of the answer by their lengths, where no model was called.

    None as well if an output was there before.
    """
    run = answer.state.run
    if run is None or run.answer is None or answer.state.called_a_model:
        return None
    worked = [step for step in run.steps if step.output is not None]
    if not worked or any(
        step.worker_kind != "offline" or step.reused or step.kept_because for step in worked
    ):
        return None
    read, written = (-(-len(text) // LIKELY_CHARACTERS) for text in (run.query, run.answer))
    return read, written


def response_usage(answer: Answer) -> Shape | None:
    """`usage` of a response; see `chat_usage`.

    OpenAI's schema requires integers in the details. Cached and reasoning tokens are part of the sums and not
    counted apart, so those are 0.
    """
    used = chat_usage(answer)
    if used is None:
        return None
    read: Mapping[str, Any] = used["prompt_tokens_details"]
    written: Mapping[str, Any] = used["completion_tokens_details"]
    return {
        "input_tokens": used["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0, **read},
        "output_tokens": used["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0, **written},
        "total_tokens": used["total_tokens"],
    }
