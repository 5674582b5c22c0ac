"""`usage` of an answer in OpenAI's words: what the call took that gave it, beside it the sum of all calls.

Knows the setting that names the figure, and the states of runs; knows no request and no transport.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from conductor.errors import ServeError
from conductor.own_settings import setting
from conductor.runs.request import RequestState
from conductor.runs.state import RunState
from conductor.values.messages import NOTHING_USED, Usage
from conductor.values.provenance import LIKELY_CHARACTERS
from conductor.values.total import NOTHING, Total
from studio.api.answers.answer import Answer

VARIABLE = "CONDUCTOR_USAGE"
"""The setting: `answer`, also where it is not set, or `sum`."""


def shows_sum() -> bool:
    """Whether `usage` is the sum of all calls, and not of the one that gave the answer. Raises `ServeError`
    where the variable has another value.
    """
    text = setting(VARIABLE) or "answer"
    if text not in ("answer", "sum"):
        raise ServeError(f"{VARIABLE} is {text[:40]!r}; write answer or sum.")
    return text == "sum"


class _AnswerCall(NamedTuple):
    """What the call took that gave an answer. `is_new`: the request of the answer made it."""

    usage: Usage
    is_new: bool


def _answer_call(state: RequestState) -> _AnswerCall | None:
    run = state.run
    return None if run is None or run.answer_step is None else _call_of(run, run.answer_step, state.runs)


def _call_of(run: RunState, at: int, runs: Sequence[RunState]) -> _AnswerCall | None:
    """The last call of the step whose output the step `at` has, in whichever of the runs that is; None if no
    call gave it. Inside a Conductor's step it is the call that gave the answer there.
    """
    output = run.steps[at].output
    if output is None or output.hand is not None:
        return None
    origin = next((each for each in (run, *runs) if each.run == output.run), None)
    if origin is None or origin.workflow is None:
        return None if output.worker_kind == "offline" else _AnswerCall(output.usage, is_new=False)
    step = origin.steps[output.step]
    if step.inner:
        return _answer_call(RequestState(step.inner))
    if output.worker_kind == "offline":
        # A vote and a choice pass one of the texts on that they read.
        read = (each for each in origin.workflow.steps[output.step].access if origin.steps[each].output)
        same = [each for each in read if origin.steps[each].text == output.text]
        return _call_of(origin, same[0], runs) if same else None
    return _AnswerCall(step.charges[-1].usage if step.charges else output.usage, is_new=True)


def estimate(answer: Answer) -> tuple[int, int] | None:
    """The tokens of the question and of the answer by their lengths, where no call gave the answer: a
    built-in expert calculated it, or a person wrote it. None elsewhere, and where the sum is shown.
    """
    state, run = answer.state, answer.state.run
    if run is None or run.answer is None or _answer_call(state) is not None:
        return None
    if shows_sum() and state.called_a_model:
        return None
    read, written = (-(-len(text) // LIKELY_CHARACTERS) for text in (run.query, run.answer))
    return read, written


def chat_usage(*answers: Answer) -> dict[str, Any] | None:
    """`usage` of a chat completion with these answers; None if a part of the figure is unknown.

    Several answers have read one prompt, which counts once, as OpenAI counts it. OpenAI's clients accept null
    there, and calculate with the numbers where there is an object.
    """
    figures = [_figure(answer) for answer in answers]
    exact = [(read, written) for read, written in figures if read is not None and written is not None]
    if len(exact) < len(figures):
        return None
    read = sum(figure[0] for figure in exact) if shows_sum() else exact[0][0]
    written = sum(figure[1] for figure in exact)
    read_apart, written_apart = _orchestration(answers)
    used = sum((answer.state.used for answer in answers), NOTHING)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"orchestration_tokens": read_apart},
        "completion_tokens_details": {"orchestration_tokens": written_apart},
        "conductor": {
            "prompt_tokens": used.usage.prompt_tokens,
            "completion_tokens": used.usage.completion_tokens,
            "total_tokens": used.usage.total,
            **sum_of_calls(used, calls=sum(answer.state.calls for answer in answers)),
        },
    }


def _figure(answer: Answer) -> tuple[int | None, int | None]:
    """The tokens that `usage` shows of one answer, read and written; None for what is unknown."""
    if counts := estimate(answer):
        return counts
    if shows_sum():
        used = answer.state.usage if answer.state.called_a_model else Usage()
    else:
        call = _answer_call(answer.state)
        used = Usage() if call is None else call.usage
    return used.prompt_tokens, used.completion_tokens


def _orchestration(answers: Sequence[Answer]) -> tuple[int | None, int | None]:
    """The tokens read and written by all calls but those that gave the answers; None if unknown."""
    read, written = 0, 0
    for answer in answers:
        call, used = _answer_call(answer.state), answer.state.usage
        own = call.usage if call is not None and call.is_new else NOTHING_USED
        if used.total is None or own.total is None:
            return None, None
        read += (used.prompt_tokens or 0) - (own.prompt_tokens or 0)
        written += (used.completion_tokens or 0) - (own.completion_tokens or 0)
    return read, written


def response_usage(answer: Answer) -> dict[str, Any] | None:
    """`usage` of a response; see `chat_usage`.

    OpenAI's schema requires integers in the details. Cached and reasoning tokens are part of the figures and
    not counted apart, so those are 0.
    """
    used = chat_usage(answer)
    if used is None:
        return None
    read, written = used["prompt_tokens_details"], used["completion_tokens_details"]
    return {
        "input_tokens": used["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0, **read},
        "output_tokens": used["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0, **written},
        "total_tokens": used["total_tokens"],
        "conductor": _in_response_words(used["conductor"]),
    }


def _in_response_words(shape: dict[str, Any]) -> dict[str, Any]:
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
    return {
        names.get(name, name): _in_response_words(value) if isinstance(value, dict) else value
        for name, value in shape.items()
    }


def sum_of_calls(used: Total, *, calls: int) -> dict[str, Any]:
    """The sum of all calls: null is unknown, with `known` as its least; `cost` may be an upper bound."""
    usage = used.usage
    return {
        "calls": calls,
        "cost": usage.cost,
        "cost_at_most": usage.least_cost is not None,
        "known": tokens_and_cost(used.lower),
    }


def tokens_and_cost(usage: Usage) -> dict[str, Any]:
    """A usage as it stands in an answer; null is unknown."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        **({} if usage.least_cost is None else {"least_cost": usage.least_cost}),
    }
