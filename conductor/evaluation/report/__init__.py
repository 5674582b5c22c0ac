"""A table of an evaluation as HTML: the part that a page shows, and a page with charts that loads nothing."""

from conductor.evaluation.report.evaluation_page import (
    categories_html,
    report_page,
    table_html,
    trials_html,
)
from conductor.evaluation.report.names import labelled, planner_name

__all__ = ["categories_html", "labelled", "planner_name", "report_page", "table_html", "trials_html"]
