"""The lines that people read about a run's tools."""

from __future__ import annotations

from conductor.runs.progress_lines import ProgressLines
from tests.support.runs.tool_cases import HOSTILE, tool_events


def test_calls_of_tools_have_lines_with_arguments_and_with_who_allowed_them() -> None:
    lines = ProgressLines()
    own = [line for event in tool_events("a.txt") if (line := lines.line(event)) is not None]
    assert own == [
        "[1/1] alpha works",
        '[1/1] calls files:read {"path": "a.txt"}, files:a.txt a.txt',
        "[1/1] has results: files:read (0.5 s, the server marks it as reading), files:a.txt (1.5 s, "
        'an error, allowed by a person, changed by a person: {"path": "a.txt"})',
        "[1/1] alpha is done, 6.0 s",
    ]


def test_a_line_is_one_line_and_bounded_whatever_a_model_wrote() -> None:
    lines = ProgressLines()
    for event in tool_events(f"{HOSTILE}\n" * 2_000):
        line = lines.line(event) or ""
        assert "\n" not in line
        assert len(line) < 500
