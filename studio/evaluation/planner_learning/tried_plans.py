"""The plans that an evaluation tried, each with whether its answer was right. Reads the store only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from conductor.baselines.planner_file.planner_file import TriedPlan, TriedQuestion
from conductor.errors import ConductorError
from conductor.evaluation.evaluation_table import Cell
from conductor.evaluation.plan_sources import FixedPlan
from conductor.evaluation.spec import CONDUCTOR
from conductor.values.messages import Usage
from conductor.workflow.model import Workflow
from storage import SessionStore
from storage.records import EvaluationRecord
from studio.evaluation.results import scored_cells


@dataclass
class _Trial:
    """What came of a plan: its answers by question, and what each took; None if that is unknown."""

    origin: str
    verdicts: dict[int, list[bool]] = field(default_factory=lambda: defaultdict(list))
    tokens: list[int | None] = field(default_factory=list)
    costs: list[float | None] = field(default_factory=list)

    def add(self, cell: Cell, took: Usage) -> None:
        self.verdicts[cell.item].append(cell.result.score.right)
        self.tokens.append(took.total)
        self.costs.append(took.cost)


@dataclass(frozen=True)
class TriedPlans:
    """The plans in the order in which they were tried first, and the questions in that of the data."""

    plans: tuple[TriedPlan, ...]
    questions: tuple[TriedQuestion, ...]

    @property
    def whole(self) -> TriedPlans:
        """Those plans alone that were tried on every question."""
        every = [{*question.right, *question.wrong} for question in self.questions]
        places = [at for at in range(len(self.plans)) if all(at in tried for tried in every)]
        new = {at: place for place, at in enumerate(places)}
        return TriedPlans(
            tuple(self.plans[at] for at in places),
            tuple(
                TriedQuestion(
                    question=each.question,
                    right=tuple(new[at] for at in each.right if at in new),
                    wrong=tuple(new[at] for at in each.wrong if at in new),
                )
                for each in self.questions
            ),
        )

    @property
    def solved(self) -> int:
        return sum(bool(question.right) for question in self.questions)

    def promising(self, most: int) -> tuple[TriedPlan, ...]:
        """The `most` plans to try on all questions: for each question the shortest, then cheapest one that
        was right there and was not tried everywhere; those first for questions that no plan solves which was.
        Of plans that differ in their instructions alone the first one comes before the others.
        """
        tried = [0] * len(self.plans)
        for question in self.questions:
            for plan in (*question.right, *question.wrong):
                tried[plan] += 1
        everywhere = {plan for plan, times in enumerate(tried) if times == max(tried)}
        ranks: dict[int, tuple[bool, int, float]] = {}
        for question in self.questions:
            candidates = [
                plan
                for plan in question.right
                if plan not in everywhere and self.plans[plan].workflow is not None
            ]
            if candidates:
                best = min(candidates, key=self._length)
                ranks.setdefault(best, (not everywhere.isdisjoint(question.right), *self._length(best)))
        in_order = sorted(ranks, key=ranks.__getitem__)
        first = {self._shape(plan): plan for plan in reversed(in_order)}
        in_order.sort(key=lambda plan: first[self._shape(plan)] != plan)
        return tuple(self.plans[plan] for plan in in_order[:most])

    def _shape(self, plan: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
        workflow = self.plans[plan].workflow
        return () if workflow is None else tuple((step.worker, step.access) for step in workflow.steps)

    def _length(self, plan: int) -> tuple[int, float]:
        tokens, workflow = self.plans[plan].tokens, self.plans[plan].workflow
        return 0 if workflow is None else len(workflow), float("inf") if tokens is None else tokens


def tried_plans(
    store: SessionStore, record: EvaluationRecord, written: dict[str, Workflow | None]
) -> TriedPlans:
    """The plans of an evaluation's known answers. A plan was right on a question if most of its answers were.

    `written` gets the plan of each session that has its own, which is read once.
    """
    by_name = {each.name: each for each in record.spec.given}
    trials: dict[Workflow | None, _Trial] = {}
    for cell in scored_cells(store, record.id):
        if not cell.result.score.is_known:
            continue
        origin, work = cell.planner, cell.result.work
        fixed = by_name.get(cell.planner)
        workflow: Workflow | None
        if isinstance(fixed, FixedPlan):
            origin, workflow = fixed.source, fixed.edited
        else:
            if cell.session not in written:
                written[cell.session] = _workflow(store, cell.session)
            workflow = written[cell.session]
        if workflow is not None:
            trials.setdefault(workflow, _Trial(origin)).add(cell, work)
        if cell.planner == CONDUCTOR:
            trials.setdefault(None, _Trial(origin)).add(cell, cell.result.planning + work)
    questions = []
    for at, item in enumerate(store.evaluations.items(record.id)):
        own = {plan: trial.verdicts[at] for plan, trial in enumerate(trials.values()) if at in trial.verdicts}
        right = tuple(plan for plan, verdicts in own.items() if 2 * sum(verdicts) > len(verdicts))
        wrong = tuple(plan for plan in own if plan not in right)
        questions.append(TriedQuestion(question=item.question, right=right, wrong=wrong))
    plans = tuple(
        TriedPlan(workflow=workflow, origin=trial.origin, tokens=_mean(trial.tokens), cost=_mean(trial.costs))
        for workflow, trial in trials.items()
    )
    return TriedPlans(plans, tuple(questions))


def _workflow(store: SessionStore, session: str) -> Workflow | None:
    """The plan of an answer as any question may have it; None if it cannot be read any more."""
    try:
        plan = store.plans.latest(session)
    except ConductorError:
        return None
    workflow = None if plan is None or plan.report is None else plan.report.workflow
    return None if workflow is None else workflow.unpinned.ungated


def _mean(amounts: Sequence[float | None]) -> float | None:
    numbers = [amount for amount in amounts if amount is not None]
    return fmean(numbers) if numbers and len(numbers) == len(amounts) else None
