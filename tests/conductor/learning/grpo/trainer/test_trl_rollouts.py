"""The rollouts as TRL's trainer calls them, without TRL: a stand-in hands out written completions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conductor.errors import WorkerError
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.learning import reward
from conductor.learning.grpo.draws import Draw, draws
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.rollouts import live_share
from conductor.learning.grpo.trainer.trl_rollouts import TrlRollouts, chat_of, completion_prompt
from conductor.learning.reward import Judge
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from conductor.workers.wording.wording import OURS
from tests.support.runs.written_trainer import LettersTokenizer, WrittenTrainer

ITEM = Item(id="a", input="What is 17 * 23?", target=("391",))
RIGHT = 'model_id = [0]\nsubtasks = ["Compute."]\naccess_list = [[]]'
WRONG = 'model_id = [1]\nsubtasks = ["Look it up."]\naccess_list = [[]]'
EMPTY_PLAN = "model_id = []\nsubtasks = []\naccess_list = []"
POOL = Pool(workers=(SimulatedWorker("solver", answer="391"), SimulatedWorker("atlas", answer="Paris")))
ONE = GrpoRecipe(steps=1, questions=1, rollouts=4)
TWO = GrpoRecipe(steps=1, questions=1, rollouts=4, rounds=2, discount=0.25)


_rollouts: list[TrlRollouts] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while _rollouts:
        _rollouts.pop().close()


def rollouts_of(recipe: GrpoRecipe, pool: Pool = POOL, **more: Any) -> TrlRollouts:
    sample = draws(recipe, [ITEM], [worker.card for worker in pool.workers])
    _rollouts.append(TrlRollouts(recipe, sample, Judge(pool, fresh=recipe.fresh), LettersTokenizer(), **more))
    return _rollouts[-1]


def first_prompt(recipe: GrpoRecipe, pool: Pool = POOL) -> str:
    draw = draws(recipe, [ITEM], [worker.card for worker in pool.workers])[0]
    return completion_prompt(LettersTokenizer(), chat_of(draw.request(recipe), recipe))


def test_a_first_completion_goes_on_from_its_beginning_and_a_later_one_does_not():
    assert first_prompt(ONE).endswith(OURS.prefill)
    assert not first_prompt(ONE.model_copy(update={"prompt_style": "ours"})).endswith(OURS.prefill)


def test_a_token_that_the_tokenizer_writes_itself_is_not_written_twice():
    class Beginning(LettersTokenizer):
        bos_token = "^"

        def __call__(self, text: str) -> dict[str, list[int]]:
            return super().__call__(f"^{text}")

    assert completion_prompt(Beginning(), [{"role": "user", "content": "^why?"}]) == "why?"
    assert completion_prompt(LettersTokenizer(), [{"role": "user", "content": "^why?"}]) == "^why?"


def test_by_the_strict_form_a_repaired_plan_earns_nothing():
    loose = RIGHT.replace("[0]", '["solver"]')
    for strict, rewards in ((False, [1.0, 1.0]), (True, [1.0, 0.0])):
        recipe = GrpoRecipe(steps=1, questions=1, rollouts=2, per_device=2, strict_form=strict)
        values = rollouts_of(recipe).workflow_reward(
            completions=[RIGHT, loose], draw=[0, 0], log_metric=lambda *_: None
        )
        assert values == rewards


def test_completions_are_worth_what_their_plans_answer():
    logged: dict[str, float] = {}
    rewards = rollouts_of(ONE).workflow_reward(
        completions=[RIGHT, RIGHT, WRONG, "I would ask the first one."],
        draw=[0, 0, 0, 0],
        log_metric=logged.__setitem__,
    )
    assert rewards == [1.0, 1.0, 0.5, 0.0]
    assert (logged["valid"], logged["right"], logged["live"]) == (0.75, 0.5, 1.0)
    assert (logged["calls"], logged["calls_saved"], logged["failed"]) == (2, 1, 0)
    assert (logged["steps"], logged["one_step_share"]) == (1.0, 1.0)
    assert logged["routing_entropy"] == pytest.approx(0.9183, abs=1e-4)


def test_fresh_rollouts_share_no_call():
    logged: dict[str, float] = {}
    fresh = ONE.model_copy(update={"fresh": True})
    rollouts_of(fresh).workflow_reward(
        completions=[*[RIGHT] * 4], draw=[0] * 4, log_metric=logged.__setitem__
    )
    assert (logged["calls"], logged["calls_saved"]) == (4, 0)


def test_nothing_is_learnt_of_a_plan_whose_worker_failed():
    pool = Pool(workers=(SimulatedWorker("a", answer="391"), SimulatedWorker("b", fail_on="Look")))
    logged: dict[str, float] = {}
    rewards = rollouts_of(ONE, pool).workflow_reward(
        completions=[RIGHT, RIGHT, WRONG, "none"], draw=[0] * 4, log_metric=logged.__setitem__
    )
    assert rewards == [1.0, 1.0, None, 0.0]
    assert logged["failed"] == 0.25


def test_nothing_is_learnt_of_an_answer_that_could_not_be_scored(monkeypatch: pytest.MonkeyPatch):
    async def lost(response: str, item: Item, **_: object) -> Score:
        return Score(verdict="unjudged" if response == "391" else "wrong", reason="no room for a process")

    monkeypatch.setattr(reward, "score", lost)
    logged: dict[str, float] = {}
    rewards = rollouts_of(ONE).workflow_reward(
        completions=[RIGHT, WRONG, WRONG, "none"], draw=[0] * 4, log_metric=logged.__setitem__
    )
    assert rewards == [None, 0.5, 0.5, 0.0]
    assert logged["failed"] == 0.25
    with pytest.raises(WorkerError, match=r"2 of 3 workflows .* no room for a process"):
        rollouts_of(ONE).workflow_reward(
            completions=[RIGHT, RIGHT, WRONG, "none"], draw=[0] * 4, log_metric=lambda *_: None
        )


def test_a_step_in_which_most_workflows_fail_ends_the_training_with_the_reason():
    pool = Pool(workers=(SimulatedWorker("a", fail_on="Compute"), SimulatedWorker("b", answer="1")))
    with pytest.raises(WorkerError, match=r"3 of 4 workflows .* a was set to fail .* it goes on"):
        rollouts_of(ONE, pool).workflow_reward(
            completions=[RIGHT, RIGHT, RIGHT, WRONG], draw=[0] * 4, log_metric=lambda *_: None
        )


def test_of_two_rounds_each_is_learnt_from_its_own_prompt():
    rollouts = rollouts_of(TWO)
    first = first_prompt(TWO)
    trainer = WrittenTrainer([WRONG, RIGHT], [RIGHT, EMPTY_PLAN])
    batch = rollouts.two_rounds([first] * 4, trainer)
    decoded = LettersTokenizer().batch_decode(batch["completion_ids"])
    assert decoded == [WRONG, RIGHT, RIGHT, EMPTY_PLAN]
    assert batch["value"] == [0.75 * 0.5 + 0.25 * 1.0, 1.0, 1.0, 1.0]
    second = LettersTokenizer().batch_decode(batch["prompt_ids"])[2:]
    assert second == trainer.prompts[1]
    assert ["Your workflow has run." in prompt for prompt in second] == [True, True]
    assert f"{OURS.prefill}{WRONG}" in second[0]
    assert f"{OURS.prefill}{RIGHT}" in second[1]
    assert "391" in second[1]
    assert trainer.metrics["calls"] == 3
    assert batch["logprobs"] is None


def test_after_a_plan_that_is_not_valid_the_second_round_asks_again_with_the_reason():
    first = first_prompt(TWO)
    trainer = WrittenTrainer(["model_id = [0]", RIGHT], [RIGHT, "no"])
    batch = rollouts_of(TWO).two_rounds([first] * 4, trainer)
    assert batch["value"] == [0.25 * 1.0, 0.75 * 1.0, 1.0, 0.0]
    assert "This plan cannot be used" in trainer.prompts[1][0]


@pytest.mark.slow
def test_long_responses_are_cut_from_their_beginning_until_a_second_prompt_fits():
    recipe = TWO.model_copy(update={"prompt_tokens": 9_000, "completion_tokens": 64})
    pool = Pool(workers=(SimulatedWorker("a", answer="begin " + "x" * 15_000 + " 391"), SimulatedWorker("b")))
    rollouts = rollouts_of(recipe, pool)
    first = first_prompt(recipe, pool)
    trainer = WrittenTrainer([RIGHT, RIGHT], [EMPTY_PLAN, EMPTY_PLAN])
    batch = rollouts.two_rounds([first] * 4, trainer)
    prompt = trainer.prompts[1][0]
    assert len(batch["prompt_ids"][2]) <= 9_064
    assert "(The beginning is left out.)" in prompt
    assert "begin x" not in prompt
    assert "x 391" in prompt


def test_a_group_is_live_where_known_rewards_differ() -> None:
    cases = [([0.5, 1.0], 1.0), ([0.5, None], 0.0), ([None, None], 0.0), ([0.5, 0.5, 0.0, 1.0], 0.5)]
    for rewards, live in cases:
        assert live_share(rewards, group=2) == live, rewards


def test_where_rollouts_fail_in_one_process_all_processes_end_with_the_reason():
    messages: list[list[object]] = []

    def gather(mine: list[Any]) -> list[Any]:
        messages.append(mine)
        return [*mine, "a was set to fail."]

    with pytest.raises(WorkerError, match=r"Another process of this training ended: a was set to fail\."):
        rollouts_of(ONE, gather=gather).workflow_reward(
            completions=[*[RIGHT] * 4], draw=[0] * 4, log_metric=lambda *_: None
        )
    pool = Pool(workers=(SimulatedWorker("a", fail_on="Compute"), SimulatedWorker("b", answer="1")))
    with pytest.raises(WorkerError, match="4 of 4 workflows"):
        rollouts_of(ONE, pool, gather=gather).workflow_reward(
            completions=[*[RIGHT] * 4], draw=[0] * 4, log_metric=lambda *_: None
        )
    # It sent the reason to the others before it ended.
    assert messages[0] == [None]
    assert "4 of 4 workflows" in str(messages[1])


@pytest.mark.parametrize(
    ("recipe", "rounds", "right"),
    [(ONE, [[RIGHT, WRONG]], 0.5), (TWO, [["none", WRONG], [RIGHT, RIGHT]], 1.0)],
)
def test_held_out_questions_are_worth_what_their_last_round_answers(
    recipe: GrpoRecipe, rounds: list[list[str]], right: float
):
    cards = tuple(worker.card for worker in POOL.workers)
    trainer = WrittenTrainer(*rounds)
    held_out = [Draw(ITEM, cards), Draw(ITEM, cards)]
    metrics = rollouts_of(recipe, held_out=held_out).evaluate(trainer)
    assert metrics["eval_right"] == right
    assert (metrics["eval_valid"], metrics["eval_failed"]) == (1.0, 0.0)
    assert len(trainer.prompts[0]) == 2


def test_of_held_out_questions_those_that_could_not_be_answered_are_left_out():
    pool = Pool(workers=(SimulatedWorker("a", answer="391"), SimulatedWorker("b", fail_on="Look")))
    cards = tuple(worker.card for worker in pool.workers)
    held_out = [Draw(ITEM, cards)] * 2
    metrics = rollouts_of(ONE, pool, held_out=held_out).evaluate(WrittenTrainer([RIGHT, WRONG]))
    assert (metrics["eval_right"], metrics["eval_valid"], metrics["eval_failed"]) == (1.0, 1.0, 0.5)
