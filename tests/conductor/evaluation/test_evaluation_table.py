"""The rows of a table: shares, entropy, plans, and what is no test of a fitted planner."""

from __future__ import annotations

import csv
import io
import json

import pytest

from conductor.evaluation.evaluation_table import ROUTER, Cell, table_of
from conductor.evaluation.items import Item
from conductor.evaluation.report.exports import as_csv, row_values
from conductor.evaluation.report.remarks import remarks
from conductor.evaluation.score import Score, Verdict
from conductor.evaluation.spec import CellResult, FittedOn
from conductor.evaluation.statistics import rate

ITEMS = [Item(id=f"q{at}", input=f"{at}?", target=(str(at),)) for at in range(4)]


def cell(item: int, planner: str, verdict: Verdict, *workers: tuple[str, int], repeat: int = 0) -> Cell:
    result = CellResult(score=Score(verdict=verdict), calls=1, steps=1, workers=workers, topology="single")
    return Cell(item=item, planner=planner, repeat=repeat, session=f"{planner}-{item}", result=result)


def test_shares_and_entropy_leave_out_workers_that_only_compute() -> None:
    cells = [
        cell(0, "baseline:vote", "right", ("alpha", 1), ("beta", 1), ("vote", 1)),
        cell(1, "baseline:vote", "no plan"),
        cell(2, "baseline:vote", "failed", ("alpha", 2)),
    ]
    (row,) = table_of(ITEMS, ["baseline:vote"], cells).rows
    assert row.shares == {"alpha": 0.75, "beta": 0.25}
    assert row.routing_entropy == pytest.approx(0.8113, abs=1e-4)
    assert (row.valid_plans, row.verdicts["failed"], row.shapes) == (2, 1, {"single": 3})
    values = row_values(row)
    assert (values["valid_plans"], values["no_plan"], values["shares"]) == (2, 1, row.shares)


def test_a_planner_with_one_worker_has_no_entropy_to_speak_of() -> None:
    cells = [
        cell(at, "baseline:self-consistency:a,n=3", "right", ("alpha", 3), ("vote", 1)) for at in range(2)
    ]
    (row,) = table_of(ITEMS, ["baseline:self-consistency:a,n=3"], cells).rows
    assert (row.shares, row.routing_entropy) == ({"alpha": 1.0}, 0.0)


def test_questions_that_a_planner_was_fitted_on_are_counted_apart() -> None:
    name = "baseline:routerdc:fitted=f.json"
    cells = [
        *(cell(at, name, verdict) for at, verdict in enumerate(("right", "right", "right", "wrong"))),
        *(cell(at, "worker:alpha", "right") for at in range(4)),
    ]
    fitted = FittedOn(planner=name, digest="d", questions=9, seen=(0, 1))
    fit, alpha = table_of(ITEMS, [name, "worker:alpha"], cells, [fitted]).rows
    assert (fit.right, fit.seen, row_values(fit)["unseen_right"]) == (3, 2, 1)
    assert (alpha.seen, row_values(alpha)["unseen_right"]) == (None, None)


def test_the_csv_has_every_figure_in_one_cell() -> None:
    cells = [cell(0, f"worker:{name}", "right", (name, 1)) for name in ("alpha", "beta")]
    rows = list(csv.DictReader(io.StringIO(as_csv(table_of(ITEMS, ["worker:alpha", "worker:beta"], cells)))))
    assert [row["planner"] for row in rows] == ["worker:alpha", "worker:beta", ROUTER]
    assert json.loads(rows[0]["shares"]) == {"alpha": 1.0}
    assert json.loads(rows[0]["shapes"]) == {"single": 1}
    assert (rows[2]["shares"], rows[2]["valid_plans"], rows[0]["seen"]) == ("", "", "")


def _repeated(planner: str, *answers: str) -> list[Cell]:
    """A cell for each answer: of each item "1" for right and "0" for wrong."""
    verdicts: dict[str, Verdict] = {"1": "right", "0": "wrong", "?": "unjudged"}
    return [
        cell(item, planner, verdicts[each], repeat=repeat)
        for item, own in enumerate(answers)
        for repeat, each in enumerate(own)
    ]


def test_repeats_are_answers_and_no_questions() -> None:
    cells = [*_repeated("worker:alpha", "1110", "0000", "11"), *_repeated("worker:beta", "1", "0", "0")]
    alpha, beta, router = table_of(ITEMS, ["worker:alpha", "worker:beta"], cells).rows
    assert (alpha.questions, alpha.answers, alpha.right) == (3, 10, 5)
    assert alpha.accuracy == pytest.approx((0.75 + 0 + 1) / 3)
    assert alpha.pass_at == {1: pytest.approx((0.75 + 0 + 1) / 3), 2: pytest.approx(2 / 3)}
    assert beta.pass_at == {}
    assert beta.difference is not None
    assert (beta.difference.questions, beta.difference.p) == (3, 1.0)
    assert (router.questions, router.answers) == (3, 3)


def test_categories_are_by_question_too() -> None:
    items = [item.model_copy(update={"metadata": {"category": "c"}}) for item in ITEMS]
    table = table_of(items, ["worker:alpha"], _repeated("worker:alpha", "1111", "0000"))
    accuracy = table.categories["c"]["worker:alpha"]
    assert (accuracy.questions, accuracy.answers) == (2, 8)
    assert accuracy.interval == rate({0: [True], 1: [False]}).interval  # type: ignore[union-attr]


def test_each_p_is_adjusted_over_the_rows() -> None:
    right, wrong = ["1"] * 6, ["0"] * 6
    items = [Item(id=f"q{at}", input=f"{at}?", target=(str(at),)) for at in range(6)]
    planners = ["conductor", "baseline:vote", "baseline:moa", "baseline:rules"]
    answers = dict(zip(planners, (wrong, right, wrong, right), strict=True))
    cells = [each for planner in planners for each in _repeated(planner, *answers[planner])]
    rows = table_of(items, planners, cells).rows
    ps = [row.difference and (row.difference.p, row.difference.adjusted) for row in rows]
    assert ps == [None, (0.03125, 0.09375), (1.0, 1.0), (0.03125, 0.09375)]
    assert not any(row.difference.significant for row in rows[1:] if row.difference)
    alone = table_of(items, planners[:2], cells[:12]).rows[1].difference
    assert alone is not None
    assert alone.significant


@pytest.mark.parametrize(
    ("answers", "sentence"),
    [
        (("1111", "1"), "worker:b: the difference is over the 1 questions"),
        (("1", "1111"), "its accuracy is over 4, that of worker:a over 1."),
        (("1?11", "1111"), "the difference is over the 3 questions that both answered"),
        (("1111", "1111"), None),
    ],
)
def test_a_difference_over_other_questions_than_its_accuracy_is_named(
    answers: tuple[str, str], sentence: str | None
) -> None:
    cells = [*_repeated("worker:a", *answers[0]), *_repeated("worker:b", *answers[1])]
    words = " ".join(remarks(table_of(ITEMS, ["worker:a", "worker:b"], cells)))
    assert ("the difference is over" in words) == (sentence is not None)
    assert sentence is None or sentence in words


def test_a_table_states_which_difference_it_can_see() -> None:
    items = [Item(id=f"q{at}", input=f"{at}?", target=(str(at),)) for at in range(400)]
    cells = [cell(at, name, "right" if at % 4 else "wrong") for name in ("a", "b") for at in range(400)]
    assert remarks(table_of(items, ["a", "b"], cells))[-1] == (
        "This table can detect a difference of 1 point with 80% power."
    )
    few = [each for each in cells if each.item < 1]
    assert remarks(table_of(items, ["a", "b"], few))[-1].startswith("There are too few questions")


def test_answers_in_another_form_than_the_asked_one_are_not_right_and_counted_apart() -> None:
    verdicts: tuple[Verdict, ...] = ("right", "wrong", "no answer", "no answer")
    table = table_of(ITEMS, ["worker:a"], [cell(at, "worker:a", each) for at, each in enumerate(verdicts)])
    (exported,) = csv.DictReader(io.StringIO(as_csv(table)))
    assert (exported["right"], exported["answers"], exported["no_answer"]) == ("1", "4", "2")
