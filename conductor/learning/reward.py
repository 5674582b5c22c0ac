"""One reward: a completion is parsed, its plan is run on the pool, its answer is compared with the target.

Knows the parser, the engine and the scorers; knows no model that is trained and no library that trains it.

Rollouts of one batch share the answers to equal requests, also while they are made: 64 plans that begin with
the same step call its worker once. For a worker that samples its answers that means one sample for all of
them; `fresh` gives each rollout its own.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.run import WorkflowRun
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score, Verdict
from conductor.evaluation.scorers import score
from conductor.planner.conductor import MAX_PLANNED_STEPS
from conductor.planner.parsing.parse import parse
from conductor.runs.events import StepFailed, StepFellBack, StepFinished, StepRetried, StepToolsCalled
from conductor.values.charge import Charge, total_of
from conductor.values.messages import Completion, Request, SeenResponse
from conductor.values.output import Output
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import Worker, WorkerCard, WorkerNote
from conductor.workers.stream import whole_answer
from conductor.workflow.model import Workflow

Variant = Literal["paper", "code"]
"""`paper`: 0 for no valid plan, 0.5 for a wrong answer, 1 for the right one. `code`: as the research code
adds them, 0.5 for the form and 1 for the answer."""

_RIGHT: Mapping[Variant, float] = {"paper": 1.0, "code": 1.5}
_VALID = 0.5

MOST_FOR_TOKENS = 0.25
"""The price of tokens never makes a right answer worth less than a wrong one, or a plan less than none."""


@dataclass(frozen=True)
class Outcome:
    """What a completion came to. A plan that is not valid has no steps; `tokens` is None if unknown.

    `responses` are what its steps answered, as a next round sees it; `failure` is why a worker or the scorer
    failed.
    """

    verdict: Verdict
    steps: int = 0
    workers: tuple[str, ...] = ()
    tokens: int | None = 0
    answer: str = ""
    responses: tuple[SeenResponse, ...] = ()
    failure: str = ""

    @property
    def valid(self) -> bool:
        return self.steps > 0

    @property
    def right(self) -> bool:
        return self.verdict == "right"

    @property
    def failed(self) -> bool:
        """Whether a worker or the scorer failed, from which nothing is learnt of the plan."""
        return self.verdict in ("failed", "unjudged")


@dataclass(frozen=True)
class Reward:
    """What an outcome is worth. Steps are never worth anything by themselves.

    `price` is taken off for each thousand tokens that the workers used, `MOST_FOR_TOKENS` at most; nothing
    is where they are unknown.
    """

    variant: Variant = "paper"
    price: float = 0.0

    def of(self, outcome: Outcome) -> float:
        if not outcome.valid:
            return 0.0
        worth = _RIGHT[self.variant] if outcome.right else _VALID
        return worth - min(MOST_FOR_TOKENS, self.price * (outcome.tokens or 0) / 1_000)


class WorkflowJudge(Protocol):
    """Runs workflows and scores their answers, in this process or in others."""

    @property
    def calls(self) -> int:
        """Calls of workers so far."""
        ...

    @property
    def steps(self) -> int:
        """Steps that were answered so far: without sharing, as many calls."""
        ...

    async def run(
        self,
        workflows: Sequence[Workflow],
        items: Sequence[Item],
        previous: Sequence[tuple[SeenResponse, ...]] | None = None,
    ) -> list[Outcome]:
        """The outcome of each workflow, for its item; `previous` is what its round before answered."""
        ...


RequestKey = tuple[str, Request]
"""A worker's identity, and what it is sent."""


Answers = dict[tuple[RequestKey, int], tuple[list[WorkerNote], asyncio.Task[Completion]]]
"""A batch's answers, also those under way, each behind the worker's notes: of equal requests in two rollouts
the first go together, then the second, so that equal steps of one rollout are several samples."""


class Judge:
    """A `WorkflowJudge` that also reads plans. All of it belongs to one event loop.

    `fresh`: no output is shared between rollouts. `allow_code`: programs of models are run where an item is
    scored so.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        fresh: bool = False,
        max_steps: int = MAX_PLANNED_STEPS,
        allow_code: bool = False,
    ) -> None:
        self.calls = 0
        self.steps = 0
        self._fresh = fresh
        self._max_steps = max_steps
        self._allow_code = allow_code
        self._numbers = itertools.count(1)
        self._pool = pool

    @property
    def saved(self) -> int:
        """Calls that sharing has saved."""
        return self.steps - self.calls

    async def judge(
        self, completions: Sequence[str], items: Sequence[Item], offered: Sequence[Sequence[str]]
    ) -> list[Outcome]:
        """The outcome of each completion, for its item and the names that its pool offered, in that order."""
        answers = Answers()
        return await asyncio.gather(
            *(
                self._judged(completion, item, names, answers)
                for completion, item, names in zip(completions, items, offered, strict=True)
            )
        )

    async def run(
        self,
        workflows: Sequence[Workflow],
        items: Sequence[Item],
        previous: Sequence[tuple[SeenResponse, ...]] | None = None,
    ) -> list[Outcome]:
        """See `WorkflowJudge.run`."""
        answers = Answers()
        before = previous or [()] * len(items)
        return await asyncio.gather(
            *(
                self._ran(workflow, item, answers, seen)
                for workflow, item, seen in zip(workflows, items, before, strict=True)
            )
        )

    async def answer(
        self, worker: Worker, request: Request, answers: Answers, equal: Counter[RequestKey]
    ) -> AsyncIterator[WorkerNote | Completion]:
        """The worker's notes and its answer for a rollout that has had so many `equal` requests before; see
        `Answers`.
        """
        own = (worker.card.identity, request)
        equal[own] += 1
        key = (own, equal[own])
        if key not in answers:
            self.calls += 1
            notes: list[WorkerNote] = []
            call = whole_answer(worker, request, note=notes.append)
            answers[key] = notes, asyncio.create_task(call)
        notes, flight = answers[key]
        try:
            # An error is raised behind the notes.
            await asyncio.wait({flight})
        except BaseException:
            flight.cancel()
            raise
        finally:
            if not flight.done() or flight.cancelled() or flight.exception() is not None:
                # The next request calls the worker again.
                answers.pop(key, None)
        for note in notes:
            yield note
        yield await flight

    async def _judged(self, completion: str, item: Item, offered: Sequence[str], answers: Answers) -> Outcome:
        report = parse(completion, workers=offered, max_steps=self._max_steps)
        if report.workflow is None:
            return Outcome("no plan")
        return await self._ran(report.workflow, item, answers)

    async def _ran(
        self,
        workflow: Workflow,
        item: Item,
        answers: Answers,
        previous: tuple[SeenResponse, ...] = (),
    ) -> Outcome:
        shared = Answers() if self._fresh else answers
        equal: Counter[RequestKey] = Counter()
        workers = (_SharedWorker(worker, self, shared, equal) for worker in self._pool.unattended.workers)
        pool = replace(self._pool, workers=tuple(workers))
        bound = BoundWorkflow.of(workflow, query=item.question, pool=pool, previous=previous)
        outputs: dict[int, Output] = {}
        charges: list[Charge] = []
        failure = ""
        run = WorkflowRun(bound, pool, run=f"rollout-{next(self._numbers)}")
        async for event in run.events():
            if isinstance(event, StepFinished | StepFailed | StepRetried | StepFellBack | StepToolsCalled):
                charges.extend([] if event.charge is None else [event.charge])
            if isinstance(event, StepFinished):
                outputs[event.step] = event.output
            elif isinstance(event, StepFailed):
                failure = event.message
        self.steps += len(outputs)
        score = await self._scored(outputs.get(workflow.final), item)
        return Outcome(
            verdict=score.verdict,
            steps=len(workflow),
            workers=tuple(step.worker for step in workflow.steps),
            tokens=total_of(charges).usage.total,
            answer=score.answer,
            responses=tuple(
                SeenResponse(at, output.worker, workflow.steps[at].instruction, output.text, 1)
                for at, output in sorted(outputs.items())
                if not output.empty
            ),
            failure=score.reason if score.verdict == "unjudged" else failure,
        )

    async def _scored(self, final: Output | None, item: Item) -> Score:
        if final is None:
            return Score(verdict="failed")
        if final.refused:
            return Score(verdict="refused")
        return await score(final.text, item, allow_code=self._allow_code)


@dataclass(frozen=True)
class _SharedWorker:
    """A worker of one rollout whose answers are also those of equal requests of its batch; `equal` counts the
    rollout's own.
    """

    worker: Worker
    judge: Judge
    answers: Answers
    equal: Counter[RequestKey]

    @property
    def card(self) -> WorkerCard:
        return self.worker.card

    def stream(self, request: Request) -> AsyncIterator[WorkerNote | Completion]:
        """See `Worker.stream`. Pieces are left out; a training reads whole answers."""
        return self.judge.answer(self.worker, request, self.answers, self.equal)
