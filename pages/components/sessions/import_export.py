"""Sessions in and out as files: a dialog to import them, and the exports of an open session."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Literal
from uuid import uuid4

import streamlit as st

from conductor.errors import ConductorError, FormatError
from conductor.text.formatting import LISTED, counted, named, size
from pages.components.streamlit_patches.dialog_theme import dialog_theme
from pages.components.tab.download import Download
from pages.components.tab.state import TabState, plain
from storage import Session, SessionStore
from studio.session_file import ImportPreview, PlanPreview, SessionPreview, look_into, write_sessions
from studio.session_file import import_sessions as sessions_of
from studio.sessions.reporting import newest_run, report_of
from studio.workbench import Workbench

MAX_MEGABYTES = 100
"""Of a session file in the browser, where all of it is in memory; the commands have no limit."""

Take = Literal["session", "report"]

_TAKES: Mapping[Take, str] = {
    "session": ":material/folder_zip: Whole session",
    "report": ":material/description: Report of the newest run",
}


# -- out -------------------------------------------------------------------------------------------


def export_session(tab: TabState, store: SessionStore, session: Session, *, place: str) -> None:
    """Draw the menu of what can be exported besides the workflow; errors are shown at `place`.

    The file is made in the run of the page after the press, when all edits of that click are stored; the page
    gives out `tab.download`.
    """
    key, wanted = "take", "file-wanted"

    def take() -> None:
        st.session_state[wanted] = (session.id, st.session_state[key])
        tab.ask_redraw()

    st.menu_button(
        "More to export",
        list(_TAKES),
        key=key,
        icon=":material/more_horiz:",
        help="The whole session, or a report of its newest run",
        format_func=_TAKES.__getitem__,
        on_click=take,
    )
    of, what = st.session_state.pop(wanted, (None, None))
    if of != session.id or what is None:
        return
    try:
        tab.download = (
            session_download(store, session) if what == "session" else report_download(store, session)
        )
    except ConductorError as error:
        tab.notify("error", str(error), place=place)


def session_download(store: SessionStore, session: Session) -> Download:
    """The whole session as a file. Raises `FormatError` where that is too large for the browser."""
    return sessions_download(
        store, [session.id], id=uuid4().hex, name=f"{_file_name(session.title)}.session.jsonl"
    )


def sessions_download(store: SessionStore, sessions: Sequence[str], *, id: str, name: str) -> Download:
    """These sessions as one file. Raises `FormatError` where that is too large for the browser."""
    file = BytesIO()
    for line in write_sessions(store, sessions):
        file.write(line)
        if file.tell() > MAX_MEGABYTES * 1_000_000:
            raise FormatError(
                f"The file has more than {MAX_MEGABYTES} MB, the most in a browser; export it in a terminal: "
                f"conductor sessions export {sessions[0] if len(sessions) == 1 else '--all'} -o FILE"
            )
    return Download(id=id, name=name, mime="application/jsonl", text=file.getvalue().decode())


def report_download(store: SessionStore, session: Session) -> Download:
    """The report of the session's newest run as a file. Raises `StorageError` where it has none."""
    return Download(
        id=uuid4().hex,
        name=f"{_file_name(session.title)}.html",
        mime="text/html",
        text=report_of(store, newest_run(store, session.id), now=time.time()),
    )


def _file_name(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title, flags=re.ASCII).strip("-").lower()[:40] or "session"


# -- in --------------------------------------------------------------------------------------------


def import_sessions(bench: Workbench, tab: TabState) -> None:
    """Draw the button and, once it was pressed, the dialog; an imported session is opened."""
    st.button("Import", key="import-sessions", icon=":material/upload:", on_click=_open)
    if st.session_state.get("import-open"):
        st.dialog("Import", width="medium", on_dismiss=_close)(_dialog)(bench, tab)


def _open() -> None:
    st.session_state["import-open"] = True
    # With a new key the last dialog's file is gone.
    st.session_state["imports"] = st.session_state.get("imports", 0) + 1


def _close() -> None:
    st.session_state["import-open"] = False
    st.session_state.pop("import-seen", None)


def _dialog(bench: Workbench, tab: TabState) -> None:
    dialog_theme()
    st.caption(
        "A file of one session or several, or a workflow. Nothing is imported until you confirm. "
        f"A file of more than {MAX_MEGABYTES} MB is imported in a terminal: conductor sessions import FILE"
    )
    upload = st.file_uploader(
        "File",
        type=["jsonl", "json"],
        key=f"import-file-{st.session_state['imports']}",
        label_visibility="collapsed",
        max_upload_size=MAX_MEGABYTES,
    )
    if upload is None:
        return
    try:
        # Read once however often the dialog is drawn.
        if st.session_state.get("import-seen", ("", None))[0] != upload.file_id:
            st.session_state["import-seen"] = (upload.file_id, _look(bench, upload))
        preview: ImportPreview = st.session_state["import-seen"][1]
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
    if st.button(
        label,
        key="import-now",
        type="primary",
        icon=":material/upload:",
        disabled=refused,
        on_click=_import,
        args=(bench, tab, upload, preview),
    ):
        # Open what was imported; stay where the import failed.
        made = st.session_state.pop("imported", None)
        if made is not None:
            st.switch_page("pages/workbench.py", query_params={"session": made})
        if not st.session_state["import-open"]:
            st.rerun()


def _look(bench: Workbench, file: BytesIO) -> ImportPreview:
    preview = look_into(file, workers=tuple(bench.pool.cards), is_taken=bench.store.files.is_title_taken)
    if preview.plan is None and not preview.sessions:
        raise FormatError("The file holds no session; choose another one.")
    return preview


def _import(bench: Workbench, tab: TabState, file: BytesIO, preview: ImportPreview) -> None:
    if tab.pressed_again("import-now"):
        return
    try:
        if preview.plan is not None:
            made: Sequence[Session] = (bench.editing.import_plan(file.getvalue()),)
        else:
            made = sessions_of(bench.store, file)
    except ConductorError as error:
        tab.notify("error", f"Nothing was imported: {error}", place="import-sessions")
        return
    _close()
    if len(made) == 1:
        st.session_state["imported"] = made[0].id
        tab.open(made[0].id)
    else:
        text = f"Imported {counted(len(made), 'session')}; they are first in the list."
        tab.notify("info", text, place="sessions")


# -- what a file holds -----------------------------------------------------------------------------


def draw_preview(preview: ImportPreview) -> bool:
    """Draw what a file holds. Returns whether it cannot be imported."""
    with st.container(border=True, gap="xsmall", key="import-preview"):
        if preview.plan is not None:
            st.markdown(f"**A workflow of {counted(preview.plan.steps, 'step')}**")
            st.caption(plain(preview.plan.query or "It names no query.", limit=300))
        elif len(preview.sessions) == 1:
            _one(preview.sessions[0])
        else:
            _several(preview.sessions)
        st.caption(plain(size(preview.size)))
    if preview.plan is not None:
        return _refused(preview.plan)
    if preview.unknown_workers:
        who = named(preview.unknown_workers)
        text = f"This pool does not have {who}. You can read all of it; to run it, choose other workers."
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
        reason = "It cannot be imported here: it names no query. Import it on the workbench, beside a query."
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
        runs = counted(session.live, "run")
        st.caption(f"{runs} had not ended when the file was written, and will be shown as interrupted.")


def _several(sessions: Sequence[SessionPreview]) -> None:
    st.markdown(f"**{counted(len(sessions), 'session')}**")
    for session in sessions[:LISTED]:
        # A title may change the direction of writing: the marks around it confine that to the title.
        st.caption(plain(f"\u2068{session.called}\u2069 · {' · '.join(_holds(session)[:2])}", limit=200))
    if len(sessions) > LISTED:
        st.caption(f"and {len(sessions) - LISTED:,} more")
    renamed = sum(session.called != session.title for session in sessions)
    if renamed:
        st.caption(f"{counted(renamed, 'title')} exist already and get a number behind them.")


def _holds(session: SessionPreview) -> list[str]:
    """Its parts, counted."""
    return [
        counted(session.revisions, "revision"),
        counted(session.runs, "run"),
        *([counted(session.trials, "trial")] if session.trials else []),
        f"{counted(session.outputs, 'output')} of {counted(session.output_characters, 'character')}",
        counted(session.events, "event"),
        *([counted(session.notes, "note")] if session.notes else []),
        *([counted(session.changes, "asked change")] if session.changes else []),
        *([f"tagged {', '.join(session.tags)}"] if session.tags else []),
    ]
