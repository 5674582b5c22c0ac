"""A served model plans: held to the strictest constraint that its endpoint takes, and saying so otherwise."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest
from fake_openai import FakeOpenAI, Served, serving
from raw_endpoint import DONE, chunk, raw_endpoint, replies

from conductor.errors import WorkerError
from conductor.planner.model_planner import ModelConductor
from conductor.planner.parsing.parse import parse
from conductor.planner.planner import plan
from conductor.planner.prompt.structured_output import MAX_REGEX_STEPS
from conductor.planner.protocol import Asked, PlanRequest
from conductor.runs.events import PlanRejected, WorkflowPlanned
from conductor.values.messages import Completion, Delta, Retried, Thought
from conductor.workers.endpoint.client import ChatItem
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.pool.schema import ConductorTable, Constrain
from conductor.workers.protocol import Price, PromptStyle, WorkerCard
from conductor.workflow.plan_report import Dialect, PlanProblem, PlanReport

CARDS = tuple(
    WorkerCard(name=name, kind="model", strengths="much", model=name) for name in ("gpt", "gemini", "claude")
)
REQUEST = PlanRequest(query="why is the sky blue?", workers=CARDS)


def conductor(
    base_url: str,
    model: str = "simulated",
    *,
    constrain: Constrain = "auto",
    dialect: Dialect = "any",
    prompt_style: PromptStyle = "ours",
    room_to_think: bool = True,
    retries: int = 3,
    **more: Any,
) -> ModelConductor:
    entry = ConductorTable(
        base_url=base_url,
        model=model,
        retries=retries,
        total_seconds=20,
        dialect=dialect,
        prompt_style=prompt_style,
        constrain=constrain,
        **more,
    )
    return ModelConductor(entry, room_to_think=room_to_think)


async def items_of(model: ModelConductor, request: PlanRequest = REQUEST) -> list[ChatItem]:
    return [item async for item in model.stream(request) if not isinstance(item, Asked)]


def end_of(items: list[ChatItem]) -> Completion:
    assert isinstance(items[-1], Completion)
    return items[-1]


def retried(items: list[ChatItem]) -> list[Retried]:
    return [item for item in items if isinstance(item, Retried)]


def bodies(served: Served) -> list[dict[str, Any]]:
    """What was asked for as chat completions, in order."""
    return [entry.body or {} for entry in served.log.entries if entry.path.endswith("/chat/completions")]


def held(body: dict[str, Any]) -> str:
    """Which constraint a body has."""
    return "regex" if "structured_outputs" in body else "json" if "response_format" in body else "none"


@pytest.fixture(scope="module")
def vllm_session() -> Iterator[Served]:
    with serving(FakeOpenAI(owned_by="vllm")) as served:
        yield served


@pytest.fixture
def vllm(vllm_session: Served) -> Served:
    """An endpoint that says it is vLLM."""
    vllm_session.fake.forget()
    return vllm_session


def read(items: list[ChatItem], *, dialect: Dialect = "any", round: int = 1) -> PlanReport:
    names = [card.name for card in CARDS]
    return parse(end_of(items).text, workers=names, dialect=dialect, round=round)


# -- what is asked ------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_vllm_is_held_to_a_regular_expression(vllm: Served) -> None:
    items = await items_of(conductor(vllm.base_url))
    (body,) = bodies(vllm)
    assert held(body) == "regex"
    assert "guided" not in str(body)
    assert re.fullmatch(body["structured_outputs"]["regex"], end_of(items).text)
    report = read(items)
    assert (report.ok, report.repairs) == (True, ())
    assert "".join(item.text for item in items if isinstance(item, Delta)) == end_of(items).text
    assert retried(items) == []


@pytest.mark.slow
async def test_another_endpoint_is_held_to_a_schema_and_told_of_its_form(fake_openai: Served) -> None:
    report = read(await items_of(conductor(fake_openai.base_url)))
    (body,) = bodies(fake_openai)
    assert held(body) == "json"
    assert "one JSON object" in body["messages"][0]["content"]
    assert report.ok, report.problems
    assert [repair.kind for repair in report.repairs] == ["json-steps"]


@pytest.mark.parametrize("style", ["ours", "paper"])
@pytest.mark.parametrize("dialect", ["any", "binary", "position", "worker"])
async def test_free_text_is_asked_for_where_nothing_holds_it(
    fake_openai: Served, dialect: Dialect, style: PromptStyle
) -> None:
    model = conductor(fake_openai.base_url, constrain="none", dialect=dialect, prompt_style=style)
    report = read(await items_of(model), dialect=dialect)
    (body,) = bodies(fake_openai)
    assert held(body) == "none"
    assert report.ok, report.problems
    assert report.repairs == ()


async def test_a_checkpoint_of_the_papers_layout_thinks_and_plans_in_free_text(
    fake_openai: Served, vllm: Served
) -> None:
    await items_of(conductor(fake_openai.base_url, prompt_style="paper"))
    await items_of(conductor(vllm.base_url, prompt_style="paper"))
    assert [held(body) for body in (*bodies(fake_openai), *bodies(vllm))] == ["none", "none"]


@pytest.mark.parametrize("constrain", ["regex", "json", "none"])
async def test_a_constraint_that_is_set_is_taken_without_a_look_at_the_list(
    fake_openai: Served, constrain: Constrain
) -> None:
    await items_of(conductor(fake_openai.base_url, constrain=constrain))
    assert [entry.path for entry in fake_openai.log.entries] == ["/v1/chat/completions"]
    assert held(bodies(fake_openai)[0]) == constrain


async def test_the_list_is_asked_for_once(vllm: Served) -> None:
    model = conductor(vllm.base_url)
    await items_of(model)
    await items_of(model)
    assert [entry.path for entry in vllm.log.entries].count("/v1/models") == 1


async def test_sampling_and_room_to_think_are_as_set(vllm: Served) -> None:
    model = conductor(vllm.base_url, temperature=0.5, max_tokens=2_000, room_to_think=False)
    text = end_of(await items_of(model)).text
    (body,) = bodies(vllm)
    assert (body["temperature"], body["max_tokens"]) == (0.5, 2_000)
    assert text.startswith("model_id = [")


async def test_a_later_round_and_rejected_plans_go_into_the_conversation(vllm: Served) -> None:
    rejected = PlanReport(text="Nothing.", problems=(PlanProblem(step=None, message="There is no plan."),))
    request = REQUEST.model_copy(update={"round": 2, "rejected": (rejected,)})
    report = read(await items_of(conductor(vllm.base_url), request), round=2)
    (body,) = bodies(vllm)
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "user"]
    assert "There is no plan." in body["messages"][3]["content"]
    assert report.ok
    assert re.fullmatch(body["structured_outputs"]["regex"], "model_id = []\nsubtasks = []\naccess_list = []")


async def test_more_steps_than_an_expression_can_hold_are_left_to_a_schema(vllm: Served) -> None:
    many = REQUEST.model_copy(update={"max_steps": MAX_REGEX_STEPS + 1})
    await items_of(conductor(vllm.base_url), many)
    assert [held(body) for body in bodies(vllm)] == ["json"]
    with pytest.raises(WorkerError, match=r'constrain = "regex".* at most 8 steps, and 9 are allowed'):
        await items_of(conductor(vllm.base_url, constrain="regex"), many)


# -- what is refused ----------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_refused_constraint_is_left_for_the_next_one_and_not_tried_again(vllm: Served) -> None:
    model = conductor(vllm.base_url, "fault:unknown-parameter=structured_outputs")
    items = await items_of(model)
    (step,) = retried(items)
    assert (items[0], step.attempt, step.seconds) == (step, 1, 0)
    assert "structured_outputs" in step.message
    assert "asked again with a JSON Schema instead" in step.message
    assert read(items).ok
    assert retried(await items_of(model)) == []
    assert [held(body) for body in bodies(vllm)] == ["regex", "json", "json"]


@pytest.mark.slow
async def test_where_nothing_is_taken_free_text_has_to_do(vllm: Served) -> None:
    fault = "fault:unknown-parameter=structured_outputs+unknown-parameter=response_format"
    model = conductor(vllm.base_url, fault)
    items = await items_of(model)
    assert [item.attempt for item in retried(items)] == [1, 2]
    assert "without a constraint, so its plan may come out invalid" in retried(items)[1].message
    assert read(items).ok
    await items_of(model)
    assert [held(body) for body in bodies(vllm)] == ["regex", "json", "none", "none"]


@pytest.mark.parametrize("constrain", ["regex", "json"])
async def test_a_constraint_that_was_set_is_never_dropped(vllm: Served, constrain: Constrain) -> None:
    fault = "fault:unknown-parameter=structured_outputs+unknown-parameter=response_format"
    with pytest.raises(EndpointFailure, match="Bad Request"):
        await items_of(conductor(vllm.base_url, fault, constrain=constrain))
    assert len(bodies(vllm)) == 1


async def test_a_refusal_of_something_else_is_an_error(vllm: Served) -> None:
    with pytest.raises(EndpointFailure, match="Bad Request"):
        await items_of(conductor(vllm.base_url, "fault:unknown-parameter=messages"))
    assert len(bodies(vllm)) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("no_pauses")
async def test_attempts_are_counted_through_all_constraints(vllm: Served) -> None:
    fault = "fault:rate-limited=2+unknown-parameter=structured_outputs"
    items = await items_of(conductor(vllm.base_url, fault))
    attempts = [item.attempt for item in retried(items)]
    assert attempts == list(range(1, len(attempts) + 1))
    assert len(attempts) > 2
    assert [held(body) for body in bodies(vllm)][-1] == "json"


PLAN = b"".join(
    chunk(content=text) for text in ("model_id = [1]\n", 'subtasks = ["a"]\n', "access_list = [[]]")
)


async def test_a_list_that_cannot_be_read_now_is_said_and_asked_for_again() -> None:
    async with raw_endpoint(replies(PLAN + chunk("stop") + DONE)) as base_url:
        model = conductor(base_url)
        for _ in range(2):
            items = await items_of(model)
            (doubt,) = retried(items)
            assert "its list of models cannot be read" in doubt.message
            assert "asked with a JSON Schema" in doubt.message
            assert read(items).ok


async def test_an_endpoint_without_a_list_is_no_vllm_and_that_is_no_news() -> None:
    missing = replies('{"error": "no such page"}', content_type="application/json", status="404 Not Found")
    async with raw_endpoint(missing) as base_url:
        # The first thing that is said is the answer to the call itself.
        stream = conductor(base_url).stream(REQUEST)
        assert isinstance(await anext(stream), Asked)
        with pytest.raises(EndpointFailure, match="404"):
            await anext(stream)


# -- what comes ---------------------------------------------------------------------------------------


async def test_reasoning_stays_apart_from_the_plan(vllm: Served) -> None:
    items = await items_of(conductor(vllm.base_url, "reasoning-simulated"))
    thoughts = "".join(item.text for item in items if isinstance(item, Thought))
    end = end_of(items)
    assert thoughts.startswith("Simulated reasoning:")
    assert end.reasoning == thoughts
    assert thoughts not in end.text
    assert read(items).ok


@pytest.mark.slow
async def test_a_plan_has_its_price(fake_openai: Served) -> None:
    price = Price(prompt=1, completion=2)
    prices = {"price_prompt": price.prompt, "price_completion": price.completion}
    usage = end_of(await items_of(conductor(fake_openai.base_url, **prices))).usage
    assert usage.prompt_tokens
    assert usage.cost == price.of(usage)
    unpriced = end_of(await items_of(conductor(fake_openai.base_url))).usage
    assert unpriced.cost is None


async def test_a_prompt_that_cannot_fit_is_refused_before_the_call(fake_openai: Served) -> None:
    model = conductor(fake_openai.base_url, constrain="none", context=300)
    with pytest.raises(WorkerError, match=r"a context of 300 tokens, and this plan needs about \d{3}"):
        await items_of(model)
    assert bodies(fake_openai) == []
    await items_of(conductor(fake_openai.base_url, constrain="none", context=10_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "form"), [("simulated", "lists"), ("fault:unknown-parameter=structured_outputs", "json")]
)
async def test_a_plan_keeps_what_was_really_asked(vllm: Served, model: str, form: str) -> None:
    events = [event async for event in plan(REQUEST, conductor=conductor(vllm.base_url, model), run="p")]
    end = events[-1]
    assert isinstance(end, WorkflowPlanned)
    prompt = end.report.prompt
    assert prompt is not None
    sent = bodies(vllm)[-1]["messages"]
    assert [message.model_dump() for message in prompt.messages] == sent
    assert (prompt.form, prompt.sent, prompt.max_steps) == (form, True, REQUEST.max_steps)
    assert prompt.workers == tuple(card.name for card in REQUEST.workers)


async def test_closing_the_stream_lets_go_of_the_endpoint(vllm: Served) -> None:
    async with aclosing(conductor(vllm.base_url, "fault:stall").stream(REQUEST)) as items:
        assert isinstance(await anext(items), Asked)
        assert isinstance(await anext(items), Delta)
    await asyncio.sleep(0)  # a connection is closed in the next turn of the loop
    assert vllm.settled(1, within=1).outcome == "disconnected"


async def test_a_model_that_breaks_off_gives_no_plan_but_reasons(fake_openai: Served) -> None:
    model = conductor(fake_openai.base_url, "fault:length", constrain="none")
    events = [event async for event in plan(REQUEST, conductor=model, run="p")]
    assert isinstance(events[-1], PlanRejected)
    assert events[-1].report.problems


def test_its_card_says_who_it_is_and_holds_no_key() -> None:
    model = conductor("http://127.0.0.1:9/v1", strengths="plans")
    assert (model.card.name, model.card.kind, model.card.model) == ("conductor", "model", "simulated")
    assert (model.card.strengths, model.card.endpoint) == ("plans", "http://127.0.0.1:9/v1")
    assert repr(model) == ("ModelConductor('conductor', model='simulated', endpoint='http://127.0.0.1:9/v1')")
