"""What can be done with one step besides editing it: run it or what is around it, pin or write its output.

Every one is an edit or a run of its own; an earlier run is never changed.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from conductor.amounts import counted
from conductor.engine.extent import ANEW, Extent
from conductor.errors import ConductorError
from conductor.step_state import StepState
from pages.components.editing import Editor
from pages.components.session_view import SessionView, estimated
from pages.components.state import TabState, plain
from storage.outlook import Outlook
from storage.workbench import Workbench

_NAMES = {
    "to": "Run to here",
    "only": "Run only this step",
    "from": "Run from here",
    "anew": "Run everything anew",
}


def run_menu(bench: Workbench, tab: TabState, view: SessionView, step: int) -> None:
    """The ways to run around `step`, each with what it will call."""
    extents = [*(Extent(kind=kind, step=step) for kind in ("to", "only", "from")), ANEW]
    outlooks = {} if view.problem else bench.outlooks(view.session.id, extents)
    offered = {extent.kind: extent for extent in extents if extent in outlooks}

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


def start(bench: Workbench, tab: TabState, session: str, extent: Extent) -> None:
    """Begin a run; an error stands at the run button. What nobody has looked at here yet is not run."""
    head = bench.head(session)
    if head is not None and not tab.knows(session, head.id):
        said = f"Not run: revision {head.number} has just been made elsewhere. Look at it, then run it."
        tab.notify("info", said, place="run")
        return
    try:
        if not SessionView.load(bench, session).locked:  # else somebody was quicker: the page shows that run
            bench.start(session, extent)
    except ConductorError as error:
        tab.notify("error", str(error), place="run")


def _will(outlook: Outlook) -> str:
    calls = len(outlook.radius.runs)
    if not calls:
        return "nothing to call"
    tokens = outlook.estimate.tokens
    said = f"calls {counted(calls, 'step')}"
    return said if tokens is None else f"{said}, {estimated(tokens, 'token')}"


class OutputPen:
    """Whether a step's output is being written by hand in this tab."""

    def __init__(self, session: str, step: int) -> None:
        self._key = f"writing-{session}-{step}"
        self.field = f"hand-{session}-{step}"

    @property
    def writing(self) -> bool:
        return bool(st.session_state.get(self._key))

    def take(self) -> None:
        """Begin to write."""
        st.session_state[self._key] = True

    def put_down(self) -> None:
        """End; what was not saved is gone."""
        st.session_state.pop(self._key, None)
        st.session_state.pop(self.field, None)


def output_actions(editor: Editor, view: SessionView, step: int, state: StepState | None) -> None:
    """Pin the output shown, let it go again, or write another one."""
    pen = OutputPen(editor.session, step)
    pin = editor.workflow.steps[step].pin
    output = state.output if state is not None else None
    with st.container(horizontal=True, gap="xsmall", key="output-actions"):
        if pin is not None:
            _button(
                editor,
                "Unpin",
                "keep_off",
                "Let the worker answer again; the output is still known and reused where nothing changed",
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
            "Write what this step is to say; it is pinned and marked as yours wherever it is shown or sent",
            pen.take,
            disabled=view.locked,
        )
        if output is not None and view.as_run:
            _button(
                editor,
                "Swap",
                "swap_horiz",
                "Have other workers do this step on what it saw, side by side",
                _open_swap,
                disabled=view.locked,
            )
    if step in view.pin_changed:
        st.warning(
            "Pinned, and its inputs have changed since: it answers what it was asked before.",
            icon=":material/keep:",
        )


def _open_swap() -> None:
    st.session_state["panel"] = "Trials"
    st.session_state["experiment-kind"] = "swap"


def output_pen(editor: Editor, view: SessionView, step: int, state: StepState | None) -> None:
    """The field in which an output is written by hand."""
    pen = OutputPen(editor.session, step)
    output = state.output if state is not None else None
    st.text_area(
        "Output, by hand",
        output.text if output is not None else "",
        key=pen.field,
        height=280,
        disabled=view.locked,
        placeholder="What this step is to say",
    )

    def save() -> None:
        if editor.write(step, st.session_state[pen.field], over=output):
            pen.put_down()

    with st.container(horizontal=True, gap="small", key="output-pen"):
        _button(editor, "Save", "check", "Pin this text as the step's output", save, disabled=view.locked)
        _button(editor, "Cancel", "close", "Leave the output as it is", pen.put_down, disabled=False)
    st.caption(plain("Steps that read it are told that a person wrote it; undo takes it back."))


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
