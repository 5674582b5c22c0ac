"""The main page: ask, see the plan, edit it, run it, read the answer."""

from __future__ import annotations

import streamlit as st

from conductor.errors import StorageError
from pages.components import run_view
from pages.components.graph import load_library
from pages.components.guard import errors_shown
from pages.components.inspector import inspector
from pages.components.plan_panel import no_workflow, plan_panel
from pages.components.services import workbench
from pages.components.session_view import SessionView
from pages.components.shortcuts import shortcuts
from pages.components.sidebar import sidebar
from pages.components.state import TabState, plain
from pages.components.toolbar import toolbar
from pages.components.welcome import welcome
from storage.workbench import Workbench

POLL_SECONDS = 0.25


def page() -> None:
    """Draw the page for this tab."""
    with errors_shown("page"):
        tab = TabState()
        tab.drawn()
        bench = workbench()
        with st.container(key="machinery"):
            load_library()
            shortcuts()
        view = _view(bench, tab)
        tab.show_query(view.session.query if view is not None else "")
        sidebar(bench, tab)
        if view is None:
            welcome(bench, tab)
        elif view.head is None:
            no_workflow(bench, tab, view.session, view.plan)
        else:
            _session(bench, tab, view)


def _view(bench: Workbench, tab: TabState) -> SessionView | None:
    if tab.session is None:
        return None
    try:
        return SessionView.load(bench, tab.session)
    except StorageError as error:
        # The rest of the page still offers a way on: another session, a new query.
        st.error(plain(str(error)), icon=":material/error:")
        return None


def _session(bench: Workbench, tab: TabState, view: SessionView) -> None:
    every = POLL_SECONDS if view.live else None
    session = view.session.id

    @st.fragment(key="canvas", run_every=every)
    def canvas() -> None:
        tab.redraw_if_asked()
        with errors_shown("canvas"):
            now = SessionView.load(bench, session)
            run_view.graph(bench, tab, now)
            if now.state is not None and now.state.live:
                run_view.progress(now.state)
                run_view.streaming(now)
            if view.live and not now.live:
                st.rerun()

    @st.fragment(key="inspector", run_every=every)
    def side() -> None:
        tab.redraw_if_asked()
        with errors_shown("inspector"):
            inspector(bench, tab, SessionView.load(bench, session))

    centre, right = st.columns([2.4, 1], gap="medium")
    with centre:
        toolbar(bench, tab, view)
        if view.plan is not None:
            plan_panel(view.plan)
        canvas()
        run_view.outcome(view)
    with right:
        side()


page()
