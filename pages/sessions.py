"""The sessions page: list, reopen, rename, delete with undo."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import streamlit as st

from conductor.errors import ConductorError
from pages.components.focus import keep_focus
from pages.components.guard import errors_shown
from pages.components.pool_notice import pool_notice
from pages.components.services import workbench
from pages.components.state import TabState, plain
from pages.components.statuses import STATE_ICONS, state_word
from storage import MAX_TITLE, SessionSummary
from storage.workbench import Workbench

_PER_PAGE = 20


def page() -> None:
    """Draw the page for this tab."""
    with errors_shown("page"):
        tab = TabState()
        bench = workbench()
        pool_notice()
        bench.store.mark_interrupted()
        st.title("Sessions", anchor=False)
        _deleted(bench, tab)
        tab.show_notice("sessions")
        _list(bench, tab)


def _list(bench: Workbench, tab: TabState) -> None:
    count = bench.store.count_sessions()
    if not count:
        st.caption("No sessions yet. Ask something on the workbench; everything you do there is kept here.")
        st.page_link("pages/workbench.py", label="Open the workbench", icon=":material/account_tree:")
        return
    pages = math.ceil(count / _PER_PAGE)
    st.caption(f"{count:,} session{'s' if count > 1 else ''}, newest first")
    at = _page_shown(pages)
    sessions = bench.store.sessions(limit=_PER_PAGE, offset=(at - 1) * _PER_PAGE)
    for session in sessions:
        _row(bench, tab, session)
    with st.container(key="machinery"):
        keep_focus(_heirs(sessions))


def _page_shown(pages: int) -> int:
    """The page of the list: the one shown last, also by an earlier visit, as far as there still is one."""
    at = min(st.session_state.get("sessions-page", st.session_state.get("sessions-at", 1)), pages)
    if pages > 1:
        st.session_state["sessions-page"] = at
        at = st.pagination(pages, key="sessions-page")
    st.session_state["sessions-at"] = at
    return at


def _heirs(sessions: Sequence[SessionSummary]) -> dict[str, list[str]]:
    """Whose focus goes to whom when a row goes or its popover closes."""
    renames = st.session_state.get("renames", 0)
    heirs = {"undelete": [f"open-{session.id}" for session in sessions[:1]]}
    for session in sessions:
        heirs[f"delete-{session.id}"] = ["undelete"]
        for part in ("title", "rename"):
            heirs[f"{part}-{session.id}-{renames}"] = [f"rename-{session.id}-{renames + 1}"]
    return heirs


def _row(bench: Workbench, tab: TabState, session: SessionSummary) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch", gap=None):
            if st.button(
                plain(session.title, limit=110),
                key=f"open-{session.id}",
                icon=STATE_ICONS[session.state],
                type="tertiary",
                help="Open on the workbench",
                on_click=tab.open,
                args=(session.id,),
            ):
                st.switch_page("pages/workbench.py", query_params={"session": session.id})
            st.caption(plain(" · ".join(_facts(session))))
        _renamer(bench, tab, session)
        st.button(
            "Delete",
            key=f"delete-{session.id}",
            icon=":material/delete:",
            on_click=_delete,
            args=(bench, tab, session),
        )


def _renamer(bench: Workbench, tab: TabState, session: SessionSummary) -> None:
    renames = st.session_state.setdefault("renames", 0)
    key = f"title-{session.id}-{renames}"
    # With a new key after each renaming the popover is closed again.
    with (
        st.popover("Rename", icon=":material/edit:", key=f"rename-{session.id}-{renames}"),
        st.form(f"form-{key}", border=False),
    ):
        st.text_input("Title", value=session.title, key=key, max_chars=MAX_TITLE)
        st.form_submit_button("Save", on_click=_rename, args=(bench, tab, session.id, key))


def _facts(session: SessionSummary) -> list[str]:
    facts: list[str] = [state_word(session.state)]
    if session.topology is not None and session.steps is not None:
        facts.append(f"{session.topology}, {session.steps} step{'s' if session.steps > 1 else ''}")
    facts.append(datetime.fromtimestamp(session.updated_at, tz=UTC).astimezone().strftime("%d %b %Y, %H:%M"))
    if session.pool_label:
        facts.append(session.pool_label)
    return facts


def _rename(bench: Workbench, tab: TabState, session: str, key: str) -> None:
    title = st.session_state[key].strip()
    st.session_state["renames"] += 1
    if not title:
        tab.notify("error", "A title needs at least one character; the old one is kept.", place="sessions")
        return
    _try(tab, lambda: bench.store.rename_session(session, title))


def _delete(bench: Workbench, tab: TabState, session: SessionSummary) -> None:
    def delete() -> None:
        bench.store.delete_session(session.id)
        st.session_state["deleted"] = (session.id, session.title)
        if tab.session == session.id:
            tab.open(None)

    _try(tab, delete)


def _deleted(bench: Workbench, tab: TabState) -> None:
    """The session deleted last, with its undo; it stays until the next one or a reload."""
    if "deleted" not in st.session_state:
        return
    session, title = st.session_state["deleted"]

    def restore() -> None:
        bench.store.restore_session(session)
        del st.session_state["deleted"]

    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f"Deleted {plain(title, limit=100)}")
        st.space("stretch")
        st.button("Undo", key="undelete", icon=":material/undo:", on_click=lambda: _try(tab, restore))


def _try(tab: TabState, act: Callable[[], object]) -> None:
    try:
        act()
    except ConductorError as error:
        tab.notify("error", str(error), place="sessions")


page()
