"""The chart of accuracy against what an answer takes, and the marks of planners in it."""

from __future__ import annotations

import streamlit as st

from conductor.baselines.named import WORKER
from conductor.drawing.marks import Mark
from conductor.evaluation.evaluation_table import EvaluationTable
from conductor.evaluation.report.chart import chart_image
from conductor.evaluation.report.figure import AXES, MARKS, axes, figure_of, left_out
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
