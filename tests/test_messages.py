"""Requests give back what they were made of, and unknown tokens stay unknown."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from conductor.messages import Message, Part, Request, Sampling, SeenResponse, Usage


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        (Usage(prompt_tokens=3, completion_tokens=4), Usage(prompt_tokens=10, completion_tokens=20), 37),
        (Usage(prompt_tokens=3, completion_tokens=4), Usage(prompt_tokens=1), None),
        (Usage(), Usage(), None),
        (Usage(prompt_tokens=0, completion_tokens=0), Usage(prompt_tokens=0, completion_tokens=0), 0),
    ],
)
def test_a_sum_with_an_unknown_number_is_unknown(left: Usage, right: Usage, total: int | None) -> None:
    assert (left + right).total == total


def test_only_the_unknown_part_of_a_sum_is_unknown() -> None:
    assert Usage(prompt_tokens=3, completion_tokens=4) + Usage(prompt_tokens=1) == Usage(prompt_tokens=4)


def test_a_message_is_its_parts_one_after_another() -> None:
    parts = (Part(kind="frame", text="Q: "), Part(kind="query", text="why?"))
    assert Message(role="user", parts=parts).content == "Q: why?"


def test_a_request_tells_the_query_the_task_and_what_was_seen_apart() -> None:
    parts = (
        Part(kind="query", text="why?"),
        Part(kind="subtask", text="plan", step=0, worker="alpha"),
        Part(kind="response", text="a plan", step=0, worker="alpha"),
        Part(kind="subtask", text="plan", step=2, worker="beta"),
        Part(kind="response", text="another", step=2, worker="beta"),
        Part(kind="instruction", text="merge"),
    )
    request = Request(messages=(Message(role="user", parts=parts),))
    assert (request.query, request.instruction) == ("why?", "merge")
    assert request.seen == (
        SeenResponse(step=0, worker="alpha", instruction="plan", response="a plan"),
        SeenResponse(step=2, worker="beta", instruction="plan", response="another"),
    )
    kept = TypeAdapter(Request)
    assert kept.validate_json(kept.dump_json(request)) == request


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -0.1}, {"temperature": 2.1}, {"temperature": "1"}, {"max_tokens": 0}, {"top": 1}],
)
def test_sampling_that_means_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Sampling.model_validate(wrong)
