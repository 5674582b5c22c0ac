"""Thoughts and signatures go both ways: recorded shapes of services, over real HTTP on both sides."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from openai import OpenAI

from conductor.workers.pool.fallback import FallbackWorker
from studio.api.sealed_thoughts import SealedThoughts
from tests.studio.api.answers.tool_cases import OSLO, TOOL, WHERE, calls
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text

TEXT = "Look it up."
ONE = plan_text((0, "answer", "[]"))
TWO = plan_text((0, "look it up", "[]"), (1, "answer", "[0]"))
SIGNED = {"google": {"thought_signature": "AbCd"}}
CALL = calls(("up-1", "weather", OSLO))
FLAT = {"type": "function", **TOOL["function"]}
SEALED: Any = ["reasoning.encrypted_content"]


def signed_call(**more: Any) -> list[dict[str, Any]]:
    (first, *rest) = CALL
    return [{"tool_calls": [{**first["tool_calls"][0], **more}]}, *rest]


@dataclass
class Shape:
    """What a service streams before its answer, and what is to come back in the message and its call."""

    thoughts: list[dict[str, Any]]
    members: dict[str, Any]
    text: str = TEXT
    call: list[dict[str, Any]] = field(default_factory=lambda: list(CALL))
    of_call: dict[str, Any] = field(default_factory=dict)


def detail(**more: Any) -> dict[str, Any]:
    return {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, **more}


SHAPES = {
    "DeepSeek": Shape(
        [{"reasoning_content": "Look "}, {"reasoning_content": "it up.", "content": None}],
        {"reasoning_content": TEXT},
    ),
    "vLLM": Shape([{"reasoning": "Look "}, {"reasoning": "it up."}], {"reasoning": TEXT}),
    "vLLM, both names": Shape(
        [{"reasoning": "Look it up.", "reasoning_content": "Look it up."}],
        {"reasoning": TEXT, "reasoning_content": TEXT},
    ),
    "OpenRouter": Shape(
        [
            {"reasoning": "Look ", "reasoning_details": [detail(text="Look ")]},
            {"reasoning": "it up.", "reasoning_details": [detail(text="it up.")]},
            {"reasoning": None, "reasoning_details": [detail(signature="Sg99")]},
            {"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz", "index": 1}]},
        ],
        {
            "reasoning": TEXT,
            "reasoning_details": [
                detail(text=TEXT, signature="Sg99"),
                {"type": "reasoning.encrypted", "data": "xyz", "index": 1},
            ],
        },
    ),
    "Gemini": Shape(
        [], {}, text="", call=signed_call(extra_content=SIGNED), of_call={"extra_content": SIGNED}
    ),
    "Gemini thinks": Shape(
        [{"content": TEXT, "extra_content": {"google": {"thought": True}}}, {"extra_content": SIGNED}],
        {"extra_content": SIGNED},
        call=signed_call(extra_content=SIGNED),
        of_call={"extra_content": SIGNED},
    ),
    "LiteLLM of Anthropic": Shape(
        [
            {
                "reasoning_content": TEXT,
                "thinking_blocks": [{"type": "thinking", "thinking": TEXT, "signature": None}],
                "provider_specific_fields": {"citation": None},
            },
            {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "Sg99"}]},
            {"thinking_blocks": [{"type": "redacted_thinking", "data": "xyz"}]},
        ],
        {
            "reasoning_content": TEXT,
            "thinking_blocks": [
                {"type": "thinking", "thinking": TEXT, "signature": "Sg99"},
                {"type": "redacted_thinking", "data": "xyz"},
            ],
        },
    ),
    "LiteLLM of Gemini": Shape(
        [],
        {},
        text="",
        call=signed_call(provider_specific_fields={"thought_signature": "AbCd"}),
        of_call={"provider_specific_fields": {"thought_signature": "AbCd"}},
    ),
    "GitHub Copilot": Shape(
        [{"reasoning_text": TEXT}, {"reasoning_opaque": "xyz"}],
        {"reasoning_text": TEXT, "reasoning_opaque": "xyz"},
    ),
}

MISTRAL = [
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Look "}]}]},
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "it up."}]}]},
]
PARTS = [{"type": "thinking", "thinking": [{"type": "text", "text": TEXT}]}]

each_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
each_way = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


def plays(
    stage: Stage, served: Served, *texts: Any, plans: tuple[str, ...] = (ONE,), served_as: str = "m"
) -> Any:
    served.fake.texts += texts
    workers = (model(name, served.base_url, served=served_as) for name in ("alpha", "beta"))
    return stage.plays(*workers, plans=plans)


def joined(message: dict[str, Any], delta: dict[str, Any]) -> dict[str, Any]:
    """The message after one more delta, as simple clients join them."""
    for name, part in delta.items():
        if name == "tool_calls":
            for call in part:
                own = message.setdefault(name, {}).setdefault(call["index"], {"function": {}})
                function = call.pop("function", {})
                text = own["function"].get("arguments", "") + function.pop("arguments", "")
                own["function"] |= {**function, "arguments": text}
                own |= call
        elif isinstance(part, str):
            message[name] = message.get(name, "") + part
        elif part is not None:
            assert name not in message, "what is no text comes once"
            message[name] = part
    return message


def ask(
    client: OpenAI, messages: Any, *, name: str = "worker:alpha", streamed: bool = False
) -> dict[str, Any]:
    """The message of the answer."""
    answer: Any = client.chat.completions.create(model=name, messages=messages, tools=[TOOL], stream=streamed)
    if not streamed:
        message: dict[str, Any] = answer.choices[0].message.model_dump(exclude_none=True)
        return {**message, "without_effect": answer.conductor["without_effect"]}
    message = {}
    for chunk in answer:
        message = joined(message, chunk.choices[0].delta.model_dump(exclude_none=True))
    listed = sorted(message.get("tool_calls", {}).items())
    calls = [{key: part for key, part in call.items() if key != "index"} for _, call in listed]
    return {
        **message,
        "role": "assistant",
        "tool_calls": calls,
        "without_effect": chunk.conductor["without_effect"],
    }


def of_thoughts(message: dict[str, Any]) -> dict[str, Any]:
    plain = {
        "role",
        "content",
        "tool_calls",
        "annotations",
        "refusal",
        "without_effect",
        "tool_call_id",
        "name",
    }
    return {name: part for name, part in message.items() if name not in plain}


def of_call(message: dict[str, Any]) -> dict[str, Any]:
    (call,) = message["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == json.loads(OSLO)
    return {name: part for name, part in call.items() if name not in ("id", "type", "function")}


def with_result(message: dict[str, Any]) -> list[Any]:
    reply = {name: part for name, part in message.items() if name != "without_effect"}
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "2"}
    return [*WHERE, reply, result]


def sent(served: Served, at: int = -1) -> list[dict[str, Any]]:
    return (served.settled(at).body or {})["messages"]  # type: ignore[no-any-return]


# -- a worker alone, chat completions --------------------------------------------------------------


@each_shape
@each_way
def test_a_chat_has_them_and_its_worker_gets_them_back(
    stage: Stage, client: OpenAI, fake_openai: Served, shape: Shape, *, streamed: bool
) -> None:
    plays(stage, fake_openai, [*shape.thoughts, *shape.call], "It is warm.")
    first = ask(client, WHERE, streamed=streamed)
    text = {"reasoning_content": shape.text} if shape.text else {}
    assert of_thoughts(first) == {**text, **shape.members}
    assert of_call(first) == shape.of_call
    second = ask(client, with_result(first), streamed=streamed)
    assert (second["content"], second["without_effect"]) == ("It is warm.", [])
    _, reply, result = sent(fake_openai)
    assert of_thoughts(reply) == {**text, **shape.members}
    assert (of_call(reply), result["content"]) == (shape.of_call, "2")


def test_the_thoughts_of_a_stream_come_before_its_text(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, [{"reasoning_content": "Hm"}, {"content": "So."}])
    chunks = client.chat.completions.create(model="worker:alpha", messages=WHERE, stream=True)
    deltas = [chunk.choices[0].delta.model_dump(exclude_none=True) for chunk in chunks]
    pieces = [
        next(iter(delta.keys() - {"role"}))
        for delta in deltas
        if delta.keys() - {"role"} and any(delta.values())
    ]
    names = [name for name in pieces if name in ("reasoning_content", "content")]
    assert names.index("reasoning_content") < len(names) - 1 - names[::-1].index("content")


@each_shape
def test_the_clients_own_helper_joins_them(
    stage: Stage, client: OpenAI, fake_openai: Served, shape: Shape
) -> None:
    plays(stage, fake_openai, [*shape.thoughts, *shape.call])
    with client.chat.completions.stream(model="worker:alpha", messages=WHERE, tools=[TOOL]) as stream:
        message = stream.get_final_completion().choices[0].message.model_dump(exclude_none=True)
    thoughts = of_thoughts(message)
    assert {name: thoughts.get(name) for name in shape.members} == shape.members
    (call,) = message["tool_calls"]
    assert {name: call.get(name) for name in shape.of_call} == shape.of_call


@each_shape
def test_a_response_that_is_read_again_has_the_same_events(
    stage: Stage, client: OpenAI, fake_openai: Served, shape: Shape
) -> None:
    plays(stage, fake_openai, [*shape.thoughts, *shape.call])
    stream = client.responses.create(model="worker:alpha", input=WHERE, tools=[FLAT], stream=True)
    events = [event.model_dump() for event in stream]
    again = client.responses.retrieve(events[0]["response"]["id"], stream=True)
    items = [event for event in events if "response" not in event]
    assert [event for each in again if "response" not in (event := each.model_dump())] == items


@each_way
def test_thinking_parts_of_a_content_are_text_to_clients(
    stage: Stage, client: OpenAI, fake_openai: Served, *, streamed: bool
) -> None:
    plays(stage, fake_openai, [*MISTRAL, {"content": "So."}])
    answer = ask(client, WHERE, streamed=streamed)
    assert (answer["content"], of_thoughts(answer)) == ("So.", {"reasoning_content": TEXT})


def test_thinking_parts_of_a_client_go_on_as_they_are(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "So.")
    content = [*PARTS, {"type": "text", "text": "Warm."}]
    answer = ask(client, [*WHERE, {"role": "assistant", "content": content}, *WHERE])
    assert (sent(fake_openai)[1]["content"], answer["without_effect"]) == (content, [])


def test_an_empty_field_goes_on(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "So.")
    ask(client, [*WHERE, {"role": "assistant", "content": "x", "reasoning_content": ""}, *WHERE])
    assert sent(fake_openai)[1] == {"role": "assistant", "content": "x", "reasoning_content": ""}


def test_marks_of_other_kinds_stay_here(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "So.")
    echo = {
        "role": "assistant",
        "content": "x",
        "usage": {"n": 1},
        "provider_specific_fields": {"refusal": None},
    }
    answer = ask(client, [*WHERE, echo, *WHERE])
    assert sent(fake_openai)[1] == {"role": "assistant", "content": "x"}
    assert answer["without_effect"] == ["messages.usage", "messages.provider_specific_fields"]


# -- a worker alone, responses ---------------------------------------------------------------------


def respond(client: OpenAI, items: Any, *, streamed: bool = False, **more: Any) -> Any:
    """The response, and the types of the stream's events."""
    body = {"model": "worker:alpha", "tools": [FLAT], "input": items, **more}
    if not streamed:
        return client.responses.create(**body), []
    with client.responses.stream(**body) as stream:
        types = [event.type for event in stream]
        return stream.get_final_response(), types


def dumped(response: Any) -> list[dict[str, Any]]:
    return [item.model_dump(exclude_none=True) for item in response.output]


@each_shape
@each_way
def test_a_response_has_them_sealed_and_its_worker_gets_them_back(
    stage: Stage, client: OpenAI, fake_openai: Served, shape: Shape, *, streamed: bool
) -> None:
    plays(stage, fake_openai, [*shape.thoughts, *shape.call], "It is warm.")
    response, types = respond(client, WHERE, streamed=streamed, include=SEALED, store=False)
    by_type = {item["type"]: item for item in dumped(response)}
    reasoning, call = by_type["reasoning"], by_type["function_call"]
    assert reasoning["id"].startswith("rs_")
    texts = [{"type": "reasoning_text", "text": shape.text}] if shape.text else []
    assert (reasoning["summary"], reasoning["content"]) == ([], texts)
    assert response.conductor["without_effect"] == []
    if streamed:
        assert types.count("response.output_item.added") == types.count("response.output_item.done") == 2
        assert ("response.reasoning_text.delta" in types) == bool(shape.text)
        assert ("response.reasoning_text.done" in types) == bool(shape.text)
    # What Codex sends back: the words of thoughts and unknown members of calls are left out.
    plain = {name: call[name] for name in ("type", "call_id", "name", "arguments")}
    codex = {name: part for name, part in reasoning.items() if name != "content"}
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "2"}
    response, _ = respond(client, [*WHERE, codex, plain, result], store=False)
    assert response.conductor["without_effect"] == []
    _, reply, _ = sent(fake_openai)
    assert (of_thoughts(reply), of_call(reply)) == (shape.members, shape.of_call)


@each_shape
@pytest.mark.parametrize("by", ["previous_response_id", "item_reference"])
def test_a_response_is_continued_with_them(
    stage: Stage, client: OpenAI, fake_openai: Served, shape: Shape, by: str
) -> None:
    plays(stage, fake_openai, [*shape.thoughts, *shape.call], "It is warm.")
    response, _ = respond(client, WHERE)
    assert all("encrypted_content" not in item for item in dumped(response))
    result = {"type": "function_call_output", "call_id": response.output[-1].call_id, "output": "2"}
    if by == "previous_response_id":
        respond(client, [result], previous_response_id=response.id)
    else:
        # As the AI SDK sends back all items that have an id.
        references = [{"type": by, "id": item.id} for item in response.output]
        respond(client, [*WHERE, *references, result])
    _, reply, _ = sent(fake_openai)
    assert (of_thoughts(reply), of_call(reply)) == (shape.members, shape.of_call)


def test_thinking_parts_are_sealed_as_well(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, [*MISTRAL, {"content": "So."}], "So.")
    response, _ = respond(client, WHERE, include=SEALED, store=False)
    respond(client, [*WHERE, *dumped(response), *WHERE], store=False)
    assert sent(fake_openai)[1]["content"] == [*PARTS, {"type": "text", "text": "So."}]


def test_a_response_has_its_thoughts_before_its_text(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, [{"reasoning": "Hm"}, {"content": "So."}])
    response, types = respond(client, WHERE, streamed=True)
    assert [item.type for item in response.output] == ["reasoning", "message"]
    deltas = [kind for kind in types if kind.endswith(".delta")]
    assert deltas == ["response.reasoning_text.delta", "response.output_text.delta"]


FOREIGN = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAAABo"}


def forged(**members: Any) -> dict[str, Any]:
    text = json.dumps({"conductor": 1, "worker": "alpha", **members})
    return {**FOREIGN, "encrypted_content": base64.b64encode(text.encode()).decode()}


EARLIER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}


@pytest.mark.parametrize(
    ("item", "members", "listed"),
    [
        (FOREIGN, {}, ["input.reasoning"]),
        (forged(thoughts="{"), {}, ["input.reasoning"]),
        (forged(thoughts="[]"), {}, ["input.reasoning"]),
        (forged(thoughts='{"content": [{"type": []}]}'), {}, ["input.reasoning"]),
        (forged(thoughts="[" * 99), {}, ["input.reasoning"]),
        (forged(calls={"c": "1"}), {}, ["input.reasoning"]),
        (forged(calls={"c": '{"function": 5}'}), {}, []),
        (forged(conductor=2), {}, ["input.reasoning"]),
        ({**FOREIGN, "encrypted_content": "%"}, {}, ["input.reasoning"]),
        (
            {**FOREIGN, "content": [{"type": "reasoning_text", "text": "t"}]},
            {"reasoning_content": "t"},
            ["input.reasoning.encrypted_content"],
        ),
        (
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]},
            {"reasoning_content": "t"},
            [],
        ),
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]}, {}, ["input.reasoning"]),
    ],
)
def test_thoughts_that_were_sealed_elsewhere_are_dropped_and_listed(
    stage: Stage, client: OpenAI, fake_openai: Served, *, item: Any, members: Any, listed: list[str]
) -> None:
    plays(stage, fake_openai, "So.")
    response, _ = respond(client, [*WHERE, item, EARLIER, *WHERE])
    assert sent(fake_openai)[1] == {"role": "assistant", "content": "x", **members}
    assert response.conductor["without_effect"] == listed


def test_another_worker_gets_none_that_are_sealed(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, [{"reasoning_content": "Hm"}, {"content": "So."}], "So.")
    response, _ = respond(client, WHERE, include=SEALED, store=False)
    respond(client, [*WHERE, *dumped(response), *WHERE], store=False, model="worker:beta")
    assert sent(fake_openai)[1] == {"role": "assistant", "content": "So."}


def test_a_seal_has_no_other_members_of_a_message() -> None:
    forged = {
        "role": "system",
        "reasoning_content": "t",
        "content": [{"type": "image_url", "image_url": "http://x"}],
    }
    sealed = SealedThoughts.read(SealedThoughts(worker="alpha", thoughts=json.dumps(forged)).text)
    assert sealed is not None
    assert json.loads(sealed.thoughts or "") == {"reasoning_content": "t"}


@each_way
def test_a_fallback_gets_none_and_gives_words_alone(
    stage: Stage, client: OpenAI, fake_openai: Served, *, streamed: bool
) -> None:
    shape = SHAPES["OpenRouter"]
    fake_openai.fake.texts.append([*shape.thoughts, *signed_call(extra_content=SIGNED)])
    alpha = model("alpha", fake_openai.base_url, served="fault:error-500")
    alpha.card = alpha.card.model_copy(update={"fallback": "beta"})
    beta = model("beta", fake_openai.base_url)
    stage.plays(FallbackWorker(alpha, beta), beta)
    earlier = {"role": "assistant", "content": "x", "reasoning_content": "t"}
    answer = ask(client, [*WHERE, earlier, *WHERE], streamed=streamed)
    assert [of_thoughts(sent(fake_openai, at)[1]) for at in (0, 1)] == [{"reasoning_content": "t"}, {}]
    assert (of_thoughts(answer).pop("reasoning_content"), of_call(answer)) == (TEXT, {})
    assert "reasoning_details" not in answer


# -- a conversation that began elsewhere, and endpoints that know no thoughts --------------------------


@each_shape
@pytest.mark.parametrize("name", ["conductor", "baseline:reflect:alpha", "worker:alpha"])
def test_a_conversation_that_began_elsewhere_goes_on(
    stage: Stage, client: OpenAI, fake_openai: Served, shape: Shape, name: str
) -> None:
    plays(stage, fake_openai, *["So."] * 12)
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "weather", "arguments": OSLO},
        **shape.of_call,
    }
    reply = {"role": "assistant", "content": None, "tool_calls": [call], **shape.members}
    spoken = [*WHERE, reply, {"role": "tool", "tool_call_id": "c", "content": "2"}, *WHERE]
    answer = ask(client, spoken, name=name)
    assert answer["content"] == "So."
    own = [*shape.members, *(f"tool_calls.{each}" for each in shape.of_call)]
    if name == "worker:alpha":
        assert answer["without_effect"] == []
        return
    assert sorted(answer["without_effect"]) == sorted(f"messages.{each}" for each in own)
    text = json.dumps(sent(fake_openai))
    assert not any(word in text for word in (TEXT, "AbCd", "xyz", "Sg99"))


@pytest.mark.parametrize(
    "name", ["reasoning_content", "reasoning_details", "tool_calls.extra_content", "content.thinking"]
)
def test_an_endpoint_that_refuses_a_member_is_asked_without_it(
    stage: Stage, client: OpenAI, fake_openai: Served, name: str
) -> None:
    plays(stage, fake_openai, "So.", "So.", served_as=f"fault:unknown-member={name.rpartition('.')[2]}")
    members = {"reasoning_content": "t", "reasoning_details": [detail(text="t")]}
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "weather", "arguments": OSLO},
        "extra_content": SIGNED,
    }
    reply = {
        "role": "assistant",
        "content": [*PARTS, {"type": "text", "text": "x"}],
        "tool_calls": [call],
        **members,
    }
    spoken = [*WHERE, reply, {"role": "tool", "tool_call_id": "c", "content": "2"}]
    answer = ask(client, spoken)
    assert (answer["content"], answer["without_effect"]) == ("So.", [f"messages.{name}"])
    assert len(fake_openai.log.entries) == 2
    reply = sent(fake_openai)[1]
    assert name.rpartition(".")[2] not in json.dumps(reply)
    assert len(of_thoughts(reply)) == 2 - (name in members), "the others go on"
    ask(client, spoken)
    assert len(fake_openai.log.entries) == 3, "the refusal is remembered"


# -- planned runs --------------------------------------------------------------------------------------


@each_shape
@each_way
def test_the_worker_of_a_planned_run_gets_its_own_back(
    stage: Stage, client: OpenAI, fake_openai: Served, shape: Shape, *, streamed: bool
) -> None:
    plays(stage, fake_openai, "a look", [*shape.thoughts, *shape.call], "It is warm.", plans=(TWO,))
    first = ask(client, WHERE, name="conductor", streamed=streamed)
    assert of_thoughts(first) == ({"reasoning_content": shape.text} if shape.text else {})
    assert of_call(first) == {}, "they are stored with the run"
    second = ask(client, with_result(first), name="conductor", streamed=streamed)
    assert second["content"] == "It is warm."
    assert len(fake_openai.log.entries) == 3
    _, reply, _ = sent(fake_openai)
    assert (of_thoughts(reply), of_call(reply)) == (shape.members, shape.of_call)


def test_it_gets_them_of_each_turn(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    shape = SHAPES["LiteLLM of Anthropic"]
    turn = [*shape.thoughts, *shape.call]
    plays(stage, fake_openai, "a look", turn, turn, "It is warm.", plans=(TWO,))
    first = ask(client, WHERE, name="conductor")
    spoken = with_result(first)
    second = ask(client, spoken, name="conductor")
    ask(client, [*spoken, *with_result(second)[1:]], name="conductor")
    replies = [message for message in sent(fake_openai) if message["role"] == "assistant"]
    assert [of_thoughts(reply) for reply in replies] == [shape.members] * 2


def test_another_worker_of_the_plan_gets_none(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    shape = SHAPES["DeepSeek"]
    other = plan_text((1, "look it up", "[]"), (0, "answer", "[0]"))
    texts = ("a look", [*shape.thoughts, *shape.call], "a look", "It is warm.")
    plays(stage, fake_openai, *texts, plans=(TWO, other))
    spoken = with_result(ask(client, WHERE, name="conductor"))
    # Another question is no continuation: it is planned for, and another worker answers.
    spoken[0] = {"role": "user", "content": "And there?"}
    assert ask(client, spoken, name="conductor")["content"] == "It is warm."
    replies = [message for message in sent(fake_openai) if message["role"] == "assistant"]
    assert [of_thoughts(reply) for reply in replies] == [{}]
