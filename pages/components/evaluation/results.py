"""The results of an evaluation: the table, the categories. Draws only."""

from __future__ import annotations

import streamlit as st

from conductor.evaluation.evaluation_table import EvaluationTable
from conductor.evaluation.report import categories_html, planner_name, table_html
from conductor.evaluation.report.remarks import METHODS, remarks
from conductor.evaluation.spec import EvaluationSpec
from pages.components.tab.state import plain
from pages.components.widgets.accuracy_figure import planner_marks


def planners_table(table: EvaluationTable, spec: EvaluationSpec) -> None:
    with st.container(key="planners-table"):
        st.html(table_html(table, spec, marks=planner_marks(spec)))
    st.caption(
        f"{METHODS} Differences are from the first planner, in percentage points; bold means p < 0.05. "
        "Tokens, cost, calls, steps and time are means per question; “-” means unknown. The perfect "
        "router is computed afterwards: it takes the best single worker for each question."
    )
    sentences = [*remarks(table, lambda planner: planner_name(planner, spec)), table.judging_words]
    st.caption(plain(" ".join(filter(None, sentences)), limit=2000))


def categories(table: EvaluationTable, spec: EvaluationSpec) -> None:
    """Accuracy by category; nothing where the questions have none."""
    html = categories_html(table, spec, marks=planner_marks(spec))
    if html:
        st.subheader("By category", anchor=False)
        with st.container(key="categories-table"):
            st.html(html)
