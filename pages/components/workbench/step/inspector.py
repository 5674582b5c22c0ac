"""The right side of the workbench: one step's worker, instruction and access, its work, what it saw."""

from __future__ import annotations

from collections.abc import Callable, Collection

import streamlit as st

from conductor.messages import Request
from conductor.output import Output
from conductor.run_state import RunState
from conductor.step_state import StepState
from conductor.workers.protocol import WorkerCard
from pages.components.editing import Editor
from pages.components.faces import step_name
from pages.components.inner_view import inside_button
from pages.components.inside import with_kept_inside
from pages.components.mirror import committing, mirrored
from pages.components.passage import passage
from pages.components.session_view import SessionView
from pages.components.sight import sight
from pages.components.state import TabState, plain
from pages.components.step_actions import OutputPen, output_actions, output_pen, run_menu
from pages.components.step_result import on_the_way, silence, status_badge, step_output
from storage.workbench import Workbench

_PREVIOUS = -1
"""Stands for the round before among the steps that a step may see."""


def inspector(bench: Workbench, tab: TabState, view: SessionView) -> None:
    """Draw the selected step, or what to do to select one."""
    with st.container(border=True, key="inspector"):
        head = view.head
        selected = tab.selected
        if head is None or selected is None or selected >= len(head.workflow):
            st.markdown("**Step inspector**")
            st.caption("Select a step in the graph to see what it does, what it may read and what it said.")
            return
        editor = Editor(bench=bench, tab=tab, session=view.session.id, head=head)
        state = _state_of(bench, view, selected)
        st.subheader(plain(step_name(head.workflow, selected), limit=80), anchor=False)
        with st.container(horizontal=True, vertical_alignment="center", key="step-head"):
            if state is not None:
                status_badge(state)
            st.space("stretch")
            run_menu(bench, tab, view, selected)
        tab.show_notice("edit")
        _fields(editor, selected, cards=bench.pool.cards, locked=view.live)
        _step_buttons(editor, selected, locked=view.live)
        _work(editor, view, selected, state)
        if OutputPen(editor.session, selected).writing:
            output_pen(editor, view, selected, state)
        else:
            _output(view, selected, state)
            output_actions(editor, view, selected, state)


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
    return StepState(
        status="empty" if output.empty else "finished",
        text=output.text,
        reasoning=output.reasoning,
        output=output,
        reused=not pinned,
        kept="pinned" if pinned else None,
        worker_kind=output.worker_kind,
        request=_request_of(state, output),
        usage=output.usage,
    )


def _request_of(state: RunState | None, output: Output) -> Request | None:
    """The request that made an output, where the run shown holds it."""
    steps = state.steps if state is not None else ()
    return next((step.request for step in steps if step.output == output), None)


def _fields(editor: Editor, step: int, *, cards: dict[str, WorkerCard], locked: bool) -> None:
    own = editor.workflow.steps[step]
    names = list(cards) if own.worker in cards else [own.worker, *cards]
    place = f"{editor.session}-{step}"

    def named(worker: str) -> str:
        card = cards.get(worker)
        return f"{worker} (not in the pool)" if card is None else f"{worker} · {card.kind}"

    st.selectbox(
        "Worker",
        names,
        index=0 if mirrored(editor.tab, f"worker-{place}", own.worker) else names.index(own.worker),
        key=f"worker-{place}",
        format_func=named,
        disabled=locked,
        help=plain(cards[own.worker].strengths) if own.worker in cards else None,
        on_change=committing(editor.tab, f"worker-{place}", lambda value: editor.worker(step, value)),
    )
    _served_by(cards.get(own.worker))
    st.text_area(
        "Instruction",
        "" if mirrored(editor.tab, f"instruction-{place}", own.instruction) else own.instruction,
        key=f"instruction-{place}",
        height=118,
        disabled=locked,
        on_change=_instructing(editor, step, f"instruction-{place}"),
    )
    _access(editor, step, key=f"access-{place}", locked=locked)


def _served_by(card: WorkerCard | None) -> None:
    """Which model answers for a worker, and where it is served."""
    if card is None:
        return
    if card.nested:
        st.caption("A Conductor: does the step by a workflow of its own.")
    elif card.kind != "model":
        st.caption(f"{card.kind.capitalize()}, no model is called.")
    else:
        at = "" if card.endpoint is None else f" at {card.endpoint}"
        st.caption(plain(f"{card.model}{at}"))


def _access(editor: Editor, step: int, *, key: str, locked: bool) -> None:
    """Which steps a step may see; in a later round also all of the round before, as one entry."""
    own = editor.workflow.steps[step]
    later = editor.head.looks_back is not None or own.sees_previous
    options = [*([_PREVIOUS] if later else []), *range(step)]
    sees = [*([_PREVIOUS] if own.sees_previous else []), *own.access]

    def named(read: int) -> str:
        return "The round before" if read == _PREVIOUS else step_name(editor.workflow, read)

    st.multiselect(
        "Can see",
        options,
        None if mirrored(editor.tab, key, sees) else sees,
        key=key,
        format_func=named,
        disabled=locked or not options,
        placeholder="Only the query" if options else "The first step sees only the query",
        on_change=committing(editor.tab, key, lambda value: _see(editor, step, value)),
    )


def _see(editor: Editor, step: int, seen: Collection[int]) -> None:
    """Let a step see exactly these, in one edit."""
    reads = [read for read in seen if read != _PREVIOUS]
    editor.commit(
        lambda: editor.workflow.with_access(step, reads).with_sight_of_previous(step, _PREVIOUS in seen),
        f"Step {step + 1}: access",
    )


def _instructing(editor: Editor, step: int, key: str) -> Callable[[], None]:
    def commit(text: str) -> None:
        editor.tab.note_text(key, text, kept=editor.instruction(step, text))

    return committing(editor.tab, key, commit)


def _step_buttons(editor: Editor, step: int, *, locked: bool) -> None:
    last = editor.workflow.final

    def act(name: str, icon: str, tip: str, do: Callable[[], None], *, disabled: bool) -> None:
        def clicked() -> None:
            do()
            editor.tab.ask_redraw()

        st.button(
            name, key=f"step-{icon}", icon=f":material/{icon}:", help=tip, disabled=disabled, on_click=clicked
        )

    with st.container(horizontal=True, gap="xsmall", key="step-buttons"):
        act(
            "Up",
            "arrow_upward",
            "Move the step up",
            lambda: editor.move(step, step - 1),
            disabled=locked or step == 0,
        )
        act(
            "Down",
            "arrow_downward",
            "Move the step down",
            lambda: editor.move(step, step + 1),
            disabled=locked or step == last,
        )
        act("Add", "add", "Add a step that reads this one", lambda: editor.add(step), disabled=locked)
        act("Remove", "delete", "Remove the step", lambda: editor.remove(step), disabled=locked or last == 0)


def _work(editor: Editor, view: SessionView, step: int, state: StepState | None) -> None:
    """What a step has inside, what it saw, and what happened before its answer."""
    if state is not None:
        inside_button(editor.tab, editor.session, step, state)
    sight(editor, view, step, state)
    if state is not None:
        on_the_way(state, key=f"{editor.session}-{step}")


def _output(view: SessionView, step: int, state: StepState | None) -> None:
    if state is None or (not state.text and state.status in ("waiting", "running")):
        st.caption(f"Output: {_silence(view, state)}")
        if state is None:
            _earlier_output(view, step)
        return
    if view.head is None:
        return
    own = view.head.workflow.steps[step]
    since = ["pinned"] if own.pin is not None and state.kept is None else []
    step_output(state, worker=own.worker, key=f"{view.session.id}-{step}", notes=since)


def _silence(view: SessionView, state: StepState | None) -> str:
    """Why there is no output yet."""
    if state is None or not view.live:
        return "not run yet." if view.state is None else "will come with the next rerun."
    return f"{silence(state)}." if state.status == "running" else "waits for what it reads."


def _earlier_output(view: SessionView, step: int) -> None:
    """What the step said before the edit, to look at while editing; none where steps were renumbered."""
    state = view.state
    if state is None or view.head is None or len(state.steps) != len(view.head.workflow):
        return
    earlier = state.steps[step].output
    if earlier is not None and not earlier.empty:
        passage(
            earlier.text,
            key=f"earlier-{view.session.id}-{step}",
            label="Output before your edits",
            height=280,
        )
