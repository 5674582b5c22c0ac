"""Learnings of planners by their folders: their state, the command of one, plans before and after."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conductor.baselines.planner_file.planner_file import write_planner
from conductor.errors import ConductorError, DataError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import CONDUCTOR, EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.budget import Budget
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.planner_learning.learning_folder import PLANNER
from studio.learning.planner_run import (
    SETTINGS,
    PlannerSettings,
    exam_pairs,
    planner_runs_below,
    read_planner_run,
)
from studio.workbench import Workbench
from tests.support.stores.planner_folders import begun_planner, done_planner, learnt_planner


def test_a_learning_is_running_while_a_process_holds_its_folder_and_interrupted_after(tmp_path):
    folder = begun_planner(tmp_path / "mine", fit="f")
    assert read_planner_run(folder.path).state == "interrupted"
    with folder.held():
        assert read_planner_run(folder.path).state == "running"
    assert read_planner_run(folder.path, is_starting=True).state == "running"
    assert read_planner_run(folder.path).evaluation == "f"


@pytest.mark.parametrize(
    ("changes", "state"),
    [({}, "done"), ({"exam": ()}, "interrupted"), ({"exam": (), "stopped": "The budget was spent."}, "done")],
)
def test_it_is_done_once_it_was_examined_or_its_budget_is_spent(tmp_path, changes, state):
    folder = begun_planner(tmp_path / "mine")
    write_planner(learnt_planner(**changes), folder.path / PLANNER)
    assert read_planner_run(folder.path).state == state


def test_folders_that_cannot_be_read_are_named_and_others_are_none(tmp_path):
    done_planner(tmp_path / "good")
    for name, file in (("broken", SETTINGS), ("state", "learning.json")):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("{", encoding="utf-8")
    (tmp_path / "training").mkdir()
    runs, broken = planner_runs_below(tmp_path, lambda _: False)
    assert ([run.name for run in runs], sorted(broken)) == (["good"], ["broken", "state"])
    with pytest.raises(DataError, match="There is no learning of a planner"):
        read_planner_run(tmp_path / "training")
    (tmp_path / "good" / PLANNER).write_text("{", encoding="utf-8")
    with pytest.raises(ConductorError):
        read_planner_run(tmp_path / "good")


def test_the_command_has_what_was_chosen_and_no_more(tmp_path):
    settings = PlannerSettings(
        data="demo", method="search", use="prompt", draws=0, plans=3, budget=Budget(tokens=9)
    )
    assert settings.command(tmp_path / "mine") == [
        "mine", "--name=mine", f"--out={tmp_path / 'mine'}", "--method=search", "--use=prompt", "--draws=0",
        "--plans=3", "--seed=0", "--budget-tokens=9", "--", "demo",
    ]  # fmt: skip


@pytest.mark.slow
def test_plans_before_and_after_begin_with_what_the_planner_repaired(empty_store: Path, tmp_path: Path):
    workers = (SimulatedWorker(name="one", answer="7"), SimulatedWorker(name="other", answer="42"))
    items = tuple(
        Item(id=str(at), input=f"Question {at}?", target=(at == 11 and "42") or "7") for at in range(12)
    )
    spec = EvaluationSpec(data="", digest="", planners=(CONDUCTOR,))
    store = SessionStore.open(f"sqlite:///{shutil.copyfile(empty_store, tmp_path / 'conductor.db')}")
    bench = Workbench.over(store, pool=Pool(workers=workers), conductor=OfflineConductor())
    evaluations = Evaluations(bench)
    record = evaluations.add(DataSet("numbers", items), ["worker:other", CONDUCTOR], spec)
    evaluations.run(record.id)
    pairs = exam_pairs(bench.store, record).pairs
    assert len(pairs) == 10
    assert pairs[0].question == "Question 11?"
    assert (pairs[0].before.right, pairs[0].after.right) == (False, True)
    assert pairs[0].after.workflow.workers() == ("other",)
    alone = evaluations.add(DataSet("numbers", items), ["worker:other"], spec)
    assert exam_pairs(bench.store, alone) is None
    bench.close()
    store.close()
