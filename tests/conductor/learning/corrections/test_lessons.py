"""Rows of an export become lessons for a small Conductor, whatever prompt the corrected one had."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import DataError, FormatError
from conductor.learning.corrections.lessons import Lesson, lesson_of, read_rows
from conductor.planner.corrections import LeftOut
from conductor.planner.format import format_plan
from conductor.planner.local.local_prompt import prompt_text
from conductor.workflow.model import Step, Workflow

NAMES = ("facts", "letters", "solver")
POOL = ("gpt-5", "letters", "facts")
GOOD = Workflow.of(
    [
        Step(instruction="Find the capital.", worker="facts"),
        Step(instruction="Count.", worker="letters", access=(0,)),
    ]
)
BAD = Workflow.of([Step(instruction="Answer the question.", worker="gpt-5")])
ABOUT = {"query": "How long is it?", "pool": {"workers": list(POOL)}, "dialect": "any", "round": 1}


def _row(about: dict[str, Any] | None = None, **plans: Workflow) -> dict[str, Any]:
    metadata = {**ABOUT, "form": "lists", **(about or {})}
    texts = {name: format_plan(plan, POOL, form=metadata["form"]) for name, plan in plans.items()}
    return {
        "prompt": [],
        **{name: [{"role": "assistant", "content": text}] for name, text in texts.items()},
        "metadata": metadata,
    }


@pytest.mark.parametrize("form", ["lists", "json", "names"])
def test_a_pair_is_a_lesson_in_the_prompt_of_a_small_conductor(form: str):
    lesson = lesson_of(_row({"form": form}, chosen=GOOD, rejected=GOOD.with_worker(1, "facts")), NAMES)
    assert isinstance(lesson, Lesson)
    assert lesson.chosen == GOOD
    assert lesson.rejected == GOOD.with_worker(1, "facts")
    assert lesson.prompt == prompt_text("How long is it?", ("facts", "letters"))


def test_a_rejected_plan_of_workers_that_are_not_known_is_no_part_of_the_lesson():
    lesson = lesson_of(_row(chosen=GOOD, rejected=BAD), NAMES)
    assert isinstance(lesson, Lesson)
    assert lesson.rejected is None


def test_a_better_plan_alone_and_one_judged_good_are_lessons():
    for more in ({}, {"label": True}):
        lesson = lesson_of(_row(completion=GOOD) | more, NAMES)
        assert lesson == Lesson(query="How long is it?", workers=("facts", "letters"), chosen=GOOD)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_row(completion=GOOD) | {"label": False}, "judged it bad"),
        (_row(chosen=BAD, rejected=GOOD), "does not know gpt-5"),
        (_row({"round": 2}, chosen=GOOD), "later round"),
        ({key: value for key, value in _row(chosen=GOOD).items() if key != "metadata"}, "without --bare"),
        (_row(), "cannot be read"),
        (_row() | {"chosen": [{"content": "no plan"}]}, "cannot be read"),
        (_row() | {"chosen": [{"content": 3}]}, "no plan"),
    ],
)
def test_what_teaches_nothing_is_left_out_with_its_reason(row: dict[str, Any], reason: str):
    left_out = lesson_of(row, NAMES)
    assert isinstance(left_out, LeftOut)
    assert reason in left_out.reason


def test_a_file_that_is_no_export_is_refused_with_its_line(tmp_path: Path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"a": 1}) + "\n\n", encoding="utf-8")
    assert list(read_rows(file)) == [{"a": 1}]
    for text, message in (("{", "line 1, is not JSON"), ("[]", "line 1, is no row")):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=message):
            list(read_rows(file))
    with pytest.raises(FormatError, match="cannot be read"):
        list(read_rows(tmp_path / "none"))
