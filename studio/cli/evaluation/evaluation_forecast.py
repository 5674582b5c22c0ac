"""`--dry-run` of `evaluate run|resume`: what the answers would take. Nothing is called or stored.

Knows how that is printed; `studio.evaluation.outlook` has the forecast.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.evaluation.plan_sources import FixedPlan, GivenPlans, WrittenPlans
from conductor.evaluation.spec import EvaluationSpec
from conductor.text.formatting import dollars, duration, estimated, quantity
from storage.records import EvaluationRecord
from studio.cli.options import Shared
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.outlook import outlook
from studio.evaluation.results import scored_cells
from studio.workbench import Workbench


def show_evaluation(
    bench: Workbench,
    items: Sequence[Item],
    planners: Sequence[str],
    spec: EvaluationSpec,
    options: Shared,
    *,
    given_plans: Iterable[GivenPlans] = (),
) -> int:
    """Print what these planners' answers to the items would take; returns the exit code."""
    names, plans = Evaluations(bench).resolved(planners, tuple(given_plans))
    fixed = {name: each for name, each in plans.items() if isinstance(each, FixedPlan)}
    judge = None if spec.judge is None else spec.judge.worker
    expected = outlook(
        bench, items, names, spec.settings,
        repeats=spec.repeats, parallel=spec.parallel, judge=judge, fixed_plans=fixed,
    )  # fmt: skip
    answers = len(items) * spec.repeats * len(names)
    words = [estimated(expected.calls, "call")]
    words += [] if expected.tokens is None else [estimated(expected.tokens, "token")]
    words += [] if expected.cost is None else [f"~{dollars(expected.cost)}"]
    words += [] if expected.seconds is None else [f"~{duration(expected.seconds)}"]
    line = f"{quantity(answers, 'answer')}: {', '.join(words)}.".replace("~<", "<")
    return options.show({"answers": answers, "planners": names, **asdict(expected)}, line, *expected.remarks)


def show_resumption(
    bench: Workbench,
    record: EvaluationRecord,
    more: Sequence[str],
    options: Shared,
    *,
    given_plans: Sequence[GivenPlans] = (),
) -> int:
    """Print what the evaluation's missing answers would take, with those of `more` planners; returns the exit
    code. A question counts for each planner that lacks an answer to any. Raises `DataError` for a trial of
    plans that were written.
    """
    spec = record.spec
    if any(isinstance(each, WrittenPlans) for each in spec.given):
        raise DataError("What a trial of written plans takes is printed by `evaluate trials-of --dry-run`.")
    scores = {
        (cell.item, cell.planner, cell.repeat): cell.result.score
        for cell in scored_cells(bench.store, record.id)
    }
    names, plans = Evaluations(bench).resolved(more, given_plans)
    planners = tuple(dict.fromkeys((*spec.planners, *names)))
    every = bench.store.evaluations.items(record.id, damaged=True)
    extended = spec.model_copy(update={"planners": planners, "given": (*spec.given, *plans.values())})
    places = extended.places(len(every))
    missing = [
        ((at, repeat), item, planner)
        for at, item in enumerate(every)
        for repeat in range(spec.repeats)
        for planner in planners
        if isinstance(item, Item) and at in places[planner]
        and not ((score := scores.get((at, planner, repeat))) is not None and score.is_known)
    ]  # fmt: skip
    items = [next(same)[1] for _, same in groupby(missing, key=itemgetter(0))]
    lacking = [planner for planner in planners if any(planner == each for *_, each in missing)]
    once = spec.model_copy(update={"repeats": 1})
    return show_evaluation(bench, items, lacking, once, options, given_plans=extended.given)
