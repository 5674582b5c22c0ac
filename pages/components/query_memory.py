"""What a tab remembers of the query box: what is typed there, what was asked, the draft that was left.

A part of `TabState`. Knows the box, no session.
"""

from __future__ import annotations

from typing import cast

import streamlit as st

from conductor.modes import Settings
from pages.components.first_value import show_first


class QueryMemory:
    """The query box, and the settings beside it for the next session."""

    def show_query(self, query: str) -> None:
        """Fill the box, unless somebody has typed there since the session was opened.

        A widget forgets its text while another page is shown; what was typed is remembered beside it.
        """
        box = show_first("query", st.session_state.get("typed", query))
        st.session_state["typed"] = box
        st.session_state["asked"] = query

    def note_asked(self) -> None:
        """What is typed has been asked: it is a session's query now, no draft."""
        st.session_state["asked"] = st.session_state.get("query", "")

    def keep_draft(self) -> None:
        """Keep what was typed and never asked, before another query takes its place."""
        typed = st.session_state.get("query", st.session_state.get("typed", ""))
        if typed.strip() and typed != st.session_state.get("asked", ""):
            st.session_state["draft"] = typed

    @property
    def draft(self) -> str | None:
        """A query that was typed and left for a session; it comes back with a new one."""
        return cast("str | None", st.session_state.get("draft"))

    @property
    def settings(self) -> Settings:
        """What is chosen for the next session."""
        return cast("Settings", st.session_state.get("next-settings", Settings()))

    @settings.setter
    def settings(self, settings: Settings) -> None:
        st.session_state["next-settings"] = settings
