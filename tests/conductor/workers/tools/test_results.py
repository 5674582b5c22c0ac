"""The text of a result: what is in it, what is named only, where it is cut."""

from __future__ import annotations

import pytest
from mcp_types import CallToolResult, ImageContent, ResourceLink, TextContent

from conductor.workers.keys.mask import NO_KEYS, Mask
from conductor.workers.tools.connection import tool_result
from conductor.workers.tools.tool_server import MAX_RESULT

IMAGE = ImageContent(data="A" * 4_000, mime_type="image/png")
TEXT = TextContent(text="words")

RESULTS = [
    (CallToolResult(content=[TEXT, TextContent(text="more")]), "words\nmore"),
    (CallToolResult(content=[TEXT], structured_content={"a": 1}), "words"),
    (CallToolResult(content=[], structured_content={"a": "ü"}), '{"a": "ü"}'),
    (CallToolResult(content=[], structured_content=[]), "[]"),
    (CallToolResult(content=[]), ""),
    (CallToolResult(content=[IMAGE, TEXT]), "[image: image/png, 3.0 kB]\nwords"),
    (CallToolResult(content=[IMAGE], structured_content=5), "[image: image/png, 3.0 kB]\n5"),
    (CallToolResult(content=[ImageContent(data="", mime_type="a\nb" * 900)]), "[image: a ba ba b"),
    (CallToolResult(content=[ResourceLink(name="n", uri="file:///x")]), "[resource_link: file:///x]"),
]


@pytest.mark.parametrize(("result", "text"), RESULTS, ids=lambda each: str(each)[-60:])
def test_a_result_is_its_texts_and_a_line_for_all_else(result: CallToolResult, text: str) -> None:
    answer = tool_result(result, NO_KEYS, 1.5)
    assert answer.text.startswith(text)
    assert len(answer.text) <= max(len(text), 300)
    assert (answer.is_error, answer.seconds, answer.cut) == (False, 1.5, None)


@pytest.mark.parametrize(("length", "cut"), [(MAX_RESULT, None), (MAX_RESULT + 1, MAX_RESULT + 1)])
def test_a_long_result_is_cut_and_states_it(length: int, cut: int | None) -> None:
    text = "x" * length
    answer = tool_result(CallToolResult(content=[TextContent(text=text)]), NO_KEYS, 0)
    note = f"\n[cut: the first 50,000 of {length:,} characters]" if cut else ""
    assert answer.text == text[:MAX_RESULT] + note
    assert answer.cut == cut


def test_a_key_in_a_result_is_masked() -> None:
    result = CallToolResult(content=[TextContent(text="the key is sk-12345678.")], is_error=True)
    answer = tool_result(result, Mask(("sk-12345678",)), 0)
    assert (answer.text, answer.is_error) == ("the key is ***.", True)
