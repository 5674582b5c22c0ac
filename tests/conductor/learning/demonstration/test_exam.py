from __future__ import annotations

import pytest

from conductor.evaluation.statistics.differences import holm, mcnemar
from conductor.learning.demonstration.contenders import (
    CONDUCTOR,
    CONSTANT,
    MIXTURE,
    ORACLE,
    ROUTER,
    START,
    Results,
    checks,
    contender_rows,
    contenders,
    reachable,
)
from conductor.learning.demonstration.exam import Exam, Result
from conductor.learning.reward import Judge
from conductor.orchard import orchard_pool
from conductor.planner.local.local_prompt import plan_text

NAMES = orchard_pool().names


@pytest.mark.parametrize(
    ("order", "whole", "same"), [("fixed", True, True), ("shuffled", True, False), ("subsets", False, False)]
)
def test_an_exam_offers_the_pool_in_its_order_or_another_or_a_part_of_it(order: str, whole: bool, same: bool):
    exam = Exam.of(18, NAMES, seed=1, order=order)
    assert all((set(pool) == set(NAMES)) for pool in exam.pools) == whole
    assert all(pool == NAMES for pool in exam.pools) == same
    assert Exam.of(18, NAMES, seed=1, order=order) == exam
    assert [question.text for question in exam.questions] == [
        question.text for question in Exam.of(18, NAMES, seed=1).questions
    ]
    assert all(", ".join(pool) in prompt for pool, prompt in zip(exam.pools, exam.prompts, strict=True))


@pytest.mark.thorough
async def test_the_table_holds_a_conductor_against_all_others_on_the_same_questions():
    exam = Exam.of(27, NAMES, seed=2)
    judge = Judge(orchard_pool())
    others = await contenders(exam, judge, NAMES)
    plans = [plan_text(question.oracle) for question in exam.questions]
    perfect = await Result.of(plans, [50] * len(plans), exam, judge)
    start = await Result.of(["no plan"] * len(plans), [20] * len(plans), exam, judge)
    rows = {row.planner: row for row in contender_rows(exam, perfect, start, others)}
    assert rows[CONDUCTOR].accuracy == rows[ORACLE].accuracy == 1
    assert rows[ORACLE].ahead == 0
    assert (rows[START].accuracy, rows[START].ahead, rows[START].tokens) == (0, 1, 20)
    assert rows[ROUTER].accuracy < rows[CONSTANT].accuracy < 1
    assert rows[ORACLE].tokens is not None
    assert rows[CONDUCTOR].tokens == pytest.approx(rows[ORACLE].tokens + 50)
    best = max((row for row in rows.values() if row.planner.endswith(" alone")), key=lambda row: row.accuracy)
    assert best.accuracy <= rows[ROUTER].accuracy < 1
    assert best.ahead == pytest.approx(1 - best.accuracy)
    assert best.between is not None
    assert best.between[0] < best.ahead < best.between[1]
    assert (rows[CONDUCTOR].p, rows[ORACLE].p) == (None, 1)
    apart = {row.planner: row.ahead * 27 for row in rows.values() if row.p is not None}
    alone = [mcnemar(round(ahead), 0) for ahead in apart.values()]
    assert [rows[planner].p for planner in apart] == pytest.approx(holm(alone))
    assert rows[MIXTURE].steps == 2 * len(NAMES) + 1


@pytest.mark.thorough
async def test_a_question_is_reachable_by_its_plan_or_by_a_worker_that_knows_it():
    whole = Exam.of(27, NAMES, seed=2)
    others = await contenders(whole, Judge(orchard_pool()), NAMES)
    assert reachable(whole, others) == 1
    without = Exam(whole.questions, tuple(("text", "generalist") for _ in whole.questions))
    right_answers = sum(outcome.right for outcome in others["generalist alone"])
    assert reachable(without, others) == pytest.approx(right_answers / 27)


def results(rows: dict[str, tuple[float, float | None]], **more: float | None) -> Results:
    fields = {
        "rows": [
            {
                "planner": planner,
                "accuracy": 0.96 - ahead,
                "interval": (0, 1),
                "steps": 1,
                "tokens": tokens,
                "ahead": ahead,
                "between": (ahead - 0.05, ahead + 0.05),
            }
            for planner, (ahead, tokens) in rows.items()
        ],
        **{"sampled_before": 0.4, "sampled": 0.8, "greedy_before": 0.56, "one_step": 0.0},
        **{"combinations": 0.95, "wordings": 0.8, "shuffled": 0.96, "subsets": 0.8, "reachable": 0.85},
        **{"calls": 10, "saved": 90, "seconds": 200.0},
    }
    return Results.model_validate(fields | more)


GOOD = {
    "facts alone": (0.8, 20.0),
    "generalist alone": (0.45, 90.0),
    ROUTER: (0.25, 40.0),
    MIXTURE: (0.3, 2_500.0),
    START: (0.4, 90.0),
    CONDUCTOR: (0.0, 170.0),
}


def failed(figures: Results) -> list[str]:
    return [check.what for check in checks(figures) if not check.passed]


def test_a_start_that_is_right_already_need_not_become_better():
    assert failed(results(GOOD | {START: (0.0, 90.0)}, greedy_before=0.96)) == []


def test_results_that_reach_all_that_is_required_pass():
    assert results(GOOD).best_single.planner == "generalist alone"
    assert failed(results(GOOD)) == []


@pytest.mark.parametrize(
    ("rows", "more", "what"),
    [
        ({"generalist alone": (0.2, 90.0)}, {}, "ahead of the best single worker"),
        ({"generalist alone": (0.12, 90.0)}, {}, "ahead of it at least, with 95 %"),
        ({ROUTER: (0.05, 40.0)}, {}, "ahead of the perfect router"),
        ({MIXTURE: (-0.1, 2_500.0)}, {}, "ahead of Mixture-of-Agents"),
        ({MIXTURE: (0.3, 900.0)}, {}, "share of its tokens"),
        ({}, {"one_step": 0.2}, "one step where more are needed"),
        ({}, {"one_step": None}, "one step where more are needed"),
        ({MIXTURE: (0.3, None)}, {}, "share of its tokens"),
        ({START: (0.2, 90.0)}, {}, "likeliest plan, won by GRPO"),
        ({START: (-0.1, 90.0)}, {"greedy_before": 0.9}, "likeliest plan, won by GRPO"),
        ({CONDUCTOR: (0.1, 170.0)}, {}, "right, likeliest plan"),
        ({}, {"combinations": 0.8}, "held-out combinations"),
        ({}, {"wordings": 0.7}, "held-out wordings"),
        ({}, {"shuffled": 0.9}, "pool in any order"),
        ({}, {"subsets": 0.7}, "absent workers, of what is reachable"),
    ],
)
def test_each_requirement_can_fail(
    rows: dict[str, tuple[float, float | None]], more: dict[str, float | None], what: str
):
    assert what in failed(results(GOOD | rows, **more))
