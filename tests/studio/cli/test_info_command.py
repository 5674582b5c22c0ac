"""Where the commands look for a pool and a store, and that `info` shows it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from conductor.files import project_folder
from conductor.workers.pool.pool import configured_path
from storage import default_url
from tests.studio.cli.command_line import Line

POOL = '[[worker]]\nkind = "simulated"\nname = "alpha"\nanswer = "from alpha"\n'


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user's own pool file would be."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    return tmp_path / "config" / "conductor-studio" / "pool.toml"


OWN = "config/conductor-studio/pool.toml"
PLACES: list[tuple[tuple[str, ...], str, str | None, str]] = [
    ((), "project", None, "{}/share/conductor-studio/conductor.db"),
    (("project/pool.toml",), "project", "pool.toml", "data/conductor.db"),
    (("project/pool.toml",), "project/a/b", "{}/project/pool.toml", "{}/project/data/conductor.db"),
    (("project/data/conductor.db",), "project/a", None, "{}/project/data/conductor.db"),
    (("project/data/api-token",), "project/a", None, "{}/project/data/conductor.db"),
    (
        ("project/pool.toml", "project/a/data/conductor.db"), "project/a",
        "{}/project/pool.toml", "data/conductor.db",
    ),
    (
        ("pool.toml", "project/pool.toml"), "project/a",
        "{}/project/pool.toml", "{}/project/data/conductor.db",
    ),
    ((OWN,), "project", f"{{}}/{OWN}", "{}/share/conductor-studio/conductor.db"),
    ((OWN, "project/pool.toml"), "project", "pool.toml", "data/conductor.db"),
]  # fmt: skip
"""The files that are there, the current folder, and the pool and the store that are in force."""


@pytest.mark.parametrize("place", PLACES)
def test_the_nearest_files_from_here_up_are_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[tuple[str, ...], str, str | None, str]
) -> None:
    files, here, pool, store = place
    root = tmp_path / "root"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(root / "share"))
    (root / here).mkdir(parents=True)
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(POOL if name.endswith(".toml") else "")
    monkeypatch.chdir(root / here)
    # The folder above them has the tests' own store.
    (tmp_path / "data" / "conductor.db").unlink()
    path = configured_path()
    assert (None if path is None else str(path)) == (pool and pool.format(root))
    assert default_url() == f"sqlite:///{store.format(root)}"


def test_a_file_of_another_user_above_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pool.toml").write_text(POOL)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert configured_path() == tmp_path / "pool.toml"
    monkeypatch.setattr(project_folder.os, "geteuid", lambda: os.getuid() + 1)
    assert configured_path() is None


@pytest.mark.slow
def test_info_names_what_is_in_force_and_hides_secrets(
    line: Line, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pool.toml").write_text(POOL)
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    monkeypatch.setenv("CONDUCTOR_PASSWORD", "hunter2")
    monkeypatch.setenv("CONDUCTOR_AUTHOR", "Ada")
    shape = json.loads(line("info", "--json").out)
    assert (shape["pool"]["place"], shape["store"]["exists"]) == (str(folder / "pool.toml"), True)
    assert shape["pool"]["why"] == f"in {folder}, above this folder"
    assert shape["variables"].items() >= {"CONDUCTOR_AUTHOR": "Ada", "CONDUCTOR_PASSWORD": "(set)"}.items()
    assert "hunter2" not in line("info").out
    named = json.loads(line("info", "--pool", "nope.toml", "--database", "sqlite:///x.db", "--json").out)
    assert (named["pool"]["why"], named["store"]["why"]) == ("--pool", "--database")
    assert "cannot be read" in named["pool"]["fault"]
    server = line("info", "--database", "postgresql://me:hunter2@host/name").out
    assert "hunter2" not in server


@pytest.mark.slow
def test_without_a_store_nothing_is_written(
    line: Line, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "pool.toml").write_text(POOL)
    (folder / "data" / "conductor.db").unlink()
    (folder / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder / "tmp"))
    for arguments in (("run", "say it"), ("plan", "say it")):
        result = line(*arguments, "--no-store")
        assert result.code == 0
        assert "; next:" not in result.err
    assert list((folder / "data").iterdir()) == []
    assert list((folder / "tmp").iterdir()) == []
    refused = line("run", "say it", "--no-store", "--database", "sqlite:///x.db")
    assert (refused.code, "leave --database out" in refused.err) == (1, True)
