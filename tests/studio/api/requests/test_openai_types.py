"""The unions of OpenAI's own types, member by member: a member that a new version adds is missing here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from openai.types.chat import ChatCompletionToolUnionParam
from openai.types.chat.chat_completion_content_part_param import ChatCompletionContentPartParam
from openai.types.chat.chat_completion_message_param import ChatCompletionMessageParam
from openai.types.chat.chat_completion_message_tool_call_union_param import (
    ChatCompletionMessageToolCallUnionParam,
)
from openai.types.chat.chat_completion_tool_choice_option_param import ChatCompletionToolChoiceOptionParam
from openai.types.responses import ResponseIncludable
from openai.types.responses.response_create_params import ToolChoice
from openai.types.responses.response_input_content_param import ResponseInputContentParam
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from openai.types.responses.tool_param import ToolParam
from openai.types.shared_params.reasoning import Reasoning

from studio.access.errors import ApiError
from studio.api.requests.chat_request import ChatRequest
from studio.api.requests.responses_request import LOGPROBS, ResponsesRequest

USER = {"role": "user", "content": "Hi"}
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ"
    "RU5ErkJggg=="
)
TEXT_FILE = "data:text/plain;base64,aGVsbG8="


def chat(**more: Any) -> ChatRequest:
    return ChatRequest.read(json.dumps({"model": "m", "messages": [USER], **more}).encode())


def responses(**more: Any) -> ResponsesRequest:
    return ResponsesRequest.read(json.dumps({"model": "m", "input": "Hi", **more}).encode())


def literals(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from get_args(annotation)
    for part in get_args(annotation):
        if part is not None:
            yield from literals(part)


def kinds(union: Any, name: str = "type") -> set[str]:
    """The values of that member of all members of the union."""
    hints = (get_type_hints(each).get(name) for each in get_args(union) if hasattr(each, "__annotations__"))
    return {kind for hint in hints for kind in literals(hint)}


# -- tools -----------------------------------------------------------------------------------------

FUNCTION = {"type": "function", "name": "f", "parameters": {}}
CUSTOM = {"type": "custom", "name": "c"}
OFFERED: dict[str, tuple[dict[str, Any], list[str]]] = {
    # the type of a tool: one of it, and the functions that are offered for it
    "function": (FUNCTION, ["f"]),
    "custom": ({**CUSTOM, "format": {"type": "grammar", "syntax": "lark", "definition": "start: A"}}, ["c"]),
    "namespace": (
        {"type": "namespace", "name": "n", "description": "d", "tools": [FUNCTION, CUSTOM]},
        ["n__f", "n__c"],
    ),
}
LEFT_OUT: dict[str, dict[str, Any]] = {
    "web_search": {"search_context_size": "low"},
    "web_search_2025_08_26": {},
    "web_search_preview": {},
    "web_search_preview_2025_03_11": {},
    "file_search": {"vector_store_ids": ["vs_1"]},
    "code_interpreter": {"container": {"type": "auto"}},
    "image_generation": {},
    "computer": {},
    "computer_use_preview": {"display_width": 1, "display_height": 1, "environment": "linux"},
    "mcp": {"server_label": "l", "server_url": "https://e.org", "authorization": "secret"},
    "local_shell": {},
    "shell": {},
    "apply_patch": {},
    "tool_search": {},
    "programmatic_tool_calling": {},
}


def test_the_table_has_all_tools() -> None:
    assert {*OFFERED, *LEFT_OUT} == kinds(ToolParam)
    assert kinds(ChatCompletionToolUnionParam) == {"function", "custom"}


@pytest.mark.parametrize("member", OFFERED)
def test_a_tool_that_its_client_runs_is_offered(member: str) -> None:
    tool, functions = OFFERED[member]
    request = responses(tools=[tool], tool_choice="required")
    assert request.offer is not None
    assert [each.name for each in request.offer.tools] == functions
    assert request.ignored == []


@pytest.mark.parametrize("choice", ["auto", "none", None])
@pytest.mark.parametrize("member", [*LEFT_OUT, "of_next_year"])
def test_a_tool_that_would_run_at_a_server_is_left_out(member: str, choice: str | None) -> None:
    tool = {"type": member, **LEFT_OUT.get(member, {})}
    inside = {"type": "namespace", "name": "n", "tools": [tool, FUNCTION]}
    for request in (
        responses(tools=[tool, FUNCTION], tool_choice=choice),
        responses(tools=[inside], tool_choice=choice),
        chat(tools=[tool, {"type": "function", "function": {"name": "f"}}], tool_choice=choice),
    ):
        assert request.offer is not None
        assert len(request.offer.tools) == 1
        assert [name.replace("tools.tools", "tools") for name in request.ignored] == [f"tools.{member}"]
    assert responses(tools=[tool], tool_choice=choice).offer is None


@pytest.mark.parametrize("member", [*LEFT_OUT, "of_next_year"])
def test_a_tool_that_would_run_at_a_server_cannot_be_chosen(member: str) -> None:
    tools = [{"type": member, **LEFT_OUT.get(member, {})}]
    named: list[Any] = ["required", {"type": member}]
    flat = [*named, {"type": "allowed_tools", "mode": "required", "tools": [{"type": member}]}]
    nested = {"mode": "required", "tools": [{"type": member}]}
    for choice in flat:
        with pytest.raises(ApiError, match="tool_choice") as refused:
            responses(tools=tools, tool_choice=choice)
        assert refused.value.code == "unsupported_parameter"
    for choice in (*named, {"type": "allowed_tools", "allowed_tools": nested}):
        with pytest.raises(ApiError, match="tool_choice"):
            chat(tools=tools, tool_choice=choice)


def test_a_choice_among_tools_of_servers_is_a_choice_of_none() -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}
    request = responses(tools=[FUNCTION, {"type": "web_search"}], tool_choice=choice)
    assert request.offer is not None
    assert request.offer.choice is not None
    assert request.offer.choice.kind == "none"
    assert request.ignored == ["tools.web_search", "tool_choice.tools.web_search"]


def test_the_table_has_all_choices() -> None:
    hosted = kinds(ToolChoice) - {"allowed_tools", "function", "custom", "computer_use"}
    assert hosted <= {*LEFT_OUT}
    assert kinds(ChatCompletionToolChoiceOptionParam) == {"allowed_tools", "function", "custom"}


@pytest.mark.parametrize(
    ("choice", "member", "functions"),
    [
        ({"type": "function", "name": "f"}, "named", ("f",)),
        ({"type": "function", "name": "f", "namespace": "n"}, "named", ("n__f",)),
        ({"type": "function", "name": "only"}, "named", ("n__only",)),
        ({"type": "custom", "name": "c"}, "named", ("c",)),
        ({"type": "namespace", "name": "n"}, "required", ("n__f", "n__only")),
        (
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "namespace", "name": "n"}, {"type": "web_search"}, CUSTOM],
            },
            "auto",
            ("n__f", "n__only", "c"),
        ),
    ],
)
def test_a_choice_is_of_functions(choice: Any, member: str, functions: tuple[str, ...]) -> None:
    namespace = {"type": "namespace", "name": "n", "tools": [FUNCTION, {"type": "function", "name": "only"}]}
    offered = responses(tools=[FUNCTION, CUSTOM, namespace], tool_choice=choice).offer
    assert offered is not None
    assert offered.choice is not None
    assert (offered.choice.kind, offered.choice.called) == (member, functions)


def test_a_function_states_what_its_tool_is() -> None:
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: A"}
    tools = [
        {
            "type": "namespace",
            "name": "n",
            "description": "of n",
            "tools": [{**FUNCTION, "description": "of f"}],
        },
        {**CUSTOM, "description": "of c", "format": grammar},
    ]
    nested = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: A"}}
    of_chat = chat(
        tools=[{"type": "custom", "custom": {"name": "c", "description": "of c", "format": nested}}]
    )
    offered = responses(tools=tools).offer
    assert offered is not None
    first, custom = offered.tools
    assert first.description == "About all tools of n: of n\n\nof f"
    assert custom.description == "of c"
    assert of_chat.offer is not None
    assert of_chat.offer.tools == (custom,)
    schema = json.loads(custom.parameters or "")
    assert schema["required"] == ["input"]
    assert "lark" in schema["properties"]["input"]["description"]
    assert "start: A" in schema["properties"]["input"]["description"]


@pytest.mark.parametrize(
    "tools",
    [
        [FUNCTION, FUNCTION],
        [FUNCTION, {**CUSTOM, "name": "f"}],
        [{"type": "namespace", "name": "n", "tools": [FUNCTION, FUNCTION]}],
        [{"type": "namespace", "name": "n", "tools": [FUNCTION]}] * 2,
    ],
)
def test_a_name_is_offered_once(tools: list[Any]) -> None:
    with pytest.raises(ApiError, match="is offered twice"):
        responses(tools=tools)


def test_there_are_so_many_functions_at_most() -> None:
    spaces = [
        {
            "type": "namespace",
            "name": f"n{at}",
            "tools": [{"type": "function", "name": f"f{n}"} for n in range(100)],
        }
        for at in range(2)
    ]
    with pytest.raises(ApiError, match="offers 200 functions; the limit is 128"):
        responses(tools=spaces)


# -- items -----------------------------------------------------------------------------------------

ANSWER = {"role": "assistant", "content": "Hello"}
Sent = list[tuple[str, str]]
SEEN: dict[str, tuple[list[dict[str, Any]], Sent]] = {
    # the type of an item: such items behind a question, and what the worker is sent for them: the role of
    # each message with its text, or its calls
    "message": ([ANSWER], [("assistant", "Hello")]),
    "function_call": (
        [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
         {"type": "function_call_output", "call_id": "a", "output": "2"}],
        [("assistant", "f {}"), ("tool", "2")],
    ),
    "custom_tool_call": (
        [{"type": "custom_tool_call", "call_id": "a", "name": "c", "input": "x"},
         {"type": "custom_tool_call_output", "call_id": "a",
          "output": [{"type": "input_text", "text": "2"}]}],
        [("assistant", 'c {"input": "x"}'), ("tool", "2")],
    ),
    "file_search_call": (
        [{"type": "file_search_call", "id": "a", "queries": ["q"], "results": [{"text": "t"}]}],
        [("assistant", 'file_search {"queries": ["q"]}'), ("tool", '[{"text": "t"}]')],
    ),
    "code_interpreter_call": (
        [{"type": "code_interpreter_call", "id": "a", "code": "1",
          "outputs": [{"type": "logs", "logs": "1"}]}],
        [("assistant", 'code_interpreter {"code": "1"}'), ("tool", '[{"type": "logs", "logs": "1"}]')],
    ),
    "mcp_call": (
        [{"type": "mcp_call", "id": "a", "name": "find", "server_label": "l", "arguments": "{}",
          "output": "2"}],
        [("assistant", "find {}"), ("tool", "2")],
    ),
    "local_shell_call": (
        [{"type": "local_shell_call", "id": "a", "call_id": "b", "action": {"type": "exec"},
          "status": "completed"},
         {"type": "local_shell_call_output", "id": "b", "output": "2"}],
        [("assistant", 'local_shell {"action": {"type": "exec"}}'), ("tool", "2")],
    ),
    "shell_call": (
        [{"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}},
         {"type": "shell_call_output", "call_id": "a", "output": [{"stdout": "2"}]}],
        [("assistant", 'shell {"action": {"commands": ["ls"]}}'), ("tool", '[{"stdout": "2"}]')],
    ),
    "apply_patch_call": (
        [{"type": "apply_patch_call", "call_id": "a", "operation": {"type": "delete_file", "path": "p"}},
         {"type": "apply_patch_call_output", "call_id": "a", "status": "completed"}],
        [("assistant", 'apply_patch {"operation": {"type": "delete_file", "path": "p"}}'),
         ("tool", "completed")],
    ),
    "program": (
        [{"type": "program", "call_id": "a", "code": "1"},
         {"type": "program_output", "call_id": "a", "result": "2"}],
        [("assistant", 'program {"code": "1"}'), ("tool", "2")],
    ),
}  # fmt: skip
DROPPED: dict[str, dict[str, Any]] = {
    "web_search_call": {"id": "ws_1", "action": {"type": "search", "query": "q"}, "status": "completed"},
    "computer_call": {"id": "a", "call_id": "b", "action": {"type": "click"}},
    "computer_call_output": {"call_id": "b", "output": {"type": "computer_screenshot", "image_url": PIXEL}},
    "image_generation_call": {"id": "a", "result": "iVBORw0KGgo="},
    "reasoning": {"id": "rs_1", "summary": []},
    "compaction": {"encrypted_content": "x"},
    "mcp_list_tools": {"id": "a", "server_label": "l", "tools": []},
    "mcp_approval_request": {"id": "a", "name": "n", "arguments": "{}", "server_label": "l"},
    "mcp_approval_response": {"approval_request_id": "a", "approve": True},
    "tool_search_call": {"id": "a", "arguments": {}},
    "of_next_year": {"id": 1, "call_id": ["a"], "anything": {"a": [1]}},
}
OTHERS = {
    *("function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output"),
    *("apply_patch_call_output", "program_output"),
}
"""Results, which stand with their calls above."""
TOOLS_IN_INPUT = ("additional_tools", "tool_search_output")
REFUSED = {
    "compaction_trigger": {},
    "configuration_update": {"reasoning": {"effort": "low"}},
}


def sent(request: ResponsesRequest) -> Sent:
    history = request.question.history
    turns = (*history.turns, *history.following)
    return [
        (turn.role, turn.text or " ".join(f"{call.name} {call.arguments}" for call in turn.tool_calls))
        for turn in turns
    ]


def test_the_table_has_all_items() -> None:
    tables = {*SEEN, *DROPPED, *OTHERS, *TOOLS_IN_INPUT, *REFUSED, "item_reference"} - {"of_next_year"}
    assert tables == kinds(ResponseInputItemParam)


@pytest.mark.parametrize("member", SEEN)
def test_an_item_that_a_worker_must_see_is_sent(member: str) -> None:
    items, seen = SEEN[member]
    ends = [] if seen[-1][0] == "tool" else [USER]
    request = responses(input=[USER, *items, *ends], tools=[FUNCTION, CUSTOM])
    before = [("user", "Hi")] if ends else []
    assert sent(request) == [*before, *seen]
    assert [name for name in request.ignored if name not in ("input.id", "input.status")] == []


@pytest.mark.parametrize("member", DROPPED)
def test_an_item_of_another_server_is_left_out_and_named(member: str) -> None:
    request = responses(input=[{"type": member, **DROPPED[member]}, USER])
    assert (sent(request), request.ignored) == ([], [f"input.{member}"])


@pytest.mark.parametrize("member", REFUSED)
def test_an_item_that_asks_for_what_is_not_done_is_refused(member: str) -> None:
    with pytest.raises(ApiError) as refused:
        responses(input=[USER, {"type": member, **REFUSED[member]}])
    assert (refused.value.param, refused.value.code) == ("input.1.type", "unsupported_parameter")


def test_a_call_without_its_result_is_left_out_and_a_result_without_its_call_is_text() -> None:
    items = [
        {"type": "shell_call", "call_id": "a", "action": {}},
        {"type": "local_shell_call_output", "id": "b", "output": "2"},
        USER,
    ]
    request = responses(input=items)
    assert sent(request) == [("user", "local_shell_call_output:\n2")]
    assert request.ignored == ["input.shell_call"]


def test_a_result_belongs_to_one_call() -> None:
    call = {"type": "shell_call", "call_id": "a", "action": {}}
    result = {"type": "shell_call_output", "call_id": "a", "output": "2"}
    assert sent(responses(input=[USER, call, result, USER])) == [
        ("user", "Hi"), ("assistant", 'shell {"action": {}}'), ("tool", "2"),
    ]  # fmt: skip
    assert ("user", "shell_call_output:\n2") in sent(responses(input=[USER, call, result, result, USER]))


@pytest.mark.parametrize("member", TOOLS_IN_INPUT)
def test_tools_in_the_input_are_offered_as_well(member: str) -> None:
    item = {"type": member, "role": "developer", "tools": [FUNCTION, CUSTOM, {"type": "web_search"}]}
    request = responses(input=[item, USER], tools=[FUNCTION])
    assert request.offer is not None
    assert [tool.name for tool in request.offer.tools] == ["f", "c"]
    assert request.ignored == ["input.tools.web_search"]


def test_the_input_ends_with_what_can_be_answered() -> None:
    for last in (
        DROPPED["web_search_call"] | {"type": "web_search_call"},
        {"type": "reasoning", "summary": []},
    ):
        assert responses(input=[USER, last]).question.query == "Hi"
        with pytest.raises(ApiError, match="The last message must be the user's"):
            responses(input=[USER, ANSWER, last])


# -- values ----------------------------------------------------------------------------------------


def test_all_values_of_include_are_taken() -> None:
    for name in get_args(ResponseIncludable):
        assert responses(include=[name]).ignored == ([] if name == LOGPROBS else [f"include.{name}"])


def test_all_efforts_are_taken() -> None:
    for effort in literals(get_type_hints(Reasoning)["effort"]):
        assert responses(reasoning={"effort": effort}).question.effort == effort
        assert chat(reasoning_effort=effort).question.effort == effort


CONTENT: dict[str, tuple[dict[str, Any], bool]] = {
    # the type of a part of a chat's message: one of it, and whether it is accepted
    "text": ({"text": "x"}, True),
    "image_url": ({"image_url": {"url": PIXEL, "of": "next year"}}, True),
    "file": ({"file": {"file_data": TEXT_FILE, "filename": "a.txt", "of": "next year"}}, True),
    "input_audio": ({"input_audio": {"data": "x", "format": "wav"}}, False),
}
INPUT_CONTENT: dict[str, tuple[dict[str, Any], bool]] = {
    "input_text": ({"text": "x"}, True),
    "input_image": ({"image_url": PIXEL, "of": "next year"}, True),
    "input_file": ({"file_data": TEXT_FILE, "filename": "a.txt", "of": "next year"}, True),
    "input_audio": ({"input_audio": {"data": "x", "format": "wav"}}, False),
}


def test_the_tables_have_all_parts_of_messages() -> None:
    assert kinds(ChatCompletionContentPartParam) == {*CONTENT}
    assert kinds(ResponseInputContentParam) <= {*INPUT_CONTENT}
    assert kinds(ChatCompletionMessageParam, "role") - {"function"} == {
        "system", "developer", "user", "assistant", "tool",
    }  # fmt: skip
    assert kinds(ChatCompletionMessageToolCallUnionParam) == {"function", "custom"}


@pytest.mark.parametrize(
    ("parameter", "member", "part", "accepted"),
    [("messages", member, *row) for member, row in CONTENT.items()]
    + [("input", member, *row) for member, row in INPUT_CONTENT.items()],
)
def test_parts_of_messages_are_taken_or_refused(
    parameter: str, member: str, part: dict[str, Any], accepted: bool
) -> None:
    read = chat if parameter == "messages" else responses
    text = {"type": "text" if parameter == "messages" else "input_text", "text": "Hi"}
    messages = [{"role": "user", "content": [text, {"type": member, **part}]}]
    if accepted:
        named = read(**{parameter: messages}).ignored
        assert all(name.endswith(".of") for name in named)
        assert bool(named) is ("next year" in json.dumps(part))
        return
    with pytest.raises(ApiError) as refused:
        read(**{parameter: messages})
    assert refused.value.param == f"{parameter}.0.content.1.type"


def test_calls_of_custom_tools_in_a_chat_are_read() -> None:
    call = {"id": "a", "type": "custom", "custom": {"name": "c", "input": "x"}}
    request = chat(
        messages=[
            USER,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "2"},
        ]
    )
    (turn, _) = request.question.history.following
    assert [(each.name, each.arguments) for each in turn.tool_calls] == [("c", '{"input": "x"}')]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"tools": [{"type": "function", "function": {"name": "f", "of": 1}}]}, "tools.function.of"),
        (
            {
                "tools": [{"type": "function", "function": {"name": "f"}}],
                "tool_choice": {"type": "function", "function": {"name": "f", "of": 1}},
            },
            "tool_choice.function.of",
        ),
        (
            {
                "tools": [{"type": "function", "function": {"name": "f"}}],
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {
                        "mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}], "of": 1,
                    },
                },
            },
            "tool_choice.allowed_tools.of",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "of": 1}}},
            "response_format.json_schema.of",
        ),
    ],
)  # fmt: skip
def test_what_newer_clients_add_inside_is_named(more: dict[str, Any], named: str) -> None:
    assert chat(**more).ignored == [named]


def test_our_own_extension_stays_strict() -> None:
    with pytest.raises(ApiError, match=r"Unknown parameter: 'conductor\.max_step'"):
        chat(conductor={"max_step": 1})
