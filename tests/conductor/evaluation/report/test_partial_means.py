"""A mean over a part of the answers, or of upper bounds, states so wherever the table is read."""

from __future__ import annotations

import csv
import io

import pytest

from conductor.evaluation.evaluation_table import Cell, EvaluationTable, table_of
from conductor.evaluation.items import Item
from conductor.evaluation.report import report_page, table_html
from conductor.evaluation.report.exports import as_csv, as_latex
from conductor.evaluation.report.remarks import remarks
from conductor.evaluation.score import Score
from conductor.evaluation.spec import CellResult, EvaluationSpec
from conductor.values.messages import Usage
from studio.cli.output.evaluation_table import table_lines

EXACT = Usage(prompt_tokens=1_000, completion_tokens=100, cost=0.25)
BOUNDED = EXACT.model_copy(update={"least_cost": 0.01})
SPEC = EvaluationSpec(data="", digest="", planners=("worker:a",))


def table_with(*works: Usage) -> EvaluationTable:
    items = [Item(id=str(at), input="?", target=("x",)) for at in range(len(works))]
    cells = [
        Cell(
            item=at,
            planner="worker:a",
            repeat=0,
            session="s",
            result=CellResult(score=Score(verdict="right"), work=work),
        )
        for at, work in enumerate(works)
    ]
    return table_of(items, ("worker:a",), cells)


@pytest.mark.parametrize(
    ("works", "tokens", "cost", "sizes"),
    [
        ((EXACT, EXACT), "1,100", "$0.2500", (2, 2, 2, 0)),
        ((EXACT, Usage()), "1,100 (1 of 2)", "$0.2500 (1 of 2)", (2, 1, 1, 0)),
        ((EXACT, EXACT.model_copy(update={"cost": None})), "1,100", "$0.2500 (1 of 2)", (2, 2, 1, 0)),
        ((EXACT, BOUNDED), "1,100", "≤ $0.2500", (2, 2, 2, 1)),
        ((BOUNDED, Usage()), "1,100 (1 of 2)", "≤ $0.2500 (1 of 2)", (2, 1, 1, 1)),
    ],
)
def test_a_mean_states_its_part_and_its_bound_wherever_it_is_read(
    works: tuple[Usage, ...], tokens: str, cost: str, sizes: tuple[int, ...]
) -> None:
    table = table_with(*works)
    for text in (table_html(table, SPEC), table_lines(table)):
        assert f"{tokens}<" in text or f"{tokens}  " in text
        assert cost in text
    (row,) = csv.DictReader(io.StringIO(as_csv(table)))
    names = ("means_of", "tokens_known", "cost_known", "cost_at_most")
    assert tuple(int(row[name]) for name in names) == sizes
    assert f"& {tokens.replace(',', '')} &" in as_latex(table)
    notes = " ".join(remarks(table))
    assert ("only the answers with a known figure" in notes) == ("of 2" in tokens + cost)
    assert ("the price of cached tokens" in notes) == ("≤" in cost)
    assert all(note in report_page(table, SPEC, begun_at=0, questions=2) for note in [cost])
