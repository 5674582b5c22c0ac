"""The workbench's left side: sessions, and what they used today."""

from __future__ import annotations

import streamlit as st

from conductor.errors import ConductorError
from pages.components.sessions.forked_from import fork_source
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import STATE_ICONS, state_label
from pages.components.widgets.controls import action
from pages.components.workbench.question.composer import chosen_settings
from studio.workbench import RECENT, Workbench


def sidebar(bench: Workbench, tab: TabState) -> None:
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
        _recent(bench, tab)
        _used_today(bench)


def _importer(bench: Workbench, tab: TabState) -> None:
    uploads = st.session_state.setdefault("uploads", 0)
    key = f"upload-{uploads}"

    def imported() -> None:
        upload = st.session_state.get(key)
        if upload is None:
            return
        settings = chosen_settings(bench, tab)
        try:
            session = bench.editing.import_plan(
                upload.getvalue(), fallback=st.session_state.get("import-query")
            )
            if settings is not None:
                bench.store.sessions.set_settings(session.id, settings)
        except ConductorError as error:
            tab.notify("error", f"{upload.name} was not imported: {error}", place="import")
        else:
            tab.open(session.id)
        st.session_state["uploads"] += 1

    # With a new key after each upload the popover is closed and the same file can be chosen again.
    with st.popover("Import JSON", icon=":material/upload:", width="stretch", key=f"import-{uploads}"):
        st.caption("A workflow file that was exported here or by the command line.")
        st.text_input("Question, where the file has none", key="import-query")
        st.file_uploader(
            "Workflow file",
            type="json",
            key=key,
            label_visibility="collapsed",
            on_change=imported,
        )


def _recent(bench: Workbench, tab: TabState) -> None:
    bench.store.processes.retry_unwritten()
    sessions = bench.store.sessions.listed(limit=RECENT)
    if not sessions:
        return
    st.caption("Recent sessions")
    with st.container(key="recent", gap=None):
        for session in sessions:
            st.button(
                plain(session.title, limit=60),
                key=f"recent-{session.id}",
                icon=STATE_ICONS[session.state],
                type="secondary" if session.id == tab.session else "tertiary",
                width="stretch",
                wrap=False,
                help=f"{state_label(session.state)}: {plain(session.query, limit=200)}",
                on_click=tab.open,
                args=(session.id,),
            )


def _used_today(bench: Workbench) -> None:
    """What was used since midnight; nothing where no model was called."""
    used = bench.used_today.total().known_words
    if used:
        with st.container(key="used-today"):
            st.caption(plain(f"Today, with planning: {', '.join(used)}"))
