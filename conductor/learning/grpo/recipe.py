"""The settings of a large Conductor's training by reinforcement. A value; knows nothing of training."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from conductor.errors import DataError
from conductor.files.named_file import replace_file
from conductor.learning.reward import Variant
from conductor.planner.conductor import MAX_PLANNED_STEPS
from conductor.values.messages import Value
from conductor.workers.protocol import PromptStyle
from conductor.workers.wording.checkout import read_wording
from conductor.workers.wording.wording import Wording
from conductor.workflow.plan_report import Dialect


class GrpoRecipe(Value):
    """The defaults are the published Conductor's. Source: "Learning to Orchestrate Agents in Natural Language
    with the Conductor" (ICLR 2026, arXiv 2512.04388), and its research code's configuration,
    github.com/junho328/orchestrator: `base.yaml`, `conductor_grpo.yaml`, `recursion_conductor_grpo.yaml` and
    `run_recursion_mix_mmrl.yaml`.

    A step draws `questions` and samples `rollouts` completions for each; both together are its batch, from
    which a GPU learns `per_device` at a time. The learning rate rises to `learning_rate` over the share
    `warm_up` of the steps and falls to 0 along a cosine. `prompt_tokens` and `completion_tokens` are limits.
    `pools`: the Conductor is offered the whole pool, or for each question a random part of it in a random
    order. With two `rounds`, half of a question's rollouts are second rounds, each after one of the first; a
    first round is worth (1 - `discount`) of its own reward and `discount` of that of the second. `price` and
    `fresh`: see `Reward` and `Judge`. `lora` is the rank of an adapter, None to train all weights.
    `gpu_memory` is vLLM's share of a GPU; with `sleep` vLLM gives it back while weights are learnt.
    The share `held_out` of the questions is not learnt from, and evaluated before the first step and after
    every `evaluate_every` steps. `prompt_from` is a copy of the research code whose own texts are sent, None
    for ours; with `strict_form` plans are read as that code reads them, and never repaired.
    """

    model: str = Field(default="Qwen/Qwen2.5-7B-Instruct", min_length=1)
    steps: int = Field(default=200, ge=1)
    questions: int = Field(default=4, ge=1)
    rollouts: int = Field(default=64, ge=2)
    per_device: int = Field(default=4, ge=1)
    learning_rate: float = Field(default=1e-6, gt=0)
    warm_up: float = Field(default=0.03, ge=0, lt=1)
    beta: float = Field(default=0.0, ge=0)
    epsilon: float = Field(default=0.2, gt=0)
    temperature: float = Field(default=1.0, gt=0)
    prompt_tokens: int = Field(default=8192, ge=64)
    completion_tokens: int = Field(default=1024, ge=8)
    max_steps: int = Field(default=MAX_PLANNED_STEPS, ge=1)
    dialect: Dialect = "binary"
    prompt_style: PromptStyle = "research"
    prompt_from: str | None = None
    strict_form: bool = False
    reward: Variant = "paper"
    price: float = Field(default=0.0, ge=0)
    fresh: bool = False
    pools: Literal["whole", "random"] = "whole"
    rounds: Literal[1, 2] = 1
    discount: float = Field(default=0.2, ge=0, le=1)
    lora: int | None = Field(default=None, ge=1)
    gpu_memory: float = Field(default=0.5, gt=0, lt=1)
    sleep: bool = False
    held_out: float = Field(default=0.2, ge=0, lt=1)
    evaluate_every: int = Field(default=20, ge=1)
    save_every: int = Field(default=20, ge=1)
    seed: int = 42

    @cached_property
    def wording(self) -> Wording | None:
        """The texts of `prompt_from`, None for ours. Raises `FormatError` where they cannot be read."""
        return None if self.prompt_from is None else read_wording(Path(self.prompt_from))

    @property
    def batch(self) -> int:
        """Completions a step."""
        return self.questions * self.rollouts

    @property
    def evaluations(self) -> int:
        """Evaluations of the held-out questions in the whole training, the one before its first step too."""
        return 1 + self.steps // self.evaluate_every

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.batch % self.per_device:
            raise ValueError(
                f"a step has {self.batch} completions, which {self.per_device} at a time do not divide"
            )
        if self.rollouts % self.rounds:
            raise ValueError(f"{self.rollouts} rollouts a question are no halves for two rounds")
        return self


RECIPES: Mapping[str, GrpoRecipe] = {"paper": GrpoRecipe()}
"""By the names that the command knows."""


FILE = "recipe.json"


class GrpoRun(Value):
    """A recipe, on which questions (their name and digest), with which workers (names and identities)."""

    recipe: GrpoRecipe
    data: str
    digest: str
    workers: tuple[tuple[str, str], ...]

    def begin(self, folder: Path, *, write: bool = True) -> bool:
        """Keep this run in its folder; whether it was begun there before, perhaps with fewer steps.

        Raises `DataError` where the folder holds another run, or cannot be written. Of several processes one
        is to `write`.
        """
        file = folder / FILE
        try:
            before = file.read_bytes() if file.exists() else None
            if write:
                folder.mkdir(parents=True, exist_ok=True)
                if before is None or not self._differs(before):
                    replace_file(file, (self.model_dump_json(indent=1) + "\n").encode())
        except OSError as error:
            raise DataError(f"{folder} cannot be written: {error.strerror}. Name another folder.") from error
        if before is not None and (different := self._differs(before)):
            raise DataError(
                f"{folder} holds a run that differs in {', '.join(different)}; go on with that one's, or "
                "name another folder with --out."
            )
        return before is not None

    def _differs(self, stored: bytes) -> list[str]:
        try:
            other = GrpoRun.model_validate_json(stored)
        except ValidationError:
            return [f"{FILE}, which cannot be read"]
        mine, theirs = self.recipe.model_dump(), other.recipe.model_dump()
        differences = [name for name in mine if mine[name] != theirs[name] and name != "steps"]
        differences += ["the questions"] if self.digest != other.digest else []
        differences += ["the pool"] if self.workers != other.workers else []
        return differences + (["steps (fewer)"] if self.recipe.steps < other.recipe.steps else [])
