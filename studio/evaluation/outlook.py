"""Forecasts an evaluation before it starts, from prices and earlier measurements.

Plans a few of the questions with the planners that call no model, and counts once what planners have in
common. What a Conductor that is a model will plan is unknown, unless an earlier evaluation measured it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from types import MappingProxyType

from conductor.baselines.named import Baseline
from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import ANSWER_TOKENS
from conductor.errors import ConductorError
from conductor.evaluation.forecast import Forecast, forecast
from conductor.evaluation.items import Item
from conductor.evaluation.mean import Mean
from conductor.evaluation.plan_sources import PLAN, FixedPlan
from conductor.evaluation.report import planner_name
from conductor.evaluation.spec import CONDUCTOR, CellResult
from conductor.orchestration.rounds import plan_request
from conductor.planner.conductor import Planned, PlanRequest
from conductor.planner.rule_planner import OfflineConductor, plan_by_rules
from conductor.runs.request import RunRequest
from conductor.text.formatting import estimated, named
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.values.total import Total
from conductor.workflow.model import Workflow
from studio.evaluation.given_plans import plan_of_session
from studio.workbench import Workbench

SAMPLE = 6
"""Questions that are planned, evenly from the whole set; all questions are taken to be like them."""

_EVALUATIONS, _SESSIONS = 3, 60
"""Newest evaluations, and sessions of each, by which it is judged what a call takes."""


_Planner = OfflineConductor | Baseline | FilePlanner


@dataclass(frozen=True)
class EvaluationOutlook:
    """`calls` are made, `shared` are calls of one planner whose answer another one has asked for already.

    None is unknown. `without` names the planners that are not in these figures; `assumed`: of some worker
    nothing is known, so that a part is assumed as `conductor.engine.estimate` does. `judged` of the calls are
    the judge's; with `unmeasured` they are in no other figure, since none was made before.
    """

    calls: int
    shared: int
    tokens: int | None
    cost: float | None
    seconds: float | None
    without: tuple[str, ...] = ()
    assumed: bool = False
    judged: int = 0
    unmeasured: bool = False

    @property
    def remarks(self) -> Sequence[str]:
        """What is to be known of the figures, in sentences."""
        without = named([planner_name(name) for name in self.without])
        parts = {
            f"{approximation(self.shared, 'call')} shared between planners count once.": self.shared,
            f"{approximation(self.judged, 'call')} of the calls go to the judge.": self.judged,
            "The judge's tokens and cost are not included: it has not judged anything yet.": self.unmeasured,
            f"Assumes {ANSWER_TOKENS} tokens per answer where nothing has been measured yet.": self.assumed,
            f"Does not include {without}, whose plans are not known in advance.": self.without,
        }
        return [sentence for sentence, holds in parts.items() if holds]


def approximation(number: int, noun: str) -> str:
    """The number without the noun, such as ~1,200."""
    return estimated(number, noun).rsplit(" ", 1)[0] if number else "0"


@dataclass(frozen=True)
class _Measured:
    """Means of a question that an earlier evaluation measured, over those whose amount is known; None
    without one.
    """

    calls: float
    tokens: float | None
    cost: float | None
    seconds: float | None


def outlook(
    bench: Workbench,
    items: Sequence[Item],
    planners: Sequence[str],
    settings: Settings,
    *,
    repeats: int = 1,
    parallel: int = 4,
    judge: str | None = None,
    fixed_plans: Mapping[str, FixedPlan] = MappingProxyType({}),
) -> EvaluationOutlook:
    """The forecast of these planners on the items. `planners` are names without `worker:*`, `judge` is the
    worker that judges, `fixed_plans` has workflows by the names of planners.

    Raises `PlanError` for an unknown planner or one that lacks what it has to learn, `FormatError` where that
    cannot be read, `WorkflowError` for a workflow with a worker that the pool does
    not have, `PoolError` where there is no pool.
    """
    measured: dict[str, _Measured] = {}
    planned: list[tuple[str, _Planner | Workflow]] = []
    without = []
    for name in planners:
        planner = fixed_plans[name].edited if name in fixed_plans else _planner(bench, name)
        if planner is not None:
            planned.append((name, planner))
        elif (figures := _measured(bench, name)) is not None:
            measured[name] = figures
        else:
            without.append(name)
    step = max(1, len(items) / SAMPLE)
    sample = [items[int(at * step)] for at in range(min(SAMPLE, len(items)))]
    bounds = [[_bound(bench, item, planner, settings) for _, planner in planned] for item in sample]
    cards, history = bench.pool.cards, tuple(_history(bench))
    no_outputs: list[list[Output]] = [[] for _ in sample]
    sampled = forecast(bounds, no_outputs, cards=cards, history=history, parallel=parallel)
    answers = len(items) * repeats
    expected = _scaled(sampled, tuple(measured.values()), answers, parallel, tuple(without))
    judged = sum(item.scored_by == "judge" for item in items) * repeats * len(planners)
    return expected if judge is None else _with_judge(expected, judged, _judging(bench, judge))


def _with_judge(before: EvaluationOutlook, judged: int, verdicts: Sequence[Total]) -> EvaluationOutlook:
    """The forecast with so many verdicts of a judge, by the mean of what its earlier ones took."""
    with_calls = replace(before, calls=before.calls + judged, judged=judged, unmeasured=not verdicts)
    if not verdicts:
        return with_calls

    def total(rest: float | None, of_judge: Mean | None) -> float | None:
        return None if rest is None or of_judge is None else rest + of_judge.value * judged

    tokens = total(before.tokens, Mean.over(verdict.token_sum for verdict in verdicts))
    cost = total(before.cost, Mean.over(verdict.dollars for verdict in verdicts))
    return replace(with_calls, tokens=None if tokens is None else round(tokens), cost=cost)


def _judging(bench: Workbench, judge: str) -> list[Total]:
    """What each verdict of that judge took in the newest evaluation in which that of any is known."""
    for record in bench.store.evaluations.listed():
        if record.spec.judge is not None and record.spec.judge.worker == judge:
            results = (each.result for each in bench.store.evaluations.cells(record.id))
            verdicts = [result.judged for result in results if result is not None and result.judging]
            if any(verdict.token_sum.most is not None for verdict in verdicts):
                return verdicts
    return []


def _scaled(
    sample: Forecast, measured: Sequence[_Measured], answers: int, parallel: int, without: tuple[str, ...]
) -> EvaluationOutlook:
    """The sample's forecast for so many answers, with what was measured of others."""
    share = answers / max(1, sample.questions)
    guess = sample.estimate

    def total(sampled: float | None, means: Sequence[float | None], at_once: int = 1) -> float | None:
        if sampled is None or any(mean is None for mean in means):
            return None
        return sampled * share + sum(mean or 0.0 for mean in means) * answers / at_once

    tokens = total(guess.tokens, [each.tokens for each in measured])
    return EvaluationOutlook(
        calls=round(sample.new * share + sum(each.calls for each in measured) * answers),
        shared=round(sample.reused * share),
        tokens=None if tokens is None else round(tokens),
        cost=total(guess.cost, [each.cost for each in measured]),
        seconds=total(guess.seconds, [each.seconds for each in measured], at_once=parallel),
        without=without,
        assumed=guess.assumed,
    )


def _planner(bench: Workbench, name: str) -> _Planner | Workflow | None:
    """Who plans without a call, or the workflow itself; None if a plan takes calls."""
    if name.startswith(PLAN):
        return plan_of_session(bench.store, name).edited
    settings = Settings(planner=None if name == CONDUCTOR else name)
    planner = bench.runner.runtime.planner_for(settings)
    if isinstance(planner, FilePlanner):
        planner.check()
        return planner if planner.card.kind == "offline" else None
    if isinstance(planner, Baseline):
        planner.check()
        # One that learnt reads the question by an encoder, which may be a model's.
        by_model = planner.options.fitted is not None and planner.fitted.encoder.kind == "endpoint"
        return None if by_model else planner
    return planner if isinstance(planner, OfflineConductor) else None


def _bound(bench: Workbench, item: Item, planner: _Planner | Workflow, settings: Settings) -> BoundWorkflow:
    request = RunRequest(item.question, settings=settings)
    if isinstance(planner, Workflow):
        workflow = planner
    else:
        planning = plan_request(request, pool=bench.pool)
        workflow = bench.background.wait(_plan(planner, planning))
    return BoundWorkflow.of(workflow, query=item.question, pool=bench.pool)


async def _plan(planner: _Planner, request: PlanRequest) -> Workflow:
    async for piece in planner.stream(request):
        if isinstance(piece, Planned):
            return piece.workflow
    return plan_by_rules(request)[1]


def _measured(bench: Workbench, name: str) -> _Measured | None:
    """What the newest evaluation with that planner measured, in which it answered anything."""
    for record in bench.store.evaluations.listed():
        if name in record.spec.planners:
            cells = bench.store.evaluations.cells(record.id)
            results = [
                each.result
                for each in cells
                if each.planner == name and each.result is not None and not each.result.score.unanswered
            ]
            if results:
                return _means(results)
    return None


def _means(results: Sequence[CellResult]) -> _Measured:
    tokens = Mean.over(result.whole.token_sum for result in results)
    cost = Mean.over(result.whole.dollars for result in results)
    return _Measured(
        calls=fmean(result.calls for result in results),
        tokens=None if tokens is None else tokens.value,
        cost=None if cost is None else cost.value,
        seconds=fmean(result.seconds or 0.0 for result in results),
    )


def _history(bench: Workbench) -> Iterator[Output]:
    """Outputs of the newest evaluations' answers."""
    for record in bench.store.evaluations.listed()[:_EVALUATIONS]:
        cells = bench.store.evaluations.cells(record.id)
        for cell in islice((each for each in cells if each.result is not None), _SESSIONS):
            try:
                yield from bench.store.runs.outputs(cell.answered_in)
            except ConductorError:
                continue  # its session was removed
