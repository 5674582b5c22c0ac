"""The line above the list: how many there are, which are picked, and what is done with all that are."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from conductor.amounts import counted
from conductor.errors import StorageError
from pages.components.compare_link import compare_page_link
from pages.components.session_deeds import SessionDeeds
from pages.components.session_list import SessionList
from pages.components.sides import address_of
from storage import SessionStore, SessionSummary


def session_picks(
    listed: SessionList, deeds: SessionDeeds, *, shown: Sequence[SessionSummary], count: int
) -> None:
    """Draw it, for the `shown` ones of `count` sessions."""
    with st.container(key="picks", horizontal=True, vertical_alignment="center", gap="small"):
        _pick_page(listed, [session.id for session in shown])
        picked = listed.picked
        if not picked:
            st.caption(f"{counted(count, 'session')}, newest first")
            return
        st.caption(f"{len(picked):,} picked of {count:,}", width="content")
        if len(picked) < count:
            st.button(
                f"Pick all {count:,}",
                key="pick-all",
                type="tertiary",
                on_click=lambda: listed.pick(deeds.bench.store.session_ids(listed.filter)),
            )
        st.button("Pick none", key="pick-none", type="tertiary", on_click=listed.pick, args=((),))
        st.space("stretch")
        _acts(listed, deeds, picked)


def _pick_page(listed: SessionList, ids: Sequence[str]) -> None:
    key = "pick-page"
    st.session_state[key] = bool(ids) and set(ids) <= set(listed.picked)

    def picked() -> None:
        listed.pick_also(ids, picked=bool(st.session_state[key]))

    st.checkbox("Pick this page", key=key, label_visibility="collapsed", on_change=picked)


def _acts(listed: SessionList, deeds: SessionDeeds, picked: Sequence[str]) -> None:
    if listed.filter.deleted:
        st.button(
            "Restore",
            key="restore-picked",
            icon=":material/restore_from_trash:",
            on_click=deeds.restore,
            args=(picked,),
        )
        return
    if len(picked) == 2:
        left, right = (_side(deeds.bench.store, session) for session in picked)
        if left is not None and right is not None:
            compare_page_link(left, right, help="The newest runs of both, side by side")
    st.button("Tag", key="tag-picked", icon=":material/sell:", on_click=deeds.ask, args=("tag",))
    st.button(
        "Export", key="export-picked", icon=":material/download:", on_click=deeds.export, args=(picked,)
    )
    st.button("Delete", key="delete-picked", icon=":material/delete:", on_click=deeds.delete, args=(picked,))


def _side(store: SessionStore, session: str) -> str | None:
    """What a session is compared by: its newest run, else its workflow; None before it has one."""
    try:
        run, head = store.latest_run(session), store.head(session)
    except StorageError:
        return None
    side = run or head
    return None if side is None else address_of(side)
