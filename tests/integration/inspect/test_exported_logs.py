"""Logs that an evaluation is exported to, read by Inspect's own reader."""

from __future__ import annotations

import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conductor.errors import WorkerError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.spec import EvaluationSpec
from conductor.planner.rule_planner import OfflineConductor
from conductor.values.messages import Request
from conductor.workers.pool.pool import Pool
from conductor.workers.simulated import SimulatedWorker
from storage import SessionStore
from studio.evaluation.evaluations import Evaluations
from studio.evaluation.results import table_of_evaluation
from studio.workbench import Workbench

ROOT = Path(__file__).parents[3]
ITEMS = (
    Item(
        id="a",
        input="Which letter?",
        target=("B",),
        choices=("x", "the answer"),
        metadata={"category": "one"},
    ),
    Item(id="b", input="Which word?", target=("the answer", "an answer")),
    Item(id="c", input="Which fails?", target=("the answer",)),
    Item(id="d", input="Which is judged?", target=("the answer",)),
    Item(id="e", input="Which is lost?", target=("the answer",)),
)


def answered(request: Request) -> str:
    if "fails" in str(request.messages[-1].content):
        raise WorkerError("one fails.")
    if "lost" in str(request.messages[-1].content):
        raise WorkerError("one is down.", outage="503")
    return "Answer: the answer"


def ran(*command: str, folder: Path) -> str:
    done = subprocess.run(
        [os.environ["CONDUCTOR_TEST_INSPECT"], *command],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """The table's rows and the logs, by planner."""
    folder = tmp_path_factory.mktemp("export")
    workers = (
        SimulatedWorker(name="one", answer=answered),
        SimulatedWorker(name="other", answer="Answer: no"),
    )
    with SessionStore.open(f"sqlite:///{folder / 'store.db'}") as store:
        bench = Workbench.over(store, pool=Pool(workers=workers), conductor=OfflineConductor())
        spec = EvaluationSpec(data="", digest="", planners=("worker:one",), repeats=2, tags=("nightly",))
        evaluations = Evaluations(bench)
        id = evaluations.add(DataSet("letters", ITEMS), ["worker:one", "worker:other"], spec).id
        evaluations.run(id)
        cells = store.evaluations.cells(id)
        for cell in cells:
            if ITEMS[cell.item].id == "d" and cell.planner == "worker:one" and cell.result is not None:
                score = cell.result.score.model_copy(update={"verdict": "unjudged"})
                store.evaluations.end_cell(
                    cell.answered_in, cell.result.model_copy(update={"score": score}), ()
                )
        rows = {row.planner: row for row in table_of_evaluation(store, store.evaluations.find(id)).rows}
        bench.background.close()
    export = json.loads(
        ran("-m", "conductor", "evaluate", "export", id, "--to", "inspect", "--json",
            "--database", f"sqlite:///{folder / 'store.db'}", "--out", "logs", folder=folder)
    )  # fmt: skip
    assert len(export["written"]) == 2
    lines = ran(str(Path(__file__).with_name("read_logs.py")), *export["written"], folder=folder).splitlines()
    logs = {log["eval"]["model"].removeprefix("conductor/"): log for log in map(json.loads, lines)}
    return rows, logs


@pytest.mark.parametrize("planner", ["worker:one", "worker:other"])
def test_a_planners_log_has_its_accuracy_its_samples_and_its_epochs(
    exported: tuple[dict[str, Any], dict[str, Any]], planner: str
) -> None:
    rows, logs = exported
    log = logs[planner]
    complete = planner == "worker:other"
    assert (log["eval"]["tags"], log["eval"]["task"]) == (["nightly"], "letters")
    assert (log["status"], log["eval"]["metadata"]["outages"]) == (
        ("success", {}) if complete else ("error", {"503": 2})
    )
    assert complete or log["error"]["message"] == "2 of 10 not answered: 503"
    assert (log["eval"]["config"]["epochs"], log["eval"]["dataset"]["sample_ids"]) == (
        2,
        ["a", "b", "c", "d", "e"],
    )
    (score,) = log["results"]["scores"]
    assert score["metrics"]["accuracy"]["value"] == pytest.approx(rows[planner].accuracy)
    assert {(each["id"], each["epoch"]) for each in log["samples"]} == {
        (item.id, epoch) for item in ITEMS for epoch in (1, 2)
    }


def test_a_sample_has_its_question_its_answer_and_its_score(
    exported: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    _, logs = exported
    samples = {each["id"]: each for each in logs["worker:one"]["samples"] if each["epoch"] == 1}
    assert samples["a"]["target"] in ("A", "B")
    assert (samples["a"]["input"], samples["b"]["target"]) == (
        samples["a"]["messages"][0]["content"],
        ["the answer", "an answer"],
    )
    assert samples["b"]["output"]["choices"][0]["message"]["content"] == "Answer: the answer"
    scores = {id: each["scores"]["conductor"] for id, each in samples.items()}
    assert (scores["b"]["value"], scores["b"]["answer"]) == ("C", "the answer")
    assert (scores["c"]["value"], scores["c"]["metadata"]["verdict"]) == ("I", "failed")
    assert samples["c"]["error"]["message"] == scores["c"]["explanation"]
    assert samples["b"]["error"] is None
    assert (math.isnan(scores["d"]["value"]), scores["d"]["reason"]) == (True, "grader_failed")
    assert math.isnan(scores["e"]["value"])
    assert (scores["e"]["metadata"]["verdict"], scores["e"]["metadata"]["outage"]) == ("unanswered", "503")
    assert samples["e"]["error"]["message"] == "one is down."
    assert samples["a"]["metadata"]["category"] == "one"


def test_tokens_are_those_of_the_answers_and_their_sum(
    exported: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    _, logs = exported
    for log in logs.values():
        own = [each["output"]["usage"] for each in log["samples"] if each["output"]["usage"] is not None]
        (usage,) = log["stats"]["model_usage"].values()
        assert usage["total_tokens"] == sum(each["total_tokens"] for each in own) > 0
        assert all(each["input_tokens"] + each["output_tokens"] == each["total_tokens"] for each in own)
