"""The evaluations of a store: added, extended, and run to their end.

Knows the workbench, planners and pools; prints nothing. An evaluation whose process died is resumed: finished
cells stay, a cell under way reuses the steps that had finished.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from threading import Event as Flag

from conductor.baselines.named import WORKER, planner_named
from conductor.errors import DataError
from conductor.evaluation.items import DataSet, Item, UnreadableItem
from conductor.evaluation.plan_sources import PLAN, CategoryPlans, FixedPlan, GivenPlans, WrittenPlans
from conductor.evaluation.score import outage_words
from conductor.evaluation.scorers.judge import PROMPT_DIGEST, can_judge
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec, JudgeSpec
from conductor.evaluation.trials import next_part
from conductor.limited.command import check_isolation
from conductor.values.budget import Budget
from conductor.workers.endpoint.batches.batch_queue import NO_BATCHES
from conductor.workers.pool.pool import Pool
from storage.records import EvaluationRecord
from studio.evaluation.execution.crew import Crew, Part, Unit
from studio.evaluation.execution.evaluation_run import (
    NOT_ALL,
    EvaluationRun,
    Listen,
    Progress,
    UnitOutputs,
)
from studio.evaluation.fitting import fitted_planners
from studio.evaluation.given_plans import plan_of_session
from studio.evaluation.results import scored_cells
from studio.sessions.person_limits import admitted
from studio.version import own_version
from studio.workbench import Workbench

EVERY_WORKER = f"{WORKER}*"


class Evaluations:
    """The evaluations of one workbench's store."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._store = bench.store.evaluations

    def add(
        self,
        data: DataSet,
        planners: Sequence[str],
        spec: EvaluationSpec,
        *,
        given_plans: Sequence[GivenPlans] = (),
    ) -> EvaluationRecord:
        """Store an evaluation of these planners on the data; `run` makes it.

        `worker:*` stands for each worker of the pool, `plan:SESSION` for that session's workflow, and names
        of `given_plans` for those. The `spec` gets what the data, the pool and the workflows are. Raises
        `PlanError` for an unknown planner, `PoolError` for an unknown worker, `WorkflowError` for a workflow
        with one, `FormatError` for fitted parameters that cannot be read, `DataError` for a planner named
        twice, an unknown session, for programs to run that are not allowed, and for a judge that is missing
        or has nothing to judge; `WorkerError` where programs cannot be isolated, `PoolError` where no worker
        could be called in batches, and `LimitReached` where the budget of who asks is used up.
        """
        _ = admitted(self._bench.store, self._bench.asker, paced=False)
        pool = self._bench.pool
        if spec.batch:
            _ = self._bench.runner.runtime.batched(NO_BATCHES)
        named, plans = self.resolved(planners, given_plans)
        for planner, times in Counter(named).items():
            if times > 1:
                raise DataError(f"The planner {planner!r} is named twice; name each planner once.")
            if planner not in plans:
                _check(planner, pool)
        items = tuple(item.shuffled(spec.seed) for item in data.items)
        fitted = fitted_planners([name for name in named if name not in plans], items, self._bench)
        _check_workers(plans.values(), pool)
        if any(item.scored_by == "code" for item in data.items):
            if not spec.allow_code:
                raise DataError(
                    "These questions are scored by running the programs that models write; allow it with "
                    "--allow-code."
                )
            self._bench.background.wait(check_isolation())
        full = spec.model_copy(
            update={
                "judge": _judge(spec.judge, data.items, pool),
                "data": data.name,
                "digest": data.digest,
                "planners": tuple(named),
                "given": tuple(plans.values()),
                "held_out": _holds_out(spec.margin, tuple(plans.values())),
                "fitted": fitted,
                "pool": _identities(pool),
                "version": own_version(),
            }
        )
        return self._store.add(full, items)

    def extend(
        self, evaluation: str, planners: Sequence[str], *, given_plans: Sequence[GivenPlans] = ()
    ) -> EvaluationRecord:
        """Add planners, whose answers `run` makes: no call is made again that another of its planners made.

        They are named, and refused, as those of `add`; raises `DataError` also for one that it has already.
        """
        spec, pool = self._store.find(evaluation).spec, self._bench.pool
        added, plans = self.resolved(planners, given_plans)
        for planner, times in Counter((*spec.planners, *added)).items():
            if times > 1:
                raise DataError(f"The evaluation has {planner!r} already; add other planners.")
            if planner in added and planner not in plans:
                _check(planner, pool)
        items = self._store.items(evaluation)
        fitted = fitted_planners([name for name in added if name not in plans], items, self._bench)
        _check_workers(plans.values(), pool)
        update = {
            "planners": (*spec.planners, *added),
            "fitted": (*spec.fitted, *fitted),
            "given": (*spec.given, *plans.values()),
        }
        return self._store.set_spec(evaluation, spec.model_copy(update=update))

    def ask(self, evaluation: str, planner: str, questions: Iterable[int]) -> EvaluationRecord:
        """Have a planner answer these questions too, by position: an added one these alone. Refused as
        `extend`.
        """
        spec = self._store.find(evaluation).spec
        part = tuple(sorted({*spec.parts.get(planner, ()), *questions}))
        spec = spec.model_copy(update={"parts": {**spec.parts, planner: part}})
        record = self._store.set_spec(evaluation, spec)
        return record if planner in spec.planners else self.extend(evaluation, [planner])

    def give(self, evaluation: str, plans: Mapping[FixedPlan, Collection[int] | None]) -> EvaluationRecord:
        """Add these plans, or have those that it has answer these questions, by position; None: all of them.
        `run` makes the answers that are missing. Raises `WorkflowError` for a worker that the pool does not
        have.
        """
        spec = self._store.find(evaluation).spec
        _check_workers(plans, self._bench.pool)
        parts = dict(spec.parts)
        for plan, questions in plans.items():
            parts.pop(plan.name, None)
            if questions is not None:
                parts[plan.name] = tuple(sorted(questions))
        by_name = {each.name: each for each in (*spec.given, *plans)}
        update = {
            "planners": tuple(dict.fromkeys((*spec.planners, *(each.name for each in plans)))),
            "given": tuple(by_name.values()),
            "parts": parts,
        }
        return self._store.set_spec(evaluation, spec.model_copy(update=update))

    def resolved(
        self, planners: Sequence[str], given_plans: Sequence[GivenPlans]
    ) -> tuple[list[str], dict[str, GivenPlans]]:
        """The planners by their own names, and those of them that write nothing by theirs. Raises
        `DataError`.
        """
        plans = {each.name: each for each in given_plans}
        named = []
        alone = [f"{WORKER}{name}" for name in self._bench.pool.names]
        for planner in (each for name in planners for each in (alone if name == EVERY_WORKER else [name])):
            if planner.startswith(PLAN) and planner not in plans:
                fixed = plan_of_session(self._bench.store, planner)
                plans[fixed.name] = fixed
                named.append(fixed.name)
            else:
                named.append(planner)
        return named, plans

    def add_on(
        self, earlier: EvaluationRecord, plans: Sequence[GivenPlans], *, margin: float | None = None
    ) -> EvaluationRecord:
        """Store an evaluation of these plans on the questions, and with the settings, of an earlier one.

        Its own plans need its pool and one round: raises `DataError` where there is another, `WorkflowError`
        for a fixed workflow with a worker that the pool does not have, and `PoolError` where it has no such
        judge.
        """
        if any(isinstance(plan, WrittenPlans) for plan in plans):
            self._check_pool(earlier.spec)
            if earlier.spec.settings.rounds > 1:
                raise DataError(
                    "The plans of that evaluation have several rounds, each based on the one before. "
                    "Begin with an evaluation of one round."
                )
        _check_workers(plans, self._bench.pool)
        update = {
            "planners": tuple(each.name for each in plans),
            "given": tuple(plans),
            "fitted": (),
            "margin": margin,
            "held_out": _holds_out(margin, plans),
            "confirmed": None,
            "judge": _judge(earlier.spec.judge, self._store.items(earlier.id), self._bench.pool),
            "pool": _identities(self._bench.pool),
            "version": own_version(),
        }
        spec = earlier.spec.model_copy(update=update)
        return self._store.add(spec, self._store.items(earlier.id))

    def run(
        self,
        evaluation: str,
        *,
        listen: Listen | None = None,
        stop: Flag | None = None,
        budget: Budget | None = None,
        crew: Crew | None = None,
        outputs: dict[Unit, UnitOutputs] | None = None,
    ) -> Progress:
        """Answer and score what is missing, and wait; the progress at the end. `budget` replaces the
        evaluation's own, in which all that was used before counts. A `crew` answers in place of this process;
        `outputs` are those that earlier calls have read.

        A trial goes on with the combinations of edits that the search of the cheapest workflow measures, and
        with the one that it chose on the questions that are held out.
        Ends early where `stop` is set (answers under way are then stopped, too, and are no results), the
        budget is spent or a planner is hopeless; `failure` is the reason, which the evaluation's record has
        as well. That has a reason, too, where answers are without a verdict by an outage or by the judge:
        `run` asks for these again, and for nothing else. Raises `PoolError`, and `DataError` where the pool
        is another one than the evaluation began with, and where a crew would have to keep to a budget;
        `LimitReached` where the budget of who asks is used up.
        """
        record = self._store.find(evaluation)
        self._check_pool(record.spec)
        _ = admitted(self._bench.store, self._bench.asker, paced=False)
        if crew is not None:
            check_uncounted(budget or record.spec.settings.budget)
        if budget is not None:
            settings = record.spec.settings.model_copy(update={"budget": budget})
            spec = record.spec.model_copy(update={"settings": settings})
            record = self._store.set_spec(evaluation, spec)
        self._store.set_end(evaluation, ended_at=None)
        stop, listen = stop or Flag(), listen or (lambda _: None)
        progress = EvaluationRun(self._bench, record, stop, listen, outputs).carry_out(crew)
        while progress.failure is None:
            # Batches may have been noted in it.
            spec = self._store.find(evaluation).spec
            more = next_part(spec, scored_cells(self._bench.store, evaluation))
            if more is None:
                break
            record = self._store.set_spec(evaluation, more)
            progress = EvaluationRun(self._bench, record, stop, listen, outputs).carry_out(crew)
        reason = progress.failure or self._not_all(evaluation)
        self._store.set_end(evaluation, ended_at=time.time(), reason=reason)
        return progress

    def answer(self, evaluation: str, units: Sequence[Unit], *, stop: Flag) -> Part:
        """Answer and score what of these units is missing, for the process that runs the evaluation; waits.

        Ends nothing: what is to follow, that process decides. Raises as `run`.
        """
        record = self._store.find(evaluation)
        self._check_pool(record.spec)
        return EvaluationRun(self._bench, record, stop, lambda _: None).answer(units)

    def _not_all(self, evaluation: str) -> str | None:
        """How many of the evaluation's cells have no verdict, and why; None if each has one."""
        cells = scored_cells(self._bench.store, evaluation)
        scores = [cell.result.score for cell in cells]
        outages = Counter(score.outage for score in scores if score.unanswered)
        unjudged = sum(score.verdict == "unjudged" for score in scores)
        counts = {f"not answered ({outage_words(outages)})": outages.total(), "not judged": unjudged}
        parts = [f"{count:,} of {len(scores):,} {words}" for words, count in counts.items() if count]
        items, places = self._store.items(evaluation, damaged=True), {cell.item for cell in cells}
        damaged = sum(isinstance(item, UnreadableItem) for at, item in enumerate(items) if at not in places)
        parts += [f"{damaged:,} of {len(items):,} questions cannot be read"] if damaged else []
        return f"{NOT_ALL}{', '.join(parts)}; resume asks for these again." if parts else None

    def fits(self, spec: EvaluationSpec) -> bool:
        """Whether the pool has all workers of that evaluation as they were. Raises `PoolError`."""
        try:
            self._check_pool(spec)
        except DataError:
            return False
        return True

    def _check_pool(self, spec: EvaluationSpec) -> None:
        pool = self._bench.pool
        for name, identity in spec.pool:
            if name not in pool.names or _hash(pool[name].card.identity) != identity:
                raise DataError(
                    f"The worker {name!r} is not as it was when this evaluation began; go on with the pool "
                    "of then (in a terminal: --pool FILE), or begin another evaluation."
                )
        for was in spec.fitted:
            (now,) = fitted_planners([was.planner], (), self._bench)
            if now.digest != was.digest:
                raise DataError(
                    f"The file of {was.planner} has changed since this evaluation began. Restore it, "
                    "or begin another evaluation."
                )


def check_uncounted(budget: Budget) -> None:
    """Raise `DataError` for limits, which a crew in several processes could not keep to."""
    if not budget.open:
        raise DataError(
            "This evaluation has a budget, which is counted in one process: answer it without the other "
            "processes, or begin one without limits."
        )


def _check(planner: str, pool: Pool) -> None:
    """Raise `PlanError` for a planner that does not exist, `PoolError` for a worker that does not."""
    if planner == CONDUCTOR:
        return
    _ = planner_named(planner, pool)
    if planner.startswith(WORKER):
        _ = pool[planner.removeprefix(WORKER).partition(",")[0]]


def _check_workers(plans: Iterable[GivenPlans], pool: Pool) -> None:
    """Raise `WorkflowError` for a fixed workflow with a worker that the pool does not have."""
    for plan in plans:
        if isinstance(plan, FixedPlan):
            plan.edited.check_workers(pool.cards)
        elif isinstance(plan, CategoryPlans):
            for workflow in (plan.otherwise, *(each for _, each in plan.workflows)):
                workflow.check_workers(pool.cards)


def _holds_out(margin: float | None, plans: Sequence[GivenPlans]) -> bool:
    """Whether a trial searches, so that what it chooses is confirmed on questions that are held out."""
    return margin is not None and bool(plans) and isinstance(plans[0], FixedPlan)


def _judge(named: JudgeSpec | None, items: Iterable[Item], pool: Pool) -> JudgeSpec | None:
    """The judge that these questions need. Raises `PoolError` for a worker that the pool does not have."""
    needed = any(item.scored_by == "judge" for item in items)
    if named is None:
        if needed:
            raise DataError("A judge scores these questions; name the worker that judges with --judge.")
        return None
    if not needed:
        raise DataError(
            "No question is scored by a judge; choose the scorer with --scorer judge, or name none."
        )
    if not can_judge(pool[named.worker].card):
        raise DataError(f"{named.worker!r} calls no model and judges nothing; name another worker.")
    return named.model_copy(update={"prompt": PROMPT_DIGEST})


def _identities(pool: Pool) -> tuple[tuple[str, str], ...]:
    return tuple((name, _hash(pool[name].card.identity)) for name in pool.names)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]
