"""The workbench's left side: the query, its buttons, import, recent sessions."""

from __future__ import annotations

import streamlit as st

from conductor.errors import ConductorError
from pages.components.sessions.forked_from import fork_source
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import STATE_ICONS, state_label
from pages.components.widgets.controls import action
from pages.components.workbench.composer import chosen_settings, plan_query
from pages.components.workbench.settings import settings_popover, settings_summary
from studio.workbench import RECENT, Workbench


def sidebar(bench: Workbench, tab: TabState) -> None:
    """Draw it; buttons act through callbacks, before the page is drawn."""
    with st.sidebar:
        st.text_area(
            "Query", key="query", height=120, placeholder="Ask something that takes more than one step"
        )
        settings_popover(bench, tab)
        settings_summary(bench, tab)
        fork_source(bench, tab)
        tab.show_notice("query")
        action(
            "Plan workflow",
            "account_tree",
            lambda: plan_query(bench, tab),
            key="plan",
            help="Ctrl+Enter",
            type="primary",
            width="stretch",
        )
        with st.container(horizontal=True, gap="small"):
            action(
                "Plan and run",
                "play_arrow",
                lambda: plan_query(bench, tab, run=True),
                key="plan-and-run",
                help="Ctrl+Shift+Enter",
                width="stretch",
            )
            if tab.session is not None:
                tip = "Start with an empty query" if tab.draft is None else "Back to the query you typed"
                action("New", "add", tab.open, None, key="new", help=tip)
        _importer(bench, tab)
        _recent(bench, tab)


def _importer(bench: Workbench, tab: TabState) -> None:
    uploads = st.session_state.setdefault("uploads", 0)
    key = f"upload-{uploads}"

    def imported() -> None:
        upload = st.session_state.get(key)
        if upload is None:
            return
        settings = chosen_settings(bench, tab)
        try:
            session = bench.editing.import_plan(upload.getvalue(), fallback=st.session_state.get("query"))
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
        st.file_uploader(
            "Workflow file",
            type="json",
            key=key,
            label_visibility="collapsed",
            on_change=imported,
        )
    tab.show_notice("import")


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
