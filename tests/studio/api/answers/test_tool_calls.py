"""Calls of tools, as OpenAI's own client asks for them and answers them, whole and streamed."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from conductor.runs.events import StepCallDelta
from conductor.values.message_parts.tools import ToolCall
from conductor.workers.endpoint.config import Endpoint
from conductor.workers.endpoint.endpoint_worker import OpenAIWorker
from conductor.workers.keys.hosts import HOSTS
from conductor.workers.simulated import SimulatedWorker
from studio.api.answers.tool_calls import GivenCalls
from tests.studio.api.answers.tool_cases import BOTH, OSLO, ROME, TOOL, WHERE, calls
from tests.studio.api.stage import UPSTREAM_KEY, Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import ScriptedConductor, plan_text

OTHER: Any = {"type": "function", "function": {"name": "other"}}
TWO = plan_text((0, "look it up", "[]"), (1, "answer", "[0]"))


def plays(stage: Stage, served: Served, *texts: Any) -> ScriptedConductor:
    served.fake.texts += texts
    return stage.plays(model("alpha", served.base_url), model("beta", served.base_url), plans=(TWO,))


def called(message: Any) -> list[tuple[str, str]]:
    return [(call.function.name, call.function.arguments) for call in message.tool_calls]


def test_a_worker_alone_is_offered_them_as_they_came(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, BOTH)
    choice: Any = {"type": "function", "function": {"name": "weather"}}
    answer = client.chat.completions.create(
        model="worker:alpha",
        messages=WHERE,
        tools=[TOOL],
        tool_choice=choice,
        parallel_tool_calls=True,
    )
    sent = fake_openai.settled().body or {}
    assert (sent["tools"], sent["tool_choice"], sent["parallel_tool_calls"]) == ([TOOL], choice, True)
    chosen = answer.choices[0]
    assert (chosen.finish_reason, chosen.message.content) == ("tool_calls", None)
    assert called(chosen.message) == [("weather", OSLO), ("weather", ROME)]
    assert [call.id for call in chosen.message.tool_calls or ()] == ["up-1", "up-2"], "the worker's own ids"


def allowed(*names: str, mode: str = "auto") -> Any:
    named = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": named}}


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_a_worker_alone_is_sent_which_tools_are_allowed_as_it_came(
    stage: Stage, client: OpenAI, fake_openai: Served, mode: str
) -> None:
    plays(stage, fake_openai, BOTH)
    choice = allowed("weather", mode=mode)
    answer = client.chat.completions.create(
        model="worker:alpha", messages=WHERE, tools=[OTHER, TOOL], tool_choice=choice
    )
    sent = fake_openai.settled().body or {}
    assert (sent["tools"], sent["tool_choice"]) == ([OTHER, TOOL], choice)
    assert called(answer.choices[0].message) == [("weather", OSLO), ("weather", ROME)]


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_the_final_step_is_offered_the_tools_alone_that_are_allowed(
    stage: Stage, client: OpenAI, fake_openai: Served, mode: str
) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, "In Rome.")
    body: Any = {"model": "conductor", "tools": [OTHER, TOOL], "tool_choice": allowed("weather", mode=mode)}
    message: Any = client.chat.completions.create(**body, messages=WHERE).choices[0].message
    sent = fake_openai.settled().body or {}
    assert (sent["tools"], sent["tool_choice"]) == ([TOOL], mode), "which every endpoint understands"
    (planning,) = conductor.requests
    assert planning.tools is not None
    assert [tool.name for tool in planning.tools.tools] == ["weather"]
    results = [{"role": "tool", "tool_call_id": call.id, "content": "2"} for call in message.tool_calls]
    body["tool_choice"] = allowed("other")
    history = [*WHERE, {"role": "assistant", "tool_calls": message.model_dump()["tool_calls"]}, *results]
    answer: Any = client.chat.completions.create(**body, messages=history)
    assert (answer.choices[0].message.content, answer.conductor["continued"]) == ("In Rome.", True)
    sent = fake_openai.settled().body or {}
    assert (sent["tools"], sent["tool_choice"]) == ([OTHER], "auto"), "another choice than before"
    assert [call["id"] for call in sent["messages"][1]["tool_calls"]] == ["up-1", "up-2"]


def test_a_worker_alone_gets_the_results_as_they_came(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, BOTH, "In Rome only.")
    settings: Any = {"model": "worker:alpha", "tools": [TOOL]}
    reply: Any = client.chat.completions.create(**settings, messages=WHERE).choices[0].message
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": text}
        for call, text in zip(reply.tool_calls, ("2", "20 " * 1000), strict=True)
    ]
    spoken = [*WHERE, reply.model_dump(exclude_none=True, exclude={"annotations"}), *results]
    answer: Any = client.chat.completions.create(**settings, messages=spoken)
    assert answer.choices[0].message.content == "In Rome only."
    sent = (fake_openai.settled().body or {})["messages"]
    assert sent == [
        *WHERE,
        {"role": "assistant", "content": None, "tool_calls": sent[1]["tool_calls"]},
        *results,
    ]
    assert [call["function"]["arguments"] for call in sent[1]["tool_calls"]] == [OSLO, ROME]
    store = stage.workbench.store
    request = store.runs.state(store.runs.latest(answer.conductor["session"]).id).steps[0].request
    assert request is not None
    stored = [(message.role, message.tool_call_id, len(message.tool_calls)) for message in request.messages]
    assert stored == [("user", None, 0), ("assistant", None, 2), ("tool", "up-1", 0), ("tool", "up-2", 0)]


@pytest.mark.parametrize("name", ["worker:alpha", "conductor"])
def test_a_stream_has_the_pieces_of_the_calls(
    stage: Stage, client: OpenAI, fake_openai: Served, name: str
) -> None:
    plays(stage, fake_openai, *(["a look"] if name == "conductor" else []), BOTH)
    with client.chat.completions.stream(model=name, messages=WHERE, tools=[TOOL]) as stream:
        pieces = [event for event in stream if event.type == "tool_calls.function.arguments.delta"]
        final: Any = stream.get_final_completion()
    assert "".join(piece.arguments_delta for piece in pieces if piece.index == 1) == ROME
    chosen = final.choices[0]
    assert (chosen.finish_reason, chosen.message.content or None) == ("tool_calls", None)
    assert called(chosen.message) == [("weather", OSLO), ("weather", ROME)]
    ids = {call.id for call in chosen.message.tool_calls}
    assert ids == ({"up-1", "up-2"} if name == "worker:alpha" else {call for call in ids if len(call) <= 40})


def test_the_final_steps_worker_alone_is_offered_them(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    conductor = plays(stage, fake_openai, "a look", [{"content": "Let me see."}, *BOTH])
    answer: Any = client.chat.completions.create(model="conductor", messages=WHERE, tools=[TOOL])
    first, last = (entry.body or {} for entry in fake_openai.log.entries)
    assert ("tools" in first, last["tools"]) == (False, [TOOL])
    (planning,) = conductor.requests
    assert planning.tools is not None
    assert [tool.function for tool in planning.tools.tools] == [TOOL["function"]], "the Conductor knows them"
    message = answer.choices[0].message
    assert (message.content, called(message)) == ("Let me see.", [("weather", OSLO), ("weather", ROME)])
    assert answer.conductor["answer_step"] == 1
    store = stage.workbench.store
    state = store.runs.state(store.runs.latest(answer.conductor["session"]).id)
    output = state.steps[1].output
    assert output is not None
    assert output.tool_calls[1] == ToolCall(id="up-2", name="weather", arguments=ROME), "as it is stored"
    assert "Calls the tool 'weather'" in (state.answer or ""), "what people read"


def test_calls_without_a_text_are_the_answer_and_not_an_earlier_steps_text(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a look", BOTH)
    answer: Any = client.chat.completions.create(model="conductor-ultra", messages=WHERE, tools=[TOOL])
    assert (answer.choices[0].message.content, answer.conductor["warning"]) == (None, None)
    assert (answer.conductor["rounds"], answer.conductor["answered"]) == (1, True), "no round follows calls"


@pytest.mark.parametrize(
    "arguments", ['{"city": "Os', "", "no JSON \ud7ff", '{"city": "' + "x" * 200_000 + '"}']
)
def test_arguments_are_passed_on_whatever_they_are(
    stage: Stage, client: OpenAI, fake_openai: Served, arguments: str
) -> None:
    plays(stage, fake_openai, calls(("up-1", "weather", arguments)))
    request: Any = {"model": "worker:alpha", "messages": WHERE, "tools": [TOOL], "stream": True}
    deltas = [piece.choices[0].delta for piece in client.chat.completions.create(**request) if piece.choices]
    pieces = [call for delta in deltas for call in delta.tool_calls or ()]
    assert "".join(call.function.arguments or "" for call in pieces) == arguments
    assert (pieces[0].id, pieces[0].function.name) == ("up-1", "weather")


@pytest.mark.parametrize(
    ("deltas", "reason"),
    [
        ([{"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "{}"}}]}], "has no name"),
        ([{"tool_calls": ["weather"]}], "is no object"),
        (calls(*[("", "weather", "{}")] * 129), "more than 128 calls"),
    ],
)
def test_what_is_no_call_is_an_error(
    stage: Stage, client: OpenAI, fake_openai: Served, deltas: Any, reason: str
) -> None:
    plays(stage, fake_openai, deltas)
    with pytest.raises(openai.InternalServerError, match=reason):
        client.chat.completions.create(model="worker:alpha", messages=WHERE, tools=[TOOL])


def test_a_form_is_not_asked_of_calls(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, BOTH)
    answer = client.chat.completions.create(
        model="worker:alpha",
        messages=WHERE,
        tools=[TOOL],
        response_format={"type": "json_object"},
    )
    assert answer.choices[0].finish_reason == "tool_calls"


def test_an_endpoint_that_takes_no_tools_is_named(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    stage.plays(model("alpha", fake_openai.base_url, served="fault:unknown-parameter=tools"))
    with pytest.raises(openai.InternalServerError) as failed:
        client.chat.completions.create(model="worker:alpha", messages=WHERE, tools=[TOOL])
    assert "Unknown parameter: 'tools'" in str(failed.value)
    assert "give the final step a worker whose endpoint takes tools" in str(failed.value)


@pytest.mark.parametrize("name", ["worker:alpha", "conductor"])
def test_a_worker_that_calls_no_model_states_it(stage: Stage, client: OpenAI, name: str) -> None:
    alpha = SimulatedWorker(name="alpha", answer="Yes.")
    stage.plays(alpha)
    with pytest.raises(openai.BadRequestError, match="alpha is simulated and calls no model") as refused:
        client.chat.completions.create(model=name, messages=WHERE, tools=[TOOL])
    assert (refused.value.param, alpha.requests) == ("tools", [])


CALL = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": OSLO}}
TURN = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "a", "content": "2"}


@pytest.mark.parametrize(
    ("spoken", "param", "code"),
    [
        ([RESULT], "messages.1.tool_call_id", "unknown_tool_call"),
        ([TURN, {**RESULT, "tool_call_id": "b"}], "messages.2.tool_call_id", "unknown_tool_call"),
        ([TURN, RESULT, RESULT], "messages.3.tool_call_id", "unknown_tool_call"),
        ([TURN], "messages.1", "missing_tool_result"),
        ([TURN, *WHERE], "messages.2", "missing_tool_result"),
        ([{**TURN, "tool_calls": [CALL, CALL]}, RESULT], "messages.1.tool_calls", "invalid_value"),
        ([{**TURN, "tool_calls": [{**CALL, "type": "search"}]}], "messages.1.tool_calls.0.type", None),
        ([TURN, {**RESULT, "tool_call_id": ""}], "messages.2.tool_call_id", "invalid_value"),
        ([{"role": "system", "content": "So."}], "messages.1.role", "invalid_value"),
    ],
)
def test_results_belong_to_calls(
    stage: Stage, client: OpenAI, spoken: list[Any], param: str, code: str | None
) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="Yes."))
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="worker:alpha", messages=[*WHERE, *spoken])
    assert refused.value.param == param
    assert refused.value.code == (code or "unsupported_parameter")


@pytest.mark.parametrize(
    ("settings", "param"),
    [
        ({"tools": [TOOL, TOOL]}, "tools.1"),
        ({"tools": [{"type": "custom", "custom": {"name": "no spaces"}}]}, "tools.0.custom.name"),
        ({"tools": [TOOL, {"type": "custom", "custom": {"name": "weather"}}]}, "tools.1"),
        ({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [TOOL, {"type": "mcp"}], "tool_choice": {"type": "mcp"}}, "tool_choice.type"),
        ({"tools": [{"type": "function", "function": {"name": "no spaces"}}]}, "tools.0.function.name"),
        ({"tools": [TOOL] * 129}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "x"}}}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": allowed("weather", "x")}, "tool_choice"),
        ({"tool_choice": allowed("weather")}, "tool_choice"),
        ({"tools": [TOOL], "tool_choice": allowed()}, "tool_choice.allowed_tools.tools"),
        ({"tools": [TOOL], "tool_choice": allowed("weather", mode="none")}, "tool_choice.allowed_tools.mode"),
        (
            {"tools": [{"type": "function", "function": {"name": "x", "parameters": {"a": "x" * 64_000}}}]},
            "tools.0",
        ),
        ({"functions": [TOOL["function"]]}, "functions"),
    ],
)
def test_what_cannot_be_offered_is_refused(stage: Stage, client: OpenAI, settings: Any, param: str) -> None:
    stage.plays(SimulatedWorker(name="alpha", answer="Yes."))
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model="worker:alpha", messages=WHERE, **settings)
    assert refused.value.param == param


def test_keys_in_arguments_are_masked(
    stage: Stage, client: OpenAI, fake_openai: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(HOSTS, f"UPSTREAM_API_KEY={fake_openai.base_url}")
    monkeypatch.setenv("UPSTREAM_API_KEY", UPSTREAM_KEY)
    endpoint = Endpoint(
        base_url=fake_openai.base_url, model="simulated", retries=0, api_key_env="UPSTREAM_API_KEY"
    )
    stage.plays(OpenAIWorker(endpoint, name="alpha"))
    fake_openai.fake.texts.append(calls(("up-1", "weather", json.dumps({"city": UPSTREAM_KEY})), pieces=7))
    answer: Any = client.chat.completions.create(model="worker:alpha", messages=WHERE, tools=[TOOL])
    assert UPSTREAM_KEY not in answer.model_dump_json()
    assert "city" in answer.choices[0].message.tool_calls[0].function.arguments


# -- the order of their pieces ---------------------------------------------------------------------

FIRST, SECOND = '{"path": "{one}"}', '{"path": "two"}'


def mixed(first: str, second: str, size: int) -> list[StepCallDelta]:
    """Both calls begin, then a piece of each comes in turn."""
    pieces = [piece_of(at, "", id=f"call_{at}", name="read") for at in (0, 1)]
    for start in range(0, max(len(first), len(second)), size):
        texts = (text[start : start + size] for text in (first, second))
        pieces += [piece_of(at, text) for at, text in enumerate(texts) if text]
    return pieces


def one_by_one(first: str, second: str, size: int) -> list[StepCallDelta]:
    return sorted(mixed(first, second, size), key=lambda piece: piece.index)


def piece_of(index: int, text: str, **begins: str) -> StepCallDelta:
    return StepCallDelta(run="r", seq=0, at=0.0, step=0, index=index, text=text, **begins)


@pytest.mark.parametrize("order", [mixed, one_by_one])
@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize(("first", "second"), [(FIRST, SECOND), (SECOND, FIRST), ("", SECOND), ("{}", "{}")])
def test_a_call_comes_whole_before_the_next_one_begins(
    order: Any, size: int, first: str, second: str
) -> None:
    calls = GivenCalls(verbatim=True)
    whole = [
        ToolCall(id=f"call_{at}", name="read", arguments=text) for at, text in enumerate((first, second))
    ]
    pieces: list[dict[str, Any]] = []
    for event in order(first, second, size):
        calls.add(event)
        pieces += calls.take()
    calls.complete(whole, run="r")
    pieces += calls.take()
    assert [piece["index"] for piece in pieces] == sorted(piece["index"] for piece in pieces)
    for at, text in enumerate((first, second)):
        assert "".join(piece["function"]["arguments"] for piece in pieces if piece["index"] == at) == text
    assert calls.whole == [call.wire for call in whole]


def test_calls_that_come_one_by_one_are_passed_on_piece_by_piece() -> None:
    calls = GivenCalls(verbatim=True)
    for event in one_by_one(FIRST, SECOND, 7):
        calls.add(event)
        assert [piece["index"] for piece in calls.take()] == [event.index]
