"""The rollouts as TRL's trainer calls them, without TRL: a stand-in hands out written completions."""

from __future__ import annotations

import pytest
from written_trainer import LettersTokenizer, answering, chats

from conductor.errors import WorkerError
from conductor.evaluation.items import Item
from conductor.learning.grpo.draws import draws
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.trl_rollouts import TrlRollouts, chat_of
from conductor.learning.reward import Judge
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker

ITEM = Item(id="a", input="What is 17 * 23?", target=("391",))
RIGHT = 'model_id = [0]\nsubtasks = ["Compute."]\naccess_list = [[]]'
WRONG = 'model_id = [1]\nsubtasks = ["Look it up."]\naccess_list = [[]]'
KEPT = "model_id = []\nsubtasks = []\naccess_list = []"
POOL = Pool(workers=(SimulatedWorker("solver", answer="391"), SimulatedWorker("atlas", answer="Paris")))
ONE = GrpoRecipe(steps=1, questions=1, rollouts=4)
TWO = GrpoRecipe(steps=1, questions=1, rollouts=4, rounds=2, discount=0.25)


def rollouts_of(recipe: GrpoRecipe, pool: Pool = POOL) -> TrlRollouts:
    drawn = draws(recipe, [ITEM], [worker.card for worker in pool.workers])
    return TrlRollouts(recipe, drawn, Judge(pool, fresh=recipe.fresh), LettersTokenizer())


async def test_completions_are_worth_what_their_plans_answer():
    logged: dict[str, float] = {}
    rewards = await rollouts_of(ONE).workflow_reward(
        completions=chats(RIGHT, RIGHT, WRONG, "I would ask the first one."),
        draw=[0, 0, 0, 0],
        log_metric=logged.__setitem__,
    )
    assert rewards == [1.0, 1.0, 0.5, 0.0]
    assert (logged["valid"], logged["right"], logged["live"]) == (0.75, 0.5, 1.0)
    assert (logged["calls"], logged["calls_saved"], logged["failed"]) == (2, 1, 0)
    assert (logged["steps"], logged["one_step_share"]) == (1.0, 1.0)
    assert logged["routing_entropy"] == pytest.approx(0.9183, abs=1e-4)


async def test_fresh_rollouts_share_no_call():
    logged: dict[str, float] = {}
    fresh = ONE.model_copy(update={"fresh": True})
    await rollouts_of(fresh).workflow_reward(
        completions=chats(*[RIGHT] * 4), draw=[0] * 4, log_metric=logged.__setitem__
    )
    assert (logged["calls"], logged["calls_saved"]) == (4, 0)


async def test_nothing_is_learnt_of_a_plan_whose_worker_failed():
    pool = Pool(workers=(SimulatedWorker("a", answer="391"), SimulatedWorker("b", fail_on="Look")))
    logged: dict[str, float] = {}
    rewards = await rollouts_of(ONE, pool).workflow_reward(
        completions=chats(RIGHT, RIGHT, WRONG, "none"), draw=[0] * 4, log_metric=logged.__setitem__
    )
    assert rewards == [1.0, 1.0, None, 0.0]
    assert logged["failed"] == 0.25


async def test_a_step_in_which_most_workflows_fail_ends_the_training_with_the_reason():
    pool = Pool(workers=(SimulatedWorker("a", fail_on="Compute"), SimulatedWorker("b", answer="1")))
    with pytest.raises(WorkerError, match=r"3 of 4 workflows .* a was set to fail .* it goes on"):
        await rollouts_of(ONE, pool).workflow_reward(
            completions=chats(RIGHT, RIGHT, RIGHT, WRONG), draw=[0] * 4, log_metric=lambda *_: None
        )


def test_of_two_rounds_each_is_learnt_from_its_own_prompt():
    rollouts = rollouts_of(TWO)
    first = chat_of(draws(TWO, [ITEM], [w.card for w in POOL.workers])[0].request(TWO), TWO)
    with answering([WRONG, RIGHT], [RIGHT, KEPT]) as trainer:
        made = rollouts.two_rounds([first] * 4, trainer)
    decoded = LettersTokenizer().batch_decode(made["completion_ids"])
    assert decoded == [WRONG, RIGHT, RIGHT, KEPT]
    assert made["value"] == [0.75 * 0.5 + 0.25 * 1.0, 1.0, 1.0, 1.0]
    second = LettersTokenizer().batch_decode(made["prompt_ids"])[2:]
    assert second == trainer.prompts[1]
    assert ["PREVIOUS WORKFLOW (round 1)" in prompt for prompt in second] == [True, True]
    assert "STEP 0: atlas" in second[0]
    assert "STEP 0: solver" in second[1]
    assert "391" in second[1]
    assert trainer.metrics["calls"] == 3
    assert made["logprobs"] is None


def test_after_a_plan_that_is_not_valid_the_second_round_asks_again_with_the_reason():
    first = chat_of(draws(TWO, [ITEM], [w.card for w in POOL.workers])[0].request(TWO), TWO)
    with answering(["model_id = [0]", RIGHT], [RIGHT, "no"]) as trainer:
        made = rollouts_of(TWO).two_rounds([first] * 4, trainer)
    assert made["value"] == [0.25 * 1.0, 0.75 * 1.0, 1.0, 0.0]
    assert "This plan cannot be used" in trainer.prompts[1][0]


@pytest.mark.slow
def test_long_responses_are_cut_from_their_beginning_until_a_second_prompt_fits():
    recipe = TWO.model_copy(update={"prompt_tokens": 5_000, "completion_tokens": 64})
    pool = Pool(workers=(SimulatedWorker("a", answer="begin " + "x" * 9_000 + " 391"), SimulatedWorker("b")))
    rollouts = rollouts_of(recipe, pool)
    first = chat_of(draws(recipe, [ITEM], [w.card for w in pool.workers])[0].request(recipe), recipe)
    with answering([RIGHT, RIGHT], [KEPT, KEPT]) as trainer:
        made = rollouts.two_rounds([first] * 4, trainer)
    prompt = trainer.prompts[1][0]
    assert len(made["prompt_ids"][2]) <= 5_064
    assert "(The beginning is left out.)" in prompt
    assert "begin x" not in prompt
    assert "x 391" in prompt
