"""The exit code of a gate: better than the first planner, by the p of all the named ones together."""

from __future__ import annotations

import pytest

from conductor.errors import DataError
from conductor.evaluation.evaluation_table import Cell, EvaluationTable, table_of
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult
from studio.cli.evaluation.outcome import _shown_progress, exit_code
from studio.evaluation.execution.evaluation_run import Progress

PLANNERS = ("conductor", "baseline:vote", "baseline:moa", "baseline:rules")
RIGHT = {"conductor": 0, "baseline:vote": 6, "baseline:moa": 6, "baseline:rules": 0}
"""Of six questions; six in favour of one are the fewest that are significant alone (p = .031)."""


def _table() -> EvaluationTable:
    items = [Item(id=str(at), input=f"{at}?", target=(str(at),)) for at in range(6)]
    cells = [
        Cell(
            item=at,
            planner=planner,
            repeat=0,
            session="",
            result=CellResult(score=Score(verdict="right" if at < RIGHT[planner] else "wrong")),
        )
        for planner in PLANNERS
        for at in range(6)
    ]
    return table_of(items, PLANNERS, cells)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        ((), 0),
        (("baseline:vote",), 1),
        (("baseline:vote", "baseline:vote"), 1),
        (("baseline:vote", "baseline:moa"), 0),
        (("baseline:vote", "baseline:rules"), 0),
        (("baseline:rules",), 0),
    ],
)
def test_a_gate_of_several_names_is_as_strict_as_one(names: tuple[str, ...], code: int) -> None:
    assert exit_code(_table(), names) == code


def test_a_name_that_is_no_planner_is_refused() -> None:
    with pytest.raises(DataError, match="no planner 'baseline:reflect'"):
        exit_code(_table(), ("baseline:reflect",))


def test_without_a_terminal_each_tenth_of_the_answers_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with _shown_progress(quiet=False) as listen:
        assert listen is not None
        for done in range(41):
            listen(Progress(done=done, cells=40, right={"worker:a": done // 2}))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 9
    assert "4 of 40 answers, 50% right" in lines[0]
    with _shown_progress(quiet=True) as listen:
        assert listen is None
