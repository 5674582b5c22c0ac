"""*Your pool*: planners that learn from plans tried on the pool's own questions; the list, or one of them."""

from __future__ import annotations

from operator import attrgetter

import streamlit as st

from conductor.baselines.planner_file.planner_file import break_even
from conductor.errors import ConductorError
from pages.components.learning.planner_runs import (
    evaluation_links,
    more_budget,
    open_planner,
    planner_list,
    planner_progress,
    read,
)
from pages.components.learning.planner_setup import new_planner
from pages.components.learning.training_results import plan_pair
from pages.components.learning.use import may_edit, planner_in_use, stop_using_planner, use_planner
from pages.components.tab.services import Services
from pages.components.tab.state import TabState, plain
from pages.components.view_models.planner_learning import exam_rows, facts, learning_took
from pages.components.widgets.accuracy_figure import accuracy_figure
from pages.components.widgets.controls import action, expander, page_head, row, watched
from pages.components.widgets.pool_saving import PLACE, saved_notice
from studio.evaluation.results import table_of_evaluation
from studio.learning.planner_run import PlannerRun, exam_pairs

# Between two looks at a learning that is under way, and at one that another tab may go on with.
_LIVE_SECONDS, _IDLE_SECONDS = 1.5, 5.0


def your_pool(shared: Services, *, usable: bool) -> None:
    """Draw the region; the form of a new planner only where there is a pool to learn on."""
    st.header("Your pool", anchor=False)
    st.caption(
        "Learn a planner for your workers from questions with known answers. Plans are tried on one half of "
        "them; those that were right teach the planner, and the other half examines it. This needs no GPU."
    )
    in_use()
    planner_list(shared)
    if usable:
        st.subheader("New planner", anchor=False)
        new_planner(shared)


def in_use() -> None:
    """Which learnt planner plans for this pool, and the way to end that; nothing if none does."""
    name = planner_in_use()
    if name is None:
        return
    with row("planner-in-use"):
        st.markdown(f":material/route: **{plain(name)}** plans for this pool.", width="content")
        if may_edit():
            action("Stop using it", None, stop_using_planner, key="planner-unuse", place=PLACE)


def one_planner(shared: Services, tab: TabState, name: str) -> None:
    """Draw one learning."""
    st.button(
        "All planners", key="all-planners", icon=":material/arrow_back:", type="tertiary",
        on_click=open_planner, args=(None,),
    )  # fmt: skip
    try:
        run = read(shared, shared.trainings.folder / name)
    except ConductorError as error:
        st.error(plain(str(error)), icon=":material/link_off:")
        return
    with page_head(plain(run.name, limit=80)):
        st.space("stretch")
        _use(run)
    st.caption(plain(" · ".join(facts(run))))
    saved_notice(tab)
    state = run.state
    watched(
        lambda: read(shared, run.path),
        lambda now: planner_progress(shared, now),
        key="planner-watch",
        seconds=_LIVE_SECONDS if state == "running" else _IDLE_SECONDS,
        was=state,
        state=attrgetter("state"),
    )
    if state == "done":
        more_budget(shared, run)
        _results(shared, run)


def _use(run: PlannerRun) -> None:
    """The button that lets it plan; that it does already."""
    if run.state != "done":
        return
    if planner_in_use() == run.name:
        st.markdown(":material/route: In use", width="content")
        if may_edit():
            action("Stop using it", None, stop_using_planner, key="planner-unuse", place=PLACE)
    elif may_edit():
        action(
            "Use this planner", "check_circle", use_planner, run, key="planner-use", type="primary",
            place=PLACE, help="Writes it to the pool file; you can undo this",
        )  # fmt: skip


def _results(shared: Services, run: PlannerRun) -> None:
    """What a learning that is done came to: the examination, what it saves, plans before and after."""
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
