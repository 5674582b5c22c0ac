"""What is given out of a session: the link to it, its workflow as JSON, the whole session, a report."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import streamlit as st

from conductor.errors import ConductorError
from pages.components.sessions.import_export import export_session
from pages.components.tab.download import Download, download
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action
from pages.components.widgets.text_block import text_block
from studio.workbench import Workbench


def share(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the button and what it opens."""
    with st.popover("Share", icon=":material/ios_share:", key="share", width="content"):
        text_block(session_link(view.session.id), key="share-link", label="Link", notes=["to this session"])
        # Room for the link with which a session can be looked at and not changed.
        st.container(key="share-view-only")
        if view.head is not None:
            with st.container(horizontal=True, gap="small", key="share-files"):
                action("Export JSON", "download", tab.ask_export, key="export", help="The workflow as a file")
                export_session(tab, bench.store, view.session, place="run")
    if tab.export_asked():
        _export(bench, tab, view)
    if tab.download is not None:
        download(tab.download)


def session_link(session: str) -> str:
    """The address of a session, as the browser has it."""
    scheme, host, path, *_ = urlsplit(st.context.url or "")
    return urlunsplit((scheme, host, path, f"session={session}", ""))


def _export(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Give the workflow out, here rather than in a callback: by now all edits of the click are kept."""
    if tab.text_refused:
        refused = "Not exported: the text in the inspector was refused; fix it first."
        tab.notify("error", refused, place="run")
        return
    try:
        text = bench.editing.export(view.session.id)
    except ConductorError as error:
        tab.notify("error", str(error), place="run")
        return
    name = re.sub(r"[^\w]+", "-", view.session.title, flags=re.ASCII).strip("-").lower()[:40] or "workflow"
    tab.download = Download(id=uuid4().hex, name=f"{name}.json", mime="application/json", text=text)
