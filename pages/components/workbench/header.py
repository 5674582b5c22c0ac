"""The workbench's header: title, what a rerun will do, undo, run, export; in a replay, its moment."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from uuid import uuid4

import streamlit as st

from conductor.drawing.layout import Direction
from conductor.engine.scope import EDITED, FORCE, RunScope
from conductor.errors import ConductorError
from conductor.runs.state import RunState
from conductor.text.formatting import counted, estimated
from conductor.values.conversation import Conversation
from pages.components.sessions.import_export import export_session
from pages.components.tab.download import Download, download
from pages.components.tab.fields import Shown
from pages.components.tab.state import TabState, plain
from pages.components.view_models.replay import moment_text
from pages.components.view_models.run_text import run_label
from pages.components.view_models.session import SessionView, outlook_sentence
from pages.components.widgets.controls import action, expander, row, session_comparison
from pages.components.widgets.text_block import text_block
from pages.components.workbench.editor import redo, undo
from storage import Session
from studio.workbench import Outlook, Workbench

_DIRECTIONS: dict[Direction, str] = {"down": "Down", "right": "Right"}

_SCOPES = {
    "to": "Run to here",
    "only": "Run only this step",
    "from": "Run from here",
    "force": "Rerun all steps",
}

_ROLES = {"system": "Instructions", "user": "User", "assistant": "Assistant"}


def session_head(session: Session) -> None:
    """Draw the title, at one height and place whatever stands below it, and that no model is called."""
    with row("session-head"):
        st.subheader(plain(session.title, limit=90), anchor=False, width="content")
        if session.pool_label:
            st.badge(session.pool_label, icon=":material/cloud_off:", color="gray")


def toolbar(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw it for a session that has a workflow."""
    if view.head is None:
        return
    session_head(view.session)
    st.caption(_summary(view))
    with row("toolbar", gap="xsmall", align="right"):
        _undo_and_redo(bench, tab, view)
        _direction(tab)
        session_comparison(bench.store, view.session.id)
        action("Export JSON", "download", tab.ask_export, key="export")
        export_session(tab, bench.store, view.session, place="run")
        _run_buttons(bench, tab, view)
    if tab.export_asked():
        _export(bench, tab, view)
    if tab.download is not None:
        download(tab.download)
    tab.show_notice("run")
    if tab.selected is None:
        tab.show_notice("edit")
    if view.problem:
        st.error(plain(view.problem), icon=":material/error:")


def _summary(view: SessionView) -> str:
    if view.head is None:
        return ""
    parts: list[str] = [view.head.workflow.topology]
    if view.head.origin != "conductor":
        parts.append("edited" if view.head.origin == "human" else "imported")
    if view.state is not None and view.as_run and view.state.round > 1:
        parts.append(f"round {view.state.round}")
    if view.live:
        parts.append("running")
    elif view.planning is not None:
        parts.append("planning")
    elif view.as_run and view.state is not None:
        parts += [run_label(view.state), *_shortfall(view.state)]
    elif view.outlook is not None:
        parts.append(outlook_sentence(view.outlook, len(view.head.workflow)))
    return plain(" · ".join(parts))


def _shortfall(state: RunState) -> list[str]:
    """What a finished run did without: an answer does not show that steps it did not need have failed."""
    failed = state.counts["failed"]
    return [f"{counted(failed, 'step')} failed"] if failed and state.status == "finished" else []


def _undo_and_redo(bench: Workbench, tab: TabState, view: SessionView) -> None:
    shown = None if view.head is None else Shown(tab, view.head, place="page")
    for name, key, target, edit, go in (
        ("Undo", "Ctrl+Z", view.undo, view.head, undo),
        ("Redo", "Ctrl+Shift+Z", view.redo, view.redo, redo),
    ):
        tip = f"Nothing to {name.lower()}"
        if target is not None and edit is not None:
            tip = f"{name} ({key}): {plain(edit.note)}"
        action(
            name,
            name.lower(),
            go,
            bench,
            tab,
            view.session.id,
            shown,
            key=name.lower(),
            help=tip,
            disabled=view.locked or target is None,
        )


def _direction(tab: TabState) -> None:
    def turned() -> None:
        tab.direction = st.session_state["direction-choice"]

    st.segmented_control(
        "Direction",
        list(_DIRECTIONS),
        default=tab.direction,
        required=True,
        key="direction-choice",
        label_visibility="collapsed",
        format_func=_DIRECTIONS.__getitem__,
        on_change=turned,
    )


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


# -- to run --------------------------------------------------------------------------------------


def _run_buttons(bench: Workbench, tab: TabState, view: SessionView) -> None:
    session = view.session.id
    if view.state is not None:
        action(
            "Rerun all",
            "restart_alt",
            lambda: start(bench, tab, session, FORCE),
            key="rerun-all",
            help="Run every step again and reuse nothing",
            disabled=view.locked or view.problem is not None,
        )
    if view.locked:
        here = view.busy or view.stoppable
        tip = None if here else "Another process runs this; it will be asked to stop"
        action("Stop", "stop", bench.running.stop, session, key="stop", help=tip)
    else:
        action(
            "Run" if view.state is None else "Rerun",
            "play_arrow",
            lambda: start(bench, tab, session, EDITED),
            key="run",
            type="primary",
            disabled=view.problem is not None,
        )


def run_menu(bench: Workbench, tab: TabState, view: SessionView, step: int) -> None:
    """The ways to run around `step`, each with what it will call."""
    scopes = [*(RunScope(kind=kind, step=step) for kind in ("to", "only", "from")), FORCE]
    outlooks = {} if view.problem else bench.running.outlooks(view.session.id, scopes)
    offered = {scope.kind: scope for scope in scopes if scope in outlooks}

    def chosen() -> None:
        kind = st.session_state[key]
        if kind in offered:
            start(bench, tab, view.session.id, offered[kind])
        tab.ask_redraw()

    def named(kind: str) -> str:
        calls = f" · {_calls(outlooks[offered[kind]])}" if kind in offered else ""
        return f"{_SCOPES[kind]}{calls}"

    key = f"run-menu-{view.session.id}-{step}"
    st.menu_button(
        "Run",
        list(offered) or list(_SCOPES),  # a menu without entries is refused, also where it cannot be opened
        key=key,
        icon=":material/play_arrow:",
        help="Run a part of the workflow, in a run of its own",
        disabled=view.locked or not offered,
        format_func=named,
        on_click=chosen,
    )


def _calls(outlook: Outlook) -> str:
    calls, tokens = len(outlook.radius.runs), outlook.estimate.tokens
    if not calls:
        return "nothing to call"
    steps = f"calls {counted(calls, 'step')}"
    return f"{steps}, {estimated(tokens, 'token')}" if tokens else steps


def start(bench: Workbench, tab: TabState, session: str, scope: RunScope) -> None:
    """Begin a run; an error is shown at the run button. A revision that this tab has not drawn is not run."""
    head = bench.store.revisions.head(session)
    if head is not None and not tab.knows(session, head.id):
        unknown = f"Not run: revision {head.number} has just been made elsewhere. Look at it, then run it."
        tab.notify("info", unknown, place="run")
        return
    try:
        # Otherwise another person was quicker, and the page shows that run.
        if not SessionView.load(bench, session).locked:
            bench.running.start(session, scope)
    except ConductorError as error:
        tab.notify("error", str(error), place="run")


# -- a replay, and the conversation before ---------------------------------------------------------


def replay_bar(tab: TabState, view: SessionView) -> None:
    """Draw the header of a replay, in the toolbar's place: nothing can be started or edited meanwhile."""
    replay = view.replay
    if replay is None:
        return
    session_head(view.session)
    st.caption("A run that is over, as it was at this moment. Leave the replay to edit or to run.")
    with row("toolbar", gap="xsmall", align="right"):
        moment = f"Replay, {moment_text(replay.at(time.time()), replay.seconds)}"
        st.badge(plain(moment), icon=":material/history:", color="primary")
        action("Back to the end", "last_page", tab.leave_replay, key="replay-end", type="primary")


def conversation_view(session: Session) -> None:
    """Draw it, where the question was part of a conversation; the messages only while it is open."""
    before = list(messages(session.said_before))
    if not before:
        return
    label = f"Earlier conversation · {counted(len(before), 'message')}"
    if box := expander(label, "forum", key="conversation"):
        with box:
            for at, (role, text) in enumerate(before):
                text_block(text, key=f"conversation-{at}", label=_ROLES[role])


def messages(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Role and text of each, in order."""
    if conversation.instructions.strip():
        yield "system", conversation.instructions
    for turn in conversation.turns:
        if turn.text.strip():
            yield turn.role, turn.text
