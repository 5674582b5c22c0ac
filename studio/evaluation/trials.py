"""Trials on data: a workflow, or a planner's plans of an earlier evaluation, with each edit as a variant.

Knows pool and store; which edits there are, and what they came to, is the library's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.errors import DataError
from conductor.evaluation.forecast import Forecast, forecast
from conductor.evaluation.given import FixedPlan, GivenPlans, WrittenPlans
from conductor.evaluation.items import Item
from conductor.evaluation.trials import MAX_VARIANTS
from conductor.values.output import Output
from conductor.workflow.edits import WithoutIdleSteps, plan_edits, single_edits
from conductor.workflow.model import Workflow
from studio.evaluation.given_plans import CellPlans
from studio.workbench import Workbench

P = TypeVar("P")

SAMPLE = 20
"""Questions by which a forecast judges the others."""


@dataclass(frozen=True)
class Wanted:
    """Which variants: without each edge, without each step, each step (or worker) by each other worker."""

    edges: bool = True
    steps: bool = True
    workers: bool = True


def variants_of(base: FixedPlan, workers: Sequence[str], wanted: Wanted) -> tuple[FixedPlan, ...]:
    """The workflow as it is, then its variants; of several that are the same workflow the first.

    Raises `DataError` for more than `MAX_VARIANTS`, and where there is none.
    """
    edits = single_edits(base.workflow, workers, edges=wanted.edges, steps=wanted.steps, swaps=wanted.workers)
    found: dict[Workflow, FixedPlan] = {base.workflow: base}
    for edit in (WithoutIdleSteps(), *edits):
        variant = base.with_edits(edit)
        found.setdefault(variant.edited, variant)
    return _checked(tuple(found.values()))


def plan_variants_of(base: WrittenPlans, workers: Sequence[str], wanted: Wanted) -> tuple[WrittenPlans, ...]:
    """The plans as they are, then with each edit that fits any plan. Raises as `variants_of`."""
    edits = plan_edits(workers, access=wanted.edges, swaps=wanted.workers)
    return _checked((base, *(base.with_edits(edit) for edit in edits)))


def _checked(plans: tuple[P, ...]) -> tuple[P, ...]:
    if len(plans) == 1:
        raise DataError("There is nothing to try: no edge, no step that may go, no other worker.")
    if len(plans) > MAX_VARIANTS + 1:
        raise DataError(
            f"These are {len(plans) - 1} variants; a trial has at most {MAX_VARIANTS}. Try the edges and "
            "steps, or the workers, alone."
        )
    return plans


def trial_forecast(
    bench: Workbench,
    items: Sequence[Item],
    plans: Sequence[GivenPlans],
    *,
    repeats: int = 1,
    parallel: int = 1,
    history: Iterable[Output] = (),
) -> Forecast:
    """What these plans on these items, as they are asked, will take, by the first `SAMPLE` of them.

    `history` are outputs to judge by what a call takes, beside those that are reused.
    """
    pool, cells = bench.pool, CellPlans(bench.store)
    bound: list[list[BoundWorkflow]] = []
    known: list[dict[str, Output]] = []
    for at, item in enumerate(items[:SAMPLE]):
        workflows = [cells.workflow(plan, at, 0) for plan in plans]
        bound.append(
            [BoundWorkflow.of(each, query=item.question, pool=pool) for each in workflows if each is not None]
        )
        known.append(cells.outputs(plans, at, 0))
    before = [*history, *(output for outputs in known for output in outputs.values())]
    found = forecast(bound, known, cards=pool.cards, history=before, parallel=parallel)
    judged = sum(item.scored_by == "judge" for item in items) * repeats * len(plans)
    return replace(_scaled(found, len(items) * repeats), judged=judged)


def _scaled(found: Forecast, questions: int) -> Forecast:
    factor = questions / found.questions
    spent = found.estimate
    return replace(
        found,
        questions=questions,
        new=round(found.new * factor),
        reused=round(found.reused * factor),
        estimate=replace(
            spent,
            calls=round(spent.calls * factor),
            tokens=None if spent.tokens is None else round(spent.tokens * factor),
            cost=None if spent.cost is None else spent.cost * factor,
            seconds=None if spent.seconds is None else spent.seconds * factor,
        ),
    )
