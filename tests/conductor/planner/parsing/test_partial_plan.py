"""Any beginning of a plan shows its steps so far: no step vanishes, and no mark of the plan is shown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parsing.test_hostile_texts import TEXTS

from conductor.planner.format import format_plan
from conductor.planner.parsing.partial_plan import PartialPlan, PartialStep, read_partial_plan
from conductor.workflow.model import Step, Workflow
from conductor.workflow.plan_report import Form
from tests.support.cases.property_cases import cases
from tests.support.cases.reading_work import growth

POOL = ("Alpha", "Beta", "0")
LISTS = (
    "I weigh it.\n\n```python\n- **model_id** = [0, 1]\nsubtasks = [\"Find it's\", 'Say [it]']\n"
    'access_list = [[], ["all"]]\n```'
)
JSON = '{"reasoning": "I weigh it.", "steps": [{"instruction": "Find it\'s", "agent": 0, "access": []}, '
JSON += '{"instruction": "Say [it]", "agent": "beta", "access": [0]}]}'
OWN_JSON = (
    'I weigh it. {"model_id": [0, 1], "subtasks": ["Find it\'s", "Say [it]"], "access_list": [[], [0]]}'
)


def read(text: str) -> PartialPlan:
    return read_partial_plan(text, workers=POOL)


def beginnings(text: str) -> list[PartialPlan]:
    return [read(text[:end]) for end in range(len(text) + 1)]


def grows_into(step: PartialStep, later: PartialStep) -> bool:
    return (
        step.worker in (None, later.worker)
        and later.instruction.startswith(step.instruction)
        and (step.access is None or (later.access is not None and {*step.access} <= {*later.access}))
    )


@pytest.mark.parametrize("text", [LISTS, JSON, OWN_JSON, f"<think>Hm {{</think>{LISTS}"])
def test_every_beginning_of_a_plan_shows_what_is_written_and_none_of_its_marks(text):
    plans = beginnings(text)
    assert plans[-1].steps == (
        PartialStep("Alpha", "Find it's", ()),
        PartialStep("Beta", "Say [it]", (0,)),
    )
    assert plans[-1].reasoning == "I weigh it."
    for plan in plans:
        assert "I weigh it.".startswith(plan.reasoning)
    for plan, later in pairwise(plans):
        assert len(plan.steps) <= len(later.steps)
        assert all(map(grows_into, plan.steps, later.steps))


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("model_id = [0, 1", [("Alpha", "", None)]),
        ("model_id = [0, 1]\nsub", [("Alpha", "", None), ("Beta", "", None)]),
        ("model_id = [0]\nsubtasks = ['Find", [("Alpha", "Find", None)]),
        ("model_id = [0]\nsubtasks = [\"\"\"Find\nit\"\"", [("Alpha", "Find\nit", None)]),
        ("model_id=[0, 1] access_list = [[], [", [("Alpha", "", ()), ("Beta", "", None)]),
        ("model_id = [0, 9]\n", [("Alpha", "", None), (None, "", None)]),
        ('{"steps": [{"instruction": "Say \\', [(None, "Say ", None)]),
        ('{"steps": [{"instruction": "Say \\ud83d\\ude0', [(None, "Say ", None)]),
        ('{"steps": [{"agent": "Bet', [(None, "", None)]),
        ('{"steps": [{"agent": "Beta"', [("Beta", "", None)]),
        ('[{"instruction": "Find', [(None, "Find", None)]),
        ("model_id：［0, ", [("Alpha", "", None)]),
        ('{"note": 1} and more', []),
    ],
)  # fmt: skip
def test_what_may_still_become_another_value_is_left_out(text, steps):
    assert [(step.worker, step.instruction, step.access) for step in read(text).steps] == steps


def test_a_shorter_second_plan_takes_no_step_away():
    again = f"{LISTS}\n\nBetter:\n\nmodel_id = [1]\nsubtasks = ["
    assert len(read(again).steps) == 2
    longer = f"{LISTS}\n\nBetter:\n\nmodel_id = [1, 0, 0]\nsubtasks = ['New"
    assert [(step.worker, step.instruction) for step in read(longer).steps] == [
        ("Beta", "New"),
        ("Alpha", ""),
        ("Alpha", ""),
    ]


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    spiced = st.lists(
        st.sampled_from([*"\"'\\\n[]{}, :#", "model_id = [", "a", "\u00e9", "\U0001f600"]), max_size=12
    )
    text = st.builds("Do{}".format, spiced.map("".join))
    return Workflow.of(
        Step(
            instruction=draw(text),
            worker=draw(st.sampled_from(POOL)),
            access=draw(st.sets(st.integers(0, i - 1)).map(tuple)) if i else (),
        )
        for i in range(draw(st.integers(1, 4)))
    )


@pytest.mark.slow
@cases(40)
@given(workflow=workflows(), form=st.sampled_from(("lists", "json")))
def test_no_step_of_a_formatted_plan_vanishes_and_the_whole_text_is_the_plan(workflow: Workflow, form: Form):
    plans = beginnings(format_plan(workflow, POOL, form=form))
    assert plans[-1].steps == tuple(PartialStep(s.worker, s.instruction, s.access) for s in workflow.steps)
    for plan, later in pairwise(plans):
        assert plan.reasoning == ""
        assert len(plan.steps) <= len(later.steps)
        assert all(map(grows_into, plan.steps, later.steps))


@pytest.mark.slow
@cases(200)
@given(text=TEXTS, workers=st.sampled_from([(), POOL]))
def test_any_text_at_all_is_read(text: str, workers: Sequence[str]):
    plan = read_partial_plan(text, workers=workers)
    for i, step in enumerate(plan.steps):
        assert step.worker is None or step.worker in workers
        assert all(read < i for read in step.access or ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "repeated"),
    [
        ("", "model_id = ["),
        ("", "subtasks = ['a "),
        ("", '\nsubtasks = ["a\\"'),
        ("subtasks = ['", "' "),
        ("subtasks = ['a', '", "', '"),
        ("", '{"steps": [{"instruction": "a"}, '),
        ("", '{"a": '),
        ("", "- access"),
        ("", "model "),
    ],
)
def test_work_grows_with_the_length_of_a_hostile_beginning(start: str, repeated: str):
    def text(length: int) -> str:
        return (start + repeated * length)[:length]

    factor = growth(read, text, package="conductor.planner", length=1_500)
    assert factor == pytest.approx(2, abs=0.2)
