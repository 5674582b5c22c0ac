"""Folders of trainings as `learn demo` writes them, without training; the Conductor is the shipped one."""

from __future__ import annotations

from pathlib import Path

from conductor.learning.demonstration.contenders import Contender
from conductor.learning.demonstration.exam import PLANS, ExamPlan, PlanPair, PlanPairs
from conductor.learning.demonstration.run_folder import RunFolder
from conductor.learning.demonstration.settings import DemoSettings
from conductor.workers.local_model import SHIPPED
from conductor.workflow.model import Step, Workflow
from studio.learning.training_run import TRAINED

_GAUGES = {
    "reward": 0.5, "valid": 0.9, "right": 0.4, "steps": 1.5, "one_step": 0.3, "entropy": 2.0, "live": 0.5,
    "tokens": 90.0,
}  # fmt: skip
_MEASURED = {
    "sampled_before": 0.5, "sampled": 0.9, "greedy_before": 0.95, "one_step": 0.0, "combinations": 0.97,
    "wordings": 0.98, "shuffled": 1.0, "subsets": 0.8, "reachable": 0.85, "calls": 1200, "saved": 3400,
    "seconds": 60.0,
}  # fmt: skip


def begun_training(path: Path, **settings: object) -> RunFolder:
    """A run that has taken its warm start and a step of GRPO out of 20."""
    values = {"warm_steps": 100, "grpo_steps": 20, **settings}
    folder = RunFolder(path, DemoSettings.model_validate(values))
    folder.add({"kind": "warm start", "step": 100, "loss": 0.2})
    folder.add({"kind": "evaluation", "step": 0, **_GAUGES})
    folder.add({"kind": "grpo", "step": 1, **_GAUGES, "calls": 3, "saved": 4})
    return folder


def done_training(path: Path) -> RunFolder:
    """A finished run, with a question that it had no valid plan for before."""
    folder = begun_training(path)
    row = Contender(planner="this Conductor", accuracy=0.9, interval=(0.8, 0.95), steps=1.9, tokens=170.0)
    folder.write_results({"rows": [row.model_dump()], **_MEASURED})
    find = Workflow.of([Step(instruction="Find it.", worker="facts")])
    pair = PlanPair(
        question="The capital of Peru?",
        answer="Lima",
        before=ExamPlan(workflow=None, answer="", right=False),
        after=ExamPlan(workflow=find, answer="Lima", right=True),
    )
    folder.write(PLANS, PlanPairs(pairs=(pair,)))
    (folder.path / TRAINED).symlink_to(SHIPPED["orchard"])
    return folder
