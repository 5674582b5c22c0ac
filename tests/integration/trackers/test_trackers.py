"""Scores in MLflow's and W&B's own stores, without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from storage import SessionStore
from studio.evaluation.results import table_of_evaluation
from tests.support.stores.scored_evaluation import scored

pytestmark = pytest.mark.filterwarnings("ignore")
"""The libraries' own."""

ROOT = Path(__file__).parents[3]


@pytest.fixture
def evaluation(tmp_path: Path) -> str:
    with SessionStore.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        return scored(store)


def exported(id: str, to: str, folder: Path, **environment: str) -> list[str]:
    line = (sys.executable, "-m", "conductor", "evaluate", "export", id, "--to", to, "--json")
    done = subprocess.run(
        [*line, "--database", f"sqlite:///{folder / 'store.db'}"],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder), **environment},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written: list[str] = json.loads(done.stdout)["written"]
    return written


def test_mlflow_has_a_run_for_each_planner_which_is_updated(evaluation: str, tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    runs = exported(evaluation, "mlflow", tmp_path, MLFLOW_TRACKING_URI=uri)
    assert exported(evaluation, "mlflow", tmp_path, MLFLOW_TRACKING_URI=uri) == runs
    from mlflow import MlflowClient  # noqa: PLC0415 - where it is installed

    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("words")
    assert experiment is not None
    by_planner = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    with SessionStore.open(f"sqlite:///{tmp_path / 'store.db'}") as store:
        table = table_of_evaluation(store, store.evaluations.find(evaluation))
    assert len(by_planner) == len(runs) == len(table.rows) == 3
    for row in table.rows:
        run = by_planner[row.planner]
        assert run.data.metrics["accuracy"] == row.accuracy
        assert (run.data.params["data"], run.data.params["evaluation"]) == ("words", evaluation)
        assert "tag.nightly" in run.data.tags
    assert by_planner["worker:one"].info.status == "FINISHED"
    assert by_planner["worker:one"].data.metrics["accuracy/odd/one"] == 0.5


def test_wandb_has_a_run_for_each_planner(evaluation: str, tmp_path: Path) -> None:
    places = exported(evaluation, "wandb", tmp_path, WANDB_MODE="offline", WANDB_DIR=str(tmp_path))
    assert len(places) == 3
    files = sorted(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    assert len(files) == 3
    written = b"".join(file.read_bytes() for file in files)
    for text in (b"worker:one", b"nightly", b"accuracy", b"words"):
        assert text in written
