"""What the demonstration of learning is set to. A value; knows nothing of training."""

from __future__ import annotations

from pydantic import Field

from conductor.learning.reward import Variant
from conductor.values.messages import Value


class DemoSettings(Value):
    """The defaults are the recipe that held on every seed; `docs/learning.md` has what failed beside it.

    `shy` is how often the teacher of the warm start hands the whole question to one worker; `prompt_weight`
    what a token of the prompt counts in its loss, so that the model knows which questions are of its kind.
    A step of GRPO draws `questions` and samples `group` plans for each. `price`: see `Reward`.
    """

    seed: int = 0
    hidden: int = Field(default=64, ge=16)
    layers: int = Field(default=3, ge=1)
    vocabulary: int = Field(default=1024, ge=400)
    warm_steps: int = Field(default=1600, ge=20)
    warm_batch: int = Field(default=32, ge=1)
    warm_lr: float = Field(default=5e-3, gt=0)
    prompt_weight: float = Field(default=0.1, ge=0)
    shy: float = Field(default=0.5, ge=0, le=1)
    grpo_steps: int = Field(default=200, ge=0)
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
