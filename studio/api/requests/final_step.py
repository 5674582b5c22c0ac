"""Applies a request to the step that gives its answer: a form, tools, sampling, eyes for its images.

Pure. Knows which workers take what; knows no backend and no limits of a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from conductor.errors import FormatError
from conductor.values.messages import FINE_SAMPLING, Sampling
from conductor.workers.protocol import WorkerCard, line_of
from conductor.workflow.model import Workflow
from studio.access.errors import ApiError
from studio.api.error_answers import unsupported
from studio.api.requests.request import Question

_NO_FINE = dict.fromkeys(FINE_SAMPLING)
_NO_OFFER = dict.fromkeys(("response_format", "tools", "logprobs"))


def check_seen(question: Question, cards: Sequence[WorkerCard]) -> None:
    """Raise `ApiError` where the question has images and none of these workers sees them."""
    if not question.history.pictures or any(card.vision for card in cards):
        return
    names = ", ".join(repr(card.name) for card in cards)
    sees = f"the worker {names} does not see" if len(cards) == 1 else f"none of the workers {names} sees"
    message = f"The messages have images, and {sees} them. Ask one that does: vision = true in the pool file."
    raise ApiError(message, code="no_vision")


def _called(cards: Mapping[str, WorkerCard], *names: str) -> list[WorkerCard]:
    """The cards of these workers and of their fallbacks in the pool."""
    return [cards[each] for each in dict.fromkeys(each for name in names for each in line_of(name, cards))]


def without_offer(workflow: Workflow) -> Workflow:
    """A stored workflow without what an earlier request offered and asked for: this one's client could do
    nothing with it.
    """
    own = workflow.steps[workflow.final].sampling
    bare = own.model_copy(update=_NO_OFFER)
    return workflow if bare == own else workflow.with_sampling(workflow.final, bare)


def finished(
    workflow: Workflow, sampling: Sampling, *, cards: Mapping[str, WorkerCard], question: Question
) -> Workflow:
    """The workflow as it runs. Raises `ApiError` as `with_sampling`, and where no step sees the images."""
    check_seen(question, _called(cards, *workflow.workers()))
    return with_sampling(workflow, sampling, cards=cards, question=question)


def with_sampling(
    workflow: Workflow, sampling: Sampling, *, cards: Mapping[str, WorkerCard], question: Question
) -> Workflow:
    """The workflow whose final step has this sampling where it is set, else its own.

    Raises `ApiError` if no worker that may answer takes one, or its output stands already and no worker is to
    give it the form that is asked for. What some of them do not take, these are not sent.
    """
    if sampling.unset:
        return workflow
    final = workflow.steps[workflow.final]
    if final.pin is not None and (question.form is not None or question.tools is not None):
        param = "tools" if question.form is None else question.form_parameter
        raise unsupported(param, "the output of the final step is pinned.")
    able = _called(cards, *final.workers)
    check_any_takes(sampling, able, question=question)
    takes = any(card.takes_sampling for card in able)
    usable = sampling if takes else sampling.model_copy(update=_NO_FINE)
    return workflow.with_sampling(workflow.final, final.sampling.model_copy(update=usable.parameters))


def check_any_takes(sampling: Sampling, cards: Sequence[WorkerCard], *, question: Question) -> None:
    """Raise `ApiError` unless a worker that may answer takes what is set."""
    who = (
        f"the worker {cards[0].name!r}, which gives the answer,"
        if len(cards) == 1
        else "no worker that may answer"
    )
    offered = {
        "response_format": question.form_parameter,
        "tools": "tools",
        "logprobs": question.logprobs_parameter,
    }
    for name, param in offered.items():
        alone = Sampling(**{name: getattr(sampling, name)})
        if all(card.refusal(alone) for card in cards):
            raise unsupported(param, f"{cards[0].refusal(alone)}.")
    plain = sampling.model_copy(update={**_NO_OFFER, **_NO_FINE})
    if not plain.unset and not any(card.takes_sampling for card in cards):
        param = "temperature" if sampling.temperature is not None else question.limit_parameter
        raise unsupported(param, f"{who} takes no sampling parameters.")


def with_effort(workflow: Workflow, effort: str, *, cards: Mapping[str, WorkerCard]) -> Workflow:
    """The workflow whose steps all think so hard, as far as their workers take sampling parameters."""
    for at, step in enumerate(workflow.steps):
        if any(card.takes_sampling for card in _called(cards, *step.workers)):
            sampling = step.sampling.model_copy(update={"reasoning_effort": effort})
            workflow = workflow.with_sampling(at, sampling)
    return workflow


async def check_form(question: Question) -> None:
    """Raise `ApiError` where no answer could have the form that is asked for."""
    if question.form is None:
        return
    if question.stops:
        raise unsupported("stop", "an answer of JSON ends where its JSON does.")
    try:
        from conductor.workers.endpoint.schema_check import check_schema  # noqa: PLC0415 - it brings jsonschema

        await asyncio.to_thread(check_schema, question.form)
    except FormatError as error:
        raise ApiError(str(error), param=question.form_parameter, code="invalid_schema") from None
