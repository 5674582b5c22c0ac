from __future__ import annotations

from conductor.learning.grpo.model_card import model_card
from conductor.learning.grpo.recipe import GrpoRecipe

RECIPE = GrpoRecipe(model="Qwen/Qwen2.5-7B-Instruct", lora=16)


def test_a_card_states_what_was_trained_on_what_and_what_was_measured() -> None:
    measured = [
        {"step": 0, "eval_valid": 0.25, "eval_right": 0.1, "eval_failed": 0.0},
        {"step": 20, "eval_failed": 1.0},
    ]
    card = model_card(
        RECIPE, data="maths.jsonl", questions=96, workers=("a", "b"), steps=20, measured=measured
    )
    assert card.startswith('---\nbase_model: "Qwen/Qwen2.5-7B-Instruct"\n')
    assert "by 20 steps of GRPO" in card
    assert "96 questions of maths.jsonl, with the workers a, b." in card
    assert "| 0 | 25% | 10% |" in card
    assert "| 20 | - | - |" in card
    assert "| lora | 16 |" in card
    assert "arXiv 2512.04388" in card


def test_a_card_without_evaluations_states_it() -> None:
    card = model_card(RECIPE, data="maths.jsonl", questions=1, workers=("a",), steps=1)
    assert "No held-out questions were evaluated" in card
