"""The rollouts of a training on a cluster that loses one of two nodes, and of one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from conductor.errors import ClusterError
from conductor.evaluation.items import Item
from conductor.learning.grpo.draws import draws
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.trainer.trl_rollouts import TrlRollouts, chat_of, completion_prompt
from conductor.learning.reward import Judge, WorkflowJudge
from conductor.workers.pool.pool import Pool, configured_pool
from studio.cluster import connection
from studio.cluster.brief import Brief
from studio.cluster.connection import connected
from studio.cluster.rollouts import RayJudge, judge_settings
from tests.integration.ray.local_cluster import LocalCluster
from tests.support.endpoints.fake_openai import Served
from tests.support.runs.written_trainer import LettersTokenizer, WrittenTrainer

ITEMS = [Item(id=f"q{n}", input=f"What is {n} * 7?", target=(str(n * 7),), scorer="number") for n in range(4)]
COMPUTE = "model_id = [{solver}]\nsubtasks = ['Compute it.']\naccess_list = [[]]"
ASK = "model_id = [{model}]\nsubtasks = ['Guess it.']\naccess_list = [[]]"
BOTH = "model_id = [{model}, {solver}]\nsubtasks = ['Guess it.', 'Compute it.']\naccess_list = [[], [0]]"
EMPTY_PLAN = "model_id = []\nsubtasks = []\naccess_list = []"
ONE = GrpoRecipe(steps=1, questions=len(ITEMS), rollouts=8)
TWO = GrpoRecipe(steps=1, questions=len(ITEMS), rollouts=8, rounds=2, discount=0.25)


def written(pool: Pool, *plans: str) -> list[str]:
    numbers = {"solver": pool.names.index("mathematics"), "model": pool.names.index("model")}
    return [plan.format(**numbers) for plan in plans]


@contextmanager
def judging(pool: Path, recipe: GrpoRecipe) -> Iterator[RayJudge]:
    read = configured_pool(pool)
    settings = judge_settings(read, fresh=recipe.fresh, max_steps=recipe.max_steps, allow_code=False)
    judge = RayJudge(Brief.of(read, pool), settings, most=recipe.questions)
    try:
        judge.begin()
        yield judge
    finally:
        judge.end()


def rollouts_of(recipe: GrpoRecipe, pool: Pool, judge: WorkflowJudge) -> TrlRollouts:
    cards = [worker.card for worker in pool.workers]
    return TrlRollouts(recipe, draws(recipe, ITEMS, cards), judge, LettersTokenizer())


def rewarded(pool: Pool, judge: WorkflowJudge) -> tuple[list[float | None], dict[str, float]]:
    """The rewards of a step, and what is logged of it."""
    plans = [*written(pool, COMPUTE, ASK, BOTH, BOTH, ASK, COMPUTE, COMPUTE), "I would ask the first one."]
    logged: dict[str, float] = {}
    with closing(rollouts_of(ONE, pool, judge)) as rollouts:
        rewards = rollouts.workflow_reward(
            completions=plans * len(ITEMS),
            draw=[at for at in range(len(ITEMS)) for _ in plans],
            log_metric=logged.__setitem__,
        )
    return rewards, logged


def test_a_node_that_is_killed_in_the_middle_of_a_step_changes_no_reward_and_no_count(
    cluster: LocalCluster, served: Served, pool: Path
) -> None:
    read = configured_pool(pool)
    rewards, logged = rewarded(read, Judge(read))
    assert set(rewards) == {0.0, 0.5, 1.0}
    assert logged["calls_saved"] > 0
    calls = len(served.log.entries)
    served.log.clear()
    with cluster.nodes(2) as nodes, connected(cluster.address), judging(pool, ONE) as judge:

        def kill() -> None:
            # Both processes ask the endpoint; no answer is whole yet.
            assert served.log.wait_for(lambda entries: len(entries) == 2, seconds=60)
            cluster.kill(nodes[1])

        killing = Thread(target=kill)
        killing.start()
        outcome = rewarded(read, judge)
        killing.join(60)
        assert outcome == (rewards, logged)
        assert (judge.calls, judge.steps - judge.calls) == (logged["calls"], logged["calls_saved"])
        # The call that was under way there is the only one that was made again.
        assert len(served.log.entries) == calls + 1
        # The next step is for the process that is left, and one that may have taken the other's place.
        assert rewarded(read, judge) == (rewards, logged)


def test_both_rounds_of_a_step_are_those_of_one_process(
    cluster: LocalCluster, served: Served, pool: Path
) -> None:
    read = configured_pool(pool)
    served.fake.tokens_per_second = None
    half = TWO.rollouts // 2 * len(ITEMS)
    first = (written(read, ASK, COMPUTE, BOTH, "model_id = [0]") * half)[:half]
    second = (written(read, COMPUTE, EMPTY_PLAN, ASK, COMPUTE) * half)[:half]
    cards = [worker.card for worker in read.workers]
    prompts = [
        completion_prompt(LettersTokenizer(), chat_of(each.request(TWO), TWO))
        for each in draws(TWO, ITEMS, cards)
        for _ in range(8)
    ]

    def both(judge: WorkflowJudge) -> tuple[list[float | None], list[str], dict[str, float]]:
        trainer = WrittenTrainer(first, second)
        with closing(rollouts_of(TWO, read, judge)) as rollouts:
            batch = rollouts.two_rounds(prompts, trainer)
        return batch["value"], trainer.prompts[1], trainer.metrics

    with cluster.nodes(1), connected(cluster.address), judging(pool, TWO) as judge:
        assert both(judge) == both(Judge(read))


def test_a_machine_without_the_key_is_refused_before_the_training_begins(
    cluster: LocalCluster, served: Served, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.write_text(
        pool.read_text(encoding="utf-8").replace("CONDUCTOR_KEY", "OTHER_API_KEY"), encoding="utf-8"
    )
    with cluster.nodes(1), connected(cluster.address):
        monkeypatch.setenv("OTHER_API_KEY", "sk-of-this-machine")
        monkeypatch.setenv("CONDUCTOR_KEY_HOSTS", f"OTHER_API_KEY={served.base_url.removesuffix('/v1')}")
        expected = r"On the machine .* of the Ray cluster: model: .*OTHER_API_KEY"
        with pytest.raises(ClusterError, match=expected), judging(pool, ONE):
            pytest.fail("it was begun")


def test_a_head_that_is_lost_ends_the_step_with_the_reason(
    machines: None, served: Served, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "GONE_SECONDS", 1.0)
    served.fake.tokens_per_second = 0.5
    cluster = LocalCluster()
    try:
        with cluster.nodes(1), connected(cluster.address), judging(pool, ONE) as judge:
            killing = Thread(
                target=lambda: (served.log.wait_for(bool, seconds=60), cluster.kill_head()),
            )
            killing.start()
            with pytest.raises(ClusterError, match="head of the Ray cluster does not answer"):
                rewarded(configured_pool(pool), judge)
            killing.join(60)
    finally:
        cluster.shut_down()
