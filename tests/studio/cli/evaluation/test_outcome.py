"""The exit code of a gate: better than the first planner, by the p of all the named ones together."""

from __future__ import annotations

import pytest

from conductor.errors import DataError
from conductor.evaluation.evaluation_table import Cell, EvaluationTable, table_of
from conductor.evaluation.items import Item
from conductor.evaluation.score import Score, Verdict
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.values.messages import Usage
from studio.cli.evaluation import outcome
from studio.cli.evaluation.gate import Gate, code_of
from studio.cli.evaluation.outcome import progress_listener
from studio.evaluation.execution.evaluation_run import Progress
from studio.evaluation.results import possible_rates
from tests.support.runs.waiting import until

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
    assert code_of(Gate(fail_if_beaten_by=list(names)).findings(_table(), (None, None), missing=0)) == code


def test_a_name_that_is_no_planner_is_refused() -> None:
    with pytest.raises(DataError, match="no planner 'baseline:reflect'"):
        Gate(fail_if_beaten_by=["baseline:reflect"]).check(PLANNERS)


def test_without_a_terminal_a_line_comes_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcome, "_EVERY", 0.01)
    lines: list[str] = []
    with progress_listener("evaluation abc", quiet=False) as listen:
        assert listen is not None
        listen(Progress(done=4, cells=40, right={"worker:a": 1}, unanswered=2))
        until(lambda: lines.extend(capsys.readouterr().err.splitlines()) or len(lines) > 2)
    assert lines[0] == "conductor: evaluation abc begins"
    assert lines[-1] == "conductor: evaluation abc: 4 of 40 answers, 50% right · 2 not answered"
    with progress_listener("evaluation abc", quiet=True) as listen:
        assert listen is None


@pytest.mark.parametrize(
    ("gate", "right", "missing", "code"),
    [
        (Gate(fail_below=0.6), 6, 0, 0),
        (Gate(fail_below=0.6), 5, 0, 1),
        (Gate(fail_below=0.6), 5, 1, 5),
        (Gate(fail_below=0.6), 6, 4, 0),
        (Gate(fail_below=0.6), 2, 3, 1),
        (Gate(fail_below=0.6, by_interval=True), 7, 0, 1),
        (Gate(fail_below=0.6, by_interval=True), 10, 0, 0),
        (Gate(fail_below=0.6, by_interval=True), 8, 2, 5),
        (Gate(fail_above_tokens=10), 6, 0, 0),
        (Gate(fail_above_tokens=9.9), 6, 0, 1),
        (Gate(fail_above_seconds=2), 6, 0, 0),
        (Gate(fail_above_seconds=1.9), 6, 0, 1),
        (Gate(fail_above_cost=1), 6, 0, 5),
        (Gate(fail_above_invalid=0.2), 6, 0, 0),
        (Gate(fail_above_invalid=0.1), 6, 0, 1),
        (Gate(fail_above_invalid=0.2), 6, 1, 5),
    ],
)
def test_a_gate_is_closed_open_or_undecided(gate: Gate, right: int, missing: int, code: int) -> None:
    verdicts: list[Verdict] = ["right"] * right + ["no plan"] * 2 + ["wrong"] * (8 - right)
    verdicts = [*verdicts[: 10 - missing], *(["unanswered"] * missing)][:10]
    used = Usage(prompt_tokens=4, completion_tokens=6)
    cells = [
        Cell(
            item=at,
            planner="conductor",
            repeat=0,
            session="",
            result=CellResult(score=Score(verdict=verdict), work=used, calls=1, seconds=2.0),
        )
        for at, verdict in enumerate(verdicts)
    ]
    items = [Item(id=str(at), input=f"{at}?", target=("1",)) for at in range(10)]
    spec = EvaluationSpec(data="", digest="", planners=("conductor",))
    rates, lacking = possible_rates(spec, cells, len(items))
    findings = list(gate.findings(table_of(items, ["conductor"], cells), rates, missing=lacking))
    assert code_of(findings) == code
