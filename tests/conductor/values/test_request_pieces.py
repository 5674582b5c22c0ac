"""A request in pieces: its parts, and the calls of tools with their results, each by name."""

from __future__ import annotations

from conductor.runs.state import fold
from conductor.values.message_parts.tools import ToolCall
from conductor.values.messages import Message, Part, Request
from conductor.values.provenance import TOOLS
from conductor.values.request_pieces import request_pieces
from tests.support.runs.tool_cases import HOSTILE, tool_events


def test_calls_and_results_are_pieces_with_titles_in_their_order() -> None:
    [step] = fold(tool_events("a.txt")).steps
    assert step.request is not None
    pieces = list(request_pieces(step.request, step.tool_uses))
    assert [(piece.title, piece.text) for piece in pieces] == [
        ("", "Why?"),
        ("", "Look."),
        ("Written before it called", "a.txt"),
        ("Calls files:read", '{\n  "path": "a.txt"\n}'),
        ("Calls files:a.txt", "a.txt"),
        ("Result of files:read, 0.5 s, the beginning of 60,000 characters", "a.txt"),
        ("Result of files:a.txt, 1.5 s, an error", "a.txt"),
    ]
    assert [piece.source == TOOLS for piece in pieces] == [False, False, True, True, True, True, True]


def test_calls_of_the_conversation_are_not_taken_for_those_of_the_step() -> None:
    call = ToolCall(id="c1", name="weather", arguments="{}")
    others = (
        Message("assistant", (), (call,)),
        Message("tool", (Part("turn", "warm"),), tool_call_id="c1"),
    )
    [step] = fold(tool_events(HOSTILE)).steps
    assert step.request is not None
    request = Request(messages=(*others, *step.request.messages))
    titles = [piece.title for piece in request_pieces(request, step.tool_uses)]
    assert titles[:2] == ["Calls weather", "Result of a tool"]
    assert titles[-2].startswith("Result of files:read, 0.5 s")
    alone = [piece.title for piece in request_pieces(Request(messages=others), step.tool_uses)]
    assert alone == ["Calls weather", "Result of a tool"]
