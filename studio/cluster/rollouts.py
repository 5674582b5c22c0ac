"""The rollouts of a training on a Ray cluster: actors that run workflows and score their answers.

All rollouts of a question go to one actor, since those alone share outputs: as many calls are made as in one
process. Knows no store, which a training has none of, and no library that trains.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from conductor.errors import ClusterError, ConductorError
from conductor.evaluation.items import Item
from conductor.learning.grpo.cost import usable
from conductor.learning.reward import Judge, Outcome
from conductor.values.messages import SeenResponse
from conductor.workers.pool.pool import Pool, configured_pool
from conductor.workflow.model import Workflow
from studio.cluster.brief import Brief, on_this_machine
from studio.cluster.shift import Done, Failed, Shift, places

Task: TypeAlias = tuple[int, Workflow, Item, tuple[SeenResponse, ...]]
"""A workflow to run, by its position in its step, with its item and what the round before answered."""

_Tasks = tuple[Task, ...]


@dataclass(frozen=True)
class JudgeSettings:
    """What a `Judge` is made with. `workers` are the names and identities of those that are called: what they
    answer is what is learnt from.
    """

    workers: tuple[tuple[str, str], ...]
    fresh: bool
    max_steps: int
    allow_code: bool


@dataclass(frozen=True)
class Judged:
    """What came of tasks: their outcomes in order, and the calls and steps that they took. `failure` is why
    there are none.
    """

    outcomes: tuple[Outcome, ...] = ()
    calls: int = 0
    steps: int = 0
    failure: str | None = None


class RolloutJudge:
    """A process on a machine of the cluster, with its copy of the pool and its keys. Knows no Ray."""

    def __init__(self, brief: Brief, settings: JudgeSettings) -> None:
        self._brief, self._settings = brief, settings
        self._judge: Judge | None = None

    def begin(self) -> str | None:
        """See `Member.begin`."""
        if self._judge is not None:
            return None
        try:
            pool = configured_pool(Path(self._brief.pool))
        except ConductorError as error:
            return on_this_machine(str(error))
        refused = self._other_pool(pool) or self._brief.unusable_in(pool)
        if refused is None:
            settings = self._settings
            self._judge = Judge(
                pool, fresh=settings.fresh, max_steps=settings.max_steps, allow_code=settings.allow_code
            )
        return refused

    def answer(self, work: _Tasks, *, again: bool) -> Judged:  # noqa: ARG002 - nothing is left of a lost one
        """Run and score these. See `Member.answer`."""
        judge = self._judge
        assert judge is not None, "begin comes first"
        calls, steps = judge.calls, judge.steps
        _, workflows, items, previous = zip(*work, strict=True)
        try:
            outcomes = asyncio.run(judge.run(workflows, items, previous))
        except ConductorError as error:
            return Judged(failure=on_this_machine(str(error)))
        return Judged(tuple(outcomes), judge.calls - calls, judge.steps - steps)

    def _other_pool(self, pool: Pool) -> str | None:
        for name, identity in self._settings.workers:
            if pool.identities.get(name) != identity:
                return on_this_machine(f"the worker {name!r} is not as in the pool of this training.")
        return None


class RayJudge:
    """A `WorkflowJudge` with processes on the cluster that is connected to, `most` at most; they stay until
    `end`. `sharers` are how many such judges use the cluster.
    """

    def __init__(self, brief: Brief, settings: JudgeSettings, *, most: int, sharers: int = 1) -> None:
        self.calls = 0
        self.steps = 0
        self._shift: Shift[_Tasks, Judged] = Shift(
            RolloutJudge,
            brief,
            settings,
            processes=max(1, min(most, places() // sharers)),
            named=_questions,
        )

    def begin(self) -> None:
        """Wait for the first process. Raises `ClusterError` where there is no place for one, or it cannot be
        used.
        """
        self._shift.begin()

    async def run(
        self,
        workflows: Sequence[Workflow],
        items: Sequence[Item],
        previous: Sequence[tuple[SeenResponse, ...]] | None = None,
    ) -> list[Outcome]:
        """See `WorkflowJudge.run`. Raises `ClusterError`."""
        before = previous or [()] * len(items)
        tasks = list(zip(range(len(items)), workflows, items, before, strict=True))
        return await asyncio.to_thread(self._run, tasks)

    def end(self) -> None:
        """End the processes, and a `run` that waits for them."""
        self._shift.end()

    def _run(self, tasks: Sequence[Task]) -> list[Outcome]:
        outcomes: dict[int, Outcome] = {}
        for event in self._shift.work(batches_of(tasks)):
            match event:
                case Done(work=work, answer=Judged(failure=None) as judged):
                    self.calls += judged.calls
                    self.steps += judged.steps
                    outcomes |= dict(zip((at for at, *_ in work), judged.outcomes, strict=True))
                case Done(answer=judged):
                    raise ClusterError(judged.failure)
                case Failed(reason=reason):
                    raise ClusterError(reason)
        if len(outcomes) < len(tasks):
            raise ClusterError("The processes on the Ray cluster were ended.")
        return [outcomes[at] for at in range(len(tasks))]


def batches_of(tasks: Sequence[Task]) -> list[_Tasks]:
    """The tasks by their questions: those of one question may share outputs, others never do."""
    questions: dict[str, list[Task]] = {}
    for task in tasks:
        questions.setdefault(task[2].question, []).append(task)
    return [tuple(each) for each in questions.values()]


def judge_settings(pool: Pool, *, fresh: bool, max_steps: int, allow_code: bool) -> JudgeSettings:
    """The settings of judges that stand in for one with this pool here."""
    workers = tuple((card.name, card.identity) for card in usable(pool))
    return JudgeSettings(workers, fresh=fresh, max_steps=max_steps, allow_code=allow_code)


def _questions(work: _Tasks) -> str:
    return f"the {len(work)} rollouts of the question {work[0][2].id!r}"
