"""The access of steps, as a grid, and how the Conductor wrote it."""

from __future__ import annotations

from dataclasses import asdict

import streamlit as st

from pages.components.access_grid import access_grid
from pages.components.streamlit_patches.component import trigger_value
from pages.components.tab.state import TabState
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.access_rows import (
    DIALECTS,
    AccessRow,
    access_rows,
    granted,
    note_of,
    wishes_of,
)
from pages.components.view_models.workflow.card_content import worker_marks
from pages.components.workbench.editor import Editor
from studio.workbench import Workbench


def access_view(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the access of the session's workflow."""
    head = view.head
    if head is None:
        return
    before = head.looks_back is not None or any(step.sees_previous for step in head.workflow.steps)
    earlier = view.session.earlier_conversation
    files = bool(earlier.attached or earlier.pictures) or not all(
        step.sees_files for step in head.workflow.steps
    )
    tools = bool(bench.pool.tools) or any(step.tools for step in head.workflow.steps)
    if len(head.workflow) == 1 and not before and not files and not tools:
        st.caption("A single step sees only the query. Add a step to give access.")
        return
    report = view.plan.report if view.plan is not None else None
    planned = view.planned.workflow if view.planned is not None else None
    rows = access_rows(head.workflow, planned=planned, report=report if view.planned is not None else None)
    st.caption(_legend(view, rows))
    editor = Editor(bench=bench, tab=tab, session=view.session.id, head=head)
    _grid(editor, view, rows, before=before, files=files, tools=tools)


def _legend(view: SessionView, rows: tuple[AccessRow, ...]) -> str:
    legend = (
        "Rows read columns; every step sees the query. Click a cell or press Space to give or remove access."
    )
    if view.plan is None or view.plan.report is None or all(row.written is None for row in rows):
        return legend
    dialect = view.plan.report.dialect
    return f"{legend} The Conductor writes access as {DIALECTS[dialect]}."


def _grid(
    editor: Editor,
    view: SessionView,
    rows: tuple[AccessRow, ...],
    *,
    before: bool,
    files: bool,
    tools: bool,
) -> None:
    tab, key = editor.tab, f"access-grid-{editor.session}"
    answered = f"access-answered-{editor.session}"

    def selected() -> None:
        tab.select(st.session_state[key].selected["step"])
        tab.redraw(["canvas", "inspector"])

    def edited() -> None:
        edit = trigger_value(key, "edit")
        wishes = wishes_of(edit)
        # A message may come twice where messages come faster than the page is drawn.
        if wishes and edit["at"] > st.session_state.get(answered, 0):
            st.session_state[answered] = edit["at"]
            if not view.locked and view.replay is None:
                editor.stand_on(edit.get("revision"))
                editor.commit(lambda: granted(editor.workflow, wishes), note_of(wishes))
        tab.ask_redraw()

    chosen = st.session_state[key].selected if key in st.session_state else None
    pool = editor.bench.pool
    own = worker_marks(pool.cards, *editor.workflow.workers())
    access_grid(
        {
            "rows": [
                asdict(row)
                | {"before": row.sees_previous, "files": row.sees_files, "means": row.means}
                | {"worker": step.worker, "mark": asdict(own[step.worker])}
                | {"tools": step.tools, "has": pool.tools.get(step.worker, ())}
                for row, step in zip(rows, editor.workflow.steps, strict=True)
            ],
            "before": before,
            "files": files,
            "tools": tools,
            "locked": _locked(view),
            "selected": tab.selected,
            "selected_at": chosen["at"] if chosen else None,
            "answered": st.session_state.get(answered),
            "revision": editor.head.id,
        },
        key=key,
        on_select=selected,
        on_edit=edited,
    )


def _locked(view: SessionView) -> str | None:
    """Why nothing can be changed just now."""
    if view.replay is not None:
        return "This is a replay. End it to edit"
    return "To edit, wait for the session to finish, or stop it" if view.locked else None
