"""*Your pool*: planners that learn from plans tried on the pool's own questions; the list, or one of them."""

from __future__ import annotations

import streamlit as st

from conductor.errors import ConductorError
from pages.components.learning.planner_results import planner_results
from pages.components.learning.planner_runs import (
    more_budget,
    open_planner,
    planner_list,
    planner_progress,
    read,
)
from pages.components.learning.planner_setup import new_planner
from pages.components.learning.use import may_edit, planner_in_use, stop_using_planner, use_planner
from pages.components.tab.services import Services
from pages.components.tab.state import TabState, plain
from pages.components.view_models.planner_learning import facts
from pages.components.widgets.controls import action, row
from pages.components.widgets.pool_saving import PLACE, saved_notice
from studio.learning.planner_run import PlannerRun

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
    with st.container(horizontal=True, vertical_alignment="center", key="page-head"):
        st.title(plain(run.name, limit=80), anchor=False)
        st.space("stretch")
        _use(run)
    st.caption(plain(" · ".join(facts(run))))
    saved_notice(tab)
    state = run.state

    @st.fragment(key="planner-watch", run_every=_LIVE_SECONDS if state == "running" else _IDLE_SECONDS)
    def watched() -> None:
        tab.redraw_on_request()
        try:
            now = read(shared, run.path)
        except ConductorError:
            st.rerun()  # which names what is wrong
        if now.state != state:
            st.rerun()
        planner_progress(shared, now)

    watched()
    if state == "done":
        more_budget(shared, run)
        planner_results(shared, run)


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
