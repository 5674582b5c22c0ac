"""A session for an audience: presented, or through a view-only link in the workbench's panes.

Nothing here changes the session. The workbench behind a view-only link refuses every change by itself; this
page only does not offer any.
"""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.components.panes import STYLES, pane_handle
from pages.components.tab.state import TabState
from pages.components.workbench.audience.presented import presented, unplanned, watched_graph
from pages.components.workbench.bar.bar import bar
from pages.components.workbench.drawer.panels import panels
from pages.components.workbench.following.live_refresh import CurrentView
from pages.components.workbench.reading import reading_pane
from studio.workbench import Workbench


def watched(bench: Workbench, tab: TabState, current: CurrentView | None) -> None:
    """Draw the session of `current`, which is None if the address names none."""
    if current is None or (tab.view_only is not None and current.of_page.session.deleted_at is not None):
        _nothing()
    elif tab.presents:
        presented(bench, tab, current)
    else:
        _viewed(bench, tab, current)


def _viewed(bench: Workbench, tab: TabState, current: CurrentView) -> None:
    view = current.of_page
    st.html(STYLES)
    with st.container(key="workbench", gap=None):
        bar(bench, tab, current)
        if view.head is None and not view.busy:
            unplanned()
            return
        with st.container(key="graph-pane", gap=None):
            current.fragment("canvas", partial(watched_graph, bench, tab), follows="always")
        pane_handle("read", label="Reading pane size")
        reading_pane(bench, tab, current)
        if view.run is None:
            return
        with st.container(key="drawer", gap=None):
            pane_handle("drawer", label="Drawer size")
            current.fragment("panels", partial(panels, bench, tab), follows="drawer")


def _nothing() -> None:
    st.error(
        "This link does not lead to a session: it is incomplete, or the session was removed. Ask for "
        "a new one.",
        icon=":material/link_off:",
    )
