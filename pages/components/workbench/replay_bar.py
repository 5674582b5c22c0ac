"""The workbench's header while a run is replayed: that it is one, of which moment, and the way out.

It stands where the toolbar stands, so that nothing can be started or edited meanwhile.
"""

from __future__ import annotations

import time

import streamlit as st

from pages.components.tab.state import TabState, plain
from pages.components.view_models.replay import moment_text
from pages.components.view_models.session import SessionView
from pages.components.workbench.session_head import session_head


def replay_bar(tab: TabState, view: SessionView) -> None:
    """Draw it for a view of a replay."""
    replay = view.replay
    if replay is None:
        return
    session_head(view.session)
    st.caption("A run that is over, as it was at this moment. Leave the replay to edit or to run.")
    with st.container(
        horizontal=True,
        horizontal_alignment="right",
        vertical_alignment="center",
        gap="xsmall",
        key="toolbar",
    ):
        said = f"Replay, {moment_text(replay.at(time.time()), replay.seconds)}"
        st.badge(plain(said), icon=":material/history:", color="primary")
        st.button(
            "Back to the end",
            key="replay-end",
            icon=":material/last_page:",
            type="primary",
            on_click=_leave,
            args=(tab,),
        )


def _leave(tab: TabState) -> None:
    tab.leave_replay()
    tab.ask_redraw()
