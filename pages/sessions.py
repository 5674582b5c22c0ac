"""The sessions page: find sessions again, reopen, name, tag, fork, compare, export, delete with undo."""

from __future__ import annotations

import math
from functools import partial
from uuid import uuid4

import streamlit as st

from conductor.errors import ConductorError
from conductor.text.formatting import quantity
from pages.components.keyboard.focus import focus_fallback
from pages.components.sessions.actions import PLACE, SessionActions, session_dialog
from pages.components.sessions.disk_usage import store_size
from pages.components.sessions.filters import session_filters
from pages.components.sessions.import_export import import_sessions, sessions_download
from pages.components.sessions.list_state import PAGE_KEY, SessionList
from pages.components.sessions.rows import selection_bar, session_row
from pages.components.streamlit_patches.initial_values import drawn_to_the_end
from pages.components.tab.download import download
from pages.components.tab.notices import page_notices, pool_notice
from pages.components.tab.services import workbench
from pages.components.tab.state import TabState, plain
from pages.components.widgets.controls import action, page_head
from storage import EVERYTHING, SessionFilter
from storage.search.listing import many
from studio.workbench import Workbench

focus_fallback("undelete", "session-rows")

_PER_PAGE = 20


def page() -> None:
    with page_notices():
        tab, listed = TabState(), SessionList.of_tab()
        listed.leave()
        bench = workbench()
        listed.follow_address()
        actions = SessionActions(bench, tab, listed)
        pool_notice()
        bench.store.processes.retry_unwritten()
        with page_head("Sessions"):
            import_sessions(bench, tab)
        _deleted(listed, actions)
        tab.show_notice(PLACE)
        _sessions(bench, tab, listed, actions)
        session_dialog(actions)
        _give_out(bench, listed)
        store_size(bench)


def _sessions(bench: Workbench, tab: TabState, listed: SessionList, actions: SessionActions) -> None:
    filter = listed.filter
    window = bench.store.sessions.window(filter, after=listed.after)
    is_empty = not window.ids and window.further is None and listed.after is None
    if filter == EVERYTHING and is_empty:
        _nothing_yet(bench, listed)
        return
    session_filters(bench, tab, listed)
    if is_empty:
        _no_matches(listed)
        return
    head, rows = st.container(), st.container(key="session-rows", gap="small")
    pages = math.ceil(len(window.ids) / _PER_PAGE)
    at = _page_number(listed, pages)
    page = window.ids[(at - 1) * _PER_PAGE : at * _PER_PAGE]
    sessions = bench.store.sessions.summaries(page)
    snippets = bench.store.sessions.snippets(page, filter.search)
    with head:
        selection_bar(listed, actions, sessions=sessions, window=window)
    with rows:
        for session in sessions:
            session_row(tab, listed, session, snippet=snippets.get(session.id), actions=actions)
    _other_windows(listed, window.further if at >= pages else None)


def _nothing_yet(bench: Workbench, listed: SessionList) -> None:
    deleted = bench.store.sessions.count(SessionFilter(deleted=True))
    if deleted:
        st.caption("All sessions are deleted. New ones appear here.")
    else:
        st.caption("No sessions yet. Ask a question on the workbench to start one.")
    st.page_link("pages/workbench.py", label="Open the workbench", icon=":material/account_tree:")
    if deleted:
        label = f"Show {many(deleted, 'deleted session')}"
        st.button(label, key="find-gone", on_click=listed.ask_for, kwargs={"deleted": True})


def _no_matches(listed: SessionList) -> None:
    what = "deleted session" if listed.filter.deleted else "session"
    if listed.filter.search:
        st.caption(f"No {what} has all of: {plain(listed.filter.search, limit=80)}")
        st.caption("Words match from their beginning, ignoring case and accents; quotes find a phrase.")
    else:
        st.caption(f"No {what} matches all filters.")
    st.button("Show all sessions", key="find-everything", on_click=listed.ask_for_everything)


def _other_windows(listed: SessionList, further: str | None) -> None:
    """The ways to older sessions than those of this window, and back."""
    go_on = partial(action, redraw=False)
    with st.container(horizontal=True, key="windows"):
        if listed.after is not None:
            go_on("Back to the newest", "first_page", listed.go_on, None, key="windows-newest")
        if further is not None:
            go_on("Older sessions", "chevron_right", listed.go_on, further, key="windows-older")


def _page_number(listed: SessionList, pages: int) -> int:
    """The page of the list: the one shown last, also by an earlier visit, as far as there still is one."""
    number = st.session_state.get(PAGE_KEY)
    at: int = max(1, min(number or listed.page, pages))
    if pages > 1:
        if number is not None and number != at:
            st.session_state[PAGE_KEY] = at
        at = st.pagination(pages, default=at, key=PAGE_KEY)
    listed.page = at
    return at


def _deleted(listed: SessionList, actions: SessionActions) -> None:
    """What was deleted last, with its undo; the filter for deleted sessions finds it at any time after."""
    deleted = listed.deleted
    if deleted is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center", key="deleted-notice"):
        title = None if deleted.name is None else f"“{plain(deleted.name, limit=100)}”"
        st.markdown(f"Deleted {title or quantity(len(deleted.ids), 'session')}")
        st.space("stretch")
        action("Undo", "undo", actions.restore, deleted.ids, key="undelete", redraw=False)


def _give_out(bench: Workbench, listed: SessionList) -> None:
    """Give out the sessions whose file was requested."""
    ids, listed.exports = listed.exports, ()
    if ids:
        name = f"session-{ids[0]}.jsonl" if len(ids) == 1 else f"sessions-{len(ids)}.jsonl"
        try:
            listed.file = sessions_download(bench.store, ids, id=uuid4().hex, name=name)
        except ConductorError as error:
            st.error(plain(str(error)), icon=":material/error:")
            return
    if listed.file is not None:
        download(listed.file)


page()
drawn_to_the_end()
