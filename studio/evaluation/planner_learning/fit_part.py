"""The part of the questions from which a planner learns: plans are tried on it, each answer a session.

Knows the evaluation of the store that holds the answers, and the learning's folder; finds no plans.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from statistics import fmean
from threading import Event as Flag

from conductor.baselines.planner_file.planner_file import PlannerFile
from conductor.engine.meter import Meter
from conductor.errors import DataError
from conductor.evaluation.items import DataSet
from conductor.evaluation.plan_sources import FixedPlan
from conductor.evaluation.spec import EvaluationSpec
from conductor.text.formatting import quantity
from conductor.values.budget import NO_BUDGET, Budget
from conductor.workflow.model import Workflow
from storage.records import EvaluationRecord
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.execution.crew import Unit
from studio.evaluation.execution.evaluation_run import STOPPED, Listen, UnitOutputs
from studio.evaluation.planner_learning.learning_folder import LearningFolder, LearningSettings
from studio.evaluation.planner_learning.tried_plans import TriedPlans, tried_plans
from studio.evaluation.results import find_evaluation, scored_cells
from studio.sessions.person_limits import PersonLimits
from studio.workbench import Workbench

Note = Callable[[str], object]


@dataclass(frozen=True)
class FitPart:
    """`budget` is that of all that is tried, None without limits. `note` is called with what begins, in
    words; a set `stop` ends the learning, which goes on later. `taught` gives the planner that tried plans
    teach. `outputs` and `written` plans are read once.
    """

    bench: Workbench
    folder: LearningFolder
    budget: Budget | None
    _: KW_ONLY
    listen: Listen | None
    note: Note
    stop: Flag
    taught: Callable[[TriedPlans], PlannerFile]
    outputs: dict[Unit, UnitOutputs] = field(default_factory=dict)
    written: dict[str, Workflow | None] = field(default_factory=dict)

    @property
    def settings(self) -> LearningSettings:
        return self.folder.state.settings

    @property
    def record(self) -> EvaluationRecord:
        """Its evaluation. Raises `DataError` before anything is drawn."""
        return find_evaluation(self.bench.store, self.folder.state.fit or "")

    def draw(self, data: DataSet, drawers: Sequence[str], spec: EvaluationSpec) -> str | None:
        """Answer each question by a plan of each of the planners; why that ended early, if it did."""
        if self.folder.state.fit is None:
            self.folder.note(fit=Evaluations(self.bench).add(data, drawers, spec).id)
        return self.run()

    def add(self, plans: Mapping[FixedPlan, Collection[int] | None]) -> None:
        """Add plans, or widen their questions, by position, None: all; `run` tries them."""
        if plans:
            Evaluations(self.bench).give(self.record.id, plans)

    def answer(self, planner: str, questions: Iterable[int]) -> str | None:
        """Have a planner answer these questions, by position; why that ended early, if it did."""
        Evaluations(self.bench).ask(self.record.id, planner, questions)
        return self.run()

    def shares(self, planner: str) -> dict[int, float]:
        """The share of a planner's answers that are right, by question, as far as they are known."""
        verdicts: dict[int, list[bool]] = {}
        for cell in scored_cells(self.bench.store, self.record.id):
            if cell.planner == planner and cell.result.score.is_known:
                verdicts.setdefault(cell.item, []).append(cell.result.score.right)
        return {at: fmean(answers) for at, answers in verdicts.items()}

    def meter(self) -> Meter:
        """Counts what is called besides, with all that was."""
        meter = Meter(self.budget or NO_BUDGET)
        used, estimated = self.bench.store.ledger.charged_for_evaluation(self.record.id)
        meter.count_earlier(used, estimated=estimated)
        limits = PersonLimits.of(self.bench.store, self.bench.asker)
        if limits is not None:
            limits.limit(meter)
        return meter

    def run(self, share: float = 1) -> str | None:
        """Answer what is missing, within that share of the budget; why it ended early, if it did. Raises
        `DataError` where it was stopped.
        """
        budget = None if self.budget is None else budget_share(self.budget, share)
        progress = Evaluations(self.bench).run(
            self.record.id, listen=self.listen, stop=self.stop, budget=budget, outputs=self.outputs
        )
        if self.stop.is_set() or progress.failure == STOPPED:
            raise DataError(f"Learning was stopped; the same command goes on in {self.folder.path}.")
        return progress.failure

    def try_promising(self) -> str | None:
        """Try the plans that were right somewhere on all questions; why that ended early, if it did."""
        if self.folder.state.origins is not None:
            return None
        promising = self.tried().promising(self.settings.plans)
        fixed = [
            FixedPlan.of(f"tried:{at}", plan.origin, plan.workflow)
            for at, plan in enumerate(promising, start=1)
            if plan.workflow is not None
        ]
        self.add(dict.fromkeys(fixed))
        self.folder.note(origins=tuple((plan.name, plan.source) for plan in fixed))
        self.note(f"{quantity(len(fixed), 'plan')} that were right somewhere are tried on all of them")
        return self.run()

    def tried(self) -> TriedPlans:
        """What came of all plans so far."""
        return tried_plans(self.bench.store, self.record, self.written)


def budget_share(budget: Budget, share: float) -> Budget | None:
    """A part of each limit; None without limits."""
    if budget.open:
        return None
    limits = {
        name: max(1, int(limit * share)) if name in ("tokens", "calls") else limit * share
        for name, limit in budget.model_dump().items()
        if limit is not None
    }
    return Budget.model_validate(limits)
