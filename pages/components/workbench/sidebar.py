"""The workbench's left side: sessions, and what they used today."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from io import BytesIO

import streamlit as st

from conductor.errors import ConductorError, FormatError, StorageError
from conductor.workflow.model import Workflow
from pages.components.keyboard.focus import focus_fallback
from pages.components.sessions.forked_from import fork_source
from pages.components.sessions.import_export import IMPORTED, MAX_MEGABYTES
from pages.components.tab.notices import showing_errors
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import STATE_ICONS, state_label
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action
from pages.components.widgets.thumbnails import thumbnails
from pages.components.workbench.following.live_refresh import RECENT_PART
from pages.components.workbench.question.composer import chosen_settings
from storage import Session, SessionStore, SessionSummary
from studio.session_file import holds_sessions, import_sessions
from studio.sessions.person_limits import NEAR, PersonLimits
from studio.workbench import RECENT, Workbench

focus_fallback("new", "query")


def sidebar(bench: Workbench, tab: TabState, view: SessionView | None) -> None:
    """Draw it; buttons act through callbacks, before the page is drawn."""
    with st.sidebar:
        with st.container(horizontal=True, gap="small"):
            action(
                "New",
                "add",
                tab.open,
                None,
                key="new",
                help="Ask in a new session",
                disabled=tab.session is None,
                width="stretch",
            )
            _importer(bench, tab)
        tab.show_notice("import")
        fork_source(bench, tab)
        _others(bench, tab, after=0.0 if view is None else view.session.updated_at)


def _others(bench: Workbench, tab: TabState, *, after: float) -> None:
    """What changes by the work of others, too: a part that is drawn again without the rest of the page."""

    def part() -> None:
        tab.redraw_on_request()
        with showing_errors(RECENT_PART):
            _recent(bench, tab)
            _used(bench, after=after)

    st.fragment(part, key=RECENT_PART)()


def _importer(bench: Workbench, tab: TabState) -> None:
    uploads = st.session_state.setdefault("uploads", 0)
    key = f"upload-{uploads}"

    def imported() -> None:
        upload = st.session_state.get(key)
        if upload is None:
            return
        try:
            session = _imported(bench, tab, upload)
        except ConductorError as error:
            tab.notify("error", f"{upload.name} was not imported: {error}", place="import")
        else:
            tab.open(session.id)
        st.session_state["uploads"] += 1

    # With a new key after each upload the popover is closed and the same file can be chosen again.
    with st.popover("Import", icon=":material/upload:", width="stretch", key=f"import-{uploads}"):
        st.caption("An exported run, session or workflow.")
        st.text_input("Question, if the workflow has none", key="import-query")
        st.file_uploader(
            "File",
            type=IMPORTED,
            key=key,
            label_visibility="collapsed",
            max_upload_size=MAX_MEGABYTES,
            on_change=imported,
        )


def _imported(bench: Workbench, tab: TabState, file: BytesIO) -> Session:
    """The first session of the file, or a new one with its workflow."""
    if holds_sessions(file):
        for imported in import_sessions(bench.store, file):
            return bench.store.sessions.find(imported)
        raise FormatError("The file has no session. Choose another one.")
    settings = chosen_settings(bench, tab)
    session = bench.editing.import_plan(file.getvalue(), fallback=st.session_state.get("import-query"))
    if settings is not None:
        bench.store.sessions.set_settings(session.id, settings)
    return session


def _recent(bench: Workbench, tab: TabState) -> None:
    bench.store.processes.retry_unwritten()
    sessions, opened = bench.store.sessions.listed(limit=RECENT), tab.session
    rows: list[tuple[Session | SessionSummary, str, str]] = [
        (session, STATE_ICONS[session.state], f"{state_label(session.state)}: ") for session in sessions
    ]
    if opened is not None and all(session.id != opened for session in sessions):
        # An unknown one is reported by the page.
        with suppress(StorageError):
            rows.append((bench.store.sessions.find(opened), ":material/more_horiz:", ""))
    if not rows:
        return
    st.caption("Recent sessions")
    thumbnails(
        {
            f"recent-{session.id}": workflow
            for session, _, _ in rows
            if (workflow := _workflow(bench.store, session.id, session.updated_at)) is not None
        }
    )
    with st.container(key="recent", gap=None):
        for session, icon, state in rows:
            st.button(
                plain(session.title, limit=60),
                key=f"recent-{session.id}",
                icon=icon,
                type="secondary" if session.id == opened else "tertiary",
                width="stretch",
                wrap=False,
                help=f"{state}{plain(session.query, limit=200)}",
                on_click=_open,
                args=(tab, session.id),
            )


def _open(tab: TabState, session: str) -> None:
    tab.open(session)
    tab.ask_redraw()


# A session's workflow changes with its time only; the list is drawn with every page.
@lru_cache(maxsize=4 * RECENT)
def _workflow(store: SessionStore, session: str, _updated_at: float) -> Workflow | None:
    # What cannot be read is named where the session is opened.
    with suppress(StorageError):
        head = store.revisions.head(session)
        return None if head is None else head.workflow
    return None


def _used(bench: Workbench, *, after: float) -> None:
    """What was used since midnight, on this machine apart, and of the budget of the person who asks; nothing
    if no model was called and there is no budget.
    """
    today, limits = bench.used_today, PersonLimits.of(bench.store, bench.asker)
    parts = [", ".join(today.total(after=after).known_words)]
    if (unpaid := today.unpaid(after=after)).tokens is not None:
        parts.append(f"{unpaid.token_words} on this machine")
    words = " · ".join(filter(None, parts))
    if words or (limits is not None and limits.words):
        with st.container(key="used-today"):
            if words:
                st.page_link("pages/usage.py", label=plain(f"Today, with planning: {words}"))
            if limits is not None and limits.words:
                _own_budget(limits)


def _own_budget(limits: PersonLimits) -> None:
    """What is used of it, with a warning near its end."""
    if limits.share < NEAR:
        st.caption(plain(f"Your budget: {limits.words}"))
    else:
        state = "is used up" if limits.share >= 1 else "is nearly used up"
        st.warning(plain(f"Your budget {state}: {limits.words}"), icon=":material/savings:")
