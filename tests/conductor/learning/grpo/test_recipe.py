from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from conductor.learning.grpo.recipe import RECIPES, GrpoRecipe


def test_the_published_recipe_is_two_hundred_steps_of_four_questions_with_64_rollouts():
    recipe = RECIPES["paper"]
    assert (recipe.steps, recipe.questions, recipe.rollouts, recipe.batch) == (200, 4, 64, 256)
    assert (recipe.temperature, recipe.learning_rate, recipe.beta, recipe.epsilon) == (1.0, 1e-6, 0.0, 0.2)
    assert (recipe.prompt_tokens, recipe.completion_tokens, recipe.max_steps) == (8192, 1024, 5)
    assert (recipe.warm_up, recipe.held_out, recipe.evaluations) == (0.03, 0.2, 11)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"per_device": 3}, "256 completions, which 3 at a time do not divide"),
        ({"rounds": 2, "rollouts": 5, "per_device": 1}, "5 rollouts a question are no halves"),
        ({"discount": 1.5}, "less than or equal to 1"),
        ({"lora": 0}, "greater than or equal to 1"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_refused(wrong: dict[str, Any], reason: str):
    with pytest.raises(ValidationError, match=reason):
        GrpoRecipe(**wrong)
