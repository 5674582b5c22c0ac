"""Hints name the program as it was typed."""

from __future__ import annotations

import pytest

from conductor.own_settings import command_name
from conductor.workers.keys.hosts import KeyHost


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("/usr/local/bin/conductor", "conductor"),
        (r"conductor.exe", "conductor"),
        ("/src/conductor/__main__.py", "python -m conductor"),
        ("-c", "python -m conductor"),
        ("", "python -m conductor"),
    ],
)
def test_a_hint_names_the_program_as_it_was_typed(
    monkeypatch: pytest.MonkeyPatch, program: str, name: str
) -> None:
    monkeypatch.setattr("sys.argv", [program])
    assert command_name() == name
    assert f"by {name} doctor --confirm-keys" in KeyHost("K", "https://h").fault
