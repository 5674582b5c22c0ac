from __future__ import annotations

from collections import Counter

from conductor.evaluation.items import Item
from conductor.learning.grpo.draws import draws, prompt_of, split
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.workers.simulated import SimulatedWorker

ITEMS = [
    Item(id=str(number), input=f"What is {number} * 7?", target=(str(7 * number),)) for number in range(6)
]
CARDS = tuple(SimulatedWorker(name=name).card for name in ("alpha", "beta", "gamma", "delta"))
SMALL = GrpoRecipe(steps=4, questions=3, rollouts=4)


def test_every_question_is_asked_once_before_any_is_asked_again():
    sample = draws(SMALL, ITEMS, CARDS)
    assert Counter(draw.item.id for draw in sample) == {item.id: 2 for item in ITEMS}
    assert {draw.item.id for draw in sample[: len(ITEMS)]} == {item.id for item in ITEMS}
    assert {draw.names for draw in sample} == {tuple(card.name for card in CARDS)}


def test_the_same_recipe_draws_the_same_and_another_seed_another():
    recipe = SMALL.model_copy(update={"pools": "random"})
    assert draws(recipe, ITEMS, CARDS) == draws(recipe, ITEMS, CARDS)
    assert draws(recipe, ITEMS, CARDS) != draws(recipe.model_copy(update={"seed": 1}), ITEMS, CARDS)


def test_random_pools_are_parts_of_the_pool_in_any_order():
    recipe = GrpoRecipe(steps=50, questions=4, rollouts=4, pools="random")
    offered = {draw.names for draw in draws(recipe, ITEMS, CARDS)}
    assert {len(names) for names in offered} == {2, 3, 4}
    assert {names[0] for names in offered} == {card.name for card in CARDS}
    assert all(len(set(names)) == len(names) for names in offered)


def test_a_prompt_numbers_the_workers_that_are_offered():
    recipe = SMALL.model_copy(update={"pools": "random"})
    for draw in draws(recipe, ITEMS, CARDS):
        prompt = prompt_of(draw.request(recipe), recipe)[1].content
        assert draw.item.input in prompt
        assert prompt.count("\nModel id ") == len(draw.workers)


def test_held_out_questions_follow_from_the_seed_and_are_not_learnt_from():
    learnt, held_out = split(SMALL.model_copy(update={"held_out": 0.4}), ITEMS)
    assert (len(learnt), len(held_out)) == (4, 2)
    assert sorted(item.id for item in (*learnt, *held_out)) == [item.id for item in ITEMS]
    splits = {
        tuple(item.id for item in split(SMALL.model_copy(update={"held_out": 0.4, "seed": seed}), ITEMS)[1])
        for seed in (*range(20), *range(20))
    }
    assert 5 < len(splits) <= 15
    # Of a few questions none is held out.
    assert split(SMALL, ITEMS[:4]) == (ITEMS[:4], [])
