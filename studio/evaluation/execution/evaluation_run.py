"""Makes an evaluation: every cell an ordinary session, each call that planners have in common made once.

Knows the workbench; `scoring.py` scores. Prints nothing. What is done is durable after each cell.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from threading import Lock
from typing import NamedTuple

from conductor.engine.known_outputs import OutputArchive
from conductor.engine.meter import Meter
from conductor.errors import ConductorError
from conductor.evaluation.evaluation_table import Cell, table_of
from conductor.evaluation.items import Item, UnreadableItem
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CONDUCTOR, CellResult, cell_result
from conductor.runs.state import RunState
from conductor.values.budget import NO_BUDGET
from conductor.values.messages import NOTHING_USED
from conductor.values.output import Output
from conductor.values.presets import Settings
from conductor.values.total import NOTHING, Total
from conductor.workers.endpoint.batches.batch_queue import SAMPLE, Batches
from storage.records import CellRecord, EvaluationRecord
from studio.evaluation.execution.crew import Crew, Part, Unit
from studio.evaluation.execution.scoring import Scoring
from studio.evaluation.given_plans import CellPlans
from studio.evaluation.results import scored
from studio.sessions.person_limits import PersonLimits
from studio.workbench import Workbench

HOPELESS = 5
"""A planner whose first cells, so many, all lack a plan or an answer ends the evaluation."""

STOP_SECONDS = 0.2
"""How often it is looked whether the evaluation is to stop."""

STOPPED = "It was stopped."

NOT_ALL = "Done, but "
"""How the reason begins where everything was asked, and some of it has no verdict."""

MOST_AT_ONCE = 1_000
"""Questions that are under way together, each in a thread, where calls wait for each other's batch."""

LOOK = 10
"""After how many questions it is looked whether a sequential evaluation is decided."""


@dataclass(frozen=True)
class Progress:
    """`done` of `cells` are over, `right` by planner; outages left `unanswered` of them so. `used` is
    what all requests for them took; an answer that was there already took nothing.
    """

    cells: int
    done: int = 0
    right: Mapping[str, int] = field(default_factory=dict)
    unanswered: int = 0
    used: Total = NOTHING
    seconds: float = 0.0
    failure: str | None = None

    @property
    def seconds_left(self) -> float | None:
        """By the pace so far; None before the first cell."""
        return self.seconds / self.done * (self.cells - self.done) if self.done else None


Listen = Callable[[Progress], None]


class UnitOutputs(NamedTuple):
    """The outputs of a question, and the sessions that gave them."""

    archive: OutputArchive
    sessions: set[str]

    def add(self, session: str, outputs: Iterable[Output]) -> None:
        self.archive.extend(outputs)
        self.sessions.add(session)


class EvaluationRun:
    """One making of an evaluation, by `parallel` threads; a thread takes an item with all of its planners.
    The `outputs` of questions are read once for several makings.
    """

    def __init__(
        self,
        bench: Workbench,
        record: EvaluationRecord,
        stop: Flag,
        listen: Listen,
        outputs: dict[Unit, UnitOutputs] | None = None,
    ) -> None:
        self._outputs = {} if outputs is None else outputs
        self._store, self._ledger = bench.store.evaluations, bench.store.ledger
        self._evaluation, self._spec = record.id, record.spec
        self._items = self._store.items(record.id, damaged=True)
        self._stop, self._listen = stop, listen
        self._bench = bench = self._in_batches(bench) if record.spec.batch else bench
        self._meter = Meter(record.spec.settings.budget)
        self._scoring = Scoring(bench, record.spec, self._meter)
        self._started_at = time.monotonic()
        self._plans = CellPlans(bench.store)
        self._lock = Lock()
        self._failed: Counter[str] = Counter()
        self._hopeful: set[str] = set()
        self._under_way: set[str] = set()
        self._decides = True
        self._decided = False
        self._order = record.spec.order(len(self._items))
        self._places = record.spec.places(len(self._items))
        self._plans_by_name = {each.name: each for each in record.spec.given}
        everything = min(MOST_AT_ONCE, len(self._items) * record.spec.repeats)
        self._parallel = everything if record.spec.batch else record.spec.parallel
        self._whole = self._looked = 0
        self._scored: dict[tuple[int, str, int], CellResult] = {}
        self._answered: list[Cell] = []
        self._cells = {(each.item, each.planner, each.repeat): each for each in self._store.cells(record.id)}
        self._answers = {
            key for key, cell in self._cells.items() if cell.result is not None and cell.result.score.is_known
        }
        self.progress = Progress(self._spec.cells(len(self._items)) - self._missing_answers())

    def _missing_answers(self) -> int:
        """How many answers are missing to questions that cannot be read."""
        return sum(
            (at, planner, repeat) not in self._answers
            for at, item in enumerate(self._items)
            for planner in self._spec.planners
            for repeat in range(self._spec.repeats)
            if isinstance(item, UnreadableItem) and at in self._places[planner]
        )

    def _in_batches(self, bench: Workbench) -> Workbench:
        """The workbench with workers that are called in batches. Raises `PoolError` if none can be."""
        runtime = bench.runner.runtime.batched(
            Batches(self._note_batch, self._end_batches, earlier=self._spec.batches)
        )
        return bench.on(lambda: runtime)

    def _note_batch(self, worker: str, batch: str) -> None:
        spec = self._store.find(self._evaluation).spec
        noted = spec.model_copy(update={"batches": (*spec.batches, (worker, batch))})
        self._store.set_spec(self._evaluation, noted)

    def _end_batches(self, reason: str) -> None:
        """No batch can be made: what waits for one is stopped, and is no result."""
        self._end(reason)
        self._stop.set()

    def carry_out(self, crew: Crew | None = None) -> Progress:
        """Answer and score what is missing, here or by a crew; the progress at the end."""
        used = self._ledger.of_evaluation(self._evaluation)
        for cell in self._cells.values():
            if cell.result is not None:
                self._scored[cell.item, cell.planner, cell.repeat] = cell.result
                if cell.result.score.is_known:
                    self._count(cell.planner, cell.result, used.get(cell.answered_in, NOTHING))
        charged, estimated = self._ledger.charged_for_evaluation(self._evaluation)
        self._meter.count_earlier(charged, estimated=estimated)
        self._limit()
        units = self._units()
        self._look()
        if crew is None:
            self._answer_here(units)
        else:
            self._answer_by(crew, units)
        if self.progress.failure is None and self.progress.done < self.progress.cells and not self._decided:
            self._end(STOPPED)
        return self.progress

    def _limit(self) -> None:
        """Count within the limits of who asks, too."""
        limits = PersonLimits.of(self._bench.store, self._bench.asker)
        if limits is not None:
            limits.limit(self._meter)

    def _units(self) -> list[Unit]:
        """Where an answer is missing, in their order; those of a sequential evaluation have all answers to a
        question together.
        """
        repeats = range(self._spec.repeats)
        order = [at for at in self._order if not isinstance(self._items[at], UnreadableItem)]
        if self._spec.sequential:
            units = [(at, repeat) for at in order for repeat in repeats]
        else:
            units = [(at, repeat) for repeat in repeats for at in order]
        return [
            (item, repeat)
            for item, repeat in units
            if any(
                (item, planner, repeat) not in self._answers
                for planner, items in self._places.items()
                if item in items
            )
        ]

    def answer(self, units: Sequence[Unit]) -> Part:
        """Answer and score what is missing of these units; what came of it."""
        self._decides = False
        self._limit()
        self._answer_here(units)
        # A process that was lost may have answered some, which only the store knows.
        return Part((*_with_verdict(self._cells.values(), units), *self._answered), self.progress.failure)

    def _answer_by(self, crew: Crew, units: Sequence[Unit]) -> None:
        """Count what the crew answers, at the end by the store: a lost process reports nothing."""
        done, failures = set(self._answers), list[str]()
        parts = crew.answer(
            self._evaluation,
            units,
            parallel=self._spec.parallel,
            over=lambda: self._ended or bool(failures),
        )
        for part in parts:
            self._take(part.answered, done)
            failures += [] if part.failure is None else [part.failure]
        stored = _with_verdict(self._store.cells(self._evaluation), units)
        self._take(stored, done)
        if failures and len(self._answers | set(map(_key_of, stored))) < self.progress.cells:
            self._end(failures[0])

    def _take(self, answered: Iterable[Cell], done: set[tuple[int, str, int]]) -> None:
        """Count those that are not done yet."""
        for each in answered:
            if (key := _key_of(each)) not in done:
                done.add(key)
                self._scored[key] = each.result
                self._count(each.planner, each.result, self._bench.store.sessions.total(each.session))
                self._give_up(each.planner, each.result, each.session)
                self._look()

    def _answer_here(self, units: Iterable[Unit]) -> None:
        with ThreadPoolExecutor(self._parallel, thread_name_prefix="evaluation") as threads:
            try:
                self._answer_all(threads, units)
            except BaseException:
                # The pool waits for its threads: they are to begin nothing more, also after an interrupt.
                self._stop.set()
                raise

    def _answer_all(self, threads: ThreadPoolExecutor, units: Iterable[Unit]) -> None:
        waiting: set[Future[None]] = set()
        begun_items = {item for item, _, _ in self._cells}
        for item, repeat in units:
            # What decides it leaves no question with some of its answers.
            if self._broken or (self._decided and repeat == 0 and item not in begun_items):
                break
            waiting.add(threads.submit(self._answer_item, item, repeat))
            if len(waiting) >= self._parallel:
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
        return self._decided or self._broken

    @property
    def _broken(self) -> bool:
        """Whether it is to end at once; what decides it leaves the answers under way."""
        return self._stop.is_set() or self.progress.failure is not None

    def _answer_item(self, item: int, repeat: int) -> None:
        """One item by all planners, one after the other, so that no call is made twice."""
        SAMPLE.set(repeat)
        outputs = self._outputs.get((item, repeat))
        if outputs is None:
            outputs = UnitOutputs(OutputArchive(self._plans.outputs(self._spec.given, item, repeat)), set())
            self._outputs[item, repeat] = outputs
        for planner in self._spec.planners:
            if self._broken:
                return
            if item not in self._places[planner]:
                continue
            cell = self._cells.get((item, planner, repeat))
            if cell is not None:
                session = cell.answered_in
                if session not in outputs.sessions:
                    outputs.add(session, self._bench.store.runs.outputs(session))
            else:
                try:
                    session = self._begin(item, planner, repeat)
                except ConductorError as error:
                    self._end(f"{planner}: {error}")
                    return
            earlier = None if cell is None else cell.result
            if earlier is None or not earlier.score.is_known:
                before = () if cell is None else self._runs(session)
                runs = self._answer(
                    (item, planner, repeat),
                    session,
                    before=before,
                    earlier=earlier,
                    other_outputs=outputs.archive,
                )
                outputs.add(session, [output for run in runs for output in run.outputs.values()])

    def _settings(self, planner: str) -> Settings:
        if self._plans_by_name.get(planner) is not None:
            # What is given is for one round, and no one plans another.
            return self._spec.settings.model_copy(update={"planner": None, "rounds": 1, "budget": NO_BUDGET})
        named = None if planner == CONDUCTOR else planner
        return self._spec.settings.model_copy(update={"planner": named, "budget": NO_BUDGET})

    def _begin(self, item: int, planner: str, repeat: int) -> str:
        """Create a cell, with its workflow where that is given."""
        plans, question = self._plans_by_name.get(planner), self._items[item]
        return self._store.begin_cell(
            self._evaluation,
            item=item,
            planner=planner,
            repeat=repeat,
            query=question.question,
            settings=self._settings(planner),
            pool_label=self._bench.pool.label,
            workflow=None if plans is None else self._plans.workflow(plans, item, repeat, question.category),
            note="" if plans is None else plans.title,
        )

    def _answer(
        self,
        key: tuple[int, str, int],
        session: str,
        *,
        before: Sequence[RunState],
        earlier: CellResult | None,
        other_outputs: OutputArchive,
    ) -> Sequence[RunState]:
        """Answer the cell, score it and store its result; returns its runs, those `before` included.

        `earlier` is its result without a verdict, where it had one.
        """
        runs, (at, planner, repeat) = before, key
        planless = (
            self._plans_by_name.get(planner) is not None and self._bench.store.revisions.head(session) is None
        )
        again = earlier is not None and earlier.score.unanswered
        outage: str | None = None
        if not planless and (again or not runs or runs[-1].status != "finished"):
            try:
                request = self._bench.request(session)
                self._bench.runner.begin_answer(
                    session, request, other_outputs=other_outputs, meter=self._meter
                )
                self._under_way.add(session)
                self._bench.activities.wait(session)
                activity = self._bench.activities.activity(session)
                outage = None if activity is None else activity.planning_outage
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
        if runs and runs[-1].status == "cancelled":
            # A person may stop one answer, too: it is no result.
            return runs
        if self._stop.is_set() and (not runs or runs[-1].status != "finished"):
            return runs
        result = self._result(self._items[at], session, runs, earlier, outage)
        if not result.score.is_known and self._meter.crossing is not None:
            self._end(f"The budget is spent: {self._meter.crossing.words}.")
            return runs
        self._store.end_cell(session, result, [each for run in runs for each in run.outputs.values()])
        self._bench.activities.forget(session)
        self._answered.append(Cell(item=at, planner=planner, repeat=repeat, session=session, result=result))
        self._scored[key] = result
        self._count(planner, result, self._bench.store.sessions.total(session))
        self._give_up(planner, result, session)
        self._look()
        if (reason := self._scoring.failure) is not None:
            self._end(reason)
        return runs

    def _runs(self, session: str) -> list[RunState]:
        return [self._bench.state(run) for run in reversed(self._bench.store.runs.of_session(session))]

    def _result(
        self,
        item: Item,
        session: str,
        runs: Sequence[RunState],
        earlier: CellResult | None,
        planning_outage: str | None,
    ) -> CellResult:
        all_plans = self._bench.store.plans.of_session(session)
        plans = [plan for plan in all_plans if plan.planner_kind != "offline"]
        if planning_outage is None:
            score, judging = self._scoring.of(item, runs)
        else:
            reason = plans[-1].failure or "" if plans else ""
            score, judging = Score(verdict="unanswered", reason=reason, outage=planning_outage), ()
        self._ledger.add(judging, session=session, by=self._bench.asker)
        written = [plan for at, plan in enumerate(plans) if plan.failure is None or at == len(plans) - 1]
        before = () if earlier is None else earlier.judging
        return cell_result(
            score,
            planning=sum((plan.usage for plan in written), NOTHING_USED),
            planning_seconds=[plan.seconds for plan in all_plans],
            plans=len(written),
            runs=runs,
            judging=(*before, *(charge.usage for charge in judging if charge.counts)),
            paid=self._bench.store.sessions.total(session).calls,
        )

    # -- progress ----------------------------------------------------------------------------------

    def _count(self, planner: str, result: CellResult, used: Total) -> None:
        with self._lock:
            before = self.progress
            self.progress = replace(
                before,
                done=before.done + 1,
                right={**before.right, planner: before.right.get(planner, 0) + result.score.right},
                unanswered=before.unanswered + result.score.unanswered,
                used=before.used + used,
                seconds=time.monotonic() - self._started_at,
            )
            self._listen(self.progress)

    def _look(self) -> None:
        """Decide a sequential evaluation by the questions in their order that every planner has answered."""
        if not self._spec.sequential or not self._decides or self._decided:
            return
        with self._lock:
            while self._whole < len(self._order) and self._has_all(self._order[self._whole]):
                self._whole += 1
            if self._whole < self._looked + LOOK:
                return
            self._looked = self._whole
            order = self._order[: self._whole]
            questions = frozenset(order)
            cells = [
                Cell(item=item, planner=planner, repeat=repeat, session="", result=result)
                for (item, planner, repeat), result in self._scored.items()
                if item in questions
            ]
        self._decided = table_of(self._items, self._spec.planners, cells, order=order).decided

    def _has_all(self, item: int) -> bool:
        return all(
            (item, planner, repeat) in self._scored
            for planner in self._spec.planners
            for repeat in range(self._spec.repeats)
        )

    def _give_up(self, planner: str, result: CellResult, session: str) -> None:
        """End the evaluation where the planner has answered nothing, again and again.

        Of a trial's variant, and of a planner that answers a part, that is what is to be shown.
        """
        if not self._decides or planner in self._spec.parts:
            return
        if self._spec.margin is not None and planner != self._spec.planners[0]:
            return
        with self._lock:
            if result.score.verdict not in ("no plan", "failed", "unanswered"):
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


def _with_verdict(cells: Iterable[CellRecord], units: Iterable[Unit]) -> list[Cell]:
    """Those of these units that have a result with a verdict."""
    unit_set = set(units)
    return [
        cell for cell in scored(cells) if cell.result.score.is_known and (cell.item, cell.repeat) in unit_set
    ]


def _key_of(cell: Cell) -> tuple[int, str, int]:
    return cell.item, cell.planner, cell.repeat
