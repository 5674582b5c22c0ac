"""`evaluate trials|trials-of`: changed workflows on questions, against the one that they came from.

Knows how trials are asked for; `studio.evaluation` makes them.
"""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from conductor.errors import DataError
from conductor.evaluation.plan_sources import WrittenPlans
from conductor.evaluation.report.remarks import power_of_trial
from conductor.evaluation.spec import CONDUCTOR
from conductor.evaluation.trials import MARGIN
from conductor.values.presets import Settings
from studio.cli.evaluation.outcome import carried_out
from studio.cli.evaluation.plans import plan_named
from studio.cli.evaluation.questions import Source, on_its_pool
from studio.cli.opening import confirm_keys, opened
from studio.cli.options import BudgetOptions, Configured, DryRun, EvaluationId, flag, number, option
from studio.cli.output.terminal import print_remark
from studio.cli.output.trial_table import forecast_line, forecast_shape
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.results import find_evaluation
from studio.evaluation.trials import VariantKinds, plan_variants_of, trial_forecast, variants_of

_share = number("a number between 0 and 1, such as 0.05", lambda value: 0 < value < 1)
_Margin = Annotated[float, option("How much worse in accuracy a variant may be.", "SHARE", _share)]


def trials(
    plan: Annotated[
        str, Argument(metavar="PLAN", help="A session, SESSION@REVISION, or a workflow FILE.json.")
    ],
    data: Annotated[str, Argument(metavar="DATA", help="As for `evaluate run`.")],
    *,
    edges: Annotated[bool, flag("--edges", "Leave out each edge.")] = False,
    steps: Annotated[bool, flag("--steps", "Leave out each step.")] = False,
    swaps: Annotated[bool, flag("--workers", "Give each step to each other worker.")] = False,
    margin: _Margin = MARGIN,
    dry_run: DryRun = False,
    source: Source,
    budget: BudgetOptions,
    options: Configured,
) -> int:
    """Try a workflow without each edge and step and with other workers, on every question.

    Prints what each is worth, and the cheapest workflow that is not worse. Without --edges, --steps and
    --workers all of them are tried.
    """
    options = on_its_pool(data, options)
    questions = source.questions(data, database=options.database)
    if not dry_run:
        confirm_keys(options.pool, ask=True)
    with opened(options) as bench:
        kinds = VariantKinds(edges, steps, swaps) if edges or steps or swaps else VariantKinds()
        base = plan_named(bench.store, plan)
        plans = variants_of(base, bench.pool.names, kinds)
        spec = source.spec(Settings(budget=budget.budget))
        items = [item.shuffled(spec.seed) for item in questions.items]
        expected = trial_forecast(
            bench, items, plans, repeats=spec.repeats, parallel=spec.parallel, seed=spec.seed, searches=True
        )
        if dry_run:
            return options.show(forecast_shape(expected), forecast_line(expected))
        print_remark(forecast_line(expected))
        print_remark(power_of_trial(expected.held_out // spec.repeats, margin))
        trial = spec.model_copy(update={"margin": margin})
        record = Evaluations(bench).add(questions, [each.name for each in plans], trial, given_plans=plans)
        return carried_out(bench, record, options)


def trials_of_planner(
    evaluation: EvaluationId,
    planner: Annotated[str, Argument(metavar="PLANNER", help="Whose plans.")] = CONDUCTOR,
    *,
    access: Annotated[bool, flag("--access", "Leave out access.")] = False,
    swaps: Annotated[bool, flag("--workers", "Replace each worker by each other one.")] = False,
    margin: _Margin = MARGIN,
    dry_run: DryRun = False,
    options: Configured,
) -> int:
    """Try the plans that a planner wrote in an evaluation, with less access and with other workers.

    Prints what access and each worker are worth. What the evaluation called is not called again.
    """
    if not dry_run:
        confirm_keys(options.pool, ask=True)
    with opened(options) as bench:
        earlier = find_evaluation(bench.store, evaluation)
        if planner not in earlier.spec.planners:
            raise DataError(
                f"This evaluation has no planner {planner!r}; it has {', '.join(earlier.spec.planners)}."
            )
        kinds = VariantKinds(access, steps=False, workers=swaps) if access or swaps else VariantKinds()
        used = [name for name in bench.pool.names if name in dict(earlier.spec.pool)]
        plans = plan_variants_of(WrittenPlans.of(earlier.id, planner), used, kinds)
        items = bench.store.evaluations.items(earlier.id)
        spec = earlier.spec
        expected = trial_forecast(bench, items, plans, repeats=spec.repeats, parallel=spec.parallel)
        if dry_run:
            return options.show(forecast_shape(expected), forecast_line(expected))
        print_remark(forecast_line(expected))
        record = Evaluations(bench).add_on(earlier, plans, margin=margin)
        return carried_out(bench, record, options)
