"""Trials on data: a workflow, or a planner's plans of an earlier evaluation, with each edit as a variant.

Knows pool and store; which edits there are, and what they came to, is the library's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import together
from conductor.errors import DataError
from conductor.evaluation.forecast import Forecast, forecast
from conductor.evaluation.items import Item
from conductor.evaluation.plan_sources import FixedPlan, GivenPlans, WrittenPlans
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec
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
class VariantKinds:
    """Which variants: without each edge, without each step, each step (or worker) by each other worker."""

    edges: bool = True
    steps: bool = True
    workers: bool = True


def variants_of(base: FixedPlan, workers: Sequence[str], kinds: VariantKinds) -> tuple[FixedPlan, ...]:
    """The workflow as it is, then its variants; of several that are the same workflow the first.

    Raises `DataError` for more than `MAX_VARIANTS`, and without any.
    """
    edits = single_edits(base.workflow, workers, edges=kinds.edges, steps=kinds.steps, swaps=kinds.workers)
    variants: dict[Workflow, FixedPlan] = {base.workflow: base}
    for edit in (WithoutIdleSteps(), *edits):
        variant = base.with_edits(edit)
        variants.setdefault(variant.edited, variant)
    return _checked(tuple(variants.values()))


def plan_variants_of(
    base: WrittenPlans, workers: Sequence[str], kinds: VariantKinds
) -> tuple[WrittenPlans, ...]:
    """The plans as they are, then with each edit that fits any plan. Raises as `variants_of`."""
    edits = plan_edits(workers, access=kinds.edges, swaps=kinds.workers)
    return _checked((base, *(base.with_edits(edit) for edit in edits)))


def _checked(plans: tuple[P, ...]) -> tuple[P, ...]:
    if len(plans) == 1:
        raise DataError("There is nothing to try: no edge, no step to leave out, no other worker.")
    if len(plans) > MAX_VARIANTS + 1:
        raise DataError(
            f"These are {len(plans) - 1} variants; a trial has at most {MAX_VARIANTS}. Try the edges "
            "and steps or the workers separately."
        )
    return plans


def trial_forecast(
    bench: Workbench,
    items: Sequence[Item],
    plans: Sequence[GivenPlans],
    *,
    repeats: int = 1,
    parallel: int = 1,
    seed: int = 0,
    searches: bool = False,
    history: Iterable[Output] = (),
) -> Forecast:
    """What these plans on these items, as they are asked, will take, by the first `SAMPLE` of them. Where
    a trial `searches`, variants are on half of the items, and one is confirmed on the other half.

    `history` are outputs to judge by what a call takes, beside those that are reused.
    """
    pool, cells = bench.pool, CellPlans(bench.store)
    trial = EvaluationSpec(data="", digest="", planners=(CONDUCTOR,), seed=seed, held_out=searches)
    searched = [at for at in range(len(items)) if not trial.holds_out(at)]
    bound: list[list[BoundWorkflow]] = []
    stored_outputs: list[list[Output]] = []
    for at in searched[:SAMPLE]:
        item = items[at]
        workflows = [cells.workflow(plan, at, 0, item.category) for plan in plans]
        bound.append(
            [BoundWorkflow.of(each, query=item.question, pool=pool) for each in workflows if each is not None]
        )
        stored_outputs.append(cells.outputs(plans, at, 0))
    before = [*history, *(output for outputs in stored_outputs for output in outputs)]

    def expected(of: int, answers: int) -> Forecast:
        first = [each[:of] for each in bound]
        sample = forecast(first, stored_outputs, cards=pool.cards, history=before, parallel=parallel)
        return _scaled(sample, answers)

    search = expected(len(plans), len(searched) * repeats)
    judges = [item.scored_by == "judge" for item in items]
    judged = sum(judges[at] for at in searched) * len(plans)
    held = len(items) - len(searched)
    if not held:
        return replace(search, judged=judged * repeats)
    # What is chosen takes no more than the workflow as it is, which is asked there as well.
    once = expected(1, held * repeats)
    judged += 2 * (sum(judges) - sum(judges[at] for at in searched))
    return replace(
        search,
        new=search.new + 2 * once.new,
        estimate=together([search.estimate, once.estimate, once.estimate], at_once=1),
        judged=judged * repeats,
        held_out=held * repeats,
    )


def _scaled(sample: Forecast, questions: int) -> Forecast:
    factor = questions / sample.questions
    spent = sample.estimate
    return replace(
        sample,
        questions=questions,
        new=round(sample.new * factor),
        reused=round(sample.reused * factor),
        estimate=replace(
            spent,
            calls=round(spent.calls * factor),
            tokens=None if spent.tokens is None else round(spent.tokens * factor),
            cost=None if spent.cost is None else spent.cost * factor,
            seconds=None if spent.seconds is None else spent.seconds * factor,
        ),
    )
