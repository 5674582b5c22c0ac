"""Many questions in one call: answered side by side on one budget, or by several planners and scored.

The library's entry for them, beside `conductor.library`, whose loop they run in. Knows no store.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isawaitable
from typing import Any, TypeVar

from pydantic import ValidationError

from conductor.engine.meter import Meter
from conductor.errors import DataError
from conductor.evaluation.evaluation_table import Cell, EvaluationTable, table_of
from conductor.evaluation.items import Item
from conductor.evaluation.report import table_html
from conductor.evaluation.score import Score, answering, score_without_answer
from conductor.evaluation.scorers import score, scorer_named
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec, cell_result
from conductor.library import AnyPool, answered_request, outermost, pool_of, waited
from conductor.orchestration.runtime import Runtime, runtime_of
from conductor.planner.planner import check_query
from conductor.plugins import fault_of
from conductor.runs.events import Event
from conductor.runs.request import RequestState, RunRequest
from conductor.runs.state import RunState
from conductor.values.budget import Budget
from conductor.values.messages import NOTHING_USED
from conductor.values.presets import Settings
from conductor.workflow.model import Workflow

T = TypeVar("T")
OnQuestion = Callable[[int, Event], None]
"""Called with a question's position, from 0, and each event of it."""
Question = Item | tuple[str, str | Sequence[str]] | Mapping[str, Any]
"""An item, a question with its accepted answers, or the fields of an item."""
OwnScorer = Callable[[str, Item], bool | Score | Awaitable[bool | Score]]
"""Whether a response is right for the item."""


async def abatch(
    queries: Iterable[str],
    *,
    workflow: Workflow | None = None,
    pool: AnyPool | None = None,
    settings: Settings | None = None,
    budget: Budget | None = None,
    parallel: int = 4,
    on_event: OnQuestion | None = None,
) -> tuple[RunState, ...]:
    """Answer each query, by `workflow` or by a plan of its own, `parallel` of them at a time.

    Returns their last runs in the order of the queries.

    `budget`, else that of the settings, is one for all: where it is used up, what is under way is stopped and
    no more calls are made. A query without a plan has a state without a workflow, whose `no_plan` is the
    reason. Raises `WorkflowError`, `PoolError`, `PlanError` for an unknown planner, and `QueryError`, all
    before the first call.
    """
    chosen = settings or Settings()
    requests = [RunRequest(check_query(query), chosen, workflow=workflow) for query in queries]
    runtime, meter = runtime_of(pool_of(pool)), Meter(budget or chosen.budget)
    _check(runtime, chosen, workflow)

    async def answer(at: int) -> RunState:
        state = await answered_request(requests[at], runtime, meter, on_event=_of_question(on_event, at))
        return state.runs[-1] if state.runs else _without_plan(state)

    with outermost():
        return tuple(await _side_by_side([partial(answer, at) for at in range(len(requests))], parallel))


def _without_plan(state: RequestState) -> RunState:
    last = state.attempts[-1] if state.attempts else RunState()
    return replace(last, status="failed" if last.crossing is None else "over_budget")


@dataclass(frozen=True)
class ScoredAnswer:
    """A planner's answer to an item; `run` is its last run, None if there is no plan."""

    item: Item
    planner: str
    score: Score
    run: RunState | None
    request: RequestState = field(repr=False)


@dataclass(frozen=True)
class Scores:
    """What `evaluate` returns: each answer with its score, and the `table` of the planners."""

    answers: tuple[ScoredAnswer, ...] = field(repr=False)
    table: EvaluationTable = field(repr=False)

    def accuracy(self, planner: str | None = None) -> float | None:
        """The share of right answers of a planner, None for the first; None if none is known."""
        rows = [row for row in self.table.rows if planner in (None, row.planner)]
        if not rows:
            raise DataError(
                f"There is no planner {planner!r}; there are {[r.planner for r in self.table.rows]}."
            )
        return rows[0].accuracy

    def _repr_html_(self) -> str:
        planners = tuple(row.planner for row in self.table.rows if not row.computed)
        return table_html(self.table, EvaluationSpec(data="", digest="", planners=planners))

    def __repr__(self) -> str:
        rows = [f"{row.planner} {row.right} of {row.answers} right" for row in self.table.rows]
        return f"<Scores: {', '.join(rows)}>"


async def aevaluate(
    questions: Iterable[Question],
    planners: Iterable[str] | Mapping[str, str | Workflow] = (CONDUCTOR,),
    *,
    scorer: OwnScorer | str | None = None,
    pool: AnyPool | None = None,
    settings: Settings | None = None,
    budget: Budget | None = None,
    parallel: int = 4,
    on_event: OnQuestion | None = None,
) -> Scores:
    """Answer each question with each planner and score the answers; questions are answered side by side.

    A planner is a name, as `Settings.planner` takes it, or "conductor"; a mapping gives names to planners and
    workflows. `scorer` is a function of a response and an item, which may be a coroutine function, or the
    name of a scorer; without it each item's own is used. Steps that planners have in common are called once.
    `budget` is as that of `batch`. Raises as `abatch`, and `DataError` for a question that is none.
    """
    items = [_item(question, at, scorer) for at, question in enumerate(questions)]
    named = planners if isinstance(planners, Mapping) else {name: name for name in planners}
    chosen = settings or Settings()
    runtime, meter = runtime_of(pool_of(pool)), Meter(budget or chosen.budget)
    requests = {
        name: (chosen.model_copy(update={"planner": None if by == CONDUCTOR else by}), None)
        if isinstance(by, str)
        else (chosen, by)
        for name, by in named.items()
    }
    if not requests or not items:
        raise DataError("Give one question and one planner at least.")
    for own, workflow in requests.values():
        _check(runtime, own, workflow)

    async def answer(at: int) -> list[tuple[ScoredAnswer, Cell]]:
        answers, earlier = list[tuple[ScoredAnswer, Cell]](), list[RunState]()
        for name, (own, workflow) in requests.items():
            request = RunRequest(check_query(items[at].question), own, workflow=workflow)
            began = time.perf_counter()
            state = await answered_request(
                request, runtime, meter, after=earlier, on_event=_of_question(on_event, at)
            )
            seconds = time.perf_counter() - began
            earlier += state.runs
            answers.append(await _scored(items[at], at, name, state, scorer, seconds=seconds))
        return answers

    with outermost():
        by_item = await _side_by_side([partial(answer, at) for at in range(len(items))], parallel)
    both = [each for of_item in by_item for each in of_item]
    return Scores(tuple(each for each, _ in both), table_of(items, list(named), [cell for _, cell in both]))


def _item(question: Question, at: int, scorer: OwnScorer | str | None) -> Item:
    fields = (
        question if isinstance(question, Mapping) else dict(question) if isinstance(question, Item) else {}
    )
    name = {"scorer": scorer} if isinstance(scorer, str) else {}
    try:
        if isinstance(question, tuple):
            text, target = question
            fields = {"input": text, "target": target}
        item = Item.model_validate({"id": str(at + 1), **fields, **name})
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise DataError(f"Question {at + 1} is no item: {where}: {fault['msg']}.") from error
    except (TypeError, ValueError) as error:
        raise DataError(f"Question {at + 1} is no item: {error}.") from error
    if not callable(scorer):
        _ = scorer_named(item.scored_by)
    return item


def _check(runtime: Runtime, settings: Settings, workflow: Workflow | None) -> None:
    """Raise before anything is called what would be raised for each question."""
    _ = runtime.planner_for(settings)
    if workflow is not None:
        workflow.check_workers(runtime.pool.names)


async def _scored(
    item: Item, at: int, planner: str, state: RequestState, scorer: OwnScorer | str | None, *, seconds: float
) -> tuple[ScoredAnswer, Cell]:
    runs = state.runs
    last = state.attempts[-1] if state.attempts else None
    if last is None or last.crossing is not None:
        words = "" if last is None or last.crossing is None else last.crossing.words
        own: Score | None = Score(verdict="unanswered", outage="budget", reason=words)
    else:
        own = score_without_answer(runs)
    verdict = own or await _own_score(answering(runs)[-1].answer or "", item, scorer)
    attempts = [each for each in state.attempts if each.planner_kind not in (None, "offline")]
    result = cell_result(
        verdict,
        planning=sum(
            (charge.usage for each in attempts for charge in each.planning_charges if charge.counts),
            NOTHING_USED,
        ),
        planning_seconds=[max(0.0, seconds - sum(run.seconds or 0.0 for run in runs))],
        plans=len(attempts),
        runs=runs,
        paid=state.calls,
    )
    cell = Cell(item=at, planner=planner, repeat=0, session="", result=result)
    return ScoredAnswer(item, planner, verdict, runs[-1] if runs else None, state), cell


async def _own_score(response: str, item: Item, scorer: OwnScorer | str | None) -> Score:
    """By the function; an error of it leaves the answer unjudged."""
    if scorer is None or isinstance(scorer, str):
        return await score(response, item)
    try:
        verdict = scorer(response, item)
        if isawaitable(verdict):
            verdict = await verdict
    except Exception as error:  # noqa: BLE001 - a caller's code: what was paid for is not lost
        return Score(verdict="unjudged", answer=response[-2_000:], reason=fault_of(error))
    return verdict if isinstance(verdict, Score) else Score.of(bool(verdict), response)


def _of_question(on_event: OnQuestion | None, at: int) -> Callable[[Event], None] | None:
    return None if on_event is None else lambda event: on_event(at, event)


async def _side_by_side(work: Sequence[Callable[[], Coroutine[Any, Any, T]]], parallel: int) -> list[T]:
    """The results in order, so many at a time; where one raises, the others are cancelled."""
    places = asyncio.Semaphore(max(1, parallel))

    async def one(begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async with places:
            return await begin()

    tasks = [asyncio.ensure_future(one(begin)) for begin in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


batch = waited(abatch)
evaluate = waited(aevaluate)
