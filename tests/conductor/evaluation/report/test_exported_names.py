"""The names of planners in what leaves the program: tables as text, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

from conductor.evaluation.evaluation_table import EvaluationTable, table_of
from conductor.evaluation.report import labelled
from conductor.evaluation.report.exports import PUBLISHED, as_csv, as_latex
from studio.cli.output.evaluation_table import table_lines

LABELS = {
    "worker:a": "worker:a",
    "baseline:masrouter": "baseline:masrouter (not fitted)",
    "baseline:trinity": "baseline:trinity (fixed order)",
}
"""By the names that commands take."""


def table() -> EvaluationTable:
    return table_of([], list(LABELS), [])


def test_what_is_written_carries_what_a_planner_is_in_its_name() -> None:
    for written in (as_csv(table()), as_latex(table()), table_lines(table())):
        assert all(name in written for name in LABELS.values())
    rows = list(csv.DictReader(io.StringIO(as_csv(table()))))
    assert [row["planner"] for row in rows][: len(LABELS)] == list(LABELS.values())


def test_categories_have_the_names_of_the_rows() -> None:
    share = object()
    named = labelled(replace(table(), categories={"sums": dict.fromkeys(LABELS, share)}))  # type: ignore[arg-type]
    assert named.categories["sums"] == dict.fromkeys(LABELS.values(), share)


def test_published_figures_are_those_of_the_paper() -> None:
    first, second, *others = PUBLISHED
    assert (first.method, first.accuracy, first.tokens) == ("Conductor", 77.27, 1820)
    assert (second.method, second.accuracy, second.tokens) == ("Mixture-of-Agents", None, 11203)
    assert [each.accuracy for each in others] == [72.35, 64.5, 62.1, 56.9, 52.4]
    assert {each.source for each in PUBLISHED} == {"arXiv 2512.04388"}
