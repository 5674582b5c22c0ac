"""A run's folder is folded into the same value while it is written, afterwards, and after a kill."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from conductor.errors import DataError
from conductor.learning.demonstration.run_folder import LOCK, METRICS, RESULTS, SETTINGS, RunFolder
from conductor.learning.demonstration.settings import DemoSettings
from conductor.planner.local.card import CARD
from studio.learning.training_run import read_run, runs_below, trained_below, with_metrics

SETTINGS_OF = DemoSettings(warm_steps=100, grpo_steps=20)
GAUGES = {
    "reward": 0.5, "valid": 0.9, "right": 0.4, "steps": 1.5, "one_step": None, "entropy": 2.0, "live": 0.5,
    "tokens": 90.0,
}  # fmt: skip
ALARM = {"kind": "alarm", "step": 7, "what": "only 40% of the plans are valid", "cure": "lower --grpo-lr"}


def warm(step):
    return {"kind": "warm start", "step": step, "loss": 1 / step}


def grpo(step, kind="grpo"):
    return {"kind": kind, "step": step, **GAUGES, "calls": 3, "saved": 4}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path / "demo", SETTINGS_OF)


def test_the_lines_of_a_run_are_its_curves():
    run = with_metrics(
        Path("demo"), SETTINGS_OF, [warm(50), warm(100), grpo(0, "evaluation"), grpo(1), ALARM]
    )
    assert run.losses == ((50, 1 / 50), (100, 1 / 100))
    assert [(step, gauges.right, gauges.one_step) for step, gauges in run.steps] == [(1, 0.4, None)]
    assert [step for step, _ in run.fixed] == [0]
    assert [(step, alarm.cure) for step, alarm in run.alarms] == [(7, "lower --grpo-lr")]
    assert (run.warm_step, run.grpo_step) == (100, 1)


@pytest.mark.parametrize(
    ("lines", "share"),
    [
        ([], 0.0),
        ([warm(50)], 50 / 160),
        ([warm(100)], 100 / 160),
        ([warm(100), grpo(10)], 130 / 160),
        ([warm(100), grpo(20)], 1.0),
    ],
)
def test_the_bar_stands_where_the_steps_are(lines, share):
    assert with_metrics(Path("demo"), SETTINGS_OF, lines).share == pytest.approx(share)


def test_a_line_that_is_being_written_is_left_for_the_next_look(folder):
    folder.add(warm(10))
    with (folder.path / METRICS).open("a", encoding="utf-8") as file:
        file.write('{"kind": "warm start", "st')
    assert [step for step, _ in read_run(folder.path).losses] == [10]


def test_a_run_is_running_while_a_process_holds_it_and_else_interrupted(folder):
    assert read_run(folder.path).state == "interrupted"
    with folder.held():
        run = read_run(folder.path)
        assert run.state == "running"
        assert run.trained_by is not None
        assert run.trained_by.process == os.getpid()
    assert (folder.path / LOCK).exists()
    assert read_run(folder.path).state == "interrupted"


@pytest.mark.parametrize(("stop_on_collapse", "state"), [(True, "collapsed"), (False, "interrupted")])
def test_a_run_that_its_gauges_ended_has_collapsed(tmp_path, stop_on_collapse, state):
    settings = SETTINGS_OF.model_copy(update={"stop_on_collapse": stop_on_collapse})
    folder = RunFolder(tmp_path / "run", settings)
    folder.add(ALARM)
    assert read_run(folder.path).state == state


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (SETTINGS, "{"),
        (SETTINGS, '{"seed": "many"}'),
        (RESULTS, "{}"),
        (METRICS, '{"kind": "grpo", "step": 1}\n'),
        (METRICS, "3\n"),
        (METRICS, '{"kind": "warm start"\n{"kind": "warm start", "step": 10, "loss": 0.5}\n'),
        (METRICS, b"\xff\n"),
    ],
)
def test_a_folder_that_holds_something_else_is_named_and_the_others_are_listed(tmp_path, name, content):
    good = RunFolder(tmp_path / "good", SETTINGS_OF)
    broken = RunFolder(tmp_path / "broken", SETTINGS_OF)
    (broken.path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match="broken"):
        read_run(broken.path)
    runs, names = runs_below(tmp_path)
    assert ([run.path for run in runs], names) == ([good.path], ["broken"])


def test_the_newest_run_is_listed_first_and_without_a_folder_there_is_none(tmp_path):
    assert runs_below(tmp_path / "nothing") == ([], [])
    for at, name in enumerate(("old", "new")):
        folder = RunFolder(tmp_path / name, SETTINGS_OF)
        os.utime(folder.path / SETTINGS, (at, at))
    assert [run.name for run in runs_below(tmp_path)[0]] == ["new", "old"]


def test_conductors_are_found_where_a_training_wrote_them(tmp_path):
    for name in ("demo", "corrected"):
        (tmp_path / name / "conductor").mkdir(parents=True)
        (tmp_path / name / "conductor" / CARD).write_text(json.dumps({}), encoding="utf-8")
    (tmp_path / "begun").mkdir()
    assert {path.parent.name for path in trained_below(tmp_path)} == {"demo", "corrected"}
