"""Tables for a terminal: columns that stand under one another whatever is in them."""

from __future__ import annotations

import pytest

from conductor.commands.table import amount, lines_of, one_line, table


def test_columns_stand_under_one_another() -> None:
    shown = table(("id", "title", "n"), [("1", "東京", "5"), ("22", "e\u0301te", "1,000")], right=(2,))
    assert shown.splitlines() == ["id  title      n", "1   東京       5", "22  e\u0301te    1,000"]


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("one\ntwo\t three", 0, "one two three"),
        ("\x1b[31mred\x07", 0, "[31mred"),
        ("right\u202eto left", 0, "right to left"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("x" * 1_000_000, 4, "xxx…"),
        ("", 5, ""),
    ],
)
def test_what_moves_a_cursor_is_not_shown(text: str, limit: int, shown: str) -> None:
    assert one_line(text, limit) == shown


def test_a_text_keeps_its_lines_alone() -> None:
    assert lines_of("one\n\ttwo\x1b[2J\r") == "one\n\ttwo [2J "


def test_an_unknown_number_is_no_zero() -> None:
    assert (amount(None), amount(0), amount(12_345)) == ("-", "0", "12,345")
