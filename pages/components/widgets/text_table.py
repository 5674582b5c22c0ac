"""A table of texts for reading: a name a row, a cell a column, letter for letter.

A small Streamlit component (v2). Knows texts, nothing of runs or workflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from pages.components.streamlit_patches.component import component
from pages.components.widgets.text_block import Stretch

Mark = Literal["", "added", "removed", "changed", "missing"]

_table = component(
    "conductor_sheet",
    __file__,
    html='<div class="text-table" tabindex="0" role="region"><table></table></div>',
    css="text_table.css",
    js="text_table.js",
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
        "rows": [asdict(row) for row in rows],
    }
    _table(key=key, data=data)
