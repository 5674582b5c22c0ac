"""What can be done with one step besides editing it: run it or what is around it, pin or write its output.

Every one makes a new revision or a new run; an earlier run is never changed.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from conductor.engine.scope import FORCE, RunScope
from conductor.errors import ConductorError
from conductor.runs.step_state import StepState
from conductor.text.formatting import counted, estimated
from pages.components.tab.drawing import Shown
from pages.components.tab.output_drafts import OutputDraft, OutputDrafts
from pages.components.tab.state import TabState, plain
from pages.components.view_models.card_content import step_name
from pages.components.view_models.session import SessionView
from pages.components.workbench.editing.editor import Editor, same_text
from studio.workbench import Workbench
from studio.workbench.run_preview import Outlook

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


def output_actions(editor: Editor, view: SessionView, step: int, state: StepState | None) -> None:
    """Pin the output shown, let it go again, or write another one."""
    pin = editor.workflow.steps[step].pin
    output = state.output if state is not None else None
    with st.container(horizontal=True, gap="xsmall", key="output-actions"):
        if pin is not None:
            _button(
                editor,
                "Unpin",
                "keep_off",
                "Let the worker answer again; the stored output is reused where nothing changed",
                lambda: editor.pin(step, None),
                disabled=view.locked,
            )
        elif output is not None:
            _button(
                editor,
                "Pin",
                "keep",
                "Keep this output whatever changes above it; the step is not called any more",
                lambda: editor.pin(step, output),
                disabled=view.locked,
            )
        _button(
            editor,
            "Edit" if output is not None else "Write",
            "edit_note",
            "Write this step's output yourself; it is pinned and marked as written by hand",
            lambda: OutputDrafts(editor.bench, editor.head).begin(step),
            disabled=view.locked,
        )
        if output is not None and view.as_run:
            _button(
                editor,
                "Swap",
                "swap_horiz",
                "Let other workers answer the same request, and compare them side by side",
                _open_swap,
                disabled=view.locked,
            )
    if step in view.pin_changed:
        st.warning(
            "Pinned, inputs changed: the output answers an earlier request. Unpin it for a new answer.",
            icon=":material/keep:",
        )


def _open_swap() -> None:
    st.session_state["panel"] = "Trials"
    st.session_state["experiment-kind"] = "swap"


def output_pen(
    editor: Editor, view: SessionView, step: int, state: StepState | None, draft: OutputDraft
) -> None:
    """The field in which the output of a step is written by hand, in place of that in `state`.

    A step that broke off has no output; what its worker had written is where the writing starts.
    """
    shown = Shown(editor.tab, editor.head, place="inspector")
    output = state.output if state is not None else None
    now = state.text if state is not None else ""
    text = now if draft.text is None else draft.text
    drafts = OutputDrafts(editor.bench, editor.head)
    key = f"hand-{editor.session}-{step}"

    def typed(_: str | None, text: str) -> None:
        drafts.write(step, None if same_text(text, now) else text)

    def save() -> None:
        if editor.write(step, st.session_state[key], over=output):
            drafts.end(step)

    # The key lets Ctrl+Enter in the field press Save.
    with st.container(key="output-writing"):
        st.text_area(
            "Output, by hand",
            "" if shown.given(key, text) else text,
            key=key,
            height=280,
            disabled=view.locked,
            placeholder="The output of this step",
            on_change=shown.committing(key, typed, read=lambda sent: sent),
        )
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="output-pen"):
        _button(editor, "Save", "check", "Pin this text as the step's output", save, disabled=view.locked)
        _button(
            editor,
            "Cancel",
            "close",
            "Keep the output as it is; your text is discarded",
            lambda: drafts.end(step),
            disabled=False,
        )
        if draft.text is not None:
            st.badge("not saved", icon=":material/edit_note:", color="orange")
    st.caption("Ctrl+Enter saves. Steps that read it see that a person wrote it; Undo reverts it.")


def unsaved_outputs(editor: Editor, selected: int | None) -> None:
    """The other steps whose output was written by hand and not saved; each leads to its step."""
    for step in OutputDrafts(editor.bench, editor.head).unsaved:
        if step != selected:
            st.button(
                f"Not saved: the output of {plain(step_name(editor.workflow, step), limit=60)}",
                key=f"unsaved-{step}",
                icon=":material/edit_note:",
                type="tertiary",
                help="Select this step",
                on_click=_selecting(editor.tab, step),
            )


def _selecting(tab: TabState, step: int) -> Callable[[], None]:
    def clicked() -> None:
        tab.select(step)
        tab.ask_redraw()

    return clicked


def _button(
    editor: Editor, name: str, icon: str, tip: str, do: Callable[[], object], *, disabled: bool
) -> None:
    def clicked() -> None:
        do()
        editor.tab.ask_redraw()

    st.button(
        name,
        key=f"output-{name.split(maxsplit=1)[0].lower()}",
        icon=f":material/{icon}:",
        help=tip,
        disabled=disabled,
        on_click=clicked,
    )
