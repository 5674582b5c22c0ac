"""The HTML of an evaluation's table, its categories, and of a page with both and with its charts.

The template engine escapes everything; the page has no script, and its own policy forbids it to run one or to
load anything. Knows the table; knows no store.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from conductor.evaluation.report.chart import chart_svg
from conductor.evaluation.report.figure import MARKS, Axis, axes, figure_of, left_out
from conductor.evaluation.report.templates import TEMPLATES
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.table import Table

STYLES = Path(__file__).with_name("report.css")
_CHART_STYLES = Path(__file__).with_name("chart.css")

_DRAWN: tuple[Axis, ...] = ("tokens", "cost")


def table_html(table: Table, spec: EvaluationSpec) -> str:
    """The planners with their figures, as an element `table`."""
    return TEMPLATES.get_template("table.html").render(table=table, spec=spec)


def categories_html(table: Table, spec: EvaluationSpec) -> str:
    """Bars of each planner's accuracy by category, as an element `table`; "" where there is no category."""
    planners = [row.planner for row in table.rows if not row.computed]
    return (
        TEMPLATES.get_template("categories.html").render(
            categories=table.categories, planners=planners, spec=spec
        )
        if table.categories
        else ""
    )


def report_page(table: Table, spec: EvaluationSpec, *, begun_at: float, questions: int) -> str:
    """The whole page: what was asked, table, charts, categories. `begun_at` is in Unix seconds."""
    drawn = axes(table)
    charts = [
        (axis, chart_svg(figure_of(table, axis, spec)) if axis in drawn else "", left_out(table, axis, spec))
        for axis in _DRAWN
    ]
    return TEMPLATES.get_template("page.html").render(
        title=f"Evaluation on {spec.data}",
        spec=spec,
        begun=datetime.fromtimestamp(begun_at, tz=UTC).strftime("%d %b %Y, %H:%M UTC"),
        questions=questions,
        table=table_html(table, spec),
        charts=charts if sum(not row.computed for row in table.rows) > 1 else (),
        marks=MARKS,
        categories=categories_html(table, spec),
        styles="".join(file.read_text(encoding="utf-8") for file in (STYLES, _CHART_STYLES)),
    )
