"""A workflow written as text reads back as itself."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.errors import WorkflowError
from conductor.planner.format import format_plan
from conductor.planner.parsing.parse import PLACEHOLDER, parse
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Dialect, Form
from tests.support.cases.property_cases import cases

POOL = ("Alpha", "Beta", "0")
TOOLS = ("web", "files:read_*", 'files:a "b"', "files:tools = [")


def is_instruction(instruction: str) -> bool:
    return bool(instruction.strip()) and not PLACEHOLDER.match(instruction)


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    spiced = st.lists(
        st.sampled_from(["<think>", "</think>", '"', "'", "\\", "\n", "]", "model_id = [", "tools = ["])
    )
    text = st.builds(lambda a, b: a + "".join(b), st.text(), spiced).filter(is_instruction)
    count = draw(st.integers(1, 8))
    return Workflow.of(
        Step(
            instruction=draw(text),
            worker=draw(st.sampled_from(POOL)),
            access=draw(st.sets(st.integers(0, i - 1)).map(tuple)) if i else (),
            tools=draw(st.none() | st.sets(st.sampled_from(TOOLS)).map(tuple)),
        )
        for i in range(count)
    )


@pytest.mark.slow
@cases(50)
@given(workflow=workflows(), dialect=st.sampled_from(("any", "position")))
def test_a_formatted_workflow_reads_back_as_itself(workflow: Workflow, dialect: Dialect) -> None:
    report = parse(format_plan(workflow, POOL), workers=POOL, dialect=dialect, max_steps=8, tools=[TOOLS] * 3)
    assert report.problems == ()
    assert report.workflow == workflow
    assert report.repairs == ()


@pytest.mark.parametrize(
    "text",
    [
        "A:<think>",
        "~<think>",
        "..<think>",
        "%TEMP%<think>",
        r"~\U0000\new",
        "b:</think>",
        "A:<thinking>",
        r"C:\Users",
        r"C:\new",
        "A:\U0001f600",
    ],
)
@pytest.mark.parametrize("form", ["lists", "json"])
def test_what_looks_like_a_drive_is_read_back_as_it_was(text: str, form: Form) -> None:
    workflow = Workflow.of([Step(instruction=text, worker="Alpha")])
    assert parse(format_plan(workflow, POOL, form=form), workers=POOL).workflow == workflow


@pytest.mark.slow
@cases(150)
@given(
    workflow=workflows(),
    dialect=st.sampled_from(("any", "position", "binary", "worker")),
    form=st.sampled_from(("lists", "json")),
    round=st.integers(1, 2),
    sight=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=8, max_size=8),
)
def test_what_is_written_in_a_dialect_reads_back_as_the_same_workflow_or_is_refused(
    workflow: Workflow, dialect: Dialect, form: Form, round: int, sight: list[tuple[bool, bool]]
) -> None:
    # Many steps see all or nothing, else few workflows could be written in some dialects.
    for at, (previous, all_or_nothing) in zip(range(len(workflow)), sight, strict=False):
        if all_or_nothing:
            workflow = workflow.with_access(at, range(at) if workflow.steps[at].access else ())
        workflow = workflow.with_sight_of_previous(at, previous and round > 1)
    try:
        text = format_plan(workflow, POOL, dialect=dialect, form=form, round=round)
    except WorkflowError:
        # Any sight of earlier steps can be written by their numbers.
        assert round > 1 or dialect in ("binary", "worker")
        return
    if form == "json":
        assert json.loads(text).keys() == {"steps"}
    report = parse(text, workers=POOL, dialect=dialect, max_steps=8, round=round, tools=[TOOLS] * 3)
    assert report.problems == ()
    assert report.workflow == workflow
    assert {repair.kind for repair in report.repairs} <= {"json-steps"}


SEES_ALL = Step(instruction="b", worker="Beta", access=(0,))


@pytest.mark.parametrize(
    ("dialect", "step", "round", "entry"),
    [
        ("any", SEES_ALL, 1, "[0]"),
        ("position", SEES_ALL, 1, "[0]"),
        ("binary", SEES_ALL, 1, '["all"]'),
        ("worker", SEES_ALL, 1, "[0]"),
        ("worker", SEES_ALL.model_copy(update={"access": ()}), 1, "[]"),
        ("any", SEES_ALL.model_copy(update={"sees_previous": True}), 2, '["all"]'),
        ("binary", SEES_ALL.model_copy(update={"sees_previous": True}), 2, '["all"]'),
        ("binary", SEES_ALL, 2, None),
        ("position", SEES_ALL.model_copy(update={"sees_previous": True}), 2, None),
        ("any", SEES_ALL.model_copy(update={"access": (), "sees_previous": True}), 2, None),
        ("any", SEES_ALL.model_copy(update={"sees_previous": True}), 1, None),
    ],
)
def test_each_dialect_has_its_own_words_for_a_sight_or_none(
    dialect: Dialect, step: Step, round: int, entry: str | None
) -> None:
    workflow = Workflow.of([Step(instruction="a", worker="Alpha"), step])
    if entry is None:
        with pytest.raises(WorkflowError, match="Step 2 sees"):
            format_plan(workflow, POOL, dialect=dialect, round=round)
    else:
        text = format_plan(workflow, POOL, dialect=dialect, round=round)
        assert text.endswith(f"access_list = [[], {entry}]")


@pytest.mark.parametrize(
    "instruction",
    [
        *(
            "\ud83d\ude00 in halves",
            "\ud800",
            "a\u2028b",
            "\0",
            "</Think>",
            "\\u0041",
            '"""',
            "```",
            "caf\u00e9",
        ),
        *(
            "a\frac",
            "a\\\b",
            "where\nu \neq 0, $x\to y$\r\rho",
            "C:\new\temp",
            "\\\\host\\share\new",
            "C:\\a\new",
        ),
    ],
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
