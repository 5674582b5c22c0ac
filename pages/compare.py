"""The compare page: two runs or revisions side by side, or one session as planned, edited and run.

The address holds what is compared: `?left=…&right=…` or `?session=…`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import streamlit as st

from conductor.errors import StorageError
from conductor.workers.protocol import WorkerCard
from pages.components.compare.pickers import chosen_sides, session_picker, side_pickers
from pages.components.compare.three_way import three_way_view
from pages.components.compare.two import compare_two
from pages.components.graph import load_library
from pages.components.streamlit_patches.initial_values import drawn_to_the_end, on_choice, show_stored
from pages.components.tab.notices import page_notices, pool_notice
from pages.components.tab.services import workbench
from pages.components.tab.state import TabState, plain
from pages.components.view_models.comparable import Side, last_two, three_sides
from pages.components.widgets.labels import distinct_labels
from studio.workbench import Workbench

Mode = Literal["two", "three"]

_MODES: Mapping[Mode, str] = {"two": "Two sides", "three": "Planned, edited, run"}


def page() -> None:
    with page_notices():
        bench = workbench()
        tab = TabState()
        # Without a pool there is still everything to compare but the kinds of workers that never ran.
        cards = bench.pool.cards if pool_notice() else {}
        with st.container(key="machinery"):
            load_library()
        bench.store.processes.retry_unwritten()
        session = st.query_params.get("session")
        if session is not None:
            _head(bench, "three", session)
            _three(bench, session)
        else:
            _two(bench, tab, cards)


def _two(bench: Workbench, tab: TabState, cards: Mapping[str, WorkerCard]) -> None:
    head = st.container()
    left, right = chosen_sides(bench, tab)
    with head:
        _head(bench, "two", _session_of(bench, tab, left, right))
    if not bench.store.sessions.newest(limit=1) and left is None and right is None:
        st.caption("Nothing to compare yet. Ask a question on the workbench and run its plan.")
        st.page_link("pages/workbench.py", label="Open the workbench", icon=":material/account_tree:")
        return
    side_pickers(bench, left, right)
    if left is None or right is None:
        st.caption(
            "Choose a run or a revision on each side. The address of this page then links to the comparison."
        )
        return
    compare_two(bench, tab, left, right, cards=cards)


def _session_of(bench: Workbench, tab: TabState, left: Side | None, right: Side | None) -> str | None:
    """Whose three ways are shown when the mode is changed."""
    side = right or left
    if side is not None:
        return side.session.id
    newest = bench.store.sessions.listed(limit=1)
    return tab.remembered or (newest[0].id if newest else None)


def _head(bench: Workbench, mode: Mode, session: str | None) -> None:
    """Title and mode; changing the mode is another address."""

    def changed(mode: Mode) -> None:
        if session is None:
            return
        if mode == "three":
            st.query_params.from_dict({"session": session})
            return
        try:
            pair = last_two(bench.store, session)
        except StorageError:
            pair = None
        st.query_params.from_dict({} if pair is None else {"left": pair[0], "right": pair[1]})

    key = show_stored("compare-mode", mode)
    with st.container(
        horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", key="page-head"
    ):
        st.title("Compare", anchor=False, width="content")
        st.segmented_control(
            "What is compared",
            list(_MODES),
            required=True,
            key=key,
            format_func=distinct_labels(_MODES),
            label_visibility="collapsed",
            disabled=session is None,
            on_change=on_choice(key, changed),
        )


def _three(bench: Workbench, session: str) -> None:
    try:
        bench.store.sessions.find(session)
        choice: str | None = session
    except StorageError as error:
        st.error(plain(str(error)), icon=":material/link_off:")
        choice = None

    def selected(chosen: str) -> None:
        st.query_params["session"] = chosen

    session_picker(bench.store, name="compare-session", label="Session", session=choice, on_select=selected)
    if choice is None:
        return
    if bench.store.revisions.head(choice) is None:
        st.caption("This session has no workflow yet. Plan one on the workbench first.")
        st.page_link(
            "pages/workbench.py",
            label="Open it on the workbench",
            icon=":material/account_tree:",
            query_params={"session": choice},
        )
        return
    three_way_view(three_sides(bench, choice))


page()
drawn_to_the_end()
