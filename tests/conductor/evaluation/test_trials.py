"""The cheapest workflow is found by measuring each combination, where it is shown to be not worse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given

from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.plan_sources import FixedPlan
from conductor.evaluation.report import trials_html
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.evaluation.trials import (
    MAX_COMBINATIONS,
    cheapest_variant,
    confirmation_words,
    evaluation_trials,
    next_part,
)
from conductor.values.messages import Usage
from conductor.workflow.edits import (
    Edit,
    OtherWorker,
    WithoutEdge,
    WithoutIdleSteps,
    WithoutStep,
    single_edits,
)
from conductor.workflow.model import Workflow
from tests.support.cases.property_cases import cases
from tests.support.runs.workflow_cases import WORKERS, workflow_of, workflows

CHAIN = workflow_of([], [0], [0, 1])
Measured = Callable[[FixedPlan], tuple[int, int]]
"""How many of 100 questions a variant has right, and the tokens that each takes."""


def _spec(workflow: Workflow, *edits: Edit, margin: float = 0.05) -> EvaluationSpec:
    base = FixedPlan.of("plan:it", "it", workflow)
    plans = (base, *(base.with_edits(edit) for edit in edits))
    names = tuple(plan.name for plan in plans)
    return EvaluationSpec(data="", digest="", planners=names, given=plans, margin=margin)


def _cells(
    spec: EvaluationSpec, measured: Measured, *, cost: float | None = None, of: int = 100
) -> list[Cell]:
    cells = []
    for plan in spec.given:
        assert isinstance(plan, FixedPlan)
        right, tokens = measured(plan)
        for item in range(of):
            work = Usage(prompt_tokens=tokens + item % 7, completion_tokens=0, cost=cost)
            score = Score(verdict="right" if item < right else "wrong")
            result = CellResult(score=score, work=work)
            cells.append(Cell(item=item, planner=plan.name, repeat=0, session="s", result=result))
    return cells


def _searched(
    spec: EvaluationSpec, measured: Measured, *, of: int = 100
) -> tuple[EvaluationSpec, list[Cell]]:
    """As an evaluation does it: measure what is next, until nothing is."""
    cells = _cells(spec, measured, of=of)
    while (more := next_part(spec, cells)) is not None:
        spec = more
        cells = _cells(spec, measured, of=of)
    return spec, cells


def _edits(spec: EvaluationSpec, measured: Measured, workflow: Workflow = CHAIN) -> tuple[Edit, ...] | None:
    spec, cells = _searched(spec, measured)
    search = cheapest_variant(evaluation_trials(spec, cells), workflow)
    assert search.next is None
    return None if search.best is None else search.best.edits


EDGE, STEP = WithoutEdge(read=0, reader=2), WithoutStep(step=1)
SWAP, OTHER = OtherWorker(step=0, worker="beta"), OtherWorker(step=0, worker="gamma")


@pytest.mark.slow
def test_a_variant_has_its_paired_differences_and_their_intervals() -> None:
    spec = _spec(CHAIN, EDGE)
    cells = _cells(spec, lambda plan: (80, 900) if plan.edits else (90, 1000), cost=0.25)
    (row,) = evaluation_trials(spec, cells).rows
    assert row.accuracy is not None
    assert row.tokens is not None
    assert row.tokens.interval is not None
    assert row.accuracy.difference == pytest.approx(-0.10)
    assert (row.accuracy.first, row.accuracy.second, row.accuracy.questions) == (0, 10, 100)
    assert row.accuracy.interval.low < -0.10 < row.accuracy.interval.high < 0
    assert (row.tokens.mean, row.tokens.interval.low, row.tokens.interval.high) == (-100, -100, -100)
    assert row.cost is not None
    assert row.cost.mean == 0
    assert not row.not_worse


def test_the_margin_decides_what_is_not_worse_and_few_questions_show_nothing() -> None:
    cells = _cells(_spec(CHAIN, EDGE), lambda plan: (88, 900) if plan.edits else (90, 1000))
    for margin, not_worse in ((0.02, False), (0.2, True)):
        (row,) = evaluation_trials(_spec(CHAIN, EDGE, margin=margin), cells).rows
        assert row.not_worse is not_worse
    few = [cell for cell in cells if cell.item < 5]
    (row,) = evaluation_trials(_spec(CHAIN, EDGE), few).rows
    assert row.accuracy is not None
    assert (row.accuracy.difference, row.not_worse) == (0, False)


def test_edits_that_spare_are_put_together_as_long_as_the_whole_is_not_worse() -> None:
    def measured(plan: FixedPlan) -> tuple[int, int]:
        tokens = 1000 - 100 * (EDGE in plan.edits) - 300 * (SWAP in plan.edits)
        return 90, tokens

    assert _edits(_spec(CHAIN, EDGE, SWAP), measured) == (SWAP, EDGE)


@pytest.mark.slow
def test_effects_are_never_added_up() -> None:
    """Each alone is harmless; together they are not, so the one that spares most is kept."""

    def measured(plan: FixedPlan) -> tuple[int, int]:
        both = EDGE in plan.edits and SWAP in plan.edits
        return (40 if both else 90), 1000 - 100 * (EDGE in plan.edits) - 300 * (SWAP in plan.edits)

    spec, _ = _searched(_spec(CHAIN, EDGE, SWAP), measured)
    assert len(spec.given) == 4
    assert _edits(_spec(CHAIN, EDGE, SWAP), measured) == (SWAP,)


def test_what_is_worse_or_takes_more_is_not_taken() -> None:
    assert _edits(_spec(CHAIN, EDGE), lambda plan: (60, 100) if plan.edits else (90, 1000)) is None
    assert _edits(_spec(CHAIN, EDGE), lambda plan: (95, 2000) if plan.edits else (90, 1000)) is None


def test_one_step_gets_one_worker_and_a_step_that_is_gone_none() -> None:
    def measured(plan: FixedPlan) -> tuple[int, int]:
        return 90, 1000 - 100 * len(plan.edits) - 100 * (OTHER in plan.edits)

    assert _edits(_spec(CHAIN, SWAP, OTHER), measured) == (OTHER,)
    gone = WithoutStep(step=0)
    assert _edits(_spec(CHAIN, gone, SWAP), measured) in ((gone,), (SWAP,))


def test_steps_that_reach_the_answer_no_longer_are_left_out_of_what_is_taken() -> None:
    """Without its only reader's edge step 1 is idle: measured with it left out, which cannot be worse."""
    workflow = workflow_of([], [], [0, 1])
    edge = WithoutEdge(read=0, reader=2)
    edits = _edits(_spec(workflow, edge), lambda plan: (90, 1000 - 10 * len(plan.edits)), workflow)
    assert edits == (edge, WithoutIdleSteps())


def test_the_cost_is_what_counts_where_calls_have_a_price() -> None:
    spec = _spec(CHAIN, EDGE)
    assert evaluation_trials(spec, _cells(spec, lambda _: (90, 10), cost=0.1)).measure == "cost"
    assert evaluation_trials(spec, _cells(spec, lambda _: (90, 10), cost=None)).measure == "tokens"


@pytest.mark.slow
@cases(20)
@given(workflows(max_steps=3))
def test_whatever_is_measured_is_a_valid_workflow_and_the_search_ends(workflow: Workflow) -> None:
    edits = single_edits(workflow, WORKERS, edges=True, steps=True, swaps=True)
    few = _spec(workflow, *edits, margin=0.5)
    spec, cells = _searched(few, lambda plan: (9, 1000 - 5 * len(plan.edits)), of=10)
    combined = [plan for plan in spec.given if len(plan.edits) > 1]
    assert len(combined) <= MAX_COMBINATIONS
    for plan in combined:
        assert isinstance(plan, FixedPlan)
        assert len(plan.edited) <= len(workflow)
    if edits:
        best = cheapest_variant(evaluation_trials(spec, cells), workflow).best
        assert best is not None
        assert best.not_worse


def _right_at(spec: EvaluationSpec, wrong: Callable[[int], bool]) -> list[Cell]:
    """The variant takes less, and is wrong on some items."""
    cells = []
    places = spec.places(200)
    for name in spec.planners:
        for item in range(200):
            if item not in places[name]:
                continue
            right = name == spec.planners[0] or not wrong(item)
            work = Usage(prompt_tokens=100 if name == spec.planners[0] else 50, completion_tokens=0)
            result = CellResult(score=Score(verdict="right" if right else "wrong"), work=work)
            cells.append(Cell(item=item, planner=name, repeat=0, session="s", result=result))
    return cells


@pytest.mark.parametrize(("worse_where_held_out", "confirmed"), [(False, True), (True, False)])
def test_the_chosen_variant_is_confirmed_on_questions_that_the_search_did_not_see(
    worse_where_held_out: bool, confirmed: bool
) -> None:
    spec = _spec(CHAIN, EDGE).model_copy(update={"held_out": True})

    def wrong(item: int) -> bool:
        return worse_where_held_out and spec.holds_out(item) and item % 5 == 0

    cells = _right_at(spec, wrong)
    assert not any(spec.holds_out(cell.item) for cell in cells)
    assert evaluation_trials(spec, cells).confirmation is None
    chosen = next_part(spec, cells)
    assert chosen is not None
    assert chosen.confirmed == spec.planners[1]
    cells = _right_at(chosen, wrong)
    assert next_part(chosen, cells) is None
    trials = evaluation_trials(chosen, cells)
    assert trials.confirmation is not None
    assert trials.confirmation.accuracy is not None
    assert (trials.confirmation.not_worse, trials.confirmation.accuracy.questions) == (confirmed, 100)
    assert all(row.accuracy is not None and row.accuracy.questions == 100 for row in trials.rows)
    words = confirmation_words(trials)
    assert words.startswith("It is confirmed on 100" if confirmed else "It is not confirmed on 100")


def test_without_held_out_questions_each_interval_is_bonferronis() -> None:
    one, many = _spec(CHAIN, EDGE), _spec(CHAIN, EDGE, STEP, SWAP, OTHER)
    (alone,) = evaluation_trials(one, _cells(one, lambda _: (90, 1000))).rows
    first, *_ = evaluation_trials(many, _cells(many, lambda _: (90, 1000))).rows
    assert alone.accuracy is not None
    assert first.accuracy is not None
    assert first.accuracy.interval.low < alone.accuracy.interval.low


def test_repeats_do_not_make_a_variant_not_worse() -> None:
    spec = _spec(CHAIN, EDGE)
    once = _cells(spec, lambda _: (20, 1000), of=25)
    often = [cell.model_copy(update={"repeat": repeat}) for cell in once for repeat in range(10)]
    for cells in (once, often):
        (row,) = evaluation_trials(spec, cells).rows
        assert row.accuracy is not None
        assert row.tokens is not None
        assert (row.not_worse, row.accuracy.questions, row.tokens.pairs) == (False, 25, 25)


@pytest.mark.parametrize(
    ("unknown", "pairs", "part"),
    [
        ({}, 100, ""),
        ({"cost": None}, 70, " (70 of 100)"),
        ({"cost": 0.25, "least_cost": 0.01}, 70, " (70 of 100)"),
    ],
)
def test_a_difference_of_dollars_is_over_the_questions_in_which_both_are_exact(
    unknown: dict[str, float], pairs: int, part: str
) -> None:
    spec = _spec(CHAIN, EDGE)
    cells = [
        cell
        if cell.planner == spec.planners[0] or cell.item >= 30 or not unknown
        else cell.model_copy(
            update={
                "result": cell.result.model_copy(update={"work": cell.result.work.model_copy(update=unknown)})
            }
        )
        for cell in _cells(spec, lambda _: (90, 1000), cost=0.25)
    ]
    trials = evaluation_trials(spec, cells)
    (row,) = trials.rows
    assert row.cost is not None
    assert (trials.measure, row.cost.pairs, row.part(row.cost)) == ("cost", pairs, part)
    assert f"{part}" in trials_html(trials, best=None)


def test_a_question_with_one_unknown_answer_is_in_no_difference() -> None:
    spec = _spec(CHAIN, EDGE).model_copy(update={"repeats": 2})
    once = _cells(spec, lambda _: (90, 1000), of=10)
    unknown = CellResult(score=Score(verdict="right"), work=Usage())
    again = [cell.model_copy(update={"repeat": 1}) for cell in once]
    again[0] = again[0].model_copy(update={"result": unknown})
    (row,) = evaluation_trials(spec, [*once, *again]).rows
    assert row.tokens is not None
    assert row.tokens.pairs == 9


def test_where_every_cost_is_an_upper_bound_the_tokens_are_what_counts() -> None:
    spec = _spec(CHAIN, EDGE)
    bounded = [
        cell.model_copy(
            update={
                "result": cell.result.model_copy(
                    update={"work": cell.result.work.model_copy(update={"least_cost": 0.0})}
                )
            }
        )
        for cell in _cells(spec, lambda _: (90, 1000), cost=0.25)
    ]
    trials = evaluation_trials(spec, bounded)
    assert (trials.measure, trials.rows[0].cost) == ("tokens", None)
