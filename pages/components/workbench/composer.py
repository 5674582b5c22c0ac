"""Asking: a query becomes a new session, and the Conductor begins to plan it.

Knows the workbench and the tab; the errors of a query stand beside it.
"""

from __future__ import annotations

import time

import streamlit as st

from conductor.errors import ConductorError
from conductor.values.presets import Settings
from pages.components.tab.state import TabState
from pages.components.workbench.settings import settings_of
from studio.workbench import Workbench

_QUICK_SECONDS = 0.2
"""A plan that is there this soon is shown at once, not after a glimpse of the planning."""


def plan_query(bench: Workbench, tab: TabState, *, query: str | None = None, run: bool = False) -> None:
    """Begin to plan the query in a new session and open it; `run` it too. Errors stand at the query."""
    if query is not None:
        tab.keep_draft()
        st.session_state["query"] = query
    if tab.pressed_again("plan"):
        return
    try:
        session = bench.ask(st.session_state.get("query") or "", settings=chosen_settings(bench, tab))
        tab.note_asked()
        tab.open(session.id)
        bench.planning.begin(session.id, then_run=run)
    except ConductorError as error:
        tab.notify("error", str(error), place="query")
        return
    until = time.monotonic() + _QUICK_SECONDS
    while bench.activities.busy(session.id) and time.monotonic() < until:
        time.sleep(0.01)


def chosen_settings(bench: Workbench, tab: TabState) -> Settings | None:
    """The settings for a new session, None where nothing is chosen."""
    settings = settings_of(bench, tab)
    return None if settings == Settings() else settings
