"""Runs evaluations: every cell an ordinary session, each call that several planners have in common made once.

Knows the workbench and the scorers; prints nothing. What is done is durable after each cell, and an
evaluation whose process died is resumed: finished cells stay, a cell under way reuses the steps that had
finished.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from threading import Event as Flag
from threading import Lock

from conductor.baselines.named import WORKER, planner_named
from conductor.engine.meter import Meter
from conductor.errors import ConductorError, DataError
from conductor.evaluation.given import PLAN, FixedPlan, GivenPlans, WrittenPlans
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.score import Score
from conductor.evaluation.scorers import score
from conductor.evaluation.spec import CONDUCTOR, CellResult, EvaluationSpec, cell_result
from conductor.evaluation.trials import next_combination
from conductor.runs.state import RunState
from conductor.values.budget import NO_BUDGET, Budget
from conductor.values.messages import NOTHING_USED
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.workers.pool.pool import Pool
from storage.records import EvaluationRecord
from studio.evaluation.fitting import fitted_planners
from studio.evaluation.given_plans import CellPlans, plan_of_session
from studio.evaluation.results import scored_cells
from studio.workbench import Workbench

HOPELESS = 5
"""A planner of which so many first cells have no plan or no answer, and none has one, stops the evaluation.
"""

EVERY_WORKER = f"{WORKER}*"

STOP_SECONDS = 0.2
"""How often it is looked whether the evaluation is to stop."""

STOPPED = "It was stopped."


@dataclass(frozen=True)
class Progress:
    """`done` of `cells` were scored, `right` by planner; `tokens` and `cost` are what they took, None
    unknown.
    """

    cells: int
    done: int = 0
    right: Mapping[str, int] = field(default_factory=dict)
    scored: Mapping[str, int] = field(default_factory=dict)
    tokens: int | None = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    failure: str | None = None

    @property
    def seconds_left(self) -> float | None:
        """By the pace so far; None before the first cell."""
        return self.seconds / self.done * (self.cells - self.done) if self.done else None


Listen = Callable[[Progress], None]


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
        given: Sequence[GivenPlans] = (),
    ) -> EvaluationRecord:
        """Store an evaluation of these planners on the data; `run` makes it.

        `worker:*` stands for each worker of the pool, `plan:SESSION` for that session's workflow, and names
        of `given` for those. What the data, the pool and the workflows are is written into the `spec`. Raises
        `PlanError` for an unknown planner, `PoolError` for an unknown worker, `WorkflowError` for a workflow
        with one, `FormatError` for fitted parameters that cannot be read, `DataError` for a planner named
        twice, an unknown session and for programs to run that are not allowed.
        """
        pool = self._bench.pool
        named, plans = self._resolved(planners, given)
        for planner, times in Counter(named).items():
            if times > 1:
                raise DataError(f"The planner {planner!r} is named twice; name each planner once.")
            if planner not in plans:
                _check(planner, pool)
        items = tuple(item.shuffled(spec.seed) for item in data.items)
        fitted = fitted_planners([name for name in named if name not in plans], items, pool)
        _check_workers(plans.values(), pool)
        if not spec.allow_code and any(item.scored_by == "code" for item in data.items):
            raise DataError(
                "These questions are scored by running the programs that models write; allow it with "
                "--allow-code."
            )
        full = spec.model_copy(
            update={
                "data": data.name,
                "digest": data.digest,
                "planners": tuple(named),
                "given": tuple(plans.values()),
                "fitted": fitted,
                "pool": _identities(pool),
                "version": _version(),
            }
        )
        return self._store.add(full, items)

    def extend(
        self, evaluation: str, planners: Sequence[str], *, given: Sequence[GivenPlans] = ()
    ) -> EvaluationRecord:
        """Add planners, whose answers `run` makes: no call is made again that another of its planners made.

        They are named, and refused, as those of `add`; raises `DataError` also for one that it has already.
        """
        spec, pool = self._store.find(evaluation).spec, self._bench.pool
        added, plans = self._resolved(planners, given)
        for planner, times in Counter((*spec.planners, *added)).items():
            if times > 1:
                raise DataError(f"The evaluation has {planner!r} already; add other planners.")
            if planner in added and planner not in plans:
                _check(planner, pool)
        items = self._store.items(evaluation)
        fitted = fitted_planners([name for name in added if name not in plans], items, pool)
        _check_workers(plans.values(), pool)
        update = {
            "planners": (*spec.planners, *added),
            "fitted": (*spec.fitted, *fitted),
            "given": (*spec.given, *plans.values()),
        }
        return self._store.set_spec(evaluation, spec.model_copy(update=update))

    def _resolved(
        self, planners: Sequence[str], given: Sequence[GivenPlans]
    ) -> tuple[list[str], dict[str, GivenPlans]]:
        """The planners by their own names, and those of them that write nothing by theirs."""
        plans = {each.name: each for each in given}
        named = []
        for planner in (each for name in planners for each in _expanded(name, self._bench.pool)):
            if planner.startswith(PLAN) and planner not in plans:
                fixed = plan_of_session(self._bench.store, planner)
                plans[fixed.name] = fixed
                named.append(fixed.name)
            else:
                named.append(planner)
        return named, plans

    def add_on(
        self, earlier: EvaluationRecord, given: Sequence[GivenPlans], *, margin: float | None = None
    ) -> EvaluationRecord:
        """Store an evaluation of what is `given` on the questions, and with the settings, of an earlier one.

        Its own plans need its pool and one round: raises `DataError` where there is another, `WorkflowError`
        for a fixed workflow with a worker that the pool does not have.
        """
        if any(isinstance(plan, WrittenPlans) for plan in given):
            self._check_pool(earlier.spec)
            if earlier.spec.settings.rounds > 1:
                raise DataError(
                    "The plans of that evaluation have several rounds, each of which answers to the one "
                    "before; begin with an evaluation of one round."
                )
        _check_workers(given, self._bench.pool)
        update = {
            "planners": tuple(each.name for each in given),
            "given": tuple(given),
            "fitted": (),
            "margin": margin,
            "pool": _identities(self._bench.pool),
            "version": _version(),
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
    ) -> Progress:
        """Answer and score what is missing, and wait; the progress at the end. `budget` replaces the
        evaluation's own, in which all that was used before counts.

        A trial goes on with the combinations of edits that the search of the cheapest workflow measures.
        Ends early where `stop` is set (answers under way are then stopped, too, and are no results), the
        budget is spent or a planner is hopeless; `failure` is the reason,
        which the evaluation's record has as well. Raises `PoolError`, and `DataError` where the pool is
        another one than the evaluation began with.
        """
        record = self._store.find(evaluation)
        self._check_pool(record.spec)
        if budget is not None:
            settings = record.spec.settings.model_copy(update={"budget": budget})
            spec = record.spec.model_copy(update={"settings": settings})
            record = self._store.set_spec(evaluation, spec)
        self._store.set_end(evaluation, ended_at=None)
        stop, listen = stop or Flag(), listen or (lambda _: None)
        progress = _Work(self._bench, record, stop, listen).carry_out()
        while progress.failure is None:
            plan = next_combination(record.spec, scored_cells(self._bench.store, evaluation))
            if plan is None:
                break
            more = {"planners": (*record.spec.planners, plan.name), "given": (*record.spec.given, plan)}
            record = self._store.set_spec(evaluation, record.spec.model_copy(update=more))
            progress = _Work(self._bench, record, stop, listen).carry_out()
        self._store.set_end(evaluation, ended_at=time.time(), reason=progress.failure)
        return progress

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
                    "of then, or begin another evaluation."
                )
        for was in spec.fitted:
            (now,) = fitted_planners([was.planner], (), pool)
            if now.digest != was.digest:
                raise DataError(
                    f"What {was.planner} has learnt is not what it was when this evaluation began; go on "
                    "with the file of then, or begin another evaluation."
                )


def _expanded(planner: str, pool: Pool) -> Iterable[str]:
    return [f"{WORKER}{name}" for name in pool.names] if planner == EVERY_WORKER else [planner]


def _check(planner: str, pool: Pool) -> None:
    """Raise `PlanError` for a planner that does not exist, `PoolError` for a worker that does not."""
    if planner == CONDUCTOR:
        return
    _ = planner_named(planner, pool)
    if planner.startswith(WORKER):
        _ = pool[planner.removeprefix(WORKER).partition(",")[0]]


def _check_workers(given: Iterable[GivenPlans], pool: Pool) -> None:
    """Raise `WorkflowError` for a fixed workflow with a worker that the pool does not have."""
    for plan in given:
        if isinstance(plan, FixedPlan):
            plan.edited.check_workers(pool.cards)


def _identities(pool: Pool) -> tuple[tuple[str, str], ...]:
    return tuple((name, _hash(pool[name].card.identity)) for name in pool.names)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


def _version() -> str:
    try:
        return version("conductor-studio")
    except PackageNotFoundError:
        return ""


class _Work:
    """One making of an evaluation, by `parallel` threads; a thread takes an item with all of its planners."""

    def __init__(self, bench: Workbench, record: EvaluationRecord, stop: Flag, listen: Listen) -> None:
        self._bench = bench
        self._store = bench.store.evaluations
        self._evaluation, self._spec = record.id, record.spec
        self._items = self._store.items(record.id)
        self._stop, self._listen = stop, listen
        self._meter = Meter(record.spec.settings.budget)
        self._begun = time.monotonic()
        self._plans = CellPlans(bench.store)
        self._lock = Lock()
        self._failed: Counter[str] = Counter()
        self._hopeful: set[str] = set()
        self._under_way: set[str] = set()
        self._known = {(each.item, each.planner, each.repeat): each for each in self._store.cells(record.id)}
        self.progress = Progress(len(self._items) * len(self._spec.planners) * self._spec.repeats)

    def carry_out(self) -> Progress:
        for cell in self._known.values():
            if cell.result is not None:
                self._count(cell.planner, cell.result)
                self._meter.calls += cell.result.paid
                self._meter.count(
                    tokens=cell.result.spent.total or 0, cost=cell.result.spent.cost or 0.0, estimated=False
                )
        units = [(at, repeat) for repeat in range(self._spec.repeats) for at in range(len(self._items))]
        with ThreadPoolExecutor(self._spec.parallel, thread_name_prefix="evaluation") as threads:
            try:
                self._answer_all(threads, units)
            except BaseException:
                # The pool waits for its threads: they are to begin nothing more, also after an interrupt.
                self._stop.set()
                raise
        if self.progress.failure is None and self.progress.done < self.progress.cells:
            self._end(STOPPED)
        return self.progress

    def _answer_all(self, threads: ThreadPoolExecutor, units: Iterable[tuple[int, int]]) -> None:
        waiting: set[Future[None]] = set()
        for item, repeat in units:
            if self._ended:
                break
            waiting.add(threads.submit(self._answer_item, item, repeat))
            if len(waiting) >= self._spec.parallel:
                waiting = self._some_done(waiting)
        while waiting:
            waiting = self._some_done(waiting)

    def _some_done(self, waiting: set[Future[None]]) -> set[Future[None]]:
        """Wait until some work is done; what is still waited for. Raises an error that ended it."""
        done: set[Future[None]] = set()
        while not done:
            done, waiting = wait(waiting, timeout=STOP_SECONDS, return_when=FIRST_COMPLETED)
            if self._stop.is_set():
                for session in tuple(self._under_way):
                    self._bench.running.stop(session)
        for each in done:
            each.result()
        return waiting

    @property
    def _ended(self) -> bool:
        return self._stop.is_set() or self.progress.failure is not None

    def _answer_item(self, item: int, repeat: int) -> None:
        """One item by all planners, one after the other, so that no call is made twice."""
        outputs = self._plans.outputs(self._spec.given, item, repeat)
        for planner in self._spec.planners:
            if self._ended:
                return
            cell = self._known.get((item, planner, repeat))
            if cell is not None:
                session = cell.answered_in
                outputs |= self._bench.store.runs.outputs(session)
            else:
                try:
                    session = self._begin(item, planner, repeat)
                except ConductorError as error:
                    self._end(f"{planner}: {error}")
                    return
            if cell is None or cell.result is None:
                before = () if cell is None else self._runs(session)
                runs = self._answer(self._items[item], planner, session, before=before, known=outputs)
                outputs |= {each.fingerprint: each for run in runs for each in run.outputs.values()}

    def _settings(self, planner: str) -> Settings:
        if self._spec.plans_of(planner) is not None:
            # What is given is for one round, and no one plans another.
            return self._spec.settings.model_copy(update={"planner": None, "rounds": 1, "budget": NO_BUDGET})
        named = None if planner == CONDUCTOR else planner
        return self._spec.settings.model_copy(update={"planner": named, "budget": NO_BUDGET})

    def _begin(self, item: int, planner: str, repeat: int) -> str:
        """Create a cell, with its workflow where that is given."""
        given = self._spec.plans_of(planner)
        return self._store.begin_cell(
            self._evaluation,
            item=item,
            planner=planner,
            repeat=repeat,
            query=self._items[item].question,
            settings=self._settings(planner),
            pool_label=self._bench.pool.label,
            workflow=None if given is None else self._plans.workflow(given, item, repeat),
            note="" if given is None else given.title,
        )

    def _answer(
        self,
        item: Item,
        planner: str,
        session: str,
        *,
        before: Sequence[RunState],
        known: Mapping[str, Output],
    ) -> Sequence[RunState]:
        """Answer the cell, score it and store its result; its runs, of which those `before` were there."""
        runs = before
        planless = (
            self._spec.plans_of(planner) is not None and self._bench.store.revisions.head(session) is None
        )
        if not planless and (not runs or runs[-1].status != "finished"):
            try:
                request = self._bench.request(session)
                self._bench.runner.begin_answer(session, request, known=known, meter=self._meter)
                self._under_way.add(session)
                self._bench.activities.wait(session)
            except CancelledError:
                return ()  # its planning was stopped
            except ConductorError as error:
                self._end(f"{planner}: {error}")
                return ()
            finally:
                self._under_way.discard(session)
            runs = self._runs(session)
        if self._meter.crossing is not None:
            # What it stopped is no result: a resumed evaluation answers it.
            self._end(f"The budget is spent: {self._meter.crossing.words}.")
            return runs
        if self._stop.is_set() and (not runs or runs[-1].status != "finished"):
            return runs
        result = self._result(item, session, runs)
        self._store.end_cell(session, result, [each for run in runs for each in run.outputs.values()])
        self._bench.activities.forget(session)
        self._count(planner, result)
        self._give_up(planner, result, session)
        return runs

    def _runs(self, session: str) -> list[RunState]:
        return [self._bench.state(run) for run in reversed(self._bench.store.runs.of_session(session))]

    def _result(self, item: Item, session: str, runs: Sequence[RunState]) -> CellResult:
        plans = [
            plan for plan in self._bench.store.plans.of_session(session) if plan.planner_kind != "offline"
        ]
        return cell_result(
            self._score(item, runs),
            planning=sum((plan.usage for plan in plans), NOTHING_USED),
            paid_planning=len(plans),
            runs=runs,
        )

    def _score(self, item: Item, runs: Sequence[RunState]) -> Score:
        if not runs:
            return Score(verdict="no plan")
        answered = [run for run in runs if run.status == "finished" and run.answer is not None]
        if not answered:
            failed = next((step.message for step in runs[-1].steps if step.message), "")
            return Score(verdict="failed", reason=failed)
        last = answered[-1]
        output = None if last.answer_step is None else last.steps[last.answer_step].output
        if output is not None and output.refused:
            return Score(verdict="refused", answer=output.text[:2_000])
        return self._bench.background.wait(score(last.answer or "", item, allow_code=self._spec.allow_code))

    # -- progress ----------------------------------------------------------------------------------

    def _count(self, planner: str, result: CellResult) -> None:
        used = result.planning + result.work
        with self._lock:
            before = self.progress
            self.progress = replace(
                before,
                done=before.done + 1,
                right={**before.right, planner: before.right.get(planner, 0) + result.score.right},
                scored={**before.scored, planner: before.scored.get(planner, 0) + 1},
                tokens=None if before.tokens is None or used.total is None else before.tokens + used.total,
                cost=None if before.cost is None or used.cost is None else before.cost + used.cost,
                seconds=time.monotonic() - self._begun,
            )
            self._listen(self.progress)

    def _give_up(self, planner: str, result: CellResult, session: str) -> None:
        """End the evaluation where the planner has answered nothing, again and again.

        Of a trial's variant that is what the trial shows.
        """
        if self._spec.margin is not None and planner != self._spec.planners[0]:
            return
        with self._lock:
            if result.score.verdict not in ("no plan", "failed"):
                self._hopeful.add(planner)
            self._failed[planner] += 1
            hopeless = planner not in self._hopeful and self._failed[planner] >= HOPELESS
        if hopeless:
            plan = self._bench.store.plans.latest(session)
            why = (
                result.score.reason or (plan.failure if plan is not None else None) or "it gave no valid plan"
            )
            self._end(f"{planner} answered none of the first {HOPELESS} questions: {why}")

    def _end(self, reason: str) -> None:
        with self._lock:
            if self.progress.failure is None:
                self.progress = replace(self.progress, failure=reason)
