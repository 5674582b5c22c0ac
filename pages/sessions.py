"""The sessions page: find sessions again, reopen, name, tag, fork, compare, export, delete with undo."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from conductor.amounts import counted
from conductor.errors import ConductorError
from pages.components.download import Download, download
from pages.components.first_value import drawn_to_the_end
from pages.components.focus import Heirs, keep_focus
from pages.components.guard import errors_shown
from pages.components.pool_notice import pool_notice
from pages.components.services import workbench
from pages.components.session_deeds import PLACE, SessionDeeds
from pages.components.session_dialogs import session_dialog
from pages.components.session_files import import_sessions
from pages.components.session_filters import session_filters
from pages.components.session_list import PAGE_KEY, SessionList
from pages.components.session_picks import session_picks
from pages.components.session_row import session_row
from pages.components.state import TabState, plain
from pages.components.store_size import store_size
from storage import EVERYTHING, SessionFilter, SessionSummary
from storage.session_file import write_session, write_sessions
from storage.workbench import Workbench

_PER_PAGE = 20
_STYLES = Path(__file__).parent / "components" / "session_list.css"


def page() -> None:
    """Draw the page for this tab."""
    with errors_shown("page"):
        tab, listed = TabState(), SessionList()
        listed.leave()
        bench = workbench()
        listed.follow_address()
        deeds = SessionDeeds(bench, tab, listed)
        pool_notice()
        bench.store.mark_interrupted()
        st.html(_STYLES)
        with st.container(horizontal=True, vertical_alignment="center", key="page-head"):
            st.title("Sessions", anchor=False)
            import_sessions(bench, tab)
        _deleted(listed, deeds)
        tab.show_notice(PLACE)
        _sessions(bench, tab, listed, deeds)
        session_dialog(listed, deeds)
        _give_out(bench, listed)
        store_size(bench)


def _sessions(bench: Workbench, tab: TabState, listed: SessionList, deeds: SessionDeeds) -> None:
    filter = listed.filter
    if filter == EVERYTHING and not bench.store.count_sessions(filter):
        _nothing_yet(bench, listed)
        return
    session_filters(bench, tab, listed)
    count = bench.store.count_sessions(filter)
    if not count:
        _nothing_found(listed)
        return
    head, rows = st.container(), st.container(key="session-rows", gap="small")
    at = _page_shown(math.ceil(count / _PER_PAGE))
    shown = bench.store.sessions(filter, limit=_PER_PAGE, offset=(at - 1) * _PER_PAGE)
    snippets = bench.store.snippets([session.id for session in shown], filter.search)
    with head:
        session_picks(listed, deeds, shown=shown, count=count)
    with rows:
        for session in shown:
            session_row(tab, listed, session, snippet=snippets.get(session.id), deeds=deeds)
    with st.container(key="machinery"):
        keep_focus(_heirs(shown))


def _nothing_yet(bench: Workbench, listed: SessionList) -> None:
    deleted = bench.store.count_sessions(SessionFilter(deleted=True))
    if deleted:
        st.caption("All sessions are deleted. What you ask on the workbench is kept here.")
    else:
        st.caption("No sessions yet. Ask something on the workbench; everything you do there is kept here.")
    st.page_link("pages/workbench.py", label="Open the workbench", icon=":material/account_tree:")
    if deleted:
        st.button(
            f"Show {counted(deleted, 'deleted session')}",
            key="find-gone",
            on_click=listed.ask_for,
            kwargs={"deleted": True},
        )


def _nothing_found(listed: SessionList) -> None:
    what = "deleted session" if listed.filter.deleted else "session"
    if listed.filter.search:
        st.caption(f"No {what} has all of: {plain(listed.filter.search, limit=80)}")
        st.caption(
            "Words are found by how they begin, in any case and without accents; quotes keep words together."
        )
    else:
        st.caption(f"There is no {what} that all of this is true of.")
    st.button("Show all sessions", key="find-everything", on_click=listed.ask_for_everything)


def _page_shown(pages: int) -> int:
    """The page of the list: the one shown last, also by an earlier visit, as far as there still is one."""
    shown = st.session_state.get(PAGE_KEY)
    at = min(shown or st.session_state.get("sessions-at", 1), pages)
    if pages > 1:
        if shown is not None and shown != at:
            st.session_state[PAGE_KEY] = at
        at = st.pagination(pages, default=at, key=PAGE_KEY)
    st.session_state["sessions-at"] = at
    return at


def _heirs(sessions: Sequence[SessionSummary]) -> Heirs:
    """Whose focus goes to whom when a row goes."""
    first = [f"open-{session.id}" for session in sessions[:1]]
    heirs = {"undelete": first, "delete-picked": ["undelete"], "find-set": ["find-search"]}
    heirs |= {"pick-none": ["pick-page"], "restore-picked": first}
    for session in sessions:
        heirs[f"act-{session.id}"] = ["undelete"]
        heirs[f"restore-{session.id}"] = first
    return heirs


def _deleted(listed: SessionList, deeds: SessionDeeds) -> None:
    """What was deleted last, with its undo; the filter for deleted sessions finds it at any time after."""
    deleted = listed.deleted
    if deleted is None:
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        single = deleted.name is not None
        name = f"“{plain(deleted.name, limit=100)}”" if single else counted(len(deleted.ids), "session")
        st.markdown(f"Deleted {name}")
        st.space("stretch")
        st.button("Undo", key="undelete", icon=":material/undo:", on_click=deeds.restore, args=(deleted.ids,))


def _give_out(bench: Workbench, listed: SessionList) -> None:
    """Give out the sessions that a file was asked for."""
    wanted = listed.wanted_file
    if wanted:
        try:
            if len(wanted) == 1:
                text = write_session(bench.store, wanted[0])
            else:
                text = write_sessions(bench.store, wanted).decode()
        except ConductorError as error:
            st.error(plain(str(error)), icon=":material/error:")
            return
        name = f"session-{wanted[0]}.json" if len(wanted) == 1 else f"sessions-{len(wanted)}.json"
        number = st.session_state.get("sessions-files", 0) + 1
        st.session_state["sessions-files"] = number
        listed.file = Download(id=f"sessions-{number}", name=name, mime="application/json", text=text)
    if listed.file is not None:
        download(listed.file)


page()
drawn_to_the_end()
