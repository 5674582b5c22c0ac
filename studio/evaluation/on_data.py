"""Begins an evaluation of a session: its data, its planners, its forecast.

Knows sessions and evaluations; draws nothing and waits for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from conductor.evaluation.forecast import Forecast
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.plan_sources import PLAN, FixedPlan
from conductor.evaluation.shipped.sets import SHIPPED
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec
from conductor.values.budget import NO_BUDGET, Budget
from storage import SessionStore
from storage.records import EvaluationRecord, Revision
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.trials import VariantKinds, trial_forecast, variants_of
from studio.workbench import Workbench

EARLIER = 10
"""Data of so many earlier evaluations is offered, the newest first."""

SPEC = EvaluationSpec(data="", digest="", planners=(CONDUCTOR,))


@dataclass(frozen=True)
class DataChoice:
    """A shipped set, or the questions of an `earlier` evaluation."""

    name: str
    questions: int
    earlier: EvaluationRecord | None = None

    @property
    def title(self) -> str:
        return f"{self.name}, {self.questions:,} questions"


def data_choices(bench: Workbench) -> tuple[DataChoice, ...]:
    """The data that there is, the last used first; of the same questions once."""
    sizes = bench.store.evaluations.sizes()
    choices: dict[str, DataChoice] = {}
    for record in bench.store.evaluations.listed():
        if record.spec.digest not in choices and len(choices) < EARLIER and not record.spec.allow_code:
            choices[record.spec.digest] = DataChoice(record.spec.data, sizes[record.id].questions, record)
    shipped = [
        DataChoice(name, len(_shipped(name).items))
        for name, each in SHIPPED.built_in.items()
        if _shipped(name).digest not in choices and (each.pool is None or _suits(each.planners or (), bench))
    ]
    return (*choices.values(), *shipped)


@cache
def _shipped(name: str) -> DataSet:
    return SHIPPED[name].read()


def _suits(planners: Sequence[str], bench: Workbench) -> bool:
    """Whether the pool has the workers that a set is made for."""
    workers = {name.removeprefix("worker:") for name in planners if name.startswith("worker:")}
    return workers <= set(bench.pool.names)


def plan_of_revision(bench: Workbench, revision: Revision) -> FixedPlan:
    """A revision's workflow as a planner, named as `plan:SESSION@REVISION` is."""
    title = bench.store.sessions.find(revision.session).title
    name = f"{PLAN}{revision.session[:8]}@{revision.number}"
    return FixedPlan.of(name, f"{title}, revision {revision.number}", revision.workflow)


def came_from(bench: Workbench, revision: Revision) -> Revision | None:
    """The revision that people's edits led from to this one: a Conductor's plan, or what was imported."""
    while revision.origin == "human":
        if revision.parent is None:
            return None
        revision = bench.store.revisions.find(revision.parent)
    return revision


def variants(bench: Workbench, revision: Revision, kinds: VariantKinds) -> tuple[FixedPlan, ...]:
    """A workflow as it is, and its variants. Raises `DataError` as `variants_of`."""
    return variants_of(plan_of_revision(bench, revision), bench.pool.names, kinds)


def forecast_on(
    bench: Workbench, choice: DataChoice, plans: Sequence[FixedPlan], session: str, *, trial: bool = False
) -> Forecast:
    """What these plans on this data, as a `trial` or not, will take, judged by the calls of the session."""
    items, spec = _items(bench, choice), SPEC if choice.earlier is None else choice.earlier.spec
    history = bench.store.runs.outputs(session)
    return trial_forecast(
        bench,
        items,
        plans,
        repeats=spec.repeats,
        parallel=spec.parallel,
        seed=spec.seed,
        searches=trial,
        history=history,
    )


def _items(bench: Workbench, choice: DataChoice) -> Sequence[Item]:
    if choice.earlier is not None:
        return bench.store.evaluations.items(choice.earlier.id)
    return [item.shuffled(SPEC.seed) for item in _shipped(choice.name).items]


def add_on_data(
    bench: Workbench,
    choice: DataChoice,
    plans: Sequence[FixedPlan],
    *,
    margin: float | None = None,
    budget: Budget = NO_BUDGET,
) -> EvaluationRecord:
    """Store the evaluation of these plans on that data, within that budget; with a `margin` it is a trial.

    Raises `WorkflowError` for a worker that the pool does not have.
    """
    evaluations = Evaluations(bench)
    if choice.earlier is not None:
        spec = _within(choice.earlier.spec, budget)
        return evaluations.add_on(choice.earlier.model_copy(update={"spec": spec}), plans, margin=margin)
    spec = _within(SPEC, budget).model_copy(update={"margin": margin})
    names = [plan.name for plan in plans]
    return evaluations.add(_shipped(choice.name), names, spec, given_plans=plans)


def _within(spec: EvaluationSpec, budget: Budget) -> EvaluationSpec:
    settings = spec.settings.model_copy(update={"budget": budget})
    return spec.model_copy(update={"settings": settings})


def trials_of_session(bench: Workbench, session: str) -> tuple[EvaluationRecord, ...]:
    """The trials on data of a session's workflows, newest first."""
    name = f"{PLAN}{session[:8]}@"
    return tuple(
        record
        for record in bench.store.evaluations.listed()
        if record.spec.margin is not None and record.spec.planners[0].startswith(name)
    )


def session_of_trial(store: SessionStore, record: EvaluationRecord) -> str | None:
    """The session whose workflow a trial tried; None if that was a file's, or the session is gone."""
    name = record.spec.planners[0]
    if not name.startswith(PLAN):
        return None
    ids = store.sessions.named(name.removeprefix(PLAN).partition("@")[0])
    return ids[0] if len(ids) == 1 else None
