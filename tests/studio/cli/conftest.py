"""The command line in a folder of its own, so that nothing outside is read or written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from studio.cli.line import main
from tests.studio.cli.command_line import Line, Result


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty_store: Path) -> Path:
    """The current folder; the default store is in it, and empty."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    shutil.copyfile(empty_store, tmp_path / "data" / "conductor.db")
    return tmp_path


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str]) -> Line:
    """Runs one command in this process."""

    def run(*arguments: str) -> Result:
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
        result = capsys.readouterr()
        return Result(code, result.out, result.err)

    return run


@pytest.fixture
def simulated(folder: Path) -> str:
    """A pool file with two quick workers; one fails where it is asked for "bad"."""
    file = folder / "simulated.toml"
    file.write_text(
        """
[[worker]]
kind = "simulated"
name = "alpha"
answer = "from alpha"
fail_on = "bad"

[[worker]]
kind = "simulated"
name = "beta"
answer = "from beta"
tokens_per_second = 5000
""",
        encoding="utf-8",
    )
    return str(file)
