"""Planner files as tests need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conductor.baselines.encoder import Encoder
from conductor.baselines.learnt_file import identity_hash
from conductor.baselines.planner_file.planner_file import (
    PlannerCard,
    PlannerFile,
    TriedPlan,
    TriedQuestion,
)
from conductor.workers.simulated import SimulatedWorker
from conductor.workflow.model import Step, Workflow

WORKERS = ("alpha", "beta")

CARD = PlannerCard(data="numbers", digest="0", seed=0, planners=("conductor",), fit=4, held_out=4)


def single(worker: str, instruction: str = "Answer.", *, tokens: float | None = 10) -> TriedPlan:
    workflow = Workflow.of([Step(instruction=instruction, worker=worker)])
    return TriedPlan(workflow=workflow, origin=f"worker:{worker}", tokens=tokens)


def planner_of(*, plans: Sequence[TriedPlan], questions: Sequence[TriedQuestion], **more: Any) -> PlannerFile:
    """A planner for the workers alpha and beta, which takes the nearest question's plan."""
    encoder = Encoder.of([each.question for each in questions])
    workers = tuple((name, identity_hash(SimulatedWorker(name).card)) for name in WORKERS)
    values = {"name": "mine", "use": "nearest", "conductor": "rules", "card": CARD} | more
    return PlannerFile(
        encoder=encoder, workers=workers, plans=tuple(plans), questions=tuple(questions), **values
    )
