"""What installs an extra names its packages: the program's own name on the index may be another one's."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from conductor import extras
from conductor.extras import install_command

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_is_the_same_in_a_checkout_and_where_it_is_installed(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = install_command(extra)
    assert command.startswith("pip install ")
    assert "conductor" not in command
    lines = [f"{each}; extra == '{name}'" for name, listed in EXTRAS.items() for each in listed]
    monkeypatch.setattr(extras, "_PROJECT", ROOT / "nowhere")
    monkeypatch.setattr(extras, "requires", lambda _: ["pydantic>=2", *lines])
    assert install_command(extra) == command


def test_no_text_of_the_program_or_its_documents_installs_it_by_name() -> None:
    files = [
        path for place in ("conductor", "storage", "studio", "pages") for path in (ROOT / place).rglob("*.py")
    ]
    files += [*(ROOT / "docs").glob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    named = re.compile(r"pip install\s+\S*conductor[-_]studio|conductor[-_]studio\[[a-z]")
    assert [str(file) for file in files if named.search(file.read_text(encoding="utf-8"))] == []
