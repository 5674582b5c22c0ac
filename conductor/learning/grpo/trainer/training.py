"""The input of a trainer: the model, the data and its options. A value; imports no library that trains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from conductor.evaluation.items import Item
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.reward import WorkflowJudge
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard

Remark = Callable[[str], None]
Tracker = Literal["wandb", "mlflow", "tensorboard", "trackio"]
"""Where metrics may go besides the log: each is a package of that name."""


@dataclass(frozen=True)
class Training:
    """A recipe for the items of `data`, with these workers of the pool.

    `folder` is the run's; `cpu`: without a GPU and vLLM, for trying it out. `stop_on_collapse`: the training
    ends where its gauges give alarm. `judge` runs the workflows; where it is None, this process does.
    """

    recipe: GrpoRecipe
    items: Sequence[Item]
    pool: Pool
    cards: Sequence[WorkerCard]
    folder: Path
    data: str = "questions of its own"
    allow_code: bool = False
    cpu: bool = False
    stop_on_collapse: bool = False
    report_to: Tracker | None = None
    judge: WorkflowJudge | None = None
