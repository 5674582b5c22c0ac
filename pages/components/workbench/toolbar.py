"""The workbench's header: title, what a rerun will do, undo and redo, direction, run and stop, export."""

from __future__ import annotations

import re
from uuid import uuid4

import streamlit as st

from conductor.drawing.layout import Direction
from conductor.engine.scope import EDITED, FORCE
from conductor.errors import ConductorError
from conductor.runs.state import RunState
from conductor.text.formatting import counted
from pages.components.sessions.import_export import export_session
from pages.components.tab.download import Download, download
from pages.components.tab.drawing import Shown
from pages.components.tab.state import TabState, plain
from pages.components.view_models.session import SessionView, outlook_sentence
from pages.components.view_models.statuses import run_label
from pages.components.widgets.compare_link import session_comparison
from pages.components.workbench.editing import editor
from pages.components.workbench.session_head import session_head
from pages.components.workbench.step.actions import start
from studio.workbench import Workbench

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
        ("Undo", "Ctrl+Z", view.undo, editor.undo),
        ("Redo", "Ctrl+Shift+Z", view.redo, editor.redo),
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
