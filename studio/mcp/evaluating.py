"""The tool that evaluates planners on questions with known answers.

An evaluation belongs to the whole pool and to all of a team, so a token with limits of its own may not begin
one. Knows evaluations; knows no transport.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from conductor.errors import DataError
from conductor.evaluation.data_file import item_of
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.report.exports import row_values
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec
from conductor.text.formatting import quantity
from conductor.values.presets import MAX_ROUNDS, Settings
from conductor.workflow.model import MAX_STEPS
from storage.records import EvaluationRecord
from studio.access.auth import Principal
from studio.access.errors import ApiError
from studio.api.requests.request import RequestBudget
from studio.evaluation.background import BackgroundEvaluations
from studio.evaluation.evaluations import EVERY_WORKER, Evaluations
from studio.evaluation.results import find_evaluation, table_of_evaluation
from studio.mcp.callers import Call, Callers
from studio.mcp.tool_results import Result
from studio.workbench import Workbench

MOST_QUESTIONS = 500

_LOOK_AGAIN = 0.2
"""Seconds between two looks at how far an evaluation is."""


_Target = str | int | float


class ScoredQuestion(Result):
    """A question with what counts as right: any of `target`; of a choice its letter or its text."""

    input: str
    target: _Target | tuple[_Target, ...]
    choices: tuple[str, ...] | None = None
    scorer: str | None = None


class PlannerResult(Result):
    """What a planner came to. Its figures are over the `questions` that were answered and scored, of the
    `questions_asked`; `outages` has how many of the `unanswered` ones each outage left. `low` and `high`
    bound its accuracy, and `difference` is to the first planner with its p-value, `p_holm` that of all
    planners together; null where unknown.
    """

    planner: str
    questions: int
    questions_asked: int | None
    unanswered: int | None
    outages: dict[str, int] | None
    right: int
    accuracy: float | None
    low: float | None
    high: float | None
    difference: float | None
    p: float | None
    p_holm: float | None
    planning_tokens: float | None
    work_tokens: float | None
    cost: float | None
    calls: float | None
    steps: float | None
    seconds: float | None


class Evaluated(Result):
    """An evaluation as far as it is. `stopped` is why not every question was answered and scored, null where
    each was;
    with its id `evaluate` goes on, and the app opens every answer's session.
    """

    evaluation: str
    label: Annotated[str | None, Field(description="set where no model answers")]
    planners: tuple[PlannerResult, ...]
    stopped: str | None


class Evaluating:
    """The tool; it waits for the evaluation and stops it where its call is cancelled."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._line: BackgroundEvaluations | None = None

    async def evaluate(
        self,
        call: Call,
        *,
        questions: Annotated[list[ScoredQuestion], Field(min_length=1, max_length=MOST_QUESTIONS)]
        | None = None,
        planners: Annotated[
            list[str],
            Field(
                min_length=1,
                max_length=20,
                description="conductor, worker:NAME, worker:* for each, baseline:moa and others, or "
                "plan:SESSION; the others are compared with the first. Without it: conductor and worker:*.",
            ),
        ]
        | None = None,
        max_steps: Annotated[int, Field(ge=1, le=MAX_STEPS)] | None = None,
        rounds: Annotated[int, Field(ge=1, le=MAX_ROUNDS)] | None = None,
        budget: Annotated[RequestBudget, Field(description="The most that the evaluation may spend.")]
        | None = None,
        evaluation: Annotated[str, Field(description="Or go on with this evaluation, of that id.")]
        | None = None,
    ) -> Evaluated:
        """Answer questions with known answers by several planners, and compare how often each is right.

        Every answer is a session that can be opened. Progress is reported as answers are scored. Cancelling
        stops it; what was answered stays, and a call with its id goes on.
        """
        if (questions is None) == (evaluation is None):
            raise DataError("Give questions or an evaluation to go on with, one of the two.")
        if evaluation is not None and (planners, max_steps, rounds, budget) != (None, None, None, None):
            raise DataError("An evaluation has its own planners, settings and budget; give its id alone.")
        principal, backend = await self._callers.principal(call), self._callers.backend
        _check_unlimited(principal)
        if evaluation is not None:
            record = await backend.call(lambda bench: find_evaluation(bench.store, evaluation))
        else:
            settings = _settings(max_steps=max_steps, rounds=rounds, budget=budget)
            record = await backend.call(_added, questions or (), planners, settings)
        if record.ended_at is None or record.reason is not None:
            await self._followed(call, record, principal)
        return await backend.call(_evaluated, record.id)

    async def close(self) -> None:
        """Stop what is under way; returns once nothing uses the workbench."""
        if self._line is not None:
            await asyncio.to_thread(self._line.close)

    async def _followed(self, call: Call, record: EvaluationRecord, principal: Principal) -> None:
        """Carry it out; the client receives its progress."""
        backend, reported = self._callers.backend, -1
        if self._line is None:
            self._line = await backend.call(BackgroundEvaluations)
        line = self._line
        await backend.call(lambda _: line.begin(record.id, by=principal.asker))
        try:
            while await backend.look_up(
                lambda store: line.state(store.evaluations.find(record.id)) in ("waiting", "running")
            ):
                progress = line.progress(record.id)
                if progress is not None and progress.done > reported:
                    reported = progress.done
                    right = sum(progress.right.values())
                    lost = f", {progress.unanswered} not answered" if progress.unanswered else ""
                    message = (
                        f"{quantity(progress.done - progress.unanswered, 'answer')}, {right} right{lost}"
                    )
                    await call.report_progress(progress.done, progress.cells, message)
                await asyncio.sleep(_LOOK_AGAIN)
        finally:
            line.stop(record.id)


def _check_unlimited(principal: Principal) -> None:
    """Raise `ApiError` for a token with limits of its own."""
    if any(limit is not None for limit in (principal.workers, principal.tools, principal.budget)):
        raise ApiError(
            "An evaluation calls every worker of the pool and is counted as a whole, so a token that is "
            "limited to some workers, tools or to a budget may not make one; use one without these limits.",
            status=403,
        )


def _settings(*, max_steps: int | None, rounds: int | None, budget: RequestBudget | None) -> Settings:
    values: dict[str, Any] = {
        "max_steps": max_steps,
        "rounds": rounds,
        "budget": None if budget is None else budget.model_dump(),
    }
    return Settings.model_validate({name: value for name, value in values.items() if value is not None})


def _added(
    bench: Workbench, questions: Sequence[ScoredQuestion], planners: Sequence[str] | None, settings: Settings
) -> EvaluationRecord:
    items = tuple(_item(question, number) for number, question in enumerate(questions, start=1))
    spec = EvaluationSpec(data="", digest="", planners=(CONDUCTOR,), settings=settings)
    return Evaluations(bench).add(DataSet("questions", items), planners or (CONDUCTOR, EVERY_WORKER), spec)


def _item(question: ScoredQuestion, number: int) -> Item:
    """The question as an item. Raises `DataError` where it is none."""
    try:
        return item_of(question.model_dump(exclude_none=True), number)
    except DataError as error:
        raise DataError(f"Question {number} is no question with a known answer: {error}.") from error


def _evaluated(bench: Workbench, evaluation: str) -> Evaluated:
    record = bench.store.evaluations.find(evaluation)
    rows = table_of_evaluation(bench.store, record).rows
    return Evaluated(
        evaluation=record.id,
        label=bench.pool.label,
        planners=tuple(PlannerResult.model_validate(dict(row_values(row))) for row in rows),
        stopped=record.reason,
    )
