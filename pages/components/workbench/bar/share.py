"""The exports of a session, each with a line that describes it: files, links, code."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit, urlunsplit
from uuid import uuid4

import streamlit as st

from conductor.errors import ConductorError
from pages.components.sessions.import_export import file_name, run_download, session_download
from pages.components.tab.download import Download, download
from pages.components.tab.services import view_links
from pages.components.tab.state import Export, TabState
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, row
from pages.components.widgets.text_block import text_block
from pages.components.workbench.bar.use_from_code import use_from_code
from studio.access.view_links import PARAMETER
from studio.workbench import Workbench

_PEOPLE, _CODE = "Files and links", "Code"

_FILES: tuple[tuple[Export, str, str, str], ...] = (
    (
        "run",
        "One file",
        "slideshow",
        "One HTML page that replays the newest run without the app; it can be imported as this session",
    ),
    ("workflow", "Workflow", "account_tree", "The steps as JSON, to run or change elsewhere"),
    ("session", "Session", "folder_zip", "All plans, runs and notes as JSON Lines, to import elsewhere"),
)


def share(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the button and what it opens."""
    if what := tab.export_request():
        _export(bench, tab, view, what)
    with (
        st.popover("Share", icon=":material/ios_share:", key="share", on_change="rerun", width="content"),
        st.container(key="share-ways"),
    ):
        people, programs = st.tabs([_PEOPLE, _CODE], key="share-part", on_change="rerun")
        with people, st.container(gap="xsmall"):
            _with_people(bench, tab, view)
        if programs.open:
            with programs:
                use_from_code(bench, tab, view)
    if tab.download is not None:
        download(tab.download)


def open_code() -> None:
    """Have Share open on the next run of the page, at how a program asks."""
    st.session_state["share"], st.session_state["share-part"] = True, _CODE


def _with_people(bench: Workbench, tab: TabState, view: SessionView) -> None:
    for file, label, icon, meaning in _FILES:
        with row(f"share-{file}"):
            lacks = file == "run" and view.run is None
            action(label, icon, tab.ask_export, file, key=f"export-{file}", disabled=lacks)
            st.caption(meaning)
    text_block(session_link(view.session.id), key="share-link", label="Link", notes=["to this session"])
    _view_only(bench, view.session.id)


def _view_only(bench: Workbench, session: str) -> None:
    """The link with which people look at the session and change nothing."""
    links = view_links()
    link = session_link(session, **{PARAMETER: links.value(session)})
    text_block(link, key="share-view-link", label="View-only link", notes=["read-only"])
    if not links.signed:
        st.caption("Shows this session, live, to everyone who can reach this app.")
        return
    st.caption("Shows only this session, live, without a password.")
    action(
        "Revoke view-only links",
        "link_off",
        bench.store.sessions.revoke_view_links,
        session,
        key="revoke-view-links",
        help="All view-only links to this session stop working; the next one you copy is new",
        type="tertiary",
        place="run",
    )


def session_link(session: str, **more: str) -> str:
    """The address of a session, as the browser has it, with these parameters beside its id."""
    scheme, host, path, *_ = urlsplit(st.context.url or "")
    return urlunsplit((scheme, host, path, urlencode({"session": session, **more}), ""))


def _export(bench: Workbench, tab: TabState, view: SessionView, what: Export) -> None:
    """Give a file out, here rather than in a callback: by now all edits of the click are stored."""
    if tab.text_refused:
        refused = "Not exported: the text in the step pane is not valid. Fix it first."
        tab.notify("error", refused, place="run")
        return
    store, session = bench.store, view.session
    try:
        match what:
            case "run":
                tab.download = run_download(store, session)
            case "session":
                tab.download = session_download(store, session)
            case "workflow":
                name, text = f"{file_name(session.title)}.json", bench.editing.export(session.id)
                tab.download = Download(id=uuid4().hex, name=name, mime="application/json", text=text)
    except ConductorError as error:
        tab.notify("error", str(error), place="run")
