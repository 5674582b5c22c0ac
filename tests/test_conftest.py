"""What pytest is set to do: it ends a test that hangs, and names why others were skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.disk import small_disk

ROOT = Path(__file__).parent.parent

FILE = """
import threading
import pytest

pytestmark = pytest.mark.timeout(1)

@pytest.fixture(scope="module")
def hanging():
    threading.Event().wait()

@pytest.fixture
def hanging_in_the_end():
    yield
    threading.Event().wait()

async def test_one():
    threading.Event().wait()

def test_two(hanging): ...

def test_three(hanging): ...

def test_four(hanging_in_the_end):
    raise ValueError

@pytest.mark.parametrize("n", [1, 2])
def test_five(n):
    pytest.skip("there is no Node here")

@pytest.mark.skip("there is no browser here")
def test_six(): ...

def test_seven(): ...
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_what_hangs_fails_and_is_named_and_each_reason_to_skip_is_printed(tmp_path: Path):
    file = tmp_path / "test_hanging.py"
    file.write_text(FILE, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-p",
        "tests.conftest",
        "-c",
        str(ROOT / "pyproject.toml"),
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}

    done = subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path), str(file)],
        cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=120,
    )  # fmt: skip

    assert done.returncode == 1, done.stdout + done.stderr
    outcomes = [
        line.split(" - ") for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
    ]
    limit = "Failed: Timeout (>1.0s) from pytest"
    assert [(name.replace("::", " ").split()[-1], what.startswith(limit)) for name, what in outcomes] == [
        ("test_one", True),
        ("test_four", False),
        ("test_two", True),
        ("test_three", True),
        ("test_four", True),
    ]
    assert "3 skipped" in done.stdout
    assert "    2 there is no Node here\n    1 there is no browser here\n" in done.stdout


@pytest.mark.slow
def test_all_small_disks_that_cannot_be_mounted_are_skipped_for_one_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    mount = tmp_path / "mount"
    mount.write_text(
        '#!/bin/sh\necho "mount: $6: must be superuser to use mount.\n dmesg(1) has more." >&2\nexit 32\n'
    )
    mount.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    reasons = []
    for name in ("one", "two"):
        with pytest.raises(pytest.skip.Exception) as skipped, small_disk(tmp_path / name):
            pass
        reasons.append(str(skipped.value))
    assert reasons == ["A small disk cannot be mounted here: must be superuser to use mount."] * 2
