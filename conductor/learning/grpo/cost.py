"""Forecasts the calls and dollars of a training by the pool's prices: a low figure and a high one. Pure.

Knows the recipe and the engine's estimate of a run; shared outputs are called once, so that both may be less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conductor.engine.bound_workflow import BoundWorkflow
from conductor.engine.estimate import Estimate, estimate
from conductor.evaluation.items import Item
from conductor.learning.grpo.draws import Draw, draws, prompt_of, split
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
    """What all steps and evaluations take, with a worker's call for each step of each plan. Unknown is None.

    `tokens`, `cost` and `seconds` reckon with answers of `ANSWER_TOKENS`, those with `most_` with the
    longest that each worker may give, thoughts among them; where a worker of `unlimited` has no limit, these
    are unknown.
    `seconds` are those of the workers, where all plans of a step run side by side. `planning` counts the
    tokens that the trained model reads, and writes at most. `unpriced` names workers without a price.
    """

    completions: int
    evaluated: int
    calls: int
    tokens: int | None
    most_tokens: int | None
    cost: float | None
    most_cost: float | None
    seconds: float | None
    most_seconds: float | None
    planning: int
    unpriced: tuple[str, ...]
    unlimited: tuple[str, ...]


def training_cost(
    recipe: GrpoRecipe, items: Sequence[Item], pool: Pool, cards: Sequence[WorkerCard]
) -> TrainingCost:
    """The cost of `recipe` on `items`, with each of these workers of the pool called equally often."""
    learnt, held_out = split(recipe, items)
    completions = recipe.steps * recipe.batch
    evaluated = recipe.evaluations * len(held_out) * recipe.rounds
    looked = draws(recipe, learnt, cards)[:_SAMPLE]
    likely = [_plan_cost(draw, at, pool, longest=False) for at, draw in enumerate(looked)]
    longest = [_plan_cost(draw, at, pool, longest=True) for at, draw in enumerate(looked)]
    prompts = 0
    for draw in looked:
        letters = sum(len(message.content) for message in prompt_of(draw.request(recipe), recipe))
        prompts += min(letters // LIKELY_CHARACTERS, recipe.prompt_tokens)
    plans = completions + evaluated
    batches = recipe.steps * recipe.rounds + (recipe.evaluations if held_out else 0)
    return TrainingCost(
        completions=completions,
        evaluated=evaluated,
        calls=plans * len(PLAN),
        tokens=_whole(_times([each.tokens for each in likely], plans)),
        most_tokens=_whole(_times([each.tokens for each in longest], plans)),
        cost=_times([each.cost for each in likely], plans),
        most_cost=_times([each.cost for each in longest], plans),
        seconds=_times([each.seconds for each in likely], batches),
        most_seconds=_times([each.seconds for each in longest], batches),
        planning=round(plans * (prompts / len(looked) + recipe.completion_tokens)),
        unpriced=tuple(card.name for card in cards if card.kind == "model" and card.price is None),
        unlimited=tuple(
            card.name for card in cards if card.kind == "model" and card.sampling.max_tokens is None
        ),
    )


def _plan_cost(draw: Draw, at: int, pool: Pool, *, longest: bool) -> Estimate:
    """What `PLAN` takes for this draw, with another worker first for each `at`."""
    steps = [
        Step(instruction=text, worker=draw.names[(at + number) % len(draw.names)], access=reads)
        for number, (text, reads) in enumerate(PLAN)
    ]
    bound = BoundWorkflow.of(Workflow.of(steps), query=draw.item.question, pool=pool)
    return estimate(bound, range(len(PLAN)), (), cards=pool.cards, longest=longest)


def _times(values: Sequence[float | None], number: int) -> float | None:
    """`number` times the mean; None if a value is unknown."""
    numbers = [value for value in values if value is not None]
    return number * sum(numbers) / len(numbers) if len(numbers) == len(values) else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def usable(pool: Pool) -> tuple[WorkerCard, ...]:
    """The cards of the workers that can be called with the present settings."""
    return tuple(worker.card for worker in pool.workers if worker.card.unusable is None)
