"""What a training will call and spend, by the pool's prices. Pure.

Knows the recipe and the engine's estimate of a run; all of it is an upper bound where rollouts share outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import estimate
from conductor.evaluation.items import Item
from conductor.learning.grpo.draws import draws, prompt_of
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.values.provenance import LIKELY_CHARACTERS
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard
from conductor.workflow.model import Step, Workflow

PLAN = (
    ("Write down, step by step, how to answer the question.", ()),
    ("Follow the plan, and answer the question.", (0,)),
    ("Check the answer against the question, and state the final answer.", (0, 1)),
)
"""The steps of the plan that is reckoned with: the published Conductor's plans have three on average."""

_SAMPLE = 60
"""Draws that are looked at; what they take stands for all."""


@dataclass(frozen=True)
class TrainingCost:
    """What all steps take at most: a worker's call for each step of each plan. Unknown is None.

    `planning` counts the tokens that the trained model reads, and writes at most. `unpriced` names the
    workers whose price is unknown.
    """

    completions: int
    calls: int
    tokens: int | None
    cost: float | None
    planning: int
    unpriced: tuple[str, ...]


def training_cost(
    recipe: GrpoRecipe, items: Sequence[Item], pool: Pool, cards: Sequence[WorkerCard]
) -> TrainingCost:
    """The cost of `recipe` on `items`, with each of these workers of the pool called equally often."""
    completions = recipe.steps * recipe.batch
    looked = draws(recipe, items, cards)[:_SAMPLE]
    tokens: list[int | None] = []
    costs: list[float | None] = []
    prompts = 0
    for at, draw in enumerate(looked):
        steps = [
            Step(instruction=text, worker=draw.names[(at + number) % len(draw.names)], access=reads)
            for number, (text, reads) in enumerate(PLAN)
        ]
        bound = BoundWorkflow.of(Workflow.of(steps), query=draw.item.question, pool=pool)
        found = estimate(bound, range(len(PLAN)), (), cards=pool.cards)
        tokens.append(found.tokens)
        costs.append(found.cost)
        letters = sum(len(message.content) for message in prompt_of(draw.request(recipe), recipe))
        prompts += min(letters // LIKELY_CHARACTERS, recipe.prompt_tokens)
    mean_tokens, mean_cost = _mean(tokens), _mean(costs)
    return TrainingCost(
        completions=completions,
        calls=completions * len(PLAN),
        tokens=None if mean_tokens is None else round(mean_tokens * completions),
        cost=None if mean_cost is None else mean_cost * completions,
        planning=round(completions * (prompts / len(looked) + recipe.completion_tokens)),
        unpriced=tuple(card.name for card in cards if card.kind == "model" and card.price is None),
    )


def usable(pool: Pool) -> tuple[WorkerCard, ...]:
    """The cards of the workers that can be called with the present settings."""
    return tuple(worker.card for worker in pool.workers if worker.card.unusable is None)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
