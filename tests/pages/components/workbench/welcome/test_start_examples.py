"""Each example of the start page has the plan that its picture shows, and an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import conductor
from conductor.text.final_answer import final_answer
from conductor.workers.orchard.reading import reading
from conductor.workers.pool.pool import built_in_pool, read_pool
from pages.components.workbench.welcome.gallery import EXAMPLES, OF_THE_ORCHARD, Example


@pytest.mark.parametrize("example", EXAMPLES)
async def test_an_example_of_the_built_in_set_has_its_shape_and_an_answer(example: Example) -> None:
    run = await conductor.aask(example.query, pool=built_in_pool())
    assert run.workflow is not None
    assert tuple(step.access for step in run.workflow.steps) == example.shape
    assert run.answered


@pytest.mark.slow
@pytest.mark.parametrize("example", OF_THE_ORCHARD)
async def test_an_example_of_the_orchard_has_its_shape_and_its_right_answer(example: Example) -> None:
    question = reading(example.query)
    assert question is not None
    run = await conductor.aask(example.query, pool=read_pool(Path("orchard")))
    assert final_answer(run.answer or "") == question.answer
    assert run.workflow is not None
    assert tuple(step.access for step in run.workflow.steps) == example.shape
