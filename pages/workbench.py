"""The main page: ask, see the plan, edit it, run it, read the answer."""

from __future__ import annotations

from functools import partial

import streamlit as st

from conductor.errors import StorageError
from pages.components.graph import load_library
from pages.components.streamlit_patches.initial_values import drawn_to_the_end
from pages.components.tab.fields import Shown
from pages.components.tab.keyboard import keep_focus, shortcuts
from pages.components.tab.notices import errors_shown, pool_notice
from pages.components.tab.services import workbench
from pages.components.tab.state import TabState, plain
from pages.components.tab.tab_storage import tab_storage
from pages.components.view_models.session import SessionView
from pages.components.workbench.answer import earlier_rounds
from pages.components.workbench.canvas import graph
from pages.components.workbench.conflicts import conflicts, show_news
from pages.components.workbench.drawer.panels import panels
from pages.components.workbench.header import conversation_view, replay_bar, session_head, toolbar
from pages.components.workbench.live import budget_meter, planning, progress, streaming
from pages.components.workbench.live_refresh import POLL_SECONDS, CurrentView, changes
from pages.components.workbench.other_plans import other_plans
from pages.components.workbench.plan import attempts, no_plan, plan_panel
from pages.components.workbench.settings import settings_focus_fallbacks
from pages.components.workbench.sidebar import sidebar
from pages.components.workbench.step.inspector import inspector
from pages.components.workbench.step.nested import inner_view
from pages.components.workbench.welcome import welcome
from studio.workbench import Workbench, marks

# Where the focus goes when a button disappears or can no longer be pressed. No text under it: Streamlit would
# show that on the page.
_FOCUS_FALLBACKS = {
    "undo": ("redo", "export"),
    "redo": ("undo", "export"),
    "run": ("stop", "export"),
    "rerun-all": ("stop", "export"),
    "plan": ("stop",),
    "plan-and-run": ("stop",),
    "stop": ("run", "ask-again", "plan-again"),
    "another-round": ("stop",),
    "ask-alternatives": ("stop", "plan-choices-batch"),
    "plan-choices-text": ("run", "export"),
    "plan-choices-batch": ("run", "export"),
    "ask-again": ("stop",),
    "plan-again": ("stop",),
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
        seen = marks(bench, tab.session)
        with st.container(key="machinery"):
            changes(tab, seen)
            load_library()
            shortcuts()
            keep_focus({**_FOCUS_FALLBACKS, **settings_focus_fallbacks(bench.pool.names)})
        current = _current(bench, tab)
        view = None if current is None else current.of_page
        tab.show_query(view.session.query if view is not None else "")
        sidebar(bench, tab)
        if current is None or view is None:
            welcome(bench, tab)
            return
        if failure := bench.activities.failure(view.session.id):
            st.error(plain(failure), icon=":material/error:")
        show_news(bench, tab, view)
        if view.head is None:
            _unplanned(bench, tab, current)
            return
        with st.container(key="storage"):
            tab_storage(bench, tab, view.head)
        _session(bench, tab, current)
        Shown(tab, view.head, place="page").mark()


def _current(bench: Workbench, tab: TabState) -> CurrentView | None:
    """The session of this tab, read once for this run of the page."""
    try:
        return None if tab.session is None else CurrentView(bench, tab, tab.session)
    except StorageError as error:
        # The rest of the page still offers a way on: another session, a new query.
        st.error(plain(str(error)), icon=":material/error:")
        return None


def _unplanned(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """A session without a workflow: its plan as it is written, or why there is none."""
    view = current.of_page
    session_head(view.session)
    conversation_view(view.session)
    if view.busy:
        _planning(bench, current, stop=True)
    else:
        no_plan(bench, tab, view)
    shown = None if view.busy else view.no_plan
    attempts(bench.store.plans.of_session(view.session.id), of=view.latest_plan, shown=shown)
    if not view.busy:
        current.fragment("other-plans-part", partial(other_plans, bench, tab))
    _composer()


def _planning(bench: Workbench, current: CurrentView, *, stop: bool) -> None:
    """Show the planning, and what comes between it and a run, as it proceeds."""

    def drawn(now: SessionView) -> None:
        if now.phase != current.of_page.phase:
            st.rerun()
        planning(bench, now, stop=stop)

    current.fragment("planning-live", drawn, every=POLL_SECONDS)


def _session(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    view = current.of_page
    every = POLL_SECONDS if view.moves else None

    def canvas(now: SessionView) -> None:
        graph(bench, tab, now)
        inner_view(bench, tab, now)
        if now.state is not None and now.state.live:
            progress(now.state)
            if now.replay is None:
                streaming(now)
        if every is not None and now.phase != view.phase:
            st.rerun()

    centre, right = st.columns([2.4, 1], gap="medium")
    with centre:
        # However much stands above it, the graph keeps its place in the page and is not built again.
        with st.container(key="above"):
            _above(bench, tab, current, every=every)
        with st.container(key="graph-pane"):
            current.fragment("canvas", canvas, every=every)
        with st.container(key="drawer"):
            # While a replay plays, its player advances in the browser without the server.
            panels_every = every if view.replay is None else None
            current.fragment("panels", partial(panels, bench, tab), every=panels_every)
        if view.replay is not None:
            # Below the player, which stays where it is while texts come and go.
            current.fragment("replayed-texts", streaming, every=every)
        _composer()
    with right, st.container(key="read-pane"):
        current.fragment("inspector", partial(inspector, bench, tab), every=every)


def _composer() -> None:
    """Where the next question is written: the last thing of the page's centre, with a plan and without."""
    st.container(key="composer")


def _above(bench: Workbench, tab: TabState, current: CurrentView, *, every: float | None) -> None:
    """Draw what stands above the graph: the header, what is asked of the Conductor and what it planned."""
    view = current.of_page
    plans = bench.store.plans.of_session(view.session.id)
    if view.replay is None:
        toolbar(bench, tab, view)
    else:
        current.fragment("replay", partial(replay_bar, tab), every=every)
    conflicts(bench, tab, view)
    if view.live:
        current.fragment("meter", budget_meter, every=every)
    if view.busy and not view.live:
        _planning(bench, current, stop=False)
    # What the Conductor was asked after the workflow shown, where that gave no other one.
    if not view.busy:
        no_plan(bench, tab, view)
    latest, of = view.latest_plan, view.plan
    if latest is not None and (of is None or (latest.round, latest.looks_back) != (of.round, of.looks_back)):
        attempts(plans, of=latest, shown=(None if view.busy else view.no_plan) or view.kept_answer)
    conversation_view(view.session)
    earlier_rounds(bench, tab, view.session.id)
    if of is not None:
        plan_panel(of, view.planned)
        attempts(plans, of=of, shown=of)
        current.fragment("other-plans-part", partial(other_plans, bench, tab))


page()
drawn_to_the_end()
