from __future__ import annotations

import json
from pathlib import Path

import pytest

from conductor.errors import DataError
from conductor.learning.demonstration.run_folder import METRICS, STATE, RunFolder
from conductor.learning.demonstration.settings import DemoSettings

SETTINGS = DemoSettings(seed=3)


def test_a_run_goes_on_with_the_metrics_of_its_last_state(tmp_path: Path):
    first = RunFolder(tmp_path / "run", SETTINGS)
    assert first.load() is None
    for step in (1, 2):
        first.add({"kind": "grpo", "step": step})
    first.save(b"after two steps")
    first.add({"kind": "grpo", "step": 3})
    with (tmp_path / "run" / METRICS).open("a") as file:
        file.write('{"kind": "gr')  # it was killed here
    again = RunFolder(tmp_path / "run", SETTINGS)
    assert again.load() == b"after two steps"
    assert [line["step"] for line in again.metrics] == [1, 2]
    again.add({"kind": "grpo", "step": 3})
    again.save(b"after three steps")
    last = RunFolder(tmp_path / "run", SETTINGS)
    assert last.load() == b"after three steps"
    assert [line["step"] for line in last.metrics] == [1, 2, 3]


def test_a_run_without_a_state_begins_again(tmp_path: Path):
    RunFolder(tmp_path, SETTINGS).add({"kind": "warm start", "step": 10})
    folder = RunFolder(tmp_path, SETTINGS)
    assert folder.load() is None
    assert folder.metrics == []


def test_a_state_that_was_being_written_leaves_the_one_before(tmp_path: Path):
    RunFolder(tmp_path, SETTINGS).save(b"whole")
    (tmp_path / f"{STATE}.new").write_bytes(b"half")
    assert RunFolder(tmp_path, SETTINGS).load() == b"whole"


def test_results_end_a_run(tmp_path: Path):
    folder = RunFolder(tmp_path, SETTINGS)
    assert folder.results is None
    folder.write_results({"sampled": 0.8})
    assert RunFolder(tmp_path, SETTINGS).results == {"sampled": 0.8}


def test_a_folder_of_other_settings_is_left_as_it_is(tmp_path: Path):
    RunFolder(tmp_path, SETTINGS)
    with pytest.raises(DataError, match="other settings"):
        RunFolder(tmp_path, DemoSettings(seed=4))
    assert json.loads((tmp_path / "settings.json").read_text())["seed"] == 3


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written"):
        RunFolder(tmp_path / "file" / "run", SETTINGS)
