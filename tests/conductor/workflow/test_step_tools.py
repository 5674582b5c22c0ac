"""A step names tools as its worker does, and can only have fewer."""

from __future__ import annotations

import pytest

from conductor.errors import WorkflowError
from conductor.workflow.step_tools import may_name, tools_words, unnamed
from tests.support.runs.workflow_cases import workflow_of

ONE = workflow_of(())


@pytest.mark.parametrize(
    ("pattern", "patterns", "may"),
    [
        ("web", ["web"], True),
        ("web", ["files", "web:search"], True),
        ("web:search", ["web"], True),
        ("web:search", ["web:search"], True),
        ("files:read_text", ["files:read_*"], True),
        ("files:read_*", ["files:read_text"], True),
        ("files:*_text", ["files:read_*"], True),
        ("files:write", ["files:read_*"], False),
        ("web:search", ["files", "web:fetch"], False),
        ("web", ["webs"], False),
        ("web", [], False),
    ],
)
def test_a_pattern_may_name_what_another_one_names(pattern: str, patterns: list[str], may: bool) -> None:
    assert may_name(pattern, patterns) is may
    assert unnamed((pattern,), patterns) == (() if may else (pattern,))


@pytest.mark.parametrize(
    ("tools", "words"),
    [(None, "all tools of its worker"), ((), "no tool"), (("files:read_*", "web"), "files:read_*, web")],
)
def test_what_a_step_may_call_has_words(tools: tuple[str, ...] | None, words: str) -> None:
    assert tools_words(tools) == words


@pytest.mark.parametrize("wrong", ["", " ", "web:", "a b", "web:a\nb", "x" * 33, f"web:{'x' * 129}"])
def test_a_step_names_tools_as_the_pool_file_does(wrong: str) -> None:
    with pytest.raises(WorkflowError, match=r"Step 1 names the tools .*; write SERVER or SERVER:NAME"):
        ONE.with_tools(0, [wrong])


def test_a_step_names_so_many_tools() -> None:
    assert len(ONE.with_tools(0, [f"web:{at}" for at in range(128)]).steps[0].tools or ()) == 128
    with pytest.raises(WorkflowError, match="names 129 tools; the limit is 128"):
        ONE.with_tools(0, [f"web:{at}" for at in range(129)])


def test_the_order_of_tools_and_repeats_make_no_other_step() -> None:
    assert ONE.with_tools(0, ["web", "files", "web"]) == ONE.with_tools(0, ["files", "web"])
    assert ONE.with_tools(0, []) != ONE.with_tools(0, None) == ONE
