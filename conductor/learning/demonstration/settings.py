"""The settings of the demonstration of learning. A value; knows nothing of training."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from conductor.learning.reward import Variant
from conductor.values.messages import Value

Teacher = Literal["noisy", "random"]
"""Of the warm start: a perfect planner with errors, or valid plans at random, without any perfect plan."""

Learner = Literal["grpo", "rejection"]
"""What is learnt from a batch of sampled plans: GRPO, or its control, the likelihood of the right ones.
Source of the control: H. Dong et al., "RAFT: Reward rAnked FineTuning" (2023), one round for each batch."""


class DemoSettings(Value):
    """The defaults begin with a planner whose likeliest plans are wrong; `docs/learning.md` has other starts.

    `shy` is how often the noisy teacher of the warm start hands the whole question to one worker;
    `prompt_weight` what a token of the prompt counts in its loss, so that the model knows which questions are
    of its kind. A step of GRPO draws `questions` and samples `group` plans for each. `price`: see `Reward`.
    """

    seed: int = 0
    hidden: int = Field(default=64, ge=16)
    layers: int = Field(default=3, ge=1)
    vocabulary: int = Field(default=1024, ge=400)
    warm_steps: int = Field(default=300, ge=20)
    warm_batch: int = Field(default=32, ge=1)
    warm_lr: float = Field(default=5e-3, gt=0)
    prompt_weight: float = Field(default=0.1, ge=0)
    teacher: Teacher = "noisy"
    shy: float = Field(default=0.67, ge=0, le=1)
    learner: Learner = "grpo"
    grpo_steps: int = Field(default=400, ge=0)
    questions: int = Field(default=12, ge=1)
    group: int = Field(default=16, ge=2)
    grpo_lr: float = Field(default=1e-4, gt=0)
    evaluate_every: int = Field(default=25, ge=1)
    evaluation: int = Field(default=135, ge=9)
    acceptance: int = Field(default=300, ge=9)
    reward: Variant = "paper"
    price: float = Field(default=0.0, ge=0)
    fresh: bool = False
    stop_on_collapse: bool = False
