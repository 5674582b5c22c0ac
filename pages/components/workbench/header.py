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
from pages.components.widgets.compare_link import session_comparison
from pages.components.widgets.text_block import text_block
from pages.components.workbench.editor import redo, undo
from storage import Session
from studio.workbench import Workbench
from studio.workbench.run_preview import Outlook

_DIRECTIONS: dict[Direction, str] = {"down": "Down", "right": "Right"}


def toolbar(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw it for a session that has a workflow."""
    if view.head is None:
        return
    session_head(view.session)
    st.caption(_summary(view))
    with st.container(
        horizontal=True,
        horizontal_alignment="right",
        vertical_alignment="center",
        gap="xsmall",
        key="toolbar",
    ):
        _history(bench, tab, view)
        _direction(tab)
        session_comparison(bench.store, view.session.id)
        st.button("Export JSON", key="export", icon=":material/download:", on_click=tab.ask_export)
        export_session(tab, bench.store, view.session, place="run")
        _anew_button(bench, tab, view)
        _run_button(bench, tab, view)
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
    failed = sum(step.status == "failed" for step in state.steps)
    return [f"{counted(failed, 'step')} failed"] if failed and state.status == "finished" else []


def _history(bench: Workbench, tab: TabState, view: SessionView) -> None:
    kwargs = {"drawn": view.head.id, "shown": Shown(tab, view.head, place="page")} if view.head else {}
    for name, key, target, act in (
        ("Undo", "Ctrl+Z", view.undo, undo),
        ("Redo", "Ctrl+Shift+Z", view.redo, redo),
    ):
        of = view.head if name == "Undo" else target
        tip = (
            f"{name} ({key}): {plain(of.note)}"
            if target is not None and of is not None
            else f"Nothing to {name.lower()}"
        )
        st.button(
            name,
            key=name.lower(),
            icon=f":material/{name.lower()}:",
            help=tip,
            disabled=view.locked or target is None,
            on_click=act,
            args=(bench, tab, view.session.id),
            kwargs=kwargs,
        )


def _direction(tab: TabState) -> None:
    def turned() -> None:
        tab.turn(st.session_state["direction-choice"])

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
        said = "Not exported: the text in the inspector was refused; fix it first."
        tab.notify("error", said, place="run")
        return
    try:
        text = bench.editing.export(view.session.id)
    except ConductorError as error:
        tab.notify("error", str(error), place="run")
        return
    name = f"{_file_name(view.session.title)}.json"
    tab.download = Download(id=uuid4().hex, name=name, mime="application/json", text=text)


def _anew_button(bench: Workbench, tab: TabState, view: SessionView) -> None:
    if view.state is not None:
        st.button(
            "Rerun all",
            key="rerun-all",
            icon=":material/restart_alt:",
            help="Run every step again and reuse nothing",
            disabled=view.locked or view.problem is not None,
            on_click=start,
            args=(bench, tab, view.session.id, FORCE),
        )


def _file_name(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title, flags=re.ASCII).strip("-").lower()[:40] or "workflow"


def _run_button(bench: Workbench, tab: TabState, view: SessionView) -> None:
    if view.locked:
        here = view.busy or view.stoppable
        st.button(
            "Stop",
            key="stop",
            icon=":material/stop:",
            help=None if here else "Another process runs this; it will be asked to stop",
            on_click=bench.running.stop,
            args=(view.session.id,),
        )
        return
    st.button(
        "Run" if view.state is None else "Rerun",
        key="run",
        icon=":material/play_arrow:",
        type="primary",
        disabled=view.problem is not None,
        on_click=start,
        args=(bench, tab, view.session.id, EDITED),
    )


_NAMES = {
    "to": "Run to here",
    "only": "Run only this step",
    "from": "Run from here",
    "force": "Rerun all steps",
}


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
        return f"{_NAMES[kind]} · {_will(outlooks[offered[kind]])}" if kind in offered else _NAMES[kind]

    key = f"run-menu-{view.session.id}-{step}"
    st.menu_button(
        "Run",
        list(offered) or list(_NAMES),  # a menu without entries is refused, also where it cannot be opened
        key=key,
        icon=":material/play_arrow:",
        help="Run a part of the workflow, in a run of its own",
        disabled=view.locked or not offered,
        format_func=named,
        on_click=chosen,
    )


def start(bench: Workbench, tab: TabState, session: str, scope: RunScope) -> None:
    """Begin a run; an error is shown at the run button. A revision that this tab has not drawn is not run."""
    head = bench.store.revisions.head(session)
    if head is not None and not tab.knows(session, head.id):
        said = f"Not run: revision {head.number} has just been made elsewhere. Look at it, then run it."
        tab.notify("info", said, place="run")
        return
    try:
        # Otherwise another person was quicker, and the page shows that run.
        if not SessionView.load(bench, session).locked:
            bench.running.start(session, scope)
    except ConductorError as error:
        tab.notify("error", str(error), place="run")


def _will(outlook: Outlook) -> str:
    calls = len(outlook.radius.runs)
    if not calls:
        return "nothing to call"
    tokens = outlook.estimate.tokens
    said = f"calls {counted(calls, 'step')}"
    return said if not tokens else f"{said}, {estimated(tokens, 'token')}"


def replay_bar(tab: TabState, view: SessionView) -> None:
    """Draw it for a view of a replay."""
    replay = view.replay
    if replay is None:
        return
    session_head(view.session)
    st.caption("A run that is over, as it was at this moment. Leave the replay to edit or to run.")
    with st.container(
        horizontal=True,
        horizontal_alignment="right",
        vertical_alignment="center",
        gap="xsmall",
        key="toolbar",
    ):
        said = f"Replay, {moment_text(replay.at(time.time()), replay.seconds)}"
        st.badge(plain(said), icon=":material/history:", color="primary")
        st.button(
            "Back to the end",
            key="replay-end",
            icon=":material/last_page:",
            type="primary",
            on_click=_leave,
            args=(tab,),
        )


def _leave(tab: TabState) -> None:
    tab.leave_replay()
    tab.ask_redraw()


def session_head(session: Session) -> None:
    """Draw it, at one height and place whatever stands below it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="session-head"):
        st.subheader(plain(session.title, limit=90), anchor=False, width="content")
        if session.pool_label:
            st.badge(session.pool_label, icon=":material/cloud_off:", color="gray")


_LABELS = {"system": "Instructions", "user": "User", "assistant": "Assistant"}


def conversation_view(session: Session) -> None:
    """Draw it, where the question was part of a conversation; the messages only while it is open."""
    said = list(messages(session.said_before))
    if not said:
        return
    box = st.expander(
        f"Earlier conversation · {counted(len(said), 'message')}",
        icon=":material/forum:",
        key="conversation",
        on_change="rerun",
    )
    if box.open:
        with box:
            for at, (role, text) in enumerate(said):
                text_block(text, key=f"conversation-{at}", label=_LABELS[role])


def messages(conversation: Conversation) -> Iterator[tuple[str, str]]:
    """Role and text of each, in order."""
    if conversation.instructions.strip():
        yield "system", conversation.instructions
    for turn in conversation.turns:
        if turn.text.strip():
            yield turn.role, turn.text
