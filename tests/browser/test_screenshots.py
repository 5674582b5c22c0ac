"""The program that takes pictures starts as a script, from the repository's root."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.browser.app_server import ROOT


@pytest.mark.slow
@pytest.mark.thorough
def test_the_program_finds_what_it_imports() -> None:
    command = [sys.executable, "tests/browser/screenshots.py", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, "--docs" in done.stdout) == (0, True), done.stderr
