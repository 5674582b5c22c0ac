"""`gallery list` shows what there is, `gallery run` runs it on the pool and prints the answer."""

from __future__ import annotations

import json

import pytest
from command_line import Line

from studio.gallery import GALLERY


def test_the_list_names_each_workflow_with_what_to_fill_in(line: Line) -> None:
    shapes = json.loads(line("gallery", "list", "--json").out)["workflows"]
    assert [shape["name"] for shape in shapes] == [entry.name for entry in GALLERY]
    text = line("gallery", "list").out
    assert all(entry.fill_in in text and f"{entry.name}: {entry.sentence}" in text for entry in GALLERY)


@pytest.mark.slow
def test_a_workflow_is_run_on_the_pool(line: Line, simulated: str) -> None:
    result = line("gallery", "run", "mixture-of-agents", "Why?", "--pool", simulated, "--json")
    assert result.code == 0
    shape = json.loads(result.out)
    assert [step["worker"] for step in shape["steps"]] == ["alpha", "beta", "alpha"] * 2 + ["beta"]
    assert shape["answer"] == "from beta"
    shown = line("gallery", "run", "debate", "Tea?", "--pool", simulated)
    assert shown.out == "from alpha\n"


@pytest.mark.slow
def test_what_the_experts_cannot_do_is_announced_and_is_no_answer(line: Line) -> None:
    result = line("gallery", "run", "debate", "Tea or coffee?")
    assert result.code == 3
    assert "the built-in experts cannot do this one and will decline; add a model." in result.err


def test_an_unknown_workflow_is_named(line: Line) -> None:
    result = line("gallery", "run", "debates", "Tea?")
    assert result.code == 1
    assert "The gallery has no workflow 'debates'" in result.err
