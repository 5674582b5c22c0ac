"""Rows as a table for a terminal, and what stands in its cells. Pure; knows no command.

Names, titles and answers are not ours: what would move a terminal's cursor or colour is shown as spaces.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime

UNKNOWN = "-"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Columns of equal width, but for the last; those at the places `right` end where their headings end."""
    lines = [headings, *rows]
    widths = [max(map(_width, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            _filled(cell, width, right=at in right)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _filled(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - _width(cell))
    return space + cell if right else cell + space


def _width(text: str) -> int:
    """Places in a terminal: letters of the East take two, marks on letters none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def one_line(text: str, limit: int = 0) -> str:
    """The text in one line without control characters, cut to `limit` characters (0: none)."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * limit] or text)
    line = " ".join(shown.split())
    return line if not limit or len(line) <= limit else f"{line[: limit - 1]}…"


def lines_of(text: str) -> str:
    """The text with its lines, without other control characters."""
    return "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in text)


def moment(at: float | None) -> str:
    """A time (Unix seconds) by this machine's clock."""
    return UNKNOWN if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def amount(number: int | None) -> str:
    """A number, or that it is unknown."""
    return UNKNOWN if number is None else f"{number:,}"
