"""The HTML of an evaluation's table, its categories, and of a page with both and with its charts.

The template engine escapes everything; the page has no script, and its own policy forbids it to run one or to
load anything. Knows the table; knows no store.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from conductor.drawing.marks import Mark
from conductor.evaluation.evaluation_table import EvaluationTable
from conductor.evaluation.report.chart import STYLES as CHART_STYLES
from conductor.evaluation.report.chart import chart_svg
from conductor.evaluation.report.figure import MARKS, Axis, axes, figure_of, left_out
from conductor.evaluation.report.names import planner_name
from conductor.evaluation.report.remarks import METHODS, remarks
from conductor.evaluation.report.templates import TEMPLATES
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.trials import TrialRow, Trials
from conductor.text.calendar_time import utc_time

STYLES = Path(__file__).with_name("report.css")

_CHART_AXES: tuple[Axis, ...] = ("tokens", "cost")


def table_html(
    table: EvaluationTable, spec: EvaluationSpec, *, marks: Mapping[str, Mark] | None = None
) -> str:
    """The planners with their figures, as an element `table`; `marks` stand before names of planners."""
    return TEMPLATES.get_template("table.html").render(table=table, spec=spec, marks=marks or {})


def trials_html(trials: Trials, *, best: TrialRow | None) -> str:
    """The variants of a trial with their differences, as an element `table`; `best` is marked."""
    return TEMPLATES.get_template("trials.html").render(trials=trials, best=best)


def categories_html(
    table: EvaluationTable, spec: EvaluationSpec, *, marks: Mapping[str, Mark] | None = None
) -> str:
    """Bars of each planner's accuracy by category, as an element `table`; "" where there is no category."""
    planners = [row.planner for row in table.rows if not row.computed]
    return (
        TEMPLATES.get_template("categories.html").render(
            categories=table.categories, planners=planners, spec=spec, marks=marks or {}
        )
        if table.categories
        else ""
    )


def report_page(table: EvaluationTable, spec: EvaluationSpec, *, begun_at: float, questions: int) -> str:
    """The whole page: what was asked, table, charts, categories. `begun_at` is in Unix seconds."""
    drawable = axes(table)
    charts = [
        (
            axis,
            chart_svg(figure_of(table, axis, spec)) if axis in drawable else "",
            left_out(table, axis, spec),
        )
        for axis in _CHART_AXES
    ]
    return TEMPLATES.get_template("page.html").render(
        title=f"Evaluation on {spec.data}",
        spec=spec,
        start=f"{utc_time(begun_at):%d %b %Y, %H:%M} UTC",
        questions=questions,
        table=table_html(table, spec),
        charts=charts if sum(not row.computed for row in table.rows) > 1 else (),
        marks=MARKS,
        methods=METHODS,
        remarks=remarks(table, lambda planner: planner_name(planner, spec)),
        categories=categories_html(table, spec),
        styles="".join(file.read_text(encoding="utf-8") for file in (STYLES, CHART_STYLES)),
    )
