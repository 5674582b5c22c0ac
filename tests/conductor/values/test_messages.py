"""Requests give back what they were made of, and unknown tokens stay unknown."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, asdict

import pytest
from pydantic import TypeAdapter, ValidationError

from conductor.values.messages import NOTHING_USED, Message, Part, Request, Sampling, SeenResponse, Usage


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


@pytest.mark.parametrize(
    ("left", "right", "least"),
    [
        (Usage(cost=3, least_cost=1), Usage(cost=4, least_cost=2), 3),
        (Usage(cost=3, least_cost=1), Usage(cost=4), 5),
        (Usage(cost=3), Usage(cost=4, least_cost=2), 5),
        (Usage(cost=3, least_cost=0), Usage(cost=4), 4),
        (Usage(cost=3), Usage(cost=4), None),
        (Usage(cost=3, least_cost=1), Usage(), None),
        (Usage(), Usage(cost=4, least_cost=2), None),
        (NOTHING_USED, Usage(cost=4, least_cost=2), 2),
        (Usage(cost=4, least_cost=2), NOTHING_USED, 2),
    ],
)
def test_a_sum_has_a_lower_bound_where_a_part_has_one(left: Usage, right: Usage, least: float | None) -> None:
    assert (left + right).least_cost == least


def test_what_an_endpoint_reported_is_of_one_call_and_in_no_sum_of_several() -> None:
    call = Usage(prompt_tokens=3, completion_tokens=4, cost=2, reported_total=8, reported_cost=2)
    assert NOTHING_USED + call == call
    for total in (call + call, call + Usage(cost=2), Usage(cost=2) + call, sum([call, call], NOTHING_USED)):
        assert (total.cost, total.reported_total, total.reported_cost) == (4, None, None)


def test_what_was_not_reported_is_not_written() -> None:
    assert not {"least_cost", "reported_total", "reported_cost"} & Usage(cost=1).model_dump().keys()


def test_a_message_is_its_parts_one_after_another() -> None:
    parts = (Part(kind="frame", text="Q: "), Part(kind="query", text="why?"))
    assert Message(role="user", parts=parts).content == "Q: why?"


def test_a_request_shows_the_query_the_task_and_what_was_seen_apart() -> None:
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
    adapter = TypeAdapter(Request)
    assert adapter.validate_json(adapter.dump_json(request)) == request


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": -0.1}, {"temperature": 2.1}, {"temperature": "1"}, {"max_tokens": 0}, {"top": 1}],
)
def test_sampling_that_means_nothing_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Sampling.model_validate(wrong)


def test_sampling_is_unset_until_any_of_it_is_set() -> None:
    assert Sampling().unset
    some = {
        "temperature": 0.0,
        "max_tokens": 1,
        "response_format": {"type": "json_object"},
        "seed": 0,
        "top_p": 0.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "tools": {"tools": [{"name": "weather"}]},
        "logprobs": 0,
        "reasoning_effort": "low",
    }
    assert some.keys() == Sampling.model_fields.keys()
    assert not any(Sampling.model_validate({name: value}).unset for name, value in some.items())


def test_a_steps_own_sampling_goes_before_the_workers() -> None:
    defaults = Sampling(temperature=0.7, max_tokens=100)
    assert Sampling().over(defaults) == defaults
    assert Sampling(temperature=0.0).over(defaults) == Sampling(temperature=0.0, max_tokens=100)
    assert Sampling(temperature=0.0, max_tokens=5).over(defaults) == Sampling(temperature=0.0, max_tokens=5)


def test_a_part_cannot_be_changed_and_has_the_fields_it_was_given() -> None:
    fields: dict[str, object] = {
        "kind": "response", "text": "a", "step": 1, "worker": "w", "round": 2, "by_hand": True
    }  # fmt: skip
    part = Part(**fields)  # type: ignore[arg-type]
    assert asdict(part) == fields
    with pytest.raises(FrozenInstanceError):
        part.text = "b"  # type: ignore[misc]


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": [], "sent": 1},
        {"messages": [{"role": "user", "parts": [], "nickname": "me"}]},
        {"messages": [{"role": "nobody", "parts": []}]},
        {"messages": [{"role": "user", "parts": [{"kind": "smell", "text": "a"}]}]},
    ],
)
def test_a_kept_request_of_another_form_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Request).validate_python(wrong)
