"""The documentation has the keys as the page shows them."""

from __future__ import annotations

from pathlib import Path

from pages.components.keyboard.shortcuts import SHORTCUTS

DOCUMENTATION = Path(__file__).parents[4] / "docs" / "workbench.md"


def test_the_documentation_lists_every_key_of_the_sheet():
    rows = [
        f"| {name} | {' '.join(f'`{key}`' for key in one.keys.split(' '))} | {one.does} |"
        for name, group in SHORTCUTS.items()
        for one in group
    ]
    table = "\n".join(["| | Keys | |", "| --- | --- | --- |", *rows])
    assert f"\n{table}\n" in DOCUMENTATION.read_text(encoding="utf-8"), (
        f"docs/workbench.md is to have:\n{table}"
    )
