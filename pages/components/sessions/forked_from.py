"""The origin of a fork, with the way there."""

from __future__ import annotations

import streamlit as st

from conductor.errors import StorageError
from pages.components.tab.state import TabState, plain
from storage import Revision, Session
from studio.workbench import Workbench


def fork_source(bench: Workbench, tab: TabState) -> None:
    """Draw it for the open session; nothing where that is no fork."""
    fork = _open_session(bench, tab)
    if fork is None or fork.forked_from is None:
        return
    source = source_of(bench, fork.forked_from)
    if source is None:
        st.caption("Forked from a session that was removed")
        return
    revision, parent = source
    st.page_link(
        "pages/workbench.py",
        label=plain(f"Forked from revision {revision.number} of {parent.title}", limit=110),
        icon=":material/fork_right:",
        help="Open that session",
        query_params={"session": parent.id},
    )


def source_of(bench: Workbench, revision: str) -> tuple[Revision, Session] | None:
    """The revision that a fork was made from, with its session, or None if it was removed."""
    try:
        source = bench.store.revisions.find(revision)
        return source, bench.store.sessions.find(source.session)
    except StorageError:
        return None


def _open_session(bench: Workbench, tab: TabState) -> Session | None:
    try:
        return None if tab.session is None else bench.store.sessions.find(tab.session)
    except StorageError:
        # The centre of the page shows that there is no such session.
        return None
