"""The right side of the workbench: one step's worker, instruction and access, its output, what it saw."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from conductor.messages import Request
from conductor.output import Output
from conductor.run_state import RunState, StepState, StepStatus
from conductor.workers.protocol import WorkerCard
from pages.components.editing import Editor
from pages.components.faces import duration, step_name
from pages.components.passage import Stretch, Tone, passage
from pages.components.session_view import SessionView
from pages.components.state import TabState, plain
from storage.workbench import Workbench

_STATUS: dict[StepStatus, tuple[str, str]] = {
    "waiting": (":material/schedule:", "gray"),
    "running": (":material/progress_activity:", "blue"),
    "finished": (":material/check_circle:", "green"),
    "empty": (":material/radio_button_unchecked:", "orange"),
    "failed": (":material/error:", "red"),
    "blocked": (":material/block:", "orange"),
    "cancelled": (":material/stop_circle:", "orange"),
    "interrupted": (":material/power_off:", "orange"),
}

_WORDS: dict[StepStatus, str] = {"waiting": "not run", "cancelled": "stopped"}


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
        state = _state_of(view, selected)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(plain(step_name(head.workflow, selected), limit=80), anchor=False)
            if state is not None:
                _badge(state)
        tab.show_notice("edit")
        _fields(editor, selected, cards=bench.pool.cards, locked=view.live)
        _step_buttons(editor, selected, locked=view.live)
        if state is not None and state.request is not None:
            _saw(editor, selected, state.request)
        _output(view, selected, state)


def _state_of(view: SessionView, step: int) -> StepState | None:
    """The step's state in the run shown; after an edit that of its kept output, None where it will run."""
    state = view.state
    if state is not None and view.as_run:
        return state.steps[step]
    output = view.radius.known.get(step) if view.radius is not None else None
    if output is None:
        return None
    return StepState(
        status="empty" if output.empty else "finished",
        text=output.text,
        output=output,
        reused=True,
        worker_kind=output.worker_kind,
        request=_request_of(state, output),
        usage=output.usage,
    )


def _request_of(state: RunState | None, output: Output) -> Request | None:
    """The request that made an output, where the run shown holds it."""
    steps = state.steps if state is not None else ()
    return next((step.request for step in steps if step.output == output), None)


def _badge(state: StepState) -> None:
    icon, colour = _STATUS[state.status]
    st.badge("reused" if state.reused else _WORDS.get(state.status, state.status), icon=icon, color=colour)  # type: ignore[arg-type]


def _fields(editor: Editor, step: int, *, cards: dict[str, WorkerCard], locked: bool) -> None:
    own = editor.workflow.steps[step]
    names = list(cards) if own.worker in cards else [own.worker, *cards]
    place = f"{editor.session}-{step}"

    def named(worker: str) -> str:
        card = cards.get(worker)
        return f"{worker} (not in the pool)" if card is None else f"{worker} · {card.kind}"

    _mirrored(f"worker-{place}", own.worker)
    st.selectbox(
        "Worker",
        names,
        key=f"worker-{place}",
        format_func=named,
        disabled=locked,
        help=plain(cards[own.worker].strengths) if own.worker in cards else None,
        on_change=_committing(editor.tab, f"worker-{place}", lambda value: editor.worker(step, value)),
    )
    _mirrored(f"instruction-{place}", own.instruction)
    st.text_area(
        "Instruction",
        key=f"instruction-{place}",
        height=118,
        disabled=locked,
        on_change=_instructing(editor, step, f"instruction-{place}"),
    )
    _mirrored(f"access-{place}", list(own.access))
    st.multiselect(
        "Can see",
        list(range(step)),
        key=f"access-{place}",
        format_func=lambda read: step_name(editor.workflow, read),
        disabled=locked or step == 0,
        placeholder="The first step sees only the query" if step == 0 else "Only the query",
        on_change=_committing(editor.tab, f"access-{place}", lambda value: editor.access(step, value)),
    )


def _mirrored(key: str, value: object) -> None:
    """Widgets mirror, never own: the revision counts, but a text it refused stays to be mended."""
    shown = st.session_state.get(key)
    if shown != value and st.session_state.get("refused") != (key, shown):
        st.session_state[key] = value


def _instructing(editor: Editor, step: int, key: str) -> Callable[[], None]:
    def commit(text: str) -> None:
        st.session_state["refused"] = None if editor.instruction(step, text) else (key, text)

    return _committing(editor.tab, key, commit)


def _committing(tab: TabState, key: str, commit: Callable[..., None]) -> Callable[[], None]:
    def changed() -> None:
        commit(st.session_state[key])
        tab.ask_redraw()

    return changed


def _step_buttons(editor: Editor, step: int, *, locked: bool) -> None:
    last = editor.workflow.final

    def act(name: str, icon: str, tip: str, do: Callable[[], None], *, disabled: bool) -> None:
        def clicked() -> None:
            do()
            editor.tab.ask_redraw()

        st.button(
            name, key=f"step-{icon}", icon=f":material/{icon}:", help=tip, disabled=disabled, on_click=clicked
        )

    with st.container(horizontal=True, gap="small", key="step-buttons"):
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


def _output(view: SessionView, step: int, state: StepState | None) -> None:
    if state is None or (not state.text and state.status in ("waiting", "running")):
        said = "not run yet." if view.state is None else "will come with the next rerun."
        waits = {"running": "its worker has been asked; no text yet.", "waiting": "waits for what it reads."}
        st.caption(f"Output: {waits[state.status] if state is not None and view.live else said}")
        if state is None:
            _earlier_output(view, step)
        return
    if state.message:
        st.error(plain(state.message), icon=":material/error:")
    if state.status == "blocked":
        names = ", ".join(str(by + 1) for by in state.blocked_by)
        st.warning(f"Did not run, because it reads step {names}.", icon=":material/block:")
    if state.status == "empty":
        st.caption("The worker answered with nothing; nothing is passed on.")
    if state.text:
        passage(
            state.text,
            key=f"output-{view.session.id}-{step}",
            label="Output",
            notes=_output_notes(state),
            live=state.status == "running",
            height=280,
        )
    st.caption(plain(" · ".join(_facts(state))))


def _output_notes(state: StepState) -> list[str]:
    if state.reused:
        return ["reused"]
    return ["partial, not passed on"] if state.status in ("failed", "cancelled", "interrupted") else []


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
            label="Earlier output",
            notes=["of the run before your edits"],
            height=280,
        )


def _facts(state: StepState) -> list[str]:
    facts = []
    if state.reused and state.output is not None:
        facts.append(f"made in run {state.output.run[:8]}")
    if state.seconds is not None:
        facts.append(duration(state.seconds))
    if state.output is not None:
        tokens = state.usage.total
        facts.append("- tokens" if tokens is None else f"{tokens:,} tokens")
    if state.worker_kind is not None and state.worker_kind != "model":
        facts.append(f"{state.worker_kind}, no model is called")
    return facts


_TONES: dict[str, Tone] = {
    "frame": "quiet",
    "query": "query",
    "subtask": "seen",
    "response": "seen",
    "instruction": "task",
}


def _saw(editor: Editor, step: int, request: Request) -> None:
    """The stored request as sent, tinted by where each part came from, and what it could not see."""
    workflow = editor.workflow
    with st.expander("What this step saw", icon=":material/visibility:", key=f"saw-{step}"):
        st.caption("The request exactly as it was sent. Tinted: the query, earlier steps, its own task.")
        stretches = [
            Stretch(
                part.text,
                _TONES[part.kind],
                "" if part.step is None else f"Step {part.step + 1}, {part.kind}",
            )
            for message in request.messages
            for part in message.parts
        ]
        passage(stretches, key=f"saw-{editor.session}-{step}", label="Request", height=320)
        hidden = [read for read in range(step) if read not in workflow.steps[step].access]
        if hidden:
            st.caption("It could not see: " + ", ".join(plain(step_name(workflow, read)) for read in hidden))
