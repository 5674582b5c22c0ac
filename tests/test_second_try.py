"""What CI does with a few failures: each is tried once more, alone and in sight."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SECOND_TRY = Path(__file__).parents[1] / ".ci" / "second_try"

ENDED = "make: *** [Makefile:9: test] Error 1\n"

TESTS = """
def test_steady(): ...

def test_broken():
    assert 1 == 2
"""


def tried(folder: Path, log: str, *tests: str) -> subprocess.CompletedProcess[str]:
    """The second try in `folder`, whose first one failed with these tests."""
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (folder / "test_some.py").write_text(TESTS, encoding="utf-8")
    failed = folder / ".pytest_cache" / "v" / "cache" / "lastfailed"
    failed.parent.mkdir(parents=True)
    failed.write_text(json.dumps(dict.fromkeys(tests, True)), encoding="utf-8")
    (folder / "log").write_text(log, encoding="utf-8")
    return subprocess.run(
        [sys.executable, SECOND_TRY, "log"], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_what_passes_then_is_named_as_unsteady_with_the_first_line_of_its_failure(tmp_path):
    log = f"FAILED test_some.py::test_steady - assert 3 == 4\n{ENDED}"
    done = tried(tmp_path, log, "test_some.py::test_steady")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "unsteady: test_some.py::test_steady assert 3 == 4"


@pytest.mark.slow
def test_what_fails_again_has_failed(tmp_path):
    done = tried(tmp_path, ENDED, "test_some.py::test_broken")
    assert done.returncode == 1
    assert "Failed twice: test_some.py::test_broken" in done.stdout


@pytest.mark.parametrize(
    ("log", "tests", "reason"),
    [
        (ENDED, [f"test_some.py::test_{n}" for n in range(4)], "4 tests failed"),
        (ENDED, [], "0 tests failed"),
        ("make: *** [Makefile:9: test] Error 2\n", ["test_some.py::test_steady"], "did not run to their end"),
        ("Killed\n", ["test_some.py::test_steady"], "did not run to their end"),
    ],
)
def test_nothing_is_tried_again_where_more_is_wrong(tmp_path, log, tests, reason):
    done = tried(tmp_path, log, *tests)
    assert done.returncode == 1
    assert reason in done.stdout
