"""Group-relative policy optimisation of a small Conductor on the orchard, on real runs of the engine.

Knows the orchard, the reward and the model; imports torch. Source: Z. Shao et al., "DeepSeekMath" (2024); as
in the Conductor's configuration there is one update a batch, so the ratio is 1, no penalty (beta 0), and
rewards are scaled by a group's deviation. The loss is the mean over the tokens of the live groups alone, in
which rewards differ, so a step does not shrink as groups die; TRL's `bnpo` divides by all tokens of a batch.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from conductor.learning.demonstration.exam import exam_item, random_pool
from conductor.learning.demonstration.settings import DemoSettings
from conductor.learning.demonstration.warm_start import BETAS
from conductor.learning.gauges import Gauges, gauges_of
from conductor.learning.reward import Judge, Outcome, Reward
from conductor.learning.small_llama.torch_llama import Vocabulary, completion_log_probabilities, sample
from conductor.orchard import Question, draw
from conductor.planner.local.local_prompt import prompt_text

CHUNK = 64
"""Rows in one pass of learning: a bound on memory."""


@dataclass(frozen=True)
class TrainingStep:
    """The gauges of a step, and calls of workers made and saved by it."""

    gauges: Gauges
    calls: int
    saved: int

    @property
    def row(self) -> dict[str, float | None]:
        """All of it as a line of metrics."""
        return {**self.gauges.row, "calls": self.calls, "saved": self.saved}


def _steps_needed(question: Question, pool: Sequence[str]) -> int | None:
    """How many steps the question needs with this pool; None if the pool lacks workers for them."""
    whole = all(step.worker in pool for step in question.oracle.steps)
    return question.steps if whole else None


class Grpo:
    """The training, step by step; `state` and `restore` carry it over to another process."""

    def __init__(
        self,
        model: Any,
        vocabulary: Vocabulary,
        settings: DemoSettings,
        names: Sequence[str],
        judge: Judge,
    ) -> None:
        self.step = 0
        self._model, self._vocabulary, self._settings, self._names = model, vocabulary, settings, names
        self._judge = judge
        self._reward = Reward(settings.reward, settings.price)
        self._rng = random.Random(f"grpo {settings.seed}")  # noqa: S311 - a seed that can be repeated
        self._generator = torch.Generator().manual_seed(settings.seed)
        self._optimiser = torch.optim.AdamW(
            model.parameters(), lr=settings.grpo_lr, betas=BETAS, weight_decay=0.0
        )

    async def take_step(self) -> TrainingStep:
        """Sample a batch of plans, run them, learn from their rewards."""
        settings, group = self._settings, self._settings.group
        questions = draw(settings.questions, seed=self._rng.getrandbits(48))
        pools = [random_pool(self._rng, self._names) for _ in questions]
        sampled = sample(
            self._model,
            self._vocabulary,
            [prompt_text(question.text, pool) for question, pool in zip(questions, pools, strict=True)],
            pools,
            repeats=group,
            generator=self._generator,
        )
        calls, saved = self._judge.calls, self._judge.saved
        outcomes = await self._judge.judge(
            sampled.texts,
            [exam_item(question) for question in questions for _ in range(group)],
            [pool for pool in pools for _ in range(group)],
        )
        rewards = [self._reward.of(outcome) for outcome in outcomes]
        self._learn(sampled, self._advantages(outcomes, rewards))
        self.step += 1
        needed = [
            steps
            for question, pool in zip(questions, pools, strict=True)
            for steps in [_steps_needed(question, pool)] * group
        ]
        return TrainingStep(
            gauges_of(outcomes, rewards, needed, group=group),
            self._judge.calls - calls,
            self._judge.saved - saved,
        )

    def _advantages(self, outcomes: Sequence[Outcome], rewards: Sequence[float]) -> Any:
        """What a token of each plan counts for, of shape (plans,); 0 in groups of equal rewards."""
        if self._settings.learner == "rejection":
            return torch.tensor([float(outcome.right) for outcome in outcomes])
        grouped = torch.tensor(rewards).view(-1, self._settings.group)
        scale = grouped.std(1, keepdim=True) + 1e-4
        return ((grouped - grouped.mean(1, keepdim=True)) / scale).flatten()

    def _learn(self, sampled: Any, advantage: Any) -> None:
        live = (advantage.abs() > 1e-6).nonzero()[:, 0]
        if not len(live):
            return
        self._model.train()
        self._optimiser.zero_grad()
        tokens = (sampled.ids[live][:, sampled.width :] != self._vocabulary.pad).sum()
        for rows in live.split(CHUNK):
            likelihoods, counts = completion_log_probabilities(self._model, self._vocabulary, sampled, rows)
            (-(likelihoods * counts * advantage[rows, None]).sum() / tokens).backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimiser.step()

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "rng": self._rng.getstate(),
            "generator": self._generator.get_state(),
            "optimiser": self._optimiser.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.step = state["step"]
        self._rng.setstate(state["rng"])
        self._generator.set_state(state["generator"])
        self._optimiser.load_state_dict(state["optimiser"])
