"""The graph of a workflow as text: from the drawing alone, who reads whom."""

from __future__ import annotations

import pytest
from hypothesis import given
from rich.cells import cell_len

from conductor.workflow.model import Workflow
from studio.cli.output.plan_graph import plan_lines
from tests.support.runs.workflow_cases import workflow_of, workflows


@pytest.mark.parametrize(
    ("access", "graph"),
    [
        ([(), (0,)], ["○", "●"]),
        ([(), (), (0, 1)], ["○", "│ ○", "●─╯"]),
        ([(), (0,), (0,), (1, 2)], ["○", "├─●", "● │", "●─╯"]),
        ([(), (), (), (0, 1, 2)], ["○", "│ ○", "│ │ ○", "●─┴─╯"]),
        ([(), (), (0, 1), (0, 1)], ["○", "│ ○", "├─┼─●", "●─╯"]),
        # Below a step that none reads there is no reader.
        ([(), (), (0,), (2,)], ["○", "│ ○", "●", "●"]),
    ],
)
def test_a_graph_has_a_row_for_each_step(access: list[tuple[int, ...]], graph: list[str]) -> None:
    rows = [line[2:].split(".")[0][:-1].rstrip() for line in list(plan_lines(workflow_of(*access)))[1:]]
    assert rows == graph


@given(workflows())
def test_the_lines_of_a_graph_lead_from_each_step_to_its_readers(workflow: Workflow) -> None:
    rows = [line[2:] for line in list(plan_lines(workflow))[1:]]
    reads: list[set[int]] = []
    above: dict[int, int] = {}
    for at, row in enumerate(rows):
        cells = row[: row.index(f"{at + 1}. ")]
        own = max(cells.find("●"), cells.find("○"))
        joined = {own} if own in above and cells[own] == "●" else set()
        # Along the line across, to both sides of the box.
        for step in (-1, 1):
            place = own + step
            while 0 <= place < len(cells) and cells[place] in "─│├┤┼╰╯┴":
                joined |= {place} if cells[place] in "├┤┼╰╯┴" else set()
                place += step
        reads.append({above[lane] for lane in joined})
        above = {lane: above[lane] for lane in above if cells[lane : lane + 1] in [*"│├┤┼"]} | {own: at}
    assert reads == [set(step.access) for step in workflow.steps]


def test_a_graph_too_wide_to_read_is_left_out() -> None:
    wide = workflow_of(*[()] * 40, tuple(range(40)))
    assert list(plan_lines(wide))[1] == "  1. alpha: task 1"


def test_an_instruction_of_several_lines_stands_beside_its_lanes() -> None:
    workflow = workflow_of((), (0,)).with_instruction(0, "first\nsecond")
    assert list(plan_lines(workflow, ["done", "waits"])) == [
        "chain, 2 steps", "  ○ 1. alpha: first", "  │    second [done]",
        "  ● 2. alpha: task 2 (sees 1) [waits]",
    ]  # fmt: skip


def test_a_terminal_breaks_no_line_beside_the_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    workflow = workflow_of((), (), (0, 1)).with_instruction(0, "Name facts. " * 5 + "日本" * 20)
    (piped,) = [line for line in plan_lines(workflow) if "Name facts" in line]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    _, *rows = plan_lines(workflow)
    assert max(map(cell_len, rows)) <= 40
    assert [row[2:6].rstrip() for row in rows] == ["○", *"│" * (len(rows) - 3), "│ ○", "●─╯"]
    words = "".join(row[6:] for row in rows[:-2])
    assert "".join(words.split()) == "".join(piped[6:].split())
