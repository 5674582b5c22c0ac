"""What an evaluation came to: the table, the chart, the categories. Draws only."""

from __future__ import annotations

import streamlit as st

from conductor.baselines.named import WORKER
from conductor.drawing.marks import Mark
from conductor.evaluation.evaluation_table import EvaluationTable
from conductor.evaluation.report import categories_html, planner_name, table_html
from conductor.evaluation.report.chart import chart_image
from conductor.evaluation.report.figure import AXES, MARKS, axes, figure_of, left_out
from conductor.evaluation.report.remarks import METHODS, remarks
from conductor.evaluation.spec import EvaluationSpec
from pages.components.tab.services import services
from pages.components.tab.state import plain
from pages.components.view_models.workflow.card_content import worker_marks
from pages.components.widgets.controls import choice


def planner_marks(spec: EvaluationSpec) -> dict[str, Mark]:
    """The marks of the planners that are one worker alone, as they are everywhere."""
    alone = [planner for planner in spec.planners if planner.startswith(WORKER)]
    configured = services().configured
    cards = configured().pool.cards if configured.usable else {}
    marks = worker_marks(cards, *(planner.removeprefix(WORKER) for planner in alone))
    return {planner: marks[planner.removeprefix(WORKER)] for planner in alone}


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


def accuracy_figure(table: EvaluationTable, spec: EvaluationSpec) -> None:
    """Accuracy against tokens, dollars or calls, as a person chooses; nothing if all of them are unknown."""
    options = axes(table)
    if not options:
        return
    st.subheader("What accuracy costs", anchor=False)
    axis = options[0]
    if len(options) > 1:
        axis = choice("Against", {each: AXES[each] for each in options}, key="chart-axis", default=axis)
    with st.container(key="accuracy-chart"):
        dark = st.context.theme.type == "dark"
        st.html(chart_image(figure_of(table, axis, spec), dark=dark, marks=planner_marks(spec)))
    st.caption(MARKS)
    if missing := left_out(table, axis, spec):
        st.caption(plain(missing, limit=1000))


def categories(table: EvaluationTable, spec: EvaluationSpec) -> None:
    """Accuracy by category; nothing where the questions have none."""
    html = categories_html(table, spec, marks=planner_marks(spec))
    if html:
        st.subheader("By category", anchor=False)
        with st.container(key="categories-table"):
            st.html(html)
