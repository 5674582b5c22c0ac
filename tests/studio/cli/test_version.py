"""`--version`, with which a report of a fault begins."""

from __future__ import annotations

import platform
import tomllib
from pathlib import Path

import pytest

from studio import version
from tests.studio.cli.command_line import Line, Result

ROOT = Path(__file__).parents[3]


def test_the_version_is_that_of_the_checkout_or_of_what_is_installed(
    line: Line, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    here = f"Python {platform.python_version()}\n"
    assert line("--version") == Result(0, f"Conductor Studio {project['version']}, {here}", "")
    monkeypatch.setattr(version, "_PROJECT", tmp_path / "pyproject.toml")
    monkeypatch.setattr(version, "version", {project["name"]: "9.8"}.__getitem__)
    assert line("--version") == Result(0, f"Conductor Studio 9.8, {here}", "")
