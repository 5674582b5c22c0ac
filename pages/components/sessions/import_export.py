"""Sessions in and out as files: a dialog to import them, and what the browser keeps of one."""

from __future__ import annotations

import re
import textwrap
import time
from collections.abc import Sequence
from functools import partial
from io import BytesIO
from uuid import uuid4

import streamlit as st

from conductor.errors import ConductorError, FormatError
from conductor.text.formatting import LISTED, named, quantity, size
from pages.components.tab.download import Download
from pages.components.tab.state import TabState, plain
from pages.components.widgets.dialog import Dialog
from storage import Session, SessionStore
from studio.session_file import (
    ImportPreview,
    PlanPreview,
    SessionPreview,
    look_into,
    newest_run,
    run_page,
    write_sessions,
)
from studio.session_file import import_sessions as sessions_of
from studio.workbench import Workbench

MAX_MEGABYTES = 100
"""Of a session file in the browser, where all of it is in memory; the commands have no limit."""
IMPORTED = ("html", "jsonl", "json")
"""How names of files end that can be imported."""

_IMPORT = Dialog[tuple[str, ImportPreview | None]]("import")
"""Has the id of the file that was looked into, "" for none, and what that holds."""

_IMPORTED = "imported"


# -- out -------------------------------------------------------------------------------------------


def session_download(store: SessionStore, session: Session) -> Download:
    """The whole session as a file. Raises `FormatError` where that is too large for the browser."""
    return sessions_download(
        store, [session.id], id=uuid4().hex, name=f"{file_name(session.title)}.session.jsonl"
    )


def sessions_download(store: SessionStore, sessions: Sequence[str], *, id: str, name: str) -> Download:
    """These sessions as one file. Raises `FormatError` where that is too large for the browser."""
    file = BytesIO()
    for line in write_sessions(store, sessions):
        file.write(line)
        if file.tell() > MAX_MEGABYTES * 1_000_000:
            raise FormatError(
                f"The file has more than {MAX_MEGABYTES} MB, too large for a browser. Export it in a "
                f"terminal: conductor sessions export {sessions[0] if len(sessions) == 1 else '--all'} "
                "-o FILE"
            )
    return Download(id=id, name=name, mime="application/jsonl", text=file.getvalue().decode())


def run_download(store: SessionStore, session: Session) -> Download:
    """The session's newest run in one file, a page. Raises `StorageError` where it has none."""
    return Download(
        id=uuid4().hex,
        name=f"{file_name(session.title)}.html",
        mime="text/html",
        text=run_page(store, newest_run(store, session.id), now=time.time()),
    )


def file_name(title: str) -> str:
    """The title's first words in at most 40 of the letters that every file system has."""
    words = re.sub(r"\W+", " ", title, flags=re.ASCII).lower()
    return textwrap.shorten(words, 40, placeholder="").replace(" ", "-") or words.strip()[:40] or "session"


# -- in --------------------------------------------------------------------------------------------


def import_sessions(bench: Workbench, tab: TabState) -> None:
    """Draw the button and, once it was pressed, the dialog; an imported session is opened."""
    if (session := st.session_state.pop(_IMPORTED, None)) is not None:
        st.switch_page("pages/workbench.py", query_params={"session": session})
    st.button("Import", key="import-sessions", icon=":material/upload:", on_click=open_import)
    _IMPORT.show("Import", partial(_dialog, bench, tab), width="medium")


def open_import() -> None:
    """Have the dialog open on the next run of the sessions page."""
    _IMPORT.open(("", None))


def _dialog(bench: Workbench, tab: TabState, seen: tuple[str, ImportPreview | None]) -> None:
    st.caption(
        "Sessions, a run in one file, or a workflow. Nothing is imported until you confirm. For a "
        f"file of more than {MAX_MEGABYTES} MB use a terminal: conductor sessions import "
        "FILE"
    )
    upload = st.file_uploader(
        "File",
        type=IMPORTED,
        key=f"import-file-{_IMPORT.serial}",
        label_visibility="collapsed",
        max_upload_size=MAX_MEGABYTES,
    )
    if upload is None:
        return
    try:
        # Read once however often the dialog is drawn.
        file, preview = seen
        if preview is None or file != upload.file_id:
            preview = _look(bench, upload)
            _IMPORT.change((upload.file_id, preview))
    except ConductorError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return
    refused = draw_preview(preview)
    if preview.plan is not None:
        label = "Import the workflow"
    else:
        count = len(preview.sessions)
        label = "Import and open" if count == 1 else f"Import {count:,} sessions"
    tab.show_notice("import-sessions")
    st.button(
        label,
        key="import-now",
        type="primary",
        icon=":material/upload:",
        disabled=refused,
        on_click=_import,
        args=(bench, tab, upload, preview),
    )


def _look(bench: Workbench, file: BytesIO) -> ImportPreview:
    preview = look_into(file, workers=tuple(bench.pool.cards), is_taken=bench.store.files.is_title_taken)
    if preview.plan is None and not preview.sessions:
        raise FormatError("The file has no session. Choose another one.")
    return preview


def _import(bench: Workbench, tab: TabState, file: BytesIO, preview: ImportPreview) -> None:
    if tab.pressed_again("import-now"):
        return
    try:
        if preview.plan is not None:
            sessions: Sequence[str] = (bench.editing.import_plan(file.getvalue()).id,)
        else:
            sessions = sessions_of(bench.store, file)
    except ConductorError as error:
        tab.notify("error", f"Nothing was imported: {error}", place="import-sessions")
        return
    _IMPORT.close()
    if len(sessions) == 1:
        st.session_state[_IMPORTED] = sessions[0]
        tab.open(sessions[0])
    else:
        text = f"Imported {quantity(len(sessions), 'session')}; they are first in the list."
        tab.notify("info", text, place="sessions")


# -- what a file holds -----------------------------------------------------------------------------


def draw_preview(preview: ImportPreview) -> bool:
    """Draw what a file holds. Returns whether it cannot be imported."""
    with st.container(border=True, gap="xsmall", key="import-preview"):
        if preview.plan is not None:
            st.markdown(f"**A workflow of {quantity(preview.plan.steps, 'step')}**")
            st.caption(plain(preview.plan.query or "It has no query.", limit=300))
        elif len(preview.sessions) == 1:
            _one(preview.sessions[0])
        else:
            _several(preview.sessions)
        st.caption(plain(size(preview.size)))
    if preview.plan is not None:
        return _refused(preview.plan)
    if preview.unknown_workers:
        who = named(preview.unknown_workers)
        text = f"This pool does not have {who}. You can read the session; to run it, choose other workers."
        st.warning(plain(text), icon=":material/person_off:")
    return False


def _refused(plan: PlanPreview) -> bool:
    if plan.unknown_workers:
        who = named(plan.unknown_workers)
        reason = (
            f"It cannot be imported: this pool does not have {who}. Add what is missing on the Pool page, or "
            "name workers of this pool in the file."
        )
    elif plan.query is None:
        reason = "It cannot be imported here: it has no query. Import it on the workbench, with a query."
    else:
        return False
    st.error(plain(reason), icon=":material/error:")
    return True


def _one(session: SessionPreview) -> None:
    st.markdown(f"**{plain(session.title, limit=110)}**")
    st.caption(plain(session.query, limit=300))
    st.caption(plain(" · ".join(_holds(session))))
    if session.called != session.title:
        st.caption(
            f"Another session has this title, so it will be called \u2068{plain(session.called)}\u2069."
        )
    if session.live:
        runs = quantity(session.live, "run")
        st.caption(f"{runs} had not ended when the file was written, and will appear as interrupted.")


def _several(sessions: Sequence[SessionPreview]) -> None:
    st.markdown(f"**{quantity(len(sessions), 'session')}**")
    for session in sessions[:LISTED]:
        # A title may change the direction of writing: the marks around it confine that to the title.
        st.caption(plain(f"\u2068{session.called}\u2069 · {' · '.join(_holds(session)[:2])}", limit=200))
    if len(sessions) > LISTED:
        st.caption(f"and {len(sessions) - LISTED:,} more")
    renamed = sum(session.called != session.title for session in sessions)
    if renamed:
        st.caption(f"{quantity(renamed, 'title')} already exist and get a number.")


def _holds(session: SessionPreview) -> list[str]:
    """Its parts, counted."""
    return [
        quantity(session.revisions, "revision"),
        quantity(session.runs, "run"),
        *([quantity(session.trials, "trial")] if session.trials else []),
        f"{quantity(session.outputs, 'output')} of {quantity(session.output_characters, 'character')}",
        quantity(session.events, "event"),
        *([quantity(session.notes, "note")] if session.notes else []),
        *([quantity(session.changes, "asked change")] if session.changes else []),
        *([f"tagged {', '.join(session.tags)}"] if session.tags else []),
    ]
