"""`gallery list` shows what there is, `gallery run` runs it on the pool and prints the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.gallery import GALLERY
from tests.studio.cli.command_line import Line


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
    debate = line("gallery", "run", "debate", "Tea?", "--pool", simulated)
    assert debate.out == "from alpha\n"


@pytest.mark.slow
def test_that_a_pool_without_a_language_model_will_decline_is_announced(line: Line, folder: Path) -> None:
    (folder / "pool.toml").write_text('[[worker]]\nname = "sums"\nkind = "calculator"\n', encoding="utf-8")
    result = line("gallery", "run", "debate", "Tea or coffee?")
    assert result.code == 3
    assert "the pool has no language model, so the steps will decline; add one." in result.err


def test_an_unknown_workflow_is_named(line: Line) -> None:
    result = line("gallery", "run", "debates", "Tea?")
    assert result.code == 1
    assert "The gallery has no workflow 'debates'" in result.err
