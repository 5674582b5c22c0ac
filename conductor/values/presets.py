"""The settings of an answer: limits of plans, rounds, workers and spending, and three named choices.

Values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from conductor.values.budget import NO_BUDGET, Budget
from conductor.values.messages import Value

Mode = Literal["mini", "standard", "ultra"]

MAX_ROUNDS = 3
"""The published Conductor's limit on rounds."""


class Settings(Value):
    """What a session requires of its Conductor.

    `workers` are the pool's workers that it may use, in the order in which they are numbered (None: all, in
    the pool's order). `attempts` is how often a round's plan is requested where no person decides.
    `economical` leaves the Conductor only the workers of the lowest known price. `planner` names a baseline
    that plans in the place of the pool's Conductor (`conductor.baselines`). `strict_form`: plans are read as
    the research code reads them, and never repaired.
    """

    max_steps: int = Field(default=5, ge=1)
    rounds: int = Field(default=1, ge=1, le=MAX_ROUNDS)
    attempts: int = Field(default=3, ge=1)
    workers: tuple[str, ...] | None = None
    economical: bool = False
    planner: str | None = None
    budget: Budget = NO_BUDGET
    strict_form: bool = Field(default=False, exclude_if=lambda strict: not strict)


MODES: Mapping[Mode, Settings] = {
    "mini": Settings(max_steps=1, economical=True),
    "standard": Settings(),
    "ultra": Settings(rounds=MAX_ROUNDS),
}
"""`mini`: at most one call after the plan. `ultra`: the full pool, five steps, three rounds."""
