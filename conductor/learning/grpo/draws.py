"""Draws the questions of each training step, and the workers that each plan may use. Pure.

Knows items, cards and the Conductor's prompt; the same recipe always draws the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conductor.evaluation.items import Item
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.planner.conductor import PlanRequest
from conductor.planner.prompt.prompt import plan_messages
from conductor.values.messages import Message
from conductor.workers.protocol import WorkerCard

FEWEST_WORKERS = 2
"""Of a random part of a pool."""


@dataclass(frozen=True)
class Draw:
    """A question with the workers that are offered for it, in the order in which they are numbered."""

    item: Item
    workers: tuple[WorkerCard, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(card.name for card in self.workers)

    def request(self, recipe: GrpoRecipe) -> PlanRequest:
        """What the Conductor is asked in the first round."""
        return PlanRequest(query=self.item.question, workers=self.workers, max_steps=recipe.max_steps)


def split(recipe: GrpoRecipe, items: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    """The items to learn from and the held-out ones, which follow from the recipe's seed."""
    chance = random.Random(f"held out {recipe.seed}")  # noqa: S311 - a split that can be repeated
    held_out = {*chance.sample(range(len(items)), int(recipe.held_out * len(items)))}
    return (
        [item for at, item in enumerate(items) if at not in held_out],
        [item for at, item in enumerate(items) if at in held_out],
    )


def draws(recipe: GrpoRecipe, items: Sequence[Item], cards: Sequence[WorkerCard]) -> tuple[Draw, ...]:
    """The draws of all steps in their order: each question once before any comes a second time."""
    chance = random.Random(recipe.seed)  # noqa: S311 - an order that can be repeated, not a secret
    stream = _over_and_over(items, chance)
    return tuple(
        Draw(next(stream), _offered(recipe, cards, chance)) for _ in range(recipe.steps * recipe.questions)
    )


def _over_and_over(items: Sequence[Item], chance: random.Random) -> Iterator[Item]:
    while True:
        yield from chance.sample(items, len(items))


def _offered(
    recipe: GrpoRecipe, cards: Sequence[WorkerCard], chance: random.Random
) -> tuple[WorkerCard, ...]:
    if recipe.pools == "whole":
        return tuple(cards)
    least = min(FEWEST_WORKERS, len(cards))
    return tuple(chance.sample(cards, chance.randint(least, len(cards))))


def prompt_of(request: PlanRequest, recipe: GrpoRecipe) -> tuple[Message, ...]:
    """The messages that a completion is sampled for: no form is enforced, as the form is to be learnt."""
    return plan_messages(
        request,
        dialect=recipe.dialect,
        style=recipe.prompt_style,
        room_to_think=True,
        wording=recipe.wording,
    )
