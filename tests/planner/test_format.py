"""A workflow written as text reads back as itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conductor.errors import WorkflowError
from conductor.plan import Dialect
from conductor.planner.format import format_plan
from conductor.planner.parse import parse
from conductor.workflow import Step, Workflow

POOL = ("Alpha", "Beta", "0")


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    spiced = st.lists(st.sampled_from(["<think>", "</think>", '"', "'", "\\", "\n", "]", "model_id = ["]))
    text = st.builds(lambda a, b: a + "".join(b), st.text(), spiced).filter(str.strip)
    count = draw(st.integers(1, 8))
    return Workflow.of(
        Step(
            instruction=draw(text),
            worker=draw(st.sampled_from(POOL)),
            access=draw(st.sets(st.integers(0, i - 1)).map(tuple)) if i else (),
        )
        for i in range(count)
    )


@settings(max_examples=50)
@given(workflow=workflows(), dialect=st.sampled_from(("any", "position")))
def test_a_formatted_workflow_reads_back_as_itself(workflow: Workflow, dialect: Dialect) -> None:
    report = parse(format_plan(workflow, POOL), workers=POOL, dialect=dialect, max_steps=8)
    assert report.problems == ()
    assert report.workflow == workflow
    assert report.repairs == ()


@pytest.mark.parametrize(
    "instruction",
    ["\ud83d\ude00 in halves", "\ud800", "a\u2028b", "\0", "</Think>", "\\u0041", '"""', "```", "caf\u00e9"],
)
def test_any_instruction_survives(instruction: str) -> None:
    workflow = Workflow.of([Step(instruction=instruction, worker="Beta")])
    assert parse(format_plan(workflow, POOL), workers=POOL).workflow == workflow


def test_a_formatted_workflow_is_the_three_published_lists() -> None:
    steps = [
        Step(instruction='Say "hi"', worker="Beta"),
        Step(instruction="Check", worker="Alpha", access=(0,)),
    ]
    assert format_plan(Workflow.of(steps), POOL) == (
        'model_id = [1, 0]\nsubtasks = ["Say \\"hi\\"", "Check"]\naccess_list = [[], [0]]'
    )


def test_a_worker_that_has_no_number_cannot_be_written() -> None:
    with pytest.raises(WorkflowError, match="Gamma"):
        format_plan(Workflow.of([Step(instruction="a", worker="Gamma")]), POOL)


@pytest.mark.parametrize("instruction", ["```", "Show ```python\ncode``` and ``` more", "``` ``` ```"])
def test_backticks_in_an_instruction_are_no_fence(instruction: str) -> None:
    workflow = Workflow.of([Step(instruction=instruction, worker="a")] * 3)
    report = parse(format_plan(workflow, ["a"]), workers=["a"])
    assert (report.workflow, report.repairs) == (workflow, ())
    fenced = parse(f"Look:\n```python\n{format_plan(workflow, ['a'])}\n```", workers=["a"])
    assert fenced.workflow == workflow
    assert {(repair.kind, repair.span) for repair in fenced.repairs} == {("code-fence", (6, 15))}
