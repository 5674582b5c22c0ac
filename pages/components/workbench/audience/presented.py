"""A session before an audience: its question, its graph and what is read beside it in large letters, and the
player; nothing around them, and nothing that changes the session.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import streamlit as st

from pages.components.keyboard.focus import focus_fallback
from pages.components.panes import STYLES
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action
from pages.components.workbench.canvas import graph
from pages.components.workbench.drawer.timeline import player
from pages.components.workbench.following.live_refresh import CurrentView
from pages.components.workbench.reading import reading_pane
from studio.workbench import Workbench

# Drawn again where a session begins to be presented, and where that ends.
focus_fallback("graph-room", "present")

_LARGE = Path(__file__).with_name("presented.css")

_MOST_QUESTION = 240


def presented(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    """Draw it."""
    view = current.of_page
    st.html(STYLES)
    st.html(_LARGE)
    with st.container(key="workbench", gap=None):
        with st.container(key="presented-head", horizontal=True, vertical_alignment="top", wrap=False):
            st.title(plain(view.session.query, limit=_MOST_QUESTION), anchor=False)
            with st.container(key="presented-end", width="content"):
                tip = "Back to the workbench (P or Escape)"
                action("End", "close", tab.end_presenting, key="present", help=tip, type="tertiary")
        if view.head is None and not view.busy:
            unplanned()
            return
        with st.container(key="graph-pane", gap=None):
            current.fragment("canvas", partial(watched_graph, bench, tab), follows="always")
        reading_pane(bench, tab, current)
        with st.container(key="presented-player"):
            current.fragment("player", partial(player, bench, tab))


def unplanned() -> None:
    """There is neither a workflow nor a plan that is being written."""
    with st.container(key="plan-pane"):
        st.caption("There is no workflow yet.")


def watched_graph(bench: Workbench, tab: TabState, now: SessionView) -> None:
    """The graph alone."""
    with st.container(key="graph-room", gap=None):
        graph(bench, tab, now)
