"""The first line of a session on the workbench: its title, and that no model is called where that is so."""

from __future__ import annotations

import streamlit as st

from pages.components.state import plain
from storage import Session


def session_head(session: Session) -> None:
    """Draw it, at one height and place whatever stands below it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="session-head"):
        st.subheader(plain(session.title, limit=90), anchor=False, width="content")
        if session.pool_label:
            st.badge(session.pool_label, icon=":material/cloud_off:", color="gray")
