"""Trainings are children that write a folder each: one at a time, stopped, resumed; a failure is named."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conductor.errors import DataError
from conductor.evaluation.data_file import read_data
from conductor.evaluation.items import DataSet, Item
from conductor.learning.demonstration.run_folder import read_settings
from conductor.learning.demonstration.settings import DemoSettings
from conductor.values.budget import Budget
from studio.learning import trainings as module
from studio.learning.planner_run import PlannerSettings, read_planner_run
from studio.learning.trainings import LOG, Trainings, last_line
from tests.support.runs.waiting import until

SETTINGS = DemoSettings(seed=7, warm_steps=20, grpo_steps=0, shy=0.25, stop_on_collapse=True)

CHILD = """\
import os, sys, time
open({record!r}, "w").write("\\n".join([*sys.argv[1:], *sorted(os.environ)]))
print("conductor: it has begun", flush=True)
{then}
"""


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Where the child writes its arguments and the names of its variables."""
    return tmp_path / "told"


@pytest.fixture
def trainings(tmp_path: Path) -> Iterator[Trainings]:
    folder_trainings = Trainings(tmp_path / "learn")
    yield folder_trainings
    folder_trainings.close()


@pytest.fixture
def python(tmp_path: Path, record: Path, monkeypatch: pytest.MonkeyPatch):
    """Has children run these lines in the place of a training."""

    def does(then: str) -> None:
        script = tmp_path / "child.py"
        script.write_text(CHILD.format(record=str(record), then=then), encoding="utf-8")
        starter = tmp_path / "python"
        starter.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
        starter.chmod(0o755)
        monkeypatch.setattr(module, "trainer", lambda: starter)

    return does


def test_a_training_is_begun_with_its_settings_and_without_keys(trainings, python, record, monkeypatch):
    monkeypatch.setenv("ALPHA_API_KEY", "sk-secret")
    monkeypatch.setenv("CONDUCTOR_DATABASE_URL", "postgresql://me:secret@host/db")
    python("")
    path = trainings.begin(SETTINGS, 2)
    assert (path.name, read_settings(path)) == ("demo", SETTINGS)
    until(lambda: not trainings.runs_here(path))
    lines = record.read_text(encoding="utf-8").splitlines()
    command = lines[: lines.index("--stop-on-collapse") + 1]
    assert command[:4] == ["-m", "conductor", "learn", "demo"]
    options = dict(zip(command[4:-1:2], command[5:-1:2], strict=True))
    assert options["--seed"] == "7"
    assert options["--warm-steps"] == "20"
    assert (options["--steps"], options["--shy"], options["--threads"]) == ("0", "0.25", "2")
    assert options["--out"] == str(path)
    variables = lines[len(command) :]
    assert "PYTHONPATH" in variables
    assert not {"ALPHA_API_KEY", "CONDUCTOR_DATABASE_URL"} & {*variables}
    assert trainings.failure(path) is None
    assert trainings.begin(SETTINGS, 2).name == "demo-2"


def test_one_training_at_a_time(trainings, python):
    python("time.sleep(60)")
    path = trainings.begin(SETTINGS, 1)
    with pytest.raises(DataError, match="demo is being trained"):
        trainings.begin(SETTINGS, 1)
    with pytest.raises(DataError, match="demo is being trained"):
        trainings.learn("orchard", [])
    trainings.stop(path)
    assert not trainings.runs_here(path)
    assert trainings.failure(path) is None, "it was stopped"
    trainings.resume(path, SETTINGS, 1)
    assert trainings.runs_here(path)
    trainings.close()
    assert not trainings.runs_here(path)


@pytest.mark.slow
def test_a_child_that_ignores_the_request_to_end_is_killed(trainings, python, monkeypatch):
    monkeypatch.setattr(module, "STOP_SECONDS", 0.1)
    python("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True)\n"
           "time.sleep(60)")  # fmt: skip
    path = trainings.begin(SETTINGS, 1)
    until(lambda: last_line(path) == "deaf")
    trainings.stop(path)
    assert not trainings.runs_here(path)


@pytest.mark.parametrize(
    ("then", "failure"),
    [
        ("sys.exit('conductor: Training needs torch.')", "Training needs torch."),
        ("os.kill(os.getpid(), 9)", "It was ended from outside, by signal 9, after: it has begun"),
        ("open({log!r}, 'w'); os._exit(3)", "It ended with code 3."),
    ],
)
def test_why_a_child_ended_early_is_its_last_line(trainings, python, then, failure):
    python(then.format(log=str(trainings.folder.resolve() / "demo" / LOG)))
    path = trainings.begin(SETTINGS, 1)
    until(lambda: not trainings.runs_here(path))
    assert trainings.failure(path) == failure


def test_corrections_are_taught_from_a_file_and_beside_it(trainings, python, record):
    python("")
    path = trainings.learn("orchard", [{"prompt": "Why?"}, {"prompt": "How?"}])
    until(lambda: not trainings.runs_here(path))
    assert record.read_text(encoding="utf-8").splitlines()[:8] == [
        "-m", "conductor", "learn", "corrections", "orchard", str(path / "corrections.jsonl"), "--out",
        str(path / "conductor"),
    ]  # fmt: skip
    assert (path / "corrections.jsonl").read_text(
        encoding="utf-8"
    ) == '{"prompt": "Why?"}\n{"prompt": "How?"}\n'


def test_without_torch_it_is_stated_what_to_install(trainings, monkeypatch):
    monkeypatch.setattr(module, "trainer", lambda: None)
    with pytest.raises(DataError, match="install them with `make learn`"):
        trainings.begin(SETTINGS, 1)


def test_a_planner_learns_by_this_python_with_the_keys_and_its_questions_in_the_folder(
    trainings, python, record, monkeypatch
):
    monkeypatch.setenv("ALPHA_API_KEY", "sk-secret")
    python("")
    monkeypatch.setattr(sys, "executable", str(module.trainer()))
    item = Item(id="1", input="What is 6 * 7?", target="42", scorer="number")
    settings = PlannerSettings(data="", use="nearest", draws=2, plans=4, budget=Budget(cost=1.5))
    path = trainings.learn_planner("mine", settings, DataSet("sums/é", (item,)))
    until(lambda: not trainings.runs_here(path))
    file = path / "sums_é.jsonl"
    assert read_data(file).items == (item,)
    lines = record.read_text(encoding="utf-8").splitlines()
    assert lines[:4] == ["-m", "conductor", "learn", "mine"]
    assert {"--name=mine", f"--out={path}", "--plans=4", "--budget-cost=1.5"} <= {*lines}
    assert lines[lines.index("--") + 1] == str(file)
    assert "ALPHA_API_KEY" in lines
    assert not any("sk-secret" in line for line in lines)
    trainings.resume_planner(path, read_planner_run(path).settings)
    with pytest.raises(DataError, match="mine is being trained"):
        trainings.learn_planner("other", settings, None)
    until(lambda: not trainings.runs_here(path))
    with pytest.raises(DataError, match="a folder mine already"):
        trainings.learn_planner("mine", settings, None)
    with pytest.raises(DataError, match="is no name of a planner"):
        trainings.learn_planner("../mine", settings, None)


@pytest.mark.skipif(os.geteuid() == 0, reason="everything can be written")
def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(DataError, match="learn/demo cannot be made: Permission denied"):
        Trainings(tmp_path / "learn").begin(SETTINGS, 1)


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "learn").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="cannot be made"):
        Trainings(tmp_path / "learn").begin(SETTINGS, 1)
