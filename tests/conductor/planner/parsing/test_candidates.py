"""Which plan of a text counts: drafts, thinking, lists that stand alone."""

import pytest

from conductor.planner.parsing.parse import parse
from conductor.workflow.plan_report import PlanReport

POOL = ("Alpha", "Beta", "Gamma")


def plan(instruction: str, worker: int = 0) -> str:
    return f'model_id = [{worker}]\nsubtasks = ["{instruction}"]\naccess_list = [[]]\n'


INNER = plan("inner", worker=2).replace('"', "'").strip()
"""A plan that stands inside an instruction, over several lines."""


def json_plan(instruction: str) -> str:
    return f'{{"steps": [{{"instruction": "{instruction}", "agent": 0, "access": []}}]}}\n'


def read(text: str) -> PlanReport:
    return parse(text, workers=POOL)


def instructions(report: PlanReport) -> list[str]:
    return [step.instruction for step in report.workflow.steps] if report.workflow else []


@pytest.mark.parametrize(
    ("text", "count", "chosen", "instruction"),
    [
        (plan("draft") + "Better:\n" + plan("final"), 2, 1, "final"),
        (plan("good") + "Or:\n" + plan("bad", worker=9), 2, 0, "good"),
        (plan("bad", worker=9) + plan("good"), 2, 1, "good"),
        (json_plan("draft") + plan("final"), 2, 1, "final"),
        (plan("draft") + json_plan("final"), 2, 1, "final"),
        (json_plan("one") + json_plan("two"), 2, 1, "two"),
        ("```\n" + plan("draft") + "```\nBetter:\n```\n" + plan("final") + "```", 2, 1, "final"),
        ("Step 2 gets access: [0].\n" + plan("final"), 1, 0, "final"),
        (plan("final") + "\nHere access: [0] means the first step.", 1, 0, "final"),
        ("model_id = [2, 1]\nNo, again.\n" + plan("final"), 1, 0, "final"),
        (plan("final") + "Wait, maybe:\nmodel_id = [1]\nsubtasks = ['cut", 1, 0, "final"),
        ("model_id = [0, ... then:\n" + plan("final"), 1, 0, "final"),
        ('subtasks = ["never closed\n' + plan("final"), 1, 0, "final"),
        ("subtasks = ['never closed\n" + plan("final"), 1, 0, "final"),
        ('model_id = [0]\nsubtasks = ["open]\naccess_list = ["all"]\n' + plan("final"), 2, 1, "final"),
        (plan(f"Write:\n{INNER}"), 1, 0, f"Write:\n{INNER}"),
        ('The set {x, \'y} and {"a": 1} come first.\n' + plan("final"), 1, 0, "final"),
        ('{"note": "about ' + plan("final").replace('"', "'"), 1, 0, "final"),
        ("model_id = [0]\nsubtasks = ['old']\nsubtasks = ['new']\naccess_list = [[]]", 1, 0, "new"),
        ("My allowed_access = [[9]] is no label.\n" + plan("final"), 1, 0, "final"),
        ("access = [[9]]\n" + plan("final"), 1, 0, "final"),
        (plan("final") + "model_id = [9]\n", 1, 0, "final"),
        (plan("draft") + plan("final").replace("subtasks", "subtasks = ['old']\nsubtasks"), 2, 1, "final"),
        (
            plan("draft") + plan("final").replace("subtasks", "(Subtasks: [one a step])\nsubtasks"),
            2,
            1,
            "final",
        ),
    ],
)
def test_the_last_valid_plan_counts(text: str, count: int, chosen: int, instruction: str) -> None:
    report = read(text)
    assert instructions(report) == [instruction], report.problems
    assert (len(report.candidates), report.chosen) == (count, chosen)


def test_candidates_stand_in_the_order_of_the_text() -> None:
    text = plan("one") + json_plan("two") + plan("three") + json_plan("four")
    starts = [candidate.span[0] for candidate in read(text).candidates]
    assert starts == sorted(starts)
    assert len(starts) == 4


def test_with_no_valid_plan_the_last_ones_problems_are_the_reports() -> None:
    report = read(plan("one", worker=8) + plan("two", worker=9))
    assert report.chosen == 1
    assert [problem.message[:24] for problem in report.problems] == ["Step 1 asks for worker 9"]
    assert report.candidates[0].problems[0].message.startswith("Step 1 asks for worker 8")


@pytest.mark.parametrize(
    ("text", "thinking", "reasoning"),
    [
        ("<think>" + plan("draft") + "</think>So.\n" + plan("final"), plan("draft").strip(), "So."),
        ("So.\n" + plan("final") + "<think>" + plan("draft"), plan("draft").strip(), "So."),
        (plan("draft") + "</think>So.\n" + plan("final"), plan("draft").strip(), "So."),
        ("<THINK>a</THINK>" + plan("final") + "Done.<think>b</think>", "a\n\nb", "Done."),
        ("<think>a<think>b</think>" + plan("draft") + "</think>" + plan("final"), None, ""),
        (plan("draft") + "</think>x</think>" + plan("final"), None, ""),
        (plan("final") + "<think>a<think>b</think>" + plan("draft") + "</think>So.", None, "So."),
        ("<think>a<think>b</think>c</think>" + plan("final") + "<think>d</think>", "abc\n\nd", ""),
        ("<think>a<think>b</think>" + plan("draft") + "<think>c</think>d</think>" + plan("final"), None, ""),
        ("<think></think>One.\n\n```\n" + plan("final") + "```\nTwo.", "", "One.\n\nTwo."),
        ("`model_id = [0]`\n`subtasks = ['final']`\n`access_list = [[]]`", "", ""),
    ],
)
def test_thinking_is_kept_and_never_read(text: str, thinking: str | None, reasoning: str) -> None:
    report = read(text)
    assert instructions(report) == ["final"], report.problems
    assert len(report.candidates) == 1
    assert report.reasoning == reasoning
    assert thinking is None or report.thinking == thinking


def test_a_plan_only_in_thinking_is_no_plan() -> None:
    report = read("<think>" + plan("draft") + "</think> I will not say.")
    assert (report.candidates, report.chosen, report.ok) == ((), None, False)
    assert report.reasoning == "I will not say."
