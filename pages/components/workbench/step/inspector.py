"""The right side of the workbench: one step's worker, instruction and access, its work, what it saw."""

from __future__ import annotations

import streamlit as st

from conductor.runs.step_state import StepState, status_of
from pages.components.tab.fields import Shown
from pages.components.tab.state import TabState, plain
from pages.components.tab.tab_storage import OutputDrafts
from pages.components.view_models.card_content import step_name
from pages.components.view_models.session import SessionView
from pages.components.widgets.controls import action, row
from pages.components.widgets.step_result import on_the_way, status_badge
from pages.components.workbench.editor import Editor
from pages.components.workbench.header import run_menu
from pages.components.workbench.step.fields import step_fields, take_over
from pages.components.workbench.step.nested import inside_button
from pages.components.workbench.step.nested_path import with_kept_inside
from pages.components.workbench.step.output import output_actions, output_form, output_view, unsaved_outputs
from pages.components.workbench.step.request_view import sight
from studio.workbench import Workbench


def inspector(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the selected step, or what to do to select one."""
    with st.container(border=True, key="inspector"):
        head = view.head
        selected = tab.selected
        if head is None or selected is None or selected >= len(head.workflow):
            st.markdown("**Step inspector**")
            st.caption(
                "Select a step in the graph to see what it does, what it may read and what it answered."
            )
            if head is not None:
                unsaved_outputs(Editor.of(bench, tab, head, place="inspector"), None)
            return
        shown = Shown(tab, head, place="inspector")
        editor = Editor(bench, tab, view.session.id, head, shown)
        state = _state_of(bench, view, selected)
        st.subheader(plain(step_name(head.workflow, selected), limit=80), anchor=False)
        with row("step-head"):
            if state is not None:
                status_badge(state)
            st.space("stretch")
            run_menu(bench, tab, view, selected)
        tab.show_notice("edit")
        fields = step_fields(editor, shown, selected, cards=bench.pool.cards, locked=view.live)
        _step_buttons(editor, selected, locked=view.live)
        if state is not None:
            inside_button(editor.session, selected, state)
        sight(editor, view, selected, state)
        if state is not None:
            on_the_way(state, key=f"{editor.session}-{selected}")
        draft = OutputDrafts(bench, head).of(selected)
        if draft is not None:
            output_form(editor, view, selected, state, draft)
        else:
            output_view(view, selected, state)
            output_actions(editor, view, selected, state)
        unsaved_outputs(editor, selected)
        left = shown.mark()
        if left is not None:
            take_over(editor, fields, left)


def _state_of(bench: Workbench, view: SessionView, step: int) -> StepState | None:
    """The step's state in the run shown; after an edit, and where that run left the step out, that of its
    known output. None where it will run.
    """
    state = view.state
    if state is not None and view.as_run and state.covered(step):
        run = with_kept_inside(bench, state)
        return run.steps[step] if run is not None else None
    output = view.radius.known.get(step) if view.radius is not None else None
    if output is None or view.radius is None:
        return None
    pinned = step in view.radius.kept
    of_run = state.steps if state is not None else ()
    return StepState(
        status=status_of(output),
        text=output.text,
        reasoning=output.reasoning,
        output=output,
        reused=not pinned,
        kept="pinned" if pinned else None,
        worker_kind=output.worker_kind,
        # The request that made it, where the run shown holds that.
        request=next((own.request for own in of_run if own.output == output), None),
        usage=output.usage,
    )


def _step_buttons(editor: Editor, step: int, *, locked: bool) -> None:
    last = editor.workflow.final
    with st.container(horizontal=True, gap="xsmall", key="step-buttons"):
        for name, icon, tip, do, disabled in (
            ("Up", "arrow_upward", "Move the step up", lambda: editor.move(step, step - 1), step == 0),
            (
                "Down",
                "arrow_downward",
                "Move the step down",
                lambda: editor.move(step, step + 1),
                step == last,
            ),
            ("Add", "add", "Add a step that reads this one", lambda: editor.add(step), False),
            ("Remove", "delete", "Remove the step", lambda: editor.remove(step), last == 0),
        ):
            action(name, icon, do, key=f"step-{icon}", help=tip, disabled=locked or disabled)
