"""Tools in namespaces and custom tools: offered as functions, called as what they are, in streams too."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from openai import OpenAI

from studio.access.auth import Principal
from tests.studio.api.answers.tool_cases import OSLO, WHERE, calls
from tests.studio.api.stage import Stage, model
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.conductor_cases import plan_text

pytestmark = pytest.mark.slow

TWO = plan_text((0, "look it up", "[]"), (1, "answer", "[0]"))
PATCH = '*** Begin Patch\n*** Update File: a.py\n+print("é")\n*** End Patch'
READ: Any = {"type": "function", "name": "read", "parameters": {"type": "object"}, "strict": None}
CUSTOM: Any = {"type": "custom", "name": "apply_patch", "format": {"type": "text"}}
TOOLS: list[Any] = [
    READ,
    {"type": "namespace", "name": "mcp__fs__", "description": "Files.", "tools": [READ, CUSTOM]},
    {"type": "namespace", "name": "crm", "description": "Clients.", "tools": [READ]},
    CUSTOM,
    {"type": "web_search"},
]
ALL = calls(
    ("up-1", "read", OSLO),
    ("up-2", "mcp__fs__read", OSLO),
    ("up-3", "apply_patch", json.dumps({"input": PATCH})),
    ("up-4", "mcp__fs__apply_patch", PATCH),
    pieces=9,
)
CALLED = [
    ("function_call", "fc_", None, "read", OSLO),
    ("function_call", "fc_", "mcp__fs__", "read", OSLO),
    ("custom_tool_call", "ctc_", None, "apply_patch", PATCH),
    ("custom_tool_call", "ctc_", "mcp__fs__", "apply_patch", PATCH),
]


@pytest.fixture(params=["worker:alpha", "conductor"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def plays(stage: Stage, served: Served, name: str, *texts: Any) -> Any:
    """With a plan, the first of its two steps looks before the answer."""
    served.fake.texts += (*(["a look"] if name == "conductor" else []), *texts)
    return stage.plays(model("alpha", served.base_url), model("beta", served.base_url), plans=(TWO, TWO))


def ask(client: OpenAI, name: str, input: Any = "Q", **more: Any) -> Any:
    return client.responses.create(**{"model": name, "input": input, "tools": TOOLS, **more})


def called(output: Any) -> list[tuple[str, str, str | None, str, str]]:
    return [
        (
            item.type,
            item.id[: item.id.index("_") + 1],
            getattr(item, "namespace", None),
            item.name,
            item.input if item.type == "custom_tool_call" else item.arguments,
        )
        for item in output
    ]


def results(output: Any) -> list[Any]:
    return [{"type": f"{item.type}_output", "call_id": item.call_id, "output": item.name} for item in output]


def sent_functions(served: Served) -> list[str]:
    return [tool["function"]["name"] for tool in (served.settled().body or {})["tools"]]


def test_calls_come_back_as_those_of_the_clients_tools(
    stage: Stage, client: OpenAI, fake_openai: Served, name: str
) -> None:
    plays(stage, fake_openai, name, ALL)
    response = ask(client, name)
    assert sent_functions(fake_openai) == [
        "read", "mcp__fs__read", "mcp__fs__apply_patch", "crm__read", "apply_patch",
    ]  # fmt: skip
    assert called(response.output) == CALLED
    assert [tool.type for tool in response.tools] == [
        "function",
        "namespace",
        "namespace",
        "custom",
        "web_search",
    ]
    assert response.conductor["without_effect"] == ["tools.web_search"]
    assert client.responses.retrieve(response.id).output == response.output


def test_a_stream_has_them_as_well_also_for_those_that_follow(
    stage: Stage, client: OpenAI, fake_openai: Served, name: str
) -> None:
    plays(stage, fake_openai, name, ALL)
    events = list(ask(client, name, stream=True))
    output = events[-1].response.output
    assert called(output) == CALLED
    again: Any = list(client.responses.retrieve(events[-1].response.id, stream=True))
    for stream in (events, again):
        assert [event.sequence_number for event in stream] == list(range(len(stream)))
        for at, item in enumerate(output):
            added, done = (
                next(each for each in stream if each.type == kind and each.output_index == at)
                for kind in ("response.output_item.added", "response.output_item.done")
            )
            assert (added.item.id, added.item.name, done.item) == (item.id, item.name, item)
            own = [each for each in stream if getattr(each, "item_id", None) == item.id]
            kinds = {each.type for each in own}
            pieces = "".join(each.delta for each in own if hasattr(each, "delta"))
            if item.type == "custom_tool_call":
                kind = "response.custom_tool_call_input"
                assert (pieces, own[-1].input) == (item.input, item.input)
            else:
                kind = "response.function_call_arguments"
                assert (pieces, own[-1].arguments) == (item.arguments, item.arguments)
            assert kinds == {f"{kind}.delta", f"{kind}.done"}


@pytest.mark.parametrize("way", ["previous_response_id", "all items", "references", "no namespaces"])
def test_a_request_goes_on_with_the_results(
    stage: Stage, client: OpenAI, fake_openai: Served, name: str, way: str
) -> None:
    conductor = plays(stage, fake_openai, name, ALL, "Done.")
    first = ask(client, name)
    question = {"role": "user", "content": "Q"}
    match way:
        case "previous_response_id":
            more: Any = {"input": results(first.output), "previous_response_id": first.id}
        case "references":
            references = [{"type": "item_reference", "id": item.id} for item in first.output]
            more = {"input": [question, *references, *results(first.output)]}
        case _:
            items = [item.model_dump(exclude_none=True) for item in first.output]
            if way == "no namespaces":
                items = [{name: own for name, own in item.items() if name != "namespace"} for item in items]
            more = {"input": [question, *items, *results(first.output)]}
    second = ask(client, name, **more)
    bare = way == "no namespaces"
    assert second.output_text == "Done."
    assert second.conductor["continued"] is (name == "conductor" or not bare)
    assert len(conductor.requests) == (1 if name == "conductor" else 0)
    messages = (fake_openai.settled().body or {})["messages"]
    own_calls = [call for message in messages for call in message.get("tool_calls") or ()]
    assert [call["id"] for call in own_calls] == ["up-1", "up-2", "up-3", "up-4"], "the worker's own ids"
    functions = [call["function"]["name"] for call in own_calls]
    if bare:
        assert functions == ["read", "read", "apply_patch", "apply_patch"], "of two tools of that name"
    else:
        assert functions == ["read", "mcp__fs__read", "apply_patch", "mcp__fs__apply_patch"]
    assert json.loads(own_calls[2]["function"]["arguments"]) == {"input": PATCH}
    assert [message["content"] for message in messages if message["role"] == "tool"] == [
        "read", "read", "apply_patch", "apply_patch",
    ]  # fmt: skip
    listed: Any = list(client.responses.input_items.list(second.id, order="asc"))
    own = [item for item in listed if item.type.endswith("_call")]
    if not bare:
        assert [item[2:] for item in called(own)] == [item[2:] for item in CALLED]


def test_a_chat_calls_custom_tools(stage: Stage, client: OpenAI, fake_openai: Served, name: str) -> None:
    plays(stage, fake_openai, name, calls(("up-1", "apply_patch", json.dumps({"input": PATCH}))), "Done.")
    tools: list[Any] = [{"type": "custom", "custom": {"name": "apply_patch"}}, {"type": "web_search"}]
    answer: Any = client.chat.completions.create(model=name, messages=WHERE, tools=tools, store=True)
    (call,) = answer.choices[0].message.tool_calls
    assert (call.type, call.custom.name, call.custom.input) == ("custom", "apply_patch", PATCH)
    assert (answer.choices[0].finish_reason, answer.choices[0].message.content) == ("tool_calls", None)
    assert answer.conductor["without_effect"] == ["tools.web_search"]
    messages = [
        *WHERE,
        answer.choices[0].message.model_dump(exclude_none=True),
        {"role": "tool", "tool_call_id": call.id, "content": "ok"},
    ]
    second: Any = client.chat.completions.create(model=name, messages=messages, tools=tools)
    assert second.choices[0].message.content == "Done."
    assert second.conductor["continued"]
    own_calls = [each for each in (fake_openai.settled().body or {})["messages"] if each.get("tool_calls")]
    assert own_calls[0]["tool_calls"][0]["function"]["arguments"] == json.dumps(
        {"input": PATCH}, ensure_ascii=False
    )


def test_a_stream_of_chunks_has_the_input_of_a_custom_tool_in_one_piece(
    stage: Stage, client: OpenAI, fake_openai: Served, name: str
) -> None:
    both = calls(("up-1", "weather", OSLO), ("up-2", "apply_patch", json.dumps({"input": PATCH})))
    plays(stage, fake_openai, name, both)
    tools: list[Any] = [
        {"type": "custom", "custom": {"name": "apply_patch"}},
        {"type": "function", "function": {"name": "weather"}},
    ]
    chunks: Any = list(client.chat.completions.create(model=name, messages=WHERE, tools=tools, stream=True))
    pieces = [
        piece.model_dump(exclude_none=True)
        for chunk in chunks
        for choice in chunk.choices
        for piece in choice.delta.tool_calls or ()
    ]
    opened, *_, last = [piece for piece in pieces if piece["index"] == 1]
    assert opened["type"] == "custom"
    assert opened["custom"] == {"name": "apply_patch", "input": ""}
    assert last == {"index": 1, "custom": {"input": PATCH}}
    arguments = (piece["function"]["arguments"] for piece in pieces if piece["index"] == 0)
    assert "".join(arguments) == OSLO


def test_an_input_that_was_cut_off_is_passed_on_as_far_as_it_came(
    stage: Stage, client: OpenAI, fake_openai: Served
) -> None:
    plays(stage, fake_openai, "worker:alpha", calls(("up-1", "apply_patch", '{"input": "*** Beg')))
    (item,) = ask(client, "worker:alpha").output
    assert item.input == "*** Beg"


# -- references ------------------------------------------------------------------------------------


def test_messages_are_referred_to_by_their_ids(stage: Stage, client: OpenAI, fake_openai: Served) -> None:
    plays(stage, fake_openai, "worker:alpha", "Hello.", "Again.")
    first = ask(client, "worker:alpha", "Hi")
    (listed,) = client.responses.input_items.list(first.id)
    assert listed.id is not None
    references = [{"type": "item_reference", "id": listed.id}, {"id": first.output[0].id}]
    second = ask(client, "worker:alpha", [*references, {"role": "user", "content": "And?"}])
    assert second.output_text == "Again."
    messages = (fake_openai.settled().body or {})["messages"]
    assert [(each["role"], each["content"]) for each in messages] == [
        ("user", "Hi"), ("assistant", "Hello."), ("user", "And?"),
    ]  # fmt: skip
    assert second.conductor["without_effect"] == ["tools.web_search"]


@pytest.mark.parametrize(
    "id", ["msg_0", "fc_nothing_0", "x", "msg_", "rs_%s", "fc_%s_7", "msg_%s_in_9", "resp_%s"]
)
def test_an_unknown_id_is_refused_by_its_parameter(
    stage: Stage, client: OpenAI, fake_openai: Served, id: str
) -> None:
    plays(stage, fake_openai, "worker:alpha", "Hello.")
    first = ask(client, "worker:alpha", "Hi")
    own = id.replace("%s", first.id.removeprefix("resp_"))
    with pytest.raises(openai.BadRequestError, match="Send the item itself") as refused:
        ask(client, "worker:alpha", [{"role": "user", "content": "?"}, {"type": "item_reference", "id": own}])
    assert (refused.value.param, refused.value.code) == ("input.1.id", "item_not_found")


@pytest.mark.parametrize("why", ["another token", "not stored", "deleted"])
def test_an_item_that_is_not_there_for_a_token_is_unknown(
    stage: Stage, client: OpenAI, fake_openai: Served, why: str
) -> None:
    plays(stage, fake_openai, "worker:alpha", "Hello.", "Hello.")
    stage.auth.principal = Principal(token="ann")
    first = ask(client, "worker:alpha", "Hi", store=why != "not stored")
    stage.settle()
    if why == "another token":
        stage.auth.principal = Principal(token="bob")
    elif why == "deleted":
        client.responses.delete(first.id)
    reference = {"type": "item_reference", "id": first.output[0].id}
    with pytest.raises(openai.BadRequestError) as refused:
        ask(client, "worker:alpha", [reference, {"role": "user", "content": "?"}])
    assert refused.value.param == "input.0.id"
