"""The line above the list: how many there are, which are selected, and what is done with all that are."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.errors import StorageError
from conductor.text.formatting import counted
from pages.components.sessions.actions import SessionActions
from pages.components.sessions.list_state import SessionList
from pages.components.view_models.comparable import address_of
from pages.components.widgets.compare_link import compare_page_link
from storage import SessionStore, SessionSummary


def session_picks(
    listed: SessionList, actions: SessionActions, *, shown: Sequence[SessionSummary], count: int
) -> None:
    """Draw it, for the `shown` ones of `count` sessions."""
    with st.container(key="selection", horizontal=True, vertical_alignment="center", gap="small"):
        _pick_page(listed, [session.id for session in shown])
        selected = listed.selected
        if not selected:
            st.caption(f"{counted(count, 'session')}, newest first")
            return
        st.caption(f"{len(selected):,} selected of {count:,}", width="content")
        if len(selected) < count:
            st.button(
                f"Select all {count:,}",
                key="select-all",
                type="tertiary",
                on_click=lambda: listed.select(actions.bench.store.sessions.ids(listed.filter)),
            )
        st.button("Select none", key="select-none", type="tertiary", on_click=listed.select, args=((),))
        st.space("stretch")
        _acts(listed, actions, selected)


def _pick_page(listed: SessionList, ids: Sequence[str]) -> None:
    key = "select-page"
    st.session_state[key] = bool(ids) and set(ids) <= set(listed.selected)

    def selected() -> None:
        listed.select_also(ids, selected=bool(st.session_state[key]))

    st.checkbox("Select this page", key=key, label_visibility="collapsed", on_change=selected)


def _acts(listed: SessionList, actions: SessionActions, selected: Sequence[str]) -> None:
    if listed.filter.deleted:
        st.button(
            "Restore",
            key="restore-selected",
            icon=":material/restore_from_trash:",
            on_click=actions.restore,
            args=(selected,),
        )
        return
    if len(selected) == 2:
        left, right = (_side(actions.bench.store, session) for session in selected)
        if left is not None and right is not None:
            compare_page_link(left, right, help="The newest runs of both, side by side")
    st.button("Tag", key="tag-selected", icon=":material/sell:", on_click=actions.ask, args=("tag",))
    st.button(
        "Export", key="export-selected", icon=":material/download:", on_click=actions.export, args=(selected,)
    )
    st.button(
        "Delete", key="delete-selected", icon=":material/delete:", on_click=actions.delete, args=(selected,)
    )


def _side(store: SessionStore, session: str) -> str | None:
    """What a session is compared by: its newest run, else its workflow; None before it has one."""
    try:
        run, head = store.runs.latest(session), store.revisions.head(session)
    except StorageError:
        return None
    side = run or head
    return None if side is None else address_of(side)
