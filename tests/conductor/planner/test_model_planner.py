"""A served model plans: held to the strictest constraint that its endpoint takes, with a note otherwise."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import aclosing
from typing import Any

import pytest

from conductor.errors import WorkerError
from conductor.planner.conductor import OutgoingPrompt, PlanRequest
from conductor.planner.model_planner import PLAN_TEMPERATURE, ModelConductor
from conductor.planner.parsing.parse import parse
from conductor.planner.planner import plan
from conductor.planner.prompt.structured_output import MAX_REGEX_STEPS
from conductor.runs.events import PlanRejected, WorkflowPlanned
from conductor.values.messages import Completion, Delta, Retried, Thought
from conductor.workers.endpoint.client import ChatItem
from conductor.workers.endpoint.failures import EndpointFailure
from conductor.workers.pool.schema import ConductorTable, Constrain
from conductor.workers.protocol import Price, PromptStyle, WorkerCard
from conductor.workflow.plan_report import Dialect, PlanProblem, PlanReport
from tests.support.endpoints.fake_openai import FakeOpenAI, Served, serving
from tests.support.endpoints.raw_endpoint import DONE, chunk, raw_endpoint, replies

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
    return [item async for item in model.stream(request) if not isinstance(item, OutgoingPrompt)]


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
    keys = {"structured_outputs": "regex", "grammar": "grammar", "response_format": "json"}
    return next((name for key, name in keys.items() if key in body), "none")


@pytest.fixture(scope="module")
def vllm_session() -> Iterator[Served]:
    with serving(FakeOpenAI(owned_by="vllm")) as served:
        yield served


@pytest.fixture
def vllm(vllm_session: Served) -> Served:
    """An endpoint that presents itself as vLLM."""
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


@pytest.mark.parametrize(("max_steps", "refused"), [(5, False), (MAX_REGEX_STEPS + 1, False), (5, True)])
async def test_llama_cpp_is_held_to_a_grammar_until_it_refuses_one(max_steps: int, refused: bool) -> None:
    request = REQUEST.model_copy(update={"max_steps": max_steps})
    with serving(FakeOpenAI(owned_by="llamacpp")) as served:
        name = "fault:unknown-parameter=grammar" if refused else "simulated"
        items = await items_of(conductor(served.base_url, name), request)
        assert [held(body) for body in bodies(served)] == (["grammar", "json"] if refused else ["grammar"])
        first_body = bodies(served)[0]
    assert "one JSON object" in first_body["messages"][0]["content"]
    assert first_body["grammar"].startswith("root ::= ")
    assert f"step{max_steps - 1} ::= " in first_body["grammar"]
    assert [each.attempt for each in retried(items)] == ([1] if refused else [])


@pytest.mark.parametrize(
    ("keys", "temperature"),
    [
        ({}, PLAN_TEMPERATURE),
        ({"temperature": 0.7}, 0.7),
        ({"temperature": 0.0}, 0.0),
        ({"reasoning_effort": "low"}, None),
    ],
)
async def test_a_plan_is_asked_for_at_a_low_temperature_unless_the_pool_sets_one(
    vllm: Served, keys: dict[str, Any], temperature: float | None
) -> None:
    await items_of(conductor(vllm.base_url, **keys))
    assert bodies(vllm)[0].get("temperature") == temperature


async def test_plans_to_choose_from_are_asked_for_at_the_models_own_temperature(vllm: Served) -> None:
    await items_of(conductor(vllm.base_url), REQUEST.model_copy(update={"varied": True}))
    assert "temperature" not in bodies(vllm)[0]


async def test_a_model_that_takes_no_temperature_is_asked_again_without_one(vllm: Served) -> None:
    model = conductor(vllm.base_url, "fault:unknown-parameter=temperature")
    items = await items_of(model)
    assert "asked again without temperature" in retried(items)[0].message
    assert read(items).ok
    assert retried(await items_of(model)) == []
    assert [body.get("temperature") for body in bodies(vllm)] == [PLAN_TEMPERATURE, None, None]


@pytest.mark.slow
async def test_another_endpoint_is_held_to_a_schema_and_asked_for_its_form(fake_openai: Served) -> None:
    report = read(await items_of(conductor(fake_openai.base_url)))
    (body,) = bodies(fake_openai)
    assert held(body) == "json"
    assert "one JSON object" in body["messages"][0]["content"]
    assert report.ok, report.problems
    assert [repair.kind for repair in report.repairs] == ["json-steps"]


@pytest.mark.parametrize("style", ["ours", "research"])
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


@pytest.mark.parametrize("style", ["ours", "research"])
@pytest.mark.parametrize("constrain", ["json", "regex", "grammar"])
async def test_tools_are_listed_for_a_conductor_that_was_not_trained_without_them(
    fake_openai: Served, style: PromptStyle, constrain: Constrain
) -> None:
    cards = tuple(card.model_copy(update={"tools": ("web", "files:read_*")}) for card in CARDS)
    model = conductor(fake_openai.base_url, constrain=constrain, prompt_style=style)
    items = [item async for item in model.stream(REQUEST.model_copy(update={"workers": cards}))]
    [prompt] = [item for item in items if isinstance(item, OutgoingPrompt)]
    assert prompt.tools == (() if style == "research" else tuple(card.tools for card in cards))
    (body,) = bodies(fake_openai)
    held_to = json.dumps({name: value for name, value in body.items() if name != "messages"})
    assert ("files:read_" in held_to) is ("(tools: web, files:read_*)" in str(body["messages"]))
    assert ("files:read_" in held_to) is (style == "ours")


async def test_the_research_layout_plans_in_free_text_and_goes_on_from_its_beginning(
    fake_openai: Served, vllm: Served
) -> None:
    for served in (fake_openai, vllm):
        await items_of(conductor(served.base_url, prompt_style="research"))
    (other,), (own,) = bodies(fake_openai), bodies(vllm)
    assert [held(body) for body in (other, own)] == ["none", "none"]
    assert [message["role"] for message in own["messages"]] == ["system", "user", "assistant"]
    assert own["messages"] == other["messages"]
    assert (own["continue_final_message"], own["add_generation_prompt"]) == (True, False)
    assert not {"continue_final_message", "add_generation_prompt"} & other.keys()


async def test_an_answer_that_is_not_begun_is_not_gone_on_from(vllm: Served) -> None:
    model = conductor(vllm.base_url, prompt_style="research")
    await items_of(model, REQUEST.model_copy(update={"rejected": (PlanReport(text="No."),)}))
    await items_of(conductor(vllm.base_url, constrain="none"))
    assert [message["role"] for message in bodies(vllm)[0]["messages"]][-1] == "user"
    assert not any("continue_final_message" in body for body in bodies(vllm))


async def test_a_constraint_that_is_set_also_goes_on_from_the_beginning(vllm: Served) -> None:
    await items_of(conductor(vllm.base_url, prompt_style="research", constrain="none"))
    assert bodies(vllm)[0]["continue_final_message"] is True


@pytest.mark.parametrize(("strict", "end"), [(False, WorkflowPlanned), (True, PlanRejected)])
async def test_by_the_strict_form_no_plan_is_repaired(strict: bool, end: type) -> None:
    text = 'model_id = ["gpt"]\nsubtasks = ["look"]\naccess_list = [[]]'
    async with raw_endpoint(replies(chunk(content=text) + chunk("stop") + DONE)) as url:
        model = conductor(url, constrain="none")
        request = REQUEST.model_copy(update={"strict": strict})
        events = [event async for event in plan(request, conductor=model, run="r")]
    assert isinstance(events[-1], end)


@pytest.mark.parametrize("constrain", ["json", "none"])
async def test_a_constraint_that_any_server_reads_is_taken_without_a_look_at_the_list(
    fake_openai: Served, constrain: Constrain
) -> None:
    await items_of(conductor(fake_openai.base_url, constrain=constrain))
    assert [entry.path for entry in fake_openai.log.entries] == ["/v1/chat/completions"]
    assert held(bodies(fake_openai)[0]) == constrain


@pytest.mark.parametrize("constrain", ["regex", "grammar"])
async def test_a_constraint_of_one_server_is_taken_where_that_or_an_unknown_one_serves(
    fake_openai: Served, constrain: Constrain
) -> None:
    with serving(FakeOpenAI(owned_by="vllm" if constrain == "regex" else "llamacpp")) as own:
        for served in (own, fake_openai):
            await items_of(conductor(served.base_url, constrain=constrain))
            assert [held(body) for body in bodies(served)] == [constrain]


@pytest.mark.parametrize(
    ("owner", "constrain", "words"),
    [
        (
            "llamacpp",
            "regex",
            'constrain = "regex", which llama.cpp does not read; write constrain = "grammar"',
        ),
        ("vllm", "grammar", 'constrain = "grammar", which vLLM does not read; write constrain = "regex"'),
    ],
)
async def test_a_constraint_that_the_server_passes_over_in_silence_is_refused(
    owner: str, constrain: Constrain, words: str
) -> None:
    with serving(FakeOpenAI(owned_by=owner)) as served, pytest.raises(WorkerError, match=words):
        await items_of(conductor(served.base_url, constrain=constrain))
    assert bodies(served) == []


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


async def test_a_list_that_cannot_be_read_now_is_stated_and_asked_for_again() -> None:
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
        # The first item answers the call itself.
        stream = conductor(base_url).stream(REQUEST)
        assert isinstance(await anext(stream), OutgoingPrompt)
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
        assert isinstance(await anext(items), OutgoingPrompt)
        assert isinstance(await anext(items), Delta)
    await asyncio.sleep(0)  # a connection is closed in the next turn of the loop
    assert vllm.settled(1).outcome == "disconnected"


async def test_a_model_that_breaks_off_gives_no_plan_but_reasons(fake_openai: Served) -> None:
    model = conductor(fake_openai.base_url, "fault:length", constrain="none")
    events = [event async for event in plan(REQUEST, conductor=model, run="p")]
    assert isinstance(events[-1], PlanRejected)
    assert events[-1].report.problems


@pytest.mark.parametrize(("constrain", "form"), [("json", "json"), ("none", "lists")])
async def test_a_plan_that_is_cut_is_called_cut_and_asked_for_in_the_same_form(
    fake_openai: Served, constrain: Constrain, form: str
) -> None:
    model = conductor(fake_openai.base_url, "fault:length", constrain=constrain)
    events = [event async for event in plan(REQUEST, conductor=model, run="p")]
    report = events[-1].report
    assert report.problems[0].message.startswith("The answer was cut off at its token limit")
    assert "raise max_tokens in the pool file" in report.problems[0].message
    again = REQUEST.model_copy(update={"rejected": (report,)})
    _ = [event async for event in plan(again, conductor=model, run="p")]
    messages = bodies(fake_openai)[1]["messages"]
    assert "cut off at its token limit" in messages[-1]["content"]
    assert ("model_id, subtasks and access_list" in messages[-1]["content"]) is False
    assert ("one JSON object" in messages[0]["content"]) is (form == "json")


def test_its_card_states_who_it_is_and_holds_no_key() -> None:
    model = conductor("http://127.0.0.1:9/v1", strengths="plans")
    assert (model.card.name, model.card.kind, model.card.model) == ("conductor", "model", "simulated")
    assert (model.card.strengths, model.card.endpoint) == ("plans", "http://127.0.0.1:9/v1")
    assert repr(model) == ("ModelConductor('conductor', model='simulated', endpoint='http://127.0.0.1:9/v1')")
