"""One step, beside the graph: its worker, its output, which can be pinned or written by hand, its instruction
and access, what it saw, and its reasoning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import streamlit as st

from conductor.runs.step_state import StepState, status_of
from pages.components.keyboard.focus import focus_fallback
from pages.components.streamlit_patches.initial_values import note_drawing, on_choice
from pages.components.tab.page_part import PagePart
from pages.components.tab.state import TabState, plain
from pages.components.tab.tab_storage import OutputDraft, OutputDrafts
from pages.components.view_models.session import SessionView
from pages.components.view_models.workflow.card_content import step_name
from pages.components.widgets.controls import action, row
from pages.components.widgets.rendered_text import rendered_text
from pages.components.widgets.step_preview import Preview, step_previews
from pages.components.widgets.step_result import (
    calls_before,
    output_notes,
    reasoning_view,
    silence,
    status_badge,
    status_word,
    step_output,
)
from pages.components.workbench.bar.run import run_menu
from pages.components.workbench.editor import Editor, same_text
from pages.components.workbench.step.failure_rule import failure_rule
from pages.components.workbench.step.nested import inside_button
from pages.components.workbench.step.nested_path import with_kept_inside
from pages.components.workbench.step.notes import step_notes
from pages.components.workbench.step.request_view import sight
from pages.components.workbench.step.step_fields import StepField, step_fields, take_over, worker_field
from pages.components.workbench.step.tool_questions import tool_questions
from studio.workbench import Workbench
from studio.workbench.editing import EditEnd

focus_fallback("step-arrow_upward", "step-arrow_downward", "step-add")
focus_fallback("step-arrow_downward", "step-arrow_upward", "step-add")
focus_fallback("step-delete", "step-add")

_OUTPUT, _INSTRUCTION, _SAW, _REASONING = PARTS = ("Output", "Instruction", "Saw", "Reasoning")
"""What is shown of a step, one at a time, by the names of the tabs."""


def inspector(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the selected step, or what to do to select one."""
    with st.container(key="inspector", gap="small"):
        head = view.head
        selected = tab.selected
        if head is None or selected is None or selected >= len(head.workflow):
            st.caption(
                "Select a step in the graph to see what it does, what it may read and what it answered."
            )
            if head is not None:
                unsaved_outputs(Editor.of(bench, tab, head, place="inspector"), None)
            return
        part = PagePart(tab, head, place="inspector")
        editor = Editor(bench, tab, view.session.id, head, part)
        state = state_of(bench, view, selected)
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="step-head"):
            st.subheader(plain(step_name(head.workflow, selected), limit=80), anchor=False)
            worker = worker_field(editor, part, selected, cards=bench.pool.cards, locked=view.live)
            run_menu(bench, tab, view, selected)
        tab.show_notice("edit")
        if state is not None:
            inside_button(editor.session, selected, state)
        fields = _parts(editor, part, view, selected, state)
        unsaved_outputs(editor, selected)
        left = part.mark()
        if left is not None:
            take_over(editor, (worker, *fields), left)


def preview_steps(bench: Workbench, view: SessionView) -> None:
    """What the browser shows of a step that is selected until the server has drawn it."""
    if view.head is None:
        return
    workflow, previews = view.head.workflow, []
    states = states_of(bench, view, range(len(workflow)))
    for at, (step, state) in enumerate(zip(workflow.steps, states, strict=True)):
        previews.append(
            Preview(
                name=step_name(workflow, at),
                worker=step.worker,
                instruction=step.instruction,
                # What is being written will be another text by then.
                output=None if state is None or view.live else state.text,
                state="" if state is None or view.live else status_word(state),
                notes=[] if state is None else output_notes(state),
                usual=_INSTRUCTION if state is None else _OUTPUT,
            )
        )
    step_previews(previews, parts=PARTS)


def _parts(
    editor: Editor, page_part: PagePart, view: SessionView, step: int, state: StepState | None
) -> tuple[StepField, ...]:
    """The four parts of a step; its fields are always drawn, as they may hold what a person types."""
    tab, key = editor.tab, f"step-parts-{editor.session}"
    usual = _INSTRUCTION if state is None else _OUTPUT
    part = tab.part if tab.part in PARTS else usual
    if st.session_state.get(key, PARTS[0]) != part:
        st.session_state[key] = part
    note_drawing(key, part)

    def chosen(part: str) -> None:
        tab.part = part

    with st.container(key="step-parts"):
        output, instruction, saw, reasoning = st.tabs(list(PARTS), key=key, on_change=on_choice(key, chosen))
    with output, st.container(gap="small"):
        _output(editor, view, step, state)
    with instruction, st.container(gap="small"):
        fields = step_fields(editor, page_part, step, cards=editor.bench.pool.cards, locked=view.live)
        _step_buttons(editor, step, locked=view.live)
        failure_rule(editor, step, workers=editor.bench.pool.names, locked=view.live)
        text = editor.workflow.steps[step].instruction
        if (on_it := step_notes(editor.bench, tab, view, "instruction", text, step=step)) is not None:
            on_it.draw()
    if part == _SAW:
        with saw:
            sight(editor, view, step, state)
    if part == _REASONING:
        with reasoning:
            written = "" if state is None else state.reasoning
            notes = step_notes(editor.bench, tab, view, "reasoning", written, step=step)
            reasoning_view(
                state, key=f"{editor.session}-{step}", notable=None if notes is None else notes.notable()
            )
            if notes is not None:
                notes.draw()
    return fields


def _output(editor: Editor, view: SessionView, step: int, state: StepState | None) -> None:
    draft = OutputDrafts(editor.bench, editor.head).of(step)
    with row("output-head", gap="xsmall"):
        if state is not None:
            status_badge(state)
        st.space("stretch")
        if draft is None:
            output_actions(editor, view, step, state)
    if step in view.pin_changed:
        st.warning(
            "Pinned, inputs changed: the output answers an earlier request. Unpin it for a new answer.",
            icon=":material/keep:",
        )
    if state is not None:
        calls_before(state, key=f"{editor.session}-{step}")
    tool_questions(editor.bench, editor.tab, view, step)
    if draft is not None:
        output_form(editor, view, step, state, draft)
    else:
        output_view(editor, view, step, state)


def state_of(bench: Workbench, view: SessionView, step: int) -> StepState | None:
    """The step's state in the run shown; after an edit, and where that run left the step out, that of its
    known output. None if it will run.
    """
    return next(states_of(bench, view, [step]))


def states_of(bench: Workbench, view: SessionView, steps: Iterable[int]) -> Iterator[StepState | None]:
    """`state_of` each of `steps`."""
    state = view.state if view.as_run else None
    run = None if state is None else with_kept_inside(bench, state)
    for step in steps:
        if state is not None and state.covered(step):
            yield None if run is None else run.steps[step]
        else:
            yield _of_known_output(view, step)


def _of_known_output(view: SessionView, step: int) -> StepState | None:
    output = view.radius.outputs.get(step) if view.radius is not None else None
    if output is None or view.radius is None:
        return None
    pinned = step in view.radius.kept_steps
    of_run = view.state.steps if view.state is not None else ()
    same = (own for own in of_run if own.output and own.output.fingerprint == output.fingerprint)
    return StepState(
        status=status_of(output),
        text=output.text,
        reasoning=output.reasoning,
        output=output,
        reused=not pinned,
        kept_because="pinned" if pinned else None,
        worker_kind=output.worker_kind,
        # The request that made it, where the run shown holds that.
        request=next((own.request for own in same if own.output == output), None),
    )


def _step_buttons(editor: Editor, step: int, *, locked: bool) -> None:
    last, gated = editor.workflow.final, editor.workflow.steps[step].gate
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
            (
                "Remove gate" if gated else "Gate",
                "front_hand",
                "Remove the gate before this step"
                if gated
                else "Pause runs before this step (B in the graph)",
                lambda: editor.gate(step, not gated),
                False,
            ),
            ("Remove", "delete", "Remove the step", lambda: editor.remove(step), last == 0),
        ):
            action(name, icon, do, key=f"step-{icon}", help=tip, disabled=locked or disabled)


def output_view(editor: Editor, view: SessionView, step: int, state: StepState | None) -> None:
    """The output, or why there is no output yet."""
    if state is None or (not state.text and state.status in ("waiting", "running", "paused")):
        st.caption(f"Output: {_why_no_output(view, state)}")
        if state is None:
            _earlier_output(view, step)
    elif view.head is not None:
        own = view.head.workflow.steps[step]
        since = ["pinned"] if own.pin is not None and state.kept_because is None else []
        since += ["inputs changed"] if step in view.pin_changed else []
        doubt = None if view.radius is None else view.radius.doubts.get(step)
        since += [f"runs again: {doubt}"] if doubt else []
        noted_output(editor.bench, editor.tab, view, step, state, worker=own.worker, notes=since)


def noted_output(
    bench: Workbench,
    tab: TabState,
    view: SessionView,
    step: int,
    state: StepState,
    *,
    worker: str,
    notes: Sequence[str] = (),
) -> None:
    """The output of a step with what people wrote on its words; `notes` are the app's own."""
    written = step_notes(bench, tab, view, "output", state.text, step=step)
    step_output(
        state,
        worker=worker,
        key=f"{view.session.id}-{step}",
        notes=notes,
        notable=None if written is None else written.notable(),
    )
    if written is not None:
        written.draw()


def _why_no_output(view: SessionView, state: StepState | None) -> str:
    if state is not None and state.questions:
        return "its worker calls a tool that may act. Decide above what is done."
    if state is not None and state.status == "paused":
        return (
            "the run waits at this step's gate. Saw shows exactly what its worker will get. Continue, "
            "change what it sees, choose another worker, or write the output yourself."
        )
    if state is None or not view.live:
        return "not run yet." if view.state is None else "comes with the next rerun."
    return f"{silence(state)}." if state.status == "running" else "waits for what it reads."


def _earlier_output(view: SessionView, step: int) -> None:
    """The step's output before the edit, to look at while editing; none if steps were renumbered."""
    state = view.state
    if state is None or view.head is None or len(state.steps) != len(view.head.workflow):
        return
    earlier = state.steps[step].output
    if earlier is not None and not earlier.empty:
        rendered_text(
            earlier.text,
            key=f"earlier-{view.session.id}-{step}",
            label="Output before your edits",
            height=280,
        )


def output_actions(editor: Editor, view: SessionView, step: int, state: StepState | None) -> None:
    """Pin the output shown, let it go again, or write another one."""
    pinned = editor.workflow.steps[step].pin is not None
    output = state.output if state is not None else None
    locked = view.locked
    with st.container(horizontal=True, gap="xsmall", key="output-actions", width="content"):
        if pinned:
            tip = "Let the worker answer again, if anything changed"
            action("Unpin", "keep_off", editor.pin, step, None, key="output-unpin", help=tip, disabled=locked)
        elif output is not None:
            tip = "Keep this output, whatever changes before it; the step is not called again"
            action("Pin", "keep", editor.pin, step, output, key="output-pin", help=tip, disabled=locked)
        name = "Edit" if output is not None else "Write"
        action(
            name,
            "edit_note",
            lambda: OutputDrafts(editor.bench, editor.head).begin(step),
            key=f"output-{name.lower()}",
            help="Write this step's output yourself; it is pinned and marked as written by hand",
            disabled=locked,
        )
        if output is not None and view.as_run:
            tip = "Let other workers answer the same request and compare the answers"
            action("Swap", "swap_horiz", _open_swap, key="output-swap", help=tip, disabled=locked)


def _open_swap() -> None:
    st.session_state["panel"] = "Trials"
    st.session_state["experiment-kind"] = "swap"


def output_form(
    editor: Editor, view: SessionView, step: int, state: StepState | None, draft: OutputDraft
) -> None:
    """The field in which the output of a step is written by hand, in place of that in `state`.

    A step that broke off has no output; what its worker had written is where the writing starts.
    """
    part = PagePart(editor.tab, editor.head, place="inspector")
    output = state.output if state is not None else None
    now = state.text if state is not None else ""
    text = now if draft.text is None else draft.text
    drafts = OutputDrafts(editor.bench, editor.head)
    key = f"hand-{editor.session}-{step}"

    def typed(_: str | None, text: str) -> None:
        drafts.write(step, None if same_text(text, now) else text)

    def save() -> None:
        if editor.write(step, st.session_state[key], over=output) is not EditEnd.REFUSED:
            drafts.end(step)

    # The key lets Ctrl+Enter in the field press Save.
    with st.container(key="output-writing"):
        st.text_area(
            "Your output",
            "" if part.set_value(key, text) else text,
            key=key,
            height=280,
            disabled=view.locked,
            placeholder="The output of this step",
            on_change=part.committing(key, typed, read=lambda sent: sent),
        )
    with row("output-pen"):
        tip = "Pin this text as the step's output"
        action("Save", "check", save, key="output-save", help=tip, disabled=view.locked)
        tip = "Discard your text and keep the output"
        action("Cancel", "close", drafts.end, step, key="output-cancel", help=tip)
        if draft.text is not None:
            st.badge("not saved", icon=":material/edit_note:", color="orange")
    st.caption("Ctrl+Enter saves. Steps that read it see that a person wrote it.")


def unsaved_outputs(editor: Editor, selected: int | None) -> None:
    """The other steps whose output was written by hand and not saved; each leads to its step."""
    for step in OutputDrafts(editor.bench, editor.head).unsaved:
        if step != selected:
            action(
                f"Not saved: the output of {plain(step_name(editor.workflow, step), limit=60)}",
                "edit_note",
                editor.tab.select,
                step,
                key=f"unsaved-{step}",
                help="Select this step",
                type="tertiary",
            )
