"""The strict form: what the research code reads as a plan, and nothing that it would have to guess."""

from __future__ import annotations

import pytest

from conductor.planner.parsing.parse import parse
from conductor.workflow.plan_report import Dialect, PlanReport

POOL = ("alpha", "beta", "gamma")
PLAN = 'model_id = [0, 2]\nsubtasks = ["try", "check"]\naccess_list = [[], ["all"]]'


def read(text: str, *, dialect: Dialect = "binary", round: int = 1) -> PlanReport:
    return parse(text, workers=POOL, dialect=dialect, round=round, strict=True)


@pytest.mark.parametrize(
    "text",
    [
        PLAN,
        f"I think.\n{PLAN}\nThat is all.",
        f"```python\n{PLAN}\n```",
        PLAN.replace("model_id =", "- Model ID:"),
        PLAN.replace('["all"]', '"ALL"'),
        PLAN.replace('["all"]', '[0, "all"]'),
        PLAN.replace("[[], ", '["all", '),
        PLAN.replace('"', "'"),
        PLAN.replace('"check"', "“check”"),
        PLAN.replace('"check"', '"check" ,  # and more\n'),
        f"<think>model_id = [9]</think>{PLAN}",
        PLAN.replace("subtasks", "subtask").replace("access_list", "access"),
        PLAN.replace('"try"', '"`try`"'),
    ],
)
def test_what_the_research_code_reads_is_a_plan(text: str) -> None:
    report = read(text)
    assert report.problems == ()
    assert report.workflow is not None
    assert [(s.worker, s.instruction, s.access) for s in report.workflow.steps] == [
        ("alpha", "try", ()),
        ("gamma", "check", (0,)),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PLAN.replace("[0, 2]", '["0", "2"]'), "'0' was read as a number"),
        (PLAN.replace("[0, 2]", '["alpha", 2]'), "was read as worker 0"),
        (PLAN.replace("[0, 2]", "[0.0, 2]"), "has 0.0 for its worker"),
        (PLAN.replace("[0, 2]", "[True, 2]"), "has True for its worker"),
        (PLAN.replace("[0, 2]", "[0, 2"), "its closing ] is missing"),
        (PLAN.replace('"check"]', '"check]'), "The list subtasks"),
        (PLAN.replace('"check"', '"say "hi" now"'), "subtasks cannot be read"),
        (PLAN.replace('"check"', '"check\nit"'), "By the strict form it is a fault that"),
        (PLAN.replace('["all"]', "[all]"), "all was read as"),
        (PLAN.replace('["all"]', "[0]"), "reads 0"),
        (PLAN.replace("[0, 2]", "[0, 3]"), "asks for worker 3"),
        (PLAN.replace(', "check"', ""), "different lengths"),
        (f"model_id = [0]\n{PLAN}", "different lengths"),
        ('{"model_id": [0], "subtasks": ["try"], "access_list": [[]]}', "model_id is missing"),
        ('{"steps": [{"instruction": "try", "model_id": 0, "access": []}]}', "model_id is missing"),
        ("Let alpha try.", "model_id is missing"),
        ("", "model_id is missing"),
        (f"{'[' * 9_000}{PLAN}".replace("model_id = ", "model_id = " + "[" * 9_000), "more than 32 brackets"),
    ],
)
def test_what_it_would_guess_at_is_none(text: str, reason: str) -> None:
    report = read(text)
    assert not report.ok
    assert any(reason in problem.message for problem in report.problems), report.problems


def test_the_first_lists_count_and_not_the_last_valid_ones() -> None:
    again = PLAN.replace("try", "try again")
    workflow = read(f"{PLAN}\n\nBetter:\n{again}").workflow
    assert workflow is not None
    assert workflow.steps[0].instruction == "try"
    lax = parse(f"{PLAN}\n\nBetter:\n{again}", workers=POOL, dialect="binary").workflow
    assert lax is not None
    assert lax.steps[0].instruction == "try again"


def test_a_later_round_keeps_the_answer_by_three_empty_lists() -> None:
    text = "model_id = []\nsubtasks = []\naccess_list = []"
    assert read(text, round=2).return_previous
    assert not read(text).ok
