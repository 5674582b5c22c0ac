"""The warm start: plans of a poor teacher, learnt by likelihood, so that sampling finds what to reward.

Knows the orchard's teacher and pools; imports torch. Source of the schedule: L. Smith and N. Topin,
"Super-convergence" (2018), one cycle.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from conductor.learning.demonstration.settings import DemoSettings
from conductor.learning.small_llama.torch_llama import Texts, Vocabulary, log_probabilities
from conductor.orchard import Question, draw, random_plan, teacher_plan
from conductor.planner.local.local_prompt import plan_text, prompt_text
from conductor.workflow.model import Workflow

BETAS = (0.9, 0.98)


class WarmStart:
    """The training, step by step; `state` and `restore` carry it over to another process."""

    def __init__(
        self, model: Any, vocabulary: Vocabulary, settings: DemoSettings, names: Sequence[str]
    ) -> None:
        self.step = 0
        self._model, self._vocabulary, self._settings, self._names = model, vocabulary, settings, names
        self._rng = random.Random(f"warm start {settings.seed}")  # noqa: S311 - a seed that can be repeated
        self._optimiser = torch.optim.AdamW(
            model.parameters(), lr=settings.warm_lr, betas=BETAS, weight_decay=0.01
        )
        self._schedule = torch.optim.lr_scheduler.OneCycleLR(
            self._optimiser, max_lr=settings.warm_lr, total_steps=settings.warm_steps, pct_start=0.1
        )

    def take_step(self) -> float:
        """Learn one batch; returns the loss of its plans, a token."""
        settings = self._settings
        texts = Texts.of(self._vocabulary, self._batch())
        self._model.train()
        likelihoods = log_probabilities(self._model, self._vocabulary, texts)
        weight = texts.completion + settings.prompt_weight * texts.prompt
        loss = -(likelihoods * weight).sum() / weight.sum()
        self._optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimiser.step()
        self._schedule.step()
        self.step += 1
        return -float((likelihoods.detach() * texts.completion).sum() / texts.completion.sum())

    def _batch(self) -> list[tuple[str, str]]:
        """Prompts and plans. A pool has all workers of its plan, and any of the others, in any order."""
        rows = []
        for question in draw(self._settings.warm_batch, seed=self._rng.getrandbits(48)):
            plan = self._taught(question)
            # In the order of the plan: that of a set differs between processes.
            used = list(dict.fromkeys(step.worker for step in plan.steps))
            others = [name for name in self._names if name not in used]
            pool = [*used, *self._rng.sample(others, self._rng.randint(0, len(others)))]
            if self._rng.random() < 0.5:
                pool = [*self._names]
            self._rng.shuffle(pool)
            rows.append((prompt_text(question.text, pool), plan_text(plan)))
        return rows

    def _taught(self, question: Question) -> Workflow:
        if self._settings.teacher == "random":
            return random_plan(self._rng, self._names)
        return teacher_plan(question.oracle, self._rng, self._settings.shy)

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "rng": self._rng.getstate(),
            "optimiser": self._optimiser.state_dict(),
            "schedule": self._schedule.state_dict(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.step = state["step"]
        self._rng.setstate(state["rng"])
        self._optimiser.load_state_dict(state["optimiser"])
        self._schedule.load_state_dict(state["schedule"])
