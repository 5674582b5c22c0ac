"""Each example of the start page is planned in the shape that it announces, and has an answer."""

from __future__ import annotations

from pathlib import Path

import pytest

import conductor
from conductor.text.final_answer import final_answer
from conductor.workers.orchard.reading import reading
from conductor.workers.pool.pool import built_in_pool, read_pool
from pages.components.workbench.welcome.welcome import EXAMPLES, OF_THE_ORCHARD

SHAPES = {
    "One exact step": "single",
    "Independent steps and an aggregator": "fan-out",
    "Plan, execute, verify": "planner-executor-verifier",
}


@pytest.mark.parametrize(("query", "shape"), [(query, shape) for _, query, shape in EXAMPLES])
async def test_an_example_of_the_built_in_set_has_its_shape_and_an_answer(query: str, shape: str) -> None:
    run = await conductor.aask(query, pool=built_in_pool())
    assert run.workflow is not None
    assert run.workflow.topology == SHAPES[shape]
    assert run.answered


@pytest.mark.slow
@pytest.mark.parametrize("query", [query for _, query, _ in OF_THE_ORCHARD])
async def test_an_example_of_the_orchard_has_its_right_answer(query: str) -> None:
    question = reading(query)
    assert question is not None
    run = await conductor.aask(query, pool=read_pool(Path("orchard")))
    assert final_answer(run.answer or "") == question.answer
