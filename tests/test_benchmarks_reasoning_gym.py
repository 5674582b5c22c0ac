"""The script that writes reasoning-gym's questions writes a data file that evaluations read."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conductor.evaluation.data_file import read_data


def create_dataset(kind: str, *, size: int, seed: int, **_: Any) -> list[dict[str, object]]:
    """Stands for the library's, which is in no environment of this project."""
    return [{"question": f" {kind} {seed}-{at}?\n", "answer": at} for at in range(size)]


def test_the_kinds_take_turns_and_the_lines_are_questions_with_a_category(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "reasoning_gym", SimpleNamespace(create_dataset=create_dataset))  # type: ignore[arg-type]
    script = import_module("benchmarks.reasoning_gym_questions")
    monkeypatch.delitem(sys.modules, script.__name__)
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in script.rows(3, seed=7)), encoding="utf-8")
    items = read_data(file).items
    assert [item.category for item in items[:6]] == list(script.KINDS)
    assert [(item.question, item.target) for item in items[6::6]] == [
        ("basic_arithmetic 7-1?", ("1",)),
        ("basic_arithmetic 7-2?", ("2",)),
    ]
    assert {item.scored_by for item in items} == {"number", "contains"}
