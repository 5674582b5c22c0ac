"""The workflow's graph, in the centre of the workbench, and graphs of other workflows to look at."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import streamlit as st

from conductor.drawing.layout import Direction, layouts, pane_layouts
from conductor.drawing.network import draw
from conductor.runs.state import RunState
from conductor.workflow.model import Workflow
from pages.components.graph import workflow_graph
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import card_contents
from pages.components.workbench.editor import Editor
from pages.components.workbench.step.nested_path import Inside, with_kept_inside
from studio.workbench import Workbench

_DIRECTIONS: tuple[Direction, ...] = ("down", "right")


def graph(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """The workflow's graph; selecting redraws the inspector only, editing the whole page.

    For those who watch, nothing in it can be edited; presented, its letters are large.
    """
    if view.head is None:
        return
    workflow = view.head.workflow
    key = f"graph-{view.session.id}"
    editor = Editor(bench=bench, tab=tab, session=view.session.id, head=view.head)
    inside = Inside(view.session.id)

    def selected() -> None:
        tab.selected = st.session_state[key].selected["step"]
        tab.found = None
        tab.redraw(tab.shows_selection)

    def edited() -> None:
        asked = st.session_state[key].edit
        if asked and not view.locked and not tab.watched:
            editor.from_graph(asked)
        tab.ask_redraw()

    def opened() -> None:
        if not tab.watched:
            inside.asked(st.session_state[key].inside, above=())
        tab.ask_redraw()

    def turned() -> None:
        if (turn := st.session_state[key].turn) in _DIRECTIONS:
            tab.direction = turn
        tab.ask_redraw()

    pictures = pane_layouts(workflow, direction=tab.direction)
    shown = card_contents(
        workflow,
        run=with_kept_inside(bench, view.state),
        radius=view.radius,
        cards=bench.pool.cards,
        now=time.time(),
        pin_changed=view.pin_changed,
        notes={} if tab.presents else bench.notes.counts(view.session.id, workflow),
    )
    result = workflow_graph(
        draw(workflow, shown, pictures),
        pictures,
        key=key,
        direction=tab.direction,
        selected=tab.selected,
        selection_revision=tab.selection_revision,
        selection_known=tab.selection_known,
        locked=view.locked,
        editable=not tab.watched,
        large=tab.presents,
        inspector="inspector",
        opened=inside.way[0].step if inside.way else None,
        revision=view.head.id,
        on_select=selected,
        on_edit=edited,
        on_inside=opened,
        on_turn=turned,
    )
    if not tab.selection_known:
        tab.adopt_selection((result.selected or {}).get("step"))


def still_graph(
    bench: Workbench,
    tab: TabState,
    workflow: Workflow,
    *,
    run: RunState | None,
    key: str,
    inspector: str,
    selected: int | None = None,
    reveal: str | None = None,
    on_inside: Callable[[], None] = lambda: None,
) -> Any:
    """The graph of a workflow that is only looked at; `run` is what its cards show. The rest is as in
    `workflow_graph`.
    """
    pictures = layouts(workflow, direction=tab.direction)
    shown = card_contents(workflow, run=run, radius=None, cards=bench.pool.cards, now=time.time())
    return workflow_graph(
        draw(workflow, shown, pictures),
        pictures,
        key=key,
        direction=tab.direction,
        selected=selected,
        selection_revision=0,
        locked=True,
        inspector=inspector,
        reveal=reveal,
        on_inside=on_inside,
    )
