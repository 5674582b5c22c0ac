"""The main page: ask, see the plan, edit it, run it, read the answer."""

from __future__ import annotations

import streamlit as st

from conductor.errors import StorageError
from pages.components import run_view
from pages.components.candidates import candidates
from pages.components.changes import changes
from pages.components.conflict_view import conflicts, tell_news
from pages.components.conversation_view import conversation_view
from pages.components.first_value import drawn_to_the_end
from pages.components.focus import keep_focus
from pages.components.graph import load_library
from pages.components.guard import errors_shown
from pages.components.inner_view import inner_view
from pages.components.inspector import inspector
from pages.components.panels import panels
from pages.components.plan_panel import attempts, no_plan, plan_panel
from pages.components.planning import planning
from pages.components.pool_notice import pool_notice
from pages.components.replay_bar import replay_bar
from pages.components.rounds import earlier_rounds
from pages.components.services import workbench
from pages.components.session_head import session_head
from pages.components.session_view import SessionView
from pages.components.settings import settings_heirs
from pages.components.shortcuts import shortcuts
from pages.components.sidebar import sidebar
from pages.components.state import TabState, plain
from pages.components.toolbar import toolbar
from pages.components.welcome import welcome
from storage.workbench import Workbench

POLL_SECONDS = 0.25

# Whose focus goes to whom when a button goes or can no longer be pressed. No text under it: Streamlit would
# show that on the page.
_HEIRS = {
    "undo": ("redo", "export"),
    "redo": ("undo", "export"),
    "run": ("stop", "export"),
    "run-anew": ("stop", "export"),
    "plan": ("stop",),
    "plan-and-run": ("stop",),
    "stop": ("run", "ask-again", "plan-anew"),
    "another-round": ("stop",),
    "ask-alternatives": ("stop", "plan-choices-batch"),
    "plan-choices-text": ("run", "export"),
    "plan-choices-batch": ("run", "export"),
    "ask-again": ("stop",),
    "plan-anew": ("stop",),
    "step-arrow_upward": ("step-arrow_downward", "step-add"),
    "step-arrow_downward": ("step-arrow_upward", "step-add"),
    "step-delete": ("step-add",),
    "new": ("query",),
    "replay-end": ("run", "export"),
    "welcome": ("stop", "run", "query"),
    "open-inside": ("open-inside", "export"),
    "inside-out": ("open-inside", "export"),
    "inside-close": ("inside-close", "open-inside", "export"),
    "unseen": ("step-buttons",),
    "check": ("panel",),
    "no-workflow": ("stop", "run", "query"),
    "conflict-decisions": ("conflict-decisions", "run", "export"),
    "history-restore": ("history-fork",),
    "history-more": ("history-fork",),
}


def page() -> None:
    """Draw the page for this tab."""
    with errors_shown("page"):
        tab = TabState()
        tab.drawn()
        bench = workbench()
        if not pool_notice():
            return
        # Taken before anything is read: what changes from now on is news.
        marks = bench.marks(tab.session)
        with st.container(key="machinery"):
            changes(tab, marks)
            load_library()
            shortcuts()
            keep_focus({**_HEIRS, **settings_heirs(bench.pool.names)})
        view = _view(bench, tab)
        tab.show_query(view.session.query if view is not None else "")
        sidebar(bench, tab)
        if view is not None and (trouble := bench.conducting.trouble(view.session.id)):
            st.error(plain(trouble), icon=":material/error:")
        if view is not None:
            tell_news(bench, tab, view)
        if view is None:
            welcome(bench, tab)
        elif view.head is None:
            _unplanned(bench, tab, view)
        else:
            _session(bench, tab, view)


def _view(bench: Workbench, tab: TabState) -> SessionView | None:
    if tab.session is None:
        return None
    try:
        return _loaded(bench, tab, tab.session)
    except StorageError as error:
        # The rest of the page still offers a way on: another session, a new query.
        st.error(plain(str(error)), icon=":material/error:")
        return None


def _loaded(bench: Workbench, tab: TabState, session: str) -> SessionView:
    """The session as this tab shows it; a replay that is over is left."""
    view = SessionView.load(bench, session, replay=tab.replay)
    if view.replay is None:
        tab.leave_replay()
    return view


def _unplanned(bench: Workbench, tab: TabState, view: SessionView) -> None:
    session_head(view.session)
    conversation_view(view.session)
    if view.busy:
        _planning(bench, view, stop=True)
    else:
        no_plan(bench, tab, view)
    shown = None if view.busy else view.no_plan
    attempts(bench.store.plans(view.session.id), of=view.latest_plan, shown=shown)
    if not view.busy:
        candidates(bench, tab, view)


def _planning(bench: Workbench, view: SessionView, *, stop: bool) -> None:
    """Follow the planning, and what comes between it and a run."""

    @st.fragment(key="planning-live", run_every=POLL_SECONDS)
    def live() -> None:
        with errors_shown("planning"):
            now = SessionView.load(bench, view.session.id)
            if now.phase != view.phase:
                st.rerun()
            planning(bench, now, stop=stop)

    live()


def _asked_since(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """What the Conductor was asked after the workflow shown, where that gave no other one."""
    shown = None if view.busy else view.no_plan
    if shown is not None:
        no_plan(bench, tab, view)
    latest, of = view.latest_plan, view.plan
    if latest is not None and (of is None or (latest.round, latest.looks_back) != (of.round, of.looks_back)):
        attempts(bench.store.plans(view.session.id), of=latest, shown=shown or view.kept_answer)


def _above(bench: Workbench, tab: TabState, view: SessionView, *, every: float | None) -> None:
    """What stands above the graph: the header, what is asked of the Conductor and what it planned."""

    @st.fragment(key="meter", run_every=every)
    def meter() -> None:
        with errors_shown("meter"):
            now = _loaded(bench, tab, view.session.id)
            if now.state is not None:
                run_view.budget_meter(now.state)

    @st.fragment(key="replay", run_every=every)
    def replayed() -> None:
        tab.redraw_if_asked()
        with errors_shown("replay"):
            replay_bar(tab, _loaded(bench, tab, view.session.id))

    if view.replay is None:
        toolbar(bench, tab, view)
    else:
        replayed()
    conflicts(bench, tab, view)
    if view.live:
        meter()
    if view.busy and not view.live:
        _planning(bench, view, stop=False)
    _asked_since(bench, tab, view)
    conversation_view(view.session)
    earlier_rounds(bench, tab, view.session.id)
    if view.plan is not None:
        plan_panel(view.plan, view.planned)
        attempts(bench.store.plans(view.session.id), of=view.plan, shown=view.plan)
        candidates(bench, tab, view)


def _session(bench: Workbench, tab: TabState, view: SessionView) -> None:
    every = POLL_SECONDS if view.moves else None
    session = view.session.id

    @st.fragment(key="canvas", run_every=every)
    def canvas() -> None:
        tab.redraw_if_asked()
        with errors_shown("canvas"):
            now = _loaded(bench, tab, session)
            run_view.graph(bench, tab, now)
            inner_view(bench, tab, now)
            if now.state is not None and now.state.live:
                run_view.progress(now.state)
                if now.replay is None:
                    run_view.streaming(now)
            if every is not None and now.phase != view.phase:
                st.rerun()

    @st.fragment(key="inspector", run_every=every)
    def side() -> None:
        tab.redraw_if_asked()
        with errors_shown("inspector"):
            inspector(bench, tab, _loaded(bench, tab, session))

    # While a replay plays, its player goes on by itself in the browser.
    @st.fragment(key="panels", run_every=every if view.replay is None else None)
    def below() -> None:
        tab.redraw_if_asked()
        with errors_shown("panels"):
            panels(bench, tab, _loaded(bench, tab, session))

    # Below the player, which stays where it is while texts come and go.
    @st.fragment(key="replayed-texts", run_every=every)
    def replayed_texts() -> None:
        tab.redraw_if_asked()
        with errors_shown("replayed-texts"):
            run_view.streaming(_loaded(bench, tab, session))

    centre, right = st.columns([2.4, 1], gap="medium")
    with centre:
        # However much stands above it, the graph keeps its place in the page and so is not made anew.
        with st.container(key="above"):
            _above(bench, tab, view, every=every)
        canvas()
        below()
        if view.replay is not None:
            replayed_texts()
    with right:
        side()


page()
drawn_to_the_end()
