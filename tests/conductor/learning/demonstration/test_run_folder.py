from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conductor.errors import DataError
from conductor.learning.demonstration.run_folder import METRICS, STATE, RunFolder, holder
from conductor.learning.demonstration.settings import DemoSettings
from tests.support.processes.child_process import child

SETTINGS = DemoSettings(seed=3)


def test_a_run_goes_on_with_the_metrics_of_its_last_state(tmp_path: Path):
    first = RunFolder(tmp_path / "run", SETTINGS)
    assert first.load() is None
    for step in (1, 2):
        first.add({"kind": "grpo", "step": step})
    first.save(b"after two steps")
    first.add({"kind": "grpo", "step": 3})
    with (tmp_path / "run" / METRICS).open("a", encoding="utf-8") as file:
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
    assert json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))["seed"] == 3


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be written"):
        RunFolder(tmp_path / "file" / "run", SETTINGS)


@pytest.mark.slow
def test_one_process_at_a_time_trains_in_a_folder(tmp_path: Path):
    folder = RunFolder(tmp_path, SETTINGS)
    assert holder(tmp_path) is None
    with folder.held():
        owner = holder(tmp_path)
        assert owner is not None
        assert owner.process == os.getpid()
        with pytest.raises(DataError, match=f"Process {os.getpid()} trains"), folder.held():
            pass
        assert holder(tmp_path) is not None
    assert holder(tmp_path) is None
    with folder.held():
        pass


@pytest.mark.thorough
@pytest.mark.slow
def test_a_killed_process_holds_no_folder(tmp_path: Path):
    RunFolder(tmp_path, SETTINGS)
    program = f"""
import sys
from pathlib import Path
from conductor.learning.demonstration.run_folder import RunFolder
from conductor.learning.demonstration.settings import DemoSettings
with RunFolder(Path({str(tmp_path)!r}), DemoSettings(seed=3)).held():
    print("held", flush=True)
    sys.stdin.read()
"""
    with child([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        owner = holder(tmp_path)
        assert owner is not None
        assert owner.process == other.pid
        other.kill()
        other.wait(60)
    assert holder(tmp_path) is None


def test_what_cannot_be_written_any_more_is_named(tmp_path: Path):
    folder = RunFolder(tmp_path, SETTINGS)
    (tmp_path / METRICS).mkdir()
    with pytest.raises(DataError, match="What was stored is kept"):
        folder.add({"kind": "grpo", "step": 1})
    (tmp_path / STATE).mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        folder.save(b"state")


def test_a_disk_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(_: object) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("conductor.learning.demonstration.run_folder.lock", refused)
    with pytest.raises(DataError, match="No locks available"), RunFolder(tmp_path, SETTINGS).held():
        pass
