"""The workbench's left side: the query, its buttons, import, recent sessions; and an empty page's welcome."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from conductor.errors import ConductorError
from conductor.values.presets import Settings
from pages.components.sessions.forked_from import fork_source
from pages.components.tab.state import TabState, plain
from pages.components.view_models.run_text import STATE_ICONS, state_label
from pages.components.widgets.controls import action, row
from pages.components.workbench.settings import settings_of, settings_popover, settings_summary
from studio.workbench import RECENT, Workbench

_QUICK_SECONDS = 0.2
"""A plan that is there this soon is shown at once, not after a glimpse of the planning."""

EXAMPLES: tuple[tuple[str, str, str], ...] = (
    ("calculate", "What is 17 * 23?", "Solve, then check: two steps"),
    ("compare_arrows", "Compare France, Japan and Brazil", "Independent steps and an aggregator"),
    ("function", "Solve the system 3x + 2y = 12 and x - y = 1", "Plan, execute, verify"),
)


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


def plan_query(bench: Workbench, tab: TabState, *, query: str | None = None, run: bool = False) -> None:
    """Begin to plan the query in a new session and open it; `run` it too. Errors stand at the query."""
    if query is not None:
        tab.keep_draft()
        st.session_state["query"] = query
    if tab.pressed_again("plan"):
        return
    try:
        session = bench.ask(st.session_state.get("query") or "", settings=_chosen(bench, tab))
        tab.note_asked()
        tab.open(session.id)
        bench.planning.begin(session.id, then_run=run)
    except ConductorError as error:
        tab.notify("error", str(error), place="query")
        return
    until = time.monotonic() + _QUICK_SECONDS
    while bench.activities.busy(session.id) and time.monotonic() < until:
        time.sleep(0.01)


def _chosen(bench: Workbench, tab: TabState) -> Settings | None:
    """The settings for a new session, None where nothing is chosen."""
    settings = settings_of(bench, tab)
    return None if settings == Settings() else settings


def _importer(bench: Workbench, tab: TabState) -> None:
    uploads = st.session_state.setdefault("uploads", 0)
    key = f"upload-{uploads}"

    def imported() -> None:
        upload = st.session_state.get(key)
        if upload is None:
            return
        settings = _chosen(bench, tab)
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
    bench.store.processes.mark_interrupted(wait=False)
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


def welcome(bench: Workbench, tab: TabState) -> None:
    """Draw it."""
    with st.container(key="welcome", gap="medium"):
        st.title("Ask, and see the plan before it runs", anchor=False)
        st.markdown(
            "A Conductor writes a workflow: steps, who does them, and what each may read. "
            "Review it, change it, run it; a rerun calls only what your change touched."
        )
        for column, (icon, query, shape) in zip(st.columns(len(EXAMPLES)), EXAMPLES, strict=True):
            with column.container(gap="xsmall"):
                action(
                    plain(query),
                    icon,
                    partial(plan_query, bench, tab, query=query),
                    key=f"example-{query}",
                    width="stretch",
                )
                st.caption(shape)
        if bench.pool.label:
            with row():
                st.caption(f":material/cloud_off: This pool is {bench.pool.label}.", width="content")
                st.page_link("pages/pool.py", label="Add a model", icon=":material/groups:")
