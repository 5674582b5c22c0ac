"""A planner learns: plans are tried on one part of the questions, and it is examined on the other.

Each plan that is tried is a session of an evaluation of the store, so that calls are shared, counted, kept to
a budget, and a learning that was interrupted goes on. Knows the workbench; prints nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event as Flag

from conductor.baselines.encoder import CountedEmbeddings, Encoder
from conductor.baselines.learnt_file import identity_hash
from conductor.baselines.named import PREFIX, WORKER
from conductor.baselines.planner_file.file_planner import PREFIX as PLANNER
from conductor.baselines.planner_file.file_planner import FilePlanner
from conductor.baselines.planner_file.planner_file import (
    ExamRow,
    Learner,
    PlannerCard,
    PlannerFile,
    PlanUse,
    write_planner,
)
from conductor.baselines.search.generation import RUNGS
from conductor.errors import DataError, PlanError
from conductor.evaluation.evaluation_table import PlannerRow
from conductor.evaluation.items import DataSet
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec
from conductor.planner.conductor import Conductor
from conductor.planner.model_planner import ModelConductor
from conductor.text.formatting import quantity
from conductor.values.budget import Budget, Used
from conductor.workers.pool.pool import Pool
from storage.records import EvaluationRecord
from studio.evaluation.evaluations import EVERY_WORKER, Evaluations
from studio.evaluation.execution.evaluation_run import Listen
from studio.evaluation.outlook import EvaluationOutlook, outlook
from studio.evaluation.planner_learning.category_control import category_plans
from studio.evaluation.planner_learning.fit_part import FitPart, Note, budget_share
from studio.evaluation.planner_learning.learning_folder import LearningFolder
from studio.evaluation.planner_learning.reflection import most_calls, reflect, reflector_of, with_best_texts
from studio.evaluation.planner_learning.search import (
    FINALISTS,
    most_rewordings,
    rewording_model,
    search_plans,
)
from studio.evaluation.planner_learning.tried_plans import TriedPlans
from studio.evaluation.results import find_evaluation, table_of_evaluation
from studio.workbench import Workbench

LEAST = 20
"""Questions that are needed: of half of them a planner learns, the others examine it."""

_FIT_SHARE = 0.75
"""Of a budget; the rest is for the examination."""

_LEARNERS: Mapping[Learner, Callable[[FitPart], str | None]] = {
    "examples": FitPart.try_promising,
    "reflect": reflect,
    "search": search_plans,
}
"""The ways to learn from the plans that were drawn; each returns why it ended early, None if it did not."""

RANDOM = f"{PREFIX}random"
USUAL = (f"{PREFIX}vote", f"{PREFIX}moa")
"""Baselines whose plans are tried beside each worker alone and the Conductor's."""


def own_conductor(bench: Workbench) -> Conductor:
    """The pool's Conductor, without what an earlier planner learnt."""
    conductor = bench.runner.runtime.conductor
    return conductor.base if isinstance(conductor, FilePlanner) else conductor


def usual_use(bench: Workbench) -> PlanUse:
    """Examples stand in the prompt of a language model; other Conductors read none."""
    return "prompt" if isinstance(own_conductor(bench), ModelConductor) else "nearest"


def usual_planners(pool: Pool, planners: Sequence[str] | None = None) -> tuple[str, ...]:
    """Whose plans are tried, if nothing else is named: the Conductor's, each worker's alone, and these
    `planners`', None: those of `USUAL`.
    """
    alone = [f"{WORKER}{name}" for name in pool.names]
    rest = [name for name in planners or USUAL if name not in (CONDUCTOR, EVERY_WORKER)]
    return tuple(dict.fromkeys((CONDUCTOR, *alone, *rest)))


@dataclass(frozen=True)
class Halves:
    """The questions from which a planner learns, and those that examine it."""

    fit: DataSet
    held_out: DataSet

    @classmethod
    def of(cls, data: DataSet, *, held_out: float, seed: int) -> Halves:
        """Drawn by the seed; each in the data's order. Raises `DataError` for too few questions."""
        count = len(data.items)
        if count < LEAST:
            raise DataError(
                f"{data.name} has {quantity(count, 'question')}; {LEAST} are needed: a planner learns from "
                "one part and is examined on the other."
            )
        least = LEAST // 4
        number = min(max(round(count * held_out), least), count - least)
        draw = random.Random(f"{seed}/{data.digest}")  # noqa: S311 - a split, not a secret
        out = set(draw.sample(range(count), number))
        fit = tuple(item for at, item in enumerate(data.items) if at not in out)
        exam = tuple(item for at, item in enumerate(data.items) if at in out)
        return cls(DataSet(f"{data.name} (fit)", fit), DataSet(f"{data.name} (held out)", exam))


class PlannerLearning:
    """A learning in a folder. `spec` is how questions are answered: its settings, how many at a time, the
    judge. Its budget is that of the whole learning. Raises `PlanError`, `DataError` and `PoolError` where its
    method does not fit the pool.
    """

    def __init__(
        self, bench: Workbench, folder: LearningFolder, data: DataSet, spec: EvaluationSpec, *, name: str
    ) -> None:
        runtime = replace(bench.runner.runtime, conductor=own_conductor(bench))
        self._bench = bench.on(lambda: runtime)
        self._folder, self._settings, self._name = folder, folder.state.settings, name
        if self._settings.method == "reflect":
            _ = reflector_of(self._bench, self._settings)
        self._data = data
        self._halves = Halves.of(data, held_out=self._settings.held_out, seed=self._settings.seed)
        # One plan is tried at a time, and nothing is planned again after its answer.
        alone = spec.settings.model_copy(update={"rounds": 1, "planner": None, "budget": Budget()})
        self._spec = spec.model_copy(update={"settings": alone, "tags": (*spec.tags, f"learn {name}"[:60])})
        self._budget = spec.settings.budget
        self._evaluations = Evaluations(self._bench)

    @property
    def drawers(self) -> tuple[str, ...]:
        """Whose plans are tried on each question of the fit part."""
        random_ones = (f"{RANDOM}:seed={seed}" for seed in range(self._settings.draws))
        return (*self._settings.planners, *random_ones)

    @property
    def between(self) -> str:
        """What is tried at most between what is drawn and the examination."""
        settings, questions = self._settings, len(self._halves.fit.items)
        if settings.method == "reflect":
            calls = most_calls(questions, settings.reflections, self._spec)
            return (
                f"{quantity(settings.reflections, 'reflection')} take {calls:,} calls at most, retries apart"
            )
        if settings.method == "search":
            writer = rewording_model(self._bench, settings)
            calls = most_rewordings(settings)
            return (
                f"{settings.plans:,} plans at most are made; each answers one question, the "
                f"better ones up to {RUNGS[-1]}, and {FINALISTS} all"
                + ("" if writer is None else f"; {writer.card.name} writes instructions in {calls:,} calls")
            )
        return f"{settings.plans} plans at most are tried on all questions to learn from"

    def outlook(self) -> tuple[EvaluationOutlook, EvaluationOutlook]:
        """The forecast of what is drawn, and of the examination; what is tried between them is unknown before
        plans are drawn, see `between`.
        """
        spec = self._spec
        judge = None if spec.judge is None else spec.judge.worker
        forecast = partial(outlook, self._bench, settings=spec.settings, parallel=spec.parallel, judge=judge)
        return (
            forecast(self._halves.fit.items, self.drawers, repeats=spec.repeats),
            forecast(self._halves.held_out.items, self._settings.planners),
        )

    def learn(
        self, *, listen: Listen | None = None, note: Note = lambda _: None, stop: Flag | None = None
    ) -> PlannerFile:
        """Learn, or go on; the planner, whose file is in the folder as soon as there is anything in it.

        Raises `DataError` where no plan was right on any question, and where it was stopped; the folder goes
        on then. Errors are those of `Evaluations` besides.
        """
        stop = stop or Flag()
        fit = FitPart(
            self._bench, self._folder, budget_share(self._budget, _FIT_SHARE),
            listen=listen, note=note, stop=stop, taught=self._taught,
        )  # fmt: skip
        note(f"plans are tried on {quantity(len(self._halves.fit.items), 'question')}")
        failure = fit.draw(self._halves.fit, self.drawers, self._spec)
        if failure is None:
            failure = _LEARNERS[self._settings.method](fit)
        planner = self._planner(fit, failure)
        if self._settings.method == "reflect":
            planner = with_best_texts(fit, planner)
        write_planner(planner, self._folder.planner_path)
        note(f"examined on {quantity(len(self._halves.held_out.items), 'held-out question')}")
        planner = self._examined(planner, listen, stop)
        write_planner(planner, self._folder.planner_path)
        return planner

    # -- the planner -----------------------------------------------------------------------------

    def _planner(self, fit: FitPart, failure: str | None) -> PlannerFile:
        """What the tried plans teach. Raises `DataError` where that is nothing."""
        tried, record = fit.tried(), fit.record
        if self._settings.method == "search" and tried.whole.solved:
            tried = tried.whole
        if not tried.solved:
            why = f" {failure}" if failure else ""
            raise DataError(
                f"No plan was right on any of {quantity(len(tried.questions), 'question')}, so there is "
                f"nothing to learn from.{why} Look at the answers with `evaluate table {record.id}`, name "
                "other planners with --planner, or draw more plans with --draws."
            )
        planner = self._taught(tried, self._card((record,), failure))
        before = self._folder.planner
        cards = self._bench.pool.cards
        for question, workflow in () if before is None else before.corrections:
            if not workflow.missing_workers(cards):
                planner = planner.corrected(question, workflow, cards)
        return planner

    def _taught(self, tried: TriedPlans, card: PlannerCard | None = None) -> PlannerFile:
        cards = self._bench.pool.cards
        steps = (step for plan in tried.plans if plan.workflow for step in plan.workflow.steps)
        workers = {step.worker for step in steps}
        return PlannerFile(
            name=self._name,
            method=self._settings.method,
            use=self._settings.use,
            neighbours=self._settings.neighbours,
            conductor=own_conductor(self._bench).card.name,
            encoder=self._encoder([each.question for each in tried.questions]),
            workers=tuple((name, identity_hash(cards[name])) for name in cards if name in workers),
            plans=tried.plans,
            questions=tried.questions,
            card=card or self._card((), None),
        )

    def _encoder(self, questions: Sequence[str]) -> Encoder:
        if not self._settings.embeddings:
            searched = self._settings.method == "search"
            return Encoder.of_shared(questions) if searched else Encoder.of(questions)
        client = self._bench.pool.embedding_client
        if client is None:
            raise PlanError(
                "There is no endpoint for embeddings: write a table [embeddings] with base_url and model, or "
                'with kind = "embedded", into the pool file, or leave --embeddings out.'
            )
        return Encoder.of(questions, CountedEmbeddings(client))

    def _card(self, records: Sequence[EvaluationRecord], stopped: str | None) -> PlannerCard:
        used = [self._used(record) for record in records]
        totals = [
            total
            for record in records
            for total in self._bench.store.ledger.of_evaluation(record.id).values()
        ]
        tokens = [total.token_sum.most for total in totals]
        costs = [total.dollars.most for total in totals]
        return PlannerCard(
            data=self._data.name,
            digest=self._data.digest,
            seed=self._settings.seed,
            planners=self.drawers,
            fit=len(self._halves.fit.items),
            held_out=len(self._halves.held_out.items),
            evaluations=tuple(record.id for record in records),
            calls=sum(each.calls for each in used),
            tokens=None if None in tokens else round(sum(each or 0 for each in tokens)),
            cost=None if None in costs else sum(each or 0.0 for each in costs),
            stopped=stopped,
        )

    def _used(self, record: EvaluationRecord) -> Used:
        charged, _ = self._bench.store.ledger.charged_for_evaluation(record.id)
        return charged

    # -- the examination -------------------------------------------------------------------------

    def _examined(self, planner: PlannerFile, listen: Listen | None, stop: Flag) -> PlannerFile:
        """The planner with how it did on the held-out questions, as far as the budget goes."""
        store = self._bench.store
        fit = find_evaluation(store, self._folder.state.fit or "")
        budget = _left(self._budget, self._used(fit))
        if budget is None:
            stopped = "The budget was spent before the examination."
            return planner.model_copy(update={"card": planner.card.model_copy(update={"stopped": stopped})})
        exam = self._exam(planner)
        progress = self._evaluations.run(exam.id, listen=listen, stop=stop, budget=budget)
        if stop.is_set():
            raise DataError(f"Learning was stopped; {self._folder.planner_path} is not examined yet.")
        exam = find_evaluation(store, exam.id)
        rows = table_of_evaluation(store, exam).rows
        card = self._card((fit, exam), progress.failure or planner.card.stopped)
        own = {"exam": tuple(map(_exam_row, rows)), "reflection": planner.card.reflection}
        return planner.model_copy(update={"card": card.model_copy(update=own)})

    def _exam(self, planner: PlannerFile) -> EvaluationRecord:
        """The examination, begun again for a planner that has learnt more since."""
        if (id := self._folder.state.exam) is not None:
            exam = find_evaluation(self._bench.store, id)
            if planner.digest in {each.digest for each in exam.spec.fitted}:
                return exam
        # Alone on this machine: a client's names are those of the pool file.
        named = f"{PLANNER}{self._folder.planner_path}"
        spec = self._spec.model_copy(update={"repeats": 1})
        control = category_plans(planner, self._bench.store.evaluations.items(self._folder.state.fit or ""))
        planners = [named, *self._settings.planners, *(each.name for each in control)]
        exam = self._evaluations.add(self._halves.held_out, planners, spec, given_plans=control)
        self._folder.note(exam=exam.id)
        return exam


def _exam_row(row: PlannerRow) -> ExamRow:
    paired = row.difference
    return ExamRow(
        planner=row.planner,
        right=0 if row.rate is None else row.rate.right,
        answers=0 if row.rate is None else row.rate.answers,
        tokens=None if row.tokens is None else row.tokens.value,
        cost=None if row.cost is None else row.cost.value,
        difference=None if paired is None else paired.difference,
        between=None if paired is None else (paired.interval.low, paired.interval.high),
        p=None if paired is None else paired.read_p,
    )


def _left(budget: Budget, used: Used) -> Budget | None:
    """What is left of each limit; None if nothing is left of one. Seconds are those of each part."""
    limits: dict[str, float] = {}
    for name, limit in budget.model_dump().items():
        if limit is None:
            continue
        rest = limit * (1 - _FIT_SHARE) if name == "seconds" else limit - getattr(used, name)
        if rest <= 0:
            return None
        limits[name] = rest
    return Budget.model_validate(limits)
