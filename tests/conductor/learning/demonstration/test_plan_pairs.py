from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from conductor.errors import DataError
from conductor.learning.demonstration.exam import (
    PLANS,
    QUESTIONS,
    pairs_before,
    pairs_exam,
    planned_of,
    read_pairs,
)
from conductor.learning.demonstration.run_folder import RunFolder
from conductor.learning.demonstration.settings import DemoSettings
from conductor.learning.reward import Judge
from conductor.orchard import orchard_pool
from conductor.planner.local.local_prompt import plan_text


@pytest.mark.slow
def test_pairs_are_written_before_a_training_and_completed_after_it(tmp_path: Path):
    pool = orchard_pool()
    exam = pairs_exam(pool.names)
    assert len({question.family for question in exam.questions}) == QUESTIONS - 1
    assert exam == pairs_exam(pool.names)

    def planned(plans: list[str]):
        return planned_of(plans, asyncio.run(Judge(pool).judge(plans, exam.items, exam.pools)), exam)

    folder = RunFolder(tmp_path, DemoSettings())
    assert read_pairs(tmp_path) is None
    folder.write(PLANS, pairs_before(exam, planned(["nothing of the kind"] * QUESTIONS)))
    before = read_pairs(tmp_path)
    assert before is not None
    assert {(pair.before.workflow, pair.before.right, pair.after) for pair in before.pairs} == {
        (None, False, None)
    }
    right = planned([plan_text(question.oracle) for question in exam.questions])
    folder.write(PLANS, before.after(right))
    after = read_pairs(tmp_path)
    assert after is not None
    for pair, question in zip(after.pairs, exam.questions, strict=True):
        assert pair.after is not None
        assert pair.after.right
        assert pair.after.workflow is not None
        assert len(pair.after.workflow) == question.steps
        assert pair.before.workflow is None


@pytest.mark.parametrize("content", ["", "[]", '{"pairs": [{}]}'])
def test_a_broken_file_is_named(tmp_path: Path, content: str):
    (tmp_path / PLANS).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"plans\.json is not a file of plans"):
        read_pairs(tmp_path)
