"""What is given out of a session: the link to it, one to look at it only, its workflow as JSON, the whole
session, a report.
"""

from __future__ import annotations

import re
from urllib.parse import urlencode, urlsplit, urlunsplit
from uuid import uuid4

import streamlit as st

from conductor.errors import ConductorError
from pages.components.sessions.import_export import export_session
from pages.components.tab.download import Download, download
from pages.components.tab.services import view_links
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action
from pages.components.widgets.text_block import text_block
from studio.access.view_links import PARAMETER
from studio.workbench import Workbench


def share(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the button and what it opens."""
    with st.popover("Share", icon=":material/ios_share:", key="share", width="content"):
        text_block(session_link(view.session.id), key="share-link", label="Link", notes=["to this session"])
        with st.container(key="share-view-only", gap="xsmall"):
            _view_only(bench, view.session.id)
        if view.head is not None:
            with st.container(horizontal=True, gap="small", key="share-files"):
                action("Export JSON", "download", tab.ask_export, key="export", help="The workflow as a file")
                export_session(tab, bench.store, view.session, place="run")
    if tab.export_asked():
        _export(bench, tab, view)
    if tab.download is not None:
        download(tab.download)


def _view_only(bench: Workbench, session: str) -> None:
    """The link with which people look at the session and change nothing."""
    links = view_links()
    link = session_link(session, **{PARAMETER: links.value(session)})
    text_block(link, key="share-view-link", label="View-only link", notes=["changes nothing"])
    if not links.signed:
        st.caption("Shows this session, live, to those who can reach this app.")
        return
    st.caption("Shows this session alone, live, and needs no password.")
    action(
        "Revoke view-only links",
        "link_off",
        bench.store.sessions.revoke_view_links,
        session,
        key="revoke-view-links",
        help="All view-only links to this session stop working; the next one copied here is another",
        type="tertiary",
        place="run",
    )


def session_link(session: str, **more: str) -> str:
    """The address of a session, as the browser has it, with these parameters beside its id."""
    scheme, host, path, *_ = urlsplit(st.context.url or "")
    return urlunsplit((scheme, host, path, urlencode({"session": session, **more}), ""))


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
