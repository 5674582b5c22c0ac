"""Tools in responses, as OpenAI's own client offers them and sends their results, whole and streamed."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.studio.api.answers.tool_cases import BOTH, OSLO, ROME, SCHEMA, TOOL, calls
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text

pytestmark = pytest.mark.slow

TWO = plan_text((0, "look it up", "[]"), (1, "answer", "[0]"))
THERE = calls(("up-3", "weather", ROME))
FLAT: Any = {
    "type": "function", "name": "weather", "description": "of now", "parameters": SCHEMA, "strict": True,
}  # fmt: skip
WHERE = "Is it warm in Oslo and in Rome?"
CALL = {"type": "function_call", "call_id": "x", "name": "weather", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "x", "output": "2"}
QUESTION = {"role": "user", "content": "?"}


def plays(stage: Stage, served: Served, *texts: Any) -> Any:
    served.fake.texts += texts
    return stage.plays(model("alpha", served.base_url), model("beta", served.base_url), plans=(TWO, TWO, TWO))


def ask(client: OpenAI, input: Any = WHERE, *, name: str = "conductor", **more: Any) -> Any:
    return client.responses.create(model=name, input=input, tools=[FLAT], **more)


def called(response: Any) -> list[tuple[str, str]]:
    return [(item.name, item.arguments) for item in response.output if item.type == "function_call"]


def results(response: Any, *texts: str) -> list[Any]:
    calls = [item for item in response.output if item.type == "function_call"]
    return [
        {"type": "function_call_output", "call_id": call.call_id, "output": text}
        for call, text in zip(calls, texts, strict=True)
    ]


def test_a_worker_alone_is_offered_them_as_they_came(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, BOTH, "In Rome only.")
    choice: Any = {"type": "function", "name": "weather"}
    first = ask(client, name="worker:alpha", tool_choice=choice, parallel_tool_calls=True)
    sent = fake_openai.settled().body or {}
    assert (sent["tools"], sent["parallel_tool_calls"]) == ([TOOL], True)
    assert sent["tool_choice"] == {"type": "function", "function": {"name": "weather"}}
    assert called(first) == [("weather", OSLO), ("weather", ROME)]
    assert [item.call_id for item in first.output] == ["up-1", "up-2"], "the worker's own ids, and no message"
    assert (first.status, first.output_text, first.tools[0].name) == ("completed", "", "weather")
    assert first.tool_choice.name == "weather"
    second = ask(client, results(first, "2", "20"), name="worker:alpha", previous_response_id=first.id)
    assert second.output_text == "In Rome only."
    messages = (fake_openai.settled().body or {})["messages"]
    assert [(message["role"], message.get("tool_call_id")) for message in messages] == [
        ("user", None), ("assistant", None), ("tool", "up-1"), ("tool", "up-2"),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["worker:alpha", "conductor"])
def test_no_tools_are_called_than_those_that_are_allowed(
    stage: Stage, client: OpenAI, fake_openai: Served, name: str
) -> None:
    plays(stage, fake_openai, *(["a look"] if name == "conductor" else []), BOTH)
    named = [{"type": "function", "name": "weather"}]
    choice: Any = {"type": "allowed_tools", "mode": "required", "tools": named}
    other: Any = {"type": "function", "name": "other", "parameters": None, "strict": None}
    response: Any = client.responses.create(
        model=name, input=WHERE, tools=[other, FLAT], tool_choice=choice, store=True
    )
    assert called(response) == [("weather", OSLO), ("weather", ROME)]
    assert (response.tool_choice.to_dict(), len(response.tools)) == (choice, 2), "as it was asked for"
    sent = fake_openai.settled().body or {}
    if name == "conductor":
        assert (sent["tools"], sent["tool_choice"]) == ([TOOL], "required")
    else:
        tools = {"mode": "required", "tools": [{"type": "function", "function": {"name": "weather"}}]}
        assert sent["tool_choice"] == {"type": "allowed_tools", "allowed_tools": tools}
        assert len(sent["tools"]) == 2
    again: Any = list(client.responses.retrieve(response.id, stream=True))
    assert again[0].response.tool_choice == response.tool_choice, "as others follow it"


@pytest.mark.parametrize("name", ["worker:alpha", "conductor"])
def test_a_stream_of_events_has_the_pieces_of_the_calls(
    stage: Stage, client: OpenAI, fake_openai: Served, name: str
) -> None:
    answer = [{"content": "Let me see."}, *BOTH]
    plays(stage, fake_openai, *(["a look"] if name == "conductor" else []), answer)
    events = list(ask(client, name=name, stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = list(dict.fromkeys(event.type for event in events))
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.function_call_arguments.done",
        "response.completed",
    ]
    output = events[-1].response.output
    assert [item.type for item in output] == ["message", "function_call", "function_call"]
    for at, item in enumerate(output):
        added, done = (
            next(each for each in events if each.type == kind and each.output_index == at)
            for kind in ("response.output_item.added", "response.output_item.done")
        )
        assert (added.item.id, done.item) == (item.id, item)
        if item.type == "function_call":
            own = [each for each in events if getattr(each, "item_id", None) == item.id]
            pieces = [each.delta for each in own if hasattr(each, "delta")]
            assert "".join(pieces) == item.arguments
    again: Any = list(client.responses.retrieve(events[-1].response.id, stream=True))
    assert list(dict.fromkeys(event.type for event in again)) == kinds, "as others follow it"
    assert again[-1].response.output == output


def test_the_clients_own_helper_reads_the_calls(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "a look", BOTH)
    with client.responses.stream(model="conductor", input=WHERE, tools=[FLAT]) as stream:
        assert called(stream.get_final_response()) == [("weather", OSLO), ("weather", ROME)]


@pytest.mark.parametrize("way", ["previous_response_id", "all items"])
def test_the_final_step_alone_goes_on_with_the_results(
    stage: Stage, client: OpenAI, fake_openai: Served, way: str
) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, THERE, "In Rome.")
    first = ask(client, instructions="Be brief.")
    items: list[Any] = [{"role": "user", "content": WHERE}]

    def go_on(response: Any, *texts: str) -> Any:
        new = results(response, *texts)
        if way == "previous_response_id":
            return ask(client, new, previous_response_id=response.id)
        items.extend([item.model_dump(exclude_none=True) for item in response.output] + new)
        return ask(client, items, instructions="Be brief.")

    second = go_on(first, "2", "20")
    third = go_on(second, "21")
    assert (called(second), third.output_text) == ([("weather", ROME)], "In Rome.")
    assert len({first.id, second.id, third.id}) == 3
    assert {each.conductor["session"] for each in (first, second, third)} == {first.conductor["session"]}
    assert [each.conductor["continued"] for each in (first, second, third)] == [False, True, True]
    assert len(conductor.requests) == 1, "nothing is planned"
    bodies = [entry.body or {} for entry in fake_openai.log.entries]
    assert len(bodies) == 4, "the first step keeps its output"
    roles = [message["role"] for message in bodies[3]["messages"]]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "tool"]
    call_ids = [call["id"] for message in bodies[3]["messages"] for call in message.get("tool_calls") or ()]
    assert call_ids == ["up-1", "up-2", "up-3"], "the worker's own ids"
    for response in (first, second, third):
        assert client.responses.retrieve(response.id).output == response.output, "each is stored"


def test_a_stream_that_goes_on_is_followed_from_its_own_beginning(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a look", BOTH, "In Rome it is.")
    first = list(ask(client, stream=True))[-1].response
    events = list(ask(client, results(first, "2", "20"), previous_response_id=first.id, stream=True))
    for response, kind in ((first, "function_call"), (events[-1].response, "message")):
        again: Any = list(client.responses.retrieve(response.id, stream=True))
        assert {event.item.type for event in again if event.type == "response.output_item.done"} == {kind}
        assert again[-1].response == response


def test_a_later_question_has_the_calls_as_text(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    conductor = plays(stage, fake_openai, "a look", BOTH, "In Rome.", "a look", "Yes.")
    first = ask(client)
    second = ask(client, results(first, "2", "20"), previous_response_id=first.id)
    third = ask(client, "Sure?", previous_response_id=second.id)
    assert (third.output_text, third.conductor["continued"]) == ("Yes.", False)
    assert len(conductor.requests) == 2
    text = fake_openai.settled().body["messages"][0]["content"]  # type: ignore[index]
    assert "Calls the tool 'weather' with" in text
    assert "In Rome." in text


def test_an_earlier_response_is_gone_on_from_as_it_was(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a look", BOTH, "In Rome.", "In Oslo.", "a look", "Yes.")
    first = ask(client)
    one, other = (
        ask(client, results(first, *texts), previous_response_id=first.id)
        for texts in (("2", "20"), ("20", "2"))
    )
    assert (one.output_text, other.output_text) == ("In Rome.", "In Oslo.")
    sent = (fake_openai.settled().body or {})["messages"]
    assert [message["content"] for message in sent[2:]] == ["20", "2"]
    assert client.responses.retrieve(one.id).output_text == "In Rome."
    items: list[Any] = list(client.responses.input_items.list(one.id, order="asc"))
    assert [item.output for item in items if item.type == "function_call_output"] == ["2", "20"]
    ask(client, "Sure?", previous_response_id=one.id)
    text = fake_openai.settled().body["messages"][0]["content"]  # type: ignore[index]
    assert "In Rome." in text
    assert text.index("\n2\n") < text.index("\n20\n"), "its own results"


@pytest.mark.parametrize(
    ("more", "param"),
    [
        ({"input": [QUESTION, RESULT]}, "input.1.call_id"),
        ({"input": [CALL, QUESTION]}, "input.1"),
        ({"input": [CALL, RESULT]}, "input"),
        ({"input": [QUESTION, {"type": "compaction_trigger"}]}, "input.1.type"),
        ({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "web_search"}}, "tool_choice.type"),
        ({"tools": [FLAT, FLAT]}, "tools.1"),
        ({"tool_choice": {"type": "function", "name": "other"}}, "tool_choice"),
        ({"tools": [], "tool_choice": "required"}, "tool_choice"),
    ],
)
def test_items_and_tools_that_do_not_belong_together_are_refused(
    stage: Stage, client: OpenAI, fake_openai: Served, more: dict[str, Any], param: str
) -> None:
    plays(stage, fake_openai)
    with pytest.raises(openai.BadRequestError) as refused:
        client.responses.create(**{"model": "conductor", "input": WHERE, "tools": [FLAT], **more})
    assert refused.value.param == param


def test_calls_of_an_earlier_response_need_their_results(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a look", BOTH)
    first = ask(client)
    for input, code in (
        ("And now?", "missing_tool_result"),
        (results(first, "2", "20")[:1], "missing_tool_result"),
        ([RESULT], "unknown_tool_call"),
    ):
        with pytest.raises(openai.BadRequestError) as refused:
            ask(client, input, previous_response_id=first.id)
        assert refused.value.code == code


def test_ids_of_calls_made_elsewhere_are_short_for_the_worker_of_a_plan(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "a look", "In Rome.")
    id = "toolu_" + "0" * 60
    result = {**RESULT, "call_id": id, "output": [{"type": "input_text", "text": "2"}]}
    assert ask(client, [QUESTION, {**CALL, "call_id": id}, result]).conductor["continued"] is False
    *_, call, sent = (fake_openai.settled().body or {})["messages"]
    assert call["tool_calls"][0]["id"] == sent["tool_call_id"]
    assert (len(sent["tool_call_id"]), sent["tool_call_id"].isalnum()) == (9, True)
