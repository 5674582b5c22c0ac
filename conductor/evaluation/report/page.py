"""The HTML of an evaluation's table, its categories, and of a page with both.

The template engine escapes everything; the page has no script, and its own policy forbids it to run one or to
load anything. Knows the table; knows no store.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from conductor.evaluation.report.names import planner_name
from conductor.evaluation.score import WITHOUT_VERDICT
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.statistics import wilson
from conductor.evaluation.table import PlannerRow, Table
from conductor.text.formatting import dollars, duration

UNKNOWN = "-"


def table_html(table: Table, spec: EvaluationSpec) -> str:
    """The planners with their figures, as an element `table`."""
    return _TEMPLATES.get_template("table.html").render(table=table, spec=spec)


def categories_html(table: Table, spec: EvaluationSpec) -> str:
    """Bars of each planner's accuracy by category, as an element `table`; "" where there is no category."""
    planners = [row.planner for row in table.rows if not row.computed]
    return (
        _TEMPLATES.get_template("categories.html").render(
            categories=table.categories, planners=planners, spec=spec
        )
        if table.categories
        else ""
    )


def report_page(table: Table, spec: EvaluationSpec, *, begun_at: float, questions: int) -> str:
    """The whole page: what was asked, the table, the categories. `begun_at` is in Unix seconds."""
    return _TEMPLATES.get_template("page.html").render(
        title=f"Evaluation on {spec.data}",
        spec=spec,
        begun=datetime.fromtimestamp(begun_at, tz=UTC).strftime("%d %b %Y, %H:%M UTC"),
        questions=questions,
        table=table_html(table, spec),
        categories=categories_html(table, spec),
        styles=STYLES.read_text(encoding="utf-8"),
    )


# -- words of the templates ------------------------------------------------------------------------


def _share(part: float | None) -> str:
    return UNKNOWN if part is None else f"{part:.1%}"


def _amount(number: float | None, digits: int = 0) -> str:
    return UNKNOWN if number is None else f"{number:,.{digits}f}"


def _points(row: PlannerRow) -> str:
    """The difference to the first planner in percentage points."""
    if row.difference is None:
        return UNKNOWN
    points = round(100 * row.difference.difference, 1)
    return f"{points:+.1f}".replace("-", "\u2212") if points else "0.0"


def _p(row: PlannerRow) -> str:
    if row.difference is None:
        return UNKNOWN
    return "<0.001" if row.difference.p < 0.001 else f"{row.difference.p:.3f}"


STYLES = Path(__file__).with_name("report.css")

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_TEMPLATES.filters |= {
    "share": _share,
    "amount": _amount,
    "points": _points,
    "p": _p,
    "dollars": dollars,
    "duration": duration,
    "planner": planner_name,
}
_TEMPLATES.globals |= {"wilson": wilson, "without_verdict": WITHOUT_VERDICT}
