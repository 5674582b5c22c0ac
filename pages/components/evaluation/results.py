"""What an evaluation came to: the table, the chart, the categories. Draws only."""

from __future__ import annotations

import streamlit as st

from conductor.evaluation.report import categories_html, table_html
from conductor.evaluation.report.figure import AXES, axes, figure_of, left_out
from conductor.evaluation.spec import EvaluationSpec
from conductor.evaluation.table import Table
from pages.components.tab.state import plain
from pages.components.view_models.evaluation_chart import DARK, LIGHT, accuracy_chart


def planners_table(table: Table, spec: EvaluationSpec) -> None:
    """The planners' figures."""
    with st.container(key="planners-table"):
        st.html(table_html(table, spec))
    st.caption(
        "Intervals are Wilson's. Differences are paired, to the first planner, in percentage points; in bold "
        "where McNemar's exact p is below 0.05. Tokens, cost, calls, steps and time are means of a question; "
        "“-” is unknown. The perfect router is computed: the best single worker for each question, after "
        "the fact."
    )
    if table.judging_words:
        st.caption(plain(table.judging_words))


def accuracy_figure(table: Table, spec: EvaluationSpec) -> None:
    """Accuracy against tokens, dollars or calls, as a person chooses; nothing where none is known."""
    known = axes(table)
    if not known:
        return
    st.subheader("Accuracy against what it takes", anchor=False)
    axis = known[0]
    if len(known) > 1:
        chosen = st.segmented_control(
            "Against", known, default=axis, required=True, key="chart-axis", format_func=AXES.__getitem__,
            label_visibility="collapsed",
        )  # fmt: skip
        axis = chosen or axis
    questions = max(row.cells for row in table.rows)
    title = (
        f"{spec.data}: right answers and {AXES[axis].lower()} a question ({questions:,} answers a planner)"
    )
    colours = DARK if st.context.theme.type == "dark" else LIGHT
    with st.container(key="accuracy-chart"):
        chart = accuracy_chart(figure_of(table, axis, spec), title=title, colours=colours)
        st.vega_lite_chart(dict(chart), width="stretch")
    if missing := left_out(table, axis, spec):
        st.caption(plain(missing, limit=1000))


def categories(table: Table, spec: EvaluationSpec) -> None:
    """Accuracy by category; nothing where the questions have none."""
    html = categories_html(table, spec)
    if html:
        st.subheader("By category", anchor=False)
        with st.container(key="categories-table"):
            st.html(html)
