"""A command is started once a person has accepted just that command for that pool file on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conductor.errors import PoolError, ToolError
from conductor.workers.tools.accepted_commands import (
    ALLOWED,
    accept,
    check_command,
    commands_file,
    is_accepted,
)
from conductor.workers.tools.tool_server import ToolServer

FILES = ToolServer(name="files", command=("files", "a b"), cwd="/srv", env=("LANG",), pool="/srv/pool.toml")


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOWED)
    monkeypatch.setattr(
        "conductor.workers.tools.accepted_commands.own_pool_file", lambda: tmp_path / "own/pool.toml"
    )


def test_a_command_counts_once_it_was_accepted() -> None:
    with pytest.raises(ToolError, match=r"not started: files 'a b'\. .*doctor --accept-tools"):
        check_command(FILES)
    accept(FILES)
    accept(FILES)
    check_command(FILES)
    assert len(commands_file().read_text().splitlines()) == 1


@pytest.mark.parametrize(
    "changes",
    [{"command": ("files", "/")}, {"cwd": "/"}, {"env": ()}, {"pool": "/other.toml"}],
    ids=lambda changes: next(iter(changes)),
)
def test_what_differs_in_anything_is_another_command(changes: dict[str, Any]) -> None:
    accept(FILES)
    assert not is_accepted(FILES.model_copy(update=changes))


def test_a_servers_name_and_patience_are_not_the_command() -> None:
    accept(FILES)
    assert is_accepted(FILES.model_copy(update={"name": "other", "seconds": 1.0}))


@pytest.mark.parametrize(
    "server",
    [ToolServer(name="sums", built_in="calculator"), ToolServer(name="web", url="http://localhost:1/mcp")],
    ids=lambda server: server.name,
)
def test_a_server_without_a_command_needs_no_yes(server: ToolServer) -> None:
    check_command(server)


@pytest.mark.parametrize(("value", "accepted"), [("all", True), ("1", False), ("", False)])
def test_a_variable_accepts_all_commands(value: str, accepted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED, value)
    assert is_accepted(FILES) is accepted


def test_a_file_that_others_could_write_accepts_nothing() -> None:
    accept(FILES)
    commands_file().chmod(0o666)
    with pytest.raises(PoolError, match="is not yours alone"):
        is_accepted(FILES)
