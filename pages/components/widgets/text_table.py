"""A table of texts for reading: a name a row, a cell a column, letter for letter.

A small Streamlit component (v2). Knows texts, nothing of runs or workflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import streamlit as st

from pages.components.widgets.text_block import Stretch

_HERE = Path(__file__).parent

Mark = Literal["", "added", "removed", "changed", "missing"]

_sheet = st.components.v2.component(
    "conductor_sheet",
    html='<div class="text-table" tabindex="0" role="region"><table></table></div>',
    css=(_HERE / "text_table.css").read_text(encoding="utf-8"),
    js=(_HERE / "text_table.js").read_text(encoding="utf-8"),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """The content of a cell: a `title`, a `text` in stretches, short `notes`, a quiet `foot`."""

    title: str = ""
    text: tuple[Stretch, ...] = ()
    notes: tuple[str, ...] = ()
    foot: str = ""
    mark: Mark = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row under its `name` with a cell for every column."""

    name: str
    cells: tuple[Cell, ...]


def text_table(
    rows: Sequence[Row],
    *,
    key: str,
    label: str,
    columns: Sequence[str],
    narrow: bool = False,
) -> None:
    """Draw the table; `columns` are the heads above the cells. `narrow`: as wide as its texts need."""
    data = {
        "label": label,
        "columns": list(columns),
        "narrow": narrow,
        "rows": [{"name": row.name, "cells": [_told(cell) for cell in row.cells]} for row in rows],
    }
    _sheet(key=key, data=data)


def _told(cell: Cell) -> dict[str, object]:
    return {
        "title": cell.title,
        "text": [list(stretch) for stretch in cell.text],
        "notes": list(cell.notes),
        "foot": cell.foot,
        "mark": cell.mark,
    }
