"""A session for an audience: presented, or through a view-only link in the workbench's panes.

Nothing here changes the session. The workbench behind a view-only link refuses every change by itself; this
page only does not offer any.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from pages.components.keyboard.focus import focus_fallback
from pages.components.panes import STYLES, pane_handle
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action
from pages.components.workbench.bar.bar import bar
from pages.components.workbench.canvas import graph
from pages.components.workbench.drawer.panels import panels
from pages.components.workbench.drawer.timeline import player
from pages.components.workbench.following.live_refresh import CurrentView
from pages.components.workbench.reading import reading_pane
from studio.workbench import Workbench


def watched(bench: Workbench, tab: TabState, current: CurrentView | None) -> None:
    """Draw the session of `current`, which is None if the address names none."""
    if current is None or (tab.view_only is not None and current.of_page.session.deleted_at is not None):
        st.error(
            "This link does not lead to a session: it is incomplete, or the session was removed. Ask for "
            "a new one.",
            icon=":material/link_off:",
        )
    elif tab.presents:
        _presented(bench, tab, current)
    else:
        _viewed(bench, tab, current)


def _viewed(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    view = current.of_page
    st.html(STYLES)
    with st.container(key="workbench", gap=None):
        bar(bench, tab, current)
        if not _graph_pane(bench, tab, current):
            return
        pane_handle("read", label="Reading pane size")
        reading_pane(bench, tab, current)
        if view.run is None:
            return
        with st.container(key="drawer", gap=None):
            pane_handle("drawer", label="Drawer size")
            current.fragment("panels", partial(panels, bench, tab), follows="drawer")


# Drawn again where a session begins to be presented, and where that ends.
focus_fallback("graph-room", "present")

_LARGE = Path(__file__).with_name("presented.css")

_MOST_QUESTION = 240


def _presented(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """The question, the graph and what is read beside it in large letters, and the player."""
    view = current.of_page
    st.html(STYLES)
    st.html(_LARGE)
    with st.container(key="workbench", gap=None):
        with st.container(key="presented-head", horizontal=True, vertical_alignment="top", wrap=False):
            st.title(plain(view.session.query, limit=_MOST_QUESTION), anchor=False)
            with st.container(key="presented-end", width="content"):
                tip = "Back to the workbench (P or Escape)"
                action("End", "close", tab.end_presenting, key="present", help=tip, type="tertiary")
        if not _graph_pane(bench, tab, current):
            return
        reading_pane(bench, tab, current)
        with st.container(key="presented-player"):
            current.fragment("player", partial(player, bench, tab))


def _graph_pane(bench: Workbench, tab: TabState, current: CurrentView) -> bool:
    """The graph alone; False while there is neither a workflow nor a plan that is being written."""
    view = current.of_page
    if view.head is None and not view.busy:
        with st.container(key="plan-pane"):
            st.caption("There is no workflow yet.")
        return False
    with st.container(key="graph-pane", gap=None):
        current.fragment("canvas", partial(graph, bench, tab), follows="always")
    return True
