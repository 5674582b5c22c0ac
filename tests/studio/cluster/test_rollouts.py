"""A process that judges rollouts, without the cluster: what it refuses, what it counts, what it is given."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from conductor.evaluation.items import Item
from conductor.workers.pool.pool import Pool, orchard_pool
from conductor.workflow.model import Step, Workflow
from studio.cluster.brief import Brief
from studio.cluster.rollouts import JudgeSettings, RolloutJudge, Task, batches_of, judge_settings

POOL = orchard_pool()
BRIEF = Brief.of(POOL, Path("orchard"))
ITEMS = [Item(id=str(n), input=f"What is {n} * 7?", target=(str(n * 7),), scorer="number") for n in range(3)]
COMPUTE = Workflow.of([Step(instruction="Compute it.", worker="solver")])


def settings(pool: Pool = POOL, *, fresh: bool = False) -> JudgeSettings:
    return judge_settings(pool, fresh=fresh, max_steps=5, allow_code=False)


def tasks(*items: int) -> list[Task]:
    return [(at, COMPUTE, ITEMS[item], ()) for at, item in enumerate(items)]


OTHER = replace(settings(), workers=(("solver", "another one"),))


@pytest.mark.parametrize(
    ("brief", "of_judge", "reason"),
    [
        (replace(BRIEF, pool="absent.toml"), settings(), r"absent\.toml"),
        (BRIEF, OTHER, "'solver' is not as in the pool of this training"),
        (BRIEF, replace(OTHER, workers=(("reader", "model"),)), "'reader' is not as in the pool"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_machine_s_name(
    brief: Brief, of_judge: JudgeSettings, reason: str
) -> None:
    refused = RolloutJudge(brief, of_judge).begin()
    assert refused is not None
    assert refused.startswith("On the machine ")
    assert re.search(reason, refused)


@pytest.mark.slow
@pytest.mark.parametrize(("fresh", "calls"), [(False, 2), (True, 3)])
def test_each_answer_has_the_calls_of_its_own_batch(fresh: bool, calls: int) -> None:
    judge = RolloutJudge(BRIEF, settings(fresh=fresh))
    assert judge.begin() is None
    for _ in range(2):
        judged = judge.answer(tuple(tasks(0, 0, 1)), again=False)
        assert [outcome.verdict for outcome in judged.outcomes] == ["right"] * 3
        assert (judged.calls, judged.steps, judged.failure) == (calls, 3, None)


def test_the_rollouts_of_a_question_are_one_batch() -> None:
    work = tasks(2, 0, 2, 1, 0)
    assert [[at for at, *_ in batch] for batch in batches_of(work)] == [[0, 2], [1, 4], [3]]
