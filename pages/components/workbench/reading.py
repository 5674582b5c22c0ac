"""The pane beside the graph: the answer, the selected step, or what is written just now.

The server draws all three; which one is seen is decided in the browser, at once.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.components.panes import Phase, reading_tabs
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import session_comparison
from pages.components.workbench.answer import earlier_rounds, outcome
from pages.components.workbench.live import budget_meter, live_planning, progress, streaming
from pages.components.workbench.live_refresh import CurrentView
from pages.components.workbench.plan import no_plan, plan_panel, why_this_plan
from pages.components.workbench.question.conversation import conversation_view
from pages.components.workbench.step.inspector import inspector, preview_steps
from studio.workbench import Workbench


def reading_pane(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """Draw it."""
    view = current.of_page
    with st.container(key="read-pane", gap=None):
        # The tabs come with the step, so that they know which one has been drawn.
        current.fragment("inspector", partial(_step, bench, tab), follows="step")
        with st.container(key="read-preview"):
            preview_steps(bench, view)
        with st.container(key="read-answer", gap="small"):
            _answer(bench, tab, current)
        with st.container(key="read-live", gap="small"):
            _live(bench, current)


def _step(bench: Workbench, tab: TabState, view: SessionView) -> None:
    reading_tabs(
        session=view.session.id,
        phase=_phase(view),
        begun=0 if view.run is None else view.run.started_at,
        step=tab.selected,
        selection=tab.selection_revision,
        part=tab.part,
    )
    with st.container(key="read-step"):
        inspector(bench, tab, view)


def _phase(view: SessionView) -> Phase:
    if view.replay is not None:
        return "replay"
    if view.locked:
        return "live"
    return "ready" if view.state is None else "done"


def _answer(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """The answer, and how it came about: the rounds and the conversation before, why this plan."""
    view = current.of_page
    # What the Conductor was asked after the workflow shown, where that gave no other one.
    if not view.busy:
        no_plan(bench, tab, view)
    ran = view.state is not None and view.state.workflow is not None
    if ran:
        current.fragment("answer", partial(outcome, bench, tab))
    elif not view.locked:
        st.caption("Nothing has run yet. Run calls the workers; their answer will stand here.")
    earlier_rounds(bench, tab, view.session.id)
    if view.plan is not None:
        (why_this_plan if ran else plan_panel)(view.plan, view.planned)
    conversation_view(view.session)
    session_comparison(bench.store, view.session.id)


def _live(bench: Workbench, current: CurrentView) -> None:
    """What is written just now."""
    view = current.of_page
    if view.busy and not view.live:
        live_planning(bench, current, stop=False)
    elif view.live:
        current.fragment("live", _running, follows="live")
    else:
        st.caption("Nothing runs just now. While it does, the words of each step appear here.")


def _running(view: SessionView) -> None:
    if view.state is not None and view.state.live:
        progress(view.state)
        budget_meter(view)
        streaming(view)
