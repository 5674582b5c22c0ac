"""The learning page in a real browser without torch: a finished training is read, used, and plans."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from app_server import AppServer
from playwright.sync_api import expect
from test_app_accessibility import assert_accessible
from workbench_page import WorkbenchPage

from conductor.learning.demonstration.contenders import Row
from conductor.learning.demonstration.plan_pairs import PLANS, Planned, PlanPair, PlanPairs
from conductor.learning.demonstration.run_folder import RunFolder
from conductor.learning.demonstration.settings import DemoSettings
from conductor.workers.local_model import SHIPPED
from conductor.workflow.model import Step, Workflow
from storage import SessionStore
from studio.learning.training_run import TRAINED

pytestmark = pytest.mark.browser

GAUGES = {
    "reward": 0.5, "valid": 0.9, "right": 0.4, "steps": 1.5, "one_step": 0.3, "entropy": 2.0, "live": 0.5,
    "tokens": 90.0,
}  # fmt: skip
MEASURED = {
    "sampled_before": 0.5, "sampled": 0.9, "greedy_before": 0.95, "one_step": 0.0, "combinations": 0.97,
    "wordings": 0.98, "shuffled": 1.0, "subsets": 0.8, "reachable": 0.85, "calls": 1200, "saved": 3400,
    "seconds": 60.0,
}  # fmt: skip


@pytest.fixture
def app(chromium: str, tmp_path: Path) -> Iterator[AppServer]:
    """The app beside a finished training, whose Conductor is the shipped one, with a pool of experts."""
    folder = RunFolder(tmp_path / "learn" / "mine", DemoSettings(warm_steps=100, grpo_steps=20))
    folder.add({"kind": "warm start", "step": 100, "loss": 0.2})
    for step in range(1, 21):
        folder.add({"kind": "grpo", "step": step, **GAUGES, "calls": 3, "saved": 4})
    row = Row(planner="this Conductor", accuracy=0.9, interval=(0.8, 0.95), steps=1.9, tokens=170.0)
    folder.write_results({"rows": [row.model_dump()], **MEASURED})
    whole = Workflow.of([Step(instruction="Answer.", worker="generalist")])
    apart = Workflow.of(
        [
            Step(instruction="Find it.", worker="facts"),
            Step(instruction="Count its letters.", worker="letters", access=(0,)),
        ]
    )
    pair = PlanPair(
        question="How many letters has the capital of Peru?",
        answer="4",
        before=Planned(workflow=whole, answer="5", right=False),
        after=Planned(workflow=apart, answer="4", right=True),
    )
    folder.write(PLANS, PlanPairs(pairs=(pair,)))
    shutil.copytree(SHIPPED["orchard"], folder.path / TRAINED)
    pool = tmp_path / "pool.toml"
    pool.write_text('workers = "offline"\n', encoding="utf-8")
    with AppServer(tmp_path, settings={"CONDUCTOR_POOL": str(pool)}) as server:
        yield server


def test_a_finished_training_is_read_used_and_plans(app, visit):
    page = visit(app, "/learning")
    page.get_by_role("button", name="mine", exact=True).click()
    expect(page.get_by_role("heading", name="mine", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Beside the baselines")).to_be_visible()
    expect(page.get_by_text("Right answers").first).to_be_attached()
    assert_accessible(page)
    page.get_by_role("button", name="Use this Conductor").click()
    expect(page.get_by_text("mine is the Conductor now")).to_be_visible()
    written = tomllib.loads((app.folder / "pool.toml").read_text(encoding="utf-8"))
    assert (written["workers"], written["conductor"]["model"]) == ("orchard", f"learn/mine/{TRAINED}")
    page.get_by_role("link", name="Workbench", exact=True).first.click()
    WorkbenchPage(page).plan("What is 12 plus 30?").drawn()
    with SessionStore.open(app.database) as store:
        (session,) = store.sessions.listed()
        plan = store.plans.latest(session.id)
    assert plan is not None
    assert (plan.planner, plan.planner_kind) == ("mine", "model")
