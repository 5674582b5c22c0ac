"""The results of a learning: the examination as table and chart, its savings, and plans before and after."""

from __future__ import annotations

import streamlit as st

from conductor.baselines.planner_file.planner_file import break_even
from conductor.errors import ConductorError
from pages.components.learning.plan_pairs import plan_pair
from pages.components.learning.planner_runs import evaluation_links
from pages.components.tab.services import Services
from pages.components.tab.state import plain
from pages.components.view_models.planner_learning import exam_rows, learning_took
from pages.components.widgets.accuracy_figure import accuracy_figure
from pages.components.widgets.controls import expander
from studio.evaluation.results import table_of_evaluation
from studio.learning.planner_run import PlannerRun, exam_pairs


def planner_results(shared: Services, run: PlannerRun) -> None:
    """Draw them of a learning that is done."""
    if run.planner is None:
        return
    st.caption(plain(learning_took(run.planner)))
    if run.planner.card.reflection:
        st.markdown(plain(run.planner.card.reflection, limit=1000))
    if run.planner.texts and (box := expander("Texts in the prompt", "edit_note", key="planner-texts")):
        with box:
            for what, text in run.planner.texts.lines.items():
                st.caption(plain(what))
                st.code(text, language=None, wrap_lines=True)
    if run.planner.card.exam:
        st.subheader("On held-out questions", anchor=False)
        st.dataframe(
            exam_rows(run.planner), hide_index=True, key="planner-table", width="stretch", height="content",
            column_config={"Planner": st.column_config.TextColumn(width="medium")},
        )  # fmt: skip
        st.caption("The perfect router is computed: it takes the best single worker for each question.")
        for line in break_even(run.planner):
            st.markdown(plain(line))
    _examination(shared, run)
    evaluation_links(run)


def _examination(shared: Services, run: PlannerRun) -> None:
    """The chart and the plans, which the store has."""
    state, store = run.learning, shared.workbench.store
    if state is None or state.exam is None:
        return
    try:
        record = store.evaluations.find(state.exam)
    except ConductorError as error:
        st.caption(plain(str(error)))
        return
    accuracy_figure(table_of_evaluation(store, record), record.spec)
    pairs = exam_pairs(store, record)
    if pairs is not None:
        st.subheader("Plans before and after", anchor=False)
        plan_pair(pairs, shared.workbench.pool.cards, of=run.name, before="The Conductor", after=run.name)
