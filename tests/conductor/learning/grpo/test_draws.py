from __future__ import annotations

from collections import Counter

from conductor.evaluation.items import Item
from conductor.learning.grpo.draws import draws, prompt_of
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.workers.pool.pool import offline_pool

ITEMS = [
    Item(id=str(number), input=f"What is {number} * 7?", target=(str(7 * number),)) for number in range(6)
]
CARDS = tuple(worker.card for worker in offline_pool().workers)
SMALL = GrpoRecipe(steps=4, questions=3, rollouts=4)


def test_every_question_is_asked_once_before_any_is_asked_again():
    drawn = draws(SMALL, ITEMS, CARDS)
    assert Counter(draw.item.id for draw in drawn) == {item.id: 2 for item in ITEMS}
    assert {draw.item.id for draw in drawn[: len(ITEMS)]} == {item.id for item in ITEMS}
    assert {draw.names for draw in drawn} == {tuple(card.name for card in CARDS)}


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


def test_a_prompt_numbers_the_workers_as_they_are_offered():
    recipe = SMALL.model_copy(update={"pools": "random"})
    for draw in draws(recipe, ITEMS, CARDS):
        asked = prompt_of(draw.request(recipe), recipe)[-1].content
        assert draw.item.input in asked
        for number, card in enumerate(draw.workers):
            assert f"Model {number}: {card.name}" in asked
